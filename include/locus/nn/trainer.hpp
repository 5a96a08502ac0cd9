// SPDX-License-Identifier: Apache-2.0
// compile<Strategy>(model, optimizer, loss, metrics...) and what it makes: a trainer with fit,
// evaluate and predict. Nothing here speaks of replicas: batches are cut over them, weights are
// mirrored, and the plans of the layers owe and pay the all-reduces.
#pragma once
#include <utility>  // forward

#include <locus/nn/array_batches.hpp>  // array_batches
#include <locus/nn/epochs.hpp>         // epoch_loop
#include <locus/nn/finite.hpp>         // refuse_loss
#include <locus/nn/network.hpp>        // Network
#include <locus/nn/objective.hpp>      // objective
#include <locus/nn/story.hpp>          // plan_story
#include <locus/nn/updater.hpp>        // updater

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {

/// what a model does last: softmax and sigmoid matter to losses
template <class Layer>
consteval activation last_activation() {
  if constexpr (requires { Layer::last; })
    return Layer::last;
  else if constexpr (requires { typename Layer::layer_types; })
    return last_activation<at_t<Layer::size - 1, typename Layer::layer_types>>();
  else
    return activation::linear;
}

template <class Loss>
concept has_gradient = requires(Loss const& l, float const* p) {
  l.slope(l.state(p, p, std::int64_t()), p, p, std::int64_t(), std::int64_t());
} || requires(Loss const& l, float const* p, std::int32_t const* t) {
  l.slope(l.state(p, t, std::int64_t()), p, t, std::int64_t(), std::int64_t());
};

template <class Model, class Loss, class... Metrics>
consteval bool require_judges() {
  static_assert(has_gradient<Loss>,
                "locus: the loss of a training has no gradient; take a loss, as "
                "nn::MeanSquaredError{}, and give metrics behind it");
  if constexpr (has_gradient<Loss>) {
    constexpr activation last = last_activation<Model>();
    static_assert(
        !(Loss::reads_logits && (last == activation::softmax || last == activation::sigmoid)),
        "locus: the model ends in softmax or sigmoid and its loss reads logits, which would apply "
        "it "
        "twice; leave the activation out, or write the loss without nn::from_logits");
    using Out = output_of<Model, typename Model::template input_type<>>;
    constexpr std::int64_t classes =
        Out::rank() > 0 ? Out::pattern.extent[Out::rank() > 0 ? Out::rank() - 1 : 0] : dyn;
    static_assert(
        classes == dyn || ((least_classes_of<Metrics>() <= classes) && ... && true),
        "locus: a metric counts the first K classes of a row, and the model predicts fewer; take a "
        "smaller K");
    static_assert(
        ((Metrics::sparse == Loss::sparse) && ... && true),
        "locus: a metric reads other targets than the loss: one takes the number of a "
        "class for each row, the other a value for each prediction; take both of one kind");
  }
  return true;
}

/// a dataset over the replicas, if it is not there yet
template <class Replicas, class D>
decltype(auto) over_replicas(D& data) {
  if constexpr (requires { data.template distribute<Replicas>(); }) {
    if constexpr (std::remove_cvref_t<D>::is_distributed)
      return (data);
    else
      return data.template distribute<Replicas>();
  } else
    return (data);
}
template <class D>
std::int64_t steps_of(D const& data) {
  if constexpr (requires { data.size(); })
    return static_cast<std::int64_t>(data.size());
  else
    return -1;
}
[[noreturn, gnu::cold]] inline void refuse_empty(std::string_view what) {
  message text;
  throw shape_error(text << "locus: " << what
                         << " got a dataset without batches; look at what it reads, and at "
                            "drop_remainder");
}
[[noreturn, gnu::cold]] inline void refuse_few_rows(std::int64_t rows, int replicas) {
  message text;
  throw shape_error(text << "locus: a batch of " << rows << " rows over " << replicas
                         << " replicas leaves replicas without work; give each batch at least "
                         << replicas << " rows, or take fewer replicas");
}

}  // namespace detail

/// How evaluate, and predict on arrays, go through rows.
struct evaluate_options {
  std::int64_t batch_size = 32;  // of arrays
  std::int64_t steps = -1;       // batches at most; -1: all
};

/// means: a model with its weights, an optimizer, and what the model is judged by
/// device: weights mirrored on Replicas, rows of batches cut over them
/// cost:  of a step: the plans of the layers, one kernel over the predictions, one for each weight.
///        Gradients of the last layer are reduced while those before it are still computed; a layer's
///        gradients travel together
/// after: keras.Model after compile
template <class Model, class T, class Replicas, class Optimizer, class Loss, class... Metrics>
class Trainer final : public training {
  using judged = std::bool_constant<detail::require_judges<Model, Loss, Metrics...>()>;

 public:
  using network_type = Network<Model, T, Replicas>;
  /// what targets are computed with
  using label = std::conditional_t<Loss::sparse, std::int32_t, T>;
  using objective_type = objective<T, label, Replicas, Loss, Metrics...>;
  using parameter_type = parameter<T, Replicas>;

  Trainer(Model const& model, Optimizer optimizer, Loss loss, Metrics... metrics)
      : network_(model), updater_(std::move(optimizer)), train_(loss, metrics...),
        test_(loss, metrics...) {
    for (int k = network_type::links; k-- > 0;)
      for (int i = network_.first(k); i < network_.first(k + 1); ++i)
        if (parameter_type* const p = network_.parameters()[std::size_t(i)]; p->trainable)
          order_.push_back(p);
  }

  /// means: data that knows how to judge the model: for .validation
  class validation_data {
   public:
    validation_data() = default;
    template <class D>
      requires(!std::is_same_v<std::remove_cvref_t<D>, validation_data>)
    validation_data(D&& data)
        : x_(&data), run_([](Trainer& t, void const* d, void const*, evaluate_options const& o) {
            using Data = std::remove_reference_t<D>;
            return t.evaluate(*static_cast<Data*>(const_cast<void*>(d)), o);
          }) {}
    template <class X, class Y>
    validation_data(X const& x, Y const& y)
        : x_(&x), y_(&y),
          run_([](Trainer& t, void const* a, void const* b, evaluate_options const& o) {
            return t.evaluate(*static_cast<X const*>(a), *static_cast<Y const*>(b), o);
          }) {}
    explicit operator bool() const { return run_ != nullptr; }
    logs judge(Trainer& t, evaluate_options const& o) const { return run_(t, x_, y_, o); }

   private:
    void const *x_ = nullptr, *y_ = nullptr;
    logs (*run_)(Trainer&, void const*, void const*, evaluate_options const&) = nullptr;
  };

  struct fit_options {
    int epochs = 1;
    validation_data validation{};  // a dataset, or {x, y}
    std::vector<callback*> callbacks{};
    int verbose = 1;                    // 0: silent, 1: a bar, 2: a line for each epoch
    int initial_epoch = 0;              // where a training goes on
    std::int64_t steps_per_epoch = -1;  // -1: a pass over the dataset
    std::int64_t validation_steps = -1;
    int validation_freq = 1;       // epochs from one validation to the next
    std::int64_t batch_size = 32;  // of arrays
    bool shuffle = true;           // arrays
    std::uint64_t seed = 1;        // of orders and of dropout
    weighting weights = weighting::global_batch;
    bool stop_on_nan = false;  // throws not_finite; costs a wait for the devices in every step
  };

  /// means: steps of the optimizer over the batches of a dataset, pass by pass
  /// shape: a batch is a pair (examples, targets)
  /// fails: shape_error for an empty dataset, batches that do not fit, labels that are no class, and a
  ///        first batch with fewer rows than replicas; not_finite, where it is asked for
  template <class D>
  history fit(D&& data, fit_options const& o = {}) {
    decltype(auto) batches = detail::over_replicas<Replicas>(data);
    if constexpr (requires { batches.seek_epoch(0u); })
      if (o.initial_epoch > 0) batches.seek_epoch(static_cast<std::uint64_t>(o.initial_epoch));
    return run_epochs(batches, o);
  }
  /// means: the same over the rows of two arrays on the host
  template <class X, class Y>
    requires(requires {
      X::rank();
      Y::rank();
    })
  history fit(X const& x, Y const& y, fit_options const& o = {}) {
    array_batches<X, Y> batches(x, y, o.batch_size, o.shuffle, o.seed);
    batches.seek_epoch(static_cast<std::uint64_t>(o.initial_epoch));
    return run_epochs(batches, o);
  }

  /// means: one step of the optimizer; loss and metrics of that batch, before the step
  template <class X, class Y>
  logs train_on_batch(X const& x, Y const& y) {
    train_.reset();
    train_step(x, y, false);
    return logs_of(train_);
  }

  /// means: mean loss and metrics over all rows
  template <class D>
    requires(!requires { std::remove_cvref_t<D>::rank(); })
  logs evaluate(D&& data, evaluate_options const& o = {}) {
    test_.reset();
    std::int64_t steps = 0;
    if (o.steps != 0)
      for (auto&& batch : detail::over_replicas<Replicas>(data)) {
        test_step(std::get<0>(batch), std::get<1>(batch));
        if (++steps == o.steps) break;
      }
    if (steps == 0) detail::refuse_empty("evaluate");
    return logs_of(test_);
  }
  template <class X, class Y>
    requires(requires {
      X::rank();
      Y::rank();
    })
  logs evaluate(X const& x, Y const& y, evaluate_options const& o = {}) {
    array_batches<X, Y> batches(x, y, o.batch_size, false, 0);
    return evaluate(batches, o);
  }

  /// means: what the model makes of each row of an array, or of the first component of a dataset's
  ///        batches, in order, on the host
  template <class D>
  auto predict(D&& data, evaluate_options const& o = {}) {
    if constexpr (requires { std::remove_cvref_t<D>::rank(); })
      return network_.predict(data, {o.batch_size});
    else {
      rows_collector<T, network_type::out_batch::rank()> all(network_.output_extents(), 0);
      for (auto&& batch : detail::over_replicas<Replicas>(data))
        all.add(network_(std::get<0>(batch)));
      return all.take();
    }
  }

  network_type& network() { return network_; }
  Optimizer const& optimizer() const { return updater_.optimizer(); }
  /// steps that the optimizer has made
  std::int64_t iterations() const { return updater_.iterations(); }

  // ---- what callbacks and files see ----
  std::string_view model_name() const override { return network_.name(); }
  int replicas() const override { return network_.replica_count(); }
  double learning_rate() const override { return updater_.learning_rate(); }
  void set_learning_rate(double r) override { updater_.set_learning_rate(r); }
  std::vector<stored> weights() override { return network_.weights(); }
  std::vector<stored> optimizer_state() override {
    in_order trained{order_};
    updater_.prepare(trained);
    std::vector<stored> all;
    auto const named = network_.weights();
    for (std::size_t k = 0; k < order_.size(); ++k)
      for (stored const& w : named)
        if (w.block == order_[k]->value.block.get()) {
          auto const of = updater_.stored_of(k, *order_[k], w.name);
          all.insert(all.end(), of.begin(), of.end());
        }
    return all;
  }
  std::vector<counter> counters() override { return updater_.counters(); }
  /// of dropout, and of the order of arrays
  std::uint64_t seed() const override { return seed_; }
  std::uint64_t data_seed() const override { return seed_; }

  /// means: the plans of one step, as they ran: forward, loss and metrics, the layers' pullbacks from
  ///        the last to the first with their buckets, and the updates
  /// cost:  one step on a batch of zeros; weights and the optimizer's state are put back behind it
  template <class Stream>
  void explain(Stream& out, std::int64_t rows = 32) {
    detail::kept_state const before(*this);
    detail::plan_story story;
    train_step(network_.zero_batch(rows), zero_targets(rows), false, &story);
    train_.reset();
    before.restore(*this);
    locus::detail::write_to(out, story.text(network_.name()));
  }

 private:
  /// the trained parameters as a model has them: the last layer's first
  struct in_order {
    std::vector<parameter_type*> const& all;
    template <class F>
    void for_each_parameter(F&& f) const {
      for (parameter_type* p : all) f(*p);
    }
  };

  template <class Y>
  auto targets_of(Y const& y) const {
    if constexpr (Loss::sparse) {
      // says what is wrong with targets that are no labels
      static_cast<void>(sizeof(objective<T, typename Y::value_type, Replicas, Loss, Metrics...>));
      if constexpr (std::is_same_v<typename Y::policy, CpuDevice>) require_classes(y);
    }
    return batch_as<label, Y::rank(), Replicas>(y);
  }
  template <class Y>
  void require_classes(Y const& y) const {
    shape const out = network_.output_extents();
    std::int64_t const classes = out.extent[out.rank - 1];
    for (std::int64_t i = 0; i < y.size(); ++i) {
      auto const v = static_cast<std::int64_t>(y.data()[i]);
      if (v >= 0 && v < classes) continue;
      message text;
      throw shape_error(text << "locus: the label of row " << i << " of a batch is " << v
                             << ", outside [0, " << classes
                             << "), the classes that the model predicts; drop the record or give "
                                "the last layer more units");
    }
  }

  template <class X, class Y>
  void train_step(X const& examples, Y const& y, bool look, detail::plan_story* story = nullptr) {
    auto const x = network_.batch_of_examples(examples);
    auto const targets = targets_of(y);
    auto& state = network_.state();
    pass const p{true, static_cast<std::uint64_t>(updater_.iterations()), seed_, story};
    auto out = state.forward(x, kept_, p);
    auto dy = train_.add(out, targets);
    if (story) story->end_part("loss and metrics");
    if (look) look_at_loss(x, p);
    updater_.begin_step();
    // with several replicas an update would wait for its all-reduce in the queue of the next layer's
    // backward: all of them come behind the last backward
    bool const at_once = replicas() == 1;
    state.backward(x, out, kept_, std::move(dy), false, [&](int link) {
      if (story) story->end_part(state.labels[link].name + ", pullback");
      if (at_once) update(link, story);
    });
    if (!at_once)
      for (int k = network_type::links; k-- > 0;) update(k, story);
    updater_.end_step();
  }
  void update(int link, detail::plan_story* story) {
    for (int i = network_.first(link); i < network_.first(link + 1); ++i)
      if (parameter_type& p = *network_.parameters()[std::size_t(i)]; p.trainable)
        updater_.update(p);
    if (story) story->end_part(network_.state().labels[link].name + ", update");
  }
  /// targets that fit the predictions, all 0
  auto zero_targets(std::int64_t rows) const {
    constexpr int rank = network_type::out_batch::rank() - (Loss::sparse ? 1 : 0);
    shape s = detail::with_rows(network_.output_extents(), rows);
    s.rank = rank;
    return detail::zero_array<label, rank>(s);
  }
  template <class X>
  [[gnu::cold]] void look_at_loss(X const& x, pass p) {
    double const loss = train_.read()[0];
    if (loss - loss == 0) return;
    detail::finite_watch watch;
    p.watch = &watch;
    static_cast<void>(network_.state().forward(x, kept_, p));
    detail::refuse_loss(updater_.iterations(), epoch_, batch_,
                        detail::is_not_finite(*x.block.get()), watch.first, network_.weights());
  }
  template <class X, class Y>
  void test_step(X const& examples, Y const& y) {
    auto const x = network_.batch_of_examples(examples);
    typename network_type::kept_type k{};
    auto const out = network_.state().forward(x, k, pass{});
    static_cast<void>(test_.add(out, targets_of(y)));
  }

  template <class D>
  history run_epochs(D& batches, fit_options const& o) {
    seed_ = o.seed, epochs_ = o.epochs, stopping_ = false;
    steps_ = o.steps_per_epoch > 0 ? o.steps_per_epoch : detail::steps_of(batches);
    train_.set_weighting(o.weights);
    detail::epoch_options const of_loop{o.epochs, o.initial_epoch, o.steps_per_epoch, o.callbacks,
                                        o.verbose};
    auto const now = [this](logs& l) { l = logs_of(train_); };
    detail::epoch_loop loop(*this, of_loop, steps_, now);
    history h;
    epoch_ = o.initial_epoch;
    bool fresh = true;  // an epoch begins
    auto const end_epoch = [&] {
      logs l = logs_of(train_);
      if (o.validation && (epoch_ + 1) % (o.validation_freq > 0 ? o.validation_freq : 1) == 0) {
        logs const v = o.validation.judge(*this, {o.batch_size, o.validation_steps});
        for (std::size_t k = 0; k < v.names.size(); ++k) l.set("val_" + v.names[k], v.values[k]);
      }
      steps_ = loop.step();
      loop.end_epoch(std::move(l), h);
      ++epoch_, fresh = true;
    };
    auto const done = [&] { return epoch_ >= o.epochs || stopping_; };
    while (!done()) {
      bool any = false;
      for (auto&& batch : batches) {
        auto const& x = std::get<0>(batch);
        if (fresh) {
          train_.reset(), fresh = false, batch_ = 0;
          loop.begin_epoch(epoch_);
          if (!any && x.extent(0) < replicas()) detail::refuse_few_rows(x.extent(0), replicas());
        }
        any = true;
        loop.begin_step();
        train_step(x, std::get<1>(batch), o.stop_on_nan);
        ++batch_;
        loop.end_step();
        if (o.steps_per_epoch > 0 && loop.step() == o.steps_per_epoch) end_epoch();
        if (done()) break;
      }
      if (!any) detail::refuse_empty("fit");
      if (!fresh && (o.steps_per_epoch <= 0 || stopping_)) end_epoch();
    }
    loop.end(h);
    return h;
  }

  static logs logs_of(objective_type const& o) {
    logs l;
    l.names = objective_type::names(), l.values = o.read();
    return l;
  }

  network_type network_;
  updater<Optimizer, T, Replicas> updater_;
  objective_type train_, test_;
  typename network_type::kept_type kept_{};
  std::vector<parameter_type*> order_;
  std::uint64_t seed_ = 1;
  int epoch_ = 0;
  std::int64_t batch_ = 0;
};

/// means: a trainer of the model on the devices of Strategy: by default on all GPUs, or the CPU where
///        there is none
/// fails: at compile time: sizes that do not fit, softmax in front of a loss that reads logits, a loss
///        without gradient, metrics that read other targets; when it is made: shape_error for sizes
///        that were dyn, configuration_error for options of the optimizer
/// after: keras.Model.compile under a strategy's scope
template <class Strategy = Mirrored<AllGpus>, class T = float, class Model, class Optimizer,
          class Loss, class... Metrics>
Trainer<Model, T, replicas_of_t<Strategy>, Optimizer, Loss, Metrics...> compile(
    Model const& model, Optimizer optimizer, Loss loss, Metrics... metrics) {
  return {model, std::move(optimizer), loss, metrics...};
}

/// means: the model with the weights of a trainer, or of another network, on the devices of Strategy
/// cost:  one copy of each weight
template <class Strategy, class Model, class T, class Replicas>
std::unique_ptr<Network<Model, T, replicas_of_t<Strategy>>> to(
    Network<Model, T, Replicas>& network) {
  auto copy = std::make_unique<Network<Model, T, replicas_of_t<Strategy>>>(network.model());
  auto const from = network.weights(), into = copy->weights();
  for (std::size_t k = 0; k < from.size(); ++k)
    locus::detail::move_block(*from[k].block, *into[k].block);
  return copy;
}
template <class Strategy, class Model, class T, class Replicas, class... Judges>
auto to(Trainer<Model, T, Replicas, Judges...>& trainer) {
  return nn::to<Strategy>(trainer.network());
}

/// means: the plans of one step of a trainer; those of one forward of a network
template <class Stream, class Model, class T, class Replicas, class... Judges>
void explain(Stream& out, Trainer<Model, T, Replicas, Judges...>& trainer, std::int64_t rows = 32) {
  trainer.explain(out, rows);
}
template <class Stream, class Model, class T, class Replicas>
void explain(Stream& out, Network<Model, T, Replicas>& network, std::int64_t rows = 32) {
  detail::plan_story story;
  network.forward(network.zero_batch(rows), &story);
  locus::detail::write_to(out, story.text(network.name()));
}

/// means: the table of a model, as Keras prints it, with what its optimizer keeps
template <class Stream, class Model, class T, class Replicas, class... Judges>
void summary(Stream& out, Trainer<Model, T, Replicas, Judges...>& trainer) {
  std::int64_t numbers = 0, bytes = 0;
  for (stored const& s : trainer.optimizer_state()) numbers += s.extents.size(), bytes += s.bytes();
  locus::detail::write_to(
      out, detail::summary_text(trainer.model_name(), trainer.network().layers(), numbers, bytes));
}

}  // namespace locus::nn

LOCUS_COLD_END

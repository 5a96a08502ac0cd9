// SPDX-License-Identifier: Apache-2.0
// compile<Strategy>(model, optimizer, loss, metrics...) and its result: a trainer with fit,
// evaluate and predict. No code here handles replicas: batches are sharded, weights are mirrored,
// and the plans of layers contain the all-reduces.
#pragma once
#include <memory>   // unique_ptr
#include <utility>  // forward, as_const

#include <locus/collective/rank_functions.hpp>  // some_rank_says
#include <locus/collective/rebuild.hpp>         // collective::prepare
#include <locus/core/is_finite.hpp>             // is_finite
#include <locus/data/stage.hpp>                 // infinite
#include <locus/nn/layers/network.hpp>          // Network
#include <locus/nn/losses/objective.hpp>        // objective
#include <locus/nn/optimizers/updater.hpp>      // updater
#include <locus/nn/train/array_batches.hpp>     // array_batches
#include <locus/nn/train/epochs.hpp>            // epoch_loop
#include <locus/nn/train/explain_trainer.hpp>   // plan_story
#include <locus/nn/train/finite.hpp>            // refuse_loss
#include <locus/run/late_results.hpp>           // late_results
#include <locus/tensor/in_row_order.hpp>        // in_row_order

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {

/// the last activation of a model; losses must know softmax and sigmoid
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

template <class T, class Model, class Loss, class... Metrics>
consteval bool require_judges() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "locus: a training computes in float or double; write compile<Strategy, float>, "
                "which takes data of other types, too");
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

/// means: the loss of logits, if the model ends in softmax and the loss reads its probabilities;
///        otherwise the loss itself
template <class Model, class Loss>
struct judge_of {
  using type = Loss;
};
template <class Model, class Loss>
  requires(last_activation<Model>() == activation::softmax &&
           requires(Loss const& l) { of_logits(l); })
struct judge_of<Model, Loss> {
  using type = decltype(of_logits(std::declval<Loss const&>()));
};

/// means: targets with a value for each prediction may have this rank
template <class Network, class Loss, class Y>
consteval bool require_targets() {
  constexpr shape out = Network::model_type::template output<typename Network::input>::pattern;
  constexpr bool fit = Loss::sparse || Y::rank() > out.rank || out.rank == 0 ||
                       out.extent[out.rank - 1] == dyn || out.extent[out.rank - 1] == 1;
  static_assert(fit,
                "locus: this loss takes a value for each class, and these targets have one number "
                "for each row; take SparseCategoricalCrossentropy, or one_hot<N>(labels)");
  return fit;
}
[[noreturn, gnu::cold]] inline void refuse_twice(activation end) {
  message text;
  throw configuration_error(text << "locus: the model ends in " << name_of(end)
                                 << " and its loss reads logits, which would apply it twice; leave "
                                    "the activation out, or write the loss without "
                                    "nn::from_logits");
}
[[noreturn, gnu::cold]] inline void refuse_no_rows() {
  throw shape_error("locus: a batch has no rows, and nothing can be learnt from it; leave it out");
}
/// outputs: predictions of a row; sparse: of the loss
inline void require_class_weights(std::vector<double> const& of, std::int64_t outputs,
                                  bool sparse) {
  message text;
  if (std::int64_t const n = std::int64_t(of.size()); n != classes_of(outputs, sparse)) {
    text << "locus: " << n << " weights of classes are given and the model ";
    if (classes_of(outputs, sparse) != outputs)
      text << "has one output, whose classes are the labels 0 and 1";
    else
      text << "predicts " << outputs << " classes";
    throw configuration_error(text << "; write one for each");
  }
  for (double const w : of)
    if (!locus::internal::is_finite(w))
      throw configuration_error(
          "locus: a weight of a class is no finite number; write what its rows count");
}
[[gnu::cold]] inline stored weight_of(std::vector<stored> const& all, std::string_view name) {
  stored const* found = nullptr;
  int count = 0;
  for (stored const& w : all) {
    std::string_view const full = w.name;
    if (full == name) return w;
    if (full.size() > name.size() && full.ends_with(name) &&
        full[full.size() - name.size() - 1] == '/')
      found = &w, ++count;
  }
  if (count == 1) return *found;
  message text;
  text << "locus: " << (count ? "several weights are" : "no weight is") << " called '" << name
       << "'; there are";
  for (stored const& w : all) text << " " << std::string_view(w.name);
  throw configuration_error(text);
}

template <class D>
concept is_dataset = requires { typename std::remove_cvref_t<D>::is_dataset; };

/// means: a dataset over the replicas, at its epoch, whose passes leave the given one alone; other
///        batches themselves
template <class Replicas, class D>
decltype(auto) over_replicas(D& data) {
  if constexpr (is_dataset<D>) {
    auto there = [&] {
      if constexpr (D::is_distributed)
        return data;
      else
        return std::as_const(data).template distribute<Replicas>();
    }();
    there.seek_epoch(data.epoch());
    return there;
  } else
    return (data);
}

/// means: the passes of fit over a dataset. Each is the next epoch of the dataset, as a loop of the
///        program over it is; the epochs of a constant dataset are counted here
template <class Replicas, class D>
class passes_over {
 public:
  explicit passes_over(D& data) : data_(data), there_(over_replicas<Replicas>(data)) {}
  void seek_epoch(std::uint64_t n) {
    there_.seek_epoch(n);
    if constexpr (!std::is_const_v<D>) data_.seek_epoch(n);
  }
  auto begin() {
    if constexpr (!std::is_const_v<D>) there_.seek_epoch(data_.begin_epoch());
    return there_.begin();
  }
  auto end() const { return there_.end(); }
  std::int64_t size() const { return there_.size(); }

 private:
  D& data_;
  std::remove_cv_t<decltype(over_replicas<Replicas>(std::declval<D&>()))> there_;
};
/// means: the passes of fit over arrays, which the trainer counts, so that another fit has other orders
template <class Batches>
class counted_passes {
 public:
  counted_passes(Batches& batches, std::uint64_t& next) : batches_(batches), next_(next) {}
  void seek_epoch(std::uint64_t n) { next_ = n; }
  auto begin() {
    batches_.seek_epoch(next_++);
    return batches_.begin();
  }
  auto end() const { return batches_.end(); }
  std::int64_t size() const { return batches_.size(); }

 private:
  Batches& batches_;
  std::uint64_t& next_;
};
template <class D>
std::int64_t steps_of(D const& data) {
  if constexpr (requires { data.size(); })
    return static_cast<std::int64_t>(data.size());
  else
    return -1;
}
/// means: the next pass is the one in which a fit goes on behind so many epochs and steps; returns the
///        number of its batches that are done. Where nobody knows the batches of a pass, it is the
///        first pass, and the number is that of all batches that are done
template <class D>
std::int64_t seek_step(D& batches, std::int64_t epoch, std::int64_t step,
                       std::int64_t steps_per_epoch) {
  std::int64_t pass = epoch, done = step;
  if (steps_per_epoch > 0) {
    std::int64_t const size = steps_of(batches);
    done += epoch * steps_per_epoch, pass = 0;
    if (size > 0) pass = done / size, done %= size;
  }
  if constexpr (requires { batches.seek_epoch(0u); })
    batches.seek_epoch(static_cast<std::uint64_t>(pass));
  return done;
}
[[noreturn, gnu::cold]] inline void refuse_initial_step(std::int64_t step, std::int64_t steps) {
  message text;
  text << "locus: .initial_step of fit is " << step;
  if (step >= 0) text << ", and an epoch has " << steps << " steps";
  throw configuration_error(text << "; give the number of its batches that are done");
}
[[noreturn, gnu::cold]] inline void refuse_empty(std::string_view what) {
  message text;
  throw shape_error(text << "locus: " << what
                         << " got a dataset without batches; look at what it reads, and at "
                            "drop_remainder");
}
/// fails: configuration_error for 0 steps
inline void require_steps(std::string_view option, std::int64_t steps) {
  if (steps != 0) return;
  message text;
  throw configuration_error(text << "locus: " << option
                                 << " is 0; give a number of batches, or -1 for all of them");
}
/// fails: configuration_error for a dataset without an end of which all batches are asked for
template <class D>
void require_end(D const& of, bool all, std::string_view what, std::string_view remedy) {
  message text;
  if (all && steps_of(of) == data::infinite)
    throw configuration_error(text << "locus: " << what
                                   << " got a dataset without an end, as repeat() makes one; give "
                                   << remedy);
}
[[noreturn, gnu::cold]] inline void refuse_few_rows(std::int64_t rows, int replicas) {
  message text;
  throw shape_error(text << "locus: a batch of " << rows << " rows over " << replicas
                         << " replicas leaves replicas without work; give each batch at least "
                         << replicas << " rows, or take fewer replicas");
}

}  // namespace detail

/// means: the factor of a row's loss by its class: class_weights{{1, 1, 8}}
/// shape: one factor for each class of the model; two for a model with one output, for targets below 1
///        and from 1 on
/// after: Keras' class_weight
struct class_weights {
  std::vector<double> of;
};
/// rows of examples, targets or weights on the host
template <class X>
concept array_of_rows = requires { X::rank(); };

namespace detail {
/// means: no weights of a batch, those of its rows, of classes, or of both in this order
template <class... W>
consteval bool are_weights() {
  constexpr bool of_classes[] = {std::is_same_v<W, class_weights>..., true};
  return sizeof...(W) <= 1 || (sizeof...(W) == 2 && !of_classes[0] && of_classes[1]);
}
}  // namespace detail

/// The options of evaluate and predict.
struct evaluate_options {
  std::int64_t batch_size = 32;  // of arrays
  std::int64_t steps = -1;       // at most so many batches; -1: all
};

/// means: a model with its weights, an optimizer, a loss and metrics
/// device: weights are mirrored over Replicas, rows of batches are sharded
/// cost:  for each step: the plans of the layers, one kernel over the predictions, one kernel for
///        each weight (on GPUs, for several weights: nn/optimizers/updater.hpp). Gradients of the
///        last layer are all-reduced while earlier layers still compute; the gradients of a layer
///        are one bucket
/// after: keras.Model after compile
template <class Model, class T, class Replicas, class Optimizer, class Loss, class... Metrics>
class Trainer final : public training {
  using judged = std::bool_constant<detail::require_judges<T, Model, Loss, Metrics...>()>;

 public:
  using network_type = Network<Model, T, Replicas>;
  /// the element type of targets
  using label = std::conditional_t<Loss::sparse, std::int32_t, T>;
  /// the loss that runs: of logits, if the model ends in the softmax of this loss
  using judge = typename detail::judge_of<Model, Loss>::type;
  using objective_type = objective<T, label, Replicas, judge, Metrics...>;
  using parameter_type = parameter<T, Replicas>;
  using updater_type = updater<Optimizer, T, Replicas>;

  Trainer(Model const& model, Optimizer optimizer, Loss loss, Metrics... metrics)
      : network_(std::make_unique<network_type>(model)), updater_(std::move(optimizer)),
        train_(judge_with(loss), metrics...), test_(judge_with(loss), metrics...) {
    activation const end = network_->state().ends_in();
    if constexpr (Loss::reads_logits)
      if (end == activation::sigmoid || end == activation::softmax) detail::refuse_twice(end);
    takes_logits_ = takes_logits(end);
    for (int k = network_type::links; k-- > 0;)
      for (int i = network_->first(k); i < network_->first(k + 1); ++i)
        if (parameter_type* const p = network_->parameters()[std::size_t(i)]; p->trainable)
          order_.push_back(p);
    if constexpr (updater_type::excludes) updater_.name_parameters(names_in_order());
    collective::prepare<Replicas>();  // not a part of the first step
  }
  /// cost:  a move copies no weight; a moved-from trainer may only be assigned to or destroyed
  Trainer(Trainer&&) = default;
  Trainer& operator=(Trainer&&) = default;

  /// means: the data of .validation, with the function that evaluates them. Temporaries are kept.
  ///        Named data are referenced, not copied: they must outlive fit and the options, and each
  ///        validation reads their present values. A callback may change them between two
  ///        validations; another thread may not while fit runs.
  /// fails: undefined behaviour, if named data are dead
  class validation_data {
   public:
    validation_data() = default;
    /// a dataset
    template <class D>
      requires(!std::is_same_v<std::remove_cvref_t<D>, validation_data>)
    validation_data(D&& data)
        : x_(held(std::forward<D>(data))),
          run_([](Trainer& t, void const* d, void const*, void const*, evaluate_options const& o) {
            using Data = std::remove_reference_t<D>;
            return t.evaluate(*static_cast<Data*>(const_cast<void*>(d)), o);
          }) {}
    /// examples and targets
    template <class X, class Y>
    validation_data(X&& x, Y&& y)
        : x_(held(std::forward<X>(x))), y_(held(std::forward<Y>(y))),
          run_(
              [](Trainer& t, void const* a, void const* b, void const*, evaluate_options const& o) {
                return t.evaluate(*static_cast<std::remove_cvref_t<X> const*>(a),
                                  *static_cast<std::remove_cvref_t<Y> const*>(b), o);
              }) {}
    /// the same, with a weight for each row
    template <class X, class Y, class W>
    validation_data(X&& x, Y&& y, W&& w)
        : x_(held(std::forward<X>(x))), y_(held(std::forward<Y>(y))), w_(held(std::forward<W>(w))),
          run_([](Trainer& t, void const* a, void const* b, void const* c,
                  evaluate_options const& o) {
            return t.evaluate(*static_cast<std::remove_cvref_t<X> const*>(a),
                              *static_cast<std::remove_cvref_t<Y> const*>(b),
                              *static_cast<std::remove_cvref_t<W> const*>(c), o);
          }) {}
    explicit operator bool() const { return run_ != nullptr; }
    logs judge(Trainer& t, evaluate_options const& o) const {
      return run_(t, x_.get(), y_.get(), w_.get(), o);
    }

   private:
    /// owns a temporary, refers to a named object
    template <class D>
    static std::shared_ptr<void const> held(D&& data) {
      if constexpr (std::is_lvalue_reference_v<D>)
        return {std::shared_ptr<void const>(), &data};
      else
        return std::make_shared<D>(std::move(data));
    }
    std::shared_ptr<void const> x_, y_, w_;
    logs (*run_)(Trainer&, void const*, void const*, void const*,
                 evaluate_options const&) = nullptr;
  };

  struct fit_options {
    int epochs = 1;
    validation_data validation{};  // a dataset, {x, y} or {x, y, weights}
    std::vector<callback*> callbacks{};
    int verbose = 1;                    // 0: silent, 1: a bar, 2: a line for each epoch
    int initial_epoch = 0;              // the epoch to continue with
    std::int64_t initial_step = 0;      // batches of this epoch that are done
    std::int64_t steps_per_epoch = -1;  // -1: one pass over the dataset
    std::int64_t validation_steps = -1;
    int validation_freq = 1;       // epochs from one validation to the next
    std::int64_t batch_size = 32;  // of arrays
    bool shuffle = true;           // of arrays
    std::uint64_t seed = 1;        // of the order of rows, and of dropout
    weighting weights = weighting::global_batch;
    bool stop_on_nan = false;  // throws not_finite before the step changes anything; the host waits
  };

  /// means: steps of the optimizer over the batches of a dataset, one pass after another
  /// shape: a batch is (examples, targets), or (examples, targets, a weight for each row)
  /// fails: shape_error for an empty dataset, batches of other extents, invalid labels, and a first
  ///        batch with fewer rows than replicas; configuration_error for a dataset without an end and
  ///        no .steps_per_epoch; not_finite with stop_on_nan
  /// after: each pass is the next epoch of the dataset, so that another fit has other orders. With
  ///        .initial_epoch or .initial_step, fit goes on behind the passes and batches of the epochs
  ///        before: it reads the batches of the pass that are done, and of a dataset of unknown size
  ///        with .steps_per_epoch all of them
  template <class D>
  history fit(D&& data, fit_options const& o = {}) {
    return run_passes(data, o);
  }
  /// means: the same; the loss of a row is multiplied by the weight of its class, and by its own if the
  ///        batches bring weights of rows
  template <class D>
  history fit(D&& data, class_weights const& w, fit_options const& o = {}) {
    return run_passes(data, o, mirrored_weights(w));
  }
  /// means: the same over the rows of two arrays on the host, whose passes this trainer counts
  template <array_of_rows X, array_of_rows Y>
  history fit(X const& x, Y const& y, fit_options const& o = {}) {
    array_batches<X, Y> batches(o.batch_size, o.shuffle, o.seed, x, y);
    return run_passes(batches, o);
  }
  /// means: the same with a weight for each row, for each class, or both, which multiply the loss of
  ///        the row
  /// after: Keras' sample_weight and class_weight: the sum is divided by the number of rows;
  ///        metrics ignore the weights. Both multiply, as in Keras 2; Keras 3 refuses both
  template <array_of_rows X, array_of_rows Y, array_of_rows W>
  history fit(X const& x, Y const& y, W const& weights, fit_options const& o = {}) {
    array_batches<X, Y, W> batches(o.batch_size, o.shuffle, o.seed, x, y, weights);
    return run_passes(batches, o);
  }
  template <array_of_rows X, array_of_rows Y>
  history fit(X const& x, Y const& y, class_weights const& w, fit_options const& o = {}) {
    array_batches<X, Y> batches(o.batch_size, o.shuffle, o.seed, x, y);
    return run_passes(batches, o, mirrored_weights(w));
  }
  template <array_of_rows X, array_of_rows Y, array_of_rows W>
  history fit(X const& x, Y const& y, W const& of_rows, class_weights const& of_classes,
              fit_options const& o = {}) {
    array_batches<X, Y, W> batches(o.batch_size, o.shuffle, o.seed, x, y, of_rows);
    return run_passes(batches, o, mirrored_weights(of_classes));
  }

  /// means: one step of the optimizer; returns loss and metrics of the batch before the step
  /// shape: weights, if given: one number for each row, class_weights, or both in this order
  /// fails: shape_error for a batch without rows
  template <class X, class Y, class... W>
    requires(detail::are_weights<W...>())
  logs train_on_batch(X const& x, Y const& y, W const&... weights) {
    train_.reset();
    train_step(x, y, false, nullptr, given(weights)...);
    logs const l = logs_of(train_);
    if (!told_ && !(l.values[0] - l.values[0] == 0)) told_ = true, detail::tell_not_finite();
    return l;
  }

  /// means: mean loss and metrics over all rows; a dataset stays at its epoch
  /// fails: shape_error for no batch; configuration_error for a dataset without an end and no .steps
  template <class D>
    requires(!requires { std::remove_cvref_t<D>::rank(); })
  logs evaluate(D&& data, evaluate_options const& o = {}) {
    return test(data, o);
  }
  template <array_of_rows X, array_of_rows Y>
  logs evaluate(X const& x, Y const& y, evaluate_options const& o = {}) {
    array_batches<X, Y> batches(o.batch_size, false, 0, x, y);
    return evaluate(batches, o);
  }
  /// means: the same with a weight for each row
  template <array_of_rows X, array_of_rows Y, array_of_rows W>
  logs evaluate(X const& x, Y const& y, W const& weights, evaluate_options const& o = {}) {
    array_batches<X, Y, W> batches(o.batch_size, false, 0, x, y, weights);
    return evaluate(batches, o);
  }
  /// means: the same; weights of classes multiply the losses of rows, as in fit
  template <class D>
    requires(!requires { std::remove_cvref_t<D>::rank(); })
  logs evaluate(D&& data, class_weights const& w, evaluate_options const& o = {}) {
    return test(data, o, mirrored_weights(w));
  }
  template <array_of_rows X, array_of_rows Y>
  logs evaluate(X const& x, Y const& y, class_weights const& w, evaluate_options const& o = {}) {
    array_batches<X, Y> batches(o.batch_size, false, 0, x, y);
    return evaluate(batches, w, o);
  }
  template <array_of_rows X, array_of_rows Y, array_of_rows W>
  logs evaluate(X const& x, Y const& y, W const& of_rows, class_weights const& of_classes,
                evaluate_options const& o = {}) {
    array_batches<X, Y, W> batches(o.batch_size, false, 0, x, y, of_rows);
    return evaluate(batches, of_classes, o);
  }

  /// means: the predictions for the rows of an array, or of the first component of a dataset's
  ///        batches, in order, on the host; a dataset stays at its epoch
  /// fails: configuration_error for a dataset without an end and no .steps
  template <class D>
  auto predict(D&& data, evaluate_options const& o = {}) {
    detail::require_steps(".steps of predict", o.steps);
    if constexpr (requires { std::remove_cvref_t<D>::rank(); }) {
      bool const some =
          o.steps > 0 && o.batch_size > 0 && o.steps <= (data.extent(0) - 1) / o.batch_size;
      if (some) return network_->predict(rows_of(data, 0, o.steps * o.batch_size), {o.batch_size});
      return network_->predict(data, {o.batch_size});
    } else {
      detail::require_end(data, o.steps < 0, "predict", ".steps");
      rows_collector<T, network_type::out_batch::rank()> all(network_->output_extents(), 0);
      std::int64_t steps = 0;
      for (auto&& batch : detail::over_replicas<Replicas>(data)) {
        all.add((*network_)(std::get<0>(batch)));
        if (++steps == o.steps) break;
      }
      return all.take();
    }
  }

  network_type& network() { return *network_; }
  /// means: weights = their moving averages, which stay; nothing before the first step
  /// fails: configuration_error, if the optimizer is not an nn::MovingAverage
  void take_averages() override {
    if constexpr (updater_type::keeps_averages)
      updater_.take_averages(in_order{order_});
    else
      refuse_averages();
  }
  /// means: swaps weights and their moving averages, as SwapEMAWeights does for validation
  void swap_averages() override {
    if constexpr (updater_type::keeps_averages)
      updater_.swap_averages(in_order{order_});
    else
      refuse_averages();
  }
  Optimizer const& optimizer() const { return updater_.optimizer(); }
  /// number of steps of the optimizer
  std::int64_t iterations() const { return updater_.iterations(); }

  // ---- access for callbacks and files ----
  std::string_view model_name() const override { return network_->name(); }
  int replicas() const override { return network_->replica_count(); }
  bool writes_here() const override {
    return !network_->is_over_ranks() || runtime::this_rank.rank == 0;
  }
  double learning_rate() const override { return updater_.learning_rate(); }
  void set_learning_rate(double r) override { updater_.set_learning_rate(r); }
  std::vector<stored> weights() override { return network_->weights(); }
  /// means: the weight with this name: "dense_1/kernel", or "kernel" if only one layer has one
  /// fails: configuration_error, if no weight or several have it; the text lists all
  stored weights(std::string_view name) { return detail::weight_of(network_->weights(), name); }
  std::vector<stored> optimizer_state() override {
    in_order trained{order_};
    updater_.prepare(trained);
    std::vector<stored> all;
    auto const named = network_->weights();
    for (std::size_t k = 0; k < order_.size(); ++k)
      for (stored const& w : named)
        if (w.block == order_[k]->value.block.get()) {
          auto const of = updater_.stored_of(k, *order_[k], w.name);
          all.insert(all.end(), of.begin(), of.end());
        }
    return all;
  }
  std::vector<counter> counters() override { return updater_.counters(); }
  std::vector<setting> settings() override { return updater_.settings(); }
  /// the seed of dropout and of the order of arrays
  std::uint64_t seed() const override { return seed_; }
  std::uint64_t data_seed() const override { return seed_; }

  /// means: prints the plans of one step: forward, loss and metrics, pullbacks of the layers from
  ///        the last to the first with their buckets, and the updates
  /// cost:  one step on a batch of zeros; weights and the optimizer's state are restored afterwards
  /// device: over ranks: every rank calls it, rank 0 writes
  template <class Stream>
  void explain(Stream& out, std::int64_t rows = 32) {
    detail::kept_state const before(*this);
    detail::plan_story story;
    train_step(network_->zero_batch(rows), zero_targets(rows), false, &story);
    train_.reset();
    before.restore(*this);
    if (writes_here()) locus::internal::write_to(out, story.text(network_->name()));
  }

 private:
  std::vector<detail::named_extents> names_in_order() {
    std::vector<detail::named_extents> all;
    auto const named = network_->weights();
    for (parameter_type* const p : order_)
      for (stored const& w : named)
        if (w.block == p->value.block.get()) {
          all.push_back({w.name, w.extents});
          break;
        }
    return all;
  }
  /// the trained parameters in the form of a model, the last layer's first
  struct in_order {
    std::vector<parameter_type*> const& all;
    template <class F>
    void for_each_parameter(F&& f) const {
      for (parameter_type* p : all) f(*p);
    }
  };

  template <class Y>
  auto targets_of(Y const& y) const {
    static_cast<void>(detail::require_targets<network_type, Loss, Y>());
    if constexpr (Loss::sparse) {
      // its assertion explains targets that are not labels
      static_cast<void>(sizeof(objective<T, typename Y::value_type, Replicas, Loss, Metrics...>));
    }
    decltype(auto) rows = locus::internal::in_row_order(y);
    if constexpr (Loss::sparse && std::is_same_v<typename Y::policy, CpuDevice>)
      require_classes(rows);
    return batch_as<label, Y::rank(), Replicas>(rows);
  }
  template <class Y>
  void require_classes(Y const& y) const {
    shape const out = network_->output_extents();
    std::int64_t const classes = out.extent[out.rank - 1];
    for (std::int64_t i = 0; i < y.size(); ++i) {
      auto const v = static_cast<std::int64_t>(y.data()[i]);
      if (v >= 0 && v < classes) continue;
      message text;
      throw shape_error(text << "locus: the label of row " << i / (y.size() / y.extent(0))
                             << " of a batch is " << v << ", outside [0, " << classes
                             << "), the classes that the model predicts; drop the record or give "
                                "the last layer more units");
    }
  }

  // ---- the loss, where the model ends in an activation that the loss can leave out ----
  static constexpr bool of_sigmoid = requires(Loss l) { l.behind_sigmoid; } && !Loss::reads_logits;
  static constexpr bool of_softmax = !std::is_same_v<judge, Loss>;
  /// metrics read the last activation, the loss reads its argument
  static constexpr bool apart = (of_sigmoid || of_softmax) && sizeof...(Metrics) > 0;
  static bool takes_logits(activation end) {
    return of_softmax || (of_sigmoid && end == activation::sigmoid);
  }
  judge judge_with(Loss loss) const {
    if constexpr (of_softmax)
      return of_logits(loss);
    else {
      if constexpr (of_sigmoid)
        loss.behind_sigmoid = network_->state().ends_in() == activation::sigmoid;
      return loss;
    }
  }
  using out_batch = typename network_type::out_batch;
  static out_batch activated(out_batch const& logits) {
    if constexpr (of_softmax)
      return softmax_rows<T, out_batch::rank(), Replicas>(logits);
    else
      return out_batch(map(activate_fn{activation::sigmoid}, logits));
  }
  /// the gradient of the loss by the output of the forward pass
  template <class Y, class... W>
  out_batch slope_of(objective_type& o, out_batch const& out, Y const& targets,
                     W const&... w) const {
    if constexpr (!apart)
      return o.add(out, targets, w...);
    else if (takes_logits_)
      return o.add_apart(out, activated(out), targets, w...);
    else
      return o.add_apart(out, out, targets, w...);
  }

  /// the loss of the batch that o got last grows by the penalties of the weights
  void add_penalties(objective_type& o) {
    network_->state().visit([&o](layer_label const&, auto& s) {
      if constexpr (requires { s.penalties; })
        s.for_each_penalty([&o](parameter_type const& w, auto const& p) {
          auto const v = cast<double>(w.value);
          o.add_to_loss(p.l1 * sum(abs(v)) + p.l2 * sum(square(v)));
        });
    });
  }

  // ---- weights of rows and of classes ----
  using mirrored = Tensor<T, Dextents<1>, Replicas>;
  mirrored mirrored_weights(class_weights const& w) const {
    shape const out = network_->output_extents();
    detail::require_class_weights(w.of, out.extent[out.rank - 1], Loss::sparse);
    Tensor<T, Dextents<1>, CpuDevice> host(std::int64_t(w.of.size()));
    for (std::size_t c = 0; c < w.of.size(); ++c) host.data()[c] = T(w.of[c]);
    return to<Replicas>(host);
  }
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): weights of rows, not a temporary
  mirrored const& given(mirrored const& w) const { return w; }
  mirrored given(class_weights const& w) const { return mirrored_weights(w); }
  template <class W>
  auto given(W const& w) const {
    return batch_as<T, 1, Replicas>(w);
  }
  /// means: f(examples, targets), or f(examples, targets, weights) if the batch has weights
  template <class Batch, class F>
  static void step_of(Batch const& batch, F const& f) {
    if constexpr (std::tuple_size_v<Batch> > 2)
      f(std::get<0>(batch), std::get<1>(batch), std::get<2>(batch));
    else
      f(std::get<0>(batch), std::get<1>(batch));
  }

  template <class X, class Y, class... W>
  void train_step(X const& examples, Y const& y, bool look, detail::plan_story* story = nullptr,
                  W const&... w) {
    if (examples.extent(0) == 0) detail::refuse_no_rows();
    in_order trained{order_};
    updater_.prepare(trained);  // allocates slots before any weight changes
    auto const x = network_->batch_of_examples(examples);
    auto const targets = targets_of(y);
    auto& state = network_->state();
    pass const p{true, static_cast<std::uint64_t>(updater_.batches()), seed_, story, takes_logits_};
    auto const before = look ? untrained_values() : untrained();
    auto out = state.forward(x, kept_, p);
    auto dy = slope_of(train_, out, targets, w...);
    if constexpr (network_type::state_type::regularizes) add_penalties(train_);
    if (story) story->end_part("loss and metrics");
    if (look) look_at_loss(x, p, before, targets, w...);
    updater_.begin_step();
    // with several replicas, an update would wait for its all-reduce on the queue that runs the
    // next layer's pullback: all updates come after the last pullback
    bool const at_once = replicas() == 1;
    locus::internal::late_results sums;  // of gradients, over ranks: the updates wait for them
    state.backward(x, out, kept_, std::move(dy), false, [&](int link) {
      if (story) story->end_part(state.labels[link].name + ", pullback");
      if (at_once) update(link, story);
    });
    if (!at_once)
      for (int k = network_type::links; k-- > 0;) update(k, story);
    updater_.end_step();
    sums.finish();
    if (story) story->end_part("updates that waited for others");
  }
  void update(int link, detail::plan_story* story) {
    for (int i = network_->first(link); i < network_->first(link + 1); ++i)
      if (parameter_type& p = *network_->parameters()[std::size_t(i)]; p.trainable)
        updater_.update(p);
    if (story) story->end_part(network_->state().labels[link].name + ", update");
  }
  /// zero targets with the extents of the predictions
  auto zero_targets(std::int64_t rows) const {
    constexpr int rank = network_type::out_batch::rank() - (Loss::sparse ? 1 : 0);
    shape s = detail::with_rows(network_->output_extents(), rows);
    s.rank = rank;
    return detail::zero_array<label, rank>(s);
  }
  /// weights that no optimizer changes, and that a forward pass may: moving statistics
  using untrained = std::vector<typename parameter_type::tensor>;
  template <class F>
  void for_each_untrained(F&& f) {
    network_->state().visit([&f](layer_label const&, auto& s) {
      if constexpr (!requires { s.predicts; })  // a frozen layer changes none
        s.for_each_parameter([&f](parameter_type& p) {
          if (!p.trainable) f(p.value);
        });
    });
  }
  untrained untrained_values() {
    untrained all;
    for_each_untrained([&all](auto const& value) { all.push_back(value); });
    return all;
  }
  void set_untrained(untrained const& to) {
    std::size_t k = 0;
    for_each_untrained([&](auto& value) {
      locus::internal::move_block(*to[k++].block.get(), *value.block.get());
    });
  }
  template <class X, class Y, class... W>
  [[gnu::cold]] void look_at_loss(X const& x, pass p, untrained const& before, Y const& targets,
                                  W const&... w) {
    double const loss = train_.read()[0];
    if (locus::internal::is_finite(loss)) return;
    set_untrained(before);  // the step leaves no trace
    detail::finite_watch watch;
    p.watch = &watch;
    static_cast<void>(network_->state().forward(x, kept_, p));
    set_untrained(before);
    std::string_view const bad =
        detail::is_not_finite(*x.block.get())            ? "the batch itself holds"
        : detail::is_not_finite(*targets.block.get())    ? "the targets of the batch hold"
        : (detail::is_not_finite(*w.block.get()) || ...) ? "the weights of its losses hold"
                                                         : "";
    detail::refuse_loss(updater_.iterations(), epoch_, batch_, bad, watch.first,
                        network_->weights());
  }
  template <class X, class Y, class... W>
  void test_step(X const& examples, Y const& y, W const&... w) {
    auto const x = network_->batch_of_examples(examples);
    typename network_type::kept_type k{};
    auto const out = network_->state().forward(x, k, pass{.logits = takes_logits_});
    static_cast<void>(slope_of(test_, out, targets_of(y), given(w)...));
    if constexpr (network_type::state_type::regularizes) add_penalties(test_);
  }

  /// w: weights of classes, or nothing
  template <class D, class... W>
  logs test(D& data, evaluate_options const& o, W const&... w) {
    detail::require_steps(".steps of evaluate", o.steps);
    detail::require_end(data, o.steps < 0, "evaluate", ".steps, and to fit .validation_steps");
    test_.reset();
    std::int64_t steps = 0;
    for (auto&& batch : detail::over_replicas<Replicas>(data)) {
      step_of(batch, [&](auto const&... part) { test_step(part..., w...); });
      if (++steps == o.steps) break;
    }
    if (steps == 0) detail::refuse_empty("evaluate");
    return logs_of(test_);
  }
  template <class D, class... W>
  history run_passes(D& data, fit_options const& o, W const&... w) {
    if constexpr (detail::is_dataset<D>) {
      detail::passes_over<Replicas, D> passes(data);
      return run_epochs(passes, o, w...);
    } else
      return run_epochs(data, o, w...);
  }
  template <class... X, class... W>
  history run_passes(array_batches<X...>& arrays, fit_options const& o, W const&... w) {
    detail::counted_passes passes(arrays, array_passes_);
    return run_epochs(passes, o, w...);
  }
  template <class D, class... W>
  history run_epochs(D& batches, fit_options const& o, W const&... w) {
    if (o.validation) detail::require_steps(".validation_steps of fit", o.validation_steps);
    detail::require_end(batches, o.steps_per_epoch <= 0, "fit", ".steps_per_epoch");
    seed_ = o.seed, epochs_ = o.epochs, stopping_ = false;
    steps_ = o.steps_per_epoch > 0 ? o.steps_per_epoch : detail::steps_of(batches);
    std::int64_t first_step = o.initial_step, skipped = 0;  // batches in front of the first step
    if (first_step < 0 || (first_step > 0 && steps_ >= 0 && first_step >= steps_))
      detail::refuse_initial_step(first_step, steps_);
    if (o.initial_epoch > 0 || first_step > 0)
      skipped = detail::seek_step(batches, o.initial_epoch, first_step, o.steps_per_epoch);
    train_.set_weighting(o.weights);
    detail::epoch_options const of_loop{o.epochs,    o.initial_epoch, o.steps_per_epoch,
                                        o.callbacks, o.verbose,       network_->is_over_ranks()};
    auto const now = [this](logs& l) { l = logs_of(train_); };
    // where a callback of one rank stops the training, all ranks stop behind the same call
    auto const agree = [&](std::string_view call) {
      if (network_->is_over_ranks() && !o.callbacks.empty())
        stopping_ = locus::internal::some_rank_says(stopping_, call);
    };
    detail::epoch_loop loop(*this, of_loop, steps_, now);
    agree("on_train_begin");
    history h;
    epoch_ = o.initial_epoch;
    bool fresh = true;  // an epoch begins
    auto const end_epoch = [&] {
      if (network_->is_over_ranks())  // a rank that has other batches is named
        locus::internal::some_rank_says(false, "end of an epoch");
      logs l = logs_of(train_);
      int const every = o.validation_freq > 0 ? o.validation_freq : 1;
      bool const judges = o.validation && (epoch_ + 1) % every == 0;
      skips_validation_ = o.validation && !judges && o.epochs / every > o.initial_epoch / every;
      if (judges) {
        logs const v = loop.test(
            [&] { return o.validation.judge(*this, {o.batch_size, o.validation_steps}); });
        for (std::size_t k = 0; k < v.names.size(); ++k) l.set("val_" + v.names[k], v.values[k]);
      }
      steps_ = loop.step();
      loop.end_epoch(std::move(l), h);
      agree("on_epoch_end");
      ++epoch_, fresh = true;
    };
    auto const done = [&] { return epoch_ >= o.epochs || stopping_; };
    while (!done()) {
      bool any = false;
      for (auto&& batch : batches) {
        if (skipped > 0) {
          --skipped, any = true;
          continue;
        }
        auto const& x = std::get<0>(batch);
        if (fresh) {
          train_.reset(), fresh = false, batch_ = first_step;
          loop.begin_epoch(epoch_, first_step);
          first_step = 0;
          if (!any && x.extent(0) < replicas()) detail::refuse_few_rows(x.extent(0), replicas());
        }
        any = true;
        loop.begin_step();
        step_of(batch, [&](auto const&, auto const& y, auto const&... row) {
          train_step(x, y, o.stop_on_nan, nullptr, given(row)..., w...);
        });
        ++batch_;
        loop.end_step();
        agree("on_batch_end");
        if (o.steps_per_epoch > 0 && loop.step() == o.steps_per_epoch) end_epoch();
        if (done()) break;
      }
      if (!any) detail::refuse_empty("fit");
      if (fresh && o.steps_per_epoch <= 0) {  // all batches of the epoch were done
        if (skipped > 0) detail::refuse_initial_step(first_step, first_step - skipped);
        ++epoch_, first_step = 0;
      }
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

  std::unique_ptr<network_type> network_;  // layers and optimizer point to its weights
  updater_type updater_;
  objective_type train_, test_;
  typename network_type::kept_type kept_{};
  std::vector<parameter_type*> order_;
  std::uint64_t seed_ = 1;
  bool takes_logits_ = false, told_ = false;
  int epoch_ = 0;
  std::int64_t batch_ = 0;
  std::uint64_t array_passes_ = 0;  // the next pass over arrays
};

/// means: a trainer of the model on the devices of Strategy: by default all GPUs, or the CPU if
///        there are none
/// fails: at compile time, for sizes that do not fit, softmax before a loss of logits, a loss
///        without gradient, metrics with other targets; at run time, shape_error for dynamic sizes
///        that do not fit, configuration_error for options of the optimizer
/// after: keras.Model.compile in a strategy's scope
template <class Strategy = Mirrored<AllGpus>, class T = float, class Model, class Optimizer,
          class Loss, class... Metrics>
Trainer<Model, T, replicas_of_t<Strategy>, Optimizer, Loss, Metrics...> compile(
    Model const& model, Optimizer optimizer, Loss loss, Metrics... metrics) {
  return {model, std::move(optimizer), loss, metrics...};
}

/// means: the model with copies of the weights of a trainer, or of another network, on the devices
///        of Strategy
/// cost:  one copy of each weight
template <class Strategy, class Model, class T, class Replicas>
std::unique_ptr<Network<Model, T, replicas_of_t<Strategy>>> to(
    Network<Model, T, Replicas>& network) {
  auto copy = std::make_unique<Network<Model, T, replicas_of_t<Strategy>>>(network.model());
  auto const from = network.weights(), into = copy->weights();
  for (std::size_t k = 0; k < from.size(); ++k)
    locus::internal::move_block(*from[k].block, *into[k].block);
  return copy;
}
template <class Strategy, class Model, class T, class Replicas, class... Judges>
auto to(Trainer<Model, T, Replicas, Judges...>& trainer) {
  return nn::to<Strategy>(trainer.network());
}

/// means: prints the plans of one step of a trainer, or of one forward pass of a network
template <class Stream, class Model, class T, class Replicas, class... Judges>
void explain(Stream& out, Trainer<Model, T, Replicas, Judges...>& trainer, std::int64_t rows = 32) {
  trainer.explain(out, rows);
}
template <class Stream, class Model, class T, class Replicas>
void explain(Stream& out, Network<Model, T, Replicas>& network, std::int64_t rows = 32) {
  detail::plan_story story;
  network.forward(network.zero_batch(rows), &story);
  if (network.is_over_ranks() && runtime::this_rank.rank != 0) return;
  locus::internal::write_to(out, story.text(network.name()));
}

/// means: prints the table of a model, as Keras does, with the state of its optimizer
template <class Stream, class Model, class T, class Replicas, class... Judges>
void summary(Stream& out, Trainer<Model, T, Replicas, Judges...>& trainer) {
  std::int64_t numbers = 0, bytes = 0;
  for (stored const& s : trainer.optimizer_state()) numbers += s.extents.size(), bytes += s.bytes();
  if (!trainer.writes_here()) return;
  locus::internal::write_to(
      out, detail::summary_text(trainer.model_name(), trainer.network().layers(), numbers, bytes));
}

}  // namespace locus::nn

LOCUS_COLD_END

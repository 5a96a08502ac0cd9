// SPDX-License-Identifier: Apache-2.0
// updater: the steps of an optimizer, and the slots of each parameter.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/nn/layers/checkpoint_entry.hpp>  // stored, counter
#include <locus/nn/layers/parameter.hpp>         // parameter
#include <locus/nn/optimizers/optimizer.hpp>     // SGD, Adam, ...
#include <locus/nn/optimizers/update.hpp>        // update_plan
#include <locus/nn/optimizers/weight_decay.hpp>  // ExcludeFromDecay, named_extents
#include <locus/ops/math.hpp>                    // sqrt, square, maximum
#include <locus/ops/reduce.hpp>                  // sum

namespace locus::nn {

namespace detail {

struct no_norm {};
/// An empty weight and its slots.
template <class Tensor>
class no_weights {
 public:
  /// means: `numbers` empty tensors; the first is the weight
  Tensor* of(int numbers) {
    while (int(tensors_.size()) < numbers) tensors_.emplace_back(Dextents<1>(0));
    return tensors_.data();
  }

 private:
  std::vector<Tensor> tensors_;
};
/// means: the mean gradient of several batches, of each parameter
template <class Tensor>
struct mean_gradients {
  std::vector<Tensor> of;    // [trainable parameter]
  std::int64_t batches = 0;  // that are in them
};
/// means: the factor that scales gradients to a norm, on every replica; the host does not wait for
///        it
template <class T, class Replicas>
struct norm_scale {
  Tensor<T, Extents<>, Replicas> square, factor;

  void begin() {
    T const none(0);
    locus::internal::fill_storage(*square.block.get(), &none);
  }
  template <class Gradient>
  void add(Gradient const& g) {
    run(into(square, square + sum(locus::square(g))));
  }
  void end(double norm) { run(into(factor, T(norm) / maximum(sqrt(square), T(norm)))); }
};

}  // namespace detail

/// means: steps of an optimizer over the parameters of one model
/// device: slots are where the parameters are, equal on every replica
/// cost:  for each step and replica, one kernel for each parameter; on GPUs, one kernel for
///        weights_at_once<Rule> dense parameters: 11 for SGD, 7 for SGD with momentum, 5 for Adam.
///        ClipNorm and ClipGlobalNorm read each gradient once more, and with ClipNorm each
///        parameter has its own kernel. The first step allocates the slots; later steps allocate
///        nothing that stays
/// fails: configuration_error for invalid options; shape_error, if the parameters are not those of
///        the first step
template <class Optimizer, class T, class Replicas>
class updater {
 public:
  using parameter_type = parameter<T, Replicas>;
  using tensor = typename parameter_type::tensor;

  explicit updater(Optimizer optimizer) : optimizer_(std::move(optimizer)) {
    base().require();
    if constexpr (clips != norm_of::none)
      detail::require_number("a clipped optimizer", "norm", detail::clip_norm(optimizer_), 1e-300,
                             1e300);
    if constexpr (averages)
      detail::require_number("MovingAverage", "momentum", detail::average_momentum(optimizer_), 0,
                             1);
    if constexpr (accumulates)
      detail::require_number("Accumulate", "steps", steps_together(), 1, 1e9);
    if constexpr (excludes)
      detail::require_excluded(detail::excluded_weights(optimizer_), base().weight_decay);
  }

  static constexpr bool excludes = detail::excludes<Optimizer>();
  /// means: the trainable parameters, in order, have these names, by which ExcludeFromDecay knows them
  /// fails: configuration_error for a name there that no parameter has
  void name_parameters(std::vector<detail::named_extents> const& all) {
    if constexpr (excludes)
      decays_ = detail::decaying_of(detail::excluded_weights(optimizer_), all);
  }
  bool has_names() const { return !excludes || !decays_.empty(); }

  /// means: one step of all trainable parameters of a model, from their gradients; under Accumulate,
  ///        one of its batches
  /// fails: out_of_memory for slots, before any change: the step can be repeated
  template <class Model>
  void step(Model&& model) {
    if (!has_names()) {
      std::vector<detail::named_extents> all;
      model.for_each_parameter([&all](parameter_type& p) {
        if (p.trainable) all.push_back({p.name, p.extents});
      });
      name_parameters(all);
    }
    prepare(model);
    begin_step();
    model.for_each_parameter([this](parameter_type& p) {
      if (p.trainable) update(p);
    });
    end_step();
  }

  /// means: a step in parts: begin_step(); update(p) for each trainable parameter, always in one
  ///        order, as soon as its gradient is computed; end_step(). After prepare(), no part
  ///        allocates memory
  void begin_step() {
    now_.step = iterations_ + 1, now_.rate = rate_of(iterations_);
    if constexpr (requires { base().momentum_of(1); }) {
      if (known_ > now_.step) known_ = 0, product_ = 1;  // the counter was set back
      for (; known_ < now_.step; ++known_) product_ *= base().momentum_of(known_ + 1);
      now_.product = product_;
    }
    next_ = 0, waiting_[0].clear(), waiting_[1].clear(), unclipped_.clear();
    if constexpr (clips == norm_of::model) scale_.begin();
  }
  void update(parameter_type& p) {
    waiting const one{&p, next_++};
    if constexpr (accumulates) {
      add_batch(one);
      if (!completes_step()) return;
    }
    if constexpr (clips == norm_of::model)  // the norm needs all gradients
      add_square(one), unclipped_.push_back(one);
    else {
      if constexpr (clips == norm_of::parameter)
        scale_.begin(), add_square(one), scale_.end(detail::clip_norm(optimizer_));
      update_soon(one);
    }
  }
  void end_step() {
    if constexpr (accumulates)
      if (!completes_step()) {
        ++means_.batches;
        return;
      }
    if constexpr (clips == norm_of::model) {
      scale_.end(detail::clip_norm(optimizer_));
      for (waiting const& one : unclipped_) update_soon(one);
    }
    if constexpr (together)
      for (bool const decay : {false, true})
        if (!waiting_[decay].empty()) update_waiting(decay);
    if constexpr (accumulates) means_.batches = 0;
    ++iterations_;
  }

  /// means: each trainable parameter = its moving average; before the first step they are equal
  template <class Model>
  void take_averages(Model&& model) {
    for_each_average(model, [](tensor& weight, tensor& average) { weight = average; });
  }

  /// means: swaps each trainable parameter with its average
  template <class Model>
  void swap_averages(Model&& model) {
    for_each_average(model, [](tensor& weight, tensor& average) { std::swap(weight, average); });
  }
  /// means: the same for weights whose memory others see, too: it stays, and the elements change places
  /// cost:  one kernel for each parameter
  template <class Model>
  void swap_elements_of_averages(Model&& model) {
    for_each_average(model, [](tensor& weight, tensor& average) {
      run(plan(into(weight, average), into(average, weight)));
    });
  }
  static constexpr bool keeps_averages = detail::averages<Optimizer>();

  Optimizer const& optimizer() const { return optimizer_; }
  double learning_rate() const { return rate_of(iterations_); }
  /// means: replaces the optimizer's learning rate from the next step on
  void set_learning_rate(rate r) { detail::innermost(optimizer_).learning_rate = r; }
  std::int64_t iterations() const { return iterations_; }
  /// gradients that it got: under Accumulate, those of all batches
  std::int64_t batches() const {
    if constexpr (accumulates)
      return iterations_ * steps_together() + means_.batches;
    else
      return iterations_;
  }

  /// means: allocates the slots of all trainable parameters, so that a checkpoint can be loaded
  ///        into them. Otherwise the first step does
  template <class Model>
  void prepare(Model& model) {
    next_ = 0;
    model.for_each_parameter([this](parameter_type& p) {
      if (p.trainable)
        with_rule(true, [&]<class Rule>(Rule const&) { kept_for<Rule>({&p, next_++}); });
    });
    if constexpr (accumulates) {
      if (means_.of.size() == next_) return;
      std::vector<tensor> fresh;  // if memory is lacking, none stay
      model.for_each_parameter([&fresh](parameter_type& p) {
        if (!p.trainable) return;
        std::vector<T> const nothing(static_cast<std::size_t>(p.size()));
        fresh.emplace_back(Dextents<1>(p.size()));
        locus::internal::fill_storage(*fresh.back().block.get(), nothing.data());
      });
      means_.of = std::move(fresh);
    }
  }
  /// means: the slots of trainable parameter k, which is called `name`; empty before they are
  ///        allocated
  std::vector<stored> stored_of(std::size_t k, parameter_type const& p, std::string const& name) {
    std::vector<stored> all;
    if (k < kept_.size())
      for (std::size_t s = 0; s < kept_[k].size(); ++s)
        all.push_back({"optimizer/" + name + "/" + slot_name(k, s), p.extents, true,
                       kept_[k][s].block.get()});
    if constexpr (accumulates)
      if (k < means_.of.size())
        all.push_back(
            {"optimizer/" + name + "/accumulated", p.extents, true, means_.of[k].block.get()});
    return all;
  }
  std::vector<counter> counters() {
    std::vector<counter> all{{"optimizer/iterations", &iterations_}};
    if constexpr (accumulates) all.push_back({"optimizer/accumulated_batches", &means_.batches});
    return all;
  }
  std::vector<setting> settings() {
    if (double* const r = detail::innermost(optimizer_).learning_rate.number())
      return {{"optimizer/learning_rate", r}};
    return {};
  }

 private:
  static constexpr norm_of clips = detail::clips<Optimizer>();
  static constexpr bool averages = detail::averages<Optimizer>();
  static constexpr bool accumulates = detail::accumulates<Optimizer>();
  using base_type = std::remove_cvref_t<decltype(detail::innermost(std::declval<Optimizer&>()))>;

  /// on a GPU, a launch costs more than most updates; with a norm for each parameter, the factor
  /// serves only one
  static constexpr bool together =
      Replicas::value.devices[0].is_gpu() && clips != norm_of::parameter;
  /// a parameter and its index among the trainable ones
  struct waiting {
    parameter_type* of;
    std::size_t number;
  };

  // ---- Accumulate ----
  int steps_together() const { return detail::accumulated_steps(optimizer_); }
  bool completes_step() const { return means_.batches + 1 >= steps_together(); }
  void add_batch(waiting const& one) {
    mean_rule<T> const rule{T(1) / T(steps_together()), means_.batches == 0};
    auto& mean = means_.of[one.number];
    if (one.of->sparse)
      run(update_plan<false>(rule, mean, &mean, std::index_sequence<>{}, one.of->rows,
                             one.of->row_values));
    else
      run(update_plan<false>(rule, mean, &mean, std::index_sequence<>{}, one.of->gradient));
  }

  // ---- what a step applies: the parameter's gradient, or under Accumulate the mean, which is dense ----
  bool has_rows(waiting const& one) const { return !accumulates && one.of->sparse; }
  tensor const& gradient_of(waiting const& one) const {
    if constexpr (accumulates)
      return means_.of[one.number];
    else
      return one.of->gradient;
  }

  /// means: f(weight, average) for each trainable parameter that has slots; none before the first step, when
  ///        weights may have been read from a file since the slots were made
  template <class Model, class F>
  void for_each_average(Model& model, F&& f) {
    static_assert(averages, "locus: this optimizer keeps no averages; wrap it in MovingAverage");
    if (iterations_ == 0) return;
    std::size_t k = 0;
    model.for_each_parameter([&](parameter_type& p) {
      if (!p.trainable) return;
      if (k < kept_.size() && !kept_[k].empty()) f(p.value, kept_[k].back());
      ++k;
    });
  }
  base_type const& base() const { return detail::innermost(optimizer_); }
  double rate_of(std::int64_t step) const { return base().learning_rate.at(step); }
  std::string slot_name(std::size_t k, std::size_t s) const {
    return averages && s + 1 == kept_[k].size() ? "average" : base_type::slot_names[s];
  }
  bool decays(waiting const& one) const { return !excludes || decays_[one.number]; }
  template <class F>
  void with_rule(bool decay, F&& f) const {
    base().template with_rule<T>(now_, [&]<class Rule>(Rule const& rule) {
      double const limit = base().clipvalue > 0 ? base().clipvalue : __builtin_inf();
      double const lost = decay ? base().weight_decay * now_.rate : 0;
      held_rule<Rule, T> const held{rule, T(limit), T(1 - lost)};
      if constexpr (averages) {
        double const momentum = now_.step == 1 ? 0 : detail::average_momentum(optimizer_);
        f(averaged_rule<held_rule<Rule, T>, T>{held, T(1 - momentum)});
      } else
        f(held);
    });
  }
  void update_soon(waiting const& one) {
    bool const decay = decays(one);
    if constexpr (together)
      if (!has_rows(one)) {
        waiting_[decay].push_back(one);
        with_rule(decay, [&]<class Rule>(Rule const&) {
          if (waiting_[decay].size() == std::size_t(weights_at_once<Rule>)) update_waiting(decay);
        });
        return;
      }
    with_rule(decay, [&]<class Rule>(Rule const& rule) {
      run_update(rule, one, kept_for<Rule>(one),
                 std::make_index_sequence<std::size_t(Rule::slot_count)>{});
    });
  }
  /// updates all waiting weights that decay, or all that do not, filled up with empty ones, so that only
  /// one kernel is compiled
  void update_waiting(bool decay) {
    with_rule(decay, [&]<class Rule>(Rule const& rule) {
      constexpr int most = weights_at_once<Rule>;
      std::vector<waiting> const& those = waiting_[decay];
      tensor* const nothing = nothing_.of(Rule::slot_count + 1);
      update_of<tensor> all[most];
      for (int k = 0; k < most; ++k)
        if (auto const n = std::size_t(k); n < those.size()) {
          all[k] = {&those[n].of->value, kept_for<Rule>(those[n]), &gradient_of(those[n])};
        } else
          all[k] = {nothing, nothing + 1, nothing};
      if constexpr (clips == norm_of::none)
        run(update_plan(rule, all));
      else
        run(update_plan(rule, all, scale_.factor));
    });
    waiting_[decay].clear();
  }
  void add_square(waiting const& one) {
    if (has_rows(one))
      scale_.add(one.of->row_values);
    else
      scale_.add(gradient_of(one));
  }

  template <class Rule>
  tensor* kept_for(waiting const& one) {
    parameter_type const& p = *one.of;
    if (sizes_.size() <= one.number)
      kept_.resize(one.number + 1), sizes_.resize(one.number + 1, -1);
    if (sizes_[one.number] < 0) {
      std::vector<T> const nothing(static_cast<std::size_t>(p.size()));
      // where memory is lacking, no slots stay: the step can be repeated
      std::vector<tensor> all_slots;
      for (int s = 0; s < Rule::slot_count; ++s) {
        all_slots.emplace_back(Dextents<1>(p.size()));
        locus::internal::fill_storage(*all_slots.back().block.get(), nothing.data());
      }
      if constexpr (averages) all_slots.back() = p.value;
      kept_[one.number] = std::move(all_slots), sizes_[one.number] = p.size();
    }
    if (sizes_[one.number] != p.size()) refuse(one);
    return kept_[one.number].data();
  }
  template <class Rule, std::size_t... S>
  void run_update(Rule const& rule, waiting const& one, tensor* kept,
                  std::index_sequence<S...> slot_numbers) {
    parameter_type& p = *one.of;
    auto const run_with = [&](auto const&... gradient) {
      if constexpr (clips == norm_of::none)
        run(update_plan<false>(rule, p.value, kept, slot_numbers, gradient...));
      else
        run(update_plan<true>(rule, p.value, kept, slot_numbers, scale_.factor, gradient...));
    };
    if (has_rows(one))
      run_with(p.rows, p.row_values);
    else
      run_with(gradient_of(one));
  }
  [[noreturn, gnu::cold]] void refuse(waiting const& one) const {
    parameter_type const& p = *one.of;
    message text;
    throw shape_error(text << "locus: parameter " << one.number << " ('" << std::string_view(p.name)
                           << "') has " << p.size() << " elements, and had " << sizes_[one.number]
                           << " when " << std::string_view(base_type::name)
                           << " made its first step; an optimizer serves one model");
  }

  Optimizer optimizer_;
  std::vector<std::vector<tensor>> kept_;  // [trainable parameter][slot]
  std::vector<std::int64_t> sizes_;
  std::vector<char> decays_;  // [trainable parameter], under ExcludeFromDecay
  std::vector<waiting>
      waiting_[2];  // of the next kernel: those that do not decay, and those that do
  std::vector<waiting> unclipped_;  // until the norm of all gradients is known
  std::conditional_t<together, detail::no_weights<tensor>, detail::no_norm> nothing_;
  std::conditional_t<clips == norm_of::none, detail::no_norm, detail::norm_scale<T, Replicas>>
      scale_;
  std::conditional_t<accumulates, detail::mean_gradients<tensor>, detail::no_norm> means_;
  std::size_t next_ = 0;
  std::int64_t iterations_ = 0, known_ = 0;
  double product_ = 1;
  step_state now_;
};

}  // namespace locus::nn

// SPDX-License-Identifier: Apache-2.0
// updater: an optimizer at work: what it keeps of each parameter, and its steps.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/nn/optimizer.hpp>  // SGD, Adam, ...
#include <locus/nn/parameter.hpp>  // parameter
#include <locus/nn/stored.hpp>     // stored, counter
#include <locus/nn/update.hpp>     // update_plan

namespace locus::nn {

/// means: steps of an optimizer over the parameters of one model
/// device: what is kept lies where the parameters do, equal on every replica
/// cost:  of a step: one kernel for each parameter and replica; no allocation after the first
/// fails: configuration_error for options that make no sense; shape_error, when the parameters are not
///        those of the first step
template <class Optimizer, class T, class Replicas>
class updater {
 public:
  using parameter_type = parameter<T, Replicas>;
  using tensor = typename parameter_type::tensor;

  explicit updater(Optimizer optimizer) : optimizer_(std::move(optimizer)) { optimizer_.require(); }

  /// means: one step of all trainable parameters of a model, from their gradients
  /// after: clipping bounds the gradient of the global batch; TensorFlow clips each replica's
  template <class Model>
  void step(Model& model) {
    begin_step();
    model.for_each_parameter([this](parameter_type& p) {
      if (p.trainable) update(p);
    });
  }

  /// means: a step in parts: begin_step(), then update(p) for each trainable parameter in one order
  void begin_step() {
    now_.step = iterations_ + 1, now_.rate = rate_of(iterations_);
    if constexpr (requires { optimizer_.momentum_of(1); }) {
      if (known_ > iterations_) known_ = 0, product_ = 1;  // somebody set the counter back
      for (; known_ < now_.step; ++known_) product_ *= optimizer_.momentum_of(known_ + 1);
      now_.product = product_;
    }
    ++iterations_, next_ = 0;
  }
  void update(parameter_type& p) {
    optimizer_.template with_rule<T>(now_, [&]<class Rule>(Rule const& rule) {
      using held = held_rule<Rule, T>;
      double const limit = optimizer_.clipvalue > 0 ? optimizer_.clipvalue : __builtin_inf();
      held const all{rule, T(limit), T(1 - optimizer_.weight_decay * now_.rate)};
      tensor* const kept = kept_for<held>(p);
      run_update(all, p, kept, std::make_index_sequence<std::size_t(held::slots)>{});
    });
    ++next_;
  }

  Optimizer const& optimizer() const { return optimizer_; }
  double learning_rate() const { return rate_of(iterations_); }
  /// means: from the next step on, in place of the optimizer's own
  void set_learning_rate(rate r) { optimizer_.learning_rate = r; }
  std::int64_t iterations() const { return iterations_; }

  /// means: what is kept, as a checkpoint sees it; there is nothing before the first step, unless
  ///        prepare made it
  template <class Model>
  void prepare(Model& model) {
    next_ = 0;
    model.for_each_parameter([this](parameter_type& p) {
      if (p.trainable)
        optimizer_.template with_rule<T>(
            now_, [&]<class Rule>(Rule const&) { kept_for<held_rule<Rule, T>>(p), ++next_; });
    });
  }
  /// means: what is kept of the k-th trainable parameter, whose name is given
  std::vector<stored> stored_of(std::size_t k, parameter_type const& p, std::string const& name) {
    std::vector<stored> all;
    if (k < kept_.size())
      for (std::size_t s = 0; s < kept_[k].size(); ++s)
        all.push_back({"optimizer/" + name + "/" + Optimizer::slot_names[s], p.extents, true,
                       kept_[k][s].block.get()});
    return all;
  }
  std::vector<counter> counters() { return {{"optimizer/iterations", &iterations_}}; }

 private:
  double rate_of(std::int64_t step) const { return optimizer_.learning_rate.at(step); }

  template <class Rule>
  tensor* kept_for(parameter_type const& p) {
    if (next_ == kept_.size()) {
      std::vector<tensor> kept;
      std::vector<T> const nothing(static_cast<std::size_t>(p.size()));
      for (int s = 0; s < Rule::slots; ++s) {
        kept.emplace_back(Dextents<1>(p.size()));
        locus::detail::fill_storage(*kept.back().block.get(), nothing.data());
      }
      kept_.push_back(std::move(kept)), sizes_.push_back(p.size());
    }
    if (sizes_[next_] != p.size()) refuse(p);
    return kept_[next_].data();
  }
  template <class Rule, std::size_t... S>
  static void run_update(Rule const& rule, parameter_type& p, tensor* kept,
                         std::index_sequence<S...> slots) {
    if (p.sparse)
      run(update_plan(rule, p.value, kept, slots, p.rows, p.row_values));
    else
      run(update_plan(rule, p.value, kept, slots, p.gradient));
  }
  [[noreturn, gnu::cold]] void refuse(parameter_type const& p) const {
    message text;
    throw shape_error(text << "locus: parameter " << next_ << " ('" << std::string_view(p.name)
                           << "') has " << p.size() << " elements, and had " << sizes_[next_]
                           << " when " << std::string_view(Optimizer::name)
                           << " made its first step; an optimizer serves one model");
  }

  Optimizer optimizer_;
  std::vector<std::vector<tensor>> kept_;  // [trainable parameter][slot]
  std::vector<std::int64_t> sizes_;
  std::size_t next_ = 0;
  std::int64_t iterations_ = 0, known_ = 0;
  double product_ = 1;
  step_state now_;
};

}  // namespace locus::nn

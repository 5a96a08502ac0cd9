// SPDX-License-Identifier: Apache-2.0
// The plans that a model ran, as text, in order.
#pragma once
#include <string>  // string

#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/layers/layer.hpp>    // pass_watch
#include <locus/nn/train/callback.hpp>  // training
#include <locus/run/report.hpp>         // plan_listener

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

/// means: a listener that collects every plan and the part of the model that ran it
class plan_story : public pass_watch, public locus::internal::plan_listener {
 public:
  void ran(plan_run const& run) override;
  void saw(std::string_view layer, tensor_block const&) override {
    end_part(std::string(layer) + ", forward");
  }
  /// means: gives the plans since the last part the title `what`; without plans, no part is written
  void end_part(std::string const& what);
  std::string text(std::string_view model) const {
    return "model \"" + std::string(model) + "\", " + std::to_string(plans_) + " plans\n" + text_;
  }

 private:
  std::string text_, part_;
  int plans_ = 0;
};

/// means: a copy of a training's whole state on the host, to be restored
class kept_state {
 public:
  explicit kept_state(training& t);
  void restore(training& t) const;

 private:
  template <class F>
  static void for_each(training& t, F&& f) {
    for (stored const& s : t.weights()) f(s);
    for (stored const& s : t.optimizer_state()) f(s);
  }
  std::vector<std::string> values_;
  std::vector<std::int64_t> counters_;
};

}  // namespace locus::nn::detail

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/explain_trainer.hpp>  // bodies of the functions above
#endif

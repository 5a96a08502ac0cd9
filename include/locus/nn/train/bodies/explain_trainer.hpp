// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/explain_trainer.hpp declares.
#pragma once
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/train/explain_trainer.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION void plan_story::ran(plan_run const& run) {
  auto* const one = new text_buffer<1 << 15>;
  locus::internal::write_plan(*one, run.plan, run.extents, run.policy);
  part_ += one->view();
  delete one;
  ++plans_;
}

LOCUS_FUNCTION void plan_story::end_part(std::string const& what) {
  if (!part_.empty()) text_ += what + "\n" + part_;
  part_.clear();
}

LOCUS_FUNCTION kept_state::kept_state(training& t) {
  for_each(t, [&](stored const& s) {
    values_.emplace_back(static_cast<std::size_t>(s.bytes()), '\0');
    read_values(s, values_.back().data());
  });
  for (counter const& c : t.counters()) counters_.push_back(*c.value);
}

LOCUS_FUNCTION void kept_state::restore(training& t) const {
  std::size_t k = 0;
  for_each(t, [&](stored const& s) { write_values(s, values_[k++].data()); });
  k = 0;
  for (counter const& c : t.counters()) *c.value = counters_[k++];
}

}  // namespace locus::nn::detail

LOCUS_COLD_END

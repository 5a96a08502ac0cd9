// SPDX-License-Identifier: Apache-2.0
// explain, why, bytes_moved: about an expression, when the program runs.
#pragma once
#include <locus/tensor/assign.hpp>  // Plan, Assignment

namespace locus {

namespace detail {
template <class Stream>
void write_to(Stream& out, std::string_view text) {
  out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
}
/// the plan counts occurrences; what a run copies may be less
template <class Stream>
void write_reused(Stream& out, tally const& t) {
  if (t.reused == 0) return;
  text_buffer<256> line;
  line << "  when it runs: ";
  write_count(line, t.copies, "copy", "copies") << " (" << t.bytes_moved << " bytes), ";
  write_count(line, t.reused, "occurrence", "occurrences") << " of a tensor reused\n";
  write_to(out, line.view());
}
}  // namespace detail

/// means: for each step of that name, where it runs and by which rule
template <placement_policy Policy = default_policy, class Stream, tensor_operand X>
void why(Stream& out, X const&, std::string_view name) {
  detail::write_to(out, plan_of<X const&, nowhere, Policy>.why(name).view());
}
template <class Stream, class Policy, class... Assignments>
void why(Stream& out, Plan<Policy, Assignments...> const& step, std::string_view name) {
  detail::write_to(out, step.why(name).view());
}

inline namespace LOCUS_MODE {
/// means: what the plan will do with the extents that its tensors have now
/// units: bytes in bytes_moved and bytes_reduced
template <placement_policy Policy = default_policy, tensor_operand X>
tally tally_of(X const& x) {
  auto const e = as_operand<void>(x);
  using Graph = graph<Policy, root_of<std::remove_cvref_t<decltype(e)>, nowhere>>;
  return lowering::graph_code<Graph>::count(e);
}
template <class Policy, class... Assignments>
tally tally_of(Plan<Policy, Assignments...> const& step) {
  return step.count();
}
/// units: bytes that cross devices by copies
template <placement_policy Policy = default_policy, tensor_operand X>
std::int64_t bytes_moved(X const& x) {
  return tally_of<Policy>(x).bytes_moved;
}
template <class Policy, class... Assignments>
std::int64_t bytes_moved(Plan<Policy, Assignments...> const& step) {
  return step.count().bytes_moved;
}

/// means: plan_of<E>.explain(), written; and what a run copies, where that is less because one tensor
///        occurs more than once
template <placement_policy Policy = default_policy, class Stream, tensor_operand X>
void explain(Stream& out, X const& x) {
  detail::write_to(out, plan_of<X const&, nowhere, Policy>.explain().view());
  detail::write_reused(out, tally_of<Policy>(x));
}
template <class Stream, class Policy, class... Assignments>
void explain(Stream& out, Plan<Policy, Assignments...> const& step) {
  detail::write_to(out, step.explain().view());
  detail::write_reused(out, step.count());
}
}  // namespace LOCUS_MODE

}  // namespace locus

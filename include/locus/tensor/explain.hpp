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
}  // namespace detail

/// means: plan_of<E>.explain(), written
template <placement_policy Policy = default_policy, class Stream, tensor_operand X>
void explain(Stream& out, X const&) {
  detail::write_to(out, plan_of<X const&, nowhere, Policy>.explain().view());
}
template <class Stream, class Policy, class... Assignments>
void explain(Stream& out, Plan<Policy, Assignments...> const& step) {
  detail::write_to(out, step.explain().view());
}

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
}  // namespace LOCUS_MODE

}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// The rewrites of a graph as text: the rule of each, its operations and bytes before and after.
#pragma once
#include <locus/algebra/graph.hpp>  // rewritten_graph
#include <locus/core/text.hpp>      // text_buffer
#include <locus/plan/plan.hpp>      // all_static, extents_of_steps, count_work

namespace locus::internal {

/// The costs of a plan.
struct plan_costs {
  bool are_known = false;  // extents and devices are
  std::int64_t launches = 0, operations = 0, bytes = 0;
};
template <class Graph>
consteval plan_costs find_costs() {
  constexpr auto const& arrays = unchecked_plan<Graph>;
  if constexpr (arrays.found.error == plan_error::none)
    if constexpr (all_static<Graph>() && knows_replicas(arrays.view())) {
      constexpr auto extents = extents_of_steps<Graph>();
      work const w = count_work(arrays.view(), extents.of);
      return {true, count_plan(arrays.view(), extents.of).launches, w.flops,
              w.bytes_read + w.bytes_written};
    }
  return {};
}

template <class Policy, class Text, class Rule, class Before, class After>
consteval void write_rewrite(Text& out, rewrite_note<Rule, Before, After>*) {
  Rule::template write<Before>(out << "  algebra: ");
  constexpr plan_costs before = find_costs<graph<Policy, root_of<Before, nowhere>>>(),
                       after = find_costs<graph<Policy, root_of<After, nowhere>>>();
  if constexpr (before.are_known && after.are_known)
    out << ": " << before.operations << " -> " << after.operations << " operations";
  out << "\n";
}
/// means: what all rewrites of a plan change
template <class Written, class Changed, class Text>
consteval void write_gain(Text& out) {
  constexpr plan_costs before = find_costs<Written>(), after = find_costs<Changed>();
  if constexpr (before.are_known && after.are_known)
    out << "  algebra: in all " << before.launches << " -> " << after.launches << " launches, "
        << before.operations << " -> " << after.operations << " operations, " << before.bytes
        << " -> " << after.bytes << " bytes\n";
}

/// units: characters of one rewrite's line; a chain is written twice, with all its factors
template <class Note>
inline constexpr int room_of_rewrite = 0;
template <class Rule, class Before, class After>
inline constexpr int room_of_rewrite<rewrite_note<Rule, Before, After>> = 300 + 20 * Before::steps;

/// means: the plan of a graph that is rewritten as text, then a line for each rewrite and their gain
template <class Rewritten, class... Notes>
consteval auto write_with_rewrites(type_list<Notes...>) {
  using graph = typename Rewritten::type;
  constexpr auto const& plan = roomy_plan_text<graph>;
  text_buffer<plan.view().size() + (room_of_rewrite<Notes> + ... + 300)> out;
  out << plan.view();
  if constexpr (!Rewritten::is_taken)
    out << "  algebra: nothing rewritten, as the new plan would move more bytes or be refused\n";
  else if constexpr (sizeof...(Notes) > 0) {
    (write_rewrite<typename graph::policy>(out, static_cast<Notes*>(nullptr)), ...);
    write_gain<typename Rewritten::written, graph>(out);
  }
  return out;
}

template <rewriting Policy, class... Roots>
inline constexpr auto roomy_plan_text<graph<Policy, Roots...>> =
    write_with_rewrites<rewritten_graph<graph<Policy, Roots...>>>(
        typename rewritten_graph<graph<Policy, Roots...>>::notes{});

}  // namespace locus::internal

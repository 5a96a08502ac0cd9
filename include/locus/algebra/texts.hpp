// SPDX-License-Identifier: Apache-2.0
// The rewrites of a graph as text: the rule of each, its operations and bytes before and after.
#pragma once
#include <locus/algebra/graph.hpp>  // rewritten_graph
#include <locus/core/text.hpp>      // text_buffer
#include <locus/plan/plan.hpp>      // all_static, extents_of_steps, count_work

namespace locus::internal {

/// The cost of an expression under a policy, with its result where the plan puts it.
struct cost_alone {
  bool is_known = false;  // extents and devices are
  std::int64_t launches = 0, operations = 0, bytes = 0;
};
template <class E, class Policy>
consteval cost_alone find_cost() {
  using Graph = graph<Policy, root_of<E, nowhere>>;
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
  constexpr cost_alone before = find_cost<Before, Policy>(), after = find_cost<After, Policy>();
  if constexpr (before.is_known && after.is_known)
    out << ": " << before.launches << " -> " << after.launches << " launches, " << before.operations
        << " -> " << after.operations << " operations, " << before.bytes << " -> " << after.bytes
        << " bytes";
  out << "\n";
}
/// means: the plan of a graph that is rewritten as text, then a line for each rewrite
template <class Rewritten, class... Notes>
consteval auto write_with_rewrites(type_list<Notes...>) {
  using graph = typename Rewritten::type;
  constexpr auto const& plan = roomy_plan_text<graph>;
  text_buffer<plan.view().size() + sizeof...(Notes) * 400 + 100> out;
  out << plan.view();
  if constexpr (!Rewritten::is_taken)
    out << "  algebra: nothing rewritten, as the new plan would move more bytes or be refused\n";
  else
    (write_rewrite<typename graph::policy>(out, static_cast<Notes*>(nullptr)), ...);
  return out;
}

template <rewriting Policy, class... Roots>
inline constexpr auto roomy_plan_text<graph<Policy, Roots...>> =
    write_with_rewrites<rewritten_graph<graph<Policy, Roots...>>>(
        typename rewritten_graph<graph<Policy, Roots...>>::notes{});

}  // namespace locus::internal

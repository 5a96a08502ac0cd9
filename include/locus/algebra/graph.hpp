// SPDX-License-Identifier: Apache-2.0
// A graph under algebra<>: its plan, and its code, are those of the rewritten expressions.
#pragma once
#include <locus/algebra/policy.hpp>    // rewriting, already_rewritten
#include <locus/algebra/rewrite.hpp>   // rewriting_of
#include <locus/plan/plan.hpp>         // graph, flattened, unchecked_plan, extents_of_steps
#include <locus/run/bind_and_run.hpp>  // graph_code

namespace locus {

namespace internal {

/// means: both plans hold, and New moves no more bytes between devices, as far as both are known
template <class Old, class New>
consteval bool moves_no_more() {
  constexpr auto const& was = unchecked_plan<Old>;
  constexpr auto const& is = unchecked_plan<New>;
  if constexpr (is.found.error == plan_error::none && was.found.error == plan_error::none) {
    constexpr auto old_extents = extents_of_steps<Old>();
    constexpr auto new_extents = extents_of_steps<New>();
    tally const before = count_plan(was.view(), old_extents.of),
                now = count_plan(is.view(), new_extents.of);
    return now.bytes_moved + now.bytes_reduced <= before.bytes_moved + before.bytes_reduced;
  } else
    return false;
}

/// means: the graph of the rewritten roots; of the written ones, where the new plan moves more bytes
///        between devices, or a pass refuses it
template <class Graph>
struct rewritten_graph;
template <class Policy, class... Roots>
struct rewritten_graph<graph<Policy, Roots...>> {
  using notes = concatenate_t<typename rewriting_of<typename Roots::expression>::notes...>;
  using written = graph<already_rewritten<Policy>, Roots...>;
  using changed =
      graph<already_rewritten<Policy>,
            root_of<rewritten_t<typename Roots::expression>, typename Roots::destination>...>;
  static constexpr bool is_taken = moves_no_more<written, changed>();
  using type = std::conditional_t<is_taken, changed, written>;

  template <class E>
  static constexpr auto expression(E const& e) {
    if constexpr (is_taken)
      return rewriting_of<E>::apply(e);
    else
      return e;
  }
};
template <class Graph>
using rewritten_graph_t = typename rewritten_graph<Graph>::type;

template <rewriting Policy, class... Roots>
struct flattened<graph<Policy, Roots...>> : flattened<rewritten_graph_t<graph<Policy, Roots...>>> {
};
template <rewriting Policy, class... Roots>
inline constexpr auto unchecked_plan<graph<Policy, Roots...>> =
    unchecked_plan<rewritten_graph_t<graph<Policy, Roots...>>>;
template <rewriting Policy, class... Roots>
inline constexpr int rewrites_of<graph<Policy, Roots...>> =
    rewritten_graph<graph<Policy, Roots...>>::is_taken
        ? rewritten_graph<graph<Policy, Roots...>>::notes::size
        : 0;

}  // namespace internal

inline namespace LOCUS_MODE {
namespace lowering {

template <rewriting Policy, class... Roots>
struct graph_code<graph<Policy, Roots...>> {
  using rewritten = rewritten_graph<graph<Policy, Roots...>>;
  using code_type = graph_code<typename rewritten::type>;
  static constexpr program const& code = code_type::code;

  template <class See, class... Es>
  static auto look(target const* targets, See const& see, Es const&... es) {
    return code_type::look(targets, see, rewritten::expression(es)...);
  }
  template <class FindTarget, class... Es>
  static void run(call_site site, FindTarget const& find_target, Es const&... es) {
    code_type::run(site, find_target, rewritten::expression(es)...);
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE

}  // namespace locus

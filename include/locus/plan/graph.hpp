// SPDX-License-Identifier: Apache-2.0
// A graph: the roots of one plan as a type, flattened once into arrays.
#pragma once
#include <locus/core/type_list.hpp>   // union_t, concatenate_t
#include <locus/expr/let.hpp>         // Bound
#include <locus/expr/operand.hpp>     // expression_of_t
#include <locus/plan/data.hpp>        // plan_view, root, slot
#include <locus/plan/distribute.hpp>  // distribute
#include <locus/plan/fuse.hpp>        // fuse
#include <locus/plan/guards.hpp>      // find_guards
#include <locus/plan/guesses.hpp>     // guess, guess_of, careful
#include <locus/plan/memory.hpp>      // lay_out
#include <locus/plan/move.hpp>        // move_values
#include <locus/plan/numerics.hpp>    // check_numerics
#include <locus/plan/overlapped.hpp>  // overlaps_of
#include <locus/plan/place.hpp>       // place_steps
#include <locus/plan/schedule.hpp>    // schedule

namespace locus {

/// The destination of eval: the plan decides where the value lies.
struct nowhere {
  static constexpr place value{};
};

/// means: one root: expression E, and the policy of its destination (or nowhere)
template <class E, class Destination>
struct root_of {
  using expression = E;
  using destination = Destination;
};

/// means: the roots of one plan under one policy: the input of the passes, as a type
template <placement_policy Policy, class... Roots>
struct graph {
  using policy = Policy;
  using roots = type_list<Roots...>;
  using lets = union_t<typename Roots::expression::lets...>;
};

namespace internal {

/// means: the expressions of a graph in the order of their steps: all lets, each after those that it
///        reads, then the roots
template <class Graph>
struct flattened;

}  // namespace internal

namespace detail {

template <class List>
struct sum_steps;
template <class... Es>
struct sum_steps<type_list<Es...>> {
  static constexpr int steps = (Es::steps + ... + 0), edges = (Es::edges + ... + 0);
  using entries = concatenate_t<typename Es::entries...>;
};
template <class List>
struct let_values;
template <class... Lets>
struct let_values<type_list<Lets...>> {
  using type = type_list<typename Lets::expression_type...>;
};

}  // namespace detail

namespace internal {

template <class Policy, class... Roots>
struct flattened<graph<Policy, Roots...>> {
  using lets = typename graph<Policy, Roots...>::lets;
  using let_list = typename let_values<lets>::type;
  using all = concatenate_t<let_list, type_list<typename Roots::expression...>>;
  static constexpr int steps = sum_steps<all>::steps, edges = sum_steps<all>::edges;
  static constexpr int roots = sizeof...(Roots);
  using entries = typename sum_steps<all>::entries;

  template <class... Values>
  static constexpr void flatten_lets(builder& b, [[maybe_unused]] short* at, type_list<Values...>) {
    ((*at++ = Values::template flatten<lets>(b, request{})), ...);
  }
  static constexpr void flatten(builder& b, short* let_steps, root* to) {
    b.lets = let_steps;
    flatten_lets(b, let_steps, let_list{});
    ((to->from = Roots::expression::template flatten<lets>(b, request{}),
      to->destination = Roots::destination::value.without_margin(), ++to),
     ...);
  }
};

}  // namespace internal

/// means: the arrays of one plan, and the verdict of the passes
template <int Steps, int Edges, int Roots>
struct plan_arrays {
  static constexpr int max_transfers = Edges + Roots;
  step steps[Steps];
  edge edges[Edges + 1];
  transfer transfers[max_transfers];
  root roots[Roots];
  action actions[Steps + max_transfers];
  level levels[Steps];
  slot memory_slots[Steps + max_transfers];
  guard guards[Steps];
  int transfer_count = 0, action_count = 0, guard_count = 0;
  verdict found{};

  /// each element separately: g++ 12 shares one initialiser among arrays, and then writes to it
  constexpr plan_arrays() {
    for (step& s : steps) s = step{};
    for (edge& e : edges) e = edge{};
    for (transfer& t : transfers) t = transfer{};
    for (root& r : roots) r = root{};
    for (action& a : actions) a = action{};
    for (level& l : levels) l = level{};
    for (slot& s : memory_slots) s = slot{};
    for (guard& g : guards) g = guard{};
  }

  constexpr plan_view view() {
    return {{steps, Steps},          {edges, Edges},  {transfers, transfer_count}, {roots, Roots},
            {actions, action_count}, {levels, Steps}, {guards, guard_count}};
  }
  /// for readers after the passes: nothing is written through this view
  constexpr plan_view view() const { return const_cast<plan_arrays*>(this)->view(); }
  constexpr array_view<slot> all_slots() { return {memory_slots, Steps + transfer_count}; }
};

namespace detail {

/// means: passes 2 to 5; pass 1, infer, ran where each node was built, so that its error points
///        there
template <class Graph>
constexpr auto make_plan() {
  using Flat = flattened<Graph>;
  plan_arrays<Flat::steps, Flat::edges, Flat::roots> p;
  if constexpr (Flat::steps > max_steps) {
    p.found = {plan_error::too_many_steps, -1};
  } else {
    builder b{p.steps, p.edges};
    short lets[Flat::lets::size + 1]{};
    Flat::flatten(b, lets, p.roots);
    plan_view v = p.view();
    p.found = distribute(v);
    if (p.found.error == plan_error::none) p.found = place_steps(v, Graph::policy::rule);
    if (p.found.error == plan_error::none)
      p.found = move_values(v, buckets_of<typename Graph::policy>());
    if (p.found.error == plan_error::none)
      p.found = check_numerics(v, numerics_of<typename Graph::policy>());
    if (p.found.error == plan_error::none) {
      constexpr bool guesses = guess_of<typename Graph::policy>() != guess::none;
      fuse(v, numerics_of<typename Graph::policy>(), guesses);
      if (guesses) p.guard_count = find_guards(v, p.guards);
      schedule(v, overlaps_of<typename Graph::policy>());
      p.transfer_count = v.transfers.count, p.action_count = v.actions.count;
      shape extents[Flat::steps]{};
      bool all_static = true;
      for (int i = 0; i < Flat::steps; ++i) {
        extents[i] = p.steps[i].extents;
        all_static = all_static && extents[i].is_static();
      }
      lay_out(v, p.all_slots(), extents);
    }
  }
  return p;
}

}  // namespace detail

namespace internal {

/// means: the plan of a graph, also if a pass refused it
template <class Graph>
inline constexpr auto unchecked_plan = make_plan<Graph>();

/// means: the graph of the same roots whose plan makes no guesses
template <class Graph>
struct without_guesses;
template <class Policy, class... Roots>
struct without_guesses<graph<Policy, Roots...>> {
  using type = graph<careful<Policy>, Roots...>;
};
/// means: the second plan of Graph, which runs where a guard does not hold
template <class Graph>
using second_graph = typename without_guesses<Graph>::type;
template <class Graph>
inline constexpr bool has_second_plan = unchecked_plan<Graph>.guard_count > 0 &&
                                        guess_of<typename Graph::policy>() == guess::guarded;

}  // namespace internal

}  // namespace locus

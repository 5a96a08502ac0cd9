// SPDX-License-Identifier: Apache-2.0
// Local statements of maps: the destination and all leaves lie on one CPU, every step is element-wise.
// What the five passes would find is known without them: one kernel there, no copy, no fallback. The
// plan is written down when the program wants it (a log, an error, a temporary);
// test/unit/plan/local_statement_test holds it to that of the passes.
#pragma once
#include <locus/expr/leaf.hpp>      // Leaf, ViewLeaf, Scalar
#include <locus/expr/node.hpp>      // Node, builder
#include <locus/ops/map.hpp>        // map_op
#include <locus/plan/data.hpp>      // plan_view, max_steps
#include <locus/plan/graph.hpp>     // graph, root_of
#include <locus/plan/memory.hpp>    // lay_out, slot
#include <locus/plan/numerics.hpp>  // numerics_of

namespace locus {

/// One step of a local statement, with the facts of its type, and the tree that ends in the step.
struct statement_step {
  step const* source = nullptr;   // of a leaf or a scalar; they have no operands
  operation const* op = nullptr;  // of a map: its row
  statement_step const* const* operands = nullptr;
  short arity = 0;
  unsigned short element_bytes = 0;
  element type = element::other;
  law commutes = law::none;
  bool builtin = true;
  // the tree
  bool possible = false;  // as a local statement
  short leaves = 0, steps = 1;
  bool is_heavy = false;         // it has a map too costly to compute again where broadcast
  shape const* heavy = nullptr;  // the pattern of that map

  constexpr bool is_one_kernel(shape const& result) const {
    return possible && leaves <= max_region_values && steps <= max_steps &&
           (!is_heavy || *heavy == result);
  }
};

namespace detail {

inline constexpr int max_statement_arity = 8;

/// means: a map with its tree added up
constexpr statement_step join_operands(statement_step s, shape const& pattern) {
  s.possible = s.arity <= max_statement_arity, s.is_heavy = s.op->heavy, s.heavy = &pattern;
  for (int k = 0; k < s.arity; ++k) {
    statement_step const& o = *s.operands[k];
    s.possible = s.possible && o.possible && s.op->cpu.contains(o.type) &&
                 !(o.is_heavy && s.is_heavy && !(*s.heavy == *o.heavy));
    s.leaves = static_cast<short>(s.leaves + o.leaves);
    s.steps = static_cast<short>(s.steps + o.steps);
    if (o.is_heavy) s.is_heavy = true, s.heavy = o.heavy;
  }
  s.possible =
      s.possible && s.leaves > 0;  // a function of numbers alone is placed with its readers
  return s;
}

template <class E>
inline constexpr step statement_source = E::describe();
template <class E>
constexpr statement_step make_source(short leaves) {
  statement_step s;
  s.source = &statement_source<E>, s.type = s.source->type, s.possible = true, s.leaves = leaves;
  return s;
}

}  // namespace detail

namespace internal {

/// means: the tree of E, if one kernel on the CPU Where can compute it; else a step of no kind
template <class E, class Where>
inline constexpr statement_step statement_step_of{};
template <class T, class E, class Where, class Source>
inline constexpr statement_step statement_step_of<Leaf<T, E, Where, Source>, Where> =
    make_source<Leaf<T, E, Where, Source>>(1);
template <class T, class E, class Where, bool Dense>
inline constexpr statement_step statement_step_of<ViewLeaf<T, E, Where, Dense>, Where> =
    make_source<ViewLeaf<T, E, Where, Dense>>(1);
template <class T, class Where>
inline constexpr statement_step statement_step_of<Scalar<T>, Where> = make_source<Scalar<T>>(0);

}  // namespace internal

namespace detail {

template <class Where, class... Es>
inline constexpr statement_step const* statement_operands[] = {&statement_step_of<Es, Where>...};
template <class F>
inline constexpr bool is_builtin = requires { F::op; };

}  // namespace detail

namespace internal {

template <class F, class... Es, class Where>
inline constexpr statement_step statement_step_of<Node<map_op<F>, Es...>, Where> =
    join_operands({nullptr, &map_op<F>::op, statement_operands<Where, Es...>, sizeof...(Es),
                   sizeof(typename Node<map_op<F>, Es...>::value_type),
                   element_of_v<typename Node<map_op<F>, Es...>::value_type>,
                   law_of<F, typename Es::value_type...>(), is_builtin<F>},
                  Node<map_op<F>, Es...>::pattern);

}  // namespace internal

namespace detail {

/// means: the tree's steps, operands before their reader, all in the kernel of the last
constexpr short write_statement_steps(builder& b, statement_step const& tree, place const& where,
                                      short last) {
  if (tree.arity == 0) return b.add(*tree.source, nullptr, 0);
  operation const& row = *tree.op;
  short at[max_statement_arity]{};
  step s;
  s.kind = step_kind::map, s.why = reason::home, s.where = where, s.region = last;
  s.name = row.name, s.tensorflow = row.tensorflow, s.heavy = row.heavy, s.ends = row.ends;
  s.commutes = tree.commutes, s.builtin = tree.builtin;
  s.type = tree.type, s.element_bytes = tree.element_bytes;
  for (int k = 0; k < tree.arity; ++k) {
    at[k] = write_statement_steps(b, *tree.operands[k], where, last);
    step const& o = b.steps[at[k]];
    s.on_cpu = s.on_cpu && row.cpu.contains(o.type),
    s.on_gpu = s.on_gpu && row.gpu.contains(o.type);
    s.extents = k == 0 ? o.extents : broadcast(s.extents, o.extents);
  }
  s.stored = b.steps_used == last;
  return b.add(s, at, tree.arity);
}

}  // namespace detail

/// means: writes the plan that the passes would write, into arrays of as many steps and one edge
///        less, with one root and one action; memory_slots: [step]
constexpr void write_statement_plan(plan_view const& p, array_view<slot> memory_slots,
                                    statement_step const& tree, place const& where) {
  auto const last = static_cast<short>(p.steps.count - 1);
  builder b{p.steps.first, p.edges.first};
  detail::write_statement_steps(b, tree, where, last);
  p.roots[0] = {last, -1, where, where};
  p.actions[0] = {action_kind::launch, last};
  for (level& l : p.levels) l = level::element;
  shape patterns[max_steps]{};
  for (short i = 0; i <= last; ++i) patterns[i] = p.steps[i].extents;
  lay_out(p, memory_slots, patterns);
}

/// means: the plan of this graph is known without the passes
template <class Graph>
inline constexpr bool is_local_statement = false;
template <class Policy, class F, class... Es, class Where>
  requires(Policy::rule != placement_rule::min_copies &&
           numerics_of<Policy>() != numerics::reproducible && Where::value.is_single() &&
           !Where::value.is_nowhere() && !Where::value.is_open() && Where::value.at(0).is_cpu())
inline constexpr bool is_local_statement<graph<Policy, root_of<Node<map_op<F>, Es...>, Where>>> =
    internal::statement_step_of<Node<map_op<F>, Es...>, Where>.is_one_kernel(
        Node<map_op<F>, Es...>::pattern);

}  // namespace locus

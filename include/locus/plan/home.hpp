// SPDX-License-Identifier: Apache-2.0
// Statements at home: the destination and all leaves lie on one CPU, and every step is
// element-wise. The result of the five passes is then known: one kernel on that CPU, no copy, no
// fallback. The plan is written only when a log, an error or a temporary needs it;
// test/unit/plan/home_test compares it with the plan of the passes.
#pragma once
#include <locus/expr/leaf.hpp>      // Leaf, ViewLeaf, Scalar
#include <locus/expr/node.hpp>      // Node, builder
#include <locus/ops/map.hpp>        // map_op
#include <locus/plan/data.hpp>      // plan_view, max_steps
#include <locus/plan/graph.hpp>     // graph, root_of
#include <locus/plan/memory.hpp>    // lay_out, slot
#include <locus/plan/numerics.hpp>  // numerics_of

namespace locus {

/// One step of such a statement, known from its type.
struct home_step {
  step const* source = nullptr;   // of a leaf or a scalar; null: a map, as below
  operation const* op = nullptr;  // its row
  home_step const* const* operands = nullptr;
  short arity = 0;
  unsigned short element_bytes = 0;
  element type = element::other;
  law commutes = law::none;
  bool builtin = true;
};

namespace detail {

/// The facts that decide whether a tree is such a statement.
struct home_tree {
  bool possible = false;
  short leaves = 0, steps = 0;
  shape const* heavy = nullptr;  // pattern of a heavy step, which is not repeated for a broadcast
  constexpr bool is_one_kernel(shape const& result) const {
    return possible && leaves <= max_region_values && steps <= max_steps &&
           (!heavy || *heavy == result);
  }
};
inline constexpr int max_home_arity = 8;

constexpr home_tree join_home_trees(operation const& row, shape const& pattern,
                                    element const* types, home_tree const* operands, int arity) {
  home_tree t{arity <= max_home_arity, 0, 1, row.heavy ? &pattern : nullptr};
  for (int k = 0; k < arity; ++k) {
    home_tree const& o = operands[k];
    t.possible = t.possible && o.possible && row.cpu.contains(types[k]);
    t.leaves = static_cast<short>(t.leaves + o.leaves);
    t.steps = static_cast<short>(t.steps + o.steps);
    if (o.heavy && t.heavy && !(*t.heavy == *o.heavy)) t.possible = false;
    if (o.heavy) t.heavy = o.heavy;
  }
  t.possible =
      t.possible && t.leaves > 0;  // a function of numbers alone is placed with its readers
  return t;
}

template <class E, class Where>
inline constexpr home_tree home_tree_of{};
template <class T, class E, class Where, class Source>
inline constexpr home_tree home_tree_of<Leaf<T, E, Where, Source>, Where>{true, 1, 1};
template <class T, class E, class Where, bool Dense>
inline constexpr home_tree home_tree_of<ViewLeaf<T, E, Where, Dense>, Where>{true, 1, 1};
template <class T, class Where>
inline constexpr home_tree home_tree_of<Scalar<T>, Where>{true, 0, 1};
template <class F, class... Es, class Where>
inline constexpr home_tree home_tree_of<Node<map_op<F>, Es...>, Where> = [] {
  constexpr element types[] = {element_of_v<typename Es::value_type>...};
  constexpr home_tree operands[] = {home_tree_of<Es, Where>...};
  return join_home_trees(map_op<F>::op, Node<map_op<F>, Es...>::pattern, types, operands,
                         sizeof...(Es));
}();

template <class E>
inline constexpr step home_source = E::describe();
template <class E>
inline constexpr home_step home_step_of{&home_source<E>};
template <class... Es>
inline constexpr home_step const* home_operands[] = {&home_step_of<Es>...};
template <class F>
inline constexpr bool is_builtin = requires { F::op; };
template <class F, class... Es>
inline constexpr home_step home_step_of<Node<map_op<F>, Es...>> = {
    nullptr,
    &map_op<F>::op,
    home_operands<Es...>,
    sizeof...(Es),
    sizeof(typename Node<map_op<F>, Es...>::value_type),
    element_of_v<typename Node<map_op<F>, Es...>::value_type>,
    law_of<F, typename Es::value_type...>(),
    is_builtin<F>};

/// means: the steps of the tree, operands before their reader, all in the region of step `last`
constexpr short write_home_steps(builder& b, home_step const& tree, place const& where,
                                 short last) {
  if (tree.source) return b.add(*tree.source, nullptr, 0);
  operation const& row = *tree.op;
  short at[max_home_arity]{};
  step s;
  s.kind = step_kind::map, s.why = reason::home, s.where = where, s.region = last;
  s.name = row.name, s.tensorflow = row.tensorflow, s.heavy = row.heavy, s.ends = row.ends;
  s.commutes = tree.commutes, s.builtin = tree.builtin;
  s.type = tree.type, s.element_bytes = tree.element_bytes;
  for (int k = 0; k < tree.arity; ++k) {
    at[k] = write_home_steps(b, *tree.operands[k], where, last);
    step const& o = b.steps[at[k]];
    s.on_cpu = s.on_cpu && row.cpu.contains(o.type),
    s.on_gpu = s.on_gpu && row.gpu.contains(o.type);
    s.extents = k == 0 ? o.extents : broadcast(s.extents, o.extents);
  }
  s.stored = b.steps_used == last;
  return b.add(s, at, tree.arity);
}

}  // namespace detail

/// means: writes the plan that the passes would write, with one root and one action; slots: [step]
constexpr void write_home_plan(plan_view const& p, array_view<slot> slots, home_step const& tree,
                               place const& where) {
  auto const last = static_cast<short>(p.steps.count - 1);
  builder b{p.steps.first, p.edges.first};
  detail::write_home_steps(b, tree, where, last);
  p.roots[0] = {last, -1, where, where};
  p.actions[0] = {action_kind::launch, last};
  for (level& l : p.levels) l = level::element;
  shape patterns[max_steps]{};
  for (short i = 0; i <= last; ++i) patterns[i] = p.steps[i].extents;
  lay_out(p, slots, patterns);
}

/// means: the plan of this graph is known without the passes
template <class Graph>
inline constexpr bool is_at_home = false;
template <class Policy, class F, class... Es, class Where>
  requires(Policy::rule != placement_rule::min_copies &&
           numerics_of<Policy>() != numerics::reproducible && Where::value.is_single() &&
           !Where::value.is_nowhere() && !Where::value.is_open() && Where::value.at(0).is_cpu())
inline constexpr bool is_at_home<graph<Policy, root_of<Node<map_op<F>, Es...>, Where>>> = [] {
  using E = Node<map_op<F>, Es...>;
  constexpr detail::home_tree t = detail::home_tree_of<E, Where>;
  return t.is_one_kernel(E::pattern);
}();

}  // namespace locus

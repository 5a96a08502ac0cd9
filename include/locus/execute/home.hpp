// SPDX-License-Identifier: Apache-2.0
// Statements at home: one kernel on one CPU, run without a plan. What a statement compiles is its
// functor and where its leaves are found; the rest stands once. What the short way does not do (a
// log, temporaries, other devices at work, errors) the run-time loop does, with the plan of
// plan/home.hpp: whoever makes a tensor brings the loop along, so that a unit of statements does not.
#pragma once
#include <locus/backend/host/map.hpp>  // host::map
#include <locus/core/call_site.hpp>    // call_site
#include <locus/core/config.hpp>       // LOCUS_MODE, LOCUS_SHARED_STATE
#include <locus/execute/program.hpp>   // target, runtime::executed
#include <locus/execute/values.hpp>    // range_of, byte_range
#include <locus/kernel/call.hpp>       // space, access
#include <locus/kernel/rounding.hpp>   // functor_under
#include <locus/kernel/stage.hpp>      // apply, input, constant, stage, rounded
#include <locus/plan/home.hpp>         // is_at_home, home_step
#include <locus/plan/plan.hpp>         // policy_name
#include <locus/runtime/table.hpp>     // table
#include <locus/runtime/watch.hpp>     // watched

namespace locus {

/// Where one value of a statement lies; a leaf without extents is a tensor that has died.
struct home_value {
  void* data;
  shape const* extents;
  std::int64_t const* strides;  // units: elements
  void const* object;           // a tensor's block
};

struct home_record;  // what the run-time loop needs, made once

/// What is constant of one statement: a constant of the program.
struct home_code {
  home_step const* tree = nullptr;
  void (*kernel)(void const* stage, kernel::space const&, kernel::access const*) = nullptr;
  home_record** record = nullptr;
  short steps = 0, leaves = 0;
  std::string_view policy;
  place where{};
  unsigned short element_bytes[max_region_values + 1]{};  // of each leaf, and of the result
};

/// One run of it. Its destination is `to`, or what find(context, extents) names.
struct home_run {
  home_code const& code;
  void const* stage;
  home_value const* values;  // leaves
  call_site site;
  target const* to = nullptr;
  target (*find)(void const* context, shape const& extents) = nullptr;
  void const* context = nullptr;
};

namespace runtime {
/// The run-time loop for such statements, unchecked and checked, once a tensor was made.
using home_loop = void (*)(home_run const&);
LOCUS_SHARED_STATE inline constinit home_loop home_loops[2] = {};
}  // namespace runtime

inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

// ---- the functor of a statement, and its leaves ----
/// means: the element types of the leaves, in order
template <class E>
struct home_inputs {
  using type = type_list<typename E::value_type>;
};
template <class T>
struct home_inputs<Scalar<T>> {
  using type = type_list<>;
};
template <class F, class... Es>
struct home_inputs<Node<map_op<F>, Es...>> {
  using type = concatenate_t<typename home_inputs<Es>::type...>;
};
template <class E>
inline constexpr int home_leaves = home_inputs<E>::type::size;

/// means: bind<First>(e, values): e as the tree of a kernel, whose leaves are inputs First, First + 1,
///        ...; values[First...]: where they lie
template <numerics Numbers>
struct home_binder {
  template <class T, class F, class... Trees>
  [[gnu::always_inline]] static auto apply(F const& f, Trees const&... trees) {
    using Functor = typename kernel::functor_under<Numbers, F>::type;
    if constexpr (std::is_empty_v<Functor>)
      return kernel::apply<compute_t<T>, Functor, Trees...>{Functor{}, {{trees}...}};
    else
      return kernel::apply<compute_t<T>, Functor, Trees...>{f, {{trees}...}};
  }
  template <int First, class T, class E, class Where, class Source>
  [[gnu::always_inline]] static auto bind(Leaf<T, E, Where, Source> const& leaf,
                                          home_value* values) {
    tensor_block const* const b = leaf.source.find();
    values[First] =
        b ? home_value{b->pieces[0].data, &b->extents, b->pieces[0].strides, b} : home_value{};
    return kernel::input<First, T>{};
  }
  template <int First, class T, class E, class Where, bool Dense>
  [[gnu::always_inline]] static auto bind(ViewLeaf<T, E, Where, Dense> const& leaf,
                                          home_value* values) {
    using Value = std::remove_const_t<T>;
    values[First] = {const_cast<Value*>(leaf.data), &leaf.extents, leaf.strides, nullptr};
    return kernel::input<First, Value>{};
  }
  template <int First, class T>
  [[gnu::always_inline]] static auto bind(Scalar<T> const& scalar, home_value*) {
    return kernel::constant<compute_t<T>>{scalar.value};
  }
  template <int First, class F, class E>
  [[gnu::always_inline]] static auto bind(Node<map_op<F>, E> const& node, home_value* values) {
    return apply<typename Node<map_op<F>, E>::value_type>(
        node.op.f, bind<First>(get<0>(node.operands), values));
  }
  template <int First, class F, class A, class B>
  [[gnu::always_inline]] static auto bind(Node<map_op<F>, A, B> const& node, home_value* values) {
    return apply<typename Node<map_op<F>, A, B>::value_type>(
        node.op.f, bind<First>(get<0>(node.operands), values),
        bind<First + home_leaves<A>>(get<1>(node.operands), values));
  }
  template <int First, class F, class A, class B, class C, class... Es>
  [[gnu::always_inline]] static auto bind(Node<map_op<F>, A, B, C, Es...> const& node,
                                          home_value* values) {
    return bind_many<First>(node, values, std::index_sequence_for<A, B, C, Es...>{});
  }

 private:
  template <class... Es>
  static constexpr int leaves_before(int k) {
    int const leaves[] = {home_leaves<Es>...};
    int sum = 0;
    while (k-- > 0) sum += leaves[k];
    return sum;
  }
  template <int First, class F, class... Es, std::size_t... K>
  [[gnu::always_inline]] static auto bind_many(Node<map_op<F>, Es...> const& node,
                                               home_value* values, std::index_sequence<K...>) {
    return apply<typename Node<map_op<F>, Es...>::value_type>(
        node.op.f, bind<First + leaves_before<Es...>(int(K))>(get<K>(node.operands), values)...);
  }
};

// ---- the short way ----
/// means: the extents of the result; no_shape where those of the leaves do not fit
inline shape find_home_extents(home_code const& c, home_value const* leaves) {
  shape r;
  for (int k = 0; k < c.leaves; ++k) {
    if (!leaves[k].extents) return no_shape;
    r = k == 0 ? *leaves[0].extents : broadcast(r, *leaves[k].extents);
  }
  return r;
}

/// means: operands of a kernel over the extents of the destination, leaves right aligned
inline void place_home_values(home_code const& c, home_value const* values, kernel::space& over,
                              kernel::access* to) {
  shape const& whole = *values[c.leaves].extents;
  over.rank = whole.rank;
  for (int d = 0; d < whole.rank; ++d) over.extent[d] = whole.extent[d];
  for (int k = 0; k <= c.leaves; ++k) {
    home_value const& v = values[k];
    int const shift = whole.rank - v.extents->rank;
    to[k].data = v.data, to[k].base = 0;
    for (int d = 0; d < whole.rank; ++d) {
      bool const repeats = d < shift || (v.extents->extent[d - shift] == 1 && whole.extent[d] != 1);
      to[k].stride[d] = repeats ? 0 : v.strides[d - shift];
    }
  }
}
inline byte_range home_range(home_value const& v, int element_bytes) {
  return range_of({v.data, v.extents->extent, v.strides}, v.extents->rank, element_bytes);
}
/// means: what is read lies apart from the destination, or is read where it is written
inline bool home_lies_apart(home_code const& c, home_value const* values) {
  home_value const& to = values[c.leaves];
  int const rank = to.extents->rank, bytes = c.element_bytes[c.leaves];
  byte_range const written = home_range(to, bytes);
  for (int k = 0; k < c.leaves; ++k) {
    home_value const& v = values[k];
    if (!home_range(v, c.element_bytes[k]).overlaps(written)) continue;
    bool in_place = v.data == to.data && c.element_bytes[k] == bytes && *v.extents == *to.extents;
    for (int a = 0; a < rank && in_place; ++a)
      in_place = v.extents->extent[a] == 1 || v.strides[a] == to.strides[a];
    if (!in_place) return false;
  }
  return true;
}

/// means: leaves and destination have equal extents and lie in row order without gaps
inline bool home_is_even(home_code const& c, home_value const* values) {
  home_value const& to = values[c.leaves];
  int const rank = to.extents->rank;
  std::int64_t step = 1;
  for (int a = rank; a-- > 0;) {
    if (to.strides[a] != step) return false;
    step *= to.extents->extent[a];
  }
  for (int k = 0; k < c.leaves; ++k) {
    home_value const& v = values[k];
    if (!v.extents || v.extents->rank != rank) return false;
    for (int a = 0; a < rank; ++a)
      if (v.extents->extent[a] != to.extents->extent[a] || v.strides[a] != to.strides[a])
        return false;
  }
  return true;
}

/// means: nothing but the kernel would happen: nobody watches, and no other device can have a part
///        in what runs on a CPU
inline bool home_alone() {
  runtime::device_table const& t = runtime::table;
  return __atomic_load_n(&t.started, __ATOMIC_ACQUIRE) && runtime::watched() == 0 &&
         (t.gpu_backing == runtime::backing::host ||
          (t.gpu_backing == runtime::backing::cuda && !checked_build));
}

/// means: the kernel, if nothing else has to happen     false: it has; nothing was done
/// cost:  a comparison of extents and of addresses for each leaf
[[gnu::noinline]] inline bool run_home_at_once(home_code const& c, void const* stage,
                                               home_value const* values, bool may_overlap) {
  if (!home_alone()) return false;
  int const n = c.leaves;
  kernel::space over;
  kernel::access operands[max_region_values + 1];
  if (home_is_even(c, values)) {
    home_value const& to = values[n];
    auto* const written = static_cast<char*>(to.data);
    over.rank = 1, over.extent[0] = to.extents->size();
    std::int64_t const bytes = over.extent[0] * c.element_bytes[n];
    for (int k = 0; k <= n; ++k) {
      auto* const at = static_cast<char*>(values[k].data);
      operands[k].data = at, operands[k].base = 0, operands[k].stride[0] = 1;
      bool const same = at == written && c.element_bytes[k] == c.element_bytes[n];
      bool const apart =
          at >= written + bytes || written >= at + over.extent[0] * c.element_bytes[k];
      if (may_overlap && !same && !apart) return false;
    }
  } else {
    if (!(find_home_extents(c, values) == *values[n].extents)) return false;
    if (may_overlap && !home_lies_apart(c, values)) return false;
    place_home_values(c, values, over, operands);
  }
  c.kernel(stage, over, operands);
  ++runtime::executed.launches;
  return true;
}
/// means: the run-time loop, with the plan written down
[[gnu::cold]] inline void run_home_in_loop(home_run const& r) {
  auto* const loop = runtime::home_loops[checked_build];
  (loop ? loop : runtime::home_loops[!checked_build])(r);
}

// ---- a statement ----
template <class Tree>
using stage_of = kernel::stage<type_list<>, type_list<Tree>>;
template <class Graph>
struct home_statement;
template <class Policy, class E, class Where>
struct home_statement<graph<Policy, root_of<E, Where>>> {
  static constexpr int leaves = home_leaves<E>;
  using result = typename E::value_type;
  /// the tree of e, as what is stored
  [[gnu::always_inline]] static auto bind(E const& e, home_value* values) {
    auto const tree = home_binder<numerics_of<Policy>()>::template bind<0>(e, values);
    using Tree = std::remove_const_t<decltype(tree)>;
    if constexpr (is_narrow_v<result>)
      return stage_of<kernel::rounded<result, Tree>>{{}, {{{tree}}}};
    else
      return stage_of<Tree>{{}, {{tree}}};
  }

  LOCUS_SHARED_STATE static inline constinit home_record* record = nullptr;
  template <class Stage, class... Ins>
  static void run_kernel(void const* stage, kernel::space const& over, kernel::access const* at) {
    host::map(*static_cast<Stage const*>(stage), over, at, type_list<kernel::elements_of<Ins>...>{},
              type_list<result>{});
  }
  template <class Stage, class... Ins>
  static constexpr home_code make_code(type_list<Ins...>) {
    return {&home_step_of<E>, &run_kernel<Stage, Ins...>,      &record,
            E::steps,         static_cast<short>(leaves),      policy_name<Policy>(),
            Where::value,     {sizeof(Ins)..., sizeof(result)}};
  }
  template <class Stage>
  static constexpr home_code code = make_code<Stage>(typename home_inputs<E>::type{});

  /// means: t = e     find: t as a target, where the long way is taken
  static void assign(call_site site, tensor_base const& t,
                     target (*find)(void const*, shape const&), E const& e) {
    home_value values[leaves + 1];
    auto const stage = bind(e, values);
    using Stage = std::remove_const_t<decltype(stage)>;
    if (tensor_block const* const b = t.block.get()) {
      values[leaves] = {b->pieces[0].data, &b->extents, b->pieces[0].strides, b};
      if (run_home_at_once(code<Stage>, &stage, values, true)) return;
    }
    run_home_in_loop({code<Stage>, &stage, values, site, nullptr, find, &t});
  }
  /// means: the destination that find_target(0, extents, where) names = e
  template <class FindTarget>
  static void run(call_site site, FindTarget const& find_target, E const& e) {
    home_value values[leaves + 1];
    auto const stage = bind(e, values);
    using Stage = std::remove_const_t<decltype(stage)>;
    shape const extents = find_home_extents(code<Stage>, values);
    if (!fits(extents) || !countable(extents, UINT16_MAX)) {
      auto const find = [](void const* f, shape const& s) -> target {
        return (*static_cast<FindTarget const*>(f))(0, s, Where::value);
      };
      return run_home_in_loop({code<Stage>, &stage, values, site, nullptr, find, &find_target});
    }
    target const to = find_target(0, extents, Where::value);
    values[leaves] = {to.locals[0].data, &to.extents, to.locals[0].strides, nullptr};
    if (!run_home_at_once(code<Stage>, &stage, values, !to.fresh && !to.no_alias))
      run_home_in_loop({code<Stage>, &stage, values, site, &to});
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus

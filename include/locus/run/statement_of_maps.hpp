// SPDX-License-Identifier: Apache-2.0
// A local statement of maps alone, without a plan: the part that each unit compiles.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_MODE, LOCUS_SHARED_STATE
#include <locus/engine/host/map.hpp>       // map_kernels
#include <locus/plan/numerics.hpp>         // value_of_policy
#include <locus/run/statement_binder.hpp>  // statement_binder
#include <locus/run/statement_kernel.hpp>  // run_tensors, run_values, run_maps

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

template <class Graph>
struct map_statement;
template <class Policy, class E, class Where>
struct map_statement<graph<Policy, root_of<E, Where>>> {
  static constexpr int leaves = statement_leaves<E>;
  using result = typename E::value_type;

  /// a tree, rounded to the type that is stored
  template <class Tree>
  using stored = std::conditional_t<is_narrow_v<result>, kernel::rounded<result, Tree>, Tree>;
  template <class To>
  [[gnu::always_inline]] static auto bind(E const& e, To* to) {
    using binder = statement_binder<numerics_of<Policy>(), To>;
    using Tree = decltype(binder::template bind<0>(e, to));
    using Stage = kernel::stage<type_list<>, type_list<stored<Tree>>>;
    if constexpr (is_narrow_v<result>)
      return Stage{{}, {{{binder::template bind<0>(e, to)}}}};
    else
      return Stage{{}, {{binder::template bind<0>(e, to)}}};
  }

  LOCUS_SHARED_STATE static inline constinit statement_record* record = nullptr;
  template <class Stage, class... Ins>
  static constexpr statement_code make_code(type_list<Ins...>) {
    using ins = type_list<kernel::elements_of<Ins>...>;
    constexpr host::loop_kernel const* kernels =
        host::map_kernels<Stage, pack<>, ins, type_list<result>>;
    statement_code c{kernels->bytes, leaves, leaves, run_map_kernel};
    c.tree = &internal::statement_step_of<E, Where>, c.kernels = kernels, c.record = &record;
    c.few = few_elements(*kernels), c.policy = value_of_policy<Policy>(), c.where = Where::value;
    return c;
  }
  template <class Stage>
  static constexpr statement_code code = make_code<Stage>(typename statement_inputs<E>::type{});

  /// means: t = e     find: makes a target of t, for the run-time loop
  static void assign(call_site site, tensor_base const& t,
                     target (*find)(void const*, shape const&), E const& e) {
    pack<> const no_folds{};
    if constexpr (only_tensors<E>) {
      tensor_block const* blocks[leaves + 1];
      blocks[leaves] = t.block.get();
      auto const stage = bind(e, blocks);
      using Stage = std::remove_const_t<decltype(stage)>;
      host::map_context<Stage, pack<>> const context{stage, &no_folds};
      run_tensors(code<Stage>, &context, blocks, site, find, &t);
    } else {
      statement_value values[leaves + 1];
      auto const stage = bind(e, values);
      using Stage = std::remove_const_t<decltype(stage)>;
      host::map_context<Stage, pack<>> const context{stage, &no_folds};
      run_values({code<Stage>, &context, values, site, nullptr, find, &t}, values, t.block.get());
    }
  }
  /// means: find_target(0, extents, where) = e
  template <class FindTarget>
  static void run(call_site site, FindTarget const& find_target, E const& e) {
    statement_value values[leaves + 1];
    auto const stage = bind(e, values);
    using Stage = std::remove_const_t<decltype(stage)>;
    constexpr statement_code const& c = code<Stage>;
    pack<> const no_folds{};
    host::map_context<Stage, pack<>> const context{stage, &no_folds};
    shape const extents = find_extents(c, values);
    if (!fits(extents) || !countable(extents, UINT16_MAX)) {
      auto const find = [](void const* f, shape const& s) -> target {
        return (*static_cast<FindTarget const*>(f))(0, s, Where::value);
      };
      return run_in_loop({c, &context, values, site, nullptr, find, &find_target});
    }
    target const to = find_target(0, extents, Where::value);
    values[leaves] = {to.locals[0].data, &to.extents, to.locals[0].strides, nullptr};
    if (!run_maps(c, &context, values, extents, !to.fresh && !to.no_alias))
      run_in_loop({c, &context, values, site, &to});
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus

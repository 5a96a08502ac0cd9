// SPDX-License-Identifier: Apache-2.0
// What one statement at home compiles.
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_MODE, LOCUS_SHARED_STATE
#include <locus/engine/host/map.hpp>  // map_kernels
#include <locus/plan/numerics.hpp>    // value_of_policy
#include <locus/run/home_binder.hpp>  // home_binder
#include <locus/run/home_kernel.hpp>  // run_home_tensors, run_home_values

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

template <class Graph>
struct home_statement;
template <class Policy, class E, class Where>
struct home_statement<graph<Policy, root_of<E, Where>>> {
  static constexpr int leaves = home_leaves<E>;
  using result = typename E::value_type;

  /// what is stored of a tree
  template <class Tree>
  using stored = std::conditional_t<is_narrow_v<result>, kernel::rounded<result, Tree>, Tree>;
  template <class To>
  [[gnu::always_inline]] static auto bind(E const& e, To* to) {
    using binder = home_binder<numerics_of<Policy>(), To>;
    using Tree = decltype(binder::template bind<0>(e, to));
    using Stage = kernel::stage<type_list<>, type_list<stored<Tree>>>;
    if constexpr (is_narrow_v<result>)
      return Stage{{}, {{{binder::template bind<0>(e, to)}}}};
    else
      return Stage{{}, {{binder::template bind<0>(e, to)}}};
  }

  template <class Stage, class... Ins>
  static constexpr host::loop_kernel const* kernels_of(type_list<Ins...>) {
    using ins = type_list<kernel::elements_of<Ins>...>;
    return host::map_kernels<Stage, pack<>, ins, type_list<result>>;
  }
  LOCUS_SHARED_STATE static inline constinit home_record* record = nullptr;
  template <class Stage>
  static constexpr home_code make_code() {
    constexpr host::loop_kernel const* kernels = kernels_of<Stage>(typename home_inputs<E>::type{});
    home_code c;
    c.tree = &home_step_of<E>, c.kernels = kernels, c.run = run_home_kernel,
    c.bytes = kernels->bytes;
    c.record = &record, c.steps = E::steps, c.leaves = leaves, c.few = few_elements(*kernels);
    c.policy = value_of_policy<Policy>(), c.where = Where::value;
    return c;
  }
  template <class Stage>
  static constexpr home_code code = make_code<Stage>();

  /// means: t = e     find: t as a target, where the long way is taken
  static void assign(call_site site, tensor_base const& t,
                     target (*find)(void const*, shape const&), E const& e) {
    pack<> const no_folds{};
    if constexpr (only_tensors<E>) {
      tensor_block const* blocks[leaves + 1];
      blocks[leaves] = t.block.get();
      auto const stage = bind(e, blocks);
      using Stage = std::remove_const_t<decltype(stage)>;
      host::map_context<Stage, pack<>> const context{stage, no_folds};
      run_home_tensors(code<Stage>, &context, blocks, site, find, &t);
    } else {
      home_value values[leaves + 1];
      auto const stage = bind(e, values);
      using Stage = std::remove_const_t<decltype(stage)>;
      host::map_context<Stage, pack<>> const context{stage, no_folds};
      run_home_values({code<Stage>, &context, values, site, nullptr, find, &t}, values,
                      t.block.get());
    }
  }
  /// means: the destination that find_target(0, extents, where) names = e
  template <class FindTarget>
  static void run(call_site site, FindTarget const& find_target, E const& e) {
    home_value values[leaves + 1];
    auto const stage = bind(e, values);
    using Stage = std::remove_const_t<decltype(stage)>;
    constexpr home_code const& c = code<Stage>;
    pack<> const no_folds{};
    host::map_context<Stage, pack<>> const context{stage, no_folds};
    shape const extents = find_home_extents(c, values);
    if (!fits(extents) || !countable(extents, UINT16_MAX)) {
      auto const find = [](void const* f, shape const& s) -> target {
        return (*static_cast<FindTarget const*>(f))(0, s, Where::value);
      };
      return run_home_in_loop({c, &context, values, site, nullptr, find, &find_target});
    }
    target const to = find_target(0, extents, Where::value);
    values[leaves] = {to.locals[0].data, &to.extents, to.locals[0].strides, nullptr};
    if (!run_home_at_once(c, &context, values, !to.fresh && !to.no_alias))
      run_home_in_loop({c, &context, values, site, &to});
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus

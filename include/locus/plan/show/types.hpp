// SPDX-License-Identifier: Apache-2.0
// The plan as a list of types, for compilers' errors: plan_types<copy<CpuDevice, GpuDevice<0>, 24>,
// ...>.
#pragma once
#include <locus/core/type_list.hpp>  // at_t, concatenate_t
#include <locus/plan/plan.hpp>       // plan_facts

namespace locus {

/// One transfer: `bytes` is dyn while an extent is dynamic.
template <class From, class To, std::int64_t Bytes>
struct copy;
template <class Over, std::int64_t Bytes>
struct all_reduce_over;
/// One kernel: its last operation, and its place.
template <class Operation, class Where>
struct kernel_on;
template <class... Lines>
struct plan_types;

namespace detail {

template <class Graph>
struct plan_as_types {
  static constexpr auto const& p = unchecked_plan<Graph>;
  using entries = typename flattened<Graph>::entries;

  // a partial value has no policy: it is written as mirrored over its devices, each with one term
  template <int Step>
  struct place_of_step {
    static constexpr place value =
        p.steps[Step].where.is_partial() ? p.steps[Step].where.mirrored() : p.steps[Step].where;
  };
  template <int Transfer>
  struct place_of_arrival {
    static constexpr place value = p.transfers[Transfer].arrives;
  };
  template <int Transfer>
  static auto transfer_line() {
    constexpr int from = p.transfers[Transfer].from;
    using From = policy_of_t<place_of_step<from>>;
    using To = policy_of_t<place_of_arrival<Transfer>>;
    if constexpr (p.transfers[Transfer].how == transfer_kind::all_reduce)
      return type_list<all_reduce_over<To, p.steps[from].bytes()>>{};
    else
      return type_list<copy<From, To, p.steps[from].bytes()>>{};
  }
  template <int Bucket, int Transfer>
  static auto bucket_line() {
    if constexpr (p.transfers[Transfer].bucket == Bucket)
      return transfer_line<Transfer>();
    else
      return type_list<>{};
  }
  template <int Bucket, std::size_t... T>
  static auto bucket_lines(std::index_sequence<T...>) {
    return concatenate_t<decltype(bucket_line<Bucket, int(T)>())...>{};
  }
  template <int Action>
  static auto lines() {
    constexpr action_kind kind = p.actions[Action].kind;
    constexpr int what = p.actions[Action].what;
    if constexpr (kind == action_kind::transfer)
      return transfer_line<what>();
    else if constexpr (kind == action_kind::bucket)
      return bucket_lines<what>(std::make_index_sequence<std::size_t(p.transfer_count)>{});
    else {
      using Op = typename sentences_of<typename at_t<what, entries>::op>::type;
      return type_list<kernel_on<Op, policy_of_t<place_of_step<what>>>>{};
    }
  }
  template <std::size_t... Idx>
  static auto all(std::index_sequence<Idx...>) {
    return concatenate_t<decltype(lines<int(Idx)>())...>{};
  }
  using type = decltype(all(std::make_index_sequence<std::size_t(p.action_count)>{}));
};

template <class List>
struct as_plan_types;
template <class... Lines>
struct as_plan_types<type_list<Lines...>> {
  using type = plan_types<Lines...>;
};

}  // namespace detail

/// means: the actions of E's plan in order, as types
template <class E, class Destination = nowhere, placement_policy Policy = default_policy>
using plan_types_of = typename detail::as_plan_types<
    typename detail::plan_as_types<graph_of<E, Destination, Policy>>::type>::type;

}  // namespace locus

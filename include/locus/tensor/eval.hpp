// SPDX-License-Identifier: Apache-2.0
// eval, fetch, to: an expression becomes a Tensor.
#pragma once
#include <locus/device/name.hpp>            // require_device_name, parse_device
#include <locus/device/policy.hpp>          // policy_of_code
#include <locus/run/statement_kernel.hpp>   // host_is_alone
#include <locus/tensor/check_mirrored.hpp>  // require_equal_copies
#include <locus/tensor/tensor.hpp>          // Tensor

namespace locus {
inline namespace LOCUS_MODE {

namespace lowering {
template <class Graph>
struct result_place {
  static constexpr place value = plan_facts<Graph>::result();
};
template <class E, class Where>
using tensor_of = Tensor<typename E::value_type, extents_of_shape_t<pattern_of<E>>, Where>;
/// the value of e as a tensor on Where, computed by the plan of Graph
template <class Graph, class Where, class E>
auto evaluate(E const& e, call_site site) {
  using Result = tensor_of<E, Where>;
  Result t{typename Result::unmade{}};
  run_graph<Graph>(
      site,
      [&](int, shape const& extents, place const& at) { return t.make_for(extents, at, site); }, e);
  return t;
}
/// the same on device d; the only open device of Graph is that of its destination
template <class Graph, class Where, class E>
auto evaluate_on(E const& e, device d, call_site site) {
  using Result = tensor_of<E, Where>;
  Result t{typename Result::unmade{}};
  run_graph<Graph>(
      site,
      [&](int, shape const& extents, place const&) { return t.make_for(extents, single(d), site); },
      e);
  return t;
}
/// one kernel on a CPU computes the number, without the run-time loop
template <class Graph>
inline constexpr bool is_number_at_once = [] {
  if constexpr (!is_local_statement<Graph>)
    if constexpr (internal::require_plan<Graph>()) return plan_statement<Graph>::possible;
  return false;
}();
/// the number that the plan of Graph computes from e; no tensor is made
template <class Graph, class E>
auto evaluate_number(E const& e, call_site site) {
  typename E::value_type value;
  shape const no_axes{};
  run_graph<Graph>(
      site,
      [&](int, shape const& extents, place const& at) {
        target to;
        to.where = at, to.extents = extents, to.fresh = true;
        to.locals[0] = {&value, no_axes.extent, no_axes.extent};
        return to;
      },
      e);
  return value;
}
/// a leaf, or a request, of the steps of Graph is on the open device
template <class Graph>
consteval bool reads_open(device open) {
  for (step const& s : internal::unchecked_plan<Graph>.steps)
    if (s.where.devices.contains(open) || s.request == open) return true;
  return false;
}
/// a copy of t on that device
template <class T, class E, class Where>
auto copy_to_device(Tensor<T, E, Where> const& t, device d) {
  Tensor<T, E, Where> r(d, t.extents());
  internal::move_block(*t.block.get(), *r.block.get());
  return r;
}
template <class X>
void look_at_copies(X const& x) {
  if constexpr (std::is_base_of_v<tensor_base, X>)
    if constexpr (X::where.is_mirrored())
      if (x.block) internal::require_equal_copies(*x.block.get());
}
}  // namespace lowering

/// means: the value of e as a Tensor on the place that plan_of<E> gives to its result
/// cost:  that of plan_of<E>
/// fails: the errors of the operations of e; out_of_memory, and then nothing has changed
template <placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto eval(X&& x, call_site where = call_site::here()) {
  runtime::devices("eval", where);
  auto const e = as_operand<void>(std::forward<X>(x));
  using Graph = graph<Policy, root_of<std::remove_cvref_t<decltype(e)>, nowhere>>;
  if constexpr (internal::require_plan<Graph>())
    return lowering::evaluate<Graph, policy_of_t<lowering::result_place<Graph>>>(e, where);
}

/// means: the value of e as a Tensor on Where; copied also where it is on Where already
/// device: Where, one device or a distribution: to<Mirrored<...>>(x), to<Sharded<0, ...>>(x)
/// fails: bad_access in checked builds, when the copies of a mirrored tensor are no longer equal
template <device_policy Where, placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto to(X&& x, call_site where = call_site::here()) {
  runtime::devices("to", where);
  runtime::note_gpus<has_gpu(Where::value.devices)>();
  if constexpr (!Where::value.is_open()) runtime::request_devices(Where::value, "to<...>", where);
  if constexpr (checked_build && single_device<Where>) lowering::look_at_copies(x);
  auto const e = as_operand<void>(std::forward<X>(x));
  using Graph = graph<Policy, root_of<std::remove_cvref_t<decltype(e)>, Where>>;
  if constexpr (internal::require_plan<Graph>()) return lowering::evaluate<Graph, Where>(e, where);
}

/// means: the value of e on the device that an ordinal, a device or a name gives at run time:
///        to<GpuDevice<dyn>>(x, 2)
/// cost:  that of the plan of e, and a copy
template <open_device Where, placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto to(X&& x, bound_device<Where> const& on, call_site where = call_site::here()) {
  runtime::devices("to", where);
  runtime::note_gpus<has_gpu(Where::value.devices)>();
  runtime::request_devices(single(on.value()), "to<...>", where);
  if constexpr (checked_build) lowering::look_at_copies(x);
  auto const e = as_operand<void>(std::forward<X>(x));
  using E = std::remove_cvref_t<decltype(e)>;
  using Own = graph<Policy, root_of<E, nowhere>>;
  using Graph = graph<Policy, root_of<E, Where>>;
  if constexpr (internal::require_plan<Own>()) {
    if constexpr (!lowering::reads_open<Own>(Where::value.at(0)))
      return lowering::evaluate_on<Graph, Where>(e, on, where);
    else {  // a leaf of e may be on another device of this policy: evaluate, then copy
      auto t = lowering::evaluate<Own, policy_of_t<lowering::result_place<Own>>>(e, where);
      if constexpr (std::is_same_v<typename decltype(t)::policy, Where>)
        return t.device() == on.value() ? std::move(t) : lowering::copy_to_device(t, on);
      else
        return to<Where, Policy>(t, on, where);
    }
  }
}

/// means: to<Device>(x) for the device of that name: to<"/GPU:1">(x)
template <fixed_string Name, placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto to(X&& x, call_site where = call_site::here()) {
  if constexpr (require_device_name<Name>()) {
    constexpr int code = parse_device(Name.view()).value.code();
    return to<typename decltype(internal::policy_of_code<code>())::type, Policy>(std::forward<X>(x),
                                                                                 where);
  }
}

namespace lowering {
/// a tensor of rank 0 on a CPU that its type names
template <class X>
inline constexpr bool is_number_on_cpu = [] {
  if constexpr (std::is_base_of_v<tensor_base, X>)
    return X::rank() == 0 && X::where.is_single() && X::where.at(0).is_cpu() && !X::where.is_open();
  return false;
}();
}  // namespace lowering

/// means: the value of e on the host: a number if it has rank 0, a Tensor on /CPU:0 otherwise
/// cost:  waits for the value; a number that lies on the host is read without a plan
template <placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto fetch(X&& x, call_site where = call_site::here()) {
  runtime::devices("fetch", where);
  using Value = std::remove_cvref_t<X>;
  if constexpr (lowering::is_number_on_cpu<Value>)  // no pending work, no watcher
    if (tensor_block const* const b = x.block.get(); b && lowering::host_is_alone())
      return *static_cast<typename Value::value_type const*>(b->pieces[0].data);
  using E = std::remove_cvref_t<decltype(as_operand<void>(std::forward<X>(x)))>;
  if constexpr (E::pattern.rank == 0) {
    using Graph = graph<Policy, root_of<E, CpuDevice>>;
    if constexpr (lowering::is_number_at_once<Graph>)
      return lowering::evaluate_number<Graph>(as_operand<void>(std::forward<X>(x)), where);
    else
      return *to<CpuDevice, Policy>(std::forward<X>(x), where).data();
  } else
    return to<CpuDevice, Policy>(std::forward<X>(x), where);
}

/// a number needs no fetch
template <number X>
auto fetch(X const&) {
  static_assert(always_false<X>, "locus: fetch takes a tensor or an expression, not a number");
}
template <number X>
auto eval(X const&) {
  static_assert(always_false<X>, "locus: eval takes a tensor or an expression, not a number");
}

}  // namespace LOCUS_MODE
}  // namespace locus

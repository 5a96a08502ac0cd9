// SPDX-License-Identifier: Apache-2.0
// on<Device>(e): the steps of e run there. The device is a type or TensorFlow's name for it.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/device/name.hpp>    // require_device_name, parse_device
#include <locus/device/open.hpp>    // bound_device
#include <locus/device/policy.hpp>  // single_device
#include <locus/expr/node.hpp>      // make_node
#include <locus/expr/operand.hpp>   // as_operand
#include <locus/ops/map.hpp>        // map_op

namespace locus {

enum class placement : unsigned char { soft, strict };
/// soft: the request may fall back to another device, which the log shows; strict: it may not.
inline constexpr auto soft = placement::soft;
inline constexpr auto strict = placement::strict;

/// means: the operand itself, with a request for all its steps except those inside an inner on<>
///        (the device is an integer because nvcc 13 mangles class-type template arguments wrongly)
template <int DeviceCode, bool Strict>
struct on_op {
  static constexpr int steps = 0, edges = 0;
  template <class T>
  using result = T;
  template <class T>
  using entries = type_list<>;
  static constexpr shape infer(shape a) { return a; }
  static constexpr request inherited(request) { return {device::from_code(DeviceCode), Strict}; }
  template <class T>
  static constexpr short emit_steps(builder&, request, short const* operands) {
    return operands[0];
  }
};

/// means: the same for an open device, whose ordinal is in the object
template <int DeviceCode, bool Strict>
struct on_open_op : on_op<DeviceCode, Strict> {
  device at;
  void bind_device(binder& b) const {
    b.set_devices(device_list(device::from_code(DeviceCode)), device_list(at), "an on<>");
  }
};

namespace detail {
inline namespace LOCUS_MODE {
template <class Op, class X>
constexpr auto on_device(Op op, X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  using E = decltype(operand);
  if constexpr (E::edges == 0)  // a leaf or a let's value is not moved: on<> copies it
    return make_node(op, make_node(map_op<identity_fn>{}, std::move(operand)));
  else
    return make_node(op, std::move(operand));
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: e, computed on Device; the innermost on<> wins
/// cost:  the copies that explain() of the plan shows
/// fails: with `strict`, at compile time, when an operation has no kernel there; at run time, with
///        hard placement: placement_error for a missing kernel, unknown_device for a missing device
/// after: tf.device
template <single_device Device, placement P = soft, tensor_operand X>
constexpr auto on(X&& x) {
  static_assert(!open_device<Device>,
                "locus: on<GpuDevice<dyn>> needs its ordinal; write on<GpuDevice<dyn>>(e, 2)");
  using Op = on_op<Device::value.at(0).code(), P == strict>;
  return detail::on_device(Op{}, std::forward<X>(x));
}
/// means: e, computed on the device that an ordinal, a device or a name gives at run time:
///            on<GpuDevice<dyn>>(e, 2)     on<GpuDevice<dyn>>(e, device_named("/gpu:2"))
/// cost:  one plan and one kernel for all ordinals
/// fails: placement_error at binding, if operands lie on another device of the same policy
template <open_device Device, placement P = soft, tensor_operand X>
constexpr auto on(X&& x, bound_device<Device> const& where) {
  using Op = on_open_op<Device::value.at(0).code(), P == strict>;
  return detail::on_device(Op{{}, where.value()}, std::forward<X>(x));
}
template <replicas Devices, placement P = soft, tensor_operand X>
constexpr auto on(X&&) {
  static_assert(
      always_false<Devices>,
      "locus: on<> names a single device; write to<Mirrored<...>>(x) to distribute a value");
}
template <class Device, placement P = soft, tensor_operand X>
  requires(!device_policy<Device>)
constexpr auto on(X&&) {
  static_assert(always_false<Device>,
                "locus: on<> names a device; write on<GpuDevice<0>>(e) or on<\"/GPU:0\">(e)");
}
template <tensor_operand X, class Name>
constexpr auto on(X const&, Name const&) {
  static_assert(always_false<X>,
                "locus: on<> names its device as a template argument; write on<\"/GPU:0\">(e), "
                "or with_device(name, f) for a name that is known when the program runs");
}
template <fixed_string Name, placement P = soft, tensor_operand X>
constexpr auto on(X&& x) {
  if constexpr (require_device_name<Name>()) {
    using Op = on_op<parse_device(Name.view()).value.code(), P == strict>;
    return detail::on_device(Op{}, std::forward<X>(x));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// Device lists by TensorFlow's names.
#pragma once
#include <locus/device/name.hpp>    // require_device_name, parse_device
#include <locus/device/policy.hpp>  // Mirrored, Sharded, policy_of_code

namespace locus {

namespace detail {
template <fixed_string Name>
consteval int code_named() {
  if constexpr (require_device_name<Name>())
    return parse_device(Name.view()).value.code();
  else
    return 0;
}
// device codes as template arguments: nvcc 13 cannot mangle a text as a template argument
template <int... Codes>
struct coded_list {
  using mirrored = Mirrored<typename decltype(policy_of_code<Codes>())::type...>;
  template <int Axis>
  using sharded = Sharded<Axis, typename decltype(policy_of_code<Codes>())::type...>;
};
}  // namespace detail

/// means: Mirrored<...> over the devices of those names: MirroredOn<"/gpu:2", "/gpu:3">
/// fails: at compile time: for a malformed name, a device twice, more than 8 devices
template <fixed_string... Names>
using MirroredOn = typename detail::coded_list<detail::code_named<Names>()...>::mirrored;

/// means: Sharded<Axis, ...> over the devices of those names: ShardedOn<0, "/gpu:2", "/gpu:3">
template <int Axis, fixed_string... Names>
using ShardedOn =
    typename detail::coded_list<detail::code_named<Names>()...>::template sharded<Axis>;

}  // namespace locus

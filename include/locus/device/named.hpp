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
// numbers between the texts and the policy: nvcc 13 cannot write a text that is part of a type
template <int... Codes>
struct coded_list {
  using mirrored = Mirrored<typename decltype(policy_of_code<Codes>())::type...>;
  template <int Axis>
  using sharded = Sharded<Axis, typename decltype(policy_of_code<Codes>())::type...>;
};
}  // namespace detail

/// means: Mirrored<...> of the devices of those names: MirroredOn<"/gpu:2", "/gpu:3">
/// fails: at compile time: a name that is none, a device twice, more than 8
template <fixed_string... Names>
using MirroredOn = typename detail::coded_list<detail::code_named<Names>()...>::mirrored;

/// means: Sharded<Axis, ...> of the devices of those names: ShardedOn<0, "/gpu:2", "/gpu:3">
template <int Axis, fixed_string... Names>
using ShardedOn =
    typename detail::coded_list<detail::code_named<Names>()...>::template sharded<Axis>;

}  // namespace locus

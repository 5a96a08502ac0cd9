// SPDX-License-Identifier: Apache-2.0
// What each replica holds, read one by one.
#pragma once
#include <vector>

#include <locus/locus.hpp>

namespace replicas {

/// a host copy of elements that lie in row order on one device
template <class Device, class T>
std::vector<T> read(T* data, std::int64_t n) {
  auto const host = locus::to<locus::CpuDevice>(
      locus::view<Device>(data, locus::Extents<locus::dyn>(locus::shape{1, {n}})));
  return std::vector<T>(host.data(), host.data() + n);
}

/// means: the copies of a mirrored tensor, or the pieces of one that is cut, by replica
template <class T, class E, template <class...> class Policy, class... Devices>
std::vector<std::vector<T>> parts_of(locus::Tensor<T, E, Policy<Devices...>>& t) {
  int r = 0;
  return {[&] {
    auto const own = read<Devices>(t.data(r), t.size());
    ++r;
    return own;
  }()...};
}
template <class T, class E, int Axis, class... Devices>
std::vector<std::vector<T>> parts_of(locus::Tensor<T, E, locus::Sharded<Axis, Devices...>>& t) {
  int r = 0;
  constexpr locus::place cut = locus::Sharded<Axis, Devices...>::value;
  return {[&] {
    std::int64_t const n = t.extent(Axis), rows = cut.piece_size(n, r);
    auto const own = read<Devices>(t.data(r), n ? t.size() / n * rows : 0);
    ++r;
    return own;
  }()...};
}

/// the first R GPUs
template <class Numbers>
struct first_gpus;
template <int... Is>
struct first_gpus<std::integer_sequence<int, Is...>> {
  using mirrored = locus::Mirrored<locus::GpuDevice<Is>...>;
  template <int Axis>
  using cut = locus::Sharded<Axis, locus::GpuDevice<Is>...>;
};
template <int R>
using mirrored = typename first_gpus<std::make_integer_sequence<int, R>>::mirrored;
template <int R, int Axis = 0>
using cut = typename first_gpus<std::make_integer_sequence<int, R>>::template cut<Axis>;

}  // namespace replicas

// SPDX-License-Identifier: Apache-2.0
// What the programs of host_programs share: vectors and matrices of random numbers, and how the rivals see them.
#pragma once
#include <memory>
#include <vector>

#include <bench/harness.hpp>

#if BENCH_EIGEN
#include <Eigen/Core>
#endif
#if BENCH_KOKKOS
#include <Kokkos_Core.hpp>
#endif

namespace bench {

template <class T, int Rank = 1>
using tensor = locus::Tensor<T, locus::Dextents<Rank>>;
template <class T>
using number = locus::Tensor<T, locus::Extents<>>;

template <class T, class E>
std::shared_ptr<locus::Tensor<T, E>> drawn(E n, unsigned seed, float low, float high) {
  using namespace locus;
  return std::make_shared<Tensor<T, E>>(cast<T>(uniform<float>(n, locus::seed{seed}, low, high)));
}
template <class T>
std::shared_ptr<tensor<T>> drawn(std::int64_t n, unsigned seed, float low, float high) {
  return drawn<T>(locus::Dextents<1>(n), seed, low, high);
}
template <class T, class... N>
std::shared_ptr<tensor<T, int(sizeof...(N))>> room(N... n) {
  return std::make_shared<tensor<T, int(sizeof...(N))>>(
      locus::zeros<T>(locus::Dextents<int(sizeof...(N))>(std::int64_t(n)...)));
}
/// the values of several tensors, one behind the other
template <class... X>
std::vector<double> values_of(X const&... x) {
  std::vector<double> all;
  (all.insert(all.end(), x.data(), x.data() + x.size()), ...);
  return all;
}

#if BENCH_EIGEN
template <class T>
auto map_of(tensor<T> const& x) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1> const>(x.data(), x.size());
}
template <class T>
auto map_of(tensor<T>& x) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(x.data(), x.size());
}
template <class T>
using eigen_rows = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
auto map_of(tensor<T, 2>& x) {
  return Eigen::Map<eigen_rows<T>>(x.data(), x.extent(0), x.extent(1));
}
#endif

#if BENCH_KOKKOS
template <class View>
using kokkos_view = Kokkos::View<View, Kokkos::LayoutRight, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::Restrict>>;
using kokkos_range = Kokkos::RangePolicy<Kokkos::Serial>;
template <class T>
kokkos_view<T*> view_of(tensor<T>& x) {
  return kokkos_view<T*>(x.data(), std::size_t(x.size()));
}
template <class T>
kokkos_view<T const*> view_of(tensor<T> const& x) {
  return kokkos_view<T const*>(x.data(), std::size_t(x.size()));
}
template <class T>
kokkos_view<T**> view_of(tensor<T, 2>& x) {
  return kokkos_view<T**>(x.data(), std::size_t(x.extent(0)), std::size_t(x.extent(1)));
}
template <class T>
kokkos_view<T***> view_of(tensor<T, 3>& x) {
  return kokkos_view<T***>(x.data(), std::size_t(x.extent(0)), std::size_t(x.extent(1)),
                           std::size_t(x.extent(2)));
}
#endif

}  // namespace bench

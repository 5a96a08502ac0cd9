// SPDX-License-Identifier: Apache-2.0
// What the tests of programs share: tensors of static and of open extents, random data, and their values in double.
#pragma once
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <worst_of.hpp>

#include <cmath>
#include <vector>

namespace programs {

using precise = long double;  // results are compared with it
using values = std::vector<double>;

/// Tensors on Where whose extents the compiler knows, or only a run.
template <class Where>
struct fixed {
  template <class T, int... N>
  using tensor = locus::Tensor<T, locus::Extents<N...>, Where>;
  template <int... N>
  static constexpr locus::Extents<N...> extents() {
    return {};
  }
};
template <class Where>
struct open {
  template <class T, int... N>
  using tensor = locus::Tensor<T, locus::Dextents<int(sizeof...(N))>, Where>;
  template <int... N>
  static constexpr locus::Dextents<int(sizeof...(N))> extents() {
    return locus::Dextents<int(sizeof...(N))>(std::int64_t(N)...);
  }
};

/// random numbers of [low, high): the same for each kind
template <class Kind, class T, int... N>
typename Kind::template tensor<T, N...> drawn(unsigned seed, float low, float high) {
  using namespace locus;
  return typename Kind::template tensor<T, N...>(
      cast<T>(uniform<float>(Kind::template extents<N...>(), locus::seed{seed}, low, high)));
}
template <class Kind, class T, int... N>
typename Kind::template tensor<T, N...> zero() {
  return typename Kind::template tensor<T, N...>(locus::zeros<T>(Kind::template extents<N...>()));
}

/// the elements of a tensor, in row order
template <class X>
values values_of(X const& x) {
  using namespace locus;
  Tensor<typename X::value_type, Dextents<X::extents_type::rank()>> const here(x);
  return values(here.data(), here.data() + here.size());
}
/// means: each element of got differs from wanted by at most `tolerance` of the largest one
template <class Wanted>
void check(values const& got, Wanted const& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  double most = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, std::fabs(double(wanted[i])));
    double const d = std::fabs(double(precise(got[i]) - precise(wanted[i])));
    worst = worst_of(worst, d);
  }
  CAPTURE(worst);
  CAPTURE(most);
  CHECK(worst <= tolerance * most);
}

/// means: program(kind) for static and open extents, on the host and on a GPU of the machine
template <class Program>
void on_kinds(Program const& program) {
  on_few_backends([&](backends::machine const& m) {
    program(fixed<locus::CpuDevice>{}), program(open<locus::CpuDevice>{});
    if (!m.has_gpu()) return;
    program(fixed<locus::GpuDevice<0>>{}), program(open<locus::GpuDevice<0>>{});
  });
}

}  // namespace programs

// SPDX-License-Identifier: Apache-2.0
// argmin beside a plain loop: axes, types with their lowest and highest numbers, NaN, pieces along the
// axis and along another.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <limits>

#include <locus/algorithms/argmin.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace argmin_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

template <class X>
std::vector<double> places(X const& x, int axis) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  auto const from = values_in(x);
  std::vector<double> r;
  for (std::int64_t line = 0; line < of.outer * of.inner; ++line) {
    std::int64_t best = 0;
    auto const at = [&](std::int64_t j) {
      return from[std::size_t((line / of.inner * of.n + j) * of.inner + line % of.inner)];
    };
    for (std::int64_t j = 1; j < of.n; ++j)
      if (!std::isnan(at(best)) && (std::isnan(at(j)) || at(j) < at(best))) best = j;
    r.push_back(double(best));
  }
  return r;
}
template <class T>
Tensor<T, Dextents<2>> some(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  auto x = rows::random<T>(Dextents<2>(n, m), seed, 0, 3);  // many are equal
  oracle::random r(seed + 1);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto const k = r.number(0, 7);
    if constexpr (is_floating_v<T>) {
      if (k == 0 && r.number(0, 9) == 0) x.data()[i] = T(NAN);
      if (k == 1) x.data()[i] = T(-INFINITY);
      if (k == 2) x.data()[i] = T(-0.f);
    } else if (k <= 1)
      x.data()[i] = k ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
  return x;
}
template <class Where, class T>
void check(std::int64_t n, std::int64_t m) {
  CAPTURE(n);
  CAPTURE(m);
  auto const x = some<T>(n, m, 1);
  Tensor<T, Dextents<2>, Where> const there(x);
  CHECK(values_in(argmin<0>(there)) == places(x, 0));
  CHECK(values_in(argmin<-1>(there)) == places(x, 1));
  Tensor<T, Dextents<2>> flat(1, n * m);
  for (std::int64_t i = 0; i < n * m; ++i) flat.data()[i] = x.data()[i];
  CHECK(values_in(argmin(there)) == places(flat, 1));
}
template <class Where, class T>
void check_sizes() {
  check<Where, T>(7, 5), check<Where, T>(1, 33), check<Where, T>(300, 2);
}

}  // namespace

TEST_CASE("argmin is the plain loop, for each type and each cut") {
  on_backends([](backends::machine const& m) {
    check_sizes<CpuDevice, float>();
    check_sizes<CpuDevice, double>();
    check_sizes<CpuDevice, half>();
    check_sizes<CpuDevice, int>();
    // double, in which the loop counts, holds not all of int64
    Tensor<std::int64_t, Extents<4>> const x{5, std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::lowest(), 5};
    CHECK(fetch(argmin(x)) == 2);
    if (m.gpus > 0 && m.gpus < 4) return;
    check_sizes<replicas::mirrored<2>, float>();
    check_sizes<replicas::cut<2, 0>, float>();
    check_sizes<replicas::cut<3, 0>, int>();
    check_sizes<replicas::cut<3, 1>, float>();
    if (m.has_gpu()) check_sizes<GpuDevice<0>, float>();
  });
  using X = Tensor<float, Extents<4, 3>>;
  static_assert(plan_of<decltype(argmin<0>(std::declval<X&>()))>.launches() ==
                plan_of<decltype(argmax<0>(std::declval<X&>()))>.launches());
  static_assert(std::is_same_v<decltype(argmin<0>(std::declval<X&>()))::value_type, std::int64_t>);
}

}  // namespace argmin_test

// SPDX-License-Identifier: Apache-2.0
// sort and argsort beside std::stable_sort: axes, types, lengths, NaNs and zeros of both signs, long lines
// on several threads, pieces along other axes, the gradient.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <locus/algorithms/sort.hpp>
#include <replicas.hpp>

#include "rows.hpp"

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

bool comes_before(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
  return a < b;
}
/// places, or values
template <class X>
std::vector<double> sorted(X const& x, int axis, bool places) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  auto const from = values_in(x);
  std::vector<double> r(from.size());
  std::vector<std::int64_t> order(std::size_t(of.n));
  for (std::int64_t line = 0; line < of.outer * of.inner; ++line) {
    std::int64_t const first = line / of.inner * of.n * of.inner + line % of.inner;
    auto const at = [&](std::int64_t j) { return std::size_t(first + j * of.inner); };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return comes_before(from[at(a)], from[at(b)]);
    });
    for (std::int64_t j = 0; j < of.n; ++j) {
      std::int64_t const k = order[std::size_t(j)];
      r[at(j)] = places ? double(k) : from[at(k)];
    }
  }
  return r;
}
/// NaN equals NaN, and -0.0 is not 0.0
bool same(std::vector<double> const& a, std::vector<double> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}
template <class T, class E>
Tensor<T, E> wild(E const& extents, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = r.value<T>(-1000, 1000);
    if constexpr (is_floating_v<T>) {
      float const some[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN, 1.5f, -1.5f};
      if (r.number(0, 2) == 0) x.data()[i] = T(some[r.number(0, 7)]);
    } else if (r.number(0, 3) == 0)
      x.data()[i] = r.number(0, 1) ? std::numeric_limits<T>::lowest() : T(3);
  }
  return x;
}
template <int Axis, class X, class There>
void check_sorts(X const& x, There const& there) {
  CAPTURE(Axis);
  CHECK(same(values_in(sort<Axis>(there)), sorted(x, Axis, false)));
  CHECK(values_in(argsort<Axis>(there)) == sorted(x, Axis, true));
}
template <class Where, class T>
void check_types() {
  std::int64_t const sizes[][3] = {{1, 1, 1},  {2, 0, 3},  {1, 64, 1},
                                   {2, 65, 2}, {70, 3, 1}, {1, 3000, 2}};
  for (auto const& s : sizes) {
    CAPTURE(s[1]);
    auto const x = wild<T>(Dextents<3>(s[0], s[1], s[2]), 1);
    Tensor<T, Dextents<3>, Where> const there(x);
    check_sorts<0>(x, there);
    check_sorts<1>(x, there);
    check_sorts<2>(x, there);
  }
}
template <int R>
void check_pieces() {
  CAPTURE(R);
  for (std::int64_t const n : {7, 2, 1, 0}) {
    CAPTURE(n);
    auto const x = wild<float>(Dextents<3>(n, 5, 3), 2);
    Tensor<float, Dextents<3>, replicas::mirrored<R>> const whole(x);
    Tensor<float, Dextents<3>, replicas::cut<R, 0>> const rows(x);
    Tensor<float, Dextents<3>, replicas::cut<R, 2>> const columns(x);
    check_sorts<0>(x, whole);
    check_sorts<1>(x, whole);
    check_sorts<1>(x, rows);
    check_sorts<2>(x, rows);
    check_sorts<0>(x, columns);
    check_sorts<1>(x, columns);
  }
}

}  // namespace

TEST_CASE("sort and argsort are std::stable_sort, for each type") {
  on_few_backends([](backends::machine const& m) {
    check_types<CpuDevice, float>();
    check_types<CpuDevice, double>();
    check_types<CpuDevice, half>();
    check_types<CpuDevice, bfloat16>();
    check_types<CpuDevice, std::int64_t>();
    check_types<CpuDevice, int>();
    if (!m.has_gpu()) return;
    check_types<GpuDevice<0>, float>();
    check_types<GpuDevice<1>, double>();
    check_types<GpuDevice<0>, half>();
    check_types<GpuDevice<0>, int>();
  });
}

TEST_CASE("a long line is sorted by several threads in the same way; static extents stay static") {
  auto const x = wild<float>(Dextents<1>(300007), 3);
  auto const was = config::get_intra_op_parallelism_threads();
  for (int const threads : {1, 2, 5}) {
    config::set_intra_op_parallelism_threads(threads);
    check_sorts<0>(x, x);
  }
  config::set_intra_op_parallelism_threads(was);
  Tensor<float, Extents<2, 3>> const y{{3.f, 1.f, 2.f}, {6.f, 5.f, 4.f}};
  auto const z = eval(argsort<-1>(y));
  static_assert(std::is_same_v<decltype(z)::extents_type, Extents<2, 3>>);
  CHECK(values_in(z) == std::vector<double>{1, 2, 0, 2, 1, 0});
  CHECK(values_in(eval(sort<0>(transpose(y)) * 2.f)) == std::vector<double>{2, 8, 4, 10, 6, 12});
  static_assert(plan_of<decltype(sort<0>(y))>.launches() == 1);
}

TEST_CASE("sorts of pieces along other axes have no traffic") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_pieces<1>();
    check_pieces<2>();
    check_pieces<3>();
  });
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using A = decltype(sort<1>(std::declval<Rows&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
}

TEST_CASE("the gradient of sort moves the adjoint back") {
  on_few_backends([](backends::machine const& m) {
    auto x = rows::random<double>(Dextents<2>(5, 4), 6);
    auto const w = rows::random<double>(Dextents<2>(5, 4), 7);
    auto const p = named<"x">(x);
    rows::check_gradient(sum(w * square(sort<0>(p))), x, p);
    rows::check_gradient(sum(w * sin(sort<-1>(p))), x, p);
    if (!m.has_gpu()) return;
    auto const want = values_in(grad(sum(w * sort<1>(p)), p));
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x), cut_weights(w);
    Tensor<double, Dextents<2>, replicas::mirrored<2>> const weights(w);
    auto const q = named<"cut">(cut);
    CHECK(values_in(grad(sum(cut_weights * sort<1>(q)), q)) == want);
    CHECK(values_in(grad(sum(weights * sort<1>(q)), q)) == want);
  });
}

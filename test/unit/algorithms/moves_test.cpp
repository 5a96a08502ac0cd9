// SPDX-License-Identifier: Apache-2.0
// roll, flip, pad and diagonal beside plain loops: axes, sizes 0 and 1, shifts beyond the extent, pieces,
// gradients.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/algorithms/moves.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace moves_test {

using namespace locus;
using rows::values_in;

namespace {

/// r[o, j, c] = x[o, source(j), c] for j of [0, n), value where source(j) is below 0
template <class X, class Source>
std::vector<double> moved(X const& x, int axis, std::int64_t n, double value,
                          Source const& source) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  auto const from = values_in(x);
  std::vector<double> r;
  for (std::int64_t o = 0; o < of.outer; ++o)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t c = 0; c < of.inner; ++c) {
        std::int64_t const k = source(j);
        r.push_back(k < 0 ? value : from[std::size_t((o * of.n + k) * of.inner + c)]);
      }
  return r;
}
constexpr shape shapes[] = {{3, {3, 4, 5}},   {3, {1, 1, 7}},   {3, {0, 3, 2}},   {3, {2, 0, 3}},
                            {3, {2, 257, 3}}, {3, {33, 1, 31}}, {3, {2, 3, 4096}}};

template <class Where, int Axis, class T>
void check() {
  for (shape const& s : shapes) {
    auto const x = rows::random<T>(Dextents<3>(s), 3, 0, 100);
    Tensor<T, Dextents<3>, Where> const there(x);
    std::int64_t const n = s.extent[Axis];
    INFO("extent ", n, ", axis ", Axis);
    for (std::int64_t by : {0, 1, -2, 5, -300}) {
      auto const source = [&](std::int64_t j) { return ((j - by) % n + n) % n; };
      CHECK(values_in(roll<Axis>(there, by)) == moved(x, Axis, n, 0, source));
    }
    CHECK(values_in(flip<Axis - 3>(there)) ==
          moved(x, Axis, n, 0, [&](std::int64_t j) { return n - 1 - j; }));
    auto const in_front = [&](std::int64_t front) {
      return [=](std::int64_t j) { return j >= front && j < front + n ? j - front : -1; };
    };
    CHECK(values_in(pad<Axis>(there, 2, 3, T(7))) == moved(x, Axis, n + 5, 7, in_front(2)));
    CHECK(values_in(pad<Axis, 0, 33>(there)) == moved(x, Axis, n + 33, 0, in_front(0)));
  }
}
template <int Diagonal>
void check_diagonal() {
  for (auto const& [n, m] : {std::pair{4, 4}, {3, 7}, {9, 2}, {1, 1}, {0, 3}}) {
    auto const x = rows::random<float>(Dextents<2>(n, m), 5);
    std::vector<double> want;
    for (int i = 0; i < n; ++i)
      if (i + Diagonal >= 0 && i + Diagonal < m) want.push_back(double(x(i, i + Diagonal)));
    CHECK(values_in(diagonal<Diagonal>(x)) == want);
    CHECK(values_in(on<GpuDevice<0>>(diagonal<Diagonal>(x))) == want);
  }
}

}  // namespace

TEST_CASE("roll, flip and pad are plain loops, for each axis and each cut") {
  on_few_backends([](backends::machine const& m) {
    check<CpuDevice, 1, float>();
    check<CpuDevice, 2, float>();
    if (!m.has_gpu()) return;
    check<GpuDevice<0>, 0, std::uint8_t>();
    check<replicas::cut<2, 0>, 1, float>();
  });
}
TEST_CASE("diagonal reads above, on and below the main one") {
  on_few_backends([] { check_diagonal<0>(), check_diagonal<1>(), check_diagonal<-2>(); });
}
TEST_CASE("static extents stay static; each is one step; widths below 0 are refused") {
  using X = Tensor<float, Extents<3, 4>>;
  X x;
  static_assert(decltype(roll<0>(x, 1))::pattern == shape{2, {3, 4}});
  static_assert(decltype(pad<1, 1, 2>(x))::pattern == shape{2, {3, 7}});
  static_assert(decltype(diagonal<1>(x))::pattern == shape{1, {3}});
  static_assert(plan_of<decltype(pad<1, 1, 2>(x))>.launches() == 1);
  static_assert(plan_of<decltype(roll<0>(x * 2.f, 1))>.launches() == 2);
  CHECK_THROWS_WITH_AS((void)pad<0>(x, 1, -1),
                       "locus: pad adds -1 elements to an end of an axis; give numbers from 0 on",
                       shape_error);
}
TEST_CASE("a value that no element can hold is refused") {
  Tensor<std::int8_t, Dextents<1>> const small(2);
  CHECK_THROWS_WITH_AS(
      (void)pad<0>(small, 1, 1, 300),
      "locus: the number 300 does not fit into int8 elements; cast the tensor to a "
      "wider type",
      shape_error);
  Tensor<std::uint8_t, Extents<2>> const unsigned_numbers;
  CHECK_THROWS_AS((void)(pad<0, 1, 1>(unsigned_numbers, -1)), shape_error);
  Tensor<half, Extents<2>> const halves{1, 2};
  CHECK(values_in(pad<0, 1, 0>(halves, 0.5)) == std::vector<double>{0.5, 1, 2});
  CHECK(values_in(pad<0, 0, 1>(halves, half(3))) == std::vector<double>{1, 2, 3});
  Tensor<bool, Extents<1>> const flag{false};
  CHECK(values_in(pad<0>(flag, 1, 0, true)) == std::vector<double>{1, 0});
  CHECK(values_in(pad<0>(flag, 1, 0)) == std::vector<double>{0, 0});
}
TEST_CASE("gradients of roll, flip, pad and diagonal") {
  auto x = rows::random<double>(Dextents<2>(3, 4), 7);
  auto const w = rows::random<double>(Dextents<2>(3, 4), 8);
  auto const wide = rows::random<double>(Dextents<2>(3, 7), 9);
  auto const v = rows::random<double>(Dextents<1>(2), 10);
  auto const e = named<"x">(x);
  rows::check_gradient(sum(square(roll<1>(e, 3)) * w) + sum(roll<0>(flip<1>(e), -1) * w) +
                           sum(square(pad<1>(e, 1, 2, 5)) * wide) + sum(pad<0, 0, 2>(e)) +
                           sum(square(diagonal<-1>(e)) * v),
                       x, e);
}

}  // namespace moves_test

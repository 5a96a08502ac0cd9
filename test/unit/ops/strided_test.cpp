// SPDX-License-Identifier: Apache-2.0
// Slices with steps beside plain loops: read, in kernels, by calls, as destinations, over pieces; errors and
// gradients.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <locus/algorithms/moves.hpp>
#include <locus/grad/grad.hpp>

using namespace locus;
using oracle::array, oracle::indices;

namespace {

using Matrix = Tensor<float, Dextents<2>>;

struct axis_range {
  strided s;
  std::int64_t first, length;
};
/// a strided range of an axis, its first element and their number
axis_range some_range(oracle::random& r, std::int64_t n) {
  std::int64_t const begin = r.number(0, n), end = r.number(begin, n), step = r.number(1, 5);
  std::int64_t length = 0;
  for (std::int64_t i = begin; i < end; i += step) ++length;
  strided s{begin, end, step};
  if (begin < n && r.number(0, 1)) s.begin = begin - n;
  if (end == n) s.end = range::to_end;
  return {s, begin, length};
}

std::string text_of(std::int64_t n, std::int64_t m, strided const& s) {
  std::string text = std::to_string(n) + " " + std::to_string(m) + ":";
  for (std::int64_t const i : {s.begin, s.end, s.step}) text += " " + std::to_string(i);
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("ops/strided");

TEST_CASE("slices with steps are those of plain loops, as operands and as destinations") {
  oracle::random r(3);
  on_few_backends([&] {
    for (auto const& [n, m] : {std::pair{1, 1}, {5, 7}, {33, 256}, {0, 4}, {64, 31}, {257, 3}})
      for (int turn = 0; turn < 6; ++turn) {
        auto const a = oracle::random_array<float>(r, {2, {n, m}}, -9, 9);
        auto const x = oracle::tensor<2>(a);
        auto const [rows, i0, count] = some_range(r, n);
        auto const [columns, j0, width] = some_range(r, m);
        std::string const which = text_of(n, m, rows);
        INFO(which);
        std::int64_t const di = rows.step, dj = columns.step, top = i0, left = j0;
        auto const want = oracle::make<float>(shape{2, {count, width}}, [&](std::int64_t const* i) {
          indices const from{top + i[0] * di, left + i[1] * dj};
          return a.at(from, 2);
        });
        auto const part = slice(x, rows, columns);
        Matrix const copy(part), doubled(on<GpuDevice<0>>(part * 1.f + 0.f));
        CHECK(oracle::difference(copy, want) == "");
        CHECK(oracle::difference(doubled, want) == "");
        Matrix const turned(flip<0>(flip<0>(slice(x, rows, columns))));
        CHECK(oracle::difference(turned, want) == "");
        Matrix const lines(slice(x, rows));
        CHECK(oracle::difference(Matrix(slice(lines, all_of, columns)), want) == "");
        // written: these elements and no others
        Matrix to(n, m);
        to = zeros<float>(to.extents());
        run(into(slice(to, rows, columns), copy + 100.f));
        float sum = 0, added = 0;
        for (std::int64_t k = 0; k < to.size(); ++k) sum += to.data()[k];
        bool right = true;
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t j = 0; j < width; ++j) {
            indices const at{i, j};
            float const v = want.at(at, 2) + 100.f;
            added += v, right = right && to(top + i * di, left + j * dj) == v;
          }
        CHECK(right);
        CHECK(sum == doctest::Approx(added));
      }
  });
}
TEST_CASE("a slice with steps of pieces: along another axis; even elements become the odd ones in "
          "place") {
  testing::simulated_gpus gpus(2);
  Tensor<float, Dextents<2>> x(7, 4);
  for (int k = 0; k < 28; ++k) x.data()[k] = static_cast<float>(k);
  Tensor<float, Dextents<2>, Sharded<1, GpuDevice<0>, GpuDevice<1>>> there(x);
  Matrix const r(slice(there, strided{1, range::to_end, 3}) * 2.f);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) CHECK(r(i, j) == 2.f * x(1 + 3 * i, j));
  Tensor<float, Dextents<1>> v(8);
  for (int k = 0; k < 8; ++k) v(k) = static_cast<float>(k);
  run(into(slice(v, strided{0, 8, 2}), slice(v, strided{1, 8, 2}) * 10.f));
  for (int k = 0; k < 8; ++k) CHECK(v(k) == static_cast<float>(k % 2 ? k : 10 * (k + 1)));
}
TEST_CASE("a list of three numbers is a range with a step") {
  Tensor<int, Extents<4, 6>> x;
  for (int k = 0; k < 24; ++k) x.data()[k] = k;
  std::int64_t const n = 6;
  using Part = Tensor<int, Dextents<2>>;
  Part const rows(slice(x, {0, range::to_end, 3})), right(slice(x, {1, -1}, {1, n, 2})),
      left(slice(x, {-3, 4, 2}, all_of)), both(slice(x, {0, 4, 3}, {1, n, 4}));
  CHECK((rows.extent(0) == 2 && rows.extent(1) == 6 && rows(1, 5) == 23));
  CHECK((right.extent(0) == 2 && right.extent(1) == 3 && right(1, 2) == 17));
  CHECK((left.extent(0) == 2 && left.extent(1) == 6 && left(1, 0) == 18));
  CHECK((both.extent(0) == 2 && both.extent(1) == 2 && both(1, 1) == 23));
}
TEST_CASE("errors of steps; gradients") {
  Tensor<double, Dextents<1>> v(7);
  for (int k = 0; k < 7; ++k) v(k) = 1.0 + k;
  using Row = Tensor<double, Dextents<1>>;
  CHECK_THROWS_WITH_AS(
      Row(slice(v, strided{0, 7, 0})),
      "locus: 'slice' (step 1) of extents [7] takes the range from 0 to 7 by steps "
      "of 0 of axis 0; a step is at least 1: flip<0>(x) turns an axis around",
      shape_error);
  CHECK_THROWS_AS(Row(slice(v, strided{0, 8, 2})), shape_error);
  CHECK_THROWS_AS(run(into(slice(v, strided{0, 7, -1}), v)), shape_error);
  Row const g(grad(sum(square(slice(v, strided{1, range::to_end, 2}))), v));
  for (int k = 0; k < 7; ++k) CHECK(g(k) == (k % 2 ? 2 * v(k) : 0));
}
TEST_SUITE_END();

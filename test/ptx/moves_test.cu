// SPDX-License-Identifier: Apache-2.0
// What kernels that move numbers ask of memory, for numbers of every width: whole sectors, vectors, no
// bank of shared memory twice at once.
#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <locus/nn/layers/embedding_ops.hpp>

#include "count.hpp"

using namespace locus;

namespace {
using Gpu = GpuDevice<0>;
template <class T, int Rank>
using On = Tensor<T, Dextents<Rank>, Gpu>;
template <class T, int Rank>
using Host = Tensor<T, Dextents<Rank>, CpuDevice>;
using ptx_counts::figure;
using ptx_counts::measure;

/// the number of each place, as T
template <class T>
Host<T, 2> numbered(std::int64_t rows, std::int64_t columns) {
  Host<T, 2> m{Dextents<2>(rows, columns)};
  for (std::int64_t i = 0; i < m.size(); ++i) m.data()[i] = static_cast<T>(float(i % 97));
  return m;
}
/// each number is f(row, column)
template <class T, class F>
bool has_numbers(On<T, 2> const& there, F const& f) {
  Host<T, 2> const m = to<CpuDevice>(there);
  for (std::int64_t r = 0; r < m.extent(0); ++r)
    for (std::int64_t c = 0; c < m.extent(1); ++c)
      if (!(m(r, c) == f(r, c))) return false;
  return true;
}
}  // namespace

TEST_CASE_TEMPLATE("a transpose moves whole sectors both ways", T, float, half, double,
                   std::int8_t) {
  std::int64_t const side = 256;
  auto const numbers = numbered<T>(side, side);
  On<T, 2> const m = to<Gpu>(numbers);
  On<T, 2> turned{Dextents<2>(side, side)};
  std::string const label = "transpose of " + std::to_string(sizeof(T)) + " bytes";
  auto const count = [&](char const* name) { return figure(label.c_str(), name); };
  measure(label.c_str(), [&] { turned = transpose(m); });
  CHECK(has_numbers(turned, [&](auto r, auto c) { return numbers(c, r); }));
  CHECK(count("launches") == 1);
  CHECK(count("load_ratio") == 1);
  CHECK(count("store_ratio") == 1);
  CHECK(count("shared_wavefronts") == count("shared_ideal"));
  CHECK(count("bytes_in_flight") >= 15);
}
TEST_CASE("a transpose of odd extents is right, and loses little") {
  auto const numbers = numbered<float>(131, 205);
  On<float, 2> const m = to<Gpu>(numbers);
  On<float, 2> turned{Dextents<2>(205, 131)};
  measure("transpose", [&] { turned = transpose(m); });
  CHECK(has_numbers(turned, [&](auto r, auto c) { return numbers(c, r); }));
  CHECK(figure("transpose", "load_misses") < 1.4 * figure("transpose", "load_unique"));
  CHECK(figure("transpose", "store_ratio") < 1.6);
}
TEST_CASE("a transposed operand, a row, columns of a matrix") {
  std::int64_t const side = 256;
  auto const numbers = numbered<float>(side, side);
  On<float, 2> const m = to<Gpu>(numbers);
  On<float, 2> sums{Dextents<2>(side, side)};
  measure("transposed operand", [&] { sums = m + transpose(m); });
  CHECK(has_numbers(sums, [&](auto r, auto c) { return numbers(r, c) + numbers(c, r); }));
  CHECK(figure("transposed operand", "load_ratio") == 1);
  CHECK(figure("transposed operand", "store_ratio") == 1);
  CHECK(figure("transposed operand", "shared_wavefronts") ==
        figure("transposed operand", "shared_ideal"));
  On<float, 1> row{Dextents<1>(side)};
  row = uniform<float>(Dextents<1>(side), seed(3));
  Host<float, 1> const row_here = to<CpuDevice>(row);
  measure("row", [&] { sums = m + row; });  // asked for once for two rows
  CHECK(has_numbers(sums, [&](auto r, auto c) { return numbers(r, c) + row_here(c); }));
  CHECK(figure("row", "load_sectors") == side * side / 8 * 3 / 2);
  CHECK(figure("row", "load_16") == figure("row", "load_requests"));
  auto const halves = numbered<half>(side, side);
  On<half, 2> const h = to<Gpu>(halves);
  On<half, 2> part{Dextents<2>(side, 64)};
  measure("columns", [&] { run(into(part, slice(h, all_of, {8, 72}))); });
  CHECK(has_numbers(part, [&](auto r, auto c) { return halves(r, c + 8); }));
  CHECK(figure("columns", "load_16") == side * 64 / 8 / 32);
  CHECK(figure("columns", "store_16") == side * 64 / 8 / 32);
}
TEST_CASE("rows of an embedding are vectors") {
  std::int64_t const width = 64, rows = 32, length = 8;
  Host<std::int32_t, 2> tokens{Dextents<2>(rows, length)};
  for (std::int64_t i = 0; i < tokens.size(); ++i)
    tokens.data()[i] = static_cast<std::int32_t>(i * 37 % 100);
  Host<float, 1> table{Dextents<1>(100 * width)};
  for (std::int64_t i = 0; i < table.size(); ++i) table.data()[i] = float(i);
  auto const on_card = to<Gpu>(tokens);
  auto const table_there = to<Gpu>(table);
  On<float, 3> y{Dextents<3>(rows, length, width)};
  measure("gather", [&] { y = call(nn::embedding_op{width}, on_card, table_there); });
  auto const got = to<CpuDevice>(y);
  bool same = true;
  for (std::int64_t i = 0; i < y.size(); ++i)
    same = same && got.data()[i] == float(tokens.data()[i / width] * width + i % width);
  CHECK(same);
  CHECK(figure("gather", "load_16") == y.size() / 128);
  CHECK(figure("gather", "store_16") == y.size() / 128);
}

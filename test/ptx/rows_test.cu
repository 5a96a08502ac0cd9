// SPDX-License-Identifier: Apache-2.0
// Folds of rows and columns, and chains over rows, as device code: every short length, lengths around whole vectors,
// warps and blocks, the numbers beside those of doubles; a row that fits its team is read once.
#include <worst_of.hpp>

#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "count.hpp"

using namespace locus;

namespace {

using Gpu = GpuDevice<0>;
template <class T, int Rank, class Where = Gpu>
using Array = Tensor<T, Dextents<Rank>, Where>;

struct sizes {
  std::int64_t rows, columns;
};
std::vector<sizes> all_sizes() {
  std::vector<sizes> all;
  for (std::int64_t n = 1; n <= 33; ++n) all.push_back({37, n});
  for (std::int64_t n : {63, 64, 65, 127, 255}) all.push_back({19, n});
  for (std::int64_t n : {999, 1000, 1024}) all.push_back({5, n});
  for (std::int64_t n : {4096, 4097, 10001}) all.push_back({2, n});
  for (std::int64_t n : {8, 64, 130, 600, 1000}) all.push_back({513, n});  // rows are many
  all.push_back({3000, 24});
  return all;
}
template <class T>
Array<T, 2, CpuDevice> drawn(sizes s) {
  Array<T, 2, CpuDevice> x(dextents<2>(s.rows, s.columns));
  std::mt19937 random(static_cast<unsigned>(s.rows * 100003 + s.columns));
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = T(float(int(random() % 4001) - 2000) / 512.f);
  return x;
}
template <class T>
double at(Array<T, 2, CpuDevice> const& x, std::int64_t i, std::int64_t j) {
  return double(x(i, j));
}
/// half a unit in the last place of T, with some room
template <class T>
constexpr double rounding = std::is_same_v<T, double>  ? 3e-16
                            : std::is_same_v<T, float> ? 2e-7
                            : std::is_same_v<T, half>  ? 1e-3
                                                       : 8e-3;

/// means: f(i, j) over a line, and the sum of its absolute values
template <class F>
void check_sum(double is, std::int64_t n, double unit, F&& f) {
  long double sum = 0, size = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += f(j), size += std::fabs(f(j));
  CHECK(std::fabs(double(is - sum)) <= unit * (double(size) + 1e-30));
}

}  // namespace

TEST_CASE_TEMPLATE("sums, the largest, softmax: rows and columns of every length", T, float, double,
                   half, bfloat16) {
  for (sizes const s : all_sizes()) {
    CAPTURE(s.rows);
    CAPTURE(s.columns);
    auto const host = drawn<T>(s);
    Array<T, 2> const m = to<Gpu>(host);
    auto const rows = fetch(sum<1>(m)), columns = fetch(sum<0>(m));
    auto const most = fetch(max<1>(m));
    Array<T, 2> soft{m.extents()};
    soft = softmax(m);
    auto const probability = fetch(soft);
    for (std::int64_t i = 0; i < s.rows; ++i) {
      check_sum(double(rows(i)), s.columns, 2 * rounding<T>,
                [&](std::int64_t j) { return at<T>(host, i, j); });
      double largest = -1e30;
      for (std::int64_t j = 0; j < s.columns; ++j) largest = std::max(largest, at<T>(host, i, j));
      CHECK(double(most(i)) == largest);
      long double total = 0;
      for (std::int64_t j = 0; j < s.columns; ++j)
        total += std::exp((long double)(at<T>(host, i, j) - largest));
      double worst = 0;
      for (std::int64_t j = 0; j < s.columns; ++j) {
        double const want = double(std::exp((long double)(at<T>(host, i, j) - largest)) / total);
        worst = worst_of(worst, std::fabs(double(probability(i, j)) - want) / (want + 1e-4));
      }
      CHECK(worst <= 10 * rounding<T>);
    }
    for (std::int64_t j = 0; j < s.columns; ++j)
      check_sum(double(columns(j)), s.rows, 2 * rounding<T>,
                [&](std::int64_t i) { return at<T>(host, i, j); });
  }
}

TEST_CASE("several folds, numbers of the largest, rows made even, NaN") {
  for (sizes const s : all_sizes()) {
    CAPTURE(s.rows);
    CAPTURE(s.columns);
    auto host = drawn<float>(s);
    std::int64_t const bad = s.rows / 2;
    Array<float, 2> const m = to<Gpu>(host);
    Array<float, 1> sums{dextents<1>(s.rows)}, means{dextents<1>(s.rows)},
        largest{dextents<1>(s.rows)};
    let(m, [&](auto v) {
      run(plan(into(sums, sum<1>(v)), into(means, mean<1>(v * v)), into(largest, max<1>(v))));
    });
    auto const a = fetch(sums), b = fetch(means), c = fetch(largest);
    auto const where = fetch(argmax<1>(m));
    Array<float, 2> even{m.extents()};
    let(m - mean<1>(m, keep_dims),
        [&](auto d) { run(plan(into(even, d / sqrt(mean<1>(d * d, keep_dims) + 1e-3f)))); });
    auto const evened = fetch(even);
    for (std::int64_t i = 0; i < s.rows; ++i) {
      check_sum(double(a(i)), s.columns, 4e-7, [&](std::int64_t j) { return double(host(i, j)); });
      check_sum(double(b(i)) * double(s.columns), s.columns, 4e-7,
                [&](std::int64_t j) { return double(host(i, j)) * double(host(i, j)); });
      std::int64_t best = 0;
      double mean = 0, square = 0;
      for (std::int64_t j = 0; j < s.columns; ++j) {
        if (host(i, j) > host(i, best)) best = j;
        mean += double(host(i, j)) / double(s.columns);
      }
      for (std::int64_t j = 0; j < s.columns; ++j)
        square += (double(host(i, j)) - mean) * (double(host(i, j)) - mean) / double(s.columns);
      CHECK(where(i) == best);
      CHECK(c(i) == host(i, best));
      double worst = 0;
      for (std::int64_t j = 0; j < s.columns; ++j)
        worst = worst_of(worst, std::fabs(double(evened(i, j)) -
                                          (double(host(i, j)) - mean) / std::sqrt(square + 1e-3)));
      CHECK(worst <= 4e-6);
    }
    host(bad, s.columns - 1) = NAN;
    Array<float, 2> const with = to<Gpu>(host);
    auto const sum_with = fetch(sum<1>(with)), max_with = fetch(max<1>(with));
    Array<float, 2> soft{m.extents()};
    soft = softmax(with);
    auto const probability = fetch(soft);
    bool as_wanted = fetch(argmax<1>(with))(bad) == s.columns - 1;
    for (std::int64_t i = 0; i < s.rows; ++i) {
      as_wanted = as_wanted && std::isnan(sum_with(i)) == (i == bad) &&
                  std::isnan(max_with(i)) == (i == bad);
      for (std::int64_t j = 0; j < s.columns; ++j)
        as_wanted = as_wanted && std::isnan(probability(i, j)) == (i == bad);
    }
    CHECK(as_wanted);
  }
}

TEST_CASE("a row that fits its team is read once, a longer one less often than it is folded") {
  struct row_case {
    std::int64_t rows, columns;
    double reads, least_reads;
  };
  for (row_case const c :
       {row_case{600, 1000, 1, 1}, row_case{600, 64, 1, 1}, row_case{520, 4096, 1, 1},
        row_case{3, 8192, 1, 1}, row_case{2, 10000, 2.12, 1.5}, row_case{2, 16384, 2.01, 1.5}}) {
    CAPTURE(c.columns);
    Array<float, 2> m{dextents<2>(c.rows, c.columns)}, to{dextents<2>(c.rows, c.columns)};
    m = full<float>(m.extents(), 1.f);
    Array<float, 1> sums{dextents<1>(c.rows)};
    double const sectors = double(c.rows * c.columns) / 8;
    std::string const label = "softmax " + std::to_string(c.columns);
    ptx_counts::measure(label.c_str(), [&] { to = softmax(m); });
    CHECK(ptx_counts::figure(label.c_str(), "launches") == 1);
    CHECK(ptx_counts::figure(label.c_str(), "load_sectors") <=
          c.reads * sectors * (c.reads > 1 ? 1 : 1.25));
    CHECK(ptx_counts::figure(label.c_str(), "load_sectors") >= c.least_reads * sectors);
    CHECK(ptx_counts::figure(label.c_str(), "store_sectors") == sectors);
    std::string const of_sums = "sums " + std::to_string(c.columns);
    ptx_counts::measure(of_sums.c_str(), [&] { sums = sum<1>(m); });
    CHECK(ptx_counts::figure(of_sums.c_str(), "load_misses") <= sectors + 4);  // and parts
    CHECK(ptx_counts::figure(of_sums.c_str(), "bytes_in_flight") >= 32);
  }
}

TEST_CASE("halves have as many bytes under way as floats") {
  Array<half, 2> m{dextents<2>(600, 1024)};
  m = full<half>(m.extents(), half(1));
  Array<half, 1> sums{dextents<1>(600)};
  ptx_counts::measure("sums of halves", [&] { sums = sum<1>(m); });
  CHECK(ptx_counts::figure("sums of halves", "bytes_in_flight") >= 60);
}

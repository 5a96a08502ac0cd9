// SPDX-License-Identifier: Apache-2.0
// Host folds beside plain loops: element types, axes and tails; the same bits for any number of
// threads; NaN.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <oracle.hpp>

#include <locus/locus.hpp>

using namespace locus;

namespace {

template <class T>
void fold_all_ways(std::int64_t rows, std::int64_t columns) {
  CAPTURE(rows);
  CAPTURE(columns);
  using Each = Dextents<1>;
  Tensor<T, Dextents<2>, CpuDevice> x(Dextents<2>{rows, columns});
  Tensor<T, Each, CpuDevice> most(Each{columns}), least(Each{rows});
  Tensor<sum_t<T>, Each, CpuDevice> by_columns(Each{columns}), by_rows(Each{rows});
  Tensor<std::int64_t, Each, CpuDevice> first(Each{rows}), first_row(Each{columns});
  oracle::random draw(static_cast<unsigned>(rows * 100 + columns));
  for (std::int64_t k = 0; k < rows * columns; ++k) x.data()[k] = draw.value<T>(-100, 100);
  by_columns = sum<0>(x), by_rows = sum<1>(x), most = max<0>(x), least = min<1>(x);
  first = argmax<1>(x), first_row = argmax<0>(x);
  int wrong = 0;
  auto const line = [&](std::int64_t begin, std::int64_t step, std::int64_t n, sum_t<T> got,
                        std::int64_t at, T extreme, bool largest) {
    long double sum = 0, all = 0;
    std::int64_t best = 0;
    T edge = x.data()[begin];
    for (std::int64_t j = 0; j < n; ++j) {
      T const v = x.data()[begin + j * step];
      sum += static_cast<long double>(v), all += std::fabs(static_cast<long double>(v));
      if (v > x.data()[begin + best * step]) best = j;
      if (largest ? v > edge : v < edge) edge = v;
    }
    wrong += std::fabs(static_cast<long double>(got) - sum) > 2e-7L * all;
    wrong += at != best;
    wrong += extreme != edge;
  };
  for (std::int64_t i = 0; i < rows; ++i)
    line(i * columns, 1, columns, by_rows.data()[i], first.data()[i], least.data()[i], false);
  for (std::int64_t j = 0; j < columns; ++j)
    line(j, columns, rows, by_columns.data()[j], first_row.data()[j], most.data()[j], true);
  CHECK(wrong == 0);
}

struct threads {
  explicit threads(int n) { runtime::thread_limit = n; }
  ~threads() { runtime::thread_limit = 0; }
};

}  // namespace

TEST_CASE("folds of rows, of columns and their places: blocks, tails, one element") {
  constexpr std::int64_t sizes[][2] = {{1, 1},      {1, 17},     {3, 5},     {7, 64},   {70, 131},
                                       {129, 1025}, {300, 2050}, {1, 70001}, {2500, 3}, {5000, 40}};
  for (auto const& s : sizes) {
    fold_all_ways<float>(s[0], s[1]);
    fold_all_ways<double>(s[0], s[1]);
    fold_all_ways<std::int32_t>(s[0], s[1]);
  }
}

TEST_CASE("a sum has the same bits for any number of threads; the first NaN is the largest") {
  constexpr std::int64_t n = 300'000;
  Tensor<float, Dextents<1>, CpuDevice> x(Dextents<1>{n});
  Tensor<float, Extents<>, CpuDevice> one, several, most;
  Tensor<std::int64_t, Extents<>, CpuDevice> at;
  oracle::random draw(9);
  for (std::int64_t k = 0; k < n; ++k) x.data()[k] = draw.value<float>(-1, 1);
  {
    threads const alone(1);
    one = sum(square(x) - x);
  }
  for (int count : {2, 3, 7}) {
    threads const some(count);
    several = sum(square(x) - x);
    CHECK(*several.data() == *one.data());
  }
  x.data()[200'000] = x.data()[250'000] = std::numeric_limits<float>::quiet_NaN();
  at = argmax(x), most = max(x);
  CHECK(*at.data() == 200'000);
  CHECK(std::isnan(*most.data()));
}

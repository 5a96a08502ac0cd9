// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices on the host beside loops in long double: shapes, types, threads,
// constants of plans, operands that do not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

#include <locus/config/settings.hpp>
#include <message_of.hpp>

#include "sparse_products.hpp"

namespace products_test {

using namespace locus;
using namespace sparse_lists;

TEST_CASE("products of every shape are the loops, with both derivatives") {
  for (auto const& size : all_sizes)
    for (kind const how : all_kinds) {
      check_products<CpuDevice, double, std::int32_t>(size[0], size[1], how);
      check_products<CpuDevice, float, std::int64_t>(size[0], size[1], how);
    }
}

TEST_CASE("no bit depends on the number of threads") {
  auto const a = sparse::from_triplets(dextents<2>(30000, 500),
                                       random_list<double>(30000, 500, kind::one_dense_row, 14));
  auto const x = random<double, 1>(Dextents<1>(500), 15);
  auto const y = random<double, 2>(Dextents<2>(500, 11), 16);
  auto const name = named<"y">(y);
  auto const all = [&] {
    return std::vector<plain>{values_of(eval(matmul(a, x))), values_of(eval(matmul(a, y))),
                              values_of(grad(sum(square(matmul(a, name))), name)),
                              values_of(eval(sum<1>(to_dense(a))))};
  };
  config::set_intra_op_parallelism_threads(1);
  auto const one = all();
  for (int const threads : {2, 3, 7}) {
    config::set_intra_op_parallelism_threads(threads);
    CHECK(all() == one);
  }
  config::set_intra_op_parallelism_threads(0);
}

TEST_CASE("rows go to threads in ranges of like weight, each row once") {
  std::int64_t const rows = 100000, middle = rows / 2, dense = 60000;
  std::vector<std::int32_t> offsets{0};
  for (std::int64_t i = 0; i < rows; ++i)  // a third without entries, one with most
    offsets.push_back(offsets.back() + std::int32_t(i == middle ? dense : i % 3 * 4));
  config::set_intra_op_parallelism_threads(4);
  for (int turn = 0; turn < 3; ++turn) {  // the first may find all threads asleep
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::mutex one;
    sparse::host::for_rows(rows, offsets.data(), 5.f, [&](std::int64_t first, std::int64_t last) {
      std::lock_guard const hold(one);
      ranges.emplace_back(first, last);
    });
    std::sort(ranges.begin(), ranges.end());
    std::int64_t next = 0, heaviest = 0;
    for (auto const& [first, last] : ranges) {
      CHECK(first == next);
      next = last;
      bool const has_dense = first <= middle && middle < last;
      heaviest = std::max(heaviest, offsets[std::size_t(last)] - offsets[std::size_t(first)] +
                                        2 * (last - first) - (has_dense ? dense : 0));
    }
    CHECK(next == rows);
    if (ranges.size() > 1)
      CHECK(heaviest <= (offsets.back() + 2 * rows) / std::int64_t(ranges.size()) + 16);
  }
  config::set_intra_op_parallelism_threads(0);
}

TEST_CASE("plans of products are constants, and their steps have the bits of reproducible plans") {
  auto const a = sparse::from_triplets<double>(Extents<2, 3>{}, {{0, 1, 3.}, {1, 2, 2.}});
  Tensor<double, Extents<3>> const x{1, 2, 3};
  Tensor<double, Extents<3, 4>> y;
  y = 1.;
  using Vector = decltype(matmul(a, x));
  using Matrix = decltype(matmul(a, y));
  static_assert(plan_of<Vector>.launches() == 1);
  using There = sparse::csr<double, Dextents<2>, GpuDevice<0>>;
  using Far = Tensor<double, Dextents<1>, GpuDevice<0>>;
  using On = decltype(matmul(std::declval<There&>(), std::declval<Far&>()));
  static_assert(plan_of<On>.launches() == 1 && plan_of<On>.copies() == 0);
  static_assert(plan_of<decltype(on<CpuDevice>(matmul(a, x)))>.copies() == 0);
  static_assert(std::is_same_v<decltype(eval(matmul(a, x)))::extents_type, Extents<2>>);
  static_assert(std::is_same_v<decltype(eval(matmul(a, y)))::extents_type, Extents<2, 4>>);
  static_assert(plan_of<Matrix>.launches() == 1);
  CHECK(values_of(eval<reproducible<>>(matmul(a, x))) == plain{6, 6});
  auto const b = sparse::from_triplets<double>(dextents<2>(2, 3), {{0, 1, 3.}, {1, 2, 2.}});
  Tensor<double, Dextents<1>> const open{1, 2, 3};
  using Open = decltype(matmul(b, open));
  static_assert(plan_of<Open>.launches() == 1);
  CHECK(values_of(eval(matmul(b, open) + 1.)) == plain{7, 7});
  // operands that are expressions, have gaps, or are made in the statement
  CHECK(values_of(eval(matmul(b, 2. * open))) == plain{12, 12});
  CHECK(values_of(eval(matmul(transpose(b), slice(eval(matmul(b, open)), {0, 2})))) ==
        plain{0, 18, 12});
  Tensor<double, Dextents<2>> const wide{{1, 2, 3}, {4, 5, 6}};
  CHECK(values_of(eval(matmul(b, transpose(wide)))) == plain{6, 15, 6, 12});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Tensor<double, Dextents<1>> const bad{nan, 2, 3};
  CHECK(values_of(eval(matmul(b, bad))) == plain{6, 6});  // no entry reads it
}

TEST_CASE("operands that do not fit are named when they are bound") {
  auto const a = sparse::from_triplets<double>(dextents<2>(2, 3), {{0, 1, 3.}});
  Tensor<double, Dextents<1>> const x(Dextents<1>(2));
  CHECK(message_of<shape_error>([&] {
          (void)eval(matmul(a, x));
        }).find("locus: the shapes of the operands of 'sparse.matmul' (step 4) do not fit") == 0);
  Tensor<double, Dextents<1>> const v(Dextents<1>(5)), y(Dextents<1>(3));
  CHECK(message_of<shape_error>([&] {
          (void)eval(matmul(with_values(a, v), y));
        }).find("locus: the shapes of the operands of 'sparse.matmul' (step 4) do not fit") == 0);
}

}  // namespace products_test

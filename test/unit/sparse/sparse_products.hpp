// SPDX-License-Identifier: Apache-2.0
// All products of one sparse matrix, and their derivatives, beside loops in long double.
#pragma once
#include <doctest/doctest.h>

#include <locus/grad/grad.hpp>

#include "random_sparse.hpp"

namespace sparse_lists {

/// all products of one matrix and their derivatives; the matrix lies on Where
template <class Where, class T, class Index>
void check_products(std::int64_t m, std::int64_t n, kind how) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(int(how));
  auto const list = random_list<T>(m, n, how, 5);
  auto const want = dense_of(m, n, list);
  auto const there = sparse::from_triplets<Index>(dextents<2>(m, n), list);
  auto const a = to<Where>(there);
  long double const far = 4 * bound<T>(6 * m + n);
  auto const x = random<T, 1>(Dextents<1>(n), 6), g = random<T, 1>(Dextents<1>(m), 7);
  Tensor<T, Dextents<1>, Where> const x_there(x), g_there(g);
  CHECK(distance(values_of(eval(matmul(a, x_there))), product(want, values_of(x), m, n, 1)) <= far);
  auto const name = named<"x">(x_there);
  CHECK(distance(values_of(grad(sum(g_there * matmul(a, name)), name)),
                 product(want, values_of(g), m, n, 1, true)) <= far);
  for (std::int64_t const wide : {0, 1, 3, 8, 37}) {
    CAPTURE(wide);
    auto const y = random<T, 2>(Dextents<2>(n, wide), 8), h = random<T, 2>(Dextents<2>(m, wide), 9);
    Tensor<T, Dextents<2>, Where> const y_there(y), h_there(h);
    CHECK(distance(values_of(eval(matmul(a, y_there))), product(want, values_of(y), m, n, wide)) <=
          far);
    auto const of = named<"y">(y_there);
    auto const v = named<"v">(a.values());
    auto const loss = sum(h_there * matmul(with_values(a, v), of));
    CHECK(distance(values_of(grad(loss, of)), product(want, values_of(h), m, n, wide, true)) <=
          far);
    plain entries;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t e = there.offsets()[i]; e < there.offsets()[i + 1]; ++e) {
        long double sum = 0;
        for (std::int64_t c = 0; c < wide; ++c)
          sum += static_cast<long double>(h(i, c)) *
                 static_cast<long double>(y(std::int64_t(there.columns()[e]), c));
        entries.push_back(sum);
      }
    CHECK(distance(values_of(grad(loss, v)), entries) <= 4 * bound<T>(wide));
  }
  CHECK(distance(values_of(eval(to_dense(a))), want) <= far);
}

}  // namespace sparse_lists

// SPDX-License-Identifier: Apache-2.0
// Derivatives of derivatives of sparse products, and of the dense matrix, beside differences.
#include <doctest/doctest.h>

#include <locus/grad/grad.hpp>

#include "random_sparse.hpp"

namespace derivatives_test {

using namespace locus;
using namespace sparse_lists;

TEST_CASE("derivatives of derivatives, and of the dense matrix") {
  auto const a = sparse::from_triplets(dextents<2>(4, 3), random_list<double>(4, 3, kind::few, 17));
  auto x = random<double, 1>(Dextents<1>(3), 18);
  auto v = random<double, 1>(Dextents<1>(a.entries()), 19);
  auto const nx = named<"x">(x);
  auto const nv = named<"v">(v);
  auto const check = [](auto const& loss, auto& at, auto const& name) {
    auto const found = values_of(grad(loss, name));
    for (std::int64_t i = 0; i < at.size(); ++i) {
      double const was = at.data()[i], h = 1e-5;
      at.data()[i] = was + h;
      double const above = fetch(loss);
      at.data()[i] = was - h;
      double const want = (above - fetch(loss)) / (2 * h);
      at.data()[i] = was;
      CHECK(std::abs(double(found[std::size_t(i)]) - want) <= 1e-6 * (1 + std::abs(want)));
    }
  };
  auto const y = matmul(with_values(a, nv), nx);
  auto const loss = sum(y * y * y);
  check(loss, x, nx);
  check(loss, v, nv);
  check(sum(square(grad(loss, nx))), x, nx);
  check(sum(square(grad(loss, nx))), v, nv);
  check(sum(square(grad(loss, nv))), x, nx);
  auto const dense = sum(square(to_dense(with_values(a, nv))) * 2.);
  check(dense, v, nv);
  check(sum(square(grad(dense, nv))), v, nv);
}

}  // namespace derivatives_test

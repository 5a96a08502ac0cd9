// SPDX-License-Identifier: Apache-2.0
// Random arrays of rows, and plain loops over them in double.
#pragma once
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <oracle.hpp>
#include <replicas.hpp>

namespace rows {

using namespace locus;

template <class T, class E>
Tensor<T, E> random(E const& extents, std::uint64_t seed, double low = -9, double high = 9) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = r.value<T>(low, high);
  return x;
}
template <class T>
std::vector<double> values_in(T const& x) {
  auto const host = to<CpuDevice>(x);
  std::vector<double> v;
  for (std::int64_t i = 0; i < host.size(); ++i) v.push_back(static_cast<double>(host.data()[i]));
  return v;
}

/// check(t) for x mirrored over R GPUs, and in pieces along each of its three axes
template <int R, class T, class Check>
void in_each_way(Tensor<T, Dextents<3>> const& x, Check const& check) {
  check(Tensor<T, Dextents<3>, replicas::mirrored<R>>(x));
  check(Tensor<T, Dextents<3>, replicas::cut<R, 0>>(x));
  check(Tensor<T, Dextents<3>, replicas::cut<R, 1>>(x));
  check(Tensor<T, Dextents<3>, replicas::cut<R, 2>>(x));
}

/// the extents of x around axes first ... first + count - 1
struct around {
  std::int64_t outer = 1, n = 1, inner = 1;
  around(shape const& s, int first, int count) {
    for (int a = 0; a < s.rank; ++a)
      (a < first ? outer : a < first + count ? n : inner) *= s.extent[a];
  }
};
template <class X, class I>
std::vector<double> taken(X const& x, int axis, I const& i) {
  around const of(x.extents().as_shape(), axis, 1);
  std::vector<double> const from = values_in(x), at = values_in(i);
  std::vector<double> r;
  for (std::int64_t o = 0; o < of.outer; ++o)
    for (double const k : at)
      for (std::int64_t c = 0; c < of.inner; ++c)
        r.push_back(from[std::size_t((o * of.n + std::int64_t(k)) * of.inner + c)]);
  return r;
}
/// fold(a, b), from `first`
template <class X, class I, class Fold>
std::vector<double> folded(X const& x, int axis, int id_rank, I const& ids, std::int64_t segments,
                           double first, Fold const& fold) {
  around const of(x.extents().as_shape(), axis, id_rank);
  std::vector<double> const from = values_in(x), at = values_in(ids);
  std::vector<double> r(std::size_t(of.outer * segments * of.inner), first);
  for (std::int64_t o = 0; o < of.outer; ++o)
    for (std::int64_t j = 0; j < of.n; ++j)
      for (std::int64_t c = 0; c < of.inner; ++c) {
        double& to =
            r[std::size_t((o * segments + std::int64_t(at[std::size_t(j)])) * of.inner + c)];
        to = fold(to, from[std::size_t((o * of.n + j) * of.inner + c)]);
      }
  return r;
}

/// means: the gradient of the loss by x, which the loss reads as `name`, is its central differences
template <class Loss, class X, class Name>
void check_gradient(Loss const& loss, X& x, Name const& name) {
  auto const found = values_in(grad(loss, name));
  REQUIRE(found.size() == std::size_t(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double& at = x.data()[i];
    double const was = at, h = 1e-5;
    at = was + h;
    double const above = fetch(loss);
    at = was - h;
    double const want = (above - fetch(loss)) / (2 * h);
    at = was;
    INFO("element ", i);
    CHECK(std::abs(found[std::size_t(i)] - want) <= 1e-6 * (1 + std::abs(want)));
  }
}

}  // namespace rows

// SPDX-License-Identifier: Apache-2.0
// Thrust on the host, its OpenMP back end.
#include <thrust/device_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/transform.h>
#ifndef INCLUDE_ONLY
#include <cmath>

#include "expressions.hpp"
#define STATEMENT(e)                                                               \
  thrust::transform(first, last, y.begin(), [=](auto const& abc) {                 \
    [[maybe_unused]] float const a = thrust::get<0>(abc), b = thrust::get<1>(abc), \
                                 c = thrust::get<2>(abc);                          \
    return float(e);                                                               \
  });
#define TIMES(x, y) x* y
#define MOST(x, y) (x < y ? y : x)
#define LEAST(x, y) (y < x ? y : x)
using std::abs, std::exp, std::log, std::sqrt, std::tanh;
using vector = thrust::device_vector<float>;
void twenty(vector& y, vector const& u, vector const& v, vector const& w, float s) {
  auto const first = thrust::make_zip_iterator(thrust::make_tuple(u.begin(), v.begin(), w.begin()));
  auto const last = thrust::make_zip_iterator(thrust::make_tuple(u.end(), v.end(), w.end()));
  TWENTY_EXPRESSIONS
}
#endif

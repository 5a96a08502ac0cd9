// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences of the loss itself.
#pragma once
#include <cmath>
#include <doctest/doctest.h>

#include <locus/grad/grad.hpp>

#include "interpreter.hpp"

namespace differences {

using namespace locus;
using interpreter::value_of;

/// a tensor of random numbers, and the name by which a loss reads it
template <fixed_string Name, class E>
struct parameter {
  Tensor<double, E> value;
  parameter(oracle::random& r, E const& extents, double low = -1, double high = 1)
      : value(extents) {
    for (std::int64_t i = 0; i < value.size(); ++i) value.data()[i] = r.real(low, high);
  }
  auto operator*() const { return named<Name>(value); }
};

/// means: loss() is what the loss is now; found are its derivatives by the elements of x
template <class Loss>
void check_elements(Loss const& loss, double* elements, interpreter::array const& found,
                    shape const& extents) {
  REQUIRE(found.extents == extents);
  for (std::int64_t i = 0; i < found.size(); ++i) {
    double& x = elements[i];
    double const was = x, h = 1e-5;
    x = was + h;
    double const above = loss();
    x = was - h;
    double const below = loss(), want = (above - below) / (2 * h);
    x = was;
    INFO("element ", i, " of ", found.size(), ": ", found[i], " and not ", want);
    CHECK(std::abs(found[i] - want) <= 1e-6 * (1 + std::abs(want)));
  }
}

/// means: the gradients of the loss by all parameters are its central differences
template <class Loss, class... Parameters>
void check(Loss const& loss, Parameters&... w) {
  auto const all = value_and_grad(loss, *w...);
  auto const now = [&] { return value_of(loss)[0]; };
  CHECK(value_of(get<0>(all))[0] == now());
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (check_elements(now, w.value.data(), value_of(get<K + 1>(all)), w.value.extents().as_shape()),
     ...);
  }(std::index_sequence_for<Parameters...>{});
}

}  // namespace differences

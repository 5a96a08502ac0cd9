// SPDX-License-Identifier: Apache-2.0
// A functor for tests of failures in kernels.
#pragma once
#include <stdexcept>  // domain_error

#include <locus/ops/map.hpp>  // on_both

/// a kernel that throws for 1
struct throws_for_one {
  static constexpr auto name = "throws_for_one";
  static constexpr auto kernels = locus::on_both;
  template <class T>
  T operator()(T v) const {
    if (v == T(1)) throw std::domain_error("the kernel has 1");
    return v;
  }
};

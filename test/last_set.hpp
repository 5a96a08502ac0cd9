// SPDX-License-Identifier: Apache-2.0
// A functor whose scans and folds show the order of elements.
#pragma once
#include <locus/locus.hpp>

/// the second number, unless it is 0: associative, and not commutative
struct last_set {
  LOCUS_OPERATION("last_set", on_both)
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T a, T b) const {
    return b == T(0) ? a : b;
  }
};

// SPDX-License-Identifier: Apache-2.0
// The error for an assignment to an expression.
#pragma once
#include <locus/core/macros.hpp>  // always_false

namespace locus {

/// means: refuses assignments: `slice(x, r) = e` would change a temporary object, and not x
template <class Op>
struct unassignable {
  template <class X>
  static constexpr void refuse() {
    static_assert(
        always_false<X>,
        "locus: an expression is computed, not written, so that nothing is assigned here; "
        "write run(into(slice(x, ...), e)), or x = e for a whole tensor");
  }
  unassignable() = default;
  unassignable(unassignable const&) = default;
  constexpr unassignable& operator=(unassignable const&) {
    refuse<Op>();
    return *this;
  }
};

}  // namespace locus

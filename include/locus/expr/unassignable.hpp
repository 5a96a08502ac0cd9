// SPDX-License-Identifier: Apache-2.0
// The operators that assign, and the errors for an assignment to an expression.
#pragma once
#include <locus/core/macros.hpp>  // always_false

// The operators that assign; each(+) stands for +=.
#define LOCUS_ASSIGNING_OPERATORS(each) \
  each(+) each(-) each(*) each(/) each(%) each(&) each(|) each(^) each(<<) each(>>)

namespace locus {

/// means: refuses assignments to an expression that is no part of a tensor, or that has a name
template <class Op>
struct unassignable {
  template <class X>
  static constexpr void refuse() {
    static_assert(
        always_false<X>,
        "locus: an expression is computed, not written, so that nothing is assigned here; "
        "write slice(x, ...) = e for a part of a tensor, or x = e for a whole one");
  }
  unassignable() = default;
  unassignable(unassignable const&) = default;
  // Not of constants and temporaries: for these a class with this member has an operator of its own.
  constexpr unassignable& operator=(unassignable&) {
    static_assert(always_false<Op>,
                  "locus: an expression with a name is assigned to one of its type, and no element "
                  "would be written; write run(into(slice(x, ...), e))");
    return *this;
  }
};

}  // namespace locus

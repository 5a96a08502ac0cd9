// SPDX-License-Identifier: Apache-2.0
// Functions of complex numbers: real, imag, conj, arg, abs2, make_complex, polar.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/expr/lifetimes.hpp>        // LOCUS_OF_ONE, LOCUS_OF_TWO
#include <locus/ops/complex_functors.hpp>  // real_fn, ...
#include <locus/ops/elementwise.hpp>       // LOCUS_ELEMENTWISE_COMPLEX
#include <locus/ops/map.hpp>               // elementwise

namespace locus {
inline namespace LOCUS_MODE {

// means: r[i] = f(z[i]), or f(a[i], b[i]), for the rows of complex numbers in ops/elementwise.hpp
// shape: that of z, or NumPy broadcasting     cost: fused with its element-wise neighbours
// fails: at compile time, for real z, or where a and b are no floats
#define LOCUS_CALL_OF_one(function) LOCUS_OF_ONE(function, detail::elementwise, function##_fn{}, )
#define LOCUS_CALL_OF_two(function) LOCUS_OF_TWO(function, detail::elementwise, function##_fn{}, )
#define LOCUS_CALL_ROW(operands, name, ...) LOCUS_CALL_OF_##operands(name)
LOCUS_ELEMENTWISE_COMPLEX(LOCUS_CALL_ROW)
#undef LOCUS_CALL_ROW
#undef LOCUS_CALL_OF_one
#undef LOCUS_CALL_OF_two

}  // namespace LOCUS_MODE
}  // namespace locus

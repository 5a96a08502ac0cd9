// SPDX-License-Identifier: Apache-2.0
// The table of element-wise operations: one row holds all that locus knows of an operation. The
// headers in the last column expand the cells of their columns into code. A new operation is a new
// row and, where its scalar function is not one expression, that function.
// test/tools/check_operations.py names the tests and the place of the guide that a new row needs.
//
//     column      its cells                                                            expanded by
//     operands    one, two, three, any
//     name        NAME_fn is the functor; plans and texts of errors say 'NAME'         ops/operations.hpp
//     tensorflow  TensorFlow's name, for the log; "" where TensorFlow has none         ops/operations.hpp
//     law         how the operation commutes with a sum of terms                       ops/operations.hpp
//     elements    element types that both sides have a kernel for                      ops/operations.hpp
//     cost        for one element, in additions; from 16 on it is `heavy`              work/cost.hpp
//     end         the part of the operation after a matrix product                     ops/operations.hpp
//     call        how a program writes it                                              ops/math.hpp, ops/arithmetic.hpp
//       (named)             NAME(x)
//       (symbol, +)         an operator
//     scalar      the function of one element, on both sides   ops/functors.hpp, math_functors.hpp, special_functions.hpp
//       (wrapping, +)       an operator; integers wrap; a real number beside a complex one stays real
//       (comparison, <)     an operator that gives bool
//       (common, e)         e of a and b, which have their common type T
//       (of_numbers, e)     e of a, of type T
//       (of_floats, e)      the same, of float and double alone
//       (of_booleans, e)    e of bool a, or of a and b
//       (class_of, e)       e of r, the bits of |a|, and inf, those of infinity
//       (c_library, f, g)   f for float, g for double; the host has an instruction or a builtin
//       (by_vector, f, g)   on GPUs f for float and g for double; on the host simd::vector_NAME of
//       one element (own, f)            f(a), a function of ours, on both sides; on the host never inlined, so that its
//                           bits are the same in every kernel
//     vector      the function of a packet on the host                                 engine/host/packet_math.hpp, packet_forms.hpp
//       (by_vector)         simd::vector_NAME in registers
//       (value, e)          e of a, a packet<T, N>; of two: of a and b, which have their common type
//       (of_fields, e)      the same, of floats and complex numbers
//       (of_floats, e)      the same, of float and double alone
//       (compared, c)       simd::c(a, b)
//       (class_of, c)       simd::c(bits of |a|, those of infinity)
//       (of_integers, e)    the same, of integers alone
//       (on_bits, +)        an operator of integers, or of masks for bool
//       (by_lanes)          the scalar function for each lane, for operations without a vector form;
//                           without this cell the whole kernel would run element by element
//       (or_lanes, e)       e of a and b for float and double, the scalar function for each lane of integers
//     derivative  what the partial derivatives read; g times each                         grad/derivatives.hpp
//       (reading, r, e)     of one operand: e of g, y (the result) and x
//       (reading, r, e, s, f)   of two: by a and by b; e and f of g, y, a and b
//       (no_gradient)       grad() refuses the operation with a sentence
//
// (apart) in a column: the code of that column is written by hand in its header. clamp, where, fma
// and add_n have three operands or any number, so all their columns but the first are apart;
// identity has no call; divide refuses integers with its own sentence. cast has no row: cast_fn<To>
// is a family of functors, written by hand in operations.hpp and the other three headers. Folds,
// generators, one_hot and the steps of softmax are not element-wise: they have rows in
// operations.hpp alone.
#pragma once
#include <locus/core/compiler.hpp>  // C++20

// LOCUS_CELL(PREFIX_, name, LOCUS_BARE cell) of a cell (form, arguments...) is PREFIX_form(name,
// arguments...)
#define LOCUS_BARE(...) __VA_ARGS__
#define LOCUS_CELL(...) LOCUS_CELL_OF(__VA_ARGS__)
#define LOCUS_CELL_OF(prefix, name, form, ...) prefix##form(name __VA_OPT__(, ) __VA_ARGS__)

// clang-format off
// ROW(operands, name, tensorflow, law, elements, cost, end, call, scalar,
//     vector, derivative)
#define LOCUS_ELEMENTWISE_ARITHMETIC(ROW) \
  ROW(one,   identity,      "Identity",     linear,     any_element,    1,  none, (apart),      (of_numbers, a), \
      (apart), (reading, nothing, g)) \
  ROW(two,   add,           "AddV2",        add,        numbers,        1,  row,  (symbol, +),  (wrapping, +), \
      (value, simd::add(a, b)), (reading, nothing, g, nothing, g)) \
  ROW(two,   subtract,      "Sub",          add,        numbers,        1,  none, (symbol, -),  (wrapping, -), \
      (value, simd::subtract(a, b)), (reading, nothing, g, nothing, minus(g))) \
  ROW(two,   multiply,      "Mul",          scale,      numbers,        1,  none, (symbol, *),  (wrapping, *), \
      (value, simd::multiply(a, b)), (reading, second, times(g, b), first, times(g, a))) \
  /* / of integers is refused: three divisions are meant by it */ \
  ROW(two,   divide,        "RealDiv",      scale_left, field_elements, 8,  none, (apart),      (wrapping, /), \
      (of_fields, simd::divide(a, b)), (reading, second, over(g, b), itself | second, over(times(minus(g), y), b))) \
  /* the largest integer not above a / b, which is rounded first for floats; 0 where an integer b is 0     after: Python's // of integers, TensorFlow's FloorDiv of floats */ \
  ROW(two,   floor_div,     "FloorDiv",     none,       real_elements,  10, none, (named),      (apart), \
      (or_lanes, simd::by_registers<simd::vector_floor>(simd::divide(a, b))), (no_gradient)) \
  /* a / b, rounded first for floats, without its fraction; 0 where an integer b is 0     after: C's integer division */ \
  ROW(two,   trunc_div,     "TruncateDiv",  none,       real_elements,  10, none, (named),      (apart), \
      (or_lanes, simd::by_registers<simd::vector_trunc>(simd::divide(a, b))), (no_gradient)) \
  /* a / b in double for integers, in their own type for floats; 0 where an integer b is 0 */ \
  ROW(two,   true_div,      "RealDiv",      none,       numbers,        8,  none, (named),      (apart), \
      (of_fields, simd::divide(a, b)), (reading, second, over(g, b), itself | second, over(times(minus(g), y), b))) \
  /* a - b trunc(a / b) of the exact quotient; 0 where an integer b is 0; the operator % of integers     after: C's fmod and % */ \
  ROW(two,   fmod,          "TruncateMod",  none,       real_elements,  16, none, (named),      (apart), \
      (by_lanes), (reading, nothing, g, first | second, times(minus(g), trunc_div(a, b)))) \
  /* a - b floor(a / b) of the exact quotient: the sign is that of b; 0 where an integer b is 0     after: Python's % */ \
  ROW(two,   floor_mod,     "FloorMod",     none,       real_elements,  16, none, (named),      (apart), \
      (by_lanes), (reading, nothing, g, first | second, times(minus(g), floor_div(a, b)))) \
  /* |a| with the sign of b, also of -0; its derivative where a is 0 is 0 */ \
  ROW(two,   copysign,      "",             none,       floats,         1,  none, (named),      (apart), \
      (of_floats, simd::with_sign_of(a, b)), \
      (reading, itself | first, times(times(g, sign(a)), sign(y)), nothing, times(g, 0))) \
  ROW(one,   negate,        "Neg",          linear,     numbers,        1,  none, (symbol, -),  (apart), \
      (apart), (reading, nothing, minus(g))) \
  /* its derivative at 0 is 0 */ \
  ROW(one,   abs,           "Abs",          none,       numbers,        1,  none, (named),      (apart), \
      (apart), (reading, first, times(g, sign(x)))) \
  ROW(one,   square,        "Square",       none,       numbers,        1,  none, (named),      (of_numbers, multiply_fn{}(a, a)), \
      (value, simd::multiply(a, a)), (reading, first, times(times(g, 2), x))) \
  /* 1, -1, or a itself where it is 0 or NaN */ \
  ROW(one,   sign,          "Sign",         none,       real_elements,  1,  none, (named),      (of_numbers, a > T(0) ? T(1) : detail::is_below_zero(a) ? static_cast<T>(-1) : a), \
      (apart), (no_gradient)) \
  /* max(a, 0); NaN stays NaN; its derivative at 0 is 0 */ \
  ROW(one,   relu,          "Relu",         none,       real_elements,  1,  relu, (named),      (of_numbers, detail::is_below_zero(a) ? T(0) : a), \
      (value, simd::select(simd::less(a, packet<T, N>{}), packet<T, N>{}, a)), \
      (reading, itself, only_where(y > 0.0, g))) \
  /* the larger one; NaN if either is; the derivative of a tie is that of the first */ \
  ROW(two,   maximum,       "Maximum",      none,       real_elements,  1,  none, (named),      (common, a > b || a != a ? a : b), \
      (value, simd::larger(a, b)), \
      (reading, first | second, only_where(a >= b, g), first | second, except_where(a >= b, g))) \
  /* the smaller one; NaN if either is; the derivative of a tie is that of the first */ \
  ROW(two,   minimum,       "Minimum",      none,       real_elements,  1,  none, (named),      (common, a < b || a != a ? a : b), \
      (value, simd::smaller(a, b)), \
      (reading, first | second, only_where(a <= b, g), first | second, except_where(a <= b, g))) \
  ROW(two,   equal_to,      "Equal",        none,       named_elements, 1,  none, (symbol, ==), (comparison, ==), \
      (compared, equal), (no_gradient)) \
  ROW(two,   not_equal_to,  "NotEqual",     none,       named_elements, 1,  none, (symbol, !=), (comparison, !=), \
      (compared, not_equal), (no_gradient)) \
  ROW(two,   less,          "Less",         none,       real_elements,  1,  none, (symbol, <),  (comparison, <), \
      (compared, less), (no_gradient)) \
  ROW(two,   less_equal,    "LessEqual",    none,       real_elements,  1,  none, (symbol, <=), (comparison, <=), \
      (compared, less_equal), (no_gradient)) \
  ROW(two,   greater,       "Greater",      none,       real_elements,  1,  none, (symbol, >),  (comparison, >), \
      (compared, greater), (no_gradient)) \
  ROW(two,   greater_equal, "GreaterEqual", none,       real_elements,  1,  none, (symbol, >=), (comparison, >=), \
      (compared, greater_equal), (no_gradient)) \
  ROW(two,   logical_and,   "LogicalAnd",   none,       booleans,       1,  none, (symbol, &&), (of_booleans, a && b), \
      (apart), (no_gradient)) \
  ROW(two,   logical_or,    "LogicalOr",    none,       booleans,       1,  none, (symbol, ||), (of_booleans, a || b), \
      (apart), (no_gradient)) \
  ROW(one,   logical_not,   "LogicalNot",   none,       booleans,       1,  none, (symbol, !),  (of_booleans, !a), \
      (apart), (no_gradient)) \
  ROW(two,   bitwise_and,   "BitwiseAnd",   none,       integers | booleans, 1, none, (symbol, &), (wrapping, &), \
      (on_bits, &), (no_gradient)) \
  ROW(two,   bitwise_or,    "BitwiseOr",    none,       integers | booleans, 1, none, (symbol, |), (wrapping, |), \
      (on_bits, |), (no_gradient)) \
  ROW(two,   bitwise_xor,   "BitwiseXor",   none,       integers | booleans, 1, none, (symbol, ^), (wrapping, ^), \
      (on_bits, ^), (no_gradient)) \
  ROW(one,   bitwise_not,   "Invert",       none,       integers,       1,  none, (symbol, ~),  (of_numbers, static_cast<T>(~a)), \
      (value, {~a.v}), (no_gradient)) \
  /* a 2^b without what is too large; 0 where b is below 0 or not below the bits of an element */ \
  ROW(two,   shift_left,    "LeftShift",    none,       integers,       1,  none, (symbol, <<), (apart), \
      (of_integers, simd::shift_left(a, b)), (no_gradient)) \
  /* the largest integer not above a / 2^b; 0, or -1 of a negative a, where b is below 0 or not below the bits of an element */ \
  ROW(two,   shift_right,   "RightShift",   none,       integers,       1,  none, (symbol, >>), (apart), \
      (of_integers, simd::shift_right(a, b)), (no_gradient)) \
  /* min(max(x, low), high) */ \
  ROW(three, clamp,         "ClipByValue",  none,       real_elements,  1,  none, (apart),      (apart), \
      (apart), (apart)) \
  /* c ? a : b */ \
  ROW(three, where,         "SelectV2",     none,       named_elements, 1,  none, (apart),      (apart), \
      (apart), (apart)) \
  /* a b + c with one rounding */ \
  ROW(three, fma,           "",             none,       floats,         1,  none, (apart),      (apart), \
      (apart), (apart)) \
  /* a + b + c + ..., from the left */ \
  ROW(any,   add_n,         "AddN",         add,        numbers,        1,  none, (apart),      (apart), \
      (apart), (apart))

#define LOCUS_ELEMENTWISE_MATH(ROW) \
  /* its derivative at 0 is infinite */ \
  ROW(one,   sqrt,          "Sqrt",         none,       field_elements, 8,  none, (named),      (c_library, sqrtf, sqrt), \
      (of_floats, simd::square_root(a)), (reading, itself, over(times(g, 0.5), y))) \
  /* 1 / sqrt(a) */ \
  ROW(one,   rsqrt,         "Rsqrt",        none,       floats,         1,  none, (named),      (of_floats, T(1) / sqrt_fn{}(a)), \
      (of_floats, simd::divide(simd::broadcast<N>(T(1)), simd::square_root(a))), \
      (reading, itself, times(times(g, -0.5), y * square(y)))) \
  /* 1 / a */ \
  ROW(one,   reciprocal,    "Reciprocal",   none,       field_elements, 1,  none, (named),      (of_floats, T(1) / a), \
      (of_floats, simd::divide(simd::broadcast<N>(T(1)), a)), (reading, itself, times(minus(g), square(y)))) \
  ROW(one,   cbrt,          "",             none,       floats,         16, none, (named),      (by_vector, ::cbrtf(a), ::cbrt(a)), \
      (by_vector), (reading, itself, over(over(g, 3), square(y)))) \
  ROW(one,   exp,           "Exp",          none,       field_elements, 16, none, (named),      (by_vector, ::expf(a), ::exp(a)), \
      (by_vector), (reading, itself, times(g, y))) \
  ROW(one,   exp2,          "",             none,       floats,         16, none, (named),      (by_vector, ::exp2f(a), ::exp2(a)), \
      (by_vector), (reading, itself, times(times(g, 0.69314718055994530942), y))) \
  ROW(one,   expm1,         "Expm1",        none,       floats,         16, none, (named),      (by_vector, ::expm1f(a), ::expm1(a)), \
      (by_vector), (reading, itself, times(g, y + 1.0))) \
  ROW(one,   log,           "Log",          none,       field_elements, 16, none, (named),      (by_vector, ::logf(a), ::log(a)), \
      (by_vector), (reading, first, over(g, x))) \
  ROW(one,   log2,          "",             none,       floats,         16, none, (named),      (by_vector, ::log2f(a), ::log2(a)), \
      (by_vector), (reading, first, over(times(g, 1.44269504088896340736), x))) \
  ROW(one,   log10,         "",             none,       floats,         16, none, (named),      (by_vector, ::log10f(a), ::log10(a)), \
      (by_vector), (reading, first, over(times(g, 0.43429448190325182765), x))) \
  ROW(one,   log1p,         "Log1p",        none,       floats,         16, none, (named),      (by_vector, ::log1pf(a), ::log1p(a)), \
      (by_vector), (reading, first, over(g, x + 1.0))) \
  ROW(one,   sin,           "Sin",          none,       field_elements, 16, none, (named),      (by_vector, ::sinf(a), ::sin(a)), \
      (by_vector), (reading, first, times(g, cos(x)))) \
  ROW(one,   cos,           "Cos",          none,       field_elements, 16, none, (named),      (by_vector, ::cosf(a), ::cos(a)), \
      (by_vector), (reading, first, times(minus(g), sin(x)))) \
  ROW(one,   tan,           "Tan",          none,       floats,         16, none, (named),      (by_vector, ::tanf(a), ::tan(a)), \
      (by_vector), (reading, itself, times(g, square(y) + 1.0))) \
  ROW(one,   asin,          "Asin",         none,       floats,         16, none, (named),      (by_vector, ::asinf(a), ::asin(a)), \
      (by_vector), (reading, first, over(g, sqrt((1.0 - x) * (1.0 + x))))) \
  ROW(one,   acos,          "Acos",         none,       floats,         16, none, (named),      (by_vector, ::acosf(a), ::acos(a)), \
      (by_vector), (reading, first, over(minus(g), sqrt((1.0 - x) * (1.0 + x))))) \
  ROW(one,   atan,          "Atan",         none,       floats,         16, none, (named),      (by_vector, ::atanf(a), ::atan(a)), \
      (by_vector), (reading, first, over(g, square(x) + 1.0))) \
  ROW(one,   sinh,          "Sinh",         none,       field_elements, 16, none, (named),      (by_vector, ::sinhf(a), ::sinh(a)), \
      (by_vector), (reading, first, times(g, cosh(x)))) \
  ROW(one,   cosh,          "Cosh",         none,       field_elements, 16, none, (named),      (by_vector, ::coshf(a), ::cosh(a)), \
      (by_vector), (reading, first, times(g, sinh(x)))) \
  ROW(one,   tanh,          "Tanh",         none,       field_elements, 16, none, (named),      (by_vector, ::tanhf(a), ::tanh(a)), \
      (by_vector), (reading, itself, times(g, 1.0 - square(y)))) \
  ROW(one,   asinh,         "Asinh",        none,       floats,         16, none, (named),      (by_vector, ::asinhf(a), ::asinh(a)), \
      (by_vector), (reading, first, over(g, hypot(x, 1.0)))) \
  ROW(one,   acosh,         "Acosh",        none,       floats,         16, none, (named),      (by_vector, ::acoshf(a), ::acosh(a)), \
      (by_vector), (reading, first, over(g, sqrt(x - 1.0) * sqrt(x + 1.0)))) \
  ROW(one,   atanh,         "Atanh",        none,       floats,         16, none, (named),      (by_vector, ::atanhf(a), ::atanh(a)), \
      (by_vector), (reading, first, over(g, (1.0 - x) * (1.0 + x)))) \
  /* 1 / (1 + exp(-a)) */ \
  ROW(one,   sigmoid,       "Sigmoid",      none,       floats,         16, none, (named),      (by_vector, 1 / (1 + ::expf(-a)), 1 / (1 + ::exp(-a))), \
      (by_vector), (reading, itself, times(g, y * (1.0 - y)))) \
  ROW(one,   erf,           "Erf",          none,       floats,         16, none, (named),      (by_vector, ::erff(a), ::erf(a)), \
      (by_vector), (reading, first, times(times(g, 1.12837916709551257390), exp(-square(x))))) \
  ROW(one,   erfc,          "Erfc",         none,       floats,         16, none, (named),      (by_vector, ::erfcf(a), ::erfc(a)), \
      (by_vector), (reading, first, times(times(g, -1.12837916709551257390), exp(-square(x))))) \
  ROW(two,   pow,           "Pow",          none,       floats,         16, none, (named),      (by_vector, ::powf(a, b), ::pow(a, b)), \
      (by_vector), \
      (reading, first | second, times(g, slope_of_power(a, b)), itself | first, times(g, y * log(where(a > 0.0, a, 1.0))))) \
  ROW(two,   atan2,         "Atan2",        none,       floats,         16, none, (named),      (by_vector, ::atan2f(a, b), ::atan2(a, b)), \
      (by_vector), \
      (reading, first | second, over(over(times(g, b), hypot(a, b)), hypot(a, b)), \
               first | second, over(over(times(minus(g), a), hypot(a, b)), hypot(a, b)))) \
  ROW(two,   hypot,         "",             none,       floats,         16, none, (named),      (by_vector, ::hypotf(a, b), ::hypot(a, b)), \
      (by_vector), (reading, itself | first, over(times(g, a), y), itself | second, over(times(g, b), y))) \
  ROW(one,   floor,         "Floor",        none,       floats,         1,  none, (named),      (c_library, floorf, floor), \
      (by_vector), (no_gradient)) \
  ROW(one,   ceil,          "Ceil",         none,       floats,         1,  none, (named),      (c_library, ceilf, ceil), \
      (by_vector), (no_gradient)) \
  ROW(one,   trunc,         "",             none,       floats,         1,  none, (named),      (c_library, truncf, trunc), \
      (by_vector), (no_gradient)) \
  /* to the nearest whole number, halves to the even one, as in NumPy */ \
  ROW(one,   round,         "Rint",         none,       floats,         1,  none, (named),      (c_library, rintf, rint), \
      (by_vector), (no_gradient)) \
  ROW(one,   isnan,         "IsNan",        none,       floats,         1,  none, (named),      (class_of, r > inf), \
      (class_of, greater), (no_gradient)) \
  ROW(one,   isinf,         "IsInf",        none,       floats,         1,  none, (named),      (class_of, r == inf), \
      (class_of, equal), (no_gradient)) \
  ROW(one,   isfinite,      "IsFinite",     none,       floats,         1,  none, (named),      (class_of, r < inf), \
      (class_of, less), (no_gradient))

// rows whose scalar functions call functors of rows above
#define LOCUS_ELEMENTWISE_SPECIAL(ROW) \
  ROW(one,   digamma,       "Digamma",      none,       floats,         64, none, (named),      (own, detail::digamma_of), \
      (by_lanes), (reading, first, times(g, trigamma(x)))) \
  ROW(one,   trigamma,      "",             none,       floats,         64, none, (named),      (own, detail::trigamma_of), \
      (by_lanes), (no_gradient)) \
  /* log |gamma(a)| */ \
  ROW(one,   lgamma,        "Lgamma",       none,       floats,         64, none, (named),      (own, detail::lgamma_of), \
      (by_lanes), (reading, first, times(g, digamma(x))))

// rows of complex numbers, which <locus/complex.hpp> expands
#define LOCUS_ELEMENTWISE_COMPLEX(ROW) \
  ROW(one,   real,          "Real",         linear,     complex_elements, 1,  none, (named),      (apart), \
      (apart), (no_gradient)) \
  ROW(one,   imag,          "Imag",         linear,     complex_elements, 1,  none, (named),      (apart), \
      (apart), (no_gradient)) \
  ROW(one,   conj,          "Conj",         linear,     complex_elements, 1,  none, (named),      (apart), \
      (apart), (no_gradient)) \
  /* |a|^2 */ \
  ROW(one,   abs2,          "",             none,       complex_elements, 1,  none, (named),      (apart), \
      (apart), (no_gradient)) \
  /* the angle, from -pi to pi */ \
  ROW(one,   arg,           "Angle",        none,       complex_elements, 16, none, (named),      (apart), \
      (apart), (no_gradient)) \
  /* a + i b */ \
  ROW(two,   make_complex,  "Complex",      none,       floats,         1,  none, (named),      (apart), \
      (apart), (no_gradient)) \
  /* a (cos(b) + i sin(b)) */ \
  ROW(two,   polar,         "",             none,       floats,         32, none, (named),      (apart), \
      (apart), (no_gradient))

#define LOCUS_ELEMENTWISE(ROW) \
  LOCUS_ELEMENTWISE_ARITHMETIC(ROW) LOCUS_ELEMENTWISE_MATH(ROW) LOCUS_ELEMENTWISE_SPECIAL(ROW)
// clang-format on

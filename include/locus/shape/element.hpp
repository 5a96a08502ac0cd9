// SPDX-License-Identifier: Apache-2.0
// Element types: a table with one row for each, and one promotion table. A new type is a new row.
#pragma once
#include <cstdint>      // int32_t
#include <string_view>  // string_view
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>         // always_false
#include <locus/core/type_list.hpp>      // type_list, index_in
#include <locus/shape/complex_kind.hpp>  // complex, is_complex_v
#include <locus/shape/half.hpp>          // half, bfloat16

namespace locus {

enum class element : unsigned char {
  f32,
  f64,
  i32,
  i64,
  u8,
  b8,
  f16,
  bf16,
  i8,
  i16,
  u16,
  u32,
  u64,
  c64,
  c128,
  other
};
enum class element_kind : unsigned char { boolean, integer, floating, complex, other };

using element_types = type_list<float, double, std::int32_t, std::int64_t, std::uint8_t, bool, half,
                                bfloat16, std::int8_t, std::int16_t, std::uint16_t, std::uint32_t,
                                std::uint64_t, complex<float>, complex<double>>;

struct element_row {
  element type;
  element_kind kind;
  std::string_view name;
  int bytes;
};
inline constexpr element_row elements[] = {
    {element::f32, element_kind::floating, "float", 4},
    {element::f64, element_kind::floating, "double", 8},
    {element::i32, element_kind::integer, "int32", 4},
    {element::i64, element_kind::integer, "int64", 8},
    {element::u8, element_kind::integer, "uint8", 1},
    {element::b8, element_kind::boolean, "bool", 1},
    {element::f16, element_kind::floating, "half", 2},
    {element::bf16, element_kind::floating, "bfloat16", 2},
    {element::i8, element_kind::integer, "int8", 1},
    {element::i16, element_kind::integer, "int16", 2},
    {element::u16, element_kind::integer, "uint16", 2},
    {element::u32, element_kind::integer, "uint32", 4},
    {element::u64, element_kind::integer, "uint64", 8},
    {element::c64, element_kind::complex, "complex64", 8},
    {element::c128, element_kind::complex, "complex128", 16},
    {element::other, element_kind::other, "other", 0},
};
constexpr element_row const& row_of(element e) { return elements[static_cast<int>(e)]; }

/// means: the row of T; `other` for a type of the program's own
template <class T>
inline constexpr element element_of_v = static_cast<element>(index_in<T>(element_types{}));
template <class T>
inline constexpr element_kind kind_of_v = row_of(element_of_v<T>).kind;

template <class T>
inline constexpr bool is_floating_v = kind_of_v<T> == element_kind::floating;
template <class T>
inline constexpr bool is_integer_v = kind_of_v<T> == element_kind::integer;
/// stored in 16 bits: kernels load it, compute in float, and round once, at the store
template <class T>
inline constexpr bool is_narrow_v = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// means: the type in which kernels compute elements of T: float for half and bfloat16, else T
template <class T>
using compute_t = std::conditional_t<is_narrow_v<T>, float, T>;

/// A set of element types, such as those that have a kernel.
struct element_set {
  unsigned bits = 0;
  constexpr bool contains(element e) const { return (bits >> static_cast<int>(e) & 1) != 0; }
  friend constexpr element_set operator|(element_set a, element_set b) { return {a.bits | b.bits}; }
  friend constexpr element_set operator&(element_set a, element_set b) { return {a.bits & b.bits}; }
  friend constexpr bool operator==(element_set, element_set) = default;
};
constexpr element_set set_of(element e) { return {1u << static_cast<int>(e)}; }
inline constexpr element_set no_elements{};
inline constexpr element_set floats =
    set_of(element::f32) | set_of(element::f64) | set_of(element::f16) | set_of(element::bf16);
inline constexpr element_set integers =
    set_of(element::i32) | set_of(element::i64) | set_of(element::u8) | set_of(element::i8) |
    set_of(element::i16) | set_of(element::u16) | set_of(element::u32) | set_of(element::u64);
inline constexpr element_set complex_elements = set_of(element::c64) | set_of(element::c128);
inline constexpr element_set booleans = set_of(element::b8);
/// numbers with an order
inline constexpr element_set real_elements = floats | integers;
/// numbers with a division
inline constexpr element_set field_elements = floats | complex_elements;
inline constexpr element_set numbers = real_elements | complex_elements;
inline constexpr element_set named_elements = numbers | booleans;
inline constexpr element_set any_element = named_elements | set_of(element::other);

// The promotion table: a program writes cast between kinds, but a float and a complex number give
// a complex number. Within a kind the wider type wins; two types that do not hold each other give the
// next type that holds both; no integer holds uint64 and a signed type.
//            half   bfloat16 float  double complex64 complex128
//   half     half   float    float  double c64       c128
//   bfloat16 float  bfloat16 float  double c64       c128
//   float    float  float    float  double c64       c128
//   double   double double   double double c128      c128
//   c64      c64    c64      c64    c128   c64       c128
//            int8   int16    int32  int64  uint8  uint16 uint32 uint64             bool
//   int8     int8   int16    int32  int64  int16  int32  int64  -           bool   bool
//   int16    int16  int16    int32  int64  int16  int32  int64  -
//   int32    int32  int32    int32  int64  int32  int32  int64  -
//   int64    int64  int64    int64  int64  int64  int64  int64  -
//   uint8    int16  int16    int32  int64  uint8  uint16 uint32 uint64
//   uint16   int32  int32    int32  int64  uint16 uint16 uint32 uint64
//   uint32   int64  int64    int64  int64  uint32 uint32 uint32 uint64
//   uint64   -      -        -      -      uint64 uint64 uint64 uint64
namespace detail {
template <int Bytes>
using signed_integer =
    std::conditional_t<Bytes <= 2, std::int16_t,
                       std::conditional_t<Bytes == 4, std::int32_t,
                                          std::conditional_t<Bytes == 8, std::int64_t, void>>>;
template <class T>
struct part {
  using type = T;
};
template <class T>
struct part<complex<T>> {
  using type = T;
};
constexpr bool together(element_kind a, element_kind b) {
  auto const is_field = [](element_kind k) {
    return k == element_kind::floating || k == element_kind::complex;
  };
  return a == b ? a != element_kind::other : is_field(a) && is_field(b);
}
template <class Lhs, class Rhs>
consteval auto promote() {
  if constexpr (std::is_same_v<Lhs, Rhs>)
    return std::type_identity<Lhs>{};
  else if constexpr (!together(kind_of_v<Lhs>, kind_of_v<Rhs>))
    return std::type_identity<void>{};
  else if constexpr (is_complex_v<Lhs> || is_complex_v<Rhs>) {
    constexpr bool wide = std::is_same_v<typename part<Lhs>::type, double> ||
                          std::is_same_v<typename part<Rhs>::type, double>;
    return std::type_identity<complex<std::conditional_t<wide, double, float>>>{};
  } else if constexpr (is_floating_v<Lhs> && sizeof(Lhs) == sizeof(Rhs))
    return std::type_identity<float>{};
  else if constexpr (is_floating_v<Lhs> || std::is_signed_v<Lhs> == std::is_signed_v<Rhs>)
    return std::type_identity<std::conditional_t<(sizeof(Lhs) > sizeof(Rhs)), Lhs, Rhs>>{};
  else {
    constexpr int of_unsigned = int(std::is_signed_v<Lhs> ? sizeof(Rhs) : sizeof(Lhs)),
                  of_signed = int(std::is_signed_v<Lhs> ? sizeof(Lhs) : sizeof(Rhs));
    return std::type_identity<
        signed_integer<(of_signed > of_unsigned ? of_signed : 2 * of_unsigned)>>{};
  }
}
}  // namespace detail

/// means: the element type of an operation on Lhs and Rhs; void where the table has no entry
template <class Lhs, class Rhs>
using promote_t = typename decltype(detail::promote<Lhs, Rhs>())::type;

/// means: the element type of a sum of T: int64 for integers and booleans; T itself for floats,
///        complex numbers and uint64
template <class T>
using sum_t = std::conditional_t<(is_integer_v<T> && !std::is_same_v<T, std::uint64_t>) ||
                                     std::is_same_v<T, bool>,
                                 std::int64_t, T>;
/// means: T of a complex<T>; a real type itself
template <class T>
using real_t = typename detail::part<T>::type;
/// means: the type in which many elements of T are added: double, complex<double> or int64
template <class T>
using total_t =
    std::conditional_t<is_floating_v<T>, double,
                       std::conditional_t<is_complex_v<T>, complex<double>, std::int64_t>>;

}  // namespace locus

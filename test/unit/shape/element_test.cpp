// SPDX-License-Identifier: Apache-2.0
// The table of element types and the table of promotions, row by row.
#include <doctest/doctest.h>

#include <locus/shape/complex.hpp>
#include <locus/shape/element.hpp>

using namespace locus;

namespace {
struct pixel {
  float red, green;
};

// ---- the rows ----
template <class T>
constexpr bool row(element e, element_kind kind, std::string_view name) {
  element_row const& r = row_of(element_of_v<T>);
  return element_of_v<T> == e && r.type == e && r.kind == kind && r.name == name &&
         r.bytes == int(sizeof(T)) && kind_of_v<T> == kind;
}
static_assert(row<float>(element::f32, element_kind::floating, "float"));
static_assert(row<double>(element::f64, element_kind::floating, "double"));
static_assert(row<std::int32_t>(element::i32, element_kind::integer, "int32"));
static_assert(row<std::int64_t>(element::i64, element_kind::integer, "int64"));
static_assert(row<std::uint8_t>(element::u8, element_kind::integer, "uint8"));
static_assert(row<bool>(element::b8, element_kind::boolean, "bool"));
static_assert(row<half>(element::f16, element_kind::floating, "half"));
static_assert(row<bfloat16>(element::bf16, element_kind::floating, "bfloat16"));
static_assert(row<std::int8_t>(element::i8, element_kind::integer, "int8"));
static_assert(row<std::int16_t>(element::i16, element_kind::integer, "int16"));
static_assert(row<std::uint16_t>(element::u16, element_kind::integer, "uint16"));
static_assert(row<std::uint32_t>(element::u32, element_kind::integer, "uint32"));
static_assert(row<std::uint64_t>(element::u64, element_kind::integer, "uint64"));
static_assert(row<complex<float>>(element::c64, element_kind::complex, "complex64"));
static_assert(row<complex<double>>(element::c128, element_kind::complex, "complex128"));
static_assert(element_of_v<pixel> == element::other && kind_of_v<pixel> == element_kind::other);
static_assert(element_of_v<char> == element::other && element_of_v<long long> == element::other);
static_assert(element_types::size == int(element::other));  // each type has its row

static_assert(is_floating_v<float> && is_floating_v<double> && !is_floating_v<int>);
static_assert(is_integer_v<std::uint8_t> && is_integer_v<int> && !is_integer_v<bool>);

// ---- sets ----
constexpr bool holds(element_set set, char const* digits) {
  for (int e = 0; e <= int(element::other); ++e)
    if (set.contains(element(e)) != (digits[e] == '1')) return false;
  return true;
}
static_assert(holds(no_elements, "0000000000000000") && holds(any_element, "1111111111111111"));
static_assert(holds(floats, "1100001100000000") && holds(integers, "0011100011111000"));
static_assert(holds(complex_elements, "0000000000000110") &&
              holds(field_elements, "1100001100000110"));
static_assert(holds(booleans, "0000010000000000") && holds(real_elements, "1111101111111000"));
static_assert(holds(numbers, "1111101111111110"));
static_assert(holds(named_elements, "1111111111111110"));
static_assert((floats & integers) == no_elements && (floats | integers) == real_elements);
static_assert(set_of(element::i64) == (integers & set_of(element::i64)));

// ---- promotion: within a kind the wider one; kinds never mix ----
template <class Lhs, class Rhs, class Result>
constexpr bool promotes =
    std::is_same_v<promote_t<Lhs, Rhs>, Result> && std::is_same_v<promote_t<Rhs, Lhs>, Result>;
using f32 = float;
using f64 = double;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using c64 = complex<float>;
using c128 = complex<double>;
using f16 = half;
using bf16 = bfloat16;
static_assert(promotes<f32, f32, f32> && promotes<f32, f64, f64> && promotes<f64, f64, f64>);
static_assert(promotes<i32, i32, i32> && promotes<i32, i64, i64> && promotes<i64, i64, i64>);
static_assert(promotes<u8, u8, u8> && promotes<u8, i32, i32> && promotes<u8, i64, i64>);
static_assert(promotes<bool, bool, bool>);
static_assert(promotes<f16, f16, f16> && promotes<f16, f32, f32> && promotes<f16, f64, f64>);
static_assert(promotes<bf16, bf16, bf16> && promotes<bf16, f32, f32> && promotes<bf16, f64, f64>);
static_assert(promotes<f16, bf16, f32>);  // neither holds the other
static_assert(promotes<i8, i8, i8> && promotes<i8, u8, i16> && promotes<i8, i32, i32>);
static_assert(promotes<i16, i16, i16> && promotes<i16, i8, i16> && promotes<i16, u8, i16>);
static_assert(promotes<i16, u16, i32> && promotes<i16, i32, i32> && promotes<i16, u32, i64>);
static_assert(promotes<u16, u16, u16> && promotes<u16, u8, u16> && promotes<u16, i8, i32>);
static_assert(promotes<u16, i32, i32> && promotes<u16, u32, u32> && promotes<u16, i64, i64>);
static_assert(promotes<u32, u32, u32> && promotes<u32, u8, u32> && promotes<u32, i8, i64>);
static_assert(promotes<u32, i32, i64> && promotes<u32, i64, i64> && promotes<u32, u64, u64>);
static_assert(promotes<u64, u64, u64> && promotes<u64, u8, u64> && promotes<u64, u16, u64>);
static_assert(promotes<u64, i64, void> && promotes<u64, i8, void> && promotes<u64, i32, void>);
static_assert(promotes<u64, i16, void> && promotes<u64, bool, void> && promotes<u64, f64, void>);
// a float and a complex number make a complex number
static_assert(promotes<c64, c64, c64> && promotes<c64, f32, c64> && promotes<c64, f16, c64>);
static_assert(promotes<c64, bf16, c64> && promotes<c64, f64, c128> && promotes<c64, c128, c128>);
static_assert(promotes<c128, c128, c128> && promotes<c128, f32, c128> && promotes<c128, f64, c128>);
static_assert(promotes<c64, i32, void> && promotes<c64, bool, void> && promotes<c128, pixel, void>);
static_assert(promotes<i8, i64, i64> && promotes<i8, f16, void> && promotes<f16, i32, void>);
static_assert(promotes<bool, f16, void> && promotes<bool, i8, void> && promotes<pixel, f16, void>);
static_assert(promotes<f32, i32, void> && promotes<f32, i64, void> && promotes<f32, u8, void>);
static_assert(promotes<f64, i32, void> && promotes<f64, i64, void> && promotes<f64, u8, void>);
static_assert(promotes<bool, f32, void> && promotes<bool, f64, void> && promotes<bool, u8, void>);
static_assert(promotes<bool, i32, void> && promotes<bool, i64, void>);
static_assert(promotes<pixel, pixel, pixel> && promotes<pixel, f32, void>);

static_assert(std::is_same_v<sum_t<f32>, f32> && std::is_same_v<sum_t<f64>, f64>);
static_assert(std::is_same_v<sum_t<i32>, i64> && std::is_same_v<sum_t<u8>, i64>);
static_assert(std::is_same_v<sum_t<i64>, i64> && std::is_same_v<sum_t<bool>, i64>);
static_assert(std::is_same_v<sum_t<u32>, i64> && std::is_same_v<sum_t<u64>, u64>);
static_assert(std::is_same_v<sum_t<c64>, c64> && std::is_same_v<sum_t<i16>, i64>);
static_assert(std::is_same_v<real_t<c64>, f32> && std::is_same_v<real_t<f64>, f64>);
static_assert(std::is_same_v<total_t<c64>, c128> && std::is_same_v<total_t<u64>, i64>);
static_assert(std::is_same_v<sum_t<pixel>, pixel> && std::is_same_v<sum_t<i8>, i64>);
static_assert(std::is_same_v<sum_t<f16>, f16> && std::is_same_v<sum_t<bf16>, bf16>);
// what kernels compute with
static_assert(std::is_same_v<compute_t<f16>, f32> && std::is_same_v<compute_t<bf16>, f32>);
static_assert(std::is_same_v<compute_t<f64>, f64> && std::is_same_v<compute_t<i8>, i8>);
static_assert(std::is_same_v<compute_t<pixel>, pixel> && std::is_void_v<compute_t<void>>);
}  // namespace

TEST_CASE("element types are told apart when the program runs, too") {
  CHECK(row_of(element::f32).name == "float");
  CHECK(row_of(element::other).bytes == 0);
}

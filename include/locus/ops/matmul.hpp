// SPDX-License-Identifier: Apache-2.0
// The matrix product.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/map.hpp>         // checked_node
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN
#include <locus/ops/views.hpp>       // reshape, expand_dims

namespace locus {

struct matmul_op {
  LOCUS_BUILTIN("matmul")
  static constexpr step_kind kind = step_kind::matmul;
  template <class Lhs, class Rhs>
  using result = Lhs;
  static constexpr shape infer(shape a, shape b) { return contract(a, b); }
};

inline namespace LOCUS_MODE {

/// means: r[i][j] = sum over k of a[i][k] * b[k][j]
/// shape: (m,k) x (k,n) -> (m,n); (B,m,k) x (B,k,n) -> (B,m,n), where B broadcasts;
///        (m,k) x (k) -> (m); (k) x (k,n) -> (n)
/// device: floats and complex numbers on both sides, integers on the CPU
/// cost:  2 m n k operations by CBLAS or cuBLAS; transposed operands cost nothing
/// fails: when static extents or element types differ, at compile time; when dynamic ones do, at
///        binding
/// after: BLAS gemm
template <tensor_operand Lhs, tensor_operand Rhs>
constexpr auto matmul(Lhs&& a, Rhs&& b) {
  auto x = as_operand<void>(std::forward<Lhs>(a));
  auto y = as_operand<void>(std::forward<Rhs>(b));
  using X = decltype(x);
  using Y = decltype(y);
  // a vector on the right is a matrix of one column, on the left of one row
  if constexpr (X::pattern.rank == 2 && Y::pattern.rank == 1)
    return reshape<-1>(matmul(std::move(x), expand_dims<-1>(std::move(y))));
  else if constexpr (X::pattern.rank == 1 && Y::pattern.rank == 2)
    return reshape<-1>(matmul(expand_dims<0>(std::move(x)), std::move(y)));
  else {
    constexpr bool fits = std::is_same_v<typename X::value_type, typename Y::value_type> &&
                          numbers.contains(element_of_v<typename X::value_type>);
    if constexpr (detail::elements_fit<matmul_op, fits>())
      return internal::checked_node<matmul_op>(matmul_op{}, std::move(x), std::move(y));
    else
      return sizeof(element_types_do_not_fit<matmul_op, element_of_t<Lhs>, element_of_t<Rhs>>);
  }
}

template <operand Lhs, operand Rhs>
  requires(number<Lhs> || number<Rhs>)
constexpr auto matmul(Lhs&&, Rhs&&) {
  static_assert(always_false<Lhs>,
                "locus: matmul takes two matrices; a tensor times a number is a * 2.f");
}

}  // namespace LOCUS_MODE

}  // namespace locus

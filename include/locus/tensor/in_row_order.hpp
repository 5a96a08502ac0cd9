// SPDX-License-Identifier: Apache-2.0
// in_row_order: the elements of an array one behind the other, for code that reads memory by its address.
#pragma once
#include <utility>  // declval

#include <locus/expr/leaf.hpp>      // ViewLeaf
#include <locus/tensor/tensor.hpp>  // Tensor
#include <locus/tensor/view.hpp>    // tensor_owner

namespace locus::internal {

template <class Leaf>
inline constexpr bool is_dense_view = false;
template <class T, class E, class Where>
inline constexpr bool is_dense_view<ViewLeaf<T, E, Where, true>> = true;

/// means: x, if its elements lie in row order; of a view with strides, and of a ColumnMajor array, a
///        tensor of that order
/// shape: that of x     device: x's     cost: none, or a copy
template <class X>
decltype(auto) in_row_order(X const& x) {
  if constexpr (tensor_owner<X> || !tensor_operand<X>)  // the latter: a row of a dataset
    return (x);
  else if constexpr (is_dense_view<decltype(x.leaf())>)
    return (x);
  else
    return Tensor<typename X::value_type, Dextents<X::rank()>, typename X::policy>(x);
}
template <class X>
using in_row_order_t = decltype(in_row_order(std::declval<X const&>()));

}  // namespace locus::internal

// SPDX-License-Identifier: Apache-2.0
// gradient_of_rows(i, g): the gradient of a table of which a loss read few rows, for nn::optimizer.
#pragma once
#include <cstdint>  // int32_t, int64_t
#include <utility>  // forward

#include <locus/core/error.hpp>    // shape_error
#include <locus/core/macros.hpp>   // LOCUS_COLD_BEGIN
#include <locus/expr/operand.hpp>  // tensor_operand, as_operand

namespace locus::nn {

/// The gradient of a table: rows[k..., .] belongs to its row indices[k...].
template <expression Indices, expression Rows>
struct row_gradient {
  Indices indices;
  Rows rows;
};

namespace detail {

template <class G>
inline constexpr bool is_row_gradient = false;
template <class Ids, class G>
inline constexpr bool is_row_gradient<row_gradient<Ids, G>> = true;

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_width(std::int64_t given, std::int64_t width) {
  message text;
  throw shape_error(text << "locus: gradient_of_rows got rows of " << given
                         << " numbers, and the rows of the table have " << width
                         << "; give it the gradient by take(table, i)");
}
[[noreturn]] inline void refuse_count(shape const& numbers, shape const& rows) {
  message text;
  throw shape_error(text << "locus: gradient_of_rows got the numbers of " << numbers
                         << " rows and gradients " << rows
                         << "; give it one row for each number, as take(table, i) reads them");
}
LOCUS_COLD_END

}  // namespace detail

/// means: the gradient of a table, given the gradient g by the rows that a loss read:
///            auto const rows = eval(take(table, i)); auto const r = named<"r">(rows);
///            adam.apply_gradients(nn::gradient_of_rows(i, grad(loss_of(r), r)));
///        A row of the table gets the sum of the rows of g that were read from it
/// shape: i: any extents, int32; g: the same, and the width of the table
/// device: any; over replicas all bring their numbers and rows to each, and sum them in their order, so
///         that the bits do not depend on the number of replicas
/// cost:  no dense gradient (Accumulate keeps one): two kernels. The step still goes over the whole table.
///        Inside of replicas the numbers and rows cross through the host
/// fails: shape_error for rows of another width or count, on the host also for a number without a row
/// after: IndexedSlices of TensorFlow, which optimizers of Keras take; what nn::Embedding gives a trainer
template <tensor_operand Ids, tensor_operand G>
auto gradient_of_rows(Ids&& i, G&& g) {
  using Indices = expression_of_t<Ids>;
  using Rows = expression_of_t<G>;
  static_assert(std::is_same_v<element_of_t<Ids>, std::int32_t>,
                "locus: the rows of a table are numbered by int32; write "
                "gradient_of_rows(cast<std::int32_t>(i), g)");
  static_assert(
      Rows::pattern.rank == Indices::pattern.rank + 1 && Indices::pattern.rank > 0,
      "locus: the gradient of rows has the axes of their numbers, and behind them one for "
      "the width of the table; give it the gradient by take(table, i)");
  return row_gradient<Indices, Rows>{as_operand<void>(std::forward<Ids>(i)),
                                     as_operand<void>(std::forward<G>(g))};
}

}  // namespace locus::nn

// SPDX-License-Identifier: Apache-2.0
// A reproducible sum as a piece of work.
#pragma once
#include <locus/core/pack.hpp>     // pack
#include <locus/work/call.hpp>     // space, access
#include <locus/work/reducer.hpp>  // reducer

namespace locus {
inline namespace LOCUS_MODE {

/// t = the sum of f(in[k][i]...) in the order of work/ordered_sum.hpp; out[m] = rest(row_in[k]...,
/// t)[m]
template <class T, class Stage, class Rest, class Ins, class Rows, class Outs, bool HasCudaKernel>
struct ordered_sum_work {
  static constexpr bool has_cuda_kernel = HasCudaKernel;
  static constexpr int operand_count = Ins::size + Rows::size + Outs::size;
  using type = T;
  using inputs = Ins;
  using row_inputs = Rows;
  using outputs = Outs;
  Stage f;
  Rest rest;
  double count;  // of a mean; negative: no mean
  kernel::space over;
  kernel::access operands[operand_count];

  ordered_sum_work(Stage stage, Rest after, double n) : f(stage), rest(after), count(n) {}
  /// means: the sum or mean that `rest` gets for a total
  LOCUS_HOST_DEVICE auto result(double total) const {
    return pack<T>{{kernel::reducer<reduction::sum, T>::finish(total, count)}};
  }
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (kernel::access& a : operands) visit(a.data);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

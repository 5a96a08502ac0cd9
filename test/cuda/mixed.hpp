// SPDX-License-Identifier: Apache-2.0
// What two units of one program, one of the host compiler and one of nvcc, do for each other.
#pragma once
#include <locus/locus.hpp>

using Pair = locus::Mirrored<locus::GpuDevice<0>, locus::GpuDevice<1>>;
using Grid = locus::Tensor<float, locus::Extents<locus::dyn, 3>, locus::GpuDevice<0>>;
using Copies = locus::Tensor<float, locus::Extents<4>, Pair>;

// An element-wise functor that GPUs can run: only the unit of nvcc makes its kernel, unasked or when
// LOCUS_INSTANTIATE names the expression.
struct Cube {
  static constexpr auto name = "cube";
  static constexpr auto kernels = locus::on_both;
  float add;
  LOCUS_HOST_DEVICE float operator()(float v) const { return v * v * v + add; }
};
struct Fourth {
  static constexpr auto name = "fourth";
  static constexpr auto kernels = locus::on_both;
  LOCUS_HOST_DEVICE float operator()(float v) const { return v * v * v * v; }
};
/// A called operation: each row less its mean, and the means.
template <bool Instantiated>
struct Centred {
  static constexpr locus::call_rule rule{
      .name = Instantiated ? "centred" : "centred elsewhere",
      .operands = {locus::call_role::rows},
      .results = {locus::call_role::rows, locus::call_role::rows}};
  float by;
  static constexpr locus::shape infer(int r, locus::shape x) {
    return r == 0 ? x : locus::shape{1, {x.extent[0]}};
  }
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, locus::call_context const&, locus::tile<T>,
                              locus::tile<T const> x) const {
    std::int64_t const n = x.extent[1], row = Result == 0 ? i / n : i;
    T sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += x[row * n + k];
    return Result == 0 ? by * (x[i] - sum / T(n)) : sum / T(n);
  }
};
using CentredGrid = decltype(locus::call(Centred<true>{}, std::declval<Grid&>()));
using CubeOfGrid = decltype(locus::map(Cube{}, std::declval<Grid&>()));

// Each unit has these functions under its own name; mixed_unit.hpp holds their bodies.
#define LOCUS_MIXED_UNIT(unit)                                                                    \
  namespace unit {                                                                                \
  Grid make_grid(int rows, float first);         /* first, first + 1, ... in row order */         \
  Grid scaled(Grid const& x, float by);          /* element-wise: a kernel of this unit */        \
  float total(Grid const& x);                    /* a reduction: a kernel of this unit */         \
  void average(Copies& mirrored, Grid const& x); /* replicas: an all-reduce of this unit */       \
  locus::Tensor<float, locus::Extents<3, 3>> gram(Grid const& x); /* matmul, comes to the CPU */  \
  locus::Tensor<float, locus::Extents<3, locus::dyn>> turned(Grid const& x); /* a strided copy */ \
  void misuse(); /* throws locus::bad_access */                                                   \
  void const* table_of_devices();                                                                 \
  }
LOCUS_MIXED_UNIT(host_unit)
LOCUS_MIXED_UNIT(cuda_unit)

// Only the unit of the host compiler has these.
namespace host_unit {
Grid cubed(Grid const& x, float add);             // the other unit instantiates it
float centred(Grid const& x, bool instantiated);  // y[0][0] + the mean of row 1
Grid fourth(Grid const& x);                       // no unit has it
void fourth_in_place(Grid& x);                    // reads and writes the same elements
void fourth_of_middle(Grid& x);                   // writes a column: the others stay
float scaled_fourth_sum(Grid const& x, float b);  // a reduction that no unit has
Grid fourth_of_local_functor(Grid const& x);      // its functor lies in an unnamed namespace
}  // namespace host_unit

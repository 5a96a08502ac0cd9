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
Grid fourth(Grid const& x);                       // no unit has it
void fourth_in_place(Grid& x);                    // reads and writes the same elements
void fourth_of_middle(Grid& x);                   // writes a column: the others stay
float scaled_fourth_sum(Grid const& x, float b);  // a reduction that no unit has
Grid fourth_of_local_functor(Grid const& x);      // its functor lies in an unnamed namespace
}  // namespace host_unit

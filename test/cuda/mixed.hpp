// SPDX-License-Identifier: Apache-2.0
// What two units of one program, one of the host compiler and one of nvcc, do for each other.
#pragma once
#include <locus/locus.hpp>

using Pair = locus::Mirrored<locus::GpuDevice<0>, locus::GpuDevice<1>>;
using Grid = locus::Tensor<float, locus::Extents<locus::dyn, 3>, locus::GpuDevice<0>>;
using Copies = locus::Tensor<float, locus::Extents<4>, Pair>;

// Each unit has these functions under its own name; mixed_unit.hpp holds their bodies.
#define LOCUS_MIXED_UNIT(unit)                                                                   \
  namespace unit {                                                                               \
  Grid make_grid(int rows, float first);         /* first, first + 1, ... in row order */        \
  Grid scaled(Grid const& x, float by);          /* element-wise: a kernel of this unit */       \
  float total(Grid const& x);                    /* a reduction: a kernel of this unit */        \
  void average(Copies& mirrored, Grid const& x); /* replicas: an all-reduce of this unit */      \
  locus::Tensor<float, locus::Extents<3, 3>> gram(Grid const& x); /* matmul, comes to the CPU */ \
  void misuse();                                                  /* throws locus::bad_access */ \
  void const* table_of_devices();                                                                \
  }
LOCUS_MIXED_UNIT(host_unit)
LOCUS_MIXED_UNIT(cuda_unit)

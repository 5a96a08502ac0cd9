// SPDX-License-Identifier: Apache-2.0
// <locus/cuda.cuh> behind another header of locus.
// expect: locus: <locus/cuda.cuh> comes too late in this unit; include it before any other header of locus
// only: nvcc
#ifdef LOCUS_MUST_FAIL
#include <locus/locus.hpp>
#endif
#include <locus/cuda.cuh>

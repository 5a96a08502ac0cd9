// SPDX-License-Identifier: Apache-2.0
// The tests of threads again, without OpenMP: over the pool of our own.
#define LOCUS_OPENMP 0
#include "threads_test.cpp"

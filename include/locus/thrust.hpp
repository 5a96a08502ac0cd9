// SPDX-License-Identifier: Apache-2.0
// Tensors and Thrust: its algorithms on tensors and expressions, iterators for its own calls, its vectors as views.
#pragma once
#include <locus/locus.hpp>               // Tensor
#include <locus/thrust/algorithms.hpp>   // sort, unique, reduce
#include <locus/thrust/iterators.hpp>    // begin, end
#include <locus/thrust/vectors.hpp>      // view
#include <locus/thrust/with_thrust.hpp>  // with_thrust

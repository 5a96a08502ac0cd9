// SPDX-License-Identifier: Apache-2.0
// The types of locus, declared: enough for headers that take tensors by reference.
//     void train(locus::Tensor<float, locus::Extents<locus::dyn, 10>>& weights);
// cost: a few milliseconds of a unit, where <locus/locus.hpp> takes half a second
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions: asked before anything else
#include <locus/core/forward.hpp>   // Tensor, View, AnyTensor, Extents, CpuDevice, GpuDevice ...

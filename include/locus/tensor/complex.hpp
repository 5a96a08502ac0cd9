// SPDX-License-Identifier: Apache-2.0
// All that elements complex<float> and complex<double> need beside the core: packets, functions, sums, products, text.
#pragma once
#include <locus/engine/host/complex_fold.hpp>     // sums
#include <locus/engine/host/complex_forms.hpp>    // packets
#include <locus/engine/host/complex_product.hpp>  // products of matrices
#include <locus/ops/complex.hpp>                  // real, conj, ...
#include <locus/shape/complex.hpp>                // the number
#include <locus/tensor/print_complex.hpp>         // its text

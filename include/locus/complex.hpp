// SPDX-License-Identifier: Apache-2.0
// Elements complex<float> and complex<double>. Every unit that has such elements includes this header, before it
// makes a tensor of them; without it complex<T> is an incomplete type.
#pragma once
#include <locus/engine/host/complex_fold.hpp>     // sums
#include <locus/engine/host/complex_forms.hpp>    // packets
#include <locus/engine/host/complex_product.hpp>  // products of matrices
#include <locus/locus.hpp>                        // the library
#include <locus/ops/complex.hpp>                  // real, conj, ...
#include <locus/shape/complex.hpp>                // the number
#include <locus/tensor/print_complex.hpp>         // its text

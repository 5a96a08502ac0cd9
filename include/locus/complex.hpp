// SPDX-License-Identifier: Apache-2.0
// Elements complex<float> and complex<double>. Every unit that has such elements includes this header, before it
// makes a tensor of them; without it complex<T> is an incomplete type.
#pragma once
#include <locus/locus.hpp>           // the library
#include <locus/tensor/complex.hpp>  // what these elements need beside it

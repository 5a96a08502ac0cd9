// SPDX-License-Identifier: Apache-2.0
// budget: 1 instantiations (clang 14)
// budget: 204 lines
// What a header of a program pays that names the types of locus.
#include <locus/fwd.hpp>

void halve(locus::Tensor<float, locus::Extents<locus::dyn>>& y);

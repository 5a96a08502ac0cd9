// SPDX-License-Identifier: Apache-2.0
// An element type that NumPy has not.
// expect-1: locus: NumPy has no such element type; write cast<float>(x)
// expect-2: locus: NumPy has no such element type; write cast<float>(x)
#include <locus/files/npz.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL
Tensor<bfloat16, Extents<4>> x;
#else
Tensor<float, Extents<4>> x;
#endif
void use() {
#if LOCUS_MUST_FAIL == 1
  data::npz_writer("x.npz").add("x", bfloat16(1.f));
#else
  data::write_npy("x.npy", x);
#endif
}

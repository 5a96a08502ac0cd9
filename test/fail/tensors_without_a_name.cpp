// SPDX-License-Identifier: Apache-2.0
// Assignments to tensors that are lost at the end of their statement.
// expect-1: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-2: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-3: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-4: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-5: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-6: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-7: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-8: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
// expect-9: locus: a tensor without a name is assigned to, and nobody could read it; write x = where(mask, e, x) for the elements of a mask, or give the tensor a name
#include <vector>

#include <locus/algorithms/compress.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Dextents<1>> v{1, 2, 3};
#if LOCUS_MUST_FAIL == 1
void misuse() { select(v, v > 1.f) = 0.f; }
#elif LOCUS_MUST_FAIL == 2
void misuse() { eval(v) = 0.f; }
#elif LOCUS_MUST_FAIL == 3
void misuse() { to<CpuDevice>(v) = 5.f; }
#elif LOCUS_MUST_FAIL == 4
void misuse() { eval(v) = v; }
#elif LOCUS_MUST_FAIL == 5
void misuse() { eval(v) = 2.f * v; }
#elif LOCUS_MUST_FAIL == 6
void misuse() { eval(v) = {1, 2, 3}; }
#elif LOCUS_MUST_FAIL == 7
void misuse() { select(v, v > 1.f) += 1.f; }
#elif LOCUS_MUST_FAIL == 8
void misuse() { to<CpuDevice>(v) *= v; }
#elif LOCUS_MUST_FAIL == 9
void misuse() { eval(v) = eval(2.f * v); }
#else
void proper() {
  v = where(v > 1.f, 0.f, v);
  auto part = select(v, v > 1.f);
  part = 0.f;
  part += 1.f;
  part = {1, 2};
  part = eval(v);
  part = std::move(v);
  std::vector<Tensor<float, Dextents<1>>> all(2);
  all[0] = all[1];
  all.erase(all.begin());
  all.front() *= 2.f;
}
#endif

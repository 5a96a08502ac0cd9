// SPDX-License-Identifier: Apache-2.0
// Letters that do not fit the operands of einsum.
// expect-1: locus: einsum reads a letter for each axis, each once in an operand, and behind -> letters that an operand has: einsum<"ij,jk->ik">(a, b); write diagonal(x) for equal indices
// expect-2: locus: einsum reads a letter for each axis, each once in an operand, and behind -> letters that an operand has: einsum<"ij,jk->ik">(a, b); write diagonal(x) for equal indices
// expect-3: locus: einsum reads a letter for each axis, each once in an operand, and behind -> letters that an operand has: einsum<"ij,jk->ik">(a, b); write diagonal(x) for equal indices
// expect-4: locus: einsum names more or fewer axes, or operands, than there are
// expect-5: locus: einsum names more or fewer axes, or operands, than there are
// expect-6: locus: an axis of einsum has other extents in the two operands; they must be equal
#include <locus/locus.hpp>
#include <locus/ops/einsum.hpp>
using namespace locus;

Tensor<float, Extents<3, 4>> a;
Tensor<float, Extents<4, 5>> b;
#if LOCUS_MUST_FAIL == 1
void misuse() { (void)einsum<"ij,jk">(a, b); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { (void)einsum<"ii,ik->k">(a, b); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { (void)einsum<"ij,jk->il">(a, b); }
#elif LOCUS_MUST_FAIL == 4
void misuse() { (void)einsum<"ijk,kl->ijl">(a, b); }
#elif LOCUS_MUST_FAIL == 5
void misuse() { (void)einsum<"ij,jk->ik">(a); }
#elif LOCUS_MUST_FAIL == 6
void misuse() { (void)einsum<"ij,ik->jk">(a, b); }
#else
void proper() {
  (void)eval(einsum<"ij,jk->ik">(a, b));
  (void)eval(einsum<"ij->ji">(a));
}
#endif

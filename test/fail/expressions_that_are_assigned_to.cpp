// SPDX-License-Identifier: Apache-2.0
// Assignments to what is no place: expressions, slices with a name, parts of constants, views without names.
// expect-1: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-2: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-3: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-4: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-5: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-6: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-7: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
// expect-8: locus: a view without a name would look elsewhere, and no element is copied; write run(into(view<Where>(data, extents), e))
// expect-9: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-10: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-11: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-12: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-13: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-14: locus: into writes a Tensor that has a name and is no constant, a view, or a slice of a view or of a Tensor on one device; make one of these first
// expect-15: locus: a number of another kind is assigned to a tensor; write one of its element type
// expect-16: locus: an expression with a name is assigned to one of its type, and no element would be written; write run(into(slice(x, ...), e))
// expect-17: locus: an expression with a name is assigned to one of its type, and no element would be written; write run(into(slice(x, ...), e))
// expect-18: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-20: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
// expect-21: locus: one index along the cut lies in one piece, which a plan cannot write alone; gather the array first with to<Device>(x)
// expect-22: locus: a constant view is assigned one of its type, and cannot look elsewhere; write run(into(q, r)) to copy the elements
// expect-19: locus: an expression is computed, not written, so that nothing is assigned here; write slice(x, ...) = e for a part of a tensor, or x = e for a whole one
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x, y;
#if LOCUS_MUST_FAIL == 1
void misuse() {
  auto part = slice(x, {0, 2});
  part = slice(y, {0, 2});
}
#elif LOCUS_MUST_FAIL == 2
void misuse() {
  auto part = slice(x, {0, 2});
  part = slice(y, {0, 2}) * 2.f;
}
#elif LOCUS_MUST_FAIL == 3
void misuse() {
  auto part = slice(x, {0, 2});
  part += 1.f;
}
#elif LOCUS_MUST_FAIL == 4
void misuse() { reshape(x, Extents<2, 2>{}) = reshape(y, Extents<2, 2>{}); }
#elif LOCUS_MUST_FAIL == 5
void misuse() { x + y = y; }
#elif LOCUS_MUST_FAIL == 6
void misuse() { transpose(x) *= 2.f; }
#elif LOCUS_MUST_FAIL == 7
void misuse() { named<"h">(x) = y; }
#elif LOCUS_MUST_FAIL == 8
void misuse() { view<CpuDevice>(x.data(), Extents<4>{}) = view<CpuDevice>(y.data(), Extents<4>{}); }
#elif LOCUS_MUST_FAIL == 9
void misuse(Tensor<float, Extents<4>> const& z) { slice(z, {0, 2}) = slice(y, {0, 2}); }
#elif LOCUS_MUST_FAIL == 10
void misuse() { slice(x + y, {0, 2}) = slice(y, {0, 2}); }
#elif LOCUS_MUST_FAIL == 11
void misuse() { slice(Tensor<float, Extents<4>>{1, 2, 3, 4}, {0, 2}) += 1.f; }
#elif LOCUS_MUST_FAIL == 12
void misuse(Tensor<float, Extents<4>> const& z) { slice(z, {0, 4, 2}) = 0.f; }
#elif LOCUS_MUST_FAIL == 13
void misuse(Tensor<float, Extents<4>> const& z) { interior<1>(z) = 0.f; }
#elif LOCUS_MUST_FAIL == 14
void misuse(Tensor<float, Extents<4>> const& z) { run(into(slice(z, {0, 2}), slice(y, {0, 2}))); }
#elif LOCUS_MUST_FAIL == 15
void misuse() { slice(x, {0, 2}) = true; }
#elif LOCUS_MUST_FAIL == 16
void misuse() {
  auto part = slice(y, {0, 2});
  slice(x, {0, 2}) = part;
}
#elif LOCUS_MUST_FAIL == 17
void misuse() {
  auto part = slice(x, {0, 2}), other = slice(y, {0, 2});
  part = other;
}
#elif LOCUS_MUST_FAIL == 18
void misuse(Tensor<float, Extents<4>> const& z) { at<0>(z, 1) = 0.f; }
#elif LOCUS_MUST_FAIL == 19
void misuse() {
  auto part = at<0>(x, 1);
  part += 1.f;
}
#elif LOCUS_MUST_FAIL == 20
void misuse(Tensor<float, Extents<4, 4>> const& z) { row_at(transpose(z), 1) = 0.f; }
#elif LOCUS_MUST_FAIL == 21
void misuse(Tensor<float, Extents<4, 4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>& z) {
  row_at(z, 1) = 0.f;
}
#elif LOCUS_MUST_FAIL == 22
void misuse() {
  auto const seen = view<CpuDevice>(x.data(), Extents<4>{});
  seen = view<CpuDevice>(y.data(), Extents<4>{});
}
#else
void proper(Tensor<float, Extents<4>> const& z) {
  slice(x, {0, 2}) = slice(y, {0, 2});
  slice(x, {0, 2}) = slice(z, {0, 2}) * 2.f;
  slice(x, {0, 4, 2}) = 1;
  interior<1>(x) -= 1.f;
  auto part = slice(x, {0, 2}), of_y = slice(y, {0, 2});
  run(into(part, of_y));
  slice(x, {0, 2}) = 2.f * of_y;
  view<CpuDevice>(x.data(), Extents<4>{}) = y * 2.f;
  auto seen = view<CpuDevice>(x.data(), Extents<4>{});
  seen = view<CpuDevice>(y.data(), Extents<4>{});
  slice(seen, {1, 3}) = 0.f;
  auto const constant = seen;
  constant = y;
  run(into(constant, seen));
  no_alias(seen) = y;
  at<0>(seen, 1) = at<0>(y, 2);
  auto sum = x + y, other = sum;
  x = std::move(other);
}
#endif

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/values.hpp declares.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/values.hpp>   // the declarations
#include <locus/shape/range.hpp>  // range

LOCUS_LEAN_BEGIN

namespace locus::internal {

LOCUS_FUNCTION void local_extents(shape const& whole, place const& where, int r,
                                  std::int64_t* out) {
  for (int a = 0; a < whole.rank; ++a)
    out[a] = where.is_sharded() && a == where.axis ? where.piece_size(whole.extent[a], r)
                                                   : whole.extent[a];
}

}  // namespace locus::internal

namespace locus::detail {

LOCUS_FUNCTION local_value dense_value(void* data, shape const& whole, place const& where, int r,
                                       local_layout& layout) {
  local_extents(whole, where, r, layout.extents);
  std::int64_t step = 1;
  for (int a = whole.rank; a-- > 0;) {
    layout.strides[a] = step;
    step *= layout.extents[a];
  }
  return {data, layout.extents, layout.strides};
}

LOCUS_FUNCTION local_value part_of(local_value const& v, int rank, int axis, std::int64_t begin,
                                   std::int64_t n, int element_bytes, local_layout& layout) {
  for (int a = 0; a < rank; ++a) layout.extents[a] = v.extents[a], layout.strides[a] = v.strides[a];
  layout.extents[axis] = n;
  void* const data =
      v.data ? static_cast<char*>(v.data) + begin * v.strides[axis] * element_bytes : nullptr;
  return {data, layout.extents, layout.strides};
}

LOCUS_FUNCTION bool is_dense(local_value const& v, int rank) {
  std::int64_t step = 1;
  for (int a = rank; a-- > 0;) {
    if (v.extents[a] == 0) return true;
    if (v.extents[a] != 1 && v.strides[a] != step) return false;
    step *= v.extents[a];
  }
  return true;
}

LOCUS_FUNCTION std::int64_t size_of(local_value const& v, int rank) {
  std::int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= v.extents[a];
  return n;
}

LOCUS_FUNCTION bool is_block(local_value const& v, int rank) {
  bool used[max_rank]{};
  std::int64_t step = 1;
  for (int k = 0; k < rank; ++k) {
    int next = -1;
    for (int a = 0; a < rank && next < 0; ++a)
      if (!used[a] && (v.extents[a] == 1 || v.strides[a] == step)) next = a;
    if (next < 0) return false;
    used[next] = true;
    step *= v.extents[next];
  }
  return true;
}

LOCUS_FUNCTION byte_range range_of(local_value const& v, int rank, int element_bytes) {
  std::int64_t low = 0, high = 0;
  for (int a = 0; a < rank; ++a) {
    if (v.extents[a] == 0) return {v.data, 0};
    std::int64_t const reach = (v.extents[a] - 1) * v.strides[a];
    (reach < 0 ? low : high) += reach;
  }
  return {static_cast<char const*>(v.data) + low * element_bytes, (high - low + 1) * element_bytes};
}

LOCUS_FUNCTION bool same_layout(local_value const& a, local_value const& b, int rank) {
  if (a.data != b.data) return false;
  for (int k = 0; k < rank; ++k)
    if (a.extents[k] != b.extents[k] || (a.extents[k] != 1 && a.strides[k] != b.strides[k]))
      return false;
  return true;
}

LOCUS_FUNCTION local_value piece_of(local_value const& whole, int rank, place const& cut, int r,
                                    shape const& extents, int element_bytes, local_layout& layout) {
  std::int64_t const n = extents.extent[cut.axis];
  return part_of(whole, rank, cut.axis, cut.piece_begin(n, r), cut.piece_size(n, r), element_bytes,
                 layout);
}

LOCUS_FUNCTION local_value view_value(plan_view const& p, short i, int r, local_value const& from,
                                      shape const* extents, void const* const* objects,
                                      local_layout& layout) {
  step const& s = p.steps[i];
  int const rank = extents[i].rank;
  void* data = from.data;
  switch (s.kind) {
  case step_kind::transpose:
    for (int a = 0; a < rank; ++a)
      layout.extents[a] = from.extents[s.order[a]], layout.strides[a] = from.strides[s.order[a]];
    break;
  case step_kind::expand:
    for (int a = 0; a < rank; ++a) {
      int const b = a < s.axis ? a : a - 1;
      layout.extents[a] = a == s.axis ? 1 : from.extents[b];
      layout.strides[a] = a == s.axis ? 0 : from.strides[b];
    }
    break;
  case step_kind::at: {
    std::int64_t const n = extents[p.operands(s)[0].from].extent[s.axis];
    std::int64_t const index = range::absolute(*static_cast<std::int64_t const*>(objects[i]), n);
    for (int a = 0; a < rank; ++a) {
      int const b = a < s.axis ? a : a + 1;
      layout.extents[a] = from.extents[b], layout.strides[a] = from.strides[b];
    }
    if (data) data = static_cast<char*>(data) + index * from.strides[s.axis] * s.element_bytes;
    break;
  }
  case step_kind::slice: {
    auto const* const ranges = static_cast<range const*>(objects[i]);
    shape const& whole = extents[p.operands(s)[0].from];
    for (int a = 0; a < rank; ++a) {
      layout.extents[a] = from.extents[a], layout.strides[a] = from.strides[a];
      if (!has_axis(s.axes, a)) continue;
      if (s.where.is_sharded() && s.where.axis == a) {  // a window: rows of this piece
        place const& cut = p.steps[p.operands(s)[0].from].where;
        std::int64_t const begin = s.where.begin_in(cut, whole.extent[a], r);
        layout.extents[a] = s.where.piece_size(extents[i].extent[a], r);
        if (data) data = static_cast<char*>(data) + begin * from.strides[a] * s.element_bytes;
        continue;
      }
      std::int64_t const begin = range::absolute(ranges[a].begin, whole.extent[a]);
      layout.extents[a] = extents[i].extent[a];
      layout.strides[a] = ranges[a].stride(from.strides[a], layout.extents[a]);
      if (data) data = static_cast<char*>(data) + begin * from.strides[a] * s.element_bytes;
    }
    break;
  }
  default: return dense_value(data, extents[i], s.where, r, layout);  // a reshape of dense memory
  }
  return {data, layout.extents, layout.strides};
}

}  // namespace locus::detail

LOCUS_LEAN_END

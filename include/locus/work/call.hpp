// SPDX-License-Identifier: Apache-2.0
// The index space of a kernel, and the strides of each operand in it.
#pragma once
#include <cstdint>  // int64_t

#include <locus/shape/shape.hpp>  // max_rank, axis_set

namespace locus::kernel {

/// means: element i... of the operand is at data + (sum of i[d] * stride[d]); an index operand has
///        no memory: its value is base + that sum     units: elements
struct access {
  void* data;
  std::int64_t base;
  std::int64_t stride[max_rank];  // one for each axis of the space
};

/// The two kinds of inputs: elements of type T in memory, or the offset of the element itself.
template <class T>
struct elements_of {
  using type = T;
};
struct own_offset {
  using type = std::int64_t;
};

/// means: the index space of a kernel; its folds reduce `axes`
struct space {
  int rank = 0;
  axis_set axes = 0;
  std::int64_t extent[max_rank];
  constexpr std::int64_t size() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= extent[d];
    return n;
  }
  constexpr std::int64_t folded_size() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= has_axis(axes, d) ? extent[d] : 1;
    return n;
  }
};

/// means: the same space with the fewest axes: axes of extent 1 are removed; two neighbouring axes
///        that are contiguous in every operand become one; a folded axis never joins a kept one
constexpr void collapse(space& s, access* operands, int count) {
  int to = 0;
  axis_set axes = 0;
  for (int d = 0; d < s.rank; ++d) {
    if (s.extent[d] == 1) continue;
    bool const folded = has_axis(s.axes, d);
    bool joins = to > 0 && has_axis(axes, to - 1) == folded;
    for (int k = 0; k < count && joins; ++k)
      joins = operands[k].stride[to - 1] == operands[k].stride[d] * s.extent[d];
    int const at = joins ? to - 1 : to++;
    s.extent[at] = joins ? s.extent[at] * s.extent[d] : s.extent[d];
    for (int k = 0; k < count; ++k) operands[k].stride[at] = operands[k].stride[d];
    if (folded) axes = static_cast<axis_set>(axes | 1u << at);
  }
  if (to == 0) {
    s.extent[to] = 1;
    for (int k = 0; k < count; ++k) operands[k].stride[to] = 0;
    axes = s.axes != 0 ? 1 : 0;
    to = 1;
  }
  s.rank = to, s.axes = axes;
}

/// means: sorts the axes by the absolute strides of operand `by`, the largest first
/// shape: no axis of s is folded
constexpr void sort_axes(space& s, access* a, int count, int by) {
  auto const length = [&](int d) {
    return a[by].stride[d] < 0 ? -a[by].stride[d] : a[by].stride[d];
  };
  auto const exchange = [&](int d) {
    auto const swap = [](std::int64_t& x, std::int64_t& y) {
      std::int64_t const t = x;
      x = y, y = t;
    };
    swap(s.extent[d], s.extent[d - 1]);
    for (int k = 0; k < count; ++k) swap(a[k].stride[d], a[k].stride[d - 1]);
  };
  for (int i = 1; i < s.rank; ++i)
    for (int d = i; d > 0 && length(d) > length(d - 1); --d) exchange(d);
}

/// means: the offset in the operand of point i of the first `axes` axes; points count in row order
constexpr std::int64_t offset_of(space const& s, access const& a, std::int64_t i, int axes) {
  std::int64_t offset = 0;
  for (int d = axes - 1; d > 0; --d) {
    offset += i % s.extent[d] * a.stride[d];
    i /= s.extent[d];
  }
  return axes > 0 ? offset + i * a.stride[0] : 0;
}

}  // namespace locus::kernel

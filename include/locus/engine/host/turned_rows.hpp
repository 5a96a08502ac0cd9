// SPDX-License-Identifier: Apache-2.0
// Short rows, turned over: elements of one row lie below one another, so that the loops over columns
// fold many rows at once.
#pragma once
#include <cstddef>      // size_t
#include <cstdint>      // int64_t, uint32_t
#include <type_traits>  // is_same, conditional
#include <utility>      // index_sequence

#include <locus/core/pack.hpp>              // pack, get
#include <locus/core/type_list.hpp>         // type_list
#include <locus/engine/host/fold_nest.hpp>  // fold_nest, column_run
#include <locus/engine/host/short_row.hpp>  // longest_short_row
#include <locus/simd/transpose.hpp>         // transpose_square, square_side
#include <locus/work/call.hpp>              // access, own_offset

namespace locus::host {
inline namespace LOCUS_MODE {

/// rows that are turned over at once; a multiple of the lanes of a packet
inline constexpr std::int64_t turned_at_once = 64;
/// rows of a result are filled up to a multiple of this: no packet has more lanes
inline constexpr std::int64_t turned_lanes = 16;

/// Where the elements of rows lie: `groups` groups of `rows` rows of n elements, and from an element, a
/// row and a group to the next.
struct rows_of_groups {
  std::int64_t n, rows, groups, step, row_step, group_step;
  std::int64_t lanes() const { return rows * groups; }
};

/// means: one operand of rows: element j of row r is at data[j * stride[0] + r * stride[1]]
template <class Kind>
class turned_operand {
  using T = typename Kind::type;

 public:
  /// means: `a` reads the rows of `of`, group by group. Elements that a call before found at the same
  ///        place are not read again
  /// shape: groups of 16 rows or more, or one group; own_offset: one group
  void read(kernel::access& a, kernel::access const& from, std::int64_t offset,
            rows_of_groups const& of) {
    a.stride[0] = of.step, a.stride[1] = of.row_step;
    if constexpr (std::is_same_v<Kind, kernel::own_offset>) {
      a.base = from.base + offset;
    } else {
      T const* const data = static_cast<T const*>(from.data) + offset;
      a.data = const_cast<T*>(data);
      if (of.step == 0 && of.row_step == 0 && (of.groups == 1 || of.group_step == 0)) return;
      a.data = buffer_, a.stride[0] = turned_at_once, a.stride[1] = 1;
      if (data == last_ && of.lanes() <= count_) return;
      last_ = data, count_ = of.lanes();
      for (std::int64_t g = 0; g < of.groups; ++g)
        if (of.row_step == 0)
          spread(data + g * of.group_step, g * of.rows, of);
        else
          turn(data + g * of.group_step, g * of.rows, of);
      repeat_last(of.n);
    }
  }

 private:
  alignas(64)
      T buffer_[std::is_same_v<Kind, kernel::own_offset> ? 1 : longest_short_row * turned_at_once];
  T const* last_ = nullptr;
  std::int64_t count_ = 0;  // lanes that hold rows

  T* row(std::int64_t j) { return buffer_ + j * turned_at_once; }
  /// cost:  whole vectors; a last one that ends with the group, or, of a lone short group, behind it
  void spread(T const* data, std::int64_t first, rows_of_groups const& of) {
    std::int64_t const last = of.rows > turned_lanes ? of.rows - turned_lanes : 0;
    for (std::int64_t j = 0; j < of.n; ++j) {
      T const value = data[j * of.step];
      for (std::int64_t r = 0; r < of.rows; r += turned_lanes) {
        T* const to = row(j) + first + (r < last ? r : last);
        for (std::int64_t i = 0; i < turned_lanes; ++i) to[i] = value;
      }
    }
  }
  void turn(T const* data, std::int64_t first, rows_of_groups const& of) {
    using word =
        std::conditional_t<sizeof(T) == 4, std::uint32_t,
                           std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint8_t>>;
    constexpr std::int64_t side = sizeof(T) >= 4 ? simd::square_side<word> : 1;
    std::int64_t j = 0;
    if (of.step == 1 && side > 1)
      for (; j + side <= of.n; j += side) {
        std::int64_t r = 0;
        for (; r + side <= of.rows; r += side)
          simd::transpose_square<word>(reinterpret_cast<std::intptr_t>(row(j) + first + r),
                                       turned_at_once * std::int64_t(sizeof(T)),
                                       reinterpret_cast<std::intptr_t>(data + j + r * of.row_step),
                                       of.row_step * std::int64_t(sizeof(T)));
        for (; r < of.rows; ++r)
          for (std::int64_t i = j; i < j + side; ++i) row(i)[first + r] = data[i + r * of.row_step];
      }
    for (; j < of.n; ++j)
      for (std::int64_t r = 0; r < of.rows; ++r)
        row(j)[first + r] = data[j * of.step + r * of.row_step];
  }
  /// lanes behind the last row repeat it: they compute no value of their own
  void repeat_last(std::int64_t n) {
    std::int64_t const width = (count_ + turned_lanes - 1) / turned_lanes * turned_lanes;
    if (count_ < width)
      for (std::int64_t j = 0; j < n; ++j) {
        T* const to = row(j);
        T const same = to[count_ - 1];
        for (std::int64_t r = count_; r < width; ++r) to[r] = same;
      }
  }
};

/// The operands of rows, as columns.
template <class... Kinds>
class turned_rows {
  static constexpr int operands = sizeof...(Kinds);
  fold_nest nest_;
  pack<turned_operand<Kinds>...> of_;
  kernel::access accesses_[operands + 1]{};
  std::int64_t origin_[operands + 1]{};

 public:
  /// n: elements of a row
  explicit turned_rows(std::int64_t n) : nest_({2, 1, {n, turned_at_once}}) {}

  /// means: rows of groups can stand side by side: no operand counts its places along one axis
  static constexpr bool can_group = !(std::is_same_v<Kinds, kernel::own_offset> || ...);

  /// means: `groups` groups of `count` rows whose operands are at offsets `at`; elements of a row lie
  ///        along axis `last`, rows along axis `along`, groups along axis `outer`
  column_run read(kernel::access const* from, std::int64_t const* at, int last, int along,
                  int outer, std::int64_t n, std::int64_t count, std::int64_t groups) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (get<K>(of_).read(
           accesses_[K], from[K], at[K],
           {n, count, groups, from[K].stride[last], from[K].stride[along], from[K].stride[outer]}),
       ...);
    }(std::index_sequence_for<Kinds...>{});
    std::int64_t const width = (count * groups + turned_lanes - 1) / turned_lanes * turned_lanes;
    return {nest_, accesses_, origin_, 1, operands, 0, width, 0, n, false};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host

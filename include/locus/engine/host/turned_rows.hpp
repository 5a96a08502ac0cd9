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

/// means: one operand of rows: element j of row r is at data[j * stride[0] + r * stride[1]]
template <class Kind>
class turned_operand {
  using T = typename Kind::type;

 public:
  /// means: `a` reads rows [0, count) of n elements; step and row_step: from an element, and from a
  ///        row, to the next. Elements that a call before found at the same place are not read again
  void read(kernel::access& a, kernel::access const& from, std::int64_t offset, std::int64_t step,
            std::int64_t row_step, std::int64_t n, std::int64_t count) {
    a.stride[0] = step, a.stride[1] = row_step;
    if constexpr (std::is_same_v<Kind, kernel::own_offset>) {
      a.base = from.base + offset;
    } else {
      T const* const data = static_cast<T const*>(from.data) + offset;
      a.data = const_cast<T*>(data);
      if (step == 0 && row_step == 0) return;
      a.data = buffer_, a.stride[0] = turned_at_once, a.stride[1] = 1;
      if (data == last_ && count <= count_) return;
      last_ = data, count_ = count;
      std::int64_t const width = (count + turned_lanes - 1) / turned_lanes * turned_lanes;
      if (row_step == 0)
        for (std::int64_t j = 0; j < n; ++j) spread(row(j), data[j * step], width);
      else
        turn(data, step, row_step, n, count, width);
    }
  }

 private:
  T buffer_[std::is_same_v<Kind, kernel::own_offset> ? 1 : longest_short_row * turned_at_once];
  T const* last_ = nullptr;
  std::int64_t count_ = 0;

  T* row(std::int64_t j) { return buffer_ + j * turned_at_once; }
  static void spread(T* to, T value, std::int64_t width) {
    for (std::int64_t r = 0; r < width; r += turned_lanes)  // whole vectors
      for (std::int64_t i = 0; i < turned_lanes; ++i) to[r + i] = value;
  }
  /// lanes behind the last row repeat it: they compute no value of their own
  void turn(T const* data, std::int64_t step, std::int64_t row_step, std::int64_t n,
            std::int64_t count, std::int64_t width) {
    using word =
        std::conditional_t<sizeof(T) == 4, std::uint32_t,
                           std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint8_t>>;
    constexpr std::int64_t side = sizeof(T) >= 4 ? simd::square_side<word> : 1;
    std::int64_t j = 0;
    if (step == 1 && side > 1)
      for (; j + side <= n; j += side) {
        std::int64_t r = 0;
        for (; r + side <= count; r += side)
          simd::transpose_square<word>(reinterpret_cast<std::intptr_t>(row(j) + r),
                                       turned_at_once * std::int64_t(sizeof(T)),
                                       reinterpret_cast<std::intptr_t>(data + j + r * row_step),
                                       row_step * std::int64_t(sizeof(T)));
        for (; r < count; ++r)
          for (std::int64_t i = j; i < j + side; ++i) row(i)[r] = data[i + r * row_step];
      }
    for (; j < n; ++j)
      for (std::int64_t r = 0; r < count; ++r) row(j)[r] = data[j * step + r * row_step];
    if (count < width)
      for (j = 0; j < n; ++j) {
        T* const to = row(j);
        T const same = to[count - 1];
        for (std::int64_t r = count; r < width; ++r) to[r] = same;
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

  /// means: `count` rows whose operands are at offsets `at`; elements of a row lie along axis `last`,
  ///        rows along axis `along`
  column_run read(kernel::access const* from, std::int64_t const* at, int last, int along,
                  std::int64_t n, std::int64_t count) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (get<K>(of_).read(accesses_[K], from[K], at[K], from[K].stride[last], from[K].stride[along],
                        n, count),
       ...);
    }(std::index_sequence_for<Kinds...>{});
    std::int64_t const width = (count + turned_lanes - 1) / turned_lanes * turned_lanes;
    return {nest_, accesses_, origin_, 1, operands, 0, width, 0, n, false};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host

// SPDX-License-Identifier: Apache-2.0
// Maps of any strides: element by element in the order of the first output; or in tiles, if an
// input is contiguous along another axis than the output. Tiles of such an input are transposed in
// shared memory, so that both sides access whole sectors.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/launch.hpp>     // blocks_of
#include <locus/engine/gpu/lines.hpp>      // quotient
#include <locus/engine/gpu/map_facts.hpp>  // map_facts
#include <locus/engine/gpu/vectors.hpp>    // loaded_inputs, stored_outputs
#include <locus/work/every_value.hpp>      // takes_every_value

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: to[j] = element j of a cell; whole: the cell is one aligned vector at `from`; otherwise
///        element j is from[j * step], and exists if j * apart < left
template <class T, int Size>
LOCUS_HOST_DEVICE void read_cell(T* to, T const* from, std::int64_t step, bool whole, int apart,
                                 int left) {
  if (Size == 1 || whole) {
    auto const v = *reinterpret_cast<vector_of<T, Size> const*>(from);
    for (int j = 0; j < Size; ++j) to[j] = v.element[j];
  } else
    for (int j = 0; j < Size; ++j)
      if (j * apart < left) to[j] = from[j * step];
}
template <class T, int Size>
LOCUS_HOST_DEVICE void write_cell(T* to, vector_of<T, Size> const& v, std::int64_t step, bool whole,
                                  int apart, int left) {
  if (Size == 1 || whole)
    store_whole(to, v);
  else
    for (int j = 0; j < Size; ++j)
      if (j * apart < left) to[j * step] = v.element[j];
}

/// means: out[m][i] = f(in[k][i]...)[m] for operands of any strides
template <class Work>
struct point_map {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int count = Work::operand_count, in_count = facts::in_count,
                       out_count = facts::out_count;
  static constexpr int unroll = 4;  // elements of a thread without tiles
  /// A tile is 16 * 16 squares of cell * cell elements, one for each thread. A line of a square is
  /// one aligned vector if possible; otherwise its elements are 16 apart, so that neighbouring
  /// threads read neighbouring elements.
  static constexpr int cell = facts::vector < 4 ? facts::vector : 4, squares = 16,
                       side = squares * cell;
  /// from a line of a tile in shared memory to the next: padded, so that neighbouring threads use
  /// different banks
  template <class T>
  static constexpr int pitch = side + (cell * int(sizeof(T)) >= 8 ? cell : 8 / int(sizeof(T)));
  /// a warp reads two lines of bytes that are 16 lines apart: the shift puts them in different
  /// halves of the banks
  template <class T>
  static constexpr int shift = cell * int(sizeof(T)) < 8 ? 64 / int(sizeof(T)) : 0;
  static constexpr int widest = facts::widest();
  /// inputs that go through shared memory; further ones are read in place
  static constexpr int slot_count = facts::inputs_in_memory < 2 ? facts::inputs_in_memory : 2;
  static constexpr unsigned slot_bytes =
      unsigned(64 * cell + side * (side * widest + (cell * widest > 8 ? cell * widest : 8)));

  typename Work::stage_type f;
  bool in_tiles = false, tiles_apart = false;  // apart: other axes exist
  std::int64_t size = 0, tiles = 0;
  std::int64_t along = 0, across = 0;  // extents of the two axes of a tile
  quotient tiles_along, tiles_across;  // number of tiles along each axis
  unravel outer;                       // the other axes; without tiles, all axes
  kernel::access operands[count];      // in tiles the last two strides are those of its axes
  bool whole[count];                   // lines of its squares are aligned vectors
  bool in_vectors = true;              // all operands that are not transposed are `whole`
  signed char slot[count];             // slot of a transposed input; -1: none

  /// shape: collapsed; the strides of the first output fall
  point_map(typename Work::stage_type stage, kernel::space const& s, kernel::access const* from)
      : f(stage), size(s.size()) {
    for (int k = 0; k < count; ++k) operands[k] = from[k], whole[k] = false, slot[k] = -1;
    int const last = s.rank - 1, other = other_axis(s);
    if (other < 0) {
      outer = unravel(s);
      return;
    }
    in_tiles = true, along = s.extent[last], across = s.extent[other];
    kernel::space rest;
    for (int d = 0; d < last; ++d)
      if (d != other) {
        for (int k = 0; k < count; ++k) operands[k].stride[rest.rank] = from[k].stride[d];
        rest.extent[rest.rank++] = s.extent[d];
      }
    if (rest.rank == 0) {
      rest.rank = 1, rest.extent[0] = 1;
      for (int k = 0; k < count; ++k) operands[k].stride[0] = 0;
    }
    int used = 0;
    for (int k = 0; k < count; ++k) {
      bool const turned = k < in_count && used < slot_count && is_turned(from[k], k, other, last);
      if (turned) slot[k] = static_cast<signed char>(used++);
      whole[k] = in_cells(s, from[k], k, turned ? other : last);
      in_vectors = in_vectors && (turned || facts::bytes[k] == 0 || whole[k]);
      operands[k].stride[max_rank - 1] = from[k].stride[last];
      operands[k].stride[max_rank - 2] = from[k].stride[other];
    }
    std::int64_t const a = (along + side - 1) / side, b = (across + side - 1) / side;
    tiles = a * b * rest.size();
    tiles_apart = rest.size() != 1;
    tiles_along = quotient(a, tiles), tiles_across = quotient(b, tiles), outer = unravel(rest);
  }
  unsigned blocks() const {
    return in_tiles ? blocks_of(tiles, 1) : blocks_of(size, unroll * block_threads);
  }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    if (!in_tiles) {
      block.apart([&](unsigned t) { points(block.number(), t); });
      return;
    }
    if constexpr (slot_count > 0) {
      auto* const memory = reinterpret_cast<unsigned char*>(
          block.template shared<sixteen_bytes, slot_count * slot_bytes / 16>());
      place const p = place_of(block.number());
      block.each([&](unsigned t) { turn(p, t, memory, each_in{}); });
      block.apart([&](unsigned t) { tile(p, t, memory); });
    }
  }

 private:
  static constexpr std::int64_t least_side = 8;  // of a tile that pays for its barrier
  static std::int64_t reach(std::int64_t stride) { return stride < 0 ? -stride : stride; }
  /// means: the input has a smaller stride along axis d than along the last axis
  static bool is_turned(kernel::access const& a, int k, int d, int last) {
    int const bytes = facts::bytes[k];
    return bytes > 0 && bytes <= widest && a.stride[d] != 0 &&
           reach(a.stride[d]) < reach(a.stride[last]);
  }
  /// means: the axis of the smallest stride of the first transposed input; -1: there is no such
  ///        input
  int other_axis(kernel::space const& s) const {
    int const last = s.rank - 1;
    if (s.extent[last] < least_side) return -1;
    for (int k = 0; k < in_count && slot_count > 0; ++k) {
      int best = -1;
      for (int d = 0; d < last; ++d)
        if (s.extent[d] >= least_side && is_turned(operands[k], k, d, last) &&
            (best < 0 || reach(operands[k].stride[d]) < reach(operands[k].stride[best])))
          best = d;
      if (best >= 0) return best;
    }
    return -1;
  }
  /// means: vectors along axis d begin at multiples of their size
  static bool in_cells(kernel::space const& s, kernel::access const& a, int k, int d) {
    int const bytes = facts::bytes[k];
    bool fits = bytes > 0 && a.stride[d] == 1 &&
                reinterpret_cast<std::uintptr_t>(a.data) % unsigned(bytes * cell) == 0;
    for (int e = 0; e < s.rank; ++e) fits = fits && (e == d || a.stride[e] % cell == 0);
    return fits;
  }

  using each_in = std::make_index_sequence<std::size_t(in_count)>;
  using each_out = std::make_index_sequence<std::size_t(out_count)>;
  struct alignas(16) sixteen_bytes {
    unsigned char bytes[16];
  };
  template <std::size_t K>
  using in_type = typename at_t<K, ins>::type;

  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void points(unsigned number, unsigned t) const {
    typename input_pack<ins>::values in[unroll] LOCUS_BY_SIDE(, {});
    std::int64_t to[unroll][out_count] LOCUS_BY_SIDE(, {});
    std::int64_t const first = std::int64_t(number) * (unroll * block_threads) + t;
    for (int u = 0; u < unroll; ++u)
      if (first + unsigned(u) * block_threads < size) {
        std::int64_t at[count];
        outer.template offsets<count>(first + unsigned(u) * block_threads, operands, at);
        in[u] = input_pack<ins>::at(operands, at);
        for (int m = 0; m < out_count; ++m) to[u][m] = at[in_count + m];
      }
    for (int u = 0; u < unroll; ++u)
      if (first + unsigned(u) * block_threads < size)
        output_pack<outs>::write(f(in[u], pack<>{}), operands + in_count, to[u]);
  }

  /// A tile: offsets along the other axes, its first element along its two axes, and its extents.
  struct place {
    std::int64_t at[count], a, b;
    int along, across;
  };
  LOCUS_HOST_DEVICE place place_of(unsigned number) const {
    place p;
    std::int64_t a = number, b = tiles_along.divide(a);
    if (tiles_apart)
      outer.template offsets<count>(tiles_across.divide(b), operands, p.at);
    else
      for (int k = 0; k < count; ++k) p.at[k] = 0;
    p.a = a * side, p.b = b * side;
    p.along = along - p.a < side ? int(along - p.a) : side;
    p.across = across - p.b < side ? int(across - p.b) : side;
    return p;
  }
  /// means: the offset of an element of a tile
  LOCUS_HOST_DEVICE std::int64_t offset(place const& p, int k, int a, int b) const {
    return p.at[k] + (p.a + a) * step_along(k) + (p.b + b) * step_across(k);
  }
  LOCUS_HOST_DEVICE std::int64_t step_along(int k) const {
    return operands[k].stride[max_rank - 1];
  }
  LOCUS_HOST_DEVICE std::int64_t step_across(int k) const {
    return operands[k].stride[max_rank - 2];
  }

  /// with one input, a tile always transposes it
  template <std::size_t K>
  LOCUS_HOST_DEVICE bool has_slot() const {
    return in_count == 1 || slot[K] >= 0;
  }
  template <std::size_t K>
  LOCUS_HOST_DEVICE in_type<K>* slot_of(unsigned char* memory) const {
    return reinterpret_cast<in_type<K>*>(memory +
                                         (slot_count == 1 ? 0u : unsigned(slot[K])) * slot_bytes);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void turn(place const& p, unsigned t, unsigned char* memory,
                              std::index_sequence<K...>) const {
    (turn<K>(p, t, memory), ...);
  }
  template <std::size_t K>
  LOCUS_HOST_DEVICE void turn([[maybe_unused]] place const& p, [[maybe_unused]] unsigned t,
                              [[maybe_unused]] unsigned char* memory) const {
    if constexpr (!std::is_same_v<at_t<K, ins>, kernel::own_offset>) {
      using T = in_type<K>;
      int const x = int(t % squares), a = int(t / squares) * cell;
      int const apart = whole[K] ? 1 : squares, b = whole[K] ? x * cell : x;
      if (!has_slot<K>() || b >= p.across) return;
      bool const is_vector = whole[K] && p.across - b >= cell;
      auto const* from = static_cast<T const*>(operands[K].data) + offset(p, K, a, b);
      std::int64_t const next = step_along(K), step = apart * step_across(K);
      vector_of<T, cell> turned[cell] = {};
      for (int i = 0; i < cell; ++i, from += next) {
        T values[cell] = {};
        if (a + i < p.along) read_cell<T, cell>(values, from, step, is_vector, apart, p.across - b);
        for (int j = 0; j < cell; ++j) turned[j].element[i] = values[j];
      }
      T* const to = slot_of<K>(memory) + x * pitch<T> + a;
      for (int j = 0; j < cell; ++j)
        *reinterpret_cast<vector_of<T, cell>*>(to + j * squares * pitch<T> +
                                               (whole[K] ? j * shift<T> : 0)) = turned[j];
    }
  }
  /// the position of line b in shared memory, as turn() wrote it; and the distance to line b +
  /// squares
  template <std::size_t K>
  LOCUS_HOST_DEVICE int line_of(int b) const {
    using T = in_type<K>;
    int const j = b % cell;
    return whole[K] ? (j * squares + b / cell) * pitch<T> + j * shift<T> : b * pitch<T>;
  }
  template <std::size_t K>
  LOCUS_HOST_DEVICE int next_line() const {
    return (whole[K] ? squares / cell : squares) * pitch<in_type<K>>;
  }

  /// The position of an operand, moved from one line of a tile to the next; At: an address, or an
  /// element number.
  template <class At>
  struct line {
    At at;
    std::int64_t next;
    LOCUS_HOST_DEVICE void move() { at += next; }
  };
  template <class Kind>
  using at_of = std::conditional_t<std::is_same_v<Kind, kernel::own_offset>, std::int64_t,
                                   typename Kind::type const*>;
  template <class At>
  LOCUS_HOST_DEVICE line<At> line_at(place const& p, int k, int a, int b) const {
    std::int64_t const at = offset(p, k, a, b), next = squares * step_across(k);
    if constexpr (std::is_same_v<At, std::int64_t>)
      return {operands[k].base + at, next};
    else
      return {static_cast<At>(operands[k].data) + at, next};
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void tile(place const& p, unsigned t, unsigned char* memory) const {
    int const a = int(t % squares) * (in_vectors ? cell : 1);
    if (a < p.along) tile(p, a, int(t / squares), memory, each_in{}, outs{}, each_out{});
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t... K, class... Outs, std::size_t... M>
  LOCUS_HOST_DEVICE void tile(place const& p, int a, int first, unsigned char* memory,
                              std::index_sequence<K...>, type_list<Outs...>,
                              std::index_sequence<M...>) const {
    pack<line<at_of<at_t<K, ins>>>...> from{};
    ((has_slot<K>() ? void() : void(get<K>(from) = line_at<at_of<at_t<K, ins>>>(p, K, a, first))),
     ...);
    pack<line<Outs*>...> to{{line_at<Outs*>(p, in_count + M, a, first)}...};
    int const left = p.along - a, apart = in_vectors ? 1 : squares;
    bool const is_vector = in_vectors && left >= cell;
    int const turned[] = {
        (std::is_same_v<at_t<K, ins>, kernel::own_offset> ? 0 : line_of<K>(first) + a)...};
    loaded_inputs<ins, cell> in[cell] = {};
    for (int i = 0; i < cell; ++i) {
      if (int const b = first + i * squares; b < p.across)
        (read<K>(get<K>(in[i].vectors), get<K>(from), is_vector, apart, left,
                 slot_of<K>(memory) + turned[K] + i * next_line<K>()),
         ...);
      (move<K>(get<K>(from)), ...);
    }
    for (int i = 0; i < cell; ++i) {
      if (first + i * squares < p.across) {
        auto const made = made_in_cell(in[i], apart, left);
        (write_cell<Outs, cell>(get<M>(to).at, get<M>(made.vectors),
                                apart * step_along(in_count + M), is_vector, apart, left),
         ...);
      }
      (get<M>(to).move(), ...);
    }
  }
  /// means: the results of a cell; a functor of the program gets the elements that exist alone
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE stored_outputs<outs, cell> made_in_cell(loaded_inputs<ins, cell> const& in,
                                                            [[maybe_unused]] int apart,
                                                            [[maybe_unused]] int left) const {
    if constexpr (kernel::takes_every_value<typename Work::stage_type>)
      return made_of<outs>(f, in);
    else {
      stored_outputs<outs, cell> made = {};
      for (int j = 0; j < cell; ++j)
        if (j * apart < left) made.template set_from<0>(j, f(in.element(j), pack<>{}));
      return made;
    }
  }
  /// A transposed input has no line: its pointer is null and unused. A GPU moves it anyway, since a
  /// test costs more.
  template <std::size_t K, class Line>
  LOCUS_HOST_DEVICE void move(Line& from) const {
    if (LOCUS_BY_SIDE(true, !has_slot<K>())) from.move();
  }
  template <std::size_t K, class Values>
  LOCUS_HOST_DEVICE void read(Values& to, line<at_of<at_t<K, ins>>> const& from,
                              [[maybe_unused]] bool is_vector, [[maybe_unused]] int apart,
                              [[maybe_unused]] int left,
                              [[maybe_unused]] in_type<K> const* turned) const {
    using T = in_type<K>;
    if constexpr (std::is_same_v<at_t<K, ins>, kernel::own_offset>)
      for (int j = 0; j < cell; ++j) to.values[j] = from.at + j * apart * step_along(K);
    else if (has_slot<K>())
      read_cell<T, cell>(to.values, turned, apart, is_vector, apart, left);
    else
      read_cell<T, cell>(to.values, from.at, apart * step_along(K), is_vector, apart, left);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

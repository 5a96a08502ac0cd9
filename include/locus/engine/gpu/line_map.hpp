// SPDX-License-Identifier: Apache-2.0
// Maps whose operands are contiguous or constant along the last axis: in vectors of 16 bytes; one
// thread has the vectors of several neighbouring lines.
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

/// Count operands over a space whose last axis is cut into vectors of Size elements. Vectors begin
/// at aligned addresses of operand `lead`, so that the first and the last vector of a line may be
/// incomplete. Rows neighbouring lines are a band; vector numbers run along a band first.
template <int Count, int Size, int Rows>
struct bands {
  static constexpr int places = Count + 2, phase = Count, row = Count + 1;
  std::int64_t length = 1, last_length = 1, rows = 1, vectors = 0;
  quotient in_band;
  unravel outer;
  kernel::access operands[places];  // then: the phase of the leader, the number of the line
  std::int64_t down[places];        // from a line to the next
  lay how[Count];
  bool same[Count];     // all lines of a band read the same vector
  bool alike = true;    // all operands have the outer strides of the leader
  bool is_near = true;  // and are contiguous at any address, as those of a stencil

  /// the vectors of one thread: offsets of its first line, and the first element of the vector in
  /// each line
  struct place {
    std::int64_t at[places], begin[Rows];
    int lines;  // existing lines of the band
    bool whole[Rows];
  };
  LOCUS_HOST_DEVICE place find(std::int64_t v) const {
    place p;
    std::int64_t const band = in_band.divide(v);
    if (alike) {
      outer.template offsets<2>(band, operands + phase, p.at + phase);
      for (int k = 0; k < Count; ++k) p.at[k] = p.at[phase];
    } else
      outer.template offsets<places>(band, operands, p.at);
    p.lines = rows - p.at[row] < Rows ? int(rows - p.at[row]) : Rows;
    LOCUS_UNROLLED
    for (int r = 0; r < Rows; ++r) {  // Size is a power of two; the phase may be negative
      p.begin[r] = v * Size - ((operands[phase].base + p.at[phase] + r * down[phase]) & (Size - 1));
      p.whole[r] = r < p.lines && p.begin[r] >= 0 && p.begin[r] + Size <= length_of(p, r);
    }
    return p;
  }
  /// of near operands: the offset of the first line of a band, its number, and a vector of the band
  struct near_lines {
    std::int64_t at, row, vector, down;
    LOCUS_HOST_DEVICE std::int64_t begin(bands const& of, int r) const {
      return vector * Size - ((of.operands[phase].base + at + r * down) & (Size - 1));
    }
    LOCUS_HOST_DEVICE std::int64_t length(bands const& of, int r) const {
      return row + r >= of.rows ? 0 : row + r + 1 == of.rows ? of.last_length : of.length;
    }
  };
  LOCUS_HOST_DEVICE near_lines find_near(std::int64_t v) const {
    std::int64_t at[2];
    outer.template offsets<2>(in_band.divide(v), operands + phase, at);
    return {at[0], at[1], v, down[phase]};
  }
  LOCUS_HOST_DEVICE std::int64_t length_of(place const& p, int r) const {
    return p.at[row] + r + 1 == rows ? last_length : length;
  }
  LOCUS_HOST_DEVICE std::int64_t stride(int k) const { return operands[k].stride[max_rank - 1]; }

  /// shape: collapsed; along the last axis every operand in memory has stride 1 or 0, the leader 1
  bands(kernel::space const& all, kernel::access const* from, int const* bytes, int lead,
        bool may_be_near) {
    int const last = all.rank - 1;
    kernel::space before;
    before.rank = last > 0 ? last : 1;
    for (int d = 0; d < before.rank; ++d) before.extent[d] = last > 0 ? all.extent[d] : 1;
    for (int k = 0; k < places; ++k) operands[k] = {}, down[k] = 0;
    for (int k = 0; k < Count; ++k) {
      operands[k].data = from[k].data, operands[k].base = from[k].base;
      for (int d = 0; d < last; ++d) operands[k].stride[d] = from[k].stride[d];
      operands[k].stride[max_rank - 1] = from[k].stride[last];
    }
    length = last_length = all.extent[last];
    std::int64_t& lines = before.extent[before.rank - 1];
    if (last == 0 && length >= worth_parts) {  // cuts one long line into Rows lines
      length = ((length + Rows - 1) / Rows + Size - 1) / Size * Size;
      lines = (last_length + length - 1) / length, last_length -= (lines - 1) * length;
      for (int k = 0; k < Count; ++k) operands[k].stride[0] = length * stride(k);
    }
    operands[phase] = operands[lead];
    operands[phase].base = place_in_vector<Size>(from[lead], bytes[lead]);
    std::int64_t most = operands[phase].base;
    for (int d = 0; d < before.rank; ++d)
      if (operands[lead].stride[d] % Size != 0) most = Size - 1;
    for (int k = 0; k < Count; ++k) how[k] = how_of(k, all, from, bytes, lead);

    rows = lines, lines = (rows + Rows - 1) / Rows;
    operands[row].stride[before.rank - 1] = 1;
    for (int k = 0; k < places; ++k) {
      std::int64_t& step = operands[k].stride[before.rank - 1];
      down[k] = step, step *= Rows;
    }
    bool is_shifted = false;
    for (int k = 0; k < Count; ++k) {
      same[k] = down[k] == 0 && down[phase] % Size == 0;
      for (int d = 0; d < before.rank; ++d)
        alike = alike && operands[k].stride[d] == operands[phase].stride[d];
      is_near = is_near && alike && stride(k) == 1;
      is_shifted = is_shifted || how[k] == lay::shifted;
    }
    std::int64_t width = (length + most + Size - 1) / Size;
    is_near = is_near && is_shifted && may_be_near;
    if (std::int64_t const warps = (width + 31) / 32 * 32; is_near && warps * 4 <= width * 5)
      width = warps;
    else
      is_near = false;
    vectors = before.size() * width;
    in_band = quotient(width < 1 ? 1 : width, vectors);
    outer = unravel(before);
  }

 private:
  /// units: elements; in shorter lines, more threads are faster than more vectors for each
  static constexpr std::int64_t worth_parts = std::int64_t(Rows) * Size << 16;
  lay how_of(int k, kernel::space const& all, kernel::access const* from, int const* bytes,
             int lead) const {
    if (bytes[k] == 0) return lay::strided;
    if (stride(k) == 0) return lay::constant;
    bool fits = place_in_vector<Size>(from[k], bytes[k]) == operands[phase].base;
    for (int d = 0; d + 1 < all.rank; ++d)
      fits = fits && (from[k].stride[d] - from[lead].stride[d]) % Size == 0;
    return fits ? lay::aligned : lay::shifted;
  }
};

/// means: out[m][i] = f(in[k][i]...)[m] for operands that are contiguous or constant along the last
///        axis
/// cost:  operands that are near, as those of a stencil, have one place for all; a warp loads and stores
///        neighbouring elements, at any address, and no load waits for another
template <class Work>
struct line_map {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int vector = facts::vector, in_count = facts::in_count;
  /// lines of a thread: two, if the vectors of all inputs fit in 32 registers; four touch more places of
  /// the memory at once, and are 3 to 10 % slower
  /// after: bench/results/2026-11-26-gpu.md, matrix + row
  static constexpr int held = vector * (in_count < 1 ? 1 : in_count), rows = held <= 16 ? 2 : 1;
  typename Work::stage_type f;
  bands<Work::operand_count, vector, rows> over;

  /// shape: collapsed; along the last axis every operand in memory has stride 1 or 0, the first
  ///        output 1
  line_map(typename Work::stage_type stage, kernel::space const& s, kernel::access const* operands)
      : f(stage), over(s, operands, facts::bytes, in_count, may_be_near) {}
  unsigned blocks() const { return blocks_of(over.vectors, block_threads); }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    block.apart([&](unsigned t) {
      std::int64_t const v = std::int64_t(block.number()) * block_threads + t;
      if (v >= over.vectors) return;
      if constexpr (may_be_near)
        if (over.is_near) return map_near(v, t % warp_threads);
      auto const p = over.find(v);
      loaded_inputs<ins, vector> in[rows] LOCUS_BY_SIDE(, {});  // g++ warns without
      // arrays whose index is no constant would lie in memory
      LOCUS_UNROLLED
      for (int r = 0; r < rows; ++r)
        if (p.whole[r]) load(in, p, r, each_in{});
      LOCUS_UNROLLED
      for (int r = 0; r < rows; ++r)
        if (p.whole[r]) store(made_of<outs>(f, in[r]), p, r, each_out{});
      LOCUS_UNROLLED
      for (int r = 0; r < rows; ++r)
        if (r < p.lines && !p.whole[r]) part(p, r);
    });
  }

 private:
  using place = typename bands<Work::operand_count, vector, rows>::place;
  using each_in = std::make_index_sequence<std::size_t(in_count)>;
  using each_out = std::make_index_sequence<std::size_t(facts::out_count)>;
  template <class... Kinds>
  static consteval bool are_words(type_list<Kinds...>) {
    return (true && ... &&
            (!std::is_same_v<Kinds, kernel::own_offset> && sizeof(typename Kinds::type) >= 4));
  }
  /// all inputs are in memory, and their elements are no parts of words
  static constexpr bool may_be_near = are_words(ins{});

  /// The elements of a thread where operands are near: a warp has those of 32 vectors, and each thread every
  /// 32nd of them.
  struct near_place {
    std::int64_t line, first, length;  // line: its offset in all operands
    bool is_whole;                     // all elements of the warp are in the line
    LOCUS_HOST_DEVICE bool has(int j) const {
      return is_whole ||
             static_cast<std::uint64_t>(first + j * apart) < static_cast<std::uint64_t>(length);
    }
  };
  static constexpr int apart = int(warp_threads);
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void map_near(std::int64_t v, unsigned lane) const {
    loaded_inputs<ins, vector> in[rows] LOCUS_BY_SIDE(, {});  // g++ warns without
    near_place at[rows];
    auto const first = over.find_near(v);
    LOCUS_UNROLLED
    for (int r = 0; r < rows; ++r) {
      std::int64_t const begin = first.begin(over, r) - std::int64_t(lane) * vector,
                         length = first.length(over, r);
      at[r] = {first.at + r * first.down, begin + lane, length,
               begin >= 0 && begin + apart * vector <= length};
      load_near(in[r], at[r], each_in{});
    }
    LOCUS_UNROLLED
    for (int r = 0; r < rows; ++r)
      if constexpr (kernel::takes_every_value<typename Work::stage_type>)
        store_near(made_of<outs>(f, in[r]), at[r], each_out{});
      else
        write_near(in[r], at[r]);
  }
  /// computes the elements that exist, and no value in place of another
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void write_near(loaded_inputs<ins, vector> const& in,
                                    near_place const& v) const {
    LOCUS_UNROLLED
    for (int j = 0; j < vector; ++j)
      if (v.has(j)) {
        std::int64_t at[facts::out_count];
        for (std::int64_t& to : at) to = v.line + v.first + j * apart;
        output_pack<outs>::write(f(in.element(j), pack<>{}), over.operands + in_count, at);
      }
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load_near(loaded_inputs<ins, vector>& in, near_place const& v,
                                   std::index_sequence<K...>) const {
    (get<K>(in.vectors)
         .template load_some<apart>(over.operands[K].data, v.line + v.first,
                                    [&](int j) { return v.has(j); }),
     ...);
  }
  template <class... Outs, std::size_t... M>
  LOCUS_HOST_DEVICE void store_near(stored_outputs<type_list<Outs...>, vector> const& from,
                                    near_place const& v, std::index_sequence<M...>) const {
    LOCUS_UNROLLED
    for (int j = 0; j < vector; ++j)
      if (v.has(j))
        ((static_cast<Outs*>(over.operands[in_count + M].data)[v.line + v.first + j * apart] =
              get<M>(from.vectors).element[j]),
         ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>* in, place const& p, int r,
                              std::index_sequence<K...>) const {
    (load(get<K>(in[0].vectors), get<K>(in[r].vectors), p, r, int(K)), ...);
  }
  template <class Vector>
  LOCUS_HOST_DEVICE void load(Vector const& first, Vector& to, place const& p, int r, int k) const {
    if (r > 0 && over.same[k])
      to = first;
    else
      to.load(over.operands[k], over.how[k], over.stride(k), p.at[k] + r * over.down[k], p.begin[r],
              over.length_of(p, r));
  }
  template <class... Outs, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<Outs...>, vector> const& to, place const& p,
                               int r, std::index_sequence<M...>) const {
    (store_whole(static_cast<Outs*>(over.operands[in_count + M].data) + p.at[in_count + M] +
                     r * over.down[in_count + M] + p.begin[r],
                 get<M>(to.vectors)),
     ...);
  }
  /// computes the elements of an incomplete vector
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void part(place const& p, int r) const {
    std::int64_t const length = over.length_of(p, r);
    std::int64_t const end = p.begin[r] + vector < length ? p.begin[r] + vector : length;
    for (std::int64_t i = p.begin[r] < 0 ? 0 : p.begin[r]; i < end; ++i) {
      std::int64_t at[Work::operand_count];
      for (int k = 0; k < Work::operand_count; ++k)
        at[k] = p.at[k] + r * over.down[k] + i * over.stride(k);
      output_pack<outs>::write(f(input_pack<ins>::at(over.operands, at), pack<>{}),
                               over.operands + in_count, at + in_count);
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

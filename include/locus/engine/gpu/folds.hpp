// SPDX-License-Identifier: Apache-2.0
// The threads of a GPU in a fold: its axes as vectors, the loop of one thread, and the end of a
// fold. All of it depends on the extents only, and so do the bits of a sum.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/block.hpp>   // block_threads
#include <locus/engine/gpu/inputs.hpp>  // input_pack, output_pack
#include <locus/engine/gpu/lines.hpp>   // lines
#include <locus/engine/gpu/totals.hpp>  // totals_of

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class Kind, class... Kinds>
consteval bool same_kinds(type_list<Kind, Kinds...>) {
  return !std::is_same_v<Kind, kernel::own_offset> && (std::is_same_v<Kind, Kinds> && ...);
}
consteval bool same_kinds(type_list<>) { return false; }

/// Constants of a fold's kernels that follow from its types.
template <class Work>
struct fold_facts {
  using ins = typename Work::inputs;
  using rows = typename Work::row_inputs;
  using elements = typename Work::element_outputs;
  using outs = typename Work::outputs;
  using all = totals_of<typename Work::reducers>;
  static constexpr int in_count = ins::size, row = in_count, element = row + rows::size,
                       out = element + elements::size, operands = Work::operand_count;
  // the lanes of a thread must fit in registers
  static constexpr int lanes = 128 / int(sizeof(typename all::lane)),
                       widest = vector_size(ins{}, elements{});
  static constexpr int vector = widest <= lanes ? widest : lanes < 1 ? 1 : largest_power(lanes);
  /// vectors that a thread loads at once: 64 bytes, at most 32 elements, and at most as many as a
  /// lane adds
  static constexpr int wanted = bytes_of(ins{}) == 0 ? 1 : 64 / (bytes_of(ins{}) * vector),
                       most = 32 / vector < all::adds ? 32 / vector : all::adds;
  static constexpr int unroll =
      wanted < 1 || most < 1 ? 1 : largest_power(wanted < most ? wanted : most);
  /// an input may be one element for a whole run, as a row of a space of pairs
  static constexpr bool may_repeat = in_count > 1;
  /// several folds of one array: inputs of one type that may turn out to be the same array
  static constexpr bool may_be_one = in_count > 1 && same_kinds(ins{});
  static constexpr int unroll_one =
      largest_power(unroll * in_count < most ? unroll * in_count : most);
};

/// The operands of a fold. By rows: vectors run along folded axes, and a team of threads has each
/// output. By columns: vectors run along kept axes, and a thread has each vector of outputs.
template <class Work>
struct fold_map {
  using facts = fold_facts<Work>;
  static constexpr int all = facts::operands, vector = facts::vector;
  bool by_rows = true, is_plain = true;  // is_plain: vectors are aligned or constant, no division
  bool is_one = facts::may_be_one;       // all inputs are the same array
  bool repeats = false;                  // some input is one element for a whole run
  std::int64_t outputs = 1, length = 1;  // of a fold: number of points
  std::int64_t wholes = 0;               // whole vectors of one line
  lines<all, vector> run;                // the axes along which vectors run
  unravel other;                         // the other axes
  kernel::access in_other[all]{};

  fold_map(kernel::space const& s, kernel::access const* operands, int const* bytes) {
    for (int d = 0; d < s.rank; ++d) (has_axis(s.axes, d) ? length : outputs) *= s.extent[d];
    axis_set const kept = static_cast<axis_set>(all_axes(s.rank) & ~s.axes);
    by_rows = kept == 0 || (has_axis(s.axes, s.rank - 1) &&
                            (length > warp_threads || are_short_rows(s, operands, bytes, length)));
    run = {s, by_rows ? s.axes : kept, operands, bytes};
    kernel::space rest;
    for (int d = 0; d < s.rank; ++d) {
      if (has_axis(s.axes, d) == by_rows) continue;
      for (int k = 0; k < all; ++k) in_other[k].stride[rest.rank] = operands[k].stride[d];
      rest.extent[rest.rank++] = s.extent[d];
    }
    other = unravel(rest);
    for (int k = 0; k < facts::out; ++k)
      if (bytes[k] != 0 && (k < facts::row || k >= facts::element))
        is_plain =
            is_plain && (run.how[k] == lay::aligned ||
                         (facts::may_repeat && k < facts::row && run.how[k] == lay::constant));
    for (int k = 0; k < facts::row && facts::may_repeat; ++k)
      repeats = repeats || (bytes[k] != 0 && run.how[k] == lay::constant);
    is_plain = is_plain && (by_rows ? run.count == 1 : other.rank <= 1);
    wholes = run.length / vector;
    for (int k = 1; k < facts::in_count; ++k) {
      is_one = is_one && operands[k].data == operands[0].data;
      for (int d = 0; d < s.rank; ++d)
        is_one = is_one && operands[k].stride[d] == operands[0].stride[d];
    }
  }
  /// means: the offsets of all operands at an output
  LOCUS_HOST_DEVICE void find(std::int64_t output, std::int64_t* at) const {
    if (other.rank == 1)
      for (int k = 0; k < all; ++k) at[k] = output * in_other[k].stride[0];
    else
      other.template offsets<all>(output, in_other, at);
  }

 private:
  /// means: rows are contiguous and consist of whole vectors, so that folding by rows pays although
  ///        they are short
  static bool are_short_rows(kernel::space const& s, kernel::access const* operands,
                             int const* bytes, std::int64_t length) {
    bool fits = length == s.extent[s.rank - 1] && length >= 2 * vector && length % vector == 0;
    for (int k = 0; k < facts::in_count; ++k)
      fits = fits && (bytes[k] == 0 ||
                      (0 <= operands[k].stride[s.rank - 1] && operands[k].stride[s.rank - 1] <= 1));
    return fits;
  }
};

/// The elements that a thread folds, as vectors.
template <class Work>
struct fold_thread {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using ins = typename facts::ins;
  using elements = typename facts::elements;
  static constexpr int vector = facts::vector, unroll = facts::unroll;
  static constexpr std::int64_t most_plain = std::int64_t(1) << 31;  // counted in 32 bits
  /// offsets of all operands at a line, and the index of the vector's first element in the line
  struct place {
    std::int64_t at[facts::operands], begin;
  };
  decltype(Work::f) const& f;
  fold_map<Work> const& map;
  typename all::lane lanes[vector];
  /// How vectors of the inputs are loaded: each as one aligned vector; that of one array for all;
  /// by elements of a warp; or some as one element for a whole run.
  enum class loads : unsigned char { aligned, one_array, by_warps, repeated };

  /// means: adds the whole vectors begin, begin + step, ... below end of a plain map to the lanes;
  ///        calls flush(lanes) whenever the lanes may add no more; few: after each vector
  template <class Index, class PlaceOf, class Flush>
  LOCUS_HOST_DEVICE void add_plain(Index begin, Index end, unsigned step, bool few,
                                   PlaceOf const& place_of, Flush const& flush) {
    if constexpr (facts::may_be_one)
      if (map.is_one)
        return add_batches<facts::unroll_one, loads::one_array>(begin, end, step, few, place_of,
                                                                flush);
    if constexpr (facts::may_repeat)
      if (map.repeats)
        return add_batches<unroll, loads::repeated>(begin, end, step, few, place_of, flush);
    add_batches<unroll, loads::aligned>(begin, end, step, few, place_of, flush);
  }
  /// means: the same for vectors whose elements are `warp_threads` apart, so that those of a warp
  ///        are contiguous; is_run: all of them exist, and every operand is contiguous
  template <class Index, class PlaceOf, class Flush>
  LOCUS_HOST_DEVICE void add_by_warps(bool is_run, Index begin, Index end, unsigned step,
                                      PlaceOf const& place_of, Flush const& flush) {
    if (is_run)
      return add_batches<unroll, loads::by_warps>(begin, end, step, false, place_of, flush);
    for (auto& l : lanes) l = all::start();
    int added = 0;
    for (Index n = begin; n < end; n += step) {
      if (added == all::adds) flush(lanes), added = 0;
      add_some(place_of(n), map.run.length, warp_threads);
      ++added;
    }
    flush(lanes);
  }
  /// means: adds elements begin, begin + step, ... below end of a line, at most one for each lane
  template <class Flush>
  LOCUS_HOST_DEVICE void add_rest(place const& line, std::int64_t end, unsigned step,
                                  Flush const& flush) {
    for (auto& l : lanes) l = all::start();
    add_some(line, end, step);
    flush(lanes);
  }
  /// means: add_plain for any vectors, with the same bits; vector number `part` may be incomplete,
  ///        at the end of a row, and is added alone
  LOCUS_EXEC_CHECK_DISABLE
  template <class PlaceOf, class Flush>
  LOCUS_HOST_DEVICE void add_any(std::int64_t begin, std::int64_t end, std::int64_t part,
                                 unsigned step, bool few, PlaceOf const& place_of,
                                 Flush const& flush) {
    for (auto& l : lanes) l = all::start();
    int added = 0;
    for (std::int64_t n = begin; n < end; n += step) {
      if (added == all::adds || n == part || few) flush(lanes), added = 0;
      one(place_of(n));
      ++added;
    }
    flush(lanes);
  }

 private:
  using each_in = std::make_index_sequence<std::size_t(ins::size)>;
  using each_element = std::make_index_sequence<std::size_t(elements::size)>;
  LOCUS_EXEC_CHECK_DISABLE
  template <int Unroll, loads How, class Index, class PlaceOf, class Flush>
  LOCUS_HOST_DEVICE void add_batches(Index begin, Index end, unsigned step, bool few,
                                     PlaceOf const& place_of, Flush const& flush) {
    // lanes go to the total after each group; at the end only, if they never round
    constexpr bool ends = all::adds < 1 << 30;
    constexpr unsigned group = ends ? all::adds : Unroll;
    for (auto& l : lanes) l = all::start();
    Index n = begin;
    for (; !few && n < end && end - n > Index((group - 1) * step); n += group * step) {
      for (unsigned g = 0; g < group; g += Unroll)
        batch<Unroll, How, true>(Index(n + g * step), end, step, false, place_of, flush);
      if constexpr (ends) flush(lanes);
    }
    for (; n < end; n += group * step) {
      for (unsigned g = 0; g < group && n + g * step < end; g += Unroll)
        batch<Unroll, How, false>(Index(n + g * step), end, step, few, place_of, flush);
      if constexpr (ends) flush(lanes);
    }
    if constexpr (!ends) flush(lanes);
  }
  /// loads Unroll vectors before it uses the first; past the end, it loads the first one again
  LOCUS_EXEC_CHECK_DISABLE
  template <int Unroll, loads How, bool IsFull, class Index, class PlaceOf, class Flush>
  LOCUS_HOST_DEVICE void batch(Index n, Index end, unsigned step, bool few, PlaceOf const& place_of,
                               Flush const& flush) {
    loaded_inputs<ins, vector> in[Unroll];
    for (int u = 0; u < Unroll; ++u) {
      Index const at = n + Index(u) * step;
      place const from = place_of(IsFull || at < end ? at : n);
      if constexpr (How == loads::by_warps)
        load_by_warps(in[u], from, each_in{});
      else if constexpr (How == loads::one_array)
        load_one(in[u], from, each_in{});
      else
        load_plain<How == loads::repeated>(in[u], from, each_in{});
    }
    if constexpr (How == loads::by_warps) keep_loads_in_front();
    for (int u = 0; u < Unroll; ++u)
      if (IsFull || n + Index(u) * step < end) {
        whole<How == loads::by_warps>(in[u], place_of(n + Index(u) * step));
        if (!IsFull && few) flush(lanes);
      }
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void one(place const& p) {
    if (p.begin + vector <= map.run.length) {
      loaded_inputs<ins, vector> in;
      load(in, p, each_in{});
      whole<false>(in, p);
    } else
      for (int j = 0; j < vector; ++j)
        if (p.begin + j < map.run.length) single(p, j);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>& in, place const& p,
                              std::index_sequence<K...>) const {
    (get<K>(in.vectors)
         .load(map.run.operands[K], map.run.how[K], map.run.stride(K), p.at[K], p.begin,
               map.run.length),
     ...);
  }
  template <bool Repeats, std::size_t... K>
  LOCUS_HOST_DEVICE void load_plain(loaded_inputs<ins, vector>& in, place const& p,
                                    std::index_sequence<K...>) const {
    (get<K>(in.vectors)
         .load(map.run.operands[K],
               Repeats && map.run.how[K] == lay::constant ? lay::constant : lay::aligned,
               map.run.stride(K), p.at[K], p.begin, map.run.length),
     ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load_by_warps(loaded_inputs<ins, vector>& in, place const& p,
                                       std::index_sequence<K...>) const {
    (get<K>(in.vectors).load_apart(map.run.operands[K], 1, p.at[K], p.begin, warp_threads), ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load_one(loaded_inputs<ins, vector>& in, place const& p,
                                  std::index_sequence<K...>) const {
    load_plain<false>(in, p, std::index_sequence<0>{});
    ((get<K>(in.vectors) = get<0>(in.vectors)), ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <bool ByWarps>
  LOCUS_HOST_DEVICE void whole(loaded_inputs<ins, vector> const& in, place const& p) {
    stored_outputs<elements, vector> to;
    for (int j = 0; j < vector; ++j) {
      auto const r = f(in.element(j), pack<>{});
      all::add(lanes[j], r);
      to.template set_from<all::count>(j, r);
    }
    store<ByWarps>(to, p, each_element{});
  }
  template <bool ByWarps, class... T, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<T...>, vector> const& to, place const& p,
                               std::index_sequence<M...>) const {
    (store_vector(get<M>(to.vectors), map.run.operands[facts::element + M],
                  ByWarps ? lay::by_warps : map.run.how[facts::element + M],
                  map.run.stride(facts::element + M), p.at[facts::element + M], p.begin),
     ...);
  }
  /// means: adds elements p.begin, p.begin + apart, ... below end of a line, one for each lane; all
  ///        loads come first
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void add_some(place const& p, std::int64_t end, unsigned apart) {
    loaded_inputs<ins, vector> in;
    load_some(in, p, end, apart, each_in{});
    keep_loads_in_front();
    for (int j = 0; j < vector; ++j) {
      std::int64_t const i = std::int64_t(j) * apart;
      if (p.begin + i >= end) continue;
      auto const r = f(in.element(j), pack<>{});
      all::add(lanes[j], r);
      std::int64_t at[facts::operands];
      for (int k = 0; k < facts::operands; ++k) at[k] = p.at[k] + (p.begin + i) * map.run.stride(k);
      output_pack<elements>::template write_from<all::count>(r, map.run.operands + facts::element,
                                                             at + facts::element);
    }
  }
  /// elements past the end are read as the last element
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load_some(loaded_inputs<ins, vector>& in, place const& p, std::int64_t end,
                                   unsigned apart, std::index_sequence<K...>) const {
    for (int j = 0; j < vector; ++j) {
      std::int64_t const e = p.begin + std::int64_t(j) * apart, i = e < end ? e : end - 1;
      ((get<K>(in.vectors).values[j] =
            read<at_t<K, ins>>(map.run.operands[K], p.at[K] + i * map.run.stride(K))),
       ...);
    }
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void single(place const& p, int j) {
    std::int64_t at[facts::operands];
    for (int k = 0; k < facts::operands; ++k) at[k] = p.at[k] + (p.begin + j) * map.run.stride(k);
    auto const r = f(input_pack<ins>::at(map.run.operands, at), pack<>{});
    all::add(lanes[j], r);
    output_pack<elements>::template write_from<all::count>(r, map.run.operands + facts::element,
                                                           at + facts::element);
  }
};

/// The end of a fold: a total becomes an output, or one part of it for fold_the_parts.
template <class Work>
struct fold_end {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  decltype(Work::rest) rest;
  decltype(Work::means) means;
  total* partials;  // [part * in_part + slot]; null if there is one part
  std::int64_t parts, in_part;

  /// at: offsets of the operands at the output
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void finish(total const& t, kernel::access const* operands,
                                std::int64_t const* at) const {
    output_pack<typename facts::outs>::write(
        rest(input_pack<typename facts::rows>::at(operands + facts::row, at + facts::row),
             all::finish(t, means.of)),
        operands + facts::out, at + facts::out);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// Rows on a GPU: a team of threads makes each fold of its row, then writes the row's elements or
// its value. A row that fits in the registers of its team is loaded once.
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/launch.hpp>       // start
#include <locus/engine/gpu/lines.hpp>        // lines
#include <locus/engine/gpu/registered.hpp>   // cuda_kernel
#include <locus/engine/gpu/totals.hpp>       // totals_of
#include <locus/engine/host/cached_row.hpp>  // kept_value
#include <locus/work/work.hpp>               // rows_work

LOCUS_LEAN_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

template <class FoldList>
struct row_results;
template <class... Folds>
struct row_results<type_list<Folds...>> {
  using type = pack<typename Folds::reducer::result...>;
  static constexpr int count = sizeof...(Folds);
};

/// Constants of a row kernel that follow from its types.
template <class Work>
struct row_facts {
  using ins = typename Work::inputs;
  using rows = typename Work::row_inputs;
  using outs = typename Work::outputs;
  using results = typename row_results<typename Work::fold_list>::type;
  static constexpr int folds = row_results<typename Work::fold_list>::count;
  static constexpr int in_count = ins::size, out = in_count + rows::size,
                       operands = Work::operand_count;
  static constexpr int vector =
      Work::elementwise ? vector_size(ins{}, outs{}) : vector_size(ins{}, type_list<>{});
  using vectors = loaded_inputs<ins, vector>;
  /// vectors of each thread in registers: 128 bytes, and code for at most 32 elements
  static constexpr int fit = 128 / int(sizeof(vectors)), most = 32 / vector,
                       kept = largest_power(fit < most ? fit : most);

  using last_fold = at_t<folds - 1, typename Work::fold_list>;
  using kept_value = host::kept_value<last_fold, decltype(Work::last), outs>;
  /// true: values of the last fold that the final stage reads again are kept in the registers of
  /// the first input
  static constexpr bool keeps = [] {
    if constexpr (Work::elementwise && in_count > 0 && kept_value::value)
      return std::is_same_v<typename at_t<0, ins>::type, at_t<0, outs>>;
    else
      return false;
  }();
};

/// The stage of the last fold with the kept value as an output, and the final stage that reads it.
template <class Work, bool Keeps = row_facts<Work>::keeps>
struct row_end {
  using kept_value = typename row_facts<Work>::kept_value;
  decltype(kept_value::keep(std::declval<typename row_facts<Work>::last_fold>())) keep;
  decltype(kept_value::finish(std::declval<decltype(Work::last)>())) finish;
  explicit row_end(Work const& work)
      : keep(kept_value::keep(get<row_facts<Work>::folds - 1>(work.folds))),
        finish(kept_value::finish(work.last)) {}
};
template <class Work>
struct row_end<Work, false> {
  explicit row_end(Work const&) {}
};

/// A team of threads for each row: a power of two, from 1 to 256.
template <class Work>
struct rows_by_teams {
  using facts = row_facts<Work>;
  using ins = typename facts::ins;
  using outs = typename facts::outs;
  using results = typename facts::results;
  static constexpr int vector = facts::vector, kept = facts::kept;
  /// one input of 4 bytes, rows that are written: 17 % sooner than with two blocks of 104 registers a
  /// thread, though a softmax then keeps 384 bytes in memory; wider inputs would keep more
  /// after: bench/results/2026-11-26-gpu.md, softmax of rows of 4096
  static constexpr unsigned least_blocks =
      Work::elementwise && facts::in_count == 1 && vector == 4 ? 3 : 1;
  decltype(Work::folds) folds;
  decltype(Work::last) last;
  row_end<Work> end;
  std::int64_t rows;
  unsigned team_bits;  // 2^team_bits threads
  bool is_plain;       // all vectors are aligned
  bool by_elements;    // incomplete vectors: neighbouring threads have neighbouring elements
  unsigned lane_bits;  // by_elements: log2 of the threads that interleave vectors
  bool by_warps;       // lanes are a warp, and rows are contiguous
  lines<facts::operands, vector> run;        // the row's axis
  unravel outer;                             // the axes before the row's
  kernel::access operands[facts::operands];  // along these axes

  LOCUS_HOST_DEVICE unsigned team() const { return 1u << team_bits; }
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<state> mine;
    block.apart([&](unsigned t) {
      state& s = mine[t];
      s.row = std::int64_t(block.number()) * (block_threads >> team_bits) + (t >> team_bits);
      s.row = s.row < rows ? s.row : -1;
      s.rank = t & (team() - 1);
      s.lane = by_elements ? s.rank & (lanes() - 1) : 0;
      s.first = first_of(s, s.rank);
      if (s.row < 0) return;
      if (outer.rank == 1)
        for (int k = 0; k < facts::operands; ++k) s.at[k] = s.row * operands[k].stride[0];
      else
        outer.template offsets<facts::operands>(s.row, operands, s.at);
      s.there = -1;
      if (has_tail()) load_tail(s, each_in{});
    });
    fold_all(block, mine, std::make_index_sequence<std::size_t(facts::folds)>{});
    block.apart([&](unsigned t) {
      if (mine[t].row >= 0) finish(mine[t]);
    });
  }

 private:
  struct state {
    std::int64_t row;  // -1: no row
    unsigned rank;     // number of the thread in its team
    unsigned lane;     // by_elements: number of the thread among those that interleave vectors
    unsigned first;    // element of its first vector
    std::int64_t at[facts::operands];
    typename facts::vectors in[kept], tail;
    std::int64_t there;  // number of the row's vector that in[] begins with; -1: in[] is empty
    results folded;
  };
  using each_in = std::make_index_sequence<std::size_t(facts::in_count)>;
  using each_kept = std::make_index_sequence<std::size_t(kept)>;
  /// The layout of vectors: as operands are aligned, or shifted; `apart`: interleaved over the
  /// lanes; by_warps: interleaved over a warp, a constant distance.
  enum class form { aligned, shifted, apart, by_warps };
  /// by_elements: number of threads that interleave vectors
  LOCUS_HOST_DEVICE unsigned lanes() const { return 1u << lane_bits; }
  /// means: whole vectors in the first `extent` elements; by_elements, only full sets of the lanes
  LOCUS_HOST_DEVICE std::int64_t wholes(std::int64_t extent) const {
    std::int64_t const all = extent / vector;
    return by_elements ? all & ~std::int64_t(lanes() - 1) : all;
  }
  /// loads this thread's vectors, of `count` from number `begin` on; past the end, an existing one
  /// again
  LOCUS_HOST_DEVICE void load(state& s, std::int64_t begin, std::int64_t count) const {
    if (count <= 0) return;
    if (by_warps)
      load<form::by_warps>(s, begin, limit(count), each_kept{});
    else if (by_elements)
      load<form::apart>(s, begin, limit(count), each_kept{});
    else if (is_plain)
      load<form::aligned>(s, begin, limit(count), each_kept{});
    else
      load<form::shifted>(s, begin, limit(count), each_kept{});
  }
  LOCUS_HOST_DEVICE unsigned limit(std::int64_t count) const {
    std::int64_t const most = std::int64_t(kept) << team_bits;
    return static_cast<unsigned>(count < most ? count : most);
  }
  template <form How, std::size_t... N>
  LOCUS_HOST_DEVICE void load(state& s, std::int64_t begin, unsigned count,
                              std::index_sequence<N...>) const {
    (load<How>(s.in[N], s, begin, number<How>(s, unsigned(N) << team_bits, count), each_in{}), ...);
  }
  /// means: the number of an existing vector; by_elements, the lanes have theirs or none
  template <form How>
  LOCUS_HOST_DEVICE static unsigned number(state const& s, unsigned n, unsigned count) {
    if (s.rank + n < count) return s.rank + n;
    return How == form::apart || How == form::by_warps ? s.lane : count - 1;
  }
  /// means: the first element of vector n
  LOCUS_HOST_DEVICE static unsigned first_of(state const& s, unsigned n) {
    return (n - s.lane) * unsigned(vector) + s.lane;
  }
  template <form How, std::size_t... K>
  LOCUS_HOST_DEVICE void load(typename facts::vectors& in, state const& s, std::int64_t begin,
                              unsigned n, std::index_sequence<K...>) const {
    if constexpr (How == form::by_warps)
      (get<K>(in.vectors)
           .load_apart(run.operands[K], 1, s.at[K], begin * vector + first_of(s, n), warp_threads),
       ...);
    else if constexpr (How == form::apart)
      (get<K>(in.vectors)
           .load_apart(run.operands[K], run.stride(K), s.at[K], begin * vector + first_of(s, n),
                       lanes()),
       ...);
    else if constexpr (How == form::aligned)
      (get<K>(in.vectors)
           .load(run.operands[K], lay::aligned, run.stride(K),
                 s.at[K] + begin * vector * run.stride(K), std::int64_t(n) * vector, run.length),
       ...);
    else
      (get<K>(in.vectors)
           .load(run.operands[K], run.how[K], run.stride(K), s.at[K], (begin + n) * vector,
                 run.length),
       ...);
  }
  /// means: index of the j-th element after the whole vectors of this thread, at most `vector` of
  ///        them
  LOCUS_HOST_DEVICE std::int64_t tail_at(state const& s, int j) const {
    return wholes(run.length) * vector + s.rank + unsigned(j) * team();
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load_tail(state& s, std::index_sequence<K...>) const {
    for (int j = 0; j < vector; ++j) {
      std::int64_t const i = tail_at(s, j) < run.length ? tail_at(s, j) : run.length - 1;
      ((get<K>(s.tail.vectors).values[j] =
            read<at_t<K, ins>>(run.operands[K], s.at[K] + i * run.stride(K))),
       ...);
    }
  }
  LOCUS_HOST_DEVICE bool has_tail() const { return wholes(run.length) * vector < run.length; }

  /// means: whole(in, i, k, loaded, is_there) for each vector of this thread: i is its first
  ///        element, k its register; loaded: it was loaded by the last visit; then tail(j, i) for
  ///        each element after whole vectors. A visit begins with the vectors that the last one
  ///        left in registers.
  LOCUS_EXEC_CHECK_DISABLE
  template <class Whole, class Tail>
  LOCUS_HOST_DEVICE void each(state& s, Whole const& whole, Tail const& tail) const {
    std::int64_t const all = wholes(run.length), step = std::int64_t(kept) << team_bits,
                       last_begin = (all - 1) & ~(step - 1);
    bool const forwards = s.there <= 0;
    for (std::int64_t done = 0; done < all; done += step) {
      std::int64_t const begin = forwards ? done : last_begin - done;
      bool const loaded = begin == s.there;
      if (!loaded) load(s, begin, all - begin), s.there = begin;
      visit(s, begin, limit(all - begin), loaded, whole, each_kept{});
    }
    if (has_tail())
      for (int j = 0; j < vector; ++j)
        if (tail_at(s, j) < run.length) tail(j, tail_at(s, j));
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <class Whole, std::size_t... N>
  LOCUS_HOST_DEVICE void visit(state& s, std::int64_t begin, unsigned count, bool loaded,
                               Whole const& whole, std::index_sequence<N...>) const {
    (whole(s.in[N], begin * vector + (s.first + (unsigned(N * vector) << team_bits)), int(N),
           loaded, s.rank + (unsigned(N) << team_bits) < count),
     ...);
  }
  LOCUS_HOST_DEVICE typename input_pack<ins>::values element(state const& s, std::int64_t i) const {
    std::int64_t here[facts::operands];
    for (int k = 0; k < facts::in_count; ++k) here[k] = s.at[k] + i * run.stride(k);
    return input_pack<ins>::at(run.operands, here);
  }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block, class Own, std::size_t... F>
  LOCUS_HOST_DEVICE void fold_all(Block const& block, Own& mine, std::index_sequence<F...>) const {
    (fold<int(F)>(block, mine), ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <int F, class Block, class Own>
  LOCUS_HOST_DEVICE void fold(Block const& block, Own& mine) const {
    using reducer = typename at_t<F, typename Work::fold_list>::reducer;
    using all = totals_of<type_list<reducer>>;
    constexpr bool keeps = F == facts::folds - 1 && facts::keeps;
    typename Block::template own<typename all::total> v;
    auto const& one = get<F>(folds);
    block.apart([&](unsigned t) {
      v[t] = all::identity();
      state& s = mine[t];
      if (s.row < 0) return;
      typename all::lane lanes[vector];
      for (auto& l : lanes) l = all::start();
      auto const flush = [&] {
        for (auto& l : lanes) all::flush(v[t], l);
      };
      auto const add = [&](auto& lane, typename facts::vectors& in, int j) {
        if constexpr (keeps) {
          auto const r = end.keep(in.element(j), s.folded);
          all::add(lane, r);
          get<0>(in.vectors).values[j] = get<1>(r);
        } else
          all::add(lane, one.f(in.element(j), s.folded));
      };
      if (one.extent == run.length)
        each(
            s,
            [&](typename facts::vectors& in, std::int64_t, int k, bool, bool is_there) {
              if (is_there)
                for (int j = 0; j < vector; ++j) add(lanes[j], in, j);
              if ((k + 1) % all::adds == 0 || k + 1 == kept) flush();
            },
            [&](int j, std::int64_t) { add(lanes[j], s.tail, j); });
      else  // a fold over fewer elements than the row
        for (std::int64_t i = s.rank; i < one.extent; i += team())
          all::add(lanes[0], one.f(element(s, i), s.folded)), flush();
      flush();
    });
    block.template fold<all>(v, team());
    block.apart(
        [&](unsigned t) { get<F>(mine[t].folded) = reducer::finish(get<0>(v[t]), one.count); });
  }

  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void finish(state& s) const {
    if constexpr (Work::elementwise) {
      // kept values of the last fold are in the registers of the first input
      bool const is_computed = facts::keeps && get<facts::folds - 1>(folds).extent == run.length;
      auto const value = [&](typename facts::vectors const& in, int j, bool computed) {
        if constexpr (facts::keeps)
          if (computed)
            return end.finish(pack<at_t<0, outs>>{get<0>(in.vectors).values[j]}, s.folded);
        return last(in.element(j), s.folded);
      };
      each(
          s,
          [&](typename facts::vectors const& in, std::int64_t i, int, bool loaded, bool is_there) {
            if (!is_there) return;
            stored_outputs<outs, vector> to;
            for (int j = 0; j < vector; ++j)
              to.template set_from<0>(j, value(in, j, is_computed && loaded));
            store(to, s, i, std::make_index_sequence<std::size_t(outs::size)>{});
          },
          [&](int j, std::int64_t i) {
            std::int64_t at[facts::operands];
            for (int k = 0; k < facts::operands; ++k) at[k] = s.at[k] + i * run.stride(k);
            output_pack<outs>::write(value(s.tail, j, is_computed), run.operands + facts::out,
                                     at + facts::out);
          });
    } else if (s.rank == 0)
      output_pack<outs>::write(last(input_pack<typename facts::rows>::at(
                                        run.operands + facts::in_count, s.at + facts::in_count),
                                    s.folded),
                               run.operands + facts::out, s.at + facts::out);
  }
  template <class... T, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<T...>, vector> const& to, state const& s,
                               std::int64_t i, std::index_sequence<M...>) const {
    (store_vector(get<M>(to.vectors), run.operands[facts::out + M], run.how[facts::out + M],
                  run.stride(facts::out + M), s.at[facts::out + M], i, by_elements ? lanes() : 1),
     ...);
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <bool Elementwise, class Folds, class Last, class Ins, class Rows, class Outs,
          bool HasCudaKernel>
struct cuda_kernel<rows_work<Elementwise, Folds, Last, Ins, Rows, Outs, HasCudaKernel>> {
  using Work = rows_work<Elementwise, Folds, Last, Ins, Rows, Outs, HasCudaKernel>;
  using facts = cuda_side::row_facts<Work>;

  static void launch(launch_site const& site, Work const& work) {
    choose(work, [&](auto const& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
  template <class Start>
  static void choose(Work const& work, Start&& start) {
    kernel::space outer = work.over;
    int const last = --outer.rank;
    std::int64_t const rows = outer.size();
    if (rows == 0) return;
    lines_type run(work.over, static_cast<axis_set>(1u << last), work.operands, byte_table.of);
    bool const by_elements = run.length % facts::vector != 0;
    bool is_plain = !by_elements;
    for (int k = 0; k < facts::in_count; ++k)
      is_plain = is_plain && (byte_table.of[k] == 0 || run.how[k] == cuda_side::lay::aligned);
    unsigned const bits = team_bits(rows, run.length / facts::vector);
    // in short rows, vectors of whole warps would leave more single elements
    bool const in_warps = bits >= 5 && run.length / facts::vector > std::int64_t(facts::kept / 2)
                                                                        << bits;
    bool by_warps = by_elements && in_warps;
    for (int k = 0; k < facts::operands; ++k)
      by_warps = by_warps && (is_of_rows(k) || run.stride(k) == 1);
    if (by_elements)
      for (cuda_side::lay& how : run.how)
        how = by_warps ? cuda_side::lay::by_warps : cuda_side::lay::strided;
    cuda_side::rows_by_teams<Work> body{work.folds,
                                        work.last,
                                        cuda_side::row_end<Work>(work),
                                        rows,
                                        bits,
                                        is_plain,
                                        by_elements,
                                        in_warps ? 5 : bits,
                                        by_warps,
                                        run,
                                        cuda_side::unravel(outer),
                                        {}};
    for (int k = 0; k < Work::operand_count; ++k) body.operands[k] = work.operands[k];
    start(body, cuda_side::blocks_of(rows, cuda_side::block_threads >> body.team_bits));
  }

 private:
  using lines_type = cuda_side::lines<Work::operand_count, facts::vector>;
  /// true: operand k has one value for each row
  static constexpr bool is_of_rows(int k) {
    return (k >= facts::in_count && k < facts::out) || (k >= facts::out && !Work::elementwise);
  }
  /// means: 2^bits threads share a row. Up to four vectors: one thread. More: the fewest threads
  ///        that keep the whole row in registers, at most a block. Fewer than 512 rows do not fill
  ///        a card: then a thread keeps at most four vectors, and a row that is too long for a warp
  ///        gets a block
  static unsigned team_bits(std::int64_t rows, std::int64_t vectors) {
    std::int64_t const few = facts::kept < 4 ? facts::kept : 4,
                       most = rows < 512 ? few : facts::kept;
    if (vectors <= few) return 0;
    for (unsigned bits = 1; bits < 8; ++bits)
      if (vectors <= (bits > 5 && rows < 512 ? 0 : most) << bits) return bits;
    return 8;
  }
  static constexpr auto byte_table = cuda_side::bytes_of_each(concatenate_t<Ins, Rows>{}, Outs{});
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// Rows on a GPU: a warp or a block folds its row as often as the kernel asks, then writes its
// elements or its value. A row of at most 16 KiB is read once.
#pragma once
#include <locus/backend/cuda/backend.hpp>  // cuda_kernel
#include <locus/backend/cuda/launch.hpp>   // start
#include <locus/backend/cuda/lines.hpp>    // lines
#include <locus/backend/cuda/totals.hpp>   // totals_of
#include <locus/backend/work.hpp>          // rows_work

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

/// What the types of a kernel of rows say.
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
  /// vectors of each thread that the block keeps in shared memory
  static constexpr int fit = ins::size == 0 ? 0 : 16384 / int(block_threads * sizeof(vectors));
  static constexpr int kept = fit < 4 ? fit : 4;
};

/// A team of 32 or 256 threads for each row.
template <class Work>
struct rows_by_teams {
  using facts = row_facts<Work>;
  using ins = typename facts::ins;
  using outs = typename facts::outs;
  using results = typename facts::results;
  static constexpr int vector = facts::vector;
  decltype(Work::folds) folds;
  decltype(Work::last) last;
  std::int64_t rows;
  unsigned team;
  lines<facts::operands, vector, false> run;  // the row's axis
  unravel outer;                              // the axes before it
  kernel::access operands[facts::operands];   // in these

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<state> mine;
    auto* const kept = block.template shared<typename facts::vectors, kept_of_block>();
    block.apart([&](unsigned t) {
      state& s = mine[t];
      s.row = std::int64_t(block.number()) * (block_threads / team) + t / team;
      s.row = s.row < rows ? s.row : -1;
      s.first = t % team;
      outer.template offsets<facts::operands>(s.row < 0 ? 0 : s.row, operands, s.at);
      s.kept = kept + t % kept_of_block;
      if (s.row >= 0 && is_kept()) keep(s);
    });
    fold_all(block, mine, std::make_index_sequence<std::size_t(facts::folds)>{});
    block.apart([&](unsigned t) {
      if (mine[t].row >= 0) finish(mine[t]);
    });
  }

 private:
  struct state {
    std::int64_t row;  // -1: none
    unsigned first;    // vector
    std::int64_t at[facts::operands];
    typename facts::vectors* kept;  // [k * block_threads]
    results folded;
  };
  using each_in = std::make_index_sequence<std::size_t(facts::in_count)>;
  static constexpr unsigned kept_of_block = facts::kept > 0 ? facts::kept* block_threads : 1;
  LOCUS_HOST_DEVICE bool is_kept() const {
    return run.length <= std::int64_t(facts::kept) * vector * team;
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(typename facts::vectors& in, state const& s, std::int64_t i,
                              std::index_sequence<K...>) const {
    (get<K>(in.vectors).load(run.operands[K], run.how[K], run.stride(K), s.at[K], i, run.length),
     ...);
  }
  LOCUS_HOST_DEVICE void keep(state const& s) const {
    for (int k = 0; k < facts::kept; ++k) {
      std::int64_t const i = (std::int64_t(k) * team + s.first) * vector;
      if (i + vector <= run.length) load(s.kept[unsigned(k) * block_threads], s, i, each_in{});
    }
  }
  /// means: whole(in, i) for each vector of the row's first `extent` elements that this thread has,
  ///        single(i) for the elements of the last part of one
  LOCUS_EXEC_CHECK_DISABLE
  template <class Whole, class Single>
  LOCUS_HOST_DEVICE void each(state const& s, std::int64_t extent, Whole const& whole,
                              Single const& single) const {
    bool const from_kept = facts::kept > 0 && is_kept();
    std::int64_t i = std::int64_t(s.first) * vector;
    for (unsigned k = 0; i + vector <= extent; i += std::int64_t(team) * vector, ++k)
      if (from_kept)
        whole(s.kept[k * block_threads], i);
      else {
        typename facts::vectors in;
        load(in, s, i, each_in{});
        whole(in, i);
      }
    for (int j = 0; j < vector && i + j < extent; ++j) single(i + j, j);
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
    typename Block::template own<typename all::total> v;
    auto const& one = get<F>(folds);
    block.apart([&](unsigned t) {
      v[t] = all::identity();
      state const& s = mine[t];
      if (s.row < 0) return;
      typename all::lane lanes[vector];
      for (auto& l : lanes) l = all::start();
      int added = 0;
      each(
          s, one.extent,
          [&](typename facts::vectors const& in, std::int64_t) {
            for (int j = 0; j < vector; ++j) all::add(lanes[j], one.f(in.element(j), s.folded));
            if (++added % all::adds == 0)
              for (auto& l : lanes) all::flush(v[t], l);
          },
          [&](std::int64_t i, int j) {
            // a lane by its number, without an address of it
            auto const r = one.f(element(s, i), s.folded);
            for (int k = 0; k < vector; ++k)
              if (k == j) all::add(lanes[k], r);
          });
      for (auto& l : lanes) all::flush(v[t], l);
    });
    block.template fold<all>(v, team);
    block.apart(
        [&](unsigned t) { get<F>(mine[t].folded) = reducer::finish(get<0>(v[t]), one.count); });
  }

  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void finish(state const& s) const {
    if constexpr (Work::elementwise)
      each(
          s, run.length,
          [&](typename facts::vectors const& in, std::int64_t i) {
            stored_outputs<outs, vector> to;
            for (int j = 0; j < vector; ++j)
              to.template set_from<0>(j, last(in.element(j), s.folded));
            store(to, s, i, std::make_index_sequence<std::size_t(outs::size)>{});
          },
          [&](std::int64_t i, int) {
            std::int64_t at[facts::operands];
            for (int k = 0; k < facts::operands; ++k) at[k] = s.at[k] + i * run.stride(k);
            output_pack<outs>::write(last(element(s, i), s.folded), run.operands + facts::out,
                                     at + facts::out);
          });
    else if (s.first == 0)
      output_pack<outs>::write(last(input_pack<typename facts::rows>::at(
                                        run.operands + facts::in_count, s.at + facts::in_count),
                                    s.folded),
                               run.operands + facts::out, s.at + facts::out);
  }
  template <class... T, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<T...>, vector> const& to, state const& s,
                               std::int64_t i, std::index_sequence<M...>) const {
    (store_vector(get<M>(to.vectors), run.operands[facts::out + M], run.how[facts::out + M],
                  run.stride(facts::out + M), s.at[facts::out + M], i),
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
    lines_type const run(work.over, static_cast<axis_set>(1u << last), work.operands, byte_table.of,
                         -1);
    cuda_side::rows_by_teams<Work> body{
        work.folds, work.last, rows, team(rows, run.vectors), run, cuda_side::unravel(outer), {}};
    for (int k = 0; k < Work::operand_count; ++k) body.operands[k] = work.operands[k];
    start(body, cuda_side::blocks_of(rows, cuda_side::block_threads / body.team));
  }

 private:
  using lines_type = cuda_side::lines<Work::operand_count, facts::vector, false>;
  /// a warp for a row that it keeps, where rows are many, or that is no more than a vector for each
  /// of its threads
  static unsigned team(std::int64_t rows, std::int64_t vectors) {
    bool const fits = vectors <= std::int64_t(facts::kept) * cuda_side::warp_threads;
    return vectors <= cuda_side::warp_threads || (fits && rows >= 1024) ? cuda_side::warp_threads
                                                                        : cuda_side::block_threads;
  }
  template <class... Kinds, class... Rs, class... Os>
  static consteval auto element_bytes(type_list<Kinds...>, type_list<Rs...>, type_list<Os...>) {
    struct table {
      int of[Work::operand_count];
    };
    return table{{cuda_side::bytes_of(type_list<Kinds>{})...,
                  cuda_side::bytes_of(type_list<Rs>{})..., int(sizeof(Os))...}};
  }
  static constexpr auto byte_table = element_bytes(Ins{}, Rows{}, Outs{});
};

}  // namespace LOCUS_MODE
}  // namespace locus

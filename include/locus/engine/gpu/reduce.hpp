// SPDX-License-Identifier: Apache-2.0
// Folds on a GPU: several folds of several operands in one pass, in vectors of 16 bytes.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/fold_cut.hpp>    // fold_cut
#include <locus/engine/gpu/fold_parts.hpp>  // fold_the_parts
#include <locus/engine/gpu/folds.hpp>       // fold_end, fold_map, fold_thread
#include <locus/engine/gpu/launch.hpp>      // start, workspace
#include <locus/engine/gpu/registered.hpp>  // cuda_kernel
#include <locus/engine/gpu/whole_fold.hpp>  // run_whole_fold
#include <locus/work/work.hpp>              // reduce_work

LOCUS_LEAN_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// true: CUB computes the fold if its operands are lines of vectors: everything is folded, no
/// element is stored.
template <class Work>
inline constexpr bool may_be_cubs =
    has_cub_engine && Work::folds_all && Work::element_outputs::size == 0;

/// A team of threads for each output, or for a part of one: its threads stride over vectors. If CUB
/// takes whole vectors (may_be_cubs), the loop for plain vectors is not compiled.
template <class Work>
struct fold_rows {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  decltype(Work::f) f;
  fold_end<Work> end;
  fold_map<Work> map;
  unsigned team_bits;  // 2^team_bits threads
  std::int64_t each;   // vectors of a part
  quotient outputs;
  /// rows of incomplete vectors, for a team of at least a warp: neighbouring threads read
  /// neighbouring elements, at any alignment
  bool by_warps;
  bool is_run;  // all element operands are contiguous along the row

  LOCUS_HOST_DEVICE unsigned team() const { return 1u << team_bits; }
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<typename all::total> v;
    block.apart([&](unsigned t) {
      v[t] = all::identity();
      if (job(block, t) < map.outputs * end.parts) fold(v[t], job(block, t), rank(t));
    });
    block.template fold<all>(v, team());
    block.apart([&](unsigned t) {
      if (rank(t) != 0 || job(block, t) >= map.outputs * end.parts) return;
      if (end.partials) {
        end.partials[job(block, t)] = v[t];
        return;
      }
      std::int64_t at[facts::operands];
      map.find(job(block, t), at);
      end.finish(v[t], map.run.operands, at);
    });
  }

 private:
  /// means: number of thread t in its team
  LOCUS_HOST_DEVICE unsigned rank(unsigned t) const { return t & (team() - 1); }
  template <class Block>
  LOCUS_HOST_DEVICE std::int64_t job(Block const& block, unsigned t) const {
    return std::int64_t(block.number()) * (block_threads >> team_bits) + (t >> team_bits);
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void fold(typename all::total& to, std::int64_t output, unsigned t) const {
    std::int64_t const part = end.parts == 1 ? 0 : outputs.divide(output);
    std::int64_t base[facts::operands];
    map.find(output, base);
    std::int64_t const begin = part * each,
                       stop = begin + each < map.run.vectors ? begin + each : map.run.vectors;
    // an incomplete vector at the end of a row is added alone
    std::int64_t const whole = map.run.count == 1 && map.wholes < stop ? map.wholes : stop;
    using thread = fold_thread<Work>;
    thread mine{f, map, {}};
    auto const flush = [&](auto& lanes) {
      for (auto& l : lanes) all::flush(to, l);
    };
    if (by_warps) {
      unsigned const lane = t & (warp_threads - 1);
      std::int64_t const length = map.run.length,
                         behind = stop * facts::vector < length ? stop * facts::vector : length;
      // vectors of whole warps, then single elements
      std::int64_t const in_warps = (behind / facts::vector - begin) & -std::int64_t(warp_threads);
      typename thread::place first;
      first.begin = begin * facts::vector + lane;
      for (int k = 0; k < facts::operands; ++k) first.at[k] = base[k];
      mine.add_by_warps(
          is_run, std::int64_t(t), in_warps, team(),
          [&](std::int64_t n) {
            typename thread::place q = first;
            q.begin += (n - lane) * facts::vector;
            return q;
          },
          flush);
      first.begin = (begin + in_warps) * facts::vector + t;
      mine.add_rest(first, behind, team(), flush);
      return;
    }
    bool const few = map.length <= warp_threads,
               plain = !may_be_cubs<Work> && map.is_plain && whole - begin <= thread::most_plain;
    if constexpr (!may_be_cubs<Work>)
      if (plain) {
        typename thread::place first;
        first.begin = begin * facts::vector;
        for (int k = 0; k < facts::operands; ++k) first.at[k] = base[k];
        mine.add_plain(
            t, static_cast<std::uint32_t>(whole - begin), team(), few,
            [&](std::uint32_t n) {
              typename thread::place q = first;
              q.begin += std::int64_t(n) * facts::vector;
              return q;
            },
            flush);
        if (whole == stop || rank(static_cast<unsigned>(whole - begin)) != t) return;
      }
    mine.add_any(
        plain ? whole : begin + t, stop, whole, team(), few,
        [&](std::int64_t n) {
          auto const p = map.run.find(n);
          typename thread::place q;
          q.begin = p.begin;
          for (int k = 0; k < facts::operands; ++k) q.at[k] = p.at[k] + base[k];
          return q;
        },
        flush);
  }
};

/// A thread for each vector of outputs and each of `down` subsets of points, or for a part of
/// these; neighbouring threads read neighbouring vectors.
template <class Work>
struct fold_columns {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  static constexpr int vector = facts::vector;
  struct totals {
    total of[vector];
  };
  /// a total of at most 8 bytes for each of four columns: 10 % sooner than with three blocks of 70 registers
  /// a thread; others would keep registers in memory
  /// after: bench/results/2026-11-26-gpu.md, sums of 4096 columns
  static constexpr unsigned least_blocks = vector == 4 && sizeof(total) <= 8 ? 4 : 1;
  decltype(Work::f) f;
  fold_end<Work> end;
  fold_map<Work> map;
  unsigned across_bits;  // 2^across_bits threads side by side
  std::int64_t each;     // points of a part
  std::int64_t tiles;
  quotient tile;
  /// lines of incomplete vectors: neighbouring threads read neighbouring columns, at any alignment
  bool by_warps;
  std::int64_t vectors;  // of the outputs; by warps, rounded up to whole warps

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<totals> v;
    std::int64_t column = block.number();
    std::int64_t const part = tile.divide(column), first = column * across();
    block.apart([&](unsigned t) {
      for (total& one : v[t].of) one = all::identity();
      if (first + beside(t) < vectors) fold(v[t], first + beside(t), part, t >> across_bits);
    });
    if (across() < block_threads) fold_down(block, v);
    block.apart([&](unsigned t) {
      if (t >= across() || first + t >= vectors) return;
      auto const p = map.run.find(first + t);
      for (int j = 0; j < vector; ++j) {
        if (end.partials)  // neighbouring threads store neighbouring totals
          end.partials[part * end.in_part + j * vectors + first + t] = v[t].of[j];
        else if (std::int64_t const c = element_of_vector<vector>(p.begin / vector, j, by_warps);
                 c < map.run.length) {
          std::int64_t at[facts::operands];
          for (int k = 0; k < facts::operands; ++k) at[k] = p.at[k] + c * map.run.stride(k);
          end.finish(v[t].of[j], map.run.operands, at);
        }
      }
    });
  }

 private:
  static constexpr int fit = 16384 / int(block_threads * sizeof(total)),
                       at_once = fit < 1 ? 1 : largest_power(fit < vector ? fit : vector);
  LOCUS_HOST_DEVICE unsigned across() const { return 1u << across_bits; }
  LOCUS_HOST_DEVICE unsigned beside(unsigned t) const { return t & (across() - 1); }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void fold(totals& to, std::int64_t column, std::int64_t part,
                              unsigned down) const {
    auto const base = map.run.find(column);
    std::int64_t const begin = part * each,
                       stop = begin + each < map.length ? begin + each : map.length;
    using thread = fold_thread<Work>;
    thread mine{f, map, {}};
    auto const flush = [&](auto& lanes) {
      for (int j = 0; j < vector; ++j) all::flush(to.of[j], lanes[j]);
    };
    bool const few = map.length <= warp_threads;
    unsigned const step = block_threads >> across_bits;
    if (by_warps) {
      bool const is_whole = ((column | (warp_threads - 1)) + 1) * vector <= map.run.length;
      return mine.add_by_warps(
          is_whole, begin + down, stop, step,
          [&](std::int64_t n) {
            typename thread::place q;
            for (int k = 0; k < facts::operands; ++k)
              q.at[k] = base.at[k] + n * map.in_other[k].stride[0];
            q.begin = element_of_vector<vector>(column, 0, true);
            return q;
          },
          flush);
    }
    if (map.is_plain && base.begin + vector <= map.run.length)
      mine.add_plain(
          begin + down, stop, step, few,
          [&](std::int64_t n) {
            typename thread::place q;
            for (int k = 0; k < facts::operands; ++k)
              q.at[k] = base.at[k] + n * map.in_other[k].stride[0];
            q.begin = base.begin;
            return q;
          },
          flush);
    else
      mine.add_any(
          begin + down, stop, stop, step, few,
          [&](std::int64_t n) {
            typename thread::place q;
            map.other.template offsets<facts::operands>(n, map.in_other, q.at);
            for (int k = 0; k < facts::operands; ++k) q.at[k] += base.at[k];
            q.begin = base.begin;
            return q;
          },
          flush);
  }
  /// combines the subsets of points of each output, for as many columns at once as fit in 16 KiB of
  /// shared memory
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block, class Own>
  LOCUS_HOST_DEVICE void fold_down(Block const& block, Own& v) const {
    auto* const shared = block.template shared<total, at_once * block_threads>();
    for (int j = 0; j < vector; j += at_once) {
      block.each([&](unsigned t) {
        for (int i = 0; i < at_once; ++i) shared[unsigned(i) * block_threads + t] = v[t].of[j + i];
      });
      for (unsigned half = block_threads / 2; half >= across(); half /= 2)
        block.each([&](unsigned t) {
          for (int i = 0; i < at_once && t < half; ++i) {
            total& mine = shared[unsigned(i) * block_threads + t];
            mine = all::combine(mine, shared[unsigned(i) * block_threads + t + half]);
          }
        });
      block.apart([&](unsigned t) {
        for (int i = 0; i < at_once && t < across(); ++i)
          v[t].of[j + i] = shared[unsigned(i) * block_threads + t];
      });
    }
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <class Reducers, class Stage, class Rest, class Ins, class Rows, class ElementOuts,
          class Outs, bool HasCudaKernel, bool FoldsAll>
struct cuda_kernel<
    reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, HasCudaKernel, FoldsAll>> {
  using Work =
      reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, HasCudaKernel, FoldsAll>;
  using facts = cuda_side::fold_facts<Work>;
  using total = typename facts::all::total;

  static void launch(launch_site const& site, Work work) {
    if constexpr (cuda_side::may_be_cubs<Work>) {
      kernel::collapse(work.over, work.operands, Work::operand_count);
      if (cuda_side::run_whole_fold(site, work, byte_table.of)) return;
    }
    choose(
        work, [&](std::int64_t bytes) { return cuda_side::workspace(site, bytes); },
        [&](auto const& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
  /// means: start(body, blocks) for each kernel of the fold; obtain(bytes).data() is the memory for
  ///        its parts
  template <class Obtain, class Start>
  static void choose(Work work, Obtain&& obtain, Start&& start) {
    kernel::collapse(work.over, work.operands, Work::operand_count);
    cuda_side::fold_map<Work> const map(work.over, work.operands, byte_table.of);
    if (map.outputs == 0) return;
    cuda_side::fold_cut const cut =
        map.by_rows ? cuda_side::fold_cut::of_rows(map.outputs, map.run.vectors)
                    : cuda_side::fold_cut::of_columns(map.run.vectors, map.length);
    bool is_run = map.run.count == 1;
    for (int k = 0; k < facts::out; ++k)
      is_run = is_run && (is_of_rows(k) || map.run.stride(k) == 1);
    // by the extents only, as the order of a sum: the memory of parts is measured without
    // addresses. With a single vector for each thread, single elements would dominate
    bool const by_warps =
        map.run.count == 1 && map.run.length % facts::vector != 0 &&
        (map.by_rows ? cut.team_bits >= 5 && cut.each >= std::int64_t(2) << cut.team_bits
                     : cut.across_bits == 5 && is_run && map.other.rank <= 1);
    std::int64_t const vectors = by_warps && !map.by_rows ? (map.run.vectors + 31) / 32 * 32
                                                          : map.run.vectors,
                       in_part = map.by_rows ? map.outputs : vectors * facts::vector;
    auto const memory =
        obtain(cut.parts > 1 ? in_part * cut.parts * std::int64_t(sizeof(total)) : std::int64_t(0));
    cuda_side::fold_end<Work> const end{
        work.rest, work.means, cut.parts > 1 ? static_cast<total*>(memory.data()) : nullptr,
        cut.parts, in_part};
    if (map.by_rows) {
      std::int64_t const jobs = map.outputs * cut.parts;
      start(
          cuda_side::fold_rows<Work>{
              work.f, end, map, cut.team_bits, cut.each, {map.outputs, jobs}, by_warps, is_run},
          cuda_side::blocks_of(jobs, cuda_side::block_threads >> cut.team_bits));
    } else if constexpr (!FoldsAll) {
      std::int64_t const blocks = cut.tiles * cut.parts;
      start(cuda_side::fold_columns<Work>{work.f,
                                          end,
                                          map,
                                          cut.across_bits,
                                          cut.each,
                                          cut.tiles,
                                          {cut.tiles, blocks},
                                          by_warps,
                                          vectors},
            cuda_side::blocks_of(blocks, 1));
    }
    if (cut.parts > 1) start_last(work, end, map, vectors, by_warps, start);
  }

 private:
  /// true: operand k has one value for each output
  static constexpr bool is_of_rows(int k) { return k >= facts::row && k < facts::element; }
  static constexpr auto byte_table =
      cuda_side::bytes_of_each(concatenate_t<Ins, Rows>{}, concatenate_t<ElementOuts, Outs>{});

  template <class Start>
  static void start_last(Work const& work, cuda_side::fold_end<Work> const& end,
                         cuda_side::fold_map<Work> const& map, std::int64_t vectors, bool by_warps,
                         Start&& start) {
    unsigned bits = 3;  // whole sectors; more if there are few parts
    while (bits < 8 && cuda_side::block_threads >> bits > end.parts) ++bits;
    while (bits > 0 && std::int64_t(1) << (bits - 1) >= end.in_part) --bits;
    bool const rows = map.by_rows;
    cuda_side::fold_the_parts<Work> body{end,
                                         bits,
                                         rows ? 1 : facts::vector,
                                         rows ? end.in_part : map.run.length,
                                         by_warps && !rows,
                                         {rows ? end.in_part : vectors, end.in_part},
                                         {rows       ? end.in_part
                                          : by_warps ? vectors
                                                     : map.run.in_line,
                                          end.in_part},
                                         {},
                                         {}};
    kernel::space kept;
    for (int k = 0; k < Work::operand_count; ++k)
      body.operands[k].data = work.operands[k].data, body.operands[k].base = work.operands[k].base;
    for (int d = 0; d < work.over.rank; ++d) {
      if (has_axis(work.over.axes, d)) continue;
      for (int k = 0; k < Work::operand_count; ++k)
        body.operands[k].stride[kept.rank] = work.operands[k].stride[d];
      kept.extent[kept.rank++] = work.over.extent[d];
    }
    body.kept = cuda_side::unravel(kept);
    start(body, cuda_side::blocks_of(end.in_part, 1u << bits));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END

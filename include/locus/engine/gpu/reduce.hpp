// SPDX-License-Identifier: Apache-2.0
// Folds on a GPU: several of several operands in one pass, in vectors of 16 bytes.
#pragma once
#include <locus/backend/cuda/backend.hpp>   // cuda_kernel
#include <locus/backend/cuda/folds.hpp>     // fold_map, fold_thread
#include <locus/backend/cuda/launch.hpp>    // start, workspace
#include <locus/backend/work.hpp>           // reduce_work
#include <locus/engine/gpu/fold_end.hpp>    // fold_end
#include <locus/engine/gpu/whole_fold.hpp>  // run_whole_fold

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// A warp or a block for each output, or a block for a part of it: threads stride over its vectors.
template <class Work>
struct fold_rows {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  decltype(Work::f) f;
  fold_end<Work> end;
  fold_map<Work> map;
  unsigned team;
  std::int64_t each;  // vectors of a part
  quotient parts;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<typename all::total> v;
    block.apart([&](unsigned t) {
      v[t] = all::identity();
      if (job(block, t) < map.outputs * end.parts) fold(v[t], job(block, t), t % team);
    });
    block.template fold<all>(v, team);
    block.apart([&](unsigned t) {
      if (t % team != 0 || job(block, t) >= map.outputs * end.parts) return;
      if (end.partials) {
        end.partials[job(block, t)] = v[t];
        return;
      }
      std::int64_t at[facts::operands];
      map.other.template offsets<facts::operands>(job(block, t), map.in_other, at);
      end.finish(v[t], map.run.operands, at);
    });
  }

 private:
  template <class Block>
  LOCUS_HOST_DEVICE std::int64_t job(Block const& block, unsigned t) const {
    return std::int64_t(block.number()) * (block_threads / team) + t / team;
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void fold(typename all::total& to, std::int64_t job, unsigned t) const {
    std::int64_t part = job, output = job;
    if (end.parts == 1)
      part = 0;
    else
      output = parts.divide(part);
    std::int64_t base[facts::operands];
    map.other.template offsets<facts::operands>(output, map.in_other, base);
    std::int64_t const begin = part * each,
                       stop = begin + each < map.run.vectors ? begin + each : map.run.vectors;
    using thread = fold_thread<Work>;
    thread mine{f, map, {}};
    mine.add(
        begin + t, stop, team, map.wholes, all::adds,
        [&](std::int64_t n) {
          typename thread::place q;
          q.begin = n * facts::vector;
          for (int k = 0; k < facts::operands; ++k) q.at[k] = base[k];
          return q;
        },
        [&](std::int64_t n) {
          auto const p = map.run.find(n);
          typename thread::place q;
          q.begin = p.begin;
          for (int k = 0; k < facts::operands; ++k) q.at[k] = p.at[k] + base[k];
          return q;
        },
        [&](auto& lanes) {
          for (auto& l : lanes) all::flush(to, l);
        });
  }
};

/// A thread for each vector of outputs and each of `down` sets of points, or for a part of these:
/// neighbours read neighbouring vectors.
template <class Work>
struct fold_columns {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using total = typename all::total;
  static constexpr int vector = facts::vector;
  struct totals {
    total of[vector];
  };
  decltype(Work::f) f;
  fold_end<Work> end;
  fold_map<Work> map;
  unsigned across;    // threads side by side
  std::int64_t each;  // points of a part
  std::int64_t tiles;
  quotient tile;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<totals> v;
    std::int64_t column = block.number();
    std::int64_t const part = tile.divide(column), first = column * across;
    block.apart([&](unsigned t) {
      for (total& one : v[t].of) one = all::identity();
      if (first + t % across < map.run.vectors) fold(v[t], first + t % across, part, t / across);
    });
    if (across < block_threads) fold_down(block, v);
    block.apart([&](unsigned t) {
      if (t >= across || first + t >= map.run.vectors) return;
      auto const p = map.run.find(first + t);
      std::int64_t const output = map.run.count == 1 ? p.begin : output_of(first + t, p.begin);
      for (int j = 0; j < vector; ++j)
        if (p.begin + j < map.run.length) {
          if (end.partials) {
            end.partials[(output + j) * end.output_step + part * end.part_step] = v[t].of[j];
            continue;
          }
          std::int64_t at[facts::operands];
          for (int k = 0; k < facts::operands; ++k)
            at[k] = p.at[k] + (p.begin + j) * map.run.stride(k);
          end.finish(v[t].of[j], map.run.operands, at);
        }
    });
  }

 private:
  LOCUS_HOST_DEVICE std::int64_t output_of(std::int64_t v, std::int64_t begin) const {
    return map.run.line.divide(v) * map.run.length + begin;
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void fold(totals& to, std::int64_t column, std::int64_t part,
                              unsigned down) const {
    auto const base = map.run.find(column);
    std::int64_t const begin = part * each,
                       stop = begin + each < map.length ? begin + each : map.length;
    bool const whole = base.begin + vector <= map.run.length;
    using thread = fold_thread<Work>;
    thread mine{f, map, {}};
    mine.add(
        begin + down, stop, block_threads / across, whole ? stop : 0,
        map.length <= warp_threads ? 1 : all::adds,  // few values: each as a double
        [&](std::int64_t n) {
          typename thread::place q;
          for (int k = 0; k < facts::operands; ++k)
            q.at[k] = base.at[k] + n * map.in_other[k].stride[0];
          q.begin = base.begin;
          return q;
        },
        [&](std::int64_t n) {
          typename thread::place q;
          map.other.template offsets<facts::operands>(n, map.in_other, q.at);
          for (int k = 0; k < facts::operands; ++k) q.at[k] += base.at[k];
          q.begin = base.begin;
          return q;
        },
        [&](auto& lanes) {
          for (int j = 0; j < vector; ++j) all::flush(to.of[j], lanes[j]);
        });
  }
  /// the sets of points, one column of outputs after the other
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block, class Own>
  LOCUS_HOST_DEVICE void fold_down(Block const& block, Own& v) const {
    auto* const shared = block.template shared<total, block_threads>();
    for (int j = 0; j < vector; ++j) {
      block.each([&](unsigned t) { shared[t] = v[t].of[j]; });
      for (unsigned half = block_threads / 2; half >= across; half /= 2)
        block.each([&](unsigned t) {
          if (t < half) shared[t] = all::combine(shared[t], shared[t + half]);
        });
      block.each([&](unsigned t) {
        if (t < across) v[t].of[j] = shared[t];
      });
    }
  }
};

/// The parts of each output, by a warp or a block.
template <class Work>
struct fold_the_parts {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  fold_end<Work> end;
  std::int64_t outputs;
  unsigned team;
  unravel kept;
  kernel::access operands[facts::operands];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<typename all::total> v;
    block.apart([&](unsigned t) {
      v[t] = all::identity();
      if (output(block, t) >= outputs) return;
      auto const* const from = end.partials + output(block, t) * end.output_step;
      for (std::int64_t part = t % team; part < end.parts; part += team)
        v[t] = all::combine(v[t], from[part * end.part_step]);
    });
    block.template fold<all>(v, team);
    block.apart([&](unsigned t) {
      if (t % team != 0 || output(block, t) >= outputs) return;
      std::int64_t at[facts::operands];
      kept.template offsets<facts::operands>(output(block, t), operands, at);
      end.finish(v[t], operands, at);
    });
  }

 private:
  template <class Block>
  LOCUS_HOST_DEVICE std::int64_t output(Block const& block, unsigned t) const {
    return std::int64_t(block.number()) * (block_threads / team) + t / team;
  }
};

/// means: how a fold of that shape is cut; numbers of vectors and points, never of a card
struct fold_cut {
  unsigned team = block_threads, across = block_threads;
  std::int64_t parts = 1, each = 1, tiles = 1;

  /// rows: `vectors` of each of `outputs`
  static fold_cut of_rows(std::int64_t outputs, std::int64_t vectors) {
    fold_cut c;
    bool const many = outputs >= 4096;
    if (vectors <= 2 * warp_threads || (many && vectors <= 16 * warp_threads))
      c.team = warp_threads;
    else
      c.cut(outputs, vectors, 8 * block_threads);
    c.each = (vectors + c.parts - 1) / c.parts;
    return c;
  }
  /// columns: `points` of each vector of outputs
  static fold_cut of_columns(std::int64_t vectors, std::int64_t points) {
    fold_cut c;
    while (c.across / 2 >= vectors) c.across /= 2;
    c.tiles = (vectors + c.across - 1) / c.across;
    c.cut(c.tiles, points, 32 * std::int64_t(block_threads / c.across));
    c.each = (points + c.parts - 1) / c.parts;
    return c;
  }

 private:
  /// parts where outputs alone do not fill a card: 4096 blocks, but none with less than `least`
  void cut(std::int64_t blocks, std::int64_t all, std::int64_t least) {
    constexpr std::int64_t enough = 4096;
    parts = blocks < enough / 4 ? enough / blocks : 1;
    if (parts > all / least) parts = all / least;
    if (parts < 1) parts = 1;
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
    if constexpr (cuda_side::has_cub_engine && FoldsAll && ElementOuts::size == 0) {
      kernel::collapse(work.over, work.operands, Work::operand_count);
      if (cuda_side::run_whole_fold(site, work, byte_table.of)) return;
    }
    choose(
        work, [&](std::int64_t bytes) { return cuda_side::workspace(site, bytes); },
        [&](auto const& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
  /// means: start(body, blocks) for each kernel of the fold; obtain(bytes) has data(), the memory
  ///        of its parts
  template <class Obtain, class Start>
  static void choose(Work work, Obtain&& obtain, Start&& start) {
    kernel::collapse(work.over, work.operands, Work::operand_count);
    cuda_side::fold_map<Work> const map(work.over, work.operands, byte_table.of);
    if (map.outputs == 0) return;
    cuda_side::fold_cut const cut =
        map.by_rows ? cuda_side::fold_cut::of_rows(map.outputs, map.run.vectors)
                    : cuda_side::fold_cut::of_columns(map.run.vectors, map.length);
    auto const memory = obtain(cut.parts > 1 ? map.outputs * cut.parts * std::int64_t(sizeof(total))
                                             : std::int64_t(0));
    cuda_side::fold_end<Work> const end{work.rest,
                                        work.means,
                                        cut.parts > 1 ? static_cast<total*>(memory.data())
                                                      : nullptr,
                                        cut.parts,
                                        map.by_rows ? cut.parts : 1,
                                        map.by_rows ? 1 : map.outputs};
    if (map.by_rows) {
      std::int64_t const jobs = map.outputs * cut.parts;
      start(cuda_side::fold_rows<Work>{work.f, end, map, cut.team, cut.each, {cut.parts, jobs}},
            cuda_side::blocks_of(jobs, cuda_side::block_threads / cut.team));
    } else if constexpr (!FoldsAll) {
      std::int64_t const blocks = cut.tiles * cut.parts;
      start(
          cuda_side::fold_columns<Work>{
              work.f, end, map, cut.across, cut.each, cut.tiles, {cut.tiles, blocks}},
          cuda_side::blocks_of(blocks, 1));
    }
    if (cut.parts > 1) start_last(work, end, map.outputs, start);
  }

 private:
  template <class... Kinds, class... Rs, class... Es, class... Os>
  static consteval auto element_bytes(type_list<Kinds...>, type_list<Rs...>, type_list<Es...>,
                                      type_list<Os...>) {
    struct table {
      int of[Work::operand_count];
    };
    return table{{cuda_side::bytes_of(type_list<Kinds>{})...,
                  cuda_side::bytes_of(type_list<Rs>{})..., int(sizeof(Es))..., int(sizeof(Os))...}};
  }
  static constexpr auto byte_table = element_bytes(Ins{}, Rows{}, ElementOuts{}, Outs{});

  template <class Start>
  static void start_last(Work const& work, cuda_side::fold_end<Work> const& end,
                         std::int64_t outputs, Start&& start) {
    unsigned const team = end.parts <= 4 * cuda_side::warp_threads ? cuda_side::warp_threads
                                                                   : cuda_side::block_threads;
    cuda_side::fold_the_parts<Work> body{end, outputs, team, {}, {}};
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
    start(body, cuda_side::blocks_of(outputs, cuda_side::block_threads / team));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

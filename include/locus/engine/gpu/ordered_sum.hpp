// SPDX-License-Identifier: Apache-2.0
// Reproducible sums on a GPU: a block adds one chunk of one output, in the order of
// work/ordered_sum.hpp.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/inputs.hpp>      // unravel, input_pack, output_pack
#include <locus/engine/gpu/launch.hpp>      // start, workspace
#include <locus/engine/gpu/registered.hpp>  // cuda_kernel
#include <locus/work/ordered_sum.hpp>       // ordered_sum
#include <locus/work/ordered_work.hpp>      // ordered_sum_work

LOCUS_LEAN_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// means: lane[0] = the total of the block's 256 lanes
LOCUS_EXEC_CHECK_DISABLE
template <class Block>
LOCUS_HOST_DEVICE void add_lanes(Block const& block, double* lane) {
  for (unsigned half = kernel::ordered_sum::lanes / 2; half > 0; half /= 2)
    block.each([&](unsigned t) {
      if (t < half) lane[t] += lane[t + half];
    });
}

/// The first level: values of elements, in their own type.
template <class Work>
struct ordered_chunks {
  static constexpr int elements = Work::inputs::size;
  using T = typename Work::type;
  Work w;
  unravel kept, folded;
  kernel::access in_kept[Work::operand_count], in_folded[Work::operand_count];
  std::int64_t outputs, length, chunks;
  double* totals;  // [output * chunks + chunk]

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    auto* const lane = block.template shared<double, kernel::ordered_sum::lanes>();
    for (std::int64_t job = block.number(); job < outputs * chunks; job += block.count()) {
      block.each([&](unsigned t) { lane[t] = static_cast<double>(lane_of(job, t)); });
      add_lanes(block, lane);
      block.each([&](unsigned t) {
        if (t == 0) totals[job] = lane[0];
      });
    }
  }

 private:
  LOCUS_HOST_DEVICE T lane_of(std::int64_t job, unsigned t) const {
    std::int64_t at[Work::operand_count], here[elements + 1];
    kept.template offsets<Work::operand_count>(job / chunks, in_kept, at);
    std::int64_t const begin = job % chunks * kernel::ordered_sum::chunk;
    std::int64_t const end =
        begin + kernel::ordered_sum::chunk < length ? begin + kernel::ordered_sum::chunk : length;
    T sum = T(0);
    for (std::int64_t i = begin + t; i < end; i += kernel::ordered_sum::lanes) {
      folded.template offsets<elements>(i, in_folded, here);
      for (int k = 0; k < elements; ++k) here[k] += at[k];
      sum = sum + get<0>(w.f(input_pack<typename Work::inputs>::at(in_kept, here), pack<>{}));
    }
    return sum;
  }
};

/// A higher level: chunk sums of from[output * from_step + i] for i in [0, length) go to to[output
/// * chunks + chunk].
struct ordered_totals {
  double const* from;
  double* to;
  std::int64_t outputs, length, from_step, chunks;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    auto* const lane = block.template shared<double, kernel::ordered_sum::lanes>();
    for (std::int64_t job = block.number(); job < outputs * chunks; job += block.count()) {
      block.each([&](unsigned t) {
        std::int64_t const begin = job % chunks * kernel::ordered_sum::chunk;
        std::int64_t const end = begin + kernel::ordered_sum::chunk < length
                                     ? begin + kernel::ordered_sum::chunk
                                     : length;
        double sum = 0;
        for (std::int64_t i = begin + t; i < end; i += kernel::ordered_sum::lanes)
          sum += from[job / chunks * from_step + i];
        lane[t] = sum;
      });
      add_lanes(block, lane);
      block.each([&](unsigned t) {
        if (t == 0) to[job] = lane[0];
      });
    }
  }
};

/// Applies `rest` to the sum of each output.
template <class Work>
struct ordered_end {
  Work w;
  unravel kept;
  kernel::access in_kept[Work::operand_count];
  std::int64_t outputs;
  double const* totals;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    constexpr int rows = Work::inputs::size, outs = rows + Work::row_inputs::size;
    each_of(block, outputs, [&](std::int64_t o) {
      std::int64_t at[Work::operand_count];
      kept.template offsets<Work::operand_count>(o, in_kept, at);
      output_pack<typename Work::outputs>::write(
          w.rest(input_pack<typename Work::row_inputs>::at(in_kept + rows, at + rows),
                 w.result(totals[o])),
          in_kept + outs, at + outs);
    });
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <class T, class Stage, class Rest, class Ins, class Rows, class Outs, bool HasCudaKernel>
struct cuda_kernel<ordered_sum_work<T, Stage, Rest, Ins, Rows, Outs, HasCudaKernel>> {
  using Work = ordered_sum_work<T, Stage, Rest, Ins, Rows, Outs, HasCudaKernel>;

  static void launch(launch_site const& site, Work work) {
    kernel::collapse(work.over, work.operands, Work::operand_count);
    kernel::space kept, folded;
    cuda_side::ordered_chunks<Work> first{work, {}, {}, {}, {}, 0, 0, 0, nullptr};
    for (int d = 0; d < work.over.rank; ++d) {
      bool const fold = has_axis(work.over.axes, d);
      kernel::space& to = fold ? folded : kept;
      for (int k = 0; k < Work::operand_count; ++k)
        (fold ? first.in_folded : first.in_kept)[k].stride[to.rank] = work.operands[k].stride[d];
      to.extent[to.rank++] = work.over.extent[d];
    }
    for (int k = 0; k < Work::operand_count; ++k)
      first.in_kept[k].data = work.operands[k].data, first.in_kept[k].base = work.operands[k].base;
    first.kept = cuda_side::unravel(kept), first.folded = cuda_side::unravel(folded);
    std::int64_t const outputs = first.outputs = kept.size();
    std::int64_t length = first.length = folded.size();
    if (outputs == 0) return;
    std::int64_t chunks = first.chunks = kernel::ordered_sum::chunks_of(length);
    // two buffers: each level reads one and writes the other
    std::int64_t const upper = kernel::ordered_sum::chunks_of(chunks);
    cuda_side::workspace const memory(site,
                                      outputs * (chunks + upper) * std::int64_t(sizeof(double)));
    auto *from = static_cast<double*>(memory.data()), *to = from ? from + outputs * chunks : from;
    first.totals = from;
    cuda_side::start(site, first, blocks(outputs * chunks));
    for (length = chunks; length > 1; length = chunks) {
      chunks = kernel::ordered_sum::chunks_of(length);
      cuda_side::start(site, cuda_side::ordered_totals{from, to, outputs, length, length, chunks},
                       blocks(outputs * chunks));
      double* const written = to;
      to = from, from = written;
    }
    cuda_side::ordered_end<Work> last{work, first.kept, {}, outputs, from};
    for (int k = 0; k < Work::operand_count; ++k) last.in_kept[k] = first.in_kept[k];
    cuda_side::start(site, last, cuda_side::blocks_for(outputs));
  }

 private:
  static unsigned blocks(std::int64_t jobs) {
    return static_cast<unsigned>(jobs < cuda_side::most_blocks ? jobs : cuda_side::most_blocks);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END

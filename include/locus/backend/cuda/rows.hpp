// SPDX-License-Identifier: Apache-2.0
// Rows on a GPU: a block folds its row as often as the kernel asks, then writes its elements or its
// value.
#pragma once
#include <locus/backend/cuda/reduce.hpp>  // fold_shared
#include <locus/backend/work.hpp>         // rows_work

namespace locus {

namespace cuda {
inline namespace LOCUS_MODE {

template <class Work, class FoldList>
struct row_folds;
template <class Work, class... Folds>
struct row_folds<Work, type_list<Folds...>> {
  using results = pack<typename Folds::reducer::result...>;
  static constexpr int count = sizeof...(Folds);
};

template <class Work>
struct rows_by_blocks {
  using folds = row_folds<Work, typename Work::fold_list>;
  using ins = typename Work::inputs;
  static constexpr int in_count = ins::size, row_count = Work::row_inputs::size,
                       first_out = in_count + row_count;
  Work w;
  std::int64_t rows, length;
  unravel outer;  // the axes before the row

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    // every thread keeps the results of the row's folds in memory that the block shares
    auto* const results = block.template shared<typename folds::results, 1>();
    for (std::int64_t r = block.number(); r < rows; r += block.count()) {
      all_folds(block, r, *results, std::make_index_sequence<std::size_t(folds::count)>{});
      block.each([&](unsigned t) {
        std::int64_t at[Work::operand_count];
        outer.template offsets<Work::operand_count>(r, w.operands, at);
        if constexpr (Work::elementwise)
          for (std::int64_t j = t; j < length; j += block.size()) {
            std::int64_t here[Work::operand_count];
            for (int k = 0; k < Work::operand_count; ++k)
              here[k] = at[k] + j * w.operands[k].stride[w.over.rank - 1];
            output_pack<typename Work::outputs>::write(
                w.last(input_pack<ins>::at(w.operands, here), *results), w.operands + first_out,
                here + first_out);
          }
        else if (t == 0)
          output_pack<typename Work::outputs>::write(
              w.last(
                  input_pack<typename Work::row_inputs>::at(w.operands + in_count, at + in_count),
                  *results),
              w.operands + first_out, at + first_out);
      });
    }
  }

 private:
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block, std::size_t... F>
  LOCUS_HOST_DEVICE void all_folds(Block const& block, std::int64_t r,
                                   typename folds::results& results,
                                   std::index_sequence<F...>) const {
    (one_fold<F>(block, r, results), ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t F, class Block>
  LOCUS_HOST_DEVICE void one_fold(Block const& block, std::int64_t r,
                                  typename folds::results& results) const {
    auto const& fold = get<F>(w.folds);
    using Reducer = typename at_t<int(F), typename Work::fold_list>::reducer;
    auto* const shared = block.template shared<typename Reducer::total, block_threads>();
    block.each([&](unsigned t) {
      std::int64_t at[Work::operand_count];
      outer.template offsets<Work::operand_count>(r, w.operands, at);
      auto total = Reducer::identity();
      for (std::int64_t j = t; j < fold.extent; j += block.size()) {
        std::int64_t here[in_count + 1];
        for (int k = 0; k < in_count; ++k)
          here[k] = at[k] + j * w.operands[k].stride[w.over.rank - 1];
        auto const v = get<0>(fold.f(input_pack<ins>::at(w.operands, here), results));
        total = Reducer::combine(total, Reducer::widen(Reducer::add(Reducer::start(), v)));
      }
      shared[t] = total;
    });
    fold_shared<Reducer>(block, shared);
    block.each([&](unsigned t) {
      if (t == 0) get<F>(results) = Reducer::finish(shared[0], fold.count);
    });
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda

inline namespace LOCUS_MODE {

template <bool Elementwise, class Folds, class Last, class Ins, class Rows, class Outs,
          bool HasCudaKernel>
struct cuda_kernel<rows_work<Elementwise, Folds, Last, Ins, Rows, Outs, HasCudaKernel>> {
  using Work = rows_work<Elementwise, Folds, Last, Ins, Rows, Outs, HasCudaKernel>;
  static void launch(launch_site const& site, Work const& work) {
    kernel::space outer = work.over;
    --outer.rank;
    std::int64_t const rows = outer.size();
    if (rows == 0) return;
    cuda::start(site,
                cuda::rows_by_blocks<Work>{work, rows, work.over.extent[work.over.rank - 1],
                                           cuda::unravel(outer)},
                static_cast<unsigned>(rows < cuda::most_blocks ? rows : cuda::most_blocks));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

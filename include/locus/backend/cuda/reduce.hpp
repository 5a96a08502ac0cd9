// SPDX-License-Identifier: Apache-2.0
// Folds on a GPU. How a fold is cut and in which order its parts are added depends on the shape
// alone.
#pragma once
#include <locus/backend/cuda/map.hpp>  // start, unravel, input_pack
#include <locus/backend/work.hpp>      // reduce_work, rows_work

namespace locus {

namespace cuda {
inline namespace LOCUS_MODE {

/// One reducer out of several: their totals are one value.
template <class Reducers>
struct reducers_of;
template <class... Reducers>
struct reducers_of<type_list<Reducers...>> {
  using total = pack<typename Reducers::total...>;
  using results = pack<typename Reducers::result...>;
  static constexpr int count = sizeof...(Reducers);

  LOCUS_HOST_DEVICE static constexpr total identity() { return {{Reducers::identity()}...}; }
  LOCUS_HOST_DEVICE static constexpr total combine(total const& a, total const& b) {
    return combine(a, b, std::index_sequence_for<Reducers...>{});
  }
  /// the first of r's values, one for each reducer
  template <class Values>
  LOCUS_HOST_DEVICE static constexpr total add(total const& t, Values const& r) {
    return add(t, r, std::index_sequence_for<Reducers...>{});
  }
  LOCUS_HOST_DEVICE static constexpr results finish(total const& t, double const* counts) {
    return finish(t, counts, std::index_sequence_for<Reducers...>{});
  }

 private:
  template <std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr total combine(total const& a, total const& b,
                                                   std::index_sequence<N...>) {
    return {{Reducers::combine(get<N>(a), get<N>(b))}...};
  }
  template <class Values, std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr total add(total const& t, Values const& r,
                                               std::index_sequence<N...>) {
    return {{Reducers::combine(get<N>(t),
                               Reducers::widen(Reducers::add(Reducers::start(), get<N>(r))))}...};
  }
  template <std::size_t... N>
  LOCUS_HOST_DEVICE static constexpr results finish(total const& t, double const* counts,
                                                    std::index_sequence<N...>) {
    return {{Reducers::finish(get<N>(t), counts[N])}...};
  }
};

/// means: shared[0] = shared[0] + ... + shared[size-1], in a fixed tree
LOCUS_EXEC_CHECK_DISABLE
template <class Reducer, class Block>
LOCUS_HOST_DEVICE void fold_shared(Block const& block, typename Reducer::total* shared) {
  for (unsigned half = block_threads / 2; half > 0; half /= 2)
    block.each([&](unsigned t) {
      if (t < half) shared[t] = Reducer::combine(shared[t], shared[t + half]);
    });
}

/// The kept and the folded axes of a reduction, each as a space of its own, and its operands in
/// both.
template <class Work>
struct fold_shape {
  static constexpr int elements = Work::inputs::size, all = Work::operand_count;
  unravel kept, folded;
  std::int64_t outputs = 1, length = 1;
  kernel::access in_kept[all], in_folded[all];

  explicit fold_shape(Work const& w) {
    kernel::space a, b;
    for (int d = 0; d < w.over.rank; ++d) {
      bool const fold = has_axis(w.over.axes, d);
      kernel::space& to = fold ? b : a;
      for (int k = 0; k < all; ++k)
        (fold ? in_folded : in_kept)[k].stride[to.rank] = w.operands[k].stride[d];
      to.extent[to.rank++] = w.over.extent[d];
    }
    for (int k = 0; k < all; ++k)
      in_kept[k].data = w.operands[k].data, in_kept[k].base = w.operands[k].base;
    kept = unravel(a), folded = unravel(b);
    outputs = a.size(), length = b.size();
  }
};

/// means: totals of points [begin, end) of the folded axes, for the output whose operands begin at
///        `at`; their elements are stored
template <class Work>
LOCUS_HOST_DEVICE typename reducers_of<typename Work::reducers>::total fold_part(
    Work const& w, fold_shape<Work> const& s, std::int64_t const* at, std::int64_t begin,
    std::int64_t end, std::int64_t by) {
  using all = reducers_of<typename Work::reducers>;
  using ins = typename Work::inputs;
  using outs = typename Work::element_outputs;
  constexpr int first_out = ins::size + Work::row_inputs::size;
  constexpr int used = outs::size > 0 ? first_out + outs::size : ins::size;
  typename all::total t = all::identity();
  for (std::int64_t j = begin; j < end; j += by) {
    std::int64_t here[used + 1];
    s.folded.template offsets<used>(j, s.in_folded, here);
    for (int k = 0; k < used; ++k) here[k] += at[k];
    auto const r = w.f(input_pack<ins>::at(s.in_kept, here), pack<>{});
    t = all::add(t, r);
    output_pack<outs>::template write_from<all::count>(r, s.in_kept + first_out, here + first_out);
  }
  return t;
}
/// means: what follows the folds of one output, written
template <class Work>
LOCUS_HOST_DEVICE void finish_fold(Work const& w, fold_shape<Work> const& s,
                                   typename reducers_of<typename Work::reducers>::total const& t,
                                   std::int64_t const* at) {
  constexpr int rows = Work::inputs::size,
                outs = rows + Work::row_inputs::size + Work::element_outputs::size;
  auto const folds = reducers_of<typename Work::reducers>::finish(t, w.means.of);
  output_pack<typename Work::outputs>::write(
      w.rest(input_pack<typename Work::row_inputs>::at(s.in_kept + rows, at + rows), folds),
      s.in_kept + outs, at + outs);
}

/// A block for each output, or for a part of it: threads stride over the folded points.
template <class Work>
struct fold_by_blocks {
  Work w;
  fold_shape<Work> s;
  std::int64_t parts, each;
  typename reducers_of<typename Work::reducers>::total*
      partials;  // [output * parts + part]; null with one part

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    using all = reducers_of<typename Work::reducers>;
    auto* const shared = block.template shared<typename all::total, block_threads>();
    for (std::int64_t job = block.number(); job < s.outputs * parts; job += block.count()) {
      std::int64_t const begin = job % parts * each;
      std::int64_t const end = begin + each < s.length ? begin + each : s.length;
      block.each([&](unsigned t) {
        std::int64_t at[Work::operand_count];
        s.kept.template offsets<Work::operand_count>(job / parts, s.in_kept, at);
        shared[t] = fold_part(w, s, at, begin + t, end, block.size());
      });
      fold_shared<all>(block, shared);
      block.each([&](unsigned t) {
        if (t != 0) return;
        std::int64_t at[Work::operand_count];
        s.kept.template offsets<Work::operand_count>(job / parts, s.in_kept, at);
        if (partials)
          partials[job] = shared[0];
        else
          finish_fold(w, s, shared[0], at);
      });
    }
  }
};

/// A thread for each output, or for a part of it: neighbours read neighbouring columns.
template <class Work>
struct fold_by_threads {
  Work w;
  fold_shape<Work> s;
  std::int64_t parts, each;
  typename reducers_of<typename Work::reducers>::total*
      partials;  // [part * outputs + output]; null with one part

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    each_of(block, s.outputs * parts, [&](std::int64_t job) {
      std::int64_t const output = job % s.outputs, begin = job / s.outputs * each;
      std::int64_t const end = begin + each < s.length ? begin + each : s.length;
      std::int64_t at[Work::operand_count];
      s.kept.template offsets<Work::operand_count>(output, s.in_kept, at);
      auto const total = fold_part(w, s, at, begin, end, 1);
      if (partials)
        partials[job] = total;
      else
        finish_fold(w, s, total, at);
    });
  }
};

/// The parts of each output, in order.
template <class Work>
struct fold_the_parts {
  Work w;
  fold_shape<Work> s;
  std::int64_t parts, output_step, part_step;
  typename reducers_of<typename Work::reducers>::total const* partials;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    using all = reducers_of<typename Work::reducers>;
    each_of(block, s.outputs, [&](std::int64_t o) {
      auto total = all::identity();
      for (std::int64_t part = 0; part < parts; ++part)
        total = all::combine(total, partials[o * output_step + part * part_step]);
      std::int64_t at[Work::operand_count];
      s.kept.template offsets<Work::operand_count>(o, s.in_kept, at);
      finish_fold(w, s, total, at);
    });
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda

inline namespace LOCUS_MODE {

template <class Reducers, class Stage, class Rest, class Ins, class Rows, class ElementOuts,
          class Outs, bool HasCudaKernel>
struct cuda_kernel<
    reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, HasCudaKernel>> {
  using Work = reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, HasCudaKernel>;

  static void launch(launch_site const& site, Work work) {
    kernel::collapse(work.over, work.operands, Work::operand_count);
    cuda::fold_shape<Work> const s(work);
    if (s.outputs == 0) return;
    bool const by_blocks = has_axis(work.over.axes, work.over.rank - 1) && s.length > 32;
    // parts only where outputs alone do not fill a card
    std::int64_t const workers =
        by_blocks ? s.outputs : (s.outputs + cuda::block_threads - 1) / cuda::block_threads;
    std::int64_t const unit = by_blocks ? 8 * cuda::block_threads : 64;
    std::int64_t parts = workers < 256 ? 256 / workers : 1;
    if (parts > s.length / unit) parts = s.length / unit;
    if (parts < 1) parts = 1;
    std::int64_t const each = (s.length + parts - 1) / parts;
    using total = typename cuda::reducers_of<Reducers>::total;
    cuda::workspace const memory(site,
                                 parts > 1 ? s.outputs * parts * std::int64_t(sizeof(total)) : 0);
    auto* const partials = static_cast<total*>(memory.data());
    if (by_blocks) {
      std::int64_t const blocks =
          s.outputs * parts < cuda::most_blocks ? s.outputs * parts : cuda::most_blocks;
      cuda::start(site, cuda::fold_by_blocks<Work>{work, s, parts, each, partials},
                  static_cast<unsigned>(blocks));
    } else
      cuda::start(site, cuda::fold_by_threads<Work>{work, s, parts, each, partials},
                  cuda::blocks_for(s.outputs * parts));
    if (parts > 1)
      cuda::start(site,
                  cuda::fold_the_parts<Work>{work, s, parts, by_blocks ? parts : 1,
                                             by_blocks ? 1 : s.outputs, partials},
                  cuda::blocks_for(s.outputs));
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

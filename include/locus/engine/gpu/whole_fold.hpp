// SPDX-License-Identifier: Apache-2.0
// Folds of whole arrays by cub::DeviceReduce: an item is the total of vectors of 16 bytes, computed
// by the fused expression; the output iterator finishes the fold.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/algorithm.hpp>  // run_algorithm
#include <locus/engine/gpu/engine.hpp>     // has_cub_engine
#include <locus/engine/gpu/folds.hpp>      // fold_end, fold_facts
#include <locus/engine/gpu/launch.hpp>     // workspace
#include <locus/engine/gpu/vectors.hpp>    // place_in_vector
#if LOCUS_MAKES_CUB
#include <locus/engine/gpu/cub_fold.cuh>  // reduce
#endif

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// Item v of the fold: the total of a vector of 16 bytes of each operand. It has no branches: CUB
/// unrolls it and issues its loads together.
template <class Work>
struct total_of_vector {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using ins = typename facts::ins;
  static constexpr int vector =
      vector_size(ins{}, type_list<>{});  // at most 16: one lane adds them
  static constexpr int in_count = ins::size;
  struct operand {
    void const* data;                    // of the first vector; null: an index operand
    std::int64_t base, line_step, step;  // value: base + line * line_step + i * step
  };
  decltype(Work::f) f;
  std::int64_t vectors = 0, rest = 0,
               head = 0;  // rest: single elements; `head` of them come first
  divider line;           // divides by the runs of a line
  bool is_one_line = true;
  // Vectors are numbered in runs of 2^run_bits along a line, runs below each other in bands of
  // 2^band_bits lines: a row that all lines read then stays in the L1 cache. Without such a row
  // both are 0
  unsigned run_bits = 0, band_bits = 0;
  operand operands[in_count > 0 ? in_count : 1]{};

  explicit total_of_vector(decltype(Work::f) const& stage) : f(stage) {}
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE typename all::total operator()(std::int64_t v) const {
    auto const n = static_cast<std::uint32_t>(v), in_band = n >> run_bits,
               run = in_band >> band_bits;
    std::uint32_t const q = line.divide(run);
    std::int64_t const row = is_one_line ? 0 : (q << band_bits) + low_bits(in_band, band_bits),
                       column = is_one_line
                                    ? v
                                    : ((run - q * line.by) << run_bits) + low_bits(n, run_bits);
    loaded_inputs<ins, vector> in;
    load(in, row, column * vector, each{});
    typename all::lane lane = all::start();
    for (int j = 0; j < vector; ++j) all::add(lane, f(in.element(j), pack<>{}));
    typename all::total t = all::identity();
    all::flush(t, lane);
    return t;
  }
  /// means: adds the elements before and after the vectors to t
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void add_rest(typename all::total& t) const {
    for (std::int64_t e = 0; e < rest; ++e) {
      typename all::lane lane = all::start();
      all::add(lane,
               f(element(e < head ? e - head : vectors * vector + e - head, each{}), pack<>{}));
      all::flush(t, lane);
    }
  }

  /// means: sets the operands; false: they are not lines of vectors; bytes: size of an element of
  ///        each
  /// shape: `work` is collapsed, all its axes are folded
  bool place(Work const& work, int const* bytes) {
    kernel::space const& s = work.over;
    if (s.rank > 2) return false;
    std::int64_t const length = s.extent[s.rank - 1], lines = s.rank == 2 ? s.extent[0] : 1;
    std::int64_t phase = 0;
    for (int k = 0, first = -1; k < in_count; ++k) {
      kernel::access const& a = work.operands[k];
      operand& o = operands[k];
      o = {a.data, a.base, s.rank == 2 ? a.stride[0] : 0, length > 1 ? a.stride[s.rank - 1] : 1};
      if (bytes[k] == 0) continue;
      std::int64_t const at = place_in_vector<vector>(a, bytes[k]);
      if (o.step != 1 || (first >= 0 && at != phase) || o.line_step % vector != 0) return false;
      first = k, phase = at;
    }
    is_one_line = lines == 1;
    if (!is_one_line && (phase > 0 || length % vector != 0)) return false;
    std::int64_t const to_next = phase > 0 ? vector - phase : 0;
    head = to_next < length ? to_next : length;
    vectors = lines * ((length - head) / vector);
    rest = is_one_line ? length - vectors * vector : 0;
    if (!is_one_line) {
      if (vectors >= std::int64_t(1) << 31) return false;  // no 64-bit divisions
      bool repeats = false;
      for (int k = 0; k < in_count; ++k)
        repeats = repeats || (bytes[k] != 0 && operands[k].line_step == 0);
      if (repeats && length / vector % warp_threads == 0) {
        while (band_bits < 3 && (lines >> band_bits & 1) == 0) ++band_bits;
        if (band_bits > 0) run_bits = 5;
      }
      line = divider(vectors == 0 ? 1 : static_cast<std::uint32_t>(length / vector >> run_bits));
    }
    for (int k = 0; k < in_count; ++k) {
      operand& o = operands[k];
      if (bytes[k] == 0)
        o.base += head * o.step;
      else
        o.data = static_cast<char const*>(o.data) + head * bytes[k];
    }
    return true;
  }

 private:
  using each = std::make_index_sequence<std::size_t(in_count)>;
  LOCUS_HOST_DEVICE static std::uint32_t low_bits(std::uint32_t n, unsigned bits) {
    return n & ((1u << bits) - 1);
  }
  template <class Kind>
  LOCUS_HOST_DEVICE void load(loaded<Kind, vector>& to, operand const& o, std::int64_t row,
                              std::int64_t i) const {
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      for (int j = 0; j < vector; ++j) to.values[j] = o.base + row * o.line_step + (i + j) * o.step;
    else
      to.load_aligned(static_cast<typename Kind::type const*>(o.data) + row * o.line_step + i);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>& in, std::int64_t row, std::int64_t i,
                              std::index_sequence<K...>) const {
    (load(get<K>(in.vectors), operands[K], row, i), ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE typename input_pack<ins>::values element(std::int64_t i,
                                                             std::index_sequence<K...>) const {
    return {{read<at_t<K, ins>>(
        kernel::access{const_cast<void*>(operands[K].data), operands[K].base, {}},
        i * operands[K].step)}...};
  }
};

/// Combines two totals.
template <class All>
struct combine_totals {
  LOCUS_HOST_DEVICE typename All::total operator()(typename All::total const& a,
                                                   typename All::total const& b) const {
    return All::combine(a, b);
  }
};

/// An output iterator of one element: adds the remaining elements to the total of all vectors,
/// finishes it and stores it.
template <class Work>
struct whole_end {
  using facts = fold_facts<Work>;
  using total = typename facts::all::total;
  using iterator_category = std::output_iterator_tag;
  using value_type = void;
  using difference_type = std::int64_t;
  using pointer = void;
  using reference = void;
  fold_end<Work> end;
  kernel::access operands[facts::operands];
  total_of_vector<Work> of;

  LOCUS_HOST_DEVICE whole_end const& operator*() const { return *this; }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void operator=(total t) const {
    of.add_rest(t);
    std::int64_t const at[facts::operands]{};
    end.finish(t, operands, at);
  }
};

template <class Work>
struct whole_fold {
  using all = typename fold_facts<Work>::all;
  static constexpr char const* name = "cub::DeviceReduce";
  total_of_vector<Work> of;
  whole_end<Work> to;
  /// an upper bound for any addresses, which are unknown while workspace is measured
  std::int64_t most_vectors;

  algorithm_size size() const { return {most_vectors}; }
#if LOCUS_MAKES_CUB
  int card(void* workspace, std::size_t* bytes, void* stream) const {
    return cub_calls::reduce(workspace, bytes, workspace ? of.vectors : most_vectors, of, to,
                             combine_totals<all>{}, all::identity(), stream);
  }
#endif
  void host() const {
    auto t = all::identity();
    for (std::int64_t v = 0; v < of.vectors; ++v) t = all::combine(t, of(v));
    *to = t;
  }
};

/// means: the fold of all elements by CUB; false: the operands are not lines of vectors, nothing
///        was issued
/// shape: work is collapsed, all its axes are folded; bytes: size of an element of each operand
template <class Work>
bool run_whole_fold(launch_site const& site, Work const& work, int const* bytes) {
  total_of_vector<Work> of(work.f);
  if (!of.place(work, bytes)) return false;
  whole_fold<Work> body{
      of, {{work.rest, work.means, nullptr, 1, 0}, {}, of}, work.over.size() / of.vector};
  for (int k = 0; k < Work::operand_count; ++k)
    body.to.operands[k].data = work.operands[k].data,
    body.to.operands[k].base = work.operands[k].base;
  run_algorithm(site, body);
  return true;
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// Folds of whole arrays by cub::DeviceReduce: its items are totals of vectors of 16 bytes, which the
// fused expression makes as they are read; its output ends the fold.
#pragma once
#include <locus/backend/cuda/fold_end.hpp>  // fold_end
#include <locus/backend/cuda/folds.hpp>     // fold_facts
#include <locus/engine/gpu/algorithm.hpp>   // run_algorithm
#include <locus/engine/gpu/engine.hpp>      // has_cub_engine
#if LOCUS_MAKES_CUB
#include <locus/engine/gpu/cub_fold.cuh>  // reduce
#endif

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// Item v of what a fold reads, as one total: a vector of 16 bytes of each operand, or one element in
/// front of the vectors or behind them. It must be lean: CUB unrolls it eight times in two kernels.
template <class Work>
struct total_of_item {
  using facts = fold_facts<Work>;
  using all = typename facts::all;
  using ins = typename facts::ins;
  static constexpr int vector =
      vector_size(ins{}, type_list<>{});  // at most 16: one lane adds them
  static constexpr int in_count = ins::size;
  struct operand {
    void const* data;  // of the first vector; null: the value at (line, i) is base + its steps
    std::int64_t base, line_step, step;  // step: 1, 0 for one number a line; any without memory
  };
  decltype(Work::f) f;
  std::int64_t vectors = 0, rest = 0,
               head = 0;  // rest: single elements, of which `head` are in front
  divider line;           // vectors of one line
  bool is_one_line = true;
  operand operands[in_count > 0 ? in_count : 1]{};

  explicit total_of_item(decltype(Work::f) const& stage) : f(stage) {}
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE typename all::total operator()(std::int64_t v) const {
    typename all::lane lane = all::start();
    if (v < vectors) {
      std::int64_t row = 0, column = v;
      if (!is_one_line) {
        auto const n = static_cast<std::uint32_t>(v);
        std::uint32_t const q = line.divide(n);
        row = q, column = n - q * line.by;
      }
      loaded_inputs<ins, vector> in;
      load(in, row, column * vector, each{});
      for (int j = 0; j < vector; ++j) all::add(lane, f(in.element(j), pack<>{}));
    } else {
      std::int64_t const e = v - vectors, i = e < head ? e - head : vectors * vector + e - head;
      all::add(lane, f(element(i, each{}), pack<>{}));
    }
    typename all::total t = all::identity();
    all::flush(t, lane);
    return t;
  }
  LOCUS_HOST_DEVICE std::int64_t items() const { return vectors + rest; }

  /// false: the operands do not lie as items; bytes: of an element of each
  /// shape: `work` is collapsed, all its axes are folded
  bool place(Work const& work, int const* bytes) {
    kernel::space const& s = work.over;
    if (s.rank > 2) return false;
    std::int64_t const length = s.extent[s.rank - 1], lines = s.rank == 2 ? s.extent[0] : 1;
    std::int64_t phase = -1;
    for (int k = 0; k < in_count; ++k) {
      kernel::access const& a = work.operands[k];
      operand& o = operands[k];
      o = {a.data, a.base, s.rank == 2 ? a.stride[0] : 0, length > 1 ? a.stride[s.rank - 1] : 1};
      if (bytes[k] == 0 || o.step == 0) continue;
      auto const at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.data) /
                                                unsigned(bytes[k]) % unsigned(vector));
      if (o.step != 1 || (phase >= 0 && at != phase) || o.line_step % vector != 0) return false;
      phase = at;
    }
    is_one_line = lines == 1;
    if (!is_one_line && (phase > 0 || length % vector != 0)) return false;
    std::int64_t const to_next = phase > 0 ? vector - phase : 0;
    head = to_next < length ? to_next : length;
    vectors = lines * ((length - head) / vector);
    rest = is_one_line ? length - vectors * vector : 0;
    if (!is_one_line) {
      if (vectors >= std::int64_t(1) << 31) return false;  // no divisions of 64 bits
      line = divider(vectors == 0 ? 1 : static_cast<std::uint32_t>(length / vector));
    }
    for (int k = 0; k < in_count; ++k) {
      operand& o = operands[k];
      if (bytes[k] == 0)
        o.base += head * o.step;
      else
        o.data = static_cast<char const*>(o.data) + head * o.step * bytes[k];
    }
    return true;
  }

 private:
  using each = std::make_index_sequence<std::size_t(in_count)>;
  template <class Kind>
  LOCUS_HOST_DEVICE void load(loaded<Kind, vector>& to, operand const& o, std::int64_t row,
                              std::int64_t i) const {
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      for (int j = 0; j < vector; ++j) to.values[j] = o.base + row * o.line_step + (i + j) * o.step;
    else {
      auto const* const line_of =
          static_cast<typename Kind::type const*>(o.data) + row * o.line_step;
      if (o.step)
        to.load_aligned(line_of + i);
      else
        for (int j = 0; j < vector; ++j) to.values[j] = *line_of;
    }
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

/// Two totals as one.
template <class All>
struct combine_totals {
  LOCUS_HOST_DEVICE typename All::total operator()(typename All::total const& a,
                                                   typename All::total const& b) const {
    return All::combine(a, b);
  }
};

/// An output iterator of one element: the total that it is given is finished and stored.
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

  LOCUS_HOST_DEVICE whole_end const& operator*() const { return *this; }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void operator=(total const& t) const {
    std::int64_t const at[facts::operands]{};
    end.finish(t, operands, at);
  }
};

template <class Work>
struct whole_fold {
  using all = typename fold_facts<Work>::all;
  static constexpr char const* name = "cub::DeviceReduce";
  total_of_item<Work> of;
  whole_end<Work> to;

  std::int64_t
      most_items;  // wherever the operands lie: addresses are not known while it is measured

  algorithm_size size() const { return {most_items}; }
#if LOCUS_MAKES_CUB
  int card(void* workspace, std::size_t* bytes, void* stream) const {
    return cub_calls::reduce(workspace, bytes, workspace ? of.items() : most_items, of, to,
                             combine_totals<all>{}, all::identity(), stream);
  }
#endif
  void host() const {
    auto t = all::identity();
    for (std::int64_t v = 0, n = of.items(); v < n; ++v) t = all::combine(t, of(v));
    *to = t;
  }
};

/// means: the fold of all that is read, by CUB; false: operands do not lie as lines of vectors
/// shape: work is collapsed, all its axes are folded; bytes: of an element of each operand
template <class Work>
bool run_whole_fold(launch_site const& site, Work const& work, int const* bytes) {
  constexpr int vector = total_of_item<Work>::vector;
  whole_fold<Work> body{total_of_item<Work>(work.f),
                        {{work.rest, work.means, nullptr, 1, 0, 0}, {}},
                        work.over.size() / vector + 2 * vector};
  if (!body.of.place(work, bytes)) return false;
  for (int k = 0; k < Work::operand_count; ++k)
    body.to.operands[k].data = work.operands[k].data,
    body.to.operands[k].base = work.operands[k].base;
  run_algorithm(site, body);
  return true;
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

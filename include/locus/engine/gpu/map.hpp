// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels on a GPU: the choice by the layout of operands, and the kernel for
// contiguous arrays.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/dense_map.hpp>   // run_dense_map
#include <locus/engine/gpu/launch.hpp>      // start
#include <locus/engine/gpu/line_map.hpp>    // line_map
#include <locus/engine/gpu/map_facts.hpp>   // map_facts
#include <locus/engine/gpu/point_map.hpp>   // point_map
#include <locus/engine/gpu/registered.hpp>  // cuda_kernel
#include <locus/plan/library_kernel.hpp>    // is_worth_vectors
#include <locus/work/work.hpp>              // map_work

LOCUS_LEAN_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// means: out[m][i] = f(in[k][i]...)[m], if every operand is a contiguous array or a sequence of
///        element numbers. Element 0 is the first that begins a vector; elements -head to -1 come
///        before it. An array may end before element 0.
template <class Work>
struct flat_map {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int vector = facts::vector, unroll = facts::unroll;
  struct array {
    void* data;
    std::int64_t first;  // without memory: number of the vector that begins at element 0
  };
  typename Work::stage_type f;
  std::int64_t vectors, rest;  // rest: elements outside whole vectors, with the head
  int head;
  array operands[Work::operand_count];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    block.apart([&](unsigned t) {
      std::int64_t const tile = std::int64_t(block.number()) * facts::tile;
      std::int64_t const left = vectors - tile;
      unsigned const here = left < facts::tile ? unsigned(left) : facts::tile;
      loaded_inputs<ins, vector> in[unroll] LOCUS_BY_SIDE(, {});  // g++ warns without
      for (int u = 0; u < unroll; ++u)
        if (t + unsigned(u) * block_threads < here)
          load(in[u], tile, t + unsigned(u) * block_threads);
      for (int u = 0; u < unroll; ++u)
        if (t + unsigned(u) * block_threads < here) {
          number(in[u], tile, t + unsigned(u) * block_threads, each_in{});
          store(made_of<outs>(f, in[u]), tile, t + unsigned(u) * block_threads, each_out{});
        }
      if constexpr (vector > 1)
        if (block.number() == 0 && t < unsigned(rest))
          single(int(t) < head ? std::int64_t(t) - head : vectors * vector + t - head);
    });
  }

 private:
  using each_in = std::make_index_sequence<std::size_t(facts::in_count)>;
  using each_out = std::make_index_sequence<std::size_t(facts::out_count)>;
  template <class Kind>
  LOCUS_HOST_DEVICE void load(loaded<Kind, vector>& to, array const& a, std::int64_t tile,
                              unsigned i) const {
    using T = typename Kind::type;
    if constexpr (!std::is_same_v<Kind, kernel::own_offset>)
      to.load_aligned(
          reinterpret_cast<T const*>(static_cast<vector_of<T, vector> const*>(a.data) + tile + i));
  }
  /// means: the numbers of a vector's elements. They are computed just before use: across a branch,
  ///        the compiler would not see that they are neighbours, and compute a block of random
  ///        words for each
  template <class Kind>
  LOCUS_HOST_DEVICE void number(loaded<Kind, vector>& to, array const& a, std::int64_t tile,
                                unsigned i) const {
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      number_vector(to.values, a.first + tile + i);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void number(loaded_inputs<ins, vector>& in, std::int64_t tile, unsigned i,
                                std::index_sequence<K...>) const {
    (number(get<K>(in.vectors), operands[K], tile, i), ...);
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>& in, std::int64_t tile, unsigned i,
                              std::index_sequence<K...>) const {
    (load(get<K>(in.vectors), operands[K], tile, i), ...);
  }
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>& in, std::int64_t tile, unsigned i) const {
    load(in, tile, i, each_in{});
  }
  template <class... Outs, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<Outs...>, vector> const& to,
                               std::int64_t tile, unsigned i, std::index_sequence<M...>) const {
    ((static_cast<vector_of<Outs, vector>*>(operands[facts::in_count + M].data)[tile + i] =
          get<M>(to.vectors)),
     ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void single(std::int64_t i) const {
    kernel::access a[Work::operand_count];
    std::int64_t at[Work::operand_count];
    for (int k = 0; k < Work::operand_count; ++k)
      a[k].data = operands[k].data, a[k].base = operands[k].first * vector, at[k] = i;
    output_pack<outs>::write(f(input_pack<ins>::at(a, at), pack<>{}), a + facts::in_count,
                             at + facts::in_count);
  }
};

/// means: sorts the axes by the strides of the first output, and collapses them
template <class Work>
void order_axes(Work& work) {
  constexpr int count = Work::operand_count;
  kernel::collapse(work.over, work.operands, count);
  if (work.over.rank == 1) return;
  kernel::sort_axes(work.over, work.operands, count, Work::inputs::size);
  kernel::collapse(work.over, work.operands, count);
}

/// means: line_map serves: outputs are contiguous along the last axis, inputs contiguous or
///        constant; and lines are not so short that few of their vectors are whole
template <class Work>
bool has_lines(Work const& w) {
  using facts = map_facts<Work>;
  constexpr int vector = facts::vector, in_count = facts::in_count;
  int const last = w.over.rank - 1;
  auto const phase = [&](int k) { return place_in_vector<vector>(w.operands[k], facts::bytes[k]); };
  bool even = w.over.extent[last] % vector == 0 && phase(in_count) == 0;
  for (int d = 0; d < last; ++d) even = even && w.operands[in_count].stride[d] % vector == 0;
  if (w.over.extent[last] < (even ? vector : 4 * vector)) return false;
  for (int k = 0; k < Work::operand_count; ++k) {
    std::int64_t const step = w.operands[k].stride[last];
    if (k < in_count) {
      if (facts::bytes[k] != 0 && step != 0 && step != 1) return false;
      continue;
    }
    if (step != 1 || phase(k) != phase(in_count)) return false;
    for (int d = 0; d < last; ++d)
      if ((w.operands[k].stride[d] - w.operands[in_count].stride[d]) % vector != 0) return false;
  }
  return true;
}

/// means: start(body, blocks) with line_map or point_map, by the layout of the operands
/// shape: order_axes(work) has run; work has elements
template <class Work, class Start>
void choose_strided(Work const& work, Start&& start) {
  if (has_lines(work)) {
    line_map<Work> body(work.f, work.over, work.operands);
    return start(body, body.blocks());
  }
  point_map<Work> body(work.f, work.over, work.operands);
  start(body, body.blocks());
}

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <class Stage, class Ins, class Outs, bool HasCudaKernel>
struct cuda_kernel<map_work<Stage, Ins, Outs, HasCudaKernel>> {
  using Work = map_work<Stage, Ins, Outs, HasCudaKernel>;
  using facts = cuda_side::map_facts<Work>;
  static constexpr int vector = facts::vector, in_count = facts::in_count;

  static void launch(launch_site const& site, Work work) {
    cuda_side::order_axes(work);
    if constexpr (by_cub) {
      std::int64_t const size = work.over.size();
      if (work.over.rank == 1 && is_flat(work) && phase(work, in_count) == 0 &&
          is_worth_vectors(size, vector)) {
        if (size > 0) cuda_side::run_dense_map(site, work, size / vector);
        advance(work, size - size % vector);
      }
    }
    choose_ordered(work,
                   [&](auto& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
  /// means: start(body, blocks) with the kernel for the layout of the operands; nothing for an
  ///        empty space
  template <class Start>
  static void choose(Work work, Start&& start) {
    cuda_side::order_axes(work);
    choose_ordered(work, start);
  }

 private:
  template <class Start>
  static void choose_ordered(Work const& work, Start&& start) {
    std::int64_t const size = work.over.size();
    if (size == 0) return;
    if constexpr (!by_cub)
      if (work.over.rank == 1 && is_flat(work)) {
        cuda_side::flat_map<Work> body = flat(work, size);
        return start(body, cuda_side::blocks_of(body.vectors, facts::tile));
      }
    cuda_side::choose_strided(work, start);
  }
  static constexpr int const* bytes = facts::bytes;
  /// true: CUB computes contiguous arrays; the flat_map of locus is then not compiled
  static constexpr bool by_cub = cuda_side::may_be_dense<Work>;

  /// means: removes the first `n` elements
  /// shape: one axis
  static void advance(Work& work, std::int64_t n) {
    work.over.extent[0] -= n;
    for (int k = 0; k < Work::operand_count; ++k) {
      kernel::access& a = work.operands[k];
      if (a.data) a.data = static_cast<char*>(a.data) + n * bytes[k];
      a.base += n * a.stride[0];
    }
  }
  /// means: the position in a vector of an operand's first element; of its number if it has no
  ///        memory
  static std::int64_t phase(Work const& w, int k) {
    if (bytes[k] == 0) return w.operands[k].base & (vector - 1);
    return cuda_side::place_in_vector<vector>(w.operands[k], bytes[k]);
  }
  static bool is_flat(Work const& w) {
    for (int k = 0; k < Work::operand_count; ++k)
      if (w.operands[k].stride[0] != 1 || phase(w, k) != phase(w, in_count)) return false;
    return true;
  }
  static cuda_side::flat_map<Work> flat(Work const& work, std::int64_t size) {
    std::int64_t const head = (vector - phase(work, in_count)) % vector,
                       vectors = head < size ? (size - head) / vector : 0;
    cuda_side::flat_map<Work> body{work.f, vectors, size - vectors * vector, int(head), {}};
    for (int k = 0; k < Work::operand_count; ++k) {
      kernel::access const& a = work.operands[k];
      body.operands[k] = {a.data ? static_cast<char*>(a.data) + head * bytes[k] : nullptr,
                          bytes[k] == 0 ? (a.base + head) / vector : 0};
    }
    return body;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels on a GPU: one for operands that are flat arrays, one for lines of any
// strides. Both move vectors of 16 bytes.
#pragma once
#include <locus/backend/cuda/backend.hpp>  // cuda_kernel
#include <locus/backend/cuda/launch.hpp>   // start
#include <locus/backend/cuda/lines.hpp>    // lines
#include <locus/backend/work.hpp>          // map_work
#include <locus/engine/gpu/dense_map.hpp>  // run_dense_map

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// What a map's types say about its kernels.
template <class Work>
struct map_facts {
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int in_count = ins::size, out_count = outs::size,
                       vector = vector_size(ins{}, outs{});
  /// Vectors of one thread. A card keeps its memory busy with some 32 KiB under way in each of its
  /// processors (cub::DeviceTransform has 48 on Hopper): 2048 threads with 16 bytes or more.
  static constexpr int wanted = bytes_of(ins{}) == 0 ? 1 : 64 / (bytes_of(ins{}) * vector),
                       most = 8 / vector;
  static constexpr int unroll = wanted < 1 || most < 1 ? 1 : wanted < most ? wanted : most;
  static constexpr unsigned tile = block_threads * unsigned(unroll);
};

/// means: out[m][i] = f(in[k][i]...)[m], every operand an array without gaps. Element 0 is the first
///        that every output and input has at the beginning of a vector; `head` lie before it.
template <class Work>
struct flat_map {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int vector = facts::vector, unroll = facts::unroll;
  struct array {
    void* data;
    std::int64_t base, step;  // of an operand without memory: its value at i is base + i * step
  };
  typename Work::stage_type f;
  std::int64_t vectors, rest;  // rest: what the vectors leave, the head included
  int head;
  array operands[Work::operand_count];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    block.apart([&](unsigned t) {
      std::int64_t const tile = std::int64_t(block.number()) * facts::tile;
      std::int64_t const left = vectors - tile;
      unsigned const here = left < facts::tile ? unsigned(left) : facts::tile;
      loaded_inputs<ins, vector> in[unroll] LOCUS_BY_SIDE(, {});  // g++ wants them set
      for (int u = 0; u < unroll; ++u)
        if (t + unsigned(u) * block_threads < here)
          load(in[u], tile, t + unsigned(u) * block_threads);
      for (int u = 0; u < unroll; ++u)
        if (t + unsigned(u) * block_threads < here)
          write(in[u], tile, t + unsigned(u) * block_threads);
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
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      for (int j = 0; j < vector; ++j) to.values[j] = a.base + ((tile + i) * vector + j) * a.step;
    else
      to.load_aligned(
          reinterpret_cast<T const*>(static_cast<vector_of<T, vector> const*>(a.data) + tile + i));
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
  LOCUS_HOST_DEVICE void write(loaded_inputs<ins, vector> const& in, std::int64_t tile,
                               unsigned i) const {
    stored_outputs<outs, vector> to;
    for (int j = 0; j < vector; ++j) to.template set_from<0>(j, f(in.element(j), pack<>{}));
    store(to, tile, i, each_out{});
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void single(std::int64_t i) const {
    kernel::access a[Work::operand_count];
    std::int64_t at[Work::operand_count];
    for (int k = 0; k < Work::operand_count; ++k)
      a[k].data = operands[k].data, a[k].base = operands[k].base,
      at[k] = k < facts::in_count ? i * operands[k].step : i;
    output_pack<outs>::write(f(input_pack<ins>::at(a, at), pack<>{}), a + facts::in_count,
                             at + facts::in_count);
  }
};

/// means: the same for operands of any strides, one vector of a line a thread
template <class Work>
struct line_map {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int vector = facts::vector, in_count = facts::in_count;
  typename Work::stage_type f;
  lines<Work::operand_count, vector, true> over;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    block.apart([&](unsigned t) {
      std::int64_t const v = std::int64_t(block.number()) * block_threads + t;
      if (v >= over.vectors) return;
      auto const p = over.find(v);
      if (p.is_whole(over.length)) return whole(p);
      std::int64_t const end = p.begin + vector < over.length ? p.begin + vector : over.length;
      for (std::int64_t i = p.begin < 0 ? 0 : p.begin; i < end; ++i) single(p, i);
    });
  }

 private:
  using place = typename lines<Work::operand_count, vector, true>::place;
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void whole(place const& p) const {
    loaded_inputs<ins, vector> in;
    load(in, p, std::make_index_sequence<std::size_t(in_count)>{});
    stored_outputs<outs, vector> to;
    for (int j = 0; j < vector; ++j) to.template set_from<0>(j, f(in.element(j), pack<>{}));
    store(to, p, std::make_index_sequence<std::size_t(facts::out_count)>{});
  }
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void load(loaded_inputs<ins, vector>& in, place const& p,
                              std::index_sequence<K...>) const {
    (get<K>(in.vectors)
         .load(over.operands[K], over.how[K], over.stride(K), p.at[K], p.begin, over.length),
     ...);
  }
  template <class... Outs, std::size_t... M>
  LOCUS_HOST_DEVICE void store(stored_outputs<type_list<Outs...>, vector> const& to, place const& p,
                               std::index_sequence<M...>) const {
    (store_vector(get<M>(to.vectors), over.operands[in_count + M], over.how[in_count + M],
                  over.stride(int(in_count + M)), p.at[in_count + M], p.begin),
     ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void single(place const& p, std::int64_t i) const {
    std::int64_t at[Work::operand_count];
    for (int k = 0; k < Work::operand_count; ++k) at[k] = p.at[k] + i * over.stride(k);
    output_pack<outs>::write(f(input_pack<ins>::at(over.operands, at), pack<>{}),
                             over.operands + in_count, at + in_count);
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <class Stage, class Ins, class Outs, bool HasCudaKernel>
struct cuda_kernel<map_work<Stage, Ins, Outs, HasCudaKernel>> {
  using Work = map_work<Stage, Ins, Outs, HasCudaKernel>;
  using facts = cuda_side::map_facts<Work>;
  static constexpr int vector = facts::vector, in_count = facts::in_count;

  static void launch(launch_site const& site, Work work) {
    if constexpr (by_cub) {
      kernel::collapse(work.over, work.operands, Work::operand_count);
      std::int64_t const size = work.over.size(), rest = size % vector;
      if (work.over.rank == 1 && is_flat(work) && phase(work, in_count) == 0 &&
          (rest == 0 || size >= worth_two_launches)) {
        if (size > 0) cuda_side::run_dense_map(site, work, size / vector);
        advance(work, size - rest);
      }
    }
    choose(work, [&](auto& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
  /// means: start(body, blocks) with the kernel that suits where the operands lie, if there is any
  ///        element
  template <class Start>
  static void choose(Work work, Start&& start) {
    kernel::collapse(work.over, work.operands, Work::operand_count);
    std::int64_t const size = work.over.size();
    if (size == 0) return;
    if constexpr (!by_cub)
      if (work.over.rank == 1 && is_flat(work)) {
        cuda_side::flat_map<Work> body = flat(work, size);
        return start(body, cuda_side::blocks_of(body.vectors, facts::tile));
      }
    cuda_side::line_map<Work> body{
        work.f, {work.over, all_axes(work.over.rank), work.operands, bytes, leader(work)}};
    start(body, cuda_side::blocks_of(body.over.vectors, cuda_side::block_threads));
  }

 private:
  template <class... Kinds, class... Os>
  static consteval auto element_bytes(type_list<Kinds...>, type_list<Os...>) {
    struct table {
      int of[Work::operand_count];
    };
    return table{
        {(std::is_same_v<Kinds, kernel::own_offset> ? 0 : int(sizeof(typename Kinds::type)))...,
         int(sizeof(Os))...}};
  }
  static constexpr auto byte_table = element_bytes(Ins{}, Outs{});
  static constexpr int const* bytes = byte_table.of;
  /// CUB has the kernel where operands are arrays without gaps; one of our own is not made then
  static constexpr bool by_cub = cuda_side::may_be_dense<Work>;
  /// elements; below, what the vectors leave is not worth a launch of its own
  static constexpr std::int64_t worth_two_launches = std::int64_t(1) << 17;

  /// means: the same without its first `n` elements
  /// shape: one axis
  static void advance(Work& work, std::int64_t n) {
    work.over.extent[0] -= n;
    for (int k = 0; k < Work::operand_count; ++k) {
      kernel::access& a = work.operands[k];
      if (a.data) a.data = static_cast<char*>(a.data) + n * bytes[k];
      a.base += n * a.stride[0];
    }
  }
  /// where in a vector an operand's first element lies
  static std::int64_t phase(Work const& w, int k) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(w.operands[k].data) /
                                     unsigned(bytes[k]) % unsigned(vector));
  }
  static bool is_flat(Work const& w) {
    for (int k = 0; k < Work::operand_count; ++k)
      if (bytes[k] != 0 && (w.operands[k].stride[0] != 1 || phase(w, k) != phase(w, in_count)))
        return false;
    return true;
  }
  static cuda_side::flat_map<Work> flat(Work const& work, std::int64_t size) {
    cuda_side::flat_map<Work> body{work.f, 0, 0, 0, {}};
    std::int64_t const to_next = (vector - phase(work, in_count)) % vector;
    std::int64_t const head = to_next < size ? to_next : size;
    body.head = int(head), body.vectors = (size - head) / vector;
    body.rest = size - body.vectors * vector;
    for (int k = 0; k < Work::operand_count; ++k) {
      kernel::access const& a = work.operands[k];
      body.operands[k] = {a.data ? static_cast<char*>(a.data) + head * bytes[k] : nullptr,
                          a.base + head * a.stride[0], a.stride[0]};
    }
    return body;
  }
  /// the first output that is written in vectors
  static int leader(Work const& w) {
    for (int k = in_count; k < Work::operand_count; ++k)
      if (w.operands[k].stride[w.over.rank - 1] == 1) return k;
    return -1;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

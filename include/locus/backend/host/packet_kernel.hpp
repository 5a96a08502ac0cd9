// SPDX-License-Identifier: Apache-2.0
// The innermost loop of element-wise work on packets. One body serves whole packets and tails: the
// last, partial packet of a row is a whole one that ends where the row ends; it is computed first
// and written last, so that a destination may be read. Rows of less than a packet pass through
// buffers whose other lanes repeat an element, so that no lane computes what nobody asked for.
#pragma once
#include <locus/backend/host/packet_forms.hpp>  // packet_results, runs_on_packets
#include <locus/backend/host/plane.hpp>         // plane, map_context
#include <locus/kernel/call.hpp>                // own_offset
#include <locus/kernel/cost.hpp>                // cost_of, widest_of

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: lanes of a kernel: a register of its widest element type
template <class Stage>
inline constexpr int lanes_of =
    kernel::widest_of<Stage> <= simd::native_bytes ? simd::native_bytes / kernel::widest_of<Stage>
                                                   : 1;

/// means: to[0, n) = from[0, n) for n < 64 bytes, without a call
inline void copy_few(void* to, void const* from, std::int64_t n) {
  auto* t = static_cast<char*>(to);
  auto const* f = static_cast<char const*>(from);
  for_each_index<6>([&](auto k) {
    constexpr int bytes = 32 >> k;
    if (n & bytes) __builtin_memcpy(t, f, bytes), t += bytes, f += bytes;
  });
}

template <class Stage, class Folds, class Ins, class Outs, class InIndex, class OutIndex>
struct packet_kernel_of;
/// means: out[m](r, j) = f(in[k](r, j)...)[m]
/// cost:  light kernels handle four packets in a trip, so that the loop itself costs nothing
template <class Stage, class Folds, class... Ins, class... Outs, std::size_t... K, std::size_t... M>
struct packet_kernel_of<Stage, Folds, type_list<Ins...>, type_list<Outs...>,
                        std::index_sequence<K...>, std::index_sequence<M...>> {
  static constexpr int N = lanes_of<Stage>, trip = kernel::cost_of<Stage> <= 8 ? 4 : 1;
  static constexpr int ins = sizeof...(Ins), outs = sizeof...(Outs);

  static void run(void const* context, plane const& p) {
    auto const& given = *static_cast<map_context<Stage, Folds> const*>(context);
    Stage const f = given.f;  // copies that nothing else can point to
    Folds const folds = given.folds;
    alignas(64) unsigned char same[ins + 1][trip * simd::native_bytes];
    alignas(64) unsigned char last[outs][simd::native_bytes];
    std::intptr_t const step[] = {p.operands[K].step..., 0};
    std::int64_t const n = p.n;
    bool const is_short = n < N;

    for (std::int64_t r = 0; r < p.rows; ++r) {
      std::intptr_t const row_out[] = {(p.operands[ins + M].at + r * p.operands[ins + M].row)...};
      std::intptr_t const begin[] = {
          start<Ins>(same[K], p.operands[K].at + r * p.operands[K].row, step[K], n)..., 0};
      std::int64_t const head = p.streams ? elements_before_boundary(row_out) : 0;
      bool const streams = p.streams && head >= 0 && n - head >= N;
      std::int64_t const shift = streams ? head : 0, packets = (n - shift) / N;
      bool const tail = (n - shift) % N != 0;

      std::intptr_t in[ins + 1], out[outs];
      auto const one = [&](int u, bool past) __attribute__((always_inline)) {
        auto const results = packet_results<N>(f, together(load<Ins>(in[K], step[K], u)...), folds);
        if (past)
          (simd::store_past(reinterpret_cast<Outs*>(out[M]) + u * N, get<M>(results)), ...);
        else
          (simd::store(reinterpret_cast<Outs*>(out[M]) + u * N, get<M>(results)), ...);
      };
      auto const move = [&](int count) __attribute__((always_inline)) {
        ((in[K] += step[K] * (N * count)), ...);
        ((out[M] += std::intptr_t(sizeof(Outs)) * (N * count)), ...);
      };
      // the tail into `last`, what lies before the boundary, and all others
      for (int piece = tail ? 0 : shift > 0 ? 1 : 2; piece < 3; piece += shift > 0 ? 1 : 2) {
        std::int64_t const at = piece == 2 ? shift : piece == 1 || is_short ? 0 : n - N;
        ((in[K] = begin[K] + at * step[K]), ...);
        ((out[M] =
              piece == 0 ? std::intptr_t(last[M]) : row_out[M] + at * std::intptr_t(sizeof(Outs))),
         ...);
        std::int64_t const count = piece < 2 ? 1 : trip == 1 ? packets : packets % trip;
        for (std::int64_t k = 0; k < count; ++k) one(0, streams && piece == 2), move(1);
      }
      if constexpr (trip > 1)
        for (std::int64_t k = packets / trip; k > 0; --k) {
          LOCUS_UNROLL for (int u = 0; u < trip; ++u) one(u, streams);
          move(trip);
        }
      if (is_short)
        (copy_few(reinterpret_cast<Outs*>(row_out[M]), last[M], n * std::int64_t(sizeof(Outs))),
         ...);
      else if (tail)
        (__builtin_memcpy(reinterpret_cast<Outs*>(row_out[M]) + n - N, last[M], N * sizeof(Outs)),
         ...);
    }
  }

 private:
  template <class Kind>
  static constexpr bool is_index = std::is_same_v<Kind, kernel::own_offset>;

  template <class... P>
  LOCUS_VECTOR_FUNCTION static pack<P...> together(P... p) {
    return {{p}...};
  }
  /// where a row of an operand begins: in memory, or in a buffer, when it is one value or short
  template <class Kind>
  LOCUS_VECTOR_FUNCTION static std::intptr_t start(unsigned char* buffer, std::intptr_t at,
                                                   std::intptr_t step, std::int64_t n) {
    if constexpr (!is_index<Kind>)
      if (step == 0 || n < N) {
        using T = typename Kind::type;
        auto const* const from = reinterpret_cast<T const*>(at);
        auto const same = simd::broadcast<N>(*from);
        for (int u = 0; u < trip; ++u) simd::store(reinterpret_cast<T*>(buffer) + u * N, same);
        if (step != 0) copy_few(buffer, from, n * std::int64_t(sizeof(T)));
        return reinterpret_cast<std::intptr_t>(buffer);
      }
    return at;
  }
  /// the u-th packet from `at`
  template <class Kind>
  LOCUS_VECTOR_FUNCTION static auto load(std::intptr_t at, std::intptr_t step, int u) {
    using T = typename Kind::type;
    if constexpr (is_index<Kind>) {
      return packet<T, N>{simd::lane_numbers<T, N>().v * T(step) + T(at + u * N * step)};
    } else
      return simd::load<N>(reinterpret_cast<T const*>(at) + u * N);
  }
  /// elements until every output lies at a multiple of its packet; -1: they never do
  static std::int64_t elements_before_boundary(std::intptr_t const* out) {
    std::int64_t head = -1;
    auto const before = [](std::intptr_t at, std::intptr_t bytes) { return -at & (N * bytes - 1); };
    bool fits = true;
    auto const look = [&](std::intptr_t at, std::intptr_t bytes) {
      if (head < 0) head = before(at, bytes) / bytes;
      fits = fits && before(at + head * bytes, bytes) == 0;
    };
    (look(out[M], sizeof(Outs)), ...);
    return fits ? head : -1;
  }
};
template <class Stage, class Folds, class Ins, class Outs>
using packet_kernel =
    packet_kernel_of<Stage, Folds, Ins, Outs, std::make_index_sequence<std::size_t(Ins::size)>,
                     std::make_index_sequence<std::size_t(Outs::size)>>;

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END

// SPDX-License-Identifier: Apache-2.0
// The innermost loop of element-wise kernels on packets, for rows of at least a packet
// (loop_kernel.hpp handles shorter ones). The tail of a row is a whole packet that ends with the
// row, and so overlaps the packet before. It is computed before that packet is written, and written
// after it, so that a destination may also be an operand.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_KERNEL)
#define LOCUS_ENGINE_HOST_PACKET_KERNEL
#include <locus/engine/host/packet_forms.hpp>  // packet_results, runs_on_packets
#include <locus/engine/host/row_kernel.hpp>    // plane, map_context
#include <locus/work/call.hpp>                 // own_offset
#include <locus/work/cost.hpp>                 // cost_of, widest_of

#define LOCUS_CLONED <locus/engine/host/packet_kernel.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: lanes of a kernel: as many as a register has of its widest element type
template <class Stage>
inline constexpr int lanes_of =
    kernel::widest_of<Stage> <= simd::native_bytes ? simd::native_bytes / kernel::widest_of<Stage>
                                                   : 1;

template <class Stage, class Folds, class Ins, class Outs, class InIndex, class OutIndex>
struct packet_kernel_of;
/// means: out[m](r, j) = f(in[k](r, j)...)[m]
/// cost:  light kernels compute four packets in each trip, which hides the cost of the loop
template <class Stage, class Folds, class... Ins, class... Outs, std::size_t... K, std::size_t... M>
struct packet_kernel_of<Stage, Folds, type_list<Ins...>, type_list<Outs...>,
                        std::index_sequence<K...>, std::index_sequence<M...>> {
  static constexpr int N = lanes_of<Stage>, trip = kernel::cost_of<Stage> <= 8 ? 4 : 1;
  static constexpr int ins = sizeof...(Ins), outs = sizeof...(Outs);

  /// rows of whole packets and a tail: the tail is computed early and written last
  [[gnu::noinline]] static void rows(void const* context, plane const& p) {
    auto const& given = *static_cast<map_context<Stage, Folds> const*>(context);
    Stage const f = given.f;  // local copies: no pointer aliases them
    if constexpr (trip == 1)
      heavy_rows(f, given.folds, given.each, p, p.streams);
    else
      light_rows(f, given.folds, given.each, p, p.streams);
  }

 private:
  /// One loop serves tails and whole packets, since a second copy of a long body costs code. The
  /// tail is computed just before the last whole packet, so that memory is read in order, and
  /// written at the end of the row. One index moves all operands, also from row to row if their
  /// rows are equally far apart. A broadcast value is repeated in a buffer of 256 elements and two
  /// packets.
  LOCUS_VECTOR_FUNCTION static void heavy_rows(Stage const& f, Folds const* of_row,
                                               std::int64_t each, plane const& p, bool streams) {
    constexpr std::int64_t packets_laid_out = 256 / N;
    constexpr std::int64_t laid_out = (packets_laid_out + 2) * N;
    alignas(64) unsigned char same[ins + 1][laid_out * kernel::widest_of<Stage>];
    alignas(64) unsigned char apart[outs][simd::native_bytes];
    std::intptr_t const step[] = {p.operands[K].step..., 0};
    std::intptr_t row_in[] = {p.operands[K].at..., 0}, row_out[] = {p.operands[ins + M].at...};
    std::int64_t const n = p.n, whole = n / N, tail = n % N != 0, count = whole + tail;
    std::int64_t const tail_at = tail ? whole - 1 : -1;
    bool const some_same = ((!is_index<Ins> && step[K] == 0) || ... || false);
    std::int64_t const way = some_same ? 0 : elements_to_next_row(p);
    std::intptr_t in[] = {row_in[K]..., 0};
    std::int64_t origin = 0;  // of the row     units: elements
    for (std::int64_t r = p.rows; r > 0; --r, of_row += each) {
      Folds const folds = *of_row;
      if (some_same)
        (fill<Ins>(same[K], row_in[K], step[K],
                   (count + 2) * N < laid_out ? (count + 2) * N : laid_out),
         ...);
      for (std::int64_t i = 0; i < count;) {
        std::int64_t end = count;
        if (some_same) {
          ((in[K] = start_of<Ins>(same[K], row_in[K], step[K], (i - 1) * N)), ...);
          if (end - i > packets_laid_out) end = i + packets_laid_out;
        }
        for (; i < end; ++i) {
          bool const in_tail = i == tail_at;
          std::int64_t const j = origin + (in_tail ? n - N : (i == whole ? i - 1 : i) * N);
          std::intptr_t const out[] = {
              in_tail ? std::intptr_t(apart[M]) - j * std::intptr_t(sizeof(Outs)) : row_out[M]...};
          auto const result =
              packet_results<N>(f, together(load_at<Ins>(in[K], step[K], j)...), folds);
          if (streams)
            (simd::store_past(reinterpret_cast<Outs*>(out[M]) + j, get<M>(result)), ...);
          else
            (simd::store(reinterpret_cast<Outs*>(out[M]) + j, get<M>(result)), ...);
        }
      }
      if (tail)
        (__builtin_memcpy(reinterpret_cast<Outs*>(row_out[M]) + origin + n - N, apart[M],
                          N * sizeof(Outs)),
         ...);
      origin += way;
      if (way != 0) continue;
      ((in[K] = row_in[K] += p.operands[K].row), ...);
      ((row_out[M] += p.operands[ins + M].row), ...);
    }
  }
  /// means: elements from a row to the next, equal in all operands     0: they differ
  static std::int64_t elements_to_next_row(plane const& p) {
    if constexpr ((is_index<Ins> || ... || false))
      return 0;
    else {
      std::int64_t const bytes[] = {std::int64_t(sizeof(typename Ins::type))...,
                                    std::int64_t(sizeof(Outs))...};
      std::int64_t const way = p.operands[0].row / bytes[0];
      for (int k = 0; k < ins + outs; ++k)
        if (p.operands[k].row != way * bytes[k]) return 0;
      return way;
    }
  }

  LOCUS_VECTOR_FUNCTION static void light_rows(Stage const& f, Folds const* of_row,
                                               std::int64_t each, plane const& p, bool streams) {
    alignas(64) unsigned char same[ins + 1][trip * simd::native_bytes];
    std::intptr_t const step[] = {p.operands[K].step..., 0};
    std::intptr_t row_in[] = {p.operands[K].at..., 0}, row_out[] = {p.operands[ins + M].at...};
    std::int64_t const n = p.n, singles = n / N % trip, trips = n / N / trip;
    bool some_same = ((!is_index<Ins> && step[K] == 0) || ... || false);
    bool tail = n % N != 0;
    std::intptr_t in[ins + 1], out[outs];
    Folds folds = *of_row;
    auto const results = [&](int u) __attribute__((always_inline)) {
      return packet_results<N>(f, together(load<Ins>(in[K], step[K], u)...), folds);
    };
    auto const put = [&](auto const& r, int u) __attribute__((always_inline)) {
      (simd::store(reinterpret_cast<Outs*>(out[M]) + u * N, get<M>(r)), ...);
    };
    auto const one = [&](int u) __attribute__((always_inline)) {
      auto const r = results(u);
      if (streams)
        (simd::store_past(reinterpret_cast<Outs*>(out[M]) + u * N, get<M>(r)), ...);
      else
        put(r, u);
    };
    auto const move = [&](std::intptr_t count) __attribute__((always_inline)) {
      ((in[K] += step[K] * (N * count)), ...);
      ((out[M] += std::intptr_t(sizeof(Outs)) * (N * count)), ...);
    };
    for (std::int64_t r = p.rows; r > 0; --r, of_row += each) {
      folds = *of_row;
      // hides the constants from the compiler, which would otherwise duplicate the loop
      asm("" : "+r"(some_same), "+r"(tail), "+r"(streams));
      ((in[K] = row_in[K]), ...);
      if (some_same) ((in[K] = lay_out<Ins>(same[K], in[K], step[K])), ...);
      ((out[M] = row_out[M]), ...);
      decltype(results(0)) last{};
      if (tail) {
        ((in[K] += (n - N) * step[K]), ...);
        last = results(0);
        ((in[K] -= (n - N) * step[K]), ...);
      }
      for (std::int64_t k = singles; k > 0; --k) {
        put(results(0), 0);
        move(1);
      }
      for (std::int64_t k = trips; k > 0; --k) {
        LOCUS_UNROLL for (int u = 0; u < trip; ++u) one(u);
        move(trip);
      }
      if (tail) {
        ((out[M] = row_out[M] + (n - N) * std::intptr_t(sizeof(Outs))), ...);
        put(last, 0);
      }
      ((row_in[K] += p.operands[K].row), ...);
      ((row_out[M] += p.operands[ins + M].row), ...);
    }
  }

  template <class Kind>
  static constexpr bool is_index = std::is_same_v<Kind, kernel::own_offset>;

  template <class... P>
  LOCUS_VECTOR_FUNCTION static pack<P...> together(P const&... p) {
    return {{p}...};
  }
  /// means: fills a buffer with a value that is broadcast along the row
  template <class Kind>
  LOCUS_VECTOR_FUNCTION static std::intptr_t lay_out(unsigned char* buffer, std::intptr_t at,
                                                     std::intptr_t step) {
    if constexpr (!is_index<Kind>)
      if (step == 0) {
        using T = typename Kind::type;
        auto const same = simd::broadcast<N>(*reinterpret_cast<T const*>(at));
        LOCUS_UNROLL for (int u = 0; u < trip; ++u)
            simd::store(reinterpret_cast<T*>(buffer) + u * N, same);
        return reinterpret_cast<std::intptr_t>(buffer);
      }
    return at;
  }
  /// means: the same for n elements, rounded up to whole packets
  template <class Kind>
  static void fill(unsigned char* buffer, std::intptr_t at, std::intptr_t step, std::int64_t n) {
    if constexpr (!is_index<Kind>)
      if (step == 0) {
        using T = typename Kind::type;
        auto const same = simd::broadcast<N>(*reinterpret_cast<T const*>(at));
        for (std::int64_t j = 0; j < n; j += N) simd::store(reinterpret_cast<T*>(buffer) + j, same);
      }
  }
  /// means: the address that element 0 of the row would have
  template <class Kind>
  static std::intptr_t start_of(unsigned char* buffer, std::intptr_t at, std::intptr_t step,
                                std::int64_t begin) {
    if constexpr (!is_index<Kind>)
      if (step == 0)
        return reinterpret_cast<std::intptr_t>(buffer) -
               begin * std::intptr_t(sizeof(typename Kind::type));
    return at;
  }
  /// means: packet number u from `at`
  template <class Kind>
  LOCUS_VECTOR_FUNCTION static auto load(std::intptr_t at, std::intptr_t step, int u) {
    using T = typename Kind::type;
    if constexpr (is_index<Kind>) {
      return packet<T, N>{simd::lane_numbers<T, N>().v * T(step) + T(at + u * N * step)};
    } else
      return simd::load<N>(reinterpret_cast<T const*>(at) + u * N);
  }
  /// means: the packet that begins at element j
  template <class Kind>
  LOCUS_VECTOR_FUNCTION static auto load_at(std::intptr_t at, std::intptr_t step, std::int64_t j) {
    using T = typename Kind::type;
    if constexpr (is_index<Kind>)
      return packet<T, N>{simd::lane_numbers<T, N>().v * T(step) + T(at + j * step)};
    else
      return simd::load<N>(reinterpret_cast<T const*>(at) + j);
  }
};
template <class Stage, class Folds, class Ins, class Outs>
using packet_kernel =
    packet_kernel_of<Stage, Folds, Ins, Outs, std::make_index_sequence<std::size_t(Ins::size)>,
                     std::make_index_sequence<std::size_t(Outs::size)>>;

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

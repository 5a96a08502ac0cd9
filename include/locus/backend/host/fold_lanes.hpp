// SPDX-License-Identifier: Apache-2.0
// The innermost loops of folds: packets of a run go to accumulators in registers, packets of rows to
// an accumulator for each column; elements may be stored beside them. A tail is a packet whose other
// lanes are left out.
#pragma once
#include <locus/backend/host/packet_fold.hpp>    // packet_fold, unrolled
#include <locus/backend/host/packet_kernel.hpp>  // lanes_of, copy_few
#include <locus/backend/host/runs.hpp>           // run_operands

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: lanes of a fold: sums of integers have 8 bytes
template <class Stage>
inline constexpr int fold_lanes_of =
    lanes_of<Stage> * 4 <= simd::native_bytes ? lanes_of<Stage> : simd::native_bytes / 4;

template <class Reducers, class Stage, class Before, class Kinds, class Outs, class F, class K,
          class M>
struct fold_lanes_of_parts;
/// means: r = f(in[k][i]..., before) on packets; its first values go to the reducers, the others to
///        outs
template <class... Reducers, class Stage, class Before, class... Kinds, class... Outs,
          std::size_t... F, std::size_t... K, std::size_t... M>
struct fold_lanes_of_parts<type_list<Reducers...>, Stage, Before, type_list<Kinds...>,
                           type_list<Outs...>, std::index_sequence<F...>, std::index_sequence<K...>,
                           std::index_sequence<M...>> {
  static constexpr int N = fold_lanes_of<Stage>, folds = sizeof...(Reducers),
                       ins = sizeof...(Kinds), outs = sizeof...(Outs);
  using sources = pack<typename Kinds::type const*...>;
  using targets = pack<Outs*...>;

  LOCUS_VECTOR_FUNCTION static auto values(Stage const& f, Before const& before, sources const& p,
                                           std::int64_t const* at, int ahead = 0) {
    return packet_results<N>(f, make_pack(simd::load<N>(get<K>(p) + at[K] + ahead)...), before);
  }
  using results = decltype(values(std::declval<Stage const&>(), std::declval<Before const&>(),
                                  std::declval<sources const&>(), nullptr));
  template <std::size_t Idx>
  using value = std::remove_cvref_t<decltype(get<Idx>(std::declval<results const&>()))>;
  template <std::size_t Idx>
  using fold = packet_fold<at_t<int(Idx), type_list<Reducers...>>, value<Idx>>;
  using wides = pack<typename fold<F>::wide...>;

  /// sets of accumulators: enough to hide how long an addition takes
  static constexpr int sets = folds > 2 ? 2 : folds == 2 ? 4 : kernel::cost_of<Stage> <= 8 ? 8 : 4;
  /// elements of a run before accumulators go to the wide totals: 64 additions of each lane
  static constexpr std::int64_t at_once = 64 * sets * N;
  template <class Lanes>
  struct accumulators {
    Lanes of[sets];
  };

  LOCUS_VECTOR_FUNCTION static wides no_wides() { return {{fold<F>::no_wide()}...}; }

  /// means: n elements from p on into the wide totals, and to q
  static void add_run(Stage const& given, Before const& folds_before, sources const& from,
                      std::int64_t const* steps, targets const& q, std::int64_t n, wides& to) {
    Stage const f = given;  // copies that nothing else can point to
    Before const before = folds_before;
    sources const p = from;
    pack<accumulators<typename fold<F>::lanes>...> sums;
    unrolled<sets>([&](auto a) __attribute__((always_inline)) {
      ((get<F>(sums).of[a] = fold<F>::start()), ...);
    });
    std::int64_t at[ins + 1];
    auto const move_to = [&]([[maybe_unused]] std::int64_t i)
                             __attribute__((always_inline)) { ((at[K] = i & steps[K]), ...); };
    auto const one = [&]([[maybe_unused]] std::int64_t i, auto a) __attribute__((always_inline)) {
      auto const r = values(f, before, p, at, a * N);
      ((get<F>(sums).of[a] = fold<F>::add(get<F>(sums).of[a], get<F>(r))), ...);
      (simd::store(get<M>(q) + i + a * N, get<std::size_t(folds) + M>(r)), ...);
    };
    std::int64_t i = 0;
    for (; i + sets * N <= n; i += sets * N) {
      move_to(i);
      unrolled<sets>([&](auto a) __attribute__((always_inline)) { one(i, a); });
    }
    for (; i + N <= n; i += N) move_to(i), one(i, std::integral_constant<int, 0>{});
    if (i < n) {
      auto const r = tail(f, before, p, steps, q, i, n);
      int const first = N - static_cast<int>(n - i);
      ((get<F>(sums).of[0] = fold<F>::add(get<F>(sums).of[0], fold<F>::without(first, get<F>(r)))),
       ...);
    }
    unrolled<sets - 1>([&](auto a) __attribute__((always_inline)) {
      constexpr int step = a < sets / 2 ? sets / 2 : a < sets / 2 + sets / 4 ? sets / 4 : 1;
      constexpr int to_set = a < sets / 2 ? a : a < sets / 2 + sets / 4 ? a - sets / 2 : 0;
      ((get<F>(sums).of[to_set] =
            fold<F>::join(get<F>(sums).of[to_set], get<F>(sums).of[to_set + step])),
       ...);
    });
    ((get<F>(to) = fold<F>::flush(get<F>(to), get<F>(sums).of[0])), ...);
  }

  /// The accumulators of up to Columns columns.
  template <class Lanes, int Columns>
  struct column_lanes {
    alignas(64) unsigned char bytes[Columns / N * sizeof(Lanes)];
    LOCUS_VECTOR_FUNCTION Lanes load(std::int64_t j) const {
      Lanes l;
      __builtin_memcpy(&l, bytes + j / N * std::int64_t(sizeof(Lanes)), sizeof l);
      return l;
    }
    LOCUS_VECTOR_FUNCTION void store(std::int64_t j, Lanes const& l) {
      __builtin_memcpy(bytes + j / N * std::int64_t(sizeof(Lanes)), &l, sizeof l);
    }
  };
  template <int Columns>
  struct columns {
    pack<column_lanes<typename fold<F>::lanes, Columns>...> lanes;
    pack<column_lanes<typename fold<F>::wide, Columns>...> wide;

    void begin(std::int64_t width) {
      for (std::int64_t j = 0; j < width; j += N) {
        (get<F>(lanes).store(j, fold<F>::start()), ...);
        (get<F>(wide).store(j, fold<F>::no_wide()), ...);
      }
    }
    void flush(std::int64_t width) {
      for (std::int64_t j = 0; j < width; j += N) {
        (get<F>(wide).store(j, fold<F>::flush(get<F>(wide).load(j), get<F>(lanes).load(j))), ...);
        (get<F>(lanes).store(j, fold<F>::start()), ...);
      }
    }
    template <class Totals>
    void total(std::int64_t j, Totals& t) const {
      ((get<F>(t) = fold<F>::lane(get<F>(wide).load(j), static_cast<int>(j % N))), ...);
    }
  };
  /// means: elements [0, width) of `rows` lines go to columns [first, first + width); a line after
  ///        the other: in_step, out_step elements further
  template <int Columns>
  static void add_rows(Stage const& given, sources const& from, std::int64_t const* steps,
                       std::int64_t const* in_step, targets const& to_rows,
                       std::int64_t const* out_step, std::int64_t rows, std::int64_t first,
                       std::int64_t width, columns<Columns>& to, bool from_memory = false) {
    Stage const f = given;
    Before const before{};
    std::int64_t const whole = width / N * N;
    auto const lines = [&](std::int64_t r, auto count) __attribute__((always_inline)) {
      auto const line = [&](std::int64_t k) __attribute__((always_inline)) {
        return make_pack(get<K>(from) + (r + k) * in_step[K]...);
      };
      targets const q = make_pack(get<M>(to_rows) + r * out_step[M]...);
      for (std::int64_t j = 0; j < whole; j += N) {
        std::int64_t const at[] = {(j & steps[K])..., 0};
        auto sums = make_pack(get<F>(to.lanes).load(first + j)...);
        unrolled<count>([&](auto k) __attribute__((always_inline)) {
          auto const v = values(f, before, line(k), at);
          ((get<F>(sums) = fold<F>::add(get<F>(sums), get<F>(v))), ...);
          (simd::store(get<M>(q) + k * out_step[M] + j, get<std::size_t(folds) + M>(v)), ...);
        });
        (get<F>(to.lanes).store(first + j, get<F>(sums)), ...);
      }
    };
    std::int64_t r = 0;
    if (!from_memory)  // the processor foresees one stream better than four that are pages apart
      for (; r + 4 <= rows; r += 4) lines(r, std::integral_constant<int, 4>{});
    for (; r < rows; ++r) lines(r, std::integral_constant<int, 1>{});
    if (whole == width) return;
    auto sums = make_pack(get<F>(to.lanes).load(first + whole)...);
    for (r = 0; r < rows; ++r) {
      sources const p = make_pack(get<K>(from) + r * in_step[K]...);
      targets const q = make_pack(get<M>(to_rows) + r * out_step[M]...);
      auto const v = tail(f, before, p, steps, q, whole, width, true);
      ((get<F>(sums) = fold<F>::add(get<F>(sums), get<F>(v))), ...);
    }
    (get<F>(to.lanes).store(first + whole, get<F>(sums)), ...);
  }

  /// means: the values of elements [i, n), fewer than a packet, in its last lanes (or its first);
  ///        what is stored of them is stored
  static results tail(Stage const& f, Before const& before, sources const& p,
                      std::int64_t const* steps, targets const& q, std::int64_t i, std::int64_t n,
                      bool in_front = false) {
    std::int64_t const zero[ins + 1]{};
    if (outs == 0 && n >= N && !in_front) {
      std::int64_t const at[] = {((n - N) & steps[K])..., 0};
      return values(f, before, p, at);
    }
    std::int64_t const count = n - i, first = in_front ? 0 : N - count;
    [[maybe_unused]] pack<few<typename Kinds::type>...> in;
    (get<K>(in).fill(get<K>(p) + (i & steps[K]), first, count), ...);
    auto const r = values(f, before, sources{{get<K>(in).values}...}, zero);
    [[maybe_unused]] pack<few<Outs>...> out;
    (simd::store(get<M>(out).values, get<std::size_t(folds) + M>(r)), ...);
    (__builtin_memcpy(get<M>(q) + i, get<M>(out).values + first,
                      static_cast<std::size_t>(count) * sizeof(Outs)),
     ...);
    return r;
  }

 private:
  /// one packet's elements; the other lanes repeat one, so that they compute nothing new
  template <class T>
  struct few {
    T values[N];
    void fill(T const* from, std::int64_t first, std::int64_t count) {
      for (int j = 0; j < N; ++j)
        values[j] = j >= first && j < first + count ? from[j - first] : from[0];
    }
  };
};
template <class Reducers, class Stage, class Before, class Kinds, class Outs>
using fold_lanes = fold_lanes_of_parts<Reducers, Stage, Before, Kinds, Outs,
                                       std::make_index_sequence<std::size_t(Reducers::size)>,
                                       std::make_index_sequence<std::size_t(Kinds::size)>,
                                       std::make_index_sequence<std::size_t(Outs::size)>>;

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END

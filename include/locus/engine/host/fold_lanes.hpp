// SPDX-License-Identifier: Apache-2.0
// The innermost loops of folds: packets of a run are added to accumulators in registers, packets of
// lines to one accumulator for each column; values may be stored on the way. A tail is a packet
// whose unused lanes are masked.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_FOLD_LANES)
#define LOCUS_ENGINE_HOST_FOLD_LANES
#include <locus/engine/host/gathered_run.hpp>   // run_operands
#include <locus/engine/host/packet_fold.hpp>    // packet_fold, unrolled
#include <locus/engine/host/packet_kernel.hpp>  // lanes_of
#include <locus/engine/host/short_row.hpp>      // short_row

#define LOCUS_CLONED <locus/engine/host/fold_lanes.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: number of lanes of a fold; at least 4 bytes for each lane, for wider sums of integers
template <class Stage>
inline constexpr int fold_lanes_of =
    lanes_of<Stage> * 4 <= simd::native_bytes ? lanes_of<Stage> : simd::native_bytes / 4;

template <class Reducers, class Stage, class Before, class Kinds, class Outs, class F, class K,
          class M>
struct fold_lanes_of_parts;
/// means: r = f(in[k][i]..., before) on packets; the first results go to the reducers, the others
///        to outs
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
    return packet_results<N>(f, together(simd::load<N>(get<K>(p) + at[K] + ahead)...), before);
  }
  using results = decltype(values(std::declval<Stage const&>(), std::declval<Before const&>(),
                                  std::declval<sources const&>(), nullptr));
  template <std::size_t Idx>
  using value = std::remove_cvref_t<decltype(get<Idx>(std::declval<results const&>()))>;
  template <std::size_t Idx>
  using fold = packet_fold<at_t<int(Idx), type_list<Reducers...>>, value<Idx>>;
  using wides = pack<typename fold<F>::wide...>;

  /// number of independent accumulators: enough to hide the latency of an addition
  static constexpr int sets = folds == 1 && kernel::cost_of<Stage> <= 8        ? 8
                              : folds <= 2 || (folds_in_pairs<fold<F>> || ...) ? 4
                                                                               : 2;
  /// means: true: the accumulators of Fold stay exact for any number of values
  template <class Fold>
  static constexpr bool adds_any_number =
      folds_in_pairs<Fold> || std::is_same_v<typename Fold::wide, typename Fold::lanes>;
  /// elements of a run before accumulators are added to wide totals: no limit, or 64 additions to
  /// each lane
  static constexpr std::int64_t at_once =
      (adds_any_number<fold<F>> && ...) ? std::int64_t(1) << 40 : 64 * sets * N;
  LOCUS_VECTOR_FUNCTION static wides no_wides() { return {{fold<F>::no_wide()}...}; }

  /// means: adds elements [0, n) of `from` to the wide totals, and stores the other results at q
  LOCUS_VECTOR_FUNCTION static void add_run(Stage const& given, Before const& folds_before,
                                            sources const& from, std::int64_t const* steps,
                                            targets const& q, std::int64_t n, wides& to) {
    Stage const f = given;  // local copies: no pointer aliases them
    Before const before = folds_before;
    sources const p = from;
    pack<run_sums<fold<F>, value<F>, sets>...> sums{
        {run_sums<fold<F>, value<F>, sets>(get<F>(to))}...};
    std::int64_t at[ins + 1];
    auto const move_to = [&]([[maybe_unused]] std::int64_t i)
                             __attribute__((always_inline)) { ((at[K] = i & steps[K]), ...); };
    auto const at_place = [&]([[maybe_unused]] std::int64_t i,
                              auto a) __attribute__((always_inline)) {
      auto const r = values(f, before, p, at, a * N);
      (simd::store(get<M>(q) + i + a * N, get<std::size_t(folds) + M>(r)), ...);
      return r;
    };
    // a destination may be an operand: the packet that ends with the run is read before the packets
    // that it overlaps are stored, and stored after them
    constexpr bool early = outs > 0;
    [[maybe_unused]] results end{};
    if constexpr (early)
      if (n >= N && n % N != 0) move_to(n - N), end = values(f, before, p, at);
    std::int64_t i = 0;
    for (; i + sets * N <= n; i += sets * N) {
      move_to(i);
      unrolled<sets>([&](auto a) __attribute__((always_inline)) {
        auto const r = at_place(i, a);
        (get<F>(sums).template add<a>(get<F>(r)), ...);
      });
    }
    for (; i + N <= n; i += N) {
      move_to(i);
      auto const r = at_place(i, std::integral_constant<int, 0>{});
      (get<F>(sums).add_one(get<F>(r)), ...);
    }
    if (i < n) {
      auto const r = early && n >= N ? end : tail(f, before, p, steps, q, i, n);
      if constexpr (early)
        if (n >= N) (simd::store(get<M>(q) + n - N, get<std::size_t(folds) + M>(r)), ...);
      int const first = N - static_cast<int>(n - i);
      (get<F>(sums).add_one(fold<F>::without(first, get<F>(r))), ...);
    }
    ((get<F>(to) = get<F>(sums).end(get<F>(to))), ...);
  }

  /// Accumulators of at most Columns columns.
  template <class Lanes, int Columns>
  struct column_lanes {
    alignas(64) unsigned char bytes[Columns / N * sizeof(Lanes)];
    // part by part: a copy of two registers at once goes through memory
    LOCUS_VECTOR_FUNCTION Lanes load(std::int64_t j) const {
      Lanes l;
      if constexpr (requires { Lanes::parts; })
        for (int k = 0; k < Lanes::parts; ++k)
          __builtin_memcpy(&l.of[k].v, bytes + place(j) + sizeof l.of[0] * std::size_t(k),
                           sizeof l.of[0]);
      else
        __builtin_memcpy(&l, bytes + place(j), sizeof l);
      return l;
    }
    LOCUS_VECTOR_FUNCTION void store(std::int64_t j, Lanes const& l) {
      if constexpr (requires { Lanes::parts; })
        for (int k = 0; k < Lanes::parts; ++k)
          __builtin_memcpy(bytes + place(j) + sizeof l.of[0] * std::size_t(k), &l.of[k].v,
                           sizeof l.of[0]);
      else
        __builtin_memcpy(bytes + place(j), &l, sizeof l);
    }
    LOCUS_VECTOR_FUNCTION static std::size_t place(std::int64_t j) {
      return static_cast<std::size_t>(j) / N * sizeof(Lanes);
    }
    /// means: the lane of column j; lanes of type T are contiguous
    template <class T>
    LOCUS_VECTOR_FUNCTION T lane(std::int64_t j) const {
      T x;
      __builtin_memcpy(&x, bytes + j * std::int64_t(sizeof x), sizeof x);
      return x;
    }
  };
  /// One fold of each column: lanes, or the partial sums of a tree over 8 lines, and wide totals.
  template <class Fold, int Columns>
  struct column_sums {
    using V = typename Fold::lanes;
    column_lanes<V, Columns> lanes;
    column_lanes<typename Fold::wide, Columns> wide;
    void begin(std::int64_t j) { lanes.store(j, Fold::start()), wide.store(j, Fold::no_wide()); }
    void flush(std::int64_t j, int) {
      wide.store(j, Fold::flush(wide.load(j), lanes.load(j)));
      lanes.store(j, Fold::start());
    }
    /// means: adds values of several lines; count: lines that the tree of 8 already has
    template <class... Values>
    LOCUS_VECTOR_FUNCTION void add(std::int64_t j, int, Values const&... v) {
      auto sum = lanes.load(j);
      ((sum = Fold::add(sum, v)), ...);
      lanes.store(j, sum);
    }
  };
  template <folds_in_pairs Fold, int Columns>
  struct column_sums<Fold, Columns> {
    using V = typename Fold::lanes;
    column_lanes<V, Columns> waiting[3];
    column_lanes<typename Fold::wide, Columns> wide;
    void begin(std::int64_t j) { wide.store(j, Fold::no_wide()); }
    void flush(std::int64_t j, int count) {
      for (int level = 0; level < 3; ++level)
        if (count >> level & 1) to_wide(j, waiting[level].load(j));
    }
    LOCUS_VECTOR_FUNCTION void add(std::int64_t j, int count, V v) {
      if ((count & 1) != 0) v = Fold::join(waiting[0].load(j), v);
      if ((count & 3) == 3) v = Fold::join(waiting[1].load(j), v);
      if (count == 7)
        to_wide(j, Fold::join(waiting[2].load(j), v));
      else
        waiting[(count & 3) == 3 ? 2 : count & 1].store(j, v);
    }
    LOCUS_VECTOR_FUNCTION void add(std::int64_t j, int, V a, V b, V c, V d, V e, V f, V g, V h) {
      V const front = Fold::join(Fold::join(a, b), Fold::join(c, d)),
              back = Fold::join(Fold::join(e, f), Fold::join(g, h));
      to_wide(j, Fold::join(front, back));
    }

   private:
    LOCUS_VECTOR_FUNCTION void to_wide(std::int64_t j, V v) {
      wide.store(j, Fold::flush(wide.load(j), v));
    }
  };
  /// means: t[k] = combine(t[k], fold k of n elements, n <= longest_short_row, in the order of a
  ///        column); stores the other results at q
  LOCUS_VECTOR_FUNCTION static void add_short_row(Stage const& f, Before const& before,
                                                  sources const& p, std::int64_t const* steps,
                                                  targets const& q, std::int64_t n,
                                                  pack<typename Reducers::total...>& t) {
    pack<short_row<Reducers, N>...> row;
    // from behind: a whole packet covers the unused lanes of the tail, which lie before it
    for (std::int64_t i = (n - 1) / N * N; i >= 0; i -= N) {
      bool const whole = i + N <= n;
      std::int64_t const at[] = {(i & steps[K])..., 0};
      auto const r = whole ? values(f, before, p, at) : tail(f, before, p, steps, q, i, n);
      if (whole) (simd::store(get<M>(q) + i, get<std::size_t(folds) + M>(r)), ...);
      (simd::store(get<F>(row).at(whole ? i : n - N), get<F>(r)), ...);
    }
    ((get<F>(t) = Reducers::combine(get<F>(t), get<F>(row).total(n))), ...);
  }
  template <int Columns>
  struct columns {
    pack<column_sums<fold<F>, Columns>...> sums;
    int count = 0;  // lines since the last full tree of 8

    void begin(std::int64_t width) {
      for (std::int64_t j = 0; j < width; j += N) (get<F>(sums).begin(j), ...);
    }
    void added(std::int64_t lines) { count = static_cast<int>((count + lines) & 7); }
    void flush(std::int64_t width) {
      for (std::int64_t j = 0; j < width; j += N) (get<F>(sums).flush(j, count), ...);
      count = 0;
    }
    template <class Totals>
    void total(std::int64_t j, Totals& t) const {
      ((get<F>(t) =
            fold<F>::of_lane(get<F>(sums).wide.template lane<typename fold<F>::wide_lane>(j))),
       ...);
    }
  };
  template <int... L, class Columns>
  LOCUS_VECTOR_FUNCTION static void add_values(Columns& to, std::int64_t j, int count,
                                               results const* v) {
    auto const add = [&](auto k) __attribute__((always_inline)) {
      get<std::size_t(k)>(to.sums).add(j, count, get<std::size_t(k)>(v[L])...);
    };
    (add(std::integral_constant<std::size_t, F>{}), ...);
  }
  /// lines that one loop adds together
  static constexpr int lines_at_once = (folds_in_pairs<fold<F>> || ...) ? 8 : 4;
  /// means: `Packets` packets of lines of `whole` elements come into the second cache, those of
  ///        line number `line` from element j on; (line, j) moves on in the order of addresses
  template <int Packets>
  LOCUS_VECTOR_FUNCTION static void prefetch(sources const& from, std::int64_t const* steps,
                                             std::int64_t const* in_step, std::int64_t whole,
                                             std::int64_t& line, std::int64_t& j) {
    std::int64_t const at = j + Packets * N <= whole ? j : whole - Packets * N;
    unrolled<Packets>([&](auto k) __attribute__((always_inline)) {
      (__builtin_prefetch(get<K>(from) + line * in_step[K] + ((at + k * N) & steps[K]), 0, 2), ...);
    });
    if ((j += Packets * N) >= whole) j = 0, ++line;
  }
  /// means: adds elements [0, width) of `rows` lines to columns [first, first + width); in_step,
  ///        out_step: elements from a line to the next; from_memory: 0, or the lines that the fold
  ///        reads from memory from here on
  /// after: call to.added(rows) once all columns have these lines
  template <int Columns>
  static void add_rows(Stage const& given, sources const& from, std::int64_t const* steps,
                       std::int64_t const* in_step, targets const& to_rows,
                       std::int64_t const* out_step, std::int64_t rows, std::int64_t first,
                       std::int64_t width, columns<Columns>& to, std::int64_t from_memory = 0) {
    Stage const f = given;
    Before const before{};
    std::int64_t const whole = width / N * N;
    // A processor prefetches one stream of lines, but not several on pages of their own. So long
    // lines are prefetched here, and short lines are added one by one.
    constexpr std::int64_t longest_short_line = 3072;  // units: bytes
    bool const long_lines =
        ((in_step[K] * std::int64_t(sizeof(typename Kinds::type)) > longest_short_line) || ...);
    bool const prefetches = from_memory > 0 && long_lines && whole >= lines_at_once * N,
               one_by_one = from_memory > 0 && !long_lines;
    auto const count_at = [&](std::int64_t r) { return static_cast<int>((to.count + r) & 7); };
    auto const lines = [&](std::int64_t r, auto line_numbers) __attribute__((always_inline)) {
      auto const line = [&](std::int64_t k) __attribute__((always_inline)) {
        return make_pack(get<K>(from) + (r + k) * in_step[K]...);
      };
      targets const q = make_pack(get<M>(to_rows) + r * out_step[M]...);
      int const count = count_at(r);
      std::int64_t ahead = r + 8, ahead_at = 0;
      for (std::int64_t j = 0; j < whole; j += N) {
        std::int64_t const at[] = {(j & steps[K])..., 0};
        if (prefetches && ahead < from_memory)
          prefetch<int(line_numbers.size())>(from, steps, in_step, whole, ahead, ahead_at);
        auto const value_of = [&](auto k) __attribute__((always_inline)) {
          auto const v = values(f, before, line(k), at);
          (simd::store(get<M>(q) + k * out_step[M] + j, get<std::size_t(folds) + M>(v)), ...);
          return v;
        };
        [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
          results const v[] = {value_of(std::integral_constant<int, L>{})...};
          add_values<L...>(to, first + j, count, v);
        }(line_numbers);
      }
    };
    std::int64_t r = 0;
    while (r < rows)
      if (!one_by_one && count_at(r) % lines_at_once == 0 && r + lines_at_once <= rows) {
        lines(r, std::make_integer_sequence<int, lines_at_once>{});
        r += lines_at_once;
      } else
        lines(r++, std::make_integer_sequence<int, 1>{});
    if (whole == width) return;
    for (r = 0; r < rows; ++r) {
      sources const p = make_pack(get<K>(from) + r * in_step[K]...);
      targets const q = make_pack(get<M>(to_rows) + r * out_step[M]...);
      auto const v = tail(f, before, p, steps, q, whole, width, true);
      (get<F>(to.sums).add(first + whole, count_at(r), get<F>(v)), ...);
    }
  }

  /// means: the values of elements [i, n), fewer than a packet, in the last lanes (in_front: the
  ///        first); stores the results for outs
  LOCUS_VECTOR_FUNCTION static results tail(Stage const& f, Before const& before, sources const& p,
                                            std::int64_t const* steps, targets const& q,
                                            std::int64_t i, std::int64_t n, bool in_front = false) {
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
  /// elements of one packet; unused lanes repeat one of them
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

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

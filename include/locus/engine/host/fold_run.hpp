// SPDX-License-Identifier: Apache-2.0
// Folds of one run: on packets if every functor has a packet form; otherwise values are computed
// one by one into a buffer, and the buffer is folded on packets.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_FOLD_RUN)
#define LOCUS_ENGINE_HOST_FOLD_RUN
#include <locus/engine/host/fold_lanes.hpp>  // fold_lanes
#include <locus/work/reducer.hpp>            // reducer, with_index_fn

#define LOCUS_CLONED <locus/engine/host/fold_run.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_LOOPS_BEGIN
namespace LOCUS_SPACE(host) {

template <class Reducers, class Stage, class Before, class Kinds, class Outs>
struct computed_run;
/// The values of a run, computed one by one into buffers.
template <class... Reducers, class Stage, class Before, class... Kinds, class... Outs>
struct computed_run<type_list<Reducers...>, Stage, Before, type_list<Kinds...>,
                    type_list<Outs...>> {
  static constexpr int folds = sizeof...(Reducers), ins = sizeof...(Kinds), outs = sizeof...(Outs);
  using run_type = run_operands<type_list<Kinds...>, type_list<Outs...>>;
  using totals = pack<typename Reducers::total...>;
  template <int K>
  using reducer = at_t<K, type_list<Reducers...>>;
  template <class T>
  struct few_values {
    T value[chunk];
  };
  using buffers = pack<few_values<typename Reducers::value>...>;

  /// means: values of elements [i, i + n) of a run, one by one; n is at most a chunk
  static void compute(Stage const& f, Before const& before, run_type& r, std::int64_t i,
                      std::int64_t n, buffers& to) {
    auto const p = r.read(i, n);
    auto const q = r.write(i);
    constexpr std::int64_t some = chunk / 2;  // as many as a broadcast value fills
    for (std::int64_t j = 0; j < n; j += some)
      compute_some(f, before, p, r.steps, q, j, n - j < some ? n - j : some, to,
                   std::make_index_sequence<std::size_t(ins)>{},
                   std::make_index_sequence<std::size_t(outs)>{},
                   std::make_index_sequence<std::size_t(folds)>{});
    r.written(i, n);
  }
  static void add(totals& t, buffers const& b, std::int64_t j) {
    for_each_index<folds>([&](auto k) {
      using R = reducer<k>;
      get<k>(t) = R::combine(get<k>(t), R::widen(R::add(R::start(), get<k>(b).value[j])));
    });
  }

 private:
  /// All operands are contiguous here, so that the compiler may vectorise the loop.
  template <std::size_t... K, std::size_t... M, std::size_t... F>
  LOCUS_LOOP_FUNCTION static void compute_some(Stage const& given, Before const& folds_before,
                                               typename run_type::sources const& p,
                                               std::int64_t const* steps,
                                               typename run_type::targets const& q,
                                               std::int64_t first, std::int64_t n, buffers& to,
                                               std::index_sequence<K...>, std::index_sequence<M...>,
                                               std::index_sequence<F...>) {
    Stage const f = given;  // local copies: no pointer aliases them
    Before const before = folds_before;
    [[maybe_unused]] typename run_type::sources const in{{get<K>(p) + (first & steps[K])}...};
    [[maybe_unused]] typename run_type::targets const out{{get<M>(q) + first}...};
    pack<typename Reducers::value*...> const values{{get<F>(to).value + first}...};
    LOCUS_IVDEP
    for (std::int64_t j = 0; j < n; ++j) {
      auto const result = f(pack<typename Kinds::type...>{{get<K>(in)[j]}...}, before);
      ((get<F>(values)[j] = get<F>(result)), ...);
      ((get<M>(out)[j] = get<std::size_t(folds) + M>(result)), ...);
    }
  }
};

template <class Reducers, class Stage, class Before, class Kinds, class Outs>
struct fold_run_of;
/// means: t[n] = combine(t[n], fold n of f(in..., before) over a run); stores the other results of
///        f
template <class... Reducers, class Stage, class Before, class... Kinds, class... Outs>
struct fold_run_of<type_list<Reducers...>, Stage, Before, type_list<Kinds...>, type_list<Outs...>>
    : computed_run<type_list<Reducers...>, Stage, Before, type_list<Kinds...>, type_list<Outs...>> {
  using base =
      computed_run<type_list<Reducers...>, Stage, Before, type_list<Kinds...>, type_list<Outs...>>;
  using base::folds;
  using typename base::buffers, typename base::run_type, typename base::totals;
  static constexpr bool by_packets = runs_on_packets<fold_lanes_of<Stage>, Stage> &&
                                     (has_packet<typename Kinds::type> && ... && true) &&
                                     (folds_packets<Reducers> && ...);
  static constexpr bool has_lanes = (folds_packets<Reducers> && ...);

  /// the stage that reads buffered values as its inputs
  template <class Indices>
  struct stored_stage;
  template <std::size_t... K>
  struct stored_stage<std::index_sequence<K...>> {
    using type =
        kernel::stage<type_list<>, type_list<kernel::input<int(K), typename Reducers::value>...>>;
  };
  using stored = typename stored_stage<std::index_sequence_for<Reducers...>>::type;
  static auto lanes_type() {
    if constexpr (by_packets)
      return std::type_identity<fold_lanes<type_list<Reducers...>, Stage, Before,
                                           type_list<Kinds...>, type_list<Outs...>>>{};
    else
      return std::type_identity<
          fold_lanes<type_list<Reducers...>, stored, pack<>,
                     type_list<kernel::elements_of<typename Reducers::value>...>, type_list<>>>{};
  }
  /// means: folds elements [0, n) of a run into t
  static void fold(Stage const& f, Before const& before, run_type& r, std::int64_t n, totals& t) {
    if constexpr (!has_lanes) {
      buffers b;
      for (std::int64_t i = 0; i < n; i += chunk) {
        std::int64_t const count = n - i < chunk ? n - i : chunk;
        base::compute(f, before, r, i, count, b);
        for (std::int64_t j = 0; j < count; ++j) base::add(t, b, j);
      }
    } else {
      using lanes = typename decltype(lanes_type())::type;
      if constexpr ((Reducers::order_matters || ...))
        if (n > 1 && n <= longest_short_row) {  // with the bits of a row that is turned over
          if constexpr (by_packets) {
            lanes::add_short_row(f, before, r.read(0, n), r.steps, r.write(0), n, t);
            r.written(0, n);
          } else {
            buffers b;
            base::compute(f, before, r, 0, n, b);
            lanes::add_short_row(stored{}, pack<>{}, sources_of(b), moves, {}, n, t);
          }
          return;
        }
      auto wide = lanes::no_wides();
      std::int64_t const each = !by_packets || r.chunked ? chunk : lanes::at_once;
      for (std::int64_t i = 0; i < n; i += each) {
        std::int64_t const count = n - i < each ? n - i : each;
        if constexpr (by_packets) {
          lanes::add_run(f, before, r.read(i, count), r.steps, r.write(i), count, wide);
          r.written(i, count);
        } else {
          buffers b;
          base::compute(f, before, r, i, count, b);
          lanes::add_run(stored{}, pack<>{}, sources_of(b), moves, {}, count, wide);
        }
      }
      for_each_index<folds>([&](auto k) {
        using R = typename base::template reducer<k>;
        get<k>(t) =
            R::combine(get<k>(t), lanes::template fold<std::size_t(k)>::total(get<k>(wide)));
      });
    }
  }

  static constexpr std::int64_t moves[] = {(Reducers::block > 0 ? std::int64_t(-1) : 0)..., 0};
  static auto sources_of(buffers const& b) {
    pack<typename Reducers::value const*...> p;
    for_each_index<folds>([&](auto k) { get<k>(p) = get<k>(b).value; });
    return p;
  }
};

template <class Reducers, class Stage, class Before, class Kinds, class Outs>
struct fold_run : fold_run_of<Reducers, Stage, Before, Kinds, Outs> {};

// ---- argmax: the largest of a block first, its place only where it is better ----

template <class Stage>
struct ranked_values;
/// The stage without its ranking: only the values that it ranks.
template <class... Slots, class T, class Tree, class Number>
struct ranked_values<
    kernel::stage<type_list<Slots...>,
                  type_list<kernel::apply<ranked<T>, kernel::with_index_fn, Tree, Number>>>> {
  using type = kernel::stage<type_list<Slots...>, type_list<Tree>>;
  template <class Stage>
  static type of(Stage const& f) {
    return {f.slot_trees, make_pack(get<0>(get<0>(f.outs).args))};
  }
};
template <class Kinds>
struct without_last;
template <class... Kinds, class Last>
struct without_last<type_list<Last, Kinds...>> {
  template <std::size_t... K>
  static auto of(std::index_sequence<K...>)
      -> type_list<at_t<int(K), type_list<Last, Kinds...>>...>;
  using type = decltype(of(std::make_index_sequence<sizeof...(Kinds)>{}));
};

/// means: total = the better of total and the first largest element of the run; the last input
///        gives the index of each element
template <class T, class Stage, class Before, class Kinds>
  requires(is_floating_v<T> || is_integer_v<T>)
struct fold_run<type_list<kernel::reducer<reduction::first_max, ranked<T>>>, Stage, Before, Kinds,
                type_list<>>
    : computed_run<type_list<kernel::reducer<reduction::first_max, ranked<T>>>, Stage, Before,
                   Kinds, type_list<>> {
  using reducer = kernel::reducer<reduction::first_max, ranked<T>>;
  using values_of = ranked_values<Stage>;
  using value_stage = typename values_of::type;
  using value_kinds = typename without_last<Kinds>::type;
  using maximum = type_list<kernel::reducer<reduction::max, T>>;
  using largest = fold_run<maximum, value_stage, Before, value_kinds, type_list<>>;
  using lanes = typename decltype(largest::lanes_type())::type;
  using run_type = run_operands<Kinds, type_list<>>;
  using totals = pack<ranked<T>>;
  static constexpr bool by_packets = false;
  static constexpr bool has_lanes = false;
  static constexpr std::int64_t block = 2048;

  static void fold(Stage const& f, Before const& before, run_type& r, std::int64_t n, totals& t) {
    value_stage const values = values_of::of(f);
    auto& number = get<std::size_t(run_type::ins - 1)>(r.in);
    ranked<T> best = reducer::start();
    auto of_values = as_values(r, std::make_index_sequence<std::size_t(value_kinds::size)>{});
    std::int64_t const each = !largest::by_packets || of_values.chunked ? chunk : block;
    for (std::int64_t i = 0; i < n && best.value == best.value; i += each) {
      std::int64_t const count = n - i < each ? n - i : each;
      typename largest::buffers b;
      auto const look = [&](auto const& stage, auto const& folds, auto const& p,
                            std::int64_t const* steps) {
        auto wide = lanes::no_wides();
        lanes::add_run(stage, folds, p, steps, {}, count, wide);
        T const most = lanes::template fold<0>::total(get<0>(wide));
        if (best.index >= 0 && most <= best.value) return;
        std::int64_t const at = find(stage, folds, p, steps, count, most);
        best = {most, number.base + (i + at) * number.stride};
      };
      if constexpr (largest::by_packets)
        look(values, before, of_values.read(i, count), of_values.steps);
      else {
        largest::compute(values, before, of_values, i, count, b);
        look(typename largest::stored{}, pack<>{}, largest::sources_of(b), largest::moves);
      }
    }
    get<0>(t) = reducer::combine(get<0>(t), best);
  }

 private:
  using value_run = run_operands<value_kinds, type_list<>>;
  template <std::size_t... K>
  static value_run as_values(run_type& r, std::index_sequence<K...>) {
    value_run v;
    v.chunked = false;
    (take(get<K>(v.in), get<K>(r.in), v, int(K)), ...);
    return v;
  }
  template <class In>
  static void take(In& to, In const& from, value_run& v, int k) {
    to = from, v.steps[k] = from.steps, v.chunked = v.chunked || from.gathered;
    if (from.steps == 0) to.data = to.buffer;
  }
  /// means: index of the first element that equals `most` or is NaN
  template <class Values, class Folds, class Sources>
  static std::int64_t find(Values const& f, Folds const& before, Sources const& p,
                           std::int64_t const* steps, std::int64_t n, T most) {
    constexpr int N = lanes::N;
    for (std::int64_t i = 0;; i += N) {
      bool const whole = i + N <= n;
      auto const values = [&] {
        if (!whole) return get<0>(lanes::tail(f, before, p, steps, {}, i, n));
        std::int64_t at[value_kinds::size + 1];
        for (int k = 0; k < value_kinds::size; ++k) at[k] = i & steps[k];
        return get<0>(lanes::values(f, before, p, at));
      }();
      if (i + N < n && !is_in(most, values)) continue;
      T few[N];
      simd::store(few, values);
      std::int64_t const first = whole ? i : n - N;
      for (int j = static_cast<int>(i - first); j < N; ++j)
        if (few[j] == most || few[j] != few[j]) return first + j;
      return n - 1;
    }
  }
  /// means: some lane equals x or is NaN
  template <class U, int N>
  LOCUS_VECTOR_FUNCTION static bool is_in(U x, simd::packet<U, N> values) {
    if constexpr (is_narrow_v<U>)
      return is_in(static_cast<float>(x), simd::convert<float>(values));
    else {
      auto const found =
          simd::equal(values, simd::broadcast<N>(x)).v | simd::not_equal(values, values).v;
      using word = std::conditional_t<sizeof found % 8 == 0, std::uint64_t, std::uint32_t>;
      using words = simd::vector<word, int(sizeof found / sizeof(word))>;
      return simd::any_above((words)found, words{});
    }
  }
};

/// means: t[i] = combine(t[i], fold of row i) for i in [0, rows), rows >= 1; operand k moves
///        steps[k] elements from a row to the next
template <class Reducers, class Stage, class Before, class Kinds, class Outs>
struct fold_rows {
  using one = fold_run<Reducers, Stage, Before, Kinds, Outs>;
  static void fold(Stage const& f, Before const& before, run_operands<Kinds, Outs>& r,
                   std::int64_t n, std::int64_t const* steps, std::int64_t rows,
                   typename one::totals* t) {
    for (;;) {
      one::fold(f, before, r, n, *t++);
      if (--rows == 0) return;
      r.move(steps);
    }
  }
};

/// means: get<K>(t[i]) = the fold of row i, given the results t[i] before it, for i in [0, rows),
///        rows >= 1
template <std::size_t K, class Reducer, class Stage, class Results, class Kinds, class Outs>
struct fold_rows_after {
  using one = fold_run<type_list<Reducer>, Stage, Results, Kinds, Outs>;
  static void fold(Stage const& f, double count, run_operands<Kinds, Outs>& r, std::int64_t n,
                   std::int64_t const* steps, std::int64_t rows, Results* t) {
    for (;;) {
      typename one::totals total{{Reducer::identity()}};
      one::fold(f, *t, r, n, total);
      get<K>(*t++) = Reducer::finish(get<0>(total), count);
      if (--rows == 0) return;
      r.move(steps);
    }
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_LOOPS_END
#endif

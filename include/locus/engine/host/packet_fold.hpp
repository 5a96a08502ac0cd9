// SPDX-License-Identifier: Apache-2.0
// Reducers on packets: values are added to N lanes, lanes to N wide totals, and those to one total.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_FOLD)
#define LOCUS_ENGINE_HOST_PACKET_FOLD
#include <locus/engine/host/packet_forms.hpp>  // packet_form, packet, mask
#include <locus/work/reducer.hpp>              // reducer

#define LOCUS_CLONED <locus/engine/host/packet_fold.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: f(0), ..., f(Count - 1), with constants, inlined
template <class F, int... Idx>
LOCUS_VECTOR_FUNCTION void unrolled(std::integer_sequence<int, Idx...>, F const& f) {
  (f(std::integral_constant<int, Idx>{}), ...);
}
template <int Count, class F>
LOCUS_VECTOR_FUNCTION void unrolled(F const& f) {
  unrolled(std::make_integer_sequence<int, Count>{}, f);
}

// packet_fold: how a reducer folds values of type V, a packet or a mask of N lanes. Types: lanes,
// to which values are added; wide, to which lanes are added, in memory N values of type wide_lane.
// Functions: start(), add(lanes, V), join(lanes, lanes), no_wide(), flush(wide, lanes),
// total(wide), of_lane(wide_lane), and without(j, V): the lanes before j become neutral.
// in_pairs: values are added in a tree of 8 (or 4), and the sum of the tree to the wide total:
// equal values, which a running sum would round the same way each time, are then added exactly.
template <class Reducer, class V>
struct packet_fold;
template <class Reducer, class V>
struct packet_fold<kernel::unfinished<Reducer>, V> : packet_fold<Reducer, V> {};
/// means: the reducer has a packet_fold
template <class Reducer>
inline constexpr bool folds_packets = has_packet<typename Reducer::value>;
template <class Reducer>
inline constexpr bool folds_packets<kernel::unfinished<Reducer>> = folds_packets<Reducer>;
template <class T>
inline constexpr bool folds_packets<kernel::reducer<reduction::product, complex<T>>> = false;
template <class Fold>
concept folds_in_pairs = Fold::in_pairs;

/// means: the waiting branches of a tree of Size values: sums of 1, 2 and 4 values
template <class Fold, int Size>
  requires(Size == 8 || Size == 4)
struct pairs {
  typename Fold::lanes waiting[Size == 8 ? 3 : 2];

  /// means: puts value number Count into the tree; returns the sum of the branch that it completes,
  ///        which waits for its neighbour until the tree is full
  template <int Count>
  LOCUS_VECTOR_FUNCTION typename Fold::lanes put(typename Fold::lanes v) {
    if constexpr ((Count & 1) != 0) v = Fold::join(waiting[0], v);
    if constexpr ((Count & 3) == 3) v = Fold::join(waiting[1], v);
    if constexpr (Count == 7) v = Fold::join(waiting[2], v);
    if constexpr (Count + 1 < Size) waiting[(Count & 3) == 3 ? 2 : (Count & 1) != 0 ? 1 : 0] = v;
    return v;
  }
};

/// The accumulators of a fold along a run: Sets packets in turn.
template <class Fold, class V, int Sets>
struct run_sums {
  typename Fold::lanes of[Sets];
  LOCUS_VECTOR_FUNCTION explicit run_sums(typename Fold::wide) {
    unrolled<Sets>([&](auto a) __attribute__((always_inline)) { of[a] = Fold::start(); });
  }
  template <int A>
  LOCUS_VECTOR_FUNCTION void add(V v) {
    of[A] = Fold::add(of[A], v);
  }
  LOCUS_VECTOR_FUNCTION void add_one(V v) { add<0>(v); }
  LOCUS_VECTOR_FUNCTION typename Fold::wide end(typename Fold::wide w) {
    unrolled<Sets - 1>([&](auto a) __attribute__((always_inline)) {
      constexpr int step = a < Sets / 2 ? Sets / 2 : a < Sets / 2 + Sets / 4 ? Sets / 4 : 1;
      constexpr int to = a < Sets / 2 ? a : a < Sets / 2 + Sets / 4 ? a - Sets / 2 : 0;
      of[to] = Fold::join(of[to], of[to + step]);
    });
    return Fold::flush(w, of[0]);
  }
};
namespace detail {
/// means: lanes [First, First + N / 2); memcpy would go through memory
template <int First, class T, int N, int... J>
LOCUS_VECTOR_FUNCTION packet<T, N / 2> half_of(packet<T, N> x, std::integer_sequence<int, J...>) {
  if constexpr (N == 2) {  // nvcc rejects a list of one
    packet<T, 1> r{};
    r.v[0] = x.v[First];
    return r;
  } else
    return {simd::vector<T, N / 2>{x.v[First + J]...}};
}
template <int First, class T, int N>
LOCUS_VECTOR_FUNCTION packet<T, N / 2> half_of(packet<T, N> x) {
  return half_of<First>(x, std::make_integer_sequence<int, N / 2>{});
}
/// means: sum of the lanes, by halves
template <class T, int N>
LOCUS_VECTOR_FUNCTION T sum_of_lanes(packet<T, N> x) {
  if constexpr (N == 1)
    return x.v[0];
  else
    return sum_of_lanes(simd::add(half_of<0>(x), half_of<N / 2>(x)));
}
template <class V>
inline constexpr int lane_bytes = int(sizeof(V)) / V::lanes;
/// means: N totals in registers; a vector wider than a register would go through memory
template <class T, int N>
struct wide_lanes {
  static constexpr int parts = N * int(sizeof(T)) > simd::native_bytes ? 2 : 1;
  packet<T, N / parts> of[parts]{};

  template <class U>
  LOCUS_VECTOR_FUNCTION void add(packet<U, N> x) {
    if constexpr (parts == 1)
      of[0] = simd::add(of[0], simd::convert<T>(x));
    else {
      of[0] = simd::add(of[0], simd::convert<T>(half_of<0>(x)));
      of[1] = simd::add(of[1], simd::convert<T>(half_of<N / 2>(x)));
    }
  }
  LOCUS_VECTOR_FUNCTION T sum() const {
    if constexpr (parts == 1)
      return sum_of_lanes(of[0]);
    else
      return sum_of_lanes(simd::add(of[0], of[1]));
  }
};
/// means: lanes [first, N) are true
template <int Bytes, int N>
LOCUS_VECTOR_FUNCTION mask<Bytes, N> lanes_from(int first) {
  using B = simd::signed_of<Bytes>;
  simd::vector<B, N> number;
  for (int j = 0; j < N; ++j) number[j] = static_cast<B>(j);
  return {(simd::vector<B, N>)(number >= static_cast<B>(first))};
}
}  // namespace detail

template <folds_in_pairs Fold, class V, int Sets>
struct run_sums<Fold, V, Sets> {
  using wide = typename Fold::wide;
  pairs<Fold, Sets> tree;
  wide all;
  LOCUS_VECTOR_FUNCTION explicit run_sums(wide w) : all(w) {}
  template <int A>
  LOCUS_VECTOR_FUNCTION void add(V v) {
    auto const sum = tree.template put<A>(v);
    if constexpr (A + 1 == Sets) add_one(sum);
  }
  LOCUS_VECTOR_FUNCTION void add_one(V v) { all.add(v); }
  LOCUS_VECTOR_FUNCTION wide end(wide) { return all; }
};

template <class T, class V>
struct packet_fold<kernel::reducer<reduction::sum, T>, V> {
  using reducer = kernel::reducer<reduction::sum, T>;
  static constexpr int N = V::lanes;
  // 64 additions of 16-bit numbers to each of 8 accumulators fit in 32 bits
  using lane_type =
      std::conditional_t<!is_floating_v<T> && sizeof(T) <= 2, std::int32_t, typename reducer::lane>;
  using lanes = packet<lane_type, N>;
  using wide_lane = typename reducer::total;
  using wide = detail::wide_lanes<wide_lane, N>;
  static constexpr bool in_pairs = std::is_same_v<lane_type, float>;
  LOCUS_VECTOR_FUNCTION static lanes start() { return lanes{}; }
  LOCUS_VECTOR_FUNCTION static lanes add(lanes a, V v) {
    return simd::add(a, simd::convert<lane_type>(v));
  }
  LOCUS_VECTOR_FUNCTION static lanes join(lanes a, lanes b) { return simd::add(a, b); }
  LOCUS_VECTOR_FUNCTION static wide no_wide() { return wide{}; }
  LOCUS_VECTOR_FUNCTION static wide flush(wide w, lanes a) {
    w.add(a);
    return w;
  }
  LOCUS_VECTOR_FUNCTION static wide_lane total(wide const& w) { return w.sum(); }
  LOCUS_VECTOR_FUNCTION static wide_lane of_lane(wide_lane x) { return x; }
  LOCUS_VECTOR_FUNCTION static V without(int first, V v) {
    auto const valid = detail::lanes_from<detail::lane_bytes<V>, N>(first).v;
    return V{(decltype(v.v))((decltype(valid))v.v & valid)};
  }
};

template <class T, class V>
struct packet_fold<kernel::reducer<reduction::sum, complex<T>>, V>;  // complex_fold.hpp

template <class T, class V>
struct packet_fold<kernel::reducer<reduction::product, T>, V> {
  using reducer = kernel::reducer<reduction::product, T>;
  static constexpr int N = V::lanes;
  using wide_lane = typename reducer::lane;
  using lanes = packet<wide_lane, N>;
  using wide = lanes;
  LOCUS_VECTOR_FUNCTION static lanes start() { return simd::broadcast<N>(wide_lane(1)); }
  LOCUS_VECTOR_FUNCTION static lanes add(lanes a, V v) {
    return simd::multiply(a, simd::convert<wide_lane>(v));
  }
  LOCUS_VECTOR_FUNCTION static lanes join(lanes a, lanes b) { return simd::multiply(a, b); }
  LOCUS_VECTOR_FUNCTION static wide no_wide() { return start(); }
  LOCUS_VECTOR_FUNCTION static wide flush(wide w, lanes a) { return simd::multiply(w, a); }
  template <int Lanes>
  LOCUS_VECTOR_FUNCTION static wide_lane of_lanes(packet<wide_lane, Lanes> x) {
    if constexpr (Lanes == 1)
      return x.v[0];
    else
      return of_lanes(simd::multiply(detail::half_of<0>(x), detail::half_of<Lanes / 2>(x)));
  }
  LOCUS_VECTOR_FUNCTION static wide_lane total(wide w) { return of_lanes(w); }
  LOCUS_VECTOR_FUNCTION static wide_lane of_lane(wide_lane x) { return x; }
  LOCUS_VECTOR_FUNCTION static V without(int first, V v) {
    auto const valid = detail::lanes_from<detail::lane_bytes<V>, N>(first);
    if constexpr (std::is_same_v<T, bool>)
      return V{v.v | ~valid.v};
    else
      return simd::select(valid, v, simd::broadcast<N>(T(1)));
  }
};

/// means: each lane of a if it is larger than that of b, otherwise that of b
struct larger_lanes {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> b, packet<T, N> a) {
    return {simd::larger_of(a.v, b.v)};
  }
};
/// The fold of a reducer that keeps one of two values; Form::call chooses.
template <class Reducer, class Form, class V>
struct fold_of_extremum {
  using reducer = Reducer;
  using form = Form;
  using T = typename Reducer::value;
  static constexpr int N = V::lanes;
  using lanes = V;
  using wide = V;
  using wide_lane = T;
  LOCUS_VECTOR_FUNCTION static V start() { return simd::broadcast<N>(reducer::start()); }
  LOCUS_VECTOR_FUNCTION static V add(V a, V v) { return form::call(a, v); }
  LOCUS_VECTOR_FUNCTION static V join(V a, V b) { return form::call(a, b); }
  LOCUS_VECTOR_FUNCTION static V no_wide() { return start(); }
  LOCUS_VECTOR_FUNCTION static V flush(V w, V a) { return form::call(w, a); }
  template <int Lanes>
  LOCUS_VECTOR_FUNCTION static T of_lanes(packet<T, Lanes> x) {
    if constexpr (Lanes == 1)
      return x.v[0];
    else
      return of_lanes(form::call(detail::half_of<0>(x), detail::half_of<Lanes / 2>(x)));
  }
  LOCUS_VECTOR_FUNCTION static T total(V w) { return of_lanes(w); }
  LOCUS_VECTOR_FUNCTION static T of_lane(T x) { return x; }
  LOCUS_VECTOR_FUNCTION static V without(int first, V v) {
    return simd::select(detail::lanes_from<int(sizeof(T)), N>(first), v, start());
  }
};

/// max and min: the packet form of their functor, also for NaN
template <class T, class V>
struct packet_fold<kernel::reducer<reduction::max, T>, V>
    : fold_of_extremum<kernel::reducer<reduction::max, T>, packet_form<maximum_fn>, V> {};
template <class T, class V>
struct packet_fold<kernel::reducer<reduction::min, T>, V>
    : fold_of_extremum<kernel::reducer<reduction::min, T>, packet_form<minimum_fn>, V> {};
template <class T, class V>
struct packet_fold<kernel::largest_number<T>, V>
    : fold_of_extremum<kernel::largest_number<T>, larger_lanes, V> {};

/// any and all
template <reduction R, int Bytes, int Lanes>
  requires(R == reduction::any || R == reduction::all)
struct packet_fold<kernel::reducer<R, bool>, mask<Bytes, Lanes>> {
  using V = mask<Bytes, Lanes>;
  static constexpr int N = Lanes;
  static constexpr bool is_any = R == reduction::any;
  using lanes = V;
  using wide = V;
  using wide_lane = simd::signed_of<Bytes>;
  LOCUS_VECTOR_FUNCTION static V start() {
    simd::vector<simd::signed_of<Bytes>, N> const none{};
    if constexpr (is_any)
      return {none};
    else
      return {~none};
  }
  LOCUS_VECTOR_FUNCTION static V add(V a, V v) {
    if constexpr (is_any)
      return {a.v | v.v};
    else
      return {a.v & v.v};
  }
  LOCUS_VECTOR_FUNCTION static V join(V a, V b) { return add(a, b); }
  LOCUS_VECTOR_FUNCTION static V no_wide() { return start(); }
  LOCUS_VECTOR_FUNCTION static V flush(V w, V a) { return add(w, a); }
  LOCUS_VECTOR_FUNCTION static bool total(V w) {
    for (int j = 0; j < N; ++j)
      if (of_lane(w.v[j]) == is_any) return is_any;
    return !is_any;
  }
  LOCUS_VECTOR_FUNCTION static bool of_lane(wide_lane x) { return x != 0; }
  LOCUS_VECTOR_FUNCTION static V without(int first, V v) {
    auto const valid = detail::lanes_from<Bytes, N>(first).v;
    if constexpr (is_any)
      return {v.v & valid};
    else
      return {v.v | ~valid};
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

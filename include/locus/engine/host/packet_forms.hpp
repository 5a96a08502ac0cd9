// SPDX-License-Identifier: Apache-2.0
// The packet forms of locus' functors, and the evaluation of trees on packets:
// packet_form<F>::call(packets...) has the bits of F on each lane. A functor without such a form,
// as every lambda, runs element by element.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_PACKET_FORMS)
#define LOCUS_ENGINE_HOST_PACKET_FORMS
#include <limits>   // numeric_limits
#include <utility>  // index_sequence

#include <locus/core/pack.hpp>                      // pack, get
#include <locus/engine/host/packet_form.hpp>        // packet_form
#include <locus/engine/host/packet_generators.hpp>  // its rows for full, iota
#include <locus/engine/host/packet_math.hpp>        // its rows for exp, sin, ...
#include <locus/ops/elementwise.hpp>                // LOCUS_ELEMENTWISE_ARITHMETIC
#include <locus/work/stage.hpp>                     // stage, apply, input

#define LOCUS_CLONED <locus/engine/host/packet_forms.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

template <class P>
using lane_t = typename P::type;
/// the common type to which an operation converts two packets
template <class A, class B>
using common_t = promote_t<lane_t<A>, lane_t<B>>;

template <>
struct packet_form<identity_fn> {
  template <class P>
  LOCUS_VECTOR_FUNCTION static P call(P a) {
    return a;
  }
};

// The forms of the column `vector` in ops/elementwise.hpp.
/// operand: as_term or convert, of each packet to the type of the result; condition, in brackets: the
/// types of elements that have the form
#define LOCUS_PACKET_OF_TWO(name, operand, condition, ...)                 \
  template <>                                                              \
  struct packet_form<name##_fn> {                                          \
    template <class A, int N, class B>                                     \
    LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> p, packet<B, N> q) \
      requires condition                                                   \
    {                                                                      \
      using T = promote_t<A, B>;                                           \
      auto const a = simd::operand<T>(p);                                  \
      auto const b = simd::operand<T>(q);                                  \
      return __VA_ARGS__;                                                  \
    }                                                                      \
  };
#define LOCUS_PACKET_OF_two_value(name, expression) \
  LOCUS_PACKET_OF_TWO(name, as_term, (!std::is_void_v<promote_t<A, B>>), expression)
#define LOCUS_PACKET_OF_two_compared(name, comparison) \
  LOCUS_PACKET_OF_TWO(name, convert, (!std::is_void_v<promote_t<A, B>>), simd::comparison(a, b))
#define LOCUS_PACKET_OF_two_of_fields(name, expression)                                  \
  LOCUS_PACKET_OF_TWO(name, as_term,                                                     \
                      (is_floating_v<promote_t<A, B>> || is_complex_v<promote_t<A, B>>), \
                      expression)
#define LOCUS_PACKET_OF_two_of_floats(name, expression) \
  LOCUS_PACKET_OF_TWO(name, convert, (is_floating_v<promote_t<A, B>>), expression)
#define LOCUS_PACKET_OF_one_value(name, expression)                  \
  template <>                                                        \
  struct packet_form<name##_fn> {                                    \
    template <class T, int N>                                        \
    LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) { \
      return expression;                                             \
    }                                                                \
  };
#define LOCUS_PACKET_OF_two_or_lanes(name, expression)                                             \
  template <>                                                                                      \
  struct packet_form<name##_fn> {                                                                  \
    template <class A, int N, class B>                                                             \
      requires(!std::is_void_v<promote_t<A, B>>)                                                   \
    LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> p, packet<B, N> q) { \
      using T = promote_t<A, B>;                                                                   \
      auto const a = simd::convert<T>(p), b = simd::convert<T>(q);                                 \
      if constexpr (is_floating_v<T>)                                                              \
        return expression;                                                                         \
      else                                                                                         \
        return by_lanes<name##_fn>(a, b);                                                          \
    }                                                                                              \
  };
#define LOCUS_PACKET_OF_two_of_integers(name, expression)                                          \
  template <>                                                                                      \
  struct packet_form<name##_fn> {                                                                  \
    template <class A, int N, class B>                                                             \
      requires is_integer_v<promote_t<A, B>>                                                       \
    LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> p, packet<B, N> q) { \
      auto const a = simd::convert<promote_t<A, B>>(p);                                            \
      auto const b = simd::convert<promote_t<A, B>>(q);                                            \
      return expression;                                                                           \
    }                                                                                              \
  };
#define LOCUS_PACKET_OF_two_on_bits(name, symbol)                                                  \
  template <>                                                                                      \
  struct packet_form<name##_fn> {                                                                  \
    template <class A, int N, class B>                                                             \
      requires is_integer_v<promote_t<A, B>>                                                       \
    LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> p, packet<B, N> q) { \
      using T = promote_t<A, B>;                                                                   \
      return {simd::convert<T>(p).v symbol simd::convert<T>(q).v};                                 \
    }                                                                                              \
    template <int A, int B, int N>                                                                 \
    LOCUS_VECTOR_FUNCTION static mask<A, N> call(mask<A, N> a, mask<B, N> b) {                     \
      return {a.v symbol simd::widen<A>(b).v};                                                     \
    }                                                                                              \
  };
#define LOCUS_PACKET_OF_two_by_lanes(name)                                                         \
  template <>                                                                                      \
  struct packet_form<name##_fn> {                                                                  \
    template <class A, int N, class B>                                                             \
      requires(!std::is_void_v<promote_t<A, B>>)                                                   \
    LOCUS_VECTOR_FUNCTION static packet<promote_t<A, B>, N> call(packet<A, N> p, packet<B, N> q) { \
      using T = promote_t<A, B>;                                                                   \
      return by_lanes<name##_fn>(simd::convert<T>(p), simd::convert<T>(q));                        \
    }                                                                                              \
  };
// written in this header, below, or in packet_rounding.hpp
#define LOCUS_PACKET_OF_one_apart(name)
#define LOCUS_PACKET_OF_two_apart(name)
#define LOCUS_PACKET_OF_three_apart(name)
#define LOCUS_PACKET_OF_any_apart(name)
#define LOCUS_PACKET(operands, name, tensorflow, law, elements, cost, end, call, scalar, vector, \
                     derivative)                                                                 \
  LOCUS_CELL(LOCUS_PACKET_OF_##operands##_, name, LOCUS_BARE vector)
LOCUS_ELEMENTWISE_ARITHMETIC(LOCUS_PACKET)
#undef LOCUS_PACKET
#undef LOCUS_PACKET_OF_TWO
#undef LOCUS_PACKET_OF_two_value
#undef LOCUS_PACKET_OF_two_compared
#undef LOCUS_PACKET_OF_two_of_fields
#undef LOCUS_PACKET_OF_two_of_floats
#undef LOCUS_PACKET_OF_one_value
#undef LOCUS_PACKET_OF_two_or_lanes
#undef LOCUS_PACKET_OF_two_of_integers
#undef LOCUS_PACKET_OF_two_on_bits
#undef LOCUS_PACKET_OF_two_by_lanes
#undef LOCUS_PACKET_OF_one_apart
#undef LOCUS_PACKET_OF_two_apart
#undef LOCUS_PACKET_OF_three_apart
#undef LOCUS_PACKET_OF_any_apart

template <>
struct packet_form<negate_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    if constexpr (is_complex_v<T>)
      return {{-a.re.v}, {-a.im.v}};
    else if constexpr (is_integer_v<T>)
      return simd::subtract(packet<T, N>{}, a);
    else
      return {-a.v};
  }
};
template <>
struct packet_form<abs_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<real_t<T>, N> call(packet<T, N> a) {
    if constexpr (is_complex_v<T>)
      return packet_form<hypot_fn>::call(a.re, a.im);
    else if constexpr (is_floating_v<T>) {
      using B = simd::signed_of<int(sizeof(T))>;
      return {(simd::vector<T, N>)(simd::bits_of(a).v & (std::numeric_limits<B>::max)())};
    } else
      return simd::select(simd::less(a, packet<T, N>{}), packet_form<negate_fn>::call(a), a);
  }
};
template <>
struct packet_form<sign_fn> {
  template <class T, int N>
  LOCUS_VECTOR_FUNCTION static packet<T, N> call(packet<T, N> a) {
    packet<T, N> const zero{}, one = simd::broadcast<N>(T(1));
    auto const below = simd::broadcast<N>(static_cast<T>(-1));
    return simd::select(simd::greater(a, zero), one, simd::select(simd::less(a, zero), below, a));
  }
};
template <>
struct packet_form<clamp_fn> {
  template <class X, class Low, class High>
  LOCUS_VECTOR_FUNCTION static auto call(X x, Low low, High high) {
    return packet_form<minimum_fn>::call(packet_form<maximum_fn>::call(x, low), high);
  }
};
template <>
struct packet_form<where_fn> {
  template <int Bytes, int N, class A, class B>
  LOCUS_VECTOR_FUNCTION static auto call(mask<Bytes, N> c, packet<A, N> a, packet<B, N> b)
    requires(!std::is_void_v<promote_t<A, B>>)
  {
    using T = promote_t<A, B>;
    return simd::select(c, simd::convert<T>(a), simd::convert<T>(b));
  }
};

template <>
struct packet_form<logical_and_fn> {
  template <int A, int B, int N>
  LOCUS_VECTOR_FUNCTION static auto call(mask<A, N> a, mask<B, N> b) {
    return mask<A, N>{a.v & simd::widen<A>(b).v};
  }
};
template <>
struct packet_form<logical_or_fn> {
  template <int A, int B, int N>
  LOCUS_VECTOR_FUNCTION static auto call(mask<A, N> a, mask<B, N> b) {
    return mask<A, N>{a.v | simd::widen<A>(b).v};
  }
};
template <>
struct packet_form<logical_not_fn> {
  template <int A, int N>
  LOCUS_VECTOR_FUNCTION static mask<A, N> call(mask<A, N> a) {
    return {~a.v};
  }
};

template <class To>
struct packet_form<cast_fn<To>> {
  template <class From, int N>
  LOCUS_VECTOR_FUNCTION static auto call(packet<From, N> a)
    requires((!is_narrow_v<To> || std::is_same_v<From, float>) &&
             (!is_complex_v<From> || is_complex_v<To> || std::is_same_v<To, bool>))
  {
    if constexpr (std::is_same_v<To, bool>)
      return simd::not_equal(a, packet<From, N>{});
    else if constexpr (is_floating_v<From> && is_integer_v<To>) {
      constexpr To low = (std::numeric_limits<To>::min)(), high = (std::numeric_limits<To>::max)();
      auto const bottom = simd::broadcast<N>(static_cast<From>(low));
      auto const top = simd::broadcast<N>(static_cast<From>(high));
      auto const below = simd::less_equal(a, bottom), above = simd::greater_equal(a, top);
      auto const nan = simd::not_equal(a, a);
      auto const inside = simd::select(
          nan, packet<From, N>{},
          simd::select(below, packet<From, N>{}, simd::select(above, packet<From, N>{}, a)));
      packet<To, N> r;
      if constexpr (sizeof(To) < 4)
        r = simd::convert<To>(simd::convert<std::int32_t>(inside));
      else
        r = simd::convert<To>(inside);
      r = simd::select(below, simd::broadcast<N>(low), r);
      return simd::select(above, simd::broadcast<N>(high), r);
    } else
      return simd::convert<To>(a);
  }
  template <int Bytes, int N>
  LOCUS_VECTOR_FUNCTION static auto call(mask<Bytes, N> a) {
    if constexpr (std::is_same_v<To, bool>)
      return a;
    else
      return simd::convert<To>(a);
  }
};
template <>
struct packet_form<add_n_fn> {
  template <class P>
  LOCUS_VECTOR_FUNCTION static P call(P a) {
    return a;
  }
  template <class P, class Q, class... More>
  LOCUS_VECTOR_FUNCTION static auto call(P a, Q b, More... more) {
    return call(packet_form<add_fn>::call(a, b), more...);
  }
};

// ---- trees ----

/// means: the packet in the type of computation: floats for halves
template <class T, int N>
LOCUS_VECTOR_FUNCTION packet<compute_t<T>, N> as_computed(packet<T, N> a) {
  return simd::convert<compute_t<T>>(a);
}
template <int Bytes, int N>
LOCUS_VECTOR_FUNCTION mask<Bytes, N> as_computed(mask<Bytes, N> a) {
  return a;
}

/// means: the form of F is with(functor, packets...): F is a generator, or the form says
///        takes_functor
template <class F>
inline constexpr bool has_values = requires {
  packet_form<F>::takes_functor;
} || requires(F f, packet<std::int64_t, 2> i) { packet_form<F>::with(f, i); };

/// means: the value of a tree of work/stage.hpp for N elements; in: a pack of packets, folds: a
///        pack of numbers
template <int N, int K, class T, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::input<K, T> const&, In const& in, Slots const&,
                                        Folds const&) {
  return as_computed(get<K>(in));
}
template <int N, int K, class T, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::slot_value<K, T> const&, In const&,
                                        Slots const& slot_values, Folds const&) {
  return get<K>(slot_values);
}
template <int N, int K, class T, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::fold_value<K, T> const&, In const&, Slots const&,
                                        Folds const& folds) {
  return simd::broadcast<N>(get<K>(folds));
}
template <int N, class T, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::constant<T> const& c, In const&, Slots const&,
                                        Folds const&) {
  return simd::broadcast<N>(c.value);
}
template <int N, class T, class F, class... Args, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::apply<T, F, Args...> const& a, In const& in,
                                        Slots const& slot_values, Folds const& folds) {
  return [&]<std::size_t... Idx>(std::index_sequence<Idx...>) __attribute__((always_inline)) {
    if constexpr (has_values<F>)
      return as_computed(
          packet_form<F>::with(a.f, packet_value<N>(get<Idx>(a.args), in, slot_values, folds)...));
    else
      return as_computed(
          packet_form<F>::call(packet_value<N>(get<Idx>(a.args), in, slot_values, folds)...));
  }(std::index_sequence_for<Args...>{});
}

template <int N, class T, class Tree, class In, class Slots, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_value(kernel::rounded<T, Tree> const& r, In const& in,
                                        Slots const& slot_values, Folds const& folds) {
  return simd::convert<T>(packet_value<N>(r.tree, in, slot_values, folds));
}

/// means: a pack of packets; make_pack is not compiled for these instructions
template <class... P>
LOCUS_VECTOR_FUNCTION pack<P...> together(P const&... p) {
  return {{p}...};
}
/// means: the shared values of a stage; each may read those before it
template <int N, std::size_t K, class Slots, class In, class Done, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_slots(Slots const& slot_values, In const& in, Done const& done,
                                        Folds const& folds) {
  if constexpr (requires { get<K>(slot_values); }) {
    auto const next = packet_value<N>(get<K>(slot_values), in, done, folds);
    auto const more = [&]<std::size_t... Idx>(std::index_sequence<Idx...>)
                          __attribute__((always_inline)) {
                            return together(get<Idx>(done)..., next);
                          }(std::make_index_sequence<K>{});
    return packet_slots<N, K + 1>(slot_values, in, more, folds);
  } else
    return done;
}
/// means: the results of a stage for N elements, as a pack of packets
template <int N, class... Slots, class... Outs, class In, class Folds>
LOCUS_VECTOR_FUNCTION auto packet_results(
    kernel::stage<type_list<Slots...>, type_list<Outs...>> const& f, In const& in,
    Folds const& folds) {
  auto const slot_values = packet_slots<N, 0>(f.slot_trees, in, pack<>{}, folds);
  return [&]<std::size_t... O>(std::index_sequence<O...>) __attribute__((always_inline)) {
    return together(packet_value<N>(get<O>(f.outs), in, slot_values, folds)...);
  }(std::index_sequence_for<Outs...>{});
}

/// means: the type of N values of T: a packet, or a mask for bool
template <class T, int N>
struct packet_of_type {
  using type = packet<T, N>;
};
template <int N>
struct packet_of_type<bool, N> {
  using type = mask<1, N>;
};
template <class T, int N>
using packet_of = typename packet_of_type<T, N>::type;

/// means: T has packets, and every functor of the tree has a form for them
template <class T>
inline constexpr bool has_packet =
    is_floating_v<T> || is_integer_v<T> || is_complex_v<T> || std::is_same_v<T, bool>;
template <int N, class Tree>
inline constexpr bool runs_on_packets = has_packet<typename Tree::type>;
template <int N, class T, class Tree>
inline constexpr bool runs_on_packets<N, kernel::rounded<T, Tree>> = runs_on_packets<N, Tree>;
template <int N, class T, class F, class... Args>
inline constexpr bool runs_on_packets<N, kernel::apply<T, F, Args...>> = [] {
  if constexpr (has_packet<T> && (runs_on_packets<N, Args> && ...))
    return requires(packet_of<typename Args::type, N>... p) { packet_form<F>::call(p...); } ||
           has_values<F>;
  else
    return false;
}();
template <int N, class... Slots, class... Outs>
inline constexpr bool runs_on_packets<N, kernel::stage<type_list<Slots...>, type_list<Outs...>>> =
    (runs_on_packets<N, Slots> && ... && true) && (runs_on_packets<N, Outs> && ... && true);

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

// SPDX-License-Identifier: Apache-2.0
// Folds over matrices of a batch on a GPU, in parts of 64 elements: which are finite, and which way
// vectors point.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

inline constexpr std::int64_t part = 64;

/// Vectors one behind the other, and the diagonals of square matrices.
template <class T>
struct vectors_at {
  T const* first;
  std::int64_t length;
  LOCUS_HOST_DEVICE T operator()(std::int64_t v, std::int64_t e) const {
    return first[v * length + e];
  }
};
template <class T>
struct diagonals_at {
  T const* first;
  std::int64_t length;
  LOCUS_HOST_DEVICE T operator()(std::int64_t v, std::int64_t e) const {
    return first[(v * length + e) * length + e];
  }
};

/// Part c of vector v is folded into out[v, c].
template <class Step, class From, class To>
struct fold_of_parts {
  Step step;
  std::int64_t parts;
  From from;
  To* out;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const v = i / parts, first = i % parts * part,
                       last = first + part < from.length ? first + part : from.length;
    To folded = 0;
    for (std::int64_t e = first; e < last; ++e) folded = step(folded, from(v, e), v, e);
    out[i] = folded;
  }
};
/// means: r[v] = the fold of vector v from 0: `once` over its elements, `again` over parts of it
/// cost:  a launch for each factor of 64 in the length; workspace of a 63rd of the vectors
template <class To, class From, class Once, class Again>
To* fold_vectors(card_context& here, std::int64_t vectors, From const& from, Once const& once,
                 Again const& again) {
  auto const parts_of = [](std::int64_t n) { return n > part ? (n + part - 1) / part : 1; };
  std::int64_t parts = parts_of(from.length);
  To* made = here.take<To>(vectors * parts);
  here.each(vectors * parts, fold_of_parts<Once, From, To>{once, parts, from, made});
  while (parts > 1) {
    vectors_at<To> const before{made, parts};
    parts = parts_of(parts);
    made = here.take<To>(vectors * parts);
    here.each(vectors * parts,
              fold_of_parts<Again, vectors_at<To>, To>{again, parts, before, made});
  }
  return made;
}

/// 0 where all are finite, NaN where one is not.
struct add_nothings {
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T sum, T x, std::int64_t, std::int64_t) const {
    return sum + x * T(0);
  }
};
/// The largest size.
struct keep_largest {
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T most, T x, std::int64_t, std::int64_t) const {
    T const size = x < 0 ? -x : x;
    return size > most ? size : most;
  }
};
/// The sign of the first component that is as large as any, but for rounding.
template <class T>
struct keep_sign {
  T const* largest;
  LOCUS_HOST_DEVICE T operator()(T sign, T x, std::int64_t v, std::int64_t) const {
    if (sign != 0) return sign;
    T const least = largest[v] * T(0.999);
    return x >= least ? T(1) : -x >= least ? T(-1) : T(0);
  }
};
/// The number, from 1, of the first root that is not positive and finite.
struct keep_bad_root {
  template <class T>
  LOCUS_HOST_DEVICE std::int32_t operator()(std::int32_t found, T root, std::int64_t,
                                            std::int64_t e) const {
    if (found != 0 || (root > 0 && root - root == 0)) return found;
    return static_cast<std::int32_t>(e + 1);
  }
};
/// The first number that is not 0.
struct keep_first {
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T found, T x, std::int64_t, std::int64_t) const {
    return found != 0 ? found : x;
  }
};

/// means: r[k] = 0, or NaN where an element of matrix k is infinite or NaN
template <class T>
T* unless_finite(card_context& here, std::int64_t matrices, std::int64_t size, T const* a) {
  return fold_vectors<T>(here, matrices, vectors_at<T>{a, size}, add_nothings{}, add_nothings{});
}
/// means: r[v] = -1 for a vector whose largest component is negative, else 0 or 1
template <class T>
T* signs_of(card_context& here, std::int64_t vectors, std::int64_t length, T const* v) {
  vectors_at<T> const all{v, length};
  T const* const most = fold_vectors<T>(here, vectors, all, keep_largest{}, keep_largest{});
  return fold_vectors<T>(here, vectors, all, keep_sign<T>{most}, keep_first{});
}
/// means: r[k] = 0, or the number of the first root on the diagonal of l[k] that is none
template <class T>
std::int32_t* bad_roots_of(card_context& here, std::int64_t matrices, std::int64_t n, T const* l) {
  return fold_vectors<std::int32_t>(here, matrices, diagonals_at<T>{l, n}, keep_bad_root{},
                                    keep_first{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards

// SPDX-License-Identifier: Apache-2.0
// Scans of floats in double, four chunks of a line at a time: a register holds an element of each chunk.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ALGORITHMS_SCAN_FLOATS)
#define LOCUS_ALGORITHMS_SCAN_FLOATS
#include <cstdint>  // int64_t, uint32_t

#include <locus/core/macros.hpp>  // LOCUS_MODE, LOCUS_UNROLL
#include <locus/simd/native.hpp>  // interleave_low
#include <locus/simd/packet.hpp>  // packet, load, convert, store

namespace locus::host {
inline namespace LOCUS_MODE {

/// Four chunks of one length, a multiple of 4, each `apart` elements behind the one in front. A scan
/// that runs backwards begins at the last element of the first of them.
struct four_chunks {
  float const* x;  // the lowest element of the chunk that is scanned first
  float* r;
  std::int64_t apart, length;
  double* t;  // a total of each chunk
};

}  // namespace LOCUS_MODE
}  // namespace locus::host

#define LOCUS_CLONED <locus/algorithms/scan_floats.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// Folds and scans of four chunks by t + v or t v, v: the elements in their order, or from the last one
/// on; Exclusive: a result leaves its own element out.
template <bool Product, bool Exclusive, bool Backwards>
struct scan_of_floats {
  using floats = simd::packet<float, 4>;
  using doubles = simd::packet<double, 4>;

  /// means: t = the folds of the chunks
  [[gnu::noinline]] static void fold(four_chunks const& given) {
    four_chunks const c = given;  // a local copy: no element aliases it
    doubles t = first();
    for (std::int64_t i = 0; i < c.length; i += 4) add(t, elements(c, i));
    simd::store(c.t, t);
  }
  /// means: r = the scans that begin with t
  [[gnu::noinline]] static void scan(four_chunks const& given) {
    four_chunks const c = given;
    doubles t = simd::load<4>(c.t);
    for (std::int64_t i = 0; i < c.length; i += 4) scan_four(c, i, t, elements(c, i));
    simd::store(c.t, t);
  }
  /// means: scan of c, whose elements were kept, and fold of `next`, whose elements are kept: neither
  ///        waits for the other     shape: kept, keep (4 length)
  [[gnu::noinline]] static void both(four_chunks const& given, float const* kept,
                                     four_chunks const& behind, float* keep) {
    four_chunks const c = given, next = behind;
    doubles t = simd::load<4>(c.t), u = first();
    for (std::int64_t i = 0; i < c.length; i += 4) {
      scan_four(c, i, t, restored(kept + 4 * i));
      square const s = elements(next, i);
      add(u, s);
      store(keep + 4 * i, s);
    }
    simd::store(next.t, u);
  }
  /// means: the first fold of these: its elements are kept
  [[gnu::noinline]] static void fold_first(four_chunks const& given, float* keep) {
    four_chunks const c = given;
    doubles t = first();
    for (std::int64_t i = 0; i < c.length; i += 4) {
      square const s = elements(c, i);
      add(t, s);
      store(keep + 4 * i, s);
    }
    simd::store(c.t, t);
  }

 private:
  struct square {
    floats row[4];
  };
  static std::int64_t place(four_chunks const& c, std::int64_t i) {
    return Backwards ? c.length - 4 - i : i;
  }
  LOCUS_VECTOR_FUNCTION static doubles first() { return simd::broadcast<4>(Product ? 1.0 : 0.0); }
  LOCUS_VECTOR_FUNCTION static doubles combine(doubles t, floats v) {
    if constexpr (Product)
      return simd::multiply(t, simd::convert<double>(v));
    else
      return simd::add(t, simd::convert<double>(v));
  }
  LOCUS_VECTOR_FUNCTION static void add(doubles& t, square const& s) {
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) t = combine(t, s.row[e]);
  }
  /// means: row e: the element of each chunk that is number i + e of the scan
  LOCUS_VECTOR_FUNCTION static square elements(four_chunks const& c, std::int64_t i) {
    square s;
    LOCUS_UNROLL for (int l = 0; l < 4; ++l) s.row[l] =
        simd::load<4>(c.x + l * c.apart + place(c, i));
    return Backwards ? reversed(turned(s)) : turned(s);
  }
  /// means: the scan of the elements of s, from t on
  LOCUS_VECTOR_FUNCTION static void scan_four(four_chunks const& c, std::int64_t i, doubles& t,
                                              square s) {
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) {
      doubles const next = combine(t, s.row[e]);
      s.row[e] = simd::convert<float>(Exclusive ? t : next);
      t = next;
    }
    s = turned(Backwards ? reversed(s) : s);
    LOCUS_UNROLL for (int l = 0; l < 4; ++l) simd::store(c.r + l * c.apart + place(c, i), s.row[l]);
  }
  LOCUS_VECTOR_FUNCTION static square restored(float const* kept) {
    square s;
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) s.row[e] = simd::load<4>(kept + 4 * e);
    return s;
  }
  LOCUS_VECTOR_FUNCTION static void store(float* to, square const& s) {
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) simd::store(to + 4 * e, s.row[e]);
  }
  LOCUS_VECTOR_FUNCTION static square reversed(square const& s) {
    return {{s.row[3], s.row[2], s.row[1], s.row[0]}};
  }
  using four = simd::vector<float, 4>;
  using words = simd::vector<std::uint32_t, 4>;
  using pairs = simd::vector<std::uint64_t, 2>;
  LOCUS_VECTOR_FUNCTION static pairs low(floats a, floats b) {
    return (pairs)simd::interleave_low((words)a.v, (words)b.v);
  }
  LOCUS_VECTOR_FUNCTION static pairs high(floats a, floats b) {
    return (pairs)simd::interleave_high((words)a.v, (words)b.v);
  }
  /// means: rows become columns
  LOCUS_VECTOR_FUNCTION static square turned(square const& s) {
    pairs const a = low(s.row[0], s.row[1]), b = high(s.row[0], s.row[1]);
    pairs const c = low(s.row[2], s.row[3]), d = high(s.row[2], s.row[3]);
    return {{{(four)simd::interleave_low(a, c)},
             {(four)simd::interleave_high(a, c)},
             {(four)simd::interleave_low(b, d)},
             {(four)simd::interleave_high(b, d)}}};
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

// SPDX-License-Identifier: Apache-2.0
// Integers of 16 bits, and without a sign of 32 and 64 bits: operators, casts, numbers, folds and algorithms beside loops
// over the same bits; on the host, on simulated GPUs and over the recorder.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <limits>
#include <sstream>

#include <locus/algorithms/argmin.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/algorithms/top_k.hpp>
#include <oracle.hpp>

namespace integers_test {

using namespace locus;

namespace {

__extension__ using wide = __int128;
__extension__ using wide_bits = unsigned __int128;

template <class T>
using line = Tensor<T, Dextents<1>>;
/// all bits, the ends and small numbers
template <class T>
line<T> drawn(std::int64_t n, std::uint64_t seed) {
  line<T> x(n);
  oracle::random r(seed);
  T const ends[] = {
      0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(-1), 7};
  for (std::int64_t i = 0; i < n; ++i)
    x.data()[i] = i < 6 ? ends[i] : static_cast<T>(r.bits() >> r.number(0, 63));
  return x;
}
template <class X, class F>
bool agrees(X const& computed, F const& expected) {
  line<typename X::value_type> const here(computed);
  for (std::int64_t i = 0; i < here.size(); ++i)
    if (here.data()[i] != expected(i)) {
      std::ostringstream text;
      text << "element " << i << ": " << +here.data()[i] << " for " << +expected(i);
      MESSAGE(text.str());
      return false;
    }
  return true;
}

/// Most: the rest is that of a type with and of one without a sign
template <class T, class Where, bool Most>
void check_operators(std::int64_t n) {
  using U = std::make_unsigned_t<T>;
  line<T> const a = drawn<T>(n, 1), b = drawn<T>(n, 2);
  Tensor<T, Dextents<1>, Where> const p(a), q(b);
  auto const at = [](line<T> const& x, std::int64_t i) { return wide(x.data()[i]); };
  auto const wrapped = [](wide v) { return static_cast<T>(static_cast<U>(v)); };
  auto const check = [&](auto const& e, auto const& f) {
    CHECK(agrees(eval(e), [&](std::int64_t i) { return f(at(a, i), at(b, i)); }));
  };
  constexpr int bits = 8 * int(sizeof(T));
  T const count = static_cast<T>(bits - 1);
  check(p + q, [&](wide x, wide y) { return wrapped(x + y); });
  check(p - q, [&](wide x, wide y) { return wrapped(x - y); });
  check(p * q, [&](wide x, wide y) {
    return wrapped(static_cast<wide>(static_cast<wide_bits>(x) * static_cast<wide_bits>(y)));
  });
  check(floor_div(p, q), [&](wide x, wide y) {
    if (y == 0) return T(0);
    wide const quotient = x / y;
    return wrapped(quotient * y != x && (x < 0) != (y < 0) ? quotient - 1 : quotient);
  });
  check((p << (q & count)) + (p >> (q & count)), [&](wide x, wide y) {
    int const by = int(y & (bits - 1));
    return wrapped((x << by) + (x >> by));
  });
  check(p < q, [](wide x, wide y) { return x < y; });
  if constexpr (Most) {
    check(trunc_div(p, q), [&](wide x, wide y) { return y == 0 ? T(0) : wrapped(x / y); });
    check(p % q, [&](wide x, wide y) { return y == 0 ? T(0) : wrapped(x % y); });
    check(floor_mod(p, q), [&](wide x, wide y) {
      if (y == 0) return T(0);
      wide const r = x % y;
      return wrapped(r != 0 && (r < 0) != (y < 0) ? r + y : r);
    });
    check(true_div(p, q), [](wide x, wide y) { return y == 0 ? 0. : double(x) / double(y); });
    check(-p, [&](wide x, wide) { return wrapped(-x); });
    check(abs(p), [&](wide x, wide) { return wrapped(x < 0 ? -x : x); });
    check(square(p), [&](wide x, wide) {
      return wrapped(static_cast<wide>(static_cast<wide_bits>(x) * static_cast<wide_bits>(x)));
    });
    check(sign(p), [&](wide x, wide) { return wrapped(x > 0 ? 1 : x < 0 ? -1 : 0); });
    check(maximum(p, q), [&](wide x, wide y) { return wrapped(std::max(x, y)); });
    check(minimum(p, q), [&](wide x, wide y) { return wrapped(std::min(x, y)); });
    check((p & q) ^ (p | ~q), [&](wide x, wide y) { return wrapped((x & y) ^ (x | ~y)); });
    check(p << (q & T(0)) + T(bits), [&](wide, wide) { return T(0); });
    check(p >= q, [](wide x, wide y) { return x >= y; });
    check(p == q, [](wide x, wide y) { return x == y; });
    check(where(p > q, p, q) + T(1), [&](wide x, wide y) { return wrapped(std::max(x, y) + 1); });
  }
}

template <class To, class T>
void check_cast(std::int64_t n) {
  line<T> const a = drawn<T>(n, 3);
  CHECK(agrees(eval(cast<To>(a)), [&](std::int64_t i) { return static_cast<To>(a.data()[i]); }));
}
template <class T>
void check_casts(std::int64_t n) {
  check_cast<std::int8_t, T>(n), check_cast<std::uint16_t, T>(n), check_cast<std::int32_t, T>(n);
  check_cast<std::uint32_t, T>(n), check_cast<std::uint64_t, T>(n), check_cast<double, T>(n);
  check_cast<float, T>(n), check_cast<bool, T>(n);
  // from floats: to the nearest value towards zero, held at the ends, 0 for NaN
  Tensor<double, Extents<6>> const x{-1e30, 1e30, -1.9, 1.9, std::nan(""), 65535.5};
  line<T> const held = cast<T>(x);
  T const low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  CHECK((held(0) == low && held(1) == high && held(3) == 1 && held(4) == 0));
  CHECK(held(2) == (low < 0 ? static_cast<T>(-1) : T(0)));
  CHECK(held(5) == (sizeof(T) == 2 && low < 0 ? high : static_cast<T>(65535)));
}

template <class T, class Where>
void check_folds(std::int64_t n) {
  line<T> const a = drawn<T>(n, 4);
  Tensor<T, Dextents<1>, Where> const p(a);
  sum_t<T> total = 0, product = 1;
  std::int64_t largest = -1, smallest = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    T const v = a.data()[i];
    total =
        static_cast<sum_t<T>>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(v));
    product =
        static_cast<sum_t<T>>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(v));
    if (largest < 0 || v > a.data()[largest]) largest = i;
    if (smallest < 0 || v < a.data()[smallest]) smallest = i;
  }
  static_assert(std::is_same_v<decltype(fetch(sum(p))), sum_t<T>>);
  CHECK(fetch(sum(p)) == total);
  CHECK(fetch(prod(p)) == product);
  if (n == 0) return;
  CHECK((fetch(max(p)) == a.data()[largest] && fetch(min(p)) == a.data()[smallest]));
  CHECK((fetch(argmax(p)) == largest && fetch(argmin(p)) == smallest));
  Tensor<sum_t<T>, Dextents<1>> const scanned = cumsum<0>(p);
  CHECK(scanned.data()[n - 1] == total);
  std::vector<T> sorted(a.data(), a.data() + n);
  std::stable_sort(sorted.begin(), sorted.end());
  CHECK(agrees(eval(sort<0>(p)), [&](std::int64_t i) { return sorted[std::size_t(i)]; }));
  CHECK(agrees(eval(take<0>(a, argsort<0>(a))),
               [&](std::int64_t i) { return sorted[std::size_t(i)]; }));
  if (n > 3) {
    line<T> const top = result<0>(top_k<3>(p)), low = result<0>(top_k<3>(p, locus::smallest));
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK((top(i) == sorted[std::size_t(n - 1 - i)] && low(i) == sorted[std::size_t(i)]));
  }
  line<T> const ids = p & T(7);
  line<std::int64_t> const counts = bincount<8>(ids);
  for (std::int64_t k = 0; k < 8; ++k)
    CHECK(counts(k) == std::count(ids.data(), ids.data() + n, static_cast<T>(k)));
}

}  // namespace

TEST_SUITE_BEGIN("ops/integers");

TEST_CASE_TEMPLATE("operators and folds, on all machines", T, std::int16_t, std::uint64_t) {
  on_few_backends([](backends::machine const& m) {
    std::int64_t const sizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 4096};
    for (std::int64_t const n : sizes) {
      if (m.how != backends::kind::host && n > 33) continue;
      CAPTURE(n);
      check_operators<T, GpuDevice<0>, true>(n);
      check_folds<T, GpuDevice<0>>(n);
    }
  });
}
TEST_CASE_TEMPLATE("operators and folds", T, std::uint16_t, std::uint32_t) {
  std::int64_t const sizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 4096};
  for (std::int64_t const n : sizes) {
    CAPTURE(n);
    check_operators<T, CpuDevice, false>(n);
    check_folds<T, CpuDevice>(n);
  }
}
TEST_CASE_TEMPLATE("casts", T, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  check_casts<T>(300);
}
TEST_CASE("integers of two types give the type that holds both; a number must fit") {
  Tensor<std::uint32_t, Extents<2>> const u{4000000000u, 1};
  Tensor<std::int16_t, Extents<2>> const s{-5, 3};
  Tensor<std::int64_t, Extents<2>> const both = u * s;
  CHECK((both(0) == -20000000000 && both(1) == 3));
  Tensor<std::uint16_t, Extents<2>> const w{65535, 1};
  CHECK_THROWS_WITH_AS((void)(w + 65536), doctest::Contains("does not fit into uint16"),
                       shape_error);
  CHECK_THROWS_WITH_AS((void)(w - (-1)), doctest::Contains("-1 does not fit into uint16"),
                       shape_error);
  Tensor<std::uint64_t, Extents<2>> const q{18446744073709551615u, 2};
  CHECK(fetch(max(q + 18446744073709551615u)) == 18446744073709551614u);
  std::ostringstream out;
  out << q << s;
  CHECK(out.str() == "[18446744073709551615                    2][-5  3]");
}

TEST_SUITE_END();

}  // namespace integers_test

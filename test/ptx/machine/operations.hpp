// SPDX-License-Identifier: Apache-2.0
// What a lane computes: F::of(a, b, ...). Integers wrap; floats of 16 bits are computed in wider ones
// and rounded once.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "numbers.hpp"

namespace ptx {

using std::int16_t, std::int32_t, std::int64_t, std::int8_t;
using std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

__extension__ using wide_integer = __int128;
__extension__ using wide_unsigned = unsigned __int128;
template <class T>
using unsigned_of = std::make_unsigned_t<T>;

struct add_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(unsigned_of<T>(a) + unsigned_of<T>(b));
    else
      return T(a + b);
  }
};
struct sub_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(unsigned_of<T>(a) - unsigned_of<T>(b));
    else
      return T(a - b);
  }
};
struct mul_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) * uint64_t(b));
    else
      return T(a * b);
  }
};
template <class W>
struct wide_op {
  template <class T>
  static W of(T a, T b) {
    return W(a) * W(b);
  }
};
template <class W>
struct wide_add_op {
  template <class T>
  static W of(T a, T b, W c) {
    return W(uint64_t(W(a) * W(b)) + uint64_t(c));
  }
};
struct mul_hi_op {
  template <class T>
  static T of(T a, T b) {
    using wide = std::conditional_t<std::is_signed_v<T>, wide_integer, wide_unsigned>;
    return T((wide(a) * wide(b)) >> (8 * sizeof(T)));
  }
};
struct mad_op {
  template <class T>
  static T of(T a, T b, T c) {
    return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  }
};
struct mad_hi_op {
  template <class T>
  static T of(T a, T b, T c) {
    return add_op::of(mul_hi_op::of(a, b), c);
  }
};
struct fma_op {
  template <class T>
  static T of(T a, T b, T c) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fma(a, b, c);
    else
      return T(double(float(a)) * double(float(b)) + double(float(c)));
  }
};
template <unsigned Bits>
struct mul24_op {
  template <class T>
  static T of(T a, T b) {
    int const up = 8 * int(sizeof(T)) - 24;
    return T((int64_t(T(a << up) >> up) * int64_t(T(b << up) >> up)) >> Bits);
  }
};
struct mad24_op {
  template <class T>
  static T of(T a, T b, T c) {
    return add_op::of(mul24_op<0>::of(a, b), c);
  }
};
struct div_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(-1);
      if (std::is_signed_v<T> && b == T(-1)) return sub_op::of(T(0), a);
      return T(a / b);
    } else {
      return T(a / b);
    }
  }
};
struct rem_op {
  template <class T>
  static T of(T a, T b) {
    return b == 0 ? a : (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
  }
};
struct min_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_float<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(float(a)) ? a : b;
    }
    return b < a ? b : a;
  }
};
struct max_op {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_float<T>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(float(a)) ? b : a;
    }
    return a < b ? b : a;
  }
};
template <class F>
struct nan_op {
  template <class T>
  static T of(T a, T b) {
    return a != a ? a : b != b ? b : F::of(a, b);
  }
};
struct neg_op {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_integral_v<T>)
      return T(0 - unsigned_of<T>(a));
    else
      return T(-a);
  }
};
struct abs_op {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? neg_op::of(a) : a;
    else
      return T(std::fabs(float(a)));
  }
  static double of(double a) { return std::fabs(a); }
};
struct sad_op {
  template <class T>
  static T of(T a, T b, T c) {
    return add_op::of(c, a < b ? sub_op::of(b, a) : sub_op::of(a, b));
  }
};
template <class F>
struct each_of_two {
  template <class T, class... More>
    requires requires(pair_of<T> a, More... more) { F::of(a.x, more.x...); }
  static pair_of<T> of(pair_of<T> a, More... more) {
    return {F::of(a.x, more.x...), F::of(a.y, more.y...)};
  }
};
template <class F>
struct flush_op {
  template <class... T>
    requires requires(T... v) { F::of(v...); }
  static auto of(T... v) {
    return flushed(F::of(flushed(v)...));
  }
};
template <class F>
struct sat_op {
  template <class... T>
    requires requires(T... v) { F::of(v...); }
  static auto of(T... v) {
    return saturated(F::of(v...));
  }
};
template <class F>
struct relu_op {
  template <class... T>
    requires requires(T... v) { F::of(v...); }
  static auto of(T... v) {
    auto const r = F::of(v...);
    return max_op::of(r, decltype(r)(0));
  }
};
/// an integer that stays at its limits
template <class F>
struct limit_op {
  static int32_t of(int32_t a, int32_t b) {
    int64_t const r = F::template of<int64_t>(a, b);
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : int32_t(r);
  }
};

#define PTX_FUNCTION(NAME, EXPRESSION) \
  struct NAME {                        \
    template <class T>                 \
    static T of(T a) {                 \
      return T(EXPRESSION);            \
    }                                  \
  };
PTX_FUNCTION(rcp_op, 1 / a)
PTX_FUNCTION(sqrt_op, std::sqrt(a))
PTX_FUNCTION(rsqrt_op, T(1 / std::sqrt(double(a))))
PTX_FUNCTION(ex2_op, std::exp2(float(a)))
PTX_FUNCTION(lg2_op, std::log2(a))
PTX_FUNCTION(sin_op, std::sin(double(a)))
PTX_FUNCTION(cos_op, std::cos(double(a)))
PTX_FUNCTION(tanh_op, std::tanh(float(a)))
PTX_FUNCTION(not_op, ~a)
PTX_FUNCTION(cnot_op, a == 0)
PTX_FUNCTION(mov_op, a)
PTX_FUNCTION(brev_op, ([](T v) {
               T r = 0;
               for (unsigned b = 0; b < 8 * sizeof(T); ++b)
                 r |= T((v >> b & 1) << (8 * sizeof(T) - 1 - b));
               return r;
             }(a)))
#undef PTX_FUNCTION

struct and_op {
  template <class T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct or_op {
  template <class T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct xor_op {
  template <class T>
  static T of(T a, T b) {
    return a ^ b;
  }
};
struct shl_op {
  template <class T>
  static T of(T a, uint32_t n) {
    return n >= 8 * sizeof(T) ? T(0) : T(a << n);
  }
};
struct shr_op {
  template <class T>
  static T of(T a, uint32_t n) {
    unsigned const most = 8 * sizeof(T) - 1;
    if (n > most) return std::is_signed_v<T> ? T(a >> most) : T(0);
    return T(a >> n);
  }
};
struct popc_op {
  template <class T>
  static uint32_t of(T a) {
    return uint32_t(std::popcount(a));
  }
};
struct clz_op {
  template <class T>
  static uint32_t of(T a) {
    return uint32_t(std::countl_zero(a));
  }
};
template <bool Shift>
struct bfind_op {
  template <class T>
  static uint32_t of(T a) {
    auto const v = unsigned_of<T>(a < 0 ? ~a : a);
    if (v == 0) return UINT32_MAX;
    auto const zeros = uint32_t(std::countl_zero(v));
    return Shift ? zeros : uint32_t(8 * sizeof(T) - 1) - zeros;
  }
};
struct bfe_op {
  template <class T>
  static T of(T a, uint32_t first, uint32_t count) {
    first &= 255, count &= 255;
    unsigned const bits = 8 * sizeof(T);
    using U = unsigned_of<T>;
    if (count == 0) return 0;
    unsigned const last = std::min<unsigned>(first + count - 1, bits - 1);
    bool const sign = std::is_signed_v<T> && (U(a) >> last & 1);
    U const part = first >= bits ? 0 : U(U(a) >> first);
    U const keep = count >= bits ? U(~U(0)) : U((U(1) << count) - 1);
    unsigned const there = first >= bits ? 0 : bits - first;  // above them: the sign
    U r = part & keep;
    if (sign && (there < count || count < bits)) {
      unsigned const from = std::min(there, count);
      r |= from >= bits ? U(0) : U(~U(0) << from);
    }
    return T(r);
  }
};
struct bfi_op {
  template <class T>
  static T of(T a, T b, uint32_t first, uint32_t count) {
    first &= 255, count &= 255;
    unsigned const bits = 8 * sizeof(T);
    if (count == 0 || first >= bits) return b;
    T const ones = count >= bits ? T(~T(0)) : T((T(1) << count) - 1);
    return T((b & ~T(ones << first)) | T((a & ones) << first));
  }
};
template <bool Clamp>
struct bmsk_op {
  static uint32_t of(uint32_t first, uint32_t count) {
    if (!Clamp) first &= 31, count &= 31;
    if (first >= 32) return 0;
    uint32_t const ones = count >= 32 ? ~0u : (1u << count) - 1;
    return ones << first;
  }
};
template <bool Left, bool Wrap>
struct shf_op {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t n) {
    n = Wrap ? n & 31 : n < 32 ? n : 32;
    uint64_t const both = uint64_t(b) << 32 | a;
    return uint32_t(Left ? (both << n) >> 32 : both >> n);
  }
};
struct prmt_op {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t choice) {
    uint64_t const both = uint64_t(b) << 32 | a;
    uint32_t r = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned const c = choice >> (4 * k) & 15;
      auto byte = uint32_t(both >> (8 * (c & 7)) & 255);
      if (c & 8) byte = byte & 128 ? 255 : 0;
      r |= byte << (8 * k);
    }
    return r;
  }
};
struct lop3_op {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t r = 0;
    for (unsigned k = 0; k < 8; ++k)
      if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
  }
};
template <class A, class B>
struct dp4a_op {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned k = 0; k < 4; ++k) c += uint32_t(int32_t(A(a >> 8 * k)) * int32_t(B(b >> 8 * k)));
    return c;
  }
};
struct copysign_op {
  template <class T>
  static T of(T a, T b) {
    return std::copysign(b, a);
  }
};

}  // namespace ptx

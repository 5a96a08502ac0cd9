// SPDX-License-Identifier: Apache-2.0
// Numbers: add, multiply, divide, and the functions that a device approximates.
#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

/// with the carry: mode 0 add, 1 sub, 2 mad.lo, 3 mad.hi; flag: read it; flag2: write it
template <class T>
void carried(warp& w, instruction const& i, mask m) {
  using wide = wide_unsigned;
  each_lane(m, [&](int l) {
    T const a = w.at<T>(i.at[1])[l], b = w.at<T>(i.at[2])[l];
    unsigned const bits = 8 * sizeof(T);
    wide const carry = i.flag ? w.carry >> l & 1 : 0;
    wide r;
    if (i.mode == 0)
      r = wide(a) + b + carry;
    else if (i.mode == 1)
      r = wide(a) - b - carry;
    else {
      wide const product = wide(a) * b;
      r = wide(i.mode == 2 ? T(product) : T(product >> bits)) + w.at<T>(i.at[3])[l] + carry;
    }
    w.at<T>(i.at[0])[l] = T(r);
    if (i.flag2) w.carry = (w.carry & ~(1u << l)) | mask(r >> bits & 1) << l;
  });
}

bool is_of_floats(type t) {
  return t == type::f16 || t == type::f32 || t == type::f64 || t == type::bf16 ||
         t == type::f16x2 || t == type::bf16x2;
}
/// integers or floats; Rounds: floats may ask for another rounding
template <class F, bool Rounds = false>
bool of_numbers(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.same(i, s, bits_of(t));
  if (is_of_floats(t))
    i.run = float_operation<F>(s, t, Rounds);
  else
    i.run = integer_operation<F>(t);
  return true;
}
template <class F, bool Rounds = true>
bool of_floats(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.same(i, s, bits_of(t));
  i.run = float_operation<F>(s, t, Rounds);
  return true;
}
/// a function of a device's own; of 16 bits it has exp and tanh alone
template <class F, bool Narrow = false>
bool approximate(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  if (!Narrow && t != type::f32 && t != type::f64) return false;
  of.same(i, s, bits_of(t));
  i.run = t == type::f64 ? same_types<F, rounding::nearest, double>() : float_operation<F>(s, t);
  return true;
}
/// modes of carried(): with the carry of the instruction before, or with one for the next
template <std::uint8_t Mode>
bool with_carry(decoding& of, instruction& i, statement const& s) {
  unsigned const bits = bits_of(last_type(s));
  of.same(i, s, bits);
  i.mode = Mode, i.flag = s.opcode.back() == 'c', i.flag2 = s.has("cc");
  i.run = bits == 32 ? &carried<uint32_t> : &carried<uint64_t>;
  return true;
}
template <class F, std::uint8_t Mode>
bool sum(decoding& of, instruction& i, statement const& s) {
  if (s.has("cc")) return with_carry<Mode>(of, i, s);
  type const t = last_type(s);
  if (is_of_floats(t) || !s.has("sat")) return of_numbers<F, true>(of, i, s);
  of.same(i, s, 32);
  i.run = &map<limit_op<F>, rounding::nearest, int32_t, int32_t, int32_t>;
  return t == type::s32;
}
/// of 16 or 32 bits, with a result of twice as many
template <bool Adds>
bool wide_product(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  i.at[0] = of.destination(s, s.operands[0]);
  for (std::size_t k = 1; k < s.operands.size(); ++k)
    i.at[k] = of.source(s, s.operands[k], k == 3 ? 2 * bits : bits);
  auto const wide = []<class T, class W>(T, W) -> handler {
    if constexpr (Adds)
      return &map<wide_add_op<W>, rounding::nearest, W, T, T, W>;
    else
      return &map<wide_op<W>, rounding::nearest, W, T, T>;
  };
  i.run = t == type::u16   ? wide(uint16_t(), uint32_t())
          : t == type::s16 ? wide(int16_t(), int32_t())
          : t == type::u32 ? wide(uint32_t(), uint64_t())
          : t == type::s32 ? wide(int32_t(), int64_t())
                           : nullptr;
  return true;
}
bool product(decoding& of, instruction& i, statement const& s) {
  if (s.has("wide")) return wide_product<false>(of, i, s);
  return s.has("hi") ? of_integers<mul_hi_op>(of, i, s) : of_numbers<mul_op, true>(of, i, s);
}
bool product_and_sum(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  if (s.has("wide")) return wide_product<true>(of, i, s);
  if (s.has("cc") || s.opcode == "madc") {
    if (s.has("hi") && (t == type::s32 || t == type::s64)) return false;
    return s.has("hi") ? with_carry<3>(of, i, s) : with_carry<2>(of, i, s);
  }
  if (is_of_floats(t)) return of_numbers<fma_op, true>(of, i, s);
  return s.has("hi") ? of_integers<mad_hi_op>(of, i, s) : of_integers<mad_op>(of, i, s);
}
/// of the lower 24 bits
template <class F>
bool small_product(decoding& of, instruction& i, statement const& s) {
  of.same(i, s, 32);
  i.run = last_type(s) == type::u32 ? same_types<F, rounding::nearest, uint32_t>()
                                    : same_types<F, rounding::nearest, int32_t>();
  return true;
}
bool small_product_of(decoding& of, instruction& i, statement const& s) {
  return s.has("hi") ? small_product<mul24_op<16>>(of, i, s) : small_product<mul24_op<0>>(of, i, s);
}
template <class F>
bool extremum(decoding& of, instruction& i, statement const& s) {
  if (s.operands.size() != 3) return false;
  return s.has("NaN") ? of_floats<nan_op<F>, false>(of, i, s) : of_numbers<F>(of, i, s);
}
bool copied_sign(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.same(i, s, bits_of(t));
  i.run = t == type::f32 ? same_types<copysign_op, rounding::nearest, float>()
                         : same_types<copysign_op, rounding::nearest, double>();
  return true;
}

}  // namespace

std::span<opcode const> arithmetic() {
  static constexpr opcode all[] = {
      {"add", sum<add_op, 0>},
      {"sub", sum<sub_op, 1>},
      {"addc", with_carry<0>},
      {"subc", with_carry<1>},
      {"mul", product},
      {"mad", product_and_sum},
      {"madc", product_and_sum},
      {"fma", product_and_sum},
      {"mul24", small_product_of},
      {"mad24", small_product<mad24_op>},
      {"div", of_numbers<div_op, true>},
      {"rem", of_integers<rem_op>},
      {"min", extremum<min_op>},
      {"max", extremum<max_op>},
      {"neg", of_numbers<neg_op>},
      {"abs", of_numbers<abs_op>},
      {"sad", of_integers<sad_op>},
      {"rcp", approximate<rcp_op>},
      {"sqrt", approximate<sqrt_op>},
      {"rsqrt", approximate<rsqrt_op>},
      {"lg2", approximate<lg2_op>},
      {"sin", approximate<sin_op>},
      {"cos", approximate<cos_op>},
      {"ex2", approximate<ex2_op, true>},
      {"tanh", approximate<tanh_op, true>},
      {"copysign", copied_sign},
  };
  return all;
}

}  // namespace ptx

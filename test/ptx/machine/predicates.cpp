// SPDX-License-Identifier: Apache-2.0
// Comparisons, and what predicates choose.
#include <algorithm>
#include <iterator>

#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

enum class test : uint8_t { eq, ne, lt, le, gt, ge, num, nan };
template <class T, test C, bool Unordered>
bool holds(T a, T b) {
  if constexpr (is_float<T>) {
    bool const is_nan = a != a || b != b;
    if constexpr (C == test::num) return !is_nan;
    if constexpr (C == test::nan) return is_nan;
    if (is_nan) return Unordered;
  }
  if constexpr (C == test::eq) return a == b;
  if constexpr (C == test::ne) return a != b;
  if constexpr (C == test::lt) return a < b;
  if constexpr (C == test::le) return a <= b;
  if constexpr (C == test::gt) return a > b;
  return a >= b;
}
/// with another predicate: modes 0 none, 1 and, 2 or, 3 xor
mask combined(warp& w, instruction const& i, mask p) {
  if (i.mode == 0) return p;
  mask const other = i.flag ? ~w.predicate(i.at[4]) : w.predicate(i.at[4]);
  return i.mode == 1 ? p & other : i.mode == 2 ? p | other : p ^ other;
}
/// flag2: the result is a number, ones or, where wide is not set, 1.f
void finish_comparison(warp& w, instruction const& i, mask m, mask p) {
  mask const first = combined(w, i, p);
  if (i.flag2)
    return each_lane(m, [&](int l) {
      w.at<uint32_t>(i.at[0])[l] = !(first >> l & 1) ? 0 : i.wide ? ~0u : 0x3f800000u;
    });
  mask const second = combined(w, i, ~p);
  if (i.at[0] >= 0) w.set_predicate(i.at[0], m, first);
  if (i.at[3] >= 0) w.set_predicate(i.at[3], m, second);
}
template <class T, test C, bool Unordered>
void compare(warp& w, instruction const& i, mask m) {
  T const *const a = w.at<T>(i.at[1]), *const b = w.at<T>(i.at[2]);
  mask p = 0;
  each_lane(m, [&](int l) { p |= mask(holds<T, C, Unordered>(a[l], b[l])) << l; });
  finish_comparison(w, i, m, p);
}
template <class T>
void selp(warp& w, instruction const& i, mask m) {
  T* const d = w.at<T>(i.at[0]);
  T const *const a = w.at<T>(i.at[1]), *const b = w.at<T>(i.at[2]);
  mask const p = i.flag ? ~w.predicate(i.at[3]) : w.predicate(i.at[3]);
  each_lane(m, [&](int l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}
template <class T, class C>
void slct(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    w.at<T>(i.at[0])[l] = w.at<C>(i.at[3])[l] >= 0 ? w.at<T>(i.at[1])[l] : w.at<T>(i.at[2])[l];
  });
}
template <class T>
void testp(warp& w, instruction const& i, mask m) {
  mask p = 0;
  each_lane(m, [&](int l) {
    T const a = w.at<T>(i.at[1])[l];
    bool const r = i.mode == 0   ? std::isfinite(a)
                   : i.mode == 1 ? std::isinf(a)
                   : i.mode == 2 ? !std::isnan(a)
                   : i.mode == 3 ? std::isnan(a)
                   : i.mode == 4 ? std::isnormal(a)
                                 : std::fpclassify(a) == FP_SUBNORMAL;
    p |= mask(r) << l;
  });
  w.set_predicate(i.at[0], m, p);
}

bool comparison(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  static std::pair<char const*, std::pair<test, bool>> const tests[] = {
      {"eq", {test::eq, false}}, {"ne", {test::ne, false}},   {"lt", {test::lt, false}},
      {"le", {test::le, false}}, {"gt", {test::gt, false}},   {"ge", {test::ge, false}},
      {"lo", {test::lt, false}}, {"ls", {test::le, false}},   {"hi", {test::gt, false}},
      {"hs", {test::ge, false}}, {"equ", {test::eq, true}},   {"neu", {test::ne, true}},
      {"ltu", {test::lt, true}}, {"leu", {test::le, true}},   {"gtu", {test::gt, true}},
      {"geu", {test::ge, true}}, {"num", {test::num, false}}, {"nan", {test::nan, true}}};
  auto const* const found = std::find_if(std::begin(tests), std::end(tests), [&](auto const& each) {
    return s.suffix[0] == each.first;
  });
  if (found == std::end(tests)) return false;
  test const what = found->second.first;
  bool const unordered = found->second.second;
  operand const& d = s.operands[0];
  i.at[0] = of.destination(s, d);
  i.at[3] = of.second_destination(s, d);
  i.at[1] = of.source(s, s.operands[1], bits), i.at[2] = of.source(s, s.operands[2], bits);
  if (s.operands.size() > 3) {
    i.at[4] = of.source(s, s.operands[3], 1), i.flag = s.operands[3].negated;
    i.mode = s.has("and") ? 1 : s.has("or") ? 2 : 3;
  }
  if (s.opcode == "set")
    i.flag2 = true, i.wide = type_of(s.suffix[s.suffix.size() - 2]) != type::f32;
  auto const choose = [&]<class T, bool Unordered>(T, std::bool_constant<Unordered>) -> handler {
#define PTX_TEST(C) \
  case test::C: return &compare<T, test::C, Unordered>;
    switch (what) {
      PTX_TEST(eq) PTX_TEST(ne) PTX_TEST(lt) PTX_TEST(le) PTX_TEST(gt) PTX_TEST(ge) default : break;
    }
    if constexpr (is_float<T>) switch (what) {
        PTX_TEST(num) PTX_TEST(nan) default : break;
      }
#undef PTX_TEST
    return nullptr;
  };
  i.run = for_number(t, [&]<class T>(T v) -> handler {
    if constexpr (is_float<T>)
      if (unordered) return choose(v, std::true_type());
    return choose(v, std::false_type());
  });
  return true;
}

bool choice(decoding& of, instruction& i, statement const& s) {
  unsigned const bits = bits_of(last_type(s));
  of.plain(i, s, {bits, bits, bits, 1});
  i.flag = s.operands[3].negated;
  i.run = for_bits(bits, []<class T>(T) -> handler { return &selp<T>; });
  return true;
}
bool choice_by_sign(decoding& of, instruction& i, statement const& s) {
  if (s.suffix.size() < 2) return false;
  unsigned const bits = bits_of(type_of(s.suffix[s.suffix.size() - 2]));
  of.plain(i, s, {bits, bits, bits, 32});
  bool const f = last_type(s) == type::f32;
  i.run = for_bits(bits, [f]<class T>(T) -> handler {
    return f ? handler(&slct<T, float>) : handler(&slct<T, int32_t>);
  });
  return true;
}
bool class_of_number(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.plain(i, s, {1, bits_of(t)});
  i.mode = s.has("finite")       ? 0
           : s.has("infinite")   ? 1
           : s.has("number")     ? 2
           : s.has("notanumber") ? 3
           : s.has("normal")     ? 4
                                 : 5;
  i.run = t == type::f32 ? &testp<float> : &testp<double>;
  return true;
}

}  // namespace

std::span<opcode const> predicates() {
  static constexpr opcode all[] = {
      {"setp", comparison},     {"set", comparison},        {"selp", choice},
      {"slct", choice_by_sign}, {"testp", class_of_number},
  };
  return all;
}

}  // namespace ptx

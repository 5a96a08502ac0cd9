// SPDX-License-Identifier: Apache-2.0
// Bits: logic, shifts, fields and counts.
#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

/// modes: 0 and, 1 or, 2 xor, 3 not
void of_predicates(warp& w, instruction const& i, mask m) {
  mask const a = w.predicate(i.at[1]), b = i.at[2] >= 0 ? w.predicate(i.at[2]) : 0;
  w.set_predicate(i.at[0], m, i.mode == 0 ? a & b : i.mode == 1 ? a | b : i.mode == 2 ? a ^ b : ~a);
}
template <class F, std::uint8_t Mode>
bool logic(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  if (t == type::pred) {
    of.same(i, s, 1);
    i.mode = Mode, i.run = of_predicates;
    return true;
  }
  return of_integers<F>(of, i, s);
}
template <class F>
bool shift(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.plain(i, s, {bits_of(t), bits_of(t), 32});
  i.run = for_integer(
      t, []<class T>(T) -> handler { return &map<F, rounding::nearest, T, T, uint32_t>; });
  return true;
}
/// a number of bits; Bare: without a sign
template <class F, bool Bare>
bool count(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.plain(i, s, {32, bits_of(t)});
  i.run = for_integer(t, []<class T>(T) -> handler {
    return &map<F, rounding::nearest, uint32_t, std::conditional_t<Bare, unsigned_of<T>, T>>;
  });
  return true;
}
bool find(decoding& of, instruction& i, statement const& s) {
  return s.has("shiftamt") ? count<bfind_op<true>, false>(of, i, s)
                           : count<bfind_op<false>, false>(of, i, s);
}
bool extract(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.plain(i, s, {bits_of(t), bits_of(t), 32, 32});
  i.run = for_integer(t, []<class T>(T) -> handler {
    return &map<bfe_op, rounding::nearest, T, T, uint32_t, uint32_t>;
  });
  return true;
}
bool insert(decoding& of, instruction& i, statement const& s) {
  unsigned const bits = bits_of(last_type(s));
  of.plain(i, s, {bits, bits, bits, 32, 32});
  i.run = for_bits(bits, []<class T>(T) -> handler {
    return &map<bfi_op, rounding::nearest, T, T, T, uint32_t, uint32_t>;
  });
  return true;
}
/// all operands of 32 bits
template <class F>
bool of_words(decoding& of, instruction& i, statement const& s) {
  of.same(i, s, 32);
  i.run = same_types<F, rounding::nearest, uint32_t>();
  return true;
}
bool ones(decoding& of, instruction& i, statement const& s) {
  return s.has("clamp") ? of_words<bmsk_op<true>>(of, i, s) : of_words<bmsk_op<false>>(of, i, s);
}
bool bytes(decoding& of, instruction& i, statement const& s) {
  return of_words<prmt_op>(of, i, s) && s.suffix.size() == 1;
}
bool funnel(decoding& of, instruction& i, statement const& s) {
  if (s.has("l"))
    return s.has("wrap") ? of_words<shf_op<true, true>>(of, i, s)
                         : of_words<shf_op<true, false>>(of, i, s);
  return s.has("wrap") ? of_words<shf_op<false, true>>(of, i, s)
                       : of_words<shf_op<false, false>>(of, i, s);
}
bool any_logic(decoding& of, instruction& i, statement const& s) {
  of.same(i, s, 32);
  i.run = &map<lop3_op, rounding::nearest, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  return s.operands.size() == 5;
}
bool dot_of_bytes(decoding& of, instruction& i, statement const& s) {
  if (s.suffix.size() != 2) return false;
  bool const a = s.suffix[0] == "s32", b = s.suffix[1] == "s32";
  return a   ? b ? of_words<dp4a_op<int8_t, int8_t>>(of, i, s)
                 : of_words<dp4a_op<int8_t, uint8_t>>(of, i, s)
           : b ? of_words<dp4a_op<uint8_t, int8_t>>(of, i, s)
             : of_words<dp4a_op<uint8_t, uint8_t>>(of, i, s);
}

}  // namespace

std::span<opcode const> bit_operations() {
  static constexpr opcode all[] = {
      {"and", logic<and_op, 0>},
      {"or", logic<or_op, 1>},
      {"xor", logic<xor_op, 2>},
      {"not", logic<not_op, 3>},
      {"cnot", of_integers<cnot_op>},
      {"brev", of_integers<brev_op>},
      {"shl", shift<shl_op>},
      {"shr", shift<shr_op>},
      {"popc", count<popc_op, true>},
      {"clz", count<clz_op, true>},
      {"bfind", find},
      {"bfe", extract},
      {"bfi", insert},
      {"bmsk", ones},
      {"prmt", bytes},
      {"shf", funnel},
      {"lop3", any_logic},
      {"dp4a", dot_of_bytes},
  };
  return all;
}

}  // namespace ptx

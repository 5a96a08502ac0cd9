// SPDX-License-Identifier: Apache-2.0
// ptxas makes another number of instructions of most statements. The weights are what it made of kernels
// without loops for sm_80 and sm_90, by the eye; ../model/README.md says how far they are off.
#include "weights.hpp"

#include <string_view>

#include "../machine/decoding.hpp"

namespace ptx::counts {
namespace {

/// What a row of the table asks of a statement besides its name.
enum class form : std::uint8_t {
  any,
  predicate,
  word,            // an integer of at most 32 bits
  wide,            // an integer of 64 bits
  single,          // f32, and halves
  real,            // f64
  behind_product,  // a sum of 64 bits that mul.wide in front of it takes along
  from_special,    // a special register, or halves that are packed
  param,
  constant,
  shared,
  local,
  global,
};
/// the kind is that of the type
inline constexpr kind by_type = kind::count;

struct row {
  std::string_view opcodes;  // between blanks
  form of;
  std::string_view with;  // a suffix, or empty
  kind is;
  std::uint16_t tenths;
};
/// The first row that fits holds.
constexpr row table[] = {
    // memory
    {" st ", form::param, "", kind::moved, 0},
    {" ld ldu ", form::param, "", kind::moved, 10},
    {" ld ldu ", form::constant, "", kind::moved, 10},
    {" ld ldu ", form::shared, "", kind::load_shared, 10},
    {" st ", form::shared, "", kind::store_shared, 10},
    {" ld ldu ", form::local, "", kind::load_local, 10},
    {" st ", form::local, "", kind::store_local, 10},
    {" ld ldu ", form::any, "", kind::load_global, 10},
    {" st ", form::any, "", kind::store_global, 10},
    {" atom red ", form::any, "", kind::atomic, 10},
    {" cp ", form::any, "commit_group", kind::barrier, 10},
    {" cp ", form::any, "wait_group", kind::barrier, 10},
    {" cp ", form::any, "wait_all", kind::barrier, 10},
    {" cp ", form::any, "", kind::load_global, 10},
    {" prefetch prefetchu nanosleep ", form::any, "", kind::other, 10},
    // control
    {" bra brx ret exit trap ", form::any, "", kind::control, 10},
    {" call ", form::any, "", kind::control, 20},
    {" shfl vote match redux activemask elect ", form::any, "", kind::shuffle, 10},
    {" bar barrier membar fence mbarrier ", form::any, "", kind::barrier, 10},
    // moves
    {" mov ", form::from_special, "", kind::moved, 10},
    {" mov cvta ", form::any, "", kind::moved, 0},
    {" cvt ", form::word, "", kind::integer, 5},
    {" cvt ", form::wide, "", kind::integer, 7},
    {" cvt ", form::real, "", kind::sfu, 10},
    {" cvt ", form::any, "", kind::convert, 10},
    // functions
    {" div rem ", form::real, "", kind::fp64, 250},
    {" div rem ", form::single, "approx", kind::fp32, 40},
    {" div rem ", form::single, "full", kind::fp32, 40},
    {" div rem ", form::single, "", kind::fp32, 100},
    {" div rem ", form::wide, "", kind::integer, 800},
    {" div rem ", form::any, "", kind::integer, 200},
    {" rcp sqrt rsqrt ", form::real, "rn", kind::fp64, 250},
    {" rcp sqrt rsqrt lg2 ex2 ", form::real, "", kind::fp64, 20},
    {" rcp sqrt rsqrt ", form::any, "rn", kind::sfu, 80},
    {" tanh ", form::any, "", kind::sfu, 10},
    {" rcp sqrt rsqrt lg2 ex2 sin cos ", form::any, "ftz", kind::sfu, 10},
    {" sin cos ", form::any, "", kind::sfu, 20},
    {" rcp sqrt rsqrt lg2 ex2 ", form::any, "", kind::sfu, 30},
    // arithmetic
    {" neg abs copysign ", form::single, "", by_type, 0},
    {" neg abs copysign ", form::real, "", by_type, 0},
    {" neg abs copysign ", form::any, "", by_type, 10},
    {" add ", form::behind_product, "", kind::integer, 0},
    {" mul mad ", form::any, "wide", by_type, 10},
    {" mul ", form::wide, "", kind::integer, 50},
    {" mad ", form::wide, "", kind::integer, 60},
    {" mul mad ", form::any, "", by_type, 10},
    {" bfi bfe ", form::any, "", by_type, 20},
    {" and or xor not setp set selp ", form::predicate, "", kind::integer, 5},
    {" add sub fma min max and or xor not shl shr setp set selp slct addc subc madc sad popc clz "
     "brev bfind bmsk prmt shf lop3 dp4a mul24 mad24 testp cnot ",
     form::wide, "", by_type, 20},
    {" add sub fma min max and or xor not shl shr setp set selp slct addc subc madc sad popc clz "
     "brev bfind bmsk prmt shf lop3 dp4a mul24 mad24 testp cnot ",
     form::any, "", by_type, 10},
    // what is not here
    {"", form::any, "", kind::other, 10},
};

bool is_single(type t) {
  return t == type::f16 || t == type::f32 || t == type::bf16 || t == type::f16x2 ||
         t == type::bf16x2;
}
form form_of_type(type t) {
  return t == type::pred    ? form::predicate
         : t == type::f64   ? form::real
         : is_single(t)     ? form::single
         : bits_of(t) == 64 ? form::wide
                            : form::word;
}
form form_of_space(space where) {
  switch (where) {
  case space::param: return form::param;
  case space::constant: return form::constant;
  case space::shared: return form::shared;
  case space::local: return form::local;
  default: return form::global;
  }
}
/// integers to integers as the type that comes out, all else real where f64 is one of both
form form_of_conversion(statement const& s) {
  type to = type::none, from = type::none;
  for (std::string const& each : s.suffix)
    if (type const t = type_of(each); t != type::none) (to == type::none ? to : from) = t;
  form const a = form_of_type(to), b = form_of_type(from);
  if (a == form::real || b == form::real) return form::real;
  return a == form::single || b == form::single ? form::single : a;
}
bool packs_halves(statement const& s) {
  return bits_of(last_type(s)) == 32 && s.operands.size() > 1 &&
         (s.operands[0].is == operand::kind::vector || s.operands[1].is == operand::kind::vector);
}
bool is_behind_product(statement const& s, statement const* before) {
  return before && before->has("wide") && !before->operands.empty() && s.operands.size() > 2 &&
         (before->operands[0].name == s.operands[1].name ||
          before->operands[0].name == s.operands[2].name);
}

}  // namespace

weight weight_of(instruction const& i, statement const& s, surroundings const& around) {
  std::string const& op = s.opcode;
  form const by = form_of_type(last_type(s));
  form const is =
      op == "ld" || op == "ldu" || op == "st"                    ? form_of_space(i.where)
      : op == "cvt"                                              ? form_of_conversion(s)
      : op == "mov" && (around.reads_special || packs_halves(s)) ? form::from_special
      : op == "add" && by == form::wide &&
              (is_behind_product(s, around.before) || is_behind_product(s, around.earlier))
          ? form::behind_product
          : by;
  std::string const name = " " + op + " ";
  for (row const& r : table) {
    if (!r.opcodes.empty() && r.opcodes.find(name) == r.opcodes.npos) continue;
    if (r.of != form::any && r.of != is) continue;
    if (!r.with.empty() && !s.has(r.with)) continue;
    kind const found = r.is != by_type      ? r.is
                       : by == form::real   ? kind::fp64
                       : by == form::single ? kind::fp32
                                            : kind::integer;
    return {found, r.tenths};
  }
  return {};
}

}  // namespace ptx::counts

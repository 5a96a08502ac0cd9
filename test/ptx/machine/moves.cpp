// SPDX-License-Identifier: Apache-2.0
// Moves: registers to registers, conversions, addresses.
#include <bit>
#include <chrono>
#include <cstring>

#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

void move_predicate(warp& w, instruction const& i, mask m) {
  w.set_predicate(i.at[0], m, w.predicate(i.at[1]));
}
uint64_t bits_at(warp& w, int32_t place, unsigned bits, int lane) {
  uint64_t v = 0;
  std::memcpy(&v, w.at<std::byte>(place) + lane * int(bits / 8), bits / 8);
  return v;
}
void set_bits_at(warp& w, int32_t place, unsigned bits, int lane, uint64_t v) {
  std::memcpy(w.at<std::byte>(place) + lane * int(bits / 8), &v, bits / 8);
}
/// d = {a, b, ...}: mode parts of mode2 bits each
void pack(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    uint64_t v = 0;
    for (unsigned k = 0; k < i.mode; ++k) v |= bits_at(w, i.at[1 + k], i.mode2, l) << (k * i.mode2);
    set_bits_at(w, i.at[0], unsigned(i.mode) * i.mode2, l, v);
  });
}
void unpack(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    uint64_t const v = bits_at(w, i.at[0], unsigned(i.mode) * i.mode2, l);
    for (unsigned k = 0; k < i.mode; ++k)
      if (i.at[1 + k] >= 0) set_bits_at(w, i.at[1 + k], i.mode2, l, v >> (k * i.mode2));
  });
}
void clock(warp& w, instruction const& i, mask m) {
  auto const now = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  each_lane(m, [&](int l) { set_bits_at(w, i.at[0], i.mode2, l, now); });
}
void activemask(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) { w.at<uint32_t>(i.at[0])[l] = m; });
}

/// mode2: bits of the source register | of the destination << 4, as powers of two
template <class D, class S>
void convert(warp& w, instruction const& i, mask m) {
  unsigned const from = 1u << (i.mode2 & 15), to = 1u << (i.mode2 >> 4);
  auto const how = rounding(i.mode & 3);
  bool const whole = i.mode & 4, saturate = i.mode & 8, flush = i.mode & 16, relu = i.mode & 32;
  rounding_scope const scope(is_float<D> && !whole ? how : rounding::nearest);
  each_lane(m, [&](int l) {
    uint64_t const raw = bits_at(w, i.at[1], from, l);
    S v;
    std::memcpy(static_cast<void*>(&v), &raw, sizeof v);
    if (flush) v = flushed(v);
    D d;
    if constexpr (is_float<S> && is_float<D>) {
      if constexpr (sizeof(S) >= 4) {
        if (whole) v = to_whole(v, how);
        if constexpr (sizeof(D) == 2)
          d = D(double(v), how);
        else
          d = D(v);
      } else {
        float f = float(v);
        if (whole) f = to_whole(f, how);
        if constexpr (sizeof(D) == 2)
          d = D(double(f), how);
        else
          d = D(f);
      }
      if (saturate) d = saturated(d);
      if (flush) d = flushed(d);
      if (relu && !(float(d) > 0)) d = D(0.f);
    } else if constexpr (is_float<S>) {
      if constexpr (sizeof(S) == 2)
        d = clamped<D>(double(to_whole(float(v), how)));
      else
        d = clamped<D>(double(to_whole(v, how)));
    } else if constexpr (is_float<D>) {
      if constexpr (sizeof(D) == 2)
        d = D(double(v), how);
      else
        d = D(v);
    } else if (saturate) {
      d = std::cmp_less(v, std::numeric_limits<D>::min())      ? std::numeric_limits<D>::min()
          : std::cmp_greater(v, std::numeric_limits<D>::max()) ? std::numeric_limits<D>::max()
                                                               : D(v);
    } else {
      d = D(v);
    }
    uint64_t out = 0;
    if constexpr (std::is_integral_v<D> && std::is_signed_v<D>)
      out = uint64_t(int64_t(d));
    else
      std::memcpy(&out, &d, sizeof d);
    set_bits_at(w, i.at[0], to, l, out);
  });
}
/// two floats as a pair of 16 bits: d = {b, a}
template <class T>
void convert_two(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    float a = w.at<float>(i.at[1])[l], b = w.at<float>(i.at[2])[l];
    if (i.mode & 32) a = a > 0 ? a : 0, b = b > 0 ? b : 0;
    w.at<uint32_t>(i.at[0])[l] = uint32_t(T(double(a), rounding(i.mode & 3)).bits) << 16 |
                                 T(double(b), rounding(i.mode & 3)).bits;
  });
}

void is_space(warp& w, instruction const& i, mask m) {
  mask p = 0;
  each_lane(m, [&](int l) {
    uint64_t const a = w.at<uint64_t>(i.at[1])[l] & window_mask;
    space const s = a == shared_window  ? space::shared
                    : a == local_window ? space::local
                    : a == param_window ? space::param
                                        : space::global;
    p |= mask(s == i.where) << l;
  });
  w.set_predicate(i.at[0], m, p);
}

bool move(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  operand const &d = s.operands[0], &a = s.operands[1];
  if (t == type::pred) {
    i.at[0] = of.destination(s, d), i.at[1] = of.source(s, a, 1), i.mode = 4,
    i.run = move_predicate;
    return true;
  }
  if (d.is == operand::kind::vector || a.is == operand::kind::vector) {
    bool const packs = a.is == operand::kind::vector;
    auto const& parts = packs ? a.parts : d.parts;
    i.mode = std::uint8_t(parts.size()), i.mode2 = std::uint8_t(bits / parts.size());
    if (bits > 64) return false;
    i.at[0] = packs ? of.destination(s, d) : of.source(s, a, bits);
    for (std::size_t k = 0; k < parts.size(); ++k)
      i.at[k + 1] = packs ? of.source(s, parts[k], i.mode2) : of.destination(s, parts[k]);
    i.run = packs ? pack : unpack;
    return true;
  }
  i.at[0] = of.destination(s, d);
  if (a.name == "%clock" || a.name == "%clock64" || a.name == "%clock_hi" ||
      a.name == "%globaltimer" || a.name == "%globaltimer_lo") {
    i.mode2 = std::uint8_t(bits), i.run = clock;
    return true;
  }
  if (decoding::symbol found;
      a.is == operand::kind::name && of.find_symbol(a.name, found) && found.where == space::local) {
    i.at[1] = of.special_place_of(special::local_base, bits),
    i.at[2] = of.constant(bits, found.at + std::uint64_t(a.value));
    i.run = for_bits(
        bits, []<class T>(T) -> handler { return same_types<add_op, rounding::nearest, T>(); });
    return true;
  }
  i.at[1] = of.source(s, a, bits);
  i.run = for_bits(
      bits, []<class T>(T) -> handler { return same_types<mov_op, rounding::nearest, T>(); });
  return true;
}
bool conversion(decoding& of, instruction& i, statement const& s) {
  type to = type::none, from = type::none;
  for (auto const& each : s.suffix)
    if (type const t = type_of(each); t != type::none) (to == type::none ? to : from) = t;
  i.mode = std::uint8_t(s.has("rz") || s.has("rzi")   ? 1
                        : s.has("rm") || s.has("rmi") ? 2
                        : s.has("rp") || s.has("rpi") ? 3
                                                      : 0);
  if (s.has("rni") || s.has("rzi") || s.has("rmi") || s.has("rpi")) i.mode |= 4;
  if (s.has("sat")) i.mode |= 8;
  if (s.has("ftz")) i.mode |= 16;
  if (s.has("relu")) i.mode |= 32;
  if (to == type::f16x2 || to == type::bf16x2) {
    of.plain(i, s, {32, 32, 32});
    i.run = to == type::f16x2 ? &convert_two<half> : &convert_two<brain>;
    return from == type::f32;
  }
  unsigned const wide = std::max(of.bits_in(s, s.operands[1], bits_of(from)), 16u);
  i.at[0] = of.destination(s, s.operands[0]), i.at[1] = of.source(s, s.operands[1], wide);
  i.mode2 = std::uint8_t(std::countr_zero(wide) |
                         std::countr_zero(of.bits_in(s, s.operands[0], bits_of(to))) << 4);
  i.run = for_number(to, [&]<class D>(D) -> handler {
    return for_number(from, []<class S>(S) -> handler { return &convert<D, S>; });
  });
  return true;
}
bool generic_address(decoding& of, instruction& i, statement const& s) {
  std::uint64_t window = 0;
  switch (space_of(s)) {
  case space::shared: window = shared_window; break;
  case space::local: window = local_window; break;
  case space::param: window = of.is_entry() ? param_window : local_window; break;
  default: break;
  }
  bool const to = s.has("to");
  i.at[0] = of.destination(s, s.operands[0]);
  operand const& a = s.operands[1];
  if (decoding::symbol found;
      a.is == operand::kind::name && of.find_symbol(a.name, found) && found.where == space::local) {
    i.at[1] = of.special_place_of(special::local_base, 64);
    window += found.at + std::uint64_t(a.value);
  } else {
    i.at[1] = of.source(s, a, 64);
  }
  i.at[2] = of.constant(64, to ? std::uint64_t(0) - window : window);
  i.run = same_types<add_op, rounding::nearest, uint64_t>();
  return last_type(s) == type::u64;
}

bool lies_in(decoding& of, instruction& i, statement const& s) {
  of.plain(i, s, {1, 64});
  i.where = space_of(s), i.run = is_space;
  return true;
}
bool mask_of_active(decoding& of, instruction& i, statement const& s) {
  i.at[0] = of.destination(s, s.operands[0]), i.run = activemask;
  return true;
}

}  // namespace

std::span<opcode const> moves() {
  static constexpr opcode all[] = {
      {"mov", move},
      {"cvt", conversion},
      {"cvta", generic_address},
      {"isspacep", lies_in},
      {"activemask", mask_of_active},
  };
  return all;
}

}  // namespace ptx

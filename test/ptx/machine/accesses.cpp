// SPDX-License-Identifier: Apache-2.0
// Memory: loads, stores, atomics, and copies that barriers in memory wait for.
#include <algorithm>
#include <cstring>

#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

template <space S, class M, class R, int N>
void load(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    std::byte const* const from =
        w.memory<S, warp::use::read>(i, w.address(i, l, i.at[0]), sizeof(M) * N, l);
    M v[N];
    std::memcpy(v, from, sizeof v);
    for (int k = 0; k < N; ++k)
      if (i.at[1 + k] >= 0) w.at<R>(i.at[1 + k])[l] = R(v[k]);
  });
}
/// from an address that all lanes share
template <class M, class R, int N>
void load_param(warp& w, instruction const& i, mask m) {
  M v[N];
  std::memcpy(
      v, w.memory<space::param, warp::use::read>(i, uint64_t(i.added), sizeof v, __builtin_ctz(m)),
      sizeof v);
  for (int k = 0; k < N; ++k)
    if (i.at[1 + k] >= 0) {
      R* const d = w.at<R>(i.at[1 + k]);
      each_lane(m, [&](int l) { d[l] = R(v[k]); });
    }
}
template <space S, class M, class R, int N>
void store(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    M v[N];
    for (int k = 0; k < N; ++k) v[k] = M(w.at<R>(i.at[1 + k])[l]);
    std::memcpy(w.memory<S, warp::use::write>(i, w.address(i, l, i.at[0]), sizeof v, l), v,
                sizeof v);
  });
}
struct exch_op {
  template <class T>
  static T of(T, T b) {
    return b;
  }
};
struct inc_op {
  template <class T>
  static T of(T a, T b) {
    return a >= b ? T(0) : T(a + 1);
  }
};
struct dec_op {
  template <class T>
  static T of(T a, T b) {
    return a == 0 || a > b ? b : T(a - 1);
  }
};
/// at: address, result or -1, value
template <class F, class T>
void atomic(warp& w, instruction const& i, mask m) {
  for (; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    std::byte* const p = w.memory(i, warp::use::atomic, w.address(i, l, i.at[0]), sizeof(T), l);
    T old;
    std::memcpy(static_cast<void*>(&old), p, sizeof old);
    T const now = F::of(old, w.at<T>(i.at[2])[l]);
    std::memcpy(p, &now, sizeof now);
    if (i.at[1] >= 0) w.at<T>(i.at[1])[l] = old;
  }
}
template <class T>
void compare_and_swap(warp& w, instruction const& i, mask m) {
  for (; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    std::byte* const p = w.memory(i, warp::use::atomic, w.address(i, l, i.at[0]), sizeof(T), l);
    T old;
    std::memcpy(&old, p, sizeof old);
    if (old == w.at<T>(i.at[2])[l]) std::memcpy(p, &w.at<T>(i.at[3])[l], sizeof old);
    if (i.at[1] >= 0) w.at<T>(i.at[1])[l] = old;
  }
}
uint64_t address_at(warp& w, int32_t place, bool wide, int l) {
  return wide ? w.at<uint64_t>(place)[l] : w.at<uint32_t>(place)[l];
}
/// cp.async of mode bytes, of which a register may name fewer; it is done at once. mode2: which addresses are wide
void copy_async(warp& w, instruction const& i, mask m) {
  each_lane(m, [&](int l) {
    uint64_t const to = address_at(w, i.at[0], i.mode2 & 1, l) + uint64_t(i.added);
    uint64_t const from = address_at(w, i.at[1], i.mode2 & 2, l) + i.target;
    unsigned const n =
        i.at[2] >= 0 ? std::min<unsigned>(w.at<uint32_t>(i.at[2])[l], i.mode) : i.mode;
    std::byte bytes[16]{};
    if (n) std::memcpy(bytes, w.memory<space::global, warp::use::read>(i, from, n, l), n);
    std::memcpy(w.memory<space::shared, warp::use::write>(i, to, i.mode, l), bytes, i.mode);
  });
}
/// A barrier in shared memory, as its eight bytes here: arrivals to come, arrivals of a phase and (its
/// highest bit) which phase it is, bytes to come.
struct memory_barrier {
  uint16_t pending, expected_and_phase;
  int32_t bytes;
  static memory_barrier of(uint32_t arrivals) {
    auto const n = static_cast<uint16_t>(arrivals);
    return {n, n, 0};
  }
  uint32_t phase() const { return expected_and_phase >> 15; }
  void finish() {
    if (pending != 0 || bytes != 0) return;
    pending = expected_and_phase & 0x7fff;
    expected_and_phase ^= 0x8000;
  }
};
static_assert(sizeof(memory_barrier) == 8);
template <class F>
void with_barrier(warp& w, instruction const& i, uint64_t address, int l, F&& f) {
  std::byte* const p = w.memory<space::shared, warp::use::atomic>(i, address & ~window_mask, 8, l);
  memory_barrier b;
  std::memcpy(&b, p, 8);
  f(b);
  std::memcpy(p, &b, 8);
}
/// modes: 0 init, 1 arrive, 2 arrive.expect_tx, 3 expect_tx, 4 a test of a parity; at: address, number, result
void mbarrier(warp& w, instruction const& i, mask m) {
  ++w.time;  // it orders what its lanes wrote before what others read behind it
  for (; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    uint32_t const n = i.at[1] >= 0 ? w.at<uint32_t>(i.at[1])[l] : 1;
    with_barrier(w, i, w.address(i, l, i.at[0]), l, [&](memory_barrier& b) {
      if (i.mode == 0) b = memory_barrier::of(n);
      if (i.mode == 4) return w.set_predicate(i.at[2], 1u << l, b.phase() != (n & 1) ? 1u << l : 0);
      if (i.mode == 2 || i.mode == 3) b.bytes += int32_t(n);
      if (i.mode == 1 || i.mode == 2) {
        if (b.pending == 0) w.fail(719, i, l, "more threads arrive than the barrier was made for");
        b.pending = uint16_t(b.pending - (i.mode == 1 ? n : 1));
        if (i.at[2] >= 0) w.at<uint64_t>(i.at[2])[l] = b.phase();
        b.finish();
      }
    });
  }
}
/// cp.async.bulk from global to shared memory, done at once: at: to, from, bytes, barrier
void copy_bulk(warp& w, instruction const& i, mask m) {
  for (; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    uint64_t const to = address_at(w, i.at[0], i.mode2 & 1, l) + uint64_t(i.added);
    uint64_t const from = address_at(w, i.at[1], i.mode2 & 2, l) + i.target;
    uint32_t const n = w.at<uint32_t>(i.at[2])[l];
    if (n % 16) w.fail(716, i, l, "a bulk copy of " + std::to_string(n) + " bytes");
    for (uint32_t k = 0; k < n; k += 16)
      std::memcpy(w.memory<space::shared, warp::use::atomic>(i, (to & ~window_mask) + k, 16, l),
                  w.memory<space::global, warp::use::read>(i, from + k, 16, l), 16);
    with_barrier(w, i, address_at(w, i.at[3], i.mode2 & 4, l), l,
                 [&](memory_barrier& b) { b.bytes -= int32_t(n), b.finish(); });
  }
}
template <space S, bool Store, class M, class R>
handler memory_handler(std::size_t n) {
  if constexpr (Store)
    return n == 1   ? handler(&store<S, M, R, 1>)
           : n == 2 ? handler(&store<S, M, R, 2>)
           : n == 4 ? handler(&store<S, M, R, 4>)
                    : nullptr;
  else
    return n == 1   ? handler(&load<S, M, R, 1>)
           : n == 2 ? handler(&load<S, M, R, 2>)
           : n == 4 ? handler(&load<S, M, R, 4>)
                    : nullptr;
}
template <class F>
handler for_memory(type t, unsigned reg, F&& f) {
  unsigned const bits = bits_of(t);
  bool const is_signed = (t == type::s8 || t == type::s16 || t == type::s32) && reg > bits;
  auto widths = [&]<class M>(M m) -> handler {
    if constexpr (sizeof(M) + std::is_signed_v<M> <= 2)
      if (reg == 16) return f(m, uint16_t());
    if constexpr (sizeof(M) + std::is_signed_v<M> <= 4)
      if (reg == 32) return f(m, uint32_t());
    return reg == 64 ? f(m, uint64_t()) : nullptr;
  };
  switch (bits) {
  case 8: return is_signed ? widths(int8_t()) : widths(uint8_t());
  case 16: return is_signed ? widths(int16_t()) : widths(uint16_t());
  case 32: return is_signed ? widths(int32_t()) : widths(uint32_t());
  case 64: return widths(uint64_t());
  default: return nullptr;
  }
}
/// how an access takes part in the order of blocks: order.cpp
void set_order(instruction& i, statement const& s) {
  bool const both = s.has("acq_rel");
  i.flag = s.has("volatile") || s.has("relaxed") || s.has("acquire") || s.has("release") || both;
  i.mode = std::uint8_t((s.has("acquire") || both ? 1 : 0) | (s.has("release") || both ? 2 : 0));
}
bool access(decoding& of, instruction& i, statement const& s) {
  set_order(i, s);
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  bool const stores = s.opcode == "st";
  i.where = space_of(s);
  operand const &address = s.operands[stores ? 0 : 1], &value = s.operands[stores ? 1 : 0];
  of.set_address(i, s, address);
  if (i.where == space::param && !of.is_entry()) i.where = space::local;
  if (decoding::symbol found;
      i.where == space::param && of.find_symbol(address.name, found) && found.where == space::local)
    i.where = space::local;
  std::vector<operand> one{value};
  auto const& parts = value.is == operand::kind::vector ? value.parts : one;
  unsigned reg = std::max(bits, 16u);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    reg = std::max(reg, of.bits_in(s, parts[k], reg));
  }
  if (parts.size() > 4) return false;
  for (std::size_t k = 0; k < parts.size(); ++k)
    i.at[k + 1] = stores ? of.source(s, parts[k], reg) : of.destination(s, parts[k]);
  std::size_t const n = parts.size();
  i.run = for_memory(t, reg, [&]<class M, class R>(M, R) -> handler {
    if (i.where == space::param && !stores && !of.is_register(s, address.name))
      return n == 1   ? handler(&load_param<M, R, 1>)
             : n == 2 ? handler(&load_param<M, R, 2>)
             : n == 4 ? handler(&load_param<M, R, 4>)
                      : nullptr;
#define PTX_SPACE(S)                                        \
  case space::S:                                            \
    return stores ? memory_handler<space::S, true, M, R>(n) \
                  : memory_handler<space::S, false, M, R>(n);
    switch (i.where) {
    PTX_SPACE(generic) PTX_SPACE(shared) PTX_SPACE(local) case space::param:
      return stores ? nullptr : memory_handler<space::param, false, M, R>(n);
      default : return stores ? memory_handler<space::global, true, M, R>(n)
                              : memory_handler<space::global, false, M, R>(n);
    }
#undef PTX_SPACE
  });
  return true;
}
bool atomic_access(decoding& of, instruction& i, statement const& s) {
  set_order(i, s);
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  bool const gives = s.opcode == "atom";
  i.where = space_of(s);
  of.set_address(i, s, s.operands[gives]);
  if (s.operands[0].is == operand::kind::vector || s.operands.back().is == operand::kind::vector)
    return false;
  if (gives) i.at[1] = of.destination(s, s.operands[0]);
  for (std::size_t k = gives + 1u; k < s.operands.size(); ++k)
    i.at[k + 1 - gives] = of.source(s, s.operands[k], bits);
  auto number = [&]<class F>(F) -> handler {
    if (t == type::f16x2) return &atomic<each_of_two<F>, pair_of<half>>;
    if (t == type::bf16x2) return &atomic<each_of_two<F>, pair_of<brain>>;
    return for_number(t, []<class T>(T) -> handler { return &atomic<F, T>; });
  };
  auto integer = [&]<class F>(F) -> handler {
    return for_integer(t, []<class T>(T) -> handler { return &atomic<F, T>; });
  };
  if (s.has("add"))
    i.run = number(add_op());
  else if (s.has("min"))
    i.run = number(min_op());
  else if (s.has("max"))
    i.run = number(max_op());
  else if (s.has("and"))
    i.run = integer(and_op());
  else if (s.has("or"))
    i.run = integer(or_op());
  else if (s.has("xor"))
    i.run = integer(xor_op());
  else if (s.has("inc"))
    i.run = integer(inc_op());
  else if (s.has("dec"))
    i.run = integer(dec_op());
  else if (s.has("exch"))
    i.run = integer(exch_op());
  else if (s.has("cas"))
    i.run = for_bits(bits, []<class T>(T) -> handler { return &compare_and_swap<T>; });
  return true;
}
bool copy(decoding& of, instruction& i, statement const& s) {
  if (!s.has("async")) return false;
  if (s.has("commit_group") || s.has("wait_group") || s.has("wait_all"))
    return i.run = nothing, true;
  bool const bulk = s.has("bulk");
  if (bulk != (s.operands.size() == 4 && s.operands[3].is == operand::kind::address) ||
      s.has("tensor"))
    return false;
  auto const wide = [&](std::size_t operand_at, std::size_t k) {
    of.set_address(i, s, s.operands[operand_at], k);
    if (i.wide) i.mode2 |= std::uint8_t(1u << (k == 3 ? 2 : k));
    return i.added;
  };
  std::int64_t const to = wide(0, 0), from = wide(1, 1);
  if (from < 0) return false;
  if (bulk && wide(3, 3) != 0) return false;
  i.target = std::uint32_t(from), i.added = to;
  if (bulk) {
    i.at[2] = of.source(s, s.operands[2], 32), i.run = copy_bulk;
    return space_of(s) == space::shared;
  }
  i.mode = std::uint8_t(s.operands[2].value);
  if (s.operands.size() > 3) i.at[2] = of.source(s, s.operands[3], 32);
  i.run = copy_async;
  return true;
}
bool memory_barrier_of(decoding& of, instruction& i, statement const& s) {
  bool const tests = s.has("try_wait") || s.has("test_wait"), arrives = s.has("arrive");
  if (s.has("inval")) return i.run = nothing, true;
  if (tests && !s.has("parity")) return false;
  if (!tests && !arrives && !s.has("init") && !s.has("expect_tx")) return false;
  i.where = space::shared;
  std::size_t const at = tests || arrives;
  of.set_address(i, s, s.operands[at]);
  if (s.operands.size() > at + 1) i.at[1] = of.source(s, s.operands[at + 1], 32);
  if (at) i.at[2] = of.destination(s, s.operands[0]);
  i.mode = s.has("init") ? 0 : tests ? 4 : !arrives ? 3 : s.has("expect_tx") ? 2 : 1;
  i.run = mbarrier;
  return true;
}

}  // namespace

std::span<opcode const> accesses() {
  static constexpr opcode all[] = {
      {"ld", access},
      {"ldu", access},
      {"st", access},
      {"atom", atomic_access},
      {"red", atomic_access},
      {"cp", copy},
      {"mbarrier", memory_barrier_of},
  };
  return all;
}

}  // namespace ptx

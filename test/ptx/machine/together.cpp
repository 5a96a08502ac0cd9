// SPDX-License-Identifier: Apache-2.0
// Instructions that the lanes of a warp, or the warps of a block, execute together.
#include "decoding.hpp"
#include "handlers.hpp"

namespace ptx {
namespace {

// the lanes came together; at[9] is the mask

/// modes: 0 up, 1 down, 2 bfly, 3 idx; at: d, p, a, b, c
void shuffle(warp& w, instruction const& i, mask m) {
  uint32_t const *const a = w.at<uint32_t>(i.at[2]), *const b = w.at<uint32_t>(i.at[3]),
                        *const c = w.at<uint32_t>(i.at[4]);
  uint32_t r[lane_count];
  mask p = 0;
  each_lane(m, [&](int l) {
    unsigned const clamp = c[l] & 31, segment = c[l] >> 8 & 31,
                   most = (unsigned(l) & segment) | (clamp & ~segment),
                   least = unsigned(l) & segment;
    int from = 0;
    bool in = false;
    int const n = int(b[l] & 31);
    switch (i.mode) {
    case 0: from = l - n, in = from >= int(most); break;
    case 1: from = l + n, in = from <= int(most); break;
    case 2: from = l ^ n, in = from <= int(most); break;
    default: from = int(least | (unsigned(n) & ~segment)), in = from <= int(most);
    }
    if (!in) from = l;
    if (!(m >> from & 1))
      w.in.of->report(finding::stray_shuffle, w, i, l, "lane " + std::to_string(from));
    r[l] = a[from];
    p |= mask(in) << l;
  });
  each_lane(m, [&](int l) {
    if (i.at[0] >= 0) w.at<uint32_t>(i.at[0])[l] = r[l];
  });
  if (i.at[1] >= 0) w.set_predicate(i.at[1], m, p);
}
/// modes: 0 all, 1 any, 2 uni, 3 ballot
void vote(warp& w, instruction const& i, mask m) {
  mask const a = (i.flag ? ~w.predicate(i.at[1]) : w.predicate(i.at[1])) & m;
  if (i.mode == 3)
    each_lane(m, [&](int l) { w.at<uint32_t>(i.at[0])[l] = a; });
  else
    w.set_predicate(i.at[0], m,
                    (i.mode == 0   ? a == m
                     : i.mode == 1 ? a != 0
                                   : a == m || a == 0)
                        ? m
                        : 0);
}
template <class T>
void match(warp& w, instruction const& i, mask m) {
  T const* const a = w.at<T>(i.at[2]);
  mask r[lane_count];
  bool all = true;
  each_lane(m, [&](int l) {
    r[l] = 0;
    for (int k = 0; k < lane_count; ++k)
      if (m >> k & 1 && a[k] == a[l]) r[l] |= 1u << k;
    all &= r[l] == m;
  });
  each_lane(m, [&](int l) { w.at<uint32_t>(i.at[0])[l] = i.flag ? (all ? m : 0) : r[l]; });
  if (i.at[1] >= 0) w.set_predicate(i.at[1], m, all ? m : 0);
}
template <class F, class T>
void redux(warp& w, instruction const& i, mask m) {
  T const* const a = w.at<T>(i.at[1]);
  T r = a[__builtin_ctz(m)];
  for (mask left = m & (m - 1); left; left &= left - 1) r = F::of(r, a[__builtin_ctz(left)]);
  each_lane(m, [&](int l) { w.at<T>(i.at[0])[l] = r; });
}
void warp_barrier(warp& w, instruction const&, mask) { ++w.time; }
void elect(warp& w, instruction const& i, mask m) {
  int const leader = __builtin_ctz(m);
  if (i.at[0] >= 0) each_lane(m, [&](int l) { w.at<uint32_t>(i.at[0])[l] = uint32_t(leader); });
  w.set_predicate(i.at[1], m, 1u << leader);
}

bool meeting(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  unsigned const bits = bits_of(t);
  std::string const& op = s.opcode;
  auto const& o = s.operands;
  if (op == "bar" || op == "barrier") {
    if (s.has("cluster")) return false;
    if (s.has("warp")) {
      i.at[9] = of.source(s, o[0], 32), i.goes = control::warp_sync, i.run = warp_barrier,
      i.flag2 = true;
      return true;
    }
    i.goes = control::barrier;
    i.flag2 = op == "bar" || s.has("aligned");
    std::size_t k = 0;
    if (s.has("red")) {
      i.mode = s.has("popc") ? 2 : s.has("and") ? 3 : 4;
      i.at[3] = of.destination(s, o[k++]);
    } else {
      i.mode = s.has("arrive") ? 1 : 0;
    }
    i.at[0] = of.source(s, o[k++], 32);
    if (k + (i.mode >= 2) < o.size()) i.at[1] = of.source(s, o[k++], 32);
    if (i.mode >= 2) i.flag = o[k].negated, i.at[2] = of.source(s, o[k], 1);
    return true;
  }
  i.goes = control::warp_sync;
  if (!s.has("sync")) return false;
  i.at[9] = of.source(s, o.back(), 32);
  if (op == "shfl") {
    i.at[0] = of.destination(s, o[0]);
    i.at[1] = of.second_destination(s, o[0]);
    for (std::size_t k = 1; k <= 3; ++k) i.at[k + 1] = of.source(s, o[k], 32);
    i.mode = s.has("up") ? 0 : s.has("down") ? 1 : s.has("bfly") ? 2 : 3;
    i.run = shuffle;
  } else if (op == "vote") {
    i.at[0] = of.destination(s, o[0]), i.at[1] = of.source(s, o[1], 1), i.flag = o[1].negated;
    i.mode = s.has("all") ? 0 : s.has("any") ? 1 : s.has("uni") ? 2 : 3;
    i.run = vote;
  } else if (op == "match") {
    i.at[0] = of.destination(s, o[0]);
    i.at[1] = of.second_destination(s, o[0]);
    i.at[2] = of.source(s, o[1], bits), i.flag = s.has("all");
    i.run = bits == 32 ? &match<uint32_t> : &match<uint64_t>;
  } else if (op == "redux") {
    of.plain(i, s, {32, 32});
    bool const u = t != type::s32;
    i.run = s.has("add")   ? &redux<add_op, uint32_t>
            : s.has("and") ? &redux<and_op, uint32_t>
            : s.has("or")  ? &redux<or_op, uint32_t>
            : s.has("xor") ? &redux<xor_op, uint32_t>
            : s.has("min") ? (u ? &redux<min_op, uint32_t> : &redux<min_op, int32_t>)
                           : (u ? &redux<max_op, uint32_t> : &redux<max_op, int32_t>);
    if (t == type::f32) return false;
  } else {
    i.at[0] = of.destination(s, o[0]);
    i.at[1] = of.second_destination(s, o[0]), i.run = elect;
  }
  return true;
}

}  // namespace

std::span<opcode const> together() {
  static constexpr opcode all[] = {
      {"bar", meeting},   {"barrier", meeting}, {"shfl", meeting},  {"vote", meeting},
      {"match", meeting}, {"redux", meeting},   {"elect", meeting},
  };
  return all;
}

}  // namespace ptx

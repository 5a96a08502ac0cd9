// SPDX-License-Identifier: Apache-2.0
// Where steps run: min_copies against the enumeration of all placements, and the rules of the
// other policies on random graphs.
#include <doctest/doctest.h>

#include <functional>

#include "unit/plan/sketch.hpp"

namespace place_test {

using namespace plans;

namespace {

device const devices[] = {cpu(0), gpu(0), gpu(1)};

/// the bytes that cross if step i runs on at[i]: each edge by itself, and the way to a destination
struct model {
  sketch& g;
  std::vector<device> at;
  std::vector<int> readers;
  bool by_bytes = true;

  explicit model(sketch& of) : g(of), at(std::size_t(of.count)), readers(std::size_t(of.count)) {
    for (short i = 0; i < g.count; ++i) {
      for (edge const& e : g.operands(i)) ++readers[std::size_t(e.from)];
      if (g.steps[i].where.is_single() && !g.steps[i].where.is_nowhere())
        at[std::size_t(i)] = g.steps[i].where.at(0);
    }
    for (int k = 0; k < g.root_count; ++k) readers[std::size_t(g.roots[k].from)] += 2;
  }
  std::int64_t crossing(short from, device to) const {
    step const& s = g.steps[from];
    bool const free = s.kind == step_kind::scalar || at[std::size_t(from)] == to;
    return free ? 0 : by_bytes ? s.bytes() : 1;
  }
  /// of one step: what it reads, and the way to its destination
  std::int64_t cost(short i) {
    std::int64_t bytes = 0;
    for (edge const& e : g.operands(i)) bytes += crossing(e.from, at[std::size_t(i)]);
    for (int k = 0; k < g.root_count; ++k)
      if (g.roots[k].from == i && !g.roots[k].destination.is_nowhere())
        bytes += crossing(i, g.roots[k].destination.at(0));
    return bytes;
  }
  bool allowed(short i, device d) {
    step const& s = g.steps[i];
    if (s.is_view()) return at[std::size_t(g.operands(i)[0].from)] == d;
    bool const asked = !s.request.is_none() && (s.request.is_gpu() ? s.on_gpu : s.on_cpu);
    return (d.is_gpu() ? s.on_gpu : s.on_cpu) && (!asked || s.request == d);
  }
  /// the steps that are placed together with a shared step or a root: those only it needs
  std::vector<short> settled_with(short top) {
    std::vector<short> all;
    std::function<void(short)> visit = [&](short i) {
      for (edge const& e : g.operands(i))
        if (!g.steps[e.from].is_source() && readers[std::size_t(e.from)] == 1) visit(e.from);
      all.push_back(i);
    };
    visit(top);
    return all;
  }
  std::int64_t total(std::vector<short> const& group) {
    std::int64_t bytes = 0;
    for (short i : group) bytes += cost(i);
    return bytes;
  }
  /// the least over all placements of a group; all others stay where they are
  std::int64_t least(std::vector<short> const& group, std::size_t next = 0) {
    if (next == group.size()) return total(group);
    std::int64_t best = INT64_MAX;
    short const i = group[next];
    device const before = at[std::size_t(i)];
    for (device d : devices) {
      at[std::size_t(i)] = d;
      if (!allowed(i, d)) continue;
      std::int64_t const here = least(group, next + 1);
      best = here < best ? here : best;
    }
    at[std::size_t(i)] = before;
    return best;
  }
};

void draw_requests(sketch& g, bit_engine& bits) {
  for (int i = 0; i < g.count; ++i) {
    step& s = g.steps[i];
    if (s.is_source() || s.is_view()) continue;
    if (chance(bits, 10)) s.request = devices[pick(bits, 3)];
    if (chance(bits, 10)) s.on_gpu = false;
  }
}
std::vector<place> const one_place_each = {single(cpu(0)), single(gpu(0)), single(gpu(1))};

}  // namespace

TEST_CASE("min_copies places trees as cheaply as the best of all placements") {
  bit_engine bits(11);
  int moved = 0;
  for (int n = 0; n < 3000; ++n) {
    sketch g;
    // every value has one reader: unread values are joined until one is left
    std::vector<short> open;
    shape const shapes[] = {{2, {4, 4}}, {2, {1, 4}}, {2, {4, 1}}, {2, {1, 1}}};
    int const leaves = 2 + pick(bits, 4);
    for (int k = 0; k < leaves; ++k)
      open.push_back(g.leaf(single(devices[pick(bits, 3)]), shapes[pick(bits, 4)]));
    while (open.size() > 1) {
      std::swap(open[std::size_t(pick(bits, int(open.size())))], open.back());
      short const a = open.back();
      open.pop_back();
      short& b = open[std::size_t(pick(bits, int(open.size())))];
      short const product = chance(bits, 40) ? g.matmul(a, b) : short(-1);
      b = product >= 0 ? product : g.map({a, b});
      if (chance(bits, 20)) b = g.reduce(b, 2, true);
      if (chance(bits, 15)) b = g.transpose(b);
    }
    draw_requests(g, bits);
    g.ask(open[0], chance(bits, 50) ? single(devices[pick(bits, 3)]) : place{});
    REQUIRE(g.finish(placement_rule::min_copies) == plan_error::none);
    model m(g);
    auto const group = m.settled_with(open[0]);
    std::int64_t const here = m.total(group);
    // the choices are the devices that the program names, and CPU:0 and GPU:0
    REQUIRE(here == m.least(group));
    REQUIRE(count_plan(g.view(), g.extents).bytes_moved == here);
    moved += here > 0;
  }
  CHECK(moved > 500);
}

TEST_CASE("min_copies places what is shared first, each time as cheaply as what stands allows") {
  bit_engine bits(12);
  int shared = 0;
  for (int n = 0; n < 3000; ++n) {
    sketch g;
    draw(g, bits, one_place_each, 5 + pick(bits, 8));
    draw_requests(g, bits);
    g.ask(static_cast<short>(g.count - 1),
          chance(bits, 50) ? single(devices[pick(bits, 3)]) : place{});
    if (g.steps[g.count - 1].is_source()) continue;
    REQUIRE(g.finish(placement_rule::min_copies) == plan_error::none);
    model m(g);
    for (short i = 0; i < g.count; ++i) {
      if (g.steps[i].is_source() || m.readers[std::size_t(i)] <= 1) continue;
      auto const group = m.settled_with(i);
      if (group.size() > 7) continue;
      CAPTURE(n);
      CAPTURE(i);
      REQUIRE(m.total(group) == m.least(group));
      ++shared;
    }
  }
  CHECK(shared > 3000);
}

TEST_CASE("while an extent is open min_copies counts copies") {
  bit_engine bits(13);
  for (int n = 0; n < 500; ++n) {
    sketch g;
    std::vector<short> all;
    for (int k = 0; k < 3; ++k)
      all.push_back(g.leaf(single(devices[pick(bits, 3)]), {2, {k == 0 ? dyn : 4, 4}}));
    short const a = g.map({all[0], all[1]});
    g.ask(g.matmul(a, all[2]), chance(bits, 50) ? single(devices[pick(bits, 3)]) : place{});
    REQUIRE(g.finish(placement_rule::min_copies) == plan_error::none);
    model m(g);
    m.by_bytes = false;
    auto const group = m.settled_with(static_cast<short>(g.count - 1));
    REQUIRE(m.total(group) == m.least(group));
    REQUIRE(count_plan(g.view(), g.extents).copies == m.total(group));
  }
}

TEST_CASE("of equally cheap places a GPU is taken") {
  sketch g;
  short const c = g.leaf(single(cpu(0)), {1, {4}}), d = g.leaf(single(gpu(1)), {1, {4}});
  g.ask(g.map({c, d}));
  REQUIRE(g.finish(placement_rule::min_copies) == plan_error::none);
  CHECK(g.steps[2].where == single(gpu(1)));
  sketch two;  // of two GPUs the first in order
  short const a = two.leaf(single(gpu(1)), {1, {4}}), b = two.leaf(single(gpu(0)), {1, {4}});
  two.ask(two.map({a, b}));
  REQUIRE(two.finish(placement_rule::min_copies) == plan_error::none);
  CHECK(two.steps[2].where == single(gpu(0)));
}

TEST_CASE("min_copies knows every device that a plan names") {
  for (int const gpus : {8, 9, 20, 60, 99}) {
    sketch g;
    std::vector<short> leaves;
    for (int k = 1; k <= gpus; ++k) leaves.push_back(g.leaf(single(gpu(k)), {1, {4}}));
    short const asked = g.map({leaves.back()});
    g.steps[asked].request = gpu(gpus), g.steps[asked].strict = true;
    short const there = g.map({leaves.back(), leaves[0]});  // as near to its destination
    g.ask(asked), g.ask(there, single(gpu(gpus)));
    CAPTURE(gpus);
    REQUIRE(g.finish(placement_rule::min_copies) == plan_error::none);
    CHECK(g.steps[asked].where == single(gpu(gpus)));
    CHECK(g.steps[asked].why == reason::requested);
    CHECK(g.steps[there].where == single(gpu(gpus)));
    CHECK(count_plan(g.view(), g.extents).fallbacks == 0);
    CHECK(count_plan(g.view(), g.extents).copies == 1);
  }
}

TEST_CASE("prefer_gpu: a request, home, most operands, GPU:0, in this order; without kernel the "
          "other side") {
  bit_engine bits(14);
  int seen[16]{};
  for (int n = 0; n < 3000; ++n) {
    sketch g;
    draw(g, bits, one_place_each, 5 + pick(bits, 12));
    draw_requests(g, bits);
    place const to = chance(bits, 50) ? single(devices[pick(bits, 3)]) : place{};
    g.ask(static_cast<short>(g.count - 1), to);
    REQUIRE(g.finish() == plan_error::none);
    for (short i = 0; i < g.count; ++i) {
      step const& s = g.steps[i];
      if (s.is_source()) continue;
      ++seen[int(s.why)];
      device const here = s.where.at(0);
      REQUIRE((s.is_view() || (here.is_gpu() ? s.on_gpu : s.on_cpu)));
      int votes[3]{};
      for (edge const& e : g.operands(i))
        for (int k = 0; k < 3; ++k) votes[k] += g.steps[e.from].where == single(devices[k]);
      CAPTURE(n);
      CAPTURE(i);
      CHECK(s.fell_back == (s.why == reason::no_gpu_kernel));
      switch (s.why) {
      case reason::view: CHECK(s.where == g.steps[g.operands(i)[0].from].where); break;
      case reason::requested: CHECK(here == s.request); break;
      case reason::home: CHECK(single(here) == to); break;
      case reason::home_region:
        CHECK(single(here) == to);
        CHECK(s.kind == step_kind::map);
        break;
      case reason::most_operands:
        CHECK(here.is_gpu());
        CHECK(votes[here.ordinal() + 1] >= votes[2 - here.ordinal()]);
        CHECK(votes[here.ordinal() + 1] > 0);
        if (votes[1] == votes[2])  // of as many the first
          for (edge const& e : g.operands(i))
            if (place const& at = g.steps[e.from].where; !at.is_nowhere() && at.at(0).is_gpu()) {
              CHECK(at == single(here));
              break;
            }
        break;
      case reason::first_gpu:
        CHECK(here == gpu(0));
        CHECK(votes[1] + votes[2] == 0);
        break;
      case reason::no_gpu_kernel:
        CHECK(here == cpu(0));
        CHECK_FALSE(s.on_gpu);
        break;
      default: FAIL_CHECK("no rule for reason ", int(s.why));
      }
      if (!s.request.is_none() && !s.is_view() && (s.request.is_gpu() ? s.on_gpu : s.on_cpu))
        CHECK(here == s.request);
    }
  }
  for (reason r : {reason::view, reason::requested, reason::home, reason::home_region,
                   reason::most_operands, reason::first_gpu, reason::no_gpu_kernel})
    CHECK(seen[int(r)] > 20);
}

TEST_CASE("follow_data: a step runs where its first operand lies") {
  bit_engine bits(15);
  for (int n = 0; n < 1000; ++n) {
    sketch g;
    draw(g, bits, one_place_each, 5 + pick(bits, 12));
    g.ask(static_cast<short>(g.count - 1));
    REQUIRE(g.finish(placement_rule::follow_data) == plan_error::none);
    for (short i = 0; i < g.count; ++i) {
      if (g.steps[i].is_source()) continue;
      place first{};
      for (edge const& e : g.operands(i))
        if (first.is_nowhere()) first = g.steps[e.from].where;
      REQUIRE(g.steps[i].where == first);
    }
  }
}

TEST_CASE("strict refuses where the kernel is missing, soft goes to the other side and says so") {
  for (placement_rule rule :
       {placement_rule::prefer_gpu, placement_rule::follow_data, placement_rule::min_copies})
    for (bool strictly : {false, true})
      for (device asked : {gpu(1), cpu(0), cpu(2)}) {
        sketch g;
        short const x = g.leaf(single(asked), {1, {4}});
        short const y = g.map({x});
        g.steps[y].request = asked, g.steps[y].strict = strictly;
        (asked.is_gpu() ? g.steps[y].on_gpu : g.steps[y].on_cpu) = false;
        g.ask(y);
        CHECK(g.finish(rule) == (!strictly        ? plan_error::none
                                 : asked.is_gpu() ? plan_error::strict_placement
                                                  : plan_error::strict_on_cpu));
        CHECK(g.steps[y].fell_back);
        CHECK(g.steps[y].why == (asked.is_gpu() ? reason::no_gpu_kernel : reason::no_cpu_kernel));
        CHECK(g.steps[y].side_without_kernel() == (asked.is_gpu() ? "GPU" : "CPU"));
        if (!strictly) CHECK(g.steps[y].where == single(asked.is_gpu() ? cpu(0) : gpu(0)));
      }
  sketch none;
  short const x = none.leaf(single(gpu(0)), {1, {4}});
  short const y = none.map({x});
  none.steps[y].on_gpu = none.steps[y].on_cpu = false;
  none.ask(y);
  CHECK(none.finish() == plan_error::no_kernel);
}

}  // namespace place_test

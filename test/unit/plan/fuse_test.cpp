// SPDX-License-Identifier: Apache-2.0
// Regions, their order, and the memory between them: invariants over random graphs, and a second
// simulation of who needs what when.
#include <doctest/doctest.h>

#include <locus/plan/infer.hpp>

#include "unit/plan/sketch.hpp"

namespace fuse_test {

using namespace plans;

namespace {

using Two = Mirrored<GpuDevice<0>, GpuDevice<1>>;
std::vector<place> const all_places = {single(cpu(0)), single(gpu(0)), single(gpu(0)),
                                       single(gpu(1)), Two::value,     Two::value.sharded(0)};

bool reads_memory(step const& s) {
  return s.kind != step_kind::scalar && s.kind != step_kind::index;
}

/// a planned random graph; false where the tables refuse it
bool draw_plan(sketch& g, bit_engine& bits) {
  bool const replicas = chance(bits, 30);
  std::vector<place> places(all_places.begin(), all_places.begin() + (replicas ? 6 : 4));
  draw(g, bits, places, 6 + pick(bits, 30));
  int const roots = 1 + pick(bits, 3);
  for (int k = 0; k < roots; ++k) {
    auto const i = static_cast<short>(k == 0 ? g.count - 1 : pick(bits, g.count));
    if (g.steps[i].kind == step_kind::scalar) continue;
    g.ask(i, chance(bits, 30) ? single(gpu(0)) : chance(bits, 30) ? single(cpu(0)) : place{});
  }
  return g.root_count > 0 && g.finish() == plan_error::none;
}

struct checker {
  sketch& g;
  plan_view const& p;
  explicit checker(sketch& of) : g(of), p(of.view()) {}

  short memory(edge const& e) const { return memory_of(p, e.from); }
  bool has_kernel(short i) const { return !g.steps[i].is_source() && g.steps[i].region >= 0; }

  void regions() {
    bool read_elsewhere[max_steps]{};
    for (short i = 0; i < g.count; ++i) {
      if (!has_kernel(i)) {
        REQUIRE((g.steps[i].is_source() || g.steps[i].is_view()));
        continue;
      }
      step const& s = g.steps[i];
      short const end = s.region;
      REQUIRE(end >= i);
      REQUIRE(g.steps[end].region == end);
      REQUIRE(g.steps[end].stored);
      REQUIRE(s.where.devices == g.steps[end].where.devices);
      if (i != end) {
        bool const elementwise = s.kind == step_kind::map || s.kind == step_kind::reduce;
        bool const product = s.kind == step_kind::matmul && s.where.at(0).is_cpu() && !s.stored;
        REQUIRE((elementwise || product));
        products += product;
        for (short k = 0; k < i && product; ++k)  // one for each kernel
          REQUIRE((g.steps[k].region != end || g.steps[k].kind != step_kind::matmul));
        REQUIRE((g.steps[end].kind == step_kind::map || g.steps[end].kind == step_kind::reduce));
      }
      REQUIRE((s.kind == step_kind::reduce) == (g.levels[i] == level::fold));
    }
    for (short i = 0; i < g.count; ++i)
      for (edge const& e : g.operands(i)) {
        if (!reads_memory(g.steps[e.from])) continue;
        short const m = memory(e);
        bool const inside = g.steps[m].region == g.steps[i].region && m == e.from && e.by < 0;
        if (g.steps[m].region == g.steps[i].region && g.steps[m].region >= 0)
          REQUIRE(inside);  // a kernel cannot read by a view or a transfer what it makes itself
        if (!inside && has_kernel(i)) read_elsewhere[m] = true;
      }
    for (transfer const& t : p.transfers) read_elsewhere[memory_of(p, t.from)] = true;
    for (root const& r : p.roots) read_elsewhere[memory_of(p, r.from)] = true;
    for (short i = 0; i < g.count; ++i)
      if (has_kernel(i) && read_elsewhere[i]) REQUIRE(g.steps[i].stored);
  }

  /// folds of one region run over one space and leave rows of one shape; heavy steps are not
  /// computed again where they stretch; what is stored has the shape of its level
  void spaces() {
    for (short end = 0; end < g.count; ++end) {
      if (!has_kernel(end) || g.steps[end].region != end) continue;
      shape space = g.steps[end].extents, rows = space;
      short fold = -1;
      bool chained = false;
      for (short i = 0; i <= end; ++i) {
        if (g.steps[i].region != end) continue;
        for (edge const& e : g.operands(i))
          chained = chained || (e.by < 0 && g.steps[e.from].region == end &&
                                g.levels[e.from] == level::fold && g.levels[i] != level::row);
        if (g.levels[i] != level::fold) continue;
        shape const& from = g.steps[g.operands(i)[0].from].extents;
        if (fold >= 0) {
          REQUIRE(g.steps[i].axes == g.steps[fold].axes);
          REQUIRE(from == space);
        }
        if (fold < 0) fold = i, space = from, rows = g.steps[i].extents;
      }
      int stored_elements = 0, stored_rows = 0;
      for (short i = 0; i <= end; ++i) {
        if (g.steps[i].region != end) continue;
        bool const row = g.levels[i] != level::element;
        if (g.steps[i].stored) ++(row ? stored_rows : stored_elements);
        if (g.steps[i].stored && !chained) REQUIRE(g.steps[i].extents == (row ? rows : space));
        if (!chained && fold >= 0 && row) {
          place const &a = g.steps[i].where, &b = g.steps[fold].where;
          REQUIRE((a.how == b.how && a.axis == b.axis));
        }
        if (g.levels[i] == level::fold) continue;
        shape const& of_level = row ? (chained ? g.steps[end].extents : rows) : space;
        REQUIRE(broadcast(g.steps[i].extents, of_level) == of_level);
        if (g.steps[i].heavy) REQUIRE(g.steps[i].extents == of_level);
      }
      if (chained) REQUIRE((stored_elements == 0 || stored_rows == 0));
      shared_passes += fold >= 0 && stored_elements + stored_rows > 1;
    }
  }
  int shared_passes = 0, products = 0;

  /// every action once, each after what it reads
  void order() {
    bool launched[max_steps]{};
    std::vector<int> moved(std::size_t(p.transfers.count));
    auto made = [&](short i) {
      short const m = memory_of(p, i);
      return g.steps[m].is_source() || launched[g.steps[m].region];
    };
    for (action const& a : p.actions) {
      if (a.kind == action_kind::launch) {
        REQUIRE_FALSE(launched[a.what]);
        for (short i = 0; i < g.count; ++i) {
          if (g.steps[i].region != a.what) continue;
          for (edge const& e : g.operands(i)) {
            if (!reads_memory(g.steps[e.from])) continue;
            if (e.by >= 0)
              REQUIRE(moved[std::size_t(e.by)] == 1);
            else if (g.steps[memory(e)].region != a.what)
              REQUIRE(made(e.from));
          }
        }
        launched[a.what] = true;
        continue;
      }
      for (int t = 0; t < p.transfers.count; ++t) {
        bool const mine =
            a.kind == action_kind::transfer ? t == a.what : p.transfers[t].bucket == a.what;
        if (!mine) continue;
        REQUIRE(made(p.transfers[t].from));
        ++moved[std::size_t(t)];
      }
    }
    for (int t = 0; t < p.transfers.count; ++t) REQUIRE(moved[std::size_t(t)] == 1);
    for (short i = 0; i < g.count; ++i)
      if (has_kernel(i)) REQUIRE(launched[g.steps[i].region]);
  }

  // ---- memory: who is needed from when to when ----
  struct life {
    int from = -1, to = -1;
    void read(int at) { to = at > to ? at : to; }
  };
  std::vector<life> lives() {
    std::vector<life> all(std::size_t(g.count + p.transfers.count));
    auto of_transfer = [&](int t) -> life& { return all[std::size_t(g.count + t)]; };
    for (int a = 0; a < p.actions.count; ++a) {
      action const& act = p.actions[a];
      for (short i = 0; i < g.count && act.kind == action_kind::launch; ++i) {
        if (g.steps[i].region != act.what) continue;
        if (g.steps[i].stored) all[std::size_t(i)].from = a, all[std::size_t(i)].read(a);
        for (edge const& e : g.operands(i))
          (e.by >= 0 ? of_transfer(e.by) : all[std::size_t(memory(e))]).read(a);
      }
      for (int t = 0; t < p.transfers.count && act.kind != action_kind::launch; ++t) {
        bool const mine =
            act.kind == action_kind::transfer ? t == act.what : p.transfers[t].bucket == act.what;
        if (!mine) continue;
        of_transfer(t).from = a, of_transfer(t).read(a);
        all[std::size_t(memory_of(p, p.transfers[t].from))].read(a);
      }
    }
    for (root const& r : p.roots)
      (r.by >= 0 ? of_transfer(r.by) : all[std::size_t(memory_of(p, r.from))])
          .read(p.actions.count);
    return all;
  }
  place const& place_of(int v) const {
    return v < g.count ? g.steps[v].where : p.transfers[v - g.count].arrives;
  }
  void memory_between() {
    array_view<slot> const slots = g.slots_view();
    std::vector<life> all = lives();
    for (int v = 0; v < slots.count; ++v)  // who lies in another value's memory keeps it alive
      if (slots[v].in_place_of >= 0)
        all[std::size_t(slots[v].in_place_of)].read(all[std::size_t(v)].to);
    auto in_arena = [&](int v) { return slots[v].bytes > 0 && !slots[v].is_result; };
    for (int v = 0; v < slots.count; ++v) {
      bool const step_here = v < g.count;
      if (step_here)
        REQUIRE((slots[v].bytes > 0) ==
                (has_kernel(short(v)) && g.steps[v].stored && g.steps[v].bytes() > 0));
      if (slots[v].in_place_of >= 0) {
        transfer const& t = p.transfers[v - g.count];
        short const m = slots[v].in_place_of;
        REQUIRE(m == memory_of(p, t.from));
        if (t.how == transfer_kind::all_reduce)  // it writes there: nobody else may read the terms
          for (short i = 0; i < g.count; ++i) {
            if (g.steps[i].is_view() && g.steps[i].region < 0) continue;  // the terms themselves
            for (edge const& e : g.operands(i)) REQUIRE((e.by >= 0 || memory(e) != m));
          }
        continue;
      }
      if (!in_arena(v)) continue;
      step const& s = g.steps[step_here ? v : p.transfers[v - g.count].from];
      for (int r = 0; r < place_of(v).local_count(); ++r)
        REQUIRE(slots[v].bytes >= detail::piece_bytes(s.extents, s.element_bytes, place_of(v), r));
      for (int o = 0; o < v; ++o) {
        if (!in_arena(o) || slots[o].in_place_of >= 0) continue;
        bool device_shared = false;
        for (int r = 0; r < place_of(v).local_count(); ++r)
          device_shared = device_shared || place_of(o).devices.contains(place_of(v).at(r));
        bool const at_once = all[std::size_t(v)].from <= all[std::size_t(o)].to &&
                             all[std::size_t(o)].from <= all[std::size_t(v)].to;
        if (!device_shared || !at_once) continue;
        bool const apart = slots[v].offset + slots[v].bytes <= slots[o].offset ||
                           slots[o].offset + slots[o].bytes <= slots[v].offset;
        REQUIRE(apart);
      }
    }
    for (device d : {cpu(0), gpu(0), gpu(1)}) {
      std::int64_t const arena = arena_bytes(p, slots, d);
      std::int64_t sum = 0;
      for (int a = 0; a <= p.actions.count; ++a) {
        std::int64_t now = 0;
        sum = 0;
        for (int v = 0; v < slots.count; ++v) {
          if (!in_arena(v) || !place_of(v).devices.contains(d)) continue;
          sum += round_up(slots[v].bytes);
          if (all[std::size_t(v)].from <= a && a <= all[std::size_t(v)].to)
            now += round_up(slots[v].bytes);
        }
        REQUIRE(now <= arena);
      }
      bool replicas = false;  // they have one offset on all their devices: there may be gaps
      for (int v = 0; v < slots.count; ++v) replicas = replicas || place_of(v).local_count() > 1;
      if (!replicas) REQUIRE(arena <= sum);
      REQUIRE(arena % allocation_unit == 0);
    }
  }
};

}  // namespace

TEST_CASE("regions: one device, no cycle, what is read elsewhere is stored, heavy steps run once") {
  bit_engine bits(31);
  int planned = 0, joined = 0, shared = 0, products = 0;
  for (int n = 0; n < 4000; ++n) {
    sketch g;
    if (!draw_plan(g, bits)) continue;
    CAPTURE(n);
    ++planned;
    checker c(g);
    c.regions();
    c.spaces();
    shared += c.shared_passes, products += c.products;
    for (short i = 0; i < g.count; ++i) joined += c.has_kernel(i) && g.steps[i].region != i;
  }
  CHECK(planned > 2500);
  CHECK(joined > 3000);
  CHECK(shared > 100);
  CHECK(products > 0);  // in panels
}

TEST_CASE("every action comes once, after everything that it reads") {
  bit_engine bits(32);
  for (int n = 0; n < 4000; ++n) {
    sketch g;
    if (!draw_plan(g, bits)) continue;
    CAPTURE(n);
    checker(g).order();
  }
}

TEST_CASE("values that live at the same time on one device lie apart, and the arena holds them") {
  bit_engine bits(33);
  for (int n = 0; n < 4000; ++n) {
    sketch g;
    if (!draw_plan(g, bits)) continue;
    CAPTURE(n);
    checker(g).memory_between();
  }
}

TEST_CASE("right sides are computed before left sides are written") {
  bit_engine bits(34);
  int several = 0;
  for (int n = 0; n < 3000; ++n) {
    sketch g;
    draw(g, bits, {single(cpu(0)), single(gpu(0))}, 8 + pick(bits, 20));
    bool read[max_steps]{};
    for (edge const& e : g.view().edges) read[e.from] = true;
    for (short i = 0; i < g.count && g.root_count < 6; ++i)  // nobody needs a root's value
      if (!read[i] && !g.steps[i].is_source())
        g.ask(i, chance(bits, 50) ? single(cpu(0)) : single(gpu(0)));
    if (g.root_count < 2 || g.finish() != plan_error::none) continue;
    ++several;
    plan_view const& p = g.view();
    auto is_root = [&](short i) {
      for (root const& r : p.roots)
        if (r.from == i) return true;
      return false;
    };
    bool writing = false;
    for (action const& a : p.actions) {
      bool writes = false, makes_more = false;  // a kernel may make operands of others besides
      for (root const& r : p.roots)
        writes =
            writes || (a.kind == action_kind::launch ? r.by < 0 && g.steps[r.from].region == a.what
                                                     : r.by == a.what);
      for (short i = 0; i < g.count && a.kind == action_kind::launch; ++i)
        makes_more =
            makes_more || (g.steps[i].region == a.what && g.steps[i].stored && !is_root(i));
      if (writes && makes_more) break;
      CAPTURE(n);
      REQUIRE((writes || !writing));
      writing = writing || writes;
    }
  }
  CHECK(several > 1000);
}

namespace {

/// some extents of the leaves become open; those of all other steps follow
void open_extents(sketch& g, bit_engine& bits) {
  for (short i = 0; i < g.count; ++i)
    for (int a = 0; a < g.steps[i].extents.rank && g.steps[i].kind == step_kind::leaf; ++a)
      if (chance(bits, 70)) g.steps[i].extents.extent[a] = dyn;
  shape of[max_steps];
  for (short i = 0; i < g.count; ++i) of[i] = g.steps[i].extents;
  infer_extents(g.view(), of, nullptr);
  for (short i = 0; i < g.count; ++i) g.steps[i].extents = of[i];
}
/// means: extents of a run; false where it would be refused
bool bind(sketch& g, bit_engine& bits, shape* of) {
  std::int64_t const lengths[] = {1, 4, 4, 8};
  for (short i = 0; i < g.count; ++i) {
    of[i] = g.steps[i].extents;
    for (int a = 0; a < of[i].rank && g.steps[i].kind == step_kind::leaf; ++a)
      if (of[i].extent[a] == dyn) of[i].extent[a] = lengths[pick(bits, 4)];
    of[i] = locus::detail::inferred(g.view(), i, of, nullptr);
    if (!fits(of[i])) return false;
  }
  return true;
}
/// means: each kernel is right for these extents: its folds run over one space, it stores values of
///        the extents of its elements or of its rows, and it computes each other value where it is
///        read
bool kernels_fit(sketch& g, shape const* of) {
  for (short end = 0; end < g.count; ++end) {
    if (g.steps[end].region != end || g.steps[end].kind == step_kind::matmul) continue;
    short fold = -1;
    bool chained = false, fit = true;
    for (short i = 0; i <= end; ++i) {
      if (g.steps[i].region != end) continue;
      if (g.levels[i] == level::fold) fold = i;
      for (edge const& e : g.operands(i))
        chained = chained || (e.by < 0 && g.steps[e.from].region == end &&
                              g.levels[e.from] == level::fold && g.levels[i] != level::row);
    }
    shape const& space = fold < 0 || chained ? of[end] : of[g.operands(fold)[0].from];
    for (short i = 0; i <= end; ++i) {
      if (g.steps[i].region != end) continue;
      bool const row = g.levels[i] == level::row;
      if (g.levels[i] == level::fold) {
        fit = fit && (chained || of[g.operands(i)[0].from] == space);
        continue;
      }
      shape const& here = row ? of[fold] : space;
      if (g.steps[i].stored) fit = fit && of[i] == here;
      if (!chained) fit = fit && broadcast(of[i], here) == here;
    }
    if (!fit) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("kernels over open extents are right in every run, or in each in which the guards hold") {
  bit_engine bits(35);
  int planned = 0, guarded = 0, joined = 0, broken = 0, held = 0, saved = 0;
  for (int n = 0; n < 4000; ++n) {
    CAPTURE(n);
    sketch g;
    draw(g, bits, {single(cpu(0)), single(cpu(0)), single(gpu(0))}, 6 + pick(bits, 20));
    g.ask(static_cast<short>(g.count - 1));
    for (int k = 0; k < 3; ++k)
      if (auto const i = static_cast<short>(pick(bits, g.count)); !g.steps[i].is_source()) g.ask(i);
    if (g.steps[g.count - 1].is_source()) continue;
    {
      sketch fixed = g;
      guard none[max_steps];
      if (fixed.finish() == plan_error::none) REQUIRE(find_guards(fixed.view(), none) == 0);
    }
    open_extents(g, bits);
    sketch guessed = g;
    guessed.guesses = true;
    if (g.finish() != plan_error::none || guessed.finish() != plan_error::none) continue;
    ++planned;
    guard guards[max_steps];
    REQUIRE(find_guards(g.view(), guards) == 0);
    int const count = find_guards(guessed.view(), guards);
    REQUIRE(count <= g.count);
    tally const t = count_plan(g.view(), g.extents), u = count_plan(guessed.view(), g.extents);
    REQUIRE(t.copies == u.copies);
    REQUIRE(t.all_reduces == u.all_reduces);
    REQUIRE(t.fallbacks == u.fallbacks);
    guarded += count > 0, saved += u.launches < t.launches;
    for (short i = 0; i < g.count; ++i)
      joined += g.steps[i].region >= 0 && g.steps[i].region != i && !g.steps[i].extents.is_static();
    for (int tries = 0; tries < 20; ++tries) {
      shape of[max_steps];
      if (!bind(g, bits, of)) continue;
      REQUIRE(kernels_fit(g, of));
      bool const holds = !find_broken({guards, count}, of);
      if (holds) REQUIRE(kernels_fit(guessed, of));
      (holds ? held : broken) += count > 0;
    }
  }
  CHECK(planned > 1500);
  CHECK(joined > 3000);
  CHECK(guarded > 300);
  CHECK(saved > 200);
  CHECK(held > 300);
  CHECK(broken > 300);
}

}  // namespace fuse_test

// SPDX-License-Identifier: Apache-2.0
// Distributions and transfers mean what they say: random plans over terms, replicas and single
// values, computed as the plan says and as if there were one device.
#include <doctest/doctest.h>

#include <cmath>

#include "unit/plan/sketch.hpp"

namespace move_test {

using namespace plans;

namespace {

using Two = Mirrored<GpuDevice<0>, GpuDevice<1>>;
constexpr place two = Two::value;
constexpr int replica_count = 2;

/// one number for each replica: of a partial value its terms
struct replicated {
  double of[replica_count]{};
};
enum class formula { leaf, negate, add, subtract, multiply, divide, square, shift, look, sum };

/// computed beside the steps of a sketch: what each computes, and what it is
struct computed {
  sketch g;
  formula does[max_steps]{};
  double value[max_steps]{};    // as if there were one device
  double scale[max_steps]{};    // how large its terms may be
  replicated terms[max_steps];  // as the plan computes it

  /// a fold of pieces: each replica has a term
  short term(bit_engine& bits, reduction with) {
    short const x = g.leaf(two.sharded(0), {1, {4}});
    short const s = g.reduce(x, 1, false, with);
    double const a = draw_number(bits), b = draw_number(bits);
    terms[s] = {{a, b}};
    value[s] = with == reduction::sum ? a + b : std::max(a, b);
    scale[s] = std::abs(a) + std::abs(b);
    return s;
  }
  static double draw_number(bit_engine& bits) { return pick(bits, 41) / 8.0 - 2.5; }
  short number(bit_engine& bits, place const& where) {
    short const x = g.leaf(where, {});
    value[x] = 0.5 + pick(bits, 16) / 8.0;  // may divide
    terms[x] = {{value[x], value[x]}};
    scale[x] = value[x];
    return x;
  }
  double apply(formula f, double a, double b) const {
    switch (f) {
    case formula::negate: return -a;
    case formula::add: return a + b;
    case formula::subtract: return a - b;
    case formula::multiply: return a * b;
    case formula::divide: return a / b;
    case formula::square: return a * a;
    case formula::shift: return a + 1;
    default: return a;
    }
  }
  static law law_of(formula f) {
    switch (f) {
    case formula::negate: return law::linear;
    case formula::add:
    case formula::subtract: return law::add;
    case formula::multiply: return law::scale;
    case formula::divide: return law::scale_left;
    default: return law::none;
    }
  }
  short compute(formula f, short a, short b = -1) {
    bool const one = b < 0;
    short const i = f == formula::look  ? g.expand(a)
                    : f == formula::sum ? g.reduce(a, all_axes(g.steps[a].extents.rank), false)
                    : one               ? g.map({a}, law_of(f))
                                        : g.map({a, b}, law_of(f));
    if (i < 0) return a;
    does[i] = f;
    double const y = one ? 0 : value[b];
    value[i] = apply(f, value[a], y);
    scale[i] = f == formula::add || f == formula::subtract ? scale[a] + scale[b]
               : f == formula::multiply                    ? scale[a] * scale[b]
               : f == formula::divide ? scale[a] / std::abs(y) * (1 + scale[b] / std::abs(y))
               : f == formula::square ? scale[a] * scale[a]
                                      : scale[a] + 1;
    return i;
  }

  static double combined(replicated const& t, reduction with) {
    return with == reduction::sum ? t.of[0] + t.of[1] : std::max(t.of[0], t.of[1]);
  }
  /// what arrives by a transfer
  replicated brought(transfer const& t) const {
    step const& s = g.steps[t.from];
    switch (t.how) {
    case transfer_kind::all_reduce:
    case transfer_kind::reduce: {
      double const all = combined(terms[t.from], s.where.op);
      return {{all, all}};
    }
    default: return {{terms[t.from].of[0], terms[t.from].of[0]}};
    }
  }
  replicated read(edge const& e) const {
    return e.by >= 0 ? brought(g.transfers[e.by]) : terms[e.from];
  }
  /// the steps in order, on each replica, with what the transfers bring
  void run() {
    for (short i = 0; i < g.count; ++i) {
      if (g.steps[i].is_source() || does[i] == formula::leaf) continue;
      array_view<edge> const e = g.operands(i);
      replicated const a = read(e[0]), b = e.count > 1 ? read(e[1]) : replicated{};
      for (int r = 0; r < replica_count; ++r) terms[i].of[r] = apply(does[i], a.of[r], b.of[r]);
    }
  }
  void draw(bit_engine& bits, int size) {
    for (int k = 0; k < 3; ++k) term(bits, chance(bits, 80) ? reduction::sum : reduction::max);
    while (g.count < size) {
      auto any = [&] {
        short i = static_cast<short>(pick(bits, g.count));
        while (g.steps[i].where.is_sharded()) i = static_cast<short>(pick(bits, g.count));
        return i;
      };
      short const a = any(), b = any();
      switch (pick(bits, 12)) {
      case 0: number(bits, two); break;
      case 1: number(bits, single(chance(bits, 50) ? cpu(0) : gpu(1))); break;
      case 2: compute(formula::negate, a); break;
      case 3: compute(formula::add, a, b); break;
      case 4: compute(formula::subtract, a, b); break;
      case 5:
      case 6: compute(formula::multiply, a, b); break;
      case 7:
        chance(bits, 40) && std::abs(value[a]) > 0.5
            ? compute(formula::divide, number(bits, two), a)
            : compute(formula::divide, a, number(bits, two));
        break;
      case 8: compute(formula::square, a); break;
      case 9: compute(formula::shift, a); break;
      case 10: compute(formula::look, a); break;
      default: compute(formula::sum, a); break;
      }
    }
  }
};

}  // namespace

TEST_CASE("a plan over terms and replicas computes what one device computes") {
  bit_engine bits(21);
  int kept[2]{}, reduced_first = 0;
  for (int n = 0; n < 4000; ++n) {
    computed all;
    all.draw(bits, 8 + pick(bits, 16));
    sketch& g = all.g;
    int const roots = 1 + pick(bits, 3);
    for (int k = 0; k < roots; ++k) {
      auto i = static_cast<short>(g.count - 1 - k);
      if (g.steps[i].where.is_sharded()) continue;
      g.ask(i, chance(bits, 40) ? two : chance(bits, 30) ? single(cpu(0)) : place{});
    }
    if (g.root_count == 0) continue;
    REQUIRE(g.finish() == plan_error::none);
    all.run();
    for (short i = 0; i < g.count; ++i) {
      step const& s = g.steps[i];
      if (s.where.is_sharded() || s.kind == step_kind::leaf) continue;
      CAPTURE(n);
      CAPTURE(i);
      double const tolerance = 1e-12 * (1 + all.scale[i]);
      if (s.where.is_partial()) {
        double const got = computed::combined(all.terms[i], s.where.op);
        REQUIRE(std::abs(got - all.value[i]) <= tolerance);
        ++kept[s.kind == step_kind::map];
      } else {
        for (int r = 0; r < s.where.local_count(); ++r)
          REQUIRE(std::abs(all.terms[i].of[r] - all.value[i]) <= tolerance);
        ++reduced_first;
      }
    }
    for (int k = 0; k < g.root_count; ++k) {
      root const& r = g.roots[k];
      REQUIRE_FALSE(r.result.is_partial());
      REQUIRE((r.by >= 0 || g.steps[r.from].where == r.result));
      replicated const got = r.by >= 0 ? all.brought(g.transfers[r.by]) : all.terms[r.from];
      for (int c = 0; c < r.result.local_count(); ++c)
        REQUIRE(std::abs(got.of[c] - all.value[r.from]) <= 1e-12 * (1 + all.scale[r.from]));
    }
  }
  CHECK(kept[1] > 2000);  // maps that stayed partial
  CHECK(reduced_first > 10000);
}

TEST_CASE("every reader finds its operand where it wants it, and readers share what arrives") {
  bit_engine bits(22);
  std::vector<place> const places = {single(cpu(0)), single(gpu(0)), single(gpu(1)), two,
                                     two.sharded(0)};
  int planned = 0, shared = 0, refused = 0;
  for (int n = 0; n < 6000; ++n) {
    sketch g;
    draw(g, bits, places, 5 + pick(bits, 20));
    g.ask(static_cast<short>(g.count - 1), chance(bits, 30) ? two : place{});
    if (chance(bits, 40)) g.ask(static_cast<short>(pick(bits, g.count)));
    if (g.finish() != plan_error::none) {
      ++refused;
      continue;
    }
    ++planned;
    plan_view const& p = g.view();
    int readers[4 * max_steps]{};
    for (short i = 0; i < g.count; ++i) {
      step const& s = g.steps[i];
      if (s.is_source()) continue;
      REQUIRE_FALSE(s.where.is_nowhere());
      for (edge const& e : g.operands(i)) {
        step const& o = g.steps[e.from];
        if (o.kind == step_kind::scalar) continue;
        place at = o.where;
        if (e.by >= 0) {
          REQUIRE(e.by < p.transfers.count);
          REQUIRE(p.transfers[e.by].from == e.from);
          at = p.transfers[e.by].arrives;
          ++readers[e.by];
        }
        REQUIRE(at.devices == s.where.devices);
        if (s.is_view()) REQUIRE(e.by < 0);
        if (at.is_partial()) REQUIRE((s.where.is_partial() && s.where.op == at.op));
      }
    }
    for (int k = 0; k < g.root_count; ++k)
      if (g.roots[k].by >= 0) ++readers[g.roots[k].by];
    for (int t = 0; t < p.transfers.count; ++t) {
      transfer const& me = p.transfers[t];
      REQUIRE(readers[t] > 0);
      REQUIRE_FALSE(g.steps[me.from].where == me.arrives);
      REQUIRE((me.how == transfer_kind::all_reduce) == (me.bucket >= 0));
      shared += readers[t] > 1;
      for (int o = 0; o < t; ++o)
        REQUIRE_FALSE((p.transfers[o].from == me.from && p.transfers[o].arrives == me.arrives));
    }
  }
  CHECK(planned > 2000);
  CHECK(refused > 200);
  CHECK(shared > 300);
}

TEST_CASE("all-reduces share a bucket if none waits for another") {
  sketch g;
  auto term = [&] { return g.reduce(g.leaf(two.sharded(0), {1, {4}}), 1, false); };
  short const a = term(), b = term(), c = term();
  short const later = g.map({a, b});  // reads both complete
  short const again = g.reduce(g.map({later, g.leaf(two.sharded(0), {1, {4}})}), 1, false);
  g.ask(g.map({again, c}));
  REQUIRE(g.finish() == plan_error::none);
  plan_view const& p = g.view();
  auto bucket_of = [&](short from) {
    for (transfer const& t : p.transfers)
      if (t.from == from) return t.bucket;
    return short(-1);
  };
  CHECK(bucket_of(a) == bucket_of(b));
  CHECK(bucket_of(a) == bucket_of(c));
  CHECK(bucket_of(again) != bucket_of(a));
  CHECK(count_plan(p, g.extents).all_reduces == 2);
}

TEST_CASE("an all-reduce moves through scalings of one term, never through a sum of terms") {
  auto term = [](sketch& g) { return g.reduce(g.leaf(two.sharded(0), {1, {4}}), 1, false); };
  {
    sketch g;
    short const t = term(g);
    short const scaled = g.map({g.map({t}, law::linear), g.scalar()}, law::scale);
    g.ask(scaled, two);
    REQUIRE(g.finish() == plan_error::none);
    CHECK(g.view().transfers.count == 1);
    CHECK(g.view().transfers[0].from == t);
    CHECK(g.steps[scaled].where == two);
  }
  {
    sketch g;
    short const sum = g.map({term(g), term(g)}, law::add);
    g.ask(g.map({sum, g.scalar()}, law::scale), two);
    REQUIRE(g.finish() == plan_error::none);
    CHECK(g.view().transfers.count == 1);
    CHECK(g.view().transfers[0].from == sum);
    CHECK(g.steps[sum].where == two.partial(reduction::sum));
  }
  {  // one reader keeps the terms: the scaling stays with them
    sketch g;
    short const t = term(g);
    short const scaled = g.map({t, g.scalar()}, law::scale);
    short const sum = g.map({scaled, term(g)}, law::add);
    g.ask(sum, two);
    g.ask(scaled, two);
    REQUIRE(g.finish() == plan_error::none);
    CHECK(g.steps[scaled].where == two.partial(reduction::sum));
  }
}

}  // namespace move_test

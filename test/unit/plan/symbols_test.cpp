// SPDX-License-Identifier: Apache-2.0
// What a plan calls certain of open extents holds in every binding that infers: random steps of all
// kinds, bound to extents of which some are 0 or 1.
#include <doctest/doctest.h>

#include <locus/plan/infer.hpp>
#include <locus/plan/symbols.hpp>

#include "unit/plan/sketch.hpp"

namespace symbols_test {

using namespace plans;

namespace {

place const host = single(cpu(0));
call_facts const twice = [] {
  call_facts f;
  f.infer = [](void const*, int, shape const* operands) {
    shape r = operands[0];
    for (int a = 0; a < r.rank; ++a)
      if (r.extent[a] != dyn) r.extent[a] *= 2;
    return r;
  };
  return f;
}();

/// steps of every kind over open and static extents
struct open_sketch : sketch {
  range ranges[max_steps][max_rank];

  shape any_shape(bit_engine& bits) {
    std::int64_t const some[] = {dyn, dyn, dyn, 1, 2, 5};
    shape s{pick(bits, 4), {}};
    for (int a = 0; a < s.rank; ++a) s.extent[a] = some[pick(bits, 6)];
    return s;
  }
  short unary(step_kind kind, short from, shape const& of) {
    step s;
    s.kind = kind, s.extents = of;
    return add(s, {from});
  }
  void slice(short from, bit_engine& bits) {
    step s;
    s.kind = step_kind::slice, s.extents = steps[from].extents;
    s.axes = static_cast<axis_set>(pick(bits, 1 << s.extents.rank));
    for (int a = 0; a < s.extents.rank; ++a) {
      ranges[count][a] = {pick(bits, 3) - 1, chance(bits, 50) ? range::to_end : pick(bits, 3)};
      if (has_axis(s.axes, a)) s.extents.extent[a] = dyn;
    }
    add(s, {from});
  }
  void concatenate(short a, short b, int axis) {
    step s;
    s.kind = step_kind::concatenate, s.axis = static_cast<signed char>(axis);
    s.extents = joined(steps[a].extents, steps[b].extents, axis);
    if (fits(s.extents)) add(s, {a, b});
  }
  void draw_step(bit_engine& bits) {
    auto any = [&] { return static_cast<short>(pick(bits, count)); };
    short const a = any();
    shape const& of = steps[a].extents;
    switch (pick(bits, 14)) {
    case 0: leaf(host, any_shape(bits)); return;
    case 1: map({a}); return;
    case 2:
    case 3:
    case 4: map({a, any()}); return;
    case 5: map({a, any(), any()}); return;
    case 6: reduce(a, static_cast<axis_set>(pick(bits, 1 << of.rank)), chance(bits, 50)); return;
    case 7: matmul(a, any()); return;
    case 8: transpose(a); return;
    case 9: expand(a); return;
    case 10: slice(a, bits); return;
    case 11: concatenate(a, any(), pick(bits, 3)); return;
    case 12:
      if (shape const to = reshaped(of, {1, {dyn}}); fits(to)) unary(step_kind::reshape, a, to);
      return;
    default: {
      shape const to = twice.infer(nullptr, 0, &of);
      short const i = unary(step_kind::call, a, to);
      steps[i].call = &twice;
    }
    }
  }
  /// means: the extents of a run whose leaves have these; false where it would be refused
  bool bind(bit_engine& bits, shape* of) {
    std::int64_t const lengths[] = {0, 1, 2, 5}, n = lengths[pick(bits, 4)];
    auto bound = [&](std::int64_t extent) {
      if (extent != dyn) return extent;
      return chance(bits, 20) ? lengths[pick(bits, 4)] : chance(bits, 60) ? n : 1;
    };
    void const* objects[max_steps];
    for (short i = 0; i < count; ++i) {
      of[i] = steps[i].extents, objects[i] = ranges[i];
      for (int a = 0; a < of[i].rank && steps[i].kind == step_kind::leaf; ++a)
        of[i].extent[a] = bound(of[i].extent[a]);
      of[i] = locus::detail::inferred(view(), i, of, objects);
      if (!fits(of[i])) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("what is certain of open extents holds in every binding that infers") {
  bit_engine bits(41);
  int bindings = 0, certain = 0, related = 0, apart = 0, stretched = 0,
      kinds[int(step_kind::call) + 1]{};
  for (int n = 0; n < 20'000; ++n) {
    open_sketch g;
    g.leaf(host, g.any_shape(bits));
    g.leaf(host, g.any_shape(bits));
    for (int size = 3 + pick(bits, 12); g.count < size;) g.draw_step(bits);
    for (short i = 0; i < g.count; ++i) ++kinds[int(g.steps[i].kind)];
    locus::detail::symbols const known(g.view());
    for (int tries = 0; tries < 4; ++tries) {
      shape of[max_steps];
      if (!g.bind(bits, of)) continue;
      ++bindings;
      CAPTURE(n);
      for (short i = 0; i < g.count; ++i)
        for (short k = 0; k < i; ++k) {
          bool const one_pattern = g.steps[i].extents == g.steps[k].extents;
          bool const open = !g.steps[i].extents.is_static() && one_pattern;
          if (known.certain(i, k)) {
            REQUIRE(of[i] == of[k]);
            REQUIRE(known.certain(k, i));
            REQUIRE(known.related(i, k));
            certain += open;
          } else {
            REQUIRE((open || !one_pattern));  // static extents are numbers
            apart += open && !(of[i] == of[k]);
            if (known.related(i, k)) ++related, stretched += !(of[i] == of[k]);
          }
        }
    }
  }
  CHECK(bindings > 20'000);
  CHECK(certain > 50'000);
  CHECK(related > 10'000);
  CHECK(apart > 10'000);
  CHECK(stretched > 1'000);
  for (step_kind k : {step_kind::leaf, step_kind::map, step_kind::reduce, step_kind::matmul,
                      step_kind::transpose, step_kind::expand, step_kind::reshape, step_kind::slice,
                      step_kind::concatenate, step_kind::call}) {
    CAPTURE(int(k));
    CHECK(kinds[int(k)] > 1'000);
  }
}

TEST_CASE("of open extents past 64 a plan knows that a value has those of its one operand") {
  sketch g;
  for (int k = 0; k < 100; ++k) g.leaf(host, {1, {dyn}});
  short const numbers = g.leaf(host, {2, {3, 4}}), more = g.leaf(host, {2, {3, 4}});
  short const last = g.map({99, g.scalar()}), first = g.map({0, g.scalar()});
  short const both = g.map({98, 99}), again = g.map({99, 98}), of_first = g.map({0, 1});
  locus::detail::symbols const known(g.view());
  CHECK(known.certain(last, 99));
  CHECK(known.certain(first, 0));
  CHECK(known.certain(numbers, more));
  CHECK_FALSE(known.certain(last, 98));
  CHECK_FALSE(known.certain(both, again));
  CHECK_FALSE(known.related(both, 99));
  CHECK(known.related(of_first, 0));
  CHECK_FALSE(known.certain(of_first, 0));
}

TEST_CASE("extents that a run compares anyway are certain: those that products and joins share") {
  sketch g;
  short const a = g.leaf(host, {2, {dyn, dyn}}), b = g.leaf(host, {2, {dyn, dyn}});
  short const product = g.matmul(a, b), columns = g.reduce(a, 1, false),
              rows = g.reduce(b, 2, false);
  short const by_row = g.map({product, g.reduce(b, 1, false)});
  locus::detail::symbols const known(g.view());
  CHECK(known.certain(columns, rows));
  CHECK(known.certain(product, by_row));
  CHECK_FALSE(known.certain(product, a));
}

}  // namespace symbols_test

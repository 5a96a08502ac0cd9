// SPDX-License-Identifier: Apache-2.0
// Where an expression outlives a tensor that it points to, clang says so, and nowhere else: -verify holds its
// warnings to those that stand here.
#include <locus/locus.hpp>
using namespace locus;
using Row = Tensor<float, Extents<3>>;

// ---- each gives away an expression that points to a tensor of its own ----
auto by_value(Row t) { return t * 2.f; }    // expected-warning {{parameter 't' returned}}
auto behind(Row t) { return 2.f / t; }      // expected-warning {{parameter 't' returned}}
auto of_one(Row t) { return exp(t); }       // expected-warning {{parameter 't' returned}}
auto negative(Row t) { return -t; }         // expected-warning {{parameter 't' returned}}
auto deep(Row t) { return 1.f + t * 2.f; }  // expected-warning {{parameter 't' returned}}
auto deeper(Row t, Row const& u) {
  return u + maximum(sqrt(t - u), 0.f);  // expected-warning {{parameter 't' returned}}
}
auto of_a_variable() {
  Row const t{1, 2, 3};
  Row u{1, 2, 3};
  return (u + 1.f) * t;  // expected-warning {{variable 'u'}} expected-warning {{variable 't'}}
}

// ---- these own what they name, or it lives on ----
auto owned(Row t) { return 1.f - std::move(t) * 2.f; }
auto of_temporaries() { return exp(Row{1, 2, 3}) * 2.f + Row{1, 2, 3}; }
auto of_what_lives(Row const& t, Row& u) {
  float const f = 3;
  int const k = 2;
  return f * t + u * k - f;
}
auto by_steps(Row const& t) {
  auto const e = t * 2.f;
  auto f = e + t;
  return f * e;
}
auto of_a_view(float* p) {
  auto const v = view<CpuDevice>(p, Extents<3>{});
  return v * 2.f + 1.f;
}
struct member {
  Row t{1, 2, 3};
  auto twice() const { return t * 2.f; }
};
auto of_a_member(member const& m) { return m.t * 2.f + m.twice(); }

// ---- and here a value leaves, no expression ----
Row made(Row const& t) {
  Row u(t);
  Row r(u * 2.f + t);
  r = exp(u) + r;
  return r;
}
Row converted(Row u) { return u * 2.f + 1.f; }
auto evaluated(Row u) { return eval(u * 2.f + 1.f); }
float fetched(Row u) { return fetch(sum(u * 2.f)); }
auto let_inside(Row const& t) {
  return let(t * 2.f, [&](auto h) { return h * h + t; });
}

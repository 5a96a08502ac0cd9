// SPDX-License-Identifier: Apache-2.0
// Values over replicas are the values of one device: what the tables decide, run on two simulated
// GPUs; and cuts that cannot be told to meet before the extents are known.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
//
#include <doctest/doctest.h>

#include <string>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace distribute_test {

using namespace locus;

namespace {

using Gpu0 = GpuDevice<0>;
using Gpu1 = GpuDevice<1>;
using Both = Mirrored<Gpu0, Gpu1>;
using Rows = Sharded<0, Gpu0, Gpu1>;
using Columns = Sharded<1, Gpu0, Gpu1>;

struct Legacy {
  LOCUS_OPERATION("legacy", on_cpu)
  float operator()(float v) const { return 2 * v; }
};

/// two expressions that are to have the same value, within rounding
template <class A, class B>
bool same(A const& a, B const& b) {
  auto const x = fetch(a), y = fetch(b);
  REQUIRE(x.extents().as_shape() == y.extents().as_shape());
  bool equal = x.size() > 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    float const d = x.data()[i] - y.data()[i];
    equal = equal && d < 1e-5f && d > -1e-5f;
  }
  return equal;
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (shape_error const& e) {
    return e.what();
  }
  return "accepted";
}

void terms_that_are_looked_at() {
  Tensor<float, Extents<6, 4>> const c = uniform<float>(Extents<6, 4>{}, seed{1});
  Tensor<float, Extents<4, 3>> const d = uniform<float>(Extents<4, 3>{}, seed{2});
  auto const columns = to<Columns>(c);
  auto const rows = to<Rows>(d);
  CHECK(same(transpose(matmul(columns, rows)), transpose(matmul(c, d))));
  CHECK(same(exp(transpose(matmul(columns, rows))), exp(transpose(matmul(c, d)))));
  CHECK(same(to<Rows>(transpose(matmul(columns, rows))), transpose(matmul(c, d))));
  CHECK(same(slice<1, 0, 2>(matmul(columns, rows)), slice<1, 0, 2>(matmul(c, d))));
  CHECK(same(reshape<9, 2>(transpose(matmul(columns, rows))),
             reshape<9, 2>(transpose(matmul(c, d)))));
  CHECK(same(transpose(max<0>(to<Rows>(reshape<2, 6, 2>(c)))),
             transpose(max<0>(reshape<2, 6, 2>(c)))));
  auto const r = to<Rows>(c);
  CHECK(same(r - expand_dims<0>(max<0>(r)), c - expand_dims<0>(max<0>(c))));
  let(max<0>(r),
      [&](auto h) { CHECK(same(r * (h + reshape<4>(expand_dims<0>(h))), 2.f * c * max<0>(c))); });
}

void generators_beside_replicas() {
  auto const u = uniform<float>(Extents<6, 5>{}, seed{1});
  Tensor<float, Extents<6, 5>> const c = u;
  Tensor<float, Extents<6, 5>> const twice = c + c;
  CHECK(same(to<Both>(c) + u, twice));
  CHECK(same(to<Rows>(c) + u, twice));
  CHECK(same(to<Columns>(c) + u, twice));
  CHECK(same(to<Both>(u), c));
  CHECK(same(to<Columns>(u), c));
  auto const row = uniform<float>(Extents<5>{}, seed{3});
  CHECK(same(to<Columns>(c) + row, c + row));
  auto const turned = transpose(uniform<float>(Extents<5, 6>{}, seed{4}));
  CHECK(same(to<Columns>(c) + turned, c + turned));
  CHECK(same(to<Both>(c) + turned, c + turned));
}

void kernels_for_the_cpu_alone() {
  Tensor<float, Extents<6, 5>> const c = uniform<float>(Extents<6, 5>{}, seed{1});
  Tensor<int, Extents<6, 5>> const n = cast<int>(10.f * c);
  auto const m = to<Both>(c);
  auto const r = to<Rows>(c);
  auto const seen = testing::count([&] { CHECK(same(map(Legacy{}, m) + m, 3.f * c)); });
  CHECK(seen.fallbacks == 1);
  CHECK(same(map(Legacy{}, r) + r, 3.f * c));
  CHECK(same(map(Legacy{}, max<0>(r)), 2.f * max<0>(c)));
  auto const mirrored = to<Both>(n);
  CHECK(fetch(all(matmul(mirrored, transpose(mirrored)) == to<Both>(matmul(n, transpose(n))))));
}

}  // namespace

TEST_CASE("terms that are looked at in another order or in part are folded as they are seen") {
  SUBCASE("on the host") { terms_that_are_looked_at(); }
  SUBCASE("on simulated GPUs") {
    testing::simulated_gpus two{2, {.memory_limit = 64 << 20, .seed = 7}};
    terms_that_are_looked_at();
  }
  SUBCASE("on the CUDA path") {
    testing::recorder recorded{{.cards = 2}};
    terms_that_are_looked_at();
  }
}

TEST_CASE("a generator gives each replica its part of one sequence") {
  SUBCASE("on the host") { generators_beside_replicas(); }
  SUBCASE("on simulated GPUs") {
    testing::simulated_gpus two{2, {.memory_limit = 64 << 20, .seed = 8}};
    generators_beside_replicas();
  }
  SUBCASE("on the CUDA path") {
    testing::recorder recorded{{.cards = 2}};
    generators_beside_replicas();
  }
}

TEST_CASE("over replicas, too, an operation without GPU kernel runs on the CPU, and is counted") {
  testing::simulated_gpus two{2, {.memory_limit = 64 << 20, .seed = 9}};
  kernels_for_the_cpu_alone();
}

TEST_CASE("pieces that turn out not to lie side by side are refused when the plan is bound") {
  testing::simulated_gpus two{2, {.memory_limit = 64 << 20, .seed = 10}};
  using Open = Tensor<float, Extents<dyn, 4>>;
  Open c(6), one(1);
  c = full<float>(Extents<dyn, 4>(6), 1.f), one = full<float>(Extents<dyn, 4>(1), 2.f);
  auto const rows = to<Rows>(c);
  auto const row = to<Rows>(one);
  CHECK(refusal([&] { static_cast<void>(eval(rows + row)); }) ==
        "locus: 'add' (step 2) mixes pieces that lie on different devices: extents [6,4] [1,4] "
        "become [6,4] on sharded<0>(/GPU:0 /GPU:1); bring the operands to one place with "
        "to<...>(x)");
  CHECK(refusal([&] {
          static_cast<void>(eval(reshape<-1, 8>(rows)));
        }).starts_with("locus: 'reshape' (step 1) mixes pieces that lie on different devices"));
  CHECK(refusal([&] { static_cast<void>(eval(row + row)); }) == "accepted");
  CHECK(refusal([&] { static_cast<void>(eval(reshape<-1, 2, 2>(rows))); }) == "accepted");
  CHECK(same(reshape<-1, 2, 2>(rows), reshape<-1, 2, 2>(c)));
}

TEST_CASE("extents whose bytes cannot be counted are refused when the plan is bound") {
  std::int64_t const many = std::int64_t(1) << 32;
  CHECK(refusal([&] {
          static_cast<void>(fetch(sum(ones<float>(Extents<dyn, dyn>(many, many)))));
        }).find("more bytes than 64 bits count") != std::string::npos);
}

TEST_CASE("a destination that an operand reads at other places is written last") {
  Tensor<float, Extents<4, 4>> a = uniform<float>(Extents<4, 4>{}, seed{1});
  Tensor<float, Extents<4, 4>> const b = a;
  a = matmul(a, a);
  CHECK(same(a, matmul(b, b)));
  a = b, a = transpose(a) + a;
  CHECK(same(a, transpose(b) + b));
  a = b, a = softmax(a);
  CHECK(same(a, softmax(b)));
}

}  // namespace distribute_test

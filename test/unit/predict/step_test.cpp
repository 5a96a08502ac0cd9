// SPDX-License-Identifier: Apache-2.0
// Steps out of plans: the parts of constants beside the counts of plans and of runs.
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/predict.hpp>
#include <locus/testing/count.hpp>

namespace step_test {

using namespace locus;

namespace {

using Gpus = Mirrored<AllGpus>;
using Rows = Sharded<0, AllGpus>;
using Four = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
using RowsOfFour = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;

using Batch = Tensor<float, Extents<4096, 512>, Rows>;
using Slopes = Tensor<float, Extents<4096, 256>, Rows>;
using Weights = Tensor<float, Extents<512, 256>, Gpus>;
constexpr double batch = 4096. * 512 * 4, slopes = 4096. * 256 * 4, weights = 512. * 256 * 4;

/// a plan as a constant: w = w - 0.1 x^T d
template <class X, class D, class W>
auto descent(X& x, D& d, W& w) {
  return plan(into(w, w - 0.1f * matmul(transpose(x), d)));
}
template <class X, class D, class W>
using plan_of_descent = plan_facts<typename decltype(descent(std::declval<X&>(), std::declval<D&>(),
                                                             std::declval<W&>()))::graph_type>;
using Descent = plan_of_descent<Batch, Slopes, Weights>;

// ---- constants ----
constexpr auto step = step_of(Descent{});
static_assert(step.count == 3 && step.rows == 4096 && step.is_over_replicas);
static_assert(step.parts[0].kind == part_kind::kernel && step.parts[0].name == "matmul");
static_assert(step.parts[0].operations.each == 0);
static_assert(step.parts[0].operations.by_rows == 2. * 512 * 256 * 4096);
static_assert(step.parts[0].bytes.by_rows == batch + slopes);
static_assert(step.parts[0].bytes.each == weights);  // each replica stores its term
static_assert(step.parts[0].reads.by_rows == batch + slopes && step.parts[0].reads.each == 0);
static_assert(step.parts[1].kind == part_kind::reduce && step.parts[1].bytes.each == weights);
static_assert(step.parts[1].bytes.at(0.5) == Descent::bytes_reduced());
static_assert(step.parts[2].after == 1);  // it reads what the reduction leaves
static_assert(step.parts[2].operations.each == 2. * 512 * 256);
static_assert(step.parts[2].bytes.each == 3 * weights && step.parts[2].bytes.by_rows == 0);
static_assert(predict(Descent{}, machines::hgx_h200{.nodes = 8}).at(1).efficiency() == 1);
static_assert(predict(Descent{}, machines::hgx_h200{.nodes = 8}).asked.replicas == 64);
static_assert(
    predict(Descent{}, machines::hgx_h200{.nodes = 8}, {.rows_each = 1 << 20}).efficiency() > 0.9);

/// means: the parts of a step on n replicas together
template <class S>
tally sums(S const& s, double& operations, double& bytes, int replicas) {
  tally t;
  operations = bytes = 0;
  for (int k = 0; k < s.count; ++k) {
    step_part const& p = s.parts[k];
    t.launches += p.launches;
    if (p.kind == part_kind::reduce) ++t.all_reduces, t.bytes_reduced += std::int64_t(p.bytes.each);
    if (p.kind != part_kind::kernel && p.kind != part_kind::update) continue;
    operations += replicas * p.operations.at(1. / replicas);
    bytes += replicas * p.bytes.at(1. / replicas);
  }
  return t;
}

}  // namespace

TEST_CASE("the parts of a plan on all replicas are the constants of the plan") {
  using Facts = plan_of_descent<Tensor<float, Extents<64, 16>, RowsOfFour>,
                                Tensor<float, Extents<64, 8>, RowsOfFour>,
                                Tensor<float, Extents<16, 8>, Four>>;
  double operations = 0, bytes = 0;
  tally const t = sums(step_of(Facts{}), operations, bytes, 4);
  CHECK(operations == Facts::flops());
  CHECK(bytes == Facts::bytes_read() + Facts::bytes_written());
  CHECK(t.launches == Facts::launches());
  CHECK(t.all_reduces == Facts::all_reduces());
  CHECK(t.bytes_reduced == Facts::bytes_reduced());
}

TEST_CASE("a plan on one device, and one of doubles") {
  Tensor<double, Extents<1000>> x(zeros<double>(Extents<1000>{})), y(x);
  auto const p = plan(into(y, 2. * x + y));
  auto const s = step_of(p);
  CHECK(s.count == 1);
  CHECK(!s.is_over_replicas);
  CHECK(s.parts[0].type == element::f64);
  CHECK(s.parts[0].operations.each == 2000);
  CHECK(s.parts[0].bytes.each == 24000);
  CHECK(predict(p, machines::hgx_h100{}).asked.replicas == 1);
}

TEST_CASE("parts of a run are the counts of the run") {
  Tensor<float, Dextents<2>, Rows> x(uniform<float>(dextents<2>(64, 16), seed{1}));
  Tensor<float, Dextents<2>, Rows> d(uniform<float>(dextents<2>(64, 8), seed{2}));
  Tensor<float, Dextents<2>, Gpus> w(zeros<float>(dextents<2>(16, 8)));
  auto const once = [&] { run(descent(x, d, w)); };
  once();
  tally const done = testing::count(once);
  step_list const s = step_of_run(once);
  double operations = 0, bytes = 0;
  tally const t = sums(s.view(), operations, bytes, 1);
  CHECK(s.rows() == 64);
  CHECK(t.launches == done.launches);
  CHECK(t.all_reduces == done.all_reduces);
  CHECK(t.bytes_reduced == done.bytes_reduced);
  CHECK(operations == 2. * 64 * 16 * 8 + 2. * 16 * 8);
}

TEST_CASE("a step of training: the kernels of a run, with work in proportion to rows") {
  auto trainer = nn::compile<Gpus>(
      nn::Sequential{nn::Input<28, 28>{}, nn::Flatten{}, nn::Dense<128>{nn::relu}, nn::Dense<10>{}},
      nn::Adam{}, nn::SparseCategoricalCrossentropy{nn::from_logits});
  auto const step_with = [&](std::int64_t rows) {
    Tensor<float, Extents<dyn, 28, 28>> x(rows);
    x = zeros<float>(x.extents());
    Tensor<std::uint8_t, Dextents<1>> y{Dextents<1>(rows)};
    y = zeros<std::uint8_t>(y.extents());
    static_cast<void>(trainer.train_on_batch(x, y));
    tally done{};
    step_list s;
    done = testing::count(
        [&] { s = step_of_run([&] { static_cast<void>(trainer.train_on_batch(x, y)); }); });
    double operations = 0, bytes = 0;
    tally const t = sums(s.view(), operations, bytes, 1);
    CHECK(t.launches == done.launches);
    CHECK(t.bytes_reduced == done.bytes_reduced);
    CHECK(s.rows() == rows);
    return s;
  };
  step_list const few = step_with(4), many = step_with(64);
  REQUIRE(few.parts().size() == many.parts().size());
  double gradients = 0;
  for (std::size_t k = 0; k < few.parts().size(); ++k) {
    step_part const &a = few.parts()[k], &b = many.parts()[k];
    CHECK(a.kind == b.kind);
    CHECK(a.name == b.name);
    // 64 rows predicted by the step of four, and as they were counted
    CHECK(a.operations.at(16) == doctest::Approx(b.operations.at(1)));
    CHECK(a.bytes.at(16) == doctest::Approx(b.bytes.at(1)));
    if (a.kind == part_kind::reduce) gradients += a.bytes.each;
  }
  CHECK(gradients >= 4. * (784 * 128 + 128 + 1280 + 10));
  CHECK(gradients < 4. * (784 * 128 + 128 + 1280 + 10) + 64);  // and the sums of the loss
  CHECK(few.parts().back().kind == part_kind::update);
}

TEST_CASE("rows of neighbours are an exchange, and a kernel in three parts hides it") {
  using Plate = Tensor<double, Extents<512, 256>, Sharded<0, GpuDevice<0>, GpuDevice<1>, Halo<1>>>;
  Plate now(zeros<double>(Extents<512, 256>{})), next(now);
  auto const look = [&]<class Policy>(Policy) {
    return let(now, [&](auto u) {
      auto const p = plan<Policy>(
          into(interior<1>(next), 0.5 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u))));
      auto const s = step_of(p);
      REQUIRE(s.count == 2);
      CHECK(s.parts[0].kind == part_kind::exchange);
      CHECK(s.parts[0].bytes.each == 2 * 256 * 8);
      CHECK(s.parts[1].launches == p.launches());
      CHECK(s.parts[1].beside == (p.launches() == 3));
      return p.launches();
    });
  };
  CHECK(look(default_policy{}) == 1);
  CHECK(look(overlapped<>{}) == 3);
}

}  // namespace step_test

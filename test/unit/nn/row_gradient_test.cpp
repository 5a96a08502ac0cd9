// SPDX-License-Identifier: Apache-2.0
// Gradients of tables as rows in loops of a program's own: the bits of a trainer with an Embedding, and of dense
// gradients.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <locus/algorithms/take.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "message_of.hpp"

namespace row_gradient_test {

using namespace locus;

namespace {

using doubles = std::vector<double>;
using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>>;
// powers of two: the gradient of the loss has the same bits, however it is written
constexpr std::int64_t vocabulary = 13, examples = 8, tokens = 4, width = 4;
template <class T, int Rank>
using on_host = Tensor<T, Dextents<Rank>, CpuDevice>;

struct batch {
  on_host<std::int32_t, 2> x;
  on_host<double, 3> y;
  // a few words come several times, some never
  explicit batch(std::uint64_t number, std::int64_t n = examples)
      : x(cast<std::int32_t>(
            floor(9. * square(uniform<double>(dextents<2>(n, tokens), seed{number}))))),
        y(uniform<double>(dextents<3>(n, tokens, width), seed{number + 100}, -1, 1)) {}
};
auto model() {
  return nn::Sequential{nn::Input<tokens>{}, nn::Embedding<width, tokens>{vocabulary}};
}
template <class X>
doubles values_in(X const& x) {
  auto const host = to<CpuDevice>(x);
  return {host.data(), host.data() + host.size()};
}
template <class Trainer>
doubles table_of(Trainer& t) {
  doubles v(std::size_t(vocabulary * width));
  nn::read_values(t.weights("embeddings"), v.data());
  return v;
}
on_host<double, 2> first_table() {
  auto t = nn::compile<CpuDevice, double>(model(), nn::SGD{}, nn::MeanSquaredError{});
  on_host<double, 2> table(Dextents<2>(vocabulary, width));
  nn::read_values(t.weights("embeddings"), table.data());
  return table;
}
template <class Replicas, class Optimizer>
doubles trained(Optimizer const& o, int steps) {
  auto t = nn::compile<Replicas, double>(model(), o, nn::MeanSquaredError{});
  for (int k = 0; k < steps; ++k) {
    batch const b{std::uint64_t(k)};
    static_cast<void>(t.train_on_batch(b.x, b.y));
  }
  return table_of(t);
}
template <class Rows, class Y>
auto loss_of(Rows const& rows, Y const& y) {
  return sum(square(rows - y)) / double(examples * tokens * width);
}
template <class Where, class Cut, class Optimizer>
doubles own_loop(Optimizer const& o, int steps, std::int64_t n = examples) {
  Tensor<double, Extents<vocabulary, width>, Where> table(first_table());
  nn::optimizer steps_of(o, table);
  for (int k = 0; k < steps; ++k) {
    batch const b{std::uint64_t(k), n};
    auto const x = to<Cut>(b.x);
    auto const y = to<Cut>(b.y);
    auto const rows = eval(take(table, x));
    auto const r = named<"r">(rows);
    steps_of.apply_gradients(nn::gradient_of_rows(x, grad(loss_of(r, y), r)));
  }
  return values_in(table);
}
template <class Replicas, class Optimizer>
doubles in_replicas(Optimizer const& o, int steps, std::int64_t n = examples) {
  strategy<Replicas> const s;
  auto table = make_variable<on_write, aggregation::mean>(s, first_table());
  nn::optimizer steps_of(o, table);
  for (int k = 0; k < steps; ++k) {
    batch const b{std::uint64_t(k), n};
    s.run(
        [&](auto& c, auto const& x, auto const& y, auto words) {
          auto const rows = eval(take(words.read(), x));
          auto const r = named<"r">(rows);
          steps_of.apply_gradients(c, nn::gradient_of_rows(x, grad(loss_of(r, y), r)));
        },
        to<rows_over<Replicas>>(b.x), to<rows_over<Replicas>>(b.y), table);
  }
  for (int r = 0; r < s.num_replicas_in_sync(); ++r)
    CHECK(values_in(table.local_result(r)) == values_in(table.local_result(0)));
  return values_in(table.read());
}
/// a model for nn::updater
struct table_and_bias {
  nn::parameter<double, CpuDevice> table, bias;
  template <class F>
  void for_each_parameter(F&& f) {
    f(table), f(bias);
  }
};

}  // namespace

TEST_CASE("rows of a table learn in a loop of the program's own the bits of a trainer") {
  auto const same = [](auto const& o) {
    doubles const want = trained<CpuDevice>(o, 6);
    CHECK(want != values_in(first_table()));
    CHECK(own_loop<CpuDevice, CpuDevice>(o, 6) == want);
  };
  same(nn::SGD{.learning_rate = 0.5, .momentum = 0.5});
  same(nn::Adam{.learning_rate = 0.02});
  same(nn::Nadam{.learning_rate = 0.02, .clipvalue = 1e-3});
  same(nn::ClipGlobalNorm{0.1, nn::AdamW{.learning_rate = 0.02}});
  same(nn::MovingAverage{nn::RMSprop{.learning_rate = 0.02, .centered = true}});
  same(nn::Accumulate{3, nn::Adam{.learning_rate = 0.02}});
}

TEST_CASE("rows of a table over mirrored tensors and inside of replicas: the bits of one device") {
  testing::simulated_gpus const two{2, {.seed = 3}};
  nn::Adam const adam{.learning_rate = 0.02};
  doubles const want = trained<CpuDevice>(adam, 5);
  CHECK(trained<Gpus>(adam, 5) == want);
  CHECK(own_loop<Gpus, rows_over<Gpus>>(adam, 5) == want);
  CHECK(own_loop<Gpus, CpuDevice>(adam, 5) == want);
  CHECK(in_replicas<Gpus>(adam, 5) == want);
  CHECK(in_replicas<Mirrored<AllGpus>>(adam, 5) == want);
  CHECK(in_replicas<Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>>(adam, 5) == want);
}

TEST_CASE("a batch that does not divide, and replicas without examples: the bits of one device") {
  testing::simulated_gpus const two{2, {.seed = 4}};
  nn::Adam const adam{.learning_rate = 0.02};
  for (std::int64_t const n : {1, 2, 7}) {
    INFO(n, " examples");
    doubles const want = own_loop<CpuDevice, CpuDevice>(adam, 3, n);
    CHECK(want != values_in(first_table()));
    CHECK(own_loop<Gpus, rows_over<Gpus>>(adam, 3, n) == want);
    CHECK(in_replicas<Gpus>(adam, 3, n) == want);
    CHECK(in_replicas<Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>>(adam, 3, n) == want);
  }
}

TEST_CASE("rows beside dense gradients, and in their place: the same step") {
  nn::Adam const adam{.learning_rate = 0.125};
  auto const steps = [&](auto const& by_rows) {
    on_host<double, 2> table(first_table());
    Tensor<double, Dextents<1>> b{0.5, -1, 2, 0.25};
    nn::optimizer all(adam, b, table);
    for (int k = 0; k < 4; ++k) {
      batch const of{std::uint64_t(k)};
      on_host<std::int32_t, 1> const x(reshape<tokens>(slice(of.x, {k, k + 1}, {0, tokens})));
      auto const y = eval(reshape<tokens, width>(slice(of.y, {k, k + 1}, {0, tokens}, {0, width})));
      auto const bias = named<"b">(b);
      if (by_rows(k)) {
        auto const rows = eval(take(table, x));
        auto const r = named<"r">(rows);
        auto const g = grad(sum(square(r + bias - y)) / 8., bias, r);
        all.apply_gradients(get<0>(g), nn::gradient_of_rows(x, get<1>(g)));
      } else {
        auto const t = named<"t">(table);
        all.apply_gradients(grad(sum(square(take(t, x) + bias - y)) / 8., bias, t));
      }
    }
    return std::pair(values_in(table), values_in(b));
  };
  auto const want = steps([](int) { return false; });
  CHECK(steps([](int) { return true; }) == want);
  CHECK(steps([](int k) { return k % 2 == 0; }) == want);
}

TEST_CASE("a gradient in a variable keeps the tensors that were made for it") {
  nn::SGD const sgd{.learning_rate = 0.5};
  batch const b{3};
  on_host<double, 2> want(first_table()), table(first_table());
  nn::optimizer wanted(sgd, want);
  nn::optimizer steps(sgd, table);
  auto const g = nn::gradient_of_rows(eval(b.x + 0), eval(b.y * 2.));
  auto const other = eval(b.y * 0.);  // where tensors that died were
  for (int k = 0; k < 2; ++k) {
    auto const twice = eval(b.y * 2.);
    wanted.apply_gradients(nn::gradient_of_rows(b.x, twice));
    steps.apply_gradients(g);
  }
  CHECK(values_in(want) != values_in(first_table()));
  CHECK(values_in(table) == values_in(want));
}

TEST_CASE("rows that do not fit are refused, and no rows are a step, too") {
  on_host<double, 2> table(first_table());
  doubles const before = values_in(table);
  nn::optimizer adam(nn::Adam{}, table);
  on_host<std::int32_t, 1> const i{1, 2};
  auto const refused = [&](on_host<std::int32_t, 1> const& which, on_host<double, 2> const& g) {
    return message_of<shape_error>([&] { adam.apply_gradients(nn::gradient_of_rows(which, g)); });
  };
  CHECK(refused(i, {{1, 2, 3}, {4, 5, 6}}) == "locus: gradient_of_rows got rows of 3 numbers, and "
                                              "the rows of the table have 4; give it the "
                                              "gradient by take(table, i)");
  CHECK(refused(i, {{1, 2, 3, 4}}) == "locus: gradient_of_rows got the numbers of [2] rows and "
                                      "gradients [1,4]; give it one row for each number, as "
                                      "take(table, i) reads them");
  CHECK(refused({1, 13}, {{1, 2, 3, 4}, {1, 2, 3, 4}}) ==
        "locus: a gradient is for row 13 (element 1 of the numbers of its rows), and the table has "
        "rows 0 to 12; give it the numbers by which the rows were read");
  CHECK(adam.iterations() == 0);
  CHECK(values_in(table) == before);
  on_host<std::int32_t, 1> const none(Dextents<1>(0));
  on_host<double, 2> const no_rows(Dextents<2>(0, width));
  adam.apply_gradients(nn::gradient_of_rows(none, no_rows));
  CHECK(adam.iterations() == 1);
  CHECK(values_in(table) == before);
}

TEST_CASE("after a step of Accumulate that threw, a table takes a gradient of the other kind") {
  table_and_bias m;
  using flat = on_host<double, 1>;
  auto const parameter_of = [](shape const& extents) {
    return nn::make_parameter<double, CpuDevice>("w", extents, nn::zeros, 0);
  };
  m.table = parameter_of({2, {3, 2}}), m.bias = parameter_of({1, {2}});
  nn::updater<nn::Accumulate<nn::SGD>, double, CpuDevice> steps({1, {.learning_rate = 1}});
  auto const rows = [&m] {
    m.table.sparse = true;
    m.table.rows = on_host<std::int32_t, 1>{1}, m.table.row_values = on_host<double, 2>{{5, 6}};
  };
  auto const dense = [&m] { m.table.sparse = false, m.table.gradient = flat{1, 2, 3, 4, 5, 6}; };
  auto const check_step = [&](auto const& first, auto const& then, doubles const& minus) {
    first();
    m.bias.gradient = flat{1, 1, 1};  // the bias has two numbers: its update throws
    CHECK_THROWS_AS(steps.step(m), shape_error);
    doubles const before = values_in(m.table.value);
    then();
    m.bias.gradient = flat{1, 1};
    steps.step(m);
    doubles after = values_in(m.table.value);
    for (std::size_t k = 0; k < 6; ++k) after[k] -= before[k] - minus[k];
    CHECK(after == doubles(6));
  };
  check_step(rows, dense, {1, 2, 3, 4, 5, 6});
  check_step(dense, rows, {0, 0, 5, 6, 0, 0});
  CHECK(values_in(m.bias.value) == doubles{-2, -2});
  CHECK(steps.iterations() == 2);
}

}  // namespace row_gradient_test

// SPDX-License-Identifier: Apache-2.0
// Optimizers in loops of the program's own against the trainer, and sums of gradients over batches.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <unistd.h>

#include <worst_of.hpp>

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/nn/train/checkpoint.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "distance.hpp"
#include "message_of.hpp"

namespace own_loop_test {

using namespace locus;

namespace {

using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>>;
template <int Rank>
using on_host = Tensor<double, Dextents<Rank>, CpuDevice>;

struct dataset {
  on_host<2> x{uniform<double>(dextents<2>(24, 3), seed{3}, -1, 1)};
  on_host<2> y{uniform<double>(dextents<2>(24, 2), seed{5}, -1, 1)};
};
auto network() {
  return nn::Sequential{nn::Input<3>{},
                        nn::Dense<4>{nn::tanh}.begin_with(nn::glorot_uniform, nn::ones),
                        nn::Dense<2>{}};
}
/// kernel and bias of both layers
struct values {
  std::vector<double> of[4];
};
double distance(values const& a, values const& b) {
  double worst = 0;
  for (int k = 0; k < 4; ++k) {
    double const d = ::distance(a.of[k], b.of[k]);
    worst = worst_of(worst, d);
  }
  return worst;
}
template <class T>
std::vector<double> values_in(T const& t) {
  auto const host = to<CpuDevice>(t);
  return {host.data(), host.data() + host.size()};
}
template <class Trainer>
values weights_of(Trainer& t) {
  values v;
  auto const all = t.weights();
  for (std::size_t k = 0; k < 4; ++k) {
    v.of[k].resize(std::size_t(all[k].extents.size()));
    nn::read_values(all[k], v.of[k].data());
  }
  return v;
}
values first_weights() {
  auto t = nn::compile<CpuDevice, double>(network(), nn::SGD{}, nn::MeanSquaredError{});
  return weights_of(t);
}
template <class Optimizer>
values trained(Optimizer const& o, int steps) {
  dataset const d;
  auto t = nn::compile<CpuDevice, double>(network(), o, nn::MeanSquaredError{});
  for (int k = 0; k < steps; ++k) static_cast<void>(t.train_on_batch(d.x, d.y));
  return weights_of(t);
}
template <class... N>
on_host<int(sizeof...(N))> tensor_of(std::vector<double> const& from, N... n) {
  on_host<int(sizeof...(N))> t(Dextents<int(sizeof...(N))>(n...));
  std::copy(from.begin(), from.end(), t.data());
  return t;
}
/// the sum of the squared errors
template <class X, class Y, class A, class B, class C, class D>
auto loss_of(X const& x, Y const& y, A const& w1, B const& b1, C const& w2, D const& b2) {
  return sum(square(matmul(tanh(matmul(x, w1) + b1), w2) + b2 - y));
}

/// tensors of the program's own as weights
template <class Where, class Rows, class Optimizer>
values own_loop(Optimizer const& o, int steps, int parts = 1) {
  dataset const d;
  values const v = first_weights();
  Tensor<double, Extents<3, 4>, Where> w1(tensor_of(v.of[0], 3, 4));
  Tensor<double, Dextents<1>, Where> b1(tensor_of(v.of[1], 4));
  Tensor<double, Dextents<2>, Where> w2(tensor_of(v.of[2], 4, 2));
  Tensor<double, Extents<2>, Where> b2(tensor_of(v.of[3], 2));
  nn::optimizer steps_of(o, w1, b1, w2, b2);
  std::int64_t const rows = 24 / parts;
  for (int k = 0; k < steps * parts; ++k) {
    std::int64_t const at = k % parts * rows;
    auto const x = to<Rows>(on_host<2>(slice(d.x, {at, at + rows}, {0, 3})));
    auto const y = to<Rows>(on_host<2>(slice(d.y, {at, at + rows}, {0, 2})));
    auto const p1 = named<"w1">(w1);
    auto const p2 = named<"b1">(b1);
    auto const p3 = named<"w2">(w2);
    auto const p4 = named<"b2">(b2);
    steps_of.apply_gradients(
        grad(loss_of(x, y, p1, p2, p3, p4) / double(2 * rows), p1, p2, p3, p4));
  }
  CHECK(steps_of.iterations() == steps);
  return {{values_in(w1), values_in(b1), values_in(w2), values_in(b2)}};
}

/// variables of a strategy as weights, steps inside of replicas
template <class Replicas, class Optimizer>
values in_replicas(Optimizer const& o, int steps) {
  dataset const d;
  values const v = first_weights();
  strategy<Replicas> const s;
  auto const x = to<rows_over<Replicas>>(d.x);
  auto const y = to<rows_over<Replicas>>(d.y);
  auto w1 = make_variable<on_write, aggregation::mean>(s, tensor_of(v.of[0], 3, 4));
  auto b1 = make_variable<on_write, aggregation::none>(s, tensor_of(v.of[1], 4));
  auto w2 = make_variable<on_write, aggregation::mean>(s, tensor_of(v.of[2], 4, 2));
  auto b2 = make_variable<on_write, aggregation::none>(s, tensor_of(v.of[3], 2));
  nn::optimizer all(o, w1, b1, w2, b2);
  for (int k = 0; k < steps; ++k)
    s.run(
        [&](auto& c, auto const& rows, auto const& targets, auto l1, auto l2, auto l3, auto l4) {
          auto const p1 = named<"w1">(l1.read());
          auto const p2 = named<"b1">(l2.read());
          auto const p3 = named<"w2">(l3.read());
          auto const p4 = named<"b2">(l4.read());
          all.apply_gradients(c,
                              grad(loss_of(rows, targets, p1, p2, p3, p4) / 48., p1, p2, p3, p4));
        },
        x, y, w1, b1, w2, b2);
  CHECK(all.iterations() == steps);
  for (int r = 0; r < s.num_replicas_in_sync(); ++r)
    CHECK(values_in(w1.local_result(r)) == values_in(w1.local_result(0)));
  return {{values_in(w1.read()), values_in(b1.read()), values_in(w2.read()), values_in(b2.read())}};
}

}  // namespace

TEST_CASE("an optimizer in a loop of the program's own learns what a trainer learns") {
  auto const same = [](auto const& o) {
    CHECK(distance(own_loop<CpuDevice, CpuDevice>(o, 12), trained(o, 12)) <= 1e-12);
  };
  same(nn::SGD{.learning_rate = 0.1});
  same(nn::SGD{
      .learning_rate = nn::ExponentialDecay{0.1, 5, 0.5}, .momentum = 0.9, .nesterov = true});
  same(nn::ClipGlobalNorm{0.1, nn::AdamW{.learning_rate = 0.01}});
  same(nn::RMSprop{.learning_rate = 0.01, .momentum = 0.5, .centered = true});
}

TEST_CASE("over mirrored tensors and inside of replicas it learns the same") {
  testing::simulated_gpus const two{2, {.seed = 5}};
  nn::Adam const adam{.learning_rate = 0.02};
  values const want = trained(adam, 12);
  CHECK(distance(own_loop<Gpus, rows_over<Gpus>>(adam, 12), want) <= 1e-12);
  CHECK(distance(in_replicas<Gpus>(adam, 12), want) <= 1e-12);
  CHECK(distance(in_replicas<Mirrored<AllGpus>>(adam, 12), want) <= 1e-12);
}

TEST_CASE("on three logical CPUs and with clipping inside of replicas it learns the same") {
  auto const o = nn::ClipNorm{0.05, nn::SGD{.learning_rate = 0.1, .momentum = 0.9}};
  CHECK(distance(in_replicas<Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>>(o, 7), trained(o, 7)) <= 1e-12);
}

TEST_CASE("gradients of k batches make one step, as a batch k times as large") {
  nn::Adam const adam{.learning_rate = 0.02};
  values const want = trained(adam, 5);
  CHECK(distance(own_loop<CpuDevice, CpuDevice>(nn::Accumulate{4, adam}, 5, 4), want) <= 1e-12);
  testing::simulated_gpus const two{2};
  CHECK(distance(own_loop<Gpus, rows_over<Gpus>>(nn::Accumulate{3, adam}, 5, 3), want) <= 1e-12);
}

TEST_CASE("weights that move to other memory are found there, and a number is a weight, too") {
  Tensor<double, Dextents<1>> w{1, 2}, other{5, 6};
  Tensor<double, Extents<>> b(zeros<double>(Extents<>{}));
  nn::optimizer sgd{nn::SGD{.learning_rate = 0.5}, w, b};
  sgd.apply_gradients(Tensor<double, Dextents<1>>{2, 4}, full<double>(Extents<>{}, 1.));
  CHECK(values_in(w) == std::vector<double>{0, 0});
  swap(w, other);
  sgd.apply_gradients(std::tuple(w * 1., b * 0.));
  CHECK(values_in(w) == std::vector<double>{2.5, 3});
  CHECK(values_in(other) == std::vector<double>{0, 0});
  CHECK(fetch(b) == -0.5);
  sgd.set_learning_rate(0);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  sgd.apply_gradients(Tensor<double, Dextents<1>>{nan, 1}, b * 1.);
  CHECK(std::isnan(values_in(w)[0]));  // as in Keras: nobody looks at the numbers
  CHECK(values_in(w)[1] == 3);
}

namespace {

/// means: w and its average, which begin as 1, take their values by turns; step() subtracts 1 from w
template <class Optimizer, class Step, class Read>
void averages_take_turns(Optimizer& sgd, Step const& step, Read const& read) {
  using all = std::vector<double>;
  sgd.swap_averages();
  CHECK(read() == all{1, 1});  // before the first step
  step();
  CHECK(read() == all{0, 0});
  step(), step();  // averages: 0, -0.5, -1.25
  CHECK(read() == all{-2, -2});
  sgd.swap_averages();
  CHECK(read() == all{-1.25, -1.25});
  sgd.swap_averages();
  CHECK(read() == all{-2, -2});
  step();  // the average: -2.125
  CHECK(read() == all{-3, -3});
  sgd.swap_averages();
  CHECK(read() == all{-2.125, -2.125});
  step();
  CHECK(read() == all{-3.125, -3.125});
}

}  // namespace

TEST_CASE("weights of a program's own and their averages are swapped where they lie") {
  testing::simulated_gpus const two{2, {.seed = 11}};
  auto const how = nn::MovingAverage{nn::SGD{.learning_rate = 1}, 0.5};
  auto const tensors_in = [&]<class Where>(Where) {
    Tensor<double, Dextents<1>, Where> w(full<double>(dextents<1>(2), 1.));
    nn::optimizer sgd(how, w);
    averages_take_turns(
        sgd, [&] { sgd.apply_gradients(w * 0. + 1.); }, [&] { return values_in(w); });
    auto other = w;
    swap(w, other);  // w has other memory
    sgd.swap_averages(), sgd.swap_averages();
    CHECK(values_in(w) == values_in(other));
    sgd.swap_averages();
    CHECK(values_in(w) != values_in(other));
  };
  tensors_in(CpuDevice{});
  tensors_in(Gpus{});
  strategy<Gpus> const s;
  auto v = make_variable<on_write, aggregation::mean>(s, full<double>(dextents<1>(2), 1.));
  nn::optimizer of_variable(how, v);
  averages_take_turns(
      of_variable, [&] { of_variable.apply_gradients(v.read() * 0. + 1.); },
      [&] {
        CHECK(values_in(v.local_result(1)) == values_in(v.local_result(0)));
        return values_in(v.read());
      });
}

TEST_CASE("a step names what does not fit") {
  Tensor<double, Dextents<1>> w{1, 2};
  nn::optimizer sgd{nn::SGD{}, w};
  CHECK(message_of<shape_error>([&] {
          sgd.apply_gradients(Tensor<double, Dextents<1>>{1, 2, 3});
        }).find("[3]") != std::string::npos);
  CHECK(values_in(w) == std::vector<double>{1, 2});
  CHECK_THROWS_AS((nn::optimizer{nn::SGD{.learning_rate = -1}, w}), configuration_error);
  CHECK(message_of<configuration_error>([&] {
          nn::optimizer{nn::Accumulate{0, nn::SGD{}}, w};
        }).find("steps of Accumulate is 0") != std::string::npos);
  using Cpus = Mirrored<Cpu<0>, Cpu<1>>;
  strategy<Cpus> const s;
  CHECK(message_of<replica_error>([&] {
          s.run([&] { sgd.apply_gradients(w * 1.); });
        }).find("apply_gradients") != std::string::npos);
  CHECK(message_of<placement_error>([&] {
          s.run([&](auto& c) { sgd.apply_gradients(c, w * 1.); });
        }).find("a weight lies over /CPU:0 and the strategy over /CPU:0 /CPU:1") !=
        std::string::npos);
  CHECK(message_of<placement_error>([&] {
          s.run([&](auto& c) {
            if (c.replica_id() == 0) sgd.apply_gradients(c, w * 1.);
          });
        }).find("replica 0 calls all_reduce") != std::string::npos);
  CHECK(sgd.iterations() == 0);
  CHECK(values_in(w) == std::vector<double>{1, 2});
}

TEST_CASE("a loop of the program's own goes on from a checkpoint, over other devices") {
  testing::simulated_gpus const two{2, {.seed = 9}};
  std::string const path = "/tmp/locus_own_loop_" + std::to_string(getpid()) + ".npz";
  auto const o = nn::Accumulate{2, nn::MovingAverage{nn::Adam{.learning_rate = 0.1}, 0.9}};
  auto const step = [](auto& all, auto& w, auto& b, double by) {
    all.apply_gradients(w * by, b + by);
  };
  on_host<2> w{{1, 2}, {3, 4}};
  Tensor<double, Extents<>> b(full<double>(Extents<>{}, 5.));
  nn::optimizer whole(o, w, b);
  whole.name_weights("w", "b");
  for (int k = 0; k < 5; ++k) step(whole, w, b, 0.3 * (k + 1));
  nn::save_checkpoint(path, whole);

  strategy<Gpus> const s;
  auto v = make_variable<on_write, aggregation::mean>(s, zeros<double>(dextents<2>(2, 2)));
  auto c = make_variable<on_write, aggregation::none>(s, 0.);
  nn::optimizer rest(o, v, c);
  CHECK(message_of<locus::error>([&] { nn::load_checkpoint(path, rest); }).find("weight_0") !=
        std::string::npos);
  rest.name_weights("w", "b");
  static_cast<void>(nn::load_checkpoint(path, rest));
  CHECK(rest.iterations() == 2);
  CHECK(values_in(v.read()) == values_in(w));
  CHECK(values_in(v.local_result(1)) == values_in(w));
  step(whole, w, b, 2);
  rest.apply_gradients(v.read() * 2., c.read() + 2.);
  CHECK(values_in(v.read()) == values_in(w));
  CHECK(values_in(c.read()) == values_in(b));
  // variables without an optimizer, by name
  nn::export_weights(path, {nn::stored_of("v", v), nn::stored_of("c", c)});
  v.assign(0.), c.assign(1.);
  nn::import_weights(path, {nn::stored_of("c", c), nn::stored_of("v", v)});
  CHECK(values_in(v.read()) == values_in(w));
  CHECK(values_in(c.read()) == values_in(b));
  unlink(path.c_str());
}

}  // namespace own_loop_test

// SPDX-License-Identifier: Apache-2.0
// Strategies over ranks: functions on every replica, their sums, joins and variables are those of
// one process with as many replicas.
#include <cmath>
#include <map>
#include <string>

#include <locus/algorithms/take.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/losses/metric_states.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/nn/train/replica_gradients.hpp>
#include <locus/strategy/variable.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

namespace strategy_test {

using namespace rank_tests;

namespace {

/// whole numbers, so that sums have no order
Tensor<double, Dextents<2>> rows(std::int64_t n) {
  return floor(100. * uniform<double>(dextents<2>(n, 3), seed{1}));
}
template <class N>
void put_number(doubles& out, N x) {
  out.push_back(static_cast<double>(x));
}

/// the replicas of a cut of rows: each has 4
template <class List>
doubles functions() {
  doubles out;
  strategy<Mirrored<List>> s;
  int const n = s.num_replicas_in_sync();
  put_number(out, n);
  Tensor<double, Dextents<2>, Sharded<0, List>> const x(rows(4 * n));
  Tensor<double, Dextents<1>, Mirrored<List>> const w(
      floor(9. * uniform<double>(dextents<1>(3), seed{2})));
  auto const results = s.run(
      [](auto& c, auto part, auto weights) {
        using Device = typename std::remove_reference_t<decltype(c)>::policy;
        auto const scaled = eval(on<Device>(part * weights + double(c.replica_id()), c.device()));
        return std::tuple(c.replica_id(), c.all_reduce(across::sum, double(c.replica_id() + 1)),
                          c.all_reduce(across::mean, scaled), c.all_gather(scaled),
                          c.all_gather(scaled, 1), scaled);
      },
      x, w);
  auto const& [ids, sums, means, joined, beside, parts] = results;
  put(out, s.gather(ids, 0)), put(out, s.gather(sums, 0)), put(out, means[0]), put(out, joined[0]);
  put(out, beside[0]);
  put_number(out, s.reduce(across::sum, ids)), put_number(out, s.reduce(across::mean, sums));
  put(out, s.reduce(across::sum, parts)), put(out, s.reduce(across::mean, parts));
  put(out, s.reduce(across::sum, parts, 0)), put(out, s.reduce(across::mean, parts, {0, 1}));
  put(out, s.gather(parts, 0)), put(out, s.gather(parts, 1)), put(out, s.gather(x, 0));
  put(out, s.reduce(across::sum, x)), put(out, s.reduce(across::mean, w));
  put(out, s.gather(s.values_from([](int r) { return 10. * r; }), 0));
  // values of unequal length
  auto const ragged = s.run([](auto& c) {
    using Device = typename std::remove_reference_t<decltype(c)>::policy;
    return eval(on<Device>(full<double>(dextents<2>(c.replica_id() + 1, 2), double(c.replica_id())),
                           c.device()));
  });
  put(out, s.gather(ragged, 0)), put(out, s.reduce(across::mean, ragged, 0));
  auto const empty = s.run([](auto& c) {
    using Device = typename std::remove_reference_t<decltype(c)>::policy;
    return eval(on<Device>(full<double>(dextents<2>(3, 0), 1.), c.device()));
  });
  put(out, s.reduce(across::sum, empty, 0)), put(out, s.gather(empty, 0));
  // a function for all replicas of a rank, inside of which sums go over all ranks
  auto const merged = s.run([&](auto& c) {
    return c.merge_call([&](auto const& all) { return s.reduce(across::sum, all); },
                        double(c.replica_id()));
  });
  put(out, s.gather(merged, 0));
  return out;
}

template <class List>
doubles variables() {
  doubles out;
  strategy<Mirrored<List>> s;
  // each rank begins with another value: that of rank 0 counts
  double const begin = 5. + ranks::rank();
  auto mean = make_variable<on_write, aggregation::mean>(s, full<double>(dextents<1>(2), begin));
  auto sum = make_variable<on_write, aggregation::sum>(s, zeros<double>(dextents<1>(2)));
  auto first =
      make_variable<on_write, aggregation::only_first_replica>(s, zeros<double>(dextents<1>(2)));
  auto total = make_variable<on_read, aggregation::sum>(s, zeros<double>(dextents<1>(2)));
  auto average = make_variable<on_read, aggregation::mean>(s, zeros<double>(dextents<1>(2)));
  auto of_first =
      make_variable<on_read, aggregation::only_first_replica>(s, zeros<double>(dextents<1>(2)));
  auto count = make_variable<on_read, aggregation::sum>(s, zeros<std::int64_t>(dextents<1>(1)));
  put(out, mean.read());
  s.run(
      [](auto& c, auto m, auto t, auto f, auto tt, auto a, auto o, auto n) {
        using Device = typename std::remove_reference_t<decltype(c)>::policy;
        auto const mine = eval(on<Device>(full<double>(dextents<1>(2), 8. * c.replica_id() + 1),
                                          bound_device<Device>(c.device())));
        m.assign_add(mine), t.assign_add(mine), f.assign(mine);
        tt.assign_add(mine), a.assign(mine), o.assign(mine), n.assign_add(c.replica_id() + 1);
      },
      mean, sum, first, total, average, of_first, count);
  auto const all = [&] {
    put(out, mean.read()), put(out, sum.read()), put(out, first.read()), put(out, total.read());
    put(out, average.read()), put(out, of_first.read()), put(out, count.read());
  };
  all();
  put_number(out, ranks::count() == 1 ? s.local_results(total).size()
                                      : std::size_t(s.num_replicas_in_sync()));
  total.assign(full<double>(dextents<1>(2), 64. * s.num_replicas_in_sync()));
  count.assign(full<std::int64_t>(dextents<1>(1), std::int64_t(1001)));
  mean.assign(3.), mean.assign_sub(1.), average.assign(7.);
  all();
  return out;
}

/// a step of training by hand: each replica has its rows; gradients are averaged over all
template <class List>
doubles own_loop() {
  doubles out;
  strategy<Mirrored<List>> s;
  Tensor<double, Dextents<2>, Sharded<0, List>> const x(rows(4 * s.num_replicas_in_sync()));
  auto w = make_variable<on_write, aggregation::mean>(s, zeros<double>(dextents<1>(3)));
  for (int step = 0; step < 5; ++step) {
    auto const losses = s.run(
        [](auto& c, auto part, auto weights) {
          using Device = typename std::remove_reference_t<decltype(c)>::policy;
          bound_device<Device> const here(c.device());
          auto const off = eval(on<Device>(sum<1>(part * weights.read()) - 50., here));
          auto const slope =
              eval(on<Device>(2. * sum<0>(part * reshape(off, dextents<2>(part.extent(0), 1))) /
                                  double(part.extent(0)),
                              here));
          auto const loss = fetch(mean(off * off));
          weights.assign_sub(1e-5 * slope);
          return c.all_reduce(across::mean, loss);
        },
        x, w);
    put_number(out, losses[0]);
  }
  put(out, w.read());
  return out;
}

/// the same by an optimizer of the library, with metrics; then rows of all replicas in a loss
template <class List>
doubles learning() {
  doubles out;
  strategy<Mirrored<List>> s;
  std::int64_t const n = 4 * s.num_replicas_in_sync();
  Tensor<double, Dextents<2>, Sharded<0, List>> const x(
      uniform<double>(dextents<2>(n, 3), seed{4}));
  auto w = make_variable<on_write, aggregation::mean>(s, full<double>(dextents<1>(3), 0.25));
  nn::optimizer steps(nn::Adam{.learning_rate = 0.05}, w);
  nn::metrics::Mean mean_loss;
  nn::metrics::AUC area;
  for (int k = 0; k < 6; ++k)
    s.run(
        [&](auto& c, auto part, auto weights) {
          auto const p = named<"w">(weights.read());
          auto const loss = sum(square(sum<1>(part * p) - 1.)) / double(n);
          steps.apply_gradients(c, grad(loss, p));
          mean_loss.update_state(c, sum<1>(part) - 1.);
          area.update_state(c, cast<double>(sum<1>(part) > 1.5), sum<1>(part) / 3.);
        },
        x, w);
  put(out, w.read());
  put_number(out, mean_loss.result()), put_number(out, area.result());
  put_number(out, steps.iterations());
  auto const pulls = s.run(
      [&](auto& c, auto part, auto weights) {
        auto const p = named<"w">(weights.read());
        auto const all = nn::gathered(c, sum<1>(part * p));
        auto const h = named<"h">(all.value());
        auto const far = nn::reduced(c, across::mean, sum(part * p));
        return std::pair(all.gradient(c, eval(grad(sum(h * h), h)), p),
                         far.gradient(c, 2. * far.value(), p));
      },
      x, w);
  put(out, s.reduce(across::sum, pulls.first)), put(out, s.reduce(across::sum, pulls.second));
  return out;
}

/// rows of a table that the replicas of all ranks read: steps outside of replicas and inside
template <class List>
doubles rows_of_a_table() {
  doubles out;
  strategy<Mirrored<List>> s;
  std::int64_t const n = 3 * s.num_replicas_in_sync();
  Tensor<std::int32_t, Dextents<1>, Sharded<0, List>> const i(
      cast<std::int32_t>(floor(7. * uniform<double>(dextents<1>(n), seed{4}))));
  Tensor<double, Dextents<2>, Sharded<0, List>> const y(
      uniform<double>(dextents<2>(n, 3), seed{5}));
  auto const first = eval(uniform<double>(dextents<2>(9, 3), seed{6}));
  Tensor<double, Dextents<2>, Mirrored<List>> t(first);
  auto v = make_variable<on_write, aggregation::mean>(s, first);
  nn::Adam const adam{.learning_rate = 0.05};
  nn::optimizer outside(adam, t);
  nn::optimizer inside(adam, v);
  for (int k = 0; k < 4; ++k) {
    auto const read = eval(take(t, i));
    auto const r = named<"r">(read);
    outside.apply_gradients(nn::gradient_of_rows(i, grad(sum(square(r - y)), r)));
    s.run(
        [&](auto& c, auto which, auto want, auto table) {
          auto const mine = eval(take(table.read(), which));
          auto const m = named<"m">(mine);
          inside.apply_gradients(c, nn::gradient_of_rows(which, grad(sum(square(m - want)), m)));
        },
        i, y, v);
  }
  put(out, t), put(out, v.read());
  return out;
}

/// means: f over ranks has the numbers of one process with as many replicas, within a share of them
template <class OverRanks, class Here>
void check_as_one(OverRanks const& f, Here const& here, double within) {
  std::map<int, doubles> want;
  on_all_layouts(f, [&](std::vector<int> const& layout, doubles const& got) {
    int const n = replicas_of(layout);
    if (!want.contains(n)) {
      auto const one = testing::on_ranks(1, here, {.gpus = {n}});
      REQUIRE(one[0].error == "");
      want[n] = one[0].numbers;
    }
    REQUIRE(got.size() == want[n].size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("number ", i);
      CHECK(std::abs(got[i] - want[n][i]) <= within * std::abs(want[n][i]));
    }
  });
}

std::string said(std::vector<testing::rank_end> const& ends, int rank) {
  return ends[std::size_t(rank)].error;
}
bool has(std::string const& text, char const* part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("functions on the replicas of all ranks: sums, joins and gathers of one process") {
  check_as_one(functions<Ranks<AllGpus>>, functions<AllGpus>, 1e-15);
}

TEST_CASE("variables of a strategy over ranks") {
  check_as_one(variables<Ranks<AllGpus>>, variables<AllGpus>, 0);
}

TEST_CASE("a loop of one's own over ranks has the losses of one process") {
  check_as_one(own_loop<Ranks<AllGpus>>, own_loop<AllGpus>, 1e-12);
}

TEST_CASE("optimizers, metrics and gradients of own loops count the replicas of all ranks") {
  check_as_one(learning<Ranks<AllGpus>>, learning<AllGpus>, 1e-12);
}

TEST_CASE("rows of a table that replicas of all ranks read have the bits of one process") {
  auto const halves = [](doubles const& all) {
    auto const middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    return std::pair(doubles(all.begin(), middle), doubles(middle, all.end()));
  };
  auto const both =
      halves(testing::on_ranks(1, rows_of_a_table<AllGpus>, {.gpus = {3}})[0].numbers);
  CHECK(both.first.size() == 27);
  CHECK(both.first == both.second);
  check_as_one(rows_of_a_table<Ranks<AllGpus>>, rows_of_a_table<AllGpus>, 0);
}

TEST_CASE("a replica of another rank throws, or makes other calls: no rank waits for ever") {
  SUBCASE("an exception on one rank names the replica by its number among all") {
    auto const ends = testing::on_ranks(2,
                                        [] {
                                          config::set_collective_timeout(2);
                                          strategy<Mirrored<Ranks<AllGpus>>> s;
                                          s.run([](auto& c) {
                                            if (c.replica_id() == 3)
                                              throw std::runtime_error("planted");
                                            return c.all_reduce(across::sum, 1);
                                          });
                                          return doubles{};
                                        },
                                        {.gpus = {2, 2}});
    CHECK(said(ends, 1) == "locus: replica 3 on /GPU:1: planted");
    CHECK(has(said(ends, 0), "all_reduce"));
  }
  SUBCASE("ranks that make different calls") {
    auto const ends = testing::on_ranks(2, [] {
      strategy<Mirrored<Ranks<CpuDevice>>> s;
      s.run([](auto& c) {
        if (c.replica_id() == 0)
          c.all_reduce(across::sum, 1);
        else
          c.all_gather(full<double>(dextents<1>(2), 1.));
      });
      return doubles{};
    });
    for (int const r : {0, 1}) {
      INFO(said(ends, r));
      CHECK(has(said(ends, r), "the ranks of this program differ"));
    }
  }
  SUBCASE("tensors of different lengths") {
    auto const ends = testing::on_ranks(2, [] {
      strategy<Mirrored<Ranks<CpuDevice>>> s;
      s.run([](auto& c) {
        return c.all_reduce(across::sum, full<double>(dextents<1>(2 + c.replica_id()), 1.));
      });
      return doubles{};
    });
    CHECK(has(said(ends, 0), "all_reduce of 16 bytes"));
    CHECK(has(said(ends, 0), "all_reduce of 24 bytes"));
  }
  SUBCASE("extents that differ off the axis of a sum, one rank after another") {
    auto const ends = testing::on_ranks(3, [] {
      strategy<Mirrored<Ranks<CpuDevice>>> s;
      static constexpr int columns[] = {1, 3, 2};  // six, as three of two
      auto const parts = s.run(
          [](auto& c) { return eval(full<double>(dextents<2>(2, columns[c.replica_id()]), 1.)); });
      s.reduce(across::sum, parts, 0);
      return doubles{};
    });
    for (int const r : {0, 1, 2}) {
      INFO(said(ends, r));
      CHECK(has(said(ends, r), "the values of some ranks have other extents"));
    }
  }
  SUBCASE("extents that differ off the axis of a gather") {
    auto const ends = testing::on_ranks(2, [] {
      strategy<Mirrored<Ranks<CpuDevice>>> s;
      auto const parts =
          s.run([](auto& c) { return eval(full<double>(dextents<2>(2, 2 + c.replica_id()), 1.)); });
      s.gather(parts, 0);
      return doubles{};
    });
    for (int const r : {0, 1}) {
      INFO(said(ends, r));
      CHECK(has(said(ends, r), "tensor 1 of collective::gather has extents [2,3]"));
    }
  }
  SUBCASE("a tensor over the GPUs of one rank is none over all ranks") {
    auto const ends =
        testing::on_ranks(2,
                          [] {
                            strategy<Mirrored<Ranks<AllGpus>>> s;
                            Tensor<double, Dextents<2>, Sharded<0, AllGpus>> x(rows(8));
                            s.run([](auto part) { return fetch(sum(part)); }, x);
                            return doubles{};
                          },
                          {.gpus = {2, 2}});
    CHECK(has(said(ends, 0), "bring it over with to<...>(x)"));
  }
}

}  // namespace strategy_test

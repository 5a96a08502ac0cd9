// SPDX-License-Identifier: Apache-2.0
// The law of predictions: numbers by hand on random machines, limits, bounds, refusals.
#include <doctest/doctest.h>

#include <random>

#include <locus/predict.hpp>

#include "../../message_of.hpp"

namespace law_test {

using namespace locus;

namespace {

using dice = std::mt19937;
double drawn(dice& r, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(r);
}

/// a machine of which every constant is drawn
machines::description any_machine(dice& r, int nodes, int each) {
  machines::description m;
  m.name = "drawn", m.nodes = nodes, m.replicas_per_node = each;
  m.float_operations_per_second = {drawn(r, 1e12, 9e12), "drawn"};
  m.double_operations_per_second = {drawn(r, 1e11, 9e11), "drawn"};
  m.bytes_per_second = {drawn(r, 1e11, 9e11), "drawn"};
  m.launch_seconds = {drawn(r, 1e-6, 9e-6), "drawn"};
  m.call_seconds = {drawn(r, 1e-6, 9e-6), "drawn"};
  m.networks_per_node = {2, "drawn"};
  m.network_bytes_per_second = {drawn(r, 1e9, 9e9), "drawn"};
  m.hop_seconds = {drawn(r, 1e-6, 9e-6), "drawn"};
  if (each > 1) {
    machines::reduce_table t;
    t.replicas = each, t.source = "drawn";
    double seconds = drawn(r, 1e-6, 1e-5);
    for (double bytes = 1e3; bytes < 2e9; bytes *= 10)
      t.push(bytes, seconds), seconds += bytes * drawn(r, 1e-12, 1e-11);
    m.add(t);
  }
  return m;
}

/// a step of training: forward, backward with three buckets, updates
step_list training(dice& r) {
  step_list s(64);
  s.kernel("forward", {0, drawn(r, 1e9, 1e10)}, {drawn(r, 1e6, 1e7), drawn(r, 1e6, 1e8)});
  for (int k = 0; k < 3; ++k) {
    s.kernel("backward", {0, drawn(r, 1e9, 1e10)}, {drawn(r, 1e6, 1e7), drawn(r, 1e6, 1e8)});
    s.all_reduce(drawn(r, 1e5, 1e8));
  }
  s.update("update", drawn(r, 1e5, 1e6), drawn(r, 1e6, 1e7));
  return s;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

}  // namespace

TEST_CASE("a kernel takes the longer of its bytes and its operations, and a launch") {
  dice r(1);
  for (int k = 0; k < 50; ++k) {
    auto const m = any_machine(r, 1, 1);
    double const operations = drawn(r, 1e6, 1e11), bytes = drawn(r, 1e6, 1e10);
    step_list s(8);
    s.kernel("map", {0, operations}, {0, bytes});
    double const by_hand = std::max(operations / m.float_operations_per_second.value,
                                    bytes / m.bytes_per_second.value) +
                           m.launch_seconds.value;
    CHECK(near(predict(s, m).seconds(), by_hand));
    // half of the rows
    double const half = std::max(operations / 2 / m.float_operations_per_second.value,
                                 bytes / 2 / m.bytes_per_second.value) +
                        m.launch_seconds.value;
    CHECK(near(predict(s, m, {.rows_each = 4}).seconds(), half));
  }
}

TEST_CASE("a kernel with a speed of its own, a cache, a run of a plan") {
  dice r(2);
  auto m = any_machine(r, 1, 1);
  m.add(machines::kernel_rate{"conv2d", {1e9, "drawn"}});
  m.near_bytes_per_second = {1e12, "drawn"}, m.near_bytes = {1e6, "drawn"};
  m.run_seconds = {1e-3, "drawn"};
  step_list s(1);
  step_part conv;
  conv.name = "conv2d", conv.operations.by_rows = 1e9, conv.launches = 1, conv.begins = true;
  s.add(conv).kernel("map", {}, {0, 1e6}).kernel("map", {}, {0, 2e6});
  CHECK(near(predict(s, m).seconds(),
             1. + 3 * m.launch_seconds.value + 1e-3 + 1e6 / 1e12 + 2e6 / m.bytes_per_second.value));
}

TEST_CASE("bytes between a cache and the memory, a cache that is shared") {
  dice r(12);
  auto m = any_machine(r, 1, 4);
  m.launch_seconds = {1e-30, "drawn"};
  m.bytes_per_second = {1e10, "drawn"};
  m.near_bytes_per_second = {1e11, "drawn"}, m.near_bytes = {1e6, "drawn"};
  m.far_bytes = {3e6, "drawn"};
  auto const seconds = [&](double bytes, int replicas) {
    step_list s(1);
    s.kernel("map", {}, {0, bytes});
    return predict(s, m, {.replicas = replicas}).seconds();
  };
  CHECK(near(seconds(1e6, 1), 1e-5));
  CHECK(near(seconds(3e6, 1), 3e-4));
  CHECK(near(seconds(2e6, 1), (1e-5 + 3e-4) / 2));
  CHECK(near(seconds(4e6, 1), 4e-4));
  CHECK(near(seconds(1e6, 4), 1e-5));  // each has a cache of its own
  m.add(machines::slowdown{1, {1, "drawn"}});
  m.add(machines::slowdown{4, {2, "drawn"}});
  CHECK(near(seconds(1e6, 4), 2e-4));  // four share it: nothing helps from 0.75e6 bytes on
  m.far_bytes = {1e5, "drawn"};
  CHECK_THROWS_AS(static_cast<void>(seconds(1, 1)), configuration_error);
}

TEST_CASE("a kernel that reads more than it stores waits for its reads") {
  dice r(13);
  auto m = any_machine(r, 1, 4);
  m.launch_seconds = {1e-30, "drawn"}, m.bytes_per_second = {3e10, "drawn"};
  auto const seconds = [&](double bytes, double reads, int replicas) {
    step_list s(1);
    step_part p;
    p.name = "map", p.launches = 1, p.bytes.by_rows = bytes, p.reads.by_rows = reads;
    s.add(p);
    return predict(s, m, {.replicas = replicas}).seconds();
  };
  CHECK(near(seconds(3e6, 3e6, 1), 1e-4));  // a machine that does not tell them apart
  m.reads.push(1e6, 1e-5), m.reads.push(4e6, 4e-4), m.reads.source = "drawn";
  CHECK(near(seconds(4e6, 4e6, 1), 4e-4));
  CHECK(near(seconds(4e6, 1e6, 1), 4e6 / 3e10));  // three quarters are stored beside
  CHECK(near(seconds(3e6, 2e6, 1), 1e-4));        // as y = 2 x + y
  double const reads = 1e-5 + 3.9e-4 * 1.5 / 3;   // of 2.5e6 bytes
  CHECK(near(seconds(3e6, 2.5e6, 1), (1e-4 + reads) / 2));
  CHECK(near(seconds(2e6, 2e6, 1), 1e-5 + 3.9e-4 / 3));
  CHECK(near(seconds(8e6, 8e6, 1), 4e-4 + 3.9e-4 / 3 * 4));
  CHECK(near(seconds(1e5, 1e5, 1), 1e5 / 3e10));
  m.bytes_per_second = {1e15, "drawn"};
  CHECK(near(seconds(1e5, 1e5, 1), 1e-6));
  CHECK(near(seconds(1e6, 1e6, 4), 1e-5));  // each has a cache of its own
  m.add(machines::slowdown{1, {1, "drawn"}});
  m.add(machines::slowdown{4, {2, "drawn"}, {3, "drawn"}});
  CHECK(near(seconds(1e6, 1e6, 4), 2 * 4e-4 / 4));  // four share it
  m.near_bytes_per_second = {1e15, "drawn"}, m.near_bytes = {2e6, "drawn"};
  CHECK(near(seconds(1e6, 1e6, 4), 3 * 4e-4 / 4));  // and wait for the memory
}

TEST_CASE("reductions by hand: on a node by its table, between nodes by a ring or a tree") {
  dice r(3);
  for (int k = 0; k < 50; ++k) {
    auto const m = any_machine(r, 1 << (k % 6), 4);
    step_list s(64);
    double const bytes = drawn(r, 1e4, 1e8), kernel = drawn(r, 1e-4, 1e-2);
    s.measured("backward", kernel).all_reduce(bytes);
    auto const& t = m.reduces[0];
    int i = 1;
    while (t.at[i].bytes < bytes) ++i;
    double const slope =
        (t.at[i].seconds - t.at[i - 1].seconds) / (t.at[i].bytes - t.at[i - 1].bytes);
    double const node = t.at[i - 1].seconds + slope * (bytes - t.at[i - 1].bytes);
    double net = 0;
    if (int const h = m.nodes; h > 1) {
      double const rate = 2 * m.network_bytes_per_second.value, a = m.hop_seconds.value;
      net = std::min(2. * (h - 1) * a + 2. * (h - 1) / h * bytes / rate,
                     2. * (k % 6) * a + 2 * bytes / rate);
    }
    double const all = m.call_seconds.value + node + net;
    auto const p = predict(s, m);
    CHECK(near(p.asked.reduce_seconds, all));
    CHECK(near(p.seconds(), kernel + all));  // the reduction is the last action
    CHECK(near(p.efficiency(), kernel / (kernel + all)));
    // two of four replicas: (1/2) / (3/4) of the time
    CHECK(near(p.at(2).reduce_seconds, m.call_seconds.value + node * (0.5 / 0.75)));
  }
}

TEST_CASE("a reduction runs beside kernels; an update and a reader of its result wait for it") {
  dice r(4);
  auto m = any_machine(r, 1, 2);
  m.launch_seconds = {1e-30, "drawn"};
  step_list s(1);
  s.measured("a", 0.010).all_reduce(5e9).measured("b", 0.001);
  double const c = internal::seconds_of_reduce(m, 2, 5e9);
  REQUIRE(c > 0.001);
  CHECK(near(predict(s, m).seconds(), 0.010 + c));
  CHECK(near(predict(s, m).asked.exposed_seconds(), c - 0.001));
  s.update("update", 0, 1e3);
  double const u = 1e3 / m.bytes_per_second.value;
  CHECK(near(predict(s, m).seconds(), 0.010 + c + u));
  step_part reader;
  reader.seconds.by_rows = 0.002, reader.after = 1;
  s = step_list(1);
  s.measured("a", 0.010).all_reduce(5e9).add(reader);
  CHECK(near(predict(s, m).seconds(), 0.012 + c));
  m.overlaps = false;  // as on a host, whose thread waits
  s = step_list(1);
  s.measured("a", 0.010).all_reduce(5e9).measured("b", 0.001);
  CHECK(near(predict(s, m).seconds(), 0.011 + c));
}

TEST_CASE("exchanges: hidden by the inner rows of a kernel, or not") {
  dice r(5);
  auto m = any_machine(r, 1, 2);
  m.neighbour_bytes_per_second = {1e9, "drawn"}, m.neighbour_seconds = {1e-5, "drawn"};
  step_part rows, kernel;
  rows.kind = part_kind::exchange, rows.bytes.each = 1e6;
  kernel.seconds.by_rows = 0.005;
  double const c = m.call_seconds.value + 1e-5 + 1e-3;
  step_list s(1);
  s.add(rows).add(kernel);
  CHECK(near(predict(s, m).seconds(), 0.005 + c));
  kernel.beside = true;
  s = step_list(1);
  s.add(rows).add(kernel);
  CHECK(near(predict(s, m).seconds(), 0.005));
  CHECK(predict(s, m).asked.exchange_seconds > 0);
}

TEST_CASE("one replica has efficiency 1, bounds are in order, and more bandwidth is never slower") {
  dice r(6);
  for (int k = 0; k < 40; ++k) {
    auto m = any_machine(r, 1 + int(r() % 16), 1 + int(r() % 8));
    step_list const s = training(r);
    for (bool const strong : {false, true}) {
      auto const p = predict(s, m, {.rows_of_all = strong ? 100000 : 0});
      CHECK(p.at(1).efficiency() == 1);
      CHECK(p.at(1).efficiency_without_overlap() == 1);
      CHECK(p.at(1).efficiency_with_full_overlap() == 1);
      for (int i = 0; i < p.point_count; ++i) {
        predicted_time const& t = p.points[i];
        CHECK(t.step_seconds_with_full_overlap <= t.step_seconds * (1 + 1e-12));
        CHECK(t.step_seconds <= t.step_seconds_without_overlap * (1 + 1e-12));
        CHECK(t.efficiency_without_overlap() <= t.efficiency() * (1 + 1e-12));
        CHECK(t.efficiency() <= t.efficiency_with_full_overlap() * (1 + 1e-12));
        if (!strong) CHECK(t.efficiency_with_full_overlap() <= 1 + 1e-12);
        CHECK(t.exposed_seconds() >= -1e-15);
      }
      double before = p.seconds();
      for (int i = 0; i < 5; ++i) {
        m.network_bytes_per_second.value *= 2;
        double const now = predict(s, m, {.rows_of_all = strong ? 100000 : 0}).seconds();
        CHECK(now <= before);
        before = now;
      }
    }
  }
}

TEST_CASE("strong scaling: the rows of a replica become fewer") {
  dice r(7);
  auto m = any_machine(r, 1, 4);
  m.launch_seconds = {1e-30, "drawn"};
  step_list s(64);
  s.measured("all", 0.064);
  auto const p = predict(s, m, {.rows_of_all = 64});
  CHECK(near(p.seconds(), 0.016));
  CHECK(near(p.efficiency(), 1));
  auto const uneven = predict(s, m, {.rows_of_all = 66});  // 17 rows on the busiest of four
  CHECK(near(uneven.seconds(), 0.017));
  CHECK(near(uneven.efficiency(), 0.066 / 4 / 0.017));
  CHECK(near(predict(s, m, {.rows_each = 64}).seconds(), 0.064));
}

TEST_CASE("times that were measured on one replica replace those of the law") {
  dice r(8);
  auto const m = any_machine(r, 4, 4);
  step_list const s = training(r);
  auto const p = predict(s, m, {.seconds_on_one = 0.25});
  CHECK(near(p.at(1).step_seconds, 0.25));
  CHECK(near(p.asked.compute_seconds, 0.25));
}

TEST_CASE("processors that replicas share") {
  dice r(9);
  auto m = any_machine(r, 1, 4);
  m.add(machines::slowdown{1, {1, "measured"}});
  m.add(machines::slowdown{2, {1.1, "measured"}});
  m.add(machines::slowdown{4, {2.4, "measured"}});
  auto const slow = [&](int n) { return internal::slowdown_of(m, n); };
  CHECK(slow(1).kernels == 1);
  CHECK(near(slow(2).kernels, 1.1));
  CHECK(near(slow(3).kernels, 1.75));
  CHECK(near(slow(4).kernels, 2.4));
  CHECK(near(slow(4).memory, 2.4));
  m.shared[2].memory_factor = {5, "measured"};
  CHECK(near(slow(4).memory, 5));
  CHECK(near(slow(3).memory, (1.1 + 5) / 2));
  step_list s(4);
  s.kernel("map", {0, 1e6}, {0, 1e9}).kernel("map", {0, 1e12}, {0, 1e6});
  double const memory = 1e9 / m.bytes_per_second.value;
  double const arithmetic = 1e12 / m.float_operations_per_second.value;
  CHECK(
      near(predict(s, m).seconds(), 5 * memory + 2.4 * (arithmetic + 2 * m.launch_seconds.value)));
  m.replicas_per_node = 8, m.reduces[0].replicas = 8;
  CHECK(near(slow(8).kernels, 4.8));
  CHECK(near(slow(8).memory, 10));
}

TEST_CASE("the table of eight H200 between its rows, and the design's table") {
  auto const m = machines::hgx_h200{}.describe();
  double const mib = 1024 * 1024;
  CHECK(near(internal::seconds_on_node(m, 8, mib), 25.3e-6));
  CHECK(near(internal::seconds_on_node(m, 8, 1.5 * mib), (25.3e-6 + 40.1e-6) / 2));
  CHECK(near(internal::seconds_on_node(m, 8, 1), 17.9e-6));
  CHECK(near(internal::seconds_on_node(m, 4, mib), 25.3e-6 * (3. / 4) / (7. / 8)));
  // 102.2 MB of gradients in buckets of 25 MiB, a step of 10 ms of which two thirds are the backward
  step_list s(1);
  double const all = 102.2e6, bucket = 25 * mib;
  s.measured("forward", 0.010 / 3);
  for (double done = 0; done < all; done += bucket) {
    double const bytes = std::min(bucket, all - done);
    s.measured("backward", 0.010 * 2 / 3 * bytes / all).all_reduce(bytes);
  }
  auto const p = predict(s, machines::hgx_h200{.nodes = 128});
  CHECK(std::abs(p.at(8).efficiency() - 0.982) < 0.005);
  CHECK(std::abs(p.at(8).efficiency_without_overlap() - 0.933) < 0.01);
  CHECK(std::abs(p.at(64).efficiency() - 0.961) < 0.01);
  CHECK(std::abs(p.at(64).efficiency_without_overlap() - 0.862) < 0.01);
  CHECK(std::abs(p.at(1024).efficiency() - 0.951) < 0.01);
  CHECK(std::abs(p.at(1024).efficiency_without_overlap() - 0.830) < 0.01);
  // through the hosts it takes longer
  CHECK(predict(s, machines::hgx_h200{8, machines::between_nodes::through_hosts}).seconds() >
        predict(s, machines::hgx_h200{8}).seconds());
}

TEST_CASE("published scaling lies within the bounds") {
  // TensorFlow on a DGX-1: Inception v3, 64 images, 142 images/s on one P100, 1131 on eight: 0.996
  step_list inception(64);
  inception.measured("forward", 0.451 / 3);
  for (int k = 0; k < 4; ++k) inception.measured("backward", 0.451 / 6).all_reduce(95.2e6 / 4);
  auto const tf = predict(inception, machines::dgx1_p100{});
  CHECK(tf.efficiency_without_overlap() <= 0.996);
  CHECK(0.996 <= tf.efficiency_with_full_overlap());
  // Horovod on 128 hosts of four P100: 0.90
  auto const horovod = predict(inception, machines::p100_hosts{});
  CHECK(horovod.efficiency_without_overlap() <= 0.90);
  CHECK(0.90 <= horovod.efficiency_with_full_overlap());
}

TEST_CASE("machines that cannot be predicted are refused") {
  dice r(10);
  auto const good = any_machine(r, 2, 4);
  step_list const s = training(r);
  CHECK_NOTHROW(static_cast<void>(predict(s, good)));
  auto const says = [&](machines::description const& m, std::string const& what) {
    std::string const text =
        message_of<configuration_error>([&] { static_cast<void>(predict(s, m)); });
    CHECK_MESSAGE(text.find(what) != std::string::npos, text);
  };
  auto m = good;
  m.nodes = 0, says(m, "nodes is below 1");
  m = good, m.replicas_per_node = -1, says(m, "replicas_per_node is below 1");
  m.nodes = m.replicas_per_node = 1 << 16, says(m, "nodes is above 32,768");
  m = good, m.bytes_per_second.value = 0, says(m, "bytes_per_second is missing");
  m = good, m.bytes_per_second.value = -1, says(m, "bytes_per_second is negative");
  double const nan = std::numeric_limits<double>::quiet_NaN();
  m = good, m.launch_seconds.value = nan, says(m, "launch_seconds is no number");
  m = good, m.hop_seconds.value = std::numeric_limits<double>::infinity();
  says(m, "hop_seconds is no number");
  m = good, m.hop_seconds = {}, says(m, "hop_seconds is missing");
  m = good, m.networks_per_node = {}, says(m, "networks_per_node is missing");
  m = good, m.network_bytes_per_second = {}, says(m, "network_bytes_per_second is missing");
  m = good, m.float_operations_per_second.source = "", says(m, "has no source");
  m = good, m.reduce_count = 0, says(m, "reduces is missing");
  m = good, m.reduces[0].at[1].seconds = 0, says(m, "bytes or seconds that are no positive number");
  m = good, m.reduces[0].at[1].bytes = m.reduces[0].at[0].bytes, says(m, "bytes do not rise");
  m = good, m.reduces[0].replicas = 1, says(m, "fewer than two replicas");
  m = good, m.near_bytes_per_second = {1, "drawn"}, says(m, "near_bytes is missing");
  m = good, m.reads.push(1, 1), says(m, "reads has no source");
  m.reads.source = "drawn", m.reads.push(1, 2),
  says(m, "reads has a table whose bytes do not rise");
  m = good, m.add(machines::kernel_rate{"conv2d", {nan, "drawn"}}), says(m, "conv2d has a speed");
  m = good, m.add(machines::slowdown{2, {0, "drawn"}}), says(m, "slowdown");
}

TEST_CASE("rows and replicas that do not fit are refused") {
  dice r(11);
  auto const m = any_machine(r, 2, 4);
  step_list const s = training(r);
  auto const says = [&](predict_options const& o, std::string const& what) {
    std::string const text =
        message_of<configuration_error>([&] { static_cast<void>(predict(s, m, o)); });
    CHECK_MESSAGE(text.find(what) != std::string::npos, text);
  };
  says({.rows_of_all = 7}, "8 replicas were asked for, and the step has 7 rows");
  says({.replicas = -1}, "is negative");
  says({.rows_each = -1}, "is negative");
  says({.seconds_on_one = std::numeric_limits<double>::quiet_NaN()}, "is negative");
  says({.replicas = 1 << 30}, "more replicas were asked for than the machine has");
  says({.replicas = 9}, "more replicas were asked for than the machine has");
  CHECK(predict(s, m, {.replicas = 12}).asked.replicas == 12);  // a third node
  CHECK(predict(s, m, {.rows_of_all = 8}).point_count == 4);    // 1, 2, 4, 8 replicas
  step_list alone;
  alone.kernel("map", {1, 0}, {1, 0});
  CHECK_THROWS_AS(static_cast<void>(predict(alone, m, {.replicas = 2})), configuration_error);
  CHECK(predict(alone, m).asked.replicas == 1);
  CHECK(predict(alone, m).point_count == 1);
  CHECK_THROWS_AS(static_cast<void>(predict(alone, m).at(2)), configuration_error);
}

}  // namespace law_test

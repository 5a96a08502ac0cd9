// SPDX-License-Identifier: Apache-2.0
// Plans whose devices are known when they run: one ordinal of many, and as many GPUs as there are.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <memory>
#include <sstream>
#include <vector>

#include <locus/data/batches.hpp>
#include <message_of.hpp>

namespace open_plan_test {

using namespace locus;
using oracle::array, oracle::difference, oracle::each_index;

namespace {

using AnyGpu = GpuDevice<dyn>;
using Every = Mirrored<AllGpus>;
using Rows = Sharded<0, AllGpus>;
using Columns = Sharded<1, AllGpus>;
using Vector = Extents<dyn>;

/// what the plan says before it runs is what it does
template <class Step>
tally counted(Step const& step) {
  tally const said = tally_of(step);
  tally const did = locus::testing::count([&] { run(step); });
  CHECK(said == did);
  return did;
}
array<double> product(array<double> const& a, array<double> const& b) {
  std::int64_t const m = a.extents.extent[0], k = a.extents.extent[1], n = b.extents.extent[1];
  return oracle::make<double>({2, {m, n}}, [&](std::int64_t const* i) {
    double s = 0;
    for (std::int64_t j = 0; j < k; ++j) s += a[i[0] * k + j] * b[j * n + i[1]];
    return s;
  });
}

}  // namespace

TEST_CASE("a tensor carries its ordinal: it is computed there, copied there, assigned there") {
  on_backends([] {
    for (int k = 0; k < 4; ++k) {
      Tensor<float, Vector, AnyGpu> x(gpu(k), {1, 2, 3, 4});
      CHECK(x.device() == gpu(k));
      auto y = eval(2.f * x);
      static_assert(std::is_same_v<decltype(y)::policy, AnyGpu>);
      CHECK(y.device() == gpu(k));
      auto const step = plan(into(y, 2.f * x));
      static_assert(step.copies() == 0 && step.launches() == 1);
      counted(step);
      CHECK(fetch(y)(3) == 8);
      Tensor<float, Vector, AnyGpu> const copy = y;
      CHECK(copy.device() == gpu(k));
      CHECK(fetch(copy)(0) == 2);
    }
  });
}

TEST_CASE("containers hold tensors of many ordinals; an assigned tensor keeps its own device") {
  on_backends([] {
    std::vector<Tensor<float, Vector, AnyGpu>> all;
    for (int k = 0; k < 4; ++k) all.emplace_back(gpu(k), 3);
    Tensor<float, Vector, CpuDevice> const start{1, 2, 3};
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        all[std::size_t(a)] = to<AnyGpu>(start, a);
        tally const t = locus::testing::count([&] { all[std::size_t(b)] = all[std::size_t(a)]; });
        CHECK(t.copies == (a == b ? 0 : 1));
        CHECK(t.bytes_moved == (a == b ? 0 : 12));
        CHECK(all[std::size_t(b)].device() == gpu(b));
        CHECK(fetch(all[std::size_t(b)])(2) == 3);
        auto const there = to<AnyGpu>(all[std::size_t(a)], b);
        CHECK(there.device() == gpu(b));
        CHECK(fetch(there)(1) == 2);
      }
    all.erase(all.begin());
    std::swap(all[0], all[2]);
    CHECK(all[0].device() == gpu(3));
    Tensor<float, Vector, AnyGpu> longer(gpu(1), 5);
    longer = all[0];  // other extents: new memory, on its own device
    CHECK(longer.device() == gpu(1));
    CHECK(fetch(longer)(2) == 3);
  });
}

TEST_CASE("open devices of one expression agree, and a sentence names who does not") {
  locus::testing::simulated_gpus const four{4};
  Tensor<float, Vector, AnyGpu> one(gpu(1), {1, 2}), two(gpu(2), {3, 4});
  std::string const says = "locus: one expression on two devices of /GPU:dyn: /GPU:1 and, for ";
  CHECK(message_of([&] { static_cast<void>(eval(one + two)); }) ==
        says + "a tensor (#1), /GPU:2; bring one over first, as in to<GpuDevice<dyn>>(x, 2)");
  CHECK(message_of([&] { two = 2.f * one; }).find(says + "the destination") == 0);
  CHECK(message_of([&] {
          static_cast<void>(eval(one + on<AnyGpu>(2.f * one, 3)));
        }).find(says + "an on<>") == 0);
  auto const seen = view<AnyGpu>(two.data(), two.extents(), layout_right{}, 2);
  CHECK(message_of([&] { static_cast<void>(eval(one + seen)); }).find(says + "a view") == 0);
  CHECK(message_of([&] {
          Tensor<float, Vector, CpuDevice> const c{1};
          Tensor<float, Vector, AnyGpu> const t(c);
        }) == "locus: nothing in the expression says which device /GPU:dyn is; name it, as in "
              "to<GpuDevice<dyn>>(e, 2)");
  CHECK(fetch(eval(to<AnyGpu>(one, 2) + two))(1) == 6);
}

namespace {
/// each way to move elements of a tensor on one device of the policy to one on another
template <class Where, device (*Number)(int)>
void cross_between(int a, int b) {
  using Matrix = Tensor<double, Dextents<2>, Where>;
  using Host = Tensor<double, Dextents<2>, CpuDevice>;
  Host const from(uniform<double>(dextents<2>(7, 9), seed{3})),
      was(uniform<double>(dextents<2>(9, 7), seed{4}));
  Matrix const x = to<Where>(from, Number(a));
  Matrix const start = to<Where>(was, Number(b));
  Matrix y = start;
  REQUIRE(y.device() == Number(b));
  bool const other = a != b;
  auto moved = [&](tally const& t, std::int64_t elements) {
    CHECK(t.copies == (other ? 1 : 0));
    CHECK(t.bytes_moved == (other ? elements * 8 : 0));
  };
  auto check = [&](auto const& expected) {
    CHECK(y.device() == Number(b));
    CHECK(equal(fetch(y), expected));
    y = start;
  };
  Host h = was;
  // a block with gaps into one with gaps: a halo
  moved(counted(plan(into(slice(y, {1, 4}, {2, 7}), slice(x, {0, 3}, {4, 9})))), 15);
  run(into(slice(h, {1, 4}, {2, 7}), slice(from, {0, 3}, {4, 9})));
  check(h);
  // columns, of a transposed view
  h = was;
  moved(counted(plan(into(slice(y, {0, 9}, {6, 7}), slice(transpose(x), {0, 9}, {2, 3})))), 9);
  run(into(slice(h, {0, 9}, {6, 7}), slice(transpose(from), {0, 9}, {2, 3})));
  check(h);
  // the whole, in another order, by name and by an operator
  moved(counted(plan(into(y, transpose(x)))), 63);
  check(transpose(from));
  y = transpose(x);
  check(transpose(from));
  // a slice into a whole tensor, a whole tensor into a slice, a view of memory of the program's own
  Matrix small(Number(b), dextents<2>(3, 5));
  small = slice(x, {2, 5}, {1, 6});
  CHECK(equal(fetch(small), slice(from, {2, 5}, {1, 6})));
  Matrix part(Number(a), dextents<2>(2, 7));
  part = slice(transpose(x), {0, 2}, {0, 7});
  moved(counted(plan(into(slice(y, {5, 7}), part))), 14);
  h = was;
  run(into(slice(h, {5, 7}), fetch(part)));
  check(h);
  auto const seen = view<Where>(y.data(), dextents<2>(9, 7), layout_right{}, Number(b));
  seen = transpose(x);
  check(transpose(from));
  // no elements
  CHECK(counted(plan(into(slice(y, {2, 2}), slice(transpose(x), {3, 3})))).bytes_moved == 0);
  check(was);
  CHECK(equal(fetch(x), from));
}
}  // namespace

TEST_CASE("slices and other views cross between open devices, as whole tensors do") {
  on_backends([] {
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        CAPTURE(a);
        CAPTURE(b);
        cross_between<AnyGpu, gpu>(a, b);
      }
    cross_between<Cpu<dyn>, cpu>(0, 1);
  });
  // what is computed still wants one device
  locus::testing::simulated_gpus const two{2};
  Tensor<float, Vector, AnyGpu> x(gpu(0), {1, 2, 3}), y(gpu(1), 2);
  CHECK(message_of([&] { run(into(y, 2.f * slice(x, {1, 3}))); }).find("one expression on two") !=
        std::string::npos);
  locus::debugging::set_log_device_placement(true, log_frequency::every);
  std::ostringstream lines;
  locus::debugging::log_to(lines);
  run(into(y, slice(x, {1, 3})));
  locus::debugging::set_log_sink(nullptr);
  locus::debugging::set_log_device_placement(false);
  CHECK(lines.str().find("Copying 8 bytes (copy of slice) from device "
                         "/job:localhost/replica:0/task:0/device:GPU:0 to device "
                         "/job:localhost/replica:0/task:0/device:GPU:1") == 0);
}

TEST_CASE("the remedy for two devices of one expression is of the kind that it names") {
  Tensor<float, Vector, Cpu<dyn>> const a(cpu(0), {1, 2}), b(cpu(1), {3, 4});
  CHECK(message_of([&] { static_cast<void>(eval(a + b)); }) ==
        "locus: one expression on two devices of /CPU:dyn: /CPU:0 and, for a tensor (#1), /CPU:1; "
        "bring one over first, as in to<Cpu<dyn>>(x, 1)");
  CHECK(fetch(eval(a + to<Cpu<dyn>>(b, 0)))(1) == 6);
  CHECK(message_of([&] {
          Tensor<float, Vector, CpuDevice> const c{1};
          Tensor<float, Vector, Cpu<dyn>> const t(2.f * c);
        }) == "locus: nothing in the expression says which device /CPU:dyn is; name it, as in "
              "to<Cpu<dyn>>(e, 2)");
}

TEST_CASE("a request at run time is where the step runs, and its value lies there") {
  on_backends([](backends::machine const& m) {
    Tensor<float, Vector, CpuDevice> const c{1, 2, 3};
    for (int k = 0; k < 4; ++k) {
      auto const y = eval(on<AnyGpu>(2.f * c, k));
      CHECK(y.device() == gpu(k));
      CHECK(fetch(y)(2) == 6);
    }
    if (m.has_gpu())
      CHECK(message_of([&] { static_cast<void>(eval(on<AnyGpu>(2.f * c, -1))); }) !=
            nothing_thrown);
  });
}

TEST_CASE("an open device that meets a known one: copies where they differ, none where not") {
  on_backends([] {
    Tensor<float, Vector, GpuDevice<1>> const known =
        to<GpuDevice<1>>(Tensor<float, Vector, CpuDevice>{1, 2, 3});
    for (int k = 0; k < 3; ++k) {
      Tensor<float, Vector, AnyGpu> x(gpu(k), {10, 20, 30}), y(gpu(k), 3);
      tally const t = counted(plan(into(y, x + known)));
      CHECK(t.copies == (k != 1));
      CHECK(t.bytes_moved == (k != 1 ? 12 : 0));
      CHECK(fetch(y)(2) == 33);
    }
  });
}

TEST_CASE("a view of an open device may be the memory of a known one: what is read is set aside") {
  on_backends([] {
    Tensor<float, Vector, GpuDevice<0>> t =
        to<GpuDevice<0>>(Tensor<float, Vector, CpuDevice>{1, 2, 3, 4, 5});
    auto const front = view<AnyGpu>(t.data(), Vector(4), layout_right{}, 0);
    auto const back = view<GpuDevice<0>>(t.data() + 1, Vector(4));
    run(into(back, 10.f * front));
    auto const now = fetch(t);
    for (int i = 0; i < 5; ++i) CHECK(now(i) == (i == 0 ? 1 : 10 * i));
  });
}

TEST_CASE(
    "all GPUs: as many replicas as there are, pieces of every cut, the values of one device") {
  on_backends([](backends::machine const& m) {
    oracle::random r(m.seed + 3);
    int const replicas = m.gpus ? m.gpus : 1;
    for (std::int64_t const n : {7, 2, 33}) {
      auto const a = oracle::random_array<double>(r, {2, {n, 6}}, -4, 4);
      auto const b = oracle::random_array<double>(r, {2, {6, 3}}, -4, 4);
      auto const x = to<Rows>(oracle::tensor<2>(a));
      auto const w = to<Every>(oracle::tensor<2>(b));
      CHECK(x.replica_count() == replicas);
      CHECK(w.device(replicas - 1) == (m.gpus ? gpu(m.gpus - 1) : cpu(0)));

      CHECK(difference(fetch(x), a, 0, 0) == "");
      auto const ab = product(a, b);
      CHECK(difference(fetch(matmul(x, w)), ab, 1e-13, 1e-12) == "");
      // rows of a fold, their numbers, terms, and what follows them
      auto const largest = fetch(argmax<0>(x));
      auto const scaled = fetch(x / sum<1>(abs(x), keep_dims));
      auto const means = fetch(mean<0>(x));
      for (std::int64_t j = 0; j < 6; ++j) {
        double total = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          REQUIRE(a[largest(j) * 6 + j] >= a[i * 6 + j]);
          total += a[i * 6 + j];
        }
        CHECK(std::fabs(means(j) - total / double(n)) < 1e-12);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        double norm = 0;
        for (std::int64_t j = 0; j < 6; ++j) norm += std::fabs(a[i * 6 + j]);
        for (std::int64_t j = 0; j < 6; ++j)
          REQUIRE(std::fabs(scaled(i, j) - a[i * 6 + j] / norm) < 1e-14);
      }
      // a gradient's plan: terms of all replicas, an update of every copy
      auto updated = to<Every>(oracle::tensor<2>(b));
      auto const step = plan(into(updated, updated - 0.5 * matmul(transpose(x), matmul(x, w))));
      static_assert(step.all_reduces() == 1 && step.launches() == 3 && step.copies() == 0);
      tally const t = counted(step);
      CHECK(t.bytes_reduced == 6 * 3 * 8);
      auto const now = fetch(updated);
      for (std::int64_t i = 0; i < 6; ++i)
        for (std::int64_t j = 0; j < 3; ++j) {
          double gradient = 0;
          for (std::int64_t k = 0; k < n; ++k) gradient += a[k * 6 + i] * ab[k * 3 + j];
          REQUIRE(std::fabs(now(i, j) - (b[i * 3 + j] - 0.5 * gradient)) < 1e-9);
        }
    }
  });
}

TEST_CASE("all GPUs: what crosses devices depends on how many there are, and is counted") {
  on_backends([](backends::machine const& m) {
    std::int64_t const gpus = m.gpus, replicas = gpus ? gpus : 1, bytes = 5 * 4 * 8;
    auto const a = oracle::make<double>(
        {2, {5, 4}}, [](std::int64_t const* i) { return double(10 * i[0] + i[1]); });
    auto const host = oracle::tensor<2>(a);
    Tensor<double, Dextents<2>, Every> whole{5, 4};
    Tensor<double, Dextents<2>, Rows> rows{5, 4};
    Tensor<double, Dextents<2>, Columns> columns{5, 4};
    Tensor<double, Dextents<2>, GpuDevice<0>> first{5, 4};
    auto moved = [&](auto const& step, std::int64_t copies, std::int64_t of_bytes) {
      tally const t = counted(step);
      CHECK(t.copies == copies);
      CHECK(t.bytes_moved == of_bytes);
    };
    moved(plan(into(whole, host)), gpus, bytes * gpus);
    moved(plan(into(rows, host)), gpus, gpus ? bytes : 0);
    moved(plan(into(columns, whole)), 0, 0);
    CHECK(difference(fetch(columns), a, 0, 0) == "");
    moved(plan(into(first, rows)), gpus ? gpus - 1 : 1,
          gpus ? bytes - piece_size(5, int(gpus), 0) * 32 : bytes);
    CHECK(difference(fetch(first), a, 0, 0) == "");
    whole = 0.0 * whole;
    moved(plan(into(whole, rows)), replicas * (replicas - 1), bytes * (replicas - 1));
    CHECK(difference(fetch(whole), a, 0, 0) == "");
    moved(plan(into(first, whole)), gpus == 0, gpus ? 0 : bytes);
    columns = columns + whole;
    CHECK(fetch(columns)(4, 3) == 86);
    // two folds of one kernel, each over its piece of the rows
    auto const twice = fetch(sum<1>(columns) + sum<1>(columns));
    for (int i = 0; i < 5; ++i) CHECK(twice(i) == 4 * (40 * i + 6));
  });
}

TEST_CASE("batches are cut over all GPUs, and a device list has at most eight") {
  for (int const gpus : {0, 3, 12}) {
    std::unique_ptr<locus::testing::simulated_gpus> machine;
    if (gpus) machine = std::make_unique<locus::testing::simulated_gpus>(gpus);
    Tensor<double, Dextents<2>> const x{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
    auto const batches = data::batches({.batch_size = 4, .shuffle = false}, x);
    double total = 0, rows = 0;
    for (auto const& [part] : distribute<Every>(batches)) {
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(part)>::policy, Rows>);
      CHECK(part.replica_count() == (gpus == 0 ? 1 : gpus == 3 ? 3 : 8));
      total += fetch(sum(part));
      rows += global_batch(part);
    }
    CHECK(total == 55);
    CHECK(rows == 5);
  }
}

}  // namespace open_plan_test

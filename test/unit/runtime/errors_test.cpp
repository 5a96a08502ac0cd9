// SPDX-License-Identifier: Apache-2.0
// Bad input while a program runs: the message names the thing and the remedy, nothing has changed,
// and the program goes on.
#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <iostream>
#include <optional>
#include <string>

#include <locus/data/batches.hpp>
#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"
#include <message_of.hpp>

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using G2 = GpuDevice<2>;
using Vector = Tensor<float, Dextents<1>>;
using Matrix = Tensor<float, Dextents<2>>;

bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

struct throwing_fn {
  static constexpr auto name = "throwing";
  static constexpr auto kernels = on_cpu;
  float operator()(float v) const {
    if (v > 2) throw std::runtime_error("from a functor");
    return v;
  }
};
/// on a simulated GPU it throws when its queue runs, which is late
struct throwing_late_fn : throwing_fn {
  static constexpr auto kernels = on_both;
};

}  // namespace

TEST_CASE("shapes that do not fit: the operation and both shapes") {
  Matrix a(2, 3), b(4, 2);
  Vector v(5);
  auto const shapes = [](auto&& f) { return message_of<shape_error>(f); };
  auto const both = [](char const* op) {
    return "locus: the shapes of the operands of '" + std::string(op) +
           "' (step 2) do not fit: [2,3] and [4,2]; reshape or slice one of them";
  };
  CHECK(shapes([&] { return eval(matmul(a, b)); }) == both("matmul"));
  CHECK(shapes([&] { return eval(a + b); }) == both("add"));
  CHECK(shapes([&] { a = b * 2.f; }) ==
        "locus: a value with extents [4,2] is assigned to a tensor with extents [2,3]; make the "
        "tensor as large, or slice it");
  CHECK(shapes([&] { return eval(concatenate<0>(a, b)); }) == both("concatenate"));
  CHECK(shapes([&] { return eval(reshape(v, dextents<2>{2, 3})); }) ==
        "locus: the shapes of the operands of 'reshape' (step 1) do not fit: [5] into [2,3]; both "
        "must have as many elements");
  CHECK(shapes([&] { return eval(slice(v, {1, 7})); }) ==
        "locus: 'slice' (step 1) of extents [5] takes the range from 1 to 7 of axis 0; it must lie "
        "inside its axis");
  CHECK(shapes([&] { return eval(slice(a, all_of, {4, range::to_end})); }) ==
        "locus: 'slice' (step 1) of extents [2,3] takes the range from 4 to the end of axis 1; it "
        "must lie inside its axis");
  CHECK(shapes([] { return Vector(-3); }) ==
        "locus: extents [-3] do not fit [?]; give one number of at least 0 for each open extent");
  CHECK(shapes([] { return Matrix{{1, 2}, {3}}; }) ==
        "locus: rows of a nested list differ in length: 2 and 1 elements along axis 1; write as "
        "many in each");
  CHECK(shapes([&] { v = {1, 2}; }) ==
        "locus: a nested list with extents [2] is assigned to a tensor with extents [5]; write as "
        "many elements");
  CHECK(message_of<bad_access>([&] { a(1, 3) = 0; }) ==
        "locus: index 3 of axis 1 is outside extents [2,3]");
}

TEST_CASE("a plan whose shapes do not fit has written nothing") {
  Vector a{1, 2, 3}, b{1, 2, 3};
  Vector const c{1, 2};
  CHECK_THROWS_AS(run(plan(into(a, a * 2.f), into(b, b + c))), shape_error);
  CHECK_THROWS_AS(run(plan(into(a, a * 2.f), into(b, c * 2.f))), shape_error);
  CHECK(a(0) == 1);
  CHECK(b(2) == 3);
}

TEST_CASE("nothing: sums of it are 0, extrema an error, and it can be mapped and moved") {
  Vector none(0);
  Matrix rows(0, 3), columns(3, 0);
  CHECK(fetch(sum(none)) == 0);
  CHECK(fetch(all(none > 0.f)));
  CHECK_FALSE(fetch(any(none > 0.f)));
  CHECK(std::isnan(fetch(mean(none))));
  for (auto const& text : {message_of<shape_error>([&] { return fetch(max(none)); }),
                           message_of<shape_error>([&] { return fetch(min(none)); }),
                           message_of<shape_error>([&] { return fetch(argmax(none)); })})
    CHECK(
        has(text, "' (step 1) over no elements: its operand has extents [0]; skip empty tensors"));
  CHECK(eval(none * 2.f + none).size() == 0);
  CHECK(eval(softmax(rows)).size() == 0);
  auto const product = fetch(matmul(columns, rows));
  CHECK(product.size() == 9);
  CHECK(fetch(sum(product)) == 0);
  CHECK(eval(matmul(rows, columns)).size() == 0);
  CHECK(fetch(sum<0>(rows)).size() == 3);
  auto const copy = none;
  CHECK(copy.size() == 0);
  CHECK(to<CpuDevice>(to<Sharded<0, G0, G1>>(rows)).extent(1) == 3);
}

TEST_CASE("a tensor that died or was moved from is named") {
  auto const gone =
      "locus: operand #0 of the expression, a Tensor of float[?] on /CPU:0, has died, was moved "
      "from, resized or swapped; keep it as it is until the expression ran, or move it into the "
      "expression";
  auto const moved =
      "locus: a Tensor of float[?] on /CPU:0 was moved from and is used again; assign a tensor to "
      "it first";
  std::optional<Vector> dies(Vector{1, 2});
  auto const late = *dies * 2.f;
  CHECK(fetch(sum(late)) == 6);
  dies.reset();
  CHECK(message_of<bad_access>([&] { return fetch(late); }) == gone);
  Vector resized{1, 2}, swapped{1, 2}, other{1, 2};
  auto const of_resized = resized * 2.f, of_swapped = swapped * 2.f;
  resized.resize(3), swap(swapped, other);
  CHECK(message_of<bad_access>([&] { return fetch(of_resized); }) == gone);
  CHECK(message_of<bad_access>([&] { return fetch(of_swapped); }) == gone);

  Vector a{1, 2};
  auto const view_of_a = a + 1.f;
  Vector b = std::move(a);
  CHECK(message_of<bad_access>([&] { return fetch(view_of_a); }) == gone);
  CHECK(message_of<bad_access>([&] { return fetch(a + b); }) == gone);
  CHECK(message_of<bad_access>([&] { return a.extent(0); }) == moved);
  CHECK(message_of<bad_access>([&] { a = b * 2.f; }) == moved);
  CHECK(message_of<bad_access>([&] { return Vector(a); }) == moved);
  CHECK(message_of<bad_access>([&] { run(into(a, b + 1.f)); }) == moved);
  a = b;  // a tensor again
  CHECK(fetch(sum(a)) == 3);

  auto const owns = Vector{3, 4} * 2.f;  // an rvalue is owned
  CHECK(fetch(sum(owns)) == 14);
}

TEST_CASE("a malformed device name: what is wrong with it and what to write") {
  struct {
    char const *name, *why;
  } const names[] = {
      {"", "names no device type; write \"/GPU:0\" or \"/CPU:0\""},
      {"GPU", "has no type and number; write \"/GPU:0\" or \"GPU:0\""},
      {"/GPU", "has a part without a proper value; write \"/device:GPU:0\""},
      {"/GPU:x", "has an ordinal that is no number from 0; write \"/GPU:0\""},
      {"/device:GPU:-1", "has an ordinal that is no number from 0; write \"/GPU:0\""},
      {"/device:TPU:0", "has an unknown type; write \"/GPU:0\" or \"/CPU:0\""},
      {"/TPU:0", "has an unknown part; write \"/device:GPU:0\""},
      {"/GPU:100", "has an ordinal above 99; write \"/GPU:0\""},
      {"/job:worker/GPU:0", "names another process; this one is /job:localhost/replica:0/task:0"},
  };
  for (auto const& [name, why] : names) {
    auto const expected = "locus: the device name \"" + std::string(name) + "\" " + why;
    CHECK(message_of<unknown_device>([&, n = name] { return device_named(n); }) == expected);
    CHECK(message_of<unknown_device>([&, n = name] { return config::get_memory_info(n); }) ==
          expected);
  }
  CHECK(device_named("gpu:1") == gpu(1));
}

TEST_CASE("without soft placement a missing GPU is an error that lists what is there") {
  auto const asks = [](std::string const& who, int line) {
    return "; " + who + " asks for it at " + __FILE__ + ":" + std::to_string(line);
  };
  auto const ask = [] { return Tensor<float, Extents<6>, GpuDevice<5>>(); };
  int const asked = __LINE__ - 1;
  config::set_soft_device_placement(false);
  CHECK_FALSE(config::get_soft_device_placement());
  CHECK(message_of<unknown_device>(ask) ==
        "locus: there is no /GPU:5: this program was built without CUDA; compile a unit with nvcc "
        "and <locus/cuda.cuh> (present: /CPU:0)" +
            asks("a Tensor", asked));
  {
    testing::simulated_gpus const gpus(2);
    std::string const missing =
        "locus: there is no /GPU:5: name one that is there (present: /CPU:0, /GPU:0, /GPU:1)";
    CHECK(message_of<unknown_device>(ask) == missing + asks("a Tensor", asked));
    Vector const c{1, 2};
    auto const evaluate = [&] { return eval(on<GpuDevice<5>>(c * 2.f)); };
    CHECK(message_of<unknown_device>(evaluate) ==
          missing + asks("'multiply' (step 2)", __LINE__ - 2));
    CHECK(fetch(sum(on<G1>(c * 2.f))) == 6);
  }
  config::set_soft_device_placement(true);
  CHECK(fetch(sum(Tensor<float, Extents<2>, GpuDevice<5>>{1, 2})) == 3);
}

TEST_CASE("memory beyond a limit: device, requested, in use, limit; then the program goes on") {
  testing::simulated_gpus const gpus(2, {.memory_limit = 8192});
  auto const in_use = [] { return config::get_memory_info<G0>().current; };
  {
    Tensor<float, Dextents<1>, G0> a(1000);
    CHECK(in_use() == 4096);
    CHECK(message_of<out_of_memory>([] { Tensor<float, Dextents<1>, G0> b(1100); }) ==
          "locus: no memory on /GPU:0 for a tensor of float[1100]: requested 4608 bytes, in use "
          "4096, limit 8192; free tensors, or cut the problem into smaller parts");
    CHECK(in_use() == 4096);
    // a mirrored tensor that one device cannot hold leaves nothing on the others
    CHECK_THROWS_AS((Tensor<float, Dextents<1>, Mirrored<G1, G0>>(1100)), out_of_memory);
    CHECK(config::get_memory_info<G1>().current == 0);
    Tensor<float, Dextents<1>, G0> rest(1024);
    CHECK(in_use() == 8192);
  }
  CHECK(in_use() == 0);
  CHECK(config::get_memory_info<G0>().peak == 8192);
  CHECK_NOTHROW((Tensor<float, Dextents<1>, G0>(2048)));
}

TEST_CASE("a plan whose temporaries do not fit has changed nothing") {
  testing::simulated_gpus const gpus(1, {.memory_limit = 8192});
  Tensor<float, Dextents<2>, G0> a(20, 20), b(20, 20);
  Tensor<float, Dextents<2>> host(20, 20);
  for (int i = 0; i < 400; ++i) host.data()[i] = float(i);
  a = host, b = host;
  auto const held = config::get_memory_info<G0>().current;
  std::optional<Tensor<float, Dextents<1>, G0>> filler((8192 - held) / 4);
  auto const step = plan(into(b, b + 1.f), into(a, matmul(a, matmul(a, a))));
  auto const text = message_of<out_of_memory>([&] { run(step); });
  CHECK(text.starts_with("locus: no memory on /GPU:0 for the temporaries of a plan, most of all "
                         "those of step "));
  CHECK(has(text, "(matmul): requested "));
  CHECK(has(text, "in use 8192, limit 8192; free tensors"));
  auto const same = [&](auto const& t) {
    auto const now = to<CpuDevice>(t);
    return std::equal(now.data(), now.data() + 400, host.data());
  };
  CHECK(same(a));
  CHECK(same(b));
  CHECK(config::get_memory_info<G0>().current == 8192);
  filler.reset();
  CHECK_NOTHROW(run(step));
  CHECK_FALSE(same(a));
}

TEST_CASE("memory to pack a value, or to set it aside, is obtained before anything is written") {
  testing::simulated_gpus const gpus(2, {.memory_limit = 1 << 16});
  Tensor<float, Dextents<2>> const host(uniform<float>(dextents<2>{30, 40}, seed{1}));
  Tensor<float, Dextents<2>, G0> a(to<G0>(host)), b(a * 2.f), square(slice(a, {0, 30}, {0, 30}));
  Tensor<float, Dextents<2>> first(host), turned(40, 30);
  Tensor<float, Dextents<2>, Sharded<1, G0, G1>> cut(to<Sharded<1, G0, G1>>(host));
  auto const pack = plan(into(first, on<G0>(a + 1.f)), into(turned, transpose(on<G0>(a * 2.f))));
  auto const gather = plan(into(b, a + 1.f), into(first, cut));
  auto const turn = plan(into(b, b + 1.f), into(square, transpose(square)));
  auto const in_use = [] { return config::get_memory_info<G0>().current; };
  auto const check = [&](auto const& step, bool packs) {
    auto const held = in_use();
    config::reset_memory_stats<G0>();
    auto const b_before = to<CpuDevice>(b);
    auto const first_before = first;
    run(step);
    auto const needed = config::get_memory_info<G0>().peak - held;
    CHECK(in_use() == held);
    CHECK((needed > 0) == packs);
    for (std::int64_t lacks = 256; lacks <= needed; lacks += 256) {  // wherever it is not enough
      b = b_before, first = first_before;
      Tensor<float, Dextents<1>, G0> filler(((1 << 16) - in_use() - needed + lacks) / 4);
      CHECK_THROWS_AS(run(step), out_of_memory);
      CHECK(equal(to<CpuDevice>(b), b_before));
      CHECK(equal(first, first_before));
    }
    b = b_before, first = first_before;
    Tensor<float, Dextents<1>, G0> filler(((1 << 16) - in_use() - needed) / 4);
    CHECK_NOTHROW(run(step));
  };
  check(pack, true);
  CHECK(equal(turned, transpose(host) * 2.f));
  check(gather, false);  // the host packs
  CHECK(equal(first, host));
  check(turn, true);
}

TEST_CASE("a host that is asked for more than it has refuses, and works on") {
  for (std::int64_t const n : {std::int64_t(1) << 50, INT64_MAX / 4, INT64_MAX}) {
    auto const text = message_of<error>([n] { return Vector(n); });
    CAPTURE(text);
    CHECK(text.starts_with("locus: "));
    CHECK(has(text, std::to_string(n)));
  }
  CHECK(fetch(sum(Vector{1, 2})) == 3);
}

TEST_CASE("a functor that throws drains its plan, and everything works on") {
  auto const story = [](auto functor) {
    Tensor<float, Extents<3>, G0> x{1, 2, 3}, y{7, 7, 7};
    Tensor<float, Extents<3>, G1> z{1, 1, 1};
    auto const attempt = [&] {
      run(plan(into(y, on<G0>(z * 2.f) + map(functor, x)), into(z, on<G1>(x * 3.f))));
      return fetch(y);
    };
    CHECK_THROWS_WITH_AS(static_cast<void>(attempt()), "from a functor", std::runtime_error);
    x = x - 1.f;
    y = y * 0.f;
    z = Tensor<float, Extents<3>, G1>{1, 1, 1};
    auto const right = attempt();
    CHECK(right(0) == 2);
    CHECK(right(2) == 4);
    CHECK(fetch(sum(z)) == 9);
  };
  auto const everywhere = [&] {
    story(throwing_fn{});
    story(throwing_late_fn{});
  };
  everywhere();
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    testing::simulated_gpus const gpus(2, {.seed = seed});
    everywhere();
    CHECK(config::get_memory_info<G0>().current == 0);
    CHECK(config::get_memory_info<G1>().current == 0);
  }
}

TEST_CASE("labels outside of the classes are rows of zeros, unless the program asks") {
  Tensor<std::int32_t, Extents<3>> const label{-1, 2, 7};
  auto const rows = fetch(one_hot<3>(label));
  CHECK(fetch(sum(rows)) == 1);
  CHECK(rows(1, 2) == 1);
  CHECK(message_of<shape_error>([&] { data::require_labels(label, 3); }) ==
        "locus: label -1 of record 0 is outside [0, 3); drop the record or name more classes");
}

TEST_CASE("devices do not change while tensors live") {
  Vector a{1};
  CHECK(message_of<configuration_error>([] { testing::simulated_gpus const gpus(2); }) ==
        "locus: 1 tensors are alive while the devices change; end them first");
  CHECK(fetch(sum(a)) == 1);
  for (int const n : {0, -1, 17})
    CHECK(message_of<configuration_error>([n] { testing::simulated_gpus const gpus(n); }).size() >
          0);
}

TEST_CASE("what the environment says" * doctest::skip()) {
  try {
    std::vector<float> big(1 << 22, 1.f);
    auto const x = view<CpuDevice>(big.data(), Extents<dyn>(shape{1, {1 << 22}}));
    std::cout << "sum " << fetch(sum(x)) << ", GPUs " << runtime::devices().gpus << "\n";
  } catch (configuration_error const& e) {
    std::cout << e.what() << "\n";
  }
}
TEST_CASE("environment variables with bad values are refused by name") {
  for (char const* bad : {"x", "3x", "-1", "17", " ", "1e1", "99999999999999999999"}) {
    CAPTURE(bad);
    auto const gpus =
        child::run("what the environment says", {std::string("LOCUS_SIMULATED_GPUS=") + bad});
    CHECK(gpus.says("locus: LOCUS_SIMULATED_GPUS is \"" + std::string(bad) +
                    "\"; write a number from 0 to 16\n"));
  }
  for (char const* bad : {"two", "-2", "1.5"}) {
    CAPTURE(bad);
    auto const threads =
        child::run("what the environment says", {std::string("LOCUS_NUM_THREADS=") + bad});
    CHECK(threads.says("locus: LOCUS_NUM_THREADS is \"" + std::string(bad) + "\"; write a number"));
  }
  auto const good =
      child::run("what the environment says", {"LOCUS_SIMULATED_GPUS=3", "LOCUS_NUM_THREADS=1"});
  CHECK(good.says("sum 4.1943e+06, GPUs 3"));
  CHECK(child::run("what the environment says", {"LOCUS_SIMULATED_GPUS="}).says("GPUs 0"));
  CHECK(child::run("what the environment says", {"LOCUS_CBLAS=/nowhere/libcblas.so"}).code == 0);
}

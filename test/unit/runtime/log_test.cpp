// SPDX-License-Identifier: Apache-2.0
// The placement log, line by line, and what is said where a GPU is not there.
#include <cstdio>
#include <doctest/doctest.h>
#include <string>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;

struct legacy_fn {
  static constexpr auto name = "legacy";
  static constexpr auto kernels = on_cpu;
  float operator()(float v) const { return v + 1; }
};

/// what f writes to stderr under the placement log
template <class F>
std::string log_of(log_frequency how_often, F&& f) {
  std::FILE* const file = std::tmpfile();
  int const before = dup(2);
  dup2(fileno(file), 2);
  debugging::set_log_device_placement(true, how_often);
  f();
  debugging::set_log_device_placement(false);
  dup2(before, 2), close(before);
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
  std::fclose(file);
  return text;
}
std::string full(char const* device) {
  return std::string("/job:localhost/replica:0/task:0/device:") + device;
}
std::string copy_line(char const* what, char const* from, char const* to) {
  return std::string("Copying ") + what + " from device " + full(from) + " to device " + full(to) +
         "\n";
}
std::string op_line(char const* what, char const* device) {
  return std::string("Executing op ") + what + " in device " + full(device) + "\n";
}
constexpr auto every = log_frequency::every;

void multiply_on_missing_gpu() {
  Tensor<float, Extents<2, 2>> a{{1, 2}, {3, 4}};
  CHECK(fetch(eval(matmul(a, a)))(0, 0) == 7);
  CHECK(fetch(eval(matmul(a, a)))(0, 0) == 7);
}

}  // namespace

TEST_CASE("operations, copies and creations are named with their devices") {
  testing::simulated_gpus const gpus(2);
  Tensor<float, Extents<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
  Tensor<float, Extents<3, 2>> b{{1, 2}, {3, 4}, {5, 6}};
  CHECK(log_of(every, [&] { auto const c = eval(matmul(a, b)); }) ==
        "Creating a Tensor of float[2,2] on /GPU:0\n" +
            copy_line("24 bytes (copy of leaf)", "CPU:0", "GPU:0") +
            copy_line("24 bytes (copy of leaf)", "CPU:0", "GPU:0") + op_line("MatMul", "GPU:0"));
  Tensor<float, Extents<3>, G0> x{1, 2, 3};
  CHECK(log_of(every, [&] { x = 2.f * x + x; }) ==
        op_line("Mul", "GPU:0") + op_line("AddV2", "GPU:0"));
  CHECK(log_of(every,
               [&] {
                 auto const m = to<Pair>(x);
                 auto const copy = m;
               }) == "Creating a Tensor of float[3] on mirrored(/GPU:0 /GPU:1)\n" +
                         copy_line("12 bytes (broadcast of leaf)", "GPU:0", "GPU:1") +
                         "Creating a Tensor of float[3] on mirrored(/GPU:0 /GPU:1)\n"
                         "Copying a Tensor of float[3], 12 bytes, on /GPU:0\n"
                         "Copying a Tensor of float[3], 12 bytes, on /GPU:1\n");
}

TEST_CASE("an operation without a GPU kernel says what was asked for and why it is elsewhere") {
  testing::simulated_gpus const gpus(1);
  Tensor<float, Extents<3>, G0> x{1, 2, 3};
  CHECK(log_of(every, [&] { auto const y = eval(on<G0>(map(legacy_fn{}, x) * 2.f)); }) ==
        "Creating a Tensor of float[3] on /GPU:0\n" +
            copy_line("12 bytes (copy of leaf)", "GPU:0", "CPU:0") +
            "Executing op legacy in device " + full("CPU:0") +
            " (asked for /GPU:0: 'legacy' has no GPU kernel)\n" +
            copy_line("12 bytes (copy of legacy)", "CPU:0", "GPU:0") + op_line("Mul", "GPU:0"));
}

TEST_CASE("collectives say what, how many, over which devices and how") {
  auto const story = [] {
    Tensor<float, Dextents<2>, Rows> x(to<Rows>(Tensor<float, Dextents<2>>{{1, 2, 3}, {4, 5, 6}}));
    Tensor<float, Dextents<1>, Pair> a(3), b(3);
    Tensor<float, Dextents<1>, Rows> c(3);
    return log_of(every, [&] {
      run(plan(into(a, sum<0>(x)), into(b, sum<0>(x * x))));
      c = sum<0>(x);
    });
  };
  auto const has = [](std::string const& text, std::string const& line) {
    return text.find(line + "\n") != text.npos;
  };
  std::string const bucket =
      "Collective all_reduce of 2 tensors, 24 bytes, over 2 devices (/GPU:0 /GPU:1), by ";
  {
    testing::simulated_gpus const gpus(2);
    auto const text = story();
    CAPTURE(text);
    CHECK(has(text, bucket + "copies and a fold on the host"));
    CHECK(has(text, "Collective reduce_scatter of 1 tensor, 12 bytes, over 2 devices (/GPU:0 "
                    "/GPU:1), by copies and a fold on the host"));
  }
  {
    testing::simulated_gpus const gpus(2, {.cards = 1});
    CHECK(has(story(), bucket + "a fold in the card"));
  }
  CHECK(has(story(), bucket + "a fold on the host"));
}

TEST_CASE("a call site speaks once by default, every time on request, and then not at all") {
  testing::simulated_gpus const gpus(1);
  Tensor<float, Extents<3>, G0> x{1, 2, 3};
  auto const thrice = [&] {
    for (int i = 0; i < 3; ++i) x = x / 2.f;
  };
  auto const line = op_line("RealDiv", "GPU:0");
  CHECK(log_of(log_frequency::once, thrice) == line);
  CHECK(log_of(log_frequency::once, thrice).empty());
  CHECK(log_of(every, thrice) == line + line + line);
  CHECK(log_of(log_frequency::off, thrice).empty());
}

TEST_CASE("a log of a program on missing GPUs" * doctest::skip()) {
  debugging::set_log_device_placement(true);
  multiply_on_missing_gpu();
}
TEST_CASE("a program on missing GPUs" * doctest::skip()) {
  multiply_on_missing_gpu();
  Tensor<float, Extents<2>, G1> x{1, 2};
  for (int i = 0; i < 3; ++i) x = x * 2.f;
}

TEST_CASE("a missing GPU is named once on stderr with the cause, unless LOCUS_QUIET is set") {
  std::string const cause =
      "this program was built without CUDA; compile a unit with nvcc and <locus/cuda.cuh>";
  auto const loud = child::run("a program on missing GPUs");
  CHECK(loud.code == 0);
  CHECK(loud.count("locus: ") == 2);
  CHECK(loud.count("locus: /GPU:0 is not there, its steps run on the host: " + cause + "\n") == 1);
  CHECK(loud.count("locus: /GPU:1 is not there, its steps run on the host: " + cause + "\n") == 1);
  for (char const* no : {"LOCUS_QUIET=", "LOCUS_QUIET=0"})
    CHECK(child::run("a program on missing GPUs", {no}).count("locus: ") == 2);
  auto const quiet = child::run("a program on missing GPUs", {"LOCUS_QUIET=1"});
  CHECK(quiet.code == 0);
  CHECK(quiet.count("locus: ") == 0);

  auto const log = child::run("a log of a program on missing GPUs");
  CHECK(log.says("Executing op MatMul in device " + full("CPU:0") + " (asked for /GPU:0: " + cause +
                 ")\n"));
  CHECK(log.says("(skipped: both are host memory)\n"));
}

TEST_CASE("a GPU that is not among those that are there runs on one of them, visibly") {
  auto const seen = child::run("a program on missing GPUs", {"LOCUS_SIMULATED_GPUS=1"});
  CHECK(seen.code == 0);
  CHECK(seen.count("locus: ") == 1);
  CHECK(seen.count("locus: /GPU:1 is not there, its steps run on /GPU:0's card\n") == 1);
}

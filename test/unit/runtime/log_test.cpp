// SPDX-License-Identifier: Apache-2.0
// The placement log, line by line, and what is said where a GPU is not there.
#include <cstdio>
#include <doctest/doctest.h>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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
    CHECK(has(text, bucket + "NCCL"));
    CHECK(has(text, "Collective reduce_scatter of 1 tensor, 12 bytes, over 2 devices (/GPU:0 "
                    "/GPU:1), by NCCL"));
  }
  {
    testing::simulated_gpus const gpus(2, {.cards = 1});
    CHECK(has(story(), bucket + "a fold in the card"));
  }
  CHECK(
      has(story(),
          "Collective all_reduce of 2 tensors, 24 bytes, over 2 devices (/CPU:0 /CPU:0; asked for "
          "/GPU:0 /GPU:1: this program was built without CUDA; compile a unit with nvcc and "
          "<locus/cuda.cuh>), by a fold on the host"));
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
  CHECK(seen.count("locus: /GPU:1 is not there, its steps run on /GPU:0, in its memory\n") == 1);
}

namespace {
struct gpu_only {
  static constexpr auto name = "gpu_only";
  static constexpr auto kernels = on_gpu;
  float operator()(float v) const { return v + 1; }
};
void fall_back() {
  testing::simulated_gpus const gpus(1);
  Tensor<int, Extents<2, 2>> const a{{1, 2}, {3, 4}};
  Tensor<float, Extents<2>> const x{1, 2};
  for (int i = 0; i < 3; ++i) {
    auto const b = eval(on<G0>(matmul(a, a)));
    auto const c = eval(on<G0>(matmul(b, a)));
    auto const y = eval(on<CpuDevice>(map(gpu_only{}, x)));
  }
}
}  // namespace
TEST_CASE("a program with operations without kernels" * doctest::skip()) { fall_back(); }
TEST_CASE("a program without GPUs and a kernel that nobody asked for" * doctest::skip()) {
  Tensor<int, Extents<2, 2>> const a{{1, 2}, {3, 4}};
  auto const b = eval(matmul(a, a));
}

TEST_CASE("a fallback for a missing kernel is said once for each operation, unless LOCUS_QUIET is "
          "set, and the sink of a program hears of each") {
  auto const loud = child::run("a program with operations without kernels");
  CHECK(loud.code == 0);
  CHECK(loud.count("locus: ") == 2);
  CHECK(loud.count("locus: 'matmul' has no GPU kernel for its element types and runs on /CPU:0; "
                   "/GPU:0 was asked for at ") == 1);
  CHECK(loud.count("locus: 'gpu_only' has no CPU kernel for its element types and runs on /GPU:0; "
                   "/CPU:0 was asked for at ") == 1);
  CHECK(
      child::run("a program with operations without kernels", {"LOCUS_QUIET=1"}).count("locus: ") ==
      0);
  // there is no GPU that it could have missed
  CHECK(child::run("a program without GPUs and a kernel that nobody asked for").count("locus: ") ==
        0);
  struct heard {
    int matmul = 0, gpu_only = 0, other = 0;
  } all;
  debugging::set_log_sink(
      [](log_event const& e, std::string_view, void* to) {
        auto& h = *static_cast<heard*>(to);
        bool const falls = e.kind == event_kind::fallback;
        ++(falls && e.name == "matmul" && e.request == gpu(0) && e.on.used == cpu(0) ? h.matmul
           : falls && e.name == "gpu_only" && e.request == cpu(0) && e.on.used == gpu(0)
               ? h.gpu_only
               : h.other);
      },
      &all);
  fall_back();
  debugging::set_log_sink(nullptr);
  CHECK(all.matmul == 6);
  CHECK(all.gpu_only == 3);
  CHECK(all.other == 0);
}

TEST_CASE("the log names the device that works, then the one that was asked for") {
  testing::simulated_gpus const gpus(1);
  Tensor<float, Extents<2>> const x{1, 2};
  std::string const asked = " (asked for /GPU:7)", gpu7 = full("GPU:0") + asked;
  CHECK(log_of(every, [&] { auto const r = eval(on<"/GPU:7">(x * 2.f)); }) ==
        "Creating a Tensor of float[2] on /GPU:0" + asked + "\n" +
            "Copying 8 bytes (copy of leaf) from device " + full("CPU:0") + " to device " + gpu7 +
            "\nExecuting op Mul in device " + gpu7 + "\n");
  Tensor<float, Extents<2>, GpuDevice<7>> const t{1, 2};
  CHECK(log_of(every, [&] { auto const copy = t; }) ==
        "Creating a Tensor of float[2] on /GPU:0" + asked +
            "\nCopying a Tensor of float[2], 8 bytes, on /GPU:0" + asked + "\n");
  CHECK(log_of(every, [&] { auto const y = to<CpuDevice>(t); }) ==
        "Creating a Tensor of float[2] on /CPU:0\nCopying 8 bytes (copy of leaf) from device " +
            gpu7 + " to device " + full("CPU:0") + "\n");
  auto const rows = to<Rows>(Tensor<float, Extents<2, 2>>{{1, 2}, {3, 4}});
  Tensor<float, Extents<2>, Pair> sums;
  CHECK(log_of(every, [&] { sums = sum<0>(rows); })
            .find("over 2 devices (/GPU:0 /GPU:0; asked for /GPU:0 /GPU:1), by a fold") !=
        std::string::npos);
  auto const path = "/tmp/locus_" + std::to_string(getpid()) + "_asked.json";
  debugging::log_to_json(path);
  CHECK(log_of(every, [&] { Tensor<float, Extents<2>, Pair> const pair{1, 2}; }).empty());
  debugging::log_to_json("");
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "r");
  for (int c; file && (c = std::fgetc(file)) != EOF;) text += char(c);
  if (file) std::fclose(file);
  std::remove(path.c_str());
  CHECK(text.find(R"("devices_asked":["/GPU:0","/GPU:1"],"devices":["/GPU:0","/GPU:0"])") !=
        text.npos);
}

// ---- where the log goes ----

namespace {

/// the lines of a file without their times
std::vector<std::string> lines_of(std::string const& path) {
  std::vector<std::string> lines;
  std::string line;
  std::FILE* const file = std::fopen(path.c_str(), "r");
  for (int c; file && (c = std::fgetc(file)) != EOF;) {
    line += char(c);
    if (c != '\n') continue;
    auto const from = line.find("\"time\":"), to = line.find(',', from + 1);
    auto const end = to == line.npos ? line.find('}', from) : to + 1;
    if (from != line.npos) line.erase(from, end - from);
    lines.push_back(line.substr(0, line.size() - 1));
    line.clear();
  }
  if (file) std::fclose(file);
  CHECK(line.empty());  // the last line is whole
  return lines;
}
std::string temporary_path(char const* name) {
  return "/tmp/locus_" + std::to_string(getpid()) + "_" + name;
}
int const here = __LINE__;
void add_on_gpu() {
  Tensor<float, Extents<3>, G0> x{1, 2, 3};
  auto const y = to<CpuDevice>(x * 2.f);  // here + 3
  CHECK(y(2) == 6);
}

}  // namespace

TEST_CASE("a callback gets each event and its line in place of stderr, and may use locus itself") {
  testing::simulated_gpus const gpus(2);
  struct seen {
    std::vector<event_kind> kinds;
    std::string lines;
    std::int64_t bytes = 0;
  } all;
  debugging::set_log_sink(
      [](log_event const& e, std::string_view text, void* context) {
        auto& to = *static_cast<seen*>(context);
        to.kinds.push_back(e.kind), to.lines += std::string(text) + "\n";
        if (e.kind == event_kind::copy) to.bytes += e.bytes;
        Tensor<float, Extents<3>> inside{1, 2, 3};  // not logged: the log does not speak of itself
        throw 1;                                    // dropped
      },
      &all);
  auto const stderr_text = log_of(every, add_on_gpu);
  debugging::set_log_sink(nullptr);
  CHECK(stderr_text.empty());
  using enum event_kind;
  CHECK(all.kinds == std::vector{creation, creation, copy, step});
  CHECK(all.bytes == 12);
  CHECK(all.lines == "Creating a Tensor of float[3] on /GPU:0\n"
                     "Creating a Tensor of float[3] on /CPU:0\n" +
                         copy_line("12 bytes (copy of leaf)", "GPU:0", "CPU:0") +
                         op_line("Mul", "CPU:0"));
  CHECK(log_of(every, add_on_gpu) == all.lines);  // on stderr again
}

TEST_CASE("a stream takes the lines of the log, and what a user must hear of") {
  std::ostringstream lines;
  debugging::log_to(lines);
  auto const on_stderr = log_of(every, [] {
    testing::simulated_gpus const gpus(1);
    Tensor<float, Extents<2>, G1> x{1, 2};
  });
  debugging::set_log_sink(nullptr);
  CHECK(on_stderr.empty());
  CHECK(lines.str() == "locus: /GPU:1 is not there, its steps run on /GPU:0, in its memory\n"
                       "Creating a Tensor of float[2] on /GPU:0 (asked for /GPU:1)\n");
}

TEST_CASE("JSON lines hold one object for each event") {
  testing::simulated_gpus const gpus(2);
  auto const path = temporary_path("log.json");
  debugging::log_to_json(path);
  CHECK(log_of(every, [] {
          add_on_gpu();
          Tensor<float, Extents<3>, G0> x{1, 2, 3};
          auto const y = eval(on<G0>(map(legacy_fn{}, x) * 2.f));
        }).empty());
  debugging::log_to_json("");
  auto const lines = lines_of(path);
  std::remove(path.c_str());
  std::string const site =
      std::string("\"file\":\"") + __FILE__ + "\",\"line\":" + std::to_string(here + 3);
  REQUIRE(lines.size() == 11);
  CHECK(lines[0].starts_with(
      R"({"event":"creation","name":"float","devices":["/GPU:0"],"shape":[3],"file":")"));
  CHECK(lines[2] == R"({"event":"copy","step":0,"name":"copy","of":"leaf","from":"/GPU:0",)"
                    R"("asked":"/CPU:0","device":"/CPU:0","bytes":12,)" +
                        site + "}");
  CHECK(lines[3] == R"({"event":"step","step":2,"name":"Mul","asked":"/CPU:0","device":"/CPU:0",)"
                    R"("shape":[3],)" +
                        site + "}");
  CHECK(lines[7].starts_with(R"({"event":"fallback","step":1,"name":"legacy","asked":"/GPU:0",)"
                             R"("device":"/CPU:0","shape":[3],"file":)"));
  CHECK(lines[7].find(R"("reason":"locus: 'legacy' has no GPU kernel for its element types and )"
                      R"(runs on /CPU:0; /GPU:0 was asked for at )") != std::string::npos);
  CHECK(lines[8].starts_with(R"({"event":"step","step":1,"name":"legacy","asked":"/GPU:0",)"
                             R"("device":"/CPU:0","shape":[3],"file":)"));
  CHECK(lines[8].ends_with(R"("reason":"'legacy' has no GPU kernel"})"));
  CHECK_THROWS_AS(debugging::log_to_json("/no/such/folder/log"), bad_file);
}

TEST_CASE("lines of many threads stay whole") {
  auto const path = temporary_path("threads.json");
  debugging::log_to_json(path);
  debugging::set_log_device_placement(true, every);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) Tensor<float, Extents<3>> x{1, 2, 3};
    });
  for (auto& t : threads) t.join();
  debugging::set_log_device_placement(false);
  debugging::log_to_json("");
  auto const lines = lines_of(path);
  std::remove(path.c_str());
  CHECK(lines.size() == 800);
  REQUIRE(!lines.empty());
  CHECK(
      lines[0].starts_with(R"({"event":"creation","name":"float","devices":["/CPU:0"],"shape":)"));
  CHECK(lines[0].ends_with("}"));
  bool equal = true;
  for (auto const& line : lines) equal = equal && line == lines[0];
  CHECK(equal);
}

TEST_CASE("a program that configures under the log" * doctest::skip()) {
  debugging::set_log_sink([](log_event const& e, std::string_view text, void*) {
    static_cast<void>(config::count_logical_gpus());  // devices are not locked here
    std::printf("%d %s\n", int(e.kind), std::string(text).c_str());
  });
  debugging::set_log_device_placement(true);
  config::set_memory_fraction(0.5);
  config::set_memory_fraction(0.5);  // no change
  Tensor<float, Extents<2>> x{1, 2};
}

TEST_CASE("a setting that changes is an event, before what comes behind it") {
  auto const seen = child::run("a program that configures under the log");
  CHECK(seen.code == 0);
  CHECK(!seen.hung);
  CHECK(seen.says("6 Setting the memory fraction (config::set_memory_fraction)\n"
                  "3 Creating a Tensor of float[2] on /CPU:0\n"));
  CHECK(seen.count("Setting") == 1);
}

TEST_CASE("creations are said once for each place of the program, every time on request") {
  auto const make = [](int times) {
    for (int i = 0; i < times; ++i) auto const t = eval(on<CpuDevice>(iota<double>(Extents<5>{})));
  };
  auto const creations = [&](log_frequency how_often) {
    auto const text = log_of(how_often, [&] { make(3); });
    int n = 0;
    for (auto at = text.find("Creating"); at != text.npos; at = text.find("Creating", at + 1)) ++n;
    return n;
  };
  CHECK(creations(log_frequency::once) == 1);
  CHECK(creations(every) == 3);
  CHECK(creations(log_frequency::once) == 0);
}

TEST_CASE("a program that adds on a GPU" * doctest::skip()) {
  for (int i = 0; i < 2; ++i) add_on_gpu();
}
TEST_CASE("a program whose first use of devices is refused" * doctest::skip()) {
  try {
    add_on_gpu();
  } catch (configuration_error const& e) {
    std::puts(e.what());
  }
}

TEST_CASE("LOCUS_LOG switches the log on without a change of the program") {
  auto const run = [](std::string const& value) {
    return child::run("a program that adds on a GPU",
                      {"LOCUS_SIMULATED_GPUS=1", "LOCUS_LOG=" + value});
  };
  CHECK(run("").count("Executing op Mul") == 0);
  CHECK(run("text").count("Executing op Mul") == 1);
  CHECK(run("every,text").count("Executing op Mul") == 2);
  auto const path = temporary_path("%p.json");
  auto const silent = run("every,json:" + path);
  CHECK(silent.count("Executing") == 0);
  CHECK(silent.code == 0);
  std::string found;  // the child's number is in the name
  if (std::FILE* const list =
          popen(("ls /tmp/locus_" + std::to_string(getpid()) + "_*.json").c_str(), "r")) {
    char line[256]{};
    if (std::fgets(line, sizeof line, list)) found = line;
    pclose(list);
  }
  REQUIRE(!found.empty());
  found.pop_back();
  CHECK(found != path);
  CHECK(lines_of(found).size() == 8);
  std::remove(found.c_str());
}

TEST_CASE("a malformed LOCUS_LOG is an error that names variable, value and remedy") {
  for (std::string const value : {"yes", "json:", "every", "textual", "json"}) {
    auto const seen =
        child::run("a program whose first use of devices is refused", {"LOCUS_LOG=" + value});
    CAPTURE(seen.text);
    CHECK(seen.says("locus: LOCUS_LOG is \"" + value + "\"; write text or json:PATH"));
  }
  auto const unwritable = child::run("a program whose first use of devices is refused",
                                     {"LOCUS_LOG=json:/no/such/folder/log"});
  CHECK(unwritable.says("locus: the log cannot be written to /no/such/folder/log: No such file or "
                        "directory; name a file in a folder that is there (LOCUS_LOG is "
                        "\"json:/no/such/folder/log\")"));
}

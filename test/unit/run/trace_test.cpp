// SPDX-License-Identifier: Apache-2.0
// Traces for Perfetto and ranges of NVTX: what they show is what ran, where and when it ran.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/nccl_recorder.hpp>
// the recorder comes first
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"

namespace trace_test {

using namespace locus;

namespace {

using debugging::trace_options;
using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;

/// takes three milliseconds, and has a name that JSON must escape
struct slow_fn {
  static constexpr auto name = "slow \"one\"\\\n";
  static constexpr auto kernels = on_both;
  float operator()(float v) const { return usleep(3000), v + 1; }
};

/// copies from and to the host and between GPUs, kernels, an all-reduce
void run_plans() {
  Tensor<float, Extents<2>> c{1, 2};
  auto const there = to<G0>(c);
  auto const further = eval(on<G1>(there * 2.f));
  Tensor<float, Dextents<2>, Rows> x = to<Rows>(Tensor<float, Dextents<2>>{{1, 2, 3}, {4, 5, 6}});
  Tensor<float, Dextents<1>, Pair> total = sum<0>(x);
  if (fetch(sum(further)) != 6 || fetch(total)(0) != 5) throw std::runtime_error("wrong numbers");
}
void run_slowly() {
  Tensor<float, Extents<1>, G0> x{1};
  auto const y = eval(map(slow_fn{}, x));
  usleep(5000);  // a queue of a simulated GPU runs when somebody waits for it
  if (fetch(sum(y)) != 2) throw std::runtime_error("wrong numbers");
}

void throws() { throw std::runtime_error("nobody catches this"); }
void ends_badly() noexcept { throws(); }
std::string path_of(char const* name) {
  return "/tmp/locus_" + std::to_string(getpid()) + "_" + name;
}
/// what check_trace.py says of a trace, which it takes away
std::string checked(std::string const& path) {
  std::string const here = __FILE__;
  std::string const tool = here.substr(0, here.rfind("unit/")) + "tools/check_trace.py";
  std::FILE* const out = popen(("python3 " + tool + " " + path + " 2>&1").c_str(), "r");
  std::string text;
  for (int c; out && (c = std::fgetc(out)) != EOF;) text += char(c);
  int const code = out ? pclose(out) : -1;
  INFO(text);
  CHECK(code == 0);
  std::remove(path.c_str());
  return text;
}
int count(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}
/// the number in front of a word
int number_before(std::string const& text, std::string const& word) {
  auto const at = text.find(" " + word);
  return at == text.npos ? -1 : std::atoi(text.c_str() + text.rfind('\n', at) + 1);
}
/// microseconds of the first slice of that track and name
double duration_of(std::string const& text, std::string const& slice) {
  auto const at = text.find(slice + " | ");
  return at == text.npos ? -1 : std::atof(text.c_str() + at + slice.size() + 3);
}
/// when the slices of that track and name began
std::vector<double> begins_of(std::string const& text, std::string const& slice) {
  std::vector<double> all;
  for (auto at = text.find("\n" + slice + " | "); at != text.npos;
       at = text.find("\n" + slice + " | ", at + 1))
    all.push_back(std::atof(text.c_str() + text.find(" | at ", at) + 6));
  return all;
}
template <class F>
std::string trace_of(F&& f, trace_options const& options = {}) {
  auto const path = path_of("trace.json");
  debugging::start_trace(path, options);
  f();
  debugging::stop_trace();
  return checked(path);
}
/// f on two simulated GPUs, on two that share a card, over a recorder
template <class F>
void on_gpus(F&& f) {
  SUBCASE("two simulated GPUs") {
    testing::simulated_gpus const gpus(2);
    f();
  }
  SUBCASE("two simulated GPUs on one card") {
    testing::simulated_gpus const gpus(2, {.cards = 1});
    f();
  }
  SUBCASE("two recorded cards") {
    testing::recorder const gpus{{.cards = 2}};
    f();
  }
}

/// the backward pass of a layer: what goes on to the layer before it, and its gradient
struct layer {
  Tensor<float, Dextents<2>, Rows> x;
  Tensor<float, Dextents<2>, Pair> gradient;
  void backward(Tensor<float, Dextents<2>, Rows>& dx, Tensor<float, Dextents<2>, Rows> const& dy) {
    run(plan(into(dx, map(slow_fn{}, dy)), into(gradient, matmul(transpose(x), dy))));
  }
};

}  // namespace

TEST_CASE("gradients of a layer are summed over cards while the layer before it runs backward") {
  int overlapped = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus{2, {.seed = seed}};
    Tensor<float, Dextents<2>> const ones{{1, 1}, {1, 1}};
    layer last{Tensor<float, Dextents<2>, Rows>(ones), Tensor<float, Dextents<2>, Pair>(2, 2)};
    layer first{Tensor<float, Dextents<2>, Rows>(ones), Tensor<float, Dextents<2>, Pair>(2, 2)};
    Tensor<float, Dextents<2>, Rows> const dy(ones);
    Tensor<float, Dextents<2>, Rows> d1(2, 2), d2(2, 2);
    auto const train = [&] {
      last.backward(d1, dy);
      first.backward(d2, d1);
      last.gradient = last.gradient * .5f;
      first.gradient = first.gradient * .5f;
      CHECK(fetch(last.gradient)(0, 1) == 1);
      CHECK(fetch(first.gradient)(1, 0) == 2);
    };
    train();  // NCCL is tried
    auto const text = trace_of(train);
    CAPTURE(text);
    auto const slow = begins_of(text, "/GPU:0 compute | slow \"one\"\\\n"),
               sums = begins_of(text, "/GPU:0 communication | all_reduce"),
               halves = begins_of(text, "/GPU:0 compute | Mul");
    REQUIRE(slow.size() == 2);
    REQUIRE(sums.size() == 4);  // each sends and takes
    REQUIRE(halves.size() == 2);
    overlapped += slow[1] < sums[1];
    CHECK(sums[1] < halves[0]);
    CHECK(sums[3] < halves[1]);
  }
  CHECK(overlapped > 0);
}

TEST_CASE("the inside of a stencil runs before rows of other pieces are there, its ends do not") {
  using Plate = Tensor<float, Dextents<2>, Sharded<0, G0, G1, Halo<1>>>;
  int sooner = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    testing::simulated_gpus const gpus{2, {.seed = seed}};
    Plate x(ones<float>(dextents<2>{8, 3})), y(x);
    auto const text = trace_of([&] {
      run(plan<overlapped<>>(into(interior<1>(y), interior<1, 1, 0>(x) + interior<1, 0, 1>(x))));
      CHECK(fetch(sum(y)) == 2 * 6 + 18);
    });
    CAPTURE(text);
    auto const inside = begins_of(text, "/GPU:0 compute | AddV2 (inside)"),
               rest = begins_of(text, "/GPU:0 compute | AddV2 (last rows)"),
               halo = begins_of(text, "/GPU:0 copy | copy");
    REQUIRE(inside.size() == 1);
    REQUIRE(rest.size() == 1);
    REQUIRE(halo.size() == 1);
    sooner += inside[0] < halo[0];
    CHECK(halo[0] < rest[0]);
  }
  CHECK(sooner > 0);
  for (unsigned seed = 1; seed <= 8; ++seed) {
    testing::simulated_gpus const gpus{2, {.seed = seed}};
    Plate x(ones<float>(dextents<2>{8, 3})), y(x);
    auto const text = trace_of([&] {
      run(plan(into(interior<1>(y), interior<1, 1, 0>(x) + interior<1, 0, 1>(x))));
      CHECK(fetch(sum(y)) == 2 * 6 + 18);
    });
    CAPTURE(text);
    auto const all = begins_of(text, "/GPU:0 compute | AddV2"),
               halo = begins_of(text, "/GPU:0 copy | copy");
    REQUIRE(all.size() == 1);
    REQUIRE(halo.size() >= 1);
    CHECK(halo[0] < all[0]);
  }
}

TEST_CASE("a sum over recorded cards is a slice of the communication streams, behind its terms") {
  testing::recorder const gpus{{.cards = 2}};
  testing::nccl_recorder const nccl;
  Tensor<float, Dextents<2>, Rows> const x(Tensor<float, Dextents<2>>{{1, 1}, {1, 1}});
  Tensor<float, Dextents<1>, Pair> total(2);
  auto const add = [&] {
    run(plan(into(total, sum<0>(map(slow_fn{}, x)))));
    CHECK(fetch(total)(0) == 4);
  };
  add();
  auto const text = trace_of(add);
  CAPTURE(text);
  auto const sums = begins_of(text, "/GPU:0 communication | all_reduce"),
             kernels = begins_of(text, "/GPU:0 compute | slow \"one\"\\\n+Sum");
  REQUIRE(sums.size() == 1);
  REQUIRE(kernels.size() == 1);
  CHECK(sums[0] > kernels[0] + 2900);
  CHECK(duration_of(text, "/GPU:0 communication | all_reduce") >
        duration_of(text, "/GPU:0 compute | all_reduce"));
}

TEST_CASE("a trace has a track for each queue, arrows for copies, slices for collectives") {
  on_gpus([] {
    std::int64_t copies = 0;
    auto const text = trace_of([&] { copies = testing::count(run_plans).copies; });
    CAPTURE(text);
    for (char const* track : {"host", "/GPU:0 compute", "/GPU:1 compute", "/GPU:0 copy",
                              "/GPU:0 collectives", "/GPU:1 collectives", "/CPU:0 with /GPU:0"})
      CHECK(count(text, std::string("track ") + track + ": ") == 1);
    CHECK(number_before(text, "arrows") >= copies);  // and how tensors are filled, and staging
    CHECK(count(text, "/GPU:0 collectives | all_reduce | ") ==
          count(text, "/GPU:1 collectives | all_reduce | "));
    CHECK(count(text, "host | plan at ") == 6);
    bool const on_card =
        runtime::table.gpu_backing == runtime::backing::cuda;  // kernels have names there
    CHECK(count(text, std::string(R"("shape": "float[2]", "bytes": 16, )") +
                          (on_card ? R"("kernel": "flat_map", )" : "") + R"("device": "/GPU:1")") ==
          1);
    CHECK(count(text, R"( | copy | )") > 0);
    CHECK(count(text, ", 0 dropped, 0 without a time") == 1);
    CHECK(number_before(text, "arrows") > 0);
  });
}

TEST_CASE("the other end of a copy has a track for each queue that carries it") {
  auto const text = trace_of([] {
    runtime::tracer& t = runtime::the_tracer();
    for (queue_kind const kind : {queue_kind::copy, queue_kind::communication}) {
      runtime::trace_span s = t.span("moved", "");
      s.to = gpu(1), s.from = gpu(0);
      std::int64_t const now = read_clock();
      t.ran(s, runtime::track_of(gpu(0), kind), now, now + 1000);
    }
  });
  CAPTURE(text);
  for (char const* track : {"/GPU:0 copy", "/GPU:0 communication", "/GPU:1 with /GPU:0",
                            "/GPU:1 with /GPU:0, communication"})
    CHECK(count(text, std::string("track ") + track + ": ") == 1);
  CHECK(number_before(text, "arrows") == 2);
}

TEST_CASE("a slice lies where its kernel ran and takes as long, whatever it is called") {
  std::string const name = "slow \"one\"\\\n";
  auto const slice = [&](std::string const& track) { return track + " | " + name; };
  on_gpus([&] {
    auto const text = trace_of(run_slowly);
    CAPTURE(text);
    CHECK(duration_of(text, slice("/GPU:0 compute")) > 2900);
    CHECK(duration_of(text, slice("/GPU:0 compute")) < 100'000);
    CHECK(count(text, R"("operations": "slow \"one\"\\\n")") == 1);
  });
  SUBCASE("the host in place of a GPU") {
    auto const text = trace_of(run_slowly);
    CAPTURE(text);
    CHECK(duration_of(text, slice("host")) > 2900);
    CHECK(count(text, R"("device": "/CPU:0", "asked": "/GPU:0", "why": ")") > 0);
    CHECK(number_before(text, "arrows") == 0);  // nothing crossed
  }
}

TEST_CASE("a trace keeps no more than it may, and says how much it dropped") {
  testing::simulated_gpus const gpus(2);
  auto const text = trace_of(run_plans, {.max_events = 12});
  CAPTURE(text);
  int const counters = std::atoi(text.c_str() + text.find(" arrows, ") + 9);
  CHECK(count(text, " us | ") + counters == 12);
  CHECK(count(text, ", 0 dropped") == 0);
  CHECK(count(text, "note: ") == 1);
  CHECK(count(text, "events were dropped") == 1);
}

TEST_CASE("traces follow one another, and one that runs is ended by the next") {
  testing::simulated_gpus const gpus(1);
  auto const first = path_of("first.json"), second = path_of("second.json");
  debugging::start_trace(first);
  run_slowly();
  debugging::start_trace(second);
  debugging::stop_trace();
  debugging::stop_trace();  // nothing to stop
  CHECK(count(checked(first), "/GPU:0 compute") > 0);
  CHECK(count(checked(second), "/GPU:0 compute") == 0);
  CHECK_THROWS_WITH_AS(debugging::start_trace("/no/such/folder/trace"),
                       "locus: a trace cannot be written to /no/such/folder/trace: No such file or "
                       "directory; name a file in a folder that is there",
                       bad_file);
  CHECK(runtime::watched() == 0);
}

TEST_CASE("events of a recorded card are taken again, and given back with its streams") {
  testing::recorder gpus{{.cards = 2}};
  trace_of(run_plans);
  int const events = gpus.open_events();
  trace_of(run_plans);
  CHECK(gpus.open_events() == events);
}

TEST_CASE("a trace never turns a failing call into anything but the error of the program") {
  int failed = 0;
  for (int n = 0; n < 400; ++n) {
    testing::recorder gpus{{.cards = 2}};
    auto const path = path_of("failing.json");
    debugging::start_trace(path);
    debugging::set_nvtx(true);
    gpus.fail_at(n, n % 3 == 0 ? 400 : 719);  // 719 takes the card away
    try {
      run_plans();
    } catch (error const&) {}
    debugging::set_nvtx(false);
    debugging::stop_trace();
    CHECK(int(gpus.ranges().size()) == gpus.ranges_ended());
    std::remove(path.c_str());
    if (!gpus.failed()) break;
    ++failed;
    CHECK(runtime::table.live_blocks == 0);
    for (int k = 0; k < 2; ++k) CHECK(runtime::table.gpu_devices[k].memory.in_use == 0);
  }
  CHECK(failed > 100);
}

TEST_CASE(
    "each step, copy and collective is a range of NVTX, begun and ended, also when it throws") {
  testing::recorder gpus{{.cards = 2}};
  run_plans();
  CHECK(gpus.calls("range_push") == 0);  // off unless it is asked for
  debugging::set_nvtx(true);
  run_plans();
  auto const has = [&](std::string const& name) {
    int n = 0;
    for (auto const& range : gpus.ranges()) n += range.starts_with(name);
    return n;
  };
  CHECK(has("Mul on /GPU:1") == 1);
  CHECK(has("copy on /GPU:1") > 0);
  CHECK(has("all_reduce on ") > 0);
  CHECK(int(gpus.ranges().size()) == gpus.ranges_ended());
  auto const before = gpus.ranges().size();
  Tensor<float, Extents<3>, G0> x{1, 2, 3};
  gpus.fail_at(12);
  CHECK_THROWS_AS(static_cast<void>(fetch(sum(eval(x * 2.f)))), device_lost);
  debugging::set_nvtx(false);
  CHECK(gpus.ranges().size() > before);
  CHECK(int(gpus.ranges().size()) == gpus.ranges_ended());
}

TEST_CASE("a program with work for GPUs" * doctest::skip()) { run_plans(); }
TEST_CASE("a program that exits in the middle" * doctest::skip()) {
  run_plans();
  std::exit(4);
}
TEST_CASE("a program with an exception that nobody catches" * doctest::skip()) {
  run_plans();
  ends_badly();
}
TEST_CASE("a program whose first use of devices is refused" * doctest::skip()) {
  try {
    run_plans();
  } catch (configuration_error const& e) {
    std::puts(e.what());
  }
}

TEST_CASE("LOCUS_TRACE traces a whole program, however it ends") {
  for (char const* program : {"a program with work for GPUs", "a program that exits in the middle",
                              "a program with an exception that nobody catches"}) {
    auto const path = path_of("whole.json");
    auto const seen = child::run(program, {"LOCUS_TRACE=" + path, "LOCUS_SIMULATED_GPUS=2"});
    CAPTURE(seen.text);
    CHECK(!seen.hung);
    CHECK((seen.code == 0) == (program[10] == 'w' && program[15] == 'w'));
    auto const text = checked(path);
    CHECK(count(text, "track /GPU:1 compute") == 1);
  }
}

TEST_CASE("malformed variables are errors that name variable, value and remedy") {
  auto const refused = [](std::string const& setting) {
    return child::run("a program whose first use of devices is refused", {setting}).text;
  };
  CHECK(count(refused("LOCUS_TRACE=/no/such/folder/x"),
              "locus: a trace cannot be written to /no/such/folder/x: No such file or directory; "
              "name a file in a folder that is there (LOCUS_TRACE is \"/no/such/folder/x\")") == 1);
  CHECK(count(refused("LOCUS_NVTX=yes"),
              "locus: LOCUS_NVTX is \"yes\"; write a number from 0 to 1") == 1);
  CHECK(count(refused("LOCUS_NVTX=1"), "locus: LOCUS") == 0);
}

}  // namespace trace_test

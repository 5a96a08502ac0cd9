// SPDX-License-Identifier: Apache-2.0
// LOCUS_EXPLAIN: what a program ran, said when it ends, however it ends.
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>

#include <unistd.h>

#include <locus/locus.hpp>

#include "child.hpp"

namespace report_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;

struct legacy_fn {
  static constexpr auto name = "legacy";
  static constexpr auto kernels = on_cpu;
  float operator()(float v) const { return v + 1; }
};

int const here = __LINE__;
void run_plans() {
  Tensor<float, Extents<1000>> x(iota<float>(Extents<1000>{}));
  for (int i = 0; i < 3; ++i) {
    x = x * 2.f;
    auto const y = to<CpuDevice>(on<G0>(map(legacy_fn{}, x)));  // here + 5: moves nothing
  }
  for (int i = 0; i < 2; ++i) static_cast<void>(fetch(on<G0>(x * 2.f)));  // here + 7
  static_cast<void>(fetch(on<G0>(x * 2.f)));                              // here + 8: the same plan
}
std::string site(int line) {
  return std::string("from ") + __FILE__ + ":" + std::to_string(here + line);
}
void run_open_plans() {
  for (int k = 0; k < 3; ++k) {
    auto const x = to<GpuDevice<dyn>>(Tensor<float, Extents<2>>{1, 2}, k % 2);
    static_cast<void>(eval(x * 2.f));
  }
}
/// a plan that runs when static objects end
struct late {
  Tensor<float, Extents<3>>* x;
  ~late() { *x = *x + 1.f; }
};

}  // namespace

TEST_CASE("a program that runs plans" * doctest::skip()) { run_plans(); }
TEST_CASE("a program that runs open plans" * doctest::skip()) { run_open_plans(); }
TEST_CASE("a program that runs plans and exits" * doctest::skip()) {
  run_plans();
  std::exit(3);
}
TEST_CASE("a program that runs plans until its end" * doctest::skip()) {
  static late const object{new Tensor<float, Extents<3>>{1, 2, 3}};
  run_plans();
}

TEST_CASE(
    "LOCUS_EXPLAIN says every plan of the program: from where, how often, where, what moved") {
  auto const seen =
      child::run("a program that runs plans", {"LOCUS_EXPLAIN=1", "LOCUS_SIMULATED_GPUS=1"});
  CAPTURE(seen.text);
  CHECK(seen.code == 0);
  CHECK(seen.says("locus: 4 plans, 10 runs: 10 launches, 6 copies (24000 bytes), 0 reductions "
                  "(0 bytes), 3 fallbacks\n"));
  CHECK(seen.says("plan 1, 3 runs: 3 launches, 6 copies (24000 bytes), "));  // most bytes first
  CHECK(seen.says("  " + site(7) + ", 2 runs\n  " + site(8) + ", 1 run\n"));
  CHECK(seen.says("  " + site(5) + ", 3 runs\n  on /CPU:0\n  in its first run, plan under "));
  CHECK(seen.says("'legacy' has no GPU kernel, asked for /GPU:0\n"));
  CHECK(seen.says("\nplan 2, 1 run: 1 launch, 0 copies"));  // then in the order of first runs
  CHECK(seen.says("+0x"));                                  // an operator: where its code is
  CHECK(!seen.says("was not there"));
}

TEST_CASE("the report names the devices that others stood in for") {
  auto const seen = child::run("a program that runs plans", {"LOCUS_EXPLAIN=1"});
  CHECK(seen.says("  /GPU:0 was not there, /CPU:0 worked for it: this program was built without"));
  for (char const* off : {"LOCUS_EXPLAIN=", "LOCUS_EXPLAIN=0"})
    CHECK(child::run("a program that runs plans", {off}).count("plan") == 0);
}

TEST_CASE("the report of a plan with open devices names those on which it ran") {
  auto const seen =
      child::run("a program that runs open plans", {"LOCUS_EXPLAIN=1", "LOCUS_SIMULATED_GPUS=2"});
  CAPTURE(seen.text);
  CHECK(seen.code == 0);
  CHECK(seen.says(", 3 runs\n  on /GPU:0, /GPU:1\n"));
}

TEST_CASE("the report is written however the program ends, to a file on request") {
  auto const exited = child::run("a program that runs plans and exits", {"LOCUS_EXPLAIN=1"});
  CHECK(exited.code == 3);
  CHECK(exited.count("\nplan ") == 4);
  auto const late = child::run("a program that runs plans until its end", {"LOCUS_EXPLAIN=1"});
  CHECK(late.code == 0);
  CHECK(late.count("\nplan ") >= 4);

  std::string const path = "/tmp/locus_" + std::to_string(getpid()) + "_plans";
  auto const quiet = child::run("a program that runs plans", {"LOCUS_EXPLAIN=" + path});
  CHECK(quiet.count("\nplan ") == 0);
  std::FILE* const file = std::fopen(path.c_str(), "r");
  REQUIRE(file);
  char first[8]{};
  CHECK(std::fread(first, 1, 7, file) == 7);
  CHECK(std::string(first) == "locus: ");
  std::fclose(file);
  std::remove(path.c_str());
  auto const lost = child::run("a program that runs plans", {"LOCUS_EXPLAIN=/no/such/folder/x"});
  CHECK(lost.says("locus: the report of plans (LOCUS_EXPLAIN) cannot be written to "
                  "/no/such/folder/x: No such file or directory; name a file in a folder "
                  "that is there\n"));
  CHECK(lost.count("\nplan ") == 4);  // then to stderr
}

}  // namespace report_test

// SPDX-License-Identifier: Apache-2.0
// The mistakes that simulated GPUs and the recorder exist to find, made on purpose: each is found, with a
// message that names step and devices, and the same program without it passes.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/nccl_recorder.hpp>
// the recorder comes first
#include <cstdlib>
#include <doctest/doctest.h>
#include <iostream>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"
#include "sanitizers.hpp"

namespace planted_test {

using namespace locus;

namespace {

using Pair = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;

/// what the parent asked for
bool asked(char const* variable) { return std::getenv(variable) != nullptr; }

runtime::simulated_options options() {
  char const* const seed = std::getenv("TEST_SEED");
  return {.seed = seed ? std::strtoull(seed, nullptr, 10) : 1};
}

/// runs a program that is true if its numbers are right, and writes what locus says about it
template <class F>
void attempt(F&& f) {
  try {
    std::cout << (f() ? "it went well\n" : "a wrong number\n");
  } catch (error const& e) {
    std::cout << "error: " << e.what() << "\n";
  }
}

void check_found(char const* test_case, std::vector<std::string> const& sentences) {
  for (char const* seed : {"TEST_SEED=1", "TEST_SEED=2", "TEST_SEED=3"}) {
    auto const well = child::run(test_case, {seed});
    CAPTURE(well.text);
    CHECK(well.code == 0);
    CHECK(well.says("it went well"));
    CHECK_FALSE(well.says("locus:"));
    auto const badly = child::run(test_case, {seed, "TEST_PLANT=1"});
    CAPTURE(badly.text);
    CHECK_FALSE(badly.hung);
    CHECK_FALSE(badly.says("it went well"));
    for (auto const& s : sentences) CHECK(badly.says(s));
  }
}
/// over the recorder; without its check of order nobody says so
void check_found_by_order(char const* test_case, std::string const& sentence) {
  check_found(test_case, {sentence, "no event orders them"});
  auto const blind = child::run(test_case, {"TEST_SEED=1", "TEST_PLANT=1", "TEST_BLIND=1"});
  CAPTURE(blind.text);
  CHECK_FALSE(blind.says("it went well"));
  CHECK_FALSE(blind.says("no event orders them"));
}

}  // namespace

TEST_CASE("a missing copy" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  Tensor<float, Extents<3>, G1> b{{4, 5, 6}};
  if (asked("TEST_PLANT")) runtime::planted.omit_transfer = 0;
  attempt([&] { return fetch(sum(on<G1>(a + b))) == 21; });
}
TEST_CASE("a missing event" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  Tensor<float, Extents<3>, G1> b{{4, 5, 6}};
  if (asked("TEST_PLANT")) runtime::planted.no_waits = true;
  attempt([&] { return fetch(sum(on<G1>(a * 2.f + b))) == 27; });
}
/// of a stencil over two pieces: the sum of its result
template <class Policy>
float sum_of_stencil() {
  using Plate = Tensor<float, Extents<8, 3>, Sharded<0, G0, G1, Halo<1>>>;
  Plate x(ones<float>(Extents<8, 3>{})), y(x);
  if (asked("TEST_PLANT")) runtime::planted.no_waits = true;
  if (asked("TEST_OMIT")) runtime::planted.omit_transfer = 0;
  run(plan<Policy>(into(interior<1>(y), interior<1, 1, 0>(x) + interior<1, -1, 0>(x))));
  return fetch(sum(y));
}
TEST_CASE("a missing event before margins" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  attempt([&] { return sum_of_stencil<default_policy>() == 2 * 6 + 18; });
}
TEST_CASE("a missing event before margins, in parts" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  attempt([&] { return sum_of_stencil<overlapped<>>() == 2 * 6 + 18; });
}
TEST_CASE("an early free" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G1> c;
  if (asked("TEST_PLANT")) runtime::planted.free_at_once = true;
  attempt([&] {
    {
      Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
      c = on<G0>(a * 2.f);
    }
    return fetch(sum(c)) == 12;
  });
}
TEST_CASE("a wrong replica order" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<4>, Sharded<0, G0, G1>> x{{1, 2, 3, 4}};
  if (asked("TEST_PLANT")) runtime::planted.swap_replicas = true;
  attempt([&] { return fetch(sum(x)) == 10; });
}
TEST_CASE("a wrong replica order in one card" * doctest::skip()) {
  runtime::simulated_options one = options();
  one.cards = 1;
  testing::simulated_gpus const gpus(2, one);
  Tensor<float, Extents<4>, Sharded<0, G0, G1>> x{{1, 2, 3, 4}};
  if (asked("TEST_PLANT")) runtime::planted.swap_replicas = true;
  attempt([&] { return fetch(sum(x)) == 10; });
}
TEST_CASE("a missing event before a collective" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<4>, Sharded<0, G0, G1>> x{{1, 2, 3, 4}};
  Tensor<float, Extents<>, Pair> y;
  y = sum(x);  // communicators are there
  if (asked("TEST_PLANT")) runtime::planted.no_waits = true;
  attempt([&] {
    y = sum(x * 2.f);
    return fetch(y) == 20;
  });
}
TEST_CASE("a host read before its wait" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  if (asked("TEST_PLANT")) runtime::planted.host_does_not_wait = true;
  attempt([&] { return fetch(sum(on<CpuDevice>(a + 1.f))) == 9; });
}
TEST_CASE("a pointer inside a functor" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}}, other{{4, 5, 6}};
  float const* const elements = asked("TEST_PLANT") ? other.data() : nullptr;
  auto const peek = host_device([elements](float v) { return elements ? elements[0] : v; });
  attempt([&] { return fetch(sum(map(peek, a))) == 6; });
}
TEST_CASE("host code that follows a device pointer" * doctest::skip()) {
  testing::simulated_gpus const gpus(2, options());
  Tensor<float, Extents<3>, G1> a{{1, 2, 3}};
  if (asked("TEST_PLANT")) std::cout << a.data()[0] << std::endl;
  std::cout << "it went well\n";
}
/// all work before has run, and from now on no queue waits, if the parent asked for it
void plant_no_waits() {
  for (int card : {0, 1}) {
    runtime::logical_device& d = runtime::find_device(gpu(card));
    machine_of(d).finish(d);
  }
  if (asked("TEST_PLANT")) runtime::planted.no_waits = true;
}
TEST_CASE("a missing event of CUDA before a copy" * doctest::skip()) {
  testing::recorder const cards{{.cards = 2, .checks_order = !asked("TEST_BLIND")}};
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  Tensor<float, Extents<3>, G1> b{{4, 5, 6}};
  CHECK(fetch(sum(on<G1>(a + b))) == 21);  // the cards know each other
  plant_no_waits();
  attempt([&] {
    b = on<G0>(a * 2.f);
    return fetch(sum(b)) == 12;
  });
}
TEST_CASE("a missing event of CUDA before a kernel" * doctest::skip()) {
  testing::recorder const cards{{.cards = 2, .checks_order = !asked("TEST_BLIND")}};
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  Tensor<float, Extents<3>, G1> b{{4, 5, 6}};
  CHECK(fetch(sum(on<G1>(a + b))) == 21);  // the cards know each other
  plant_no_waits();
  attempt([&] { return fetch(sum(on<G1>(a + b))) == 21; });
}
TEST_CASE("a missing event of CUDA before a product" * doctest::skip()) {
  testing::recorder const cards{{.cards = 2, .checks_order = !asked("TEST_BLIND")}};
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  Tensor<float, Extents<3>, G1> b{{4, 5, 6}};
  Tensor<float, Extents<2, 2>, G0> m{{1, 2}, {3, 4}};
  Tensor<float, Extents<2, 2>, G1> n{{1, 0}, {0, 1}};
  CHECK(fetch(sum(on<G1>(a + b))) == 21);  // the cards know each other
  plant_no_waits();
  attempt([&] { return fetch(sum(on<G1>(matmul(m, n)))) == 10; });
}
TEST_CASE("a missing event of CUDA before a collective" * doctest::skip()) {
  testing::recorder const cards{{.cards = 2, .checks_order = !asked("TEST_BLIND")}};
  testing::nccl_recorder const nccl;
  Tensor<float, Extents<4>, Sharded<0, G0, G1>> x{{1, 2, 3, 4}};
  Tensor<float, Extents<>, Pair> y;
  y = sum(x);  // communicators are there
  plant_no_waits();
  attempt([&] {
    y = sum(x * 2.f);
    return fetch(y) == 20;
  });
}
TEST_CASE("an early free of CUDA's memory" * doctest::skip()) {
  testing::recorder const cards{{.cards = 2}};
  Tensor<float, Extents<3>, G1> c;
  if (asked("TEST_PLANT")) runtime::planted.free_at_once = true;
  attempt([&] {
    {
      Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
      c = on<G0>(a * 2.f);
    }
    return fetch(sum(c)) == 12;
  });
}

TEST_CASE("a missing copy is found") {
  check_found("a missing copy", {"locus: step ", "on /GPU:1 touched memory of /GPU:0",
                                 "a copy is missing in the plan"});
}
TEST_CASE("a missing event is found") {
  check_found("a missing event", {"locus: step ", "no event orders them", "/GPU:"});
}
TEST_CASE("a missing event before the margins of a stencil is found") {
  check_found("a missing event before margins", {"locus: step ", "no event orders them", "/GPU:"});
  check_found("a missing event before margins, in parts",
              {"locus: step ", "no event orders them", "/GPU:"});
  for (char const* test_case :
       {"a missing event before margins", "a missing event before margins, in parts"})
    CHECK_FALSE(child::run(test_case, {"TEST_OMIT=1"}).says("it went well"));
}
TEST_CASE("an early free is found") {
  check_found("an early free", {"locus: a free gives memory back that step ", "on /GPU:",
                                "has not written yet; free it in the order of its queue"});
}
TEST_CASE("a wrong replica order is found") {
  check_found("a wrong replica order", {"locus: step ", "touched memory of /GPU:1", "on /GPU:0"});
}
TEST_CASE("a wrong replica order in one card is found") {
  check_found("a wrong replica order in one card",
              {"locus: step ", "takes the term of replica 1 for that of replica 0 on /GPU:0"});
}
TEST_CASE("a missing event before a collective is found") {
  check_found("a missing event before a collective", {"locus: step ", "no event orders them"});
}
TEST_CASE("a host read before its wait is found") {
  // the memory is given back when the plan fails, and the simulated GPU still writes to it
  if (under_address_sanitizer)
    return check_found("a host read before its wait", {"AddressSanitizer: heap-use-after-free"});
  check_found("a host read before its wait",
              {"locus: step ", "on /CPU:0 reads host memory that step ", "has not written yet",
               "the host must wait first"});
}
TEST_CASE("a pointer inside a functor is found") {
  check_found("a pointer inside a functor", {"locus: step ", "on /GPU:0 touched memory of /GPU:0",
                                             "a pointer was taken out of a GPU tensor"});
}
TEST_CASE("host code that follows a device pointer is found") {
  check_found("host code that follows a device pointer",
              {"locus: host code outside any step touched memory of /GPU:1"});
}

TEST_CASE("a missing event of CUDA before a copy is found") {
  check_found_by_order(
      "a missing event of CUDA before a copy",
      "locus: step 2 (copy) on /GPU:1 reads what step 2 (multiply) on /GPU:0 writes, and");
}
TEST_CASE("a missing event of CUDA before a kernel is found") {
  check_found_by_order("a missing event of CUDA before a kernel",
                       "(sum) on /GPU:1 reads what step 0 (copy) on /GPU:1 writes, and");
}
TEST_CASE("a missing event of CUDA before a product is found") {
  check_found_by_order("a missing event of CUDA before a product",
                       "(matmul) on /GPU:1 reads what step 0 (copy) on /GPU:1 writes, and");
}
TEST_CASE("a missing event of CUDA before a collective is found") {
  check_found_by_order(
      "a missing event of CUDA before a collective",
      "locus: step 3 (all_reduce) on /GPU:0 reads what step 3 (sum) on /GPU:0 writes, and");
}
TEST_CASE("an early free of CUDA's memory is found") {
  check_found("an early free of CUDA's memory",
              {"locus: a free gives memory back that step ",
               "on /GPU:", "has not written yet; free it in the order of its queue"});
}

}  // namespace planted_test

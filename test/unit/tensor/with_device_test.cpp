// SPDX-License-Identifier: Apache-2.0
// with_device: two instantiations of a lambda for all ordinals; what stands behind a name.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <message_of.hpp>
#include <set>

namespace with_device_test {

using namespace locus;

namespace {

using Square = Extents<2, 2>;
using Matrix = Tensor<float, Square>;

/// which policies a body was made for
std::set<std::string> made_for;
template <class Policy>
void note() {
  static bool const once = [] {
    message text;
    text << Policy::value;
    made_for.insert(std::string(text.view()));
    return true;
  }();
  static_cast<void>(once);
}

struct job {
  Matrix const& a;
  double total = 0;
  template <class Here>
  float operator()(Here here) {
    using Policy = typename Here::policy;
    note<Policy>();
    Tensor<float, Square, Policy> kept(here, {{1, 0}, {0, 1}});
    kept = kept + here(matmul(a, a));
    auto const moved = to<Policy>(a, here);
    CHECK(kept.device() == device(here));
    CHECK(moved.device() == device(here));
    total += fetch(sum(kept + moved));
    return fetch(sum(here(2.f * a)));
  }
};

}  // namespace

TEST_CASE("a lambda is made twice, for GPUs and for CPUs, whatever the ordinals") {
  on_backends([] {
    Matrix const a{{1, 2}, {3, 4}};
    job work{a};
    int ran = 0;
    for (auto const* name : {"/gpu:0", "GPU:1", "/device:GPU:2", "/job:localhost/gpu:3", "/gpu:4",
                             "/gpu:5", "/gpu:6", "/GPU:7", "/cpu:0", "CPU:3"}) {
      CHECK(with_device(name, work) == 20);
      ++ran;
    }
    CHECK(work.total == ran * (2 + 54 + 10));
  });
  CHECK(made_for == std::set<std::string>{"/GPU:dyn", "/CPU:dyn"});
}

TEST_CASE("a request inside with_device yields to an inner one, and to no kernel on a GPU") {
  locus::testing::simulated_gpus const two{2};
  Matrix const a{{1, 2}, {3, 4}};
  with_device("/gpu:1", [&](auto here) {
    auto const e = here(a + on<CpuDevice>(2.f * a));
    static_assert(plan_of<decltype(e)>.device_of("multiply") == "/CPU:0");
    CHECK(tally_of(e).copies == 2);
    CHECK(fetch(e)(1, 1) == 12);
    auto const f = here(map([](float v) { return -v; }, a));  // a lambda is for CPUs
    static_assert(plan_of<decltype(f)>.fallbacks() <= 1);
    CHECK(tally_of(f).fallbacks == device(here).is_gpu());
    CHECK(fetch(f)(0, 1) == -2);
  });
}

TEST_CASE("a name that is none, or names nobody, is refused in words") {
  auto nothing = [](auto) {};
  CHECK(message_of([&] { with_device("gpu", nothing); }) ==
        "locus: the device name \"gpu\" has no type and number; write \"/GPU:0\" or "
        "\"GPU:0\"");
  CHECK(message_of([&] { with_device("/gpu:100", nothing); }).find("above 99") !=
        std::string::npos);
  CHECK(message_of([&] { with_device("/tpu:0", nothing); }).find("unknown") != std::string::npos);
  locus::testing::simulated_gpus const two{2};
  int ran = 0;
  with_device("/gpu:5", [&](auto here) { ran += device(here) == gpu(5); });  // on GPU:1's card
  CHECK(ran == 1);
  CHECK(runtime::find_device(gpu(5)).card == runtime::find_device(gpu(1)).card);
}

TEST_CASE("strict placement refuses a GPU that is not there") {
  config::set_soft_device_placement(false);
  {
    locus::testing::simulated_gpus const two{2};
    int const line = __LINE__ + 1;
    std::string const said = message_of([] { with_device("/gpu:5", [](auto) {}); });
    CHECK(said ==
          "locus: there is no /GPU:5: name one that is there (present: /CPU:0, /GPU:0, /GPU:1); "
          "with_device asks for it at " +
              std::string(__FILE__) + ":" + std::to_string(line));
    with_device("/gpu:1", [](auto here) { CHECK(device(here) == gpu(1)); });
  }
  config::set_soft_device_placement(true);
}

}  // namespace with_device_test

// SPDX-License-Identifier: Apache-2.0
// Copies that devices keep for later plans: until the tensor changes or dies, until others need the
// place. The plan counts them still.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <stdexcept>
#include <string>
#include <thread>

#include <throws_for_one.hpp>

namespace copy_cache_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Row = Dextents<1>;

/// switched on inside the scope
struct keeping {
  explicit keeping(std::int64_t bytes) { config::set_copy_cache(bytes); }
  ~keeping() { config::set_copy_cache(0); }
};
std::int64_t kept_on(int gpu_number) {
  return runtime::kept_copies().bytes_kept(runtime::find_device(gpu(gpu_number)));
}

struct outcome {
  float sum;
  std::int64_t copies, reused;  // without the copy of the sum to the host
  friend bool operator==(outcome const&, outcome const&) = default;
};
/// the sum of 2 x, computed on a GPU that x has to be copied to
template <class X>
outcome doubled(X const& x) {
  outcome o{};
  auto const seen = testing::count([&] { o.sum = fetch(sum(eval(on<G1>(x * 2.f)))); });
  CHECK(seen.copies + seen.reused == 2);
  o.copies = seen.copies - 1, o.reused = seen.reused;
  return o;
}
constexpr outcome copied(float sum) { return {sum, 1, 0}; }
constexpr outcome reused(float sum) { return {sum, 0, 1}; }

/// what a tensor on Where goes through
template <class Where>
void changes() {
  Tensor<float, Row, Where> x{1, 2, 3};
  CHECK(doubled(x) == copied(12));
  CHECK(doubled(x) == copied(12));  // off by default
  keeping const keep(1 << 20);
  CHECK(doubled(x) == copied(12));
  CHECK(doubled(x) == reused(12));
  CHECK(doubled(x) == reused(12));
  x = {4, 5, 6};
  CHECK(doubled(x) == copied(30));
  x = x + 1.f;
  CHECK(doubled(x) == copied(36));
  CHECK(doubled(x) == reused(36));
  run(into(slice(x, {0, 1}), slice(x, {1, 2})));
  CHECK(doubled(x) == copied(38));
  auto y = std::move(x);  // the elements stay where they are
  CHECK(doubled(y) == reused(38));
  Tensor<float, Row, Where> z{7, 8, 9};
  y = z;
  CHECK(doubled(y) == copied(48));
  CHECK(doubled(z) == copied(48));
  x = std::move(z);
  CHECK(doubled(x) == reused(48));
  x = y * 2.f, y = y * 3.f;
  CHECK(doubled(y) == copied(144));
  CHECK(doubled(x) == copied(96));
  y = on<G1>(x * 1.f);  // it reads what is kept, and writes elsewhere
  CHECK(doubled(x) == reused(96));
  CHECK(kept_on(1) > 0);
  x = on<G1>(x * 2.f);  // what is written is not kept
  CHECK(doubled(x) == copied(192));
  {
    Tensor<float, Row, Where> short_lived{1, 1, 1};
    CHECK(doubled(short_lived) == copied(6));
  }
  Tensor<float, Row, Where> after{2, 2, 2};  // perhaps where that one was
  CHECK(doubled(after) == copied(12));
  CHECK(doubled(after) == reused(12));
  static_cast<void>(after.data());  // who has it may write at any time
  CHECK(doubled(after) == copied(12));
  CHECK(doubled(after) == copied(12));
}

}  // namespace

TEST_CASE("a kept copy serves until its tensor is written, handed out or dead") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus(2, {.seed = seed, .peers = seed % 2 == 0});
    changes<CpuDevice>();
    changes<G0>();
    CHECK(config::get_memory_info<G1>().current == 0);
  }
  testing::recorder gpus{{.cards = 2}};
  changes<CpuDevice>();
  changes<G0>();
  CHECK(config::get_memory_info<G1>().current == 0);
}

TEST_CASE("elements of a tensor on the host; a reference that was kept too long is found") {
  testing::simulated_gpus const gpus(2);
  keeping const keep(1 << 20);
  Tensor<float, Row> x{1, 2, 3};
  Tensor<float, Row> const& constant = x;
  CHECK(doubled(x) == copied(12));
  CHECK(constant(1) == 2);
  CHECK(doubled(x) == reused(12));
  x(0) = 5;
  CHECK(doubled(x) == copied(20));
  float& element = x(1);
  CHECK(doubled(x) == copied(20));
  element = 8;
  std::string text;
  try {
    doubled(x);
  } catch (bad_access const& e) {
    text = e.what();
  }
  CHECK(text ==
        "locus: a Tensor of float[3] was written through a reference that was taken before it was "
        "copied to /GPU:1, which kept the copy; write t(i) anew for each element, or "
        "config::set_copy_cache(0)");
}

TEST_CASE("a copy that was left out behind a kernel that failed is not kept") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus(2, {.seed = seed});
    keeping const keep(1 << 20);
    Tensor<float, Row> const x{1, 2, 3};
    auto const fails = [&] {
      Tensor<float, Row, G1> const bad{1, 2};
      Tensor<float, Row, G1> unused(2), y(3);
      unused = map(throws_for_one{}, bad);
      auto const kernel_fails = [&] { static_cast<void>(fetch(unused * 1.f)); };
      if (seed % 2 == 0) std::thread(kernel_fails).join();  // a wait of another thread runs it
      y = x * 2.f;
      if (seed % 2 == 1)
        std::thread([&] {
          kernel_fails();
          CHECK(doubled(x) == copied(12));
        }).join();
      CHECK_THROWS_AS(static_cast<void>(fetch(y * 1.f)), std::domain_error);
    };
    fails();
    CHECK(doubled(x) == copied(12));
    CHECK(doubled(x) == reused(12));
    std::thread(fails).join();
    CHECK(doubled(x) == copied(12));
    CHECK(doubled(x) == reused(12));
  }
}

TEST_CASE("the bytes that a device keeps are bounded; the copy that was not used longest goes") {
  testing::simulated_gpus const gpus(2);
  keeping const keep(2 * 4096);
  Tensor<float, Row> a(iota<float>(Row(1000))), b(a + 1.f), c(a + 2.f),
      large(iota<float>(Row(5000)));
  float const sum_a = 999000, sum_b = sum_a + 2000, sum_c = sum_a + 4000;
  CHECK(doubled(a) == copied(sum_a));
  CHECK(doubled(b) == copied(sum_b));
  CHECK(doubled(a) == reused(sum_a));
  CHECK(doubled(c) == copied(sum_c));  // in the place of b
  CHECK(doubled(a) == reused(sum_a));
  CHECK(doubled(b) == copied(sum_b));
  CHECK(kept_on(1) == 8192);
  CHECK(doubled(large).copies == 1);
  CHECK(kept_on(1) <= 8192);
  CHECK(doubled(large).copies == 1);  // never fits
  config::set_copy_cache(0);
  CHECK(kept_on(1) == 0);
  CHECK(config::get_memory_info<G1>().current == 0);
  CHECK_THROWS_AS(config::set_copy_cache(-1), configuration_error);
}

TEST_CASE("kept copies give way before a device has no memory") {
  testing::simulated_gpus const gpus(2, {.memory_limit = 100000});
  keeping const keep(1 << 20);
  Tensor<float, Row> x(iota<float>(Row(5000)));
  CHECK(doubled(x).copies == 1);
  CHECK(doubled(x).reused == 1);
  CHECK(kept_on(1) >= 20000);
  Tensor<float, Row, G1> big(24000);
  CHECK(kept_on(1) == 0);
  CHECK_THROWS_AS((Tensor<float, Row, G1>(24000)), out_of_memory);
}

TEST_CASE("the log and several replicas") {
  on_few_backends([](backends::machine const& where) {
    keeping const keep(1 << 20);
    Tensor<float, Extents<3>> a{{1, 2, 3}};
    Tensor<float, Extents<3>, Mirrored<G0, G1>> m{{1, 1, 1}};
    auto const products = [&] { return testing::count([&] { CHECK(fetch(sum(m * a)) == 6); }); };
    auto const first = products(), second = products();
    CHECK(first.copies + first.reused == second.copies + second.reused);
    CHECK(first.reused == 0);
    CHECK(second.reused == (where.has_gpu() ? 2 : 0));
    std::string log;
    debugging::set_log_sink(
        [](log_event const&, std::string_view line, void* to) {
          *static_cast<std::string*>(to) += std::string(line) + "\n";
        },
        &log);
    debugging::set_log_device_placement(true, log_frequency::every);
    products();
    debugging::set_log_device_placement(false);
    debugging::set_log_sink(nullptr);
    CHECK((log.find("(skipped: reused: kept from a copy before)") != log.npos) == where.has_gpu());
  });
}

}  // namespace copy_cache_test

// SPDX-License-Identifier: Apache-2.0
// The CUDA path over a recorder: whichever call fails, the program hears of it as an error of
// locus, nothing leaks, nothing hangs, and the next run is right.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/memory/out_of_memory.hpp>  // make_room
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>

#include "stories.hpp"

namespace recorder_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;

using stories::copies, stories::creates, stories::multiplies, stories::story;

bool folds() {
  Tensor<float, Dextents<1>, Rows> x = to<Rows>(iota<float>(Dextents<1>(5000)));
  Tensor<float, Extents<>, Pair> total = sum(x);
  return fetch(total) == 12497500 && fetch(max(x)) == 4999;
}
bool trains() {
  Tensor<double, Extents<6, 4>, Pair> w1 = uniform<double>(Extents<6, 4>{}, seed{1}, -1.0, 1.0);
  Tensor<double, Extents<4, 3>, Pair> w2 = uniform<double>(Extents<4, 3>{}, seed{2}, -1.0, 1.0);
  Tensor<double, Extents<5, 6>, Rows> x = uniform<double>(Extents<5, 6>{}, seed{3}, 0.0, 1.0);
  Tensor<std::int32_t, Extents<5>, Rows> label{0, 2, 1, 1, 0};
  for (int i = 0; i < 2; ++i)
    let(relu(matmul(x, w1)), [&](auto h) {
      let((softmax(matmul(h, w2)) - one_hot<3, double>(label)) / global_batch(x), [&](auto d) {
        run(plan(into(w2, w2 - 0.5 * matmul(transpose(h), d)),
                 into(w1, w1 - 0.5 * matmul(transpose(x),
                                            where(h > 0.0, matmul(d, transpose(w2)), 0.0)))));
      });
    });
  return std::abs(fetch(sum(w1)) + fetch(sum(w2))) < 100;
}
story const programs[] = {creates, copies, multiplies, folds, trains};

int set_device_throws = 0;

/// without the workspace of cuBLAS, which stays
std::int64_t in_use_beside_cublas(runtime::logical_device& d) {
  if (!d.queues[0]) return d.memory.in_use;
  runtime::cuda_queue& q = runtime::cuda_queue_of(d, queue_kind::compute);
  return d.memory.in_use - std::int64_t(q.products.bytes);
}

/// one run of a program in which call n fails; false: it made fewer calls
bool fails_well(story run, int cards, int n, int code,
                testing::peer_copies peers = testing::peer_copies::work) {
  testing::recorder gpus{{.cards = cards, .peers = peers}};
  gpus.fail_at(n, code);
  bool threw = false, right = false;
  try {
    right = run();
  } catch (device_error const& e) {
    threw = true;
    CHECK(!dynamic_cast<device_lost const*>(&e));  // neither code takes the card away
    std::string const text = e.what();
    CAPTURE(text);
    CHECK(text.starts_with("locus: CUDA failed on /GPU:"));
    CHECK(text.find("code " + std::to_string(code)) != text.npos);
  } catch (out_of_memory const&) {  // of pinned memory, for the chunks of a staged copy
    threw = true;
    CHECK(gpus.failed_call() == "malloc_host");
  }
  CHECK(right == !threw);
  if (!gpus.failed()) return false;
  CAPTURE(gpus.failed_call());
  // what destructors do cannot throw; a lack of memory is tried again
  bool const retried = code == 2 && gpus.failed_call() == "malloc_device";
  // or set: see below; asked or set where nobody can throw
  bool const restored = gpus.failed_call() == "set_device" || gpus.failed_call() == "get_device" ||
                        gpus.failed_call() == "has_context";
  bool const kept = gpus.failed_call().ends_with("_destroy") || gpus.failed_call() == "free_device";
  bool const staged = gpus.failed_call() == "can_access_peer" ||
                      gpus.failed_call() == "enable_peer" ||
                      gpus.failed_call() == "memcpy_peer_async";  // by way of the host then
  if (!retried && !restored && !kept && !staged) CHECK(threw);
  for (int g = 0; g < cards; ++g) CHECK(in_use_beside_cublas(runtime::table.gpu_devices[g]) == 0);
  set_device_throws += restored && threw;
  CHECK(runtime::table.live_blocks == 0);
  CHECK(run());
  if (kept) return true;
  CHECK(gpus.open_streams() % runtime::queues_of_device == 0);  // with their events, or none
  CHECK(gpus.open_events() == gpus.open_streams() * int(runtime::cuda_queue::kept));
  return true;
}

}  // namespace

TEST_CASE("each program is right on 1 and 2 recorded cards and gives everything back") {
  for (int cards : {1, 2})
    for (auto const run : programs) {
      testing::recorder gpus{{.cards = cards}};
      CHECK(run());
      for (int g = 0; g < cards; ++g) {
        runtime::logical_device& d = runtime::table.gpu_devices[g];
        CHECK(in_use_beside_cublas(d) == 0);
        runtime::detail::make_room(d);
      }
      CHECK(gpus.open_bytes() == (64 << 10) * gpus.open_handles());
      CHECK(gpus.calls("malloc_device") == gpus.calls("free_device") + gpus.open_handles());
    }
}

TEST_CASE(
    "whichever call fails, it is an error of locus, nothing leaks, and the next run is right") {
  for (int cards : {1, 2})
    for (int k = 0; k < int(std::size(programs)); ++k)
      for (int code : {1, 2}) {  // neither takes the card away: see the next case
        CAPTURE(cards);
        CAPTURE(k);
        CAPTURE(code);
        int n = 0;
        for (bool failed = true; failed; ++n) {
          CAPTURE(n);
          failed = fails_well(programs[k], cards, n, code);
        }
        CHECK(n > 10);
      }
  CHECK(set_device_throws > 0);
}

TEST_CASE("whichever call fails of a copy that goes by way of the host, the next run is right") {
  int n = 0;
  for (bool failed = true; failed; ++n) {
    CAPTURE(n);
    failed = fails_well(copies, 2, n, 1, testing::peer_copies::refused);
  }
  CHECK(n > 40);
}

TEST_CASE(
    "from whichever call on a card is lost, that is said, and the rest of the machine goes on") {
  auto const host_works = [] {
    Tensor<float, Extents<2>> a{{1, 2}};
    return fetch(sum(on<CpuDevice>(a * 2.f))) == 6;
  };
  int in_steps = 0;
  for (int lost : {0, 1})
    for (auto const program : programs) {
      bool reached = true;
      for (int n = 0; reached; n += 1 + n / 16) {
        CAPTURE(lost);
        CAPTURE(n);
        testing::recorder gpus{{.cards = 2}};
        gpus.lose_card(lost, n);
        std::string text;
        bool right = false;
        try {
          right = program();
        } catch (device_lost const& e) {
          text = e.what();
        }
        reached = gpus.all_calls() > n && n < 4000;
        CHECK(runtime::table.live_blocks == 0);
        CHECK(right == text.empty());
        std::string const name = lost ? "/GPU:1" : "/GPU:0";
        if (text.empty()) {
          reached = false;  // it was over before, or never used the card
          continue;
        }
        CHECK(text.find("CUDA failed on " + name) != text.npos);
        CHECK(text.find("other devices go on, this one needs a new process") != text.npos);
        in_steps += text.find("; since the last good one: ") != text.npos;
        text.clear();
        auto const calls = gpus.all_calls();
        try {
          static_cast<void>(runtime::mark(runtime::find_device(gpu(lost)), queue_kind::compute));
        } catch (device_lost const& e) {
          text = e.what();
        }
        CHECK(text.starts_with("locus: " + name + " was lost"));
        CHECK(gpus.all_calls() == calls);  // at once: CUDA is not asked again
        CHECK(host_works());
        if (lost == 1) CHECK(multiplies());  // on GPU:0
      }
    }
  CHECK(in_steps > 50);
}

TEST_CASE("device_lost names the steps since the last good one") {
  testing::recorder gpus{{.cards = 1}};
  Tensor<float, Extents<3>, G0> x{{1, 2, 3}}, y = x;
  y = x * 2.f;
  CHECK(fetch(sum(y)) == 12);  // all that went before was good
  y = exp(x);
  x = sqrt(y);
  gpus.lose_card(0);
  std::string text;
  try {
    y = x + y;
  } catch (device_lost const& e) {
    text = e.what();
  }
  CHECK(text ==
        "locus: CUDA failed on /GPU:0 in launching a kernel: unspecified launch failure (code "
        "719), step 2 (add); since the last good one: step 1 (exp) on /GPU:0, step 1 (sqrt) on "
        "/GPU:0, step 2 (add) on /GPU:0; other devices go on, this one needs a new process");
  text.clear();
  try {
    static_cast<void>(fetch(x));
  } catch (device_lost const& e) {
    text = e.what();
  }
  CHECK(text ==
        "locus: /GPU:0 was lost in step 2 (add): unspecified launch failure (code 719); other "
        "devices go on, this one needs a new process");
}

TEST_CASE("whichever call fails while the devices are found, there is a fallback or an error") {
  int n = 0;
  for (bool failed = true; failed; ++n) {
    CAPTURE(n);
    try {
      testing::recorder gpus{{.cards = 2, .fail_at = n}};
      failed = gpus.failed();
      if (failed) CHECK(multiplies());
    } catch (device_lost const& e) {
      CHECK(std::string(e.what()).starts_with("locus: CUDA failed on /GPU:"));
    }
    CHECK(multiplies());
  }
  CHECK(n > 64);
}

TEST_CASE("machines without a usable GPU give the same numbers on the host") {
  struct {
    testing::recorder_options machine;
    runtime::absence why;
  } const machines[] = {
      {{.driver = 0}, runtime::absence::no_driver},
      {{.driver = 12080, .toolkit = 13000}, runtime::absence::old_driver},
      {{.cards = 0}, runtime::absence::no_gpu_visible},
      {{.kernels_run = false}, runtime::absence::wrong_architecture},
      {{.fail_at = 2, .fail_with = 802}, runtime::absence::driver_waits},
      {{.fail_at = 2, .fail_with = 803}, runtime::absence::driver_mismatch},
      {{.fail_at = 4, .fail_with = 46}, runtime::absence::taken},
  };
  for (auto const& [machine, why] : machines) {
    testing::recorder gpus{machine};
    CHECK(runtime::devices().why_no_gpu == why);
    CHECK(runtime::devices().gpus == 0);
    config::set_soft_device_placement(false);
    std::string text;
    CHECK(multiplies());  // it asks for no device by name
    try {
      Tensor<float, Extents<2>, GpuDevice<0>> const asked;
    } catch (unknown_device const& e) {
      text = e.what();
    }
    config::set_soft_device_placement(true);
    CHECK(text.starts_with("locus: there is no /GPU:0: " + std::string(sentence(why))));
    CHECK(text.find("(present: /CPU:0)") != text.npos);
    for (auto const run : programs) CHECK(run());
    CHECK(gpus.calls("launch") + gpus.calls("gemm") + gpus.calls("malloc_device") == 0);
  }
}

TEST_CASE("an old toolkit runs on a newer driver") {
  testing::recorder gpus{{.driver = 13000, .toolkit = 12040}};
  CHECK(runtime::devices().gpus == 1);
  CHECK(multiplies());
  CHECK(gpus.calls("gemm") == 1);
}

TEST_CASE("the current device is the program's own again after every call") {
  testing::recorder gpus{{.cards = 2}};
  auto const& api = *runtime::gpu_api;
  for (int mine : {0, 1}) {
    api.set_device(mine);
    for (auto const run : programs) CHECK(run());
    int now = -1;
    api.get_device(&now);
    CHECK(now == mine);
  }
}

TEST_CASE("in the steady state a launch allocates nothing and asks the driver nothing") {
  testing::recorder gpus{{.cards = 1}};
  Tensor<float, Extents<100>, G0> x(iota<float>(Extents<100>{})), y(x * 1.f);
  auto const calls_of = [&](auto&& f) {
    f();
    auto const all = gpus.all_calls(), launches = gpus.calls("launch");
    f();
    CHECK(gpus.calls("launch") == launches + 1);
    return gpus.all_calls() - all;
  };
  CHECK(calls_of([&] { y = 2.f * x + y; }) == 1);
  CHECK(calls_of([&] { x = sqrt(x); }) == 1);
}

TEST_CASE("temporaries and workspace take no call of the driver once they were there") {
  testing::recorder gpus{{.cards = 1}};
  Tensor<float, Dextents<2>, G0> a(uniform<float>(dextents<2>{20, 30}, seed{1})), b(30, 20);
  Tensor<float, Extents<>, G0> total;
  auto const calls_of = [&](auto&& f) {
    f();
    auto const all = gpus.all_calls();
    for (int i = 0; i < 5; ++i) f();
    return (gpus.all_calls() - all) / 5;
  };
  CHECK(calls_of([&] { b = transpose(matmul(matmul(a, transpose(a)), a)); }) == 3);
  CHECK(calls_of([&] { total = sum(matmul(a, transpose(a))); }) >= 2);
  CHECK(gpus.calls("malloc_device") == 2);  // one is the workspace of cuBLAS
  CHECK(gpus.calls("free_device") == 0);
}

TEST_CASE("with several cards a launch asks for the current one") {
  testing::recorder gpus{{.cards = 2}};
  Tensor<float, Extents<100>, G0> x(iota<float>(Extents<100>{})), y(x * 1.f);
  y = 2.f * x + y;
  auto const all = gpus.all_calls();
  y = 2.f * x + y;
  CHECK(gpus.all_calls() - all == (checked_build ? 5 : 2));  // a check of each operand asks, too
}

TEST_CASE("memory beyond a card: device, requested, in use, limit, and nothing is kept") {
  testing::recorder gpus{{.cards = 1, .bytes = 1 << 16}};
  Tensor<float, Dextents<1>, G0> a(10000);
  std::string text;
  try {
    Tensor<float, Dextents<1>, G0> b(10000);
  } catch (out_of_memory const& e) {
    text = e.what();
  }
  CHECK(text ==
        "locus: no memory on /GPU:0 for a tensor of float[10000]: requested 40192 bytes, in "
        "use 40192, limit 65536; free tensors, or cut the problem into smaller parts");
  CHECK(gpus.open_bytes() == 65536);  // one region: the limit is less than 2 MiB
  CHECK(config::get_memory_info<G0>().current == 40192);
}

}  // namespace recorder_test

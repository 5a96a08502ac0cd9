// SPDX-License-Identifier: Apache-2.0
// Memory of devices on the host, on simulated GPUs and over the recorder: counted to the byte,
// never above a limit, said when there is none, from many threads, from a resource of the user's.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/memory/allocate.hpp>       // allocate, release
#include <locus/memory/out_of_memory.hpp>  // make_room
#include <locus/memory/pinned.hpp>         // pinned_memory, pinned_pool
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <atomic>
#include <chrono>
#include <cstdio>
#include <doctest/doctest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <locus/config/logical.hpp>
#include <locus/config/memory_resource.hpp>
#include <locus/config/settings.hpp>
#include <locus/memory/communication.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"
#include <message_of.hpp>

using namespace locus;
using runtime::allocate, runtime::release, runtime::logical_device;

namespace {

constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB;

logical_device& gpu_device(int i) { return runtime::find_device(gpu(i)); }
config::memory_info info_of(logical_device const& d) {  // CPUs need not be configured for it
  return config::detail::read_memory(d);
}

/// body(device) on the host, on a simulated and on a recorded GPU
template <class Body>
void on_each_device(Body&& body) {
  {
    INFO("on the host");
    body(runtime::find_device(cpu(1)));
  }
  {
    INFO("on a simulated GPU");
    testing::simulated_gpus const gpus{1};
    body(gpu_device(0));
  }
  {
    INFO("on a recorded GPU");
    testing::recorder const gpus{};
    body(gpu_device(0));
  }
}

/// addresses that nobody may touch, as many as asked for
struct address_space {
  std::atomic<std::uintptr_t> next{std::uintptr_t(1) << 42};
  std::atomic<std::int64_t> given{0}, calls{0};
  memory_resource resource() {
    return {[](void* c, std::size_t n) {
              auto& me = *static_cast<address_space*>(c);
              ++me.calls, me.given += std::int64_t(n);
              return reinterpret_cast<void*>(me.next.fetch_add(n));
            },
            [](void* c, void*, std::size_t n) {
              static_cast<address_space*>(c)->given -= std::int64_t(n);
            },
            this};
  }
};

}  // namespace

TEST_CASE("1 to 1023 bytes, one each: 1023 allocations, 654,336 bytes, the largest 1024") {
  on_each_device([](logical_device& d) {
    config::detail::reset_memory(d);
    std::vector<void*> blocks;
    for (std::int64_t n = 1; n < 1024; ++n) blocks.push_back(allocate(d, n, "a test"));
    auto now = info_of(d);
    CHECK(now.allocations == 1023);
    CHECK(now.current == 654'336);
    CHECK(now.peak == 654'336);
    CHECK(now.largest == 1024);
    CHECK(now.limit == d.memory.limit);
    CHECK(now.reserved >= now.current);
    if (d.name.is_gpu()) CHECK(now.reserved == 2 * MiB);
    for (std::int64_t n = 1; n < 1024; ++n) release(d, blocks[std::size_t(n - 1)], n);
    now = info_of(d);
    CHECK(now.current == 0);
    CHECK(now.peak == 654'336);
    CHECK(now.allocations == 1023);
    config::detail::reset_memory(d);
    now = info_of(d);
    CHECK(now.peak == 0);
    CHECK(now.allocations == 0);
    CHECK(now.largest == 0);
  });
}

TEST_CASE("no bytes take no memory, even where there is none left") {
  testing::simulated_gpus const gpus{1, {.memory_limit = 512}};
  logical_device& d = gpu_device(0);
  void* const all = allocate(d, 512, "a test");
  CHECK(allocate(d, 0, "a test") == nullptr);
  CHECK(info_of(d).allocations == 1);
  release(d, nullptr, 0);
  CHECK_THROWS_AS(allocate(d, 1, "a test"), out_of_memory);
  CHECK(info_of(d).current == 512);
  release(d, all, 512);
}

TEST_CASE("a freed block is used again, in the order of the device's queue, without the driver") {
  testing::recorder gpus{};
  logical_device& d = gpu_device(0);
  void* const first = allocate(d, 10'000, "a test");
  release(d, first, 10'000);
  auto const calls = gpus.all_calls();
  for (int i = 0; i < 1000; ++i) {
    void* const p = allocate(d, 10'000 - i, "a test");
    REQUIRE(p == first);
    release(d, p, 10'000 - i);
  }
  CHECK(gpus.all_calls() == calls);
  CHECK(gpus.calls("malloc_device") == 1);
}

TEST_CASE("fragmented memory: the largest free block, and what to do about it") {
  // a sixteenth of TensorFlow's case: 32 MiB, 128 blocks of 256 KiB, 127 freed, then 31.75 MiB
  for (bool const recorded : {false, true})
    for (bool const growth : {true, false})
      for (std::size_t const kept : {std::size_t(0), std::size_t(64), std::size_t(127)}) {
        CAPTURE(recorded);
        CAPTURE(growth);
        CAPTURE(kept);
        auto const body = [&] {
          config::set_memory_growth("GPU:0", growth);
          logical_device& d = gpu_device(0);
          std::vector<void*> blocks(128);
          for (void*& p : blocks) p = allocate(d, 256 * KiB, "a block");
          CHECK(info_of(d).reserved == 32 * MiB);
          CHECK_THROWS_AS(allocate(d, 1, "one more byte"), out_of_memory);
          for (std::size_t i = 0; i < blocks.size(); ++i)
            if (i != kept) release(d, blocks[i], 256 * KiB);
          void* large = nullptr;
          auto const text = message_of<out_of_memory>(
              [&] { large = allocate(d, 32 * MiB - 256 * KiB, "the rest"); });
          if (!growth && kept != 64)
            CHECK(large != nullptr);
          else if (growth && kept == 127)
            // the regions of 2, 4, 8 and 16 MiB went back; the block lies in the last one
            CHECK(text ==
                  "locus: no memory on /GPU:0 for the rest: requested 33292288 bytes, in use "
                  "262144, limit 33554432; the free memory is fragmented: the largest free block "
                  "has 1835008 bytes of 1835008 that are free in 1 region; make large tensors "
                  "first, or turn memory growth off so that the device is one region");
          else
            CHECK(text.find("the free memory is fragmented") != std::string::npos);
          CHECK((text.find("turn memory growth off") != std::string::npos) == (growth && !large));
          CHECK(info_of(d).current == (large ? 32 * MiB : 256 * KiB));
          if (!large && growth) {  // what the trim made free is one region again
            std::int64_t const most = 32 * MiB - info_of(d).reserved;
            CHECK(most >= 16 * MiB);
            large = allocate(d, most, "what fits");
            release(d, large, most);
          } else if (large)
            release(d, large, 32 * MiB - 256 * KiB);
          release(d, blocks[kept], 256 * KiB);
          CHECK(info_of(d).current == 0);
          release(d, allocate(d, 32 * MiB, "all of it"), 32 * MiB);
        };
        testing::fresh_configuration const fresh;
        if (recorded) {
          testing::recorder const gpus{{.bytes = 32 * MiB}};
          body();
        } else {
          testing::simulated_gpus const gpus{1, {.memory_limit = 32 * MiB}};
          body();
        }
      }
}

TEST_CASE("a card that has less than the limits of its devices says so, and shares what it has") {
  testing::recorder const gpus{{.cards = 1, .bytes = 64 * MiB}};
  config::set_logical_devices("GPU:0", {{.memory_limit = 32 * MiB}, {.memory_limit = 32 * MiB}});
  logical_device &first = gpu_device(0), &second = gpu_device(1);
  first.memory.limit = second.memory.limit = 64 * MiB;  // as if another process had the rest
  void* a = allocate(first, 40 * MiB, "a tensor");
  auto const text = message_of<out_of_memory>([&] { allocate(second, 40 * MiB, "a tensor"); });
  CHECK(text ==
        "locus: no memory on /GPU:1 for a tensor: requested 41943040 bytes, in use 0, limit "
        "67108864; the card has no more: others use the rest of it (reserved here 0); free "
        "tensors, or set a memory limit");
  CHECK(info_of(second).current == 0);
  CHECK(info_of(second).allocations == 0);
  release(first, a, 40 * MiB);
  CHECK(info_of(first).reserved == 64 * MiB);  // kept, until a neighbour needs it
  void* const b = allocate(second, 40 * MiB, "a tensor");
  CHECK(info_of(first).reserved == 0);
  release(second, b, 40 * MiB);
  a = allocate(first, 64 * MiB, "a tensor");
  CHECK(info_of(second).reserved == 0);
  release(first, a, 64 * MiB);
}

TEST_CASE("the step that runs is named where there is one") {
  testing::simulated_gpus const gpus{1, {.memory_limit = 1024}};
  runtime::step_record const record{3, "matmul", gpu(0)};
  runtime::running_scope const scope(&record);
  CHECK(message_of<out_of_memory>([] { allocate(gpu_device(0), 2000, "a workspace"); }) ==
        "locus: no memory on /GPU:0 for a workspace: requested 2048 bytes, in use 0, limit 1024, "
        "step 3 (matmul); free tensors, or cut the problem into smaller parts");
}

TEST_CASE(
    "staging memory of collectives: one block, kept, counted, as large as the largest asked") {
  on_each_device([](logical_device& d) {
    auto const before = info_of(d).current;
    void* const p = runtime::communication_memory(d, 100'000);
    CHECK(p);
    CHECK(runtime::communication_memory(d, 5) == p);
    CHECK(runtime::communication_memory(d, 100'000) == p);
    CHECK(info_of(d).current == before + round_up(100'000));
    void* const larger = runtime::communication_memory(d, 300'000);
    CHECK(larger != p);
    CHECK(info_of(d).current == before + round_up(300'000));
    runtime::release_communication_memory(d);
    CHECK(info_of(d).current == before);
  });
  testing::simulated_gpus const gpus{1, {.memory_limit = 4096}};
  logical_device& d = gpu_device(0);
  void* const p = runtime::communication_memory(d, 1000);
  CHECK_THROWS_AS(runtime::communication_memory(d, 5000), out_of_memory);
  CHECK(runtime::communication_memory(d, 1000) == p);  // kept
  CHECK(info_of(d).current == 1024);
}

TEST_CASE("pinned memory is obtained once and used again; without it copies go without") {
  testing::recorder gpus{};
  auto& pinned = runtime::pinned_memory;
  void* const first = pinned.allocate(100'000);
  void* const second = pinned.allocate(100'000);
  CHECK((first && second && first != second));
  CHECK(gpus.pinned_bytes() == 2 * MiB);
  pinned.release(first);
  for (int i = 0; i < 100; ++i) {
    void* const p = pinned.allocate(90'000);
    CHECK(p == first);
    pinned.release(p);
  }
  CHECK(gpus.calls("malloc_host") == 1);
  CHECK(pinned.allocate(0) == nullptr);
  CHECK(pinned.allocate(2 * runtime::pinned_pool::limit) == nullptr);
  gpus.fail_at(0, 2);
  CHECK(pinned.allocate(2 * MiB) != nullptr);  // refused as a region of 4 MiB, then a smaller one
  CHECK(gpus.failed_call() == "malloc_host");
  pinned.close();
  CHECK(gpus.pinned_bytes() == 0);
}
TEST_CASE("pinned memory is ordinary memory where there is no CUDA") {
  runtime::devices();
  auto* const p = static_cast<char*>(runtime::pinned_memory.allocate(1000));
  REQUIRE(p);
  p[0] = p[999] = 1;
  runtime::pinned_memory.release(p);
  runtime::pinned_memory.close();
}

TEST_CASE("memory of the user's: regions come from a resource, and all of them go back") {
  struct counting {
    memory_resource from;
    std::int64_t given = 0, calls = 0;
  };
  auto const check = [](char const* name, logical_device& d) {
    counting count{config::get_memory_resource(name)};
    memory_resource const resource{[](void* c, std::size_t n) {
                                     auto& me = *static_cast<counting*>(c);
                                     me.given += std::int64_t(n), ++me.calls;
                                     return me.from.allocate(me.from.context, n);
                                   },
                                   [](void* c, void* p, std::size_t n) {
                                     auto& me = *static_cast<counting*>(c);
                                     me.given -= std::int64_t(n);
                                     me.from.release(me.from.context, p, n);
                                   },
                                   &count};
    config::set_memory_resource(name, resource);
    void* const p = allocate(d, 1000, "a test");
    CHECK(count.given == 2 * MiB);
    CHECK(info_of(d).reserved == 2 * MiB);
    CHECK(info_of(d).current == 1024);
    auto const text =
        message_of<configuration_error>([&] { config::set_memory_resource(name, {}); });
    CHECK(text.find("1024 bytes of /") != std::string::npos);
    CHECK(text.find("are in use; give its memory resource before the first tensor") !=
          std::string::npos);
    release(d, p, 1000);
    for (int i = 0; i < 10; ++i) release(d, allocate(d, 5000, "a test"), 5000);
    CHECK(count.calls == 1);
    config::set_memory_resource(name, {});  // the device itself again
    CHECK(count.given == 0);
    release(d, allocate(d, 1000, "a test"), 1000);
    CHECK(count.calls == 1);
  };
  on_each_device([&](logical_device& d) { check(d.name.is_gpu() ? "GPU:0" : "CPU:1", d); });
  CHECK(message_of<configuration_error>([] {
          config::set_memory_resource("CPU:1",
                                      {nullptr, [](void*, void*, std::size_t) {}, nullptr});
        }) == "locus: a memory resource has one of allocate and release; give both, or none");
  CHECK_THROWS_AS(config::set_memory_resource("GPU:x", {}), unknown_device);
}
TEST_CASE("a resource that throws, refuses, or lies") {
  testing::simulated_gpus const gpus{1, {.memory_limit = 64 * MiB}};
  logical_device& d = gpu_device(0);
  auto const nothing = [](void*, void*, std::size_t) {};
  config::set_memory_resource("GPU:0",
                              {[](void*, std::size_t) -> void* { throw 7; }, nothing, nullptr});
  CHECK_THROWS_AS(allocate(d, 1000, "a test"), int);
  CHECK(info_of(d).current == 0);
  config::set_memory_resource(
      "GPU:0", {[](void*, std::size_t) -> void* { return nullptr; }, nothing, nullptr});
  CHECK_THROWS_AS(allocate(d, 1000, "a test"), out_of_memory);
  address_space other;
  config::set_memory_resource("GPU:0", other.resource());
  CHECK(message_of<configuration_error>([&] { allocate(d, 1000, "a test"); }) ==
        "locus: the memory resource of the simulated /GPU:0 returned other memory; take it from "
        "config::get_memory_resource, which is the device's own");
  CHECK(other.given == 0);
  config::set_memory_resource("GPU:0", {});
  release(d, allocate(d, 1000, "a test"), 1000);
}

namespace {

/// random allocations and frees by four threads on four devices: blocks lie apart, bytes add up, no
/// limit is passed
void storm(logical_device* const* devices, int operations, int log_bytes) {
  struct ledger {
    std::mutex lock;
    std::map<std::uintptr_t, std::int64_t> live;
    std::int64_t bytes = 0, most = 0;
  } ledgers[4];
  std::atomic<std::int64_t> faults{0}, refused{0};
  auto const work = [&](unsigned seed) {
    std::mt19937 bits(seed);
    struct block {
      int on;
      void* p;
      std::int64_t bytes;
    };
    std::vector<block> mine;
    auto const give_up = [&](std::size_t i) {
      block const b = mine[i];
      mine[i] = mine.back(), mine.pop_back();
      {
        std::lock_guard hold(ledgers[b.on].lock);
        ledgers[b.on].live.erase(reinterpret_cast<std::uintptr_t>(b.p));
        ledgers[b.on].bytes -= round_up(b.bytes);
      }
      release(*devices[b.on], b.p, b.bytes);
    };
    for (int i = 0; i < operations; ++i) {
      if (!mine.empty() && bits() % 100 < 45) {
        give_up(bits() % mine.size());
        continue;
      }
      int const on = static_cast<int>(bits() % 4);
      std::int64_t const n =
          1 + std::int64_t(bits() % (std::uint64_t(1) << bits() % unsigned(log_bytes + 1)));
      logical_device& d = *devices[on];
      void* p = nullptr;
      try {
        p = allocate(d, n, "a storm");
      } catch (out_of_memory const&) {
        ++refused;
        continue;
      }
      std::int64_t const in_use = __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED);
      ledger& l = ledgers[on];
      std::lock_guard hold(l.lock);
      auto const at = reinterpret_cast<std::uintptr_t>(p), end = at + std::uintptr_t(round_up(n));
      auto const next = l.live.lower_bound(at);
      bool const apart = (next == l.live.end() || end <= next->first) &&
                         (next == l.live.begin() ||
                          std::prev(next)->first + std::uintptr_t(std::prev(next)->second) <= at);
      l.live[at] = round_up(n), l.bytes += round_up(n);
      l.most = std::max(l.most, l.bytes);
      if (!apart || l.bytes > d.memory.limit || in_use > d.memory.limit) ++faults;
      mine.push_back({on, p, n});
    }
    while (!mine.empty()) give_up(mine.size() - 1);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(work, t + 1);
  for (auto& t : threads) t.join();
  CHECK(faults == 0);
  CHECK(refused > 0);  // limits were reached
  for (int i = 0; i < 4; ++i) {
    auto const info = info_of(*devices[i]);
    CHECK(info.current == 0);
    CHECK(info.peak <= info.limit);
    CHECK(info.peak >= ledgers[i].most);
    CHECK(ledgers[i].live.empty());
  }
}

}  // namespace

TEST_CASE("100,000 random allocations and frees, 1 byte to 64 MiB, 4 devices, 4 threads") {
  for (bool const from_pool : {false, true}) {  // regions over addresses, then the host's own pool
    CAPTURE(from_pool);
    address_space addresses;
    logical_device* devices[4];
    std::int64_t limits[4];
    char const* const names[] = {"CPU:2", "CPU:3", "CPU:4", "CPU:5"};
    for (int i = 0; i < 4; ++i) {
      devices[i] = &runtime::find_device(cpu(2 + i));
      limits[i] = std::exchange(devices[i]->memory.limit, (128 + 64 * i) * MiB + 100 * i);
      if (!from_pool) config::set_memory_resource(names[i], addresses.resource());
      config::detail::reset_memory(*devices[i]);
    }
    // the address sanitizer gives every block of the host's pool back, and keeps it a while
    storm(devices, LOCUS_ADDRESS_SANITIZER && from_pool ? 1'000 : 25'000, 26);
    if (!from_pool) CHECK(addresses.calls < 2000);
    for (int i = 0; i < 4; ++i) {
      if (!from_pool) config::set_memory_resource(names[i], {});
      devices[i]->memory.limit = limits[i];
    }
    CHECK(addresses.given == 0);
    runtime::host_memory.trim();
  }
}
TEST_CASE(
    "the same on simulated GPUs, with smaller blocks: their memory is poisoned at each free") {
  testing::simulated_gpus const gpus{4, {.memory_limit = 64 * KiB}};
  logical_device* devices[4];
  for (int i = 0; i < 4; ++i) devices[i] = &gpu_device(i);
  storm(devices, 1500, 14);
  for (int i = 0; i < 4; ++i) {
    runtime::detail::make_room(*devices[i]);
    CHECK(info_of(*devices[i]).reserved == 0);
  }
}

TEST_CASE("allocations are logged" * doctest::skip()) {
  testing::simulated_gpus const gpus{1};
  logical_device& d = gpu_device(0);
  void* const p = allocate(d, 1000, "a tensor of float[250]");
  void* const q = allocate(d, 10, "a workspace");
  release(d, p, 1000, "a tensor of float[250]");
  debugging::set_log_allocations(false);
  release(d, q, 10);
  debugging::set_log_allocations(true);
  release(d, allocate(d, 10, "more"), 10);
}
TEST_CASE("a line for each allocation and each free, where somebody asked for it") {
  auto const on = child::run("allocations are logged", {"LOCUS_LOG_ALLOCATIONS=1"});
  CHECK(on.text.find("locus: /GPU:0 allocates 1024 bytes for a tensor of float[250], in use 1024\n"
                     "locus: /GPU:0 allocates 256 bytes for a workspace, in use 1280\n"
                     "locus: /GPU:0 frees 1024 bytes for a tensor of float[250], in use 256\n"
                     "locus: /GPU:0 allocates 256 bytes for more, in use 256\n"
                     "locus: /GPU:0 frees 256 bytes, in use 0\n") != std::string::npos);
  auto const off = child::run("allocations are logged");
  CHECK(off.count("allocates") == 1);
  CHECK(off.count("frees") == 1);
}

TEST_CASE("an allocation and its free in the steady state, whole") {
  auto const measure = [](char const* what, logical_device& d, int times) {
    for (std::int64_t n : {64, 1000, 10'000, 1'000'000}) release(d, allocate(d, n, "a test"), n);
    double best = 1e9;
    for (int round = 0; round < 7; ++round) {
      auto const start = std::chrono::steady_clock::now();
      for (int i = 0; i < times; ++i)
        for (std::int64_t n : {64, 1000, 10'000, 1'000'000})
          release(d, allocate(d, n, "a test"), n);
      std::chrono::duration<double, std::nano> const took =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count() / times / 4);
    }
    std::printf("%s: %.0f ns for an allocation and its free\n", what, best);
    if (!LOCUS_ADDRESS_SANITIZER) CHECK(best < 5000);  // a busy machine
  };
  int const times = LOCUS_ADDRESS_SANITIZER ? 100 : 20'000;
  measure("host, own pool", runtime::find_device(cpu(1)), times);
  address_space addresses;
  config::set_memory_resource("CPU:2", addresses.resource());
  measure("host, regions", runtime::find_device(cpu(2)), times);
  config::set_memory_resource("CPU:2", {});
  // without the recorder's own poisoning of each free, which the driver does not do
  testing::recorder gpus{};
  runtime::cuda_api quiet = *runtime::gpu_api;
  quiet.retired = nullptr;
  auto const* const whole = std::exchange(runtime::gpu_api, &quiet);
  measure("CUDA, recorded", gpu_device(0), times);
  runtime::gpu_api = whole;
  CHECK(gpus.calls("malloc_device") == 1);
}

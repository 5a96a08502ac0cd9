// SPDX-License-Identifier: Apache-2.0
// Deadlines of collectives: a thread watches them, so that neither who issues work nor who waits for it has
// to come back first; what is late is told from what only lies behind other work.
#define LOCUS_CUDA_KERNELS 1
#include "on_backends.hpp"
// the backends come first
#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>

#include <locus/core/clock.hpp>
#include <locus/testing/nccl_recorder.hpp>

#include "replicas.hpp"
#include <message_of.hpp>

using namespace locus;
using replicas::cut;
using replicas::mirrored;

namespace {

struct deadline {
  explicit deadline(double seconds) { config::set_collective_timeout(seconds); }
  deadline(deadline const&) = delete;
  ~deadline() { runtime::collectives.deadlines = {}; }
};
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

using Two = mirrored<2>;
using Cut = cut<2>;

struct program_of_sums {
  Tensor<float, Extents<2, 8>, Cut> x{to<Cut>(ones<float>(Extents<2, 8>{}))};
  Tensor<float, Extents<8>, Two> y;
  void run() { locus::run(plan(into(y, sum<0>(x)))); }
  float first() { return fetch(sum(y)) / 8; }
};
/// within the seconds
bool becomes(auto&& what, double seconds = 5) {
  for (double const begin = seconds_now(); seconds_now() - begin < seconds; usleep(1000))
    if (what()) return true;
  return false;
}

void finish_cards() {
  for (int g : {0, 1})
    for (queue_kind const k : {queue_kind::copy, queue_kind::compute})
      runtime::gpu_api->stream_synchronize(
          runtime::cuda_queue_of(runtime::find_device(gpu(g)), k).stream);
}

/// event_synchronize of a card that takes its time
struct slow_card {
  static inline runtime::cuda_api const* quick = nullptr;
  static inline std::atomic<int> waiting = 0;
  static inline std::atomic<bool> go_on = false;
  runtime::cuda_api slow;
  slow_card() : slow(*runtime::gpu_api) {
    quick = runtime::gpu_api, waiting = 0, go_on = false;
    slow.event_synchronize = [](void* e) {
      ++waiting;
      while (!go_on) usleep(1000);
      return quick->event_synchronize(e);
    };
    lock_guard hold(detail::communicators().lock);  // the watch looks elsewhere
    runtime::gpu_api = &slow;
  }
  slow_card(slow_card const&) = delete;
  ~slow_card() {
    lock_guard hold(detail::communicators().lock);
    runtime::gpu_api = quick;
  }
};

}  // namespace

TEST_CASE("a collective that hangs is ended although nobody waits, and the next to wait is told") {
  deadline const soon(0.1);
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder nccl;
  program_of_sums p;
  p.run();
  CHECK(p.first() == 2);
  nccl.state().mischief.never_done = true;
  p.run();
  CHECK(nccl.open_communicators() == 2);
  auto& sets = detail::communicators().sets;
  REQUIRE(sets.size() == 1);
  CHECK(becomes([&] { return sets[0]->is_broken(); }));
  std::string const said = message_of<collective_error>([&] { static_cast<void>(p.first()); });
  CHECK(has(said,
            "all_reduce of bucket 0 over /GPU:0 /GPU:1 failed at /GPU:0: it did not end within"));
  CHECK(nccl.open_communicators() == 0);
  CHECK(message_of<collective_error>([&] { static_cast<void>(p.first()); }) == nothing_thrown);
  CHECK(has(message_of<collective_error>([&] { p.run(); }), "its communicators failed before"));
  nccl.state().mischief = {};
  collective::rebuild<Two>();
  p.run();
  CHECK(p.first() == 2);
  CHECK(nccl.forbidden() == 0);
}

TEST_CASE("a thread that stays in CUDA keeps no deadline from passing") {
  deadline const soon(0.1);
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder nccl;
  program_of_sums p;
  p.run();
  CHECK(p.first() == 2);
  nccl.state().mischief.never_done = true;
  p.run();
  // the queue is full: marking it takes until the card goes on
  runtime::cuda_queue& full =
      runtime::cuda_queue_of(runtime::find_device(gpu(0)), queue_kind::copy);
  lock_guard hold(full.marking);
  CHECK(becomes([&] { return detail::communicators().sets[0]->is_broken(); }));
}

TEST_CASE("what lies behind other work, or has it behind itself, is not late") {
  deadline const soon(0.1);
  testing::recorder cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  program_of_sums p;
  p.run();
  CHECK(p.first() == 2);
  finish_cards();
  cards.be_busy(true);
  for (int g : {0, 1})
    cards.enqueue(runtime::cuda_queue_of(runtime::find_device(gpu(g)), queue_kind::copy).stream,
                  [] {});
  p.run();  // behind work that takes longer than the timeout
  usleep(400'000);
  CHECK(!detail::communicators().sets[0]->is_broken());
  cards.be_busy(false);
  CHECK(p.first() == 2);
  {
    p.run();
    finish_cards();
    slow_card const other_work;
    std::thread([&] {
      std::thread later([] { usleep(400'000), slow_card::go_on = true; });
      CHECK(message_of<collective_error>([&] { CHECK(p.first() == 2); }) == nothing_thrown);
      later.join();
    }).join();
    CHECK(slow_card::waiting > 0);
  }
  CHECK(nccl.open_communicators() == 2);
}

TEST_CASE("a thread that waits keeps others from nothing") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  program_of_sums p;
  p.run();
  CHECK(p.first() == 2);
  p.run();
  slow_card const card;
  std::thread waits([&] { CHECK(p.first() == 2); });
  CHECK(becomes([] { return slow_card::waiting > 0; }));
  double const begin = seconds_now();
  std::thread issues([&] {
    detail::communicators_for(look_at(Two::value.devices), {"all_reduce", 0});
    runtime::mark(runtime::find_device(gpu(1)), queue_kind::copy);
  });
  std::thread([&] { usleep(500'000), slow_card::go_on = true; }).detach();
  issues.join();
  CHECK(seconds_now() - begin < 0.3);
  CHECK(becomes([] { return slow_card::go_on.load(); }));
  waits.join();
}

TEST_CASE("nothing that waits for all cards is called while a group is half issued") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  using G0 = GpuDevice<0>;
  using G1 = GpuDevice<1>;
  Tensor<float, Dextents<2>, G0> a(8, 8), b(8, 8);
  a = ones<float>(dextents<2>{8, 8});
  void* pinned = nullptr;
  auto const meanwhile = [&](char const* what, auto&& call) {
    CAPTURE(what);
    std::thread other;
    {
      lock_guard issuing(runtime::issue_lock);
      runtime::nccl->group_start();
      other = std::thread([&] { call(); });
      usleep(30000);
      runtime::nccl->group_end();
    }
    other.join();
    CHECK(nccl.forbidden() == 0);
  };
  meanwhile("pinning", [&] { pinned = runtime::pinned_memory.allocate(8 << 20); });
  meanwhile("unpinning", [&] {
    runtime::pinned_memory.release(pinned);
    runtime::pinned_memory.close();
  });
  meanwhile("cuBLAS begins", [&] { b = matmul(a, a); });
  meanwhile("a trial of peers", [&] {
    CHECK(runtime::cuda_reaches(runtime::find_device(gpu(1)), runtime::find_device(gpu(0))));
  });
  meanwhile("memory", [&] { Tensor<float, Dextents<1>, G1> const more(1 << 22); });
}

TEST_CASE(
    "slices of one GPU are no ranks of NCCL: the host carries their sums, which is said once") {
  static std::string said;
  debugging::set_log_sink([](log_event const&, std::string_view line, void*) { said += line; });
  {
    testing::recorder const cards{{.cards = 2, .one_gpu = true}};
    testing::nccl_recorder const nccl;
    for (int i = 0; i < 2; ++i) {
      program_of_sums p;
      p.run();
      CHECK(p.first() == 2);
    }
    CHECK(nccl.calls() <= 1);  // its version
  }
  debugging::set_log_sink(nullptr);
  auto const at = said.find("/GPU:0 and /GPU:1 are on one GPU (slices of MIG");
  CHECK(at != std::string::npos);
  CHECK(said.find("are on one GPU", at + 40) == std::string::npos);
}

TEST_CASE("little shared memory is said for several cards, none for one") {
  auto const table = [](int cards, std::int64_t bytes) {
    testing::recorder const machine{{.cards = cards, .shared_memory = bytes}};
    std::ostringstream out;
    print_devices(out);
    return has(out.str(), "/dev/shm has ") &&
           has(out.str(), "start the container with --shm-size=1g");
  };
  CHECK(table(2, 64 << 20));
  CHECK(!table(1, 64 << 20));
  CHECK(!table(8, std::int64_t(1) << 30));
  CHECK(!table(8, 0));
}

TEST_CASE("launches that wait for one another are said before they hang") {
  static std::string said;
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  debugging::set_log_sink([](log_event const&, std::string_view line, void*) { said += line; });
  {
    testing::recorder const cards{{.cards = 2}};
    testing::nccl_recorder const nccl;
    program_of_sums p;
    p.run();
    CHECK(p.first() == 2);
  }
  debugging::set_log_sink(nullptr);
  unsetenv("CUDA_LAUNCH_BLOCKING");
  CHECK(has(said, "CUDA_LAUNCH_BLOCKING is set"));
  CHECK(has(said, "unset it"));
}

TEST_CASE("an error that NCCL reports later is told to who waits") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder nccl;
  program_of_sums p;
  p.run();
  CHECK(p.first() == 2);
  nccl.state().mischief.never_done = true;
  p.run();
  nccl.state().mischief.async_state = runtime::nccl_remote_error;
  std::string const said = message_of<collective_error>([&] { static_cast<void>(p.first()); });
  CHECK(has(said, "it ended with an error, NCCL: remote process exited"));
}

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
#include <locus/memory/pinned.hpp>  // pinned_memory
#include <locus/testing/nccl_recorder.hpp>

#include "collectives.hpp"
#include "replicas.hpp"
#include <message_of.hpp>

namespace watch_test {

using namespace locus;
using collectives::deadline;
using collectives::has;
using replicas::cut;
using replicas::mirrored;

namespace {

using Two = mirrored<2>;
using Cut = cut<2>;

struct program_of_sums {
  Tensor<float, Extents<2, 8>, Cut> x{to<Cut>(ones<float>(Extents<2, 8>{}))};
  Tensor<float, Extents<8>, Two> y;
  void run() { locus::run(plan(into(y, sum<0>(x)))); }
  float first() { return fetch(sum(y)) / 8; }
};
/// two recorded cards that have summed up once, by NCCL at that pace
template <class Pace>
struct sums_at {
  testing::recorder cards{{.cards = 2}};
  testing::nccl_recorder nccl;
  Pace pace;
  program_of_sums p;
  sums_at() {
    p.run();
    CHECK(p.first() == 2);
  }
};
struct usual_nccl {};
using summing_cards = sums_at<usual_nccl>;
/// within the seconds
bool becomes(auto&& what, double seconds = 5) {
  for (double const begin = seconds_now(); seconds_now() - begin < seconds; usleep(1000))
    if (what()) return true;
  return false;
}

void finish_cards() {
  for (int g : {0, 1})
    for (queue_kind const k : runtime::queue_kinds)
      runtime::gpu_api->stream_synchronize(collectives::stream_of(g, k));
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
    lock_guard hold(detail::communicators().looking);  // the watch looks elsewhere
    runtime::gpu_api = &slow;
  }
  slow_card(slow_card const&) = delete;
  ~slow_card() {
    lock_guard hold(detail::communicators().looking);
    runtime::gpu_api = quick;
  }
};

/// NCCL that takes its time, and what happened to its communicators meanwhile
struct slow_nccl {
  static inline runtime::nccl_api const* quick = nullptr;
  static inline std::atomic<int> to_end = 0, to_ask = 0;  // milliseconds of the next call
  static inline std::atomic<bool> inside = false;
  static inline std::atomic<int> ended_inside = 0, ended_by_nobody = 0, ended_under_lock = 0;
  static inline std::atomic<bool> adds_wrongly = false;
  runtime::nccl_api slow;
  slow_nccl() : slow(*runtime::nccl) {
    quick = runtime::nccl;
    to_end = to_ask = ended_inside = ended_by_nobody = ended_under_lock = 0, adds_wrongly = false;
    slow.async_state = [](void* c, int* state) {
      take_time(to_ask);
      return quick->async_state(c, state);
    };
    slow.group_end = [] {
      int const code = quick->group_end();
      take_time(to_end);
      return code;
    };
    slow.abort = [](void* c) { return note_end(), quick->abort(c); };
    slow.destroy = [](void* c) { return note_end(), quick->destroy(c); };
    slow.all_reduce = [](void const* s, void* r, std::size_t n, runtime::nccl_type t, int op,
                         void* c, void* q) {
      return quick->all_reduce(s, r, n, t, adds_wrongly ? int(runtime::nccl_max) : op, c, q);
    };
    runtime::nccl = &slow;
  }
  slow_nccl(slow_nccl const&) = delete;
  ~slow_nccl() {
    if (runtime::forget_communicators) runtime::forget_communicators();
    runtime::nccl = quick;
  }

 private:
  static void take_time(std::atomic<int>& milliseconds) {
    int const now = milliseconds.exchange(0);
    if (now == 0) return;
    inside = true;
    usleep(useconds_t(now) * 1000);
    inside = false;
  }
  static bool is_free(mutex& m) {
    bool const was_free = m.try_lock();
    if (was_free) m.unlock();
    return was_free;
  }
  static void note_end() {
    auto& all = detail::communicators();
    ended_inside += inside;
    if (!becomes([&] { return all.lock.try_lock(); }, 0.02)) {  // this thread has it
      ++ended_under_lock;
      return;
    }
    for (detail::communicator_set* const s : all.sets) ended_by_nobody += is_free(s->use);
    all.lock.unlock();
  }
};

using slowly_summing_cards = sums_at<slow_nccl>;

}  // namespace

TEST_CASE("a collective that hangs is ended although nobody waits, and the next to wait is told") {
  deadline const soon(0.1);
  summing_cards on;
  on.nccl.state().mischief.never_done = true;
  on.p.run();
  CHECK(on.nccl.open_communicators() == 2);
  auto& sets = detail::communicators().sets;
  REQUIRE(sets.size() == 1);
  CHECK(becomes([&] { return sets[0]->is_broken(); }));
  std::string const said = message_of<collective_error>([&] { static_cast<void>(on.p.first()); });
  CHECK(has(said,
            "all_reduce of bucket 0 over /GPU:0 /GPU:1 failed at /GPU:0: it did not end within"));
  CHECK(on.nccl.open_communicators() == 0);
  CHECK(message_of<collective_error>([&] { static_cast<void>(on.p.first()); }) == nothing_thrown);
  CHECK(has(message_of<collective_error>([&] { on.p.run(); }), "its communicators failed before"));
  on.nccl.state().mischief = {};
  collective::rebuild<Two>();
  on.p.run();
  CHECK(on.p.first() == 2);
  CHECK(on.nccl.forbidden() == 0);
}

TEST_CASE("a thread that stays in CUDA keeps no deadline from passing") {
  deadline const soon(0.1);
  summing_cards on;
  on.nccl.state().mischief.never_done = true;
  on.p.run();
  // the queue is full: marking it takes until the card goes on
  runtime::cuda_queue& full =
      runtime::cuda_queue_of(runtime::find_device(gpu(0)), queue_kind::communication);
  lock_guard hold(full.marking);
  CHECK(becomes([&] { return detail::communicators().sets[0]->is_broken(); }));
}

TEST_CASE("what lies behind other work, or has it behind itself, is not late") {
  deadline const soon(0.1);
  summing_cards on;
  finish_cards();
  on.cards.be_busy(true);
  for (int g : {0, 1})
    on.cards.enqueue(collectives::stream_of(g, queue_kind::communication), [] {});
  on.p.run();  // behind work that takes longer than the timeout
  usleep(400'000);
  CHECK(!detail::communicators().sets[0]->is_broken());
  on.cards.be_busy(false);
  CHECK(on.p.first() == 2);
  {
    on.p.run();
    finish_cards();
    slow_card const other_work;
    std::thread([&] {
      std::thread later([] { usleep(400'000), slow_card::go_on = true; });
      CHECK(message_of<collective_error>([&] { CHECK(on.p.first() == 2); }) == nothing_thrown);
      later.join();
    }).join();
    CHECK(slow_card::waiting > 0);
  }
  CHECK(on.nccl.open_communicators() == 2);
}

TEST_CASE("a point that was reached before anybody looked has no event, and is not late") {
  deadline const soon(0.1);
  summing_cards on;
  finish_cards();
  auto& sets = detail::communicators().sets;
  REQUIRE(sets.size() == 1);
  detail::collective_flight flight;
  flight.name = {"all_reduce", 0}, flight.deadline = 0.1;
  for (int p = 0; p < 2; ++p) {
    stamp const s = runtime::mark(*sets[0]->on[p], queue_kind::communication);
    REQUIRE(s.is_set());
    flight.before[p] = {s, runtime::cuda_event_of(s)};
    flight.done[p] = {s, nullptr};
  }
  sets[0]->watch(flight);
  sets[0]->look(seconds_now());
  CHECK(!sets[0]->is_broken());
  usleep(200'000);
  sets[0]->look(seconds_now());
  CHECK(!sets[0]->is_broken());
  on.p.run();
  CHECK(on.p.first() == 2);
}

TEST_CASE("a thread that waits keeps others from nothing") {
  summing_cards on;
  on.p.run();
  slow_card const card;
  std::thread waits([&] { CHECK(on.p.first() == 2); });
  CHECK(becomes([] { return slow_card::waiting > 0; }));
  std::atomic<bool> are_issued = false;
  std::thread issues([&] {
    internal::communicators_for(look_at(Two::value.devices), {"all_reduce", 0});
    runtime::mark(runtime::find_device(gpu(1)), queue_kind::communication);
    are_issued = true;
  });
  CHECK(becomes([&] { return are_issued.load(); }));  // while the other thread waits
  slow_card::go_on = true;
  issues.join();
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
  { summing_cards const on; }
  debugging::set_log_sink(nullptr);
  unsetenv("CUDA_LAUNCH_BLOCKING");
  CHECK(has(said, "CUDA_LAUNCH_BLOCKING is set"));
  CHECK(has(said, "unset it"));
}

TEST_CASE("an error that NCCL reports later is told to who waits") {
  summing_cards on;
  on.nccl.state().mischief.never_done = true;
  on.p.run();
  on.nccl.state().mischief.async_state = runtime::nccl_remote_error;
  std::string const said = message_of<collective_error>([&] { static_cast<void>(on.p.first()); });
  CHECK(has(said, "it ended with an error, NCCL: remote process exited"));
}

TEST_CASE("communicators whose state a thread asks for are ended by that thread alone") {
  deadline const soon(0.1);
  slowly_summing_cards on;
  on.nccl.state().mischief.groups_hang = true;
  finish_cards();  // so that the watch has nothing to ask
  slow_nccl::to_ask = 400;
  std::string const said = message_of<collective_error>([&] { on.p.run(); });
  CHECK(has(said, "it did not come back within the timeout"));
  CHECK(slow_nccl::ended_inside == 0);
  CHECK(on.nccl.open_communicators() == 0);
}

TEST_CASE("a thread that stays in NCCL is brought back") {
  deadline const soon(0.1);
  slowly_summing_cards on;
  slow_nccl::to_end = 400;
  std::string const said = message_of<collective_error>([&] { on.p.run(); });
  CHECK(has(said, "NCCL did not take it within the timeout"));
  CHECK(slow_nccl::ended_inside == 2);
  CHECK(slow_nccl::ended_under_lock == 0);
}

TEST_CASE("communicators that bring wrong sums end while nobody calls NCCL with them") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  slow_nccl const slow;
  slow_nccl::adds_wrongly = true;
  program_of_sums p;
  CHECK(has(message_of<collective_error>([&] { p.run(); }), "a sum of small integers came out"));
  CHECK(nccl.open_communicators() == 0);
  CHECK(slow_nccl::ended_by_nobody == 0);
}

TEST_CASE("rebuild waits for a thread that is in NCCL, whose set stays as long as it needs it") {
  slowly_summing_cards on;
  slow_nccl::to_end = 300;
  std::thread other([&] { on.p.run(); });
  CHECK(becomes([] { return slow_nccl::inside.load(); }));
  collective::rebuild<Two>();
  other.join();
  CHECK(slow_nccl::ended_inside == 0);
  CHECK(on.p.first() == 2);
  CHECK(on.nccl.open_communicators() == 0);
  detail::communicator_set& before =
      internal::communicators_for(look_at(Two::value.devices), {"all_reduce", 0});
  collective::rebuild<Two>();
  CHECK(message_of<collective_error>([&] { before.require_usable({"all_reduce", 0}); }) ==
        "locus: all_reduce over /GPU:0 /GPU:1 did not run: other communicators took the place of "
        "those that it had; run it again");
  CHECK(slow_nccl::ended_by_nobody == 0);
  on.p.run();
  CHECK(on.p.first() == 2);
}

TEST_CASE(
    "who holds a set that failed and was rebuilt by another thread is not sent to rebuild it") {
  summing_cards on;
  detail::communicator_set& before =
      internal::communicators_for(look_at(Two::value.devices), {"all_reduce", 0});
  on.nccl.fail_at(0);
  CHECK(message_of<collective_error>([&] { on.p.run(); }) != nothing_thrown);
  on.nccl.fail_at(-1);
  auto const said = [&] {
    return message_of<collective_error>([&] { before.require_usable({"all_reduce", 0}); });
  };
  CHECK(has(said(), "its communicators failed before; call collective::rebuild"));
  std::thread([] { collective::rebuild<Two>(); }).join();
  CHECK(has(said(), "other communicators took the place of those that it had; run it again"));
  CHECK(!has(said(), "rebuild"));
  on.p.run();
  CHECK(on.p.first() == 2);
}

TEST_CASE("communicators whose trial found no memory are tried again, not made again") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  int lacked = 0;
  for (int n = 0; n < 40; ++n) {
    collective::rebuild<Two>();
    program_of_sums p;
    runtime::planted.lack_memory = n;
    lacked += message_of<out_of_memory>([&] { p.run(); }) != nothing_thrown;
    runtime::planted.lack_memory = -1;
    p.run();
    CHECK(p.first() == 2);
    CHECK(nccl.open_communicators() == 2);
  }
  CHECK(lacked >= 2);  // the two of the trial
}

TEST_CASE("a failure that nobody was told is told although other communicators took their place") {
  deadline const soon(0.1);
  summing_cards on;
  on.nccl.state().mischief.never_done = true;
  on.p.run();
  CHECK(becomes([&] { return detail::communicators().sets[0]->is_broken(); }));
  on.nccl.state().mischief = {};
  collective::rebuild<Two>();
  CHECK(has(message_of<collective_error>([&] { static_cast<void>(on.p.first()); }), "did not end"));
  CHECK(message_of<collective_error>([&] { static_cast<void>(on.p.first()); }) == nothing_thrown);
  on.p.run();
  CHECK(on.p.first() == 2);
}

TEST_CASE("an error that is on its way does not swallow a collective's") {
  deadline const soon(0.1);
  summing_cards on;
  on.nccl.state().mischief.never_done = true;
  on.p.run();
  CHECK(becomes([&] { return detail::communicators().sets[0]->is_broken(); }));
  struct at_end {
    ~at_end() { runtime::synchronize(runtime::find_device(gpu(0))); }
  };
  auto const fail = [] {
    at_end const waits;
    throw std::runtime_error("another");
  };
  CHECK_THROWS_AS(fail(), std::runtime_error);
  CHECK(has(message_of<collective_error>([&] { static_cast<void>(on.p.first()); }), "did not end"));
}

}  // namespace watch_test

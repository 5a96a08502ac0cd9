// SPDX-License-Identifier: Apache-2.0
// Points on a stream of CUDA: each has its event until it was reached.
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include <locus/locus.hpp>

using namespace locus;

namespace {

constexpr auto queue = queue_kind::copy;

struct marked_work {
  testing::recorder cards{{.cards = 1}};
  runtime::logical_device& d = runtime::find_device(gpu(0));
  int ran = 0;
  stamp next() {
    cards.enqueue(runtime::cuda_queue_of(d, queue).stream, [this] { ++ran; });
    return runtime::mark(d, queue);
  }
};

}  // namespace

TEST_CASE("who waits for an old point waits for nothing behind it") {
  marked_work w;
  w.cards.be_busy(true);
  stamp first[100];
  for (stamp& s : first) s = w.next();
  CHECK(w.ran == 0);
  for (int i = 0; i < 100; i += 9) {
    runtime::synchronize(first[i]);
    CHECK(w.ran == i + 1);
  }
  w.cards.be_busy(false);
}

TEST_CASE("another queue that waits for an old point waits for nothing behind it") {
  marked_work w;
  w.cards.be_busy(true);
  stamp const old = w.next();
  for (int i = 0; i < 99; ++i) w.next();
  runtime::wait(w.d, queue_kind::compute, old);
  runtime::synchronize(runtime::mark(w.d, queue_kind::compute));
  CHECK(w.ran == 1);
  w.cards.be_busy(false);
}

TEST_CASE("events are as many as points are under way, and no more") {
  marked_work w;
  for (int i = 0; i < 1000; ++i) w.next();
  CHECK(w.cards.open_events() == runtime::queues_of_device * int(runtime::cuda_queue::kept));
  stamp last = w.next();
  runtime::synchronize(last);
  w.cards.be_busy(true);
  for (int i = 0; i < 100; ++i) last = w.next();
  int const events = w.cards.open_events();
  CHECK(events > 100);
  CHECK(events <= 2 * 32 + 128);
  w.cards.be_busy(false);
  runtime::synchronize(last);
  for (int i = 0; i < 1000; ++i) w.next();
  CHECK(w.cards.open_events() <= 2 * 32 + 128);
}

TEST_CASE("a card that keeps up is asked once for many points") {
  marked_work w;
  for (int i = 0; i < 100; ++i) w.next();
  auto const asked = w.cards.calls("event_query");
  for (int i = 0; i < 320; ++i) w.next();
  CHECK(w.cards.calls("event_query") - asked <= 320 / 16 + 1);
}

TEST_CASE("an old point is reached while another thread goes on marking") {
  marked_work w;
  stamp const old = w.next();
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) w.next();
  });
  runtime::synchronize(old);
  for (int i = 0; i < 200; ++i) {
    stamp const s = runtime::mark(w.d, queue_kind::compute);
    runtime::wait(w.d, queue, s);
    runtime::synchronize(s);
  }
  stop = true;
  other.join();
  CHECK(w.ran > 0);
}

TEST_CASE("memory belongs to a logical device, whose number may differ from that of its card") {
  testing::recorder const cards{{.cards = 4}};
  config::set_visible_devices("GPU", {3, 1});
  Tensor<float, Extents<8>, GpuDevice<0>> first;
  Tensor<float, Extents<8>, GpuDevice<1>> second;
  auto const other_owner = [](device of, auto const& x) {
    device owner = cpu(7);
    bool const other =
        runtime::table.gpu_machine->find_other_owner(runtime::find_device(of), x.data(), owner);
    return other ? owner : of;
  };
  CHECK(runtime::find_device(gpu(1)).card == 3);
  CHECK(other_owner(gpu(0), first) == gpu(0));
  CHECK(other_owner(gpu(0), second) == gpu(1));
  CHECK(other_owner(gpu(1), first) == gpu(0));
  CHECK(other_owner(cpu(0), first) == gpu(0));
}

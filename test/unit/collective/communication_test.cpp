// SPDX-License-Identifier: Apache-2.0
// The queue of collectives: beside kernels and copies, of the highest priority, ordered with both by events, each
// of which is needed.
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/nccl_recorder.hpp>
// the recorder comes first
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "collectives.hpp"
#include "replicas.hpp"
#include <message_of.hpp>

namespace communication_test {

using namespace locus;
using collectives::stream_of;
using replicas::cut;
using replicas::mirrored;

namespace {

using Two = mirrored<2>;
using Cut = cut<2>;

/// terms that a kernel makes, their sum, and what a kernel makes of the sum
struct training {
  Tensor<float, Extents<2, 8>, Cut> x{to<Cut>(ones<float>(Extents<2, 8>{}))};
  Tensor<float, Extents<8>, Two> y, z;
  float step = 0;
  void run() {
    ++step;
    x = x * 0.f + step;
    locus::run(plan(into(y, sum<0>(x))));
    z = y + 1.f;
  }
  /// waits for that card first
  bool is_right(int first = 0) {
    runtime::synchronize(runtime::mark(runtime::find_device(gpu(first)), queue_kind::compute));
    for (auto const& copy : replicas::parts_of(z))
      for (float const v : copy)
        if (v != 2 * step + 1) return false;
    return true;
  }
};

/// CUDA without one of the events that order communication streams with others
struct missing_event {
  static inline runtime::cuda_api const* whole = nullptr;
  static inline int number = -1, met = 0;
  static inline std::map<void*, void*> stream_of_event;
  static inline std::set<void*> communication;
  lock_guard unwatched{detail::communicators().looking};  // to ask for an event lets streams run
  runtime::cuda_api less;
  explicit missing_event(int which) : less(*runtime::gpu_api) {
    whole = runtime::gpu_api, number = which, met = 0;
    stream_of_event.clear();
    communication = {stream_of(0, queue_kind::communication),
                     stream_of(1, queue_kind::communication)};
    less.event_record = [](void* e, void* s) {
      stream_of_event[e] = s;
      return whole->event_record(e, s);
    };
    less.stream_wait_event = [](void* s, void* e) {
      bool const orders = communication.contains(s) || communication.contains(stream_of_event[e]);
      return orders && met++ == number ? 0 : whole->stream_wait_event(s, e);
    };
    runtime::gpu_api = &less;
  }
  missing_event(missing_event const&) = delete;
  ~missing_event() { runtime::gpu_api = whole; }
};

}  // namespace

TEST_CASE("sums over cards and copies do not stand behind one another") {
  testing::recorder cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  training p;
  Tensor<float, Extents<4>, GpuDevice<0>> const there{1, 2, 3, 4};
  Tensor<float, Extents<4>, GpuDevice<1>> further(to<GpuDevice<1>>(there));  // peers are tried
  p.run();
  CHECK(p.is_right());
  int copies = 0, sums = 0;
  for (int g : {0, 1}) cards.enqueue(stream_of(g, queue_kind::copy), [&] { ++copies; });
  p.run();
  for (int g : {0, 1})
    runtime::synchronize(runtime::mark(runtime::find_device(gpu(g)), queue_kind::compute));
  CHECK(copies == 0);  // a batch on its way: nobody waits for it
  for (int g : {0, 1}) runtime::gpu_api->stream_synchronize(stream_of(g, queue_kind::copy));
  CHECK(copies == 2);
  for (int g : {0, 1}) cards.enqueue(stream_of(g, queue_kind::communication), [&] { ++sums; });
  further = to<GpuDevice<1>>(there);
  CHECK(fetch(sum(further)) == 10);
  CHECK(sums == 0);
}

TEST_CASE("communication has streams of the highest priority, kernels and copies their own") {
  testing::recorder const cards{{.cards = 2}};
  Tensor<float, Extents<2>, GpuDevice<0>> const x{1, 2};
  CHECK(cards.priorities() == std::vector{-5, -5});
  std::set<void*> streams;
  for (int g : {0, 1})
    for (queue_kind const kind : runtime::queue_kinds) streams.insert(stream_of(g, kind));
  CHECK(streams.size() == 6);
}

TEST_CASE("each event between communication and other streams is needed") {
  testing::recorder const cards{{.cards = 2, .checks_order = false}};
  testing::nccl_recorder const nccl;
  training p;
  p.run();
  CHECK(p.is_right());
  int events = 0;
  {
    missing_event const none(-1);
    p.run();
    CHECK(p.is_right());
    events = missing_event::met;
  }
  CHECK(events == 4);  // each card's sum behind its terms, its next kernel behind the sum
  for (int k = 0; k < events; ++k) {
    CAPTURE(k);
    int wrong = 0;
    for (int first : {0, 1}) {  // streams run as far as somebody waits for them
      missing_event const one(k);
      p.run();
      wrong += !p.is_right(first);
      for (int g : {0, 1}) runtime::synchronize(runtime::find_device(gpu(g)));
    }
    CHECK(wrong > 0);
  }
  p.run();
  CHECK(p.is_right());
}

TEST_CASE("a recorder finds each event that is missing between communication and other streams") {
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    testing::recorder const cards{{.cards = 2}};
    testing::nccl_recorder const nccl;
    training p;
    p.run();
    CHECK(p.is_right());
    missing_event const one(k);
    CHECK(message_of<error>([&] { p.run(); }).find("no event orders them") != std::string::npos);
  }
}

TEST_CASE("simulated GPUs find communication without events") {
  testing::simulated_gpus const gpus(2);
  training p;
  p.run();
  CHECK(p.is_right());
  runtime::planted.no_waits = true;
  CHECK(message_of<bad_access>([&] { p.run(); }).find("no event orders them") != std::string::npos);
  runtime::planted.no_waits = false;
}

TEST_CASE(
    "communicators are there before the first step, and before the first plan where asked for") {
  testing::recorder cards{{.cards = 2}};
  testing::nccl_recorder nccl;
  training p;
  auto const launches = cards.calls("launch");
  nccl.fail_at(0);
  CHECK(message_of<collective_error>([&] { run(plan(into(p.y, sum<0>(p.x)))); }) != nothing_thrown);
  CHECK(cards.calls("launch") == launches);
  nccl.fail_at(-1);
  collective::rebuild<Mirrored<AllGpus>>();
  collective::prepare<Mirrored<AllGpus>>();
  CHECK(nccl.open_communicators() == 2);
  int const groups = nccl.groups();
  p.run();
  CHECK(p.is_right());
  CHECK(nccl.groups() == groups + 1);
  collective::prepare<GpuDevice<0>>();
  collective::prepare<Two>();
  CHECK(nccl.groups() == groups + 1);
}

TEST_CASE("memory that is taken as a whole leaves NCCL its room where there are several cards") {
  constexpr std::int64_t bytes = std::int64_t(2) << 30;
  for (int const count : {1, 2, 3}) {
    CAPTURE(count);
    testing::recorder const cards{{.cards = count, .bytes = bytes}};
    config::set_memory_growth("GPU:0", false);
    Tensor<float, Extents<4>, GpuDevice<0>> const x{1, 2, 3, 4};
    std::size_t free = 0, total = 0;
    runtime::gpu_api->memory_free(&free, &total);
    CHECK(free == std::size_t(runtime::room_for_nccl(count)));
    CHECK((free >> 20) == (count == 1 ? 0u : count == 2 ? 294u : 588u));
  }
  testing::recorder const cards{{.cards = 2, .bytes = bytes}};
  config::set_logical_devices("GPU:0", {{.memory_limit = bytes}});  // the program has said it
  config::set_memory_growth("GPU:0", false);
  Tensor<float, Extents<4>, GpuDevice<0>> const x{1, 2, 3, 4};
  CHECK(cards.open_bytes() == bytes);
}

}  // namespace communication_test

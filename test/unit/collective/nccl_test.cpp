// SPDX-License-Identifier: Apache-2.0
// Collectives among cards: the choice of who carries them, NCCL's rules over the recorder, what
// happens when NCCL fails or does not come back, and the check that all ranks do the same.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include "on_backends.hpp"
// the backends come first
#include <sstream>
#include <string>

#include <locus/backend/cuda/real_nccl.hpp>
#include <locus/testing/nccl_recorder.hpp>

#include "collectives.hpp"
#include "replicas.hpp"
#include <message_of.hpp>

namespace nccl_test {

using namespace locus;
using collectives::deadline;
using collectives::has;
using collectives::order_scope;
using replicas::cut;
using replicas::mirrored;
using replicas::parts_of;
using testing::nccl_call;

namespace {

using Three = mirrored<3>;
using Cut = cut<3>;

/// a plan with two all-reduces of one bucket, 60 and 24 bytes
struct program_of_sums {
  Tensor<float, Extents<3, 15>, Cut> x{to<Cut>(ones<float>(Extents<3, 15>{}))};
  Tensor<float, Extents<3, 6>, Cut> z{to<Cut>(ones<float>(Extents<3, 6>{}))};
  Tensor<float, Extents<15>, Three> y;
  Tensor<float, Extents<6>, Three> w;
  void run() { locus::run(plan(into(y, sum<0>(x)), into(w, locus::sum<0>(z * 2.f)))); }
  bool right() {
    bool good = true;
    for (auto const& copy : parts_of(y))
      for (float v : copy) good = good && v == 3;
    for (auto const& copy : parts_of(w))
      for (float v : copy) good = good && v == 6;
    return good;
  }
};

}  // namespace

TEST_CASE("who carries a collective follows from the device list: one row for each kind") {
  using enum collective_algorithm;
  struct row {
    short cards[4];
    int count;
    collective_algorithm with, without;
  };
  constexpr row rows[] = {
      {{-1}, 1, nothing, nothing},
      {{0}, 1, nothing, nothing},
      {{-1, -1}, 2, host_fold, host_fold},
      {{2, 2, 2}, 3, card_fold, card_fold},
      {{0, 1}, 2, nccl, through_host},
      {{3, 1, 0, 2}, 4, nccl, through_host},
      {{0, 1, 0, 1}, 4, hierarchical, through_host},
      {{0, 0, 1}, 3, hierarchical, through_host},
      {{-1, 0}, 2, through_host, through_host},
      {{0, 0, -1}, 3, through_host, through_host},
  };
  for (row const& r : rows) {
    CHECK(choose(kind_of_list(r.cards, r.count), true) == r.with);
    CHECK(choose(kind_of_list(r.cards, r.count), false) == r.without);
  }
  static_assert(std::size(choices) == 6);
  for (int k = 0; k < 6; ++k) CHECK(int(choices[k].list) == k);
}

TEST_CASE("a bucket is one group of one all-reduce for each rank and value") {
  testing::recorder const cards{{.cards = 3}};
  testing::nccl_recorder const nccl;
  program_of_sums p;
  p.run();  // makes communicators, and tries them
  int const groups = nccl.groups(), operations = nccl.count(nccl_call::all_reduce);
  CHECK(nccl.open_communicators() == 3);
  CHECK(operations == 3 + 6);  // the trial, then two values on three ranks
  auto const seen = testing::count([&] { p.run(); });
  CHECK(seen.all_reduces == 1);
  CHECK(nccl.groups() == groups + 1);
  CHECK(nccl.count(nccl_call::all_reduce) == operations + 6);
  CHECK(p.right());
  CHECK(nccl.forbidden() == 0);
  CHECK(nccl.open_communicators() == 3);  // one set for each list
}

TEST_CASE(
    "each NCCL call that fails is a collective_error, and after a rebuild the program goes on") {
  testing::recorder cards{{.cards = 3}};
  testing::nccl_recorder nccl;
  program_of_sums p;
  int calls = 0;
  {
    int const before = nccl.calls();
    p.run();
    calls = nccl.calls() - before;
  }
  REQUIRE(calls > 20);
  for (bool const fresh : {true, false})  // while communicators are made, and in the steady state
    for (int n = 0; n < calls; ++n) {
      CAPTURE(fresh);
      CAPTURE(n);
      if (fresh) collective::rebuild<Three>();
      int const before = nccl.calls();
      nccl.fail_at(n);
      std::string const said = message_of<collective_error>([&] { p.run(); });
      bool const failed = nccl.calls() > before + n;
      nccl.fail_at(-1);
      if (!failed) {
        CHECK(said == nothing_thrown);
        break;
      }
      CHECK(has(said, "locus: "));
      CHECK(has(said, "unhandled cuda error (the call was made to fail)"));
      CHECK(has(said, "/GPU:0 /GPU:1 /GPU:2"));
      CHECK(nccl.open_communicators() == 0);
      std::string const again = message_of<collective_error>([&] { p.run(); });
      CHECK(has(again, "its communicators failed before; call collective::rebuild"));
      collective::rebuild<Three>();
      p.run();
      CHECK(p.right());
      CHECK(nccl.open_communicators() == 3);
    }
  CHECK(nccl.forbidden() == 0);
}

TEST_CASE("what never comes back is ended at the deadline, and never waited for") {
  deadline const soon(0.2);
  testing::recorder cards{{.cards = 3}};
  struct row {
    testing::nccl_mischief how;
    char const* says;
    bool in_steady_state;
  };
  for (row const& r : {row{{.never_ready = true}, "making communicators", false},
                       row{{.groups_hang = true}, "all_reduce of bucket 0", true},
                       row{{.never_done = true}, "all_reduce of bucket 0", true},
                       row{{.never_done = true}, "the first all_reduce", false},
                       row{{.async_state = runtime::nccl_remote_error}, "remote process", false}}) {
    CAPTURE(r.says);
    testing::nccl_recorder nccl;
    program_of_sums p;
    if (r.in_steady_state) {
      p.run();
      CHECK(p.right());
    }
    nccl.state().mischief = r.how;
    double const begin = seconds_now();
    std::string const said = message_of<collective_error>([&] {
      p.run();
      static_cast<void>(p.right());
    });
    double const waited = seconds_now() - begin;
    CHECK(has(said, r.says));
    CHECK(waited < 2);
    CHECK(nccl.open_communicators() == 0);
    CHECK(nccl.forbidden() == 0);
    nccl.state().mischief = {};
    collective::rebuild<Three>();
    p.run();
    CHECK(p.right());
  }
}

TEST_CASE("ranks that do not do the same are named before anything is issued") {
  testing::recorder const cards{{.cards = 3}};
  testing::nccl_recorder const nccl;
  auto const t = look_at(Three::value.devices);
  auto& set = internal::communicators_for(t, {"all_reduce", 3});
  Tensor<float, Extents<8>, Three> memory;
  using detail::request_kind;
  auto group_of = [&](auto&& change) {
    detail::nccl_group g(set, {"all_reduce", 3});
    for (int p = 0; p < 3; ++p) {
      detail::nccl_request r{request_kind::all_reduce, p, memory.data(p),
                             memory.data(p),           8, runtime::nccl_type::float32,
                             runtime::nccl_sum,        0};
      change(p, r, g);
      g.add(r);
    }
    return message_of<collective_error>([&] { g.issue(queue_kind::compute); });
  };
  int const groups = nccl.groups();
  CHECK(has(group_of([](int p, auto& r, auto&) { r.count -= p == 2; }),
            "all_reduce of bucket 3 would not end: call 0 of rank 2 (/GPU:2) is all_reduce of 7 "
            "elements"));
  CHECK(has(group_of([](int p, auto& r, auto&) { r.op += p == 1 ? 2 : 0; }), "call 0 of rank 1"));
  CHECK(has(group_of([](int p, auto& r, auto&) {
              if (p == 1) r.what = request_kind::reduce;
            }),
            "is reduce of 8"));
  CHECK(has(group_of([&](int p, auto& r, auto& g) {
              if (p == 2) g.add(r);
            }),
            "call 1 of rank 2 (/GPU:2) is all_reduce of 8 elements of NCCL's type 7 with operation "
            "0, that of rank 0 is nothing"));
  CHECK(has(group_of([&](int p, auto&, auto& g) {
              if (p == 0) g.send(0, 1, memory.data(0), 16), g.receive(1, 0, memory.data(1), 12);
            }),
            "rank 0 sends 16 elements to rank 1, which takes 12"));
  CHECK(nccl.groups() == groups);
  CHECK(group_of([](int, auto&, auto&) {}) == nothing_thrown);
  CHECK(nccl.groups() == groups + 1);
}

TEST_CASE("the recorded NCCL refuses what spoils values or hangs with the real one") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  using Two = mirrored<2>;
  auto& set = internal::communicators_for(look_at(Two::value.devices), {"all_reduce", -1});
  Tensor<float, Extents<4>, Two> t;
  auto const& api = *runtime::nccl;
  void* streams[2];
  for (int p = 0; p < 2; ++p) streams[p] = detail::stream_of(*set.on[p], queue_kind::compute);
  auto call = [&](int p, int memory_of, std::size_t count) {
    return api.all_reduce(t.data(memory_of), t.data(memory_of), count, runtime::nccl_type::float32,
                          runtime::nccl_sum, set.comm[p], streams[p]);
  };
  CHECK(call(0, 0, 4) == runtime::nccl_invalid_usage);  // outside a group
  api.group_start();
  CHECK(call(0, 1, 4) == runtime::nccl_invalid_argument);  // memory of another card: a wrong order
  CHECK(std::string(api.last_error(nullptr)).find("card 0") != std::string::npos);
  CHECK(call(0, 0, 4) == 0);
  CHECK(call(1, 1, 3) == 0);
  CHECK(api.group_end() == runtime::nccl_invalid_usage);  // they differ
  CHECK(std::string(api.last_error(nullptr)).find("3 elements") != std::string::npos);
  api.group_start();
  call(1, 1, 4);
  CHECK(api.group_end() == runtime::nccl_invalid_usage);  // a rank does not take part
  CHECK(api.group_end() == runtime::nccl_invalid_usage);
}

TEST_CASE("memory is not obtained while a group is in flight: the recorder would see it") {
  testing::recorder const cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  runtime::nccl->group_start();
  void* p = nullptr;
  runtime::gpu_api->malloc_device(&p, 256);
  runtime::nccl->group_end();
  CHECK(nccl.forbidden() == 1);
  runtime::gpu_api->free_device(p);
}

TEST_CASE("the program's own communicators serve, if they fit") {
  testing::recorder const cards{{.cards = 3}};
  testing::nccl_recorder const nccl;
  auto make = [](int count, int const* on_cards, void** comms) {
    auto const& api = *runtime::nccl;
    runtime::nccl_id id;
    api.make_id(&id);
    api.group_start();
    for (int p = 0; p < count; ++p)
      runtime::gpu_api->set_device(on_cards[p]), api.init_rank(&comms[p], count, &id, p);
    api.group_end();
    for (int p = 0; p < count; ++p)
      for (int state = 7; state != 0;) api.async_state(comms[p], &state);
    runtime::gpu_api->set_device(0);
  };
  void *right[3]{}, *two[2]{}, *swapped[3]{};
  int const in_order[] = {0, 1, 2}, others[] = {0, 2, 1};
  make(3, in_order, right), make(2, in_order, two), make(3, others, swapped);
  auto use = [](void** comms, int n) {
    return message_of<collective_error>([&] { collective::use_communicator<Three>(comms, n); });
  };
  CHECK(has(use(two, 2), "2 communicators for 3 cards"));
  void* mixed[] = {two[0], two[1], right[2]};
  CHECK(has(use(mixed, 3), "number 0 has 2 ranks, and the list 3 cards"));
  void* turned[] = {right[1], right[0], right[2]};
  CHECK(has(use(turned, 3), "number 0 is rank 1"));
  CHECK(has(use(swapped, 3), "number 1 is of card 2, and /GPU:1 is on card 1"));
  void* none[] = {right[0], nullptr, right[2]};
  CHECK(has(use(none, 3), "number 1 is none"));
  CHECK(has(message_of<collective_error>(
                [&] { collective::use_communicator<Mirrored<Cpu<0>, Cpu<1>>>(right, 2); }),
            "NCCL carries nothing over /CPU:0 /CPU:1"));
  CHECK(use(right, 3) == nothing_thrown);
  int const open = nccl.open_communicators();
  program_of_sums p;
  p.run();
  CHECK(p.right());
  CHECK(nccl.open_communicators() == open);  // none of ours
  collective::rebuild<Three>();
  CHECK(nccl.open_communicators() == open);  // they stay the program's
  for (void* c : right) runtime::nccl->destroy(c);
  for (void* c : two) runtime::nccl->destroy(c);
  for (void* c : swapped) runtime::nccl->destroy(c);
}

TEST_CASE("ranked sums go to the owner of a segment and back, with NCCL's order avoided") {
  testing::recorder const cards{{.cards = 3}};
  testing::nccl_recorder const nccl;
  Tensor<float, Extents<3, 4>, Cut> const x(
      Tensor<float, Extents<3, 4>>{{1e8f, 1, 1, 2}, {1, 1e8f, -1e8f, 3}, {-1e8f, -1e8f, 1e8f, 4}});
  Tensor<float, Extents<4>, Three> y;
  auto bits = [&] {
    y = sum<0>(x);
    return parts_of(y);
  };
  auto const fast = bits();
  CHECK(fast[0] == fast[1]);
  order_scope const order(reduction_order::ranked);
  int const before = nccl.count(nccl_call::all_reduce);
  auto const ranked = bits();
  CHECK(nccl.count(nccl_call::all_reduce) == before);
  CHECK(nccl.count(nccl_call::send) == nccl.count(nccl_call::receive));
  CHECK(nccl.count(nccl_call::send) > 0);
  std::vector<float> const in_order = {(1e8f + 1) - 1e8f, (1 + 1e8f) - 1e8f, (1 - 1e8f) + 1e8f, 9};
  for (auto const& copy : ranked) CHECK(copy == in_order);
  CHECK(fast[0] != in_order);  // or this test shows nothing
}

TEST_CASE("a NaN is not lost in a maximum over cards, which NCCL's own loses") {
  testing::recorder const cards{{.cards = 3}};
  testing::nccl_recorder const nccl;
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (int at = 0; at < 3; ++at) {
    Tensor<float, Extents<3, 2>> host{{1, 2}, {3, 1}, {2, 0}};
    host(at, 0) = nan;
    Tensor<float, Extents<3, 2>, Cut> const x(host);
    Tensor<float, Extents<2>, Three> y;
    y = max<0>(x);
    for (auto const& copy : parts_of(y)) {
      CHECK(copy[0] != copy[0]);
      CHECK(copy[1] == 2);
    }
  }
}

TEST_CASE("the log says who carries a collective") {
  testing::recorder const cards{{.cards = 3}};
  auto line_of = [] {
    std::ostringstream log;
    debugging::log_to(log);
    debugging::set_log_device_placement(true, log_frequency::every);
    program_of_sums().run();
    debugging::set_log_device_placement(false);
    debugging::set_log_sink(nullptr);
    auto const text = log.str();
    auto const at = text.find("Collective all_reduce of 2 tensors, 84 bytes, over 3 devices");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  CHECK(has(line_of(), "by copies and a fold on the host"));
  testing::nccl_recorder const nccl;
  CHECK(has(line_of(), "by NCCL"));
  CHECK_FALSE(has(line_of(), "replica order"));
  order_scope const order(reduction_order::ranked);
  CHECK(has(line_of(), "by NCCL, in replica order"));
}

TEST_CASE("without NCCL, or on request, reductions over cards go through the host") {
  testing::recorder const cards{{.cards = 3}};
  program_of_sums p;
  p.run();
  CHECK(p.right());
  testing::nccl_recorder const nccl;
  config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
  p.run();
  config::set_cross_device_ops(cross_device_ops::automatic);
  CHECK(p.right());
  CHECK(nccl.groups() == 0);
}

TEST_CASE("the real NCCL opens without a driver, and says why no communicator can be made") {
  int version = 0;
  if (cuda_side::real_nccl.version(&version) != 0) {
    MESSAGE("skipped: " << cuda_side::real_nccl.describe(runtime::nccl_not_found));
    return;
  }
  CHECK(version >= detail::oldest_nccl);
  runtime::nccl_id id{};
  CHECK(cuda_side::real_nccl.make_id(&id) == 0);
  CHECK(cuda_side::real_nccl.group_start() == 0);
  CHECK(cuda_side::real_nccl.group_end() == 0);
  if (access("/dev/nvidiactl", F_OK) == 0) return;  // a driver: test/cuda goes on
  void* comm = nullptr;
  int const code = cuda_side::real_nccl.init_rank(&comm, 1, &id, 0);
  CHECK(code == runtime::nccl_cuda_error);
  CHECK(comm == nullptr);
  CHECK(std::string(cuda_side::real_nccl.describe(code)).find("cuda") != std::string::npos);
}

TEST_CASE("settings of collectives are checked") {
  CHECK_THROWS_AS(config::set_collective_timeout(-1), configuration_error);
  CHECK(config::get_collective_timeout() == 600);
  deadline const other(5);
  CHECK(config::get_collective_timeout() == 5);
}

namespace {
template <std::int64_t Bytes>
struct gradient {
  Tensor<float, Extents<2, Bytes / 4>, cut<2>> terms;
  Tensor<float, Extents<Bytes / 4>, mirrored<2>> sum;
};
/// means: all-reduces of a plan that sums gradients of those sizes
template <class Policy, std::int64_t... Bytes>
constexpr int buckets_for() {
  return decltype(plan<Policy>(
      into(std::declval<gradient<Bytes>&>().sum,
           locus::sum<0>(std::declval<gradient<Bytes>&>().terms))...))::all_reduces();
}
constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
struct off_node : prefer_gpu {
  static constexpr bucket_sizes buckets = buckets_off_node;
};
struct packs_of_200 : prefer_gpu {
  static constexpr bucket_sizes buckets{200, 200};
};
}  // namespace

TEST_CASE("a bucket takes values until it holds more than its limit, as TensorFlow's packs do") {
  static_assert(buckets_for<prefer_gpu, 512 * KiB, 512 * KiB>() == 1);
  static_assert(buckets_for<prefer_gpu, 512 * KiB, 512 * KiB, 4 * KiB>() == 1);  // 1 MiB: not more
  static_assert(buckets_for<prefer_gpu, 512 * KiB, 516 * KiB, 4 * KiB>() == 2);
  static_assert(buckets_for<prefer_gpu, MiB, 2 * MiB, 2 * MiB, MiB>() == 2);
  static_assert(buckets_for<prefer_gpu, 2 * MiB, 2 * MiB, 2 * MiB, 4 * KiB, MiB>() == 3);
  static_assert(buckets_for<prefer_gpu, 4 * KiB, 9 * MiB, 4 * KiB>() ==
                2);  // a large value ends one
  static_assert(buckets_for<off_node, 4 * KiB, 9 * MiB, 4 * KiB>() == 2);
  // TensorFlow's own case: 128, 32, 800 and 4 bytes with bytes_per_pack = 200
  static_assert(buckets_for<packs_of_200, 128, 32, 800, 4>() == 2);
  static_assert(buckets_for<packs_of_200, 128, 32, 800>() == 1);
  static_assert(buckets_for<packs_of_200, 128, 72, 4, 200>() == 2);
}

TEST_CASE("a run has the buckets that its policy gave the plan, whatever joins the cards") {
  on_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    gradient<128> a, b, c;
    for (auto* const g : {&a, &b, &c}) g->terms = to<cut<2>>(ones<float>(Extents<2, 32>{}));
    auto const run_under = [&]<class Policy>(Policy) {
      auto step = plan<Policy>(into(a.sum, sum<0>(a.terms)), into(b.sum, sum<0>(b.terms)),
                               into(c.sum, sum<0>(c.terms)));
      tally const done = testing::count([&] { run(step); });
      CHECK(done.all_reduces == step.all_reduces());
      for (auto const* g : {&a, &b, &c}) CHECK(fetch(sum(g->sum)) == 2 * 32);
      return done.all_reduces;
    };
    CHECK(run_under(prefer_gpu{}) == 1);
    CHECK(run_under(off_node{}) == 1);
    CHECK(run_under(packs_of_200{}) == 2);  // 128 and 128 bytes are more than 200
  });
}

}  // namespace nccl_test

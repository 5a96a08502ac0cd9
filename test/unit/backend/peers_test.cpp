// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs: directly where cards reach each other, in chunks by way of the host elsewhere.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/backend/cuda/peers.hpp>  // peers, peer_table
#include <locus/backend/staging.hpp>     // staging_chunk
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <vector>

#include <child.hpp>
#include <locus/machine/copies.hpp>
#include <locus/memory/allocate.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;
using runtime::staging_chunk;
using testing::peer_copies;

namespace {

constexpr step_record record{0, "copy", {}};

logical_device& card(int n) { return runtime::find_device(gpu(n)); }
logical_device& host() { return runtime::find_device(cpu(0)); }

/// bytes on a GPU
class block {
 public:
  block(int n, std::int64_t bytes)
      : on(card(n)), bytes_(bytes),
        data(static_cast<char*>(runtime::allocate(on, bytes, "a test"))) {}
  block(block const&) = delete;
  ~block() { runtime::release(on, data, bytes_); }
  void write(std::vector<char> const& values) {
    static_cast<void>(
        runtime::copy(on, data, host(), values.data(), bytes_, queue_kind::compute, record));
  }
  std::vector<char> read() const {
    std::vector<char> values(static_cast<std::size_t>(bytes_));
    runtime::synchronize(
        runtime::copy(host(), values.data(), on, data, bytes_, queue_kind::compute, record));
    return values;
  }
  logical_device& on;

 private:
  std::int64_t bytes_;

 public:
  char* const data;
};

std::vector<char> pattern(std::int64_t n, int seed) {
  std::vector<char> v(static_cast<std::size_t>(n));
  unsigned x = 77u + static_cast<unsigned>(seed);
  for (char& c : v) x = x * 1664525u + 1013904223u, c = static_cast<char>(x >> 24);
  return v;
}

/// behind what the sender was given, and the receiver's next work behind it
void send(block& to, block& from, std::int64_t bytes) {
  runtime::wait(to.on, queue_kind::copy, runtime::mark(from.on, queue_kind::compute));
  runtime::wait(to.on, queue_kind::copy, runtime::mark(to.on, queue_kind::compute));
  stamp const arrived =
      runtime::copy(to.on, to.data, from.on, from.data, bytes, queue_kind::copy, record);
  runtime::wait(to.on, queue_kind::compute, arrived);
  runtime::wait(from.on, queue_kind::compute, arrived);
}
bool travels(std::int64_t bytes, int rounds = 1, int sender = 0, int receiver = 1) {
  block a(sender, bytes), b(receiver, bytes);
  bool right = true;
  for (int k = 0; k < rounds; ++k) {
    auto const values = pattern(bytes, k);
    a.write(values);
    send(b, a, bytes);
    right = right && b.read() == values;
  }
  return right;
}
/// several copies of many chunks under way at once, in both directions
bool cross() {
  std::int64_t const bytes = 2 * staging_chunk + 1000;
  block a(0, bytes), b(1, bytes), c(0, bytes), d(1, bytes);
  auto const there = pattern(bytes, 1), back = pattern(bytes, 2);
  a.write(there), d.write(back);
  send(b, a, bytes);
  send(c, d, bytes);
  send(d, c, bytes);
  send(c, b, bytes);
  return b.read() == there && c.read() == there && d.read() == back;
}

}  // namespace

TEST_CASE("cards that reach each other copy directly; a pair is asked and tried once") {
  testing::recorder gpus{{.cards = 3}};
  for (int k = 0; k < 3; ++k) CHECK(travels(5000));
  CHECK(gpus.calls("can_access_peer") == 1);
  CHECK(gpus.calls("enable_peer") == 1);
  CHECK(gpus.calls("memcpy_peer_async") == 1 + 3);  // the trial, and three copies
  CHECK(gpus.calls("malloc_host") == 0);
  CHECK(travels(5000, 1, 1, 0));  // the other direction is another pair
  CHECK(gpus.calls("enable_peer") == 2);
  CHECK(gpus.open_streams() == 3 * runtime::queues_of_device);
  CHECK(card(0).memory.in_use + card(1).memory.in_use == 0);
}

TEST_CASE("where cards do not reach each other, copies go through two pinned chunks") {
  for (peer_copies const how : {peer_copies::refused, peer_copies::fail, peer_copies::damage}) {
    CAPTURE(static_cast<int>(how));
    testing::recorder gpus{{.cards = 2, .peers = how}};
    CHECK(travels(5000, 3));
    CHECK(gpus.calls("can_access_peer") == 1);
    CHECK(gpus.calls("memcpy_peer_async") == (how == peer_copies::damage));  // the trial
    CHECK(gpus.calls("malloc_host") > 0);
    for (std::int64_t const bytes :
         {std::int64_t(1), staging_chunk - 1, staging_chunk, staging_chunk + 1}) {
      CAPTURE(bytes);
      auto const before = gpus.calls("memcpy_async"), waits = gpus.calls("stream_wait_event");
      CHECK(travels(bytes));
      std::int64_t const chunks = (bytes + staging_chunk - 1) / staging_chunk;
      CHECK(gpus.calls("memcpy_async") == before + 2 * chunks + 2);
      // the first use of the second chunk waits for nothing
      CHECK(gpus.calls("stream_wait_event") == waits + 2 * chunks + 5 - (chunks == 2));
    }
    CHECK(cross());
    CHECK(gpus.calls("malloc_host") > 0);
    CHECK(card(0).memory.in_use + card(1).memory.in_use == 0);
  }
}

TEST_CASE("a peer copy that freezes is given up after its deadline") {
  testing::recorder gpus{{.cards = 2, .peers = peer_copies::freeze}};
  runtime::peers.patience = 50;
  CHECK(travels(5000, 2));
  runtime::peers.patience = 10000;
  CHECK(gpus.calls("memcpy_peer_async") == 1);
}

TEST_CASE("a pair whose copy fails goes by way of the host from then on") {
  testing::recorder gpus{{.cards = 2}};
  CHECK(travels(5000));
  gpus.fail_next("memcpy_peer_async", 217);
  CHECK(travels(5000, 2));
  CHECK(gpus.calls("memcpy_peer_async") == 3);
  CHECK(gpus.calls("malloc_host") > 0);
}

TEST_CASE("a card takes no more peers than the driver allows") {
  testing::recorder gpus{{.cards = 11}};
  for (int k = 1; k < 11; ++k) CHECK(travels(100, 1, k, 0));
  CHECK(gpus.calls("enable_peer") == runtime::peer_table::most_peers);
  CHECK(gpus.calls("malloc_host") > 0);
}

TEST_CASE("without peers simulated GPUs copy in chunks too, and every chunk is ordered") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus{2, {.seed = seed, .peers = false}};
    CHECK(travels(1000, 3));
    CHECK(travels(2 * staging_chunk + 77, 2));
    CHECK(cross());
  }
}

TEST_CASE("a chunk that is used again too early is found") {
  testing::simulated_gpus const gpus{2, {.peers = false}};
  std::int64_t const bytes = 2 * staging_chunk + 77;
  block a(0, bytes), b(1, bytes);
  a.write(pattern(bytes, 1));
  runtime::planted.early_chunks = true;
  std::string text;
  try {
    send(b, a, bytes);
  } catch (bad_access const& e) {
    text = e.what();
  }
  runtime::planted.early_chunks = false;
  CHECK(text.find("(copy) on anywhere reads, and no event orders them") != text.npos);
  runtime::synchronize(a.on), runtime::synchronize(b.on);
}

TEST_CASE("what the program pinned itself may be changed when a copy from it has returned") {
  testing::recorder gpus{{.cards = 1}};
  auto const values = pattern(1000, 1);
  std::vector<char> source = values;
  gpus.pin(source.data(), source.size());
  block a(0, 1000);
  a.write(source);
  source.assign(1000, 0);
  CHECK(a.read() == values);
}

TEST_CASE("LOCUS_PEER_COPIES" * doctest::skip()) {
  testing::recorder gpus{{.cards = 3}};
  try {
    CHECK(travels(100, 2));
    CHECK(travels(100, 2, 1, 2));
    CHECK(gpus.calls("memcpy_peer_async") == 0);
  } catch (configuration_error const& e) {
    std::puts(e.what());
  }
}
TEST_CASE("peer copies can be switched off, which is said once") {
  auto const off = child::run("LOCUS_PEER_COPIES", {"LOCUS_PEER_COPIES=0"});
  CAPTURE(off.text);
  CHECK(off.code == 0);
  CHECK(off.count("locus: copies from /GPU:") == 1);
  CHECK(off.says("locus: copies from /GPU:0 to /GPU:1 go by way of pinned host memory: "
                 "LOCUS_PEER_COPIES is 0"));
  CHECK(child::run("LOCUS_PEER_COPIES", {"LOCUS_PEER_COPIES=no"})
            .says("locus: LOCUS_PEER_COPIES is \"no\"; write a number from 0 to 1"));
}

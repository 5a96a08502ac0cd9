// SPDX-License-Identifier: Apache-2.0
// The region allocator alone, over addresses that nobody touches: growth, best fit, joining,
// fragmentation, and random histories beside a map of intervals.
#include <chrono>
#include <cstdio>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <vector>

#include <locus/core/bytes.hpp>  // round_up
#include <locus/core/error.hpp>  // configuration_error
#include <locus/memory/regions.hpp>

#include "sanitizers.hpp"

using namespace locus;
using runtime::region_policy, runtime::region_pool;

namespace {

constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB;

/// a card of `has` bytes that remembers what it was asked for
struct card {
  std::int64_t has = std::int64_t(1) << 50, given = 0;
  std::uintptr_t next = std::uintptr_t(1) << 40;
  std::map<void*, std::int64_t> regions{};
  std::vector<std::int64_t> asked{};
  memory_resource source() {
    return {[](void* c, std::size_t n) {
              auto& me = *static_cast<card*>(c);
              auto const bytes = static_cast<std::int64_t>(n);
              me.asked.push_back(bytes);
              if (bytes > me.has - me.given) return static_cast<void*>(nullptr);
              void* const p = reinterpret_cast<void*>(me.next);
              me.next += n + 4096, me.given += bytes, me.regions[p] = bytes;
              return p;
            },
            [](void* c, void* p, std::size_t n) {
              auto& me = *static_cast<card*>(c);
              CHECK(me.regions.at(p) == static_cast<std::int64_t>(n));
              me.given -= static_cast<std::int64_t>(n), me.regions.erase(p);
            },
            this};
  }
};

}  // namespace

TEST_CASE("regions: 2 MiB first, then doubling, at most what remains under the limit") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{20 * MiB, true};
  std::vector<void*> blocks;
  while (void* const p = pool.allocate(MiB, MiB, policy)) blocks.push_back(p);
  CHECK(blocks.size() == 20);
  CHECK(c.asked == std::vector<std::int64_t>{2 * MiB, 4 * MiB, 8 * MiB, 6 * MiB});
  CHECK(pool.reserved() == 20 * MiB);
  for (void* const p : blocks) CHECK(pool.release(p) == MiB);
  CHECK(pool.look().in_use == 0);
  CHECK(pool.reserved() == 20 * MiB);  // kept
  CHECK(pool.trim() == 20 * MiB);
  CHECK(c.given == 0);
}

TEST_CASE("a large request doubles as often as it takes; the next region is as large again") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{1024 * MiB, true};
  CHECK(pool.allocate(9 * MiB, 1, policy));
  CHECK(pool.allocate(16 * MiB, 1, policy));
  CHECK(pool.allocate(16 * MiB, 1, policy));
  CHECK(c.asked == std::vector<std::int64_t>{16 * MiB, 16 * MiB, 32 * MiB});
  CHECK_FALSE(pool.allocate(2000 * MiB, 1, policy));  // above the limit: nobody is asked
  CHECK(c.asked.size() == 3);
}

TEST_CASE("without growth the first allocation takes the whole limit") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{100 * MiB + 77, false};
  void* const p = pool.allocate(256, 4, policy);
  CHECK(c.asked == std::vector<std::int64_t>{100 * MiB});  // of which blocks can be made
  CHECK_FALSE(pool.allocate(100 * MiB, 1, policy));
  pool.release(p);
  CHECK(pool.allocate(100 * MiB, 1, policy));
  CHECK(c.asked.size() == 1);
}

TEST_CASE("a region that is refused is asked for at nine tenths, down to what is needed") {
  card c{.has = 50 * MiB};
  region_pool pool(c.source());
  void* const first = pool.allocate(40 * MiB, 1, {INT64_MAX, true});
  CHECK(first);
  CHECK(c.asked.front() == 64 * MiB);
  for (std::size_t i = 1; i < c.asked.size(); ++i) {
    CHECK(c.asked[i] <= c.asked[i - 1] * 9 / 10);
    CHECK(c.asked[i] > c.asked[i - 1] * 9 / 10 - 512);
  }
  CHECK(c.given <= 50 * MiB);
  CHECK(c.given > 45 * MiB);
  pool.release(first);
  CHECK(pool.trim() > 0);
  CHECK(pool.allocate(50 * MiB, 1, {INT64_MAX, true}));  // exactly what there is
  CHECK_FALSE(pool.allocate(256, 1, {INT64_MAX, true}));
  CHECK_FALSE(pool.allocate(std::int64_t(1) << 62, 1, {INT64_MAX, true}));
}

TEST_CASE("a huge request that nobody can meet changes nothing about the next") {
  card c{.has = 64 * MiB};
  region_pool pool(c.source());
  CHECK_FALSE(pool.allocate(std::int64_t(1) << 62, 1, {INT64_MAX, true}));
  c.asked.clear();
  CHECK(pool.allocate(256, 1, {INT64_MAX, true}));
  CHECK(c.asked == std::vector<std::int64_t>{2 * MiB});
}

TEST_CASE("128 blocks of 4 MiB under 512 MiB, 127 freed, then 508 MiB") {
  for (bool const growth : {true, false})
    for (int const kept : {0, 64, 127}) {
      CAPTURE(growth);
      CAPTURE(kept);
      card c;
      region_pool pool(c.source());
      region_policy const policy{512 * MiB, growth};
      std::vector<void*> blocks;
      for (int i = 0; i < 128; ++i) blocks.push_back(pool.allocate(4 * MiB, 4 * MiB, policy));
      CHECK(pool.reserved() == 512 * MiB);
      CHECK(c.asked.size() == (growth ? 8 : 1));  // 4, 4, 8, ..., 256 MiB: TensorFlow's regions
      for (int i = 0; i < 128; ++i)
        if (i != kept) pool.release(blocks[std::size_t(i)]);
      bool const at_once = pool.allocate(508 * MiB, 508 * MiB, policy);
      CHECK(at_once == (!growth && kept != 64));
      pool.trim();
      // a region of 4 MiB whose one block is kept: all others go back, and their bytes are one again
      if (!at_once) CHECK(bool(pool.allocate(508 * MiB, 1, policy)) == (growth && kept == 0));
    }
}

TEST_CASE("the smallest free block that fits is taken, and what is left of it stays free") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{};
  std::vector<char*> blocks;
  for (std::int64_t kib : {8, 1, 4, 1, 16, 1, 5, 1})
    blocks.push_back(static_cast<char*>(pool.allocate(kib * KiB, 1, policy)));
  void* const tail = pool.allocate(2 * MiB - 37 * KiB, 1, policy);  // all of the region
  CHECK(tail);
  for (std::size_t i : {0u, 2u, 4u, 6u}) pool.release(blocks[i]);
  CHECK(pool.look().largest_free == 16 * KiB);
  CHECK(pool.allocate(5 * KiB, 1, policy) == blocks[6]);
  CHECK(pool.allocate(3 * KiB, 1, policy) == blocks[2]);
  CHECK(pool.allocate(9 * KiB, 1, policy) == blocks[4]);
  CHECK(pool.allocate(7 * KiB, 1, policy) == blocks[4] + 9 * KiB);
  CHECK(pool.allocate(8 * KiB, 1, policy) == blocks[0]);
  CHECK(c.asked.size() == 1);
}

TEST_CASE("among many free blocks of one bin one that fits is always found") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{std::int64_t(1) << 40, false};
  std::vector<void*> blocks;
  // 300 free blocks of one bin (64 to 68 KiB), of which one alone is as large as we shall ask for
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(pool.allocate((i == 7 ? 268 : 256 + i % 8) * 256, 1, policy));
    CHECK(pool.allocate(256, 1, policy));
  }
  void* const rest = pool.allocate(pool.look().largest_free, 1, policy);
  CHECK(rest);
  for (void* const p : blocks) pool.release(p);
  CHECK(pool.allocate(267 * 256, 1, policy) == blocks[7]);
  CHECK_FALSE(pool.allocate(267 * 256, 1, policy));
}

TEST_CASE("a region of its own has exactly the size that was asked for") {
  card c;
  region_pool pool(c.source());
  CHECK(pool.allocate(MiB, 1, {8 * MiB, true}));
  void* const p = pool.allocate_apart(5 * MiB + 256, 1, {8 * MiB, true});
  CHECK(c.asked == std::vector<std::int64_t>{2 * MiB, 5 * MiB + 256});
  CHECK(pool.allocate_apart(900 * KiB, 1, {8 * MiB, true}));
  CHECK(c.asked.back() == 900 * KiB);
  CHECK(pool.allocate_apart(MiB, 1, {8 * MiB, true}));  // no room under the limit: a usual block
  CHECK(c.asked.back() == 900 * KiB);
  pool.release(p);
  CHECK(pool.trim() == 5 * MiB + 256);
}

TEST_CASE("a source whose memory is not aligned to 256 bytes is refused, and gets it back") {
  static int balance = 0;
  region_pool pool({[](void*, std::size_t) {
                      ++balance;
                      return reinterpret_cast<void*>(std::uintptr_t(4096 + 64));
                    },
                    [](void*, void*, std::size_t) { --balance; }, nullptr});
  CHECK_THROWS_WITH_AS(pool.allocate(256, 1, {}),
                       "locus: a memory resource returned memory that is not aligned to 256 bytes; "
                       "align it",
                       configuration_error);
  CHECK(balance == 0);
  CHECK(pool.reserved() == 0);
}

TEST_CASE("an address that begins no block is not released") {
  card c;
  region_pool pool(c.source());
  auto* const p = static_cast<char*>(pool.allocate(512, 1, {}));
  CHECK(pool.release(p + 256) == 0);
  CHECK(pool.release(nullptr) == 0);
  CHECK(pool.release(p) == 512);
  CHECK(pool.release(p) == 0);
}

TEST_CASE("random histories: blocks lie in regions, apart from each other, and all comes back") {
  std::mt19937 bits(11);
  for (bool const growth : {true, false}) {
    card c{.has = 900 * MiB};
    region_pool pool(c.source());
    region_policy const policy{800 * MiB, growth};
    std::map<std::uintptr_t, std::int64_t> live;
    std::vector<std::uintptr_t> order;
    std::int64_t in_use = 0, refused = 0;
    for (int i = 0; i < 100'000; ++i) {
      bool const more = live.empty() || bits() % 100 < (i / 10'000 % 2 ? 40u : 60u);
      if (more) {
        std::int64_t const wanted =
            1 + std::int64_t(bits() % (std::uint64_t(1) << (4 + bits() % 23)));
        std::int64_t const bytes = round_up(wanted);
        auto const at = reinterpret_cast<std::uintptr_t>(pool.allocate(bytes, wanted, policy));
        if (!at) {
          ++refused;
          continue;
        }
        auto const next = live.lower_bound(at);
        bool const apart = (next == live.end() || at + std::uintptr_t(bytes) <= next->first) &&
                           (next == live.begin() ||
                            std::prev(next)->first + std::uintptr_t(std::prev(next)->second) <= at);
        auto const above = c.regions.upper_bound(reinterpret_cast<void*>(at));
        bool const inside = above != c.regions.begin() &&
                            at + std::uintptr_t(bytes) <=
                                reinterpret_cast<std::uintptr_t>(std::prev(above)->first) +
                                    std::uintptr_t(std::prev(above)->second);
        REQUIRE((apart && inside && at % 256 == 0));
        live[at] = bytes, in_use += bytes, order.push_back(at);
      } else {
        std::size_t const pick = bits() % order.size();
        auto const one = live.find(order[pick]);
        order[pick] = order.back(), order.pop_back();
        REQUIRE(pool.release(reinterpret_cast<void*>(one->first)) == one->second);
        in_use -= one->second;
        live.erase(one);
      }
      REQUIRE(pool.reserved() <= policy.limit);
      if (i % 1000 == 0) {
        auto const now = pool.look();
        REQUIRE(now.in_use == in_use);
        REQUIRE(now.blocks == static_cast<int>(live.size()));
        REQUIRE(now.reserved == c.given);
        REQUIRE(now.largest_free <= now.reserved - now.in_use);
        if (i % 10'000 == 0) pool.trim();
      }
    }
    CHECK(refused > 100);  // the limit was reached
    for (auto const& [p, bytes] : live) CHECK(pool.release(reinterpret_cast<void*>(p)) == bytes);
    auto const end = pool.look();
    CHECK(end.in_use == 0);
    CHECK(end.requested == 0);
    pool.trim();  // everything had been joined: no region holds back
    CHECK(c.given == 0);
  }
}

TEST_CASE("an allocation and its free in the steady state") {
  card c;
  region_pool pool(c.source());
  region_policy const policy{};
  std::mt19937 bits(3);
  std::vector<void*> held;  // a pool that has been used for a while
  for (int i = 0; i < 400; ++i)
    held.push_back(pool.allocate(256 * (1 + std::int64_t(bits() % 4000)), 1, policy));
  for (std::size_t i = 0; i < held.size(); i += 2) pool.release(held[i]);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 16; ++i) sizes.push_back(256 * (1 + std::int64_t(bits() % 3000)));
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    auto const start = std::chrono::steady_clock::now();
    constexpr int times = 20'000;
    for (int i = 0; i < times; ++i) {
      void* const p = pool.allocate(sizes[std::size_t(i % 16)], 1, policy);
      pool.release(p);
    }
    std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / times);
  }
  auto const calls = c.asked.size();
  for (std::int64_t const s : sizes) pool.release(pool.allocate(s, 1, policy));
  CHECK(c.asked.size() == calls);
  std::printf("region pool: %.0f ns for an allocation and its free\n", best);
  // the bound of a busy machine; 200 ns is what it is made for
  CHECK(best < (under_thread_sanitizer || under_address_sanitizer ? 10'000 : 1000));
}

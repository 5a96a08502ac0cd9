// SPDX-License-Identifier: Apache-2.0
// The growing array, the counted pointer, the mutex: what stands in for costly standard headers.
#include <doctest/doctest.h>

#include <random>
#include <thread>
#include <vector>

#include <locus/core/array.hpp>
#include <locus/core/lock.hpp>
#include <locus/core/shared.hpp>

using namespace locus;

namespace {
/// counts the objects that live
struct counted {
  static inline int alive = 0;
  int value = 0;
  counted() { ++alive; }
  explicit counted(int v) : value(v) { ++alive; }
  counted(counted const& o) : value(o.value) { ++alive; }
  counted(counted&& o) noexcept : value(std::exchange(o.value, -1)) { ++alive; }
  counted& operator=(counted const&) = default;
  counted& operator=(counted&& o) noexcept {
    value = std::exchange(o.value, -1);
    return *this;
  }
  ~counted() { --alive; }
};
}  // namespace

TEST_CASE("an array does what a vector does, step by step") {
  std::mt19937 bits(4);
  for (int round = 0; round < 50; ++round) {
    dynamic_array<int> a;
    std::vector<int> v;
    for (int n = 0; n < 200; ++n) {
      int const x = int(bits() % 1000);
      switch (bits() % 8) {
      case 0:
        if (!v.empty()) {  // the last takes the place of the removed one
          std::size_t const i = bits() % v.size();
          a.remove(i);
          v[i] = v.back(), v.pop_back();
        }
        break;
      case 1: {
        std::size_t const size = bits() % 30;
        a.resize(size), v.resize(size);
        break;
      }
      case 2:
        if (bits() % 10 == 0) a.clear(), v.clear();
        break;
      default: CHECK(a.push(x) == x); v.push_back(x);
      }
      REQUIRE(a.size() == v.size());
      REQUIRE(a.empty() == v.empty());
      REQUIRE(std::equal(a.begin(), a.end(), v.begin()));
      if (!v.empty()) REQUIRE(a.back() == v.back());
    }
    dynamic_array<int> b(std::move(a));
    REQUIRE(b.size() == v.size());
    REQUIRE(a.empty());
    a = std::move(b);
    REQUIRE(std::equal(a.begin(), a.end(), v.begin()));
  }
}

TEST_CASE("an array keeps no object that was taken out") {
  {
    dynamic_array<counted> a;
    for (int i = 0; i < 9; ++i) a.push(counted(i));
    a.remove(2);
    CHECK(a[2].value == 8);
    CHECK(a.size() == 8);
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("what is shared ends with its last owner") {
  {
    auto a = shared<counted>::make(7);
    CHECK(counted::alive == 1);
    shared<counted> b = a;
    shared<counted> c(std::move(a));
    CHECK(a.get() == nullptr);
    CHECK(b.get() == c.get());
    CHECK(b->value == 7);
    b = shared<counted>();
    CHECK(counted::alive == 1);
    shared<counted>& same = c;
    c = same;  // of itself
    CHECK((*c).value == 7);
    c = shared<counted>::make(8);
    CHECK(counted::alive == 1);
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("owners in several threads count right, and a lock keeps them apart") {
  auto value = shared<counted>::make(1);
  mutex m;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, mine = value] {
      for (int i = 0; i < 20'000; ++i) {
        shared<counted> copy = mine;
        lock_guard hold(m);
        sum += copy->value;
      }
    });
  for (std::thread& t : threads) t.join();
  threads.clear();
  CHECK(sum == 80'000);
  CHECK(counted::alive == 1);
  value = {};
  CHECK(counted::alive == 0);
}

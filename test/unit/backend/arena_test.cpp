// SPDX-License-Identifier: Apache-2.0
// Memory of simulated GPUs and of the host: blocks do not overlap, what is given back is used
// again, and the face of a simulated GPU belongs to nobody.
#include <cstring>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <locus/backend/simulated/arena.hpp>
#include <locus/runtime/host_memory.hpp>

#include "child.hpp"

using namespace locus;

namespace {
unsigned memory_files = 0,
         open_in_children = 0;  // made; those that a program after exec would have
}
/// in place of the C library's
extern "C" int memfd_create(char const* name, unsigned flags) noexcept {
  ++memory_files;
  if (!(flags & MFD_CLOEXEC)) ++open_in_children;
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

namespace {

/// allocates and gives back in random order, and looks that no two blocks share a byte
template <class Allocate, class Release, class Address>
void check_blocks(Allocate allocate, Release release, Address address) {
  std::mt19937 bits(5);
  struct block {
    std::size_t bytes;
    unsigned char mark;
  };
  std::map<char*, block> live;
  auto const intact = [&](auto const& b) {
    auto const* const bytes = static_cast<unsigned char const*>(address(b.first));
    for (std::size_t i = 0; i < b.second.bytes; ++i)
      if (bytes[i] != b.second.mark) return false;
    return true;
  };
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 40 && bits() % 3) {
      std::size_t const bytes = 1 + bits() % (bits() % 4 ? 3000 : 300000);
      auto* const p = static_cast<char*>(allocate(bytes));
      REQUIRE(p != nullptr);
      REQUIRE(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
      auto const next = live.lower_bound(p);
      REQUIRE((next == live.end() || p + bytes <= next->first));
      if (next != live.begin()) {
        auto const before = std::prev(next);
        REQUIRE(before->first + before->second.bytes <= p);
      }
      auto const mark = static_cast<unsigned char>(bits());
      std::memset(address(p), mark, bytes);
      live[p] = {bytes, mark};
    } else if (!live.empty()) {
      auto const b = std::next(live.begin(), int(bits() % live.size()));
      REQUIRE(intact(*b));
      release(b->first, b->second.bytes);
      live.erase(b);
    }
  }
  for (auto const& b : live) {
    CHECK(intact(b));
    release(b.first, b.second.bytes);
  }
}

}  // namespace

TEST_CASE("blocks of a simulated GPU do not overlap and are joined when they are free") {
  simulated::arena a;
  a.open();
  auto* const first = static_cast<char*>(a.allocate(1));
  a.release(first, 1);
  check_blocks([&](std::size_t n) { return a.allocate(n); },
               [&](void* p, std::size_t n) { a.release(p, n); },
               [&](void* p) { return a.behind(p); });
  CHECK(a.allocate(5'000'000) == first);  // all of it is one free block again
  CHECK(a.holds(first));
  CHECK_FALSE(a.holds(&a));
  CHECK(a.behind(&a) == &a);
  CHECK(a.allocate(std::size_t(1) << 60) == nullptr);
}

TEST_CASE("what was given back is poison: NaN as a float, -1 as an integer") {
  simulated::arena a;
  a.open();
  void* const p = a.allocate(8);
  float const one = 1;
  std::memcpy(a.behind(p), &one, sizeof one);
  a.poison_range(p, 8);
  float f;
  std::int32_t i;
  std::memcpy(&f, a.behind(p), sizeof f);
  std::memcpy(&i, a.behind(p), sizeof i);
  CHECK(f != f);
  CHECK(i == -1);
}

TEST_CASE("somebody touches the face" * doctest::skip()) {
  static simulated::arena a;
  a.open();
  auto* const p = static_cast<char volatile*>(a.allocate(8));
  if (std::getenv("TEST_OPEN")) a.open_face(true);
  *p = 1;
  CHECK(*static_cast<char*>(a.behind(const_cast<char*>(p))) == 1);
}
TEST_CASE("the face of a simulated GPU ends who touches it, until it is opened") {
  CHECK(child::run("somebody touches the face", {"TEST_OPEN=1"}).code == 0);
  auto const closed = child::run("somebody touches the face");
  CHECK((closed.code != 0 || closed.signal != 0));
  CHECK(closed.says("SIGSEGV"));
}

TEST_CASE("blocks of the host do not overlap, and a size class is used again") {
  static runtime::host_pool pool;
  check_blocks([&](std::size_t n) { return pool.allocate(n); },
               [&](void* p, std::size_t n) { pool.release(p, n); }, [](void* p) { return p; });
  if (!LOCUS_ADDRESS_SANITIZER) {
    void* const p = pool.allocate(1000);
    pool.release(p, 1000);
    CHECK(pool.allocate(1000) == p);
    pool.release(p, 1000);
  }
  pool.trim();
  for (int k = 0; k < 40; ++k) {  // every size around a power of two has room for its bytes
    for (std::size_t const n : {(std::size_t(1) << 20) - 1 + std::size_t(k) * 64}) {
      auto* const p = static_cast<char*>(pool.allocate(n));
      std::memset(p, 1, n);
      pool.release(p, n);
    }
  }
  pool.trim();
}

TEST_CASE("no program that is executed inherits the memory of a simulated GPU") {
  unsigned const before = memory_files;
  simulated::arena memory;
  memory.open();
  CHECK(memory_files > before);
  CHECK(open_in_children == 0);
}

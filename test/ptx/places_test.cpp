// SPDX-License-Identifier: Apache-2.0
// Registers that share a place in a frame: none loses a value that is still to be read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "launch.hpp"
#include "machine/places.hpp"

namespace {
using namespace ptx;

/// A walk through the code, with a place for each register and with shared ones: how many reads
/// found another value than that which was written last. Guards hold in half of the cases.
int wrong_reads(std::vector<register_use> const& code, std::size_t registers,
                std::vector<std::int32_t> const& shared, std::mt19937& random, int& reads) {
  std::vector<int> alone(registers, 0), together(registers, 0);
  int wrong = 0, value = 0;
  std::size_t k = 0;
  for (int steps = 0; steps < 200 && k < code.size(); ++steps) {
    register_use const& i = code[k];
    for (auto const r : i.reads) {
      int const before = alone[std::size_t(r)];
      if (before == 0) continue;  // never written
      ++reads, wrong += before != together[std::size_t(shared[std::size_t(r)])];
    }
    if (!i.is_guarded || random() % 2)
      for (auto const r : i.writes)
        alone[std::size_t(r)] = together[std::size_t(shared[std::size_t(r)])] = ++value;
    if (i.next.empty()) break;
    k = i.next[random() % i.next.size()];
  }
  return wrong;
}
}  // namespace

TEST_SUITE_BEGIN("ptx/places");

TEST_CASE("a chain of registers needs two places, an unread one a place of its own") {
  std::vector<register_use> code;
  for (std::int32_t k = 0; k < 40; ++k)
    code.push_back(
        {k ? std::vector{k - 1} : std::vector<std::int32_t>{}, {k}, {std::uint32_t(k + 1)}});
  code.push_back({{39}, {}, {}});
  auto const places = shared_places(lives_of(code, 40), std::vector(40, 32u));
  CHECK(*std::max_element(places.begin(), places.end()) == 1);
  // widths do not mix: lane 3 of one is no lane of the other
  std::vector<unsigned> widths(40, 32u);
  for (std::size_t k = 1; k < 40; k += 2) widths[k] = 64;
  auto const mixed = shared_places(lives_of(code, 40), widths);
  for (std::size_t k = 1; k < 40; ++k) CHECK(mixed[k] != mixed[k - 1]);
  for (std::size_t k = 2; k < 40; ++k) CHECK(mixed[k] == mixed[k - 2]);
}
TEST_CASE("what a loop carries keeps its place, and so does what a guard may leave as it was") {
  // 0: a = ..  1: b = ..  2: c = a  3: use c  4: to 2 or on  5: use b
  std::vector<register_use> const loop = {{{}, {0}, {1}}, {{}, {1}, {2}},   {{0}, {2}, {3}},
                                          {{2}, {}, {4}}, {{}, {}, {2, 5}}, {{1}, {}, {}}};
  auto const lives = lives_of(loop, 3);
  CHECK(lives[0].last == 4);
  CHECK(lives[1].last == 5);
  CHECK(lives[2].first == 2);
  CHECK(lives[2].last == 3);
  // 0: guarded a = ..  1: use a  2: b = ..  3: use b  4: to 0 or on
  std::vector<register_use> guarded = {{{}, {0}, {1}, true}, {{0}, {}, {2}},   {{}, {1}, {3}},
                                       {{1}, {}, {4}},       {{}, {}, {0, 5}}, {}};
  auto places = shared_places(lives_of(guarded, 2), {32, 32});
  CHECK(places[0] != places[1]);
  guarded[0].is_guarded = false;
  places = shared_places(lives_of(guarded, 2), {32, 32});
  CHECK(places[0] == places[1]);
}
TEST_CASE("no way through two thousand programs reads a value that another register has replaced") {
  std::mt19937 random(20261123);
  int reads = 0, shared_registers = 0;
  for (int program = 0; program < 2000; ++program) {
    std::size_t const registers = 2 + random() % 12;
    std::vector<register_use> code(5 + random() % 40);
    for (std::size_t k = 0; k < code.size(); ++k) {
      auto const some = [&](unsigned most) {
        std::vector<std::int32_t> all(random() % (most + 1));
        for (auto& r : all) r = std::int32_t(random() % registers);
        return all;
      };
      code[k] = {some(2), some(1), {std::uint32_t(k + 1)}, random() % 4 == 0};
      if (random() % 4 == 0) code[k].next.push_back(std::uint32_t(random() % code.size()));
      if (random() % 16 == 0) code[k].next = {std::uint32_t(random() % code.size())};
    }
    std::vector<unsigned> widths(registers);
    for (unsigned& each : widths) each = random() % 3 ? 32 : 64;
    auto const places = shared_places(lives_of(code, registers), widths);
    std::vector<unsigned> width_of(registers, 0);
    for (std::size_t r = 0; r < registers; ++r) {
      unsigned& width = width_of[std::size_t(places[r])];
      shared_registers += width != 0;
      CHECK((width == 0 || width == widths[r]));
      width = widths[r];
    }
    int wrong = 0;
    for (int walk = 0; walk < 5; ++walk)
      wrong += wrong_reads(code, registers, places, random, reads);
    CHECK(wrong == 0);
  }
  CHECK(reads > 50'000);
  CHECK(shared_registers > 1'000);
}
TEST_CASE("a frame is as large as what lives at one time") {
  std::string body = "mov.u32 %r10, %r0;\n";
  for (int k = 11; k < 60; ++k)
    body += "add.u32 %r" + std::to_string(k) + ", %r" + std::to_string(k - 1) + ", %r0;\n";
  body += "mad.wide.u32 %l10, %r0, 4, %l1;\nst.global.u32 [%l10], %r59;";
  ptx::testing::buffer<std::uint32_t> out(std::size_t(64));
  ptx::testing::run(ptx::testing::kernel(body), {}, {64}, {out.address(), 0, 0, 0});
  for (std::uint32_t k = 0; k < 64; ++k) CHECK(out.values()[k] == 50 * k);
  CHECK(ptx::testing::last_program().find("test")->frame_bytes < 20 * 128);  // of 58 registers
}

TEST_SUITE_END();

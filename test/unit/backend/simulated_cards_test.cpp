// SPDX-License-Identifier: Apache-2.0
// Queues of simulated GPUs: as late as they may, in any order that events permit, and a missing
// event is found when the work is issued.
#include <doctest/doctest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <locus/backend/simulated/cards.hpp>
#include <message_of.hpp>

using namespace locus;
using runtime::queue_kind;

namespace {

simulated::cards& fresh(std::uint64_t seed) {
  simulated::gpus().reset(seed);
  return simulated::gpus();
}
touched writes(void const* p, std::size_t bytes = 4) { return {p, bytes, true}; }
touched reads(void const* p, std::size_t bytes = 4) { return {p, bytes, false}; }
step_record work_of(short number, int on) { return {number, "work", gpu(on)}; }

}  // namespace

TEST_CASE("work runs when somebody waits for it, and no more than that needs") {
  auto& m = fresh(1);
  std::string ran;
  m.issue(0, work_of(0, 0), nullptr, 0, [&] { ran += 'a'; });
  auto const a = m.last(0);
  m.issue(0, work_of(1, 0), nullptr, 0, [&] { ran += 'b'; });
  m.issue(2, work_of(2, 1), nullptr, 0, [&] { ran += 'c'; });
  CHECK(ran.empty());
  m.synchronize(a);
  CHECK(ran == "a");
  m.synchronize(m.last(2));
  CHECK(ran == "ac");
  m.run_everything();
  CHECK(ran == "acb");
  m.synchronize({});  // nothing to wait for
}

TEST_CASE("an event orders two queues, and seeds try the orders that remain") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto& m = fresh(seed);
    std::string ran;
    for (int q : {0, 2, 4})
      m.issue(static_cast<short>(q), work_of(0, q / 2), nullptr, 0,
              [&, q] { ran += char('0' + q); });
    for (short q : {short(0), short(2), short(4)}) m.wait(6, m.last(q));
    m.issue(6, work_of(1, 3), nullptr, 0, [&] { ran += '6'; });
    m.synchronize(m.last(6));
    CHECK(ran.size() == 4);
    CHECK(ran.back() == '6');
    orders.insert(ran);
  }
  CHECK(orders.size() == 6);  // all orders of three
}

TEST_CASE("two queues that touch the same bytes need an event, unless both only read") {
  int const memory[8]{};
  for (bool const first_writes : {false, true})
    for (bool const second_writes : {false, true})
      for (bool const overlap : {false, true})
        for (bool const event : {false, true}) {
          auto& m = fresh(1);
          touched const one{memory, 16, first_writes};
          touched const two{memory + (overlap ? 3 : 4), 16, second_writes};
          auto const text = message_of<bad_access>([&] {
            m.issue(0, work_of(3, 0), &one, 1, [] {});
            if (event) m.wait(2, m.last(0));
            m.issue(2, work_of(4, 1), &two, 1, [] {});
          });
          bool const races = overlap && !event && (first_writes || second_writes);
          CHECK(text ==
                (!races ? std::string("nothing was thrown")
                        : "locus: step 4 (work) on /GPU:1 " +
                              std::string(second_writes ? "writes" : "reads") +
                              " what step 3 (work) on /GPU:0 " +
                              (first_writes ? "writes" : "reads") + ", and no event orders them"));
        }
}

TEST_CASE("order passes through events of other queues, and through the host") {
  int const memory[1]{};
  touched const w = writes(memory), r = reads(memory);
  for (bool const through_host : {false, true}) {
    auto& m = fresh(3);
    m.issue(0, work_of(0, 0), &w, 1, [] {});
    auto const made = m.last(0);
    if (through_host)
      m.synchronize(made);
    else {
      m.wait(2, made);
      m.issue(2, work_of(1, 1), nullptr, 0, [] {});
      m.wait(4, m.last(2));
    }
    CHECK_NOTHROW(m.issue(4, work_of(2, 2), &r, 1, [] {}));
    m.run_everything();
  }
}

TEST_CASE("the host may touch its memory when the queue has finished with it") {
  int memory[4]{};
  auto& m = fresh(1);
  touched const w = writes(memory, sizeof memory);
  m.issue(0, work_of(5, 0), &w, 1, [&] { memory[0] = 1; });
  step_record const host{6, "add", cpu(0)};
  CHECK(message_of<bad_access>([&] { m.check_host(memory, 4, false, host); }) ==
        "locus: step 6 (add) on /CPU:0 reads host memory that step 5 (work) on /GPU:0 has not "
        "written yet; the host must wait first");
  CHECK(message_of<bad_access>([&] { m.check_host(memory + 4, 4, false, host); }) ==
        "nothing was thrown");
  m.synchronize(m.last(0));
  CHECK(memory[0] == 1);
  CHECK(message_of<bad_access>([&] { m.check_host(memory, 16, true, host); }) ==
        "nothing was thrown");
}

TEST_CASE("what a kernel throws arrives where the host waits; later work works") {
  auto& m = fresh(1);
  bool skipped = true, after = false;
  m.issue(0, work_of(0, 0), nullptr, 0, [] { throw std::runtime_error("from a kernel"); });
  m.issue(0, work_of(1, 0), nullptr, 0, [&] { skipped = false; });
  CHECK_THROWS_WITH_AS(m.synchronize(m.last(0)), "from a kernel", std::runtime_error);
  CHECK(skipped);
  m.issue(0, work_of(2, 0), nullptr, 0, [&] { after = true; });
  CHECK_NOTHROW(m.synchronize(m.last(0)));
  CHECK(after);
}

TEST_CASE("what depends on a task that failed is left out, and nothing else") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto& m = fresh(seed);
    std::string ran;
    auto const work = [&](short q, char name) {
      m.issue(q, work_of(0, q / 2), nullptr, 0, [&ran, name] { ran += name; });
    };
    work(2, 'a');  // another queue, before it
    work(0, 'b');  // its own queue, before it
    m.issue(0, work_of(1, 0), nullptr, 0, [] { throw std::runtime_error("from a kernel"); });
    work(0, 'x');
    m.wait(4, m.last(0));
    work(4, 'y');  // it waits for it
    m.wait(6, m.last(4));
    work(6, 'z');  // it waits for what waits for it
    work(8, 'c');  // nobody knows of it
    stamp const far = m.last(6);
    CHECK_THROWS_WITH_AS(m.synchronize(m.last(0)), "from a kernel", std::runtime_error);
    work(0, 'd');  // the host has heard of it: what comes now is right
    m.wait(2, far);
    work(2, 'e');
    CHECK_NOTHROW(m.run_everything());
    CHECK_NOTHROW(m.synchronize(m.last(6)));
    CHECK(ran.size() == 5);
    for (char const c : {'a', 'b', 'c', 'd', 'e'}) CHECK(ran.find(c) != ran.npos);
  }
}

TEST_CASE("what was issued behind a failure before the host heard of it is left out, too") {
  auto& m = fresh(1);
  bool ran = false, later = false;
  m.issue(0, work_of(0, 0), nullptr, 0, [] { throw std::runtime_error("first"); });
  auto const failed = m.last(0);
  m.issue(2, work_of(1, 1), nullptr, 0, [] { throw std::runtime_error("second"); });
  m.run_everything();
  m.wait(4, failed);
  m.issue(4, work_of(2, 2), nullptr, 0, [&] { ran = true; });
  CHECK_THROWS_AS(m.synchronize(m.last(8)), std::runtime_error);
  CHECK_NOTHROW(m.synchronize(m.last(4)));
  CHECK(!ran);
  {
    m.issue(0, work_of(3, 0), nullptr, 0, [] { throw std::runtime_error("third"); });
    runtime::unreported_waits const in_a_destructor(true);
    CHECK_NOTHROW(m.synchronize(m.last(0)));
  }
  CHECK_THROWS_WITH_AS(m.synchronize(m.last(0)), "third", std::runtime_error);
  m.issue(0, work_of(4, 0), nullptr, 0, [&] { later = true; });
  CHECK_NOTHROW(m.synchronize(m.last(0)));
  CHECK(later);
}

TEST_CASE("a machine keeps what is under way, and not what has run") {
  auto& m = fresh(2);
  std::vector<char> memory(1 << 16);
  std::size_t most = 0;
  std::int64_t ran = 0;
  for (int i = 0; i < 60000; ++i) {
    auto const q = static_cast<short>(2 * (i % 3));
    // never wholly drained; other bytes each time
    touched const t = writes(&memory[static_cast<std::size_t>(i * 7919 % 65000)],
                             static_cast<std::size_t>(1 + i % 300));
    m.wait(q, m.last(static_cast<short>((q + 2) % 6)));
    m.wait(q, m.last(static_cast<short>((q + 4) % 6)));
    m.issue(q, work_of(0, q / 2), &t, 1, [&] { ++ran; });
    if (i % 16 == 15) {
      auto const here = m.last(q);
      m.issue(q, work_of(0, q / 2), nullptr, 0, [&] { ++ran; });
      m.synchronize(here);
    }
    simulated::kept_work const k = m.kept();
    if (std::size_t const all = k.tasks + k.accesses; all > most) most = all;
    REQUIRE(k.points < 3 * 2100);
  }
  m.run_everything();
  CHECK(ran == 60000 + 60000 / 16);
  CHECK(most < 1500);
}

TEST_CASE("thousands of tasks end, and none is lost") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    auto& m = fresh(seed);
    int ran = 0, in_order = 0;
    for (int i = 0; i < 20000; ++i) {
      auto const q = static_cast<short>(2 * (i % 4));
      if (i % 7 == 0) m.wait(q, m.last(static_cast<short>((q + 2) % 8)));
      m.issue(q, work_of(0, i % 4), nullptr, 0, [&, i] { ++ran, in_order += i % 4 == 0; });
    }
    m.run_everything();
    CHECK(ran == 20000);
    CHECK(in_order == 5000);
  }
}

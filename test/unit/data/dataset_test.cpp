// SPDX-License-Identifier: Apache-2.0
// Datasets: what comes out, in which order, whatever the number of threads; what fails, says where.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <doctest/doctest.h>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <locus/data/dataset.hpp>
#include <locus/locus.hpp>

#include "child.hpp"
#include "message_of.hpp"
#include <sys/wait.h>

namespace dataset_test {

using namespace locus;
using data::from_tensors;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers up_to(std::int64_t n) {
  Numbers v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}
Tensor<std::int64_t, Dextents<1>> counted(std::int64_t n) {
  Tensor<std::int64_t, Dextents<1>> t(n);
  std::iota(t.data(), t.data() + n, 0);
  return t;
}
/// the elements of one pass: numbers, or batches of numbers
template <class D>
Numbers pass_of(D& set) {
  Numbers v;
  for (auto&& [x] : set) {
    if constexpr (D::is_batched)
      v.insert(v.end(), x.data(), x.data() + x.size());
    else
      v.push_back(static_cast<std::int64_t>(x));
  }
  return v;
}
Numbers sorted(Numbers v) {
  std::sort(v.begin(), v.end());
  return v;
}
void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// the square of a number after a time that depends on it, so that threads overtake one another
struct slow_square {
  std::int64_t operator()(std::int64_t i) const {
    if (i % 7 == 0) sleep_ms(1);
    return i * i;
  }
};
struct fails_at {
  std::int64_t bad;
  std::int64_t operator()(std::int64_t i) const {
    if (i == bad) throw std::runtime_error("no such picture");
    return i;
  }
};
std::string where_it_failed(auto& set, Numbers& before) {
  try {
    for (auto&& [x] : set) before.push_back(x);
  } catch (data::element_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("rows of tensors become elements, elements batches, and all rows come once") {
  Tensor<float, Extents<dyn, 2, 3>> x(7);
  Tensor<double, Dextents<2>> w(7, 4);
  auto const label = counted(7);
  std::iota(x.data(), x.data() + x.size(), 0.f);
  std::iota(w.data(), w.data() + w.size(), 0.);
  auto rows = from_tensors(x, w, label);
  CHECK(rows.size() == 7);
  std::int64_t n = 0;
  for (auto&& [a, b, i] : rows) {
    static_assert(decltype(a)::rank() == 2 && sizeof(a) == sizeof(float*));
    CHECK(i == n++);
    CHECK(a(1, 2) == x(i, 1, 2));
    CHECK(b(3) == w(i, 3));
    CHECK(b.extent(0) == 4);
  }
  auto batches = rows.batch(3);
  CHECK(batches.size() == 3);
  CHECK(batches.rows() == 7);
  n = 0;
  for (auto&& [a, b, i] : batches) {
    static_assert(
        std::is_same_v<std::remove_cvref_t<decltype(a)>, Tensor<float, Extents<dyn, 2, 3>>>);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(b)>, Tensor<double, Dextents<2>>>);
    REQUIRE(a.extent(0) == (n < 6 ? 3 : 1));
    for (std::int64_t k = 0; k < a.extent(0); ++k, ++n) {
      CHECK(i(k) == n);
      CHECK(a(k, 0, 1) == x(n, 0, 1));
      CHECK(b(k, 3) == w(n, 3));
    }
  }
  CHECK(n == 7);
}

TEST_CASE("a dataset shares the elements of its tensors and outlives them") {
  auto set = [] {
    auto const t = counted(5);
    return from_tensors(t);
  }();
  CHECK(pass_of(set) == up_to(5));
}

TEST_CASE("parts of a pass, several passes, remainders: what is known of their number is true") {
  auto const base = data::range(10);
  auto const look = [](auto set, Numbers const& expected, std::int64_t size) {
    CHECK(pass_of(set) == expected);
    CHECK(set.size() == size);
  };
  look(base.take(3), {0, 1, 2}, 3);
  look(base.take(0), {}, 0);
  look(base.skip(8), {8, 9}, 2);
  look(base.skip(11), {}, 0);
  look(base.take(2).repeat(3), {0, 1, 0, 1, 0, 1}, 6);
  look(base.repeat().take(12), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}, 12);
  CHECK(base.repeat().size() == data::infinite);
  look(base.batch(4), up_to(10), 3);
  look(base.batch(4, {.drop_remainder = true}), up_to(8), 2);
  CHECK(base.batch(4, {.drop_remainder = true}).rows() == 8);
  CHECK(base.batch(2).batch(2, {.drop_remainder = true}).rows() == data::unknown);  // 8 of 10
  CHECK(base.take(8).batch(2).batch(2, {.drop_remainder = true}).rows() == 8);
  look(base.batch(1000), up_to(10), 1);
  CHECK(base.repeat().batch(4).size() == data::infinite);
  // nothing, however often, is nothing, and is found at once
  constexpr std::int64_t often = std::int64_t(1) << 62;
  look(base.take(0).repeat(often), {}, 0);
  look(base.skip(10).shuffle().repeat(often).repeat(often), {}, 0);
  int opened = 0;
  auto used_up = data::from_generator([&opened] {  // a source that gives its elements once
                   return [n = opened++ ? 2 : 0]() mutable {
                     return n < 2 ? std::optional<std::int64_t>(n++) : std::nullopt;
                   };
                 })
                     .repeat(often);
  CHECK(pass_of(used_up) == Numbers{0, 1});
  CHECK(opened == 2);
}

TEST_CASE("the order is a function of seed and epoch; each pass is another epoch") {
  auto const t = counted(100);
  auto const orders = [&](data::shuffle_options const& how) {
    auto set = from_tensors(t).shuffle(how).batch(8);
    std::vector<Numbers> all;
    for (int e = 0; e < 3; ++e) all.push_back(pass_of(set));
    for (auto const& order : all) CHECK(sorted(order) == up_to(100));
    set.seek_epoch(1);
    CHECK(pass_of(set) == all[1]);  // training goes on where it was
    set.next_epoch();               // said, or not: it is the next one
    CHECK(pass_of(set) == all[2]);
    auto const constant = set;
    CHECK(pass_of(constant) == all[2]);
    CHECK(pass_of(constant) == all[2]);
    return all;
  };
  auto const one = orders({.seed = 1}), again = orders({.seed = 1}), other = orders({.seed = 2});
  CHECK(one == again);
  CHECK(one[0] != other[0]);
  CHECK(one[0] != one[1]);
  CHECK(one[1] != one[2]);
  auto const fixed = orders({.seed = 1, .each_epoch = false});
  CHECK(fixed[0] == fixed[1]);
  CHECK(fixed[0] == one[0]);
  for (auto const& order : orders({.buffer = 10}))  // nothing comes earlier than the buffer allows
    for (std::int64_t at = 0; at < 100; ++at) CHECK(order[std::size_t(at)] < at + 10);
  CHECK(orders({.buffer = 1})[0] == up_to(100));
  auto twice = data::range(50).shuffle().repeat(2);
  auto const both = pass_of(twice);
  CHECK(Numbers(both.begin(), both.begin() + 50) != Numbers(both.begin() + 50, both.end()));
}

TEST_CASE("a map keeps the order with any number of threads") {
  Numbers squares;
  for (std::int64_t i = 0; i < 200; ++i) squares.push_back(i * i);
  for (int const threads : {1, 2, 4, 0}) {
    auto set = data::range(200).map(slow_square{}, {.threads = threads});
    CHECK(pass_of(set) == squares);
    CHECK(pass_of(set) == squares);
    auto shuffled = data::range(200).shuffle({.seed = 5}).map(slow_square{}, {.threads = threads});
    static Numbers first;
    auto const order = pass_of(shuffled);
    if (threads == 1) first = order;
    CHECK(order == first);
    CHECK(sorted(order) == squares);
  }
}

TEST_CASE("a map of few elements that take long has work for all of its threads") {
  for (std::int64_t const n : {4, 6}) {
    std::mutex lock;
    std::condition_variable changed;
    int inside = 0, most = 0;
    auto const wait_for_others = [&](std::int64_t i) {
      std::unique_lock hold(lock);
      most = std::max(most, ++inside);
      changed.notify_all();
      changed.wait_for(hold, std::chrono::seconds(i < 4 ? 5 : 0), [&] { return most == 4; });
      --inside;
      return i;
    };
    auto sized = data::range(n).map(wait_for_others, {.threads = 4});
    CHECK(pass_of(sized) == up_to(n));
    CHECK(most == 4);
  }
}

TEST_CASE("prefetch gives an element as soon as it is made") {
  std::mutex lock;
  std::condition_variable changed;
  bool seen = false, was_seen = false;
  auto set = data::range(40)
                 .map([&](std::int64_t i) {
                   std::unique_lock hold(lock);
                   if (i == 1)
                     was_seen =
                         changed.wait_for(hold, std::chrono::seconds(5), [&] { return seen; });
                   return i;
                 })
                 .prefetch(16);
  Numbers all;
  for (auto&& [x] : set) {
    std::lock_guard hold(lock);
    all.push_back(x), seen = true;
    changed.notify_all();
  }
  CHECK(all == up_to(40));
  CHECK(was_seen);
}

TEST_CASE("a map knows the number of an element, for random numbers that no thread changes") {
  std::vector<Numbers> all;
  for (int const threads : {1, 2, 4}) {
    auto set = data::range(40).map(
        [](data::position at, std::int64_t i) {
          return static_cast<std::int64_t>(random_bits(at.epoch, at.element) % 1000) * 100 + i;
        },
        {.threads = threads});
    all.push_back(pass_of(set));
    all.push_back(pass_of(set));
  }
  CHECK(all[0] != all[1]);
  for (std::size_t k = 2; k < 6; ++k) CHECK(all[k] == all[k % 2]);
}

TEST_CASE("what map's function throws reaches the caller, behind all elements before it") {
  for (int const threads : {1, 2, 4}) {
    CAPTURE(threads);
    auto set = data::range(100).map(fails_at{37}, {.threads = threads});
    Numbers before;
    CHECK(where_it_failed(set, before) ==
          "locus: map failed at element 37 of epoch 0: no such picture");
    CHECK(before == up_to(37));
    before.clear();
    CHECK(where_it_failed(set, before) ==
          "locus: map failed at element 37 of epoch 1: no such picture");
    auto ahead = set.prefetch(3).take(50);
    before.clear();
    CHECK(where_it_failed(ahead, before) ==
          "locus: map failed at element 37 of epoch 0: no such picture");
    CHECK(before == up_to(37));
    try {
      pass_of(set);
    } catch (data::element_error const& e) {
      CHECK(e.element == 37);
      CHECK_THROWS_AS(std::rethrow_exception(e.cause), std::runtime_error);
    }
  }
}

TEST_CASE("a generator is made anew for each pass; what it throws comes through threads") {
  int made = 0;
  auto make = [&made](std::uint64_t epoch) {
    ++made;
    return [i = std::int64_t(0), epoch]() mutable -> std::optional<std::int64_t> {
      if (epoch == 2 && i == 3) throw std::runtime_error("the line is dead");
      if (i == 5) return std::nullopt;
      return i++ + 10 * std::int64_t(epoch);
    };
  };
  auto set = data::from_generator(make).prefetch(2);
  CHECK(set.size() == data::unknown);
  CHECK(pass_of(set) == Numbers{0, 1, 2, 3, 4});
  CHECK(pass_of(set) == Numbers{10, 11, 12, 13, 14});
  CHECK(message_of<std::runtime_error>([&] { pass_of(set); }) == "the line is dead");
  CHECK(made == 3);
}

TEST_CASE("a generator gives as many elements as its size says, whatever reads it") {
  auto const of = [](std::int64_t size, std::int64_t given = 5) {
    return data::from_generator(
        [given] {
          return [given, i = std::int64_t(0)]() mutable -> std::optional<std::int64_t> {
            if (i == given) return std::nullopt;
            return i++;
          };
        },
        size);
  };
  auto const text_of = [](auto set) { return message_of<shape_error>([&] { pass_of(set); }); };
  std::string const more = "locus: a generator of 3 elements gave 4 in a pass; give from_generator "
                           "the number of elements of each pass, or leave it out";
  CHECK(text_of(of(3)) == more);
  CHECK(text_of(of(3, 4000).batch(4000)) == more);
  CHECK(text_of(of(3, 4000).map(slow_square{}, {.threads = 2}).batch(4000).prefetch(1)) == more);
  CHECK(text_of(of(3).cache().repeat(2).shuffle().batch(100)) == more);
  CHECK(text_of(of(3).skip(1).batch(4)) == more);
  CHECK(text_of(of(0)).starts_with("locus: a generator of 0 elements gave 1 in a pass; "));
  CHECK(text_of(of(7)).starts_with("locus: a generator of 7 elements gave 5 in a pass; "));
  CHECK(text_of(of(7).batch(4)).starts_with("locus: a generator of 7 elements gave 5 in a pass; "));
  CHECK(text_of(of(3).take(3)) == nothing_thrown);  // its end is not read
  for (std::int64_t const right : {std::int64_t(5), data::unknown, data::infinite}) {
    auto set = of(right).batch(4);
    CHECK(pass_of(set) == up_to(5));
    CHECK(pass_of(set) == up_to(5));
  }
  CHECK(message_of<configuration_error>([&] { of(-3); }) ==
        "locus: the size of a generator is -3; write the number of elements of a pass, or leave it "
        "out");
}

namespace {
/// a source that gives other than its size
struct wrong_size {
  using element = std::tuple<std::int64_t>;
  [[maybe_unused]] static constexpr bool is_shuffled = false, is_batched = false;
  std::int64_t given, said;
  struct cursor {
    std::int64_t end, at = 0;
    std::optional<element> next() {
      if (at == end) return std::nullopt;
      return element(at++);
    }
  };
  cursor open(data::opening const&) const { return {given}; }
  std::int64_t size() const { return said; }
  std::int64_t rows() const { return said; }
};
}  // namespace

TEST_CASE("batches have room for all rows, whatever the size of their source says") {
  for (std::int64_t const said : {0, 1, 3, 16, 17, 1000}) {
    CAPTURE(said);
    Numbers all, rows;
    for (auto&& [x] : data::Dataset(wrong_size{40, said}).batch(16)) {
      rows.push_back(x.extent(0));
      all.insert(all.end(), x.data(), x.data() + x.size());
    }
    CHECK(rows == Numbers{16, 16, 8});
    CHECK(all == up_to(40));
  }
  auto large = data::Dataset(wrong_size{4000, 3})
                   .map([](std::int64_t i) { return std::array<std::int64_t, 2>{i, -i}; })
                   .batch(4000);
  for (auto&& [x] : large) {
    REQUIRE(x.extent(0) == 4000);
    for (std::int64_t i = 0; i < 4000; ++i) REQUIRE(x(i, 0) - x(i, 1) == 2 * i);
  }
}

TEST_CASE("a pass that is left early ends its threads; nothing hangs") {
  std::atomic<int> alive{0};
  auto set = data::range(1 << 20)
                 .map(
                     [&alive](std::int64_t i) {
                       ++alive;
                       if (i % 16 == 0) sleep_ms(1);
                       --alive;
                       return i;
                     },
                     {.threads = 4})
                 .batch(4)
                 .prefetch(3);
  for (int stop = 0; stop < 20; ++stop) {
    int seen = 0;
    for (auto&& [x] : set)
      if (++seen > stop) {
        CHECK(x.extent(0) == 4);
        break;
      }
    CHECK(alive == 0);
  }
}

TEST_CASE("a cache reads once, and keeps only what was read to its end") {
  std::atomic<int> read{0};
  auto set = data::range(20)
                 .map([&read](std::int64_t i) {
                   ++read;
                   return i;
                 })
                 .cache();
  for (auto&& [x] : set)
    if (x == 4) break;
  CHECK(read == 5);
  CHECK(pass_of(set) == up_to(20));
  CHECK(read == 25);
  CHECK(pass_of(set) == up_to(20));
  auto other = set;
  CHECK(pass_of(other) == up_to(20));
  CHECK(read == 25);
  auto shuffled = set.shuffle();
  auto const first = pass_of(shuffled), second = pass_of(shuffled);
  CHECK(read == 25);
  CHECK(first != second);
  CHECK(sorted(first) == up_to(20));
  auto batches = data::range(10).batch(4).cache();  // tensors are copied
  CHECK(pass_of(batches) == up_to(10));
  CHECK(pass_of(batches) == up_to(10));
}

TEST_CASE("a pass that failed is over, and no cache keeps it") {
  bool fails = true;
  auto const make = [&fails] {
    return [&fails, n = std::int64_t(0)]() mutable -> std::optional<std::int64_t> {
      if (n == 3 && std::exchange(fails, false)) throw std::runtime_error("unreadable");
      return n < 6 ? std::optional(n++) : std::nullopt;
    };
  };
  auto const source = data::from_generator(make);
  auto const look = [&](auto set) {
    fails = true;
    Numbers read;
    auto at = set.begin();
    auto const go_on = [&] {
      for (; at != set.end(); ++at) read.push_back(std::get<0>(*at));
    };
    CHECK(message_of<std::runtime_error>(go_on) == "unreadable");
    CHECK(read == Numbers{0, 1, 2});
    ++at;
    CHECK(at == set.end());
    ++at;
    CHECK(at == set.end());
    CHECK(pass_of(set) == up_to(6));
    CHECK(pass_of(set) == up_to(6));
  };
  look(source);
  look(source.cache());
  look(source.cache().repeat(1));
  look(source.cache().prefetch(2));
  look(source.repeat(2).take(6));
  look(source.shuffle({.buffer = 1}));
}

TEST_CASE("prefetch works ahead of its reader, by as much as was said") {
  std::atomic<std::int64_t> made{0};
  auto set = data::range(100)
                 .map([&made](std::int64_t i) {
                   ++made;
                   return i;
                 })
                 .prefetch(5);
  std::int64_t n = 0;
  for (auto&& [x] : set) {
    CHECK(x == n++);
    if (n % 20 == 0) {
      for (int k = 0; k < 2000 && made < std::min<std::int64_t>(n + 5, 100); ++k) sleep_ms(1);
      CHECK(made == std::min<std::int64_t>(n + 5, 100));
    }
  }
}

TEST_CASE("bad elements are refused with their number") {
  Tensor<std::int32_t, Dextents<1>> label{0, 3, 9, 10, 1};
  auto labelled = from_tensors(label).require_labels<0>(10);
  CHECK(message_of([&] { pass_of(labelled); }) ==
        "locus: label 10 of record 3 is outside [0, 10); drop the record or name more classes");
  auto more = from_tensors(label).require_labels<0>(11);
  CHECK(pass_of(more).size() == 5);

  Tensor<float, Extents<3, 2>> x{{1, 2}, {3, 4}, {5, 6}};
  auto finite = from_tensors(x).require_finite();
  auto const run = [&] {
    for (auto&& [row] : finite) CHECK(row.size() == 2);
  };
  CHECK_NOTHROW(run());
  x(1, 1) = __builtin_nanf("");
  CHECK(
      message_of(run) ==
      "locus: element 1 of component 0 of record 1 is NaN; drop the record, or map it to numbers");
  x(1, 1) = __builtin_inff();
  CHECK(message_of(run).find("is infinite") != std::string::npos);
  auto const look = [](auto v, std::string_view what) {
    auto const first = decltype(v)(1.f);
    auto set = data::range(3).map([=](std::int64_t i) { return i < 2 ? first : v; });
    CHECK(message_of([&] {
            for (auto&& [of] : set.require_finite()) CHECK(float(of) == 1);
          }) == "locus: element 0 of component 0 of record 2 is " + std::string(what) +
                    "; drop the record, or map it to numbers");
  };
  look(half(__builtin_nanf("")), "NaN");
  look(half(-__builtin_inff()), "infinite");
  look(bfloat16(__builtin_nanf("")), "NaN");
  look(bfloat16(__builtin_inff()), "infinite");
}

TEST_CASE("examples of different extents make no batch") {
  auto ragged = data::range(4).map([](std::int64_t i) {
    Tensor<float, Dextents<1>> t(i < 3 ? 2 : 5);
    for (std::int64_t k = 0; k < t.size(); ++k) t.data()[k] = float(i);
    return t;
  });
  auto fine = ragged.take(3).batch(2);
  double total = 0;
  for (auto&& [x] : fine) {
    CHECK(x.extent(1) == 2);
    total += double(fetch(sum(x)));
  }
  CHECK(total == 6);
  auto bad = ragged.batch(2);
  CHECK(message_of([&] {
          for (auto&& [x] : bad) CHECK(x.extent(1) == 2);
        }) ==
        "locus: component 0 of element 3 has extents [5], those before it in its batch have [2]; "
        "pad or cut them in a map() before batch()");
}

TEST_CASE("numbers that make no sense are refused") {
  auto const r = data::range(3);
  CHECK(message_of([&] { r.batch(0); }) == "locus: the batch size is 0; write a positive number");
  CHECK(message_of([&] { r.shuffle({.buffer = 0}); }) ==
        "locus: the buffer of shuffle is 0; write a positive number");
  CHECK(message_of([&] { r.prefetch(0); }) ==
        "locus: the number of elements to prefetch is 0; write 1 to 1048576");
  CHECK(message_of([&] { r.take(-1); }) ==
        "locus: the number of elements to take is -1; write 0 or more");
  CHECK(message_of([&] { r.map(slow_square{}, {.threads = -1}); }) ==
        "locus: the number of threads of map is -1; write 0 to 256");
  CHECK(message_of<configuration_error>([&] { r.repeat().shuffle(); }) ==
        "locus: shuffle reads all of a pass first, and this dataset has no end, as repeat() makes "
        "one; write shuffle().repeat(), or a buffer: shuffle({.buffer = 1024})");
  CHECK(message_of<configuration_error>([&] { r.repeat().cache(); }) ==
        "locus: cache keeps all of a pass, and this dataset has no end, as repeat() makes one; "
        "write cache().repeat()");
  auto some = r.repeat().shuffle({.buffer = 2}).take(4);
  CHECK(pass_of(some).size() == 4);
  auto never = data::range(0).repeat();
  CHECK(message_of([&] { pass_of(never); }) ==
        "locus: a dataset without elements is repeated for ever; look at what it reads");
}

TEST_CASE("numbers that nobody has memory for are refused by locus, or cost nothing") {
  constexpr std::int64_t huge = std::int64_t(1) << 62;
  auto const ten = data::range(10);
  CHECK(message_of<configuration_error>([&] { ten.prefetch(huge); }) ==
        "locus: the number of elements to prefetch is 4611686018427387904; write 1 to 1048576");
  CHECK(message_of<configuration_error>([&] { ten.prefetch((1 << 20) + 1); }) != nothing_thrown);
  auto many = ten.prefetch(1 << 20);
  CHECK(pass_of(many) == up_to(10));
  auto endless = ten.repeat().shuffle({.buffer = huge}).take(0);
  CHECK(pass_of(endless).empty());
  CHECK(ten.batch(INT64_MAX).size() == 1);
  CHECK(ten.repeat(huge).size() == data::infinite);
  auto one_batch = ten.batch(INT64_MAX);
  CHECK(pass_of(one_batch) == up_to(10));
  auto unknown_size = data::from_generator([] {
                        return [n = 0]() mutable { return std::optional<int>(n++); };
                      }).batch(huge);
  CHECK_THROWS_AS(pass_of(unknown_size), out_of_memory);
}

TEST_CASE("a program whose input is slow" * doctest::skip()) {
  char const* const trace = std::getenv("LOCUS_TEST_TRACE");
  if (trace) debugging::start_trace(trace);
  auto slow = data::range(6).map([](std::int64_t i) {
    sleep_ms(150);
    return i;
  });
  for (int pass = 0; pass < 2; ++pass)  // said once
    for (auto&& [x] : slow) sleep_ms(x < 6 ? 40 : 0);
  if (trace) debugging::stop_trace();
}
TEST_CASE("a program whose input is quick" * doctest::skip()) {
  for (auto&& [x] : data::range(12)) sleep_ms(x < 12 ? 100 : 0);
}
TEST_CASE("input that is the bottleneck is said once, with the share of time") {
  child::result slow, quick, quiet;
  std::thread one([&] { slow = child::run("a program whose input is slow"); });
  std::thread two([&] { quick = child::run("a program whose input is quick"); });
  char trace[] = "/tmp/locus_input_XXXXXX";
  close(mkstemp(trace));
  quiet = child::run("a program whose input is slow",
                     {"LOCUS_QUIET=1", std::string("LOCUS_TEST_TRACE=") + trace});
  one.join(), two.join();
  CHECK(slow.code == 0);
  CHECK(slow.count("locus: input is the bottleneck: the program waited for it during ") == 1);
  CHECK(slow.says("(6 elements); give map() more threads"));
  auto const at = slow.text.find("during ");
  REQUIRE(at != std::string::npos);
  int const percent = std::atoi(slow.text.c_str() + at + 7);
  CHECK(percent > 60);
  CHECK(percent < 95);
  CHECK_FALSE(quick.says("bottleneck"));
  CHECK_FALSE(quiet.says("bottleneck"));
  std::string events;
  if (std::FILE* const f = std::fopen(trace, "rb")) {
    for (int c; (c = std::fgetc(f)) != EOF;) events += char(c);
    std::fclose(f);
  }
  std::remove(trace);
  CHECK(events.find("\"waiting for input\"") != std::string::npos);
  CHECK(events.find("\"percent of time waiting for input\"") != std::string::npos);
}

TEST_CASE("a program that forks in the middle of a pass" * doctest::skip()) {
  auto set = data::range(1000).map(slow_square{}, {.threads = 2}).prefetch(2);
  auto at = set.begin();
  int const child = fork();
  if (child == 0) {
    bool refused = false;
    try {
      for (int k = 0; k < 100; ++k) ++at;
    } catch (configuration_error const& e) {
      refused = std::string(e.what()).find("begin the pass in the child") != std::string::npos;
    }
    auto again = data::range(100).map(slow_square{}, {.threads = 2});
    _exit(refused && pass_of(again).size() == 100 ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::int64_t n = 0;
  for (; at != std::default_sentinel; ++at) ++n;
  std::printf("child %d, parent read %d\n", WEXITSTATUS(status), int(n));
  std::exit(0);  // with threads of another pass at work
}
TEST_CASE("a child of a fork is told that it has no threads, and can begin anew") {
  auto const seen = child::run("a program that forks in the middle of a pass");
  CHECK(seen.code == 0);
  CHECK_FALSE(seen.hung);
  CHECK(seen.says("child 7, parent read 1000"));
}

TEST_CASE("a program that exits while threads read ahead" * doctest::skip()) {
  static auto set = data::range(1 << 30).map(slow_square{}, {.threads = 3}).prefetch(4);
  auto at = set.begin();
  CHECK(std::get<0>(*at) == 0);
  std::exit(5);
}
TEST_CASE("a program may exit while threads read ahead") {
  auto const seen = child::run("a program that exits while threads read ahead");
  CHECK(seen.code == 5);
  CHECK_FALSE(seen.hung);
}

}  // namespace dataset_test

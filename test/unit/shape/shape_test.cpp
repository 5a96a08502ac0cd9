// SPDX-License-Identifier: Apache-2.0
// The rules of shapes against a second way to say them, on random shapes with open extents.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <locus/shape/shape.hpp>

using namespace locus;

namespace {

using numbers = std::vector<std::int64_t>;

shape of(numbers const& n) {
  shape s{int(n.size()), {}};
  for (int i = 0; i < s.rank; ++i) s.extent[i] = n[std::size_t(i)];
  return s;
}
numbers in(shape const& s) {
  if (!fits(s)) return {-9};
  return numbers(s.extent, s.extent + s.rank);
}

static_assert(broadcast({2, {2, 3}}, {1, {3}}) == shape{2, {2, 3}});
static_assert(broadcast({2, {2, 1}}, {2, {1, 3}}) == shape{2, {2, 3}});
static_assert(!fits(broadcast({2, {2, 3}}, {1, {2}})));
static_assert(broadcast({1, {dyn}}, {1, {3}}) == shape{1, {3}});
static_assert(broadcast({1, {dyn}}, {1, {1}}) == shape{1, {dyn}});
static_assert(broadcast({1, {dyn}}, {1, {dyn}}) == shape{1, {dyn}});
static_assert(broadcast({}, {2, {2, 3}}) == shape{2, {2, 3}});
static_assert(broadcast({1, {0}}, {1, {1}}) == shape{1, {0}});  // nothing stretches to nothing
static_assert(!fits(broadcast({1, {0}}, {1, {2}})));
static_assert(!fits(broadcast(no_shape, {1, {2}})) && !fits(broadcast({1, {2}}, no_shape)));

static_assert(contract({2, {2, 3}}, {2, {3, 4}}) == shape{2, {2, 4}});
static_assert(contract({2, {2, dyn}}, {2, {3, 4}}) == shape{2, {2, 4}});
static_assert(!fits(contract({2, {2, 3}}, {2, {4, 3}})));
static_assert(!fits(contract({1, {3}}, {2, {3, 4}})) && !fits(contract(no_shape, {2, {3, 4}})));

static_assert(reduced({3, {2, 3, 4}}, 0b010, false) == shape{2, {2, 4}});
static_assert(reduced({3, {2, 3, 4}}, 0b101, true) == shape{3, {1, 3, 1}});
static_assert(reduced({2, {2, 3}}, all_axes(2), false) == shape{});
static_assert(!fits(reduced(no_shape, 1, false)));

static_assert(expanded({1, {5}}, 0) == shape{2, {1, 5}} &&
              expanded({1, {5}}, 1) == shape{2, {5, 1}});
static_assert(!fits(expanded({1, {5}}, 2)) && !fits(expanded({1, {5}}, -1)));
static_assert(!fits(expanded({8, {1, 1, 1, 1, 1, 1, 1, 1}}, 0)));

static_assert(reshaped({2, {6, 4}}, {2, {dyn, 8}}) == shape{2, {3, 8}});
static_assert(reshaped({2, {dyn, 4}}, {2, {dyn, 8}}) == shape{2, {dyn, 8}});
static_assert(!fits(reshaped({2, {6, 4}}, {2, {dyn, 5}})) && !fits(reshaped({1, {6}}, {1, {5}})));
static_assert(!fits(reshaped({1, {0}}, {2, {dyn, 0}})));  // any number would do: none is meant
static_assert(reshaped({1, {0}}, {2, {dyn, 5}}) == shape{2, {0, 5}});
static_assert(!fits(reshaped({1, {6}}, {2, {dyn, dyn}})));
static_assert(reshaped({1, {1}}, {}) == shape{} && reshaped({}, {2, {1, 1}}) == shape{2, {1, 1}});

static_assert(joined({2, {2, 3}}, {2, {5, 3}}, 0) == shape{2, {7, 3}});
static_assert(joined({2, {2, dyn}}, {2, {5, 3}}, 0) == shape{2, {7, 3}});
static_assert(joined({2, {dyn, 3}}, {2, {5, 3}}, 0) == shape{2, {dyn, 3}});
static_assert(!fits(joined({2, {2, 3}}, {2, {2, 4}}, 0)) &&
              !fits(joined({1, {2}}, {2, {2, 4}}, 0)));
static_assert(!fits(joined({1, {2}}, {1, {2}}, 1)) && !fits(joined({1, {2}}, {1, {2}}, -1)));

static_assert(shape{}.size() == 1 && shape{2, {0, 5}}.size() == 0 && shape{2, {3, 5}}.size() == 15);
static_assert(shape{2, {3, 5}}.is_static() && !shape{2, {3, dyn}}.is_static());
static_assert(shape{2, {3, 5}}.from_right(0) == 5 && shape{2, {3, 5}}.from_right(2) == 1);
static_assert(!(shape{1, {3}} == shape{2, {3, 1}}) && !(shape{1, {3}} == shape{1, {4}}));
static_assert(has_axis(0b100, 2) && !has_axis(0b100, 1) && all_axes(6) == 0b111111 &&
              all_axes(0) == 0);

constexpr std::int64_t two_to(int n) { return std::int64_t(1) << n; }
static_assert(countable({1, {two_to(60)}}, 4) && !countable({1, {two_to(61)}}, 4));
static_assert(!countable({2, {two_to(32), two_to(32)}}, 1) && countable({}, 8));
static_assert(countable({3, {two_to(40), two_to(40), 0}}, 8));  // nothing has no bytes

}  // namespace

TEST_CASE("broadcasting right aligned: what two shapes give, axis by axis") {
  std::mt19937 bits(1);
  std::int64_t const extents[] = {0, 1, 1, 2, 3, dyn};
  int fitting = 0;
  for (int n = 0; n < 20'000; ++n) {
    numbers a(bits() % 5), b(bits() % 5);
    for (auto& x : a) x = extents[bits() % 6];
    for (auto& x : b) x = extents[bits() % 6];
    numbers left = a, right = b, want;
    while (left.size() < right.size()) left.insert(left.begin(), 1);
    while (right.size() < left.size()) right.insert(right.begin(), 1);
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::int64_t const x = left[i], y = right[i];
      if (x == y)
        want.push_back(x);
      else if (x == 1)
        want.push_back(y);
      else if (y == 1)
        want.push_back(x);
      else if (x == dyn)
        want.push_back(y);  // if it is to fit at all
      else if (y == dyn)
        want.push_back(x);
      else {
        want = {-9};
        break;
      }
    }
    REQUIRE(in(broadcast(of(a), of(b))) == want);
    REQUIRE(broadcast(of(a), of(b)) == broadcast(of(b), of(a)));
    fitting += want != numbers{-9};
  }
  CHECK(fitting > 2'000);
}

TEST_CASE("an open extent promises nothing that the known one breaks") {
  // what a rule says with ? agrees with what it says once the number is there
  std::mt19937 bits(2);
  for (int n = 0; n < 20'000; ++n) {
    numbers a(1 + bits() % 3), b(1 + bits() % 3);
    for (auto& x : a) x = std::int64_t(bits() % 4);
    for (auto& x : b) x = std::int64_t(bits() % 4);
    numbers open_a = a, open_b = b;
    for (auto& x : open_a) x = bits() % 2 ? dyn : x;
    for (auto& x : open_b) x = bits() % 2 ? dyn : x;
    auto agree = [](shape const& open, shape const& known) {
      if (!fits(known)) return true;  // found when the plan is bound
      if (!fits(open) || open.rank != known.rank) return false;
      for (int i = 0; i < known.rank; ++i)
        if (open.extent[i] != dyn && open.extent[i] != known.extent[i]) return false;
      return true;
    };
    // an open extent that turns out to be 1 stretches: the static answer is the other's extent
    REQUIRE(agree(broadcast(of(open_a), of(open_b)), broadcast(of(a), of(b))));
    REQUIRE(agree(contract(of(open_a), of(open_b)), contract(of(a), of(b))));
    REQUIRE(agree(joined(of(open_a), of(open_b), 0), joined(of(a), of(b), 0)));
    REQUIRE(agree(expanded(of(open_a), 1), expanded(of(a), 1)));
    REQUIRE(agree(reshaped(of(open_a), of({dyn, 2})), reshaped(of(a), of({dyn, 2}))));
  }
}

TEST_CASE("axes go and stay as the set says, in every order") {
  std::mt19937 bits(3);
  for (int n = 0; n < 5'000; ++n) {
    numbers a(bits() % 7);
    for (auto& x : a) x = std::int64_t(bits() % 5) - 1;
    auto const axes = static_cast<axis_set>(bits() % 64);
    numbers dropped, kept;
    for (std::size_t i = 0; i < a.size(); ++i) {
      bool const out = (axes >> i & 1) != 0;
      if (!out) dropped.push_back(a[i]);
      kept.push_back(out ? 1 : a[i]);
    }
    REQUIRE(in(reduced(of(a), axes, false)) == dropped);
    REQUIRE(in(reduced(of(a), axes, true)) == kept);
    numbers order(a.size()), moved;
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::int64_t(i);
    std::shuffle(order.begin(), order.end(), bits);
    signed char given[max_rank]{};
    for (std::size_t i = 0; i < order.size(); ++i) {
      given[i] = static_cast<signed char>(order[i]);
      moved.push_back(a[std::size_t(order[i])]);
    }
    REQUIRE(in(permuted(of(a), given)) == moved);
    std::int64_t strides[max_rank];
    row_major(of(a), strides);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::int64_t behind = 1;
      for (std::size_t k = i + 1; k < a.size(); ++k) behind *= a[k];
      REQUIRE(strides[i] == behind);
    }
  }
}

TEST_CASE("a shape is written with ? for what is open") {
  auto text = [](shape const& s) {
    text_buffer<100> out;
    out << s;
    return std::string(out.view());
  };
  CHECK(text({}) == "[]");
  CHECK(text({2, {2, 3}}) == "[2,3]");
  CHECK(text({3, {dyn, 784, dyn}}) == "[?,784,?]");
}

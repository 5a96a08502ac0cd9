// SPDX-License-Identifier: Apache-2.0
// Extents in types, ranges of an axis, layouts.
#include <doctest/doctest.h>

#include <message_of.hpp>
#include <string>

#include <locus/shape/extents.hpp>
#include <locus/shape/layout.hpp>
#include <locus/shape/range.hpp>

using namespace locus;

namespace {

using E = Extents<dyn, 4, dyn>;
static_assert(E::rank() == 3 && E::rank_dynamic() == 2 && E::static_extent(1) == 4);
static_assert(E::pattern == shape{3, {dyn, 4, dyn}} && E().as_shape() == shape{3, {0, 4, 0}});
static_assert(E(2, 3).as_shape() == shape{3, {2, 4, 3}});     // one for each open one
static_assert(E(2, 4, 3).as_shape() == shape{3, {2, 4, 3}});  // or for all
static_assert(E(shape{3, {2, 4, 3}}) == E(2, 3) && !(E(2, 3) == E(3, 2)));
static_assert(E(5, 6).extent(0) == 5 && E(5, 6).extent(1) == 4 && E(5, 6).extent(2) == 6);
static_assert(std::is_same_v<Dextents<2>, Extents<dyn, dyn>> &&
              std::is_same_v<dextents<0>, Extents<>>);
static_assert(Extents<>::rank() == 0 && Extents<>().as_shape().size() == 1);
static_assert(!std::is_constructible_v<E, int> && !std::is_constructible_v<E, int, int, int, int>);
static_assert(!std::is_constructible_v<E, double, double>);
struct has {
  static constexpr shape value{2, {7, dyn}};
};
static_assert(std::is_same_v<extents_of_shape_t<has>, Extents<7, dyn>>);

// ---- ranges ----
static_assert(range{}.whole() && range{0, range::to_end}.whole() && !range{0, 5}.whole());
static_assert(range{2, 5}.length(10) == 3 && range{2, -2}.length(10) == 6);
static_assert(range{-3, range::to_end}.length(10) == 3 && range{-3, -1}.length(10) == 2);
static_assert(all_of.length(10) == 10 && all_of.length(0) == 0 && range{3, 3}.length(10) == 0);
static_assert(range{5, 3}.length(10) < 0 && range{0, 11}.length(10) < 0);
static_assert(range{-11, 5}.length(10) < 0 && range{11, range::to_end}.length(10) < 0);
static_assert(range{0, -11}.length(10) < 0 && range{10, range::to_end}.length(10) == 0);

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (shape_error const& e) {
    return e.what();
  }
  return "accepted";
}

/// a mapping as std::mdspan has them
struct mapping {
  std::int64_t strides[2];
  bool strided;
  bool is_strided() const { return strided; }
  std::int64_t stride(std::size_t a) const { return strides[a]; }
};

}  // namespace

static_assert(E(5, 6).extent(-1) == 6 && E(5, 6).extent(-3) == 5);
TEST_CASE(
    "an axis counts from the end where it is negative, and one that is not there is refused") {
  for (int const axis : {3, 9, -4})
    CHECK(
        message_of([&] { (void)E(5, 6).extent(axis); }) ==
        "locus: extent(" + std::to_string(axis) +
            ") of extents [5,4,6], which have no such axis; -1 is the last one, -2 the one before");
}
TEST_CASE("extents that do not fit their type are refused with both") {
  CHECK(refusal([] { E(2, 5, 3); }) ==
        "locus: extents [2,5,?] do not fit [?,4,?]; give one number of at least 0 for each open "
        "extent");
  CHECK(refusal([] { E(-2, 3); }).find("[-2,4,?] do not fit") != std::string::npos);
  CHECK(refusal([] { E(shape{2, {2, 4}}); }) ==
        "locus: extents [2,4] do not fit [?,4,?]; give one number of at least 0 for each open "
        "extent");
  CHECK(refusal([] { E(shape{3, {2, 4, dyn}}); }) != "accepted");
  CHECK(refusal([] { Extents<2, 3>(2, 4); }) != "accepted");
  CHECK(refusal([] { E(0, 0); }) == "accepted");
}

TEST_CASE("a range counts from both ends, as in Python") {
  for (std::int64_t n = 0; n < 8; ++n)
    for (std::int64_t b = -9; b <= 9; ++b)
      for (std::int64_t e = -9; e <= 9; ++e) {
        std::int64_t const from = b < 0 ? b + n : b, to = e < 0 ? e + n : e;
        bool const inside = 0 <= from && from <= to && to <= n;
        REQUIRE(range{b, e}.length(n) == (inside ? to - from : -1));
      }
}

TEST_CASE("layouts say the strides of elements") {
  shape const s{3, {2, 3, 4}};
  std::int64_t out[max_rank];
  internal::strides_of(layout_right{}, s, out);
  CHECK((out[0] == 12 && out[1] == 4 && out[2] == 1));
  internal::strides_of(layout_left{}, s, out);
  CHECK((out[0] == 1 && out[1] == 2 && out[2] == 6));
  internal::strides_of(layout_stride{{50, 7, 2}}, s, out);
  CHECK((out[0] == 50 && out[1] == 7 && out[2] == 2));
  internal::strides_of(mapping{{9, 3}, true}, shape{2, {2, 3}}, out);
  CHECK((out[0] == 9 && out[1] == 3));
  CHECK(refusal([&] { internal::strides_of(mapping{{9, 3}, false}, shape{2, {2, 3}}, out); }) ==
        "locus: a view needs a layout with strides; copy the elements into a Tensor first");
}

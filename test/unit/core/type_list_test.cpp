// SPDX-License-Identifier: Apache-2.0
// Lists of types, packs that a kernel can hold.
#include <doctest/doctest.h>

#include <locus/core/pack.hpp>
#include <locus/core/type_list.hpp>

using namespace locus;

namespace {
using list = type_list<int, float, int, void>;
static_assert(list::size == 4 && type_list<>::size == 0);
static_assert(std::is_same_v<at_t<0, list>, int> && std::is_same_v<at_t<1, list>, float>);
static_assert(std::is_same_v<at_t<2, list>, int> && std::is_same_v<at_t<3, list>, void>);
static_assert(index_in<int>(list{}) == 0 && index_in<void>(list{}) == 3);
static_assert(index_in<char>(list{}) == 4 && index_in<char>(type_list<>{}) == 0);
static_assert(contains_v<float, list> && !contains_v<char, list> && !contains_v<int, type_list<>>);
static_assert(std::is_same_v<concatenate_t<>, type_list<>>);
static_assert(std::is_same_v<concatenate_t<type_list<int>, type_list<>, type_list<int, char>>,
                             type_list<int, int, char>>);
static_assert(std::is_same_v<union_t<>, type_list<>>);
static_assert(std::is_same_v<union_t<type_list<int>, type_list<char, int>, type_list<float, char>>,
                             type_list<int, char, float>>);  // in order of first appearance
static_assert(std::is_same_v<union_t<type_list<>, type_list<int, int>>, type_list<int>>);

using three = pack<int, double, char>;
static_assert(std::is_trivially_copyable_v<three> && std::is_aggregate_v<three>);
static_assert(std::is_empty_v<pack<>>);
constexpr three p = make_pack(1, 2.5, 'c');
static_assert(get<0>(p) == 1 && get<1>(p) == 2.5 && get<2>(p) == 'c');
static_assert(std::is_same_v<decltype(get<1>(p)), double const&>);
constexpr int sum_of_indices() {
  int sum = 0;
  for_each_index<5>([&](auto k) { sum = 10 * sum + decltype(k)::value; });
  return sum;
}
static_assert(sum_of_indices() == 1234);
static_assert([] {
  int calls = 0;
  for_each_index<0>([&](auto) { ++calls; });
  return calls == 0;
}());
}  // namespace

TEST_CASE("a pack holds several values of one type, and they can be written") {
  pack<int, int, int> q{{1}, {2}, {3}};
  get<1>(q) = 20;
  CHECK(get<0>(q) + get<1>(q) + get<2>(q) == 24);
}

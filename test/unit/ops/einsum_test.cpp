// SPDX-License-Identifier: Apache-2.0
// einsum beside nested loops over all letters: orders, batches, products, outer products, sums; extents 0 and 1;
// pieces, gradients, kernels that the plan has.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <map>
#include <string>

#include <locus/ops/einsum.hpp>
#include <replicas.hpp>

#include "message_of.hpp"
#include "unit/algorithms/rows.hpp"

namespace einsum_test {

using namespace locus;
using rows::values_in;

namespace {

using sizes = std::map<char, std::int64_t>;

std::int64_t place_in(std::string const& letters, sizes const& extents, sizes const& index) {
  std::int64_t at = 0;
  for (char const l : letters) at = at * extents.at(l) + index.at(l);
  return at;
}
/// the sum of a b over all letters that `out` lacks
std::vector<double> by_loops(std::string const& of_a, std::vector<double> const& a,
                             std::string const& of_b, std::vector<double> const& b,
                             std::string const& out, sizes const& extents) {
  std::int64_t all = 1, results = 1;
  for (auto const& [letter, n] : extents) all *= n;
  for (char const l : out) results *= extents.at(l);
  std::vector<double> r(std::size_t(results), 0);
  for (std::int64_t i = 0; i < all; ++i) {
    sizes index;
    std::int64_t left = i;
    for (auto const& [letter, n] : extents) index[letter] = left % n, left /= n;
    r[std::size_t(place_in(out, extents, index))] +=
        a[std::size_t(place_in(of_a, extents, index))] *
        (of_b == "-" ? 1 : b[std::size_t(place_in(of_b, extents, index))]);
  }
  return r;
}
template <int Rank>
Dextents<Rank> extents_of(std::string const& letters, sizes const& extents) {
  shape s{Rank, {}};
  for (int i = 0; i < Rank; ++i) s.extent[i] = extents.at(letters[std::size_t(i)]);
  return Dextents<Rank>(s);
}
constexpr std::size_t find(std::string_view text, char c) { return find_char(text, c); }

template <class T, class E>
Tensor<T, E> whole_numbers(E const& extents, unsigned seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = T(int(r.value<double>(-4, 5)));
  return x;
}

/// einsum of two random tensors whose letters have a few elements: whole numbers, so that each sum
/// is exact
template <fixed_string Text, class T, class Where>
void check_with(std::int64_t shrink) {
  constexpr std::string_view text = Text.view();
  constexpr std::size_t comma = find(text, ','), arrow = find(text, '-');
  std::string const of_a(text.substr(0, comma)), of_b(text.substr(comma + 1, arrow - comma - 1)),
      out(text.substr(arrow + 2));
  constexpr int rank_a = int(comma), rank_b = int(arrow - comma - 1);
  sizes extents;
  std::int64_t n = 2;
  for (char const l : of_a + of_b)
    if (!extents.count(l)) extents[l] = n++;
  if (shrink >= 0) extents[of_a[0]] = shrink;
  auto const a = whole_numbers<T>(extents_of<rank_a>(of_a, extents), 3);
  auto const b = whole_numbers<T>(extents_of<rank_b>(of_b, extents), 4);
  Tensor<T, Dextents<rank_a>, Where> const x(a);
  Tensor<T, Dextents<rank_b>, Where> const y(b);
  INFO(std::string(text), ", first extent ", extents[of_a[0]]);
  auto const r = eval(einsum<Text>(x, y));
  REQUIRE(r.extents().rank() == int(out.size()));
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(r.extent(int(i)) == extents[out[i]]);
  CHECK(values_in(r) == by_loops(of_a, values_in(a), of_b, values_in(b), out, extents));
}
template <fixed_string Text, class T = float, class Where = CpuDevice>
void check() {
  for (std::int64_t const first : {-1, 0, 1, 37}) check_with<Text, T, Where>(first);
}
template <class T, class Where>
void check_rules() {
  check<"ij,jk->ik", T, Where>();  // products, in each order
  check<"ij,jk->ki", T, Where>();
  check<"ij,kj->ik", T, Where>();
  check<"ji,jk->ik", T, Where>();
  check<"bij,bjk->bik", T, Where>();
  check<"bij,bkj->bki", T, Where>();
  check<"ij,j->i", T, Where>();  // one side is a vector
  check<"i,ij->j", T, Where>();
  check<"ij,ij->i", T, Where>();  // one pass
  check<"ij,ji->", T, Where>();
  check<"i,i->", T, Where>();
  check<"ij,ij->ji", T, Where>();
  check<"i,j->ji", T, Where>();
}
template <class Where>
void check_wide_rules() {
  check<"ijk,jkl->il", float, Where>();  // axes that are merged
  check<"ijk,kjl->li", float, Where>();
  check<"abc,dc->adb", float, Where>();
  check<"bhqd,bhkd->bhqk", float, Where>();
  check<"bqhd,bkhd->bhqk", float, Where>();
  check<"abij,bajk->kiab", float, Where>();
  check<"ij,jk->k", float, Where>();  // a letter of one operand alone
  check<"ijk,jl->l", float, Where>();
  check<"ij,k->ikj", float, Where>();
  check<"bi,bij->bj", float, Where>();
  check<"ij,jk->", float, Where>();
}

}  // namespace

TEST_CASE("einsum of two operands is the sum over the letters that the result lacks") {
  on_few_backends([] {
    check_rules<float, CpuDevice>();
    check_rules<float, GpuDevice<0>>();
    check_wide_rules<CpuDevice>();
    check_wide_rules<GpuDevice<0>>();
  });
  check_rules<double, CpuDevice>();
  check_rules<std::int32_t, CpuDevice>();
}

TEST_CASE("einsum of one operand: other orders, and sums") {
  auto const a = whole_numbers<double>(dextents<3>{3, 4, 5}, 7);
  sizes const extents{{'i', 3}, {'j', 4}, {'k', 5}};
  auto const wanted = [&](std::string const& out) {
    return by_loops("ijk", values_in(a), "-", {}, out, extents);
  };
  CHECK(values_in(eval(einsum<"ijk->kij">(a))) == wanted("kij"));
  CHECK(values_in(eval(einsum<"ijk->ki">(a))) == wanted("ki"));
  CHECK(values_in(eval(einsum<"ijk->">(a))) == wanted(""));
  CHECK(values_in(eval(einsum<"ijk->ijk">(a * 1.))) == values_in(a));
}

TEST_CASE("einsum has the kernels of what it is written as; static extents stay static") {
  using A = Tensor<float, Extents<3, 4>>;
  using B = Tensor<float, Extents<4, 5>>;
  using C = Tensor<float, Extents<2, 3, 4>>;
  using Product = decltype(einsum<"ij,jk->ik">(std::declval<A&>(), std::declval<B&>()));
  static_assert(std::is_same_v<Product, decltype(matmul(std::declval<A&>(), std::declval<B&>()))>);
  using Merged = decltype(einsum<"ijk,ikl->jl">(std::declval<C&>(),
                                                std::declval<Tensor<float, Extents<2, 4, 6>>&>()));
  static_assert(Merged::pattern == shape{2, {3, 6}});
  // a * b and its sum are one kernel
  using Trace = decltype(einsum<"ij,ji->">(std::declval<A&>(),
                                           std::declval<Tensor<float, Extents<4, 3>>&>()));
  static_assert(plan_of<Trace>.launches() == 1);
  using Outer = decltype(einsum<"i,j->ij">(std::declval<Tensor<float, Extents<3>>&>(),
                                           std::declval<Tensor<float, Extents<4>>&>()));
  static_assert(plan_of<Outer>.launches() == 1 && Outer::pattern == shape{2, {3, 4}});
}

TEST_CASE("einsum of pieces and of mirrored tensors") {
  on_few_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    auto const a = whole_numbers<float>(dextents<2>{7, 5}, 1);
    auto const b = whole_numbers<float>(dextents<2>{5, 3}, 2);
    auto const wanted = values_in(eval(einsum<"ij,jk->ik">(a, b)));
    auto const total = values_in(eval(einsum<"ij,jk->k">(a, b)));
    Tensor<float, Dextents<2>, replicas::cut<2, 0>> const pieces(a);
    Tensor<float, Dextents<2>, replicas::mirrored<2>> const copies(a), others(b);
    CHECK(values_in(eval(einsum<"ij,jk->ik">(pieces, others))) == wanted);
    CHECK(values_in(eval(einsum<"ij,jk->ik">(copies, others))) == wanted);
    CHECK(values_in(eval(einsum<"ij,jk->k">(pieces, others))) == total);
  });
}

TEST_CASE("gradients of einsum") {
  auto x = rows::random<double>(Dextents<3>(2, 3, 4), 5);
  auto const y = rows::random<double>(Dextents<3>(4, 3, 2), 6);
  auto const v = rows::random<double>(Dextents<1>(4), 7);
  auto const e = named<"x">(x);
  rows::check_gradient(sum(square(einsum<"ijk,kjl->il">(e, y))) + einsum<"ijk,kji->">(e, y) +
                           sum(square(einsum<"ijk,k->ji">(e, v))) +
                           sum(square(einsum<"ijk->kj">(e))),
                       x, e);
}

TEST_CASE("extents that differ are refused by their letter") {
  Tensor<float, Dextents<2>> const a(2, 3), b(4, 5), flat(2, 1);
  CHECK(
      message_of<shape_error>([&] { (void)einsum<"ij,jk->ik">(a, b); }) ==
      "locus: axis j of einsum ij,jk->ik has 3 elements in the first operand and 4 in the second; "
      "they must be equal");
  CHECK_THROWS_AS((void)einsum<"ij,ij->ij">(a, flat), shape_error);  // 1 does not stretch
}

}  // namespace einsum_test

// SPDX-License-Identifier: Apache-2.0
// take beside a plain loop: axes, ranks of indices, types, open and static extents, pieces along the
// axis and along others, the gradient, indices without a row.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>

#include <locus/algorithms/take.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace take_test {

using namespace locus;
using locus::half;
using rows::taken;
using rows::values_in;

namespace {

template <class Where, class T, class Index>
void check_types() {
  for (std::int64_t const n : {0, 1, 33, 3000})
    for (std::int64_t const width : {1, 3, 4, 130}) {
      CAPTURE(n);
      CAPTURE(width);
      auto const x = rows::random<T>(Dextents<2>(17, width), 1, 0, 100);
      auto const i = rows::random<Index>(Dextents<1>(n), 2, 0, 16);
      Tensor<T, Dextents<2>, Where> const there(x);
      Tensor<Index, Dextents<1>, Where> const at(i);
      CHECK(values_in(eval(take(there, at))) == taken(x, 0, i));
      auto const turned = rows::random<T>(Dextents<2>(5, 17), 3, 0, 100);
      Tensor<T, Dextents<2>, Where> const columns(turned);
      CHECK(values_in(eval(take<1>(columns, at))) == taken(turned, 1, i));
    }
}

/// x is whole, in pieces along axis 0, 1 and 2; i is whole or in pieces
template <int R>
void check_pieces() {
  using M = replicas::mirrored<R>;
  CAPTURE(R);
  for (std::int64_t const n : {10, 7, 2, 1, 0}) {
    CAPTURE(n);
    auto const x = rows::random<float>(Dextents<3>(6, 8, 3), 4);
    auto const i = rows::random<int>(Dextents<1>(n), 5, 0, 5);
    auto const flat = taken(x, 0, i), inner = taken(x, 1, i),
               last = taken(x, 2, rows::random<int>(Dextents<1>(n), 6, 0, 2));
    auto const j = rows::random<int>(Dextents<1>(n), 6, 0, 2);
    Tensor<int, Dextents<1>, M> const whole(i), whole_j(j);
    Tensor<int, Dextents<1>, replicas::cut<R>> const cut(i), cut_j(j);
    auto const check = [&]<class Where>(Tensor<float, Dextents<3>, Where> const& there) {
      CHECK(values_in(take(there, whole)) == flat);
      CHECK(values_in(take(there, cut)) == flat);
      CHECK(values_in(take<1>(there, whole)) == inner);
      CHECK(values_in(take<1>(there, cut)) == inner);
      CHECK(values_in(take<-1>(there, whole_j)) == last);
      CHECK(values_in(take<-1>(there, cut_j)) == last);
      if constexpr (Where::value.axis <= 0) {
        Tensor<float, Dextents<3>, replicas::cut<R>> pieces(Dextents<3>(n, 8, 3));
        pieces = take(there, cut);
        CHECK(values_in(pieces) == flat);
      }
      Tensor<float, Dextents<3>, M> all(Dextents<3>(n, 8, 3));
      all = 2.f * take(there, cut);
      for (auto const& part : replicas::parts_of(all)) {
        std::vector<double> want = flat;
        for (double& w : want) w *= 2;
        CHECK(std::vector<double>(part.begin(), part.end()) == want);
      }
    };
    rows::in_each_way<R>(x, check);
  }
}

}  // namespace

TEST_CASE("take is the plain loop, for each type of elements and indices") {
  on_few_backends([](backends::machine const& m) {
    check_types<CpuDevice, float, int>();
    check_types<CpuDevice, double, std::int64_t>();
    check_types<CpuDevice, half, int>();
    check_types<CpuDevice, bfloat16, std::int64_t>();
    check_types<CpuDevice, std::int64_t, int>();
    check_types<CpuDevice, int, int>();
    check_types<CpuDevice, bool, int>();
    if (!m.has_gpu()) return;
    check_types<GpuDevice<0>, float, int>();
    check_types<GpuDevice<0>, double, std::int64_t>();
    check_types<GpuDevice<1>, half, int>();
    check_types<GpuDevice<0>, bool, int>();
  });
}

TEST_CASE("indices of take have any rank, and static extents stay static") {
  auto const x = rows::random<double>(Extents<3, 4, 5>{}, 7);
  auto const i = rows::random<int>(Extents<2, 3>{}, 8, 0, 3);
  auto const y = eval(take<1>(x, i));
  static_assert(std::is_same_v<decltype(y)::extents_type, Extents<3, 2, 3, 5>>);
  CHECK(values_in(y) == taken(x, 1, i));
  Tensor<int, Extents<>> const one{2};
  auto const row = eval(take(x, one));
  static_assert(std::is_same_v<decltype(row)::extents_type, Extents<4, 5>>);
  CHECK(values_in(row) == taken(x, 0, one));
  CHECK(values_in(eval(take<1>(x, reshape<6>(i)) + 1.)) ==
        values_in(eval(reshape<3, 6, 5>(y) + 1.)));
  // operands with gaps, computed indices
  CHECK(values_in(eval(take(transpose<1, 0, 2>(x), i))) ==
        taken(eval(transpose<1, 0, 2>(x) + 0.), 0, i));
  CHECK(values_in(eval(take<1>(x, 3 - i))) == taken(x, 1, eval(3 - i)));
  static_assert(plan_of<decltype(take<1>(x, i))>.launches() == 1);
}

TEST_CASE("take of pieces: each way in which operands lie") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_pieces<1>();
    check_pieces<2>();
    check_pieces<3>();
  });
}

TEST_CASE("the traffic of take of pieces is constant") {
  using M = replicas::mirrored<3>;
  using Whole = Tensor<float, Extents<6, 9>, M>;
  using Rows = Tensor<float, Extents<6, 9>, replicas::cut<3, 0>>;
  using Columns = Tensor<float, Extents<6, 9>, replicas::cut<3, 1>>;
  using I = Tensor<int, Extents<12>, M>;
  using Cut = Tensor<int, Extents<12>, replicas::cut<3>>;
  using A = decltype(take(std::declval<Whole&>(), std::declval<Cut&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0);
  using B = decltype(take(std::declval<Rows&>(), std::declval<I&>()));
  static_assert(plan_of<B, M>.all_reduces() == 1 && plan_of<B, M>.copies() == 0 &&
                plan_of<B, M>.bytes_reduced() == 4 * 12 * 9);
  using C = decltype(take(std::declval<Columns&>(), std::declval<I&>()));
  static_assert(plan_of<C>.result() == replicas::cut<3, 1>::value && plan_of<C>.copies() == 0 &&
                plan_of<C>.all_reduces() == 0);
  using D = decltype(take<1>(std::declval<Rows&>(), std::declval<I&>()));
  static_assert(plan_of<D>.result() == replicas::cut<3, 0>::value && plan_of<D>.copies() == 0);
}

TEST_CASE("the gradient of take adds the rows that came from one row") {
  on_few_backends([&] {
    auto x = rows::random<double>(Extents<4, 3>{}, 9);
    auto y = rows::random<double>(Dextents<3>(2, 5, 2), 15);
    Tensor<int, Extents<6>> const i{0, 3, 3, 1, 3, 0};
    Tensor<std::int64_t, Extents<2, 2>> const j{{4, 4}, {0, 2}};
    auto const weights = rows::random<double>(Extents<6, 3>{}, 10);
    auto const p = named<"x">(x);
    rows::check_gradient(sum(weights * square(take(p, i))), x, p);
    rows::check_gradient(sum(take<-1>(p, Tensor<int, Extents<2>>{2, 2})), x, p);
    auto const q = named<"y">(y);
    rows::check_gradient(sum(sin(take<1>(q, j))), y, q);
  });
}

TEST_CASE("the gradient of take over pieces") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    using M = replicas::mirrored<2>;
    auto const x = rows::random<double>(Dextents<2>(7, 3), 11);
    auto const i = rows::random<int>(Dextents<1>(9), 12, 0, 6);
    auto const w = rows::random<double>(Dextents<2>(9, 3), 13);
    auto const want = rows::folded(w, 0, 1, i, 7, 0, [](double a, double b) { return a + b; });
    auto const near = [&](auto const& found) {
      auto const got = values_in(found);
      REQUIRE(got.size() == want.size());
      for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(want[k]));
    };
    Tensor<double, Dextents<2>, M> const whole(x), weights(w);
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x), cut_weights(w);
    Tensor<int, Dextents<1>, M> const at(i);
    Tensor<int, Dextents<1>, replicas::cut<2>> const cut_at(i);
    auto const p = named<"whole">(whole);
    auto const q = named<"cut">(cut);
    near(grad(sum(weights * take(p, at)), p));
    near(grad(sum(weights * take(q, at)), q));
    near(grad(sum(cut_weights * take(p, cut_at)), p));
  });
}

TEST_CASE("an index without a row: the host names index, place and extent") {
  locus::testing::simulated_gpus const gpus{2};
  auto const x = rows::random<float>(Dextents<2>(10, 3), 14);
  Tensor<int, Dextents<1>> i(5);
  i = zeros<int>(Dextents<1>(5));
  i.data()[3] = 12;
  CHECK(message_of<shape_error>([&] { (void)fetch(take(x, i)); }) ==
        "locus: take reads row 12 of 10 along axis 0 (element 3 of its indices); indices are 0 to "
        "9");
  i.data()[3] = -1;
  CHECK(message_of<shape_error>([&] { (void)fetch(take<1>(x, i)); }) ==
        "locus: take reads row -1 of 3 along axis 1 (element 3 of its indices); indices are 0 to "
        "2");
  Tensor<float, Dextents<2>> const none(0, 3);
  CHECK(
      message_of<shape_error>([&] { (void)fetch(take(none, i)); }) ==
      "locus: take reads row 0 of 0 along axis 0 (element 0 of its indices); an empty axis has no "
      "rows: give it an empty list of indices");
  CHECK(eval(take(none, Tensor<int, Dextents<1>>(0))).size() == 0);

  using M = replicas::mirrored<2>;
  Tensor<float, Dextents<2>, replicas::cut<2>> const cut(x);
  Tensor<int, Dextents<1>, M> const at(i);
  CHECK(message_of<shape_error>([&] { (void)fetch(take(cut, at)); }) ==
        "locus: take reads row -1 of 10 along axis 0 (element 3 of its indices); indices are 0 to "
        "9");
  Tensor<float, Dextents<2>, M> const whole(x);
  Tensor<int, Dextents<1>, replicas::cut<2>> const cut_at(i);
  CHECK(message_of<shape_error>([&] { (void)fetch(take(whole, cut_at)); }) ==
        "locus: take reads row -1 of 10 along axis 0 (element 0 of its indices on replica 1); "
        "indices are 0 to 9");
  // x in pieces along another axis: each replica has all indices, and the first one reads first
  Tensor<float, Dextents<2>, replicas::cut<2, 1>> const columns(x);
  std::string const text = message_of<shape_error>([&] { (void)fetch(take(columns, i)); });
  bool const is_known =
      text ==
          "locus: take reads row -1 of 10 along axis 0 (element 3 of its indices on replica 0); "
          "indices are 0 to 9" ||
      text ==
          "locus: take reads row -1 of 10 along axis 0 (element 3 of its indices on replica 1); "
          "indices are 0 to 9";
  CHECK(is_known);
  Tensor<std::uint64_t, Dextents<1>> const large{0ull, ~0ull};
  CHECK(message_of<shape_error>([&] { (void)fetch(take(x, large)); }) ==
        "locus: take reads row 18446744073709551615 of 10 along axis 0 (element 1 of its indices); "
        "indices are 0 to 9");
}

#if !LOCUS_DEVICE_CODE  // over a recorder: the kernels of cards as host code
TEST_CASE("an index without a row: a card gives NaN, or 0, and reads nothing beyond") {
  locus::testing::recorder const cards{{.cards = 2}};
  Tensor<int, Dextents<1>> i(4);
  i = zeros<int>(Dextents<1>(4));
  i.data()[1] = 3, i.data()[2] = -1;
  auto const check = [&](auto const& there, auto const& at) {
    auto const y = to<CpuDevice>(take(there, at));
    for (std::int64_t c = 0; c < 4; ++c) {
      CHECK(double(y(0, c)) == 7);
      CHECK(double(y(3, c)) == 7);
      if constexpr (is_floating_v<std::remove_cvref_t<decltype(y(0, 0))>>)
        CHECK((std::isnan(y(1, c)) && std::isnan(y(2, c))));
      else
        CHECK((y(1, c) == 0 && y(2, c) == 0));
    }
  };
  Tensor<int, Dextents<1>, GpuDevice<0>> const at(i);
  check(Tensor<float, Dextents<2>, GpuDevice<0>>(full<float>(Dextents<2>(3, 4), 7.f)), at);
  check(Tensor<int, Dextents<2>, GpuDevice<0>>(full<int>(Dextents<2>(3, 4), 7)), at);
  Tensor<int, Dextents<1>, replicas::mirrored<2>> const both(i);
  check(Tensor<float, Dextents<2>, replicas::cut<2>>(full<float>(Dextents<2>(3, 4), 7.f)), both);
}
#endif

}  // namespace take_test

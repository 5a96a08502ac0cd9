// SPDX-License-Identifier: Apache-2.0
// segment_sum, segment_max, segment_min and scatter_add beside a plain loop: axes, ranks of ids, types,
// numbers of segments in the type and of the run, pieces, gradients, ids without a segment.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <locus/algorithms/segment_sum.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace segments_test {

using namespace locus;
using locus::half;
using rows::folded;
using rows::values_in;

namespace {

double added(double a, double b) { return a + b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
template <class T>
constexpr double lowest = is_floating_v<T> ? -std::numeric_limits<double>::infinity()
                                           : double(std::numeric_limits<T>::lowest());
template <class T>
constexpr double highest = is_floating_v<T> ? std::numeric_limits<double>::infinity()
                                            : double(std::numeric_limits<T>::max());

/// whole numbers, whose sums every type holds
template <class T, class E>
Tensor<T, E> small(E const& extents, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = T(int(r.number(0, 1)));
  return x;
}

template <class Where, class T, class Id>
void check_types() {
  for (std::int64_t const n : {0, 1, 33, 200})
    for (std::int64_t const width : {1, 3, 130})
      for (std::int64_t const segments : {1, 7, 300}) {
        CAPTURE(n);
        CAPTURE(width);
        CAPTURE(segments);
        auto const x = small<T>(Dextents<2>(n, width), 1), y = small<T>(Dextents<2>(2, n), 2);
        auto const ids = rows::random<Id>(Dextents<1>(n), 3, 0, double(segments - 1));
        Tensor<T, Dextents<2>, Where> const there(x), columns(y);
        Tensor<Id, Dextents<1>, Where> const at(ids);
        CHECK(values_in(eval(segment_sum(there, at, segments))) ==
              folded(x, 0, 1, ids, segments, 0, added));
        CHECK(values_in(eval(segment_sum<1>(columns, at, segments))) ==
              folded(y, 1, 1, ids, segments, 0, added));
        if constexpr (!std::is_same_v<T, bool>) {
          CHECK(values_in(eval(segment_max(there, at, segments))) ==
                folded(x, 0, 1, ids, segments, lowest<T>, larger));
          CHECK(values_in(eval(segment_min<-1>(columns, at, segments))) ==
                folded(y, 1, 1, ids, segments, highest<T>, smaller));
        }
      }
}

template <int R>
void check_pieces() {
  using M = replicas::mirrored<R>;
  CAPTURE(R);
  for (std::int64_t const n : {10, 7, 2, 1, 0}) {
    CAPTURE(n);
    auto const x = rows::random<int>(Dextents<3>(n, 6, 3), 4);
    auto const ids = rows::random<int>(Dextents<1>(n), 5, 0, 4);
    auto const inner_ids = rows::random<int>(Dextents<1>(6), 6, 0, 4);
    auto const sums = folded(x, 0, 1, ids, 5, 0, added),
               most = folded(x, 0, 1, ids, 5, lowest<int>, larger),
               inner = folded(x, 1, 1, inner_ids, 5, 0, added);
    auto const check = [&]<class Where>(Tensor<int, Dextents<3>, Where> const& there) {
      auto const with = [&](auto const& at, auto const& inner_at) {
        CHECK(values_in(segment_sum<5>(there, at)) == sums);
        CHECK(values_in(segment_max<5>(there, at)) == most);
        CHECK(values_in(segment_sum<1>(there, inner_at, 5)) == inner);
      };
      with(Tensor<int, Dextents<1>, M>(ids), Tensor<int, Dextents<1>, M>(inner_ids));
      with(Tensor<int, Dextents<1>, replicas::cut<R>>(ids),
           Tensor<int, Dextents<1>, replicas::cut<R>>(inner_ids));
      Tensor<std::int64_t, Dextents<3>, M> all(Dextents<3>(5, 6, 3));
      if constexpr (Where::value.axis <= 0) {
        all = segment_sum<5>(there, Tensor<int, Dextents<1>, replicas::cut<R>>(ids));
        for (auto const& part : replicas::parts_of(all))
          CHECK(std::vector<double>(part.begin(), part.end()) == sums);
      }
    };
    rows::in_each_way<R>(x, check);
  }
}

}  // namespace

TEST_CASE("folds of segments are the plain loop, for each type of elements and ids") {
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

TEST_CASE("ids have any rank; segments of the type stay static; floats are added in double") {
  auto const x = rows::random<double>(Extents<3, 4, 2, 5>{}, 7);
  auto const ids = rows::random<int>(Extents<4, 2>{}, 8, 0, 5);
  auto const y = eval(segment_sum<6, 1>(x, ids));
  static_assert(std::is_same_v<decltype(y)::extents_type, Extents<3, 6, 5>>);
  CHECK(values_in(y) == folded(x, 1, 2, ids, 6, 0, added));
  CHECK(values_in(eval(2. * segment_sum<1>(x, ids, 6))) == values_in(eval(2. * y)));
  static_assert(plan_of<decltype(segment_sum<6, 1>(x, ids))>.launches() == 1);
  Tensor<float, Extents<3>> const large{1e8f, 1.f, -1e8f};
  CHECK(fetch(segment_sum<1>(large, Tensor<int, Extents<3>>{0, 0, 0}))(0) == 1);
  Tensor<float, Extents<4>> const some{1.f, NAN, 3.f, 2.f};
  auto const most = fetch(segment_max<3>(some, Tensor<int, Extents<4>>{0, 1, 0, 1}));
  CHECK(most(0) == 3);
  CHECK(std::isnan(most(1)));
  CHECK(most(2) == -INFINITY);
}

TEST_CASE("folds of segments over pieces: each way in which operands lie") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_pieces<1>();
    check_pieces<2>();
    check_pieces<3>();
  });
}

TEST_CASE("the traffic of folds of segments is constant") {
  using M = replicas::mirrored<3>;
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using Columns = Tensor<float, Extents<12, 9>, replicas::cut<3, 1>>;
  using Whole = Tensor<float, Extents<12, 9>, M>;
  using I = Tensor<int, Extents<12>, M>;
  using Cut = Tensor<int, Extents<12>, replicas::cut<3>>;
  using A = decltype(segment_sum<5>(std::declval<Rows&>(), std::declval<Cut&>()));
  static_assert(plan_of<A, M>.all_reduces() == 1 && plan_of<A, M>.copies() == 0 &&
                plan_of<A, M>.bytes_reduced() == 4 * 5 * 9);
  using B = decltype(segment_sum<5>(std::declval<Rows&>(), std::declval<I&>()));
  static_assert(plan_of<B, M>.all_reduces() == 1 && plan_of<B, M>.copies() == 0);
  using C = decltype(segment_sum<5>(std::declval<Whole&>(), std::declval<Cut&>()));
  static_assert(plan_of<C, M>.all_reduces() == 1 && plan_of<C, M>.copies() == 0);
  using D = decltype(segment_max<5>(std::declval<Columns&>(), std::declval<I&>()));
  static_assert(plan_of<D>.result() == replicas::cut<3, 1>::value && plan_of<D>.copies() == 0 &&
                plan_of<D>.all_reduces() == 0);
  // scaling waits for the sum
  using E = decltype(2.f * std::declval<A>());
  static_assert(plan_of<E, M>.all_reduces() == 1);
}

TEST_CASE("scatter_add adds rows to those of its first operand") {
  on_few_backends([] {
    auto const y = rows::random<double>(Dextents<2>(4, 3), 9);
    auto const v = rows::random<double>(Dextents<2>(6, 3), 10);
    Tensor<int, Extents<6>> const i{0, 3, 3, 1, 3, 0};
    auto want = folded(v, 0, 1, i, 4, 0, added);
    for (std::size_t k = 0; k < want.size(); ++k) want[k] += y.data()[k];
    CHECK(values_in(eval(scatter_add(y, i, v))) == want);
    Tensor<int, Extents<2, 3>> const whole{{1, 2, 3}, {4, 5, 6}};
    auto const counted =
        eval(scatter_add<1>(whole, Tensor<int, Extents<2>>{2, 2},
                            Tensor<bool, Extents<2, 2>>{{true, true}, {false, true}}));
    static_assert(std::is_same_v<decltype(counted)::value_type, int>);
    CHECK(values_in(counted) == std::vector<double>{1, 2, 5, 4, 5, 7});
  });
}

TEST_CASE("gradients of folds of segments and of scatter_add") {
  on_few_backends([] {
    auto x = rows::random<double>(Extents<6, 2>{}, 11);
    auto y = rows::random<double>(Dextents<3>(2, 5, 2), 12);
    Tensor<int, Extents<6>> const ids{0, 3, 3, 1, 3, 0};
    Tensor<std::int64_t, Extents<5>> const j{1, 0, 1, 3, 0};
    auto const p = named<"x">(x);
    auto const q = named<"y">(y);
    rows::check_gradient(sum(square(segment_sum<4>(p, ids))), x, p);
    rows::check_gradient(sum(sin(segment_sum<1>(q, j, 4))), y, q);
    // segment 2 has no row: its infinity is no part of these losses
    Tensor<double, Extents<4, 1>> const weights{{1.}, {2.}, {0.}, {3.}};
    rows::check_gradient(sum(weights * maximum(segment_max<4>(p, ids), -50.)), x, p);
    rows::check_gradient(sum(weights * minimum(segment_min<4>(p, ids), 50.)), x, p);
    rows::check_gradient(
        sum(square(scatter_add(p, Tensor<int, Extents<2>>{5, 5},
                               Tensor<double, Extents<2, 2>>{{1., 2.}, {3., 4.}}))),
        x, p);
    // equal extrema share the adjoint
    Tensor<double, Extents<3>> const same{2., 2., 1.};
    auto const r = named<"same">(same);
    CHECK(values_in(grad(sum(segment_max<1>(r, Tensor<int, Extents<3>>{0, 0, 0})), r)) ==
          std::vector<double>{.5, .5, 0});
  });
}

TEST_CASE("the gradient of segment_sum over pieces") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    using M = replicas::mirrored<2>;
    auto const x = rows::random<double>(Dextents<2>(7, 3), 13);
    auto const w = rows::random<double>(Dextents<2>(4, 3), 14);
    auto const ids = rows::random<int>(Dextents<1>(7), 15, 0, 3);
    auto const want = rows::taken(w, 0, ids);
    Tensor<double, Dextents<2>, M> const whole(x), weights(w);
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x);
    Tensor<int, Dextents<1>, M> const at(ids);
    Tensor<int, Dextents<1>, replicas::cut<2>> const cut_at(ids);
    auto const p = named<"whole">(whole);
    auto const q = named<"cut">(cut);
    CHECK(values_in(grad(sum(weights * segment_sum<4>(p, at)), p)) == want);
    CHECK(values_in(grad(sum(weights * segment_sum<4>(q, cut_at)), q)) == want);
  });
}

TEST_CASE("an id without a segment: the host names id, place and segments") {
  locus::testing::simulated_gpus const gpus{2};
  auto const x = rows::random<float>(Dextents<2>(5, 3), 16);
  Tensor<int, Dextents<1>> ids(5);
  ids = zeros<int>(Dextents<1>(5));
  ids.data()[3] = 12;
  CHECK(message_of<shape_error>([&] { (void)fetch(segment_sum<10>(x, ids)); }) ==
        "locus: segment_sum adds to segment 12 of 10 (element 3 of its ids); ids are 0 to 9");
  ids.data()[3] = -1;
  CHECK(message_of<shape_error>([&] { (void)fetch(segment_max(x, ids, 10)); }) ==
        "locus: segment_max adds to segment -1 of 10 (element 3 of its ids); ids are 0 to 9");
  CHECK(message_of<shape_error>([&] { (void)fetch(segment_sum(x, ids, 0)); }) ==
        "locus: segment_sum adds to segment 0 of 0 (element 0 of its ids); no id fits no segments");
  CHECK(message_of<shape_error>([&] { (void)segment_sum(x, ids, -3); }) ==
        "locus: segment_sum makes -3 segments; give it 0 or more");
  CHECK(message_of<shape_error>([&] {
          (void)fetch(segment_sum(x, Tensor<int, Dextents<1>>(4), 3));
        }) == "locus: the shapes of the operands of 'segment_sum' (step 2) do not fit: [5,3] and "
              "[4]; reshape or slice one of them");
  Tensor<float, Dextents<2>, replicas::cut<2>> const cut(x);
  Tensor<int, Dextents<1>, replicas::cut<2>> const at(ids);
  CHECK(message_of<shape_error>([&] { (void)fetch(segment_sum<10>(cut, at)); }) ==
        "locus: segment_sum adds to segment -1 of 10 (element 3 of its ids); ids are 0 to 9");
  // x in pieces along another axis: each replica has all ids
  Tensor<float, Dextents<2>, replicas::cut<2, 1>> const columns(x);
  CHECK(message_of<shape_error>([&] { (void)fetch(segment_sum<10>(columns, ids)); }) ==
        "locus: segment_sum adds to segment -1 of 10 (element 3 of its ids); ids are 0 to 9");
}

TEST_CASE("ids of two axes without a segment: rows and columns of pieces") {
  locus::testing::simulated_gpus const gpus{2};
  auto const x = rows::random<float>(Dextents<2>(4, 2), 18);
  Tensor<std::uint64_t, Dextents<2>> const ids{{0, 0}, {0, 0}, {0, 0}, {0, 1ull << 63}};
  auto const text = [](char const* place) {
    return std::string("locus: segment_sum adds to segment 9223372036854775808 of 3 (element ") +
           place + "); ids are 0 to 2";
  };
  auto const of = [](auto const& a, auto const& at) {
    return message_of<shape_error>([&] { (void)fetch(segment_sum<3>(a, at)); });
  };
  CHECK(of(x, ids) == text("7 of its ids"));
  using by_rows = replicas::cut<2>;
  using by_columns = replicas::cut<2, 1>;
  CHECK(of(Tensor<float, Dextents<2>, by_rows>(x),
           Tensor<std::uint64_t, Dextents<2>, by_rows>(ids)) == text("7 of its ids"));
  CHECK(of(Tensor<float, Dextents<2>, by_columns>(x),
           Tensor<std::uint64_t, Dextents<2>, by_columns>(ids)) ==
        text("3 of its ids on replica 1"));
}

#if !LOCUS_DEVICE_CODE  // over a recorder: the kernels of cards as host code
TEST_CASE("an id without a segment is found behind many rows, whatever bits are wrong") {
  std::int64_t const n = 70000;
  auto const check = [&]<class Id>(Id least) {
    Tensor<Id, Dextents<1>> ids(n);
    ids = zeros<Id>(Dextents<1>(n));
    auto const x = rows::random<float>(Dextents<1>(n), 17);
    CHECK_NOTHROW((void)fetch(segment_sum(x, ids, 100)));
    for (Id const wrong : {Id(100), std::numeric_limits<Id>::max(), Id(-1), least}) {
      ids.data()[69999] = wrong, ids.data()[66000] = Id(99);
      CHECK(message_of<shape_error>([&] { (void)fetch(segment_sum(x, ids, 100)); }) ==
            "locus: segment_sum adds to segment " + std::to_string(+wrong) +
                " of 100 (element 69999 of its ids); ids are 0 to 99");
    }
  };
  check(std::numeric_limits<std::int8_t>::min());
  check(std::numeric_limits<std::uint8_t>::max());
  check(std::numeric_limits<int>::min());
  check(std::numeric_limits<std::int64_t>::min());
  check(std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("an id without a segment: a card leaves the row out") {
  locus::testing::recorder const cards{{.cards = 1}};
  Tensor<int, Dextents<1>> ids(6);
  for (int k = 0; k < 6; ++k) ids.data()[k] = k % 2 ? k - 2 : 1;  // 1 -1 1 1 1 3
  Tensor<float, Dextents<1>, GpuDevice<0>> const x(full<float>(Dextents<1>(6), 7.f));
  Tensor<int, Dextents<1>, GpuDevice<0>> const at(ids);
  CHECK(values_in(segment_sum<2>(x, at)) == std::vector<double>{0, 28});
}
#endif

TEST_CASE("rows of several parts are added in one order on the host and on cards") {
  auto const check = [](backends::machine const& m, std::int64_t n) {
    std::int64_t const part = algorithms::segment_part(3);
    REQUIRE(n > 2 * part);
    Tensor<double, Dextents<1>> x(n);
    x = uniform<double>(x.extents(), seed{11}, -1., 1.);
    Tensor<std::int32_t, Dextents<1>> ids(n);
    for (std::int64_t j = 0; j < n; ++j) ids(j) = j < part ? 1 : int(j % 3);
    Tensor<double, Extents<3>> want{0., 0., 0.};
    for (std::int64_t first = 0; first < n; first += part) {
      double own[3]{};
      for (std::int64_t j = first; j < n && j < first + part; ++j) own[ids(j)] += x(j);
      for (int s = 0; s < 3; ++s) want(s) += own[s];
    }
    CHECK(equal(eval(on<CpuDevice>(segment_sum<3>(x, ids))), want));
    if (!m.has_gpu()) return;
    Tensor<double, Dextents<1>, GpuDevice<0>> const there(x);
    Tensor<std::int32_t, Dextents<1>, GpuDevice<0>> const ids_there(ids);
    CHECK(equal(fetch(segment_sum<3>(there, ids_there)), want));
  };
  on_few_backends([&](backends::machine const& m) {
    check(m, 150'001);
    if (m.how == backends::kind::recorded) check(m, 4'300'000);  // more parts than a thread folds
  });
}

}  // namespace segments_test

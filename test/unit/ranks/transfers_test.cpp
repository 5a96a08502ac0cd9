// SPDX-License-Identifier: Apache-2.0
// Plans over ranks: each transfer and each reduction gives on every rank what one process computes,
// for all element types, and moves the bytes that the plan counts.
#include <cmath>
#include <last_set.hpp>
#include <sstream>

#include <locus/algorithms/by_functor.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/top_k.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/complex.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace transfers_test {

using namespace rank_tests;

namespace {

static_assert(
    plan_of<decltype(sum(std::declval<Tensor<double, Dextents<1>, Sharded<0, Ranks<AllGpus>>>&>()))>.all_reduces() ==
    1);
static_assert(Mirrored<Ranks<AllGpus>>::value.is_open() &&
              Mirrored<Ranks<CpuDevice>>::value.is_open());
static_assert(!(Mirrored<Ranks<AllGpus>>::value == Mirrored<AllGpus>::value));

/// whole numbers whose sums are exact in T
template <class T>
Tensor<T, Dextents<2>> matrix(std::int64_t rows, std::int64_t columns, std::uint64_t with) {
  double const most = sizeof(T) == 2 ? 2. : 100.;
  return cast<T>(floor(most * uniform<double>(dextents<2>(rows, columns), seed{with})));
}

template <class T, class List>
void all_transfers(doubles& out) {
  using Rows = Tensor<T, Dextents<2>, Sharded<0, List>>;
  using Columns = Tensor<T, Dextents<2>, Sharded<1, List>>;
  using Copies = Tensor<T, Dextents<2>, Mirrored<List>>;
  Tensor<T, Dextents<2>> a = matrix<T>(11, 6, 1);
  if (ranks::rank() > 0) a = matrix<T>(11, 6, 9);  // rank 0 has the single value
  Rows x(a);
  Columns y(a);
  Copies m(a);
  put(out, x), put(out, y), put(out, m);
  put(out, transpose(y));
  Copies whole(x);  // an all-gather
  put(out, whole);
  Rows piece(m);  // a slice: no traffic
  put(out, piece);
  if constexpr (!std::is_same_v<T, bool>) {
    put(out, x + x), put(out, y + m), put(out, x + m);
    put(out, sum(x)), put(out, sum<0>(x)), put(out, sum<1>(x)), put(out, sum<0>(y));
    put(out, sum(x * m));
    if constexpr (!is_complex_v<T>) put(out, max(x)), put(out, min<1>(y)), put(out, argmax<0>(x));
    using total = typename decltype(sum<0>(x))::value_type;
    Tensor<total, Dextents<1>, Sharded<0, List>> s(sum<0>(x));  // a reduce-scatter
    put(out, s);
  } else {
    put(out, any(x)), put(out, all(x));
  }
}

// an element type of each size and kind; test/mpi has all
doubles of_types() {
  using List = Ranks<AllGpus>;
  doubles out;
  all_transfers<double, List>(out), all_transfers<half, List>(out);
  all_transfers<std::int8_t, List>(out), all_transfers<std::int64_t, List>(out);
  all_transfers<bool, List>(out), all_transfers<complex<float>, List>(out);
  return out;
}

template <class List>
doubles sums_of_random_numbers() {
  config::set_reduction_order(reduction_order::ranked);
  doubles out;
  Tensor<double, Dextents<2>, Sharded<0, List>> x(uniform<double>(dextents<2>(1000, 33), seed{1}));
  put(out, sum(x)), put(out, sum<0>(x)), put(out, sum(exp(x) * x)), put(out, prod(x + 0.5));
  Tensor<half, Dextents<1>, Sharded<0, List>> h(
      cast<half>(uniform<double>(dextents<1>(999), seed{2})));
  put(out, sum(h));
  Tensor<float, Dextents<2>, Sharded<0, List>> wide(
      uniform<float>(dextents<2>(9, 50'000), seed{3}, -1.f, 1.f));
  Tensor<float, Dextents<1>> const of_wide(sum<0>(wide));  // several segments of a chain
  put(out, of_wide);
  return out;
}

}  // namespace

TEST_CASE("transfers and reductions: every rank gets what one process has") {
  auto const one = testing::on_ranks(1, of_types);
  REQUIRE(one[0].error == "");
  REQUIRE(one[0].numbers.size() > 2000);
  for (bool const adds : {true, false})
    on_all_layouts(
        of_types, [&](auto const&, doubles const& got) { CHECK(got == one[0].numbers); }, adds);
}

TEST_CASE("ranked sums have the bits of one process with as many replicas") {
  for (std::vector<int> const& layout : layouts) {
    INFO(written(layout));
    int const replicas = replicas_of(layout);
    auto const one = testing::on_ranks(1, sums_of_random_numbers<AllGpus>, {.gpus = {replicas}});
    auto const ends = testing::on_ranks(int(layout.size()), sums_of_random_numbers<Ranks<AllGpus>>,
                                        {.gpus = layout});
    for (testing::rank_end const& e : ends) {
      REQUIRE(e.error == "");
      CHECK(e.numbers == one[0].numbers);
    }
  }
}

TEST_CASE("a carrier that adds is asked for sums in the order `fast`; every rank has its bits") {
  auto const job = [] {
    Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>>> x(
        uniform<double>(dextents<2>(300, 100), seed{5}));
    doubles out;
    config::set_reduction_order(reduction_order::ranked);
    put(out, sum<0>(x));
    config::set_reduction_order(reduction_order::fast);
    put(out, sum<0>(x));
    return out;
  };
  auto const ends = testing::on_ranks(3, job);
  for (testing::rank_end const& e : ends) {
    REQUIRE(e.error == "");
    CHECK(e.numbers == ends[0].numbers);
  }
  int others = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    double const ranked = ends[0].numbers[i], fast = ends[0].numbers[100 + i];
    others += fast != ranked;
    CHECK(std::abs(fast / ranked - 1) < 1e-14);
  }
  CHECK(others > 5);
}

TEST_CASE("a run over ranks sends and receives what its plan counts") {
  auto const job = [] {
    doubles out;
    Tensor<double, Dextents<2>> a(uniform<double>(dextents<2>(12, 5), seed{1}));
    using Rows = Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>>>;
    Rows x(a);
    auto const count = [&](auto const& f) {
      tally const t = testing::count(f);
      out.push_back(double(t.sent)), out.push_back(double(t.received));
    };
    count([&] { x = a; });
    count([&] { a = x; });
    Tensor<double, Dextents<2>, Mirrored<Ranks<CpuDevice>>> m(a);
    count([&] { m = a; });
    count([&] { m = x; });
    count([&] { x = m; });
    count([&] { x = x + m; });
    tally const planned = tally_of(plan(into(a, x)));
    out.push_back(double(planned.sent)), out.push_back(double(planned.received));
    return out;
  };
  double const all = 12 * 5 * 8, third = all / 3;
  auto const ends = testing::on_ranks(3, job);
  for (int r = 0; r < 3; ++r) {
    REQUIRE(ends[std::size_t(r)].error == "");
    bool const first = r == 0;
    CHECK(ends[std::size_t(r)].numbers == doubles{first ? all - third : 0,
                                                  first ? 0 : third,                 // scatter
                                                  third, all - third,                // gather
                                                  first ? all : 0, first ? 0 : all,  // broadcast
                                                  third, all - third,                // all-gather
                                                  0, 0, 0, 0,  // slice, sum of pieces
                                                  third, all - third});
  }
}

TEST_CASE("generated values and random doubles are made in place, and do not depend on the ranks") {
  auto const job = []<class List>(std::type_identity<List>) {
    doubles out;
    Tensor<float, Dextents<2>, Sharded<0, List>> x(uniform<float>(dextents<2>(9, 4), seed{3}));
    tally const t = testing::count([&] { x = normal<float>(dextents<2>(9, 4), seed{4}) + x; });
    put(out, x);
    out.push_back(double(t.sent + t.received + t.copies));
    return out;
  };
  auto const one = testing::on_ranks(1, [&] { return job(std::type_identity<CpuDevice>{}); });
  on_all_layouts([&] { return job(std::type_identity<Ranks<AllGpus>>{}); },
                 [&](auto const&, doubles const& got) { CHECK(got == one[0].numbers); });
}

TEST_CASE("algorithms along the cut go over ranks") {
  auto const job = []<class List>(std::type_identity<List>) {
    config::set_reduction_order(reduction_order::ranked);
    doubles out;
    Tensor<double, Dextents<1>, Sharded<0, List>> x(
        floor(1000. * uniform<double>(dextents<1>(29), seed{1})));
    Tensor<std::int64_t, Dextents<1>, Sharded<0, List>> k(
        cast<std::int64_t>(5. * uniform<double>(dextents<1>(29), seed{2})));
    put(out, cumsum<0>(x)), put(out, get<0>(top_k<4>(x))), put(out, get<1>(top_k<4>(x)));
    put(out, bincount<5>(k)), put(out, segment_sum<5>(x, k)), put(out, x - mean(x));
    return out;
  };
  auto const over_ranks = [&] { return job(std::type_identity<Ranks<AllGpus>>{}); };
  auto const one = testing::on_ranks(1, [&] { return job(std::type_identity<CpuDevice>{}); });
  on_all_layouts(over_ranks, [&](auto const&, doubles const& got) {
    REQUIRE(got.size() == one[0].numbers.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(std::abs(got[i] - one[0].numbers[i]) < 1e-10);
  });
}

namespace {

constexpr std::int64_t length = 37, columns = 3;

/// means: what the scans of a line in pieces mean: each begins with the totals of those in front
template <class Row>
void put_scans(doubles& to, Row const& line, int replicas, bool exclusive, bool from_end) {
  std::vector<double> r(std::size_t(length), 0.);
  double start = 0;
  for (int p = 0; p < replicas; ++p) {
    int const piece = from_end ? replicas - 1 - p : p;
    std::int64_t const first = piece_begin(length, replicas, piece),
                       count = piece_size(length, replicas, piece);
    double now = start, total = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t const i = from_end ? first + count - 1 - j : first + j;
      double const before = now;
      now += line(i);
      r[std::size_t(i)] = exclusive ? before : now;
    }
    for (std::int64_t j = 0; j < count; ++j) total += line(first + j);
    start += total;
  }
  to.insert(to.end(), r.begin(), r.end());
}
doubles meant_for(int replicas) {
  doubles out;
  Tensor<double, Extents<length>> const x(normal<double>(Extents<length>{}, seed{1}));
  auto const line = [&](std::int64_t i) { return x(i); };
  put_scans(out, line, replicas, false, false), put_scans(out, line, replicas, true, false);
  put_scans(out, line, replicas, false, true), put_scans(out, line, replicas, true, true);
  put_scans(out, [](std::int64_t) { return 1.; }, 1, false, true);  // the gradient
  Tensor<double, Extents<length>> const y(where(x > 0.5, x, 0.));
  put(out, cummax<0>(x)), put(out, cummin<0>(x, from_end));
  put(out, scan<0>(y, last_set{})), put(out, scan<0>(y, last_set{}, 5., exclusive));
  out.push_back(fetch(reduce<0>(y, last_set{}, 5.)));
  Tensor<double, Extents<length, columns>> const z(
      floor(2. * normal<double>(Extents<length, columns>{}, seed{2})));
  put(out, cumsum<0>(z)), put(out, reduce<0>(z, last_set{}, 0.));
  auto const [most, at] = top_k<4, 0>(z);
  put(out, most), put(out, at);
  auto const [least, there] = top_k<11>(x, smallest);
  put(out, least), put(out, there);
  return out;
}
template <class List>
doubles in_pieces() {
  using Pieces = Sharded<0, List>;
  doubles out;
  Tensor<double, Extents<length>, Pieces> const x(normal<double>(Extents<length>{}, seed{1}));
  put(out, cumsum<0>(x)), put(out, cumsum<0>(x, exclusive));
  put(out, cumsum<0>(x, from_end)), put(out, cumsum<0>(x, exclusive, from_end));
  auto const w = named<"w">(x);
  put(out, grad(sum(cumsum<0>(w)), w));
  Tensor<double, Extents<length>, Pieces> const y(where(x > 0.5, x, 0.));
  put(out, cummax<0>(x)), put(out, cummin<0>(x, from_end));
  put(out, scan<0>(y, last_set{})), put(out, scan<0>(y, last_set{}, 5., exclusive));
  out.push_back(fetch(reduce<0>(y, last_set{}, 5.)));
  Tensor<double, Extents<length, columns>, Pieces> const z(
      floor(2. * normal<double>(Extents<length, columns>{}, seed{2})));
  auto const folded = eval(reduce<0>(z, last_set{}, 0.));
  static_assert(decltype(cumsum<0>(z))::pattern.extent[0] == length);
  static_assert(decltype(reduce<0>(z, last_set{}, 0.))::pattern.extent[0] == columns);
  put(out, cumsum<0>(z)), put(out, folded);
  auto const [most, at] = top_k<4, 0>(z);
  static_assert(std::remove_cvref_t<decltype(most)>::pattern.extent[0] == 4);
  put(out, most), put(out, at);
  auto const [least, there] = top_k<11>(x, smallest);
  put(out, least), put(out, there);
  return out;
}

}  // namespace

TEST_CASE("scans and top_k along the cut over any number of replicas: the bits of these pieces") {
  auto const check = [](std::vector<int> const& layout, int replicas, auto const& job) {
    INFO(written(layout));
    auto const one = testing::on_ranks(1, [&] { return meant_for(replicas); });
    REQUIRE(one[0].error == "");
    doubles const& want = one[0].numbers;
    for (testing::rank_end const& e :
         testing::on_ranks(int(layout.size()), job, {.gpus = layout, .adds = replicas % 2 == 0})) {
      REQUIRE(e.error == "");
      REQUIRE(e.numbers.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        INFO("number ", i);
        CHECK(e.numbers[i] == want[i]);
      }
    }
  };
  for (std::vector<int> const& layout : {std::vector<int>{0},
                                         {8},
                                         {3, 1},
                                         {5, 4},
                                         {0, 0, 0, 0, 0, 0, 0, 0, 0},
                                         {3, 0, 8},
                                         {8, 8},
                                         {1, 8, 2, 8, 6}})
    check(layout, replicas_of(layout), in_pieces<Ranks<AllGpus>>);
  check(std::vector<int>(9), 9, in_pieces<Ranks<CpuDevice>>);
  check({2, 2, 2, 2, 2, 2}, 12, in_pieces<Ranks<GpuDevice<0>, GpuDevice<1>>>);
  check({2, 2}, 2 * 2, in_pieces<Ranks<GpuDevice<1>, CpuDevice>>);
}

TEST_CASE("rank 0 writes a tensor; rows and from_rows are those of a rank; rank 0 works for all") {
  auto const job = [] {
    using Rows = Sharded<0, Ranks<AllGpus>, Halo<1>>;
    Tensor<double, Dextents<2>, Rows> x(uniform<double>(dextents<2>(11, 3), seed{1}));
    std::ostringstream text;
    text << x;
    doubles out{double(text.str().size())};
    auto const mine = ranks::rows(x);
    out.push_back(double(mine.extent(0))), out.push_back(double(ranks::first_row(x)));
    auto const again = ranks::from_rows<Sharded<0, Ranks<AllGpus>>>(mine);
    out.push_back(fetch(all(to<CpuDevice>(again) == to<CpuDevice>(x))));
    int calls = 0;
    ranks::on_first([&] { ++calls; });
    out.push_back(calls);
    try {
      ranks::on_first([] { throw shape_error("locus: the file has another shape"); });
    } catch (shape_error const&) {
      out.push_back(0);
    } catch (error const& e) {
      out.push_back(e.what() == std::string_view("locus: rank 0 failed for all ranks: the file has "
                                                 "another shape"));
    }
    try {
      ranks::on_first([] { throw std::runtime_error(""); });
    } catch (error const& e) {
      out.push_back(e.what() == std::string_view("locus: rank 0 failed for all ranks: an exception "
                                                 "without a text"));
    } catch (std::runtime_error const&) {
      out.push_back(0);
    }
    Tensor<double, Dextents<2>> const some(dextents<2>(ranks::rank() + 1, 3));
    try {
      auto const none = ranks::from_rows<Sharded<0, Ranks<CpuDevice>>>(some);
    } catch (shape_error const& e) {
      if (std::string_view(e.what()).find("give each rank the rows of its piece") !=
          std::string_view::npos)
        out.push_back(-1);
    }
    return out;
  };
  auto const ends = testing::on_ranks(3, job, {.gpus = {2, 1, 0}});  // pieces of 3, 3, 3 and 2 rows
  for (testing::rank_end const& e : ends) REQUIRE(e.error == "");
  CHECK(ends[0].numbers[0] > 300);
  CHECK(ends[1].numbers == doubles{0, 3, 6, 1, 0, 1, 1, -1});
  CHECK(ends[2].numbers == doubles{0, 2, 9, 1, 0, 1, 1, -1});
  CHECK(ends[0].numbers[1] == 6);
  CHECK(ends[0].numbers[4] == 1);
}

}  // namespace transfers_test

// SPDX-License-Identifier: Apache-2.0
// Plans that take open extents for equal: values, launches and counts of runs in which the extents
// are equal, and of runs in which they differ and the second plan runs; against loops in double.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace guards_test {

using namespace locus;

namespace {

using Vector = Tensor<float, Dextents<1>>;
using Matrix = Tensor<float, Dextents<2>>;
using Number = Tensor<float, Extents<>>;
constexpr std::int64_t lengths[] = {0, 1, 31, 257, 4096};

Vector draw(std::int64_t n, int k) {
  return Vector(uniform<float>(dextents<1>{n}, seed{std::uint64_t(k + 1)}) - 0.5f);
}
std::int64_t length(Vector const& x) { return x.extents().extent(0); }
double at(Vector const& x, std::int64_t i) { return double(x.data()[length(x) == 1 ? 0 : i]); }
bool close(double got, double wanted) {
  return std::fabs(got - wanted) <= 1e-4 * (1 + std::fabs(wanted));
}
/// the run was the fused plan, or the second one
template <class Step>
void check_counts(Step const&, tally const& done, bool fused) {
  CHECK(done.launches == (fused ? Step::launches() : Step::launches_otherwise()));
  CHECK(done.unfused == !fused);
  CHECK(done.copies == 0);
  CHECK(done.fallbacks == 0);
}

}  // namespace

TEST_CASE("conjugate gradients: one launch where all lengths are equal, right where they are not") {
  for (std::int64_t const n : lengths)
    for (std::int64_t const m : lengths)
      for (bool const one : {false, true}) {
        CAPTURE(n);
        CAPTURE(m);
        CAPTURE(one);
        float const a = 0.75f;
        Vector const x0 = draw(n, 0), r0 = draw(m, 1);
        Vector x(x0), r(r0), p = draw(one ? 1 : n, 2), q = draw(one ? 1 : m, 3);
        Number s;
        auto const step =
            plan(into(x, x + a * p), into(r, r - a * q), into(s, sum(square(r - a * q))));
        static_assert(step.launches() == 1 && step.guards() == 2);
        static_assert(step.launches_otherwise() == 3 && step.copies() == 0);
        check_counts(step, testing::count([&] { run(step); }), n == m);
        double squares = 0;
        for (std::int64_t i = 0; i < n; ++i)
          REQUIRE(close(double(x.data()[i]), at(x0, i) + 0.75 * at(p, i)));
        for (std::int64_t i = 0; i < m; ++i) {
          double const moved = at(r0, i) - 0.75 * at(q, i);
          squares += moved * moved;
          REQUIRE(close(double(r.data()[i]), moved));
        }
        CHECK(close(double(fetch(s)), squares));
      }
}

TEST_CASE("rows of two lengths are two launches: a chain has one length") {
  constexpr std::int64_t lengths_of_rows[][2] = {{5, 5},   {3, 1000}, {1000, 3}, {1, 7}, {7, 1},
                                                 {0, 300}, {300, 1},  {1, 1},    {0, 1}};
  for (auto const& both : lengths_of_rows) {
    std::int64_t const columns = both[0], length = both[1];
    CAPTURE(columns);
    CAPTURE(length);
    Matrix const x(uniform<float>(dextents<2>{5, length}, seed{21}) - 0.5f),
        y(uniform<float>(dextents<2>{columns, 5}, seed{22}) - 0.5f);
    Matrix z(5, columns);
    Vector sums(5);
    auto const apart = plan(into(z, transpose(y) - max<1>(x, keep_dims)));
    static_assert(apart.launches() == 1 && apart.guards() == 1 && apart.launches_otherwise() == 2);
    check_counts(apart, testing::count([&] { run(apart); }), columns == length);
    auto const folded = plan(into(sums, sum<1>(exp(transpose(y) - max<1>(x, keep_dims)))));
    static_assert(folded.launches() == 1 && folded.guards() == 1);
    static_assert(folded.launches_otherwise() == 2);
    check_counts(folded, testing::count([&] { run(folded); }), columns == length);
    for (std::int64_t i = 0; i < 5; ++i) {
      float const most = *std::max_element(x.data() + i * length, x.data() + (i + 1) * length);
      double all = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        double const wanted = double(y.data()[j * 5 + i]) - double(most);
        CHECK(close(double(z.data()[i * columns + j]), wanted));
        all += std::exp(wanted);
      }
      CHECK(close(double(sums.data()[i]), all));
    }
  }
}

TEST_CASE("rows of a length that the type knows need no guard, also where the rows stretch") {
  for (std::int64_t const rows : {0, 1, 5})
    for (std::int64_t const more : {1, 5}) {
      if (rows == 0 && more != 1) continue;
      if (rows == 5 && more == 5) continue;
      CAPTURE(rows);
      CAPTURE(more);
      using Rows = Tensor<float, Extents<dyn, 7>>;
      Rows const x(uniform<float>(Extents<dyn, 7>(rows), seed{23}) - 0.5f),
          w(uniform<float>(Extents<dyn, 7>(more), seed{24}) - 0.5f);
      std::int64_t const all = rows == 1 ? more : rows;
      Rows z(all);
      Vector sums(all);
      auto const apart = plan(into(z, exp(x - max<1>(x, keep_dims)) * w));
      static_assert(apart.launches() == 1 && apart.guards() == 0);
      check_counts(apart, testing::count([&] { run(apart); }), true);
      auto const folded = plan(into(sums, sum<1>(exp(x - max<1>(x, keep_dims)) * w)));
      static_assert(folded.launches() == 1 && folded.guards() == 0);
      check_counts(folded, testing::count([&] { run(folded); }), true);
      for (std::int64_t i = 0; i < all; ++i) {
        float const* const row = x.data() + (rows == 1 ? 0 : i) * 7;
        float const* const factors = w.data() + (more == 1 ? 0 : i) * 7;
        float const most = *std::max_element(row, row + 7);
        double sum_of_row = 0;
        for (int j = 0; j < 7; ++j) {
          double const wanted = std::exp(double(row[j]) - double(most)) * double(factors[j]);
          CHECK(close(double(z.data()[i * 7 + j]), wanted));
          sum_of_row += wanted;
        }
        CHECK(close(double(sums.data()[i]), sum_of_row));
      }
    }
}

TEST_CASE("factors behind a fold of rows: fused unless they stretch the rows") {
  constexpr std::int64_t pairs[][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 5}, {5, 1}, {5, 5}, {33, 33}};
  for (auto const& pair : pairs) {
    std::int64_t const rows = pair[0], n = pair[1];
    CAPTURE(rows);
    CAPTURE(n);
    std::int64_t const all = n == 1 ? rows : n;
    Matrix const x(uniform<float>(dextents<2>{rows, 7}, seed{9}));
    Vector const w = draw(n, 1);
    auto const scaled = sqrt(sum<1>(square(x))) * w;
    using Plan = std::remove_cvref_t<decltype(plan_of<decltype(scaled)>)>;
    static_assert(Plan::launches() == 1 && Plan::guards() == 1);
    Vector got(all);
    check_counts(Plan{}, testing::count([&] { got = scaled; }), all == rows);
    for (std::int64_t i = 0; i < all; ++i) {
      double squares = 0;
      for (std::int64_t j = 0; j < 7; ++j)
        squares += std::pow(double(x.data()[(rows == 1 ? 0 : i) * 7 + j]), 2);
      CHECK(close(double(got.data()[i]), std::sqrt(squares) * at(w, i)));
    }
  }
}

TEST_CASE(
    "a run with other extents is logged once for each call site; explain says what must hold") {
  Vector const x = draw(31, 0), y = draw(33, 1);
  Number s, q;
  auto const step = plan(into(s, sum(x)), into(q, sum(y)));
  CHECK(step.explain().view().find("  if #0 and #2 have equal extents; otherwise 2 launches\n") !=
        std::string_view::npos);
  std::string lines;
  debugging::set_log_sink(
      [](run_event const&, std::string_view text, void* to) {
        *static_cast<std::string*>(to) += std::string(text) + "\n";
      },
      &lines);
  debugging::set_log_device_placement(true);
  for (int k = 0; k < 3; ++k) run(step);
  debugging::set_log_device_placement(false);
  debugging::set_log_sink(nullptr);
  CAPTURE(lines);
  CHECK(lines.find("Plan of ") != std::string::npos);
  CHECK(lines.find("guards_test.cpp") != std::string::npos);
  REQUIRE(lines.find(" runs unfused: extents [31] of #0 and [33] of #2 differ\n") !=
          std::string::npos);
  CHECK(lines.find("runs unfused") == lines.rfind("runs unfused"));
}

TEST_CASE("careful<> guesses nothing; under alike<> other extents are an error") {
  Vector const x = draw(31, 0), y = draw(33, 1), z = draw(31, 2);
  Number s, q;
  auto const apart = plan<careful<>>(into(s, sum(x)), into(q, sum(y)));
  static_assert(apart.guards() == 0 && apart.launches() == 2 && apart.launches_otherwise() == 2);
  CHECK(apart.explain().view().starts_with("plan under careful<prefer_gpu>\n"));
  CHECK(testing::count([&] { run(apart); }).unfused == 0);
  auto const equal = plan<alike<>>(into(s, sum(x)), into(q, sum(z)));
  static_assert(equal.guards() == 1 && equal.launches() == 1 && equal.launches_otherwise() == 1);
  CHECK(testing::count([&] { run(equal); }).launches == 1);
  auto const promised = plan<alike<>>(into(s, sum(x)), into(q, sum(y)));
  CHECK_THROWS_WITH_AS(
      run(promised),
      "locus: this plan takes extents [31] of 'leaf' (#0) and [33] of 'leaf' (#2) for equal, as "
      "alike<> promised; leave alike<> out, or make them equal",
      shape_error);
}

TEST_CASE("pieces on GPUs: both plans sum the same values over replicas, and move the same bytes") {
  for (backends::machine const& m : backends::few_machines) {
    if (!m.has_gpu()) continue;
    backends::run_on(m, [] {
      using Pieces = Tensor<float, Dextents<1>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
      for (std::int64_t const n : {31, 33}) {
        Vector const x = draw(31, 0), y = draw(n, 1);
        Pieces px(dextents<1>{31}), py(dextents<1>{n});
        px = x, py = y;
        Tensor<float, Extents<>, Mirrored<GpuDevice<0>, GpuDevice<1>>> s, q;
        auto const step = plan(into(s, sum(px)), into(q, sum(square(py))));
        static_assert(step.launches() == 1 && step.guards() == 1 && step.all_reduces() == 1);
        tally const done = testing::count([&] { run(step); });
        CHECK(done.all_reduces == 1);
        CHECK(done.unfused == (n != 31));
        double sums[2]{};
        for (std::int64_t i = 0; i < 31; ++i) sums[0] += at(x, i);
        for (std::int64_t i = 0; i < n; ++i) sums[1] += at(y, i) * at(y, i);
        CHECK(close(double(fetch(s)), sums[0]));
        CHECK(close(double(fetch(q)), sums[1]));
      }
    });
  }
}

}  // namespace guards_test

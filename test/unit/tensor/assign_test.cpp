// SPDX-License-Identifier: Apache-2.0
// Making, copying, moving and assigning tensors; values from every kind of place to every other;
// slices as destinations; plans of several assignments; let and named; rank 0 and empty tensors.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <utility>

namespace assign_test {

using namespace locus;
using oracle::array, oracle::difference;

namespace {

using Gpu = GpuDevice<0>;
using Second = GpuDevice<1>;
using Both = Mirrored<Gpu, Second>;
using Rows = Sharded<0, Gpu, Second>;
using Columns = Sharded<1, Gpu, Second>;
template <class Where>
using Matrix = Tensor<float, Dextents<2>, Where>;

constexpr shape shapes[] = {{2, {5, 3}}, {2, {1, 1}}, {2, {3, 1}}, {2, {0, 4}}, {2, {101, 70}}};

/// all copies of a mirrored tensor hold the same
template <class Where>
void check_copies(Matrix<Where> const& t, array<float> const& want) {
  CHECK(difference(fetch(t), want) == "");
  if constexpr (Where::value.is_mirrored()) {
    auto const other = fetch(on<CpuDevice>(to<Second>(t)) + 0.f);
    CHECK(difference(other, want) == "");
  }
}
template <class From, class To>
void check_move(array<float> const& a) {
  auto const x = to<From>(oracle::tensor<2>(a));
  auto y = to<To>(x);
  check_copies<To>(y, a);
  y = x + 1.f;  // into memory that is there already
  auto const want = oracle::map<float>(a.extents, [](float v) { return v + 1; }, a);
  check_copies<To>(y, want);
}
template <class From>
void check_moves(array<float> const& a) {
  check_move<From, CpuDevice>(a), check_move<From, Gpu>(a), check_move<From, Second>(a);
  check_move<From, Both>(a);
  if constexpr (!std::is_same_v<From, Columns>) check_move<From, Rows>(a);
  if constexpr (!std::is_same_v<From, Rows>) check_move<From, Columns>(a);
}

template <class Where>
void check_values() {
  using T = Tensor<float, Dextents<1>, Where>;
  oracle::random r(3);
  auto const a = oracle::random_array<float>(r, {1, {77}}, -1, 1);
  auto const b = oracle::random_array<float>(r, {1, {77}}, 1, 2);
  auto const twice = oracle::map<float>(a.extents, [](float v) { return v * 2; }, a);
  auto same = [](T const& t, array<float> const& want) { CHECK(difference(fetch(t), want) == ""); };
  T x = to<Where>(oracle::tensor<1>(a));
  T y = x;  // a copy of its own
  y = y * 2.f;
  same(x, a), same(y, twice);
  T z = std::move(y);
  same(z, twice);
  CHECK_THROWS_AS(static_cast<void>(y.extents()), bad_access);
  y = x;  // an assignment revives what was moved from
  same(y, a);
  y = z;
  same(y, twice), same(z, twice);
  std::swap(x, y);
  same(x, twice), same(y, a);
  x = std::move(x * 1.f + 0.f);
  same(x, twice);
  T short_one(3);
  short_one = y;  // other extents: memory of its own
  same(short_one, a);
  CHECK_THROWS_AS((short_one = x + to<Where>(Tensor<float, Extents<1>>{1}) + T(5)), shape_error);
  auto const w = to<Where>(oracle::tensor<1>(b));
  y += w, y *= 3.f, y -= w * w, y /= w;
  CHECK(difference(fetch(y),
                   oracle::map<double>(
                       a.extents,
                       [](float p, float q) {
                         return ((double(p) + double(q)) * 3 - double(q) * double(q)) / double(q);
                       },
                       a, b),
                   1e-5, 1e-5) == "");
}

/// r[i] of a chain of assignments that read each other's left sides
template <class Where>
void check_plans() {
  using T = Tensor<float, Extents<3>, Where>;
  T a{1, 2, 3}, b{4, 5, 6}, c{7, 8, 9};
  auto is = [](T const& t, float x, float y, float z) {
    return fetch(all(t == to<Where>(Tensor<float, Extents<3>>{x, y, z})));
  };
  run(plan(into(a, b), into(b, a)));
  CHECK(is(a, 4, 5, 6));
  CHECK(is(b, 1, 2, 3));
  run(plan(into(a, b), into(b, c), into(c, a)));  // round and round
  CHECK(is(a, 1, 2, 3));
  CHECK(is(b, 7, 8, 9));
  CHECK(is(c, 4, 5, 6));
  run(plan(into(a, a + b), into(b, a - b), into(c, a * 2.f)));
  CHECK(is(a, 8, 10, 12));
  CHECK(is(b, -6, -6, -6));
  CHECK(is(c, 2, 4, 6));
  auto const step = plan(into(a, sum(b) + c), into(b, b + max(a)));
  run(step);
  CHECK(is(a, -16, -14, -12));
  CHECK(is(b, 6, 6, 6));
  run(step);  // a plan may run as often as one likes
  CHECK(is(a, 20, 22, 24));
  CHECK(is(b, -6, -6, -6));
}

template <class Where>
void check_slices() {
  oracle::random r(4);
  for (int k = 0; k < 20; ++k) {
    std::int64_t const m = r.number(2, 9), n = r.number(2, 80);
    auto a = oracle::random_array<float>(r, {2, {m, n}}, -1, 1);
    auto t = to<Where>(oracle::tensor<2>(a));
    // shifted by one, onto itself: every read comes before any write
    run(into(slice(t, {1}, {1}), slice(t, {0, -1}, {0, -1}) * 2.f));
    auto want = a;
    for (std::int64_t i = 1; i < m; ++i)
      for (std::int64_t j = 1; j < n; ++j) want[i * n + j] = a[(i - 1) * n + j - 1] * 2;
    CHECK(difference(fetch(t), want) == "");
    // a plain copy onto itself, and rows exchanged
    a = want;
    run(into(slice(t, {0, -1}), slice(t, {1})));
    for (std::int64_t i = 0; i + 1 < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) want[i * n + j] = a[(i + 1) * n + j];
    CHECK(difference(fetch(t), want) == "");
    a = want;
    run(plan(into(slice(t, {0, 1}), slice(t, {-1})), into(slice(t, {-1}), slice(t, {0, 1}))));
    for (std::int64_t j = 0; j < n; ++j) std::swap(want[j], want[(m - 1) * n + j]);
    CHECK(difference(fetch(t), want) == "");
    run(into(slice(t, {2, 2}), slice(t, {0, 0})));  // nothing
    CHECK(difference(fetch(t), want) == "");
    CHECK_THROWS_AS(run(into(slice(t, {0, 1}), slice(t, {0, 2}))), shape_error);
  }
}

/// slice(t, ...) = e, +=, ... on one place: the elements of the part change, and no others
template <class Where>
void check_assigned_slices() {
  oracle::random r(5);
  for (shape const& s : shapes) {
    std::int64_t const m = s.extent[0], n = s.extent[1];
    if (m < 3 || n < 3) continue;
    auto const a = oracle::random_array<float>(r, s, -1, 1);
    auto const b = oracle::random_array<float>(r, s, -1, 1);
    Matrix<Where> t = to<Where>(oracle::tensor<2>(a));
    Matrix<Where> const u = to<Where>(oracle::tensor<2>(b));
    auto want = a;
    auto const each = [&](auto const& selects, auto const& change) {
      auto const old = want;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          if (selects(i, j)) want[i * n + j] = change(old, i, j);
      CHECK(difference(fetch(t), want) == "");
    };
    auto const inside = [&](std::int64_t i, std::int64_t j) {
      return i > 0 && i < m - 1 && j > 0 && j < n - 1;
    };
    slice(t, {1, -1}, {1, -1}) = slice(u, {1, -1}, {1, -1});
    each(inside, [&](auto const&, auto i, auto j) { return b[i * n + j]; });
    slice(t, {0, 2}) = 3;
    each([](auto i, auto) { return i < 2; }, [](auto const&, auto, auto) { return 3.f; });
    slice<1, 0, 1>(t) = -1.f;
    each([](auto, auto j) { return j == 0; }, [](auto const&, auto, auto) { return -1.f; });
    slice(t, {0, m, 2}) *= 2.f;
    each([](auto i, auto) { return i % 2 == 0; },
         [&](auto const& old, auto i, auto j) { return old[i * n + j] * 2.f; });
    interior<1>(t) += interior<1, -1, 0>(t);  // reads rows that it writes
    each(inside,
         [&](auto const& old, auto i, auto j) { return old[i * n + j] + old[(i - 1) * n + j]; });
    slice(t, {1, m}) -= slice(t, {0, m - 1});
    each([](auto i, auto) { return i > 0; },
         [&](auto const& old, auto i, auto j) { return old[i * n + j] - old[(i - 1) * n + j]; });
    slice(t, {0, m}) /= 2.f;
    each([](auto, auto) { return true; },
         [&](auto const& old, auto i, auto j) { return old[i * n + j] / 2.f; });
    slice(t, {1, 1}) = 9.f;  // nothing
    CHECK(difference(fetch(t), want) == "");
    CHECK_THROWS_AS((slice(t, {0, 1}) = slice(u, {0, 2})), shape_error);
    CHECK_THROWS_AS((slice(t, {0, m + 1}) = 0.f), shape_error);
    CHECK_THROWS_AS((slice(t, {0, m}) = slice(t, {1, m}) * 2.f), shape_error);
    CHECK(difference(fetch(t), want) == "");
  }
}

}  // namespace

TEST_CASE("a value goes from every kind of place to every other, and back") {
  oracle::random r(1);
  on_backends([&] {
    for (shape const& s : shapes) {
      auto const a = oracle::random_array<float>(r, s, -1, 1);
      check_moves<CpuDevice>(a), check_moves<Gpu>(a), check_moves<Second>(a);
      check_moves<Both>(a), check_moves<Rows>(a), check_moves<Columns>(a);
    }
  });
}
TEST_CASE("three and four replicas gather and scatter uneven pieces, empty ones too") {
  using Four = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
  using FourColumns = Sharded<1, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
  oracle::random r(2);
  on_backends([&] {
    for (std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 64, 129}) {
      auto const a = oracle::random_array<float>(r, {2, {n, 5}}, -1, 1);
      auto const x = to<Four>(oracle::tensor<2>(a));
      auto const y = to<FourColumns>(oracle::tensor<2>(a));
      CHECK(difference(fetch(x), a) == "");
      CHECK(difference(fetch(y), a) == "");
      double total = 0;
      for (std::int64_t i = 0; i < a.size(); ++i) total += static_cast<double>(a[i]);
      CHECK(std::fabs(static_cast<double>(fetch(sum(x))) - total) < 1e-5);
      CHECK(std::fabs(static_cast<double>(fetch(sum(y))) - total) < 1e-5);
    }
  });
}
TEST_CASE("tensors are values: copied, moved, swapped, revived, compounded") {
  on_backends(check_values<CpuDevice>);
  on_backends(check_values<Gpu>);
  on_backends(check_values<Both>);
  on_backends(check_values<Rows>);
}
TEST_CASE("a plan computes every right side before it writes a left side") {
  on_backends(check_plans<CpuDevice>);
  on_backends(check_plans<Gpu>);
  on_backends(check_plans<Both>);
}
TEST_CASE("slices of a tensor are destinations, also of other slices of it") {
  on_backends(check_slices<CpuDevice>);
  on_backends(check_slices<Gpu>);
}
TEST_CASE("slices are assigned to: expressions, other slices, numbers, and with an operator") {
  on_backends(check_assigned_slices<CpuDevice>);
  on_backends(check_assigned_slices<Gpu>);
  Tensor<std::uint8_t, Extents<5>> bytes{1, 2, 3, 4, 5};
  CHECK_THROWS_AS((slice(bytes, {0, 2}) = 256), shape_error);
  slice(bytes, {0, 2}) = 255;
  slice(bytes, {1, 4}) ^= std::uint8_t(1);
  slice(bytes, {2, 5}) <<= std::uint8_t(2);
  CHECK(bool(equal(bytes, Tensor<std::uint8_t, Extents<5>>{255, 254, 8, 20, 20})));
  double memory[6] = {1, 2, 3, 4, 5, 6};
  auto const seen = view<CpuDevice>(memory, Extents<2, 3>{});
  slice(seen, all_of, {0, 2}) = 0.;
  slice(view<CpuDevice>(memory, Extents<2, 3>{}), {1, 2}) += 1.;
  CHECK(bool(equal(seen, Tensor<double, Extents<2, 3>>{{0, 0, 3}, {1, 1, 7}})));
}
TEST_CASE("parts of pieces are assigned to: each device writes the rows of its piece") {
  on_backends([] {
    using Cut = Tensor<double, Dextents<2>, Sharded<0, AllGpus, Halo<1>>>;
    std::int64_t const n = 9;
    Cut x(n, n);
    Tensor<double, Dextents<2>> want(n, n);
    x = 1., want = 1.;
    interior<1>(x) = 2.;
    interior<1>(want) = 2.;
    slice<1, 0, 1>(x) = 5.;
    slice<1, 0, 1>(want) = 5.;
    interior<1>(x) *= interior<1, 0, -1>(x);
    interior<1>(want) *= interior<1, 0, -1>(want);
    CHECK(bool(equal(to<CpuDevice>(x), want)));
  });
}
TEST_CASE("a number that one kernel computes is fetched without a tensor for it") {
  Tensor<float, Dextents<1>> const x(uniform<float>(dextents<1>{1000}, locus::seed{1}));
  std::int64_t const before = runtime::table.cpu_devices[0].memory.allocations;
  float const total = fetch(on<CpuDevice>(sum(x * x))), most = fetch(on<CpuDevice>(locus::max(x)));
  CHECK(runtime::table.cpu_devices[0].memory.allocations == before);
  Tensor<float, Extents<>> const kept_total(sum(x * x)), kept_most(locus::max(x));
  CHECK(total == *kept_total.data());
  CHECK(most == *kept_most.data());
  CHECK(fetch(on<CpuDevice>(argmax(x))) == fetch(on<CpuDevice>(argmax(1.f * x))));
}
TEST_CASE("a slice that is read where it is written, or beside it, needs no memory of its own") {
  static constexpr std::int64_t n = 9;
  auto value = [](std::int64_t i, std::int64_t j) { return float(i * n + j); };
  Tensor<float, Dextents<2>> x(n, n), y(n, n);
  auto fill = [&] {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) x(i, j) = value(i, j), y(i, j) = 1.f;
  };
  auto allocated = [&](auto const& statement) {
    fill();
    std::int64_t const before = runtime::table.cpu_devices[0].memory.allocations;
    statement();
    return runtime::table.cpu_devices[0].memory.allocations - before;
  };
  auto same = [&](auto const& want) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) REQUIRE(x(i, j) == want(i, j));
  };
  range const in{1, -1};
  auto inside = [](std::int64_t k) { return k >= 1 && k < n - 1; };
  CHECK(allocated(
            [&] { run(into(slice(x, in, in), 2.f * slice(x, in, in) + slice(y, in, in))); }) == 0);
  same([&](auto i, auto j) { return inside(i) && inside(j) ? 2 * value(i, j) + 1 : value(i, j); });
  // the lower rows from the upper ones
  CHECK(allocated([&] { run(into(slice(x, {5, 9}), slice(x, {0, 4}) + 1.f)); }) == 0);
  same([&](auto i, auto j) { return i >= 5 ? value(i - 5, j) + 1 : value(i, j); });
  // rows that overlap: old values
  CHECK(allocated([&] { run(into(slice(x, {1, 9}), slice(x, {0, 8}) + 1.f)); }) > 0);
  same([&](auto i, auto j) { return i >= 1 ? value(i - 1, j) + 1 : value(i, j); });
  // the same place, the other way round
  CHECK(allocated([&] { run(into(slice(x, in, in), transpose(slice(x, in, in)))); }) > 0);
  same([&](auto i, auto j) { return inside(i) && inside(j) ? value(j, i) : value(i, j); });
  // one read at the same place, one beside it
  CHECK(allocated([&] { run(into(slice(x, in, in), slice(x, in, in) + slice(x, {0, -2}, in))); }) >
        0);
  same([&](auto i, auto j) {
    return inside(i) && inside(j) ? value(i, j) + value(i - 1, j) : value(i, j);
  });
  // a sum of what is written, and a product
  CHECK(allocated([&] {
          run(into(slice(x, in, in), slice(x, in, in) - sum<1>(slice(x, in, in), keep_dims)));
        }) > 0);
}
TEST_CASE("m = transpose(m), and what else reads the left side elsewhere") {
  on_backends([] {
    auto check = [](auto where) {
      using Where = decltype(where);
      Tensor<float, Extents<2, 2>, Where> m{{1, 2}, {3, 4}};
      m = transpose(m);
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{1, 3}, {2, 4}}));
      m = transpose(m) + m;
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{2, 5}, {5, 8}}));
      m = matmul(m, m);
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{29, 50}, {50, 89}}));
      m = m - sum<0>(m);
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{-50, -89}, {-29, -50}}));
      m = concatenate<0>(slice(m, {1}), slice(m, {0, 1}));
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{-29, -50}, {-50, -89}}));
      no_alias(m) = m * 2.f;  // true: it reads where it writes
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{-58, -100}, {-100, -178}}));
      m = reshape<2, 2>(transpose(reshape<4, 1>(m)));
      CHECK(equal(m, Tensor<float, Extents<2, 2>>{{-58, -100}, {-100, -178}}));
    };
    check(CpuDevice{}), check(Gpu{});
  });
}
TEST_CASE("a plan with no_alias writes the memory that its destination has when the plan runs") {
  using Vector = Tensor<float, Dextents<1>>;
  Vector const x{1, 2};
  Vector y{0, 0}, z{9, 9};
  auto const step = plan(into(no_alias(y), x * 2.f));
  swap(y, z);
  run(step);
  CHECK(equal(y, x * 2.f));
  CHECK(equal(z, Vector{0, 0}));
  y = Vector{1, 2, 3};
  CHECK_THROWS_AS(run(step), shape_error);
  auto&& later = no_alias(z);
  z.resize(3);
  Vector const other(full<float>(dextents<1>(2), 7.f));
  later = full<float>(dextents<1>(3), 1.f);
  CHECK(equal(z, Vector{1, 1, 1}));
  CHECK(equal(other, Vector{7, 7}));
  float memory[2] = {};
  auto const of_view = [&] {
    auto v = view<CpuDevice>(memory, dextents<1>(2));
    return plan(into(no_alias(v), x));
  }();
  run(of_view);  // a view is copied into the plan
  CHECK(memory[1] == 2);
}
TEST_CASE("let and named compute once what several readers share") {
  on_backends([] {
    Tensor<float, Extents<3>> const x{1, 2, 3};
    Tensor<float, Extents<3>, Gpu> y;
    Tensor<float, Extents<>, Gpu> s{0.f};
    let(on<Gpu>(exp(x)),
        [&](auto e) { let(sum(e), [&](auto t) { run(plan(into(y, e / t), into(s, t))); }); });
    double const total = std::exp(1.) + std::exp(2.) + std::exp(3.);
    auto const p = fetch(y);
    for (int i = 0; i < 3; ++i)
      CHECK(double(p(i)) == doctest::Approx(std::exp(i + 1.) / total).epsilon(1e-6));
    CHECK(double(fetch(s)) == doctest::Approx(total).epsilon(1e-6));
    auto const n = named<"n">(x * 2.f);
    static_assert(plan_of<decltype(n * n + n)>.copies() == 1);
    CHECK(equal(n * n + n, Tensor<float, Extents<3>>{6, 20, 42}));
    Tensor<float, Extents<3>> const z{4, 5, 6};
    auto const m = named<"n">(z * 2.f);  // one name for two values
    CHECK_THROWS_AS(static_cast<void>(eval(n + m)), placement_error);
  });
}
TEST_CASE("numbers of rank 0 stay on their GPU and are read there") {
  on_backends([] {
    Tensor<double, Extents<4>, Gpu> x{1, 2, 3, 4};
    auto const total = eval(sum(x));
    static_assert(std::is_same_v<decltype(total)::policy, Gpu>);
    auto const seen = testing::count([&] { x = x / total; });
    CHECK(seen.copies == 0);
    CHECK(fetch(sum(x)) == 1.0);
    Tensor<double, Extents<>, Gpu> s{2.5};
    s = s * 2. + total;
    CHECK(fetch(s) == 15.0);
    Tensor<double, Extents<>> here;
    here = s;
    CHECK(*here.data() == 15.0);
    CHECK(here() == 15.0);
  });
}
TEST_CASE("a number that lies on the host is read where it lies, and what is pending comes first") {
  Tensor<double, Extents<>> s(full<double>(Extents<>{}, 2.5));
  tally const one = testing::count([&] { CHECK(fetch(s) == 2.5); });
  CHECK(one.launches == 0);
  CHECK(one.copies == 0);
#if LOCUS_CHECKED
  auto const gone = std::move(s);
  CHECK(fetch(gone) == 2.5);
  CHECK_THROWS_AS(static_cast<void>(fetch(s)), bad_access);
#endif
}
TEST_CASE("a number on the host is read when what is pending has come") {
  on_backends([] {
    Tensor<double, Extents<>> here(zeros<double>(Extents<>{}));
    Tensor<double, Extents<8>, GpuDevice<0>> x(full<double>(Extents<8>{}, 2));
    for (int k = 1; k < 5; ++k) {
      here = sum(x) + here;  // computed there, copied here
      CHECK(fetch(here) == 16. * k);
      CHECK(fetch(Tensor<double, Extents<>>(here)) == 16. * k);
    }
  });
}
TEST_CASE("empty tensors go everywhere and nothing happens to them") {
  on_backends([] {
    Tensor<float, Dextents<2>> x(0, 3);
    auto const there = to<Rows>(x);
    CHECK(fetch(there).size() == 0);
    CHECK(fetch(sum(there)) == 0.f);
    CHECK(fetch(sum<0>(x)).size() == 3);
    CHECK(equal(sum<0>(there), Tensor<float, Extents<3>>{0, 0, 0}));
    auto const y = eval(matmul(on<Gpu>(x), ones<float>(Extents<3, 2>{})));
    CHECK(y.extent(0) == 0);
    CHECK(y.extent(1) == 2);
    x = x * 2.f;
    Tensor<float, Dextents<1>> const none(0);
    CHECK(none.size() == 0);
  });
}
TEST_CASE("nested lists fill tensors of every rank, wherever they lie") {
  on_backends([] {
    Tensor<int, Extents<2, 1, 2, 1, 1, 3>, Gpu> const six{{{{{{1, 2, 3}}}, {{{4, 5, 6}}}}},
                                                          {{{{{7, 8, 9}}}, {{{10, 11, 12}}}}}};
    CHECK(equal(reshape<12>(six), iota<int>(Extents<12>{}, 1)));
    Tensor<double, Dextents<2>, Columns> t{{1, 2, 3}, {4, 5, 6}};
    CHECK(t.extent(0) == 2);
    CHECK(t.extent(1) == 3);
    CHECK(equal(transpose(t), Tensor<double, Extents<3, 2>>{{1, 4}, {2, 5}, {3, 6}}));
    t = {{6, 5, 4}, {3, 2, 1}};
    CHECK(fetch(sum<1>(t))(1) == 6.0);
    CHECK_THROWS_AS((t = {{1, 2}, {3, 4}}), shape_error);
    using Ragged = Tensor<double, Dextents<2>>;
    CHECK_THROWS_AS((Ragged{{1, 2}, {3}}), shape_error);
    Tensor<bool, Extents<2>, Gpu> const b{true, false};
    CHECK(fetch(any(b)));
    CHECK(!fetch(all(b)));
  });
}
TEST_CASE("a tensor is made from a view or from a tensor that lives elsewhere") {
  on_backends([] {
    Tensor<float, Extents<3, 5>, Gpu> const there(uniform<float>(Extents<3, 5>{}, seed{4}));
    Tensor<float, Dextents<2>> const here(there);
    Tensor<float, Extents<3, 5>, Rows> const cut(here);
    Tensor<float, Dextents<2>> const again(cut);
    CHECK(equal(here, uniform<float>(Extents<3, 5>{}, seed{4})));
    CHECK(equal(again, here));
    auto const named = to<"/device:GPU:1">(here * 2.f);
    static_assert(decltype(named)::where == "/GPU:1");
    CHECK(equal(named, 2.f * here));
    double const numbers[] = {1, 2, 3, 4, 5, 6};
    Tensor<double, Extents<2, 3>> const left(
        view<CpuDevice>(numbers, Extents<2, 3>{}, layout_left{}));
    CHECK(equal(left, Tensor<double, Extents<2, 3>>{{1, 3, 5}, {2, 4, 6}}));
    static_assert(std::is_convertible_v<decltype(there), Tensor<float, Dextents<2>>>);
  });
}
TEST_CASE("views wrap memory of the program's own in any layout") {
  float numbers[24];
  for (int i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  on_backends([&] {
    auto const right = view<CpuDevice>(numbers, Extents<4, 6>{});
    auto const left = view<CpuDevice>(numbers, Extents<6, 4>{}, layout_left{});
    CHECK(equal(right, transpose(left)));
    CHECK(equal(on<Gpu>(right), on<Gpu>(transpose(left))));
    auto const back = view<CpuDevice>(numbers + 23, dextents<1>{24}, layout_stride{{-1}});
    CHECK(fetch(back)(0) == 23.f);
    CHECK(fetch(on<Gpu>(back) + 0.f)(23) == 0.f);
    auto const still = view<CpuDevice>(numbers + 5, dextents<2>{3, 4}, layout_stride{{0, 2}});
    CHECK(fetch(sum(on<Gpu>(still))) == 3 * (5 + 7 + 9 + 11));
    float const* const fixed = numbers;
    CHECK(fetch(sum(view<CpuDevice>(fixed, Extents<24>{}))) == 276.f);
    float out[24]{};
    view<CpuDevice>(out, Extents<6, 4>{}, layout_left{}) = on<Gpu>(left * 1.f);
    CHECK(std::memcmp(out, numbers, sizeof out) == 0);
    Tensor<float, Extents<4, 6>, Gpu> t(to<Gpu>(right));
    auto const inside = view<Gpu>(t.data() + 7, Extents<2, 4>{}, layout_stride{{6, 1}});
    run(into(inside, inside * 0.f));  // the inner rows, where they lie
    CHECK(fetch(sum(t)) == 276.f - (7 + 8 + 9 + 10 + 13 + 14 + 15 + 16));
  });
}

}  // namespace assign_test

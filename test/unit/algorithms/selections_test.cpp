// SPDX-License-Identifier: Apache-2.0
// compress, select, nonzero, run_lengths and unique beside plain loops: types, axes, masks that keep some, all or none, several threads,
// pieces along other axes, the gradient, names.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>

#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/nonzero.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace selections_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

bool same(std::vector<double> const& a, std::vector<double> const& b) { return a == b; }

enum class keeps { some, all, none };
Tensor<bool, Dextents<1>> mask_of(std::int64_t n, keeps how, std::uint64_t seed) {
  Tensor<bool, Dextents<1>> mask(n);
  oracle::random r(seed);
  for (std::int64_t j = 0; j < n; ++j)
    mask.data()[j] = how == keeps::all || (how == keeps::some && r.number(0, 2) == 0);
  return mask;
}
std::vector<double> kept(std::vector<double> const& from, rows::around const& of, bool const* mask,
                         bool zeros) {
  std::vector<double> r;
  for (std::int64_t o = 0; o < of.outer; ++o) {
    std::int64_t rows = 0;
    for (std::int64_t j = 0; j < of.n; ++j)
      for (std::int64_t c = 0; mask[j] && c < of.inner; ++c) {
        r.push_back(from[std::size_t((o * of.n + j) * of.inner + c)]);
        rows += c == 0;
      }
    if (zeros) r.resize(r.size() + std::size_t((of.n - rows) * of.inner));
  }
  return r;
}
/// compress<Axis> of the values of x, which lie `there`
template <int Axis, class X, class There, class Mask>
void check_compress(X const& x, There const& there, Tensor<bool, Dextents<1>> const& mask,
                    Mask const& mask_there) {
  CAPTURE(Axis);
  auto const [values, count] = compress<Axis>(mask_there, there);
  X r(x.extents());
  Tensor<std::int64_t, Extents<>> found;
  run(into(r, values), into(found, count));
  rows::around const of(x.extents().as_shape(), Axis, 1);
  CHECK(same(values_in(r), kept(values_in(x), of, mask.data(), true)));
  CHECK(found() == std::count(mask.begin(), mask.end(), true));
}
template <int Axis, class X, class There, class Mask>
void check_select(X const& x, There const& there, Tensor<bool, Dextents<1>> const& mask,
                  Mask const& mask_there) {
  auto const rows = select<Axis>(there, mask_there);
  rows::around const of(x.extents().as_shape(), Axis, 1);
  CHECK(rows.extent(Axis) == std::count(mask.begin(), mask.end(), true));
  CHECK(same(values_in(rows), kept(values_in(x), of, mask.data(), false)));
}
template <class Where, int Axis, class T>
void check_compress_sizes() {
  for (std::int64_t const n : {0, 1, 33, 256, 1025, 3000})
    for (std::int64_t const others : {1, 2, 70})
      for (auto const how : {keeps::some, keeps::all, keeps::none}) {
        CAPTURE(n);
        CAPTURE(others);
        auto const x = Axis == 0 ? rows::random<T>(Dextents<2>(n, others), 1, 0, 100)
                                 : rows::random<T>(Dextents<2>(others, n), 1, 0, 100);
        auto const mask = mask_of(n, how, 2);
        Tensor<T, Dextents<2>, Where> const there(x);
        Tensor<bool, Dextents<1>, Where> const mask_there(mask);
        check_compress<Axis>(x, there, mask, mask_there);
        check_select<Axis>(x, there, mask, mask_there);
      }
}
/// the kernel of the host alone
template <class T>
void check_compressed_rows() {
  for (std::int64_t const n : {0, 1, 257, 2048})
    for (std::int64_t const inner : {1, 5}) {
      auto const x = rows::random<T>(Dextents<3>(2, n, inner), 3, 0, 100);
      auto const mask = mask_of(n, keeps::some, 4);
      Tensor<T, Dextents<3>> r(2, n, inner);
      algorithms::host::compress_rows(x.data(), mask.data(), r.data(), 2, n, inner, n);
      rows::around const of(x.extents().as_shape(), 1, 1);
      CHECK(same(values_in(r), kept(values_in(x), of, mask.data(), true)));
    }
}

/// the indices of the elements that are not 0, row by row
std::vector<double> places_of(std::vector<double> const& x, shape const& extents) {
  std::vector<double> r;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0) continue;
    std::int64_t below = std::int64_t(x.size()), rest = std::int64_t(i);
    for (int a = 0; a < extents.rank; ++a) {
      below /= extents.extent[a];
      r.push_back(double(rest / below));
      rest %= below;
    }
  }
  return r;
}
template <class There>
void check_nonzero(std::vector<double> const& x, There const& there) {
  shape const extents = there.extents().as_shape();
  auto want = places_of(x, extents);
  auto const [places, count] = nonzero(there);
  CHECK(fetch(count) * extents.rank == std::int64_t(want.size()));
  CHECK(same(values_in(trim(nonzero(there))), want));
  want.resize(std::size_t(extents.rank) * x.size());
  CHECK(same(values_in(eval(places)), want));
}
template <class T, class E>
Tensor<T, E> sparse(E const& extents, int one_of, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = r.number(0, one_of - 1) ? T(r.number(0, 1) ? 0.f : -0.f) : T(1);
  return x;
}
/// the kernel of the host alone
template <class T>
void check_places() {
  auto const x = sparse<T>(Dextents<2>(65, 33), 3, 20);
  Tensor<std::int64_t, Dextents<2>> r(65 * 33, 2);
  auto want = places_of(values_in(x), x.extents().as_shape());
  std::int64_t const found =
      algorithms::host::find_places(x.data(), x.extents().as_shape(), r.data(), x.size());
  CHECK(found * 2 == std::int64_t(want.size()));
  want.resize(std::size_t(r.size()));
  CHECK(same(values_in(r), want));
}

}  // namespace

TEST_CASE("nonzero is the plain loop") {
  on_few_backends([](backends::machine const& m) {
    std::int64_t const sizes[][3] = {{0, 2, 3}, {1, 1, 1}, {3, 5, 7}, {2, 1, 600}, {31, 33, 4}};
    for (auto const& s : sizes)
      for (int const one_of : {1, 3, 1000000}) {
        CAPTURE(s[2]);
        CAPTURE(one_of);
        auto const x = sparse<float>(Dextents<3>(s[0], s[1], s[2]), one_of, 21);
        auto const mask = sparse<bool>(Dextents<1>(s[0] * s[2]), one_of, 22);
        check_nonzero(values_in(x), x);
        check_nonzero(values_in(mask), mask);
        if (!m.has_gpu()) continue;
        check_nonzero(values_in(x), Tensor<float, Dextents<3>, GpuDevice<0>>(x));
        check_nonzero(values_in(mask), Tensor<bool, Dextents<1>, replicas::mirrored<2>>(mask));
      }
  });
  check_places<double>();
  check_places<half>();
  check_places<bfloat16>();
  check_places<std::int8_t>();
  check_places<std::uint8_t>();
  check_places<std::int32_t>();
  check_places<std::int64_t>();
  Tensor<float, Extents<2, 3>> const x{{NAN, 0.f, 1.f}, {0.f, 0.f, 2.f}};
  auto const all = eval(result<0>(nonzero(x)));
  static_assert(std::is_same_v<decltype(all)::extents_type, Extents<6, 2>>);
  CHECK(same(values_in(all), {0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0}));
  CHECK(same(values_in(trim(nonzero(x > 1.f))), {1, 2}));
}

namespace {

struct runs {
  std::vector<double> values, lengths;
  /// with zeros up to n
  runs with_room(std::int64_t n) const {
    runs r = *this;
    r.values.resize(std::size_t(n)), r.lengths.resize(std::size_t(n));
    return r;
  }
};
runs runs_of(std::vector<double> const& x) {
  runs r;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i > 0 && (x[i] == x[i - 1] || (std::isnan(x[i]) && std::isnan(x[i - 1]))))
      r.lengths.back() += 1;
    else
      r.values.push_back(x[i]), r.lengths.push_back(1);
  return r;
}
std::vector<double> in_order(std::vector<double> x) {
  std::sort(x.begin(), x.end(), [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  });
  return x;
}
/// NaN equals NaN, and -0.0 is not 0.0
bool same_numbers(std::vector<double> const& a, std::vector<double> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}
template <class T>
Tensor<T, Dextents<1>> repeated(std::int64_t n, int values, std::uint64_t seed) {
  Tensor<T, Dextents<1>> x(n);
  oracle::random r(seed);
  float const some[] = {0.f, -0.f, INFINITY, NAN, -NAN, 1.5f};
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0 && r.number(0, 1))
      x.data()[i] = x.data()[i - 1];
    else if constexpr (is_floating_v<T>)
      x.data()[i] = r.number(0, 3) ? T(float(r.number(0, values - 1))) : T(some[r.number(0, 5)]);
    else
      x.data()[i] = static_cast<T>(r.number(0, values - 1));
  }
  return x;
}
template <class Runs, class There>
void check_runs(Runs const& of, There const& there, runs const& want) {
  auto const [values, lengths] = trim(of(there));
  CHECK(same_numbers(values_in(values), want.values));
  CHECK(same(values_in(lengths), want.lengths));
  auto const call = of(there);
  std::int64_t const n = there.size();
  runs const all = want.with_room(n);
  Tensor<typename There::value_type, Dextents<1>> v(n);
  Tensor<std::int64_t, Dextents<1>> l(n);
  run(into(v, result<0>(call)), into(l, result<1>(call)));
  CHECK(fetch(result<2>(call)) == std::int64_t(want.values.size()));
  CHECK(same_numbers(values_in(v), all.values));
  CHECK(same(values_in(l), all.lengths));
}
/// the kernel of the host alone
template <class T>
void check_found_runs() {
  for (std::int64_t const n : {0, 1, 2, 1023, 5000}) {
    auto const x = repeated<T>(n, 2, 30);
    runs const want = runs_of(values_in(x)).with_room(n);
    Tensor<T, Dextents<1>> values(n);
    Tensor<std::int64_t, Dextents<1>> lengths(n);
    algorithms::host::find_runs(x.data(), n, values.data(), lengths.data(), n);
    CHECK(same_numbers(values_in(values), want.values));
    CHECK(same(values_in(lengths), want.lengths));
  }
}

}  // namespace

TEST_CASE("run_lengths and unique are the plain loops") {
  auto const runs_in = [](auto const& x) { return run_lengths(x); };
  auto const unique_in = [](auto const& x) { return unique(x); };
  on_few_backends([&](backends::machine const& m) {
    for (std::int64_t const n : {0, 1, 2, 33, 257, 4096})
      for (int const different : {1, 3, 1000}) {
        CAPTURE(n);
        CAPTURE(different);
        auto const x = repeated<float>(n, different, 31);
        runs const in_turn = runs_of(values_in(x)), sorted = runs_of(in_order(values_in(x)));
        check_runs(runs_in, x, in_turn);
        check_runs(unique_in, x, sorted);
        if (!m.has_gpu()) continue;
        Tensor<float, Dextents<1>, GpuDevice<0>> const there(x);
        check_runs(runs_in, there, in_turn);
        check_runs(unique_in, there, sorted);
      }
  });
  check_found_runs<double>();
  check_found_runs<half>();
  check_found_runs<bfloat16>();
  check_found_runs<bool>();
  check_found_runs<std::int8_t>();
  check_found_runs<std::uint8_t>();
  check_found_runs<std::int32_t>();
  check_found_runs<std::int64_t>();
  Tensor<int, Extents<5>> const few{3, 1, 3, 2, 1};
  auto const [values, counts, number] = unique(few);
  CHECK(same(values_in(trim(values)), {1, 2, 3}));
  CHECK(same(values_in(trim(counts)), {2, 1, 2}));
  auto const x = repeated<float>(300007, 5, 32);
  auto const was = config::get_intra_op_parallelism_threads();
  config::set_intra_op_parallelism_threads(5);
  check_runs(runs_in, x, runs_of(values_in(x)));
  config::set_intra_op_parallelism_threads(was);
}

TEST_CASE("compress and select are the plain loop") {
  on_few_backends([](backends::machine const& m) {
    check_compress_sizes<CpuDevice, 0, float>();
    check_compress_sizes<CpuDevice, 1, bool>();
    if (m.has_gpu()) check_compress_sizes<GpuDevice<0>, 1, float>();
  });
  check_compressed_rows<double>();
  check_compressed_rows<half>();
  check_compressed_rows<bfloat16>();
  check_compressed_rows<std::int8_t>();
  check_compressed_rows<std::uint8_t>();
  check_compressed_rows<std::int32_t>();
  check_compressed_rows<std::int64_t>();
}

TEST_CASE("compress of pieces along other axes has no traffic") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    for (std::int64_t const n : {7, 2, 1, 0}) {
      CAPTURE(n);
      auto const x = rows::random<float>(Dextents<2>(n, 5), 5);
      auto const flat = mask_of(n, keeps::some, 6), mask = mask_of(5, keeps::some, 7);
      using M = Tensor<bool, Dextents<1>, replicas::mirrored<3>>;
      Tensor<bool, Dextents<1>, replicas::cut<3>> const pieces(mask);
      Tensor<float, Dextents<2>, replicas::mirrored<3>> const whole(x);
      Tensor<float, Dextents<2>, replicas::cut<3, 0>> const three(x);
      Tensor<float, Dextents<2>, replicas::cut<1, 0>> const one(x);
      check_compress<0>(x, whole, flat, M(flat));
      check_compress<1>(x, three, mask, M(mask));
      check_compress<1>(x, three, mask, pieces);
      check_compress<1>(x, one, mask, Tensor<bool, Dextents<1>, replicas::mirrored<1>>(mask));
      check_select<1>(x, three, mask, M(mask));
    }
  });
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using Mask = Tensor<bool, Extents<9>, replicas::mirrored<3>>;
  using A = decltype(result<0>(compress<1>(std::declval<Mask&>(), std::declval<Rows&>())));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
  using B = decltype(result<1>(compress<1>(std::declval<Mask&>(), std::declval<Rows&>())));
  static_assert(plan_of<B>.result() == replicas::mirrored<3>::value && plan_of<B>.copies() == 0);
}

TEST_CASE("a long list on several threads; static extents, computed operands, names, errors") {
  auto const x = rows::random<float>(Dextents<2>(300007, 1), 6);
  auto const mask = mask_of(x.extent(0), keeps::some, 7);
  auto const was = config::get_intra_op_parallelism_threads();
  for (int const threads : {1, 2, 5}) {
    config::set_intra_op_parallelism_threads(threads);
    check_compress<0>(x, x, mask, mask);
    check_select<0>(x, x, mask, mask);
  }
  config::set_intra_op_parallelism_threads(was);

  Tensor<float, Extents<2, 3>> const y{{3.f, 1.f, 2.f}, {6.f, 5.f, 4.f}};
  Tensor<bool, Extents<3>> const odd{true, false, true};
  auto const [z, number] = compress<-1>(odd, y);
  static_assert(std::is_same_v<decltype(eval(z))::extents_type, Extents<2, 3>>);
  static_assert(decltype(number)::pattern.rank == 0);
  CHECK(same(values_in(eval(z)), {3, 2, 0, 6, 4, 0}));
  CHECK(same(values_in(select(transpose(y) * 2.f, odd)), {6, 12, 4, 8}));
  Tensor<float, Extents<3>> const a{1, 2, 3}, b{4, 5, 6};
  CHECK(fetch(sum(result<0>(compress(odd, a)) - result<0>(compress(odd, named<"b">(b))))) == -6);
  CHECK(message_of<shape_error>([&] {
          (void)select(x, mask_of(3, keeps::all, 0));
        }).find("compress") != std::string::npos);
}

TEST_CASE("the gradient of compress moves the adjoint back") {
  on_few_backends([](backends::machine const& m) {
    auto x = rows::random<double>(Dextents<2>(5, 4), 8);
    auto const w = rows::random<double>(Dextents<2>(5, 4), 9);
    auto flat = mask_of(5, keeps::all, 0), columns = mask_of(4, keeps::all, 0);
    flat.data()[1] = flat.data()[4] = columns.data()[0] = false;
    auto const p = named<"x">(x);
    rows::check_gradient(sum(w * square(result<0>(compress(flat, p)))), x, p);
    if (!m.has_gpu()) return;
    auto const want = values_in(grad(sum(w * result<0>(compress<1>(columns, p))), p));
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x), weights(w);
    Tensor<bool, Dextents<1>, replicas::mirrored<2>> const mask(columns);
    auto const q = named<"cut">(cut);
    CHECK(same(values_in(grad(sum(weights * result<0>(compress<1>(mask, q))), q)), want));
  });
}

}  // namespace selections_test

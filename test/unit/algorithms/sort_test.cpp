// SPDX-License-Identifier: Apache-2.0
// sort, argsort and sort_by_key beside std::stable_sort: axes, types, lengths, NaNs and zeros of both signs, long lines
// on several threads, pieces along other axes, the gradient.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <replicas.hpp>

#include "rows.hpp"

namespace sort_test {

using namespace locus;
using locus::half;
using rows::values_in;

namespace {

bool comes_before(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
  return a < b;
}
/// places, or values
template <class X>
std::vector<double> sorted(X const& x, int axis, bool places) {
  rows::around const of(x.extents().as_shape(), axis, 1);
  auto const from = values_in(x);
  std::vector<double> r(from.size());
  std::vector<std::int64_t> order(std::size_t(of.n));
  for (std::int64_t line = 0; line < of.outer * of.inner; ++line) {
    std::int64_t const first = line / of.inner * of.n * of.inner + line % of.inner;
    auto const at = [&](std::int64_t j) { return std::size_t(first + j * of.inner); };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return comes_before(from[at(a)], from[at(b)]);
    });
    for (std::int64_t j = 0; j < of.n; ++j) {
      std::int64_t const k = order[std::size_t(j)];
      r[at(j)] = places ? double(k) : from[at(k)];
    }
  }
  return r;
}
/// NaN equals NaN, and -0.0 is not 0.0
bool same(std::vector<double> const& a, std::vector<double> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}
template <class T, class E>
Tensor<T, E> wild(E const& extents, std::uint64_t seed) {
  Tensor<T, E> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = r.value<T>(-1000, 1000);
    if constexpr (is_floating_v<T>) {
      float const some[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN, 1.5f, -1.5f};
      if (r.number(0, 2) == 0) x.data()[i] = T(some[r.number(0, 7)]);
    } else if (r.number(0, 3) == 0)
      x.data()[i] = r.number(0, 1) ? std::numeric_limits<T>::lowest() : T(3);
  }
  return x;
}
template <int Axis, class X, class There>
void check_sorts(X const& x, There const& there) {
  CAPTURE(Axis);
  CHECK(same(values_in(sort<Axis>(there)), sorted(x, Axis, false)));
  CHECK(values_in(argsort<Axis>(there)) == sorted(x, Axis, true));
}
template <class Where, class T>
void check_types() {
  std::int64_t const sizes[][3] = {{1, 1, 1},  {2, 0, 3},  {1, 64, 1},
                                   {2, 65, 2}, {70, 3, 1}, {1, 3000, 2}};
  for (auto const& s : sizes) {
    CAPTURE(s[1]);
    auto const x = wild<T>(Dextents<3>(s[0], s[1], s[2]), 1);
    Tensor<T, Dextents<3>, Where> const there(x);
    check_sorts<0>(x, there);
    check_sorts<1>(x, there);
    check_sorts<2>(x, there);
  }
}
template <int R>
void check_pieces() {
  CAPTURE(R);
  for (std::int64_t const n : {7, 2, 1, 0}) {
    CAPTURE(n);
    auto const x = wild<float>(Dextents<3>(n, 5, 3), 2);
    Tensor<float, Dextents<3>, replicas::mirrored<R>> const whole(x);
    Tensor<float, Dextents<3>, replicas::cut<R, 0>> const rows(x);
    Tensor<float, Dextents<3>, replicas::cut<R, 2>> const columns(x);
    check_sorts<0>(x, whole);
    check_sorts<1>(x, whole);
    check_sorts<1>(x, rows);
    check_sorts<2>(x, rows);
    check_sorts<0>(x, columns);
    check_sorts<1>(x, columns);
  }
}

}  // namespace

TEST_CASE("sort and argsort are std::stable_sort, for each type") {
  on_few_backends([](backends::machine const& m) {
    check_types<CpuDevice, float>();
    check_types<CpuDevice, double>();
    check_types<CpuDevice, half>();
    check_types<CpuDevice, bfloat16>();
    check_types<CpuDevice, std::int64_t>();
    check_types<CpuDevice, int>();
    if (!m.has_gpu()) return;
    check_types<GpuDevice<0>, float>();
    check_types<GpuDevice<1>, double>();
    check_types<GpuDevice<0>, half>();
    check_types<GpuDevice<0>, int>();
  });
}

TEST_CASE("a long line is sorted by several threads in the same way; static extents stay static") {
  auto const x = wild<float>(Dextents<1>(300007), 3);
  auto const was = config::get_intra_op_parallelism_threads();
  for (int const threads : {1, 2, 5}) {
    config::set_intra_op_parallelism_threads(threads);
    check_sorts<0>(x, x);
  }
  config::set_intra_op_parallelism_threads(was);
  Tensor<float, Extents<2, 3>> const y{{3.f, 1.f, 2.f}, {6.f, 5.f, 4.f}};
  auto const z = eval(argsort<-1>(y));
  static_assert(std::is_same_v<decltype(z)::extents_type, Extents<2, 3>>);
  CHECK(values_in(z) == std::vector<double>{1, 2, 0, 2, 1, 0});
  CHECK(values_in(eval(sort<0>(transpose(y)) * 2.f)) == std::vector<double>{2, 8, 4, 10, 6, 12});
  static_assert(plan_of<decltype(sort<0>(y))>.launches() == 1);
}

TEST_CASE("sorts of pieces along other axes have no traffic") {
  on_backends([](backends::machine const& m) {
    if (m.gpus > 0 && m.gpus < 4) return;
    check_pieces<1>();
    check_pieces<2>();
    check_pieces<3>();
  });
  using Rows = Tensor<float, Extents<12, 9>, replicas::cut<3, 0>>;
  using A = decltype(sort<1>(std::declval<Rows&>()));
  static_assert(plan_of<A>.result() == replicas::cut<3>::value && plan_of<A>.copies() == 0 &&
                plan_of<A>.all_reduces() == 0 && plan_of<A>.launches() == 1);
}

namespace {

/// the values in the order of their keys along Axis
std::vector<double> moved(std::vector<double> const& values, rows::around const& of,
                          std::vector<double> const& places) {
  std::vector<double> r(values.size());
  for (std::int64_t i = 0; i < std::int64_t(r.size()); ++i) {
    std::int64_t const first = i / (of.n * of.inner) * of.n * of.inner + i % of.inner;
    r[std::size_t(i)] =
        values[std::size_t(first + std::int64_t(places[std::size_t(i)]) * of.inner)];
  }
  return r;
}
template <int Axis, class Keys, class Values, class K, class V>
void check_by_key(Keys const& keys, Values const& values, K const& keys_there,
                  V const& values_there) {
  auto const [k, v] = sort_by_key<Axis>(keys_there, values_there);
  Keys r(keys.extents());
  Values w(keys.extents());
  run(into(r, k), into(w, v));
  rows::around const of(keys.extents().as_shape(), Axis, 1);
  bool const right = same(values_in(r), sorted(keys, Axis, false)) &&
                     same(values_in(w), moved(values_in(values), of, sorted(keys, Axis, true)));
  CHECK(right);
  bool const alone = same(values_in(eval(v)), values_in(w));
  CHECK(alone);
}
/// the kernel of the host alone
template <class K, class V>
void check_moved_by_key() {
  auto const keys = wild<K>(Dextents<3>(2, 700, 2), 8);
  auto const values = rows::random<V>(Dextents<3>(2, 700, 2), 9, 0, 100);
  Tensor<V, Dextents<3>> v(2, 700, 2);
  algorithms::host::sort_lines_by_key(keys.data(), values.data(), static_cast<K*>(nullptr),
                                      v.data(), 2, 700, 2);
  rows::around const of(keys.extents().as_shape(), 1, 1);
  bool const right = same(values_in(v), moved(values_in(values), of, sorted(keys, 1, true)));
  CHECK(right);
}

}  // namespace

TEST_CASE("sort_by_key is std::stable_sort of pairs; pieces; the gradient by the values") {
  on_few_backends([](backends::machine const& m) {
    std::int64_t const sizes[][2] = {{0, 3}, {1, 1}, {33, 2}, {256, 1}, {5000, 3}};
    for (auto const& s : sizes) {
      CAPTURE(s[0]);
      auto const keys = wild<float>(Dextents<2>(s[0], s[1]), 10);
      auto const values = rows::random<double>(Dextents<2>(s[0], s[1]), 11);
      check_by_key<0>(keys, values, keys, values);
      if (!m.has_gpu()) continue;
      Tensor<float, Dextents<2>, GpuDevice<0>> const there(keys);
      check_by_key<0>(keys, values, there, Tensor<double, Dextents<2>, GpuDevice<0>>(values));
      Tensor<float, Dextents<2>, replicas::cut<2, 0>> const cut(keys);
      check_by_key<1>(keys, values, cut, Tensor<double, Dextents<2>, replicas::cut<2, 0>>(values));
      check_by_key<1>(keys, values, cut,
                      Tensor<double, Dextents<2>, replicas::mirrored<2>>(values));
    }
    auto values = rows::random<double>(Dextents<2>(5, 4), 12);
    auto const keys = rows::random<int>(Dextents<2>(5, 4), 13, 0, 3);
    auto const w = rows::random<double>(Dextents<2>(5, 4), 14);
    auto const p = named<"values">(values);
    auto const [first, second] = sort_by_key<0>(keys, p);
    CHECK(internal::shape_now(first) == shape{2, {5, 4}});  // of each result of a call
    CHECK(internal::shape_now(second) == shape{2, {5, 4}});
    rows::check_gradient(sum(w * sin(second)), values, p);
  });
  check_moved_by_key<half, std::int64_t>();
  check_moved_by_key<bfloat16, bool>();
  check_moved_by_key<double, half>();
  check_moved_by_key<std::int32_t, std::uint8_t>();
  check_moved_by_key<std::int64_t, std::int8_t>();
  auto keys = rows::random<double>(Dextents<1>(6), 15);
  auto const q = named<"keys">(keys);
  CHECK(values_in(grad(sum(sort_by_key(q, q * 2.).second), q)) == std::vector<double>(6, 2));
}

TEST_CASE("a radix sort is std::stable_sort, whatever the bits in which keys differ") {
  using item = algorithms::host::keyed<std::uint64_t, std::int64_t>;
  oracle::random r(16);
  for (std::int64_t const n : {0, 1, 64, 65, 4095, 4096, 30000, 200000})
    for (int const bits : {0, 1, 8, 11, 12, 33, 64})
      for (int const low : {0, 20}) {
        CAPTURE(n);
        CAPTURE(bits);
        CAPTURE(low);
        std::vector<item> a(static_cast<std::size_t>(n)), b(a);
        for (std::int64_t i = 0; i < n; ++i) {
          auto k = std::uint64_t(r.number(0, 1 << 30)) << 34 ^
                   std::uint64_t(r.number(0, 1 << 30)) << 15 ^ std::uint64_t(r.number(0, 1 << 30));
          if (r.number(0, 1)) k |= 1023ull << 50;  // many alike in the highest bits
          a[std::size_t(i)] = {bits == 0 ? 5 : k >> (64 - bits) << (bits + low <= 64 ? low : 0), i};
        }
        auto want = a;
        std::stable_sort(want.begin(), want.end(),
                         [](item const& x, item const& y) { return x.key < y.key; });
        bool const to_b = bits == 12;
        algorithms::host::sort_by_digits(a.data(), b.data(), n, to_b);
        auto const& found = to_b ? b : a;
        bool const right =
            std::equal(found.begin(), found.end(), want.begin(), [](item const& x, item const& y) {
              return x.key == y.key && x.value == y.value;
            });
        CHECK(right);
      }
}

TEST_CASE("a radix sort ends where more keys are alike than a 32-bit number counts") {
  using item = algorithms::host::keyed<std::uint8_t, std::int64_t>;
  for (int const values : {1, 2, 256})
    for (bool const to_b : {false, true}) {
      CAPTURE(values);
      CAPTURE(to_b);
      std::vector<item> a(20000), b(a);
      for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = {static_cast<std::uint8_t>(values == 1 ? 3 : int(i * 7) % values), std::int64_t(i)};
      auto want = a;
      std::stable_sort(want.begin(), want.end(),
                       [](item const& x, item const& y) { return x.key < y.key; });
      algorithms::host::sort_by_digits<50>(a.data(), b.data(), std::int64_t(a.size()), to_b);
      auto const& found = to_b ? b : a;
      bool const right =
          std::equal(found.begin(), found.end(), want.begin(), [](item const& x, item const& y) {
            return x.key == y.key && x.value == y.value;
          });
      CHECK(right);
    }
}

namespace {

/// parts moved past the caches are those of a plain loop, wherever b begins in a line
template <class Item, class Make>
void check_moved_parts(Make const& make) {
  oracle::random draw(23);
  for (std::int64_t const n : {1, 15, 16, 17, 1000, 20000})
    for (int const parts : {1, 3, 16, 1024})
      for (std::int64_t const offset : {0, 1, 3}) {
        CAPTURE(n);
        CAPTURE(parts);
        CAPTURE(offset);
        std::vector<Item> a(static_cast<std::size_t>(n)), want(a), found(a.size() + 16, make(0));
        std::int64_t at[1024]{}, again[1024];
        for (auto& item : a) item = make(static_cast<int>(draw.number(0, parts - 1)));
        auto const part_of = [](Item const& item) {
          return static_cast<int>(algorithms::host::key_in(item));
        };
        for (auto const& item : a) ++at[part_of(item)];
        algorithms::host::begins_of_counts(at, parts);
        std::copy(at, at + parts, again);
        for (auto const& item : a) want[std::size_t(again[part_of(item)]++)] = item;
        auto* const to = found.data() + offset;
        algorithms::host::move_past_caches(a.data(), to, n, at, parts, part_of);
        CHECK(std::memcmp(to, want.data(), a.size() * sizeof(Item)) == 0);
        CHECK(algorithms::host::key_in(to[n]) == 0);  // nothing is stored behind the last item
        CHECK(std::equal(at, at + parts, again));
      }
}

}  // namespace

TEST_CASE("parts that are moved past the caches are those of a plain loop") {
  using pair = algorithms::host::keyed<std::uint32_t, float>;
  using place = algorithms::host::keyed<std::uint64_t, std::int64_t>;
  int number = 0;
  check_moved_parts<std::uint32_t>([](int k) { return std::uint32_t(k); });
  check_moved_parts<std::uint64_t>([](int k) { return std::uint64_t(k); });
  check_moved_parts<pair>([&](int k) { return pair{std::uint32_t(k), float(++number)}; });
  check_moved_parts<place>([&](int k) { return place{std::uint64_t(k), ++number}; });
}

TEST_CASE("the gradient of sort moves the adjoint back") {
  on_few_backends([](backends::machine const& m) {
    auto x = rows::random<double>(Dextents<2>(5, 4), 6);
    auto const w = rows::random<double>(Dextents<2>(5, 4), 7);
    auto const p = named<"x">(x);
    rows::check_gradient(sum(w * square(sort<0>(p))), x, p);
    rows::check_gradient(sum(w * sin(sort<-1>(p))), x, p);
    if (!m.has_gpu()) return;
    auto const want = values_in(grad(sum(w * sort<1>(p)), p));
    Tensor<double, Dextents<2>, replicas::cut<2>> const cut(x), cut_weights(w);
    Tensor<double, Dextents<2>, replicas::mirrored<2>> const weights(w);
    auto const q = named<"cut">(cut);
    CHECK(values_in(grad(sum(cut_weights * sort<1>(q)), q)) == want);
    CHECK(values_in(grad(sum(weights * sort<1>(q)), q)) == want);
  });
}

}  // namespace sort_test

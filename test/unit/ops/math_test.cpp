// SPDX-License-Identifier: Apache-2.0
// Every element-wise operation against plain C++ on random data, for every element type it takes.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <array>

namespace math_test {

using namespace locus;
using oracle::array, oracle::ulp;

namespace {

template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T infinity_of = std::numeric_limits<T>::infinity();

using Vector = Dextents<1>;
template <class T>
using Row = Tensor<T, Vector>;

/// random numbers, and where they are few the special ones in every pair
template <class T>
void fill_pair(oracle::random& r, array<T>& a, array<T>& b, std::int64_t n, double low,
               double high) {
  a = oracle::random_array<T>(r, {1, {n}}, low, high);
  b = oracle::random_array<T>(r, {1, {n}}, low, high);
  constexpr auto special = [] {
    using limits = std::numeric_limits<T>;
    if constexpr (is_floating_v<T>)
      return std::array{nan_of<T>, infinity_of<T>, -infinity_of<T>, T(0), T(-0.0), T(1)};
    else
      return std::array{limits::max(), limits::min(), T(0), T(1), static_cast<T>(-1), T(7)};
  }();
  if (n < 100) return;
  for (std::int64_t i = 0; i < 36; ++i)
    a[i] = special[std::size_t(i / 6)], b[i] = special[std::size_t(i % 6)];
}

constexpr std::int64_t sizes[] = {0, 1, 7, 64, 65, 1000, 70001};

/// unsigned arithmetic: what a wrapping sum, difference and product are
template <class T>
T wrap(std::uint64_t v) {
  return static_cast<T>(v);
}
template <class T>
std::uint64_t bits(T v) {
  return static_cast<std::uint64_t>(v);
}
__extension__ typedef __int128 wide_integer;
template <class T>
T floor_quotient(T a, T b) {
  if (b == 0) return 0;
  wide_integer const x = a, y = b, q = x / y;
  return static_cast<T>(q * y != x && (x < 0) != (y < 0) ? q - 1 : q);
}
template <class T>
T truncated_quotient(T a, T b) {
  return b == 0 ? T(0) : static_cast<T>(static_cast<wide_integer>(a) / b);
}

template <class T>
void check_floats() {
  oracle::random r(1);
  for (std::int64_t n : sizes) {
    array<T> a, b;
    fill_pair(r, a, b, n, -9, 9);
    auto const x = oracle::tensor<1>(a), y = oracle::tensor<1>(b);
    Row<T> sum(n), difference(n), product(n), quotient(n), larger(n), smaller(n), held(n), down(n);
    constexpr auto gpu = [](auto const& e) { return on<GpuDevice<0>>(e); };
    run(plan(into(sum, gpu(x + y)), into(difference, gpu(x - y)), into(product, gpu(x * y)),
             into(quotient, gpu(x / y)), into(larger, gpu(maximum(x, y))),
             into(smaller, gpu(minimum(x, y))), into(held, gpu(clamp(x, y, T(3)))),
             into(down, gpu(floor_div(x, y)))));
    auto same = [&](auto const& t, auto f) {
      CHECK(oracle::difference(t, oracle::map<T>(a.extents, f, a, b)) == "");
    };
    auto most = [](T p, T q) { return p != p || q != q ? nan_of<T> : p > q ? p : q; };
    auto least = [](T p, T q) { return p != p || q != q ? nan_of<T> : p < q ? p : q; };
    same(sum, [](T p, T q) { return p + q; });
    same(difference, [](T p, T q) { return p - q; });
    same(product, [](T p, T q) { return p * q; });
    same(quotient, [](T p, T q) { return p / q; });
    same(larger, most);
    same(smaller, least);
    same(held, [&](T p, T q) { return least(most(p, q), T(3)); });
    same(down, [](T p, T q) { return std::floor(p / q); });
  }
}

template <class T>
void check_float_functions() {
  oracle::random r(2);
  for (std::int64_t n : sizes) {
    array<T> a, b;
    fill_pair(r, a, b, n, -20, 20);
    auto const x = oracle::tensor<1>(a);
    Row<T> e(n), l(n), root(n), t(n), positive(n), size(n), squared(n), negative(n);
    constexpr auto gpu = [](auto const& v) { return on<GpuDevice<0>>(v); };
    run(plan(into(e, gpu(exp(x))), into(l, gpu(log(abs(x)))), into(root, gpu(sqrt(x))),
             into(t, gpu(tanh(x))), into(positive, gpu(relu(x))), into(size, gpu(abs(x))),
             into(squared, gpu(square(x))), into(negative, gpu(-x))));
    using wide = long double;
    auto close = [&](auto const& is, double ulps, auto f) {
      CHECK(oracle::difference(is,
                               oracle::map<wide>(
                                   a.extents, [&](T v) { return f(static_cast<wide>(v)); }, a),
                               ulps * ulp<T>) == "");
    };
    close(e, 2, [](wide v) { return std::exp(v); });
    close(l, 2, [](wide v) { return std::log(std::fabs(v)); });
    close(root, 0.5, [](wide v) { return std::sqrt(v); });
    close(t, 4, [](wide v) { return std::tanh(v); });
    close(positive, 0, [](wide v) { return v < 0 ? 0 : v; });
    close(size, 0, [](wide v) { return std::fabs(v); });
    close(squared, 0.5, [](wide v) { return v * v; });
    close(negative, 0, [](wide v) { return -v; });
  }
}

template <class T>
void check_integers() {
  oracle::random r(3);
  using limits = std::numeric_limits<T>;
  double const low = static_cast<double>(limits::min()) / 2,
               high = static_cast<double>(limits::max()) / 2;
  for (std::int64_t n : sizes) {
    array<T> a, b;
    fill_pair(r, a, b, n, low, high);
    for (std::int64_t i = 40; i < n; i += 2) b[i] = static_cast<T>(r.number(0, 20));
    auto const x = oracle::tensor<1>(a), y = oracle::tensor<1>(b);
    Row<T> sum(n), difference(n), product(n), down(n), cut(n), larger(n), held(n), negative(n),
        size(n), positive(n);
    Row<double> exact(n);
    constexpr auto gpu = [](auto const& e) { return on<GpuDevice<0>>(e); };
    run(plan(into(sum, gpu(x + y)), into(difference, gpu(x - y)), into(product, gpu(x * y)),
             into(down, gpu(floor_div(x, y))), into(cut, gpu(trunc_div(x, y))),
             into(exact, gpu(true_div(x, y))), into(larger, gpu(maximum(x, y))),
             into(held, gpu(clamp(x, 3, y))), into(negative, gpu(-x)), into(size, gpu(abs(x))),
             into(positive, gpu(relu(x)))));
    auto same = [&](auto const& t, auto f) {
      CHECK(oracle::difference(t, oracle::map<T>(a.extents, f, a, b)) == "");
    };
    same(sum, [](T p, T q) { return wrap<T>(bits(p) + bits(q)); });
    same(difference, [](T p, T q) { return wrap<T>(bits(p) - bits(q)); });
    same(product, [](T p, T q) { return wrap<T>(bits(p) * bits(q)); });
    same(down, floor_quotient<T>);
    same(cut, truncated_quotient<T>);
    same(larger, [](T p, T q) { return p > q ? p : q; });
    same(held, [](T p, T q) { return std::min(std::max(p, T(3)), q); });
    same(negative, [](T p, T) { return wrap<T>(0 - bits(p)); });
    same(size, [](T p, T) { return p < 0 ? wrap<T>(0 - bits(p)) : p; });
    same(positive, [](T p, T) { return p < 0 ? T(0) : p; });
    CHECK(oracle::difference(exact, oracle::map<double>(
                                        a.extents,
                                        [](T p, T q) {
                                          return q == 0 ? 0.0
                                                        : static_cast<double>(p) /
                                                              static_cast<double>(q);
                                        },
                                        a, b)) == "");
  }
}

/// one of the functors, chosen when the program runs: one kernel for all of them
template <class T>
struct chosen {
  static constexpr auto kernels = on_both;
  static constexpr int count = is_floating_v<T> ? 21 : 17;
  int which;
  LOCUS_HOST_DEVICE T operator()(T a, T b) const {
    switch (which) {
    case 0: return add_fn{}(a, b);
    case 1: return subtract_fn{}(a, b);
    case 2: return multiply_fn{}(a, b);
    case 3: return floor_div_fn{}(a, b);
    case 4: return trunc_div_fn{}(a, b);
    case 5: return maximum_fn{}(a, b);
    case 6: return minimum_fn{}(a, b);
    case 7: return clamp_fn{}(a, T(2), b);
    case 8: return negate_fn{}(a);
    case 9: return abs_fn{}(a);
    case 10: return square_fn{}(a);
    case 11: return relu_fn{}(a);
    case 12: return add_n_fn{}(a, b, a);
    case 13: return where_fn{}(less_fn{}(a, b), a, b);
    case 14: return where_fn{}(less_equal_fn{}(a, b), a, b);
    case 15: return T(equal_to_fn{}(a, b) + 2 * not_equal_to_fn{}(a, b));
    case 16: return T(greater_fn{}(a, b) + 2 * greater_equal_fn{}(a, b));
    }
    if constexpr (is_floating_v<T>) switch (which) {
      case 17: return exp_fn{}(a);
      case 18: return log_fn{}(a);
      case 19: return sqrt_fn{}(a);
      case 20: return tanh_fn{}(a);
      }
    return T(0);
  }
  static long double meant(int which, T a, T b) {
    using wide = long double;
    wide const x = static_cast<wide>(a), y = static_cast<wide>(b);
    bool const unordered = a != a || b != b;
    auto wrapped = [](std::uint64_t v) { return static_cast<wide>(wrap<T>(v)); };
    wide const none = std::numeric_limits<wide>::quiet_NaN();
    constexpr bool real = is_floating_v<T>;
    auto whole = [](T v) {
      if constexpr (real)
        return std::uint64_t(0);
      else
        return bits(v);
    };
    std::uint64_t const p = whole(a), q = whole(b);
    auto least = [none](wide m, wide n) { return m != m || n != n ? none : m < n ? m : n; };
    auto most = [none](wide m, wide n) { return m != m || n != n ? none : m > n ? m : n; };
    switch (which) {
    case 0: return real ? x + y : wrapped(p + q);
    case 1: return real ? x - y : wrapped(p - q);
    case 2: return real ? x * y : wrapped(p * q);
    case 3:
    case 4:
      if constexpr (real)
        return which == 3 ? std::floor(a / b) : std::trunc(a / b);
      else
        return static_cast<wide>(which == 3 ? floor_quotient(a, b) : truncated_quotient(a, b));
    case 5: return most(x, y);
    case 6: return least(x, y);
    case 7: return least(most(x, 2), y);
    case 8: return real ? -x : wrapped(0 - p);
    case 9: return real ? std::fabs(x) : a < 0 ? wrapped(0 - p) : x;
    case 10: return real ? x * x : wrapped(p * p);
    case 11: return x < 0 ? 0 : x;
    case 12: return real ? x + y + x : wrapped(p + q + p);
    case 13: return !unordered && x < y ? x : y;
    case 14: return !unordered && x <= y ? x : y;
    case 15: return a == b ? 1 : 2;
    case 16: return unordered ? 0 : x > y ? 3 : x == y ? 2 : 0;
    case 17: return std::exp(x);
    case 18: return std::log(x);
    case 19: return std::sqrt(x);
    default: return std::tanh(x);
    }
  }
};
template <class T>
void check_functors() {
  oracle::random r(3);
  using limits = std::numeric_limits<T>;
  bool const real = is_floating_v<T>;
  array<T> a, b;
  fill_pair(r, a, b, 1000, real ? -9. : static_cast<double>(limits::min()) / 2,
            real ? 9. : static_cast<double>(limits::max()) / 2);
  if (!real)
    for (std::int64_t i = 40; i < 1000; i += 2) b[i] = static_cast<T>(r.number(0, 20));
  auto const x = oracle::tensor<1>(a), y = oracle::tensor<1>(b);
  for (int k = 0; k < chosen<T>::count; ++k) {
    Row<T> const t(on<GpuDevice<0>>(map(chosen<T>{k}, x, y)));
    auto meant = [k](T p, T q) { return chosen<T>::meant(k, p, q); };
    INFO("functor ", k);
    CHECK(oracle::difference(t, oracle::map<long double>(a.extents, meant, a, b),
                             k >= 17 ? 4 * ulp<T> : 1.5 * ulp<T>, k == 12 ? 20 * ulp<T> : 0) == "");
  }
}

/// comparisons, and where on what one of them says
template <class T>
void check_comparisons() {
  oracle::random r(4);
  for (std::int64_t n : sizes) {
    array<T> a, b;
    fill_pair(r, a, b, n, 0, 5);
    auto const x = oracle::tensor<1>(a), y = oracle::tensor<1>(b);
    Row<bool> eq(n), ne(n), lt(n), le(n), gt(n), ge(n);
    Row<T> chosen(n);
    constexpr auto gpu = [](auto const& e) { return on<GpuDevice<0>>(e); };
    run(plan(into(eq, gpu(x == y)), into(ne, gpu(x != y)), into(lt, gpu(x < y)),
             into(le, gpu(x <= y)), into(gt, gpu(x > y)), into(ge, gpu(x >= 2)),
             into(chosen, gpu(where(x < y && !(x == 1), x, y)))));
    auto same = [&](auto const& t, auto f) {
      using R = typename std::remove_cvref_t<decltype(t)>::value_type;
      CHECK(oracle::difference(t, oracle::map<R>(a.extents, f, a, b)) == "");
    };
    same(eq, [](T p, T q) { return p == q; });
    same(ne, [](T p, T q) { return p != q; });
    same(lt, [](T p, T q) { return p < q; });
    same(le, [](T p, T q) { return p <= q; });
    same(gt, [](T p, T q) { return p > q; });
    same(ge, [](T p, T) { return p >= 2; });
    same(chosen, [](T p, T q) { return p < q && p != 1 ? p : q; });
  }
}

/// what a cast must give, from the exact value
template <class To, class From>
To converted(From v) {
  if constexpr (std::is_same_v<To, bool>)
    return v != From(0);
  else if constexpr (is_floating_v<From> && is_integer_v<To>) {
    if (v != v) return 0;
    long double const exact = std::trunc(static_cast<long double>(v));
    if (exact <= static_cast<long double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (exact >= static_cast<long double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(exact);
  } else if constexpr (is_floating_v<To>)
    return static_cast<To>(v);
  else
    return wrap<To>(bits(v));
}

template <class From>
array<From> cast_examples() {
  oracle::random r(5);
  array<From> a, b;
  fill_pair(r, a, b, 500, -300, 300);
  if constexpr (is_floating_v<From>) {
    double const edges[] = {-0.9,   0.9,         254.5,           255,          255.5,
                            256,    2147483520., 2147483648.,     -2147483648., -2147483904.,
                            0x1p63, -0x1p63,     0x1p63 - 0x1p40, 1e30,         -1e30};
    for (std::size_t i = 0; i < std::size(edges); ++i)
      a[std::int64_t(40 + i)] = static_cast<From>(edges[i]);
  }
  return a;
}
template <class To, class From>
void check_cast() {
  array<From> const a = cast_examples<From>();
  int wrong = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    To const is = cast_fn<To>{}(a[i]);
    wrong += !oracle::agree(is, converted<To>(a[i]), 0, 0);
  }
  CHECK(wrong == 0);
}
template <class From>
void check_casts_from() {
  check_cast<float, From>(), check_cast<double, From>(), check_cast<std::int32_t, From>();
  check_cast<std::int64_t, From>(), check_cast<std::uint8_t, From>(), check_cast<bool, From>();
}
void check_cast_kernels() {
  auto const f = cast_examples<float>();
  auto const d = cast_examples<double>();
  auto const i = cast_examples<std::int32_t>();
  auto const l = cast_examples<std::int64_t>();
  auto const u = cast_examples<std::uint8_t>();
  auto const b = cast_examples<bool>();
  Row<std::int32_t> to_i(on<GpuDevice<0>>(cast<std::int32_t>(oracle::tensor<1>(f))));
  Row<std::int64_t> to_l(on<GpuDevice<0>>(cast<std::int64_t>(oracle::tensor<1>(d))));
  Row<std::uint8_t> to_u(on<GpuDevice<0>>(cast<std::uint8_t>(oracle::tensor<1>(i))));
  Row<double> to_d(on<GpuDevice<0>>(cast<double>(oracle::tensor<1>(l))));
  Row<bool> to_b(on<GpuDevice<0>>(cast<bool>(oracle::tensor<1>(u))));
  Row<float> to_f(on<GpuDevice<0>>(cast<float>(oracle::tensor<1>(b))));
  auto same = [](auto const& t, auto const& from) {
    using To = typename std::remove_cvref_t<decltype(t)>::value_type;
    CHECK(
        oracle::difference(
            t, oracle::map<To>(from.extents, [](auto v) { return converted<To>(v); }, from)) == "");
  };
  same(to_i, f), same(to_l, d), same(to_u, i), same(to_d, l), same(to_b, u), same(to_f, b);
}

/// a functor of the user's, with a state, for both sides
struct weighted {
  static constexpr auto name = "weighted";
  static constexpr auto kernels = on_both;
  double weight;
  LOCUS_HOST_DEVICE double operator()(double a, float b, std::int32_t c) const {
    return a * weight + static_cast<double>(b) - c;
  }
};
/// one without `kernels`: for the CPU
struct parity {
  bool operator()(std::int64_t v) const { return v % 2 != 0; }
};

}  // namespace

TEST_CASE("arithmetic of floats is that of the machine, NaN and infinities included") {
  on_backends(check_floats<float>);
}
TEST_CASE("functions of floats are within a few units in the last place") {
  on_backends(check_float_functions<double>);
}
TEST_CASE("integers wrap, and the three divisions give 0 where the divisor is 0") {
  on_backends(check_integers<std::int32_t>);
}
TEST_CASE("every functor has the same meaning for every element type") {
  on_few_backends(check_functors<float>);
  on_few_backends(check_functors<double>);
  on_few_backends(check_functors<std::int32_t>);
  on_few_backends(check_functors<std::int64_t>);
  on_few_backends(check_functors<std::uint8_t>);
}
TEST_CASE("comparisons with NaN are false, but !=; where chooses element by element") {
  on_backends(check_comparisons<float>);
}
TEST_CASE("cast goes between all element types; floats are cut towards 0 and held at the ends") {
  check_casts_from<float>();
  check_casts_from<double>();
  check_casts_from<std::int32_t>();
  check_casts_from<std::int64_t>();
  check_casts_from<std::uint8_t>();
  check_casts_from<bool>();
  on_backends(check_cast_kernels);
}
TEST_CASE("booleans know and, or, not, == and where") {
  on_backends([] {
    Tensor<bool, Extents<4>> const p{false, false, true, true}, q{false, true, false, true};
    Tensor<bool, Extents<4>> both, either, neither, equal_ones, chosen;
    run(plan(into(both, on<GpuDevice<0>>(p && q)), into(either, on<GpuDevice<0>>(p || q)),
             into(neither, on<GpuDevice<0>>(!p && !q)), into(equal_ones, on<GpuDevice<0>>(p == q)),
             into(chosen, on<GpuDevice<0>>(where(p, q, true)))));
    for (int i = 0; i < 4; ++i) {
      bool const a = i >= 2, b = i % 2 != 0;
      CHECK(both(i) == (a && b));
      CHECK(either(i) == (a || b));
      CHECK(neither(i) == (!a && !b));
      CHECK(equal_ones(i) == (a == b));
      CHECK(chosen(i) == (a ? b : true));
    }
  });
}
TEST_CASE("mixed element types take the wider one, host numbers that of the tensor") {
  oracle::random r(6);
  shape const s{1, {77}};
  auto const f = oracle::random_array<float>(r, s, -5, 5);
  auto const d = oracle::random_array<double>(r, s, -5, 5);
  auto const i = oracle::random_array<std::int32_t>(r, s, -1e9, 1e9);
  auto const l = oracle::random_array<std::int64_t>(r, s, -1e18, 1e18);
  auto const u = oracle::random_array<std::uint8_t>(r, s, 0, 255);
  on_backends([&] {
    auto const tf = oracle::tensor<1>(f);
    auto const td = oracle::tensor<1>(d);
    auto const ti = oracle::tensor<1>(i);
    auto const tl = oracle::tensor<1>(l);
    auto const tu = oracle::tensor<1>(u);
    Row<double> fd(77), number(77);
    Row<std::int64_t> il(77);
    Row<std::int32_t> ui(77), wraps(77);
    Row<std::uint8_t> uu(77);
    Row<float> three(77);
    run(plan(into(fd, on<GpuDevice<0>>(tf * td)), into(number, on<GpuDevice<0>>(0.1 * td)),
             into(il, on<GpuDevice<0>>(ti - tl)), into(ui, on<GpuDevice<0>>(tu + ti)),
             into(wraps, on<GpuDevice<0>>(ti * 1000)), into(uu, on<GpuDevice<0>>(tu + 200)),
             into(three, on<GpuDevice<0>>(add_n(tf, tf * 2.f, 3.f - tf)))));
    auto same = [&](auto const& t, auto const& want) { CHECK(oracle::difference(t, want) == ""); };
    same(fd, oracle::map<double>(s, [](float p, double q) { return double(p) * q; }, f, d));
    same(number, oracle::map<double>(s, [](double q) { return 0.1 * q; }, d));
    same(il,
         oracle::map<std::int64_t>(
             s,
             [](std::int32_t p, std::int64_t q) { return wrap<std::int64_t>(bits(p) - bits(q)); },
             i, l));
    same(ui,
         oracle::map<std::int32_t>(
             s,
             [](std::uint8_t p, std::int32_t q) { return wrap<std::int32_t>(bits(p) + bits(q)); },
             u, i));
    same(wraps, oracle::map<std::int32_t>(
                    s, [](std::int32_t p) { return wrap<std::int32_t>(bits(p) * 1000u); }, i));
    same(uu, oracle::map<std::uint8_t>(
                 s, [](std::uint8_t p) { return static_cast<std::uint8_t>(p + 200); }, u));
    same(three, oracle::map<float>(s, [](float p) { return (p + p * 2.f) + (3.f - p); }, f));
  });
}
namespace {
template <class X, std::size_t... K>
auto added(X const& x, std::index_sequence<K...>) {
  return add_n((static_cast<void>(K), x)...);
}
}  // namespace
TEST_CASE("add_n of more operands than a kernel reads is several kernels") {
  Tensor<double, Dextents<1>> x(1001);
  run(into(x, iota<double>(x.extents())));
  auto const few = added(x, std::make_index_sequence<24>());
  auto const many = added(x, std::make_index_sequence<70>());
  static_assert(plan_of<decltype(few)>.launches() == 1);
  static_assert(plan_of<decltype(many)>.launches() == 4);
  auto const y = eval(few), z = eval(many);
  for (std::int64_t i = 0; i < 1001; ++i) {
    REQUIRE(y.data()[i] == 24.0 * double(i));
    REQUIRE(z.data()[i] == 70.0 * double(i));
  }
}

TEST_CASE("map runs functors of the user's, with state and of several element types") {
  oracle::random r(7);
  shape const s{2, {5, 300}}, row{1, {300}}, column{2, {5, 1}};
  auto const a = oracle::random_array<double>(r, s, -5, 5);
  auto const b = oracle::random_array<float>(r, row, -5, 5);
  auto const c = oracle::random_array<std::int32_t>(r, column, -5, 5);
  on_backends([&] {
    auto const x = oracle::tensor<2>(a);
    auto const y = oracle::tensor<1>(b);
    auto const z = oracle::tensor<2>(c);
    weighted const f{r.real(1, 2)};
    Tensor<double, Dextents<2>> const on_gpu(on<GpuDevice<0>>(map(f, x, y, z)));
    Tensor<double, Dextents<2>> const here(map(f, x, y, z) + 1.);
    auto const want = oracle::map<double>(s, f, a, b, c);
    CHECK(oracle::difference(on_gpu, want) == "");
    CHECK(oracle::difference(here,
                             oracle::map<double>(s, [](double v) { return v + 1; }, want)) == "");
    Tensor<bool, Dextents<2>> const odd(map(parity{}, on<GpuDevice<0>>(cast<std::int64_t>(z))));
    CHECK(oracle::difference(
              odd, oracle::map<bool>(column, [](std::int32_t v) { return v % 2 != 0; }, c)) == "");
    double const shift = 3;
    Tensor<double, Dextents<2>> const shifted(map([shift](double v) { return v + shift; }, x));
    CHECK(oracle::difference(shifted,
                             oracle::map<double>(s, [](double v) { return v + 3; }, a)) == "");
  });
}

}  // namespace math_test

// SPDX-License-Identifier: Apache-2.0
// Reductions over all axes and over chosen ones against plain loops: sizes 0, 1, odd, larger than a
// block and larger than a part, ties and NaN, and operands with gaps.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>
#include <worst_of.hpp>

namespace reduce_test {

using namespace locus;
using oracle::array, oracle::each_index;

namespace {

constexpr shape shapes[] = {
    {3, {1, 1, 1}},     {3, {3, 1, 5}},     {3, {65, 7, 3}},
    {3, {5, 129, 64}},  {3, {7, 63, 200}},  {3, {40001, 3, 2}},
    {3, {2, 40001, 3}}, {3, {2, 3, 40001}}, {3, {1, 1, 270001}},
};
constexpr shape empty_shapes[] = {{3, {0, 3, 2}}, {3, {3, 0, 2}}, {3, {2, 3, 0}}, {3, {0, 0, 0}}};

template <int... Axes>
constexpr axis_set axes =
    sizeof...(Axes) == 0 ? all_axes(3) : axis_set((0u | ... | (1u << ((Axes + 3) % 3))));

/// r[kept axes] = visit(accumulator, element) over the others, in row order
template <class R, class T, class F>
array<R> fold(array<T> const& a, axis_set over, bool keep, R start, F&& visit) {
  shape const s = reduced(a.extents, over, keep);
  array<R> r(s);
  for (std::int64_t i = 0; i < r.size(); ++i) r[i] = start;
  each_index(a.extents, [&](std::int64_t const* i, std::int64_t k) {
    std::int64_t at = 0;
    for (int d = 0; d < a.extents.rank; ++d)
      if (!has_axis(over, d)) at = at * a.extents.extent[d] + i[d];
    visit(r[at], a[k]);
  });
  return r;
}
template <class T>
array<long double> total(array<T> const& a, axis_set over, bool keep = false) {
  return fold<long double>(a, over, keep, 0,
                           [](long double& t, T v) { t += static_cast<long double>(v); });
}
template <class T>
array<long double> total_size(array<T> const& a, axis_set over, bool keep = false) {
  return fold<long double>(
      a, over, keep, 0, [](long double& t, T v) { t += std::fabs(static_cast<long double>(v)); });
}
double count_of(shape const& s, axis_set over) {
  double n = 1;
  for (int d = 0; d < s.rank; ++d) n *= has_axis(over, d) ? static_cast<double>(s.extent[d]) : 1;
  return n;
}

/// every element within `relative` of the sum of the absolute values that it adds
template <class Tensor>
bool adds_up(Tensor const& is, array<long double> const& want, array<long double> const& sizes,
             double relative) {
  if (!(is.extents().as_shape() == want.extents)) return false;
  for (std::int64_t i = 0; i < want.size(); ++i)
    if (!(std::fabs(static_cast<long double>(is.data()[i]) - want[i]) <= relative * sizes[i]))
      return false;
  return true;
}

template <int... Axes>
constexpr int left = sizeof...(Axes) == 0 ? 0 : 3 - int(sizeof...(Axes));

template <int... Axes>
void check_sum(array<float> const& a) {
  constexpr axis_set over = axes<Axes...>;
  auto const x = oracle::tensor<3>(a);
  Tensor<float, Dextents<left<Axes...>>> const t(on<GpuDevice<0>>(sum<Axes...>(x)));
  CHECK(adds_up(t, total(a, over), total_size(a, over), 3e-7));
}
template <int... Axes>
void check_extremum(array<float> const& a) {
  constexpr axis_set over = axes<Axes...>;
  auto const x = oracle::tensor<3>(a);
  Tensor<float, Dextents<left<Axes...>>> const t(on<GpuDevice<0>>(max<Axes...>(x)));
  auto larger = [](float& m, float v) { m = m != m || v != v ? NAN : v > m ? v : m; };
  CHECK(oracle::difference(t, fold<float>(a, over, false, -INFINITY, larger)) == "");
}
template <int... Axis>
void check_argmax(array<float> const& a) {
  struct best {
    float value;
    std::int64_t index, seen;
  };
  auto const r = fold<best>(a, axes<Axis...>, false, best{0, -1, 0}, [](best& b, float v) {
    bool const better = b.index < 0 || (b.value == b.value && (v != v || v > b.value));
    if (better) b.value = v, b.index = b.seen;
    ++b.seen;
  });
  auto const x = oracle::tensor<3>(a);
  Tensor<std::int64_t, Dextents<left<Axis...>>> const t(on<GpuDevice<0>>(argmax<Axis...>(x)));
  CHECK(oracle::difference(
            t, oracle::map<std::int64_t>(r.extents, [](best b) { return b.index; }, r)) == "");
}

/// every reduction that T has, over the middle axis and over everything
template <class T>
void check_type() {
  oracle::random r(5);
  using limits = std::numeric_limits<T>;
  bool const real = is_floating_v<T>;
  for (shape const& s : {shapes[2], shapes[6], shapes[0]}) {
    auto const a = oracle::random_array<T>(r, s, real ? -1 : static_cast<double>(limits::min()) / 3,
                                           real ? 1 : static_cast<double>(limits::max()) / 3);
    auto const x = oracle::tensor<3>(a);
    Tensor<sum_t<T>, Dextents<2>> const some(on<GpuDevice<0>>(sum<1>(x)));
    Tensor<sum_t<T>, Dextents<0>> const one(on<GpuDevice<0>>(sum(x)));
    if constexpr (is_floating_v<T>) {
      CHECK(adds_up(some, total(a, 2), total_size(a, 2), sizeof(T) == 4 ? 3e-7 : 1e-15));
      CHECK(adds_up(one, total(a, 7), total_size(a, 7), sizeof(T) == 4 ? 1e-7 : 1e-15));
    } else {
      auto add = [](std::uint64_t& t, T v) { t += static_cast<std::uint64_t>(v); };
      CHECK(oracle::difference(some, fold<std::uint64_t>(a, 2, false, 0, add)) == "");
      CHECK(oracle::difference(one, fold<std::uint64_t>(a, 7, false, 0, add)) == "");
    }
    if constexpr (!std::is_same_v<T, bool>) {
      Tensor<T, Dextents<2>> const largest(on<GpuDevice<0>>(max<1>(x)));
      Tensor<T, Dextents<0>> const smallest(on<GpuDevice<0>>(min(x)));
      CHECK(oracle::difference(largest, fold<T>(a, 2, false, limits::lowest(),
                                                [](T& m, T v) { m = v > m ? v : m; })) == "");
      CHECK(oracle::difference(smallest, fold<T>(a, 7, false, limits::max(),
                                                 [](T& m, T v) { m = v < m ? v : m; })) == "");
      Tensor<std::int64_t, Dextents<0>> const where(on<GpuDevice<0>>(argmax(x)));
      std::int64_t first = 0;
      for (std::int64_t i = 0; i < a.size(); ++i)
        if (a[i] > a[first]) first = i;
      CHECK(*where.data() == first);
    } else {
      Tensor<bool, Dextents<2>> const some_true(on<GpuDevice<0>>(any<1>(x)));
      Tensor<bool, Dextents<2>> const all_true(on<GpuDevice<0>>(all<1>(x)));
      CHECK(oracle::difference(some_true, fold<bool>(a, 2, false, false,
                                                     [](bool& t, bool v) { t = t || v; })) == "");
      CHECK(oracle::difference(all_true, fold<bool>(a, 2, false, true,
                                                    [](bool& t, bool v) { t = t && v; })) == "");
    }
  }
}

}  // namespace

TEST_CASE("sums over any axes are accurate at every size, and 0 of nothing") {
  oracle::random r(1);
  on_few_backends([&] {
    for (shape const& s : shapes) {
      auto const a = oracle::random_array<float>(r, s, -1, 2);
      check_sum<>(a), check_sum<0>(a), check_sum<1>(a), check_sum<2>(a);
      check_sum<0, 1>(a), check_sum<0, -1>(a), check_sum<2, 1>(a);
    }
    for (shape const& s : empty_shapes) {
      array<float> const a(s);
      check_sum<>(a), check_sum<0>(a), check_sum<1>(a), check_sum<2>(a), check_sum<0, 1>(a);
    }
  });
}
TEST_CASE("max takes NaN from anywhere, argmax finds the first NaN or the first of equals") {
  oracle::random r(2);
  on_few_backends([&] {
    for (shape const& s : shapes) {
      array<float> a(s);
      for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(r.number(-3, 3));
      check_extremum<>(a), check_extremum<0>(a), check_extremum<1>(a), check_extremum<2>(a);
      check_argmax<>(a), check_argmax<0>(a), check_argmax<1>(a), check_argmax<2>(a);
      for (int k = 0; k < 3; ++k) a[r.number(0, a.size() - 1)] = NAN;
      check_extremum<>(a), check_extremum<0>(a), check_extremum<1>(a), check_extremum<2>(a);
      check_argmax<>(a), check_argmax<0>(a), check_argmax<1>(a), check_argmax<2>(a);
    }
    array<float> a({3, {2, 3, 3000}});  // nothing but -infinity is still something
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = -INFINITY;
    check_extremum<2>(a), check_argmax<2>(a), check_argmax<>(a);
  });
}
template <class T>
void check_products() {
  oracle::random r(8);
  bool const real = is_floating_v<T>;
  for (shape const& s : {shapes[1], shapes[2], shapes[3], shape{3, {2, 257, 1}}, empty_shapes[1]}) {
    array<T> a(s);
    for (std::int64_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<T>(real ? static_cast<double>(r.number(900, 1110)) / 1000
                                 : static_cast<double>(r.number(1, 255)));
    auto const x = oracle::tensor<3>(a);
    Tensor<sum_t<T>, Dextents<2>> const some(on<GpuDevice<0>>(prod<1>(x)));
    Tensor<sum_t<T>, Dextents<0>> const one(on<GpuDevice<0>>(prod(x)));
    auto compare = [&](auto const& t, axis_set over, bool keep) {
      auto times = [](auto& p, T v) { p *= static_cast<std::remove_cvref_t<decltype(p)>>(v); };
      if constexpr (is_floating_v<T>)
        CHECK(oracle::difference(t, fold<long double>(a, over, keep, 1, times),
                                 sizeof(T) == 4 ? 1e-7 : 1e-13) == "");
      else
        CHECK(oracle::difference(t, fold<std::uint64_t>(a, over, keep, 1, times)) == "");
    };
    compare(some, 2, false), compare(one, 7, false);
  }
}
TEST_CASE("products: of floats in double, of integers in int64, which wraps; 1 of nothing") {
  on_few_backends(check_products<float>);
  on_few_backends(check_products<std::uint8_t>);
  // no product of lanes leaves the range of floats on its way
  Tensor<float, Dextents<1>> x(96);
  for (int i = 0; i < 96; ++i) x(i) = i % 48 < 24 ? 1e12f : 1e-12f;
  CHECK(fetch(prod(x)) == doctest::Approx(1));
  Tensor<bool, Extents<3>> const yes{{true, true, true}}, no{{true, false, true}};
  CHECK(fetch(prod(yes)) == 1);
  CHECK(fetch(prod(no)) == 0);
}
TEST_CASE("a product of pieces travels as an all-reduce of products") {
  on_backends([](backends::machine const& m) {
    if (m.gpus < 2) return;
    using Cut = Tensor<double, Dextents<2>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
    using Wide = Tensor<std::int32_t, Dextents<1>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
    Tensor<double, Dextents<2>> x(5, 3);
    Tensor<std::int32_t, Dextents<1>> n(7);
    for (int i = 0; i < 15; ++i) x.data()[i] = 0.5 + 0.125 * i;
    for (int i = 0; i < 7; ++i) n(i) = 1000003 * (i - 8);
    Cut there(x);
    Wide numbers(n);
    Tensor<double, Dextents<1>> columns(3), rows(5);
    columns = prod<0>(there), rows = prod<1>(there);
    double all = 1, by_column[3] = {1, 1, 1};
    for (int i = 0; i < 5; ++i) {
      double row = 1;
      for (int k = 0; k < 3; ++k) row *= x(i, k), by_column[k] *= x(i, k), all *= x(i, k);
      CHECK(rows(i) == doctest::Approx(row).epsilon(1e-14));
    }
    for (int k = 0; k < 3; ++k) CHECK(columns(k) == doctest::Approx(by_column[k]).epsilon(1e-14));
    CHECK(fetch(prod(there)) == doctest::Approx(all).epsilon(1e-14));
    std::uint64_t wrapped = 1;
    for (int i = 0; i < 7; ++i) wrapped *= static_cast<std::uint64_t>(std::int64_t(n(i)));
    CHECK(fetch(prod(numbers)) == static_cast<std::int64_t>(wrapped));
  });
}
TEST_CASE("an extremum of nothing is an error that names the operation") {
  on_few_backends([] {
    Tensor<float, Dextents<3>> const x(3, 0, 2);
    using Left = Tensor<float, Dextents<2>>;
    CHECK_THROWS_WITH_AS(Left(on<GpuDevice<0>>(max<1>(x))),
                         "locus: 'max' (step 1) over no elements: its operand has extents [3,0,2]; "
                         "skip empty tensors",
                         shape_error);
    CHECK_THROWS_AS((Tensor<std::int64_t, Dextents<0>>(on<GpuDevice<0>>(argmax(x)))), shape_error);
    CHECK_NOTHROW(Left(on<GpuDevice<0>>(max<0>(x))));  // no result, no error
  });
}
TEST_CASE("every element type has its sums, extrema and arguments") {
  on_few_backends(check_type<float>);
  on_few_backends(check_type<double>);
  on_few_backends(check_type<std::int32_t>);
  on_few_backends(check_type<std::int64_t>);
  on_few_backends(check_type<std::uint8_t>);
  on_few_backends(check_type<bool>);
}
TEST_CASE("a mean divides by what was added, of nothing it is NaN; keep_dims keeps the axes") {
  oracle::random r(3);
  on_backends([&] {
    for (shape const& s : {shapes[1], shapes[4], shapes[7], empty_shapes[1]}) {
      auto const a = oracle::random_array<double>(r, s, -1, 2);
      auto const x = oracle::tensor<3>(a);
      Tensor<double, Dextents<3>> const kept(on<GpuDevice<0>>(mean<-1, 1>(x, keep_dims)));
      Tensor<double, Dextents<0>> const one(on<GpuDevice<0>>(mean(x)));
      Tensor<double, Dextents<3>> const centred(on<GpuDevice<0>>(x - mean<1>(x, keep_dims)));
      auto divided = [&](axis_set over, bool keep) {
        auto const t = total(a, over, keep);
        double const n = count_of(s, over);
        return oracle::map<long double>(t.extents, [n](long double v) { return v / n; }, t);
      };
      CHECK(oracle::difference(kept, divided(6, true), 1e-12, 1e-15) == "");
      CHECK(oracle::difference(one, divided(7, false), 1e-12, 1e-15) == "");
      auto const middle = divided(2, true);
      CHECK(oracle::difference(centred,
                               oracle::map<long double>(
                                   s, [](double v, long double m) { return v - m; }, a, middle),
                               1e-12, 1e-14) == "");
    }
  });
}
TEST_CASE("a reduction reads what element-wise operations, broadcasts and views give it") {
  oracle::random r(4);
  on_backends([&] {
    for (shape const& s : {shapes[2], shapes[3], shapes[6]}) {
      auto const a = oracle::random_array<float>(r, s, -1, 1);
      auto const row = oracle::random_array<float>(r, {1, {s.extent[2]}}, -1, 1);
      auto const x = oracle::tensor<3>(a);
      auto const y = oracle::tensor<1>(row);
      Tensor<float, Dextents<2>> const scaled(
          on<GpuDevice<0>>(2.f * sum<0>(square(x) * y) + sum<0>(x)));
      Tensor<float, Dextents<2>> const turned(on<GpuDevice<0>>(sum<1>(transpose<1, 2, 0>(x))));
      Tensor<float, Dextents<0>> const inner(on<GpuDevice<0>>(sum(slice(x, {1, -1}, {0, -2}))));
      auto const weighted =
          oracle::map<float>(s, [](float v, float w) { return v * v * w * 2 + v; }, a, row);
      auto const sizes = oracle::map<float>(
          s, [](float v, float w) { return std::fabs(v * v * w * 2) + std::fabs(v); }, a, row);
      CHECK(adds_up(scaled, total(weighted, 1), total_size(sizes, 1), 1e-6));
      auto const t = total(a, 4);  // turned[j, i] = sum over k of x[i, j, k]
      auto const want =
          oracle::make<long double>({2, {s.extent[1], s.extent[0]}}, [&](std::int64_t const* i) {
            return t[i[1] * s.extent[1] + i[0]];
          });
      CHECK(oracle::difference(turned, want, 1e-6, 1e-6 * std::sqrt(double(s.extent[2]))) == "");
      long double sum_inside = 0;
      each_index(s, [&](std::int64_t const* i, std::int64_t k) {
        if (i[0] >= 1 && i[0] < s.extent[0] - 1 && i[1] < s.extent[1] - 2)
          sum_inside += static_cast<long double>(a[k]);
      });
      CHECK(oracle::agree(*inner.data(), sum_inside, 1e-6, 1e-3));
    }
  });
}

namespace {

/// x as [2^24], [2^14, 2^10] and [2^10, 2^14]: every way in which a sum is cut
template <class Source>
void check_large(Source source, std::int64_t n) {
  Tensor<float, Dextents<1>> const x(source(Dextents<1>(n)));
  long double whole = 0, size = 0;
  std::vector<long double> rows(std::size_t(n >> 10)), row_sizes(std::size_t(n >> 10)),
      columns(1 << 10), sizes(1 << 10);
  for (std::int64_t i = 0; i < n; ++i) {
    long double const v = static_cast<long double>(x.data()[i]);
    whole += v, size += std::fabs(v);
    rows[std::size_t(i >> 10)] += v, row_sizes[std::size_t(i >> 10)] += std::fabs(v);
    columns[std::size_t(i & 1023)] += v, sizes[std::size_t(i & 1023)] += std::fabs(v);
  }
  auto off = [](auto const& t, auto const& want, auto const& of) {
    long double worst = 0;
    for (std::int64_t i = 0; i < t.size(); ++i)
      worst =
          worst_of(worst, std::fabs(static_cast<long double>(t.data()[i]) - want[std::size_t(i)]) /
                              of[std::size_t(i)]);
    return static_cast<double>(worst);
  };
  Tensor<float, Dextents<0>> one[2];
  Tensor<float, Dextents<1>> of_rows[2]{Tensor<float, Dextents<1>>(n >> 10),
                                        Tensor<float, Dextents<1>>(n >> 10)};
  Tensor<float, Dextents<1>> of_columns[2]{Tensor<float, Dextents<1>>(1 << 10),
                                           Tensor<float, Dextents<1>>(1 << 10)};
  auto const matrix = reshape<dyn, 1024>(x);
  for (int k : {0, 1}) {
    config::set_intra_op_parallelism_threads(k + 1);
    one[k] = on<GpuDevice<0>>(sum(x));
    of_rows[k] = on<GpuDevice<0>>(sum<1>(matrix));
    of_columns[k] = on<GpuDevice<0>>(sum<0>(matrix));
  }
  config::set_intra_op_parallelism_threads(0);
  CHECK(std::fabs(static_cast<long double>(*one[0].data()) - whole) <= 1e-7L * size);
  CHECK(off(of_rows[0], rows, row_sizes) <= 2e-7);
  CHECK(off(of_columns[0], columns, sizes) <= 2e-7);
  CHECK(std::memcmp(one[0].data(), one[1].data(), 4) == 0);  // the same bits
  CHECK(std::memcmp(of_rows[0].data(), of_rows[1].data(), std::size_t(n >> 10) * 4) == 0);
  CHECK(std::memcmp(of_columns[0].data(), of_columns[1].data(), 4 << 10) == 0);
}

void check_equal_and_smooth() {
  // numbers that are rounded alike, one after the other, add up to an error that does not cancel
  auto const value = [](int kind, float c, std::int64_t i) {
    auto const x = static_cast<double>(i);
    return kind == 0   ? c
           : kind == 1 ? static_cast<float>(c * (1 + 1e-3 * std::sin(1e-4 * x)))
                       : static_cast<float>(c * (1 + std::fmod(x * 0.6180339887498949, 1.)));
  };
  double of_sum = 0, of_mean = 0, of_squares = 0, of_columns = 0, of_rows = 0;
  auto const note = [](double& worst, float got, double exact) {
    worst = worst_of(worst, std::fabs(static_cast<double>(got) - exact) / exact);
  };
  for (std::int64_t n : {1, 3, 7, 16, 31, 64, 100, 255, 1000, 4096, 5000, 65536})
    for (float c : {0.001f, 0.1f, 1.1f, 0.7f})
      for (int kind : {0, 1, 2}) {
        Tensor<float, Dextents<1>> x(n);
        double exact = 0, squares = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          auto const v = static_cast<double>(x.data()[i] = value(kind, c, i));
          exact += v, squares += v * v;
        }
        note(of_sum, fetch(sum(on<GpuDevice<0>>(x))), exact);
        note(of_mean, fetch(mean(on<GpuDevice<0>>(x))), exact / static_cast<double>(n));
        note(of_squares, fetch(sum(on<GpuDevice<0>>(x * x))), squares);
      }
  for (std::int64_t rows : {1, 5, 8, 13, 64, 100, 1003})
    for (std::int64_t columns : {3, 50, 130})
      for (float c : {0.001f, 0.1f, 1.1f}) {
        Tensor<float, Dextents<2>> x(rows, columns);
        std::vector<double> down(std::size_t(columns), 0.), across(std::size_t(rows), 0.);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            float const v = x.data()[i * columns + j] = value(j % 2 == 0 ? 0 : 1, c, i);
            down[std::size_t(j)] += static_cast<double>(v);
            across[std::size_t(i)] += static_cast<double>(v);
          }
        Tensor<float, Dextents<1>> of_down(columns), of_across(rows);
        of_down = on<GpuDevice<0>>(sum<0>(x)), of_across = on<GpuDevice<0>>(sum<1>(x));
        for (std::int64_t j = 0; j < columns; ++j)
          note(of_columns, of_down.data()[j], down[std::size_t(j)]);
        for (std::int64_t i = 0; i < rows; ++i)
          note(of_rows, of_across.data()[i], across[std::size_t(i)]);
      }
  CHECK(of_sum <= 1e-7);
  CHECK(of_mean <= 1e-7);
  CHECK(of_squares <= 1.3e-7);  // each square is a float, too: 6e-8 more
  CHECK(of_columns <= 1e-7);
  CHECK(of_rows <= 1e-7);
}

}  // namespace

TEST_CASE("sums, means and dots of equal and smooth floats are within 1e-7") {
  on_few_backends(check_equal_and_smooth);
}
TEST_CASE("a functor of the user's in a fold, over operands that move, stand still or have gaps") {
  auto const mix = [](float x, float y) { return 2 * x * x + y; };
  for (std::int64_t n : {1, 100, 128, 129, 257, 5000}) {
    Tensor<float, Dextents<1>> x(uniform<float>(dextents<1>(n), seed{1})), y(n);
    Tensor<float, Dextents<2>> wide(uniform<float>(dextents<2>(n, 3), seed{2}));
    Tensor<float, Dextents<2>> const upright(reshape<dyn, 1>(x));
    double dense = 0, still = 0, gaps = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      y.data()[i] = static_cast<float>(i % 7);
      double const v = static_cast<double>(x.data()[i]);
      dense += 2 * v * v + static_cast<double>(y.data()[i]), still += 2 * v * v + 3;
      gaps += 2 * v * v + static_cast<double>(wide.data()[3 * i + 1]);
    }
    CHECK(std::fabs(fetch(sum(on<CpuDevice>(map(mix, x, y)))) - dense) <= 3e-7 * dense);
    CHECK(std::fabs(fetch(sum(on<CpuDevice>(map(mix, x, 3.f)))) - still) <= 3e-7 * still);
    CHECK(std::fabs(fetch(sum(on<CpuDevice>(map(mix, upright, slice(wide, {0, n}, {1, 2}))))) -
                    gaps) <= 3e-7 * gaps);
  }
}
TEST_CASE("sums of up to 2^24 floats are within 1e-7, with the same bits for one thread and two") {
  on_few_backends([] {
    // the largest one where floats alone would stop growing; under a sanitizer it takes minutes
    check_large([](auto e) { return full<float>(e, 5); },
                LOCUS_ADDRESS_SANITIZER ? 1 << 20 : 1 << 24);
    check_large([](auto e) { return uniform<float>(e, seed{1}); }, 1 << 20);
    check_large([](auto e) { return uniform<float>(e, seed{2}, -0.5f, 0.5f); }, 1 << 20);
  });
}

}  // namespace reduce_test

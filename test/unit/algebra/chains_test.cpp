// SPDX-License-Identifier: Apache-2.0
// Chains of matrix products under algebra<>: 24 random chains of three to seven factors in random brackets have
// the fewest operations that any brackets give, and the values of loops in long double.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include <locus/algebra/algebra.hpp>

#include "oracle.hpp"

namespace chains_test {

using namespace locus;

namespace {

constexpr int most_factors = 7;

/// means: a chain that a number chooses: its extents, and the last factor on the left of each product
struct chain {
  int factors = 0;
  int extents[most_factors + 1]{};
  int split[most_factors][most_factors]{};  // of factors [first, last]
};
constexpr chain chain_of(unsigned number) {
  unsigned state = number * 2654435761u + 12345u;
  auto const draw = [&](int least, int most) {
    state = state * 1664525u + 1013904223u;
    return least + int((state >> 16) % unsigned(most - least + 1));
  };
  chain c;
  c.factors = draw(3, most_factors);
  int const sizes[] = {1, 2, 3, 5, 8, 13, 21, 34};
  for (int i = 0; i <= c.factors; ++i) c.extents[i] = sizes[draw(0, 7)];
  for (int first = 0; first < c.factors; ++first)
    for (int last = first + 1; last < c.factors; ++last)
      c.split[first][last] = draw(first, last - 1);
  return c;
}

/// means: the fewest operations of factors [first, last] over all brackets, tried one after the other
constexpr std::int64_t fewest(chain const& c, int first, int last) {
  if (first == last) return 0;
  std::int64_t best = -1;
  for (int split = first; split < last; ++split) {
    std::int64_t const now =
        fewest(c, first, split) + fewest(c, split + 1, last) +
        std::int64_t(2) * c.extents[first] * c.extents[split + 1] * c.extents[last + 1];
    if (best < 0 || now < best) best = now;
  }
  return best;
}
/// means: the operations of the chain as its brackets say
constexpr std::int64_t written(chain const& c, int first, int last) {
  if (first == last) return 0;
  int const split = c.split[first][last];
  return written(c, first, split) + written(c, split + 1, last) +
         std::int64_t(2) * c.extents[first] * c.extents[split + 1] * c.extents[last + 1];
}

template <unsigned Number>
struct program {
  static constexpr chain c = chain_of(Number);
  template <int I>
  using factor = Tensor<double, Extents<c.extents[I], c.extents[I + 1]>, CpuDevice>;

  template <int First, int Last, class Factors>
  static auto product(Factors const& f) {
    if constexpr (First == Last)
      return get<First>(f).leaf();
    else {
      constexpr int split = c.split[First][Last];
      return matmul(product<First, split>(f), product<split + 1, Last>(f));
    }
  }
  template <std::size_t... I>
  static void run(std::index_sequence<I...>) {
    CAPTURE(Number);
    oracle::random bits(Number);
    pack<factor<int(I)>...> f;
    (fill(bits, get<I>(f)), ...);
    std::vector<long double> r(std::size_t(c.extents[0] * c.extents[0]), 0), largest;
    for (int i = 0; i < c.extents[0]; ++i) r[std::size_t(i * c.extents[0] + i)] = 1;
    largest = r;
    int columns = c.extents[0];
    (multiply(r, columns, get<I>(f), false), ...);
    columns = c.extents[0];
    (multiply(largest, columns, get<I>(f), true), ...);

    auto const e = product<0, c.factors - 1>(f);
    using facts = plan_facts<graph_of<decltype(e), nowhere, algebra<>>>;
    static_assert(facts::flops() == fewest(c, 0, c.factors - 1));
    static_assert(facts::launches() == c.factors - 1);
    static_assert(facts::rewrites() <= 1);
    if constexpr (written(c, 0, c.factors - 1) > fewest(c, 0, c.factors - 1))
      static_assert(facts::rewrites() == 1);
    auto const got = fetch<algebra<>>(e);
    REQUIRE(std::size_t(got.size()) == r.size());
    for (std::size_t i = 0; i < r.size(); ++i)  // rounding grows with the sums of magnitudes
      REQUIRE(std::abs(static_cast<long double>(got.data()[i]) - r[i]) <=
              largest[i] * 0x1p-52L * 40 * c.factors);
  }
  template <class Factor>
  static void fill(oracle::random& bits, Factor& f) {
    for (std::int64_t i = 0; i < f.size(); ++i) f.data()[i] = bits.real(-1, 1);
  }
  /// means: r = r * f, or with the magnitudes of both
  template <class Factor>
  static void multiply(std::vector<long double>& r, int& columns, Factor const& f,
                       bool magnitudes) {
    int const rows = c.extents[0], next = int(f.extents().as_shape().extent[1]);
    std::vector<long double> to(std::size_t(rows * next), 0);
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < columns; ++k)
        for (int j = 0; j < next; ++j) {
          long double const v = f.data()[k * next + j];
          to[std::size_t(i * next + j)] +=
              r[std::size_t(i * columns + k)] * (magnitudes ? std::abs(v) : v);
        }
    r = to, columns = next;
  }
};

/// means: a to that power, from the left
template <int N, class A>
auto power(A const& a) {
  if constexpr (N == 1)
    return a.leaf();
  else
    return matmul(power<N - 1>(a), a);
}

template <unsigned... Number>
void run_all(std::integer_sequence<unsigned, Number...>) {
  (program<Number>::run(std::make_index_sequence<program<Number>::c.factors>{}), ...);
}

}  // namespace

TEST_CASE("random chains of matrix products take the fewest operations that any brackets give") {
  on_few_backends([] { run_all(std::make_integer_sequence<unsigned, 24>{}); });
}

TEST_CASE("of two orders with as many operations the one with smaller inner results is taken") {
  using A = Tensor<float, Extents<3, 6>, CpuDevice>;
  using B = Tensor<float, Extents<6, 3>, CpuDevice>;
  using C = Tensor<float, Extents<3, 2>, CpuDevice>;
  // b c has 12 elements, a b has 9
  using E = decltype(matmul(std::declval<A&>(), matmul(std::declval<B&>(), std::declval<C&>())));
  using facts = plan_facts<graph_of<E, nowhere, algebra<>>>;
  static_assert(facts::flops() == plan_of<E>.flops());
  static_assert(facts::bytes_written() < plan_of<E>.bytes_written());
  static_assert(facts::explain().contains("(a (b c)) -> ((a b) c)"));
}

TEST_CASE("explain has room for a chain that fills a plan") {
  using A = Tensor<float, Extents<4, 4>, CpuDevice>;
  using V = Tensor<float, Extents<4, 1>, CpuDevice>;
  using E = decltype(matmul(power<60>(std::declval<A const&>()), std::declval<V&>()));
  using rule = internal::products_in_order;
  using note = internal::rewrite_note<rule, E, decltype(rule::apply(std::declval<E const&>()))>;
  constexpr auto text = [] {
    text_buffer<4000> out;
    rule::write<E>(out);
    return out;
  }();
  constexpr std::string_view gain = ": 9223372036854775807 -> 9223372036854775807 operations\n";
  static_assert(text.contains("(x57 (x58 (x59 x60") && text.view().ends_with(")"));
  static_assert(int(text.view().size() + gain.size()) + 20 < internal::room_of_rewrite<note>);
}

TEST_CASE("a chain whose cost exceeds any integer is ordered, too") {
  constexpr std::int64_t big = std::int64_t(1) << 31;
  using A = Tensor<float, Extents<big, big>, CpuDevice>;
  using V = Tensor<float, Extents<big>, CpuDevice>;
  using E = decltype(matmul(matmul(std::declval<A&>(), std::declval<A&>()), std::declval<V&>()));
  static_assert(internal::rewriting_of<E>::notes::size == 1);
}

}  // namespace chains_test

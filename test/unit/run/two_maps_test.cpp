// SPDX-License-Identifier: Apache-2.0
// Maps of one space that write several results are one kernel where that is quicker: values, launches
// and counts, against loops that read copies of all operands before they write.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include <locus/algorithms/shift.hpp>

namespace two_maps_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
template <class Where, class T = float>
using Fixed = Tensor<T, Extents<100>, Where>;
template <class Where, class T = float>
using Open = Tensor<T, Dextents<1>, Where>;

/// each all-reduce travels alone
struct small_buckets : prefer_gpu {
  static constexpr bucket_sizes buckets{1, 1};
};
using Weights = Tensor<float, Extents<10>, Mirrored<G0, GpuDevice<1>>>;
using Rows = Tensor<float, Extents<64, 10>, Sharded<0, G0, GpuDevice<1>>>;
template <class Policy>
using updates = decltype(plan<Policy>(
    into(std::declval<Weights&>(), std::declval<Weights&>() - sum<0>(std::declval<Rows&>())),
    into(std::declval<Weights&>(), std::declval<Weights&>() - sum<0>(std::declval<Rows&>()))));

template <class P>
void check_counts(P const& p, int launches) {
  tally const done = testing::count([&] { run(p); });
  CHECK(done.launches == launches);
  CHECK(done.copies == P::copies());
}

template <class X>
constexpr auto sums(X const& x, X const& y, X& z, X& w) {
  return plan(into(z, 2.f * x + y), into(w, x - 3.f * y));
}

template <class Where>
void check_of_extents() {
  std::mt19937 bits(7);
  for (std::int64_t const n : {0, 1, 31, 257, 4096})
    for (std::int64_t const m : {n, std::int64_t(1), std::int64_t(5)}) {
      CAPTURE(n);
      CAPTURE(m);
      std::vector<float> one(static_cast<std::size_t>(n)), other(static_cast<std::size_t>(m));
      for (float& v : one) v = float(bits() % 1000);
      for (float& v : other) v = float(bits() % 1000);
      Open<Where> x(n), y(m), z(n), w(m);
      x = view<CpuDevice>(one.data(), dextents<1>{n});
      y = view<CpuDevice>(other.data(), dextents<1>{m});
      auto const p = plan(into(z, 2.f * x + 1.f), into(w, y - 3.f * y));
      static_assert(p.launches() == 1 && p.guards() == 1 && p.launches_otherwise() == 2);
      check_counts(p, n == m ? 1 : 2);
      Open<CpuDevice> const got_z(z), got_w(w);
      for (std::int64_t i = 0; i < n; ++i)
        REQUIRE(got_z.data()[i] == 2.f * one[std::size_t(i)] + 1.f);
      for (std::int64_t i = 0; i < m; ++i)
        REQUIRE(got_w.data()[i] == other[std::size_t(i)] - 3.f * other[std::size_t(i)]);
    }
}

/// two statements over parts of one buffer, which begin anywhere: the roots read what was there
/// before, whichever element the other one writes
template <class Where>
int check_parts(std::mt19937& bits, int rounds) {
  constexpr std::int64_t room = 300;
  int apart = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Open<Where> buffer(room);
    std::vector<float> before(room);
    for (float& v : before) v = float(bits() % 4096);
    buffer = view<CpuDevice>(before.data(), dextents<1>{room});
    auto const n = std::int64_t(1 + bits() % 140);
    std::int64_t begin[5];
    for (std::int64_t& b : begin) b = std::int64_t(bits() % std::uint64_t(room - n + 1));
    if (bits() % 3 == 0) begin[2] = begin[0];  // in place
    if (bits() % 3 == 0) begin[3] = begin[1];
    if (bits() % 3 == 0) begin[3] = begin[0] + 1 <= room - n ? begin[0] + 1 : begin[0];
    auto const part = [&](int k) { return slice(buffer, {begin[k], begin[k] + n}); };
    std::vector<float> wanted = before;
    auto const was = [&](int k, std::int64_t i) { return before[std::size_t(begin[k] + i)]; };
    bool const meet = begin[0] < begin[1] + n && begin[1] < begin[0] + n;
    for (std::int64_t i = 0; i < n; ++i) {
      wanted[std::size_t(begin[0] + i)] = 2.f * was(2, i) + was(3, i);
      wanted[std::size_t(begin[1] + i)] = was(3, i) - 3.f * was(4, i);
    }
    auto const both =
        plan(into(part(0), 2.f * part(2) + part(3)), into(part(1), part(3) - 3.f * part(4)));
    static_assert(both.launches() == 1);
    if (meet) {
      CHECK_THROWS_AS(run(both), shape_error);
      wanted = before;
    } else
      run(both), ++apart;
    Open<CpuDevice> const got(buffer);
    REQUIRE(std::equal(wanted.begin(), wanted.end(), got.data()));
  }
  return apart;
}

}  // namespace

TEST_CASE("two maps that may read one tensor are one kernel, with and without let") {
  using F = Fixed<CpuDevice>;
  using O = Open<CpuDevice>;
  using P = decltype(sums(std::declval<F&>(), std::declval<F&>(), std::declval<F&>(),
                          std::declval<F&>()));
  static_assert(P::launches() == 1 && P::guards() == 0);
  using Q = decltype(sums(std::declval<O&>(), std::declval<O&>(), std::declval<O&>(),
                          std::declval<O&>()));
  static_assert(Q::launches() == 1 && Q::guards() == 1 && Q::launches_otherwise() == 2);
  on_few_backends([] {
    O x(77), y(77), z(77), w(77);
    x = iota<float>(dextents<1>{77}), y = 2.f * x + 1.f;
    auto const named_once = [&] {
      auto const a = named<"x">(x);
      auto const b = named<"y">(y);
      return plan(into(z, 2.f * a + b), into(w, a - 3.f * b));
    }();
    static_assert(named_once.launches() == 1 && named_once.guards() == 0);
    check_counts(named_once, 1);
    for (std::int64_t i = 0; i < 77; ++i) {
      float const a = float(i), b = 2.f * a + 1.f;
      REQUIRE(z.data()[i] == 2.f * a + b);
      REQUIRE(w.data()[i] == a - 3.f * b);
    }
    auto const swap = plan(into(x, y * 1.f), into(y, x * 1.f));
    static_assert(swap.launches() == 1);
    check_counts(swap, 1);
    for (std::int64_t i = 0; i < 77; ++i) {
      REQUIRE(x.data()[i] == 2.f * float(i) + 1.f);
      REQUIRE(y.data()[i] == float(i));
    }
  });
}

TEST_CASE("maps of unlike tensors share a kernel on GPUs, where a launch costs, if their values "
          "are few") {
  using S = Fixed<CpuDevice>;
  using D = Fixed<CpuDevice, double>;
  static_assert(decltype(plan(into(std::declval<S&>(), std::declval<S&>() + 1.f),
                              into(std::declval<D&>(), std::declval<D&>() * 2.)))::launches() == 2);
  using X = Fixed<G0>;
  using Y = Fixed<G0, double>;
  using P = decltype(plan(into(std::declval<X&>(), std::declval<X&>() + 1.f),
                          into(std::declval<Y&>(), std::declval<Y&>() * 2.)));
  static_assert(P::launches() == 1 && P::guards() == 0);
  using U = Open<G0>;
  using V = Open<G0, double>;
  using R = decltype(plan(into(std::declval<U&>(), std::declval<U&>() + 1.f),
                          into(std::declval<V&>(), std::declval<V&>() * 2.)));
  static_assert(R::launches() == 2 && R::guards() == 0);  // unlike tensors: no guess
  on_few_backends([] {
    Fixed<G0> a, c;
    Fixed<G0, double> b, d;
    a = iota<float>(Extents<100>{}), b = iota<double>(Extents<100>{}) * 0.5;
    auto const p = plan(into(c, a + 1.f), into(d, b * 2.));
    check_counts(p, 1);
    CHECK(bool(equal(c, a + 1.f)));
    CHECK(bool(equal(d, b * 2.)));
    // 5 + 5 inputs do not fit
    auto const many = plan(into(c, a + a + a + a + a), into(d, b + b + b + b + b));
    static_assert(many.launches() == 2);
    check_counts(many, 2);
  });
}

TEST_CASE("a map that waits for another, for a product or for a transfer, keeps its own kernel") {
  using A = Tensor<float, Extents<8, 8>, G0>;
  using C = Tensor<float, Extents<8, 8>>;
  // a product with a row, twice: each library call adds its row
  using Row = Tensor<float, Extents<8>, G0>;
  using P = decltype(plan(into(std::declval<A&>(), matmul(std::declval<A&>(), std::declval<A&>()) +
                                                       std::declval<Row&>()),
                          into(std::declval<A&>(), matmul(std::declval<A&>(), std::declval<A&>()) +
                                                       std::declval<Row&>())));
  static_assert(P::launches() == 2);
  // a tensor that lies there, and one that crosses first
  using Q = decltype(plan(into(std::declval<A&>(), std::declval<A&>() + 1.f),
                          into(std::declval<A&>(), on<G0>(std::declval<C&>() * 2.f))));
  static_assert(Q::launches() == 2 && Q::copies() == 1);
  // updates by sums over replicas: one kernel if the sums travel together; otherwise the first would
  // wait for the second sum
  static_assert(updates<prefer_gpu>::launches() == 2 && updates<small_buckets>::launches() == 3);
  on_few_backends([] {  // the second reads what the first computes, in another order
    Tensor<float, Extents<8, 8>> x(uniform<float>(Extents<8, 8>{}, seed{9})), y, z;
    auto const p =
        let(x * 2.f, [&](auto v) { return plan(into(y, v), into(z, transpose(v) + 1.f)); });
    static_assert(p.launches() == 2);
    check_counts(p, 2);
    CHECK(bool(equal(z, transpose(y) + 1.f)));
  });
}

TEST_CASE("open extents: the guard's second plan has a kernel for each") {
  on_few_backends([] {
    check_of_extents<CpuDevice>();
    check_of_extents<G0>();
  });
}

TEST_CASE("two windows of one field into two fields are one kernel, on pieces too") {
  on_few_backends([] {
    using Cut = Tensor<double, Dextents<2>, Sharded<0, AllGpus, Halo<1, beyond::wrap>>>;
    Cut u(23, 9), v(23, 9), w(23, 9);
    u = uniform<double>(dextents<2>{23, 9}, seed{3});
    auto const step = let(u, [&](auto x) {
      return plan(into(v, shift<0, 1>(x) - shift<0, -1>(x)),
                  into(w, shift<0, 1>(x) + shift<0, -1>(x)));
    });
    static_assert(step.launches() == 1 && step.halo_exchanges() == 1);
    Tensor<double, Dextents<2>> const field(u);
    run(step);
    Tensor<double, Dextents<2>> const difference(v), total(w);
    for (std::int64_t i = 0; i < 23; ++i)
      for (std::int64_t j = 0; j < 9; ++j) {
        double const up = field.data()[(i + 1) % 23 * 9 + j],
                     down = field.data()[(i + 22) % 23 * 9 + j];
        REQUIRE(difference.data()[i * 9 + j] == up - down);
        REQUIRE(total.data()[i * 9 + j] == up + down);
      }
  });
}

TEST_CASE("parts of one buffer: right sides are read before left sides are written") {
  std::mt19937 bits(11);
  on_few_backends([&](backends::machine const& m) {
    CHECK(check_parts<CpuDevice>(bits, 1500) > 300);
    if (m.has_gpu()) CHECK(check_parts<G0>(bits, 400) > 80);
  });
}

}  // namespace two_maps_test

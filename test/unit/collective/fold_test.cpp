// SPDX-License-Identifier: Apache-2.0
// Collectives: reductions over replicas with the bits of an oracle that adds in replica order, and
// values that are scattered, gathered and mirrored without losing an element.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include "on_backends.hpp"
// the backends come first
#include "collectives.hpp"
#include "oracle.hpp"
#include "replicas.hpp"

namespace fold_test {

using namespace locus;
using backends::machine;
using replicas::cut;
using replicas::mirrored;
using replicas::parts_of;

namespace {

/// every kind of device list: distinct cards, one card for all, fewer cards than replicas
constexpr machine machines[] = {
    {backends::kind::host, 0, 0},      {backends::kind::simulated, 8, 1},
    {backends::kind::simulated, 1, 2}, {backends::kind::simulated, 3, 3},
    {backends::kind::recorded, 1, 0},  {backends::kind::recorded, 3, 0},
};
/// sums in replica order among cards too: NCCL's own order is not promised
template <class Body>
void on_all(Body&& body) {
  collectives::order_scope const ranked(reduction_order::ranked);
  for (machine const& m : machines) backends::run_on(m, body);
}

template <class T>
using matrix_of = std::vector<std::vector<T>>;

template <class T>
matrix_of<T> random_rows(int rows, std::int64_t n, std::uint64_t seed) {
  oracle::random bits(seed);
  matrix_of<T> all(static_cast<std::size_t>(rows));
  for (auto& row : all)
    for (std::int64_t i = 0; i < n; ++i) row.push_back(bits.value<T>(-100, 100));
  if constexpr (is_floating_v<T>)
    for (auto& row : all)
      for (T& v : row) v *= T(1) + T(bits.real(0, 1e-3));  // bits that rounding moves
  return all;
}
template <class T>
Tensor<T, Dextents<2>> tensor_of(matrix_of<T> const& rows, std::int64_t n) {
  Tensor<T, Dextents<2>> t(static_cast<std::int64_t>(rows.size()), n);
  T* to = t.data();
  for (auto const& row : rows) to = std::copy(row.begin(), row.end(), to);
  return t;
}
/// term 0, then term 1, ...: the order of the replicas
template <class T, class Row, class F>
std::vector<T> fold_rows(matrix_of<Row> const& rows, std::int64_t n, F combine) {
  std::vector<T> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    T t = static_cast<T>(rows[0][i]);
    for (std::size_t r = 1; r < rows.size(); ++r) t = combine(t, static_cast<T>(rows[r][i]));
    out.push_back(t);
  }
  return out;
}
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  for (std::size_t i = 0; i < a.size() && a.size() == b.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return false;
  return a.size() == b.size();
}
constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto larger = [](auto a, auto b) { return a != a || a > b ? a : b; };  // a NaN stays
constexpr auto smaller = [](auto a, auto b) { return a != a || a < b ? a : b; };

template <int R>
void check_sums() {
  for (std::int64_t n : {0, 1, 7, 1000}) {
    CAPTURE(n);
    auto const rows = random_rows<float>(R, n, 10u + R);
    auto const expected = fold_rows<float>(rows, n, add);
    Tensor<float, Dextents<2>, cut<R>> x(to<cut<R>>(tensor_of(rows, n)));
    Tensor<float, Dextents<1>, mirrored<R>> y(n);
    y = sum<0>(x);
    for (auto const& copy : parts_of(y)) CHECK(same_bits(copy, expected));
    CHECK(y.size() == n);
  }
}

template <class T>
void check_extrema(machine const& m) {
  for (std::int64_t n : {std::int64_t(3), std::int64_t(m.seed == 1 ? (1 << 20) + 7 : 501)}) {
    CAPTURE(n);
    auto rows = random_rows<T>(3, n, 77);
    if constexpr (is_floating_v<T>) rows[1][1] = std::numeric_limits<T>::quiet_NaN();
    Tensor<T, Dextents<2>, cut<3>> x(to<cut<3>>(tensor_of(rows, n)));
    Tensor<T, Dextents<1>, mirrored<3>> y(n);
    Tensor<sum_t<T>, Dextents<1>, mirrored<3>> z(n);
    y = max<0>(x);
    auto const is_nan_or = [](std::vector<T> const& a, std::vector<T> const& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && (a[i] == a[i] || b[i] == b[i])) return false;
      return a.size() == b.size();
    };
    for (auto const& copy : parts_of(y)) CHECK(is_nan_or(copy, fold_rows<T>(rows, n, larger)));
    y = min<0>(x);
    for (auto const& copy : parts_of(y)) CHECK(is_nan_or(copy, fold_rows<T>(rows, n, smaller)));
    if constexpr (is_floating_v<T>) rows[1][1] = 1, x = to<cut<3>>(tensor_of(rows, n));
    z = sum<0>(x);
    for (auto const& copy : parts_of(z)) CHECK(same_bits(copy, fold_rows<sum_t<T>>(rows, n, add)));
  }
}

struct color {
  std::uint8_t red, green, blue;
  friend bool operator==(color const&, color const&) = default;
};

/// there and back, by all ways, whatever the extents
template <class T, class Make>
void check_moves(Make make) {
  for (auto const& extents : {std::pair{0, 3}, {1, 1}, {2, 5}, {3, 4}, {7, 3}, {100, 11}}) {
    int const rows = extents.first, columns = extents.second;
    CAPTURE(rows);
    CAPTURE(columns);
    Tensor<T, Dextents<2>> host(rows, columns);
    for (std::int64_t i = 0; i < host.size(); ++i) host.data()[i] = make(i);
    auto const is_whole = [&](auto const& t) {
      auto const back = to<CpuDevice>(t);
      return back.size() == host.size() &&
             std::equal(back.data(), back.data() + back.size(), host.data());
    };
    auto by_rows = to<cut<3>>(host);
    auto by_columns = to<cut<3, 1>>(host);
    auto everywhere = to<mirrored<3>>(host);
    CHECK(is_whole(by_rows));
    CHECK(is_whole(by_columns));
    CHECK(is_whole(everywhere));
    for (auto* t : {&everywhere}) {
      for (auto const& copy : parts_of(*t))
        CHECK(std::equal(copy.begin(), copy.end(), host.data(), host.data() + host.size()));
    }
    auto gathered = to<mirrored<3>>(by_columns);
    for (auto const& copy : parts_of(gathered))
      CHECK(std::equal(copy.begin(), copy.end(), host.data(), host.data() + host.size()));
    CHECK(is_whole(to<GpuDevice<1>>(by_rows)));
    CHECK(is_whole(to<GpuDevice<1>>(everywhere)));
    CHECK(is_whole(to<cut<3, 1>>(everywhere)));
    std::int64_t at = 0;
    for (auto const& piece : parts_of(by_rows)) {
      CHECK(std::equal(piece.begin(), piece.end(), host.data() + at));
      at += static_cast<std::int64_t>(piece.size());
    }
    CHECK(at == host.size());
  }
}

}  // namespace

TEST_CASE("an all-reduce has the bits of a sum in replica order, on 1 to 8 replicas") {
  on_all([] {
    check_sums<1>(), check_sums<2>(), check_sums<3>(), check_sums<4>();
    check_sums<5>(), check_sums<6>(), check_sums<7>(), check_sums<8>();
  });
}

TEST_CASE("sums and extrema of every element type, also of more than 2^20 elements") {
  on_all([](machine const& m) {
    check_extrema<float>(m), check_extrema<double>(m), check_extrema<std::int32_t>(m);
    check_extrema<std::int64_t>(m), check_extrema<std::uint8_t>(m);
  });
}

TEST_CASE("any and all of flags over replicas") {
  on_all([] {
    auto const host = Tensor<bool, Dextents<2>>{{true, false, true}, {true, false, false}};
    Tensor<bool, Dextents<2>, cut<2>> x(to<cut<2>>(host));
    Tensor<bool, Dextents<1>, mirrored<2>> y(3);
    y = any<0>(x);
    for (auto const& copy : parts_of(y)) CHECK(copy == std::vector{true, false, true});
    y = all<0>(x);
    for (auto const& copy : parts_of(y)) CHECK(copy == std::vector{true, false, false});
  });
}

TEST_CASE("terms become one value on one device, or pieces, with the same bits") {
  on_all([] {
    for (std::int64_t n : {0, 1, 2, 5, 999}) {
      CAPTURE(n);
      auto const rows = random_rows<double>(3, n, 5);
      auto const expected = fold_rows<double>(rows, n, add);
      Tensor<double, Dextents<2>, cut<3>> x(to<cut<3>>(tensor_of(rows, n)));
      Tensor<double, Dextents<1>, GpuDevice<1>> there(n);
      Tensor<double, Dextents<1>> here(n);
      Tensor<double, Dextents<1>, cut<3>> pieces(n);
      run(into(there, sum<0>(x)));
      run(into(here, sum<0>(x)));
      auto const scattered = plan(into(pieces, sum<0>(x)));
      static_assert(scattered.all_reduces() == 0);
      run(scattered);
      CHECK(same_bits(replicas::read<GpuDevice<1>>(there.data(), n), expected));
      CHECK(same_bits({here.data(), here.data() + n}, expected));
      std::vector<double> joined;
      for (auto const& piece : parts_of(pieces))
        joined.insert(joined.end(), piece.begin(), piece.end());
      CHECK(same_bits(joined, expected));
    }
  });
}

TEST_CASE("tensors of one moment share a bucket, and none is mixed up with another") {
  on_all([] {
    auto const a = random_rows<float>(4, 33, 1), b = random_rows<float>(4, 1001, 2),
               c = random_rows<float>(4, 1, 3);
    Tensor<float, Dextents<2>, cut<4>> x(to<cut<4>>(tensor_of(a, 33))),
        y(to<cut<4>>(tensor_of(b, 1001))), z(to<cut<4>>(tensor_of(c, 1)));
    Tensor<float, Dextents<1>, mirrored<4>> sum_x(33), sum_y(1001), sum_z(1);
    auto const step = plan(into(sum_x, sum<0>(x)), into(sum_y, sum<0>(y)), into(sum_z, sum<0>(z)));
    static_assert(step.all_reduces() == 1);
    auto const seen = testing::count([&] { run(step); });
    CHECK(seen.all_reduces == 1);
    CHECK(seen.bytes_reduced == 4 * (33 + 1001 + 1));
    for (auto const& copy : parts_of(sum_x)) CHECK(same_bits(copy, fold_rows<float>(a, 33, add)));
    for (auto const& copy : parts_of(sum_y)) CHECK(same_bits(copy, fold_rows<float>(b, 1001, add)));
    for (auto const& copy : parts_of(sum_z)) CHECK(same_bits(copy, fold_rows<float>(c, 1, add)));
  });
}

TEST_CASE("pieces without rows take part with the identity") {
  on_all([] {
    for (int rows : {0, 1, 2, 5, 9}) {  // over four: 1 1 0 0; 2 2 1 0; 3 3 3 0
      CAPTURE(rows);
      auto const data = random_rows<std::int32_t>(rows, 6, 4);
      Tensor<std::int32_t, Dextents<2>, cut<4>> x(to<cut<4>>(tensor_of(data, 6)));
      Tensor<std::int64_t, Dextents<1>, mirrored<4>> total(6);
      Tensor<std::int32_t, Dextents<1>, mirrored<4>> most(6);
      total = sum<0>(x);
      auto const sums = rows ? fold_rows<std::int64_t>(data, 6, add) : std::vector<std::int64_t>(6);
      for (auto const& copy : parts_of(total)) CHECK(same_bits(copy, sums));
      if (rows == 0) {
        CHECK_THROWS_AS(most = max<0>(x), shape_error);
        continue;
      }
      most = max<0>(x);
      for (auto const& copy : parts_of(most))
        CHECK(same_bits(copy, fold_rows<std::int32_t>(data, 6, larger)));
    }
  });
}

TEST_CASE("nothing is lost when values are scattered, gathered and mirrored") {
  on_all([] {
    check_moves<float>([](std::int64_t i) { return float(i) + 0.5f; });
    check_moves<bool>([](std::int64_t i) { return i % 3 == 0; });
    check_moves<std::int64_t>([](std::int64_t i) { return i << 40; });
    check_moves<color>([](std::int64_t i) {
      return color{std::uint8_t(i), std::uint8_t(i + 1), std::uint8_t(i + 2)};
    });
  });
}

TEST_CASE("what is set aside is not lost while other values are gathered and reduced") {
  on_all([] {
    Tensor<float, Dextents<2>> c(ones<float>(dextents<2>{20, 30})), d(20, 30), e(20, 30);
    Tensor<float, Dextents<2>> const whole(uniform<float>(dextents<2>{20, 30}, seed{1}));
    Tensor<float, Dextents<3>, cut<3>> terms(to<cut<3>>(ones<float>(dextents<3>{3, 20, 30})));
    auto const pieces = to<cut<3>>(whole);
    run(plan(into(c, pieces), into(e, sum<0>(terms)), into(d, c * 2.f)));  // d reads the old c
    CHECK(equal(c, whole));
    CHECK(fetch(all(e == 3.f)));
    CHECK(fetch(all(d == 2.f)));
  });
}

}  // namespace fold_test

// SPDX-License-Identifier: Apache-2.0
// The algorithms of algorithms/ on a card: their kernels run there, and each result is that of the host, bit for bit.
#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <locus/algorithms/argmin.hpp>
#include <locus/algorithms/by_functor.hpp>
#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/moves.hpp>
#include <locus/algorithms/nonzero.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/search_sorted.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/algorithms/top_k.hpp>
#include <locus/testing/count.hpp>

#include "count.hpp"

using namespace locus;

namespace {

using Gpu = GpuDevice<0>;
template <class T, int Rank = 1, class Where = Gpu>
using Array = Tensor<T, Dextents<Rank>, Where>;

template <class X>
std::vector<unsigned char> bits_of(X const& x) {
  auto const host = to<CpuDevice>(x);
  std::vector<unsigned char> bits(std::size_t(host.size()) * sizeof(*host.data()));
  if (!bits.empty()) std::memcpy(bits.data(), host.data(), bits.size());
  return bits;
}
/// numbers with ties, zeros of both signs and, if there is one, NaN
template <class T>
Array<T, 1, CpuDevice> drawn(std::int64_t n, unsigned seed, int low = -40, int high = 40) {
  Array<T, 1, CpuDevice> x(n);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < n; ++i) {
    x.data()[i] = T(low + int(random() % unsigned(high - low)));
    if constexpr (is_floating_v<T>) {
      if (low < 0 && random() % 50 == 0) x.data()[i] = T(-0.f);
      if (low < 0 && random() % 200 == 0) x.data()[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  return x;
}
/// f(x...) on the host and on the card: equal bits, by kernels of the card
template <class F, class... X>
void same_on_card(char const* what, F const& f, X const&... x) {
  CAPTURE(what);
  auto const here = eval(f(x...));
  auto const copies = std::make_tuple(to<Gpu>(x)...);
  std::string const label = std::string(what) + std::to_string(here.size());
  auto const there = std::apply(
      [&](auto const&... on) {
        auto r = eval(f(on...));
        auto const done =
            testing::count([&] { ptx_counts::measure(label.c_str(), [&] { r = f(on...); }); });
        CHECK(done.fallbacks == 0);
        CHECK(done.copies == 0);
        return r;
      },
      copies);
  CHECK(bits_of(there) == bits_of(here));
  if (here.size() > 0) CHECK(ptx_counts::figure(label.c_str(), "launches") > 0);
}
/// the same of the K-th result of several
template <int K, class F, class... X>
void same_part(char const* what, F const& f, X const&... x) {
  std::string const label = std::string(what) + ", result " + std::to_string(K) + " ";
  same_on_card(label.c_str(), [&](auto const&... on) { return result<K>(f(on...)); }, x...);
}

std::int64_t const sizes[] = {1, 31, 33, 257, 3000};

}  // namespace

TEST_CASE("rows by number") {
  for (std::int64_t const n : sizes) {
    auto const x = drawn<float>(n, 1);
    Array<float, 2, CpuDevice> rows{Dextents<2>(n, 3)};
    auto const values = drawn<float>(3 * n, 2);
    std::copy_n(values.data(), 3 * n, rows.data());
    auto const ids = drawn<std::int32_t>(n, 3, 0, 7);
    auto const places = drawn<std::int32_t>(50, 4, 0, int(n));
    same_on_card("take", [](auto const& a, auto const& i) { return take(a, i); }, rows, places);
    same_on_card(
        "segment_sum", [](auto const& a, auto const& i) { return segment_sum<7>(a, i); }, rows,
        ids);
    same_on_card(
        "segment_max", [](auto const& a, auto const& i) { return segment_max<7>(a, i); }, x, ids);
    same_on_card("bincount", [](auto const& i) { return bincount<7>(i); }, ids);
  }
}
TEST_CASE("many numbers of few segments: a warp takes a part") {
  std::int64_t const outer = 260;
  for (std::int64_t const n : {1, 31, 300}) {
    Array<float, 2, CpuDevice> x{Dextents<2>(outer, n)};
    auto const values = drawn<float>(outer * n, 21);
    std::copy_n(values.data(), outer * n, x.data());
    auto ids = drawn<std::int32_t>(n, 22, 0, 7);
    for (bool const in_order : {false, true}) {
      if (in_order) std::sort(ids.data(), ids.data() + n);
      same_on_card(
          "segment_sum, parts",
          [](auto const& a, auto const& i) { return segment_sum<7, 1>(a, i); }, x, ids);
      same_on_card(
          "segment_max, parts",
          [](auto const& a, auto const& i) { return segment_max<7, 1>(a, i); }, x, ids);
      std::string const label = "segment_sum, parts" + std::to_string(7 * outer);
      CHECK(ptx_counts::kernels(label.c_str()).find("sort") == std::string::npos);
    }
  }
}
TEST_CASE("scans and folds by a functor along a cut go from card to card") {
  using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
  auto const last = host_device([] LOCUS_HOST_DEVICE(float a, float b) { return b > 0 ? b : a; });
  for (std::int64_t const n : {2, 7, 1030}) {
    auto const x = drawn<float>(n, 8, -9, 4);
    Array<float, 1, Pieces> const pieces(x);
    Array<float, 1, Pieces> r(n);
    auto const done = testing::count([&] { r = scan<0>(pieces, last, 7); });
    CHECK(done.fallbacks == 0);
    CHECK(done.all_reduces == 1);
    CHECK(bits_of(r) == bits_of(eval(scan<0>(x, last, 7))));
    CHECK(fetch(reduce<0>(pieces, last, 7)) == fetch(reduce<0>(x, last, 7)));
  }
}
TEST_CASE("scans of lines") {
  // with lines of many chunks, and of chunks of several pieces
  for (std::int64_t const n : {1, 31, 33, 257, 3000, 5000, 66000}) {
    auto const x = drawn<float>(n, 5, 1, 9);
    auto const k = drawn<std::int32_t>(n, 6);
    same_on_card("cumsum", [](auto const& a) { return cumsum<0>(a); }, x);
    auto const last = host_device([] LOCUS_HOST_DEVICE(float a, float b) { return b > 0 ? b : a; });
    same_on_card("scan by a functor", [&](auto const& a) { return scan<0>(a, last, 7); }, x);
    same_on_card("fold by a functor", [&](auto const& a) { return reduce<0>(a, last, 7); }, x);
    same_on_card("cumsum of integers", [](auto const& a) { return cumsum<0>(a, exclusive); }, k);
    same_on_card("cummax", [](auto const& a) { return cummax<0>(a, from_end); }, k);
  }
}
TEST_CASE("orders") {
  for (std::int64_t const n : sizes) {
    auto const x = drawn<float>(n, 7);
    auto const k = drawn<std::int32_t>(n, 8);
    same_on_card("sort", [](auto const& a) { return sort<0>(a); }, x);
    same_on_card("argsort", [](auto const& a) { return argsort<0>(a); }, x);
    same_on_card("argmin", [](auto const& a) { return argmin(a); }, k);
    same_on_card(
        "sort_by_key", [](auto const& a, auto const& b) { return std::get<1>(sort_by_key(a, b)); },
        k, x);
    auto const best = [](auto const& a) { return top_k<1>(a); };
    same_part<0>("top_k", best, x);
    same_part<1>("top_k", best, x);
    auto const sorted = eval(sort<0>(drawn<float>(100, 9, 1, 90)));
    same_on_card(
        "search_sorted", [](auto const& s, auto const& a) { return search_sorted(s, a); }, sorted,
        x);
  }
}
TEST_CASE("counts in bins") {
  for (std::int64_t const n : sizes) {
    auto const x = drawn<float>(n, 10);
    same_on_card("histogram", [](auto const& a) { return histogram<16>(a, -32., 32.); }, x);
    auto const edges = eval(sort<0>(drawn<float>(9, 11, 1, 30)));
    same_on_card(
        "histogram of many bins", [](auto const& a) { return histogram<9000>(a, -32., 32.); }, x);
    same_on_card(
        "histogram between edges", [](auto const& a, auto const& e) { return histogram(a, e); }, x,
        edges);
  }
}
TEST_CASE("selections") {
  for (std::int64_t const n : sizes) {
    auto const x = drawn<float>(n, 12);
    auto const k = drawn<std::int32_t>(n, 13, -1, 2);
    auto const kept = [](auto const& m, auto const& a) { return compress(m > 0, a); };
    same_part<0>("compress", kept, k, x);
    same_part<1>("compress", kept, k, x);
    auto const places = [](auto const& a) { return nonzero(a); };
    same_part<0>("nonzero", places, k);
    same_part<1>("nonzero", places, k);
    auto const runs = [](auto const& a) { return run_lengths(a); };
    same_part<0>("run_lengths", runs, k);
    same_part<1>("run_lengths", runs, k);
    same_part<2>("run_lengths", runs, k);
  }
}
TEST_CASE("moves") {
  for (std::int64_t const n : sizes) {
    auto const x = drawn<float>(n, 14);
    same_on_card("roll", [](auto const& a) { return roll<0>(a, 5); }, x);
    same_on_card("flip", [](auto const& a) { return flip<0>(a); }, x);
    same_on_card("pad", [](auto const& a) { return pad<0>(a, 2, 3); }, x);
  }
}
TEST_CASE("empty operands") {
  Array<float, 1, CpuDevice> const x(0);
  Array<std::int32_t, 1, CpuDevice> const k(0);
  same_on_card("sort", [](auto const& a) { return sort<0>(a); }, x);
  same_on_card("cumsum", [](auto const& a) { return cumsum<0>(a); }, x);
  same_on_card("bincount", [](auto const& i) { return bincount<7>(i); }, k);
  same_on_card("histogram", [](auto const& a) { return histogram<16>(a, -32., 32.); }, x);
  same_part<1>("compress", [](auto const& m, auto const& a) { return compress(m > 0, a); }, k, x);
}

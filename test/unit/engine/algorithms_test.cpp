// SPDX-License-Identifier: Apache-2.0
// Named algorithms beside independent references, to the last bit: over a recorder their loops, on cards CUB's
// kernels. Sizes around a warp and a tile, both NaNs and both zeros. What a failure says, how often the
// question for workspace is put.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <locus/engine/gpu/scans.hpp>
#include <locus/engine/gpu/selects.hpp>
#include <locus/engine/gpu/sorts.hpp>
#include <message_of.hpp>
#include <oracle.hpp>

namespace algorithms_test {

using namespace locus;
using locus::half;  // CUDA has one, too

namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 32, 33, 1000, 100003};

/// numbers on the card, and on the host again
template <class T>
class memory {
 public:
  explicit memory(std::vector<T> const& v) : n_(v.size()), on_card_(put(v)) {}
  explicit memory(std::size_t n) : memory(std::vector<T>(n, T(77))) {}
  T* data() { return on_card_.data(); }
  std::vector<T> numbers(std::size_t n) {
    auto const host = to<CpuDevice>(on_card_);
    return std::vector<T>(host.data(), host.data() + n);
  }
  std::vector<T> numbers() { return numbers(n_); }

 private:
  static Tensor<T, Dextents<1>, GpuDevice<0>> put(std::vector<T> const& v) {
    Tensor<T, Dextents<1>, CpuDevice> host{Dextents<1>(std::int64_t(v.size()) + 1)};
    for (std::size_t i = 0; i < v.size(); ++i) host.data()[i] = v[i];
    return Tensor<T, Dextents<1>, GpuDevice<0>>(host);
  }
  std::size_t n_;
  Tensor<T, Dextents<1>, GpuDevice<0>> on_card_;  // one more, so that there is an address
};
// a vector<bool> is no array
class flags {
 public:
  explicit flags(std::vector<char> const& v) : on_card_(put(v)) {}
  bool const* data() { return on_card_.data(); }

 private:
  static Tensor<bool, Dextents<1>, GpuDevice<0>> put(std::vector<char> const& v) {
    Tensor<bool, Dextents<1>, CpuDevice> host{Dextents<1>(std::int64_t(v.size()) + 1)};
    for (std::size_t i = 0; i < v.size(); ++i) host.data()[i] = v[i] != 0;
    return Tensor<bool, Dextents<1>, GpuDevice<0>>(host);
  }
  Tensor<bool, Dextents<1>, GpuDevice<0>> on_card_;
};

template <class Body>
void run_on_card(Body const& body) {
  auto& d = runtime::find_device(gpu(0));
  launch_site const site{&d, {7, "test", d.name}, nullptr, 0, nullptr};
  cuda_side::run_algorithm(site, body);
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// any bits that T has; of floats each NaN, infinity and zero often
template <class T>
std::vector<T> wild(std::int64_t n, std::uint64_t seed) {
  oracle::random r(seed);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) {
    auto const bits = r.bits();
    std::memcpy(&x, &bits, sizeof(T));
    if constexpr (is_floating_v<T>) {
      float const some[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN, 1.5f, -1.5f};
      if (r.number(0, 2) != 0) x = T(some[r.number(0, 7)]);
    }
  }
  return v;
}
/// small whole numbers: no order of adding shows
template <class T>
std::vector<T> whole(std::int64_t n, std::uint64_t seed, int most = 5) {
  oracle::random r(seed);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = T(int(r.number(-most, most)));
  return v;
}
/// the order that the documents promise: -0 before 0, every NaN last
template <class T>
bool comes_before(T a, T b) {
  if constexpr (is_floating_v<T>) {
    auto const x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    if (x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
    return x < y;
  } else
    return a < b;
}
/// every NaN is the quiet one
template <class T>
T plain(T x) {
  if constexpr (is_floating_v<T>)
    if (std::isnan(static_cast<double>(x))) return T(std::numeric_limits<float>::quiet_NaN());
  return x;
}
template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::stable_sort(v.begin(), v.end(), comes_before<T>);
  for (T& x : v) x = plain(x);
  return v;
}
/// segments of 0 to 70 elements that cover n
std::vector<std::int64_t> segments_of(std::int64_t n) {
  oracle::random r(std::uint64_t(n) + 3);
  std::vector<std::int64_t> offsets{0};
  while (offsets.back() < n) offsets.push_back(std::min(n, offsets.back() + r.number(0, 70)));
  return offsets;
}

template <class T>
void check_sorts(std::int64_t n) {
  CAPTURE(n);
  auto const keys = wild<T>(n, 11);
  memory<T> in(keys), out(keys.size());
  run_on_card(cuda_side::sort_keys<T>{n, in.data(), out.data()});
  CHECK(same_bits(out.numbers(), sorted(keys)));

  std::vector<std::int32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  memory<std::int32_t> values(places), moved(places.size());
  run_on_card(cuda_side::sort_pairs<T, std::int32_t>{n, in.data(), values.data(), out.data(),
                                                     moved.data()});
  std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
    return comes_before(keys[std::size_t(a)], keys[std::size_t(b)]);
  });
  CHECK(same_bits(out.numbers(), sorted(keys)));
  CHECK(moved.numbers() == places);
}
template <class T>
void check_segments(std::int64_t n) {
  CAPTURE(n);
  auto const keys = wild<T>(n, 17);
  memory<T> in(keys), out(keys.size());
  auto const offsets = segments_of(n);
  memory<std::int64_t> at(offsets);
  auto const segments = std::int64_t(offsets.size()) - 1;
  run_on_card(cuda_side::sort_segments<T>{n, segments, at.data(), in.data(), out.data()});
  std::vector<T> expected;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    auto const part =
        sorted(std::vector<T>(keys.begin() + offsets[s], keys.begin() + offsets[s + 1]));
    expected.insert(expected.end(), part.begin(), part.end());
  }
  CHECK(same_bits(out.numbers(), expected));
}

template <class T>
void check_selects(std::int64_t n) {
  CAPTURE(n);
  oracle::random r(5);
  auto const values = wild<T>(n, 12);
  std::vector<char> flag(values.size());
  for (char& f : flag) f = r.number(0, 2) == 0;
  memory<T> in(values), out(values.size());
  flags set(flag);
  memory<std::int64_t> count(1);
  run_on_card(cuda_side::select_flagged<T>{n, in.data(), set.data(), out.data(), count.data()});
  std::vector<T> expected;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (flag[i]) expected.push_back(values[i]);
  REQUIRE(count.numbers()[0] == std::int64_t(expected.size()));
  CHECK(same_bits(out.numbers(expected.size()), expected));
}

template <class T>
void check_runs(std::int64_t n) {
  CAPTURE(n);
  oracle::random r(6);
  std::vector<T>
      keys;  // runs, NaNs (each is one of its own), zeros of both signs (which are equal)
  while (std::int64_t(keys.size()) < n) {
    T key = T(int(r.number(-2, 2)));
    if constexpr (is_floating_v<T>)
      if (r.number(0, 5) == 0) key = r.number(0, 1) ? T(-0.f) : T(NAN);
    for (std::int64_t k = r.number(1, 9); k > 0 && std::int64_t(keys.size()) < n; --k)
      keys.push_back(key);
  }
  auto const values = whole<T>(n, 13);
  std::vector<T> unique, last, sums;
  std::vector<std::int32_t> first, lengths;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1])
      unique.push_back(keys[i]), last.push_back(keys[i]), first.push_back(std::int32_t(i)),
          lengths.push_back(0), sums.push_back(T(0));
    last.back() = keys[i], ++lengths.back(), sums.back() = T(sums.back() + values[i]);
  }
  memory<T> in(keys), to_unique(keys.size());
  memory<std::int32_t> numbers(keys.size()), found(1);
  run_on_card(cuda_side::first_of_runs<T, std::int32_t>{n, in.data(), to_unique.data(),
                                                        numbers.data(), found.data()});
  REQUIRE(found.numbers()[0] == std::int32_t(unique.size()));
  CHECK(same_bits(to_unique.numbers(unique.size()), unique));
  CHECK(numbers.numbers(first.size()) == first);

  memory<T> again(keys.size());
  memory<std::int64_t> count(1);
  run_on_card(cuda_side::run_lengths<T>{n, in.data(), again.data(), numbers.data(), count.data()});
  REQUIRE(count.numbers()[0] == std::int64_t(unique.size()));
  CHECK(same_bits(again.numbers(last.size()), last));
  CHECK(numbers.numbers(lengths.size()) == lengths);

  std::vector<std::int32_t> groups;
  for (std::size_t k = 0; k < lengths.size(); ++k)
    groups.insert(groups.end(), std::size_t(lengths[k]), std::int32_t(k * 3));
  memory<std::int32_t> group(groups), to_groups(groups.size());
  memory<T> added(values), folded(values.size());
  memory<std::int64_t> runs(1);
  run_on_card(cuda_side::fold_by_key<reduction::sum, std::int32_t, T>{
      n, group.data(), added.data(), to_groups.data(), folded.data(), runs.data()});
  REQUIRE(runs.numbers()[0] == std::int64_t(sums.size()));
  CHECK(same_bits(folded.numbers(sums.size()), sums));
}

template <class T>
void check_scans(std::int64_t n) {
  CAPTURE(n);
  auto const values = whole<T>(n, 14);
  memory<T> in(values), out(values.size());
  std::vector<T> expected(values.size());
  run_on_card(cuda_side::scan<false, reduction::sum, T>{n, in.data(), out.data()});
  std::partial_sum(values.begin(), values.end(), expected.begin());
  CHECK(same_bits(out.numbers(), expected));
  run_on_card(cuda_side::scan<true, reduction::sum, T>{n, in.data(), in.data()});  // in place
  std::exclusive_scan(values.begin(), values.end(), expected.begin(), T(0));
  CHECK(same_bits(in.numbers(), expected));

  auto const offsets = segments_of(n);
  auto const segments = std::int64_t(offsets.size()) - 1;
  memory<std::int64_t> at(offsets);
  memory<T> added(values), totals(offsets.size());
  run_on_card(cuda_side::fold_segments<reduction::sum, T>{segments, added.data(), at.data(),
                                                          totals.data()});
  std::vector<T> sums, largest;
  auto extreme = wild<T>(n, 15);
  for (T& x : extreme) x = plain(x);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    auto const begin = std::size_t(offsets[s]), end = std::size_t(offsets[s + 1]);
    T sum = T(0), most = is_floating_v<T> ? T(-std::numeric_limits<T>::infinity())
                                          : std::numeric_limits<T>::lowest();
    for (std::size_t i = begin; i < end; ++i) {
      sum = T(sum + values[i]);
      if (most == most && !(extreme[i] <= most)) most = extreme[i];
    }
    sums.push_back(sum), largest.push_back(most);
  }
  CHECK(same_bits(totals.numbers(sums.size()), sums));
  memory<T> wide(extreme);
  run_on_card(
      cuda_side::fold_segments<reduction::max, T>{segments, wide.data(), at.data(), totals.data()});
  auto most = totals.numbers(largest.size());
  for (std::size_t s = 0; s < most.size();
       ++s)  // which of two equal zeros, and of two NaNs, is free
    if (most[s] == largest[s] || (most[s] != most[s] && largest[s] != largest[s]))
      most[s] = largest[s];
  CHECK(same_bits(most, largest));
}

template <class T>
void check_histogram(std::int64_t n) {
  CAPTURE(n);
  for (int bins : {1, 7, 300}) {
    CAPTURE(bins);
    std::vector<T> levels;
    for (int b = 0; b <= bins; ++b) levels.push_back(T(b * 3 - 40));
    auto values = whole<T>(n, 16, 900);
    if constexpr (is_floating_v<T>)
      for (std::size_t i = 0; i < values.size(); i += 9) values[i] = wild<T>(1, i)[0];
    memory<T> in(values), at(levels);
    memory<std::int32_t> counts{std::size_t(bins)};
    run_on_card(cuda_side::histogram<T>{n, in.data(), bins, at.data(), counts.data()});
    std::vector<std::int32_t> expected(std::size_t(bins), 0);
    for (T const x : values)
      for (std::size_t b = 0; b < expected.size(); ++b)
        expected[b] += x >= levels[b] && x < levels[b + 1];
    CHECK(counts.numbers() == expected);
  }
}
void check_numbers(std::int64_t n) {
  CAPTURE(n);
  for (int bins : {1, 7, 3000}) {
    CAPTURE(bins);
    auto const values = whole<std::int32_t>(n, 17, bins + 2);
    memory<std::int32_t> in(values), counts{std::size_t(bins)};
    run_on_card(cuda_side::count_numbers<std::int32_t>{n, in.data(), bins, counts.data()});
    std::vector<std::int32_t> expected(std::size_t(bins), 0);
    for (std::int32_t const b : values)
      if (b >= 0 && b < bins) ++expected[std::size_t(b)];
    CHECK(counts.numbers() == expected);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("sorts: NaNs last, -0 before 0, equal keys as they came", T, float, double, half,
                   std::int32_t, std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_sorts<T>(n);
}
TEST_CASE_TEMPLATE("sorts of segments", T, float, double, half, std::int32_t, std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_segments<T>(n);
}
TEST_CASE_TEMPLATE("elements by flags", T, float, double, half, std::int32_t, std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_selects<T>(n);
}
TEST_CASE_TEMPLATE("runs of equal keys: first, length, fold", T, float, double, std::int32_t,
                   std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_runs<T>(n);
}
TEST_CASE_TEMPLATE("scans and folds of segments", T, float, double, std::int32_t, std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_scans<T>(n);
}
TEST_CASE_TEMPLATE("histograms", T, float, double, std::int32_t, std::int64_t) {
  testing::recorder const record;
  for (auto const n : sizes) check_histogram<T>(n);
}
TEST_CASE("counts of numbers") {
  testing::recorder const record;
  for (auto const n : sizes) check_numbers(n);
}

TEST_CASE("keys of few bits are sorted by these") {
  testing::recorder const record;
  auto const n = std::int64_t(5000);
  oracle::random r(9);
  std::vector<std::int32_t> keys(static_cast<std::size_t>(n)), places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  for (int bits : {1, 8, 11, 31}) {
    for (auto& k : keys) k = std::int32_t(r.number(0, (std::int64_t(1) << bits) - 1));
    memory<std::int32_t> in(keys), values(places), out(keys.size()), moved(keys.size());
    run_on_card(cuda_side::sort_pairs<std::int32_t, std::int32_t>{n, in.data(), values.data(),
                                                                  out.data(), moved.data(), bits});
    auto expected = places;
    std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
      return keys[std::size_t(a)] < keys[std::size_t(b)];
    });
    CHECK(moved.numbers() == expected);
  }
}

TEST_CASE("pairs of types that stand in no list") {
  testing::recorder const record;
  auto const keys = wild<std::int64_t>(3000, 21);
  auto const values = whole<double>(3000, 22);
  memory<std::int64_t> in(keys), out(keys.size());
  memory<double> of(values), moved(values.size());
  run_on_card(cuda_side::sort_pairs<std::int64_t, double>{3000, in.data(), of.data(), out.data(),
                                                          moved.data()});
  std::vector<std::size_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::size_t(0));
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  std::vector<double> expected;
  for (std::size_t const p : places) expected.push_back(values[p]);
  CHECK(moved.numbers() == expected);
}

#if !LOCUS_DEVICE_CODE  // what only a recorder can do
TEST_CASE("an algorithm is counted by its name, and asked for its workspace once for each size") {
  testing::recorder record;
  memory<double> in(whole<double>(50, 1)), out(50);
  cuda_side::sort_keys<double> const sort{50, in.data(), out.data()};
  auto const before = record.calls("algorithm_bytes");
  run_on_card(sort), run_on_card(sort);
  auto shorter = sort;
  shorter.n = 40;
  run_on_card(shorter), run_on_card(sort);
  CHECK(record.calls(cuda_side::sort_keys<double>::name) == 4);
  CHECK(record.calls("algorithm_bytes") - before == 2);
}

TEST_CASE("an algorithm that fails is named, with the step and the device") {
  testing::recorder record;
  memory<float> in(whole<float>(50, 1)), out(50);
  record.fail_next("cub::DeviceScan::InclusiveScan", 719);
  auto const text = message_of<device_lost>([&] {
    run_on_card(cuda_side::scan<false, reduction::sum, float>{50, in.data(), out.data()});
  });
  CAPTURE(text);
  CHECK(text.find("cub::DeviceScan::InclusiveScan") != std::string::npos);
  CHECK(text.find("GPU:0") != std::string::npos);
  CHECK(text.find("unspecified launch failure") != std::string::npos);
}

TEST_CASE("the question for workspace may fail, too") {
  testing::recorder record;
  memory<float> in(whole<float>(51, 1)), out(51);
  record.fail_next("algorithm_bytes", 719);
  auto const text = message_of<device_lost>([&] {
    run_on_card(cuda_side::histogram<float>{51, in.data(), 12, in.data(),
                                            reinterpret_cast<std::int32_t*>(out.data())});
  });
  CHECK(text.find("cub::DeviceHistogram::HistogramRange") != std::string::npos);
}
#endif

}  // namespace algorithms_test

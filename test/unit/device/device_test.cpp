// SPDX-License-Identifier: Apache-2.0
// Devices, lists of them, places, and the cut of rows into pieces.
#include <doctest/doctest.h>

#include <locus/device/device.hpp>

using namespace locus;

namespace {
constexpr device_list two_gpus = [] {
  device_list list(gpu(1));
  list.push(gpu(0));
  return list;
}();
static_assert(two_gpus.size() == 2 && two_gpus[0] == gpu(1) && two_gpus[1] == gpu(0));
static_assert(two_gpus.find(gpu(0)) == 1 && two_gpus.find(cpu(0)) == 2 &&
              !two_gpus.contains(cpu(0)));
static_assert(place{}.is_nowhere() && place{}.is_single() && !place{}.is_distributed());
static_assert(single(gpu(2)).local_count() == 1 && single(gpu(2)).at(0) == gpu(2));
static_assert(place{two_gpus}.mirrored().is_mirrored() &&
              place{two_gpus}.mirrored().is_distributed());
static_assert(place{two_gpus}.sharded(1).axis == 1 && place{two_gpus}.sharded(1).is_sharded());
static_assert(place{two_gpus}.partial(reduction::max).op == reduction::max);
static_assert(!(place{two_gpus}.sharded(0) == place{two_gpus}.sharded(1)));
static_assert(!(place{two_gpus}.partial(reduction::max) ==
                place{two_gpus}.partial(reduction::sum)));
static_assert(place{two_gpus}.sharded(1).mirrored() == place{two_gpus}.mirrored());
static_assert(place{two_gpus}.partial(reduction::sum).sharded(0).op == reduction::none);
static_assert(sizeof(device) == 1);
}  // namespace

TEST_CASE("every device is another one and comes back from its code") {
  device all[2 * (max_ordinal + 1)];
  int n = 0;
  for (int k = 0; k <= max_ordinal; ++k) all[n++] = cpu(k), all[n++] = gpu(k);
  for (int i = 0; i < n; ++i) {
    CHECK(all[i].ordinal() == i / 2);
    CHECK(all[i].is_cpu() == (i % 2 == 0));
    CHECK(all[i].is_gpu() == (i % 2 == 1));
    CHECK_FALSE(all[i].is_none());
    CHECK(device::from_code(all[i].code()) == all[i]);
    for (int j = 0; j < i; ++j) REQUIRE_FALSE(all[i] == all[j]);
  }
  CHECK(device{}.is_none());
  CHECK(device{device_kind::none, 5} == device{});
}

TEST_CASE("a list keeps up to eight devices in their order") {
  device_list list;
  for (int k = 0; k < max_devices; ++k) {
    CHECK_FALSE(list.contains(gpu(99 - k)));
    device_list const before = list;
    list.push(gpu(99 - k));
    CHECK_FALSE(before == list);
    CHECK(list.size() == k + 1);
    for (int i = 0; i <= k; ++i) CHECK(list.find(gpu(99 - i)) == i);
  }
}

TEST_CASE("n rows over R replicas: ceil(n / R) rows each until none are left") {
  for (int replicas = 1; replicas <= max_devices; ++replicas)
    for (std::int64_t n = 0; n <= 130; ++n) {
      std::int64_t const rows = (n + replicas - 1) / replicas;
      std::int64_t left = n, begin = 0;
      for (int k = 0; k < replicas; ++k) {
        std::int64_t const mine = left < rows ? left : rows;
        REQUIRE(piece_begin(n, replicas, k) == begin);
        REQUIRE(piece_size(n, replicas, k) == mine);
        begin += mine, left -= mine;
      }
      REQUIRE(left == 0);
    }
  CHECK(piece_size(100, 3, 0) == 34);
  CHECK(piece_size(100, 3, 2) == 32);
  CHECK(piece_size(6, 4, 3) == 0);  // TensorFlow's last replica of 6 rows over 4
  CHECK(piece_size((std::int64_t(1) << 40) + 1, 2, 1) == std::int64_t(1) << 39);
}

TEST_CASE("the balanced cut: pieces differ by one row at most, the longer ones first") {
  struct row {
    std::int64_t rows;
    int replicas;
    std::int64_t ceil[5], balanced[5];
  };
  constexpr row rows[] = {
      // TensorFlow's two rules
      {10, 4, {3, 3, 3, 1}, {3, 3, 2, 2}},
      {5, 4, {2, 2, 1, 0}, {2, 1, 1, 1}},
      {4, 3, {2, 2, 0}, {2, 1, 1}},
      {4, 5, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}},
      {9, 2, {5, 4}, {5, 4}},
      {0, 2, {0, 0}, {0, 0}},
      {6, 4, {2, 2, 2, 0}, {2, 2, 1, 1}},
      {22, 4, {6, 6, 6, 4}, {6, 6, 5, 5}},
  };
  for (row const& r : rows) {
    place p;
    for (int k = 0; k < r.replicas; ++k) p.devices.push(gpu(k));
    place const balanced{p.devices.balanced()};
    std::int64_t begin = 0;
    for (int k = 0; k < r.replicas; ++k) {
      CHECK(p.piece_size(r.rows, k) == r.ceil[k]);
      CHECK(balanced.piece_size(r.rows, k) == r.balanced[k]);
      CHECK(balanced.piece_begin(r.rows, k) == begin);
      begin += r.balanced[k];
    }
    CHECK(begin == r.rows);
    CHECK(p.over(balanced.devices) == p);  // where it lies changes, not how it is cut
  }
}

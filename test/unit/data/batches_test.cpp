// SPDX-License-Identifier: Apache-2.0
// Batches: each row once in every epoch, pairs together, in an order that the seed alone decides.
#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>
#include <vector>

#include <locus/data/batches.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

namespace batches_test {

using namespace locus;

namespace {

using Images = Tensor<float, Extents<dyn, 3>>;
using Labels = Tensor<std::int32_t, Dextents<1>>;

/// row i is 10 i, 10 i + 1, 10 i + 2, its label i
Images images(std::int64_t rows) {
  Images x(rows);
  for (std::int64_t i = 0; i < 3 * rows; ++i) x.data()[i] = float(i / 3 * 10 + i % 3);
  return x;
}
Labels labels(std::int64_t rows) {
  Labels t(rows);
  std::iota(t.data(), t.data() + rows, 0);
  return t;
}
/// the labels of one epoch in their order; pairs are checked on the way
template <class Sets>
std::vector<int> order_of(Sets& sets, std::int64_t batch_size) {
  std::vector<int> order;
  std::int64_t number = 0;
  for (auto [x, label] : sets) {
    REQUIRE(x.extent(0) == label.extent(0));
    REQUIRE(label.extent(0) <= batch_size);
    if (++number < sets.size()) CHECK(label.extent(0) == batch_size);
    for (std::int64_t i = 0; i < label.extent(0); ++i) {
      for (int c = 0; c < 3; ++c) REQUIRE(x(i, c) == float(10 * label(i) + c));
      order.push_back(label(i));
    }
  }
  CHECK(number == sets.size());
  return order;
}
std::vector<int> sorted(std::vector<int> v) {
  std::sort(v.begin(), v.end());
  return v;
}
std::vector<int> first_numbers(std::int64_t n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

}  // namespace

TEST_CASE("every row comes once in every epoch, also in a short last batch") {
  for (std::int64_t const rows : {1, 2, 31, 32, 33, 100})
    for (std::int64_t const batch_size : {1, 7, 32, 200}) {
      CAPTURE(rows);
      CAPTURE(batch_size);
      auto const x = images(rows);
      auto const t = labels(rows);
      auto sets = data::batches({.batch_size = batch_size, .seed = 3}, x, t);
      CHECK(sets.rows() == rows);
      CHECK(sets.size() == (rows + batch_size - 1) / batch_size);
      for (int epoch = 0; epoch < 3; ++epoch, sets.next_epoch())
        CHECK(sorted(order_of(sets, batch_size)) == first_numbers(rows));
    }
}

TEST_CASE("the order is a function of the seed and the epoch") {
  auto const x = images(100);
  auto const t = labels(100);
  auto const orders = [&](std::uint64_t seed) {
    auto sets = data::batches({.batch_size = 10, .seed = seed}, x, t);
    std::vector<std::vector<int>> all;
    for (int epoch = 0; epoch < 4; ++epoch, sets.next_epoch()) all.push_back(order_of(sets, 10));
    return all;
  };
  auto const first = orders(1), again = orders(1), other = orders(2);
  CHECK(first == again);
  for (int a = 0; a < 4; ++a) {
    CHECK(first[std::size_t(a)] != first_numbers(100));
    for (int b = 0; b < 4; ++b) {
      if (a != b) CHECK(first[std::size_t(a)] != first[std::size_t(b)]);
      CHECK(first[std::size_t(a)] != other[std::size_t(b)]);
    }
  }
}

TEST_CASE("a shuffle puts every row at every place equally often") {
  auto const x = images(4);
  auto const t = labels(4);
  int seen[4][4]{};
  int const trials = 4000;
  for (int seed = 0; seed < trials; ++seed) {
    auto sets = data::batches({.batch_size = 4, .seed = std::uint64_t(seed)}, x, t);
    auto const order = order_of(sets, 4);
    for (int place = 0; place < 4; ++place) ++seen[place][order[std::size_t(place)]];
  }
  for (auto const& place : seen)
    for (int const n : place) {  // 1000 expected, standard deviation 27
      CHECK(n > 1000 - 5 * 27);
      CHECK(n < 1000 + 5 * 27);
    }
}

TEST_CASE("without a shuffle rows come in their order, and a remainder may be dropped") {
  auto const x = images(10);
  auto const t = labels(10);
  auto sets = data::batches({.batch_size = 4, .shuffle = false}, x, t);
  CHECK(order_of(sets, 4) == first_numbers(10));
  auto whole = data::batches({.batch_size = 4, .shuffle = false, .drop_remainder = true}, x, t);
  CHECK(whole.size() == 2);
  CHECK(order_of(whole, 4) == first_numbers(8));
}

TEST_CASE("batches are cut over replicas; one with fewer rows than replicas still takes part") {
  using Three = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
  auto const x = images(10);
  auto const t = labels(10);
  auto sets = data::batches({.batch_size = 9, .shuffle = false}, x, t);
  double total = 0;
  std::int64_t rows = 0;
  for (auto [images_of, labels_of] : distribute<Three>(sets)) {
    static_assert(std::is_same_v<decltype(images_of)::policy,
                                 Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>>);
    rows += images_of.extent(0);
    CHECK(global_batch(images_of) == double(labels_of.extent(0)));
    total += double(fetch(sum(labels_of)));
  }
  CHECK(rows == 10);
  CHECK(total == 45);
}

TEST_CASE("bad batches are refused: which number, and what to write") {
  auto const x = images(10);
  auto const t = labels(9);
  auto const nine = images(9);
  CHECK(message_of([&] { data::batches({}, x, t); }) ==
        "locus: tensors of one dataset have 10 and 9 rows; each row needs one entry in every "
        "tensor");
  for (std::int64_t const size : {0, -1}) {
    auto const text = message_of([&] { data::batches({.batch_size = size}, nine, t); });
    CHECK(text == "locus: the batch size is " + std::to_string(size) + "; write a positive number");
  }
  auto const none = images(0);
  auto nothing = data::batches({.batch_size = 8}, none);
  CHECK(nothing.size() == 0);
  CHECK(message_of([&] {
          for (auto&& [row] : nothing) CHECK(row.extent(0) == -1);
        }) == "locus: a dataset of 0 elements makes no batch of 8; look at what it reads");
  auto too_few = data::batches({.batch_size = 16, .drop_remainder = true}, nine);
  CHECK(message_of([&] {
          for (auto&& [row] : too_few) CHECK(row.extent(0) == -1);
        }) ==
        "locus: a dataset of 9 elements makes no batch of 16 when the remainder is dropped; keep "
        "it, or write smaller batches");
  Labels wrong{0, 3, 9, 10, 1};
  CHECK_NOTHROW(data::require_labels(wrong, 11));
  CHECK(message_of([&] { data::require_labels(wrong, 10); }) ==
        "locus: label 10 of record 3 is outside [0, 10); drop the record or name more classes");
  wrong(1) = -1;
  CHECK(message_of([&] { data::require_labels(wrong, 11); }) ==
        "locus: label -1 of record 1 is outside [0, 11); drop the record or name more classes");
  Tensor<std::uint64_t, Dextents<1>> const wide{0, ~std::uint64_t(0)};
  CHECK(message_of([&] {
          data::require_labels(wide, 11);
        }).starts_with("locus: label 18446744073709551615 of record 1 is outside [0, 11); "));
  CHECK_NOTHROW(data::require_labels(Tensor<bool, Dextents<1>>{true, false}, 2));
  CHECK_NOTHROW(data::require_labels(Tensor<half, Dextents<1>>{half(1.f), half(0.f)}, 2));
  Tensor<float, Dextents<1>> real{0, 1, -0.5f};
  CHECK(message_of([&] {
          data::require_labels(real, 2);
        }).starts_with("locus: label -0.5 of record 2 is outside [0, 2); "));
  real(0) = __builtin_nanf("");
  CHECK(message_of([&] {
          data::require_labels(real, 2);
        }).starts_with("locus: label nan of record 0 is outside [0, 2); "));
}

}  // namespace batches_test

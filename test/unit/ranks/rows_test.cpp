// SPDX-License-Identifier: Apache-2.0
// Datasets of which each rank reads rows of its own: one batch of all ranks, and the training of one
// process that reads all rows.
#include <cmath>
#include <string>

#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

namespace rows_test {

using namespace rank_tests;

namespace {

constexpr std::int64_t rows_each = 4, steps = 6, wide = 3;

/// the rows of replicas [first, first + count) of `all` in each of the batches, as a rank finds them
/// in files of its own
auto rows_of(int first, int count, int all) {
  std::int64_t const n = steps * rows_each * all, own = steps * rows_each * count;
  Tensor<double, Dextents<2>> const x = uniform<double>(dextents<2>(n, wide), seed{1});
  Tensor<double, Dextents<2>> mine(own, wide);
  Tensor<std::int32_t, Dextents<1>> y(own);
  for (std::int64_t s = 0, to = 0; s < steps; ++s)
    for (std::int64_t k = 0; k < rows_each * count; ++k, ++to) {
      std::int64_t const from = s * rows_each * all + rows_each * first + k;
      for (std::int64_t c = 0; c < wide; ++c) mine(to, c) = x(from, c);
      y(to) = std::int32_t(from % 3);
    }
  return std::pair(mine, y);
}

template <class List>
auto own_batches() {
  device_list const all = runtime::place_now(Mirrored<List>::value).devices;
  auto const [x, y] = rows_of(all.before(), all.size(), all.total());
  return data::from_tensors(x, y).batch(rows_each * all.size()).rows_of_rank();
}

template <class List>
doubles batches() {
  doubles out;
  for (auto&& [x, y] : distribute<Mirrored<List>>(own_batches<List>()))
    put(out, x), put(out, y), out.push_back(double(x.extent(0)));
  return out;
}
template <class List>
doubles train() {
  auto trainer = nn::compile<Mirrored<List>, double>(
      nn::Sequential{nn::Input<wide>{}, nn::Dense<5>{nn::relu}, nn::Dense<3>{}}, nn::Adam{},
      nn::SparseCategoricalCrossentropy{nn::from_logits}, nn::SparseCategoricalAccuracy{});
  auto const own = own_batches<List>();
  doubles out = trainer.fit(own, {.epochs = 2, .verbose = 0})["loss"];
  for (double const v : trainer.evaluate(own).values) out.push_back(v);
  return out;
}

template <class F, class G>
void check_as_one(F const& f, G const& here, double within) {
  on_all_layouts(f, [&](std::vector<int> const& layout, doubles const& got) {
    auto const one = testing::on_ranks(1, here, {.gpus = {replicas_of(layout)}});
    REQUIRE(one[0].error == "");
    REQUIRE(got.size() == one[0].numbers.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(std::abs(got[i] - one[0].numbers[i]) <= within);
  });
}

std::string error_of_each(std::vector<testing::rank_end> const& ends) {
  for (testing::rank_end const& e : ends) CHECK(e.error != "");
  return ends[0].error;
}

}  // namespace

TEST_CASE("the rows of all ranks are one batch, in the order of the ranks") {
  check_as_one(batches<Ranks<AllGpus>>, batches<AllGpus>, 0);
}

TEST_CASE("stages behind rows_of_rank() pass rows of the rank on") {
  auto const read = [](auto const& behind) {
    auto const job = [&] {
      Tensor<double, Dextents<1>> const x(iota<double>(dextents<1>(8)) + 100. * ranks::rank());
      auto const own = data::from_tensors(x).batch(4).rows_of_rank();
      doubles out;
      for (auto&& [part] : distribute<Mirrored<Ranks<CpuDevice>>>(behind(own))) put(out, part);
      return out;
    };
    auto const ends = testing::on_ranks(2, job);
    CHECK(ends[0].error == "");
    CHECK(ends[1].numbers == ends[0].numbers);
    return ends[0].numbers;
  };
  doubles const all{0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107};
  auto const first = doubles(all.begin(), all.begin() + 8),
             last = doubles(all.begin() + 8, all.end());
  CHECK(read([](auto const& d) { return d; }) == all);
  CHECK(read([](auto const& d) { return d.prefetch(2); }) == all);
  CHECK(read([](auto const& d) { return d.cache(); }) == all);
  CHECK(read([](auto const& d) { return d.repeat(1); }) == all);
  CHECK(read([](auto const& d) { return d.require_finite(); }) == all);
  CHECK(read([](auto const& d) { return d.take(1); }) == first);
  CHECK(read([](auto const& d) { return d.skip(1); }) == last);
  CHECK(read([](auto const& d) { return d.shard(2, 1); }) == last);
  CHECK(read([](auto const& d) { return d.shuffle({.seed = 3}); }).size() == all.size());
  CHECK(read([](auto const& d) {
          return d.map([](auto x) { return std::tuple(eval(on<CpuDevice>(x + 0.))); });
        }) == all);
}

TEST_CASE("training on rows of its own for each rank is that of one process on all rows") {
  check_as_one(train<Ranks<AllGpus>>, train<AllGpus>, 1e-12);
}

TEST_CASE("ranks with fewer batches, or other rows than their replicas take") {
  auto const with = [](auto const& rows_of_rank) {
    return testing::on_ranks(2, [&rows_of_rank] {
      Tensor<double, Dextents<2>> const x(
          zeros<double>(dextents<2>(rows_of_rank(ranks::rank()), 2)));
      doubles out;
      for (auto&& [part] :
           distribute<Mirrored<Ranks<CpuDevice>>>(data::from_tensors(x).batch(4).rows_of_rank()))
        put(out, part);
      return out;
    });
  };
  CHECK(error_of_each(with([](int r) { return 8 - 4 * r; })) ==
        "locus: rank 1 has no batch more, and rank 0 has one of 4 rows; give all ranks as many "
        "batches, as take(n) does");
  CHECK(error_of_each(with([](int r) {
          return 6 + r;
        })).find("rank 0 gives 2 rows, its replicas take 3") != std::string::npos);
  for (testing::rank_end const& e : with([](int) { return 8; })) CHECK(e.error == "");
}

TEST_CASE("a shard is every n-th element of a pass") {
  auto const numbers = [](auto const& d) {
    doubles out;
    for (auto&& [v] : d) out.push_back(double(v));
    return out;
  };
  auto const all = data::range(10);
  CHECK(numbers(all.shard(3, 0)) == doubles{0, 3, 6, 9});
  CHECK(numbers(all.shard(3, 2)) == doubles{2, 5, 8});
  CHECK(all.shard(3, 0).size() == 4);
  CHECK(all.shard(3, 2).size() == 3);
  CHECK(all.take(1).shard(3, 2).size() == 0);
  CHECK(numbers(all.take(1).shard(3, 2)).empty());
  CHECK_THROWS_WITH(all.shard(3, 3), doctest::Contains("write 0 to the number of parts less 1"));
  CHECK_THROWS_WITH(all.shard(0, 0), doctest::Contains("the number of parts"));
}

}  // namespace rows_test

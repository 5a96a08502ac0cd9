// SPDX-License-Identifier: Apache-2.0
// DataParallel, multi_gpu_model and towers: the splits of torch and Keras, where parameters lie, and
// the same numbers as on one device.
#include <doctest/doctest.h>
#include <string>

#include <locus/nn/train/parallel.hpp>
#include <locus/nn/train/towers.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <message_of.hpp>

namespace parallel_test {

using namespace locus;

namespace {
using Matrix = Tensor<float, Dextents<2>>;
Matrix counted(std::int64_t rows, std::int64_t columns) {
  Matrix t(rows, columns);
  for (std::int64_t i = 0; i < t.size(); ++i) t.data()[i] = float(i + 1);
  return t;
}
template <class E>
std::vector<float> numbers_of(AnyTensor<float, E> const& t) {
  auto const h = t.template to<CpuDevice>();
  return {h.data(), h.data() + h.size()};
}
std::vector<std::int64_t> sizes(std::vector<nn::row_range> const& pieces, std::int64_t rows) {
  std::vector<std::int64_t> all;
  std::int64_t at = 0;
  for (auto const& p : pieces) {
    CHECK(p.begin == at);
    at += p.size;
    all.push_back(p.size);
  }
  CHECK(at == rows);
  return all;
}
}  // namespace

TEST_CASE("rows are split as torch and Keras split them") {
  using list = std::vector<std::int64_t>;
  auto torch = [](std::int64_t b, int n) { return sizes(nn::split_as_torch(b, n), b); };
  CHECK(torch(9, 4) == list{3, 3, 3});
  CHECK(torch(10, 4) == list{3, 3, 3, 1});
  CHECK(torch(5, 4) == list{2, 2, 1});
  CHECK(torch(11, 6) == list{2, 2, 2, 2, 2, 1});
  CHECK(torch(13, 6) == list{3, 3, 3, 3, 1});
  CHECK(torch(36, 7) == list{6, 6, 6, 6, 6, 6});
  CHECK(torch(0, 3) == list{0});
  auto keras = [](std::int64_t b, int n) { return sizes(nn::split_as_keras(b, n), b); };
  CHECK(keras(256, 8) == list(8, 32));
  CHECK(keras(10, 4) == list{2, 2, 2, 4});
  CHECK(keras(3, 4) == list{0, 0, 0, 3});
  CHECK(keras(5, 4) == list{1, 1, 1, 2});
}

TEST_CASE("a function on several devices gives what it gives on one, where it is asked for") {
  testing::simulated_gpus const four{4};
  Matrix const x = counted(10, 2);
  auto const w = to<GpuDevice<0>>(Matrix{{2, 3}});
  std::vector<float> expected;
  for (int i = 0; i < 20; ++i) expected.push_back(float(i + 1) * (i % 2 ? 3.f : 2.f));
  auto f = [](auto const& rows, auto const& weights) {
    return std::pair(rows * weights, float(rows.extent(0)));
  };
  auto const [y, count] = nn::DataParallel<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>(f)(x, w);
  CHECK(numbers_of(y) == expected);
  CHECK(y.is_on<GpuDevice<0>>());
  CHECK(std::vector<float>(count.data(), count.data() + 3) == std::vector<float>{4, 4, 2});
  // what f is given may be returned as it is, and a tensor of its own in an expression that owns it
  auto const [whole, shifted] =
      nn::DataParallel<GpuDevice<2>, GpuDevice<1>>([](auto const& rows, auto const& weights) {
        auto t = eval(rows * weights);
        return std::pair(rows, std::move(t) + 1.f);
      })(to<GpuDevice<2>>(x), to<GpuDevice<2>>(w));
  CHECK(numbers_of(whole) == numbers_of(AnyTensor<float, Dextents<2>>(x)));
  for (std::size_t i = 0; i < 20; ++i) CHECK(numbers_of(shifted)[i] == expected[i] + 1);
  auto const parallel = nn::DataParallel(f, {0, 3, 1});
  CHECK(parallel.devices()[1] == gpu(3));
  CHECK(numbers_of(parallel(x, w).first) == expected);
  CHECK(nn::DataParallel(f).devices().size() == 4);
  auto const [merged, rows] = nn::multi_gpu_model<4>(f)(x, w);
  CHECK(numbers_of(merged) == expected);
  CHECK(merged.is_on<CpuDevice>());
  CHECK(std::vector<float>(rows.data(), rows.data() + 4) == std::vector<float>{2, 2, 2, 4});
  CHECK(nn::multi_gpu_model<2>(f, false)(x, w).first.is_on<GpuDevice<0>>());

  CHECK(message_of<placement_error>([&] { nn::DataParallel(f, {1, 0})(x, w); }) ==
        "locus: the parameters of DataParallel lie on its first device, /GPU:1, and one lies on "
        "/GPU:0; bring it there with to<...>(w)");
  CHECK(
      message_of<unknown_device>([&] { nn::DataParallel(f, {0, 4}); }) ==
      "locus: DataParallel was given GPU 4, and there are 4 GPUs, each once; name some of them, 8 "
      "at most");
  CHECK(message_of<unknown_device>([&] { nn::DataParallel(f, {1, 1}); }).find("GPU 1, and") !=
        std::string::npos);
  CHECK(message_of<unknown_device>([&] { nn::multi_gpu_model<5>(f); }) ==
        "locus: multi_gpu_model<5> needs /GPU:0 to /GPU:4, and there are 4 GPUs; name fewer");
  CHECK(message_of<replica_error>([&] {
          nn::DataParallel<GpuDevice<0>, GpuDevice<1>>([](auto const& part, auto const&) {
            if (part.device() == gpu(1)) throw shape_error("locus: no such thing");
            return 1.f;
          })(x, w);
        }) == "locus: replica 1 on /GPU:1: no such thing");
}

TEST_CASE("towers are averaged on the CPU, and weights are followed by their moving average") {
  {
    testing::simulated_gpus const two{2};
    auto const parts =
        std::array{to<GpuDevice<0>>(Matrix{{1, 2}}), to<GpuDevice<0>>(Matrix{{3, 6}})};
    auto const mean = nn::tower_mean<GpuDevice<0>, GpuDevice<1>>(
        [&](auto k) { return 2.f * parts[std::size_t(decltype(k)::value)]; });
    static_assert(plan_of<decltype(mean)>.launches() == 3);
    auto const m = eval(mean);
    CHECK(m(0, 0) == 4);
    CHECK(m(0, 1) == 8);
  }
  using Replicas = Mirrored<Cpu<0>, Cpu<1>>;
  nn::parameter<float, Replicas> p;
  std::vector<nn::parameter<float, Replicas>*> const all{&p};
  auto set = [&](float v) { p.value = to<Replicas>(Tensor<float, Dextents<1>>{v}); };
  auto of = [](auto const& t) { return *t.data(1); };
  nn::AverageOfWeights<float, Replicas> plain(0.75), warm(0.75, true);
  double slow = 8, quick = 8;
  for (int n = 0; n < 4; ++n) {
    float const v = n == 0 ? 8.f : float(n);
    set(v);
    plain.update(all), warm.update(all);
    if (n == 0) continue;
    double const d = (1.0 + n) / (10 + n);
    slow = 0.75 * slow + 0.25 * v, quick = d * quick + (1 - d) * v;
    CHECK(of(plain[0]) == doctest::Approx(slow));
    CHECK(of(warm[0]) == doctest::Approx(quick));
  }
  plain.swap(all);
  CHECK(of(p.value) == doctest::Approx(slow));
  plain.swap(all);
  CHECK(of(p.value) == 3);
  CHECK(message_of<configuration_error>([] {
          nn::AverageOfWeights<float, Replicas>(1.5);
        }).find("from 0 to 1") != std::string::npos);
}

}  // namespace parallel_test

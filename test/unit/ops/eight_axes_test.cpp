// SPDX-License-Identifier: Apache-2.0
// Tensors with as many axes as there can be: maps with broadcasts, transposes, slices, folds, files; on the host, on
// simulated GPUs and over the recorder.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <filesystem>

#include <locus/tensor/any_tensor.hpp>
#include <oracle.hpp>

namespace eight_axes_test {

using namespace locus;

namespace {
constexpr std::int64_t extents[8] = {2, 3, 1, 2, 4, 2, 3, 5};
using E = Extents<2, 3, 1, 2, 4, 2, 3, 5>;
using Row = Extents<3, 1, 2, 1, 2, 3, 5>;  // stretches over the first axis and the fifth

/// visit(index) for each element of a tensor with these extents, in row order
template <class Visit>
void each(shape const& s, Visit const& visit) {
  oracle::each_index(s, [&](std::int64_t const* i, std::int64_t k) { visit(i, k); });
}
std::int64_t place(std::int64_t const* i) {
  std::int64_t at = 0;
  for (int a = 0; a < 8; ++a) at = at * extents[a] + i[a];
  return at;
}
template <class Source>
void check(Source const& x, Tensor<double, Row> const& row) {
  Tensor<double, E> const here(x);
  using X = std::remove_cvref_t<Source>;
  Tensor<double, Dextents<8>, typename X::policy> there(E{});
  there = x * 2. + row;
  Tensor<double, Dextents<8>> const sums(there);
  Tensor<double, Extents<5, 3, 2, 4, 2, 1, 3, 2>> const turned = transpose(x);
  Tensor<double, Extents<4, 2, 5, 2, 3, 1, 3, 2>> const mixed =
      transpose<4, 0, 7, 3, 1, 2, 6, 5>(x);
  Tensor<double, Extents<3, 2, 4, 5>> const folded = sum<0, 2, 5, 6>(x);
  double all = 0;
  each(shape{8, {2, 3, 1, 2, 4, 2, 3, 5}}, [&](std::int64_t const* i, std::int64_t k) {
    double const v = here.data()[k];
    std::int64_t const r = ((((i[1] * 2 + i[3]) * 2 + i[5]) * 3) + i[6]) * 5 + i[7];
    bool right = sums.data()[k] == v * 2 + row.data()[r];
    right = right && turned(i[7], i[6], i[5], i[4], i[3], i[2], i[1], i[0]) == v;
    right = right && mixed(i[4], i[0], i[7], i[3], i[1], i[2], i[6], i[5]) == v;
    CHECK(right);
    all += v;
  });
  if constexpr (!X::policy::value.is_sharded()) {  // such a slice cuts pieces
    Tensor<double, Extents<2, 2, 1, 2, 2, 2, 3, 3>> const part =
        slice(x, all_of, range{1, 3}, all_of, all_of, strided{0, range::to_end, 2}, all_of, all_of,
              range{1, 4});
    each(shape{8, {2, 2, 1, 2, 2, 2, 3, 3}}, [&](std::int64_t const* i, std::int64_t k) {
      std::int64_t const at[8] = {i[0], i[1] + 1, i[2], i[3], 2 * i[4], i[5], i[6], i[7] + 1};
      CHECK(part.data()[k] == here.data()[place(at)]);
    });
  }
  each(shape{4, {3, 2, 4, 5}}, [&](std::int64_t const* i, std::int64_t k) {
    double total = 0;
    for (std::int64_t a = 0; a < 2; ++a)
      for (std::int64_t f = 0; f < 2; ++f)
        for (std::int64_t g = 0; g < 3; ++g) {
          std::int64_t const at[8] = {a, i[0], 0, i[1], i[2], f, g, i[3]};
          total += here.data()[place(at)];
        }
    CHECK(folded.data()[k] == total);
  });
  CHECK(fetch(sum(x)) == all);
}
}  // namespace

TEST_SUITE_BEGIN("ops/eight_axes");

TEST_CASE("eight axes are computed, moved, cut and folded as fewer are") {
  on_few_backends([] {
    Tensor<double, E> x;
    Tensor<double, Row> row;
    oracle::random r(1);
    for (double& v : x) v = double(r.number(-1000, 1000));
    for (double& v : row) v = double(r.number(-1000, 1000));
    check(to<GpuDevice<0>>(x), row);
    check(to<Sharded<3, GpuDevice<0>, GpuDevice<1>>>(x), row);
  });
}
TEST_CASE("eight axes are written to a file and read; a changed extent is found") {
  Tensor<float, Dextents<8>> x(E{});
  x = iota<float>(E{});
  auto const path = (std::filesystem::temp_directory_path() / "locus_eight_axes_test").string();
  AnyTensor<float, Dextents<8>>(x).save(path);
  auto const back = AnyTensor<float, Dextents<8>>::load(path).as<CpuDevice>();
  CHECK(fetch(all(back == x)));
  CHECK_THROWS_AS((AnyTensor<float, Dextents<6>>::load(path)), bad_file);
  {
    std::FILE* const file = std::fopen(path.c_str(), "r+b");
    std::fseek(file, 104, SEEK_SET);  // the seventh extent
    std::int64_t const wrong[] = {5, 3};
    CHECK(std::fwrite(wrong, sizeof wrong, 1, file) == 1);
    std::fclose(file);
  }
  CHECK_THROWS_AS((AnyTensor<float, Dextents<8>>::load(path)), bad_file);
  std::filesystem::remove(path);
}

TEST_SUITE_END();

}  // namespace eight_axes_test

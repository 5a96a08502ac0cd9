// SPDX-License-Identifier: Apache-2.0
// Ranks that share one card: processes that fork before CUDA starts, each with a context of its own on
// the card, beside the same program on the CPU of one process. Exit status 77: no GPU here.
#include <locus/cuda.cuh>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <locus/testing/ranks.hpp>

#include "../rank_programs.hpp"

using namespace rank_programs;

namespace {

template <class List>
void sums_and_maps(doubles& out) {
  std::int64_t const n = 100003;
  Tensor<double, Dextents<1>, Sharded<0, List>> x(uniform<double>(dextents<1>(n), seed{1})),
      y(x.extents());
  y = 3. * x + sqrt(x);
  out.push_back(fetch(sum(y))), out.push_back(fetch(max(y)));
  Tensor<double, Dextents<1>, Mirrored<List>> all(uniform<double>(dextents<1>(7), seed{2}));
  all += sum(y);
  put(out, all), put(out, y);
}
template <class List>
doubles numbers_of() {
  doubles out;
  sums_and_maps<List>(out), stencil<List>(out), training<List>(out);
  return out;
}

int failures = 0;
/// means: `ranks` processes on the card have the numbers of the CPU
void compare(int ranks, doubles const& right) {
  std::vector<testing::rank_end> const ends =
      testing::on_ranks(ranks, numbers_of<Ranks<AllGpus>>, {.seconds = 200});
  double most = 0;
  for (int r = 0; r < ranks; ++r) {
    testing::rank_end const& e = ends[std::size_t(r)];
    bool good = e.is_good() && e.numbers.size() == right.size();
    for (std::size_t i = 0; good && i < right.size(); ++i) {
      double const far = std::abs(e.numbers[i] - right[i]) / (1 + std::abs(right[i]));
      good = far < 1e-9;
      if (most == most && !(far <= most)) most = far;  // NaN stays
    }
    if (good) continue;
    ++failures;
    std::fprintf(stderr, "failed: rank %d of %d: %s\n", r, ranks, e.error.c_str());
  }
  std::printf("%d ranks on the card: %zu numbers, at most %.1e from those of the CPU\n", ranks,
              right.size(), most);
}

}  // namespace

int main() {
  // a process that has asked for cards cannot fork: a rank asks
  auto const cards = testing::on_ranks(
      1, [] { return doubles{double(config::list_physical_devices("GPU").size())}; });
  if (cards[0].numbers.empty() || cards[0].numbers[0] == 0) {
    std::fprintf(stderr, "no GPU answers here\n");
    return 77;
  }
  auto const right = testing::on_ranks(1, numbers_of<CpuDevice>, {.seconds = 200});
  if (!right[0].is_good()) {
    std::fprintf(stderr, "the CPU: %s\n", right[0].error.c_str());
    return 1;
  }
  compare(1, right[0].numbers);
  compare(2, right[0].numbers);
  compare(3, right[0].numbers);
  std::printf("%d failed\n", failures);
  return failures != 0;
}

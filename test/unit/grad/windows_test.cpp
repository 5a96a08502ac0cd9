// SPDX-License-Identifier: Apache-2.0
// Gradients through stencils over pieces: they have the bits of one device on 1 to 4 devices, and the
// values of plain loops of long doubles.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <random>

#include "stencils.hpp"

namespace windows_test {

using namespace locus;
using namespace stencils;

namespace {

template <class Program, class T = float>
void on_lists() {
  std::mt19937 random(11);
  on_backends([&] {
    for (int k = 0; k < 4; ++k)
      compare<Program, Pieces<Program, T, AllGpus>>(
          4 + std::int64_t(random() % 12), 3 + std::int64_t(random() % 5), unsigned(random()));
  });
  for (int const gpus : {1, 2, 3, 4}) {
    testing::simulated_gpus const machine(gpus, {.seed = unsigned(random())});
    for (std::int64_t n = 4; n < 14; ++n)
      compare<Program, Pieces<Program, T, AllGpus>>(n, 4, unsigned(random()));
  }
}

}  // namespace

TEST_CASE("gradients through shifts: zeros beyond the ends, rings, kept rows") {
  on_lists<second_difference>();
  on_lists<second_difference, double>();
  on_lists<around_a_ring>();
  on_lists<kept_end, double>();
  on_lists<kept_begin>();
}
TEST_CASE(
    "gradients through windows of tensors, of windows, of computed values, of folds of rows") {
  on_lists<five_points>();
  on_lists<five_points, double>();
  on_lists<forward_difference>();
  on_lists<products_of_rows, double>();
  on_lists<of_windows, double>();
  on_lists<of_computed_values>();
  on_lists<of_softmax>();
}
TEST_CASE(
    "short tensors: rings and kept rows shorter than the margins, pieces without rows, no rows") {
  for (int const gpus : {1, 2, 4}) {
    testing::simulated_gpus const machine(gpus);
    for (std::int64_t n : {0, 1, 2, 3}) {
      compare<second_difference, Pieces<second_difference, double, AllGpus>>(n, 3, 1);
      compare<kept_end, Pieces<kept_end, double, AllGpus>>(n, 3, 2);
      compare<kept_begin, Pieces<kept_begin, float, AllGpus>>(n, 3, 3);
      compare<around_a_ring, Pieces<around_a_ring, float, AllGpus>>(n, 3, 4);
      if (n > 1) compare<five_points, Pieces<five_points, double, AllGpus>>(n, 4, 5);
    }
  }
}

}  // namespace windows_test

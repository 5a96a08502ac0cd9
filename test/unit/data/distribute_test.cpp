// SPDX-License-Identifier: Apache-2.0
// Batches over replicas by both rules: what each replica gets, and what plans make of such pieces.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>
// the backends come first
#include <replicas.hpp>

#include <locus/data/distribute.hpp>

using namespace locus;

namespace {

using Ceil = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
using Even = Mirrored<Balanced, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
static_assert(
    std::is_same_v<rows_over<Even>,
                   Sharded<0, Balanced, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>>);

using Rows = Tensor<float, Dextents<2>>;

Rows counted(std::int64_t rows) {
  Rows x(rows, 2);
  for (std::int64_t i = 0; i < 2 * rows; ++i) x.data()[i] = float(i);
  return x;
}

/// bytes of piece k are the rows of the whole that the rule says
template <class Replicas>
void look_at_pieces(Rows const& x) {
  constexpr place cut = rows_over<Replicas>::value;
  auto const pieces = to<rows_over<Replicas>>(x);
  CHECK(equal(fetch(pieces), x));
  std::int64_t rows = 0;
  for (int k = 0; k < 4; ++k) {
    CHECK(pieces.block->pieces[k].extents[0] == cut.piece_size(x.extent(0), k));
    rows += pieces.block->pieces[k].extents[0];
  }
  CHECK(rows == x.extent(0));
}

}  // namespace

TEST_CASE("plans over balanced pieces: scattered, computed, reduced, scattered again") {
  on_backends([](backends::machine const&) {
    for (std::int64_t const n : {0, 1, 3, 5, 10, 22}) {
      auto const x = counted(n);
      look_at_pieces<Even>(x);
      look_at_pieces<Ceil>(x);
      if (n == 0) continue;
      auto const pieces = to<rows_over<Even>>(x);
      Tensor<float, Dextents<1>, Even> w(Dextents<1>(shape{1, {2}}));
      w = sum<0>(pieces * 2.f);  // an all-reduce
      auto const total = fetch(w);
      CHECK(total(0) == float(2 * n * (n - 1)));
      CHECK(total(1) == float(2 * n * n));
      CHECK(fetch(argmax(pieces)) == 2 * n - 1);  // the global number of an element
      Tensor<float, Dextents<2>, rows_over<Even>> back(n, 2);
      back = pieces + w;  // a mirrored operand beside pieces
      CHECK(fetch(back)(n - 1, 1) == float(2 * n - 1 + 2 * n * n));
      auto const square = fetch(to<rows_over<Even>>(matmul(transpose(pieces), pieces)));
      double corner = 0;  // terms of a matrix, reduced and scattered by rows
      for (std::int64_t i = 0; i < n; ++i) corner += double(2 * i) * double(2 * i + 1);
      CHECK(square(0, 1) == float(corner));
      CHECK(square(1, 0) == float(corner));
    }
  });
}

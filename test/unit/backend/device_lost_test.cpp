// SPDX-License-Identifier: Apache-2.0
// CUDA's codes: which of them take a card away, what the others say, and errors that are the program's own.
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/nccl_recorder.hpp>
// the recorder comes first
#include <string>

#include <doctest/doctest.h>

#include <locus/locus.hpp>

#include <message_of.hpp>

using namespace locus;

namespace {
using G0 = GpuDevice<0>;
using Both = Mirrored<G0, GpuDevice<1>>;
using Halves = Sharded<0, G0, GpuDevice<1>>;
}  // namespace

TEST_CASE("a code that CUDA keeps takes the card away, another does not") {
  struct {
    int code;
    bool lost;
    char const* says;
  } const rows[] = {
      {214, true, "new process"},
      {220, true, "new process"},
      {226, true, "new process"},
      {700, true, "new process"},
      {719, true, "new process"},
      {806, true, "new process"},
      {810, true, "new process"},
      {911, true, "new process"},
      {999, true, "new process"},
      {1, false, "an error in locus"},
      {9, false, "an error in locus"},
      {46, false, "nvidia-smi -c DEFAULT"},
      {98, false, "-arch"},
      {209, false, "-arch"},
      {701, false, "registers"},
      {802, false, "nvidia-fabricmanager"},
      {803, false, "restart"},
      {805, false, "nvidia-cuda-mps-control"},
      {808, false, "end some"},
      {900, false, "captured"},
      {907, false, "captured"},
      {201, false, "the device goes on"},
  };
  for (auto const& row : rows) {
    int const code = row.code;
    bool const lost = row.lost;
    CAPTURE(code);
    testing::recorder cards{{.cards = 1}};
    Tensor<float, Extents<4>, G0> x(ones<float>(Extents<4>{}));
    cards.fail_next("launch", code);
    bool was_lost = false;
    std::string said;
    try {
      x = x * 2.f;
    } catch (device_lost const& e) {
      was_lost = true, said = e.what();
    } catch (device_error const& e) {
      said = e.what();
    }
    CHECK(was_lost == lost);
    CHECK(said.find(row.says) != std::string::npos);
    if (lost) continue;
    x = x + 1.f;
    CHECK(fetch(sum(x)) == 8);
  }
}

TEST_CASE("an error that the program has not asked for yet is still there") {
  testing::recorder cards{{.cards = 2}};
  testing::nccl_recorder const nccl;
  cards.leave_error(9);
  Tensor<float, Extents<2, 8>, Halves> x{to<Halves>(ones<float>(Extents<2, 8>{}))};
  Tensor<float, Extents<8>, Both> y;
  run(plan(into(y, sum<0>(x))));
  CHECK(fetch(sum(y)) == 16);
  {
    lock_guard hold(runtime::table.lock);
    runtime::physical.known = false;
    runtime::find_physical();
  }
  CHECK(runtime::gpu_api->last_error() == 9);
  CHECK(runtime::gpu_api->last_error() == 0);
}

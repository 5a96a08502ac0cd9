// SPDX-License-Identifier: Apache-2.0
// Copies of a mirrored tensor that are no longer equal are noticed when it is read, on any backend.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// a recorder comes before the rest
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace copies_test {

using namespace locus;

namespace {

constexpr std::int64_t size = 300000;  // more than one part of the comparison
using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;

/// overwrites element i of the second copy, behind the plan's back
void spoil(Tensor<float, Extents<size>, Replicas>& w, std::int64_t i) {
  auto second = view<GpuDevice<1>>(w.data(1), Extents<size>{});
  run(into(slice(second, {i, i + 1}), full<float>(Extents<1>{}, -1.f)));
}

void compare_copies() {
  Tensor<float, Extents<size>, Replicas> w(to<Replicas>(uniform<float>(Extents<size>{}, seed{1})));
  w = w * 2.f;
  CHECK_NOTHROW((void)fetch(w));
  for (std::int64_t i : {std::int64_t(0), size / 2, size - 1}) {
    w = uniform<float>(Extents<size>{}, seed{1});
    CHECK_NOTHROW((void)fetch(w));
    spoil(w, i);
    bool thrown = false;
    try {
      (void)fetch(w);
    } catch (bad_access const& e) {
      thrown = true;
      std::string_view const text = e.what();
      message element;
      element << "differ: element " << i << " on /GPU:1 is not that on /GPU:0; assign";
      CHECK_MESSAGE(contains_text(text, element.view()), text);
    }
    CHECK(thrown);
  }
}

}  // namespace

TEST_CASE("copies that differ are noticed: no GPU") { compare_copies(); }
TEST_CASE("copies that differ are noticed: simulated GPUs") {
  for (int cards : {1, 2}) {
    testing::simulated_gpus gpus{2, {.cards = cards}};
    compare_copies();
  }
}
TEST_CASE("copies that differ are noticed: the CUDA path") {
  for (int cards : {1, 2}) {
    testing::recorder gpus{{.cards = cards}};
    compare_copies();
  }
}

}  // namespace copies_test

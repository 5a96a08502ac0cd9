// SPDX-License-Identifier: Apache-2.0
// Lambdas in a unit of nvcc, in each form that the documentation shows: with and without captures, marked
// for both sides, alone and under host_device. The program runs them where it can: on the host without a GPU.
#include <cstdio>

#include <locus/cuda.cuh>

using namespace locus;

namespace {

int wrong = 0;
template <class E>
void expect(E const& e, float want, char const* what) {
  float const here = fetch(sum(on<CpuDevice>(e))), there = fetch(sum(e));
  if (here == want && there == want) return;
  std::printf("%s: %g on the CPU, %g where it is, not %g\n", what, double(here), double(there),
              double(want));
  ++wrong;
}

}  // namespace

int main() {
  Tensor<float, Dextents<1>> const x(iota<float>(dextents<1>(10)));
  float const by = 0.5f, more = 2;
  Tensor<float, Dextents<1>> y(x);
  y = map([] LOCUS_HOST_DEVICE(float v) { return v * 0.5f; }, x);
  expect(1.f * y, 22.5f, "[]");
  y = map([by] LOCUS_HOST_DEVICE(float v) { return v * by; }, x);
  expect(1.f * y, 22.5f, "[by]");
  y = map([](float v) { return v * 2; }, x);
  expect(1.f * y, 90, "[], for the host alone");
  expect(map(host_device([] LOCUS_HOST_DEVICE(float v) { return v * 0.5f; }), x), 22.5f,
         "host_device([])");
  expect(map(host_device([by] LOCUS_HOST_DEVICE(float v) { return v * by; }), x), 22.5f,
         "host_device([by])");
  expect(
      map(host_device([=] LOCUS_HOST_DEVICE(float v, float w) { return v * by + w * more; }), x, x),
      112.5f, "host_device([=])");
  expect(map(host_device([by] LOCUS_HOST_DEVICE(float v) { return v * by; }), x) * 2.f + 1.f, 55,
         "host_device([by]), fused");
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}

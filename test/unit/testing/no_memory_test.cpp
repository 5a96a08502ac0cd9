// SPDX-License-Identifier: Apache-2.0
// The host has no memory for what simulated GPUs keep of a statement: the n-th allocation fails, for
// every n. The statement says so, nothing is lost or left behind, and what comes later is right.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <cstdlib>
#include <doctest/doctest.h>
#include <new>
#include <string>

#include <locus/backend/simulated/cards.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/collective.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace {
thread_local long fail_at = -1, calls = 0;
void* take(std::size_t n) {
  if (fail_at >= 0 && calls++ == fail_at) throw std::bad_alloc();
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
}  // namespace
void* operator new(std::size_t n) { return take(n); }
void* operator new[](std::size_t n) { return take(n); }
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return std::malloc(n ? n : 1); }
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept {
  return std::malloc(n ? n : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Both = Mirrored<G0, G1>;

/// f with its n-th allocation failing; false: it has fewer, and succeeded
template <class F>
bool fails_at(long n, F&& f) {
  calls = 0, fail_at = n;
  try {
    f();
    fail_at = -1;
    return calls > n;  // it went without
  } catch (std::bad_alloc const&) {
  } catch (locus::error const&) {}
  fail_at = -1;
  return true;
}

}  // namespace

TEST_CASE("one piece of work: it is issued as a whole, or not at all") {
  auto& m = simulated::gpus();
  int const memory[2]{};
  for (long n = 0, more = 1; more; ++n) {
    CAPTURE(n);
    REQUIRE(n < 1000);
    m.reset(std::uint64_t(n) + 1);
    step_record const record{0, "work", gpu(0)};
    touched const whole{memory, sizeof memory, true};
    int ran = 0, issued = 0;
    more = fails_at(n, [&] {
      for (int i = 0; i < 20; ++i) {
        m.wait(2, m.last(0));
        m.issue(2, record, &whole, 1, [&] { ++ran; });
        ++issued;
        m.wait(0, m.last(2));
        m.issue(0, record, &whole, 1, [&] { ++ran; });
        ++issued;
      }
    });
    m.wait(4, m.last(0));
    m.wait(4, m.last(2));
    CHECK_NOTHROW(m.issue(4, record, &whole, 1, [&] { ++ran; }));
    CHECK_NOTHROW(m.synchronize(m.last(4)));
    CHECK(ran == issued + 1);
  }
  m.reset(1);
}

TEST_CASE("statements: sums over replicas, copies, products, collectives") {
  long tried = 0;
  for (int which = 0; which < 4; ++which)
    for (long n = 0, more = 1; more; ++n, ++tried) {
      CAPTURE(which);
      CAPTURE(n);
      REQUIRE(n < 2000);
      testing::simulated_gpus const gpus(2, {.seed = std::uint64_t(n) + 1, .peers = n % 3 != 0});
      Tensor<float, Dextents<2>, Sharded<0, G0, G1>> const x(ones<float>(dextents<2>(8, 5)));
      Tensor<float, Extents<5>, Both> w(zeros<float>(Extents<5>{}));
      Tensor<float, Dextents<1>, G0> a{1, 2, 3};
      Tensor<float, Dextents<1>, G1> b{10, 20, 30};
      Tensor<float, Extents<4, 4>> const c(ones<float>(Extents<4, 4>{}));
      if (n % 2) static_cast<void>(fetch(sum(sum<0>(x))));  // with communicators, and without
      more = fails_at(n, [&] {
        switch (which) {
        case 0: w = w * 0.f + sum<0>(x); break;
        case 1: a = on<G1>(b + a) + 1.f; break;
        case 2: static_cast<void>(fetch(sum(matmul(c, c)))); break;
        default: collective::all_reduce<collective::sum>(a, b); break;
        }
      });
      // what a kernel that got no memory threw is said by the next who waits
      try {
        for (int g : {0, 1}) runtime::synchronize(runtime::find_device(gpu(g)));
      } catch (std::bad_alloc const&) {}
      collective::rebuild<Both>();
      w = sum<0>(x);
      CHECK(fetch(sum(w)) == 40.f);
      a = {1, 2, 3};
      b = {10, 20, 30};
      collective::all_reduce<collective::sum>(a, b);
      CHECK(fetch(sum(a)) == 66.f);
      CHECK(fetch(sum(b)) == 66.f);
      CHECK(fetch(sum(matmul(c, c))) == 64.f);
    }
  CHECK(tried > 80);
}

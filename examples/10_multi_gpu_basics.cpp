// SPDX-License-Identifier: Apache-2.0
// A^n + B^n: on one GPU, with the powers on two GPUs, and as a function that runs on each replica.
#include <cstdio>
#include <iostream>
#include <locus/core/clock.hpp>  // seconds_now
#include <locus/cuda.cuh>
#include <locus/strategy/strategy.hpp>  // strategy

using namespace locus;

constexpr int exponent = 10;
constexpr std::int64_t dimension = 300;
using Square = Tensor<float, Extents<dimension, dimension>>;
using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;

// [example: power on GPUs]
template <int N, class X>
auto power(X const& x) {  // x^N, N - 1 products
  if constexpr (N == 2)
    return matmul(x, x);
  else
    return matmul(x, power<N - 1>(x));
}
template <single_device ForA, single_device ForB, class A, class B>
auto sum_of_powers(A const& a, B const& b) {
  return let(a, [&](auto x) {  // read many times, copied once
    return let(b, [&](auto y) {
      return on<CpuDevice>(on<ForA>(power<exponent>(x)) + on<ForB>(power<exponent>(y)));
    });
  });
}
// [end]

template <class E>
auto timed(char const* title, E const& e) {
  auto result = eval(e);  // memory and kernels are there from here on
  double const start = seconds_now();
  result = e;
  double const seconds = seconds_now() - start;
  std::printf("%-9s %d launches, %d copies: %.4f s\n", title, plan_of<E>.launches(),
              plan_of<E>.copies(), seconds);
  return result;
}

int main() {
  // rows sum to about 1, so that powers stay finite
  Square const a = uniform<float>(Extents<dimension, dimension>{}, seed{1}, 0, 2.f / dimension);
  Square const b = uniform<float>(Extents<dimension, dimension>{}, seed{2}, 0, 2.f / dimension);

  // [example: use on GPUs]
  auto one_gpu = sum_of_powers<G0, G0>(a, b);
  auto two_gpus = sum_of_powers<G0, G1>(a, b);
  static_assert(plan_of<decltype(one_gpu)>.launches() == 2 * (exponent - 1) + 1);
  static_assert(plan_of<decltype(two_gpus)>.copies() == 4);  // a and b there, two powers back
  Square const one = timed("one GPU", one_gpu);
  Square const two = timed("two GPUs", two_gpus);
  // [end]
  // prints:
  // one GPU   19 launches, 4 copies: <#> s
  // two GPUs  19 launches, 4 copies: <#> s
  std::cout << "the same: " << (all_close(one, two, 1e-5) ? "yes" : "NO") << "\n";
  // prints: the same: yes

  // [example: strategy on GPUs]
  strategy<Mirrored<G0, G1>> const both;
  using Any = AnyTensor<float, Dextents<2>>;
  auto const matrices =
      both.values_from([&](int r) { return r == 0 ? Any(to<G0>(a)) : Any(to<G1>(b)); });
  auto const powers = both.run([](auto const& x) { return power<exponent>(x); }, matrices);
  auto const sum = both.reduce(across::sum, powers);
  // [end]
  std::cout << "a power from each of " << powers.size() << " replicas, on " << powers[1].where()
            << ": " << (all_close(one, sum, 1e-5) ? "the same" : "OTHER") << "\n";
  // prints: a power from each of 2 replicas, on /GPU:1: the same
}

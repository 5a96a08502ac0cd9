// SPDX-License-Identifier: Apache-2.0
// Calls with several results where one value is read.
// expect-1: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-2: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-3: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-4: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-5: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-6: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-7: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-8: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-9: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-10: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
// expect-11: locus: a call with several results stands where one is read; write auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))
#include <iostream>

#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/top_k.hpp>
#include <locus/algorithms/trim.hpp>
#include <locus/linalg/svd.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Dextents<1>> v{3, 1, 1, 2};
Tensor<float, Extents<2, 2>> m{{4, 1}, {1, 3}};
#if LOCUS_MUST_FAIL == 1
Tensor<float, Dextents<1>> misuse() { return unique(v); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(top_k<2>(v)); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { std::cout << unique(v); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(svd(m)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return fetch(sum(top_k<2>(v))); }
#elif LOCUS_MUST_FAIL == 6
void misuse() { v = unique(v); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(named<"of_v">(unique(v))); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return fetch(unique(v)); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return to<CpuDevice>(on<CpuDevice>(unique(v))); }
#elif LOCUS_MUST_FAIL == 10
void misuse() { v += unique(v); }
#elif LOCUS_MUST_FAIL == 11
void misuse() { run(into(v, top_k<2>(v))); }
#else
auto proper() {
  auto [values, places] = top_k<2>(v);
  auto [u, sigma, vt] = named<"of_m">(svd(m));
  std::cout << values << places << eval(sigma);
  v = result<0>(unique(v));
  return trim(unique(v));
}
#endif

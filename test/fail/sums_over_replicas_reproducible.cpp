// SPDX-License-Identifier: Apache-2.0
// A sum over replicas in a reproducible plan: its bits depend on their number.
// expect: locus: a sum over replicas is not reproducible, its bits depend on their number; gather first with to<Device>(x), or write exact<>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> x;
#ifdef LOCUS_MUST_FAIL
auto misuse() { return fetch<reproducible<>>(sum(x)); }
#else
auto proper() { return fetch<reproducible<>>(sum(to<CpuDevice>(x))); }
#endif

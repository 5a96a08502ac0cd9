// SPDX-License-Identifier: Apache-2.0
// Memory of the program's own wrapped as if it lay on several devices.
// expect: locus: a view lies on one device; write view<CpuDevice>(data, extents)
#include <locus/locus.hpp>
using namespace locus;

#ifdef LOCUS_MUST_FAIL
auto misuse(float* data) { return view<Mirrored<Cpu<0>, Cpu<1>>>(data, Extents<4>{}); }
#else
auto proper(float* data) { return view<CpuDevice>(data, Extents<4>{}); }
#endif

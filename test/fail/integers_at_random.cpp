// SPDX-License-Identifier: Apache-2.0
// Random numbers of an integer type.
// expect-1: locus: uniform makes floats; write uniform<float>(...) and cast it
// expect-2: locus: normal makes floats; write normal<float>(...) and cast it
#include <locus/locus.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
auto misuse() { return uniform<int>(Extents<4>{}, seed{1}, 0, 9); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return normal<int>(Extents<4>{}, seed{1}, 0, 9); }
#else
auto proper() { return cast<int>(uniform<float>(Extents<4>{}, seed{1}, 0.f, 9.f)); }
#endif

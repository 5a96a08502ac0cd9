// SPDX-License-Identifier: Apache-2.0
// Random numbers as NumPy's and TensorFlow's users ask for them: low and high, mean and deviation.
// expect-1: locus: random numbers begin with a seed; write uniform<float>(extents, seed{1}, low, high) or normal<float>(extents, seed{1}, mean, deviation)
// expect-2: locus: random numbers begin with a seed; write uniform<float>(extents, seed{1}, low, high) or normal<float>(extents, seed{1}, mean, deviation)
// expect-3: locus: random numbers begin with a seed; write uniform<float>(extents, seed{1}, low, high) or normal<float>(extents, seed{1}, mean, deviation)
// expect-4: locus: random numbers begin with a seed; write uniform<float>(extents, seed{1}, low, high) or normal<float>(extents, seed{1}, mean, deviation)
#include <locus/locus.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
void misuse() { uniform<float>(Extents<4>{}, 0, 10); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { normal<double>(Extents<4>{}, 5.0, 0.1); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { uniform<float>(Extents<4>{}, 1.f); }
#elif LOCUS_MUST_FAIL == 4
void misuse() { normal<float>(Extents<4>{}); }
#else
auto proper() { return uniform<float>(Extents<4>{}, seed{1}, 0, 10); }
auto proper_alone() { return uniform<float>(Extents<4>{}, 7); }
auto proper_too() { return normal<double>(Extents<4>{}, seed{1}, 5.0, 0.1); }
#endif

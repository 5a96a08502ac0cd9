// SPDX-License-Identifier: Apache-2.0
// A unit that is compiled as C++17: one sentence, whichever header stands first.
// flags-1: -std=c++17
// flags-2: -std=c++17
// flags-3: -std=c++17
// flags-4: -std=c++17
// expect-1: locus: this unit is compiled as an older C++ than C++20; write -std=c++20
// expect-2: locus: this unit is compiled as an older C++ than C++20; write -std=c++20
// expect-3: locus: this unit is compiled as an older C++ than C++20; write -std=c++20
// expect-4: locus: this unit is compiled as an older C++ than C++20; write -std=c++20
#if LOCUS_MUST_FAIL == 1
#include <locus/fwd.hpp>
#elif LOCUS_MUST_FAIL == 2
#include <locus/nn/nn.hpp>
#elif LOCUS_MUST_FAIL == 3
#include <locus/data/dataset.hpp>
#else
#include <locus/locus.hpp>
#endif

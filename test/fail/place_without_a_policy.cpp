// SPDX-License-Identifier: Apache-2.0
// A place that no device policy stands for.
// expect: locus: a distribution has no policy; name it here
#include <locus/locus.hpp>
using namespace locus;

struct Has {
  static constexpr place value =
      Mirrored<GpuDevice<0>, GpuDevice<1>>::value.partial(reduction::sum);
};
#ifdef LOCUS_MUST_FAIL
using misuse = policy_of_t<Has>;
#else
using proper = policy_of_t<GpuDevice<0>>;
#endif

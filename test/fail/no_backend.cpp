// SPDX-License-Identifier: Apache-2.0
// A kind of device without a backend.
// expect: locus: there is no backend for this side; specialise backend<Side>
#include <locus/locus.hpp>
#include <locus/machine/launch_site.hpp>
using namespace locus;

#ifdef LOCUS_MUST_FAIL
auto misuse = sizeof(backend<backing(99)>);
#else
auto proper = sizeof(backend<backing::host>);
#endif

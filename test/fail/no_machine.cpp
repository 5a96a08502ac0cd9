// SPDX-License-Identifier: Apache-2.0
// A machine that lacks functions.
// expect: locus: a machine lacks a function; give all of machine_functions as static members
#include <locus/backend/simulated/machine.hpp>
#include <locus/locus.hpp>
using namespace locus;

#ifdef LOCUS_MUST_FAIL
struct half_a_machine {
  static void finish(logical_device&) {}
};
constexpr machine_functions misuse = functions_of<half_a_machine>();
#else
constexpr machine_functions proper = functions_of<simulated::functions>();
#endif

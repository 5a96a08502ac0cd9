// SPDX-License-Identifier: Apache-2.0
// Statements at home: one kernel on one CPU, run without a plan. What a statement compiles is its
// functor and where its leaves are found; the rest stands once. What the short way does not do (a
// log, temporaries, other devices at work, errors) the run-time loop does, with the plan of
// plan/home.hpp: whoever makes a tensor brings the loop along, so that a unit of statements does not.
#pragma once
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/macros.hpp>     // LOCUS_SHARED_STATE
#include <locus/plan/home.hpp>       // home_step
#include <locus/plan/numerics.hpp>   // policy_value
#include <locus/run/program.hpp>     // target
#include <locus/work/call.hpp>       // space, access

namespace locus {

/// Where one value of a statement lies; a leaf without extents is a tensor that has died.
struct home_value {
  void* data;
  shape const* extents;
  std::int64_t const* strides;  // units: elements
  void const* object;           // a tensor's block
};

struct home_record;  // what the run-time loop needs, made once

/// What is constant of one statement: a constant of the program.
struct home_code {
  home_step const* tree = nullptr;
  void const* kernels =
      nullptr;  // host::loop_kernels of the statement's mode, and how they are run
  void (*run)(home_code const&, void const* context, kernel::space&, kernel::access*) = nullptr;
  int const* bytes = nullptr;  // of an element of each leaf, and of the result
  home_record** record = nullptr;
  short steps = 0, leaves = 0;
  std::int64_t few = 0;  // so many elements need neither threads nor stores past the caches
  policy_value policy;
  place where{};
};

/// One run of it. Its destination is `to`, or what find(whom, extents) names.
struct home_run {
  home_code const& code;
  void const* context;       // of the kernel
  home_value const* values;  // leaves
  call_site site;
  target const* to = nullptr;
  target (*find)(void const* whom, shape const& extents) = nullptr;
  void const* whom = nullptr;
};

namespace runtime {
/// The run-time loop for such statements, unchecked and checked, once a tensor was made.
using home_loop = void (*)(home_run const&);
LOCUS_SHARED_STATE inline constinit home_loop home_loops[2] = {};
}  // namespace runtime

}  // namespace locus

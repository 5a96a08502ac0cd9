// SPDX-License-Identifier: Apache-2.0
// Local statements: one kernel on one CPU, run without the run-time loop. A statement of maps needs
// no plan either: a unit compiles its functor and the search for its leaves. The loop runs the
// statement, with the plan of plan/local_statement.hpp, where a log, temporaries, other devices at
// work or an error need the loop. Units that make tensors or views compile the loop; a unit that
// only assigns does not.
#pragma once
#include <locus/core/call_site.hpp>        // call_site
#include <locus/core/hooks.hpp>            // statement_loops
#include <locus/plan/local_statement.hpp>  // statement_step
#include <locus/plan/numerics.hpp>         // policy_value
#include <locus/run/program.hpp>           // target

namespace locus {

/// The memory and layout of one value of a statement; extents are null if a leaf's tensor has died.
struct statement_value {
  void* data;
  shape const* extents;
  std::int64_t const* strides;  // units: elements
  void const* object;           // a tensor's block
  local_value local() const { return {data, extents->extent, strides}; }
};

struct statement_record;  // the plan for the run-time loop, made once

/// The constant part of one statement.
struct statement_code {
  int const* bytes = nullptr;  // of an element: of each value that is read, then of the result
  short reads = 0;
  short at_index = 0;  // the first at_index of them are read only at the index that is written
  // for maps without a plan, whose reads are their leaves: the kernel, and the data of the run-time
  // loop
  void (*run)(statement_code const&, void const* context, statement_value const* values) = nullptr;
  statement_step const* tree = nullptr;
  void const* kernels = nullptr;  // host::loop_kernels of the statement's mode
  statement_record** record = nullptr;
  std::int64_t few = 0;  // up to so many elements: one thread, no stores past the caches
  policy_value policy{};
  place where{};
};

/// One run of a statement of maps. Its destination is *to, or find(whom, extents).
struct statement_run {
  statement_code const& code;
  void const* context;      // of the kernel
  statement_value* values;  // of the leaves, then a free one for the result
  call_site site;
  target const* to = nullptr;
  target (*find)(void const* whom, shape const& extents) = nullptr;
  void const* whom = nullptr;
};

}  // namespace locus

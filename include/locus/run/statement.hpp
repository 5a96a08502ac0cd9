// SPDX-License-Identifier: Apache-2.0
// Local statements: one kernel on one CPU, run without the run-time loop. A statement of maps alone
// needs no plan either: a unit compiles its functor and where its leaves are found. The loop does the
// rest (a log, temporaries, other devices at work, errors), with the plan of plan/local_statement.hpp;
// units that make tensors or views bring the loop along, so that a unit of statements does not.
#pragma once
#include <locus/core/call_site.hpp>        // call_site
#include <locus/core/hooks.hpp>            // statement_loops
#include <locus/plan/local_statement.hpp>  // statement_step
#include <locus/plan/numerics.hpp>         // policy_value
#include <locus/run/program.hpp>           // target

namespace locus {

/// Where one value of a statement lies; a leaf without extents is a tensor that has died.
struct statement_value {
  void* data;
  shape const* extents;
  std::int64_t const* strides;  // units: elements
  void const* object;           // a tensor's block
  local_value local() const { return {data, extents->extent, strides}; }
};

struct statement_record;  // what the run-time loop needs, made once

/// The constant part of one statement.
struct statement_code {
  int const* bytes = nullptr;  // of an element of each value that is read, and of the result
  short reads = 0;
  short at_index = 0;  // so many, the first, are read where the result is written
  // of maps without a plan, whose reads are their leaves: the kernel, and what the loop needs
  void (*run)(statement_code const&, void const* context, statement_value const* values) = nullptr;
  statement_step const* tree = nullptr;
  void const* kernels = nullptr;  // host::loop_kernels of the statement's mode
  statement_record** record = nullptr;
  std::int64_t few = 0;  // so many elements need neither threads nor stores past the caches
  policy_value policy{};
  place where{};
};

/// One run of maps. Its destination is `to`, or what find(whom, extents) names.
struct statement_run {
  statement_code const& code;
  void const* context;      // of the kernel
  statement_value* values;  // leaves, and room for the result
  call_site site;
  target const* to = nullptr;
  target (*find)(void const* whom, shape const& extents) = nullptr;
  void const* whom = nullptr;
};

}  // namespace locus

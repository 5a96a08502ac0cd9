// SPDX-License-Identifier: Apache-2.0
// An event while a program runs, and its forms: a line and a JSON object of the log, the details of
// a span. One row for each kind.
#pragma once
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/json.hpp>       // json_text
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/text.hpp>       // text_buffer
#include <locus/device/name.hpp>     // text << device
#include <locus/shape/shape.hpp>     // shape

LOCUS_COLD_BEGIN

namespace locus {

using log_line = text_buffer<1024>;

struct plan_view;     // plan/data.hpp
struct policy_value;  // plan/numerics.hpp
struct tally;         // plan/show/facts.hpp

enum class event_kind : unsigned char {
  step,           // an operation runs
  copy,           // a value, or a piece, to another device
  collective,     // values of several replicas are combined or gathered
  creation,       // a tensor
  allocation,     // memory of a device is allocated or freed
  fallback,       // another device or another way than intended
  configuration,  // a setting changes
  launch,         // the kernel of a region runs; the log has an event for each step instead
  plan,           // a plan runs; the log has no line for it
};

/// The device that was asked for, and the device that does the work.
struct device_use {
  device asked{}, used{};
  std::string_view why{};  // why the host works for a GPU
  constexpr bool differs() const { return !(asked == used); }
};
/// The same for a place.
struct place_use {
  place asked{}, used{};
  std::string_view why{};
  constexpr bool differs() const { return !(asked == used); }
};
/// A run of a plan, for listeners and the report.
struct plan_run {
  plan_view const& plan;
  shape const* extents;  // [step]
  policy_value const& policy;
  tally const& done;  // complete at the end of the run
};

/// means: one event; members that its kind does not have are empty
struct run_event {
  event_kind kind = event_kind::step;
  short step = -1;            // its number in its plan; launch: of its last step
  std::string_view name{};    // an operation, a transfer, an element type, a setting
  std::string_view of{};      // copy: the step or tensor of the value; launch: its operations
  std::string_view kernel{};  // step and launch on a GPU: the names of its kernels
  std::string_view type{};    // launch: element type and extents of the last step
  device_use on{};            // the device; copy: the destination
  device_use from{};          // copy: the source
  device request{};           // the on<Device> that could not be followed
  place_use over{};           // creation, collective
  shape extents{-1, {}};
  int tensors = 0;                 // collective
  std::int64_t bytes = -1;         // payload
  std::int64_t in_use = -1;        // allocation: bytes in use on the device after it
  std::string_view reason{};       // the cause; collective: the algorithm
  bool skipped = false;            // copy: the value was there already
  call_site site{};                // the line of the program
  std::int64_t time = 0;           // nanoseconds since the start
  plan_run const* plan = nullptr;  // plan
};
/// The name of an event in callbacks of the log.
using log_event = run_event;

/// means: step, copy, collective ...
[[gnu::cold]] LOCUS_FUNCTION std::string_view name_of(event_kind kind);
/// means: the event as a line, in TensorFlow's words if TensorFlow has such a line
[[gnu::cold]] LOCUS_FUNCTION log_line text_of(run_event const& e);
/// means: the event as a JSON object, without members that it does not have
/// units: seconds since the start, bytes
[[gnu::cold]] LOCUS_FUNCTION void write_json(json_text& out, run_event const& e);
/// means: the event's further facts in a trace, as members of a JSON object
[[gnu::cold]] LOCUS_FUNCTION void write_details(json_text& out, run_event const& e);

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/event.hpp>  // bodies of the functions above
#endif

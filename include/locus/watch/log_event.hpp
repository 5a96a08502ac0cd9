// SPDX-License-Identifier: Apache-2.0
// One event of the log, and its two forms: a line of text, a JSON object. One row for each kind.
#pragma once
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/json.hpp>       // json_text
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/text.hpp>       // text_buffer
#include <locus/device/name.hpp>     // full_name
#include <locus/shape/shape.hpp>     // shape

LOCUS_COLD_BEGIN

namespace locus {

using log_line = text_buffer<1024>;

enum class event_kind : unsigned char {
  step,           // an operation runs
  copy,           // a value, or a piece, to another device
  collective,     // values of several replicas are combined or gathered
  creation,       // a tensor
  allocation,     // memory of a device is allocated or freed
  fallback,       // another device or another way than intended
  configuration,  // a setting changes
};

/// The device that was asked for, and the device that does the work.
struct device_use {
  device asked{}, used{};
  std::string_view why;  // why the host works for a GPU
  constexpr bool differs() const { return !(asked == used); }
};
/// The same for a place.
struct place_use {
  place asked{}, used{};
  std::string_view why;
  constexpr bool differs() const { return !(asked == used); }
};

/// means: one event; members that its kind does not have are empty
struct log_event {
  event_kind kind = event_kind::step;
  short step = -1;          // its number in its plan
  std::string_view name;    // an operation, a transfer, an element type, a setting
  std::string_view of;      // copy: the step or tensor of the value
  std::string_view kernel;  // step on a GPU: the names of its kernels
  device_use on{};          // the device; copy: the destination
  device_use from{};        // copy: the source
  device request{};         // the on<Device> that could not be followed
  place_use over{};         // creation, collective
  shape extents{-1, {}};
  int tensors = 0;           // collective
  std::int64_t bytes = -1;   // payload
  std::int64_t in_use = -1;  // allocation: bytes in use on the device after it
  std::string_view reason;   // the cause; collective: the algorithm
  bool skipped = false;      // copy: the value was there already
  call_site site{};          // the line of the program
  std::int64_t time = 0;     // nanoseconds since the start
};

namespace detail {

/// writes the requested device, or place, if another does the work
template <class Use>
log_line& write_asked(log_line& out, Use const& u) {
  if (!u.differs()) return out;
  out << " (asked for " << u.asked;
  if (!u.why.empty()) out << ": " << u.why;
  return out << ")";
}
inline log_line& write_use(log_line& out, device_use const& d) {
  return write_asked(out << full_name{d.used}, d);
}
[[gnu::cold]] LOCUS_FUNCTION void write_step_event(log_line& out, log_event const& e);
[[gnu::cold]] LOCUS_FUNCTION void write_copy_event(log_line& out, log_event const& e);
[[gnu::cold]] LOCUS_FUNCTION void write_collective_event(log_line& out, log_event const& e);
[[gnu::cold]] LOCUS_FUNCTION void write_creation_event(log_line& out, log_event const& e);
[[gnu::cold]] LOCUS_FUNCTION void write_allocation_event(log_line& out, log_event const& e);
[[gnu::cold]] inline void write_fallback_event(log_line& out, log_event const& e) {
  out << e.reason;  // a whole sentence
}
[[gnu::cold]] inline void write_configuration_event(log_line& out, log_event const& e) {
  out << "Setting " << e.reason << " (config::" << e.name << ")";
}

/// The one table of events.
struct event_row {
  std::string_view name;
  void (*write)(log_line&, log_event const&);
};
inline constexpr event_row event_rows[] = {
    {"step", write_step_event},
    {"copy", write_copy_event},
    {"collective", write_collective_event},
    {"creation", write_creation_event},
    {"allocation", write_allocation_event},
    {"fallback", write_fallback_event},
    {"configuration", write_configuration_event},
};

}  // namespace detail

/// means: step, copy, collective ...
constexpr std::string_view name_of(event_kind kind) {
  return detail::event_rows[static_cast<int>(kind)].name;
}
/// means: the event as a line, in TensorFlow's words if TensorFlow has such a line
LOCUS_FUNCTION log_line text_of(log_event const& e);

/// means: the event as a JSON object, without members that it does not have
/// units: seconds since the start, bytes
[[gnu::cold]] LOCUS_FUNCTION void write_json(json_text& out, log_event const& e);

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/log_event.hpp>  // bodies of the functions above
#endif

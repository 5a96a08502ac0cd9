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
  collective,     // values of several replicas meet
  creation,       // a tensor
  allocation,     // memory of a device, taken or given back
  fallback,       // something runs elsewhere, or otherwise, than it was meant to
  configuration,  // a setting changes
};

/// A device that was asked for, and the one that does the work in its place.
struct device_use {
  device asked{}, used{};
  std::string_view why;  // the host works for a GPU
  constexpr bool differs() const { return !(asked == used); }
};
/// The same for a place.
struct place_use {
  place asked{}, used{};
  std::string_view why;
  constexpr bool differs() const { return !(asked == used); }
};

/// means: what happened; members that an event does not have are empty
struct log_event {
  event_kind kind = event_kind::step;
  short step = -1;          // its number in its plan
  std::string_view name;    // an operation, a transfer, an element type, a setting
  std::string_view of;      // copy: whose value
  std::string_view kernel;  // step on a GPU: the names of its kernels
  device_use on{};          // where; copy: to where
  device_use from{};        // copy: from where
  device request{};         // the on<Device> that was not followed
  place_use over{};         // creation, collective
  shape extents{-1, {}};
  int tensors = 0;           // collective
  std::int64_t bytes = -1;   // payload
  std::int64_t in_use = -1;  // allocation: bytes of the device behind it
  std::string_view reason;   // why it is so; collective: by which algorithm
  bool skipped = false;      // copy: nothing had to move
  call_site site{};          // where the program asked for it
  std::int64_t time = 0;     // nanoseconds since the start
};

namespace detail {

/// the device, or the place, that was asked for where another does the work
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
  out << e.reason;  // a sentence
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
/// means: the event as a line, in TensorFlow's words where it has some
LOCUS_FUNCTION log_line text_of(log_event const& e);

/// means: the event as a JSON object; members that it does not have are left out
/// units: seconds since the start, bytes
[[gnu::cold]] LOCUS_FUNCTION void write_json(json_text& out, log_event const& e);

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/log_event.hpp>  // bodies of the functions above
#endif

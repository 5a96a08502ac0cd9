// SPDX-License-Identifier: Apache-2.0
// One event of the log, and its two forms: a line of text, a JSON object. One row for each kind.
#pragma once
#include <locus/core/call_site.hpp>     // call_site
#include <locus/core/config.hpp>        // LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>         // message
#include <locus/core/json.hpp>          // json_text
#include <locus/core/text.hpp>          // text_buffer
#include <locus/device/name.hpp>        // text << device, place
#include <locus/runtime/site_text.hpp>  // write_site
#include <locus/shape/shape.hpp>        // shape

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
[[gnu::cold]] inline void write_step_event(log_line& out, log_event const& e) {
  write_use(out << "Executing op " << e.name << " in device ", e.on);
  if (!e.kernel.empty()) out << " by " << e.kernel;
  if (e.reason.empty()) return;
  out << " (";
  if (!e.request.is_none()) out << "asked for " << e.request << ": ";
  out << e.reason << ")";
}
[[gnu::cold]] inline void write_copy_event(log_line& out, log_event const& e) {
  if (e.of.empty()) {  // a tensor beside itself
    out << "Copying a Tensor of " << e.name << e.extents << ", " << e.bytes << " bytes, on "
        << e.on.used;
    write_asked(out, e.on);
    return;
  }
  out << "Copying " << e.bytes << " bytes (" << e.name << " of " << e.of << ") from device ";
  write_use(out, e.from) << " to device ";
  write_use(out, e.on);
  if (e.skipped) out << " (skipped: " << e.reason << ")";
}
[[gnu::cold]] inline void write_collective_event(log_line& out, log_event const& e) {
  out << "Collective " << e.name << " of " << e.tensors
      << (e.tensors > 1 ? " tensors, " : " tensor, ") << e.bytes << " bytes, over "
      << e.over.used.count() << " devices (";
  auto write = [&](place const& p) {
    for (int r = 0; r < p.count(); ++r) out << (r ? " " : "") << p.at(r);
  };
  write(e.over.used);
  if (e.over.differs()) {
    out << "; asked for ";
    write(e.over.asked);
    if (!e.over.why.empty()) out << ": " << e.over.why;
  }
  out << "), by " << e.reason;
}
[[gnu::cold]] inline void write_creation_event(log_line& out, log_event const& e) {
  out << "Creating a Tensor of " << e.name << e.extents << " on " << e.over.used;
  write_asked(out, e.over);
}
[[gnu::cold]] inline void write_allocation_event(log_line& out, log_event const& e) {
  out << "locus: " << e.on.used << " " << e.name << " " << e.bytes << " bytes";
  if (!e.reason.empty()) out << " for " << e.reason;
  out << ", in use " << e.in_use;
}
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
inline log_line text_of(log_event const& e) {
  log_line line, printable;
  detail::event_rows[static_cast<int>(e.kind)].write(line, e);
  write_printable(printable, line.view());
  return printable;
}

/// means: the event as a JSON object; members that it does not have are left out
/// units: seconds since the start, bytes
[[gnu::cold]] inline void write_json(json_text& out, log_event const& e) {
  auto text = [&](char const* name, std::string_view v) {
    if (!v.empty()) out.member(name, v);
  };
  auto put_device = [&](char const* name, device d) {
    text_buffer<16> t;
    if (!d.is_none()) out.member(name, (t << d).view());
  };
  out.open('{').member("event", name_of(e.kind)).name("time");
  std::int64_t const microseconds = e.time / 1000;
  text_buffer<32> time;
  time << microseconds / 1'000'000 << ".";
  for (std::int64_t unit = 100'000; unit > 0; unit /= 10) time << microseconds / unit % 10;
  out.append(time.view());
  if (e.step >= 0) out.member("step", e.step);
  text("name", e.name), text("of", e.of), text("kernel", e.kernel);
  put_device("from", e.from.used);
  if (e.from.differs()) put_device("from_asked", e.from.asked);
  put_device("asked", e.request.is_none() ? e.on.asked : e.request),
      put_device("device", e.on.used);
  auto put_devices = [&](char const* name, place const& p) {
    if (p.is_nowhere()) return;
    out.name(name).open('[');
    for (int r = 0; r < p.count(); ++r) {
      text_buffer<16> t;
      out.value((t << p.at(r)).view());
    }
    out.close(']');
  };
  if (e.over.differs()) put_devices("devices_asked", e.over.asked);
  put_devices("devices", e.over.used);
  if (e.extents.rank >= 0) {
    out.name("shape").open('[');
    for (int a = 0; a < e.extents.rank; ++a) out.value(e.extents.extent[a]);
    out.close(']');
  }
  if (e.tensors > 0) out.member("tensors", e.tensors);
  if (e.bytes >= 0) out.member("bytes", e.bytes);
  if (e.in_use >= 0) out.member("in_use", e.in_use);
  if (e.skipped) out.name("skipped").append("true");
  if (e.site.is_set()) out.member("file", e.site.file).member("line", e.site.line);
  if (e.site.is_code()) {
    message code;
    out.member("code", runtime::write_site(code, e.site).view());
  }
  text("reason", !e.reason.empty()     ? e.reason
                 : !e.on.why.empty()   ? e.on.why
                 : !e.over.why.empty() ? e.over.why
                                       : e.from.why);
  out.close('}');
}

}  // namespace locus

LOCUS_COLD_END

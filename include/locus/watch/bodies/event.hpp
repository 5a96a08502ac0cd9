// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/event.hpp declares.
#pragma once
#include <locus/core/error.hpp>       // message
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/plan/data.hpp>        // plan_view
#include <locus/plan/numerics.hpp>    // name_of
#include <locus/runtime/ranks.hpp>    // this_rank
#include <locus/watch/event.hpp>      // the declarations
#include <locus/watch/site_text.hpp>  // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

// ---- lines ----

/// writes the requested device, or place, if another does the work
template <class Use>
log_line& write_asked(log_line& out, Use const& u) {
  if (!u.differs()) return out;
  out << " (asked for " << u.asked;
  if (!u.why.empty()) out << ": " << u.why;
  return out << ")";
}

inline log_line& write_use(log_line& out, device_use const& d) {
  return write_asked(out << full_name{d.used, runtime::rank_or_none()}, d);
}

inline void step_line(log_line& out, run_event const& e) {
  write_use(out << "Executing op " << e.name << " in device ", e.on);
  if (!e.kernel.empty()) out << " by " << e.kernel;
  if (e.reason.empty()) return;
  out << " (";
  if (!e.request.is_none()) out << "asked for " << e.request << ": ";
  out << e.reason << ")";
}

inline void copy_line(log_line& out, run_event const& e) {
  if (e.of.empty()) {  // the value is a tensor itself
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

inline void collective_line(log_line& out, run_event const& e) {
  out << "Collective " << e.name << " of " << e.tensors
      << (e.tensors > 1 ? " tensors, " : " tensor, ") << e.bytes << " bytes, over "
      << e.over.used.local_count() << " devices (";
  auto write = [&](place const& p) {
    for (int r = 0; r < p.local_count(); ++r) out << (r ? " " : "") << p.at(r);
  };
  write(e.over.used);
  if (e.over.differs()) {
    out << "; asked for ";
    write(e.over.asked);
    if (!e.over.why.empty()) out << ": " << e.over.why;
  }
  out << "), by " << e.reason;
}

inline void creation_line(log_line& out, run_event const& e) {
  out << "Creating a Tensor of " << e.name << e.extents << " on " << e.over.used;
  write_asked(out, e.over);
}

inline void allocation_line(log_line& out, run_event const& e) {
  out << "locus: " << e.on.used << " " << e.name << " " << e.bytes << " bytes";
  if (!e.reason.empty()) out << " for " << e.reason;
  out << ", in use " << e.in_use;
}

inline void fallback_line(log_line& out, run_event const& e) {
  out << e.reason;  // a whole sentence
}

inline void configuration_line(log_line& out, run_event const& e) {
  out << "Setting " << e.reason << " (config::" << e.name << ")";
}

// ---- details of spans ----

/// means: adds the text of `thing` as a member
template <class Thing>
void add_text(json_text& out, std::string_view name, Thing const& thing) {
  text_buffer<128> text;
  out.member(name, (text << thing).view());
}

inline void copy_details(json_text& out, run_event const& e) {
  out.member("bytes", e.bytes);
  add_text(out, "from", e.from.used);
  add_text(out, "to", e.on.used);
  if (e.step >= 0) out.member("step", e.step);
}

inline void collective_details(json_text& out, run_event const& e) {
  add_text(out, "over", e.over.asked);
  out.member("bytes", e.bytes).member("algorithm", e.reason);
}

inline void launch_details(json_text& out, run_event const& e) {
  out.member("step", e.step).member("operations", e.of).member("shape", e.type);
  out.member("bytes", e.bytes);
  if (!e.kernel.empty()) out.member("kernel", e.kernel);
  add_text(out, "device", e.on.used);
  if (e.on.differs()) add_text(out, "asked", e.on.asked);
  if (!e.on.why.empty()) out.member("why", e.on.why);
}

inline void plan_details(json_text& out, run_event const& e) {
  plan_view const& p = e.plan->plan;
  out.member("steps", p.steps.count).member("transfers", p.transfers.count);
  text_buffer<64> policy;
  out.member("policy", write_policy(policy, e.plan->policy).view());
}

/// One kind of event: its name, its line of the log, the details of its span; null: none.
struct event_row {
  std::string_view name;
  void (*write_line)(log_line&, run_event const&);
  void (*add_details)(json_text&, run_event const&);
};
inline constexpr event_row event_rows[] = {
    {"step", step_line, nullptr},
    {"copy", copy_line, copy_details},
    {"collective", collective_line, collective_details},
    {"creation", creation_line, nullptr},
    {"allocation", allocation_line, nullptr},
    {"fallback", fallback_line, nullptr},
    {"configuration", configuration_line, nullptr},
    {"launch", nullptr, launch_details},
    {"plan", nullptr, plan_details},
};
constexpr event_row const& row_of_event(event_kind kind) {
  return event_rows[static_cast<int>(kind)];
}

}  // namespace locus::detail

namespace locus {

LOCUS_FUNCTION std::string_view name_of(event_kind kind) { return detail::row_of_event(kind).name; }

LOCUS_FUNCTION log_line text_of(run_event const& e) {
  log_line line, printable;
  if (auto* const write = detail::row_of_event(e.kind).write_line) write(line, e);
  write_printable(printable, line.view());
  return printable;
}

LOCUS_FUNCTION void write_details(json_text& out, run_event const& e) {
  if (auto* const add = detail::row_of_event(e.kind).add_details) add(out, e);
}

LOCUS_FUNCTION void write_json(json_text& out, run_event const& e) {
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
  if (runtime::rank_or_none() >= 0) out.member("rank", runtime::rank_or_none());
  if (e.step >= 0) out.member("step", e.step);
  text("name", e.name), text("of", e.of), text("kernel", e.kernel);
  put_device("from", e.from.used);
  if (e.from.differs()) put_device("from_asked", e.from.asked);
  put_device("asked", e.request.is_none() ? e.on.asked : e.request),
      put_device("device", e.on.used);
  auto put_devices = [&](char const* name, place const& p) {
    if (p.is_nowhere()) return;
    out.name(name).open('[');
    for (int r = 0; r < p.local_count(); ++r) {
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

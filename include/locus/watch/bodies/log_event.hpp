// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/log_event.hpp declares.
#pragma once
#include <locus/core/error.hpp>       // message
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/watch/log_event.hpp>  // the declarations
#include <locus/watch/site_text.hpp>  // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void write_step_event(log_line& out, log_event const& e) {
  write_use(out << "Executing op " << e.name << " in device ", e.on);
  if (!e.kernel.empty()) out << " by " << e.kernel;
  if (e.reason.empty()) return;
  out << " (";
  if (!e.request.is_none()) out << "asked for " << e.request << ": ";
  out << e.reason << ")";
}

LOCUS_FUNCTION void write_copy_event(log_line& out, log_event const& e) {
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

LOCUS_FUNCTION void write_collective_event(log_line& out, log_event const& e) {
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

LOCUS_FUNCTION void write_creation_event(log_line& out, log_event const& e) {
  out << "Creating a Tensor of " << e.name << e.extents << " on " << e.over.used;
  write_asked(out, e.over);
}

LOCUS_FUNCTION void write_allocation_event(log_line& out, log_event const& e) {
  out << "locus: " << e.on.used << " " << e.name << " " << e.bytes << " bytes";
  if (!e.reason.empty()) out << " for " << e.reason;
  out << ", in use " << e.in_use;
}

}  // namespace locus::detail

namespace locus {

LOCUS_FUNCTION log_line text_of(log_event const& e) {
  log_line line, printable;
  detail::event_rows[static_cast<int>(e.kind)].write(line, e);
  write_printable(printable, line.view());
  return printable;
}

LOCUS_FUNCTION void write_json(json_text& out, log_event const& e) {
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

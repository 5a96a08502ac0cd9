// SPDX-License-Identifier: Apache-2.0
// The placement log: TensorFlow's words for operations, and what TensorFlow does not say: copies,
// collectives, creations and fallbacks.
#pragma once
#include <locus/backend/seam.hpp>  // logical_device
#include <locus/device/name.hpp>   // full_name
#include <locus/plan/data.hpp>     // step, transfer
#include <locus/runtime/log.hpp>   // log_line, placement_log

namespace locus {

namespace detail {

/// where a step really runs, and why not where it was meant to
template <class Text>
Text& write_where(Text& out, logical_device const& d) {
  if (!d.name.is_gpu() || d.how != backing::host) return out << full_name{d.name};
  return out << full_name{cpu(0)} << " (asked for " << d.name << ": "
             << (runtime::table.why_no_gpu == runtime::absence::none
                     ? std::string_view("it is not there")
                     : sentence(runtime::table.why_no_gpu))
             << ")";
}

[[gnu::cold]] inline void log_step(step const& s, logical_device const& d) {
  if (s.tensorflow.empty()) return;  // a part of an operation that has a line of its own
  log_line line;
  write_where(line << "Executing op " << s.tensorflow << " in device ", d);
  if (s.fell_back) {
    line << " (";
    if (!s.request.is_none()) line << "asked for " << s.request << ": ";
    line << "'" << s.name << "' has no GPU kernel)";
  }
  runtime::write_line(line);
}
[[gnu::cold]] inline void log_copy(transfer_kind how, step const& s, std::int64_t bytes,
                                   logical_device const& from, logical_device const& to,
                                   bool skipped) {
  log_line line;
  line << "Copying " << bytes << " bytes (" << name_of(how) << " of " << s.name << ") from device ";
  write_where(line, from) << " to device ";
  write_where(line, to);
  if (skipped) line << " (skipped: both are host memory)";
  runtime::write_line(line);
}
[[gnu::cold]] inline void log_collective(transfer_kind how, plan_view const& p, short bucket,
                                         place const& over, std::string_view algorithm,
                                         std::int64_t bytes) {
  log_line line;
  int tensors = 0;
  for (transfer const& t : p.transfers) tensors += t.bucket == bucket && bucket >= 0;
  line << "Collective " << name_of(how) << " of " << (tensors ? tensors : 1)
       << (tensors > 1 ? " tensors, " : " tensor, ") << bytes << " bytes, over " << over.count()
       << " devices (";
  for (int r = 0; r < over.count(); ++r) line << (r ? " " : "") << over.at(r);
  runtime::write_line(line << "), by " << algorithm);
}
[[gnu::cold]] inline void log_creation(std::string_view type, shape const& extents,
                                       place const& where) {
  log_line line;
  runtime::write_line(line << "Creating a Tensor of " << type << extents << " on " << where);
}

}  // namespace detail

}  // namespace locus

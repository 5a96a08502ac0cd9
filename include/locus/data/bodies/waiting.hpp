// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that data/waiting.hpp declares.
#pragma once
#include <locus/core/json.hpp>     // json_text
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/data/waiting.hpp>  // the declarations
#include <locus/watch/log.hpp>     // warn
#include <locus/watch/trace.hpp>   // the_tracer
#include <locus/watch/watch.hpp>   // is_watched

LOCUS_COLD_BEGIN

namespace locus::data::detail {

LOCUS_FUNCTION void pass_clock::begin() {
  asked_ = read_clock();
  if (first_ < 0) first_ = asked_;
}

LOCUS_FUNCTION void pass_clock::end(bool got_one) {
  std::int64_t const now = read_clock();
  waited_ += now - asked_, elements_ += got_one;
  if (runtime::is_watched(runtime::watcher::trace)) show("waiting for input", {}, asked_, now);
}

LOCUS_FUNCTION void pass_clock::close() noexcept {
  if (first_ < 0) return;
  pass_times const t = times();
  int const percent = static_cast<int>(__builtin_lround(100 * t.share()));
  if (runtime::is_watched(runtime::watcher::trace)) {
    json_text details;
    details.member("elements", t.elements).member("percent of time waiting for input", percent);
    show("a pass over the data", details.view(), first_, read_clock());
  }
  if (t.total >= worth_saying && t.share() >= bottleneck && t.elements > 1) say(t, percent);
  first_ = -1;
}

LOCUS_FUNCTION void pass_clock::show(std::string_view name, std::string_view details,
                                     std::int64_t from, std::int64_t to) noexcept {
  try {
    runtime::tracer& t = runtime::the_tracer();
    t.ran(t.span(name, details), runtime::host_track(), from, to);
  } catch (...) {}
}

LOCUS_FUNCTION void pass_clock::say(pass_times const& t, int percent) noexcept {
  static int said = 0;
  if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) return;
  log_line line;
  auto const tenths = static_cast<std::int64_t>(10 * t.total);
  runtime::warn(line << "locus: input is the bottleneck: the program waited for it during "
                     << percent << "% of " << tenths / 10 << "." << tenths % 10 << " s ("
                     << t.elements
                     << " elements); give map() more threads, end the dataset in prefetch(), or "
                        "cache() what is read from files");
}

}  // namespace locus::data::detail

LOCUS_COLD_END

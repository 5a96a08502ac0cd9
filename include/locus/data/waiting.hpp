// SPDX-License-Identifier: Apache-2.0
// How long a program waits for its input: said once, and shown in the trace.
#pragma once
#include <locus/core/clock.hpp>     // read_clock
#include <locus/core/json.hpp>      // json_text
#include <locus/runtime/log.hpp>    // warn
#include <locus/runtime/trace.hpp>  // the_tracer

namespace locus::data {

/// Where the time of a pass went.
/// units: seconds
struct pass_times {
  double waiting = 0;  // for the next element
  double total = 0;    // from the first question for one to the end of the pass
  std::int64_t elements = 0;
  double share() const { return total > 0 ? waiting / total : 0; }
};

namespace detail {

LOCUS_COLD_BEGIN

/// One pass as the consumer sees it.
class pass_clock {
 public:
  // a pass of a second of which a quarter is spent waiting is worth a sentence
  static constexpr double worth_saying = 1.0, bottleneck = 0.25;

  void begin() {
    asked_ = read_clock();
    if (first_ < 0) first_ = asked_;
  }
  void end(bool got_one) {
    std::int64_t const now = read_clock();
    waited_ += now - asked_, elements_ += got_one;
    if (runtime::is_watched(runtime::watcher::trace)) show("waiting for input", {}, asked_, now);
  }
  pass_times times() const {
    return {1e-9 * double(waited_), 1e-9 * double(read_clock() - first_), elements_};
  }
  /// the pass is over
  void close() noexcept {
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

 private:
  static void show(std::string_view name, std::string_view details, std::int64_t from,
                   std::int64_t to) noexcept {
    try {
      runtime::tracer& t = runtime::the_tracer();
      t.ran(t.span(name, details), runtime::host_track(), from, to);
    } catch (...) {}
  }
  static void say(pass_times const& t, int percent) noexcept {
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
  std::int64_t first_ = -1, asked_ = 0, waited_ = 0, elements_ = 0;
};

LOCUS_COLD_END

}  // namespace detail

}  // namespace locus::data

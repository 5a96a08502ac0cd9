// SPDX-License-Identifier: Apache-2.0
// A progress bar for long work: redrawn on a terminal, one line at the end elsewhere.
#pragma once
#include <unistd.h>  // isatty

#include <locus/core/clock.hpp>         // seconds_now
#include <locus/core/text.hpp>          // text_buffer
#include <locus/core/write_number.hpp>  // write_number
#include <locus/runtime/ranks.hpp>      // this_rank
#include <locus/runtime/write_all.hpp>  // write_to_stderr

namespace locus::data {

/// means: "120/938 [====>.............] 12.3 s  note" on stderr, of rank 0 alone
/// cost:  drawn at most ten times a second; if stderr is no terminal, once, at the end
class progress_bar {
 public:
  explicit progress_bar(std::int64_t total)
      : total_(total > 0 ? total : 1), start_(seconds_now()), redraw_(isatty(2) != 0) {}

  void show(std::int64_t done, std::string_view note = {}) {
    if (runtime::this_rank.rank > 0) return;
    double const now = seconds_now();
    if (done < total_ && (!redraw_ || now - drawn_ < 0.1)) return;
    drawn_ = now;
    constexpr int width = 30;
    int const filled = static_cast<int>(done * width / total_);
    text_buffer<2048> line;
    line << (redraw_ ? "\r" : "") << done << "/" << total_ << " [";
    for (int i = 0; i < width; ++i) line << (i < filled ? "=" : i == filled ? ">" : ".");
    char time[32];
    internal::write_number(time, sizeof time, "] %.1f s  ", now - start_);
    line << time << note.substr(0, 1900) << (redraw_ ? "\033[K" : "");
    runtime::write_to_stderr((line << (done >= total_ ? "\n" : "")).view());
  }
  double seconds() const { return seconds_now() - start_; }

 private:
  std::int64_t total_;
  double start_, drawn_ = 0;
  bool redraw_;
};

}  // namespace locus::data

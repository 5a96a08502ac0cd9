// SPDX-License-Identifier: Apache-2.0
// The part of fit that knows no types: epochs, callbacks, the bar, the history.
#pragma once
#include <cstdio>    // snprintf
#include <optional>  // optional

#include <locus/data/progress.hpp>      // progress_bar
#include <locus/nn/callback.hpp>        // callback, logs, history
#include <locus/runtime/log.hpp>        // warn
#include <locus/runtime/write_all.hpp>  // write_to_stderr

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

/// "loss: 0.1234 - accuracy: 0.9876"
inline std::string text_of(logs const& l) {
  std::string s;
  char number[32];
  for (std::size_t k = 0; k < l.names.size(); ++k) {
    double const v = l.values[k], size = v < 0 ? -v : v;
    std::snprintf(number, sizeof number,
                  size != 0 && (size < 1e-3 || size >= 1e5) ? "%.4e" : "%.4f", v);
    s += (k ? " - " : "") + l.names[k] + ": " + number;
  }
  return s;
}

/// means: one line on stderr, unless LOCUS_QUIET is set     epoch: none of a single batch
[[gnu::cold]] inline void tell_not_finite(int epoch = -1) {
  log_line line;
  line << "locus: the loss of ";
  if (epoch < 0)
    line << "a batch";
  else
    line << "epoch " << epoch + 1;
  line
      << " is no finite number, and weights may be none now; fit with .stop_on_nan = true stops in "
         "front of the first such step and says where it comes from";
  runtime::warn(line);
}

/// what fit was asked for, of all types of datasets
struct epoch_options {
  int epochs = 1, initial_epoch = 0;
  std::int64_t steps_per_epoch = -1;
  std::vector<callback*> callbacks;
  int verbose = 1;
};

/// means: what happens around the steps of a training
class epoch_loop {
 public:
  /// now: loss and metrics of the epoch so far     validate: adds those of the validation
  template <class Now>
  epoch_loop(training& t, epoch_options const& o, std::int64_t steps, Now const& now)
      : training_(t), o_(o), steps_(steps) {
    now_ = &now, read_ = [](void const* f, logs& l) { (*static_cast<Now const*>(f))(l); };
    if (o.initial_epoch < 0 || o.epochs < o.initial_epoch) {
      message text;
      throw configuration_error(text << "locus: fit goes from epoch " << o.initial_epoch
                                     << " to epoch " << o.epochs
                                     << "; .epochs counts from 0, as .initial_epoch does");
    }
    for (callback* c : o_.callbacks) wants_batches_ |= c->wants_batch_logs();
    for (callback* c : o_.callbacks) c->on_train_begin(training_);
  }

  void begin_epoch(int epoch) {
    epoch_ = epoch, step_ = 0;
    for (callback* c : o_.callbacks) c->on_epoch_begin(training_, epoch);
    if (o_.verbose == 1) {
      write_line(epoch, {});
      bar_.emplace(steps_ > 0 ? steps_ : 1);
    } else
      bar_.emplace(1);
  }
  void begin_step() {
    for (callback* c : o_.callbacks) c->on_batch_begin(training_, step_);
  }
  void end_step() {
    logs l;
    if (wants_batches_) read_(now_, l), look_at(l);
    for (callback* c : o_.callbacks) c->on_batch_end(training_, step_, l);
    ++step_;
    if (o_.verbose == 1 && redraws_ && bar_->seconds() - drawn_ > 0.2 && step_ < steps_) {
      drawn_ = bar_->seconds();
      if (!wants_batches_) read_(now_, l), look_at(l);
      bar_->show(step_, text_of(l));
    }
  }
  /// means: f(), which judges the model
  template <class F>
  auto test(F&& f) {
    for (callback* c : o_.callbacks) c->on_test_begin(training_);
    auto const end = [&] {
      for (callback* c : o_.callbacks) c->on_test_end(training_);
    };
    try {
      auto judged = f();
      end();
      return judged;
    } catch (...) {
      end();
      throw;
    }
  }
  /// means: says once that a loss is no finite number: those who want an error ask for .stop_on_nan
  void look_at(logs const& l) {
    if (told_ || l.values[0] - l.values[0] == 0) return;
    told_ = true;
    tell_not_finite(epoch_);
  }
  void end_epoch(logs l, history& h) {
    look_at(l);
    for (callback* c : o_.callbacks) c->on_epoch_end(training_, epoch_, l);
    if (o_.verbose == 1) {
      if (steps_ < 1 || step_ != steps_) *bar_ = data::progress_bar(step_);
      bar_->show(step_, text_of(l));
    } else if (o_.verbose == 2) {
      char time[32];
      std::snprintf(time, sizeof time, " - %.1f s - ", bar_->seconds());
      write_line(epoch_, time + text_of(l));
    }
    h.epoch.push_back(epoch_), h.epochs.push_back(std::move(l));
    drawn_ = 0, steps_ = step_;
  }
  void end(history& h) {
    h.stopped = training_.stopping();
    logs const last = h.epochs.empty() ? logs{} : h.epochs.back();
    for (callback* c : o_.callbacks) c->on_train_end(training_, last);
  }
  std::int64_t step() const { return step_; }

 private:
  void write_line(int epoch, std::string const& note) const {
    std::string const text =
        "Epoch " + std::to_string(epoch + 1) + "/" + std::to_string(o_.epochs) + note + "\n";
    runtime::write_to_stderr(text);
  }
  training& training_;
  epoch_options const& o_;
  std::int64_t steps_, step_ = 0;
  int epoch_ = 0;
  bool told_ = false;
  bool wants_batches_ = false, redraws_ = isatty(2) != 0;
  double drawn_ = 0;
  std::optional<data::progress_bar> bar_;
  void const* now_;
  void (*read_)(void const*, logs&);
};

}  // namespace locus::nn::detail

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/epochs.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/write_number.hpp>  // write_number
#include <locus/nn/train/epochs.hpp>    // the declarations
#include <locus/runtime/write_all.hpp>  // write_to_stderr
#include <locus/tensor/ranks.hpp>       // on_each

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION std::string text_of(logs const& l) {
  std::string s;
  char number[32];
  for (std::size_t k = 0; k < l.names.size(); ++k) {
    double const v = l.values[k], size = v < 0 ? -v : v;
    internal::write_number(number, sizeof number,
                           size != 0 && (size < 1e-3 || size >= 1e5) ? "%.4e" : "%.4f", v);
    s += (k ? " - " : "") + l.names[k] + ": " + number;
  }
  return s;
}

LOCUS_FUNCTION void tell_not_finite(int epoch) {
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

/// means: f(callback) for each
template <class F>
void call_each(epoch_options const& o, F const& f) {
  for (callback* c : o.callbacks)
    if (o.over_ranks)
      ranks::on_each([&] { f(*c); });
    else
      f(*c);
}

LOCUS_FUNCTION void epoch_loop::begin() {
  for (callback* c : o_.callbacks) wants_batches_ |= c->wants_batch_logs();
  call_each(o_, [&](callback& c) { c.on_train_begin(training_); });
}

LOCUS_FUNCTION void epoch_loop::begin_epoch(int epoch, std::int64_t step) {
  epoch_ = epoch, step_ = step;
  call_each(o_, [&](callback& c) { c.on_epoch_begin(training_, epoch); });
  if (verbose_ == 1) {
    write_line(epoch, {});
    bar_.emplace(steps_ > 0 ? steps_ : 1);
  } else
    bar_.emplace(1);
}

LOCUS_FUNCTION void epoch_loop::end_step() {
  logs l;
  if (wants_batches_) read_(now_, l), look_at(l);
  for (callback* c : o_.callbacks) c->on_batch_end(training_, step_, l);
  ++step_;
  if (verbose_ == 1 && redraws_ && bar_->seconds() - drawn_ > 0.2 && step_ < steps_) {
    drawn_ = bar_->seconds();
    if (!wants_batches_) read_(now_, l), look_at(l);
    bar_->show(step_, text_of(l));
  }
}

LOCUS_FUNCTION void epoch_loop::look_at(logs const& l) {
  if (told_ || l.values[0] - l.values[0] == 0) return;
  told_ = true;
  tell_not_finite(epoch_);
}

LOCUS_FUNCTION void epoch_loop::end_epoch(logs l, history& h) {
  look_at(l);
  call_each(o_, [&](callback& c) { c.on_epoch_end(training_, epoch_, l); });
  if (verbose_ == 1) {
    if (steps_ < 1 || step_ != steps_) *bar_ = data::progress_bar(step_);
    bar_->show(step_, text_of(l));
  } else if (verbose_ == 2) {
    char time[32];
    internal::write_number(time, sizeof time, " - %.1f s - ", bar_->seconds());
    write_line(epoch_, time + text_of(l));
  }
  h.epoch.push_back(epoch_), h.epochs.push_back(std::move(l));
  drawn_ = 0, steps_ = step_;
}

LOCUS_FUNCTION void epoch_loop::end(history& h) {
  h.stopped = training_.stopping();
  logs const last = h.epochs.empty() ? logs{} : h.epochs.back();
  call_each(o_, [&](callback& c) { c.on_train_ending(training_); });
  call_each(o_, [&](callback& c) { c.on_train_end(training_, last); });
  ended_ = true;
}

LOCUS_FUNCTION void epoch_loop::write_line(int epoch, std::string const& note) const {
  std::string const text =
      "Epoch " + std::to_string(epoch + 1) + "/" + std::to_string(o_.epochs) + note + "\n";
  runtime::write_to_stderr(text);
}

}  // namespace locus::nn::detail

LOCUS_COLD_END

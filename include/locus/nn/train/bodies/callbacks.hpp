// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/callbacks.hpp declares.
#pragma once
#include <locus/core/is_finite.hpp>      // is_finite, is_nan
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION
#include <locus/core/write_number.hpp>   // write_number
#include <locus/nn/train/callbacks.hpp>  // the declarations

namespace locus::nn {

LOCUS_FUNCTION void SwapEMAWeights::on_train_begin(training& t) {
  put(t, true), put(t, false);  // fails here, not later, if there are none
}

LOCUS_FUNCTION void SwapEMAWeights::on_train_ending(training& t) {
  put(t, false);
  t.take_averages();
}

LOCUS_FUNCTION void SwapEMAWeights::put(training& t, bool averages) {
  if (in_place_ == averages) return;
  t.swap_averages();
  in_place_ = averages;
}

}  // namespace locus::nn

namespace locus::nn::detail {

LOCUS_FUNCTION best_value::best_value(std::string monitor, better mode, double min_delta)
    : monitor_(std::move(monitor)), min_delta_(min_delta) {
  auto names_one_of = [&](std::initializer_list<std::string_view> words) {
    for (std::string_view const w : words)
      if (monitor_.find(w) != monitor_.npos) return true;
    return false;
  };
  larger_ = mode == better::larger;
  if (mode == better::automatic) {
    larger_ = names_one_of({"acc", "auc", "precision", "recall", "top"});
    if (!larger_ && !names_one_of({"loss", "error", "mse", "mae"})) {
      message m;
      throw configuration_error(m << "locus: whether a larger " << monitor_
                                  << " is better cannot be seen from its name; write mode = "
                                  << "better::larger or better::smaller");
    }
  }
  if (min_delta < 0) {
    message m;
    throw configuration_error(m << "locus: min_delta of a callback on " << monitor_
                                << " is negative; write how much better a value must be");
  }
}

LOCUS_FUNCTION bool best_value::improves(double v, std::optional<double> on) const {
  if (internal::is_nan(v)) return false;
  if (!on) return true;
  return larger_ ? v - min_delta_ > *on : v + min_delta_ < *on;
}

LOCUS_FUNCTION bool best_value::take(double v) {
  if (!improves(v, best_)) return false;
  best_ = v;
  return true;
}

LOCUS_FUNCTION void kept_weights::keep(training& t) {
  auto const all = t.weights();
  values_.resize(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    values_[k] = data::byte_block(static_cast<std::size_t>(all[k].bytes()));
    read_values(all[k], values_[k].data.get());
  }
}

LOCUS_FUNCTION void kept_weights::restore(training& t) const {
  auto const all = t.weights();
  for (std::size_t k = 0; k < values_.size(); ++k) write_values(all[k], values_[k].data.get());
}

}  // namespace locus::nn::detail

namespace locus::nn {

LOCUS_FUNCTION void EarlyStopping::on_train_begin(training&) {
  best_.forget(), kept_.forget();
  waited_ = 0, best_epoch_ = stopped_epoch_ = -1;
}

LOCUS_FUNCTION void EarlyStopping::on_epoch_end(training& t, int epoch, logs& l) {
  if (detail::comes_later(t, l, o_.monitor)) return;
  double const now = l[o_.monitor];
  if (epoch < o_.start_from_epoch) return;
  if (o_.restore_best && !kept_.has_any()) kept_.keep(t), best_epoch_ = epoch;
  ++waited_;
  if (best_.take(now)) {
    if (o_.restore_best && best_epoch_ != epoch) kept_.keep(t);
    best_epoch_ = epoch;
    if (!o_.baseline || best_.improves(now, o_.baseline)) waited_ = 0;
    return;
  }
  if (waited_ < o_.patience || epoch == 0) return;
  stopped_epoch_ = epoch;
  t.stop();
}

namespace detail {
/// means: letter(c) for each letter of a path, name(n) for each {n} in the path, in order
template <class Letter, class Name>
void read_path(std::string_view path, Letter const& letter, Name const& name) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    std::size_t const end = path[i] == '{' ? path.find('}', i) : path.npos;
    if (end == path.npos)
      letter(path[i]);
    else
      name(path.substr(i + 1, end - i - 1)), i = end;
  }
}
}  // namespace detail

LOCUS_FUNCTION ModelCheckpoint::ModelCheckpoint(options o)
    : o_(std::move(o)), best_(o_.monitor, o_.mode, 0), step_(o_.begin.step) {
  detail::read_path(
      o_.path, [](char) {},
      [&](std::string_view name) {
        if (name != "epoch" && name != "step") in_path_.emplace_back(name);
      });
  if (o_.every_steps <= 0 || (!o_.save_best_only && in_path_.empty())) return;
  message m;
  throw configuration_error(
      m << "locus: ModelCheckpoint saves every " << o_.every_steps << " steps, which log no "
        << std::string_view(o_.save_best_only ? o_.monitor : in_path_.front())
        << "; leave out every_steps, or give the steps a ModelCheckpoint of their own");
}

LOCUS_FUNCTION void ModelCheckpoint::on_batch_end(training& t, std::int64_t step, logs const& l) {
  ++step_;
  if (o_.every_steps <= 0 || step_ % o_.every_steps != 0) return;
  if (step + 1 == t.steps())
    save(t, l, epoch_ + 1, 0);
  else
    save(t, l, epoch_, step + 1);
}

LOCUS_FUNCTION void ModelCheckpoint::on_epoch_end(training& t, int epoch, logs& l) {
  if (o_.every_epochs <= 0 || (epoch + 1) % o_.every_epochs != 0) return;
  for (std::string const& name : in_path_)
    if (detail::comes_later(t, l, name)) return;
  if (o_.save_best_only && (detail::comes_later(t, l, o_.monitor) || !best_.take(l[o_.monitor])))
    return;
  save(t, l, epoch + 1, 0);
}

LOCUS_FUNCTION void ModelCheckpoint::save(training& t, logs const& l, int epochs_done,
                                          std::int64_t step_of_epoch) {
  last_path_ = path_of(l, epochs_done);
  position at{epochs_done, step_, step_of_epoch, static_cast<std::int64_t>(t.seed()),
              static_cast<std::int64_t>(t.data_seed())};
  if (o_.weights_only)
    save_checkpoint(last_path_, t.weights(), {}, {}, at);
  else
    save_checkpoint(last_path_, t, at);
  if (o_.keep <= 0) return;
  std::erase(written_, last_path_);
  written_.push_back(last_path_);
  while (written_.size() > static_cast<std::size_t>(o_.keep)) {
    if (t.writes_here()) ::unlink(written_.front().c_str());
    written_.erase(written_.begin());
  }
}

LOCUS_FUNCTION std::string ModelCheckpoint::path_of(logs const& l, int epochs_done) const {
  std::string out;
  detail::read_path(
      o_.path, [&](char c) { out += c; },
      [&](std::string_view name) {
        char text[40];
        if (name == "epoch" || name == "step")
          std::snprintf(text, sizeof text, "%04lld",
                        static_cast<long long>(name == "epoch" ? epochs_done : step_));
        else
          internal::write_number(text, sizeof text, "%.4f", l[name]);
        out += text;
      });
  return out;
}

LOCUS_FUNCTION void LearningRateScheduler::on_epoch_begin(training& t, int epoch) {
  double const rate = schedule_(epoch, t.learning_rate());
  if (!internal::is_finite(rate) || rate < 0) {
    message m;
    throw configuration_error(m << "locus: the schedule gives the learning rate "
                                << detail::text_of(rate) << " for epoch " << epoch
                                << "; give a finite number that is not negative");
  }
  t.set_learning_rate(rate);
}

LOCUS_FUNCTION ReduceLROnPlateau::ReduceLROnPlateau(options o)
    : o_(std::move(o)), best_(o_.monitor, o_.mode, o_.min_delta) {
  if (!internal::is_nan(o_.factor) && o_.factor > 0 && o_.factor < 1) return;
  message m;
  throw configuration_error(m << "locus: the factor of ReduceLROnPlateau is "
                              << detail::text_of(o_.factor) << "; give one between 0 and 1");
}

LOCUS_FUNCTION void ReduceLROnPlateau::on_train_begin(training&) {
  best_.forget();
  waited_ = cooling_ = 0;
}

LOCUS_FUNCTION void ReduceLROnPlateau::on_epoch_end(training& t, int, logs& l) {
  double const rate = t.learning_rate();
  l.set("learning_rate", rate);
  if (detail::comes_later(t, l, o_.monitor)) return;
  double const now = l[o_.monitor];
  if (cooling_ > 0) --cooling_, waited_ = 0;
  if (best_.take(now)) {
    waited_ = 0;
  } else if (cooling_ == 0 && ++waited_ >= o_.patience && rate > o_.min_rate) {
    double const less = rate * o_.factor;
    t.set_learning_rate(less > o_.min_rate ? less : o_.min_rate);
    cooling_ = o_.cooldown, waited_ = 0;
  }
}

}  // namespace locus::nn

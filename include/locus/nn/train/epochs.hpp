// SPDX-License-Identifier: Apache-2.0
// The part of fit without types: epochs, callbacks, the progress bar, the history.
#pragma once
#include <optional>  // optional

#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/data/progress.hpp>      // progress_bar
#include <locus/nn/train/callback.hpp>  // callback, logs, history
#include <locus/watch/log.hpp>          // write_line

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

/// means: "loss: 0.1234 - accuracy: 0.9876"
LOCUS_FUNCTION std::string text_of(logs const& l);

/// means: a warning on stderr, unless LOCUS_QUIET is set     epoch: -1 for a single batch
[[gnu::cold]] LOCUS_FUNCTION void tell_not_finite(int epoch = -1);

/// the options of fit, for all types of datasets
struct epoch_options {
  int epochs = 1, initial_epoch = 0;
  std::int64_t steps_per_epoch = -1;
  std::vector<callback*> callbacks;
  int verbose = 1;
  bool over_ranks = false;  // of several ranks: where a callback throws on one, it ends on all
};

/// means: the work around the steps of a training
class epoch_loop {
 public:
  /// now(logs&) sets loss and metrics of the epoch so far
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
    begin();
  }
  epoch_loop(epoch_loop const&) = delete;
  ~epoch_loop() {
    if (ended_) return;
    for (callback* c : o_.callbacks) c->on_train_failed(training_);
  }

  /// step: the first of this epoch, where a fit goes on inside of it
  void begin_epoch(int epoch, std::int64_t step = 0);
  void begin_step() {
    for (callback* c : o_.callbacks) c->on_batch_begin(training_, step_);
  }
  void end_step();
  /// means: f(), the validation, between on_test_begin and on_test_end
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
  /// means: warns once if the loss is not finite; .stop_on_nan throws instead
  void look_at(logs const& l);
  void end_epoch(logs l, history& h);
  void end(history& h);
  std::int64_t step() const { return step_; }

 private:
  void begin();
  void write_line(int epoch, std::string const& note) const;
  training& training_;
  epoch_options const& o_;
  std::int64_t steps_, step_ = 0;
  int epoch_ = 0;
  bool told_ = false, ended_ = false;
  bool wants_batches_ = false, redraws_ = isatty(2) != 0;
  int verbose_ = training_.writes_here() ? o_.verbose : 0;
  double drawn_ = 0;
  std::optional<data::progress_bar> bar_;
  void const* now_;
  void (*read_)(void const*, logs&);
};

}  // namespace locus::nn::detail

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/epochs.hpp>  // bodies of the functions above
#endif

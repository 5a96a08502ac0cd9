// SPDX-License-Identifier: Apache-2.0
// Callbacks: stop early, keep checkpoints and logs, change the learning rate.
#pragma once
#include <functional>  // function
#include <optional>    // optional

#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/callback.hpp>    // callback, training
#include <locus/nn/train/checkpoint.hpp>  // position
#include <locus/nn/train/log_files.hpp>   // csv_log, json_log

namespace locus::nn {

/// means: validation uses the moving averages of the weights, and the training ends with them as
///        weights. swap_on_epoch: the averages are also in place while an epoch ends, for a later
///        ModelCheckpoint in the list. A training that an exception ends leaves the weights
/// fails: configuration_error, if the optimizer is not an nn::MovingAverage
/// after: keras.callbacks.SwapEMAWeights, and the end of its fit
class SwapEMAWeights : public callback {
 public:
  explicit SwapEMAWeights(bool swap_on_epoch = false) : on_epoch_(swap_on_epoch) {}
  void on_train_begin(training& t) override;
  void on_test_begin(training& t) override { put(t, true); }
  void on_test_end(training& t) override { put(t, false); }
  void on_epoch_begin(training& t, int) override { put(t, false); }
  void on_epoch_end(training& t, int, logs&) override {
    if (on_epoch_) put(t, true);
  }
  void on_train_ending(training& t) override;
  void on_train_failed(training& t) noexcept override { put(t, false); }

 private:
  void put(training& t, bool averages);
  bool on_epoch_, in_place_ = false;
};

/// Whether smaller or larger values are better. automatic: by the name; other names are refused.
enum class better : unsigned char { automatic, smaller, larger };

namespace detail {
/// The best value so far.
class best_value {
 public:
  best_value(std::string monitor, better mode, double min_delta);
  std::string const& monitor() const { return monitor_; }
  bool has_value() const { return best_.has_value(); }
  double value() const { return *best_; }
  void forget() { best_.reset(); }
  /// means: v is better than `on` by more than min_delta; without `on`, any number is; NaN never is
  bool improves(double v, std::optional<double> on) const;
  bool take(double v);

 private:
  std::string monitor_;
  double min_delta_;
  bool larger_ = false;
  std::optional<double> best_;
};

/// means: l lacks the value only because this epoch has no validation
inline bool comes_later(training const& t, logs const& l, std::string_view name) {
  return t.skips_validation() && name.starts_with("val_") && !l.has(name);
}

/// A copy of the weights on the host.
class kept_weights {
 public:
  void keep(training& t);
  void restore(training& t) const;
  bool has_any() const { return !values_.empty(); }
  void forget() { values_.clear(); }

 private:
  std::vector<data::byte_block> values_;
};
}  // namespace detail

/// means: ends the training if a value has not improved for `patience` epochs; epochs that
///        .validation_freq leaves without the value do not count
/// cost:  with restore_best, a copy of the weights to the host after each better epoch
/// fails: configuration_error, if the value is not logged
/// after: keras.callbacks.EarlyStopping, with its way of counting
class EarlyStopping : public callback {
 public:
  struct options {
    std::string monitor = "val_loss";
    double min_delta = 0;
    int patience = 0;  // epochs
    better mode = better::automatic;
    std::optional<double> baseline = {};  // waiting also counts until this value is beaten
    bool restore_best = false;
    int start_from_epoch = 0;
  };
  EarlyStopping() : EarlyStopping(options{}) {}
  explicit EarlyStopping(options o) : o_(std::move(o)), best_(o_.monitor, o_.mode, o_.min_delta) {}

  void on_train_begin(training&) override;
  void on_epoch_end(training& t, int epoch, logs& l) override;
  void on_train_end(training& t, logs const&) override {
    if (kept_.has_any()) kept_.restore(t);
  }
  int best_epoch() const { return best_epoch_; }        // -1: none yet
  int stopped_epoch() const { return stopped_epoch_; }  // -1: this callback did not stop it

 private:
  options o_;
  detail::best_value best_;
  detail::kept_weights kept_;
  int waited_ = 0, best_epoch_ = -1, stopped_epoch_ = -1;
};

/// means: writes a checkpoint after each epoch, after each better epoch, or every so many steps; none
///        after an epoch that .validation_freq leaves without a value that it needs
/// cost:  training waits until the whole file is written
/// fails: bad_file; configuration_error, if the path or `monitor` names a value that is not logged, or
///        one is needed for steps, which log none
/// after: keras.callbacks.ModelCheckpoint. In the path, {epoch} is the number of finished epochs,
///        {step} the number of steps, {val_loss} a logged value
class ModelCheckpoint : public callback {
 public:
  struct options {
    std::string path;
    bool save_best_only = false;
    std::string monitor = "val_loss";
    better mode = better::automatic;
    bool weights_only = false;
    int every_epochs = 1;          // 0: never after an epoch
    std::int64_t every_steps = 0;  // 0: only after epochs
    int keep = 0;                  // keeps the newest files; 0: all
    position begin = {};           // the start of this training: the result of load_checkpoint
  };
  explicit ModelCheckpoint(options o);
  explicit ModelCheckpoint(char const* path) : ModelCheckpoint(options{.path = path}) {}

  void on_epoch_begin(training&, int epoch) override { epoch_ = epoch; }
  void on_batch_end(training& t, std::int64_t step, logs const& l) override;
  void on_epoch_end(training& t, int epoch, logs& l) override;
  std::string const& last_path() const { return last_path_; }

 private:
  void save(training& t, logs const& l, int epochs_done, std::int64_t step_of_epoch);
  std::string path_of(logs const& l, int epochs_done) const;
  options o_;
  detail::best_value best_;
  std::vector<std::string> in_path_;  // names of logged values
  std::int64_t step_;
  int epoch_ = 0;
  std::string last_path_;
  std::vector<std::string> written_;
};

/// means: writes each epoch as a row of a CSV file; over ranks, rank 0 does     after: keras.callbacks.CSVLogger
class CSVLogger : public callback {
 public:
  explicit CSVLogger(std::string path, bool append = false)
      : path_(std::move(path)), append_(append) {}
  void on_train_begin(training& t) override {
    if (t.writes_here()) file_.emplace(path_, append_), append_ = true;
  }
  void on_epoch_end(training&, int epoch, logs& l) override {
    if (file_) file_->add(epoch, l);
  }

 private:
  std::string path_;
  bool append_;
  std::optional<csv_log> file_;
};

/// means: writes each epoch as a line of JSON; over ranks, rank 0 does
class JSONLogger : public callback {
 public:
  explicit JSONLogger(std::string path, bool append = false)
      : path_(std::move(path)), append_(append) {}
  void on_train_begin(training& t) override {
    if (t.writes_here()) file_.emplace(path_, append_), append_ = true;
  }
  void on_epoch_end(training&, int epoch, logs& l) override {
    if (file_) file_->add(epoch, l);
  }

 private:
  std::string path_;
  bool append_;
  std::optional<json_log> file_;
};

/// means: the learning rate of each epoch is schedule(epoch, former rate); it is logged
/// after: keras.callbacks.LearningRateScheduler
class LearningRateScheduler : public callback {
 public:
  explicit LearningRateScheduler(std::function<double(int, double)> schedule)
      : schedule_(std::move(schedule)) {}
  void on_epoch_begin(training& t, int epoch) override;
  void on_epoch_end(training& t, int, logs& l) override {
    l.set("learning_rate", t.learning_rate());
  }

 private:
  std::function<double(int, double)> schedule_;
};

/// means: multiplies the learning rate by `factor` if a value has not improved for `patience`
///        epochs; the rate is logged. Epochs that .validation_freq leaves without the value do not
///        count
/// after: keras.callbacks.ReduceLROnPlateau
class ReduceLROnPlateau : public callback {
 public:
  struct options {
    std::string monitor = "val_loss";
    double factor = 0.1;
    int patience = 10;  // epochs
    better mode = better::automatic;
    double min_delta = 1e-4;
    int cooldown = 0;  // epochs after a change that do not count
    double min_rate = 0;
  };
  ReduceLROnPlateau() : ReduceLROnPlateau(options{}) {}
  explicit ReduceLROnPlateau(options o);
  void on_train_begin(training&) override;
  void on_epoch_end(training& t, int, logs& l) override;

 private:
  options o_;
  detail::best_value best_;
  int waited_ = 0, cooling_ = 0;
};

/// means: ends the training after an epoch whose loss is NaN or infinite; each_step: after such a
///        step
/// after: keras.callbacks.TerminateOnNaN; by default only at the end of epochs, since a test in
///        each step waits for the devices
class TerminateOnNaN : public callback {
 public:
  explicit TerminateOnNaN(bool each_step = false) : each_step_(each_step) {}
  bool wants_batch_logs() const override { return each_step_; }
  void on_batch_end(training& t, std::int64_t, logs const& l) override { look(t, l); }
  void on_epoch_end(training& t, int, logs& l) override { look(t, l); }

 private:
  static void look(training& t, logs const& l) {
    if (l.has("loss") && l["loss"] - l["loss"] != 0) t.stop();
  }
  bool each_step_;
};

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/callbacks.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// The interface between a training and its callbacks: logs, history, callbacks.
#pragma once
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

#include <locus/core/macros.hpp>                 // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/layers/checkpoint_entry.hpp>  // stored, counter

LOCUS_COLD_BEGIN

namespace locus::nn {

/// means: loss and metrics by name, in the order of printing
/// after: Keras' logs: "loss", metrics, "val_loss", "val_" and metrics
struct logs {
  std::vector<std::string> names;
  std::vector<double> values;

  void set(std::string_view name, double value);
  bool has(std::string_view name) const;
  /// fails: configuration_error, if there is no such name; the text lists all names
  double operator[](std::string_view name) const;
};

/// means: the logs of each epoch
struct history {
  std::vector<int> epoch;    // epoch numbers, from 0
  std::vector<logs> epochs;  // with "val_" names in epochs with validation
  bool stopped = false;      // a callback stopped the training

  /// means: one value over the epochs: h["val_loss"]; epochs without it are skipped
  /// fails: configuration_error, if no epoch has it
  std::vector<double> operator[](std::string_view name) const;
};

/// means: a running training, as callbacks see it
class training {
 public:
  virtual ~training() = default;
  virtual std::string_view model_name() const = 0;
  virtual int replicas() const = 0;
  /// means: this process writes lines and files of the training: rank 0 of a training over ranks;
  ///        where every process trains alone, each
  virtual bool writes_here() const { return true; }
  virtual double learning_rate() const = 0;
  /// means: sets the learning rate from the next step on
  virtual void set_learning_rate(double) = 0;
  /// means: all weights, trainable or not, in the order of the layers
  virtual std::vector<stored> weights() = 0;
  /// means: the slots of the optimizer, and its counters
  virtual std::vector<stored> optimizer_state() = 0;
  virtual std::vector<counter> counters() = 0;
  /// means: the learning rate, if it is a number and no schedule
  virtual std::vector<setting> settings() { return {}; }
  /// means: the seeds of random numbers of layers and of the order of examples; a checkpoint keeps
  ///        both
  virtual std::uint64_t seed() const { return 0; }
  virtual std::uint64_t data_seed() const { return 0; }
  /// means: weights = their moving averages in the optimizer
  /// fails: configuration_error, if the optimizer has none
  virtual void take_averages() { refuse_averages(); }
  /// means: swaps weights and their moving averages; a second call undoes the first
  virtual void swap_averages() { refuse_averages(); }

  /// means: ends the training after this step, and with it the epoch
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  int epochs() const { return epochs_; }         // the epochs of this fit
  std::int64_t steps() const { return steps_; }  // of an epoch; -1: none has ended yet
  /// means: this epoch has no validation, by .validation_freq; another epoch of this fit has one
  bool skips_validation() const { return skips_validation_; }

 protected:
  bool stopping_ = false, skips_validation_ = false;
  int epochs_ = 0;
  std::int64_t steps_ = -1;
  [[noreturn, gnu::cold]] static void refuse_averages();
};

/// means: functions that are called during a training; a callback overrides those that it needs
/// after: keras.callbacks.Callback; epochs and steps count from 0
class callback {
 public:
  virtual ~callback() = default;
  virtual void on_train_begin(training&) {}
  /// behind the last epoch, and in front of on_train_end of all callbacks: may set averages as weights
  virtual void on_train_ending(training&) {}
  virtual void on_train_end(training&, logs const&) {}
  /// in place of on_train_end, where an exception ends the training
  virtual void on_train_failed(training&) noexcept {}
  virtual void on_epoch_begin(training&, int /*epoch*/) {}
  /// may add values to the logs ("learning_rate"), which then are in the history
  virtual void on_epoch_end(training&, int /*epoch*/, logs&) {}
  /// before and after the validation of an epoch
  virtual void on_test_begin(training&) {}
  virtual void on_test_end(training&) {}
  virtual void on_batch_begin(training&, std::int64_t /*step*/) {}
  /// logs: of the epoch so far, if wants_batch_logs() is true; otherwise empty
  virtual void on_batch_end(training&, std::int64_t /*step*/, logs const&) {}
  /// cost: if true, the host waits for the devices in each step
  virtual bool wants_batch_logs() const { return false; }
};

}  // namespace locus::nn

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/callback.hpp>  // bodies of the functions above
#endif

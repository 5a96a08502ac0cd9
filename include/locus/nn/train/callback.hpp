// SPDX-License-Identifier: Apache-2.0
// What a training tells while it runs, and what it can be told: logs, history, callbacks.
#pragma once
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/checkpoint_entry.hpp>  // stored, counter

LOCUS_COLD_BEGIN

namespace locus::nn {

/// means: loss and metrics by name, in the order in which they are printed
/// after: Keras' logs: "loss", metrics, "val_loss", "val_" and metrics
struct logs {
  std::vector<std::string> names;
  std::vector<double> values;

  void set(std::string_view name, double value);
  bool has(std::string_view name) const;
  /// fails: configuration_error, when nothing has that name; the text lists what there is
  double operator[](std::string_view name) const;
};

/// means: what each epoch ended with
struct history {
  std::vector<int> epoch;    // their numbers, from 0
  std::vector<logs> epochs;  // what each ended with; validation stands in those that had one
  bool stopped = false;      // by a callback

  /// means: one value over the epochs: h["val_loss"]; epochs that did not log it are left out
  /// fails: configuration_error, when no epoch has it
  std::vector<double> operator[](std::string_view name) const;
};

/// means: a training under way as callbacks see it
class training {
 public:
  virtual ~training() = default;
  virtual std::string_view model_name() const = 0;
  virtual int replicas() const = 0;
  virtual double learning_rate() const = 0;
  /// means: from the next step on
  virtual void set_learning_rate(double) = 0;
  /// means: every weight, in the order of the layers; trainable ones and those that are not
  virtual std::vector<stored> weights() = 0;
  /// means: what the optimizer keeps of each, and the numbers that belong to it
  virtual std::vector<stored> optimizer_state() = 0;
  virtual std::vector<counter> counters() = 0;
  /// means: seeds of the layers' random numbers and of the order of the examples: what a checkpoint
  ///        keeps beside them
  virtual std::uint64_t seed() const { return 0; }
  virtual std::uint64_t data_seed() const { return 0; }
  /// means: weights = the moving averages that the optimizer keeps of them
  /// fails: configuration_error, where it keeps none
  virtual void take_averages() { refuse_averages(); }
  /// means: the same, and the averages become what the weights were: done twice nothing has changed
  virtual void swap_averages() { refuse_averages(); }

  /// means: the epoch ends after this step and is the last one
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  int epochs() const { return epochs_; }         // that were asked for
  std::int64_t steps() const { return steps_; }  // of one epoch; -1: unknown until one has ended

 protected:
  bool stopping_ = false;
  int epochs_ = 0;
  std::int64_t steps_ = -1;
  [[noreturn, gnu::cold]] static void refuse_averages();
};

/// means: what happens while a model is trained; a callback overrides what it wants to hear
/// after: keras.callbacks.Callback; numbers of epochs and steps begin at 0
class callback {
 public:
  virtual ~callback() = default;
  virtual void on_train_begin(training&) {}
  virtual void on_train_end(training&, logs const&) {}
  virtual void on_epoch_begin(training&, int /*epoch*/) {}
  /// may add to the logs ("learning_rate"), which go into the history
  virtual void on_epoch_end(training&, int /*epoch*/, logs&) {}
  /// around the validation of an epoch
  virtual void on_test_begin(training&) {}
  virtual void on_test_end(training&) {}
  virtual void on_batch_begin(training&, std::int64_t /*step*/) {}
  /// the logs are those of the epoch so far where wants_batch_logs() says so, else empty
  virtual void on_batch_end(training&, std::int64_t /*step*/, logs const&) {}
  /// cost: a wait for the devices in every step
  virtual bool wants_batch_logs() const { return false; }
};

}  // namespace locus::nn

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/callback.hpp>  // bodies of the functions above
#endif

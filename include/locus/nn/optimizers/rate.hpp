// SPDX-License-Identifier: Apache-2.0
// Learning rates: a number, one of Keras' schedules, or any function of the step.
#pragma once
#include <concepts>     // invocable
#include <cstdint>      // int64_t
#include <functional>   // function
#include <optional>     // optional
#include <string_view>  // string_view
#include <vector>       // vector

#include <locus/core/macros.hpp>        // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/write_number.hpp>  // write_number

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {
/// a number as text, for errors
struct number_text {
  char text[32];
  explicit number_text(double v) { internal::write_number(text, sizeof text, "%g", v); }
  operator std::string_view() const { return text; }
};
}  // namespace detail

/// means: the learning rate of each step; steps count from 0, as Keras' iterations
class rate {
 public:
  rate(double value = 0.001) : value_(value) {}
  template <class Schedule>
    requires(std::invocable<Schedule const&, std::int64_t> && !std::same_as<Schedule, rate>)
  rate(Schedule schedule)
      : schedule_([schedule](std::int64_t step) { return static_cast<double>(schedule(step)); }) {}

  /// fails: configuration_error, if the rate is negative or not finite
  double at(std::int64_t step) const;
  bool is_scheduled() const { return static_cast<bool>(schedule_); }
  /// the rate of all steps; null for a schedule
  double* number() { return is_scheduled() ? nullptr : &value_; }

 private:
  double value_;
  std::function<double(std::int64_t)> schedule_;
};

namespace detail {
LOCUS_FUNCTION double part_of(std::int64_t step, double steps);
[[noreturn]] LOCUS_FUNCTION void refuse_schedule(char const* name, char const* what);
}  // namespace detail

/// means: initial_learning_rate * decay_rate^(step / decay_steps); staircase: the quotient is
///        rounded down
struct ExponentialDecay {
  double initial_learning_rate = 0.001, decay_steps = 1000, decay_rate = 0.96;
  bool staircase = false;
  double operator()(std::int64_t step) const;
};

/// means: initial_learning_rate / (1 + decay_rate * step / decay_steps); staircase: the quotient is
///        rounded down
struct InverseTimeDecay {
  double initial_learning_rate = 0.001, decay_steps = 1000, decay_rate = 0.5;
  bool staircase = false;
  double operator()(std::int64_t step) const;
};

/// means: end + (initial - end) * (1 - step / decay_steps)^power
struct PolynomialDecay {
  double initial_learning_rate = 0.001, decay_steps = 1000, end_learning_rate = 0.0001, power = 1;
  double operator()(std::int64_t step) const;
};

/// means: half a cosine from initial_learning_rate down to alpha times it. With warmup_target: in the first
///        warmup_steps a straight line from initial_learning_rate to it, then the cosine from there
struct CosineDecay {
  double initial_learning_rate = 0.001, decay_steps = 1000, alpha = 0;
  std::optional<double> warmup_target = {};
  std::int64_t warmup_steps = 0;  // without warmup_target they count for nothing, as in Keras
  double operator()(std::int64_t step) const;
};

/// means: values[k] for steps up to boundaries[k]; the last value after the last boundary
struct PiecewiseConstantDecay {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  double operator()(std::int64_t step) const;
};

/// means: a linear rise to then(0) over the first `steps` steps, the first rate above 0; afterwards
///        then(step - steps)
struct LinearWarmup {
  std::int64_t steps = 0;
  rate then = 0.001;
  double operator()(std::int64_t step) const {
    return step < steps ? then.at(0) * double(step + 1) / double(steps + 1) : then.at(step - steps);
  }
};

}  // namespace locus::nn

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/optimizers/bodies/rate.hpp>  // bodies of the functions above
#endif

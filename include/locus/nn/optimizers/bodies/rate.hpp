// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/optimizers/rate.hpp declares.
#pragma once
#include <locus/core/error.hpp>          // configuration_error
#include <locus/core/is_finite.hpp>      // is_nan
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/optimizers/rate.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn {

LOCUS_FUNCTION double rate::at(std::int64_t step) const {
  double const r = schedule_ ? schedule_(step) : value_;
  if (!locus::internal::is_nan(r) && r >= 0 && r <= 1e300) return r;
  message text;
  text << "locus: the learning rate";
  if (schedule_) text << " of step " << step;
  throw configuration_error(text << " is " << detail::number_text(r)
                                 << "; it must be a finite number, 0 or above");
}

}  // namespace locus::nn

namespace locus::nn::detail {

LOCUS_FUNCTION double part_of(std::int64_t step, double steps) {
  double const part = double(step) / steps;
  return part < 0 ? 0 : part > 1 ? 1 : part;
}

LOCUS_FUNCTION void refuse_schedule(char const* name, char const* what) {
  message text;
  throw configuration_error(text << "locus: " << std::string_view(name) << " needs "
                                 << std::string_view(what));
}

}  // namespace locus::nn::detail

namespace locus::nn {

LOCUS_FUNCTION double ExponentialDecay::operator()(std::int64_t step) const {
  if (locus::internal::is_nan(decay_steps) || decay_steps <= 0)
    detail::refuse_schedule("ExponentialDecay", "decay_steps above 0");
  double const p = double(step) / decay_steps;
  return initial_learning_rate * __builtin_pow(decay_rate, staircase ? __builtin_floor(p) : p);
}

LOCUS_FUNCTION double InverseTimeDecay::operator()(std::int64_t step) const {
  if (locus::internal::is_nan(decay_steps) || decay_steps <= 0)
    detail::refuse_schedule("InverseTimeDecay", "decay_steps above 0");
  double const p = double(step) / decay_steps;
  return initial_learning_rate / (1 + decay_rate * (staircase ? __builtin_floor(p) : p));
}

LOCUS_FUNCTION double PolynomialDecay::operator()(std::int64_t step) const {
  if (locus::internal::is_nan(decay_steps) || decay_steps <= 0)
    detail::refuse_schedule("PolynomialDecay", "decay_steps above 0");
  return (initial_learning_rate - end_learning_rate) *
             __builtin_pow(1 - detail::part_of(step, decay_steps), power) +
         end_learning_rate;
}

LOCUS_FUNCTION double CosineDecay::operator()(std::int64_t step) const {
  if (locus::internal::is_nan(decay_steps) || decay_steps <= 0)
    detail::refuse_schedule("CosineDecay", "decay_steps above 0");
  double const top = warmup_target.value_or(initial_learning_rate);
  std::int64_t const rises = warmup_target ? warmup_steps : 0;
  if (step < rises)
    return initial_learning_rate + (top - initial_learning_rate) * (double(step) / double(rises));
  double const part = detail::part_of(step - rises, decay_steps);
  double const cosine = 0.5 * (1 + __builtin_cos(3.14159265358979323846 * part));
  return top * ((1 - alpha) * cosine + alpha);
}

LOCUS_FUNCTION double PiecewiseConstantDecay::operator()(std::int64_t step) const {
  if (values.size() != boundaries.size() + 1)
    detail::refuse_schedule("PiecewiseConstantDecay", "one value more than boundaries");
  std::size_t k = 0;
  while (k < boundaries.size() && step > boundaries[k]) ++k;
  return values[k];
}

}  // namespace locus::nn

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// The optimizers, with Keras' names, formulas and defaults.
#pragma once
#include <string_view>  // string_view

#include <locus/nn/optimizers/rate.hpp>  // rate
#include <locus/nn/optimizers/rule.hpp>  // sgd_rule, ...

namespace locus::nn {

// An optimizer is an aggregate of its options and has
//   name, slot_names     as in Keras
//   require()            throws configuration_error for invalid options
//   with_rule<T>(s, f)   f(rule) for the step s
// Options of every optimizer: learning_rate; weight_decay, decoupled: before a step, weight_decay *
// learning_rate * weight is subtracted from the weight (0: none; nn/optimizers/weight_decay.hpp leaves
// weights out); clipvalue, a bound for each element of the gradient (0: none).

/// The numbers of a step in the formulas of optimizers.
struct step_state {
  std::int64_t step = 1;  // from 1
  double rate = 0;
  double product = 1;  // of momenta up to this step (Nadam)
};

namespace detail {
LOCUS_COLD_BEGIN
/// fails: configuration_error, if an option of an optimizer is outside [low, high), or NaN
inline void require_number(char const* optimizer, char const* name, double value, double low,
                           double high) {
  if (value >= low && value < high) return;
  message text;
  text << "locus: " << std::string_view(name) << " of " << std::string_view(optimizer) << " is "
       << number_text(value) << "; it must be at least " << number_text(low);
  if (high < 1e300) text << " and below " << number_text(high);
  throw configuration_error(text);
}
template <class Optimizer>
void require_common(Optimizer const& o) {
  static_cast<void>(o.learning_rate.at(0));
  require_number(o.name, "weight_decay", o.weight_decay, 0, 1e300);
  require_number(o.name, "clipvalue", o.clipvalue, 0, 1e300);
}
LOCUS_COLD_END
}  // namespace detail

/// means: w -= lr g; with momentum: m = momentum m - lr g, w += m (nesterov: w += momentum m - lr
///        g)
struct SGD {
  rate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0, clipvalue = 0;

  static constexpr char const* name = "SGD";
  static constexpr char const* slot_names[] = {"momentum"};
  void require() const {
    detail::require_common(*this);
    detail::require_number(name, "momentum", momentum, 0, 1);
  }
  template <class T, class F>
  void with_rule(step_state const& s, F&& f) const {
    T const lr = T(s.rate), mu = T(momentum);
    if (momentum == 0)
      f(sgd_rule<T>{lr});
    else
      f(momentum_rule<T>{lr, mu, nesterov ? mu : T(1), nesterov ? lr : T(0)});
  }
};

namespace detail {
/// the rule of Adam, which Adam and AdamW share
template <class T, class Optimizer>
adam_rule<T> adam_of(Optimizer const& o, step_state const& s) {
  double const t = double(s.step);
  double const alpha =
      s.rate * __builtin_sqrt(1 - __builtin_pow(o.beta_2, t)) / (1 - __builtin_pow(o.beta_1, t));
  return {T(1 - o.beta_1), T(1 - o.beta_2), T(alpha), T(0), T(1), T(o.epsilon)};
}
template <class Optimizer>
void require_adam(Optimizer const& o) {
  require_common(o);
  require_number(o.name, "beta_1", o.beta_1, 0, 1);
  require_number(o.name, "beta_2", o.beta_2, 0, 1);
  require_number(o.name, "epsilon", o.epsilon, 0, 1e300);
}
}  // namespace detail

/// means: m += (1 - beta_1) (g - m); v += (1 - beta_2) (g g - v); w -= a m / (sqrt(v) + epsilon),
///        with a = lr sqrt(1 - beta_2^t) / (1 - beta_1^t)
/// after: Kingma and Ba, ICLR 2015; epsilon as in the text before their section 2.1, as in Keras
struct Adam {
  rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double weight_decay = 0, clipvalue = 0;

  static constexpr char const* name = "Adam";
  static constexpr char const* slot_names[] = {"momentum", "velocity"};
  void require() const { detail::require_adam(*this); }
  template <class T, class F>
  void with_rule(step_state const& s, F&& f) const {
    f(detail::adam_of<T>(*this, s));
  }
};

/// means: Adam with decoupled weight decay
/// after: Loshchilov and Hutter, ICLR 2019
struct AdamW {
  rate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double clipvalue = 0;

  static constexpr char const* name = "AdamW";
  static constexpr char const* slot_names[] = {"momentum", "velocity"};
  void require() const { detail::require_adam(*this); }
  template <class T, class F>
  void with_rule(step_state const& s, F&& f) const {
    f(detail::adam_of<T>(*this, s));
  }
};

/// means: Adam with Nesterov's momentum: u_t = beta_1 (1 - 0.96^(schedule_decay t) / 2), U_t = u_1 ...
///        u_t, w -= lr (u_{t+1} m / (1 - U_{t+1}) + (1 - u_t) g / (1 - U_t)) / (sqrt(v / (1 - beta_2^t)) +
///        epsilon)
/// after: Dozat, ICLR workshop 2016, whose schedule_decay is 0.004; Keras 3 has 1
struct Nadam {
  rate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, schedule_decay = 0.004;
  double weight_decay = 0, clipvalue = 0;

  static constexpr char const* name = "Nadam";
  static constexpr char const* slot_names[] = {"momentum", "velocity"};
  void require() const {
    detail::require_adam(*this);
    detail::require_number(name, "schedule_decay", schedule_decay, 0, 1e300);
  }
  double momentum_of(std::int64_t t) const {
    return beta_1 * (1 - 0.5 * __builtin_pow(0.96, schedule_decay * double(t)));
  }
  template <class T, class F>
  void with_rule(step_state const& s, F&& f) const {
    double const now = momentum_of(s.step), next = momentum_of(s.step + 1);
    f(adam_rule<T>{T(1 - beta_1), T(1 - beta_2), T(s.rate * next / (1 - s.product * next)),
                   T(s.rate * (1 - now) / (1 - s.product)),
                   T(1 / (1 - __builtin_pow(beta_2, double(s.step)))), T(epsilon)});
  }
};

/// means: v = rho v + (1 - rho) g g; w -= lr g / sqrt(v + epsilon). centered: v minus the square of
///        the mean gradient; momentum: m = momentum m + lr g / sqrt(...), w -= m
struct RMSprop {
  rate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  double weight_decay = 0, clipvalue = 0;

  static constexpr char const* name = "RMSprop";
  static constexpr char const* slot_names[] = {"velocity", "momentum", "average_gradient"};
  void require() const {
    detail::require_common(*this);
    detail::require_number(name, "rho", rho, 0, 1);
    detail::require_number(name, "momentum", momentum, 0, 1);
    detail::require_number(name, "epsilon", epsilon, 0, 1e300);
  }
  template <class T, class F>
  void with_rule(step_state const& s, F&& f) const {
    T const lr = T(s.rate), r = T(rho), e = T(epsilon);
    if (momentum == 0 && !centered)
      f(rmsprop_rule<T>{lr, r, e});
    else
      f(rmsprop_momentum_rule<T>{lr, r, e, T(momentum), T(centered ? 1 : 0)});
  }
};

// Wrappers of an optimizer, as types: a program without clipping compiles no code for it.
//     nn::ClipGlobalNorm{1.0, nn::Adam{}}      nn::MovingAverage{nn::SGD{}, 0.999}

enum class norm_of : unsigned char { none, parameter, model };

/// means: scales the gradient of each parameter to norm `norm` if its norm is larger
/// after: Keras' clipnorm, of the gradient of the global batch
template <class Optimizer>
struct ClipNorm {
  double norm = 1;
  Optimizer of{};
  static constexpr norm_of clips = norm_of::parameter;
};
template <class Optimizer>
ClipNorm(double, Optimizer) -> ClipNorm<Optimizer>;

/// means: scales the gradients of all parameters so that their common norm is at most `norm`
/// after: Keras' global_clipnorm. TensorFlow clips on each replica before it adds the gradients;
///        locus clips the gradient of the global batch, which is the same for any number of
///        replicas
template <class Optimizer>
struct ClipGlobalNorm {
  double norm = 1;
  Optimizer of{};
  static constexpr norm_of clips = norm_of::model;
};
template <class Optimizer>
ClipGlobalNorm(double, Optimizer) -> ClipGlobalNorm<Optimizer>;

/// means: the optimizer, with a moving average a = momentum a + (1 - momentum) w of each weight
/// after: Keras' use_ema; the average starts as the weight after the first step
template <class Optimizer>
struct MovingAverage {
  Optimizer of{};
  double momentum = 0.99;
  static constexpr bool averages = true;
};
template <class Optimizer>
MovingAverage(Optimizer) -> MovingAverage<Optimizer>;
template <class Optimizer>
MovingAverage(Optimizer, double) -> MovingAverage<Optimizer>;

/// means: adds up the gradients of `steps` batches; one step of the optimizer takes their mean
/// after: Keras' gradient_accumulation_steps: batches go on being counted over the end of an epoch, and
///        schedules count the steps of the optimizer
template <class Optimizer>
struct Accumulate {
  int steps = 2;
  Optimizer of{};
  static constexpr bool accumulates = true;
};
template <class Optimizer>
Accumulate(int, Optimizer) -> Accumulate<Optimizer>;

namespace detail {
template <class Optimizer>
constexpr auto& innermost(Optimizer& o) {
  if constexpr (requires { o.of; })
    return innermost(o.of);
  else
    return o;
}
template <class Optimizer>
consteval norm_of clips() {
  if constexpr (requires { Optimizer::clips; }) {
    static_assert(clips<decltype(Optimizer::of)>() == norm_of::none,
                  "locus: gradients are clipped to one norm; take ClipNorm or ClipGlobalNorm");
    return Optimizer::clips;
  } else if constexpr (requires(Optimizer& o) { o.of; })
    return clips<decltype(Optimizer::of)>();
  else
    return norm_of::none;
}
template <class Optimizer>
consteval bool averages() {
  if constexpr (requires { Optimizer::averages; })
    return true;
  else if constexpr (requires(Optimizer& o) { o.of; })
    return averages<decltype(Optimizer::of)>();
  else
    return false;
}
template <class Optimizer>
consteval bool accumulates() {
  if constexpr (requires { Optimizer::accumulates; }) {
    static_assert(!accumulates<decltype(Optimizer::of)>(),
                  "locus: gradients are added up twice; write one Accumulate with the product of "
                  "the steps");
    return true;
  } else if constexpr (requires(Optimizer& o) { o.of; })
    return accumulates<decltype(Optimizer::of)>();
  else
    return false;
}
template <class Optimizer>
int accumulated_steps(Optimizer const& o) {
  if constexpr (requires { Optimizer::accumulates; })
    return o.steps;
  else
    return accumulated_steps(o.of);
}
template <class Optimizer>
double clip_norm(Optimizer const& o) {
  if constexpr (requires { Optimizer::clips; })
    return o.norm;
  else
    return clip_norm(o.of);
}
template <class Optimizer>
double average_momentum(Optimizer const& o) {
  if constexpr (requires { Optimizer::averages; })
    return o.momentum;
  else
    return average_momentum(o.of);
}
}  // namespace detail

}  // namespace locus::nn

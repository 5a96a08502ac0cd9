// SPDX-License-Identifier: Apache-2.0
// The rules of the optimizers: new values of a weight and its slots. A rule is written once, for a
// number and for a vector, and holds the numbers of one step, so that another learning rate is only
// another argument of the same kernel. The update of dense gradients and that of embedding rows use
// the same rules.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_OPTIMIZERS_RULE)
#define LOCUS_NN_OPTIMIZERS_RULE
#include <type_traits>  // is_arithmetic

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_MATH
#include <locus/simd/native.hpp>  // sqrt_of, least, greatest

#define LOCUS_CLONED <locus/nn/optimizers/rule.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(nn::detail) {
template <class V>
inline constexpr bool is_number = std::is_arithmetic_v<V>;

LOCUS_HOST_DEVICE inline float root(float x) { return LOCUS_MATH(sqrtf)(x); }
LOCUS_HOST_DEVICE inline double root(double x) { return LOCUS_MATH(sqrt)(x); }
template <class V>
  requires(!is_number<V>)
LOCUS_VECTOR_FUNCTION V root(V x) {
  return simd::sqrt_of(x);
}
/// means: g clipped to [-limit, limit]; NaN stays NaN
template <class T>
  requires is_number<T>
LOCUS_HOST_DEVICE inline T held_within(T g, T limit) {
  T const below = limit < g ? limit : g;
  return -limit > below ? -limit : below;
}
template <class V, class T>
  requires(!is_number<V>)
LOCUS_VECTOR_FUNCTION V held_within(V g, T limit) {
  return simd::greatest(-limit - V{}, simd::least(limit - V{}, g));
}
}  // namespace LOCUS_SPACE(nn::detail)

namespace LOCUS_SPACE(nn) {

// Defines the body of a rule twice: for a number, on host and device, and for a vector, on the
// host; nvcc rejects vectors in functions for both sides.
#define LOCUS_RULE(...)                                                      \
  template <class V>                                                         \
    requires detail::is_number<V>                                            \
  [[gnu::always_inline]] LOCUS_HOST_DEVICE inline void operator()(V* x, V g) \
      const __VA_ARGS__ template <class V>                                   \
    requires(!detail::is_number<V>)                                          \
  LOCUS_VECTOR_FUNCTION void operator()(V* x, V g) const __VA_ARGS__

// Every rule has
//   slot_count        number of slots of a weight
//   operator()(x, g)  x[0]: the weight, x[1], ...: its slots, all replaced; g: the gradient

template <class T>
struct sgd_rule {
  static constexpr int slot_count = 0;
  T rate;
  LOCUS_RULE({ x[0] = x[0] - rate * g; })
};

/// plain momentum: by_momentum = 1, by_gradient = 0; Nesterov: by_momentum = momentum, by_gradient
/// = rate
template <class T>
struct momentum_rule {
  static constexpr int slot_count = 1;
  T rate, momentum, by_momentum, by_gradient;
  LOCUS_RULE({
    x[1] = momentum * x[1] - rate * g;
    x[0] = x[0] + (by_momentum * x[1] - by_gradient * g);
  })
};

/// Adam: by_gradient = 0; Nadam adds the gradient of the step to the momentum
template <class T>
struct adam_rule {
  static constexpr int slot_count = 2;
  T new_momentum, new_velocity;  // 1 - beta_1, 1 - beta_2
  T by_momentum, by_gradient, by_velocity, epsilon;
  LOCUS_RULE({
    x[1] = x[1] + new_momentum * (g - x[1]);
    x[2] = x[2] + new_velocity * (g * g - x[2]);
    x[0] = x[0] -
           (by_momentum * x[1] + by_gradient * g) / (detail::root(by_velocity * x[2]) + epsilon);
  })
};

template <class T>
struct rmsprop_rule {
  static constexpr int slot_count = 1;
  T rate, rho, epsilon;
  LOCUS_RULE({
    x[1] = rho * x[1] + (1 - rho) * (g * g);
    x[0] = x[0] - rate * g / detail::root(x[1] + epsilon);
  })
};
/// RMSprop with momentum; centered: by_mean = 1, otherwise 0
template <class T>
struct rmsprop_momentum_rule {
  static constexpr int slot_count = 3;  // velocity, momentum, mean of the gradients
  T rate, rho, epsilon, momentum, by_mean;
  LOCUS_RULE({
    x[1] = rho * x[1] + (1 - rho) * (g * g);
    x[3] = rho * x[3] + (1 - rho) * g;
    x[2] = momentum * x[2] + rate * g / detail::root(x[1] - by_mean * (x[3] * x[3]) + epsilon);
    x[0] = x[0] - x[2];
  })
};

/// The mean of the gradients of several batches, one batch at a time; fresh: the first of them.
template <class T>
struct mean_rule {
  static constexpr int slot_count = 0;
  T by;  // 1 / batches
  bool fresh;
  LOCUS_RULE({
    if (fresh)
      x[0] = by * g;
    else
      x[0] = x[0] + by * g;
  })
};
/// Before every rule: clips the gradient to [-limit, limit] and decays the weight.
template <class Rule, class T>
struct held_rule {
  static constexpr int slot_count = Rule::slot_count;
  Rule rule;
  T limit, keeps;  // keeps: 1 - weight decay * learning rate
  LOCUS_RULE({
    x[0] = keeps * x[0];
    rule(x, detail::held_within(g, limit));
  })
};
/// After a rule: updates the moving average of the weight.
template <class Rule, class T>
struct averaged_rule {
  static constexpr int slot_count = Rule::slot_count + 1;
  Rule rule;
  T new_weight;  // 1 - momentum; 1 in the first step
  LOCUS_RULE({
    rule(x, g);
    x[slot_count] = x[slot_count] + new_weight * (x[0] - x[slot_count]);
  })
};

#undef LOCUS_RULE

/// means: a rule compiled for these instructions, and the size of its vectors; a rule of the
///        program keeps those of its unit     units: bytes
template <class Rule>
struct rule_here {
  using type = Rule;
  static constexpr int bytes = ::locus::simd::native_bytes;
};
#define LOCUS_RULE_HERE(name)                        \
  template <class T>                                 \
  struct rule_here<::locus::nn::name<T>> {           \
    using type = name<T>;                            \
    static constexpr int bytes = simd::native_bytes; \
  };
#define LOCUS_RULE_HERE_AROUND(name)                      \
  template <class Rule, class T>                          \
  struct rule_here<::locus::nn::name<Rule, T>> {          \
    using type = name<typename rule_here<Rule>::type, T>; \
    static constexpr int bytes = rule_here<Rule>::bytes;  \
  };
LOCUS_RULE_HERE(sgd_rule)
LOCUS_RULE_HERE(momentum_rule)
LOCUS_RULE_HERE(adam_rule)
LOCUS_RULE_HERE(rmsprop_rule)
LOCUS_RULE_HERE(rmsprop_momentum_rule)
LOCUS_RULE_HERE(mean_rule)
LOCUS_RULE_HERE_AROUND(held_rule)
LOCUS_RULE_HERE_AROUND(averaged_rule)
#undef LOCUS_RULE_HERE
#undef LOCUS_RULE_HERE_AROUND

}  // namespace LOCUS_SPACE(nn)
LOCUS_VECTORS_END
#endif

// SPDX-License-Identifier: Apache-2.0
// The fold over replicas as a kernel: terms are combined in replica order, so that every replica
// gets the same bits, on every machine.
#pragma once
#include <type_traits>  // is_integral

#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/device/device.hpp>  // max_devices
#include <locus/work/reducer.hpp>   // reducer
#include <locus/work/rounding.hpp>  // rounded_real_product

namespace locus {

/// The scale of a mean: divide_sum divides the sum once (mean_of_sums), multiply_terms multiplies
/// each term (mean_prescaled).
enum class scaling : unsigned char { none, divide_sum, multiply_terms };

/// The terms of one fold and its results: one address for each replica.
struct replica_terms {
  void* terms[max_devices]{};
  void* outs[max_devices]{};
  int term_count = 0, out_count = 0;
  std::int64_t count = 0;  // elements
  scaling scaled = scaling::none;
  // on the host: terms[0], and the results, are not rounded to the element type (halves as floats),
  // so that a fold may go on elsewhere with the same bits
  bool goes_on = false, to_go_on = false;
  double by = 1;  // the divisor, or the factor
};

inline namespace LOCUS_MODE {

/// means: t = terms[0][i]; t = combine(t, terms[r][i]) for r = 1, 2, ...; outs[r][i] = t for all r;
///        with `scaled`, each term or the sum is scaled
/// after: an all-reduce with one fixed order of its terms
template <reduction R, class T>
struct fold_work {
  using value = compute_t<T>;  // halves are added as floats, and the result is rounded
  static constexpr bool has_cuda_kernel = true;
  static constexpr bool may_scale = R == reduction::sum && std::is_arithmetic_v<value>;
  replica_terms of;

  LOCUS_HOST_DEVICE static constexpr value combine(value a, value b) {
    if constexpr (R == reduction::sum && std::is_integral_v<T>)  // wraps
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else if constexpr (R == reduction::sum)
      return add_fn{}(a, b);
    else if constexpr (R == reduction::product)
      return multiply_fn{}(a, b);
    else if constexpr (R == reduction::max && std::is_arithmetic_v<value>)
      return a > b || a != a ? a : b;
    else if constexpr (R == reduction::min && std::is_arithmetic_v<value>)
      return a < b || a != a ? a : b;
    else
      return kernel::reducer<R, T>::combine(a, b);
  }
  /// means: a term, scaled and rounded: no compiler makes one operation of the product and the sum
  LOCUS_HOST_DEVICE value before(value t) const {
    if constexpr (may_scale)
      if (of.scaled == scaling::multiply_terms)
        return kernel::rounded_real_product(t, static_cast<value>(of.by));
    return t;
  }
  LOCUS_HOST_DEVICE value after(value t) const {
    if constexpr (may_scale)
      if (of.scaled == scaling::divide_sum)
        return static_cast<value>(t / static_cast<value>(of.by));
    return t;
  }
  LOCUS_HOST_DEVICE void element(std::int64_t i) const {
    value t = before(static_cast<T const*>(of.terms[0])[i]);
    for (int r = 1; r < of.term_count; ++r)
      t = combine(t, before(static_cast<T const*>(of.terms[r])[i]));
    t = after(t);
    for (int r = 0; r < of.out_count; ++r) static_cast<T*>(of.outs[r])[i] = static_cast<T>(t);
  }
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (void*& p : of.terms) visit(p);
    for (void*& p : of.outs) visit(p);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// Bins: which one an element is counted in.
#pragma once
#include <cstdint>      // int32_t
#include <string_view>  // string_view

#include <locus/algorithms/sorted_place.hpp>  // place_in_sorted
#include <locus/core/error.hpp>               // shape_error
#include <locus/core/is_finite.hpp>           // is_finite
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_COLD_BEGIN
#include <locus/ops/generators.hpp>           // short_number
#include <locus/shape/element.hpp>            // compute_t

namespace locus::algorithms {

// Bins are a function of an element: the number of its bin, or `count` for one in no bin.

/// The most bins: their numbers, and one more, are int32.
inline constexpr std::int64_t most_bins = 2147483646;

LOCUS_COLD_BEGIN
/// fails: shape_error, for a number of bins; configuration_error, for a range
[[noreturn]] inline void refuse_bins(std::string_view name, std::int64_t bins) {
  message text;
  throw shape_error(text << "locus: " << name << " counts in " << bins
                         << " bins; give it 0 to 2147483646");
}
[[noreturn]] inline void refuse_range(double low, double high) {
  message text;
  throw configuration_error(text << "locus: histogram makes bins between "
                                 << internal::short_number(low).text << " and "
                                 << internal::short_number(high).text
                                 << "; give it two finite numbers, the smaller one first, at "
                                    "most 1e308 apart");
}
/// fails: shape_error, for edge i
[[noreturn]] inline void refuse_edges(std::int64_t i, double edge, double next) {
  message text;
  throw shape_error(text << "locus: edge " << i << " of a histogram is "
                         << internal::short_number(edge).text << " and edge " << i + 1 << " is "
                         << internal::short_number(next).text << "; give it edges in rising order");
}
LOCUS_COLD_END

/// means: number(x) = floor((x - low) * (count / (high - low))) in double, for x in [low, high];
///        high itself is in the last bin
struct even_bins {
  static constexpr std::string_view name = "histogram", tensorflow = "HistogramFixedWidth";
  double low = 0, high = 1, bins_of_one = 0;
  std::int64_t count = 0;

  constexpr even_bins() = default;
  /// fails: shape_error, for a number of bins; configuration_error, for low and high that are no
  ///        range, or one too wide or too narrow for a double
  constexpr even_bins(double first, double last, std::int64_t bins)
      : low(first), high(last), count(bins) {
    if (bins < 0 || bins > most_bins) refuse_bins(name, bins);
    double const width = high - low;
    bool const is_range = internal::is_finite(width) && low < high && width <= 1e308;
    bins_of_one = is_range ? static_cast<double>(bins) / width : -1;
    if (!(bins_of_one >= 0 && bins_of_one <= 1e308)) refuse_range(low, high);
  }
  template <class T>
  LOCUS_HOST_DEVICE constexpr std::int32_t operator()(T x) const {
    auto const at = static_cast<double>(static_cast<compute_t<T>>(x));
    double const last = static_cast<double>(count) - 1, place = (at - low) * bins_of_one;
    bool const is_in = int(at >= low) & int(at <= high) & int(count > 0);
    double const number = place < last ? place : last;
    return static_cast<std::int32_t>(is_in ? number : static_cast<double>(count));
  }
};

/// means: number(x) = x, for x in [0, count)
struct id_bins {
  static constexpr std::string_view name = "bincount", tensorflow = "Bincount";
  std::int64_t count = 0;

  constexpr id_bins() = default;
  /// fails: shape_error
  constexpr explicit id_bins(std::int64_t bins) : count(bins) {
    if (bins < 0 || bins > most_bins) refuse_bins(name, bins);
  }
  template <class Id>
  LOCUS_HOST_DEVICE constexpr std::int32_t operator()(Id x) const {
    auto const id = static_cast<std::int64_t>(x);
    return static_cast<std::int32_t>(int(id >= 0) & int(id < count) ? id : count);
  }
};

/// means: number(x) = b for edges[b] <= x < edges[b + 1]; the last edge itself is in the last bin
template <class T>
struct edge_bins {
  T const* edges;  // count + 1, in rising order
  std::int64_t count;

  LOCUS_HOST_DEVICE constexpr std::int32_t operator()(T x) const {
    return number_at(place_in_sorted<true>(edges, count + 1, x), x);
  }
  /// means: the number of x, given the number of edges that are not greater
  LOCUS_HOST_DEVICE constexpr std::int32_t number_at(std::int64_t place, T x) const {
    using number = compute_t<T>;
    if (place <= count) return static_cast<std::int32_t>(place > 0 ? place - 1 : count);
    bool const is_last = static_cast<number>(x) == static_cast<number>(edges[count]);
    return static_cast<std::int32_t>(is_last && count > 0 ? count - 1 : count);
  }
};

}  // namespace locus::algorithms

// SPDX-License-Identifier: Apache-2.0
// Whether two values at strides of their own have a byte in common: columns of one matrix lie between
// one another and have none.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>  // local_value

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: the ways from an element of one value to an element of another, as steps along axes
/// cost:  a few steps for values of one tensor; it gives up, and says no, after many
class ways_between {
 public:
  ways_between(local_value const& a, int rank_a, int bytes_a, local_value const& b, int rank_b,
               int bytes_b);
  /// some way has length 0
  bool meet() { return goes(0, distance_); }

 private:
  struct axis {
    std::int64_t step, least, most;
  };
  void add(std::int64_t step, std::int64_t least, std::int64_t most);
  static std::int64_t floor_of(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && a < 0);
  }
  /// axes from k on go that far
  bool goes(int k, std::int64_t distance);
  static constexpr int room = 2 * max_rank + 1;
  axis axes_[room];
  std::int64_t low_[room + 1]{}, high_[room + 1]{};
  std::int64_t distance_;
  int count_ = 0, tried_ = 0;
};

LOCUS_FUNCTION bool share_bytes(local_value const& a, int rank_a, int bytes_a, local_value const& b,
                                int rank_b, int bytes_b);

/// means: one element stands at two indices: an axis of stride 0, or two axes that lead to one place
LOCUS_FUNCTION bool repeats_elements(std::int64_t const* extents, std::int64_t const* strides,
                                     int rank);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/same_bytes.hpp>  // bodies of the functions above
#endif

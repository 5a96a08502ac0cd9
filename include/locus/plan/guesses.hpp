// SPDX-License-Identifier: Apache-2.0
// Guesses: the pass fuse may take open extents of one pattern for equal. A policy says whether it does.
#pragma once
#include <locus/plan/data.hpp>  // placement_policy

namespace locus {

/// What a plan does where only a run can tell whether open extents are equal.
enum class guess : unsigned char {
  guarded,   // one kernel; a run with other extents runs a second plan, which guesses nothing
  none,      // several kernels
  promised,  // one kernel; a run with other extents is an error
};

/// means: a plan without guesses, and without a second plan, for units that must compile quickly
template <placement_policy Placement = prefer_gpu>
struct careful : Placement {
  static constexpr guess guesses = guess::none;
};
/// means: the program promises that open extents of one pattern are equal where it helps a kernel
/// fails: shape_error, for a run in which they differ
template <placement_policy Placement = prefer_gpu>
struct alike : Placement {
  static constexpr guess guesses = guess::promised;
};

template <class Policy>
constexpr guess guess_of() {
  if constexpr (requires { Policy::guesses; })
    return Policy::guesses;
  else
    return guess::guarded;
}

}  // namespace locus

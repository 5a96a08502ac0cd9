// SPDX-License-Identifier: Apache-2.0
// The handle of cuDNN for each logical device. A device without one computes convolutions by
// products of cuBLAS.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/device.hpp>         // device
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex convolutions_lock;
LOCUS_SHARED_STATE inline constinit bool refusal_was_said = false;
}  // namespace detail

/// means: warns, once in a process; the placement log names the library of each step
[[gnu::cold]] LOCUS_FUNCTION void say_refusal(int code, std::string_view what, device on);

namespace detail {

[[gnu::cold]] LOCUS_FUNCTION void open_convolutions(logical_device& d);

}  // namespace detail

/// means: the cuDNN handle of logical device d, made at the first call; null: cuDNN is missing or
///        refuses this card
/// cost:  two loads; the first call initialises cuDNN: seconds, and memory of the card that locus
///        does not count
/// fails: device_error or device_lost, if initialisation fails otherwise, as without memory
LOCUS_FUNCTION void* convolutions_of(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/convolutions.hpp>  // bodies of the functions above
#endif

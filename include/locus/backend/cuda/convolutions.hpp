// SPDX-License-Identifier: Apache-2.0
// cuDNN has a handle for each logical device. A device without a handle convolves by products of cuBLAS.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/device.hpp>         // device
#include <locus/runtime/device_table.hpp>  // logical_device

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex convolutions_lock;
LOCUS_SHARED_STATE inline constinit bool refusal_was_said = false;

/// once in a process: the placement log has the library of each step
[[gnu::cold]] LOCUS_FUNCTION void say_refusal(int code, std::string_view what, device on);
[[gnu::cold]] LOCUS_FUNCTION void open_convolutions(logical_device& d);
}  // namespace detail

/// means: the handle of cuDNN that is d's alone, made at its first use; null: there is no cuDNN, or it
///        cannot begin on this card
/// cost:  two loads; the first call starts cuDNN, which takes seconds, and memory of the card that no account has
/// fails: device_error, device_lost, where it begins and fails, as without memory
LOCUS_FUNCTION void* convolutions_of(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/convolutions.hpp>  // bodies of the functions above
#endif

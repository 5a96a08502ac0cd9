// SPDX-License-Identifier: Apache-2.0
// How many logical devices a card is divided into, and how they allocate memory.
#pragma once
#include <locus/config/names.hpp>  // device_argument, physical_device
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus {

/// Sizes in bytes: 1_GiB. Also found through `using namespace locus`. (Not consteval: clang 14
/// emits a call.)
inline namespace literals {
constexpr std::int64_t operator""_KiB(unsigned long long n) { return std::int64_t(n) << 10; }
constexpr std::int64_t operator""_MiB(unsigned long long n) { return std::int64_t(n) << 20; }
constexpr std::int64_t operator""_GiB(unsigned long long n) { return std::int64_t(n) << 30; }
}  // namespace literals

namespace config {

using options_list = value_list<logical_options, runtime::max_logical>;

namespace detail {
LOCUS_FUNCTION void require_some(options_list const& wanted, physical_device const& d);
LOCUS_FUNCTION void require_cpu_options(options_list const& wanted);
LOCUS_FUNCTION void require_gpu_options(options_list const& wanted, physical_device const& d);
}  // namespace detail

/// means: divides the card into that many logical devices, each with its memory limit; the sum of
///        the limits is at most the card's memory. Only a single device may be without a limit. A
///        CPU takes no limit.
/// fails: unknown_device; configuration_error, for contradictory options, limits above the card's
///        memory, and for a change after the first use
/// after: tf.config.set_logical_device_configuration. Unlike TensorFlow, memory growth stays as
///        set: a limit is the most that a device may allocate, growth decides when it allocates.
LOCUS_FUNCTION void set_logical_devices(device_argument const& device, options_list const& wanted);

/// means: the argument of set_logical_devices; empty: no such call, the card is one device
/// after: tf.config.get_logical_device_configuration
LOCUS_FUNCTION options_list get_logical_devices(device_argument const& device);

/// means: on (default): a device allocates memory of the card when it needs it; off: its whole
///        limit at the first allocation. The variable LOCUS_FORCE_GPU_ALLOW_GROWTH, else
///        TF_FORCE_GPU_ALLOW_GROWTH, true or false, overrides this setting for all cards.
/// fails: unknown_device; configuration_error, for a CPU and for a change after the first use
/// after: tf.config.experimental.set_memory_growth, whose default is off: locus is used in programs
///        whose other code allocates memory of the card too
LOCUS_FUNCTION void set_memory_growth(device_argument const& device, bool on);
LOCUS_FUNCTION bool get_memory_growth(device_argument const& device);

/// means: the part of a card's memory that a logical device without a limit may use, in (0, 1]
/// fails: configuration_error, for another number, and for a change after the first use
/// after: per_process_gpu_memory_fraction; above 1 TensorFlow uses unified memory, locus refuses it
LOCUS_FUNCTION void set_memory_fraction(double fraction);
inline double get_memory_fraction() { return runtime::configured.memory_fraction; }

}  // namespace config
}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/logical.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// Into how many logical devices a card is cut, and how they get memory.
#pragma once
#include <locus/config/names.hpp>  // device_argument, physical_device
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus {

/// Sizes as numbers of bytes: 1_GiB. Also usable behind `using namespace locus`. (Not consteval:
/// clang 14 leaves a call behind.)
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

/// means: the card is that many logical devices, each with its memory limit; the limits together
///        are at most the card's memory. One entry may be without limit. CPUs have none.
/// fails: unknown_device; configuration_error, for options that cannot be, limits above the card,
///        and for a change after the first use
/// after: tf.config.set_logical_device_configuration. Unlike there, memory growth stays as it is:
///        a limit says how much at most, growth how it is taken.
LOCUS_FUNCTION void set_logical_devices(device_argument const& device, options_list const& wanted);

/// means: what set_logical_devices was told; empty: nothing, the card is one device
/// after: tf.config.get_logical_device_configuration
LOCUS_FUNCTION options_list get_logical_devices(device_argument const& device);

/// means: on (default): memory of the card is taken as it is needed; off: the whole limit at the
///        first allocation. LOCUS_FORCE_GPU_ALLOW_GROWTH, else TF_FORCE_GPU_ALLOW_GROWTH, true or
///        false, has the last word for all cards.
/// fails: unknown_device; configuration_error, for a CPU and for a change after the first use
/// after: tf.config.experimental.set_memory_growth, whose default is off: locus lives in programs
///        that use the card too
LOCUS_FUNCTION void set_memory_growth(device_argument const& device, bool on);
LOCUS_FUNCTION bool get_memory_growth(device_argument const& device);

/// means: the part of each card that its logical device may use where no limit is given, in (0, 1]
/// fails: configuration_error, for another number, and for a change after the first use
/// after: per_process_gpu_memory_fraction; above 1 TensorFlow takes unified memory, locus has none
LOCUS_FUNCTION void set_memory_fraction(double fraction);
inline double get_memory_fraction() { return runtime::configured.memory_fraction; }

}  // namespace config
}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/logical.hpp>  // bodies of the functions above
#endif

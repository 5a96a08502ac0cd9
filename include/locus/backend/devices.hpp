// SPDX-License-Identifier: Apache-2.0
// devices(): the device table, made at its first use from what is there.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>           // message << device
#include <locus/runtime/device_table.hpp>  // table

LOCUS_COLD_BEGIN

namespace locus {
namespace runtime {

namespace detail {
LOCUS_FUNCTION void name_devices();
LOCUS_FUNCTION void close_gpus() noexcept;

/// While the table is made: what the log calls meanwhile may not ask for devices.
LOCUS_SHARED_STATE inline thread_local constinit bool making_table = false;
struct making_scope {
  making_scope() { making_table = true; }
  making_scope(making_scope const&) = delete;
  ~making_scope() { making_table = false; }
};

/// means: the logical devices, from the cards and the configuration; table.lock is held
/// fails: configuration_error, device_lost; nothing is built then
LOCUS_FUNCTION void build_table();

[[gnu::cold]] LOCUS_FUNCTION void start_table(char const* what, call_site where);
}  // namespace detail

/// means: the devices of this process; made, and their configuration frozen, when first used
/// cost:  one test of a flag
inline device_table& devices(char const* what = "a plan ran", call_site where = {}) {
  if (!__atomic_load_n(&table.started, __ATOMIC_ACQUIRE)) detail::start_table(what, where);
  return table;
}

namespace detail {
/// What ends when the last tensor goes: scopes inside scopes, the inner first.
LOCUS_SHARED_STATE inline constinit value_list<void (*)(), 16> endings;
LOCUS_FUNCTION void run_endings();
}  // namespace detail

/// means: the devices end now; or, while tensors are alive on them, with the last of these
LOCUS_FUNCTION void end_devices(void (*end)());
/// fails: configuration_error, while a tensor is alive: its memory would lose its device
LOCUS_FUNCTION void require_no_tensors();

namespace detail {
/// means: the GPUs of a table that was made while no unit of the program named one
[[gnu::cold]] LOCUS_FUNCTION void find_gpus();
/// means: who does the work of a GPU that is not there, with its own memory, limit and queues: a GPU
///        that is, or the host
inline logical_device& stand_in_of(device_table& t, device missing) {
  return t.gpu_devices[t.gpus > 0 ? missing.ordinal() % t.gpus : missing.ordinal()];
}
/// means: a GPU that is not there is found for the first time: said once
[[gnu::cold]] LOCUS_FUNCTION void tell_missing(device missing);
}  // namespace detail

/// means: the logical device that does the work of d: d itself, or what stands in for it, which is
///        said once. Who asks for d by name asks request_devices first.
/// cost:  an index and a test
inline logical_device& find_device(device d) {
  device_table& t = devices();
  if (!d.is_gpu() || d.ordinal() < t.gpus) return t.slot(d);
  if (!__atomic_load_n(&t.told[d.ordinal()], __ATOMIC_ACQUIRE)) detail::tell_missing(d);
  return d.ordinal() < t.gpus ? t.slot(d) : detail::stand_in_of(t, d);
}

/// means: logical device d is on this machine, as list_logical_devices lists it
inline bool is_there(device d) {
  device_table& t = devices();
  if (d.is_cpu()) return d.ordinal() < configured.cpus;
  if (!t.knows_gpus) detail::find_gpus();
  return d.ordinal() < t.gpus;
}

namespace detail {
/// fails: unknown_device, naming what is there and who asked, where
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_missing(device d, std::string_view who,
                                                           call_site where);
}  // namespace detail

/// means: the program asks for these devices by name. Hard placement refuses those that are not
///        there; what nobody asked for by name is not refused.
/// cost:  a test of a flag while placement is soft
/// fails: unknown_device while placement is hard, naming what is there, who asks, and where
LOCUS_FUNCTION void request_devices(place const& all, std::string_view who, call_site where = {});

}  // namespace runtime

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/devices.hpp>  // bodies of the functions above
#endif

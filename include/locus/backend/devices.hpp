// SPDX-License-Identifier: Apache-2.0
// devices(): the device table, made at its first use from the cards and the configuration.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>           // message << device
#include <locus/runtime/device_table.hpp>  // table

LOCUS_COLD_BEGIN

namespace locus {
namespace runtime {

namespace detail {
LOCUS_FUNCTION void name_devices();
}  // namespace detail

/// means: ends the work of GPUs and forgets the device table; the caller holds table.lock
LOCUS_FUNCTION void close_gpus() noexcept;

namespace detail {

/// True while this thread makes the table: a callback of the log may not use devices then.
LOCUS_SHARED_STATE inline thread_local constinit bool making_table = false;
struct making_scope {
  making_scope() { making_table = true; }
  making_scope(making_scope const&) = delete;
  ~making_scope() { making_table = false; }
};

}  // namespace detail

/// means: makes the logical devices from cards and configuration; the caller holds table.lock
/// fails: configuration_error, device_lost; no table is made then
LOCUS_FUNCTION void build_table();

namespace detail {

[[gnu::cold]] LOCUS_FUNCTION void start_table(char const* what, call_site where);

}  // namespace detail

/// means: the device table of this process; the first call makes it and freezes the configuration
/// cost:  one test of a flag
inline device_table& devices(char const* what = "a plan ran", call_site where = {}) {
  if (!__atomic_load_n(&table.started, __ATOMIC_ACQUIRE)) detail::start_table(what, where);
  return table;
}

namespace detail {
/// Functions to call when the last tensor has died: those of inner scopes first.
LOCUS_SHARED_STATE inline constinit value_list<void (*)(), 16> endings;
LOCUS_SHARED_STATE inline constinit mutex endings_lock;
LOCUS_FUNCTION void run_endings();
}  // namespace detail

/// means: calls end() now, or after the last live tensor has died
LOCUS_FUNCTION void end_devices(void (*end)());
/// fails: configuration_error, if a tensor is alive: its memory would lose its device
LOCUS_FUNCTION void require_no_tensors();

namespace detail {
/// means: adds GPUs to a table that was made when no unit of the program named a GPU
[[gnu::cold]] LOCUS_FUNCTION void find_gpus();
}  // namespace detail

/// means: the device that does the work of a missing GPU, with its own memory, limit and queues:
///        another GPU; or the missing device's own slot, which is then a part of the host
inline logical_device& stand_in_of(device_table& t, device missing) {
  int const n = t.count_gpus();
  return t.gpu_devices[n > 0 ? missing.ordinal() % n : missing.ordinal()];
}

namespace detail {

/// means: warns about a missing GPU, once
[[gnu::cold]] LOCUS_FUNCTION void tell_missing(device missing);

}  // namespace detail

/// means: the logical device that does the work of d: d itself, or its stand-in with one warning.
///        For a device that the program names, call request_devices first.
/// cost:  an index and a test
inline logical_device& find_device(device d) {
  device_table& t = devices();
  if (!d.is_gpu() || d.ordinal() < t.count_gpus()) return t.slot(d);
  if (!__atomic_load_n(&t.told[d.ordinal()], __ATOMIC_ACQUIRE)) detail::tell_missing(d);
  return d.ordinal() < t.count_gpus() ? t.slot(d) : stand_in_of(t, d);
}

/// means: true: logical device d exists; list_logical_devices lists it
inline bool is_there(device d) {
  device_table& t = devices();
  if (d.is_cpu()) return d.ordinal() < configured.cpus;
  if (!t.has_looked()) detail::find_gpus();
  return d.ordinal() < t.count_gpus();
}

namespace detail {
/// fails: unknown_device, with the devices that exist, the caller and the call site
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_missing(device d, std::string_view who,
                                                           call_site where);
}  // namespace detail

/// means: checks devices that the program names: hard placement refuses missing ones
/// cost:  one test of a flag under soft placement
/// fails: unknown_device under hard placement, with the devices that exist, the caller and the call
///        site
LOCUS_FUNCTION void request_devices(place const& all, std::string_view who, call_site where = {});

}  // namespace runtime
}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/bodies/devices.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// The device table of the process: the logical devices, and the physical or simulated device of
// each.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // uint64_t

#include <locus/core/call_site.hpp>         // call_site
#include <locus/core/lock.hpp>              // mutex
#include <locus/core/macros.hpp>            // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN
#include <locus/core/text.hpp>              // text_buffer
#include <locus/device/device.hpp>          // device
#include <locus/runtime/configuration.hpp>  // max_logical

LOCUS_LEAN_BEGIN

namespace locus {
struct machine_functions;
}

namespace locus::runtime {

/// The kind of device that runs the work of a logical device.
enum class backing : unsigned char {
  host,       // this process: every CPU, and GPUs that are missing
  simulated,  // a GPU made of protected host memory
  cuda,       // a GPU, or one of the logical GPUs that share it
};

/// The in-order queues of one device: one for kernels, one for copies and one for collectives; they
/// run at the same time.
enum class queue_kind : unsigned char { compute, copy, communication };
inline constexpr queue_kind queue_kinds[] = {queue_kind::compute, queue_kind::copy,
                                             queue_kind::communication};
inline constexpr int queues_of_device = 3;
constexpr queue_kind kind_of_queue(short queue) {
  return static_cast<queue_kind>(queue % queues_of_device);
}

/// A point on a queue that another queue, or the host, can wait for; unset: nothing to wait for.
struct stamp {
  short queue = -1;
  std::uint64_t ticket = 0;
  constexpr bool is_set() const { return queue >= 0; }
};

class region_pool;
/// The two pinned buffers for copies that the device cannot receive directly: see staging.hpp.
struct staging_chunks {
  void* chunk[2]{};
  stamp free_at[2]{};  // the end of the last copy from each
};

/// Bytes of one logical device. These counters decide about the limit, on every backend.
struct memory_account {
  std::int64_t in_use = 0, peak = 0, allocations = 0, largest = 0;
  std::int64_t limit = INT64_MAX;
  bool growth = true;             // false: the first allocation takes the whole limit
  region_pool* pool = nullptr;    // makes blocks; null: none yet, or the host's pool
  void* communication = nullptr;  // scratch memory of collectives, and its bytes
  std::int64_t communication_bytes = 0;
};

struct logical_device {
  device name{};
  backing how = backing::host;
  machine_functions const* machine = nullptr;  // null: that of the host
  short index = 0;                             // GPUs from 0, then CPUs; queues are numbered by it
  short card = -1;     // CUDA ordinal or arena; logical devices may share it
  short priority = 0;  // of CUDA streams; communication has the highest
  memory_account memory{};
  void* queues[queues_of_device]{};  // CUDA: a stream and its events
  staging_chunks staging{};
  bool beside_user = false;  // its compute queue is a stream of the program
  short lent = -1;           // simulated: queue of the program that replaces it
  bool is_host() const { return how == backing::host; }
  bool is_simulated() const { return how == backing::simulated; }
  bool is_card() const { return how == backing::cuda; }
  short queue(queue_kind kind) const {
    return static_cast<short>(queues_of_device * index + static_cast<int>(kind));
  }
};

/// Why a GPU that a program names is missing.
enum class absence : unsigned char {
  none,
  built_without_cuda,  // nvcc compiled no unit of this program
  no_driver,           // a unit was compiled by nvcc, but there is no driver
  old_driver,          // the driver is older than the CUDA toolkit
  no_gpu_visible,      // there is a driver, but no card for this process
  driver_waits,        // a service of the machine has not started
  driver_mismatch,     // the driver in the kernel and its library differ
  wrong_architecture,  // no kernel in this binary runs on the card
  taken,               // another process uses the card exclusively
  hidden,              // config::set_visible_devices excludes all
};
constexpr std::string_view sentence(absence why) {
  switch (why) {
  case absence::none: return "it is there";
  case absence::built_without_cuda:
    return "this program was built without CUDA; compile a unit with nvcc and <locus/cuda.cuh>";
  case absence::no_driver:
    return "there is no NVIDIA driver on this machine; run where nvidia-smi answers";
  case absence::old_driver:
    return "the NVIDIA driver is older than the CUDA toolkit of this program; update it";
  case absence::no_gpu_visible:
    return "no GPU is visible to this process; look at CUDA_VISIBLE_DEVICES";
  case absence::wrong_architecture:
    return "no kernel of this program runs on that GPU; compile for its architecture "
           "(-arch=native on that machine, -arch=all-major for all)";
  case absence::driver_waits:
    return "the NVIDIA driver is not ready; start nvidia-fabricmanager, which cards on NVSwitch "
           "(HGX, DGX) need";
  case absence::driver_mismatch:
    return "the loaded NVIDIA driver and its library differ; restart the machine";
  case absence::taken:
    return "another process has that GPU for itself (exclusive mode); end it, or run nvidia-smi -c "
           "DEFAULT";
  case absence::hidden:
    return "config::set_visible_devices hides all GPUs of this machine; name one there";
  }
  return "";
}

/// The call that froze the configuration: its name and its line in the program.
struct first_use {
  char const* what = nullptr;
  call_site where{};
};

/// means: the devices of this process     cost: an index for each look-up
struct device_table {
  bool started = false;      // the devices are in use: no setting may change
  bool built = false;        // made from settings that may still change
  int growth_variables = 0;  // environment variables for growth, at that time
  bool forked = false;       // the parent of this process had started
  first_use frozen_by;
  bool soft_placement = true;
  int gpus = 0;             // GPUs that are there, simulated ones included
  bool knows_gpus = false;  // GPUs were looked for: a unit of the program names one
  backing gpu_backing = backing::host;
  machine_functions const* gpu_machine =
      nullptr;  // of the GPUs that are there; null: there is none
  absence why_no_gpu = absence::built_without_cuda;
  logical_device cpu_devices[max_logical]{};
  logical_device gpu_devices[max_logical]{};
  bool told[max_logical]{};      // logged: another device runs the steps of this one
  std::int64_t live_blocks = 0;  // tensors; while there are any, the table stays
  void (*retire)() = nullptr;    // called when the last tensor is gone: devices end
  mutex lock;

  /// means: the GPUs that are there; each one that is counted is open
  int count_gpus() const { return __atomic_load_n(&gpus, __ATOMIC_ACQUIRE); }
  /// means: GPUs were looked for, and all that are there are counted
  bool has_looked() const { return __atomic_load_n(&knows_gpus, __ATOMIC_ACQUIRE); }
  bool has_gpus() const { return gpu_backing != backing::host; }
  bool has_simulated() const { return gpu_backing == backing::simulated; }
  bool has_cards() const { return gpu_backing == backing::cuda; }
  /// no other device can have a part in work that runs on a CPU
  bool host_is_alone(bool checked) const { return !has_gpus() || (has_cards() && !checked); }
  logical_device& slot(device d) {
    return d.is_gpu() ? gpu_devices[d.ordinal()] : cpu_devices[d.ordinal()];
  }
  logical_device& gpu_of_queue(short queue) { return gpu_devices[queue / queues_of_device]; }
};
LOCUS_SHARED_STATE inline constinit device_table table;

/// means: a tensor begins
inline void begin_block() { __atomic_add_fetch(&table.live_blocks, 1, __ATOMIC_RELAXED); }
/// means: the tensors that have not ended; if 0, the caller sees all that their ends wrote
inline std::int64_t count_blocks() { return __atomic_load_n(&table.live_blocks, __ATOMIC_SEQ_CST); }
/// means: devices that wait for the end of the last tensor end; one caller of several does it
inline void end_waiting_devices() {
  if (auto* const end = __atomic_exchange_n(&table.retire, nullptr, __ATOMIC_SEQ_CST)) end();
}
/// means: a tensor has ended, and its memory is released
inline void end_block() {
  if (__atomic_sub_fetch(&table.live_blocks, 1, __ATOMIC_SEQ_CST) == 0) end_waiting_devices();
}

/// means: another device does the work of a missing device or kernel, and the log says so; any time
inline bool placement_is_soft() { return __atomic_load_n(&table.soft_placement, __ATOMIC_RELAXED); }

/// The step that this thread runs now: for the messages of checks and of the fault handler.
struct step_record {
  short number = -1;
  std::string_view name;
  device where{};
};
LOCUS_SHARED_STATE inline thread_local constinit step_record const* running = nullptr;

struct running_scope {
  step_record const* before;
  explicit running_scope(step_record const* r) : before(running) { running = r; }
  running_scope(running_scope const&) = delete;
  ~running_scope() { running = before; }
};

/// While such an object lives, waits of this thread store exceptions of kernels for its next wait,
/// since a destructor cannot throw them.
struct unreported_waits {
  LOCUS_SHARED_STATE static inline thread_local constinit bool on = false;
  bool before = on;
  explicit unreported_waits(bool now) { on = on || now; }
  unreported_waits(unreported_waits const&) = delete;
  ~unreported_waits() { on = before; }
};

/// Deliberate mistakes: tests prove that each of them is detected.
struct planted_faults {
  short omit_transfer = -1;         // the next plans leave out a transfer
  bool no_waits = false;            // queues do not wait for each other
  bool free_at_once = false;        // memory is freed before its queue has used it
  bool swap_replicas = false;       // a collective takes replicas in the wrong order
  bool host_does_not_wait = false;  // the host reads before a queue has written
  std::int64_t lack_memory = -1;    // the allocation after that many fails
  bool early_chunks = false;        // a staged copy overwrites a buffer too early
  bool ignore_guest = false;        // a plan does not wait for the program's stream
  bool forget_guest = false;        // the program's stream does not wait for a plan
};
LOCUS_SHARED_STATE inline constinit planted_faults planted;

}  // namespace locus::runtime

LOCUS_LEAN_END

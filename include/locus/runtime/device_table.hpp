// SPDX-License-Identifier: Apache-2.0
// The device table: one for each process. Which logical devices there are, and what stands behind
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

/// What stands behind a logical device.
enum class backing : unsigned char {
  host,       // memory and threads of this process: every CPU, and a GPU that is not there
  simulated,  // a GPU made of protected host memory
  cuda,       // a GPU, or one of the logical GPUs that share it
};

/// In-order work of one device: kernels on one queue, copies on another, and on a third collectives, while
/// both go on.
enum class queue_kind : unsigned char { compute, copy, communication };
inline constexpr queue_kind queue_kinds[] = {queue_kind::compute, queue_kind::copy,
                                             queue_kind::communication};
inline constexpr int queues_of_device = 3;
constexpr queue_kind kind_of_queue(short queue) {
  return static_cast<queue_kind>(queue % queues_of_device);
}

/// A point on a queue that another queue, or the host, can wait for; none: nothing to wait for.
struct stamp {
  short queue = -1;
  std::uint64_t ticket = 0;
  constexpr bool is_set() const { return queue >= 0; }
};

class region_pool;
/// The two pinned buffers through which a device receives what it cannot reach: see staging.hpp.
struct staging_chunks {
  void* chunk[2]{};
  stamp free_at[2]{};  // when the last copy from it has run
};

/// Bytes of one logical device. The counter is the authoritative limit on every backend.
struct memory_account {
  std::int64_t in_use = 0, peak = 0, allocations = 0, largest = 0;
  std::int64_t limit = INT64_MAX;
  bool growth = true;           // false: the first allocation takes the whole limit from the card
  region_pool* pool = nullptr;  // what blocks come from; null: nothing yet, or the host's own pool
  void* communication = nullptr;  // the staging memory of collectives, and its bytes
  std::int64_t communication_bytes = 0;
};

struct logical_device {
  device name{};
  backing how = backing::host;
  machine_functions const* machine = nullptr;  // null: the host's
  short index = 0;     // GPUs from 0, CPUs behind them; its queues are numbered one after another
  short card = -1;     // which arena, which CUDA ordinal; several logical devices may share one
  short priority = 0;  // of CUDA's streams; that of communication has the highest
  memory_account memory{};
  void* queues[queues_of_device]{};  // CUDA: a stream and its events
  staging_chunks staging{};
  bool beside_user = false;  // a stream of the user's is its compute queue
  short lent = -1;           // simulated: the queue of the user's in place of the compute queue
  bool is_host() const { return how == backing::host; }
  bool is_simulated() const { return how == backing::simulated; }
  bool is_card() const { return how == backing::cuda; }
  short queue(queue_kind kind) const {
    return static_cast<short>(queues_of_device * index + static_cast<int>(kind));
  }
};

/// Why a GPU that a program names is not there.
enum class absence : unsigned char {
  none,
  built_without_cuda,  // no unit of this program was compiled by nvcc
  no_driver,           // the binary has CUDA, the machine has no driver
  old_driver,          // the driver is older than the toolkit
  no_gpu_visible,      // a driver, but no card that this process may use
  driver_waits,        // for a service of the machine
  driver_mismatch,     // the loaded driver and its library differ
  wrong_architecture,  // no kernel in this binary runs on the card
  taken,               // another process has the card for itself
  hidden,              // config::set_visible_devices left none
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

/// What froze the configuration: its first words and the line of the program.
struct first_use {
  char const* what = nullptr;
  call_site where{};
};

/// means: the devices of this process     cost: looking one up is an index
struct device_table {
  bool started = false;      // in use: the configuration is frozen
  bool built = false;        // made from the configuration, which may still change
  int growth_variables = 0;  // of the environment, when it was built
  bool forked = false;       // in the parent of this process
  first_use frozen_by;
  bool soft_placement = true;
  int gpus = 0;             // that are there, simulated ones included
  bool knows_gpus = false;  // they were looked for: some unit of this program names one
  backing gpu_backing = backing::host;
  machine_functions const* gpu_machine =
      nullptr;  // of the GPUs that are there; null: there is none
  absence why_no_gpu = absence::built_without_cuda;
  logical_device cpu_devices[max_logical]{};
  logical_device gpu_devices[max_logical]{};
  bool told[max_logical]{};      // said once for each device that its steps run elsewhere
  std::int64_t live_blocks = 0;  // tensors: the table is not rebuilt while there are some
  void (*retire)() = nullptr;    // called when the last of them goes: these devices end
  mutex lock;

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

/// means: a device or a kernel that is missing is replaced, visibly; at any time
inline bool placement_is_soft() { return __atomic_load_n(&table.soft_placement, __ATOMIC_RELAXED); }

/// What the step that runs now is called: for the messages of checks and of the fault handler.
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

/// While it lives, this thread waits for queues and leaves what kernels threw to its next wait: a
/// destructor cannot say it.
struct unreported_waits {
  LOCUS_SHARED_STATE static inline thread_local constinit bool on = false;
  bool before = on;
  explicit unreported_waits(bool now) { on = on || now; }
  unreported_waits(unreported_waits const&) = delete;
  ~unreported_waits() { on = before; }
};

/// Deliberate mistakes, for the tests that show that each of them is caught.
struct planted_faults {
  short omit_transfer = -1;         // a transfer of the next plans is left out
  bool no_waits = false;            // queues do not wait for one another
  bool free_at_once = false;        // memory is given back before the queue has used it
  bool swap_replicas = false;       // a collective takes its replicas in the wrong order
  bool host_does_not_wait = false;  // the host reads what a queue has not written yet
  std::int64_t lack_memory = -1;    // that many allocations succeed, then one finds no memory
  bool early_chunks = false;        // a staged copy does not wait until its buffer was read
  bool ignore_guest = false;        // a plan does not wait for the user's stream
  bool forget_guest = false;        // the user's stream does not wait for a plan
};
LOCUS_SHARED_STATE inline constinit planted_faults planted;

}  // namespace locus::runtime

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// Devices beyond the host, as a table of functions. A unit that names no GPU compiles none of what
// stands behind them: backend/gpus.hpp fills the table in units that do.
#pragma once
#include <cstddef>  // size_t
#include <utility>  // exchange

#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_UNIT_FILE
#include <locus/engine/registered.hpp>     // cuda_kernel, id_of
#include <locus/machine/launch_site.hpp>   // backend, launch_site, copy_job
#include <locus/runtime/stream_scope.hpp>  // on_stream
#include <locus/watch/trace.hpp>           // trace_span, trace_track

namespace locus {

/// Why a unit has to look elsewhere for a GPU's kernel.
struct missing_kernel {
  char const* unit;  // the file that the compiler was given
  runtime::work_id of;
  char const* algorithm = nullptr;  // of a library, that is what is missing; "": some of its own
  runtime::kernel_entry const* found = nullptr;
  unsigned seen = 0;  // the state of the registry
  bool told = false;
};

/// A kernel's work, its type forgotten.
struct far_work {
  void const* work;
  missing_kernel* missing;
  void (*on_host)(void const* work);
  void* (*copy)(void const* work);
  void (*destroy)(void* work);
  void (*for_each_pointer)(void* work, void (*visit)(void* context, void*& p), void* context);
};

/// A copy of such work.
class held_work {
 public:
  explicit held_work(far_work const& of) : work_(of.copy(of.work)), of_(of) {}
  held_work(held_work&& other) noexcept
      : work_(std::exchange(other.work_, nullptr)), of_(other.of_) {}
  ~held_work() {
    if (work_) of_.destroy(work_);
  }
  void* work() const { return work_; }
  void operator()() const { of_.on_host(work_); }

 private:
  void* work_;
  far_work of_;
};

/// What a backend has (machine/launch_site.hpp), for devices beyond the host.
struct far_side {
  void* (*obtain)(logical_device&, std::size_t);
  void (*give_back)(logical_device&, void*, std::size_t);
  void (*retire)(logical_device&, void*, std::size_t);
  void (*finish)(logical_device&);
  stamp (*mark)(logical_device&, queue_kind);
  void (*wait)(logical_device&, queue_kind, stamp);
  void (*synchronize)(stamp);
  bool (*reaches)(logical_device&, logical_device&);
  stamp (*copy)(copy_job const&);
  void (*run)(launch_site const&, far_work const&);
};

namespace runtime {
/// Some GPUs, each once.
struct gpu_set {
  logical_device* devices[2 * max_devices];  // count of them
  int count = 0;
  void add(logical_device& d) {
    if (d.how == backing::host || count == 2 * max_devices) return;
    for (int i = 0; i < count; ++i)
      if (devices[i] == &d) return;
    devices[count++] = &d;
  }
};
}  // namespace runtime

/// All that only programs need that name a GPU.
struct gpu_part {
  far_side simulated, cuda;
  // the device table
  void (*build)();                   // the GPUs of the table; table.lock is held
  void (*close)() noexcept;          // nothing is in flight on them any more
  void (*close_streams)() noexcept;  // and their queues end
  void (*forget)();                  // what was learnt about cards
  // copies to and from GPUs
  stamp (*copy)(copy_job const& job);
  void (*foresee_copy)(logical_device& to, logical_device& from);
  // what is checked
  bool (*is_memory_of)(device simulated, void const* p);
  void (*check_host)(void const* p, std::size_t bytes, bool writes, step_record const& record);
  bool (*find_other_owner)(logical_device const& d, void const* p, device& owner);
  // what is watched
  void (*finish_traced)(bool at_exit);
  void* (*mark_work)(logical_device& d, queue_kind kind);
  void (*add_work)(runtime::trace_span const& span, logical_device& d, queue_kind kind,
                   void* begin);
  // streams of the user's
  void (*follow_guest)(runtime::gpu_set const& gpus, void* stream);
  void (*lead_guest)(runtime::gpu_set const& gpus, void* stream);
  void (*await_guest)(void* stream);
  void (*lend)(logical_device& d, void* stream);
  void (*take_back)(logical_device& d);
};

namespace runtime {
/// Null while no unit of this program names a GPU.
LOCUS_SHARED_STATE inline constinit gpu_part const* gpus_of_program = nullptr;
}  // namespace runtime

namespace cuda_side {
inline namespace LOCUS_MODE {
/// the unit with LOCUS_INSTANTIATE_ALGORITHMS makes its kernel
template <class Work>
inline constexpr bool is_in_library = requires { requires Work::is_plain; };
/// means: work with its type forgotten; why this unit may have to look elsewhere, once for each type
template <class Work>
far_work forget_type(Work const& work) {
  constexpr bool runs_algorithms =
      requires { requires Work::has_card_body; } || is_in_library<Work>;
  static missing_kernel missing{LOCUS_UNIT_FILE, id_of<Work>(), runs_algorithms ? "" : nullptr};
  return {&work,
          &missing,
          [](void const* w) { static_cast<Work const*>(w)->on_host(); },
          [](void const* w) -> void* { return new Work(*static_cast<Work const*>(w)); },
          [](void* w) { delete static_cast<Work*>(w); },
          [](void* w, void (*visit)(void*, void*&), void* context) {
            static_cast<Work*>(w)->for_each_pointer([&](void*& p) { visit(context, p); });
          }};
}
}  // namespace LOCUS_MODE
}  // namespace cuda_side

/// The backend of a device beyond the host.
struct far_backend {
  backing how;
  far_side const* of;

  void* obtain(logical_device& d, std::size_t bytes) const { return of->obtain(d, bytes); }
  void give_back(logical_device& d, void* p, std::size_t bytes) const {
    of->give_back(d, p, bytes);
  }
  void retire(logical_device& d, void* p, std::size_t bytes) const { of->retire(d, p, bytes); }
  void finish(logical_device& d) const { of->finish(d); }
  stamp mark(logical_device& d, queue_kind kind) const { return of->mark(d, kind); }
  void wait(logical_device& d, queue_kind kind, stamp s) const { of->wait(d, kind, s); }
  void synchronize(stamp s) const { of->synchronize(s); }
  bool reaches(logical_device& to, logical_device& from) const { return of->reaches(to, from); }
  stamp copy(copy_job const& job) const { return of->copy(job); }
  template <class Work, class Mode = mode>
  void run(launch_site const& site, Work const& work) const {
    constexpr bool by_library = LOCUS_CUDA_KERNELS == 3 && cuda_side::is_in_library<Work>;
    if constexpr (LOCUS_CUDA_KERNELS && Work::has_cuda_kernel && !by_library)
      if (how == backing::cuda) {
        cuda_side::require_registered<Work>();
        return cuda_kernel<Work>::launch(site, work);
      }
    of->run(site, cuda_side::forget_type(work));
  }
};

}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs as a backend: the host's kernels, behind queues and protected memory.
#pragma once
#include <cstring>  // memcpy
#include <utility>  // move, exchange

#include <locus/backend/simulated/queues.hpp>   // machine, gpus
#include <locus/core/error.hpp>                 // out_of_memory
#include <locus/machine/launch_site.hpp>        // backend
#include <locus/machine/machine_functions.hpp>  // far_work
#include <locus/memory/host_memory.hpp>         // host_memory

namespace locus {

namespace simulated {
/// Host memory that a copy keeps until it has run, or never will.
class staged_bytes {
 public:
  explicit staged_bytes(std::size_t bytes)
      : at_(runtime::host_memory.allocate(bytes)), bytes_(bytes) {
    if (!at_) throw out_of_memory("locus: no memory on the host to stage a copy");
  }
  staged_bytes(staged_bytes&& o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
  ~staged_bytes() {
    if (at_) runtime::host_memory.release(at_, bytes_);
  }
  void* at() const { return at_; }

 private:
  void* at_;
  std::size_t bytes_;
};
}  // namespace simulated

template <>
struct backend<backing::simulated> {
  static simulated::machine& m() { return simulated::gpus(); }

  static void* obtain(logical_device& d, std::size_t bytes) { return m().obtain(d, bytes); }
  static void give_back(logical_device& d, void* p, std::size_t bytes) {
    m().give_back(d, p, bytes);
  }
  static void retire(logical_device& d, void* p, std::size_t bytes) { m().retire(d, p, bytes); }
  static void finish(logical_device&) { m().run_everything(); }
  static stamp mark(logical_device& d, queue_kind kind) {
    return m().last(simulated::queue_of(d, kind));
  }
  static void wait(logical_device& d, queue_kind kind, stamp s) {
    m().wait(simulated::queue_of(d, kind), s);
  }
  static void synchronize(stamp s) { m().synchronize(s); }

  static bool reaches(logical_device& to, logical_device& from) { return m().reaches(to, from); }
  static stamp copy(copy_job const& job) {
    short const q = simulated::queue_of(*job.carrier, job.queue);
    touched const operands[] = {{job.target, job.bytes, true}, {job.source, job.bytes, false}};
    void* const target = job.target;
    auto* const source = const_cast<void*>(job.source);
    std::size_t const bytes = job.bytes;
    if (job.from->how == backing::host &&
        !job.pinned) {  // staged: the source may change when we return
      m().check_host(source, bytes, false, job.record);
      simulated::staged_bytes staged(bytes);
      std::memcpy(staged.at(), source, bytes);
      m().issue(q, job.record, operands, 1, [target, staged = std::move(staged), bytes] {
        std::memcpy(m().behind(target), staged.at(), bytes);
      });
    } else {
      m().issue(q, job.record, operands, 2, [target, source, bytes] {
        std::memcpy(m().behind(target), m().behind(source), bytes);
      });
    }
    return m().last(q);
  }
  /// the kernel gets the addresses that the device itself may use, and runs when somebody waits for
  /// it
  static void run(launch_site const& site, far_work const& work) {
    held_work mine(work);
    work.for_each_pointer(
        mine.work(),
        [](void* on, void*& p) { p = m().behind_on(*static_cast<logical_device*>(on), p); },
        site.on);
    m().issue(simulated::queue_of(*site.on, queue_kind::compute), site.record, site.operands,
              site.operand_count, std::move(mine));
  }
};

}  // namespace locus

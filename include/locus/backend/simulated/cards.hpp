// SPDX-License-Identifier: Apache-2.0
// Simulated cards: the arenas and the late queues of all simulated GPUs.
#pragma once
#include <csignal>  // sigaction

#include <locus/backend/simulated/arena.hpp>      // arena
#include <locus/backend/simulated/late_work.hpp>  // late_queues
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // logical_device, queue_kind, queues_of_device

LOCUS_COLD_BEGIN

namespace locus::simulated {

inline constexpr int max_gpus = 16;
inline constexpr int first_guest =
    runtime::queues_of_device * max_gpus;  // queues from here on belong to no device
inline constexpr int guests =
    most_queues - first_guest < 4 ? most_queues - first_guest : 4;  // streams of the program

/// means: the queue of a logical device: its own, or the user's queue that replaces it
LOCUS_FUNCTION short queue_of(logical_device const& d, queue_kind kind);

/// The arenas and late queues of all simulated GPUs.
class cards : public late_queues {
 public:
  cards() : late_queues(true) {}

  // ---- memory: an arena for each logical GPU; a kernel reaches the arenas of its own card ----
  void open(logical_device const& d);
  void* obtain(logical_device& d, std::size_t bytes);
  void give_back(logical_device& d, void* p, std::size_t bytes);
  /// means: poisons freed memory in the order of the compute queue; its next user comes later in
  ///        that queue
  /// fails: as late_queues::retire
  [[gnu::cold]] void retire(logical_device& d, void* p, std::size_t bytes);
  /// the device whose arena holds p; /CPU:0 for host memory
  device device_of(void const* p) const;
  bool same_card(device owner, logical_device const& d) const;
  /// means: cards copy from each other directly, or do not
  void set_peers(bool peers) { peers_ = peers; }
  bool reaches(logical_device const& to, logical_device const& from) const {
    return peers_ || to.card == from.card;
  }
  /// the card whose arena holds p; -1 for host memory
  int card_of(void const* p) const;
  int card_of_queue(short q) const {
    return q < first_guest ? card_[q / runtime::queues_of_device] : guest_card_[q - first_guest];
  }
  /// means: a queue of the user replaces the compute queue of d, and runs after the work that the
  ///        compute queue has now
  void lend(logical_device& d, short guest);
  void take_back(logical_device& d);
  /// the address at which kernels reach the bytes at p
  void* behind(void* p) const;
  /// the same for a kernel of d: an address of another card is unchanged, and access to it faults
  void* behind_on(logical_device const& d, void* p) const;

 private:
  short card_of(int arena) const { return __atomic_load_n(&card_[arena], __ATOMIC_RELAXED); }
  arena& memory_of(logical_device const& d) { return arenas_[d.index % max_gpus]; }
  int arena_of(void const* p) const;

  arena arenas_[max_gpus];
  short card_[max_gpus]{};  // [arena]
  short guest_card_[guests]{};
  bool peers_ = true;
};

/// One for each process. Never destroyed: tensors may outlive every static object.
LOCUS_SHARED_STATE inline cards& gpus() {
  static cards* const all = new cards;
  return *all;
}

// ---- the message of a forbidden access ----
LOCUS_SHARED_STATE inline struct sigaction handler_before{};

LOCUS_FUNCTION void on_fault(int signal, siginfo_t* info, void* context);
LOCUS_SHARED_STATE inline void install_fault_handler() {
  static bool const once = [] {
    struct sigaction ours{};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &ours, &handler_before) == 0;
  }();
  static_cast<void>(once);
}

}  // namespace locus::simulated

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/simulated/bodies/cards.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// All functions that carry bytes between the ranks of a program, as one table: MPI (locus/mpi.hpp),
// or a simulation for tests. The bytes are in host memory, and those of messages perhaps on a GPU.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>    // LOCUS_SHARED_STATE
#include <locus/device/device.hpp>  // reduction
#include <locus/shape/element.hpp>  // element

namespace locus::runtime {

struct logical_device;

/// One message of an exchange.
struct rank_message {
  int peer = 0;
  void* data = nullptr;
  std::int64_t bytes = 0;
  bool is_sent = false;
};

enum : int {
  rank_success = 0,
  rank_late = 1,       // the time is over
  rank_gone = 2,       // a process ended
  rank_differs = 3,    // a message had another length
  rank_no_kernel = 4,  // all_reduce: the carrier does not add such elements
  rank_failed = 5,     // the carrier's library says more
};

/// The state of the other ranks after a failure.
struct rank_failure {
  int code = rank_success;
  int rank = -1;               // the first that does not answer; -1: unknown
  char const* more = nullptr;  // rank_failed: the text of the library; else where other ranks are
};

/// All functions are called on one thread at a time. They return when the bytes may be used, or
/// with a code when `seconds` are over (0: no limit).
struct rank_carrier {
  /// sends and receives all messages; those between two ranks arrive in order
  rank_failure (*exchange)(rank_message const* all, int count, double seconds);
  /// every rank gets the bytes of rank `root`
  rank_failure (*broadcast)(void* data, std::int64_t bytes, int root, double seconds);
  /// every rank gets the bytes [ends[r - 1], ends[r]) of each rank r; its own are there
  rank_failure (*all_gather)(void* all, std::int64_t const* ends, double seconds);
  /// every rank gets the same sum, product, ... of the numbers of all, in an order that the carrier
  /// chooses; null: it has none
  rank_failure (*all_reduce)(void* data, std::int64_t count, element type, reduction op,
                             double seconds);
  /// the host of a rank, for messages
  char const* (*host_of)(int rank);
  /// the functions may be called by any thread, also while the program calls the library itself
  bool (*any_thread)();
  /// this rank has a processor that no loop of locus uses
  bool (*has_free_processor)();
  char const* name;  // "MPI"
  /// messages of `exchange` may lie in the memory of this GPU, whose queues have no work with the bytes;
  /// null: they lie in host memory
  bool (*takes_memory_of)(logical_device const& gpu) = nullptr;
};

/// The carrier of this program; null: it is one rank.
LOCUS_SHARED_STATE inline constinit rank_carrier const* ranks_by = nullptr;

}  // namespace locus::runtime

// SPDX-License-Identifier: Apache-2.0
// A group of collectives: the requests of each rank. Checked builds check all of them before the
// first is issued; then all are issued together, after the groups that the same cards have already.
#pragma once
#include <locus/backend/cuda/streams.hpp>      // cuda_event_of
#include <locus/collective/communicators.hpp>  // communicator_set
#include <locus/core/macros.hpp>               // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::detail {

enum class request_kind : unsigned char {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  send,
  receive
};
constexpr std::string_view request_name(request_kind k) {
  constexpr std::string_view names[] = {"all_reduce", "reduce", "broadcast",
                                        "all_gather", "send",   "receive"};
  return names[static_cast<int>(k)];
}

/// One request of one rank.
struct nccl_request {
  request_kind what{};
  int rank = 0;
  void const* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  runtime::nccl_type type = runtime::nccl_type::uint8;
  int op = 0,
      peer = 0;  // of a send or a receive the other rank, as NCCL counts; else the root
};

class nccl_group {
 public:
  nccl_group(communicator_set& set, collective_name const& name) : set_(set), name_(name) {
    set.require_usable(name);
  }
  void add(nccl_request const& r) {
    if (r.count > 0) requests_.push(r);
  }
  void send(int from, int to, void const* data, std::int64_t bytes) {
    move(request_kind::send, from, to, data, nullptr, bytes);
  }
  void receive(int at, int from, void* data, std::int64_t bytes) {
    move(request_kind::receive, at, from, nullptr, data, bytes);
  }
  /// means: adds a request that moves bytes
  void move(request_kind what, int rank, int peer, void const* from, void* to, std::int64_t bytes) {
    add({what, rank, from, to, bytes, runtime::nccl_type::uint8, 0, peer});
  }
  bool is_empty() const { return requests_.empty(); }

  /// means: a hash of the collectives that a rank is about to issue and of the number of groups
  ///        before; verify() compares the hashes of all ranks
  std::uint64_t fingerprint(int rank) const;
  /// means: all ranks issue the same collectives in the same order, and each send has its receive
  /// fails: collective_error naming operation, bucket and rank; nothing was issued then
  void verify() const;

  /// means: issues the group after the work that the queues have; returns when NCCL has launched it
  /// fails: collective_error; then the communicators are ended
  void issue(queue_kind queue);
  /// the end of the group on the queue of a rank
  stamp done(int rank) const { return done_[rank]; }

 private:
  /// a thread is inside NCCL: the watch may have to end the communicators to free it
  struct with_nccl {
    communicator_set& set;
    with_nccl(communicator_set& s, collective_name const& name, double now);
    with_nccl(with_nccl const&) = delete;
    ~with_nccl() { set.note_issue({}, 0); }
  };
  static collective_flight::point point(stamp s) { return {s, runtime::cuda_event_of(s)}; }
  void call_nccl(queue_kind queue);
  /// means: gives the group to NCCL; returns NCCL's code: success, or in progress
  int hand_over(queue_kind queue, double begin);
  static bool is_pair(nccl_request const& r) {
    return r.what == request_kind::send || r.what == request_kind::receive;
  }
  int call(nccl_request const& r, queue_kind queue) const;
  nccl_request const* find(int rank, int k) const;
  static message& write(message& text, nccl_request const* r);
  [[noreturn, gnu::cold]] void refuse_difference(int p) const;
  void verify_pairs(int from, int to) const;
  message begin_text() const;

  communicator_set& set_;
  collective_name name_;
  dynamic_array<nccl_request> requests_;
  stamp done_[max_devices]{};
};

/// means: checks a sum of small integers over these cards
/// fails: collective_error, also for cards that claim peer access and do not have it
[[gnu::cold]] LOCUS_FUNCTION void try_communicators(communicator_set& s);

}  // namespace locus::detail

namespace locus::internal {

/// means: the communicators for these cards; the first call makes them
/// fails: collective_error, when they cannot be made, failed before, or were replaced meanwhile
LOCUS_FUNCTION communicator_set& communicators_for(replica_topology const& t,
                                                   collective_name const& name);

enum class card_move : unsigned char { send, receive, broadcast, all_gather };
/// The part of a replica of this process in a move of bytes among the cards of all processes.
struct card_message {
  card_move how{};
  int replica = 0,
      peer = 0;  // peer: the number in NCCL of the other card, or of the one that broadcasts
  void const* from = nullptr;
  void* to = nullptr;
  std::int64_t bytes = 0;  // of `from`
};
/// means: NCCL carries all messages on the communication queues, after the work that the compute
///        queues have; done[r]: when those of replica r have arrived and are gone. Broadcasts and
///        all-gathers are those of all replicas, in one order
/// fails: collective_error
LOCUS_FUNCTION void move_among_cards(replica_topology const& t, collective_name const& name,
                                     dynamic_array<card_message> const& all, stamp* done);

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/group.hpp>  // bodies of the functions above
#endif

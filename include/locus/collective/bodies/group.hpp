// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/group.hpp declares.
#pragma once
#include <locus/collective/error.hpp>  // collective_error
#include <locus/collective/group.hpp>  // the declarations
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/copies.hpp>    // copy
#include <locus/memory/allocate.hpp>   // allocate, release
#include <locus/watch/watch.hpp>       // watched

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION std::uint64_t nccl_group::fingerprint(int rank) const {
  std::uint64_t h = 0xcbf29ce484222325u ^ set_.issued;
  for (nccl_request const& r : requests_)
    if (r.rank == rank && !is_pair(r))
      for (std::uint64_t v : {std::uint64_t(r.what), std::uint64_t(r.count), std::uint64_t(r.type),
                              std::uint64_t(r.op), std::uint64_t(r.peer)})
        h = (h ^ v) * 0x100000001b3u;
  return h;
}

LOCUS_FUNCTION void nccl_group::verify() const {
  for (int p = 1; p < set_.ranks; ++p)
    if (fingerprint(p) != fingerprint(0)) refuse_difference(p);
  if (set_.joins_processes()) return;  // the other half of a pair is a request of another process
  for (int p = 0; p < set_.ranks; ++p)
    for (int q = 0; q < set_.ranks; ++q) verify_pairs(p, q);
}

LOCUS_FUNCTION void nccl_group::issue(queue_kind queue) {
  if (requests_.empty()) return;
  communicator_registry& all = communicators();
  lock_guard hold(runtime::issue_lock);
  set_.require_usable(name_);  // the set may have failed since its last check
  if constexpr (checked_build) verify();
  bool const watched = set_.on[0]->is_card();
  collective_flight flight;
  flight.name = name_, flight.deadline = set_.deadline();
  for (int p = 0; p < set_.ranks; ++p) {
    runtime::wait(*set_.on[p], queue, all.last_on_card[set_.on[p]->card]);
    if (watched) flight.before[p] = point(runtime::mark(*set_.on[p], queue));
  }
  call_nccl(queue);
  if (watched) set_.watch(flight), collective_watch::wake();
  for (int p = 0; p < set_.ranks; ++p) {
    all.last_on_card[set_.on[p]->card] = done_[p] = runtime::mark(*set_.on[p], queue);
    if (watched) set_.note_done(p, point(done_[p]));
  }
}

LOCUS_FUNCTION nccl_group::with_nccl::with_nccl(communicator_set& s, collective_name const& name,
                                                double now)
    : set(s) {
  s.note_issue(name, now);
  if (s.on[0]->is_card()) collective_watch::wake();
}

LOCUS_FUNCTION void nccl_group::call_nccl(queue_kind queue) {
  lock_guard using_it(set_.use);
  set_.require_usable(name_);
  nccl_card_scope const scope(*set_.on[0]);
  double const begin = seconds_now();
  if (hand_over(queue, begin) == runtime::nccl_in_progress) set_.settle(name_, set_.deadline());
  set_.require_usable(name_);
}

LOCUS_FUNCTION int nccl_group::hand_over(queue_kind queue, double begin) {
  int start = 0, wrong = 0, at = -1, end = 0;
  message why;  // text_of_error() now: the end of the group replaces it
  {
    with_nccl const here(set_, name_, begin);
    start = set_.api->group_start();
    for (std::size_t i = 0; i < requests_.size() && start == 0 && wrong == 0; ++i) {
      wrong = call(requests_[i], queue);
      if (wrong == runtime::nccl_in_progress) wrong = 0;
      if (wrong != 0) at = requests_[i].rank, why << set_.text_of_error();
    }
    if (start == 0) end = set_.api->group_end();
    __atomic_add_fetch(&set_.issued, 1, __ATOMIC_RELAXED);
  }
  double const seconds = seconds_now() - begin;
  if (start != 0) set_.fail(name_, -1, "a group cannot begin", start, seconds);
  if (wrong != 0) set_.fail(name_, at, "NCCL refused it", wrong, seconds, why.view());
  if (end != 0 && end != runtime::nccl_in_progress)
    set_.fail(name_, -1, "NCCL did not take it", end, seconds);
  return end;
}

LOCUS_FUNCTION int nccl_group::call(nccl_request const& r, queue_kind queue) const {
  runtime::nccl_api const& api = *set_.api;
  void *const comm = set_.comm[r.rank], *const stream = stream_of(*set_.on[r.rank], queue);
  auto const n = static_cast<std::size_t>(r.count);
  switch (r.what) {
  case request_kind::all_reduce: return api.all_reduce(r.from, r.to, n, r.type, r.op, comm, stream);
  case request_kind::reduce: return api.reduce(r.from, r.to, n, r.type, r.op, r.peer, comm, stream);
  case request_kind::broadcast: return api.broadcast(r.from, r.to, n, r.type, r.peer, comm, stream);
  case request_kind::all_gather: return api.all_gather(r.from, r.to, n, r.type, comm, stream);
  case request_kind::send: return api.send(r.from, n, r.type, r.peer, comm, stream);
  case request_kind::receive: return api.receive(r.to, n, r.type, r.peer, comm, stream);
  }
  return 0;
}

LOCUS_FUNCTION nccl_request const* nccl_group::find(int rank, int k) const {
  for (nccl_request const& r : requests_)
    if (r.rank == rank && !is_pair(r) && k-- == 0) return &r;
  return nullptr;
}

LOCUS_FUNCTION message& nccl_group::write(message& text, nccl_request const* r) {
  if (!r) return text << "nothing";
  return text << request_name(r->what) << " of " << r->count << " elements of NCCL's type "
              << static_cast<int>(r->type) << " with operation " << r->op;
}

LOCUS_FUNCTION void nccl_group::refuse_difference(int p) const {
  int k = 0;
  auto same = [&] {
    nccl_request const *a = find(0, k), *b = find(p, k);
    return a && b && a->what == b->what && a->count == b->count && a->type == b->type &&
           a->op == b->op && a->peer == b->peer;
  };
  while (same()) ++k;
  message text = begin_text();
  text << " would not end: call " << k << " of rank " << p << " (" << set_.list[p] << ") is ";
  write(text, find(p, k)) << ", that of rank 0 is ";
  write(text, find(0, k));
  throw collective_error(text << "; give every replica the same calls in the same order",
                         name_.operation, name_.bucket, p, 0);
}

LOCUS_FUNCTION void nccl_group::verify_pairs(int from, int to) const {
  std::size_t r = 0;
  auto next = [&](request_kind what, int rank, int peer, std::size_t& i) {
    for (; i < requests_.size(); ++i)
      if (requests_[i].what == what && requests_[i].rank == rank && requests_[i].peer == peer)
        return &requests_[i++];
    return static_cast<nccl_request const*>(nullptr);
  };
  for (std::size_t s = 0;;) {
    auto const* const out = next(request_kind::send, from, to, s);
    auto const* const in = next(request_kind::receive, to, from, r);
    if (!out && !in) return;
    if (out && in && out->count == in->count && out->type == in->type) continue;
    message text = begin_text();
    text << " would not end: rank " << from << " sends " << (out ? out->count : 0)
         << " elements to rank " << to << ", which takes " << (in ? in->count : 0);
    throw collective_error(text << "; this is an error in locus", name_.operation, name_.bucket, to,
                           0);
  }
}

LOCUS_FUNCTION message nccl_group::begin_text() const {
  message text;
  text << "locus: " << name_.operation;
  if (name_.bucket >= 0) text << " of bucket " << int(name_.bucket);
  return text;
}

LOCUS_FUNCTION void try_communicators(communicator_set& s) {
  collective_name const name{"the first all_reduce", -1};
  step_record const record{-1, "trying NCCL", s.list[0]};
  runtime::running_scope const scope(&record);
  static constexpr std::int64_t bytes = allocation_unit;
  static constexpr std::string_view purpose = "a first all_reduce";
  logical_device& host = runtime::find_device(cpu(0));
  struct memory {
    communicator_set& of;
    void* at[max_devices]{};
    ~memory() {
      for (int p = 0; p < of.ranks; ++p) runtime::release(*of.on[p], at[p], bytes, purpose);
    }
  } m{s};
  nccl_group group(s, name);
  std::int32_t sent[max_devices][2];
  for (int p = 0; p < s.ranks; ++p) {
    m.at[p] = runtime::allocate(*s.on[p], bytes, purpose);
    sent[p][0] = s.before + p + 1, sent[p][1] = 1000 * sent[p][0];
    runtime::copy(*s.on[p], m.at[p], host, sent[p], 8, queue_kind::compute, record);
    group.add({request_kind::all_reduce, p, m.at[p], m.at[p], 2, runtime::nccl_type::int32,
               runtime::nccl_sum, 0});
  }
  group.issue(queue_kind::compute);
  for (int p = 0; p < s.ranks; ++p) {
    runtime::synchronize(group.done(p));
    s.require_usable(name);
    std::int32_t got[2]{};
    runtime::synchronize(
        runtime::copy(host, got, *s.on[p], m.at[p], 8, queue_kind::compute, record));
    int const sum = s.all * (s.all + 1) / 2;
    if (got[0] == sum && got[1] == 1000 * sum) continue;
    lock_guard using_it(s.use);
    s.fail(name, p, "a sum of small integers came out wrong; try NCCL_P2P_DISABLE=1", 0, 0);
  }
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION communicator_set& communicators_for(replica_topology const& t,
                                                   collective_name const& name) {
  communicator_registry& all = communicators();
  auto const find = [&] {
    lock_guard hold(all.lock);
    communicator_set* s = all.find(t.representatives());
    if (!s) s = all.sets.push(empty_set(t, nccl_of(*t.on[t.first[0]])));
    return s;
  };
  communicator_set* s = find();
  s->require_usable(name);
  if (__atomic_load_n(&s->tried, __ATOMIC_ACQUIRE)) return *s;
  lock_guard one_at_a_time(all.making);
  s = find();
  s->require_usable(name);
  if (s->tried) return *s;
  if (!s->ready) init_communicators(*s);
  try_communicators(*s);
  __atomic_store_n(&s->tried, true, __ATOMIC_RELEASE);
  return *s;
}

LOCUS_FUNCTION void move_among_cards(replica_topology const& t, collective_name const& name,
                                     dynamic_array<card_message> const& all, stamp* done) {
  using locus::detail::request_kind;
  nccl_group group(communicators_for(t, name), name);
  bool takes_part[max_devices]{};
  for (card_message const& m : all) {
    takes_part[m.replica] = true;
    request_kind const what = m.how == card_move::send        ? request_kind::send
                              : m.how == card_move::receive   ? request_kind::receive
                              : m.how == card_move::broadcast ? request_kind::broadcast
                                                              : request_kind::all_gather;
    group.move(what, t.rank[m.replica], m.peer, m.from, m.to, m.bytes);
  }
  for (int r = 0; r < t.count; ++r)
    if (takes_part[r])
      runtime::wait(*t.on[r], queue_kind::communication,
                    runtime::mark(*t.on[r], queue_kind::compute));
  group.issue(queue_kind::communication);
  for (int r = 0; r < t.count; ++r)
    if (takes_part[r]) done[r] = group.done(t.rank[r]);
}

}  // namespace locus::internal

LOCUS_COLD_END

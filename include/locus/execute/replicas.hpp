// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas inside a run, by device list: one fold where all terms are within one
// device's reach (host memory, one card), otherwise copies to the host, a fold there, and copies
// back.
#pragma once
#include <utility>  // exchange, swap

#include <locus/collective/fold.hpp>    // replica_terms
#include <locus/execute/log.hpp>        // log_collective
#include <locus/execute/run_watch.hpp>  // run_watch
#include <locus/execute/transport.hpp>  // transport

namespace locus::detail {

class replica_reduction : protected transport {
 protected:
  replica_reduction(program const& p, run_arrays const& arrays, target const* targets,
                    run_watch const& seen)
      : transport(p, arrays, targets), seen_(seen) {}

  /// the memory that packing its terms takes, and bringing them to the host
  [[gnu::cold]] void foresee_terms(transfer const& me) {
    place const& from = plan_.steps[me.from].where;
    std::int64_t const bytes = bytes_of_terms(me);
    bool const staged = bytes > 0 && !(me.how == transfer_kind::all_reduce && in_reach(from));
    logical_device& host = runtime::find_device(cpu(0));
    if (staged) will_need(host, bytes);  // the sum
    for (int r = 0; r < from.count(); ++r) {
      logical_device& d = runtime::find_device(from.at(r));
      if (staged && d.how != backing::host) will_need(host, bytes);
      if (!is_dense(value(me.from, r), extents_[me.from].rank)) will_need(d, bytes);
    }
  }
  /// all-reduces of one bucket: their terms travel together
  [[gnu::cold]] void reduce_bucket(short bucket) {
    ++done_.all_reduces;
    place over{};
    std::int64_t bytes = 0;
    for (transfer const& t : plan_.transfers)
      if (t.bucket == bucket) over = plan_.steps[t.from].where, bytes += bytes_of_terms(t);
    done_.bytes_reduced += bytes;
    if (seen_.log) {
      auto const how = over.count() == 1   ? "nothing to do"
                       : all_on_host(over) ? "a fold on the host"
                       : in_reach(over)    ? "a fold in the card"
                                           : "copies and a fold on the host";
      log_collective(transfer_kind::all_reduce, plan_, bucket, over, how, bytes, seen_.site);
    }
    for (transfer const& t : plan_.transfers) {
      if (t.bucket != bucket || bytes_of_terms(t) == 0) continue;
      if (in_reach(over))
        fold_in_place(t);
      else
        send_back(t, fold_staged(t));
    }
  }
  /// partial to single or to pieces: the sum on the host, and from there to where it belongs
  [[gnu::cold]] void reduce_apart(transfer const& me) {
    step const& s = plan_.steps[me.from];
    std::int64_t const bytes = bytes_of_terms(me);
    ++done_.other_reductions;
    done_.bytes_reduced += bytes;
    if (seen_.log)
      log_collective(me.how, plan_, -1, s.where, "copies and a fold on the host", bytes,
                     seen_.site);
    if (bytes == 0) return;
    void* const sum = fold_staged(me);
    logical_device& host = runtime::find_device(cpu(0));
    local_layout layout, part_layout;
    int const v = value_of(me), rank = rank_of(v);
    local_value const whole = dense_value(sum, whole_of(v), single(host.name), 0, layout);
    for (int r = 0; r < me.arrives.count(); ++r) {
      bool const cut = me.arrives.is_sharded();
      local_value const part =
          cut ? piece_of(whole, rank, me.arrives, r, whole_of(v), s.element_bytes, part_layout)
              : whole;
      carry({&runtime::find_device(me.arrives.at(r)), &value(v, r), v, r}, {&host, &part}, rank,
            s.element_bytes, {me.from, name_of(me.how), host.name});
    }
    settle();
  }

  tally done_{};
  run_watch const seen_;

 private:
  std::int64_t bytes_of_terms(transfer const& t) const {
    return extents_[t.from].size() * plan_.steps[t.from].element_bytes;
  }
  static bool share_card(place const& p) {
    logical_device const& first = runtime::find_device(p.at(0));
    for (int r = 1; r < p.count(); ++r) {
      logical_device const& d = runtime::find_device(p.at(r));
      if (d.how != first.how || d.card != first.card) return false;
    }
    return true;
  }

  /// one kernel can read all terms
  static bool in_reach(place const& p) { return all_on_host(p) || share_card(p); }

  /// a fold runs over dense terms: one that is looked at with gaps or in another order is packed
  void* dense_term(transfer const& me, int r) {
    local_value const& term = value(me.from, r);
    int const rank = extents_[me.from].rank;
    if (is_dense(term, rank)) return term.data;
    logical_device& d = runtime::find_device(plan_.steps[me.from].where.at(r));
    step_record const record{me.from, "packing a term", d.name};
    local_layout layout;
    local_value const packed = dense_value(take_reserve(d, bytes_of_terms(me)), extents_[me.from],
                                           single(d.name), 0, layout);
    carry({&d, &packed}, {&d, &term, me.from, r}, rank, plan_.steps[me.from].element_bytes, record);
    return packed.data;
  }

  /// the terms of a transfer in replica order, each on its device
  replica_terms find_terms(transfer const& me) {
    place const& from = plan_.steps[me.from].where;
    replica_terms terms;
    terms.term_count = from.count();
    terms.count = extents_[me.from].size();
    for (int r = 0; r < from.count(); ++r) terms.terms[r] = dense_term(me, r);
    if (runtime::planted.swap_replicas && from.count() > 1)
      std::swap(terms.terms[0], terms.terms[1]);
    if constexpr (checked_build)
      for (int r = 0; r < from.count(); ++r)
        check_owner(runtime::find_device(from.at(r)), terms.terms[r],
                    {me.from, name_of(me.how), from.at(r)});
    return terms;
  }
  /// one kernel reads all terms and writes every replica
  [[gnu::cold]] void fold_in_place(transfer const& me) {
    place const& over = plan_.steps[me.from].where;
    int const v = value_of(me);
    auto const bytes = static_cast<std::size_t>(bytes_of_terms(me));
    replica_terms terms = find_terms(me);
    terms.out_count = over.count();
    logical_device& first = runtime::find_device(over.at(0));
    step_record const record{me.from, name_of(me.how), first.name};
    touched operands[2 * max_devices];
    for (int r = 0; r < over.count(); ++r) {
      logical_device& d = runtime::find_device(over.at(r));
      terms.outs[r] = value(v, r).data;
      wait_for(me.from, r, d);
      if (&d != &first)
        runtime::wait(first, queue_kind::compute, runtime::mark(d, queue_kind::compute));
      operands[2 * r] = {terms.terms[r], bytes, false},
                   operands[2 * r + 1] = {terms.outs[r], bytes, true};
    }
    runtime::running_scope const scope(&record);
    p_.folds[&me - plan_.transfers.first]({&first, record, operands, 2 * over.count()}, terms);
    stamp const done = runtime::mark(first, queue_kind::compute);
    for (int r = 1; r < over.count(); ++r)
      runtime::wait(runtime::find_device(over.at(r)), queue_kind::compute, done);
  }
  /// means: the sum on the host: terms come there and are folded in replica order
  [[gnu::cold]] void* fold_staged(transfer const& me) {
    place const& over = plan_.steps[me.from].where;
    logical_device& host = runtime::find_device(cpu(0));
    step_record const record{me.from, name_of(me.how), host.name};
    runtime::running_scope const scope(&record);
    replica_terms terms = find_terms(me);
    std::int64_t const bytes = bytes_of_terms(me);
    void* const sum = take_reserve(host, bytes);
    drained const staged(*this);
    stamp arrived[max_devices];
    for (int r = 0; r < over.count(); ++r) {
      logical_device& d = runtime::find_device(over.at(r));
      if (d.how == backing::host) continue;
      void* const stage = take_reserve(host, bytes);
      runtime::wait(d, queue_kind::copy, runtime::mark(d, queue_kind::compute));
      runtime::wait(d, queue_kind::copy, a_.ready[index(me.from, r)]);
      arrived[r] = runtime::copy(host, stage, d, terms.terms[r], bytes, queue_kind::copy, record);
      terms.terms[r] = stage;
    }
    for (stamp const& a : arrived) runtime::synchronize(a);
    for (int r = 0; r < over.count(); ++r)
      runtime::check_host_access(terms.terms[r], bytes, false, record);
    terms.outs[0] = sum, terms.out_count = 1;
    p_.folds[&me - plan_.transfers.first]({&host, record, nullptr, 0}, terms);
    return sum;
  }
  [[gnu::cold]] void send_back(transfer const& me, void const* sum) {
    place const& over = plan_.steps[me.from].where;
    logical_device& host = runtime::find_device(cpu(0));
    for (int r = 0; r < over.count(); ++r) {
      logical_device& d = runtime::find_device(over.at(r));
      if (d.how != backing::host)
        runtime::wait(d, queue_kind::copy, runtime::mark(d, queue_kind::compute));
      stamp const back =
          runtime::copy(d, value(value_of(me), r).data, host, sum, bytes_of_terms(me),
                        queue_kind::copy, {me.from, name_of(me.how), d.name});
      runtime::wait(d, queue_kind::compute, back);
    }
  }
};

}  // namespace locus::detail

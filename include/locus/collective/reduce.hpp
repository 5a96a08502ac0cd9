// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas, by whoever carries them: one fold where one kernel reaches all terms;
// among cards NCCL, or, where replica order or NaN matter, terms to the card that owns a segment, a
// fold there, and the segments to all; otherwise the host.
// Before: each term, and the memory of each result, is ordered in its device's compute queue.
// After: so are the results, unless `done` holds a stamp.
#pragma once
#include <utility>  // exchange

#include <locus/collective/fold.hpp>   // replica_terms
#include <locus/collective/group.hpp>  // nccl_group
#include <locus/core/config.hpp>       // LOCUS_COLD_BEGIN
#include <locus/plan/memory.hpp>       // round_up

LOCUS_COLD_BEGIN

namespace locus::detail {

using fold_fn = void (*)(launch_site const&, replica_terms const&);

/// One reduction: the replicas' terms, dense and of one length, and where the results go.
struct reduction_job {
  void* terms[max_devices]{};    // [replica]
  short whose[max_devices]{};    // [replica]: whose term that is, as a check
  void* outs[max_devices]{};     // [replica]; may be the term
  stamp done[max_devices]{};     // [replica]: when the result is there, if not in queue order
  void* scratch[max_devices]{};  // [replica]: scratch_bytes there
  void* host_scratch = nullptr;  // host_scratch_bytes
  std::int64_t count = 0;        // elements
  int element_bytes = 0;
  runtime::nccl_type type = runtime::nccl_type::none;
  reduction op = reduction::sum;
  scaling scaled = scaling::none;
  double by = 1;
  fold_fn fold = nullptr;
  step_record record{};

  std::int64_t bytes() const { return count * element_bytes; }
  void* term_at(int r, std::int64_t element) const {
    return static_cast<char*>(terms[r]) + element * element_bytes;
  }
};

/// Elements that one replica folds, and where to.
struct segment {
  std::int64_t begin = 0, count = 0;
  int owner = 0;
  void* out = nullptr;
};

/// means: NCCL's operation with the meaning of ours; -1: it has none. Its extrema of floats lose
///        NaN.
constexpr int nccl_op_for(reduction op, runtime::nccl_type type) {
  switch (op) {
  case reduction::sum: return runtime::nccl_sum;
  case reduction::max: return is_floating(type) ? -1 : int(runtime::nccl_max);
  case reduction::min: return is_floating(type) ? -1 : int(runtime::nccl_min);
  case reduction::any: return runtime::nccl_max;
  case reduction::all: return runtime::nccl_min;
  default: return -1;
  }
}
constexpr runtime::nccl_type nccl_type_of(element e) {
  using enum runtime::nccl_type;
  constexpr runtime::nccl_type types[] = {float32, float64, int32,    int64, uint8,
                                          uint8,   float16, bfloat16, int8,  none};
  return types[static_cast<int>(e)];
}

class replica_reducer {
 public:
  replica_reducer(replica_topology const& t, collective_name const& name) : t_(t), name_(name) {}

  /// NCCL's own operation serves
  bool is_direct(reduction_job const& j) const {
    return t_.uses_nccl() && t_.order == reduction_order::fast &&
           j.type != runtime::nccl_type::none && nccl_op_for(j.op, j.type) >= 0;
  }
  /// NCCL's own reduce serves
  bool reduces_directly(reduction_job const& j) const {
    return t_.how == collective_algorithm::nccl && is_direct(j);
  }
  /// how, for the log
  text_buffer<80> describe(reduction_job const* j) const {
    text_buffer<80> text;
    text << sentence(t_.how);
    if (t_.uses_nccl() && j && !is_direct(*j)) text << ", in replica order";
    return text;
  }
  /// where all-reduces of these run: beside the compute queues, if no kernel has a part in them
  queue_kind queue_of(reduction_job const* jobs, int n) const {
    bool beside = t_.how == collective_algorithm::nccl;
    for (int k = 0; k < n; ++k)
      beside = beside && is_direct(jobs[k]) && jobs[k].scaled != scaling::divide_sum;
    return beside ? queue_kind::communication : queue_kind::compute;
  }
  // ---- memory: what a job needs besides terms and results, on each replica's device ----
  std::int64_t scratch_of(segment const& s, int element_bytes) const {
    return (t_.count - t_.on_card(t_.rank[s.owner])) * round_up(s.count * element_bytes);
  }
  std::int64_t scratch_of_all_reduce(reduction_job const& j, int r) const {
    if (t_.in_reach()) return 0;
    if (!t_.uses_nccl()) return 0;
    if (is_direct(j) || !t_.is_first(r)) return 0;
    return scratch_of(cut(j, t_.rank[r]), j.element_bytes);
  }
  /// through the host: the sum, and each term that does not lie there
  std::int64_t host_scratch(reduction_job const& j) const {
    if (t_.in_reach() || t_.uses_nccl()) return 0;
    std::int64_t n = 1;
    for (int r = 0; r < t_.count; ++r) n += t_.on[r]->how != backing::host;
    return n * round_up(j.bytes());
  }

  /// every replica's result
  void all_reduce(reduction_job* jobs, int n) {
    for (int k = 0; k < n; ++k) require_order(jobs[k]);
    if (t_.in_reach()) {
      for (int k = 0; k < n; ++k)
        if (jobs[k].count > 0) fold_in_reach(jobs[k], jobs[k].outs, t_.count, 0);
      return;
    }
    if (!t_.uses_nccl()) {
      for (int k = 0; k < n; ++k)
        if (jobs[k].count > 0) send_back(jobs[k], fold_on_host(jobs[k]));
      return;
    }
    all_reduce_by_nccl(jobs, n);
  }
  /// the result on one replica's device, at `out`; on a list without a common reach and without
  /// NCCL it stays on the host, and is returned
  void* reduce(reduction_job& j, int root, void* out) {
    require_order(j);
    if (j.count == 0) return out;
    if (t_.in_reach()) {
      fold_in_reach(j, &out, 1, root);
      return out;
    }
    if (!t_.uses_nccl()) return fold_on_host(j);
    if (reduces_directly(j)) {
      reduce_by_nccl(j, root, out);
      return out;
    }
    segment const whole{0, j.count, root, out};
    fold_segments(j, &whole, 1);
    return out;
  }
  /// each segment on its owner's device
  void fold_segments(reduction_job& j, segment const* segments, int n) {
    require_order(j);
    runtime::running_scope const scope(&j.record);
    communicator_set& set = communicators_for(t_, name_);
    nccl_group group(set, name_);
    wait_for_cards(queue_kind::compute);
    gather(group, j, segments, n);
    group.issue(queue_kind::compute);
    for (int p = 0; p < t_.ranks; ++p) follow(*t_.on[t_.first[p]], p);
    for (int s = 0; s < n; ++s) fold_gathered(j, segments[s]);
  }

 private:
  // ---- order ----
  static void after(logical_device& d, queue_kind queue, logical_device& before) {
    if (&d == &before && queue == queue_kind::compute) return;
    runtime::wait(d, queue, runtime::mark(before, queue_kind::compute));
  }
  /// what NCCL does on a card comes after what its devices were given
  void wait_for_cards(queue_kind queue) {
    for (int r = 0; r < t_.count; ++r)
      if (t_.rank[r] >= 0) after(*t_.on[t_.first[t_.rank[r]]], queue, *t_.on[r]);
  }
  /// every term is that of its replica
  void require_order(reduction_job const& j) const {
    if constexpr (checked_build)
      for (short r = 0; r < t_.count; ++r)
        if (j.whose[r] != r) refuse_order(j, r);
  }
  [[noreturn, gnu::cold]] void refuse_order(reduction_job const& j, short r) const {
    message text;
    throw bad_access(text << "locus: step " << int(j.record.number) << " (" << j.record.name
                          << ") takes the term of replica " << int(j.whose[r])
                          << " for that of replica " << int(r) << " on " << t_.on[r]->name
                          << "; this is an error in locus");
  }

  // ---- kernels ----
  /// terms in one card's memory, folded by the kernel of one of its devices
  static void fold(logical_device& d, reduction_job const& j, replica_terms const& terms) {
    auto const bytes = static_cast<std::size_t>(terms.count * j.element_bytes);
    touched operands[2 * max_devices];
    int n = 0;
    for (int r = 0; r < terms.term_count; ++r) operands[n++] = {terms.terms[r], bytes, false};
    for (int r = 0; r < terms.out_count; ++r) operands[n++] = {terms.outs[r], bytes, true};
    step_record const record{j.record.number, j.record.name, d.name};
    runtime::running_scope const scope(&record);
    if (d.how == backing::host)
      for (int i = 0; i < n; ++i)
        runtime::check_host_access(operands[i].first, std::int64_t(bytes), operands[i].writes,
                                   record);
    j.fold({&d, record, operands, n}, terms);
  }
  /// means: one kernel reads all terms and writes `outs`; it runs on replica `at`
  void fold_in_reach(reduction_job const& j, void* const* outs, int out_count, int at) {
    logical_device& first = *t_.on[at];
    replica_terms terms;
    terms.term_count = t_.count, terms.out_count = out_count, terms.count = j.count;
    terms.scaled = j.scaled, terms.by = j.by;
    for (int r = 0; r < t_.count; ++r) {
      terms.terms[r] = j.terms[r];
      after(first, queue_kind::compute, *t_.on[r]);
    }
    for (int r = 0; r < out_count; ++r) terms.outs[r] = outs[r];
    fold(first, j, terms);
    follow(first);
  }
  /// all replicas, or those of rank p, go on after what `d` was given: it reads their terms
  void follow(logical_device& d, int p = -1) {
    stamp const done = runtime::mark(d, queue_kind::compute);
    for (int r = 0; r < t_.count; ++r)
      if (t_.on[r] != &d && (p < 0 || t_.rank[r] == p))
        runtime::wait(*t_.on[r], queue_kind::compute, done);
  }
  /// one value of a card's device to others of that card; divides it first where a mean is owed
  void spread(reduction_job const& j, int p, bool divides) {
    int const first = t_.first[p];
    replica_terms terms;
    terms.term_count = 1, terms.count = j.count, terms.terms[0] = j.outs[first];
    if (divides) {
      terms.scaled = scaling::divide_sum, terms.by = j.by;
      terms.outs[terms.out_count++] = j.outs[first];
    }
    for (int r = 0; r < t_.count; ++r)
      if (t_.rank[r] == p && r != first && j.outs[r] != j.outs[first])
        terms.outs[terms.out_count++] = j.outs[r];
    if (terms.out_count == 0) return;
    fold(*t_.on[first], j, terms);
    follow(*t_.on[first], p);
  }
  /// the terms of each card's own replicas, in its first result
  void fold_cards(reduction_job const& j) {
    for (int p = 0; p < t_.ranks; ++p) {
      replica_terms terms;
      terms.count = j.count, terms.out_count = 1, terms.outs[0] = j.outs[t_.first[p]];
      if (j.scaled == scaling::multiply_terms) terms.scaled = j.scaled, terms.by = j.by;
      for (int r = 0; r < t_.count; ++r)
        if (t_.rank[r] == p) terms.terms[terms.term_count++] = j.terms[r];
      fold(*t_.on[t_.first[p]], j, terms);
    }
  }

  // ---- NCCL ----
  [[gnu::cold]] void all_reduce_by_nccl(reduction_job* jobs, int n) {
    bool const cards = t_.how == collective_algorithm::hierarchical;
    bool direct = true, any = false;
    for (int k = 0; k < n; ++k)
      direct = direct && is_direct(jobs[k]), any = any || jobs[k].count > 0;
    if (!any) return;
    runtime::running_scope const scope(&jobs[0].record);
    if (!direct) return all_reduce_in_segments(jobs, n);
    communicator_set& set = communicators_for(t_, name_);
    nccl_group group(set, name_);
    queue_kind const queue = queue_of(jobs, n);
    wait_for_cards(queue);
    for (int k = 0; k < n; ++k) {
      reduction_job const& j = jobs[k];
      if (j.count == 0) continue;
      if (cards) fold_cards(j);
      bool const averages = !cards && j.scaled == scaling::multiply_terms;
      int const op = averages ? int(runtime::nccl_avg) : nccl_op_for(j.op, j.type);
      for (int p = 0; p < t_.ranks; ++p) {
        int const r = t_.first[p];
        group.add({request_kind::all_reduce, p, cards ? j.outs[r] : j.terms[r], j.outs[r], j.count,
                   j.type, op, 0});
      }
    }
    group.issue(queue);
    for (int k = 0; k < n; ++k) {
      reduction_job& j = jobs[k];
      for (int p = 0; p < t_.ranks && j.count > 0; ++p)
        if (queue == queue_kind::compute)
          spread(j, p, j.scaled == scaling::divide_sum);
        else
          j.done[t_.first[p]] = group.done(p);
    }
  }
  [[gnu::cold]] void reduce_by_nccl(reduction_job const& j, int root, void* out) {
    runtime::running_scope const scope(&j.record);
    communicator_set& set = communicators_for(t_, name_);
    nccl_group group(set, name_);
    wait_for_cards(queue_kind::compute);
    int const op =
        j.scaled == scaling::multiply_terms ? int(runtime::nccl_avg) : nccl_op_for(j.op, j.type);
    for (int p = 0; p < t_.ranks; ++p)
      group.add({request_kind::reduce, p, j.terms[t_.first[p]], p == root ? out : nullptr, j.count,
                 j.type, op, root});
    group.issue(queue_kind::compute);
    if (j.scaled != scaling::divide_sum) return;
    replica_terms terms;
    terms.term_count = terms.out_count = 1, terms.count = j.count;
    terms.terms[0] = terms.outs[0] = out, terms.scaled = j.scaled, terms.by = j.by;
    fold(*t_.on[root], j, terms);
  }

  // ---- terms to the owner of a segment, in replica order ----
  /// the part of rank p, when the cards share a value
  segment cut(reduction_job const& j, int p) const {
    int const r = t_.first[p];
    std::int64_t const begin = piece_begin(j.count, t_.ranks, p);
    auto* const out = static_cast<char*>(j.outs[r]);  // null, while only sizes are known
    return {begin, piece_size(j.count, t_.ranks, p), r,
            out ? out + begin * j.element_bytes : nullptr};
  }
  void* slot(reduction_job const& j, segment const& s, int k) const {
    return static_cast<char*>(j.scratch[s.owner]) + k * round_up(s.count * j.element_bytes);
  }
  void gather(nccl_group& group, reduction_job const& j, segment const* segments, int n) {
    for (int i = 0; i < n; ++i) {
      segment const& s = segments[i];
      int const p = t_.rank[s.owner];
      for (int r = 0, k = 0; r < t_.count; ++r) {
        if (t_.rank[r] == p) continue;
        group.send(t_.rank[r], p, j.term_at(r, s.begin), s.count * j.element_bytes);
        group.receive(p, t_.rank[r], slot(j, s, k++), s.count * j.element_bytes);
      }
    }
  }
  void fold_gathered(reduction_job const& j, segment const& s) {
    if (s.count == 0) return;
    logical_device& d = *t_.on[s.owner];
    int const p = t_.rank[s.owner];
    replica_terms terms;
    terms.term_count = t_.count, terms.out_count = 1, terms.count = s.count;
    terms.scaled = j.scaled, terms.by = j.by, terms.outs[0] = s.out;
    for (int r = 0, k = 0; r < t_.count; ++r)
      terms.terms[r] = t_.rank[r] == p ? j.term_at(r, s.begin) : slot(j, s, k++);
    after(d, queue_kind::compute, *t_.on[t_.first[p]]);
    for (int r = 0; r < t_.count; ++r)
      if (t_.rank[r] == p) after(d, queue_kind::compute, *t_.on[r]);
    fold(d, j, terms);
    follow(d, p);
  }
  [[gnu::cold]] void all_reduce_in_segments(reduction_job* jobs, int n) {
    communicator_set& set = communicators_for(t_, name_);
    wait_for_cards(queue_kind::compute);
    nccl_group there(set, name_), back(set, name_);
    for (int k = 0; k < n; ++k)
      for (int p = 0; p < t_.ranks; ++p) {
        segment const s = cut(jobs[k], p);
        gather(there, jobs[k], &s, 1);
        for (int q = 0; q < t_.ranks; ++q) {
          if (q == p) continue;
          std::int64_t const bytes = s.count * jobs[k].element_bytes;
          back.send(p, q, s.out, bytes);
          back.receive(
              q, p, static_cast<char*>(jobs[k].outs[t_.first[q]]) + s.begin * jobs[k].element_bytes,
              bytes);
        }
      }
    there.issue(queue_kind::compute);
    for (int k = 0; k < n; ++k)
      for (int p = 0; p < t_.ranks; ++p) fold_gathered(jobs[k], cut(jobs[k], p));
    back.issue(queue_kind::compute);
    for (int k = 0; k < n; ++k)
      for (int p = 0; p < t_.ranks; ++p)
        if (jobs[k].count > 0) spread(jobs[k], p, false);
  }

  // ---- by way of the host ----
  [[gnu::cold]] void* fold_on_host(reduction_job const& j) {
    logical_device& host = runtime::find_device(cpu(0));
    step_record const record{j.record.number, j.record.name, host.name};
    runtime::running_scope const scope(&record);
    char* next = static_cast<char*>(j.host_scratch);
    auto take = [&] { return std::exchange(next, next + round_up(j.bytes())); };
    void* const sum = take();
    replica_terms terms;
    terms.term_count = t_.count, terms.out_count = 1, terms.count = j.count, terms.outs[0] = sum;
    terms.scaled = j.scaled, terms.by = j.by;
    stamp arrived[max_devices];
    for (int r = 0; r < t_.count; ++r) {
      logical_device& d = *t_.on[r];
      terms.terms[r] = j.terms[r];
      if (d.how == backing::host) continue;
      void* const stage = take();
      runtime::wait(d, queue_kind::communication, runtime::mark(d, queue_kind::compute));
      arrived[r] =
          runtime::copy(host, stage, d, j.terms[r], j.bytes(), queue_kind::communication, record);
      terms.terms[r] = stage;
    }
    for (stamp const& a : arrived) runtime::synchronize(a);
    fold(host, j, terms);
    return sum;
  }
  [[gnu::cold]] void send_back(reduction_job const& j, void const* sum) {
    logical_device& host = runtime::find_device(cpu(0));
    for (int r = 0; r < t_.count; ++r) {
      logical_device& d = *t_.on[r];
      if (d.how != backing::host)
        runtime::wait(d, queue_kind::communication, runtime::mark(d, queue_kind::compute));
      stamp const back =
          runtime::copy(d, j.outs[r], host, sum, j.bytes(), queue_kind::communication,
                        {j.record.number, j.record.name, d.name});
      runtime::wait(d, queue_kind::compute, back);
    }
  }

  replica_topology const& t_;
  collective_name name_;
};

}  // namespace locus::detail

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/reduce.hpp declares.
#pragma once
#include <locus/collective/rank_functions.hpp>  // rank_functions
#include <locus/collective/reduce.hpp>          // the declarations
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/copies.hpp>             // check_host_access
#include <locus/machine/stamps.hpp>             // wait

LOCUS_COLD_BEGIN

namespace locus::internal {

LOCUS_FUNCTION bool replica_reducer::is_direct(reduction_job const& j) const {
  return (t_.uses_nccl() || t_.has_nccl_among_ranks()) && t_.order == reduction_order::fast &&
         j.type != runtime::nccl_type::none && nccl_op_for(j.op, j.type) >= 0;
}

LOCUS_FUNCTION text_buffer<80> replica_reducer::describe(reduction_job const* j) const {
  text_buffer<80> text;
  text << sentence(t_.how);
  if (t_.uses_nccl() && j && !is_direct(*j)) text << ", in replica order";
  return text;
}

LOCUS_FUNCTION text_buffer<80> replica_reducer::describe_all_reduce(reduction_job const* j) const {
  if (!j || !is_direct_over_ranks(*j)) return describe(j);
  text_buffer<80> text;
  text << sentence(t_.shares_cards ? collective_algorithm::hierarchical
                                   : collective_algorithm::nccl)
       << " of all ranks";
  return text;
}

LOCUS_FUNCTION void replica_reducer::let_end_later(reduction_job const* jobs, int n) {
  if (!folds_into_result()) return;
  std::int64_t bytes = 0;
  for (int k = 0; k < n; ++k) bytes += jobs[k].bytes();
  ends_later_ = runtime::over_ranks->prepare_beside(bytes);
}

LOCUS_FUNCTION queue_kind replica_reducer::queue_of(reduction_job const* jobs, int n) const {
  if (ends_later_) return queue_kind::communication;
  bool beside = !t_.shares_cards && (t_.uses_nccl() || t_.has_nccl_among_ranks());
  for (int k = 0; k < n; ++k)
    beside = beside && is_direct(jobs[k]) && jobs[k].scaled != scaling::divide_sum;
  return beside ? queue_kind::communication : queue_kind::compute;
}

LOCUS_FUNCTION std::int64_t replica_reducer::scratch_of_all_reduce(reduction_job const& j,
                                                                   int r) const {
  if (t_.in_reach()) return 0;
  if (!t_.uses_nccl()) return 0;
  if (is_direct(j) || !t_.is_first(r)) return 0;
  return scratch_of(cut(j, t_.rank[r]), j.element_bytes);
}

LOCUS_FUNCTION std::int64_t replica_reducer::host_scratch(reduction_job const& j) const {
  if (t_.in_reach() || t_.uses_nccl()) return 0;
  std::int64_t n = 1;
  for (int r = 0; r < t_.count; ++r) n += !t_.on[r]->is_host();
  return n * round_up(j.bytes());
}

LOCUS_FUNCTION void replica_reducer::all_reduce(reduction_job* jobs, int n) {
  for (int k = 0; k < n; ++k) require_order(jobs[k]);
  if (t_.in_reach()) {
    for (int k = 0; k < n; ++k)
      if (jobs[k].count > 0) fold_in_reach(jobs[k], jobs[k].outs, t_.count, 0);
    return;
  }
  if (t_.uses_nccl() || t_.has_nccl_among_ranks()) all_reduce_by_nccl(jobs, n);
  if (!t_.uses_nccl()) all_reduce_on_host(jobs, n);
}

LOCUS_FUNCTION void* replica_reducer::reduce(reduction_job& j, int root, void* out) {
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

LOCUS_FUNCTION void replica_reducer::fold_segments(reduction_job& j, segment const* segments,
                                                   int n) {
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

LOCUS_FUNCTION void replica_reducer::after(logical_device& d, queue_kind queue,
                                           logical_device& before) {
  if (&d == &before && queue == queue_kind::compute) return;
  runtime::wait(d, queue, runtime::mark(before, queue_kind::compute));
}

LOCUS_FUNCTION void replica_reducer::wait_for_cards(queue_kind queue) {
  for (int r = 0; r < t_.count; ++r)
    if (t_.rank[r] >= 0) after(*t_.on[t_.first[t_.rank[r]]], queue, *t_.on[r]);
}

LOCUS_FUNCTION void replica_reducer::require_order(reduction_job const& j) const {
  if constexpr (checked_build)
    for (short r = 0; r < t_.count; ++r)
      if (j.whose[r] != r) refuse_order(j, r);
}

LOCUS_FUNCTION void replica_reducer::refuse_order(reduction_job const& j, short r) const {
  message text;
  throw bad_access(text << "locus: step " << int(j.record.number) << " (" << j.record.name
                        << ") takes the term of replica " << int(j.whose[r])
                        << " for that of replica " << int(r) << " on " << t_.on[r]->name
                        << "; this is an error in locus");
}

LOCUS_FUNCTION void replica_reducer::fold(logical_device& d, reduction_job const& j,
                                          replica_terms const& terms) {
  auto const bytes = static_cast<std::size_t>(terms.count * j.element_bytes);
  touched operands[2 * max_devices];
  int n = 0;
  for (int r = 0; r < terms.term_count; ++r) operands[n++] = {terms.terms[r], bytes, false};
  for (int r = 0; r < terms.out_count; ++r) operands[n++] = {terms.outs[r], bytes, true};
  step_record const record{j.record.number, j.record.name, d.name};
  runtime::running_scope const scope(&record);
  if (d.is_host())
    for (int i = 0; i < n; ++i)
      runtime::check_host_access(operands[i].first, std::int64_t(bytes), operands[i].writes,
                                 record);
  j.fold({&d, record, operands, n}, terms);
}

LOCUS_FUNCTION void replica_reducer::fold_in_reach(reduction_job const& j, void* const* outs,
                                                   int out_count, int at) {
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

LOCUS_FUNCTION void replica_reducer::follow(logical_device& d, int p) {
  stamp const done = runtime::mark(d, queue_kind::compute);
  for (int r = 0; r < t_.count; ++r)
    if (t_.on[r] != &d && (p < 0 || t_.rank[r] == p))
      runtime::wait(*t_.on[r], queue_kind::compute, done);
}

LOCUS_FUNCTION void replica_reducer::spread(reduction_job const& j, int p, bool divides) {
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

LOCUS_FUNCTION void replica_reducer::fold_cards(reduction_job const& j) {
  for (int p = 0; p < t_.ranks; ++p) {
    replica_terms terms;
    terms.count = j.count, terms.out_count = 1, terms.outs[0] = j.outs[t_.first[p]];
    if (j.scaled == scaling::multiply_terms) terms.scaled = j.scaled, terms.by = j.by;
    for (int r = 0; r < t_.count; ++r)
      if (t_.rank[r] == p) terms.terms[terms.term_count++] = j.terms[r];
    fold(*t_.on[t_.first[p]], j, terms);
  }
}

LOCUS_FUNCTION void replica_reducer::all_reduce_by_nccl(reduction_job* jobs, int n) {
  bool const cards = t_.shares_cards, over_ranks = t_.has_nccl_among_ranks();
  bool direct = true;
  std::int64_t bytes = 0;
  for (int k = 0; k < n; ++k)
    if (is_direct(jobs[k]) || !over_ranks)
      direct = direct && is_direct(jobs[k]), bytes += jobs[k].bytes();
  if (bytes == 0) return;
  runtime::running_scope const scope(&jobs[0].record);
  if (!direct) return all_reduce_in_segments(jobs, n);
  if (over_ranks) runtime::over_ranks->meet("all_reduce by NCCL", bytes);
  communicator_set& set = communicators_for(t_, name_);
  nccl_group group(set, name_);
  queue_kind const queue = queue_of(jobs, n);
  wait_for_cards(queue);
  for (int k = 0; k < n; ++k) {
    reduction_job const& j = jobs[k];
    if (j.count == 0 || !is_direct(j)) continue;
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
    for (int p = 0; p < t_.ranks && j.count > 0 && is_direct(j); ++p)
      if (queue == queue_kind::compute)
        spread(j, p, j.scaled == scaling::divide_sum);
      else
        j.done[t_.first[p]] = group.done(p);
  }
}

LOCUS_FUNCTION void replica_reducer::reduce_by_nccl(reduction_job const& j, int root, void* out) {
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

LOCUS_FUNCTION segment replica_reducer::cut(reduction_job const& j, int p) const {
  int const r = t_.first[p];
  std::int64_t const begin = piece_begin(j.count, t_.ranks, p);
  auto* const out = static_cast<char*>(j.outs[r]);  // null while only scratch sizes are computed
  return {begin, piece_size(j.count, t_.ranks, p), r,
          out ? out + begin * j.element_bytes : nullptr};
}

LOCUS_FUNCTION void replica_reducer::gather(nccl_group& group, reduction_job const& j,
                                            segment const* segments, int n) {
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

LOCUS_FUNCTION void replica_reducer::fold_gathered(reduction_job const& j, segment const& s) {
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

LOCUS_FUNCTION void replica_reducer::all_reduce_in_segments(reduction_job* jobs, int n) {
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

LOCUS_FUNCTION replica_terms replica_reducer::terms_on_host(reduction_job const& j, void* into) {
  logical_device& host = runtime::find_device(cpu(0));
  step_record const record{j.record.number, j.record.name, host.name};
  runtime::running_scope const scope(&record);
  char* next = static_cast<char*>(j.host_scratch);
  auto take = [&] { return std::exchange(next, next + round_up(j.bytes())); };
  replica_terms terms;
  terms.term_count = t_.count, terms.out_count = 1, terms.count = j.count;
  terms.outs[0] = into ? into : take();
  terms.scaled = j.scaled, terms.by = j.by;
  stamp arrived[max_devices];
  for (int r = 0; r < t_.count; ++r) {
    logical_device& d = *t_.on[r];
    terms.terms[r] = j.terms[r];
    if (d.is_host()) continue;
    void* const stage = take();
    runtime::wait(d, queue_kind::communication, runtime::mark(d, queue_kind::compute));
    arrived[r] =
        runtime::copy(host, stage, d, j.terms[r], j.bytes(), queue_kind::communication, record);
    terms.terms[r] = stage;
  }
  for (stamp const& a : arrived) runtime::synchronize(a);
  return terms;
}

LOCUS_FUNCTION void* replica_reducer::fold_on_host(reduction_job const& j) {
  host_reduction const one{j, terms_on_host(j, nullptr)};
  if (t_.how == collective_algorithm::over_ranks)
    runtime::over_ranks->fold(&one, 1, t_.order, name_);
  else
    fold(runtime::find_device(cpu(0)), j, one.terms);
  return one.terms.outs[0];
}

LOCUS_FUNCTION void replica_reducer::all_reduce_on_host(reduction_job* jobs, int n) {
  bool const in_place = folds_into_result();
  dynamic_array<host_reduction> bucket;
  for (int k = 0; k < n; ++k) {
    if (is_direct_over_ranks(jobs[k]) || jobs[k].count == 0) continue;
    if (t_.how == collective_algorithm::over_ranks)
      bucket.push({jobs[k], terms_on_host(jobs[k], in_place ? jobs[k].outs[0] : nullptr)});
    else
      send_back(jobs[k], fold_on_host(jobs[k]));
  }
  int const size = static_cast<int>(bucket.size());
  if (size == 0) return;
  if (!ends_later_) {
    runtime::over_ranks->fold(&bucket[0], size, t_.order, name_);
    for (host_reduction const& one : bucket)
      if (!in_place) send_back(one.job, one.terms.outs[0]);
    return;
  }
  stamp const end = runtime::over_ranks->start(&bucket[0], size, t_.order, name_);
  for (int k = 0; k < n; ++k)
    if (jobs[k].count > 0) jobs[k].done[0] = end;
}

LOCUS_FUNCTION void replica_reducer::send_back(reduction_job const& j, void const* sum) {
  logical_device& host = runtime::find_device(cpu(0));
  for (int r = 0; r < t_.count; ++r) {
    logical_device& d = *t_.on[r];
    if (!d.is_host())
      runtime::wait(d, queue_kind::communication, runtime::mark(d, queue_kind::compute));
    stamp const back = runtime::copy(d, j.outs[r], host, sum, j.bytes(), queue_kind::communication,
                                     {j.record.number, j.record.name, d.name});
    runtime::wait(d, queue_kind::compute, back);
  }
}

}  // namespace locus::internal

LOCUS_COLD_END

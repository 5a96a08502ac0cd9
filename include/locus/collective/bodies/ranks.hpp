// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/ranks.hpp declares.
#pragma once
#include <algorithm>  // copy_n
#include <cstring>    // memcpy
#include <optional>   // optional
#include <utility>    // exchange
#include <vector>     // vector

#include <locus/collective/rank_queue.hpp>   // queue_between_ranks
#include <locus/collective/ranks.hpp>        // the declarations
#include <locus/runtime/bytes_of_ranks.hpp>  // bytes_of_ranks
#include <locus/runtime/carried_memory.hpp>  // carried_array, keep_host_memory
#include <locus/runtime/variables.hpp>       // checks_ranks
#include <locus/watch/site_text.hpp>         // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

/// The collectives of this rank until now. A failure is final: the ranks are no longer in step.
struct rank_progress {
  internal::rank_point last{};
  std::uint64_t runs = 0;  // whose plans have collectives
  bool failed = false;
  char failure[800]{};  // its text
};
LOCUS_SHARED_STATE inline constinit rank_progress ranks_so_far{};

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  std::size_t const n = from.size() < N - 1 ? from.size() : N - 1;
  for (std::size_t i = 0; i < n; ++i) to[i] = from[from.size() - n + i];  // the end of a path
}

LOCUS_FUNCTION message& write_rank(message& text, int rank) {
  return text << "rank " << rank << " on " << std::string_view(runtime::ranks_by->host_of(rank));
}

/// means: a collective that belongs to no run
struct no_run {
  internal::rank_run before = std::exchange(internal::run_over_ranks, internal::rank_run{});
  no_run() = default;
  no_run(no_run const&) = delete;
  ~no_run() { internal::run_over_ranks = before; }
};

[[noreturn, gnu::cold]] LOCUS_FUNCTION void throw_failure(message const& text,
                                                          internal::rank_point const& mine,
                                                          int rank, double seconds) {
  internal::give_up_ranks(text.view());
  std::string_view operation = "a collective", begun = mine.operation;
  begun = begun.substr(0, begun.find(" by NCCL"));
  for (std::string_view known : {"all_reduce", "reduce", "reduce_scatter", "broadcast", "scatter",
                                 "gather", "all_gather", "halo"})
    if (known == begun) operation = known;
  throw collective_error(text, operation, -1, rank, seconds);
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_other(internal::rank_point const& mine,
                                                         internal::rank_point const& other,
                                                         int rank) {
  message text;
  text << "locus: the ranks of this program differ: ";
  write_rank(text, runtime::this_rank.rank) << " begins collective " << mine.number << ", ";
  internal::write_point(text, mine) << "; ";
  write_rank(text, rank) << " begins collective " << other.number << ", ";
  internal::write_point(text, other);
  if (mine.bytes == other.bytes && mine.number == other.number &&
      std::string_view(mine.operation) == other.operation)
    text << ", of another plan or other extents";
  throw_failure(text << "; every rank runs every statement over ranks, with the same extents", mine,
                rank, 0);
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION double seconds_for_ranks() {
  return runtime::collective_deadline(&runtime::collective_deadlines::steady);
}

LOCUS_FUNCTION std::uint64_t count_run() { return ++locus::detail::ranks_so_far.runs; }
LOCUS_FUNCTION rank_point const& point_now() { return locus::detail::ranks_so_far.last; }
LOCUS_FUNCTION std::string_view failure_of_ranks() { return locus::detail::ranks_so_far.failure; }

LOCUS_FUNCTION message& write_point(message& text, rank_point const& p) {
  text << std::string_view(p.operation);
  if (p.bytes > 0) text << " of " << p.bytes << " bytes";
  if (p.site[0]) text << " (" << std::string_view(p.site) << ")";
  return text;
}

LOCUS_FUNCTION rank_point point_of(std::string_view operation, std::int64_t bytes) {
  finish_between_ranks();  // collectives of one rank go one after the other
  rank_point p;
  p.number = point_now().number + 1, p.plan = run_over_ranks.plan, p.bytes = bytes;
  locus::detail::copy_text(p.operation, operation);
  if (run_over_ranks.site.is_set()) {
    message text;
    runtime::write_site(text, run_over_ranks.site);
    locus::detail::copy_text(p.site, text.view());
  }
  locus::detail::ranks_so_far.last = p;
  return p;
}

LOCUS_FUNCTION void require_carried(runtime::rank_failure const& f, rank_point const& mine) {
  if (f.code == runtime::rank_success) return;
  runtime::keep_host_memory();
  double const limit = seconds_for_ranks();
  message text;
  text << "locus: ";
  locus::detail::write_rank(text, runtime::this_rank.rank) << ": ";
  write_point(text, mine) << ", collective " << mine.number << ", ";
  switch (f.code) {
  case runtime::rank_late:
    text << "did not end in " << static_cast<std::int64_t>(limit * 1000) << " ms";
    break;
  case runtime::rank_differs: text << "got a message of another length"; break;
  case runtime::rank_gone: text << "lost a rank"; break;
  default: text << "failed"; break;
  }
  if (f.rank >= 0) {
    text << "; ";
    locus::detail::write_rank(text, f.rank)
        << (f.code == runtime::rank_late      ? " does not answer: it is dead, stopped or elsewhere"
            : f.code == runtime::rank_gone    ? " has ended"
            : f.code == runtime::rank_differs ? " sent it"
                                              : "");
  }
  if (f.more) {
    text << "; ";
    if (f.code == runtime::rank_failed) text << runtime::ranks_by->name << ": ";
    text << std::string_view(f.more);
  }
  locus::detail::throw_failure(text << "; end this program, and start it again from its checkpoint",
                               mine, f.rank, f.code == runtime::rank_late ? limit : 0);
}

LOCUS_FUNCTION void meet_ranks(rank_point const& mine, rank_point* all) {
  if (locus::detail::ranks_so_far.failed) {
    message text;
    text << "locus: ";
    write_point(text, mine)
        << ": a collective between ranks failed before, so that the ranks are no longer in step; "
           "end this program, and start it again from its checkpoint";
    locus::detail::throw_failure(text, mine, -1, 0);
  }
  static bool const checks = runtime::checks_ranks();
  if (!checks && !all) return;
  int const ranks = runtime::this_rank.ranks, rank = runtime::this_rank.rank;
  runtime::carried_array<rank_point> const points(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> ends(points.size());
  for (std::size_t r = 0; r < ends.size(); ++r)
    ends[r] = std::int64_t(r + 1) * std::int64_t(sizeof(rank_point));
  points[static_cast<std::size_t>(rank)] = mine;
  require_carried(runtime::ranks_by->all_gather(points.data(), ends.data(), seconds_for_ranks()),
                  mine);
  for (int r = 0; r < ranks; ++r) {
    rank_point const& other = points[static_cast<std::size_t>(r)];
    if (checks &&
        (other.number != mine.number || other.plan != mine.plan || other.bytes != mine.bytes ||
         std::string_view(other.operation) != std::string_view(mine.operation)))
      locus::detail::refuse_other(mine, other, r);
    if (all) all[r] = other;
  }
}

}  // namespace locus::internal

namespace locus::detail {

/// means: the collectives that all ranks begin, each with a number of its rank
LOCUS_FUNCTION std::vector<internal::rank_point> said_by_all(std::string_view operation,
                                                             std::int64_t mine) {
  std::vector<internal::rank_point> all(static_cast<std::size_t>(runtime::this_rank.ranks));
  no_run const outside;
  internal::rank_point point = internal::point_of(operation, 0);
  point.said = mine;
  internal::meet_ranks(point, all.data());
  return all;
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void gather_from_ranks(std::string_view operation, void const* mine,
                                      std::int64_t bytes, runtime::bytes_of_ranks& all) {
  std::int64_t end = 0;
  all.ends.clear();
  for (rank_point const& p : locus::detail::said_by_all(operation, bytes))
    all.ends.push_back(end += p.said);
  if (end == 0) return;
  runtime::carried_array<char> const carried(static_cast<std::size_t>(end));
  std::int64_t const here = all.ends[static_cast<std::size_t>(runtime::this_rank.rank)] - bytes;
  if (bytes > 0) std::memcpy(carried.data() + here, mine, static_cast<std::size_t>(bytes));
  require_carried(
      runtime::ranks_by->all_gather(carried.data(), all.ends.data(), seconds_for_ranks()),
      point_now());
  all.bytes.assign(carried.begin(), carried.end());
}

LOCUS_FUNCTION void begin_elsewhere(std::string_view operation, std::int64_t bytes) {
  meet_ranks(point_of(operation, bytes));
}

LOCUS_FUNCTION void give_up_ranks(std::string_view text) {
  if (!locus::detail::ranks_so_far.failed)
    locus::detail::copy_text(locus::detail::ranks_so_far.failure, text.substr(0, 799));
  locus::detail::ranks_so_far.failed = true;
}

LOCUS_FUNCTION std::int64_t tell_ranks(std::string_view operation, std::int64_t mine,
                                       std::int64_t& before) {
  std::vector<rank_point> const all = locus::detail::said_by_all(operation, mine);
  std::int64_t sum = 0;
  for (rank_point const& p : all) {
    if (&p - all.data() == runtime::this_rank.rank) before = sum;
    sum += p.said;
  }
  return sum;
}

LOCUS_FUNCTION void share_with_ranks(std::string_view operation, void* data, std::int64_t bytes,
                                     int root) {
  locus::detail::no_run const outside;
  rank_point const mine = point_of(operation, bytes);
  meet_ranks(mine);
  if (bytes > 0)
    require_carried(runtime::ranks_by->broadcast(data, bytes, root, seconds_for_ranks()), mine);
}

LOCUS_FUNCTION void begin_in_step() { locus::detail::ranks_so_far = {}; }

}  // namespace locus::internal

namespace locus::detail {

/// units: bytes of a term that is not rounded to its element type
inline int bytes_unrounded(internal::reduction_job const& j) {
  bool const is_half =
      j.type == runtime::nccl_type::float16 || j.type == runtime::nccl_type::bfloat16;
  return is_half ? 4 : j.element_bytes;
}

/// The element type of a reduction, for the carrier's addition; other: it has none.
constexpr element element_of(runtime::nccl_type t) {
  switch (t) {
  case runtime::nccl_type::float32: return element::f32;
  case runtime::nccl_type::float64: return element::f64;
  case runtime::nccl_type::int32: return element::i32;
  case runtime::nccl_type::int64: return element::i64;
  case runtime::nccl_type::uint32: return element::u32;
  case runtime::nccl_type::uint64: return element::u64;
  default: return element::other;
  }
}

/// means: folds elements [begin, begin + n) of the terms of this rank behind `before`, which may be
///        null. to_go_on: `out` gets them as they go on to the next rank
LOCUS_FUNCTION void fold_segment(internal::reduction_job const& j, replica_terms const& terms,
                                 std::int64_t begin, std::int64_t n, void* before, void* out,
                                 bool to_go_on) {
  logical_device& host = runtime::find_device(cpu(0));
  std::vector<char> so_far;  // not rounded, where the terms are too many for one fold
  for (int r = 0; r < terms.term_count;) {
    replica_terms part;
    part.count = n, part.scaled = terms.scaled, part.by = terms.by;
    if (before) part.terms[part.term_count++] = before, part.goes_on = true;
    for (; r < terms.term_count && part.term_count < max_devices; ++r)
      part.terms[part.term_count++] = static_cast<char*>(terms.terms[r]) + begin * j.element_bytes;
    bool const last = r == terms.term_count;
    part.to_go_on = to_go_on || !last;
    if (part.to_go_on && part.scaled == scaling::divide_sum) part.scaled = scaling::none;
    if (!last) so_far.resize(std::size_t(n * bytes_unrounded(j)));
    before = last ? out : so_far.data();
    part.outs[part.out_count++] = before;
    step_record const record{j.record.number, j.record.name, host.name};
    j.fold({&host, record, nullptr, 0}, part);
  }
}

LOCUS_FUNCTION void fold_in_a_chain(internal::reduction_job const& j, replica_terms const& terms,
                                    internal::rank_point const& mine) {
  int const rank = runtime::this_rank.rank, last = runtime::this_rank.ranks - 1;
  std::int64_t const wide = bytes_unrounded(j), most = (std::int64_t(64) << 10) / wide,
                     each = most < 1 ? 1 : most, segments = (j.count + each - 1) / each;
  runtime::carried_array<char> const arrived(std::size_t(each * wide)),
      made(std::size_t(2 * each * wide));
  auto const size = [&](std::int64_t k) { return k + 1 < segments ? each : j.count - k * each; };
  auto const half = [&](std::int64_t k) { return made.data() + (k % 2) * each * wide; };
  // turn k: segment k comes from the rank before, segment k - 1 goes to the rank behind
  for (std::int64_t k = 0; k <= segments; ++k) {
    runtime::rank_message messages[2];
    int n = 0;
    if (rank > 0 && k < segments) messages[n++] = {rank - 1, arrived.data(), size(k) * wide, false};
    if (rank < last && k > 0) messages[n++] = {rank + 1, half(k - 1), size(k - 1) * wide, true};
    if (n > 0)
      internal::require_carried(
          runtime::ranks_by->exchange(messages, n, internal::seconds_for_ranks()), mine);
    if (k == segments) break;
    void* const out =
        rank == last ? static_cast<char*>(terms.outs[0]) + k * each * j.element_bytes : half(k);
    fold_segment(j, terms, k * each, size(k), rank > 0 ? arrived.data() : nullptr, out,
                 rank < last);
  }
  internal::require_carried(
      runtime::ranks_by->broadcast(terms.outs[0], j.bytes(), last, internal::seconds_for_ranks()),
      mine);
}

/// means: terms.outs[0] = the fold of the terms of all ranks, which have said that they begin
LOCUS_FUNCTION void fold_announced(internal::reduction_job const& j, replica_terms const& terms,
                                   reduction_order order, internal::rank_point const& mine) {
  // a library's max and min may drop NaN
  bool const chooses =
      runtime::is_floating(j.type) && !(j.op == reduction::sum || j.op == reduction::product);
  bool const adds = order == reduction_order::fast && runtime::ranks_by->all_reduce && !chooses &&
                    terms.scaled == scaling::none && element_of(j.type) != element::other;
  if (adds) {
    if (terms.term_count > 1 || terms.terms[0] != terms.outs[0])
      fold_segment(j, terms, 0, j.count, nullptr, terms.outs[0], false);
    runtime::rank_failure const f = runtime::ranks_by->all_reduce(
        terms.outs[0], j.count, element_of(j.type), j.op, internal::seconds_for_ranks());
    if (f.code != runtime::rank_no_kernel) return internal::require_carried(f, mine);
  }
  fold_in_a_chain(j, terms, mine);
}

/// Reductions of few bytes as one, their values one behind the other, for each replica of this rank.
struct joined_reductions {
  internal::reduction_job job{};
  replica_terms terms{};
  std::optional<runtime::carried_array<char>> memory;

  void join(std::vector<internal::host_reduction const*> const& all) {
    job = all[0]->job, terms = all[0]->terms;  // those of a bucket have one type and one operation
    job.count = 0;
    for (internal::host_reduction const* one : all) job.count += one->job.count;
    terms.count = job.count;
    bool const apart = terms.term_count > 1;  // the terms stay until the carrier has added
    memory.emplace(std::size_t(job.bytes() * (terms.term_count + apart)));
    char* next = memory->data();
    for (int r = 0; r < terms.term_count; ++r) {
      terms.terms[r] = next;
      for (internal::host_reduction const* one : all)
        next = std::copy_n(static_cast<char const*>(one->terms.terms[r]), one->job.bytes(), next);
    }
    terms.outs[0] = apart ? next : memory->data();
  }
  void part(std::vector<internal::host_reduction const*> const& all) const {
    auto const* next = static_cast<char const*>(terms.outs[0]);
    for (internal::host_reduction const* one : all) {
      std::copy_n(next, one->job.bytes(), static_cast<char*>(one->terms.outs[0]));
      next += one->job.bytes();
    }
  }
};

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void fold_over_ranks(host_reduction const* bucket, int n, reduction_order order,
                                    collective_name const& name) {
  std::vector<host_reduction const*> alone, grouped;
  std::int64_t bytes = 0;
  for (host_reduction const* one = bucket; one < bucket + n; ++one) {
    bytes += one->job.bytes();
    (one->job.bytes() < bytes_alone ? grouped : alone).push_back(one);
  }
  if (grouped.size() == 1) alone.push_back(grouped[0]), grouped.clear();
  rank_point mine = point_of(name.operation, bytes);
  if (order == reduction_order::ranked) mine.plan = ~mine.plan;  // messages differ by the order
  meet_ranks(mine);
  try {
    for (host_reduction const* one : alone)
      locus::detail::fold_announced(one->job, one->terms, order, mine);
    if (grouped.empty()) return;
    locus::detail::joined_reductions joined;
    joined.join(grouped);
    locus::detail::fold_announced(joined.job, joined.terms, order, mine);
    joined.part(grouped);
  } catch (std::exception const& e) {
    give_up_ranks(e.what());  // the others are in this collective
    throw;
  }
}

LOCUS_FUNCTION bool prepare_beside(std::int64_t bytes) {
  static int const said = runtime::overlap_said();
  if (said == 0 || !runtime::ranks_by->any_thread()) return false;
  if (said < 0 && !runtime::ranks_by->has_free_processor()) return false;
  if (bytes < bytes_alone && !is_busy_between_ranks()) return false;
  try {
    return queue_between_ranks(), true;
  } catch (std::exception const&) {  // the system gives no thread
    return false;
  }
}

LOCUS_FUNCTION stamp start_over_ranks(host_reduction const* bucket, int n, reduction_order order,
                                      collective_name const& name) {
  auto const fold = [all = std::vector<host_reduction>(bucket, bucket + n), order, name,
                     run = run_over_ranks] {
    run_over_ranks = run;
    runtime::running_scope const scope(&all[0].job.record);
    try {
      fold_over_ranks(all.data(), int(all.size()), order, name);
    } catch (std::exception const& e) {
      give_up_ranks(e.what());  // this rank is out of step: the next collective says so
      throw;
    }
  };
  return {runtime::queue_of_ranks, queue_between_ranks().push(fold)};
}

}  // namespace locus::internal

LOCUS_COLD_END

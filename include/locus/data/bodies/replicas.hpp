// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that data/replicas.hpp declares.
#pragma once
#include <cstring>  // memcpy
#include <vector>   // vector

#include <locus/backend/device_use.hpp>         // use_of
#include <locus/collective/rank_functions.hpp>  // over_ranks, all_ranks_say
#include <locus/core/macros.hpp>             // LOCUS_FUNCTION, LOCUS_COLD_BEGIN, LOCUS_LEAN_BEGIN
#include <locus/data/replicas.hpp>           // the declarations
#include <locus/machine/copies.hpp>          // copy
#include <locus/runtime/bytes_of_ranks.hpp>  // bytes_of_ranks
#include <locus/runtime/ranks.hpp>           // lies_on_ranks
#include <locus/watch/log.hpp>               // log_wants, log

LOCUS_COLD_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::data::detail {

LOCUS_FUNCTION void arrivals::order(place const& where) const {
  for (int r = 0; r < where.local_count(); ++r)
    if (of[r].is_set())
      runtime::wait(runtime::find_device(where.at(r)), queue_kind::compute, of[r]);
}

LOCUS_FUNCTION void arrivals::synchronize() const {
  std::exception_ptr said;
  for (stamp const& s : of) try {
      runtime::synchronize(s);
    } catch (...) {
      if (!said) said = std::current_exception();
    }
  if (said) std::rethrow_exception(said);
}

LOCUS_FUNCTION void arrivals::settle() const noexcept {
  runtime::unreported_waits const later(std::uncaught_exceptions() == 0);
  try {
    synchronize();
  } catch (...) {}  // or a lost card: it reads nothing more
}

LOCUS_FUNCTION rows_of_batch meet_rows_of_ranks(std::int64_t n, place const& where) {
  if (!runtime::lies_on_ranks(where.devices)) return {n, 0};
  runtime::bytes_of_ranks told;
  runtime::over_ranks->gather("rows of a batch", &n, sizeof n, told);
  std::vector<std::int64_t> rows(told.ends.size());
  std::memcpy(rows.data(), told.bytes.data(), told.bytes.size());
  rows_of_batch whole;
  int some = 0, none = 0;  // a rank with a batch, and one without
  for (std::size_t r = 0; r < rows.size(); ++r) {
    (rows[r] > 0 ? some : none) = static_cast<int>(r);
    whole.all += rows[r];
    if (int(r) < runtime::this_rank.rank) whole.before += rows[r];
  }
  message text;
  if (whole.all > 0 && rows[static_cast<std::size_t>(none)] == 0)
    throw shape_error(text << "locus: rank " << none << " has no batch more, and rank " << some
                           << " has one of " << rows[static_cast<std::size_t>(some)]
                           << " rows; give all ranks as many batches, as take(n) does");
  std::int64_t const begin = where.piece_begin(whole.all, 0),
                     end = where.piece_begin(whole.all, where.local_count());
  if (!locus::internal::all_ranks_say(begin == whole.before && end - begin == n))
    throw shape_error(text << "locus: a batch of " << whole.all << " rows over "
                           << where.devices.total() << " replicas: rank " << runtime::this_rank.rank
                           << " gives " << n << " rows, its replicas take " << end - begin
                           << ", and no rank may differ; give each replica as many rows, and "
                              "drop a short last batch by batch(n, {.drop_remainder = true})");
  return whole;
}

LOCUS_FUNCTION void send_rows(tensor_block const& from, tensor_block const& to,
                              rows_of_batch const& rows, bool pinned, arrivals& when) {
  logical_device& host = runtime::find_device(cpu(0));
  std::int64_t const n = rows.all, here = from.extents.extent[0],
                     row = here ? from.extents.size() / here : 0;
  for (int r = 0; r < to.where.local_count(); ++r) {
    logical_device& d = runtime::find_device(to.where.at(r));
    std::int64_t const begin =
                           (to.where.piece_begin(n, r) - rows.before) * row * from.element_bytes,
                       bytes = to.where.piece_size(n, r) * row * from.element_bytes;
    if (bytes == 0) continue;
    if (!d.is_host()) runtime::wait(d, queue_kind::copy, runtime::mark(d, queue_kind::compute));
    when.of[r] = runtime::copy(d, to.pieces[r].data, host,
                               static_cast<char const*>(from.pieces[0].data) + begin, bytes,
                               queue_kind::copy, {-1, "a batch", d.name}, pinned);
    if (d.name == cpu(0)) continue;
    ++runtime::executed.copies, runtime::executed.bytes_moved += bytes;
    static constexpr char sent = 0;
    if (!runtime::log_wants(&sent, {})) continue;
    run_event e{.kind = event_kind::copy, .name = name_of(transfer_kind::scatter)};
    e.of = "a batch", e.on = locus::internal::use_of(to.where.at(r));
    e.from = locus::internal::use_of(cpu(0)), e.bytes = bytes;
    runtime::log(e);
  }
}

LOCUS_FUNCTION void warn_of_idle_replicas(std::int64_t batch_size, int replicas) {
  static int said = 0;
  if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) return;
  log_line line;
  runtime::warn(line << "locus: batches of " << batch_size << " rows over " << replicas
                     << " replicas leave some of them without rows in every step; write batches of "
                     << replicas << " rows or more");
}

}  // namespace locus::data::detail

LOCUS_LEAN_END

LOCUS_COLD_END

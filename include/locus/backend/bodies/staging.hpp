// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/staging.hpp declares.
#pragma once
#include <locus/backend/cuda/peers.hpp>  // peer_refused
#include <locus/backend/staging.hpp>     // the declarations
#include <locus/core/error.hpp>          // out_of_memory
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/stamps.hpp>      // wait, mark
#include <locus/memory/pinned.hpp>       // pinned_memory

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION bool goes_by_host(logical_device& to, logical_device& from) {
  if (to.is_host() || from.is_host() || to.card == from.card) return false;
  return !machine_of(to).reaches(to, from);
}

LOCUS_FUNCTION void obtain_chunks(logical_device& to) {
  for (void*& chunk : to.staging.chunk) {
    if (chunk || (chunk = pinned_memory.allocate(staging_chunk))) continue;
    message text;
    throw out_of_memory(text << "locus: no pinned memory on the host to stage copies to " << to.name
                             << ": requested " << staging_chunk << " bytes, in use "
                             << pinned_memory.reserved() << ", limit " << pinned_memory.limit
                             << "; unpin memory of the program's own");
  }
}

LOCUS_FUNCTION void foresee_chunks(logical_device& to, logical_device& from) {
  if (!goes_by_host(to, from)) return;
  lock_guard hold(staging_lock);
  obtain_chunks(to);
}

LOCUS_FUNCTION stamp copy_by_host(logical_device& to, void* target, queue_kind kind,
                                  logical_device& from, void const* source, std::int64_t bytes,
                                  step_record const& record) {
  lock_guard hold(staging_lock);
  obtain_chunks(to);
  staging_chunks& s = to.staging;
  logical_device& host = table.slot(cpu(0));
  wait(from, queue_kind::copy, mark(to, kind));
  stamp arrived;
  int k = 0;
  for (std::int64_t at = 0; at < bytes; at += staging_chunk, k = 1 - k) {
    auto const n =
        static_cast<std::size_t>(bytes - at < staging_chunk ? bytes - at : staging_chunk);
    if (!planted.early_chunks) wait(from, queue_kind::copy, s.free_at[k]);
    copy_job const out{
        &from, queue_kind::copy, &host, s.chunk[k], &from, static_cast<char const*>(source) + at, n,
        record};
    stamp const staged = machine_of(from).copy(out);
    wait(to, kind, staged);
    copy_job const in{&to, kind,   &to, static_cast<char*>(target) + at, &host, s.chunk[k],
                      n,   record, true};
    s.free_at[k] = arrived = machine_of(to).copy(in);
  }
  return arrived;
}

LOCUS_FUNCTION stamp copy_beyond_host(copy_job const& job) {
  auto by_host = [&] {
    return copy_by_host(*job.to, job.target, job.queue, *job.from, job.source,
                        static_cast<std::int64_t>(job.bytes), job.record);
  };
  if (goes_by_host(*job.to, *job.from)) return by_host();
  try {
    return machine_of(*job.carrier).copy(job);
  } catch (peer_refused const&) {
    return by_host();
  }
}

}  // namespace locus::runtime

LOCUS_COLD_END

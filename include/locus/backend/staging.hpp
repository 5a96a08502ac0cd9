// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs that do not reach each other: in chunks through two pinned buffers, so that
// the way to the host of one chunk overlaps with the way from the host of the chunk before it.
#pragma once
#include <locus/backend/cuda/peers.hpp>  // peer_refused
#include <locus/backend/pinned.hpp>      // pinned_memory
#include <locus/backend/stamps.hpp>      // wait, mark
#include <locus/core/config.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>          // out_of_memory
#include <locus/device/name.hpp>         // message << device

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: both are GPUs, and one cannot read what lies on the other
inline bool goes_by_host(logical_device& to, logical_device& from) {
  if (to.how == backing::host || from.how == backing::host || to.card == from.card) return false;
  return !on_side(to.how, [&](auto side) { return side.reaches(to, from); });
}

/// units: bytes. A chunk takes 80 to 330 us over PCIe: ten times what its launches and events cost,
/// and little enough that the first one, which nothing overlaps with, does not count.
inline constexpr std::int64_t staging_chunk = std::int64_t(4) << 20;

LOCUS_SHARED_STATE inline constinit mutex staging_lock;

/// means: the buffers through which a device receives; staging_lock is held
/// fails: out_of_memory
[[gnu::cold]] inline void obtain_chunks(logical_device& to) {
  for (void*& chunk : to.staging.chunk) {
    if (chunk || (chunk = pinned_memory.allocate(staging_chunk))) continue;
    message text;
    throw out_of_memory(text << "locus: no pinned memory on the host to stage copies to " << to.name
                             << ": requested " << staging_chunk << " bytes, in use "
                             << pinned_memory.reserved() << ", limit " << pinned_memory.limit
                             << "; unpin memory of the program's own");
  }
}
/// means: the chunks that a copy from one device to the other takes are there
[[gnu::cold]] inline void foresee_chunks(logical_device& to, logical_device& from) {
  if (!goes_by_host(to, from)) return;
  lock_guard hold(staging_lock);
  obtain_chunks(to);
}

/// means: bytes from one GPU to another behind all that the receiving queue waits for; returns the
///        point of that queue at which they have arrived
/// fails: out_of_memory, without memory for the chunks
[[gnu::cold]] inline stamp copy_by_host(logical_device& to, void* target, queue_kind kind,
                                        logical_device& from, void const* source,
                                        std::int64_t bytes, step_record const& record) {
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
    stamp const staged = on_side(from.how, [&](auto side) { return side.copy(out); });
    wait(to, kind, staged);
    copy_job const in{&to, kind,   &to, static_cast<char*>(target) + at, &host, s.chunk[k],
                      n,   record, true};
    s.free_at[k] = arrived = on_side(to.how, [&](auto side) { return side.copy(in); });
  }
  return arrived;
}

/// means: a copy to or from a GPU, by way of the host where the cards do not reach each other
inline stamp copy_beyond_host(copy_job const& job) {
  auto by_host = [&] {
    return copy_by_host(*job.to, job.target, job.queue, *job.from, job.source,
                        static_cast<std::int64_t>(job.bytes), job.record);
  };
  if (goes_by_host(*job.to, *job.from)) return by_host();
  try {
    return on_side(job.carrier->how, [&](auto side) { return side.copy(job); });
  } catch (peer_refused const&) {
    return by_host();
  }
}

}  // namespace locus::runtime

LOCUS_COLD_END

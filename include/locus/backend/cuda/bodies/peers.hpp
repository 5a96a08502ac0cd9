// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/peers.hpp declares.
#pragma once
#include <cstring>   // memset, memcmp
#include <unistd.h>  // usleep
#include <utility>   // exchange

#include <locus/backend/cuda/peers.hpp>           // the declarations
#include <locus/backend/cuda/streams.hpp>         // current_card
#include <locus/core/clock.hpp>                   // read_clock
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock
#include <locus/runtime/variables.hpp>            // peer_copies_said
#include <locus/watch/log.hpp>                    // warn

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void forget_peers() {
  std::memset(peers.of, 0, sizeof peers.of);
  std::memset(peers.enabled, 0, sizeof peers.enabled);
  peers.said = false;
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION void refuse_peer(logical_device const& to, logical_device const& from,
                                std::string_view why, bool broken) {
  __atomic_store_n(&peers.of[to.card][from.card], peer_staged, __ATOMIC_RELEASE);
  if (!broken && std::exchange(peers.said, true)) return;  // one warning for the machine
  log_line line;
  warn(line << "locus: copies from " << from.name << " to " << to.name
            << " go by way of pinned host memory: " << why);
}

LOCUS_FUNCTION trial_side::trial_side(logical_device& d) : on_(d) {
  current_card const scope(d);
  check_cuda(gpu_api->stream_create(&stream), "making a stream", d.name);
  try {
    check_cuda(gpu_api->event_create(&event), "making an event", d.name);
    check_cuda(gpu_api->malloc_device(&data, bytes), "allocating memory", d.name);
  } catch (...) {
    close();
    throw;
  }
}

LOCUS_FUNCTION void trial_side::fill(void const* host) {
  current_card const scope(on_);
  check_cuda(gpu_api->memcpy_async(data, host, bytes, stream), "a copy", on_.name);
  check_cuda(gpu_api->event_record(event, stream), "recording an event", on_.name);
}

LOCUS_FUNCTION void trial_side::close() noexcept {
  card_scope const scope(on_.card);
  if (data) gpu_api->free_device(data);
  if (event) gpu_api->event_destroy(event);
  if (stream) gpu_api->stream_destroy(stream);
}

LOCUS_FUNCTION std::string_view try_peer(logical_device& to, logical_device& from) {
  unsigned char sent[trial_side::bytes], came[trial_side::bytes]{};
  for (std::size_t i = 0; i < trial_side::bytes; ++i)
    sent[i] = static_cast<unsigned char>(i * 37 + 11);
  trial_side source(from), target(to);
  source.fill(sent);
  current_card const scope(to);
  check_cuda(gpu_api->stream_wait_event(target.stream, source.event), "waiting for an event",
             to.name);
  int const code = gpu_api->memcpy_peer_async(target.data, to.card, source.data, from.card,
                                              trial_side::bytes, target.stream);
  if (is_sticky(code)) check_cuda(code, "a copy between cards", to.name);
  if (code != cuda_success) return gpu_api->last_error(), gpu_api->describe(code);
  check_cuda(gpu_api->event_record(target.event, target.stream), "recording an event", to.name);
  for (std::int64_t const begin = read_clock();; usleep(20)) {
    bool done = false;
    check_cuda(gpu_api->event_query(target.event, &done), "asking for an event", to.name);
    if (done) break;
    if ((read_clock() - begin) / 1'000'000 <= peers.patience) continue;
    source.abandon(), target.abandon();
    return "a trial copy did not arrive; look at the machine's settings for peer copies (ACS, "
           "IOMMU), or set LOCUS_PEER_COPIES=0";
  }
  check_cuda(gpu_api->memcpy_async(came, target.data, trial_side::bytes, target.stream), "a copy",
             to.name);
  check_cuda(gpu_api->stream_synchronize(target.stream), "waiting for a copy", to.name);
  if (std::memcmp(sent, came, sizeof sent) != 0)
    return "a trial copy brought other bytes; look at the machine's settings for peer copies (ACS, "
           "IOMMU), or set LOCUS_PEER_COPIES=0";
  return {};
}

LOCUS_FUNCTION void find_peer(logical_device& to, logical_device& from) {
  lock_guard hold(peers.lock);
  peer_path& path = peers.of[to.card][from.card];
  if (path != peer_untried) return;
  static int const wanted = peer_copies_said();
  if (!wanted) return refuse_peer(to, from, "LOCUS_PEER_COPIES is 0", false);
  if (peers.enabled[to.card] >= peer_table::most_peers)
    return refuse_peer(to, from, "the card has as many peers as the driver allows", false);
  lock_guard issuing(issue_lock);  // enabling a peer and allocating may wait for all cards
  bool can = false;
  int code = gpu_api->can_access_peer(to.card, from.card, &can);
  if (is_sticky(code)) check_cuda(code, "asking for peers", to.name);
  if (code != cuda_success || !can) {
    gpu_api->last_error();
    return refuse_peer(to, from, "the driver says that one card cannot reach the other", false);
  }
  {
    current_card const scope(to);
    code = gpu_api->enable_peer(from.card);
  }
  if (is_sticky(code)) check_cuda(code, "enabling a peer", to.name);
  if (code != cuda_success)
    return gpu_api->last_error(), refuse_peer(to, from, gpu_api->describe(code), true);
  ++peers.enabled[to.card];
  if (std::string_view const why = try_peer(to, from); !why.empty())
    return refuse_peer(to, from, why, true);
  __atomic_store_n(&path, peer_direct, __ATOMIC_RELEASE);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION bool cuda_reaches(logical_device& to, logical_device& from) {
  if (to.card == from.card) return true;
  peer_path const& path = peers.of[to.card][from.card];
  if (__atomic_load_n(&path, __ATOMIC_ACQUIRE) == peer_untried) {
    require_card(to), require_card(from);
    detail::find_peer(to, from);
  }
  return __atomic_load_n(&path, __ATOMIC_ACQUIRE) == peer_direct;
}

}  // namespace locus::runtime

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/user_stream.hpp declares.
#pragma once
#include <locus/backend/cuda/streams.hpp>      // current_card
#include <locus/backend/cuda/user_stream.hpp>  // the declarations
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION int card_of_stream(void* stream, std::string_view what) {
  int card = -1;
  int now = -1;  // a query of CUDA would make a context on the current card
  bool const is_bare = gpu_api->get_device(&now) == cuda_success && !has_context(now);
  card_scope const scope(is_bare ? table.gpu_devices[0].card : -1);
  bool is_captured = false;
  int code = gpu_api->stream_is_captured(stream, &is_captured);
  message text;
  if (is_captured)
    throw placement_error(text << "locus: " << what
                               << " was given a stream that is being captured into a graph, and a "
                                  "plan cannot be captured; end the capture before");
  if (!stream) return -1;
  if (code == cuda_success) code = gpu_api->stream_device(stream, &card);
  if (code == cuda_success) return card;
  gpu_api->last_error();
  throw placement_error(text << "locus: " << what << " was given what is no stream of CUDA: "
                             << std::string_view(gpu_api->describe(code)) << " (code " << code
                             << "); hand in a cudaStream_t that is alive");
}

LOCUS_FUNCTION void make_guest_wait(logical_device& d, void* stream) {
  stamp const s = cuda_mark(d, queue_kind::compute);
  current_card const scope(d);
  if (void* const event = cuda_event_of(s))
    check_cuda(gpu_api->stream_wait_event(stream, event), "waiting for an event", d.name);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void cuda_follow(logical_device* const* devices, int count, void* stream) {
  int const card = detail::card_of_stream(stream, "on_stream");
  bool found = false;
  lock_guard hold(detail::guest_lock);
  for (int i = 0; i < count; ++i) {
    logical_device& d = *devices[i];
    if (card >= 0 && (d.card != card || found)) continue;
    found = true;
    require_card(d);
    current_card const scope(d);
    void*& event = cuda_queue_of(d, queue_kind::compute).visitor;
    if (!event) check_cuda(gpu_api->event_create(&event), "making an event", d.name);
    check_cuda(gpu_api->event_record(event, stream), "recording an event", d.name);
    for (int k = 0; k < count; ++k) {
      if (!stream && k != i) continue;
      for (queue_kind const kind : {queue_kind::compute, queue_kind::copy}) {
        current_card const there(*devices[k]);
        check_cuda(gpu_api->stream_wait_event(cuda_queue_of(*devices[k], kind).stream, event),
                   "waiting for an event", devices[k]->name);
      }
    }
  }
  if (found || count == 0) return;
  message text;
  text << "locus: the stream of on_stream belongs to card " << card << ", and the plan runs on";
  for (int i = 0; i < count; ++i) text << " " << devices[i]->name;
  throw placement_error(text << "; hand in a stream of one of its cards");
}

LOCUS_FUNCTION void cuda_await_guest(void* stream) {
  // each card has its own null stream
  for (logical_device& d : table.gpu_devices) {
    if (!d.is_card() || !d.queues[0]) continue;
    int const card = detail::card_of_stream(stream, "on_stream");
    if (card >= 0 && d.card != card) continue;
    current_card const scope(d);
    check_cuda(gpu_api->stream_synchronize(stream), "waiting for the user's stream", d.name);
    if (card >= 0) return;
  }
}

LOCUS_FUNCTION void cuda_lend(logical_device& d, void* stream) {
  int const card = detail::card_of_stream(stream, "use_stream");
  if (card >= 0 && card != d.card) {
    message text;
    throw placement_error(text << "locus: the stream of use_stream belongs to card " << card
                               << ", and " << d.name << " is card " << int(d.card)
                               << "; hand in a stream of that card");
  }
  cuda_queue& q = cuda_queue_of(d, queue_kind::compute);
  detail::make_guest_wait(d, stream);
  if (!q.is_lent) q.own = q.stream;
  q.stream = stream, q.is_lent = true;
}

LOCUS_FUNCTION void cuda_take_back(logical_device& d) {
  cuda_queue& q = cuda_queue_of(d, queue_kind::compute);
  if (!q.is_lent) return;
  detail::make_guest_wait(d, q.own);
  q.stream = q.own, q.own = nullptr, q.is_lent = false;
}

}  // namespace locus::runtime

LOCUS_COLD_END

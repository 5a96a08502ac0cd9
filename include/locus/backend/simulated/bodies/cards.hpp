// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/cards.hpp declares.
#pragma once
#include <unistd.h>  // ::write

#include <locus/backend/simulated/cards.hpp>  // the declarations
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION short queue_of(logical_device const& d, queue_kind kind) {
  if (d.lent >= 0 && kind == queue_kind::compute) return d.lent;
  return static_cast<short>(runtime::queues_of_device * (d.index % max_gpus) +
                            static_cast<int>(kind));
}

LOCUS_FUNCTION void cards::open(logical_device const& d) {
  memory_of(d).open();
  __atomic_store_n(&card_[d.index % max_gpus], d.card, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION void* cards::obtain(logical_device& d, std::size_t bytes) {
  inside hold(lock_);
  open(d);
  return memory_of(d).allocate(bytes);
}

LOCUS_FUNCTION void cards::give_back(logical_device& d, void* p, std::size_t bytes) {
  inside hold(lock_);
  memory_of(d).release(p, bytes);
}

LOCUS_FUNCTION void cards::retire(logical_device& d, void* p, std::size_t bytes) {
  arena& a = memory_of(d);
  late_queues::retire(queue_of(d, queue_kind::compute), d.name, {p, bytes, true},
                      [&a, p, bytes] { a.poison_range(p, bytes); });
}

LOCUS_FUNCTION device cards::device_of(void const* p) const {
  int const i = arena_of(p);
  return i < 0 ? cpu(0) : gpu(i);
}

LOCUS_FUNCTION bool cards::same_card(device owner, logical_device const& d) const {
  if (!owner.is_gpu() || !d.is_simulated()) return !owner.is_gpu() && !d.is_simulated();
  return card_of(owner.ordinal()) == d.card;
}

LOCUS_FUNCTION int cards::card_of(void const* p) const {
  int const i = arena_of(p);
  return i < 0 ? -1 : card_[i];
}

LOCUS_FUNCTION void cards::lend(logical_device& d, short guest) {
  wait(guest, last(queue_of(d, queue_kind::compute)));
  d.lent = guest, guest_card_[guest - first_guest] = d.card;
}

LOCUS_FUNCTION void cards::take_back(logical_device& d) {
  if (d.lent < 0) return;
  stamp const s = last(std::exchange(d.lent, short(-1)));
  wait(queue_of(d, queue_kind::compute), s);
}

LOCUS_FUNCTION void* cards::behind(void* p) const {
  int const i = arena_of(p);
  return i < 0 ? p : arenas_[i].behind(p);
}

LOCUS_FUNCTION void* cards::behind_on(logical_device const& d, void* p) const {
  int const i = arena_of(p);
  return i >= 0 && card_of(i) == d.card ? arenas_[i].behind(p) : p;
}

LOCUS_FUNCTION int cards::arena_of(void const* p) const {
  for (int i = 0; i < max_gpus; ++i)
    if (arenas_[i].holds(p)) return i;
  return -1;
}

LOCUS_FUNCTION void on_fault(int signal, siginfo_t* info, void* context) {
  if (device const owner = gpus().device_of(info->si_addr); owner.is_gpu()) {
    message text;
    text << "locus: ";
    if (step_record const* const r = runtime::running)
      text << "step " << int(r->number) << " (" << r->name << ") on " << r->where;
    else
      text << "host code outside any step";
    text << " touched memory of " << owner
         << "; a copy is missing in the plan, or a pointer was taken out of a "
         << "GPU tensor\n";
    auto const ignored = ::write(2, text.c_str(), text.view().size());
    static_cast<void>(ignored);
  }
  if (handler_before.sa_flags & SA_SIGINFO)
    handler_before.sa_sigaction(signal, info, context);
  else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
    handler_before.sa_handler(signal);
  else
    ::signal(SIGSEGV, SIG_DFL);  // the instruction runs again, faults, and ends the process
}

}  // namespace locus::simulated

LOCUS_COLD_END

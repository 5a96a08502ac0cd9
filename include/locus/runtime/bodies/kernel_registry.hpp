// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/kernel_registry.hpp declares.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/kernel_registry.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void kernel_registry::add(kernel_entry& e) {
  e.hash = hash_of_type(e.of.name);
  lock_guard hold(lock_);
  kernel_entry*& head = buckets_[e.hash % bucket_count];
  e.next = head, head = &e;
  __atomic_add_fetch(&changes_, 1, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void kernel_registry::remove(kernel_entry& e) noexcept {
  lock_guard hold(lock_);
  for (kernel_entry** at = &buckets_[e.hash % bucket_count]; *at; at = &(*at)->next)
    if (*at == &e) {
      *at = e.next;
      break;
    }
  __atomic_add_fetch(&changes_, 1, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION kernel_entry const* kernel_registry::find(work_id const& what) {
  std::uint64_t const hash = hash_of_type(what.name);
  kernel_entry const* found = nullptr;
  lock_guard hold(lock_);
  for (kernel_entry const* e = buckets_[hash % bucket_count]; e; e = e->next)
    if (e->hash == hash && same_type(e->of.name, what.name) &&
        (!found || engines_of(e->of.name) > engines_of(found->of.name)))
      found = e;
  return found;
}

}  // namespace locus::runtime

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/out_of_memory.hpp declares.
#pragma once
#include <locus/core/error.hpp>            // out_of_memory
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/machine_of.hpp>    // machine_of
#include <locus/memory/out_of_memory.hpp>  // the declarations
#include <locus/runtime/host_memory.hpp>   // host_memory

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION void make_room(logical_device& d, std::int64_t size) {
  auto trim = [](logical_device& one) {
    machine_of(one).finish(one);
    if (region_pool* const pool = __atomic_load_n(&one.memory.pool, __ATOMIC_ACQUIRE)) pool->trim();
  };
  if (size > d.memory.limit - __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED))
    return machine_of(d).finish(d);
  if (d.is_host()) host_memory.trim();
  trim(d);
  for (logical_device& other : table.gpu_devices)
    if (&other != &d && d.is_card() && other.how == d.how && other.card == d.card) trim(other);
}

LOCUS_FUNCTION lack find_lack(memory_account const& m, std::int64_t size,
                              region_pool::facts const& f) {
  std::int64_t const in_use = __atomic_load_n(&m.in_use, __ATOMIC_RELAXED);
  if (size > m.limit - in_use) return lack::limit;
  return size > m.limit - f.reserved ? lack::fragmentation : lack::card;
}

LOCUS_FUNCTION void refuse_memory(logical_device& d, std::int64_t size,
                                  memory_purpose const& purpose) {
  memory_account const& m = d.memory;
  region_pool::facts f;
  if (region_pool* const pool = __atomic_load_n(&m.pool, __ATOMIC_ACQUIRE)) f = pool->look();
  message text;
  text << "locus: no memory on " << d.name << " for ";
  purpose.write_to(text);
  text << ": requested " << size << " bytes, in use "
       << __atomic_load_n(&m.in_use, __ATOMIC_RELAXED) << ", limit " << m.limit;
  if (running && running->number >= 0)
    text << ", step " << int(running->number) << " (" << running->name << ")";
  switch (find_lack(m, size, f)) {
  case lack::limit: text << "; free tensors, or cut the problem into smaller parts"; break;
  case lack::fragmentation:
    text << "; the free memory is fragmented: the largest free block has " << f.largest_free
         << " bytes of " << f.reserved - f.in_use << " that are free in " << f.regions
         << (f.regions == 1 ? " region" : " regions") << "; make large tensors first"
         << (m.growth ? ", or turn memory growth off so that the device is one region" : "");
    break;
  case lack::card:
    text << "; " << (d.is_host() ? "the system" : "the card")
         << " has no more: others use the rest of it (reserved here " << f.reserved
         << "); free tensors, or set a memory limit";
    break;
  }
  throw out_of_memory(text);
}

}  // namespace locus::runtime::detail

LOCUS_COLD_END

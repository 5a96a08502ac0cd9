// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/kept_copies.hpp declares.
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/memory/allocate.hpp>         // allocate, release
#include <locus/memory/kept_copies.hpp>      // the declarations
#include <locus/runtime/queue_failures.hpp>  // queue_failures

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION bool kept_copy::is(copy_key const& k) const {
  if (!ready || dead || failures != queue_failures() || key.of != k.of || key.on != k.on ||
      key.source.data != k.source.data || key.type != k.type || key.rank != k.rank)
    return false;
  for (int a = 0; a < k.rank; ++a)
    if (extents[a] != k.source.extents[a] || strides[a] != k.source.strides[a]) return false;
  return true;
}

LOCUS_FUNCTION kept_copy* copy_cache::find(copy_key const& k, bool checked) {
  lock_guard hold(lock_);
  for (kept_copy* c : copies_)
    if (c->is(k)) {
      if (checked && c->summed && c->sum != sum_of(k)) refuse(*c);
      ++c->users, c->last_use = ++clock_;
      return c;
    }
  return nullptr;
}

LOCUS_FUNCTION kept_copy* copy_cache::make(copy_key const& k, bool checked) {
  std::int64_t const size = round_up(k.bytes);
  {
    lock_guard hold(lock_);
    std::int64_t const limit = __atomic_load_n(&copy_cache_limit, __ATOMIC_RELAXED);
    while (bytes_on(*k.on) + size > limit)
      if (!drop_oldest(*k.on)) return nullptr;
  }
  void* data = nullptr;
  try {
    data = allocate(*k.on, k.bytes, "a copy that is kept");
  } catch (out_of_memory const&) {
    return nullptr;  // the plan then uses its own memory for the copy
  }
  auto* const c = new kept_copy;
  c->key = k, c->data = data, c->failures = queue_failures();
  for (int a = 0; a < k.rank; ++a)
    c->extents[a] = k.source.extents[a], c->strides[a] = k.source.strides[a];
  c->summed = checked && k.from->is_host();
  if (c->summed) c->sum = sum_of(k);
  lock_guard hold(lock_);
  c->last_use = ++clock_;
  copies_.push(c);
  __atomic_store_n(&k.of->kept, 1, __ATOMIC_RELAXED);
  return c;
}

LOCUS_FUNCTION void copy_cache::leave(kept_copy* c, bool arrived) noexcept {
  lock_guard hold(lock_);
  c->ready = c->ready || arrived;
  c->dead = c->dead || !c->ready;
  if (--c->users == 0 && c->dead) end(c);
}

LOCUS_FUNCTION void copy_cache::forget(tensor_block const& b) noexcept {
  lock_guard hold(lock_);
  __atomic_store_n(&b.kept, 0, __ATOMIC_RELAXED);
  drop_if([&](kept_copy const& c) { return c.key.of == &b; });
}

LOCUS_FUNCTION void copy_cache::forget(void const* first, std::int64_t bytes) noexcept {
  auto const* const begin = static_cast<char const*>(first);
  lock_guard hold(lock_);
  drop_if([&](kept_copy const& c) {
    auto const* const other = static_cast<char const*>(c.key.first);
    return begin < other + c.key.bytes && other < begin + bytes;
  });
}

LOCUS_FUNCTION bool copy_cache::drop(logical_device& d) noexcept {
  lock_guard hold(lock_);
  bool any = false;
  while (drop_oldest(d)) any = true;
  return any;
}

LOCUS_FUNCTION void copy_cache::drop_all() noexcept {
  lock_guard hold(lock_);
  drop_if([](kept_copy const&) { return true; });
}

LOCUS_FUNCTION std::int64_t copy_cache::bytes_kept(logical_device const& d) {
  lock_guard hold(lock_);
  return bytes_on(d);
}

LOCUS_FUNCTION std::int64_t copy_cache::bytes_on(logical_device const& d) const {
  std::int64_t n = 0;
  for (kept_copy const* c : copies_) n += c->key.on == &d ? round_up(c->key.bytes) : 0;
  return n;
}

LOCUS_FUNCTION bool copy_cache::drop_oldest(logical_device const& d) noexcept {
  kept_copy* oldest = nullptr;
  for (kept_copy* c : copies_)
    if (c->key.on == &d && c->users == 0 && (!oldest || c->last_use < oldest->last_use)) oldest = c;
  if (oldest) end(oldest);
  return oldest != nullptr;
}

LOCUS_FUNCTION void copy_cache::end(kept_copy* c) noexcept {
  for (std::size_t i = 0; i < copies_.size(); ++i)
    if (copies_[i] == c) {
      copies_.remove(i);
      break;
    }
  release(*c->key.on, c->data, c->key.bytes, "a copy that was kept");
  delete c;
}

LOCUS_FUNCTION void copy_cache::refuse(kept_copy const& c) {
  message text;
  throw bad_access(text << "locus: a Tensor of " << row_of(c.key.of->type).name << c.key.of->extents
                        << " was written through a reference that was taken "
                        << "before it was copied to " << c.key.on->name
                        << ", which kept the copy; write t(i) anew for each element, or "
                        << "config::set_copy_cache(0)");
}

LOCUS_FUNCTION void forget_copies(tensor_block const& b) noexcept {
  forget_margins(b);
  if (__builtin_expect(__atomic_load_n(&b.kept, __ATOMIC_RELAXED) != 0, 0))
    copy_cache_in_use()->forget(b);
}

}  // namespace locus::runtime

namespace locus::config {

LOCUS_FUNCTION void set_copy_cache(std::int64_t bytes) {
  if (bytes < 0)
    throw configuration_error(
        "locus: the bytes of copies that a device keeps are negative; write 0 for none");
  runtime::keep_copies(bytes);
}

}  // namespace locus::config

LOCUS_COLD_END

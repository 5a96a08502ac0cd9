// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/products.hpp declares.
#pragma once
#include <locus/backend/cuda/products.hpp>        // the declarations
#include <locus/backend/cuda/streams.hpp>         // current_card
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>             // physical
#include <locus/memory/allocate.hpp>              // try_allocate
#include <locus/runtime/collective_settings.hpp>  // issue_lock

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION void open_products(logical_device& d) {
  lock_guard hold(products_lock);
  cuda_products& mine = cuda_queue_of(d, queue_kind::compute).products;
  if (mine.handle) return;
  if (gpu_api->blas_open) gpu_api->blas_open();  // reading files takes long: no other thread waits
  auto size = static_cast<std::int64_t>(gpu_api->blas_workspace(physical.cards[d.card].major));
  if (size > d.memory.limit / 16) size = d.memory.limit / 16 / 256 * 256;
  if (!mine.workspace && size > 0) mine.workspace = try_allocate(d, size, size, true);
  mine.bytes = mine.workspace ? static_cast<std::size_t>(size) : 0;
  current_card const scope(d);
  lock_guard issuing(issue_lock);  // cuBLAS allocates memory
  void* handle = nullptr;
  check_cuda(gpu_api->blas_create(&handle), "opening cuBLAS", d.name);
  __atomic_store_n(&mine.handle, handle, __ATOMIC_RELEASE);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION cuda_products& products_of(logical_device& d) {
  cuda_products& mine = cuda_queue_of(d, queue_kind::compute).products;
  if (!__atomic_load_n(&mine.handle, __ATOMIC_ACQUIRE)) detail::open_products(d);
  return mine;
}

}  // namespace locus::runtime

LOCUS_COLD_END

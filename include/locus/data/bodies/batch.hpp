// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that data/batch.hpp declares.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_COLD_BEGIN, LOCUS_LEAN_BEGIN
#include <locus/data/batch.hpp>     // the declarations
#include <locus/memory/pinned.hpp>  // pinned_memory
#include <locus/runtime/forks.hpp>  // is_forked

LOCUS_COLD_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::data::detail {

LOCUS_FUNCTION void release_pinned(tensor_block& b) noexcept {
  if (runtime::is_forked()) return;
  runtime::pinned_memory.release(b.pieces[0].data);
  runtime::end_block();
}

LOCUS_FUNCTION block_owner make_batch_storage(shape const& extents, element type, int element_bytes,
                                              bool pinned) {
  // make_storage refuses a size above 64 bits
  std::int64_t const bytes = countable(extents, element_bytes) ? extents.size() * element_bytes : 0;
  runtime::devices("a batch was made");
  void* p = nullptr;
  if (pinned && bytes > 0) p = runtime::pinned_memory.allocate(bytes);
  if (!p) return locus::internal::make_storage(single(cpu(0)), extents, type, element_bytes);
  block_owner owner(tensor_block::make(single(cpu(0))));
  tensor_block& b = *owner.get();
  b.extents = extents, b.type = type, b.element_bytes = element_bytes;
  runtime::begin_block();
  b.release = release_pinned;
  b.pieces[0].data = p, b.pieces[0].bytes = static_cast<std::size_t>(bytes);
  for (std::int64_t a = extents.rank, stride = 1; a-- > 0; stride *= extents.extent[a])
    b.pieces[0].extents[a] = extents.extent[a], b.pieces[0].strides[a] = stride;
  return owner;
}

LOCUS_FUNCTION void refuse_extents(shape const& is, shape const& of_batch, int component,
                                   std::int64_t number) {
  message text;
  throw shape_error(text << "locus: component " << component << " of element " << number
                         << " has extents " << is << ", those before it in its batch have "
                         << of_batch << "; pad or cut them in a map() before batch()");
}

LOCUS_FUNCTION void refuse_no_batch(std::int64_t elements, std::int64_t size) {
  message text;
  text << "locus: a dataset of " << elements << " elements makes no batch of " << size;
  throw shape_error(
      elements == 0 ? text << "; look at what it reads"
                    : text << " when the remainder is dropped; keep it, or write smaller batches");
}

}  // namespace locus::data::detail

LOCUS_LEAN_END

LOCUS_COLD_END

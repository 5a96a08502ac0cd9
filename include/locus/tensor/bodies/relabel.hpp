// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that tensor/relabel.hpp declares.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION
#include <locus/tensor/relabel.hpp>  // the declarations

namespace locus::detail {

LOCUS_FUNCTION block_owner relabel_block(block_owner const& base, shape const& extents) {
  tensor_block const& from = *base.get();
  bool const cut = from.where.is_sharded();
  if (extents.size() != from.extents.size() ||
      (cut && (from.where.axis != 0 || extents.extent[0] != from.extents.extent[0]))) {
    message text;
    throw shape_error(text << "locus: memory of extents " << from.extents << " is seen as "
                           << extents << "; keep the elements, and the rows of what is cut");
  }
  tensor_block* const b = tensor_block::make(from.where, sizeof(block_owner));
  new (base_of(*b)) block_owner(base);
  b->exposed = 1;  // the two tensors do not see each other's writes: devices keep no copies
  __atomic_store_n(&from.exposed, 1, __ATOMIC_RELAXED);
  runtime::forget_copies(from);
  b->release = release_relabelled;
  b->extents = extents, b->type = from.type, b->element_bytes = from.element_bytes;
  for (int r = 0; r < from.where.local_count(); ++r) {
    piece& p = b->pieces[r];
    p.data = from.pieces[r].data, p.bytes = from.pieces[r].bytes;
    local_extents(extents, from.where, r, p.extents);
    std::int64_t stride = 1;
    for (int a = extents.rank; a-- > 0;) {
      p.strides[a] = stride;
      stride *= p.extents[a];
    }
  }
  return block_owner(b);
}

}  // namespace locus::detail

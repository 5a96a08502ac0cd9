// SPDX-License-Identifier: Apache-2.0
// The same memory under other extents, with two owners: for what knows that nobody writes it.
#pragma once
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus::detail {

/// in a block that looks at another one's memory: who that is, behind the pieces
inline block_owner* base_of(tensor_block& b) {
  return reinterpret_cast<block_owner*>(b.pieces + b.where.count());
}
inline void release_relabelled(tensor_block& b) noexcept { base_of(b)->~block_owner(); }

/// means: a block over base's memory; it lives as long as either
/// shape: as many elements; of a value that is cut, as many along the cut
inline block_owner relabel_block(block_owner const& base, shape const& extents) {
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
  b->exposed = 1;  // who writes through one name does not know the other: no copies are kept
  __atomic_store_n(&from.exposed, 1, __ATOMIC_RELAXED);
  runtime::forget_copies(from);
  b->release = release_relabelled;
  b->extents = extents, b->type = from.type, b->element_bytes = from.element_bytes;
  for (int r = 0; r < from.where.count(); ++r) {
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

/// means: t's memory as a tensor of another type over the same devices: rank and extents may differ
/// cost:  one small allocation on the host; no element is touched
template <class To, class T, class E, class Where>
To relabel(Tensor<T, E, Where> const& t, shape const& extents) {
  static_assert(std::is_same_v<typename To::value_type, T> &&
                    std::is_same_v<typename To::policy, Where>,
                "locus: memory keeps its elements' type and its place; only extents change");
  To r{typename To::unmade{}};
  r.block = relabel_block(t.block, typename To::extents_type(extents).as_shape());
  r.block->tensor = static_cast<tensor_base const*>(&r);
  return r;
}

}  // namespace locus::detail

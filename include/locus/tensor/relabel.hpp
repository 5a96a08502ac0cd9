// SPDX-License-Identifier: Apache-2.0
// The same memory under other extents, with two owners; no plan may write one and read the other.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus::detail {

/// the owner of the memory that a relabelled block uses; stored after the pieces
inline block_owner* base_of(tensor_block& b) {
  return reinterpret_cast<block_owner*>(b.pieces + b.where.local_count());
}
inline void release_relabelled(tensor_block& b) noexcept { base_of(b)->~block_owner(); }

/// means: a block over base's memory, which lives until both blocks are gone
/// shape: as many elements; for a sharded value, also as many along the cut axis
LOCUS_FUNCTION block_owner relabel_block(block_owner const& base, shape const& extents);

}  // namespace locus::detail

namespace locus::internal {

/// means: t's memory as a tensor of type To over the same devices: rank and extents may differ
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
/// means: the same of memory that is no Tensor's, as that of a variable. The program orders writes: a plan
///        that reads one of both tensors and writes the other sees no overlap
template <class To>
To relabel_memory(block_owner const& memory, shape const& extents) {
  To r{typename To::unmade{}};
  r.block = relabel_block(memory, typename To::extents_type(extents).as_shape());
  r.block->tensor = static_cast<tensor_base const*>(&r);
  return r;
}

}  // namespace locus::internal

#if LOCUS_HAS_BODIES
#include <locus/tensor/bodies/relabel.hpp>  // bodies of the functions above
#endif

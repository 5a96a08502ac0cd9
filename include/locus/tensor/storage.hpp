// SPDX-License-Identifier: Apache-2.0
// The memory of a tensor: one piece on each of its devices, freed with the last owner.
#pragma once

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/expr/block.hpp>   // tensor_block

namespace locus::detail {

/// in a forked child: memory of devices belongs to the parent; memory of the host is freed here too
[[gnu::cold]] LOCUS_FUNCTION void release_in_child(tensor_block& b) noexcept;
LOCUS_FUNCTION void release_block(tensor_block& b) noexcept;

}  // namespace locus::detail

namespace locus::internal {

/// means: memory for a value of those extents, elements unspecified (NaN in checked builds, on the
///        host)
/// fails: out_of_memory; then no piece is allocated
LOCUS_FUNCTION block_owner make_storage(place const& where, shape const& extents, element type,
                                        int element_bytes);

/// means: copies host values in row order to every replica, or to each replica its piece
LOCUS_FUNCTION void fill_storage(tensor_block const& b, void const* values);

}  // namespace locus::internal

#if LOCUS_HAS_BODIES
#include <locus/tensor/bodies/storage.hpp>  // bodies of the functions above
#endif

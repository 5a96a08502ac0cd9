// SPDX-License-Identifier: Apache-2.0
// stored: a tensor of a model or of its optimizer as files and callbacks see it, whatever its type.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/tensor/move_block.hpp>  // move_block, fill_storage

namespace locus::nn {

/// A weight, or what an optimizer keeps of one, wherever it lies.
struct stored {
  std::string name;  // "dense/kernel", "optimizer/dense/kernel/momentum"
  shape extents;     // as Keras prints them; elements lie in row order
  bool trainable;
  tensor_block* block;  // of the tensor, whose model keeps it

  element type() const { return block->type; }
  std::int64_t bytes() const { return extents.size() * block->element_bytes; }
};

/// A number that is part of a training's state: "optimizer/iterations".
struct counter {
  std::string name;
  std::int64_t* value;
};

LOCUS_COLD_BEGIN

/// means: to = the elements, which are equal on every replica
/// cost:  waits for the device; one copy of s.bytes()
inline void read_values(stored const& s, void* to) {
  block_owner const host = locus::detail::make_storage(single(cpu(0)), s.block->extents,
                                                       s.block->type, s.block->element_bytes);
  locus::detail::move_block(*s.block, *host.get());
  if (s.bytes() > 0)
    __builtin_memcpy(to, host->pieces[0].data, static_cast<std::size_t>(s.bytes()));
}

/// means: the elements = from, on every replica
/// cost:  one copy of s.bytes() to each
inline void write_values(stored const& s, void const* from) {
  locus::detail::fill_storage(*s.block, from);
}

LOCUS_COLD_END

}  // namespace locus::nn

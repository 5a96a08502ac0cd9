// SPDX-License-Identifier: Apache-2.0
// stored: a tensor of a model or of its optimizer, for files and callbacks, of any element type.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/tensor/move_block.hpp>  // move_block, fill_storage

namespace locus::nn {

/// A weight, or a slot of one, on any devices.
struct stored {
  std::string name;  // "dense/kernel", "optimizer/dense/kernel/momentum"
  shape extents;     // as Keras prints them; elements in row order
  bool trainable;
  tensor_block* block;  // the tensor's memory, owned by the model

  element type() const { return block->type; }
  std::int64_t bytes() const { return extents.size() * block->element_bytes; }
};

/// An integer of a training's state, as "optimizer/iterations".
struct counter {
  std::string name;
  std::int64_t* value;
};

/// A number of an optimizer that a training may change, as "optimizer/learning_rate".
struct setting {
  std::string name;
  double* value;
};

LOCUS_COLD_BEGIN

/// means: to = the elements, which are equal on all replicas
/// cost:  waits for the device; one copy of s.bytes()
inline void read_values(stored const& s, void* to) {
  block_owner const host = locus::internal::make_storage(single(cpu(0)), s.block->extents,
                                                         s.block->type, s.block->element_bytes);
  locus::internal::move_block(*s.block, *host.get());
  if (s.bytes() > 0)
    __builtin_memcpy(to, host->pieces[0].data, static_cast<std::size_t>(s.bytes()));
}

/// means: the elements = from, on every replica
/// cost:  one copy of s.bytes() to each replica
inline void write_values(stored const& s, void const* from) {
  locus::internal::fill_storage(*s.block, from);
}

LOCUS_COLD_END

}  // namespace locus::nn

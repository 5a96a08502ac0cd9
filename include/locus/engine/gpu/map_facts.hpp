// SPDX-License-Identifier: Apache-2.0
// Constants of an element-wise kernel on a GPU that follow from its types.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/block.hpp>    // block_threads
#include <locus/engine/gpu/vectors.hpp>  // vector_size, bytes_of

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// Constants of a map's kernels: vectors of a thread, elements of a vector, bytes of an element.
template <class Work>
struct map_facts {
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int in_count = ins::size, out_count = outs::size,
                       vector = vector_size(ins{}, outs{});
  /// Vectors of each input that a thread loads at once: 64 bytes of all inputs, but at most 8
  /// elements of each. About 32 KiB of loads in flight keep the memory of a multiprocessor busy
  /// (cub::DeviceTransform has 48 on Hopper): 2048 threads with 16 bytes each.
  static constexpr int wanted = bytes_of(ins{}) == 0 ? 1 : 64 / (bytes_of(ins{}) * vector),
                       most = 8 / vector;
  static constexpr int unroll = wanted < 1 || most < 1 ? 1 : wanted < most ? wanted : most;
  static constexpr unsigned tile = block_threads * unsigned(unroll);

  template <class... Kinds>
  static consteval int count_in_memory(type_list<Kinds...>) {
    return (0 + ... + int(!std::is_same_v<Kinds, kernel::own_offset>));
  }
  static constexpr int inputs_in_memory = count_in_memory(ins{});
  static constexpr auto byte_table = bytes_of_each(ins{}, outs{});
  /// size of an element of each operand; 0 for an operand without memory
  static constexpr int const* bytes = byte_table.of;
  /// size of an element of the widest input of at most 16 bytes
  static consteval int widest() {
    int found = 1;
    for (int k = 0; k < in_count; ++k)
      if (byte_table.of[k] > found && byte_table.of[k] <= 16) found = byte_table.of[k];
    return found;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

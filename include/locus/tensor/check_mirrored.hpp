// SPDX-License-Identifier: Apache-2.0
// In checked builds `to` and `fetch` compare the copies of a mirrored tensor, which must be equal.
#pragma once

#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/expr/block.hpp>           // tensor_block
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/runtime/host_memory.hpp>  // host_memory

namespace locus::detail {

/// reads parts of one copy on the host
class copy_reader {
 public:
  static constexpr std::int64_t capacity = 1 << 20;

  copy_reader() : buffer_(runtime::host_memory.allocate(capacity)) {}
  copy_reader(copy_reader const&) = delete;
  ~copy_reader() { runtime::host_memory.release(buffer_, capacity); }
  /// means: bytes [begin, begin + n) of a replica; nullptr where the host has no memory for the
  ///        buffer
  char const* read(logical_device& d, piece const& p, std::int64_t begin, std::int64_t n);

 private:
  void* buffer_;
};

}  // namespace locus::detail

namespace locus::internal {

/// means: every replica of a mirrored tensor has the bytes of the first
/// fails: bad_access, naming the replica and the element
/// cost:  a copy of every replica to the host, so only in checked builds. Devices of another kind
///        than the first round differently, so they are not compared.
LOCUS_FUNCTION void require_equal_copies(tensor_block const& b);

}  // namespace locus::internal

#if LOCUS_HAS_BODIES
#include <locus/tensor/bodies/check_mirrored.hpp>  // bodies of the functions above
#endif

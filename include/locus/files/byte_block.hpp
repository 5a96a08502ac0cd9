// SPDX-License-Identifier: Apache-2.0
// The bytes of a file in memory: no more memory than the file has bytes.
#pragma once
#include <cstdlib>  // realloc
#include <memory>   // unique_ptr

#include <locus/core/error.hpp>  // out_of_memory

LOCUS_COLD_BEGIN

namespace locus::data {

/// Uninitialised bytes; std::vector would fill them with zeros first.
struct byte_block {
  struct frees {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char[], frees> data;
  std::size_t size = 0;

  byte_block() = default;
  explicit byte_block(std::size_t n) { resize(n); }
  /// means: changes the size; the first bytes stay     fails: out_of_memory
  void resize(std::size_t n) {
    auto* const moved = static_cast<unsigned char*>(std::realloc(data.get(), n ? n : 1));
    if (!moved) {
      message text;
      throw out_of_memory(text << "locus: there is no memory for " << n
                               << " bytes of a file; read less of it, or end what holds memory");
    }
    static_cast<void>(data.release());
    data.reset(moved), size = n;
  }
  /// means: one step towards the size that a header claims: a damaged zipped file with a large
  ///        claim and few bytes takes at most twice its bytes, and a MiB
  void grow_towards(std::size_t claimed) {
    std::size_t const step = size < (1u << 19) ? 1u << 20 : 2 * size;
    resize(step < claimed ? step : claimed);
  }
};

}  // namespace locus::data

LOCUS_COLD_END

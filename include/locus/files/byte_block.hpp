// SPDX-License-Identifier: Apache-2.0
// Bytes of a file in memory, as many as the file really has.
#pragma once
#include <cstdlib>  // realloc
#include <memory>   // unique_ptr

#include <locus/core/error.hpp>  // out_of_memory

LOCUS_COLD_BEGIN

namespace locus::data::detail {

/// Plain bytes; std::vector would write zeros into them first.
struct byte_block {
  struct frees {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char[], frees> data;
  std::size_t size = 0;

  byte_block() = default;
  explicit byte_block(std::size_t n) { resize(n); }
  /// means: the bytes that were there stay at the begin     fails: out_of_memory
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
  /// means: one step towards the size that a file claims: what claims much and holds little, as a
  ///        damaged zipped file does, takes no more than twice what it holds, and a MiB
  void grow_towards(std::size_t claimed) {
    std::size_t const step = size < (1u << 19) ? 1u << 20 : 2 * size;
    resize(step < claimed ? step : claimed);
  }
};

}  // namespace locus::data::detail

LOCUS_COLD_END

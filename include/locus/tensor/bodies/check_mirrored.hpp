// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that tensor/check_mirrored.hpp declares.
#pragma once
#include <cstring>  // memcmp

#include <locus/backend/devices.hpp>        // find_device
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION
#include <locus/machine/copies.hpp>         // copy
#include <locus/machine/stamps.hpp>         // synchronize
#include <locus/tensor/check_mirrored.hpp>  // the declarations

namespace locus::detail {

LOCUS_FUNCTION char const* copy_reader::read(logical_device& d, piece const& p, std::int64_t begin,
                                             std::int64_t n) {
  char const* const from = static_cast<char const*>(p.data) + begin;
  if (d.is_host() || !buffer_) return d.is_host() ? from : nullptr;
  step_record const record{-1, "comparing copies", d.name};
  runtime::synchronize(runtime::copy(runtime::find_device(cpu(0)), buffer_, d, from, n,
                                     queue_kind::compute, record));
  return static_cast<char const*>(buffer_);
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void require_equal_copies(tensor_block const& b) {
  logical_device& first = runtime::find_device(b.where.at(0));
  std::int64_t const bytes = static_cast<std::int64_t>(b.pieces[0].bytes);
  copy_reader ours, theirs;
  for (int r = 1; r < b.where.local_count(); ++r) {
    logical_device& d = runtime::find_device(b.where.at(r));
    if (d.how != first.how) continue;
    for (std::int64_t at = 0; at < bytes; at += copy_reader::capacity) {
      std::int64_t n = bytes - at < copy_reader::capacity ? bytes - at : copy_reader::capacity;
      char const* const x = ours.read(first, b.pieces[0], at, n);
      char const* const y = theirs.read(d, b.pieces[r], at, n);
      if (!x || !y || std::memcmp(x, y, static_cast<std::size_t>(n)) == 0) continue;
      for (n = 0; x[n] == y[n];) ++n;
      message text;
      throw bad_access(text << "locus: the copies of a mirrored tensor of " << row_of(b.type).name
                            << b.extents << " differ: element " << (at + n) / b.element_bytes
                            << " on " << b.where.at(r) << " is not that on " << b.where.at(0)
                            << "; assign to the tensor as a whole");
    }
  }
}

}  // namespace locus::internal

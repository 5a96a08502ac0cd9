// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that tensor/storage.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>     // find_device
#include <locus/core/array.hpp>          // dynamic_array
#include <locus/core/bytes.hpp>          // round_up
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION
#include <locus/machine/copies.hpp>      // copy
#include <locus/memory/allocate.hpp>     // allocate, release
#include <locus/memory/kept_copies.hpp>  // forget_copies
#include <locus/run/statement_loop.hpp>  // offer_statement_loop
#include <locus/run/values.hpp>          // local_extents
#include <locus/runtime/forks.hpp>       // is_forked
#include <locus/tensor/storage.hpp>      // the declarations

namespace locus::detail {

/// means: the address that was allocated for piece r, with its margin in front
inline void* memory_of(tensor_block const& b, int r) {
  return static_cast<char*>(b.pieces[r].data) - b.before;
}

/// means: room for the rows of neighbours beside each piece; the piece itself begins where memory of
///        devices does
LOCUS_FUNCTION void size_margins(tensor_block& b) {
  constexpr std::int64_t most = INT64_MAX / 16;  // more than any machine has
  std::int64_t bytes = b.where.margin.width * b.element_bytes;
  for (int a = 1; a < b.extents.rank; ++a)
    if (__builtin_mul_overflow(bytes, b.extents.extent[a], &bytes) || bytes > most) bytes = most;
  b.behind = bytes, b.before = round_up(bytes);
}
/// means: zeros in the margins of piece r; of the rows there, an exchange never writes the outermost
LOCUS_FUNCTION void clear_margins(tensor_block const& b, int r) {
  if (b.behind == 0) return;
  logical_device &d = runtime::find_device(b.where.at(r)), &host = runtime::find_device(cpu(0));
  dynamic_array<char> zeros;
  zeros.resize(static_cast<std::size_t>(b.behind));
  __builtin_memset(&zeros[0], 0, zeros.size());
  auto* const first = static_cast<char*>(b.pieces[r].data);
  for (char* const margin : {first - b.behind, first + b.pieces[r].bytes})
    static_cast<void>(runtime::copy(d, margin, host, &zeros[0], b.behind, queue_kind::compute,
                                    {-1, "clearing margins", b.where.at(r)}));
}

LOCUS_FUNCTION void release_in_child(tensor_block& b) noexcept {
  for (int r = 0; r < b.where.local_count(); ++r) {
    logical_device const& d = runtime::table.slot(b.where.at(r));
    if (d.is_host() && !d.memory.pool && b.pieces[r].data) std::free(memory_of(b, r));
  }
}

LOCUS_FUNCTION void release_block(tensor_block& b) noexcept {
  if (runtime::is_forked()) return release_in_child(b);
  runtime::forget_copies(b);
  for (int r = 0; r < b.where.local_count(); ++r)
    if (b.pieces[r].data)
      runtime::release(runtime::find_device(b.where.at(r)), memory_of(b, r),
                       b.before + std::int64_t(b.pieces[r].bytes) + b.behind);
  runtime::end_block();
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION block_owner make_storage(place const& where, shape const& extents, element type,
                                        int element_bytes) {
  lowering::offer_statement_loop();
  block_owner owner(tensor_block::make(where));
  tensor_block& b = *owner.get();
  b.extents = extents, b.type = type, b.element_bytes = element_bytes;
  runtime::begin_block();
  b.release = release_block;
  if (where.margin.width > 0) detail::size_margins(b);
  for (int r = 0; r < where.local_count(); ++r) {
    piece& p = b.pieces[r];
    local_extents(extents, where, r, p.extents);
    std::int64_t size = element_bytes;
    std::uint64_t stride = 1;  // wraps if it is too large: then no element is read
    for (int a = extents.rank; a-- > 0;) {
      p.strides[a] = static_cast<std::int64_t>(stride);
      stride *= static_cast<std::uint64_t>(p.extents[a]);
      if (__builtin_mul_overflow(size, p.extents[a], &size) || size > INT64_MAX / 2)
        size = INT64_MAX / 2;  // more than any machine has: the allocation fails
    }
    logical_device& d = runtime::find_device(where.at(r));
    std::int64_t const all = b.before + size + b.behind;
    void* const memory = runtime::allocate(d, all, {row_of(type).name, extents});
    p.data = static_cast<char*>(memory) + b.before;
    p.bytes = static_cast<std::size_t>(size);
    if (checked_build && d.is_host() && all > 0)
      __builtin_memset(memory, 0xff, static_cast<std::size_t>(all));
    if (where.margin.outside == beyond::zero) detail::clear_margins(b, r);
  }
  return owner;
}

LOCUS_FUNCTION void fill_storage(tensor_block const& b, void const* values) {
  runtime::forget_copies(b);
  step_record const record{-1, "filling a tensor", b.where.at(0)};
  logical_device& host = runtime::find_device(cpu(0));
  int const rank = b.extents.rank, axis = b.where.axis;
  for (int r = 0; r < b.where.local_count(); ++r) {
    piece const& p = b.pieces[r];
    logical_device& d = runtime::find_device(b.where.at(r));
    auto send = [&](std::int64_t to, std::int64_t from, std::int64_t elements) {
      stamp const done = runtime::copy(d, static_cast<char*>(p.data) + to * b.element_bytes, host,
                                       static_cast<char const*>(values) + from * b.element_bytes,
                                       elements * b.element_bytes, queue_kind::compute, record);
      static_cast<void>(done);  // the compute queue orders later work behind it
    };
    if (!b.where.is_sharded()) {
      send(0, 0, b.extents.size());
      continue;
    }
    std::int64_t inner = 1,
                 outer = 1;  // a piece is one run of rows for each point of the axes before the cut
    for (int a = axis + 1; a < rank; ++a) inner *= b.extents.extent[a];
    for (int a = 0; a < axis; ++a) outer *= b.extents.extent[a];
    std::int64_t const n = b.extents.extent[axis], begin = b.where.piece_begin(n, r),
                       rows = p.extents[axis];
    for (std::int64_t o = 0; o < outer && rows > 0; ++o)
      send(o * rows * inner, (o * n + begin) * inner, rows * inner);
  }
}

}  // namespace locus::internal

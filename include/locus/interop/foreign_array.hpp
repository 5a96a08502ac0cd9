// SPDX-License-Identifier: Apache-2.0
// An array of DLPack that locus takes: does it fit, and a tensor's memory over its elements.
#pragma once
#include <locus/backend/devices.hpp>       // table, logical_device
#include <locus/core/macros.hpp>           // LOCUS_COLD_BEGIN
#include <locus/interop/dlpack_types.hpp>  // array, dlpack_error
#include <locus/interop/elements.hpp>      // tell_layout
#include <locus/machine/stamps.hpp>        // meet_arrivals, mark, synchronize
#include <locus/memory/kept_copies.hpp>    // forget_copies
#include <locus/run/statement_loop.hpp>    // offer_statement_loop

namespace locus::dlpack {

/// An array of another library that fits: where its elements are.
struct found_array {
  void* data;
  shape extents;
  std::int64_t strides[max_rank];
  bool in_row_order() const {
    std::int64_t rows[max_rank]{};
    row_major(extents, rows);
    for (int a = 0; a < extents.rank; ++a)
      if (extents.extent[a] > 1 && strides[a] != rows[a] && extents.size() > 0) return false;
    return true;
  }
};

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_null() {
  throw dlpack_error("locus: a null pointer stands in place of an array of DLPack; take each array "
                     "once, since taking sets its pointer to null");
}
[[noreturn]] inline void refuse_version(std::uint32_t number) {
  message text;
  throw dlpack_error(text << "locus: an array of DLPack version " << std::int64_t(number)
                          << " cannot be read, only version 1; ask its library for max_version=(1, "
                             "0)");
}
[[noreturn]] inline void refuse_read_only() {
  throw dlpack_error("locus: this array of DLPack may only be read; view it with "
                     "keep_dlpack<T const, Extents>(m), or copy it first");
}
[[noreturn]] inline void refuse_gaps(found_array const& a) {
  message text;
  text << "locus: a Tensor keeps rows without gaps, and an array of DLPack has ";
  throw shape_error(interop::tell_layout(text, a.extents, a.strides)
                    << "; view it with keep_dlpack, or copy it to row order first");
}
/// means: the elements of an array that shall have this type and these extents on device `on`
/// fails: dlpack_error, placement_error, shape_error, which name what was found and what was asked
inline found_array find_elements(array const& a, element type, int alignment, shape const& pattern,
                                 logical_device const& on) {
  message text;
  if (!(a.dtype == types[static_cast<int>(type)]))
    throw dlpack_error(text << "locus: an array of DLPack has elements " << a.dtype
                            << ", and is taken as " << row_of(type).name
                            << "; convert it first, or name its type");
  bool const is_host = a.device.device_type == on_cpu || a.device.device_type == on_pinned_host,
             is_card = a.device.device_type == on_cuda || a.device.device_type == on_cuda_managed;
  if (on.is_host() ? !is_host : !(on.is_card() && is_card && a.device.device_id == on.card)) {
    text << "locus: an array of DLPack lies on " << a.device << ", and is taken on " << on.name;
    if (on.is_card()) text << ", CUDA card " << int(on.card);
    if (on.is_simulated()) text << ", which is simulated";
    throw placement_error(text << "; name its device, or let its library copy it over");
  }
  if (a.ndim != pattern.rank)
    throw shape_error(text << "locus: an array of DLPack has " << a.ndim
                           << " axes, and is taken with extents " << pattern
                           << "; name as many axes, or reshape it first");
  found_array found{static_cast<char*>(a.data) + a.byte_offset, {pattern.rank, {}}, {}};
  bool fits = true;
  for (int k = 0; k < pattern.rank; ++k) {
    found.extents.extent[k] = a.shape[k];
    fits = fits && a.shape[k] >= 0 && (pattern.extent[k] == dyn || pattern.extent[k] == a.shape[k]);
  }
  if (!fits)
    throw shape_error(text << "locus: an array of DLPack has extents " << found.extents
                           << ", and is taken with extents " << pattern
                           << "; write dyn for extents that the type does not fix");
  std::int64_t bytes = row_of(type).bytes;
  if (!bytes_of_extents(found.extents.extent, static_cast<std::size_t>(pattern.rank), bytes))
    throw dlpack_error(text << "locus: an array of DLPack has extents " << found.extents
                            << ", more bytes than 64 bits count; ask its library for a part of it");
  if (a.strides)
    for (int k = 0; k < pattern.rank; ++k) found.strides[k] = a.strides[k];
  else
    row_major(found.extents, found.strides);
  if (found.extents.size() == 0) return found;
  if (!a.data)
    throw dlpack_error(text << "locus: an array of DLPack with extents " << found.extents
                            << " has no memory; ask its library for one with elements");
  if (reinterpret_cast<std::uintptr_t>(found.data) % static_cast<std::uintptr_t>(alignment))
    throw dlpack_error(text << "locus: the elements of an array of DLPack begin at an address that "
                               "is no multiple of "
                            << alignment << " bytes; copy it first");
  return found;
}
/// The bytes of elements at strides, from the lowest element to the highest one, gaps included.
struct bytes_at_strides {
  char const* first;
  std::int64_t count = 0;
  bytes_at_strides(void const* data, shape const& extents, std::int64_t const* strides,
                   std::int64_t element_bytes)
      : first(static_cast<char const*>(data)) {
    std::int64_t low = 0, high = 0;  // elements, counted from the one at `data`
    for (int a = 0; a < extents.rank; ++a) {
      if (extents.extent[a] == 0) return;
      std::int64_t const last = (extents.extent[a] - 1) * strides[a];
      (last < 0 ? low : high) += last;
    }
    first += low * element_bytes, count = (high - low + 1) * element_bytes;
  }
};
/// means: the host waits for all work on those bytes, so that others may use them
inline void await_bytes(logical_device& d, void const* first, std::int64_t bytes) {
  if (d.is_host()) return;
  runtime::meet_arrivals(d, first, bytes);
  runtime::synchronize(runtime::mark(d, queue_kind::compute));
}
/// means: the same, of memory that goes back to its library: a device that fails has no work left
inline void end_work_on(device on, void const* first, std::int64_t bytes) noexcept {
  try {
    await_bytes(runtime::find_device(on), first, bytes);
  } catch (...) {}
}
/// The array that owns the memory of a tensor; stands behind the tensor's pieces.
struct foreign_owner {
  void* managed;
  void (*end)(void* managed);
};
inline foreign_owner& owner_of(tensor_block& b) {
  return *reinterpret_cast<foreign_owner*>(b.pieces + b.where.local_count());
}
inline void release_foreign(tensor_block& b) noexcept {
  runtime::forget_copies(b);
  end_work_on(b.where.at(0), b.pieces[0].data, std::int64_t(b.pieces[0].bytes));
  owner_of(b).end(owner_of(b).managed);
  runtime::end_block();
}
/// means: the memory of a tensor over an array in row order; its last owner calls end(managed)
inline block_owner block_over(found_array const& a, element type, device on,
                              foreign_owner const& owner) {
  lowering::offer_statement_loop();
  tensor_block* const b = tensor_block::make(single(on), sizeof(foreign_owner));
  b->extents = a.extents, b->type = type, b->element_bytes = row_of(type).bytes;
  b->exposed = 1;  // its library may write it: devices keep no copies
  b->pieces[0].data = a.data;
  b->pieces[0].bytes = std::size_t(a.extents.size() * b->element_bytes);
  for (int k = 0; k < a.extents.rank; ++k) b->pieces[0].extents[k] = a.extents.extent[k];
  row_major(a.extents, b->pieces[0].strides);
  runtime::begin_block();
  owner_of(*b) = owner;
  b->release = release_foreign;
  return block_owner(b);
}
LOCUS_COLD_END

}  // namespace locus::dlpack

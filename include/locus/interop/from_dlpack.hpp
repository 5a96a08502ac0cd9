// SPDX-License-Identifier: Apache-2.0
// from_dlpack(m), keep_dlpack(m): an array of NumPy, PyTorch or another library as a tensor or view,
// without a copy. A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // exchange, swap

#include <locus/backend/devices.hpp>        // devices, find_device
#include <locus/backend/gpus.hpp>           // note_gpus
#include <locus/core/macros.hpp>            // LOCUS_MODE
#include <locus/interop/dlpack_types.hpp>   // managed, type_of
#include <locus/interop/elements.hpp>       // strides_of
#include <locus/interop/foreign_array.hpp>  // find_elements, block_over, bytes_at_strides
#include <locus/tensor/view.hpp>            // Tensor, View

namespace locus {

namespace dlpack {

/// means: gives an array back to its library
template <managed Managed>
void give_back(Managed* m) {
  if (m && m->deleter) m->deleter(m);
}

inline namespace LOCUS_MODE {
/// means: where the elements of m are, if they may be used as T on Where
template <class T, class E, class Where, managed Managed>
found_array find_elements(Managed* m, call_site site) {
  using plain = std::remove_const_t<T>;
  static_assert(single_device<Where> && !open_device<Where>,
                "locus: an array of DLPack lies on one device, which its type names; write "
                "CpuDevice or GpuDevice<0>");
  runtime::devices("an array of DLPack was taken", site);
  runtime::note_gpus<has_gpu(Where::value.devices)>();
  if (!m) refuse_null();
  if constexpr (is_versioned<Managed>) {
    std::uint32_t number = 0;
    __builtin_memcpy(&number, &m->version, sizeof number);
    if (number != version_here[0]) refuse_version(number);
    if (!std::is_const_v<T> && (m->flags & read_only)) refuse_read_only();
  }
  static_cast<void>(type_of<plain>());
  array a;
  __builtin_memcpy(&a, &m->dl_tensor, sizeof a);
  constexpr auto alignment = int(locus::internal::alignment_on<plain, Where>);
  return dlpack::find_elements(a, element_of_v<plain>, alignment, E::pattern,
                               runtime::find_device(Where::value.at(0)));
}
}  // namespace LOCUS_MODE

}  // namespace dlpack

/// means: an array of another library, kept until this object dies: view() is its elements at the
///        array's strides, an operand, and a destination unless T is const. The object moves,
///        and is not copied
template <class T, class E, class Where, class Managed>
class KeptArray {
 public:
  using view_type = View<T, E, Where, false>;
  KeptArray(view_type const& view, Managed* taken) : view_(view), managed_(taken) {}
  KeptArray(KeptArray&& o) noexcept
      : view_(o.view_), managed_(std::exchange(o.managed_, nullptr)) {}
  KeptArray& operator=(KeptArray&& o) noexcept {
    std::swap(view_, o.view_), std::swap(managed_, o.managed_);
    return *this;
  }
  ~KeptArray() {
    std::int64_t strides[max_rank + 1]{};
    interop::strides_of(view_, strides);
    dlpack::bytes_at_strides const bytes(view_.data(), view_.extents().as_shape(), strides,
                                         sizeof(T));
    if (managed_ && bytes.count > 0)
      dlpack::end_work_on(Where::value.at(0), bytes.first, bytes.count);
    dlpack::give_back(managed_);
  }

  view_type view() const& { return view_; }
  template <class Self = KeptArray>
  view_type view() const&& {
    static_assert(always_false<Self>, "locus: this view would outlive its array; give what "
                                      "keep_dlpack returns a name");
    return view_;
  }

 private:
  view_type view_;
  Managed* managed_;
};

inline namespace LOCUS_MODE {

/// means: an array of DLPack as a Tensor over the same memory; the last owner of the memory calls
///        the array's deleter, once. m becomes null: it is taken. Where the call fails, m keeps its
///        array, and the program calls the deleter
/// shape: E; extents that are dyn are those of the array     device: Where, which holds the array
/// cost:  one small allocation; no element is copied. Work of the other library must have ended; the
///        last owner waits for work of locus on the memory before the deleter runs
/// fails: dlpack_error (null, another type, read-only, another version, more bytes than 64 bits count),
///        shape_error (rank, extents, strides that are not those of rows), placement_error (another
///        device): m is unchanged
/// after: dlpack.h; numpy.from_dlpack
template <class T, class E, class Where = CpuDevice, dlpack::managed Managed>
Tensor<T, E, Where> from_dlpack(Managed*& m, call_site site = call_site::here()) {
  auto const found = dlpack::find_elements<T, E, Where>(m, site);
  if (!found.in_row_order()) dlpack::refuse_gaps(found);
  Tensor<T, E, Where> t{typename Tensor<T, E, Where>::unmade{}};
  t.block =
      dlpack::block_over(found, element_of_v<T>, Where::value.at(0),
                         {m, [](void* taken) { dlpack::give_back(static_cast<Managed*>(taken)); }});
  t.block->tensor = static_cast<tensor_base const*>(&t);
  m = nullptr;
  return t;
}
template <class T, class E, class Where = CpuDevice, dlpack::managed Managed>
Tensor<T, E, Where> from_dlpack(Managed*&& m, call_site site = call_site::here()) {
  return from_dlpack<T, E, Where>(m, site);
}

/// means: an array of DLPack at any strides, kept: keep_dlpack<float, Dextents<2>>(m).view(); with T
///        const also one that may only be read. m becomes null
/// fails: as from_dlpack, but for strides; a view that has one element at several indices and is
///        written throws shape_error
/// shape, device, after: as from_dlpack     cost: none
template <class T, class E, class Where = CpuDevice, dlpack::managed Managed>
KeptArray<T, E, Where, Managed> keep_dlpack(Managed*& m, call_site site = call_site::here()) {
  auto const found = dlpack::find_elements<T, E, Where>(m, site);
  layout_stride layout;
  for (int a = 0; a < E::rank(); ++a) layout.stride[a] = found.strides[a];
  View<T, E, Where, false> const view(static_cast<T*>(found.data), E(found.extents), layout);
  return {view, std::exchange(m, nullptr)};
}
template <class T, class E, class Where = CpuDevice, dlpack::managed Managed>
KeptArray<T, E, Where, Managed> keep_dlpack(Managed*&& m, call_site site = call_site::here()) {
  return keep_dlpack<T, E, Where>(m, site);
}

}  // namespace LOCUS_MODE
}  // namespace locus

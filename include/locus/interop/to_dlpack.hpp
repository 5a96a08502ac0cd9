// SPDX-License-Identifier: Apache-2.0
// to_dlpack(x): a tensor for NumPy, PyTorch and other libraries, with its memory. A program includes
// this header by name; <locus/locus.hpp> does not.
#pragma once
#include <type_traits>  // remove_cvref

#include <locus/backend/devices.hpp>        // find_device
#include <locus/core/macros.hpp>            // LOCUS_MODE
#include <locus/interop/dlpack_types.hpp>   // managed_tensor, type_of
#include <locus/interop/elements.hpp>       // require_one_device, strides_of
#include <locus/interop/foreign_array.hpp>  // await_bytes, bytes_at_strides

namespace locus {

namespace dlpack {

/// The memory that a managed array points to, from its making to its deleter.
template <managed Managed>
struct exported {
  Managed managed{};
  block_owner owner;  // empty for a view
  std::int64_t shape[max_rank + 1]{}, strides[max_rank + 1]{};
};

LOCUS_COLD_BEGIN
/// means: where other libraries find the memory of a logical device
/// fails: placement_error, for a simulated GPU
inline array_device device_of(logical_device const& d) {
  if (d.is_host()) return {on_cpu, 0};
  if (d.is_card()) return {on_cuda, d.card};
  message text;
  throw placement_error(text << "locus: " << d.name
                             << " is simulated, and no other library can "
                                "read its memory; bring the tensor over with to<CpuDevice>(x)");
}
LOCUS_COLD_END

}  // namespace dlpack

inline namespace LOCUS_MODE {

/// means: an array of DLPack over the memory of x; who takes it calls its deleter once. A tensor
///        with a name shares its memory with the array, a moved one gives it away: the memory lives
///        until both are gone. A view gives its address alone, and the program keeps the memory
///        alive. Managed is dlpack::managed_tensor (PyCapsule "dltensor"),
///        dlpack::managed_tensor_versioned ("dltensor_versioned"), or a struct of <dlpack/dlpack.h>
/// shape: that of x     device: x's, which is one: a CPU, or a card, on which the host waits for
///        all work on x
/// cost:  one small allocation; no element is copied
/// fails: at compile time, for replicas, for elements without a name in DLPack, and for const
///        elements without the versioned struct, which alone can say so; placement_error on
///        simulated GPUs; bad_access, where x was moved from; bad_alloc
/// after: dlpack.h, version 1
template <dlpack::managed Managed = dlpack::managed_tensor, interop::tensor_or_view X>
Managed* to_dlpack(X&& x) {
  using plain = std::remove_cvref_t<X>;
  using T = interop::element_in_t<X>;
  constexpr bool may_read_only = !std::is_const_v<T> || dlpack::is_versioned<Managed>;
  static_assert(may_read_only,
                "locus: only the versioned array of DLPack can say that elements are const; write "
                "to_dlpack<dlpack::managed_tensor_versioned>(x)");
  if constexpr (interop::require_one_device<X>() && may_read_only) {
    shape const s = x.extents().as_shape();
    logical_device& d = runtime::find_device(x.device());
    auto const device = dlpack::device_of(d);
    auto* const address = const_cast<std::remove_const_t<T>*>(x.data());
    std::int64_t strides[max_rank + 1]{};
    interop::strides_of(x, strides);
    dlpack::bytes_at_strides const bytes(address, s, strides, sizeof(T));
    dlpack::await_bytes(d, bytes.first, bytes.count);
    auto* const made = new dlpack::exported<Managed>;
    for (int k = 0; k < s.rank; ++k) made->shape[k] = s.extent[k], made->strides[k] = strides[k];
    // PyTorch calls no deleter of an array at a null address: one without elements has another
    dlpack::array const a{address ? static_cast<void*>(address) : made->shape,
                          device,
                          s.rank,
                          dlpack::type_of<std::remove_const_t<T>>(),
                          made->shape,
                          made->strides,
                          0};
    if constexpr (tensor_owner<plain>) {
      if constexpr (std::is_lvalue_reference_v<X>)
        made->owner = x.block;
      else
        made->owner = std::move(x.block);
    }
    __builtin_memcpy(static_cast<void*>(&made->managed.dl_tensor), &a, sizeof a);
    made->managed.manager_ctx = made;
    made->managed.deleter = [](Managed* m) {
      delete static_cast<dlpack::exported<Managed>*>(m->manager_ctx);
    };
    if constexpr (dlpack::is_versioned<Managed>) {
      __builtin_memcpy(static_cast<void*>(&made->managed.version), dlpack::version_here,
                       sizeof dlpack::version_here);
      made->managed.flags = std::is_const_v<T> ? dlpack::read_only : 0;
    }
    return &made->managed;
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus

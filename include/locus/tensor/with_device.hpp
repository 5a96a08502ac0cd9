// SPDX-License-Identifier: Apache-2.0
// with_device: turns a device name known at run time into a type.
#pragma once
#include <type_traits>  // is_same

#include <locus/backend/gpus.hpp>   // note_gpus
#include <locus/device/open.hpp>    // bound_device
#include <locus/ops/on.hpp>         // on
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus {

/// means: a device, inside a lambda that was instantiated for its policy:
///            here(e)                                           on<policy>(e, device)
///            to<typename decltype(here)::policy>(x, here)      a tensor of the lambda's own
///            Tensor<T, E, typename decltype(here)::policy> t(here, extents...)
template <open_device Policy>
struct Here : bound_device<Policy> {
  using bound_device<Policy>::bound_device;
  template <tensor_operand X>
  constexpr auto operator()(X&& e) const {
    return on<Policy>(std::forward<X>(e), *this);
  }
};

/// means: f(here) for the device of that name, in any of TensorFlow's spellings:
///            with_device(argv[1], [&](auto here) { y = here(matmul(a, b)); })
/// cost:  f is compiled twice, for GpuDevice<dyn> and for Cpu<dyn>, for all ordinals
/// fails: unknown_device for a malformed name, and for a device that is not there unless placement
///        is soft: then GPU:k is GPU:(k mod G), and the log says so. Also the exceptions of f.
/// after: with tf.device(name)
template <class F>
decltype(auto) with_device(std::string_view name, F&& f, call_site where = call_site::here()) {
  using OnGpu = decltype(f(Here<GpuDevice<dyn>>(0)));
  using OnCpu = decltype(f(Here<Cpu<dyn>>(0)));
  static_assert(std::is_same_v<OnGpu, OnCpu>,
                "locus: the lambda of with_device returns one type on a GPU and another on a CPU; "
                "return fetch(e), or AnyTensor<T, E>");
  device const d = device_named(name);
  runtime::devices("with_device", where);
  runtime::note_gpus<true>();
  runtime::request_devices(single(d), "with_device", where);
  runtime::find_device(d);  // logs it where another device does the work
  if constexpr (std::is_same_v<OnGpu, OnCpu>) {
    if (d.is_gpu()) return f(Here<GpuDevice<dyn>>(d));
    return f(Here<Cpu<dyn>>(d));
  }
}

}  // namespace locus

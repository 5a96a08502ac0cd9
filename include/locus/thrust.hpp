// SPDX-License-Identifier: Apache-2.0
// with_thrust(x, f): algorithms of Thrust on the elements of a tensor, where it lies and in the order of its
// device. Where Thrust is not there (CPUs, simulated GPUs, units of a host compiler) they are the host's.
#pragma once
#include <locus/engine/gpu/host_algorithms.hpp>  // host_algorithms::policy
#include <locus/locus.hpp>                       // Tensor
#if LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/algorithm.hpp>  // run_algorithm
#if LOCUS_DEVICE_CODE
#include <locus/engine/gpu/thrust_policy.cuh>  // with_policy
#endif
#endif

namespace locus {

namespace detail {
inline namespace LOCUS_MODE {
template <bool Gpu, class Work>
void issue_thrust(launch_site const& site, Work const& work) {
  if constexpr (Gpu)
    on_side(site.on->how, [&](auto side) { side.run(site, work); });
  else
    backend<backing::host>::run(site, work);
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// f(policy, first, last), on whatever device; its result, if it has one, goes to host memory
template <class F, class T, class R>
struct thrust_work {
  static constexpr bool has_cuda_kernel = true;
  static constexpr char const* name = "an algorithm of Thrust";
  F f;
  void* first;
  std::int64_t n;
  R* result;  // null for void
  logical_device* on;

  template <class Policy>
  void run(Policy const& policy) const {
    auto* const begin = static_cast<T*>(first);
    if constexpr (std::is_void_v<R>)
      f(policy, begin, begin + n);
    else
      *result = f(policy, begin, begin + n);
  }
  void on_host() const { run(host_algorithms::policy{}); }
  void host() const { on_host(); }
#if LOCUS_CUDA_KERNELS && LOCUS_DEVICE_CODE
  int card(void*, std::size_t*, void* stream) const {  // Thrust asks the pool itself
    return cuda_side::with_policy(on, stream, [this](auto const& policy) { run(policy); });
  }
#endif
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    visit(first);
  }
};
#if LOCUS_CUDA_KERNELS
template <class F, class T, class R>
struct cuda_kernel<thrust_work<F, T, R>> {
  static void launch(launch_site const& site, thrust_work<F, T, R> const& work) {
    cuda_side::run_algorithm(site, work);
  }
};
#endif

/// means: f(policy, first, last) with the elements of x in row order; its result, which waits for the device:
///            with_thrust(x, [](auto policy, auto first, auto last) { sort(policy, first, last); });
///            float const s = with_thrust(x, [](auto policy, auto first, auto last) {
///              return reduce(policy, first, last, 0.f, Larger{}); });
///        Names stay unqualified: the policy finds thrust::sort on a GPU, the host's elsewhere
///        (engine/gpu/host_algorithms.hpp). Functors are LOCUS_HOST_DEVICE.
/// device: the tensor's. A unit of nvcc with <locus/cuda.cuh> in front has Thrust; a unit of the host compiler
///         runs f on the host, x brought there and back
/// cost:  some seconds of nvcc for each unit that includes this; workspace out of the device's pool
/// fails: at compile time, for replicas; what the device, or f, throws
template <class T, class E, class Where, class F>
auto with_thrust(Tensor<T, E, Where>& x, F f, call_site where = call_site::here()) {
  using R =
      decltype(f(host_algorithms::policy{}, static_cast<T*>(nullptr), static_cast<T*>(nullptr)));
  static_assert(single_device<Where>,
                "locus: with_thrust takes a tensor of one device; bring replicas together with "
                "to<Device>(x)");
  static_assert(
      std::is_trivially_copyable_v<F>,
      "locus: the lambda of with_thrust runs later on a GPU; capture values, not owners of "
      "memory");
  if constexpr (single_device<Where> && std::is_trivially_copyable_v<F>) {
    runtime::devices("with_thrust", where);
    logical_device& d = runtime::find_device(x.device());
    auto* const first = const_cast<T*>(std::as_const(x).data());
    std::int64_t const bytes = x.size() * std::int64_t(sizeof(T));
    runtime::meet_arrivals(d, first, bytes);
    runtime::forget_copies(first, bytes);
    touched const memory{first, static_cast<std::size_t>(bytes), true};
    launch_site const site{&d, {0, "with_thrust", x.device()}, &memory, 1, nullptr};
    constexpr bool gpu = has_gpu(Where::value.devices);
    if constexpr (std::is_void_v<R>)
      detail::issue_thrust<gpu>(site, thrust_work<F, T, R>{f, first, x.size(), nullptr, &d});
    else {
      auto* const result = new R{};  // stays where something fails: the work may still run
      detail::issue_thrust<gpu>(site, thrust_work<F, T, R>{f, first, x.size(), result, &d});
      if constexpr (gpu)
        if (d.how != backing::host) runtime::synchronize(runtime::mark(d, queue_kind::compute));
      R const made = *result;
      delete result;
      return made;
    }
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus

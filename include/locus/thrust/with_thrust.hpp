// SPDX-License-Identifier: Apache-2.0
// with_thrust(x, f): algorithms of Thrust on the elements of a tensor, on its device and in the
// order of its queue. Without Thrust (CPUs, simulated GPUs, units of a host compiler) the standard
// library's algorithms run.
#pragma once
#include <locus/engine/gpu/host_algorithms.hpp>  // host_algorithms::policy
#include <locus/engine/launch.hpp>               // launch_work
#include <locus/machine/stamps.hpp>              // meet_arrivals, synchronize
#include <locus/tensor/tensor.hpp>               // Tensor
#include <locus/tensor/view.hpp>                 // View
#include <locus/thrust/element_iterator.hpp>     // element_iterator, first_of
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
    launch_work(site, work);
  else
    run_on_host(work);
}
template <class T, class Visit>
void visit_iterator(T*& i, Visit& visit) {
  void* p = const_cast<std::remove_const_t<T>*>(i);
  visit(p);
  i = static_cast<T*>(p);
}
template <class Reader, class T, class Visit>
void visit_iterator(element_iterator<Reader, T>& i, Visit& visit) {
  i.read.for_each_pointer(visit);
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// f(policy, first, last, others...), on any device; its result, if it has one, is stored in host
/// memory
template <class F, class R, class First, class... Others>
struct thrust_work {
  static constexpr bool has_cuda_kernel = true;
  static constexpr char const* name = "an algorithm of Thrust";
  F f;
  std::int64_t n;
  R* result;  // null for void
  logical_device* on;
  First first;
  pack<Others...> others;

  template <class Policy>
  void run(Policy const& policy) const {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      if constexpr (std::is_void_v<R>)
        f(policy, first, first + n, get<K>(others)...);
      else
        *result = f(policy, first, first + n, get<K>(others)...);
    }(std::index_sequence_for<Others...>{});
  }
  void host() const { run(host_algorithms::policy{}); }
#if LOCUS_CUDA_KERNELS && LOCUS_DEVICE_CODE
  int card(void*, std::size_t*, void* stream) const {  // Thrust allocates from the pool itself
    return cuda_side::with_policy(on, stream, [this](auto const& policy) { run(policy); });
  }
#endif
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    detail::visit_iterator(first, visit);
    for_each_index<sizeof...(Others)>(
        [&](auto k) { detail::visit_iterator(get<k>(others), visit); });
  }
};
template <class F, class R, class First, class... Others>
void run_on_host(thrust_work<F, R, First, Others...> const& work) {
  work.host();
}
#if LOCUS_CUDA_KERNELS
template <class F, class R, class First, class... Others>
struct cuda_kernel<thrust_work<F, R, First, Others...>> {
  static void launch(launch_site const& site, thrust_work<F, R, First, Others...> const& work) {
    cuda_side::run_algorithm(site, work);
  }
};
#endif

}  // namespace LOCUS_MODE

namespace detail {
inline namespace LOCUS_MODE {

/// means: runs f over the operands in `all`; Gpu: their device may be a GPU
template <bool Gpu, class F, class First, class... Others>
auto run_thrust(operand_list const& all, F const& f, First first, Others... others) {
  using R = decltype(f(host_algorithms::policy{}, first, first, others...));
  static_assert(
      std::is_trivially_copyable_v<F>,
      "locus: the lambda of with_thrust runs later on a GPU; capture values, not owners of "
      "memory");
  if constexpr (std::is_trivially_copyable_v<F>) {
    logical_device& d = runtime::find_device(all.on);
    for (int k = 0; k < all.count; ++k) {
      touched const& t = all.memory[k];
      runtime::meet_arrivals(d, t.first, static_cast<std::int64_t>(t.bytes));
      if (t.writes) runtime::forget_copies(t.first, static_cast<std::int64_t>(t.bytes));
    }
    launch_site const site{&d, {0, "with_thrust", all.on}, all.memory, all.count, nullptr};
    using work = thrust_work<F, R, First, Others...>;
    if constexpr (std::is_void_v<R>)
      issue_thrust<Gpu>(site, work{f, all.size(), nullptr, &d, first, make_pack(others...)});
    else {
      auto* const result = new R{};  // leaks after an error: the work may still write it
      issue_thrust<Gpu>(site, work{f, all.size(), result, &d, first, make_pack(others...)});
      if constexpr (Gpu)
        if (!d.is_host()) runtime::synchronize(runtime::mark(d, queue_kind::compute));
      R const made = *result;
      delete result;
      return made;
    }
  }
}
/// means: the elements of a tensor or view, as an operand that an algorithm writes
template <class X>
auto* add_written(X& x, operand_list& all) {
  using T = typename X::value_type;
  auto* const first = const_cast<T*>(std::as_const(x).data());
  all.begin_operand();
  all.add(x.device(), first, x.extents().as_shape(), sizeof(T), true);
  return first;
}
/// means: the body of with_thrust
template <class X, class F, class... Others>
auto run_on_elements(call_site where, X& x, F const& f, Others const&... others) {
  using policy = typename X::policy;
  static_assert(single_device<policy>,
                "locus: with_thrust takes a tensor of one device; bring replicas together with "
                "to<Device>(x)");
  if constexpr (single_device<policy>) {
    runtime::devices("with_thrust", where);
    operand_list all;
    auto* const first = add_written(x, all);
    pack<decltype(first_of(others, all))...> const at{{first_of(others, all)}...};
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return run_thrust<has_gpu(policy::value.devices)>(all, f, first, get<K>(at)...);
    }(std::index_sequence_for<Others...>{});
  }
}

/// a tensor, or a view without gaps
template <class X>
inline constexpr bool has_elements = false;
template <class T, class E, class Where>
inline constexpr bool has_elements<Tensor<T, E, Where>> = true;
template <class T, class E, class Where>
inline constexpr bool has_elements<View<T, E, Where, true>> = true;
/// an operand that an algorithm may write
template <class X>
inline constexpr bool is_writable =
    has_elements<std::remove_cvref_t<X>> &&
    !std::is_const_v<std::remove_pointer_t<decltype(std::declval<X>().data())>>;
template <class X>
  requires(!has_elements<std::remove_cvref_t<X>>)
inline constexpr bool is_writable<X> = false;

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: f(policy, first, last, others...) on the elements of x in row order; others are iterators
///        to the first elements of further operands, tensors or expressions of maps, which f reads.
///        If f has a result, the host waits for the device and returns it:
///            with_thrust(x, [](auto policy, auto first, auto last) { sort(policy, first, last); });
///            with_thrust(x, [](auto policy, auto first, auto last, auto y) {
///              transform(policy, first, last, y, first, Larger{}); }, a * b);
///        Names stay unqualified: by the policy, they are thrust::sort on a GPU, and std::sort
///        elsewhere (engine/gpu/host_algorithms.hpp). Functors are LOCUS_HOST_DEVICE.
/// shape: all operands have the same number of elements; parts of one expression have the same
///        extents
/// device: that of x, on which the further operands must be. A unit of nvcc that includes
///        <locus/cuda.cuh> before uses Thrust; a unit of the host compiler runs f on the host, with
///        copies of x
/// cost:  nvcc compiles Thrust's headers in each unit that includes this one; workspace from the
///        device's pool
/// fails: at compile time, for replicas; placement_error and shape_error, for operands on another
///        device or of other sizes; and with all errors of the device and of f
template <class X, class F>
  requires detail::is_writable<X&>
auto with_thrust(X&& x, F f, call_site where = call_site::here()) {
  return detail::run_on_elements(where, x, f);
}
template <class X, class F, tensor_operand... Others>
  requires(detail::is_writable<X&> && sizeof...(Others) > 0)
auto with_thrust(X&& x, F f, Others const&... others) {
  return detail::run_on_elements(call_site{}, x, f, others...);
}

}  // namespace LOCUS_MODE

}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// begin and end of tensors and of expressions, for algorithms of Thrust and of the standard
// library.
#pragma once
#include <locus/thrust/element_iterator.hpp>  // element_iterator, first_of
#include <locus/thrust/with_thrust.hpp>       // add_written

namespace locus {

namespace detail {
/// means: the host waits for all work on the operands' memory, so that other streams may use it
inline void await_operands(operand_list const& all) {
  logical_device& d = runtime::find_device(all.on);
  for (int k = 0; k < all.count; ++k)
    runtime::meet_arrivals(d, all.memory[k].first, static_cast<std::int64_t>(all.memory[k].bytes));
  if (!d.is_host()) runtime::synchronize(runtime::mark(d, queue_kind::compute));
}
inline namespace LOCUS_MODE {
/// fails: at compile time, if iterators read memory of a GPU in a unit of a host compiler
template <bool OfGpu>
constexpr void require_thrust() {
  static_assert(!OfGpu || (LOCUS_CUDA_KERNELS && LOCUS_DEVICE_CODE),
                "locus: iterators over memory of a GPU are Thrust's, and only units of nvcc have "
                "them; write with_thrust(x, f), or bring x over with to<CpuDevice>(x)");
}
/// fails: at compile time, if the tensor that the iterators would read dies with the expression
template <bool Owns>
constexpr void require_kept_tensor() {
  static_assert(!Owns,
                "locus: this iterator would outlive a tensor that the expression alone keeps; give "
                "the tensor or the expression a name");
}
/// means: the first element of a tensor or view: a pointer, or Thrust's pointer for memory of a GPU
template <class X>
auto first_element(X& x) {
  using policy = typename X::policy;
  constexpr bool on_gpu = has_gpu(policy::value.devices);
  static_assert(single_device<policy>,
                "locus: an iterator goes over elements of one device; bring replicas together with "
                "to<Device>(x)");
  require_thrust<single_device<policy> && on_gpu>();
#if LOCUS_CUDA_KERNELS && LOCUS_DEVICE_CODE
  if constexpr (on_gpu)
    return ::thrust::device_pointer_cast(x.data());
  else
#endif
    return x.data();
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: an iterator to the first element of a tensor, or of a view without gaps: a pointer; in a
///        unit of nvcc, Thrust's device_ptr for memory of a GPU: thrust::sort(begin(x), end(x)).
///        The host has waited for all work on the memory of x; finish work of Thrust on other
///        streams before locus uses x again.
/// device: x's     cost: the host waits for it
/// fails: at compile time, for replicas, and for memory of a GPU in a unit of a host compiler
/// after: thrust::device_vector::begin
template <class X>
  requires detail::has_elements<std::remove_cv_t<X>>
auto begin(X& x) {
  auto const first = detail::first_element(x);
  detail::operand_list all;
  detail::add_written(x, all);
  detail::await_operands(all);
  return first;
}
/// means: begin(x) + x.size(); does not wait: begin does
/// device: x's     cost: none     fails: as begin
template <class X>
  requires detail::has_elements<std::remove_cv_t<X>>
auto end(X& x) {
  return detail::first_element(x) + x.size();
}
/// means: the elements of an expression of maps, computed when they are read:
///            thrust::reduce(thrust::device, begin(x * y), end(x * y))
/// shape: all tensors and generators of x have the same extents
/// device: that of its tensors     cost: the host waits for it
/// fails: at compile time, for expressions that are not maps of whole tensors on one device, for
///        memory of a GPU in a unit of a host compiler, and for a temporary expression that owns a
///        tensor; placement_error and shape_error, for operands on another device or of other
///        extents
/// after: begin of a tensor
template <expression X>
auto begin(X const& x) {
  detail::operand_list all;
  auto const first = detail::first_of(x, all);
  detail::require_thrust<detail::reads_gpu<X>>();
  if (all.count > 0) detail::await_operands(all);
  return first;
}
/// means: begin(x) + the number of elements; does not wait: begin does
/// device: that of its tensors     cost: none     fails: as begin
template <expression X>
auto end(X const& x) {
  detail::operand_list all;
  auto const first = detail::first_of(x, all);
  detail::require_thrust<detail::reads_gpu<X>>();
  return first + all.size();
}
template <expression X>
  requires detail::owns_tensor<X>
void begin(X const&&) {
  detail::require_kept_tensor<detail::owns_tensor<X>>();
}
template <expression X>
  requires detail::owns_tensor<X>
void end(X const&&) {
  detail::require_kept_tensor<detail::owns_tensor<X>>();
}

}  // namespace LOCUS_MODE
}  // namespace locus

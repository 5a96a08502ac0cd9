// SPDX-License-Identifier: Apache-2.0
// Sums and means over replicas: their names, and the folds of tensors on different devices.
#pragma once
#include <locus/strategy/per_replica.hpp>  // AnyTensor
#include <locus/tensor/collective.hpp>     // local_reduction, operation_for

namespace locus {

/// The operation that combines the values of replicas. mean is the sum divided by the number of
/// replicas; with an axis, by the number of elements on all replicas. A struct, not a namespace, so
/// that no using directive can bring across::sum beside locus::sum.
struct across {
  template <bool Mean>
  struct operation {
    static constexpr bool is_mean = Mean;
  };
  static constexpr operation<false> sum{};
  static constexpr operation<true> mean{};
};

namespace detail {

template <class Op, class T>
consteval bool require_reduction() {
  constexpr bool number = std::is_arithmetic_v<compute_t<T>> && !std::is_same_v<T, bool>;
  static_assert(
      number,
      "locus: replicas are reduced by sums and means of numbers and of tensors of numbers; write "
      "cast<float>(x), or reduce the members one by one");
  constexpr bool fits = !Op::is_mean || is_floating_v<T> || !number;
  static_assert(fits,
                "locus: a mean of integers over replicas is no integer; write cast<float>(x)");
  return number && fits;
}

}  // namespace detail

namespace internal {

/// means: one piece of a tensor as a part of a collective
inline local_part part_of_block(tensor_block const& b, int piece = 0) {
  shape s{b.extents.rank, {}};
  for (int a = 0; a < s.rank; ++a) s.extent[a] = b.pieces[piece].extents[a];
  return {b.where.at(piece), b.pieces[piece].data, s};
}

}  // namespace internal

namespace detail {

template <class Op, class T>
local_operation reduction_over(std::string_view name, int replicas) {
  using collective::combine_with;
  return operation_for<Op::is_mean ? combine_with::mean_of_sums : combine_with::sum, T>(name,
                                                                                        replicas);
}
/// means: each part becomes the sum or mean of all parts
template <class Op, class T>
void reduce_parts(local_parts const& parts, std::string_view name) {
  if (parts.count > 1) local_reduction(parts, reduction_over<Op, T>(name, parts.count)).all();
}
template <class Op, class N>
N reduce_numbers(N const* const* of, int replicas) {
  std::conditional_t<is_floating_v<N>, double, std::int64_t> all = 0;
  for (int r = 0; r < replicas; ++r) all += static_cast<decltype(all)>(*of[r]);
  if constexpr (Op::is_mean) all /= replicas;
  return static_cast<N>(all);
}

/// means: the elements of a tensor, copied to the host
template <class T>
std::vector<T> host_elements(local_part const& p) {
  block_owner const host =
      make_storage(single(cpu(0)), p.extents, element_of_v<T>, static_cast<int>(sizeof(T)));
  auto const bytes = p.size() * static_cast<std::int64_t>(sizeof(T));
  logical_device &to = runtime::find_device(cpu(0)), &from = runtime::find_device(p.at);
  if (bytes > 0)
    runtime::synchronize(runtime::copy(to, host->pieces[0].data, from, p.data, bytes,
                                       queue_kind::compute, {-1, "reading a replica", p.at}));
  auto const* const first = static_cast<T const*>(host->pieces[0].data);
  return std::vector<T>(first, first + p.size());
}

}  // namespace detail

}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// Sums and means over replicas: their names, and the folds of tensors on different devices.
#pragma once
#include <cstring>  // memcpy

#include <locus/collective/rank_functions.hpp>  // over_ranks
#include <locus/runtime/bytes_of_ranks.hpp>     // bytes_of_ranks
#include <locus/strategy/per_replica.hpp>       // AnyTensor
#include <locus/tensor/collective.hpp>          // local_reduction, operation_for

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

/// means: the values of the replicas of all ranks, in order
template <class N>
std::vector<N> numbers_of_all(std::vector<N> mine, device_list const& over, std::string_view name) {
  if (!runtime::lies_on_ranks(over)) return mine;
  runtime::bytes_of_ranks all;
  runtime::over_ranks->gather(name, mine.data(), std::int64_t(mine.size() * sizeof(N)), all);
  mine.resize(all.bytes.size() / sizeof(N));
  std::memcpy(mine.data(), all.bytes.data(), all.bytes.size());
  return mine;
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
  if (parts.count_of_all() > 1)
    local_reduction(parts, reduction_over<Op, T>(name, parts.count_of_all())).all();
}
template <class Op, class N>
N reduce_numbers(std::vector<N> const& mine, device_list const& over, std::string_view name) {
  std::conditional_t<is_floating_v<N>, double, std::int64_t> sum = 0;
  std::vector<N> const all = numbers_of_all(mine, over, name);
  for (N const x : all) sum += static_cast<decltype(sum)>(x);
  if constexpr (Op::is_mean) sum /= static_cast<decltype(sum)>(all.size());
  return static_cast<N>(sum);
}

/// An element in a vector of the standard library, whose vector of bool has no memory to copy.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

/// means: the elements of a tensor, copied to the host
template <class T>
std::vector<stored_t<T>> host_elements(local_part const& p) {
  block_owner const host =
      make_storage(single(cpu(0)), p.extents, element_of_v<T>, static_cast<int>(sizeof(T)));
  auto const bytes = p.size() * static_cast<std::int64_t>(sizeof(T));
  logical_device &to = runtime::find_device(cpu(0)), &from = runtime::find_device(p.at);
  if (bytes > 0)
    runtime::synchronize(runtime::copy(to, host->pieces[0].data, from, p.data, bytes,
                                       queue_kind::compute, {-1, "reading a replica", p.at}));
  auto const* const first = static_cast<stored_t<T> const*>(host->pieces[0].data);
  return std::vector<stored_t<T>>(first, first + p.size());
}

}  // namespace detail

}  // namespace locus

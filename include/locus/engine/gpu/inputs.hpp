// SPDX-License-Identifier: Apache-2.0
// How a kernel reads its operands: one element at a time by strides, or in vectors of 16 bytes.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE
#include <locus/core/pack.hpp>           // pack
#include <locus/core/type_list.hpp>      // type_list
#include <locus/core/upper_product.hpp>  // upper_product
#include <locus/work/call.hpp>           // access, space, own_offset

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// means: n / d and n % d for n below 2^31, by one multiplication
/// after: Granlund and Montgomery, Division by invariant integers using multiplication (PLDI 1994)
struct divider {
  std::uint32_t by = 1, magic = 0, shift = 0;
  divider() = default;
  explicit divider(std::uint32_t d) : by(d) {
    while ((std::uint64_t(1) << shift) < d) ++shift;
    magic = static_cast<std::uint32_t>(
        ((std::uint64_t(1) << 32) * ((std::uint64_t(1) << shift) - d)) / d + 1);
  }
  LOCUS_HOST_DEVICE std::uint32_t divide(std::uint32_t n) const {
    return (locus::internal::upper_product(n, magic) + n) >> shift;
  }
};

/// means: the coordinates of a point of a space; 32-bit arithmetic if the space is small enough
struct unravel {
  int rank = 1;
  bool is_small = true;
  divider extent[max_rank];
  std::int64_t wide[max_rank]{};

  unravel() = default;
  explicit unravel(kernel::space const& s)
      : rank(s.rank), is_small(s.size() < (std::int64_t(1) << 31)) {
    for (int d = 0; d < rank; ++d) {
      wide[d] = s.extent[d] > 0 ? s.extent[d] : 1;
      extent[d] = divider(is_small ? static_cast<std::uint32_t>(wide[d]) : 1);
    }
  }
  /// means: the offsets of K operands at point i
  template <int K>
  LOCUS_HOST_DEVICE void offsets(std::int64_t i, kernel::access const* operands,
                                 std::int64_t* out) const {
    for (int k = 0; k < K; ++k) out[k] = 0;
    LOCUS_ROLLED
    for (int d = rank; d-- > 0;) {
      std::int64_t at = i;
      if (d == 0) {  // the rest is the coordinate
      } else if (is_small) {
        auto const n = static_cast<std::uint32_t>(i);
        std::uint32_t const q = extent[d].divide(n);
        at = n - q * extent[d].by, i = q;
      } else {
        std::int64_t const q = i / wide[d];
        at = i - q * wide[d], i = q;
      }
      for (int k = 0; k < K; ++k) out[k] += at * operands[k].stride[d];
    }
  }
};

/// means: the value of an operand at an offset
template <class Kind>
LOCUS_HOST_DEVICE typename Kind::type read(kernel::access const& a, std::int64_t offset) {
  if constexpr (std::is_same_v<Kind, kernel::own_offset>)
    return a.base + offset;
  else
    return static_cast<typename Kind::type const*>(a.data)[offset];
}

template <class List>
struct input_pack;
template <class... Kinds>
struct input_pack<type_list<Kinds...>> {
  using values = pack<typename Kinds::type...>;
  template <std::size_t... K>
  LOCUS_HOST_DEVICE static values read_all(kernel::access const* a, std::int64_t const* at,
                                           std::index_sequence<K...>) {
    return {{read<Kinds>(a[K], at[K])}...};
  }
  LOCUS_HOST_DEVICE static values at(kernel::access const* a, std::int64_t const* offsets) {
    return read_all(a, offsets, std::index_sequence_for<Kinds...>{});
  }
};

/// means: stores results at the offsets of their outputs
template <class Outs>
struct output_pack;
template <class... T>
struct output_pack<type_list<T...>> {
  template <int First, class Results, std::size_t... M>
  LOCUS_HOST_DEVICE static void write_all(Results const& r, kernel::access const* a,
                                          std::int64_t const* at, std::index_sequence<M...>) {
    ((static_cast<T*>(a[M].data)[at[M]] = get<std::size_t(First) + M>(r)), ...);
  }
  template <class Results>
  LOCUS_HOST_DEVICE static void write(Results const& r, kernel::access const* a,
                                      std::int64_t const* at) {
    write_all<0>(r, a, at, std::index_sequence_for<T...>{});
  }
  /// stores results First, First + 1, ...
  template <int First, class Results>
  LOCUS_HOST_DEVICE static void write_from(Results const& r, kernel::access const* a,
                                           std::int64_t const* at) {
    write_all<First>(r, a, at, std::index_sequence_for<T...>{});
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

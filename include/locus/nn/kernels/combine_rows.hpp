// SPDX-License-Identifier: Apache-2.0
// Sums of a few rows of a matrix, each times a number: a product whose other factor is mostly
// zeros, as the gradient behind a pool. Compiled for several instruction sets, as the tiles of a
// matrix product.
#pragma once
#include <cstdint>      // int32_t, int64_t
#include <type_traits>  // conditional

#include <locus/engine/host/isa_table.hpp>  // LOCUS_FOR_EACH_ISA

LOCUS_VECTORS_BEGIN
namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: c[j] += sum over e < count of value[e] * rows[at[e] + j] for the columns j of one call
template <class T>
struct combine_call {
  T* c;
  T const* rows;
  T const* value;
  std::int32_t const* at;
  std::int64_t count;
};

namespace detail {

// sizeof...(V) registers of columns; Chains: with few registers, even and odd rows have separate
// sums, so that an addition does not wait for the one before it
template <class Isa>
struct combine_kernel;
#define LOCUS_COMBINE(isa, target)                                                              \
  template <>                                                                                   \
  struct combine_kernel<isa> {                                                                  \
    template <class T, int Chains, int... V>                                                    \
    target static void run(combine_call<T> const& t) {                                          \
      constexpr int lanes = isa::bytes / int(sizeof(T));                                        \
      typedef T reg __attribute__((vector_size(isa::bytes)));                                   \
      typedef T memory __attribute__((vector_size(isa::bytes), aligned(sizeof(T)), may_alias)); \
      reg sum[sizeof...(V)]{}, other[sizeof...(V)]{};                                           \
      T const* const rows = t.rows;                                                             \
      T const* value = t.value;                                                                 \
      std::int32_t const* at = t.at;                                                            \
      std::int64_t e = t.count;                                                                 \
      for (; e >= Chains; e -= Chains, value += Chains, at += Chains) {                         \
        T const* const row = rows + at[0];                                                      \
        reg const x = value[0] - reg{};                                                         \
        ((sum[V] = isa::fused(x, *reinterpret_cast<memory const*>(row + V * lanes), sum[V])),   \
         ...);                                                                                  \
        if constexpr (Chains == 2) {                                                            \
          T const* const next = rows + at[1];                                                   \
          reg const y = value[1] - reg{};                                                       \
          ((other[V] =                                                                          \
                isa::fused(y, *reinterpret_cast<memory const*>(next + V * lanes), other[V])),   \
           ...);                                                                                \
        }                                                                                       \
      }                                                                                         \
      if (e > 0) {                                                                              \
        T const* const row = rows + at[0];                                                      \
        reg const x = value[0] - reg{};                                                         \
        ((sum[V] = isa::fused(x, *reinterpret_cast<memory const*>(row + V * lanes), sum[V])),   \
         ...);                                                                                  \
      }                                                                                         \
      if constexpr (Chains == 2) ((sum[V] += other[V]), ...);                                   \
      ((*reinterpret_cast<memory*>(t.c + V * lanes) += sum[V]), ...);                           \
    }                                                                                           \
  };
LOCUS_FOR_EACH_ISA(LOCUS_COMBINE)
#undef LOCUS_COMBINE

}  // namespace detail

/// means: run[k] sums registers[k] registers of columns; all for one register size
template <class T>
struct combine_set {
  static constexpr int registers[4] = {12, 6, 3, 1};
  void (*run[4])(combine_call<T> const&);

  /// means: the same for `wide` registers of columns
  void operator()(combine_call<T> t, std::int64_t wide, int lanes) const {
    if (t.count == 0) return;
    for (int k = 0; wide > 0;) {
      if (wide < registers[k]) {
        ++k;
        continue;
      }
      run[k](t);
      t.c += registers[k] * lanes, t.rows += registers[k] * lanes, wide -= registers[k];
    }
  }
  template <class Isa>
  static constexpr combine_set of() {
    using by = detail::combine_kernel<Isa>;
    return {{&by::template run<T, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>,
             &by::template run<T, 2, 0, 1, 2, 3, 4, 5>, &by::template run<T, 2, 0, 1, 2>,
             &by::template run<T, 2, 0>}};
  }
};

/// means: value, at = the numbers from[stride i] that are not 0, and first + step i of each;
///        returns their count
/// shape: value and at have room for n
template <class T>
std::int64_t list_of_nonzeros(T const* from, std::int64_t stride, std::int64_t n,
                              std::int64_t first, std::int64_t step, T* value, std::int32_t* at) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::int64_t count = 0;
  auto place = static_cast<std::int32_t>(first);
  for (std::int64_t i = 0; i < n; ++i, from += stride, place += static_cast<std::int32_t>(step)) {
    bits b;
    __builtin_memcpy(&b, from, sizeof b);
    __builtin_memcpy(value + count, &b, sizeof b);
    at[count] = place;
    count += (b << 1) != 0;  // neither 0 nor -0
  }
  return count;
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
LOCUS_VECTORS_END

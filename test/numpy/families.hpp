// SPDX-License-Identifier: Apache-2.0
// Which element types, extents and devices a unit of one family has; main.cpp asks for them by name.
#pragma once
#include <array>
#include <string_view>

#include "archive.hpp"

namespace numpy {

#define NUMPY_FAMILIES(ROW) \
  ROW(scans) ROW(sorts) ROW(rows) ROW(folds) ROW(moves) ROW(elementwise) ROW(matrices)

/// How operands lie: extents that a run knows, extents that the compiler knows, every second element.
enum class layout { open, fixed, apart };

struct task {
  std::string_view type;
  layout how = layout::open;
};

inline constexpr std::array<std::int64_t, 9> sizes = {33, 1, 257, 256, 0, 4096, 31, 255, 32};
/// the rows of T's static extents: each size has a type
template <class T>
inline constexpr std::int64_t fixed_rows = sizes[std::size_t(element_of_v<T>) % sizes.size()];

// The host has all types with open extents. For the rest CI has a type of each size and kind, and test/long.sh has all;
// cards of the PTX machine have types of CUB's algorithms in ptx/algorithms.cu.
#if defined(NUMPY_ON_CARDS) && defined(LOCUS_LONG_TESTS)
using some_types = type_list<float, double, std::int32_t, std::int64_t, half, bool>;
#elif defined(NUMPY_ON_CARDS)
using some_types = type_list<float, std::int32_t, bool>;
#elif defined(LOCUS_LONG_TESTS)
using some_types = element_types;
#else
using some_types =
    type_list<float, double, std::int32_t, std::uint8_t, bool, half, complex<double>>;
#endif

#if defined(NUMPY_ON_GPUS) || defined(NUMPY_ON_CARDS)
inline constexpr bool on_host = false;
using device = GpuDevice<0>;
#else
inline constexpr bool on_host = true;
using device = CpuDevice;
#endif
template <class T, layout How>
inline constexpr bool has = on_host ? How == layout::open || contains_v<T, some_types>
                                    : How != layout::fixed && contains_v<T, some_types>;

/// means: the results of one family, if the task is one of T that lies in this way
template <class Family, class T, layout How, std::int64_t Known>
bool write_one(task const& t, archive& b) {
  if constexpr (has<T, How>)
    if (t.type == row_of(element_of_v<T>).name && t.how == How &&
        (Known == dyn || b.rows() == Known)) {
      Family::template write<T, way<device, Known, How == layout::apart>>(b);
      return true;
    }
  return false;
}
/// false: this program has no such task
template <class Family, class... T>
bool write_family(task const& t, archive& b, type_list<T...>) {
  return ((write_one<Family, T, layout::open, dyn>(t, b) ||
           write_one<Family, T, layout::fixed, fixed_rows<T>>(t, b) ||
           write_one<Family, T, layout::apart, dyn>(t, b)) ||
          ...);
}

#define NUMPY_FAMILY(name)                                        \
  namespace numpy {                                               \
  struct family_of_##name {                                       \
    template <class T, class Way>                                 \
    static void write(archive& b) {                               \
      name<T, Way>(b);                                            \
    }                                                             \
  };                                                              \
  bool write_##name(task const& t, archive& b) {                  \
    return write_family<family_of_##name>(t, b, element_types{}); \
  }                                                               \
  }

}  // namespace numpy

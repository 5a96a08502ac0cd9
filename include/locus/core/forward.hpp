// SPDX-License-Identifier: Apache-2.0
// Declarations for headers of programs: types, their template parameters and default arguments. The
// definitions repeat the parameters without defaults.
#pragma once
#include <locus/core/dyn.hpp>  // dyn

namespace locus {

// ---- devices ----
template <int N>
struct Cpu;
using CpuDevice = Cpu<0>;
template <int N>
struct GpuDevice;
struct AllGpus;
struct Balanced;
template <class... Devices>
struct Mirrored;
template <int Axis, class... Devices>
struct Sharded;

// ---- extents and elements ----
template <std::int64_t... E>
class Extents;
namespace detail {
template <int Rank, std::int64_t... E>
struct open_extents {
  static_assert(Rank == 0, "locus: a rank lies in 0 to 8; write Dextents<2> for an open matrix");
  using type = Extents<>;
};
template <int Rank, std::int64_t... E>
  requires(Rank > 0 && sizeof...(E) < 9)
struct open_extents<Rank, E...> : open_extents<Rank - 1, E..., dyn> {};
template <std::int64_t... E>
struct open_extents<0, E...> {
  using type = Extents<E...>;
};
}  // namespace detail
/// means: Extents<dyn, ..., dyn>
template <int Rank>
using Dextents = typename detail::open_extents<Rank>::type;
template <int Rank>
using dextents = Dextents<Rank>;
struct half;
struct bfloat16;
template <class T>
struct complex;

// ---- tensors ----
template <class T, class E, class Where = CpuDevice>
class Tensor;
template <class T, class E>
class AnyTensor;
template <class T, class E, class Where, bool Dense>
class View;

// ---- policies of plans ----
struct prefer_gpu;
struct follow_data;
struct min_copies;

}  // namespace locus

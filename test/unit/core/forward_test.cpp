// SPDX-License-Identifier: Apache-2.0
// A program's own header includes <locus/fwd.hpp> alone; what it declares is what is defined.
#include <locus/fwd.hpp>

// ---- a header of a program ----
namespace {
using weights = locus::Tensor<float, locus::Extents<locus::dyn, 3>>;
struct layer {
  weights& w;
  locus::Tensor<locus::half, locus::Extents<4>, locus::GpuDevice<1>>* scale;
  locus::AnyTensor<double, locus::Extents<2>> const* any;
  locus::Tensor<float, locus::Dextents<2>> const* open;
  locus::Tensor<float, locus::dextents<0>> const* number;
};
void halve(layer const& l);
float first(locus::View<float const, locus::Extents<locus::dyn>, locus::CpuDevice, true> const& v);
template <class Policy>
struct named;
template <>
struct named<locus::Mirrored<locus::GpuDevice<0>, locus::GpuDevice<1>>> {};
template <>
struct named<locus::Sharded<0, locus::Cpu<0>, locus::Cpu<1>>> {};
template <>
struct named<locus::Mirrored<locus::AllGpus>> {};
template <>
struct named<locus::prefer_gpu> {};
template <>
struct named<locus::follow_data> {};
template <>
struct named<locus::min_copies> {};
template <>
struct named<locus::bfloat16> {};
}  // namespace

#include <doctest/doctest.h>
#include <locus/locus.hpp>

// ---- declared again, behind the definitions ----
namespace locus {
template <int N>
struct Cpu;
template <int N>
struct GpuDevice;
struct AllGpus;
template <class... Devices>
struct Mirrored;
template <int Axis, class... Devices>
struct Sharded;
template <std::int64_t... E>
class Extents;
struct half;
struct bfloat16;
template <class T, class E, class Where>
class Tensor;
template <class T, class E>
class AnyTensor;
template <class T, class E, class Where, bool Dense>
class View;
struct prefer_gpu;
struct follow_data;
struct min_copies;
}  // namespace locus

namespace {
void halve(layer const& l) { l.w = 0.5f * l.w; }
float first(locus::View<float const, locus::Extents<locus::dyn>, locus::CpuDevice, true> const& v) {
  return v.data()[0];
}

TEST_CASE("a header that includes fwd.hpp alone names the types that locus.hpp defines") {
  using locus::CpuDevice;
  static_assert(std::is_same_v<weights::policy, CpuDevice>);
  static_assert(std::is_same_v<CpuDevice, locus::Cpu<0>>);
  static_assert(locus::device_policy<locus::Mirrored<locus::GpuDevice<0>, locus::GpuDevice<1>>>);
  static_assert(locus::placement_policy<locus::prefer_gpu>);
  static_assert(std::is_same_v<locus::Dextents<2>, locus::Extents<locus::dyn, locus::dyn>>);
  static_assert(std::is_same_v<locus::dextents<0>, locus::Extents<>>);
  static_assert(sizeof(locus::half) == 2 && sizeof(locus::bfloat16) == 2);
  static_assert(sizeof(named<locus::Mirrored<locus::AllGpus>>) == 1);
  static_assert(sizeof(named<locus::min_copies>) == 1);

  weights w{{2, 4, 6}, {8, 10, 12}};
  halve({w, nullptr, nullptr, nullptr, nullptr});
  CHECK(w(1, 2) == 6);
  float const values[] = {7, 8};
  CHECK(first(locus::view<CpuDevice>(values, locus::Extents<locus::dyn>{2})) == 7);
}
}  // namespace

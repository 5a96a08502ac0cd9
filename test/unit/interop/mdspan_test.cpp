// SPDX-License-Identifier: Apache-2.0
// Tensors and views as mdspans, and mdspans as operands and destinations: of std, of libcu++ where there is a toolkit,
// and of a library of the test.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include <locus/interop/mdspan.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

#include "plain_mdspan.hpp"
#if !defined(__cpp_lib_mdspan) && __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#endif

using namespace locus;

namespace {

#if defined(__cpp_lib_mdspan)
namespace library = std;
using rows_first = std::layout_right;
using columns_first = std::layout_left;
#elif __has_include(<cuda/std/mdspan>)
namespace library = cuda::std;
using rows_first = cuda::std::layout_right;
using columns_first = cuda::std::layout_left;
#else
namespace library = plain;
using rows_first = plain::layout<true>;
using columns_first = plain::layout<true, true>;
#endif
using with_strides = library::layout_stride;

/// element (i, j), or (i), as the mdspan maps it
template <class M, class... Index>
auto& at(M const& m, Index... i) {
  std::int64_t offset = 0, index[] = {i...};
  for (std::size_t a = 0; a < sizeof...(i); ++a)
    offset += index[a] * std::int64_t(m.mapping().stride(a));
  return m.data_handle()[offset];
}
template <class X>
constexpr bool is_dense = decltype(std::declval<X&>().leaf())::describe().dense;

}  // namespace

TEST_CASE("an mdspan of a tensor has its address, its extents and the order of rows") {
  for (std::int64_t const n : {0, 1, 31, 33, 257}) {
    CAPTURE(n);
    Tensor<float, Extents<dyn, 3>> x(n);
    x = iota<float>(x.extents());
    auto const m = mdspan_of<library::mdspan>(x);
    using M = std::remove_cvref_t<decltype(m)>;
    static_assert(std::is_same_v<M::element_type, float> &&
                  std::is_same_v<M::layout_type, rows_first>);
    static_assert(std::is_same_v<M::extents_type,
                                 library::extents<std::int64_t, library::dynamic_extent, 3>>);
    CHECK(m.data_handle() == x.data());
    CHECK(m.extents().extent(0) == n);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < 3; ++j) CHECK(at(m, i, j) == x(i, j));
    if (n > 0) at(m, n - 1, std::int64_t(2)) = -5.f;
    CHECK((n == 0 || x(n - 1, 2) == -5.f));
  }
  Tensor<double, Extents<2, 4>> const fixed(iota<double>(Extents<2, 4>{}));
  auto const m = mdspan_of<library::mdspan>(fixed);
  static_assert(std::is_same_v<decltype(m)::element_type, double const>);
  static_assert(decltype(m)::extents_type::static_extent(1) == 4);
  CHECK(at(m, std::int64_t(1), std::int64_t(3)) == 7);
  Tensor<int, Extents<>> const number = 3;
  CHECK(*mdspan_of<library::mdspan>(number).data_handle() == 3);
  CHECK(decltype(mdspan_of<library::mdspan>(number))::extents_type::rank() == 0);
  Tensor<std::int8_t, Dextents<6>> deep(1, 2, 3, 2, 1, 2);
  CHECK(mdspan_of<library::mdspan>(deep).mapping().stride(1) == 12);
#if defined(__cpp_lib_mdspan)
  static_assert(std::is_same_v<decltype(mdspan_of(deep)), decltype(mdspan_of<std::mdspan>(deep))>);
  static_assert(std::is_same_v<decltype(mdspan_of(view<CpuDevice>(
                                   deep.data(), dextents<1>(2), layout_stride{{2}})))::layout_type,
                               std::layout_stride>);
#endif
}

TEST_CASE("an mdspan of a view has the view's strides, where its layout can have them") {
  std::vector<int> v(60);
  for (int i = 0; i < 60; ++i) v[std::size_t(i)] = i;
  auto const left = view<CpuDevice>(v.data(), dextents<2>(4, 5), layout_left{});
  auto const gaps = view<CpuDevice>(v.data(), Extents<3, 4>{}, layout_stride{{20, 2}});
  CHECK(at(mdspan_of<library::mdspan, columns_first>(left), 3, 4) == 19);
  CHECK(at(mdspan_of<library::mdspan, with_strides>(left), 1, 2) == 9);
  CHECK(at(mdspan_of<library::mdspan, with_strides>(gaps), 2, 3) == 46);
  CHECK(message_of<shape_error>([&] { mdspan_of<library::mdspan, rows_first>(left); }) ==
        "locus: the layout of this mdspan does not have the extents [4,5] and strides [1,4] of the "
        "elements; write mdspan_of<std::mdspan, std::layout_stride>(x)");
  CHECK_THROWS_AS((mdspan_of<library::mdspan, columns_first>(gaps)), shape_error);
  auto const still = view<CpuDevice>(v.data(), dextents<2>(4, 5), layout_stride{{0, 1}}),
             back = view<CpuDevice>(v.data() + 4, dextents<2>(1, 5), layout_stride{{5, -1}});
  CHECK(message_of<shape_error>([&] { mdspan_of<library::mdspan, with_strides>(still); }) ==
        "locus: the layout of this mdspan does not have the extents [4,5] and strides [0,1] of the "
        "elements; strides of an mdspan are positive and keep elements apart");
  CHECK_THROWS_AS((mdspan_of<library::mdspan, with_strides>(back)), shape_error);
  // strides of an axis of one element, or of no elements, are nobody's
  auto const row = view<CpuDevice>(v.data(), dextents<2>(1, 5), layout_stride{{77, 1}}),
             none = view<CpuDevice>(v.data(), dextents<2>(0, 5), layout_stride{{77, 3}});
  CHECK(at(mdspan_of<library::mdspan, rows_first>(row), 0, 4) == 4);
  CHECK(mdspan_of<library::mdspan, rows_first>(none).extents().extent(0) == 0);
  Tensor<float, Dextents<2>> empty(3, 0);
  CHECK(mdspan_of<library::mdspan, with_strides>(empty).extents().extent(0) == 3);
  auto const flat = view<CpuDevice>(v.data(), dextents<2>(1, 5), layout_stride{{0, 1}});
  CHECK(at(mdspan_of<library::mdspan, with_strides>(flat), 0, 4) == 4);
}

TEST_CASE("an mdspan is an operand and a destination without a copy") {
  Tensor<float, Dextents<2>> x(33, 5);
  x = iota<float>(x.extents());
  auto const rows = mdspan_of<library::mdspan>(std::as_const(x));
  auto const v = view<CpuDevice>(rows);
  static_assert(is_dense<decltype(v)> &&
                std::is_same_v<decltype(v), View<float const, Dextents<2>, CpuDevice, true> const>);
  CHECK(v.data() == x.data());
  CHECK(equal(eval(on<CpuDevice>(2.f * v)), eval(on<CpuDevice>(2.f * x))));
  Tensor<float, Dextents<2>> y(5, 33);
  auto const turned = view<CpuDevice>(y.data(), dextents<2>(33, 5), layout_left{});
  auto const strided = view<CpuDevice>(mdspan_of<library::mdspan, with_strides>(turned));
  static_assert(!is_dense<decltype(strided)>);
  static_assert(
      !is_dense<decltype(view<CpuDevice>(mdspan_of<library::mdspan, columns_first>(turned)))>);
  strided = on<CpuDevice>(3.f * x);
  for (int i = 0; i < 33; ++i)
    for (int j = 0; j < 5; ++j) CHECK(y(j, i) == 3.f * x(i, j));
  Tensor<double, Extents<>> const number = 3.;
  CHECK(fetch(view<CpuDevice>(mdspan_of<library::mdspan>(number)) * 2.) == 6);
  Tensor<float, Extents<2, 3>, GpuDevice<1>> const there(full<float>(Extents<2, 3>{}, 1.f));
  auto const far = mdspan_of<library::mdspan>(there);
  CHECK(view<GpuDevice<1>>(far).data() == there.data());
  CHECK(view<GpuDevice<dyn>>(far, 1).device() == gpu(1));
}

TEST_CASE("any library's mdspan will do; a layout without strides is refused") {
  Tensor<float, Dextents<2>> x(3, 4);
  x = iota<float>(x.extents());
  auto const m = mdspan_of<plain::mdspan>(x);
  static_assert(is_dense<decltype(view<CpuDevice>(m))>);
  CHECK(fetch(sum(view<CpuDevice>(m))) == 66);
  using E = plain::extents<int, 3, 4>;
  using Tiles = plain::layout<false>;
  plain::mdspan<float, E, Tiles> const tiles(x.data(), Tiles::mapping<E>());
  CHECK(message_of<shape_error>([&] { view<CpuDevice>(tiles); }) ==
        "locus: a view needs a layout with strides; copy the elements into a Tensor first");
}

// SPDX-License-Identifier: Apache-2.0
// Elements that another library cannot read, and elements of others that locus cannot read.
// expect-1: locus: another library takes elements of one device; bring replicas together with to<Device>(x)
// expect-2: locus: the elements of a tensor without a name die with the statement, and another library would read them later; give the tensor a name
// expect-3: locus: a view with strides needs an mdspan whose layout has strides; write mdspan_of<std::mdspan, std::layout_stride>(x)
// expect-4: locus: the accessor of this mdspan computes its elements; write the elements into a Tensor, or view the mdspan below it
// expect-5: locus: only the versioned array of DLPack can say that elements are const; write to_dlpack<dlpack::managed_tensor_versioned>(x)
// expect-6: locus: DLPack has no name for elements of this type; write a tensor of numbers, such as Tensor<float, ...>
// expect-7: locus: an array of DLPack lies on one device, which its type names; write CpuDevice or GpuDevice<0>
// expect-8: locus: this view would outlive its array; give what keep_dlpack returns a name
// expect-9: locus: a map of Eigen has one or two axes; reshape the tensor
// expect-10: locus: Eigen reads memory of the host; bring the tensor over with to<CpuDevice>(x)
// expect-11: locus: eigen_map_of needs Eigen; write #include <Eigen/Core> before its first use
// expect-12: locus: elements of Eigen are memory of the host; write view<CpuDevice>(m)
// expect-13: locus: a matrix of Eigen without a name dies with the statement; give it a name, or write a Tensor
#include <locus/interop/eigen.hpp>
#include <locus/interop/from_dlpack.hpp>
#include <locus/interop/mdspan.hpp>
#include <locus/interop/to_dlpack.hpp>
#include <locus/locus.hpp>

#include "../unit/interop/plain_mdspan.hpp"
using namespace locus;

struct point {
  float x, y;
};
/// what locus asks of a matrix of Eigen
struct matrix {
  enum : int { RowsAtCompileTime = 2, ColsAtCompileTime = 2, IsRowMajor = 1 };
  using Scalar = float;
  using PlainObject = matrix;
  float elements[4];
  float* data() { return elements; }
  std::ptrdiff_t rows() const { return 2; }
  std::ptrdiff_t cols() const { return 2; }
  std::ptrdiff_t size() const { return 4; }
  std::ptrdiff_t rowStride() const { return 2; }
  std::ptrdiff_t colStride() const { return 1; }
  std::ptrdiff_t innerStride() const { return 1; }
};

Tensor<float, Extents<4>, Mirrored<Cpu<0>, Cpu<1>>> copies;
Tensor<float, Extents<4>> x;
Tensor<float, Extents<4>> const fixed;
Tensor<point, Extents<4>> points;
dlpack::managed_tensor* array;
matrix of_eigen;
plain::mdspan<float, plain::extents<int, 4>> m(x.data());
plain::mdspan<float, plain::extents<int, 4>, plain::layout<true>, plain::doubling_accessor<float>>
    twice(x.data());
auto apart(float* data) { return view<CpuDevice>(data, Extents<2>{}, layout_stride{{2}}); }
#if LOCUS_MUST_FAIL == 1
auto misuse() { return to_dlpack(copies); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return mdspan_of<plain::mdspan>(eval(2.f * x)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return mdspan_of<plain::mdspan>(apart(x.data())); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return view<CpuDevice>(twice); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return to_dlpack(fixed); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return to_dlpack(points); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return from_dlpack<float, Dextents<1>, Cpu<dyn>>(array); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return keep_dlpack<float, Dextents<1>>(array).view(); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() {
  Tensor<float, Extents<1, 2, 3>> const deep;
  return eigen_map_of(deep);
}
#elif LOCUS_MUST_FAIL == 10
auto misuse(Tensor<float, Extents<4>, GpuDevice<0>>& there) { return eigen_map_of(there); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() { return eigen_map_of(x); }
#elif LOCUS_MUST_FAIL == 12
auto misuse() { return view<GpuDevice<0>>(of_eigen); }
#elif LOCUS_MUST_FAIL == 13
auto misuse() { return view<CpuDevice>(matrix{}); }
#else
auto proper() {
  view<CpuDevice>(m) = 2.f * x;
  run(into(view<CpuDevice>(of_eigen), zeros<float>(Extents<2, 2>{})));
  mdspan_of<plain::mdspan, plain::layout_stride>(apart(x.data()));
  auto* const made = to_dlpack<dlpack::managed_tensor_versioned>(fixed);
  made->deleter(made);
  array = to_dlpack(apart(x.data()));
  auto const kept = keep_dlpack<float, Dextents<1>>(array);
  x = from_dlpack<float, Extents<4>>(to_dlpack(eval(kept.view() * 2.f)));
  return mdspan_of<plain::mdspan>(x);
}
#endif

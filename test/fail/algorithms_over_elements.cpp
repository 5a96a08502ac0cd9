// SPDX-License-Identifier: Apache-2.0
// Algorithms over what has no elements of its own on one device.
// expect-1: locus: an iterator goes over maps of whole tensors; evaluate what else there is with eval(e)
// expect-2: locus: an algorithm goes over elements of one device; bring replicas together with to<Device>(x)
// expect-3: locus: iterators over memory of a GPU are Thrust's, and only units of nvcc have them; write with_thrust(x, f), or bring x over with to<CpuDevice>(x)
// expect-4: locus: an iterator goes over operands of one shape, and one of these is broadcast; evaluate the expression with eval(e)
// expect-5: locus: an iterator goes over elements of one device; bring replicas together with to<Device>(x)
// expect-6: locus: iterators over memory of a GPU are Thrust's, and only units of nvcc have them; write with_thrust(x, f), or bring x over with to<CpuDevice>(x)
// expect-7: locus: this iterator would outlive a tensor that the expression alone keeps; give the tensor or the expression a name
// expect-8: locus: this iterator would outlive a tensor that the expression alone keeps; give the tensor or the expression a name
#include <locus/thrust.hpp>
using namespace locus;

struct Larger {
  LOCUS_HOST_DEVICE float operator()(float a, float b) const { return a > b ? a : b; }
};
using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;

float f(Tensor<float, Extents<4, 4>> const& x, Tensor<float, Extents<4>, Rows> const& cut,
        Tensor<float, Extents<4>, GpuDevice<0>>& there) {
#if LOCUS_MUST_FAIL == 1
  return reduce(transpose(x), Larger{}, 0.f);
#elif LOCUS_MUST_FAIL == 2
  return reduce(cut, Larger{}, 0.f);
#elif LOCUS_MUST_FAIL == 3
  return begin(there) != end(there);
#elif LOCUS_MUST_FAIL == 4
  Tensor<float, Extents<4, 1>> const column;
  Tensor<float, Extents<1, 4>> const line;
  return reduce(column * line, Larger{}, 0.f);
#elif LOCUS_MUST_FAIL == 5
  return *begin(cut);
#elif LOCUS_MUST_FAIL == 6
  return *begin(2.f * there + 1.f);
#elif LOCUS_MUST_FAIL == 7
  begin(eval(on<CpuDevice>(2.f * x)) * 3.f);
#elif LOCUS_MUST_FAIL == 8
  end(eval(on<CpuDevice>(2.f * x)) * 3.f);
#else
  auto const kept = eval(on<CpuDevice>(2.f * x)) * 3.f;
  if (begin(kept) == end(kept)) return 0;
  sort(there, Larger{});
  static_cast<void>(cut);
  return reduce(x * 2.f, Larger{}, 0.f) + *begin(x * x);
#endif
}

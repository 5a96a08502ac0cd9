// SPDX-License-Identifier: Apache-2.0
// Stages of a dataset in an order that loses something, and functions that are none of elements.
// expect-1: locus: cache() behind shuffle() would freeze one order for all epochs; write cache() first, then shuffle()
// expect-2: locus: elements are distributed over replicas in batches; write batch(n) first
// expect-3: locus: prefetch() reads ahead on the host; write it before distribute, which sends the next batch while this one is computed with
// expect-4: locus: map's function takes the components of an element (by value or const&), or a data::position and those; it is called by several threads, so it is no mutable lambda
// expect-5: locus: map's function returns nothing; return the new element, a tuple of its components
// expect-6: locus: a batch is made of numbers, std::array, rows and host tensors; map() the elements to those first
// expect-7: locus: a dataset reads rows of tensors on the host; write from_tensors(fetch(x)) for others, and give each an axis for its rows
// expect-8: locus: a generator returns std::optional of an element, empty at its end; from_generator takes a function that makes one for each pass
// expect-9: locus: a label is one number of an element; look at labels before batch()
// expect-10: locus: the rows of a rank are those of its batches; write batch(n) first, and distribute behind it
// expect-11: locus: a dataset keeps the memory of its tensors alive, and a view has none; write from_tensors(eval(v))
// expect-12: locus: data::resize reads images on the host; write resize(fetch(images), rows, columns)
#include <locus/data/dataset.hpp>
#include <locus/data/resize.hpp>
#include <locus/locus.hpp>
using namespace locus;

using Two = Mirrored<GpuDevice<0>, GpuDevice<1>>;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return data::range(9).shuffle().cache(); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return distribute<Two>(data::range(9)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return distribute<Two>(data::range(9).batch(3)).prefetch(2); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() {
  return data::range(9).map([n = 0](std::int64_t) mutable { return ++n; });
}
#elif LOCUS_MUST_FAIL == 5
auto misuse() {
  return data::range(9).map([](std::int64_t) {});
}
#elif LOCUS_MUST_FAIL == 6
struct picture {};
auto misuse() {
  return data::range(9).map([](std::int64_t) { return picture{}; }).batch(3);
}
#elif LOCUS_MUST_FAIL == 7
auto misuse(Tensor<float, Dextents<2>, GpuDevice<0>>& x) { return data::from_tensors(x); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() {
  return data::from_generator([] { return [] { return 1; }; });
}
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return data::range(9).batch(3).require_labels<0>(9); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return data::range(9).rows_of_rank(); }
#elif LOCUS_MUST_FAIL == 11
auto misuse(float* at) { return data::from_tensors(view<CpuDevice>(at, dextents<2>{3, 2})); }
#elif LOCUS_MUST_FAIL == 12
auto misuse(Tensor<float, Dextents<3>, GpuDevice<0>>& x) { return data::resize(x, 2, 2); }
#else
auto proper() {
  return distribute<Two>(
      data::range(9).cache().shuffle().require_labels<0>(9).batch(3).prefetch(2));
}
auto rows() { return data::range(9).batch(3).rows_of_rank(); }
auto of_view(float* at) { return data::from_tensors(eval(view<CpuDevice>(at, dextents<2>{3, 2}))); }
auto smaller(Tensor<float, Dextents<3>, GpuDevice<0>>& x) { return data::resize(fetch(x), 2, 2); }
#endif

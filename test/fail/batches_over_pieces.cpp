// SPDX-License-Identifier: Apache-2.0
// Batches distributed over what does not replicate.
// expect-1: locus: batches are distributed over replicas or over one device; write distribute<Mirrored<...>>(batches)
// expect-2: locus: a batch has at least one axis, its rows; give each tensor of a batch rank 1 or more
// expect-3: locus: batches of nothing; name at least one tensor, as in batches({}, x, label)
#include <locus/data/batches.hpp>
#include <locus/locus.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
using misuse = rows_over<Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
#elif LOCUS_MUST_FAIL == 2
double misuse(Tensor<float, Extents<>>& x) { return global_batch(x); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return data::batches({.batch_size = 4}); }
#else
using proper = rows_over<Mirrored<GpuDevice<0>, GpuDevice<1>>>;
#endif

// SPDX-License-Identifier: Apache-2.0
// Shards of nothing.
// expect-1: locus: virtual_shards cuts rows into one shard or more; give it a tensor that has rows, as in virtual_shards<4>(x)
// expect-2: locus: sum_of_shards adds a value that has one row for each shard; make it from virtual_shards<4>(x)
#include <locus/locus.hpp>
#include <locus/ops/shards.hpp>
using namespace locus;

Tensor<float, Extents<8>> x;
#ifndef LOCUS_MUST_FAIL
auto proper = eval(sum_of_shards(virtual_shards<4>(x)));
#elif LOCUS_MUST_FAIL == 1
auto misuse() { return eval(virtual_shards<4>(sum(x))); }
#else
auto misuse() { return eval(sum_of_shards(sum(x))); }
#endif

// SPDX-License-Identifier: Apache-2.0
// CUB's code for the other units of a program.
#include <locus/training_cub.cuh>
LOCUS_INSTANTIATE_ALGORITHM(locus::cuda_side::sort_pairs<std::int64_t, double>);
LOCUS_INSTANTIATE_ALGORITHMS(float, double, locus::half, std::int32_t, std::int64_t);

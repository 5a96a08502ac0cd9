// SPDX-License-Identifier: Apache-2.0
// budget: 3545 instantiations (clang 14)
// A plan as a constant, nothing that runs: what asserting a plan costs.
#include <locus/locus.hpp>
using namespace locus;

using A = Tensor<float, Extents<2, 3>>;
using B = Tensor<float, Extents<3, 2>>;
using Product = decltype(matmul(std::declval<A&>(), std::declval<B&>()));
static_assert(device_of<Product> == "/GPU:0");
static_assert(plan_of<Product>.copies() == 2 && plan_of<Product>.bytes_moved() == 48);

// SPDX-License-Identifier: Apache-2.0
// <locus/cub.cuh> for a program with networks: the algorithms of CUB, and the kernels of layers that use them.
#pragma once
#include <locus/cub.cuh>  // LOCUS_INSTANTIATE_ALGORITHMS, require_algorithms
#if defined(__CUDACC__)
#include <locus/nn/layers/embedding_ops.hpp>  // embedding_gradient_op

// means: as in <locus/cub.cuh>, and the kernels and algorithms of the layers of networks
#undef LOCUS_INSTANTIATE_ALGORITHMS
#define LOCUS_INSTANTIATE_ALGORITHMS(...)                                   \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      (::locus::cuda_side::instantiate_algorithms<__VA_ARGS__>(),           \
       ::locus::cuda_side::instantiate_folds<__VA_ARGS__>(),                \
       ::locus::cuda_side::instantiate_layers<__VA_ARGS__>())

// means: only the kernels and algorithms of the layers of networks, for these types
#define LOCUS_INSTANTIATE_LAYERS(...)                                       \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      ::locus::cuda_side::instantiate_layers<__VA_ARGS__>()

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class T>
void instantiate_layers_of() {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    require_registered<call_work<nn::embedding_gradient_op, type_list<std::int32_t, T>,
                                 type_list<std::int32_t, T>>>();
}
template <class... T>
bool instantiate_layers() {
  require_algorithms<sort_pairs<std::int32_t, std::int32_t>,
                     first_of_runs<std::int32_t, std::int32_t>>();
  (instantiate_layers_of<T>(), ...);
  return true;
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
#else  // in a unit of a host compiler it does nothing
#define LOCUS_INSTANTIATE_LAYERS(...) struct locus_needs_nvcc
#endif

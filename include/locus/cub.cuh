// SPDX-License-Identifier: Apache-2.0
// The algorithms of CUB for a whole program: one .cu includes this and says LOCUS_INSTANTIATE_ALGORITHMS;
// all other units, of the host compiler and of nvcc, find them in the kernel registry and pay nothing.
#pragma once
#if defined(LOCUS_GPU_ENGINE)
#define LOCUS_GPU_ENGINE_IS_shared 1
#define LOCUS_GPU_ENGINE_IS_(engine) LOCUS_GPU_ENGINE_IS_##engine
#define LOCUS_GPU_ENGINE_IS(engine) LOCUS_GPU_ENGINE_IS_(engine)
#if LOCUS_GPU_ENGINE_IS(LOCUS_GPU_ENGINE) == \
    1  // units with engine `shared` find these kernels here
#undef LOCUS_GPU_ENGINE
#define LOCUS_GPU_ENGINE cub
#endif
#endif
#include <locus/cuda.cuh>  // the library, with GPUs
#if defined(__CUDACC__)
#include <locus/engine/gpu/cub_scans.cuh>    // card_code<scan>
#include <locus/engine/gpu/cub_selects.cuh>  // card_code<select_flagged>
#include <locus/engine/gpu/cub_sorts.cuh>    // card_code<sort_keys>

// means: the algorithms of engine/gpu/ for these types of elements, and sum, mean, max and min of a whole tensor,
//        stand in the registry before main; at namespace scope, once in a program:
//            LOCUS_INSTANTIATE_ALGORITHMS(float, double, std::int32_t, std::int64_t);
//        A program with networks includes <locus/training_cub.cuh> instead, which adds the kernels of layers.
// cost:  nvcc compiles all of them for each type: name the types that the program uses
#define LOCUS_INSTANTIATE_ALGORITHMS(...)                                   \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      (::locus::cuda_side::instantiate_algorithms<__VA_ARGS__>(),           \
       ::locus::cuda_side::instantiate_folds<__VA_ARGS__>(), true)

// means: one algorithm, for types that stand in no list: LOCUS_INSTANTIATE_ALGORITHM(
//            locus::cuda_side::sort_pairs<float, std::int64_t>);
#define LOCUS_INSTANTIATE_ALGORITHM(...)                                    \
  [[maybe_unused]] static bool const LOCUS_INSTANTIATE_NAME_(__COUNTER__) = \
      (::locus::cuda_side::require_algorithms<__VA_ARGS__>(), true)

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class T>
void instantiate_algorithms_of() {
  require_algorithms<sort_keys<T>, sort_pairs<T, std::int32_t>, sort_segments<T>,
                     select_flagged<T>>();
  if constexpr (!is_narrow_v<T>)
    require_algorithms<scan<false, reduction::sum, T>, scan<true, reduction::sum, T>,
                       fold_segments<reduction::sum, T>, fold_segments<reduction::max, T>,
                       fold_by_key<reduction::sum, std::int32_t, T>, first_of_runs<T, std::int32_t>,
                       run_lengths<T>, histogram<T>>();
}
template <class... T>
bool instantiate_algorithms() {
  (instantiate_algorithms_of<T>(), ...);
  require_algorithms<count_numbers<std::int32_t>, select_numbers<std::int32_t>>();
  return true;
}

/// of a tensor of any rank, on any device: their kernels know neither
template <class T>
void instantiate_folds_of() {
  using X = Tensor<T, Dextents<1>, GpuDevice<0>> const&;
  lowering::instantiate<decltype(sum(std::declval<X>()))>();
  if constexpr (is_floating_v<T>) lowering::instantiate<decltype(mean(std::declval<X>()))>();
  lowering::instantiate<decltype((max)(std::declval<X>()))>();
  lowering::instantiate<decltype((min)(std::declval<X>()))>();
}
template <class... T>
void instantiate_folds() {
  (instantiate_folds_of<T>(), ...);
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
#else  // in a unit of a host compiler they do nothing
#define LOCUS_INSTANTIATE_ALGORITHMS(...) struct locus_needs_nvcc
#define LOCUS_INSTANTIATE_ALGORITHM(...) struct locus_needs_nvcc
#endif

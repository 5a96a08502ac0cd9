// SPDX-License-Identifier: Apache-2.0
// The macros of locus. Nothing else in the library looks at a compiler's macros.
#pragma once

// LOCUS_HOST_DEVICE         marks what a kernel may call; nothing outside nvcc
// LOCUS_EXEC_CHECK_DISABLE  in front of a template that may hold a functor for the host alone
// LOCUS_IVDEP               in front of a loop whose iterations do not depend on each other
// LOCUS_LANES               the same over the lanes of a fold, which stay in registers
// LOCUS_LOOPS_BEGIN, _END   around such loops: some functors have no vector form, which is no fault
// LOCUS_DEVICE_CODE         1: this compiler makes code for GPUs
// LOCUS_MATH(expf)          a function of the C library that kernels may call too; <cmath> costs a
//                           tenth of a second of every unit
#if defined(__CUDACC__)
#define LOCUS_HOST_DEVICE __host__ __device__
#define LOCUS_EXEC_CHECK_DISABLE _Pragma("nv_exec_check_disable")
#define LOCUS_MATH(function) ::function
#define LOCUS_DEVICE_CODE 1
#else
#define LOCUS_HOST_DEVICE
#define LOCUS_EXEC_CHECK_DISABLE
#define LOCUS_MATH(function) __builtin_##function
#define LOCUS_DEVICE_CODE 0
#endif

#if defined(__clang__)
#define LOCUS_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define LOCUS_LANES LOCUS_IVDEP
#define LOCUS_LOOPS_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define LOCUS_LOOPS_END _Pragma("clang diagnostic pop")
#elif defined(__CUDACC__)  // its front end refuses what it does not know
#define LOCUS_IVDEP _Pragma("GCC ivdep")
#define LOCUS_LANES LOCUS_IVDEP
#else  // rolled up: loads and stores in turn are what DRAM takes fastest
#define LOCUS_IVDEP _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define LOCUS_LANES _Pragma("GCC ivdep") _Pragma("GCC unroll 16")
#endif
#if !defined(LOCUS_LOOPS_BEGIN)
#define LOCUS_LOOPS_BEGIN
#define LOCUS_LOOPS_END
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LOCUS_ADDRESS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCUS_ADDRESS_SANITIZER true
#endif
#endif
#if !defined(LOCUS_ADDRESS_SANITIZER)
#define LOCUS_ADDRESS_SANITIZER false
#endif

// What a user may set before the first include of a unit:
// LOCUS_CHECKED         1: expressions notice tensors that died, operands are checked before a
//                       launch; 0: they are not. Default: 1 unless NDEBUG
// LOCUS_DEFAULT_POLICY  prefer_gpu (default), follow_data or min_copies
// LOCUS_CUDA_KERNELS    set by <locus/cuda.cuh>: this unit makes kernels for GPUs
#if !defined(LOCUS_CHECKED)
#if defined(NDEBUG)
#define LOCUS_CHECKED 0
#else
#define LOCUS_CHECKED 1
#endif
#endif

#if !defined(LOCUS_DEFAULT_POLICY)
#define LOCUS_DEFAULT_POLICY prefer_gpu
#endif

#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 0
#endif

// LOCUS_OPENMP          1: loops run on OpenMP's threads, 0: on a pool of ours. Default: what
// -fopenmp says
#if !defined(LOCUS_OPENMP)
#if defined(_OPENMP)
#define LOCUS_OPENMP 1
#else
#define LOCUS_OPENMP 0
#endif
#endif

// Everything whose machine code depends on the above lives in the inline namespace LOCUS_MODE, so
// that units of g++ and of nvcc, checked and not, link into one program.
#define LOCUS_MODE_NAME_(kernels, checked, openmp, policy) \
  mode_kernels##kernels##_checked##checked##_openmp##openmp##_##policy
#define LOCUS_MODE_NAME(kernels, checked, openmp, policy) \
  LOCUS_MODE_NAME_(kernels, checked, openmp, policy)
#define LOCUS_MODE \
  LOCUS_MODE_NAME(LOCUS_CUDA_KERNELS, LOCUS_CHECKED, LOCUS_OPENMP, LOCUS_DEFAULT_POLICY)

namespace locus {

inline namespace LOCUS_MODE {
/// The default template argument of members of shared classes: puts the mode into their names.
struct mode {};
}  // namespace LOCUS_MODE

inline constexpr bool checked_build = LOCUS_CHECKED != 0;

/// False, but only once a template is instantiated: the end of every closed branch.
template <class...>
inline constexpr bool always_false = false;

}  // namespace locus

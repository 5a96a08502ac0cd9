// SPDX-License-Identifier: Apache-2.0
// The macros of locus. Only this header looks at macros of compilers.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

// LOCUS_HOST_DEVICE         in front of functions that kernels of GPUs may call; empty outside nvcc
// LOCUS_EXEC_CHECK_DISABLE  in front of a template that may get a functor for the host alone
// LOCUS_IVDEP               in front of a loop whose iterations do not depend on each other
// LOCUS_LANES               the same for a loop over the lanes of a fold, which stay in registers
// LOCUS_UNROLL              in front of a loop with few, known iterations: unrolled
// LOCUS_ROLLED              in front of a loop that kernels of GPUs must not unroll
// LOCUS_LOOP_FUNCTION       in front of a function with such a loop: g++ vectorizes it at -O2
// LOCUS_LOOPS_BEGIN, _END   around such loops: no warning for functors that cannot be vectorized
// LOCUS_DEVICE_CODE         1: this compiler makes kernels for GPUs
// LOCUS_COLD_BEGIN, _END    around functions that no statement runs twice. They are compiled
//                           without -O, since every unit that uses them compiles them again; with
//                           -O in a unit that has LOCUS_IMPLEMENTATION
// LOCUS_MATH(expf)          a function of the C library that kernels may call too; <cmath> would
//                           cost every unit a tenth of a second to compile
// LOCUS_LIFETIMES           1: this compiler warns when a result outlives an object it points to
// LOCUS_BY_SIDE(on_device, on_host)  on_device in kernels of GPUs, on_host in all other code
// LOCUS_FILE_OF_CALL, LOCUS_LINE_OF_CALL  file and line of a call, as default arguments; empty in
//                           nvcc's pass for GPUs, whose front end fails on them in the initialiser
//                           of a member
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

#if defined(__CUDA_ARCH__)
#define LOCUS_BY_SIDE(on_device, on_host) on_device
#else
#define LOCUS_BY_SIDE(on_device, on_host) on_host
#endif

#if defined(__CUDA_ARCH__)
#define LOCUS_FILE_OF_CALL nullptr
#define LOCUS_LINE_OF_CALL 0
#else
#define LOCUS_FILE_OF_CALL __builtin_FILE()
#define LOCUS_LINE_OF_CALL __builtin_LINE()
#endif

#if defined(__clang__) && !defined(__CUDACC__)
#define LOCUS_LIFETIMES 1
#else
#define LOCUS_LIFETIMES 0
#endif

#if defined(__clang__)
#define LOCUS_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define LOCUS_LANES LOCUS_IVDEP
#define LOCUS_UNROLL _Pragma("clang loop unroll(full)")
#define LOCUS_LOOPS_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define LOCUS_LOOPS_END _Pragma("clang diagnostic pop")
#elif defined(__CUDACC__)  // nvcc's front end refuses unknown pragmas
#define LOCUS_IVDEP _Pragma("GCC ivdep")
#define LOCUS_LANES LOCUS_IVDEP
#define LOCUS_UNROLL
#else  // not unrolled: DRAM is fastest with loads and stores in turn
#define LOCUS_IVDEP _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define LOCUS_LANES _Pragma("GCC ivdep") _Pragma("GCC unroll 16")
#define LOCUS_UNROLL _Pragma("GCC unroll 8")
#endif
#if defined(__CUDA_ARCH__)
#define LOCUS_ROLLED _Pragma("unroll 1")
#define LOCUS_UNROLLED _Pragma("unroll")
#else
#define LOCUS_ROLLED
#define LOCUS_UNROLLED
#endif
#if defined(LOCUS_IMPLEMENTATION)
#elif defined(__OPTIMIZE__) && defined(__clang__)
#define LOCUS_COLD_BEGIN _Pragma("clang optimize off")
#define LOCUS_COLD_END _Pragma("clang optimize on")
#elif defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__CUDA_ARCH__)
#if defined(__CUDACC__)  // nvcc passes unknown pragmas to its host compiler
#define LOCUS_HANDED_ON(pragma) \
  _Pragma("nv_diag_suppress 1675") _Pragma(pragma) _Pragma("nv_diag_default 1675")
#else
#define LOCUS_HANDED_ON(pragma) _Pragma(pragma)
#endif
#define LOCUS_COLD_BEGIN _Pragma("GCC push_options") LOCUS_HANDED_ON("GCC optimize(\"O0\")")
#define LOCUS_COLD_END _Pragma("GCC pop_options")
#if defined(__CUDACC__)  // elsewhere a recorder runs kernels as host code
#define LOCUS_LEAN_BEGIN _Pragma("GCC push_options") LOCUS_HANDED_ON("GCC optimize(\"O1\")")
#define LOCUS_LEAN_END _Pragma("GCC pop_options")
#endif
#endif
#if !defined(LOCUS_COLD_BEGIN)
#define LOCUS_COLD_BEGIN
#define LOCUS_COLD_END
#endif
#if !defined(LOCUS_LEAN_BEGIN)
#define LOCUS_LEAN_BEGIN
#define LOCUS_LEAN_END
#endif
#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#define LOCUS_LOOP_FUNCTION [[gnu::optimize("O3")]]
#else
#define LOCUS_LOOP_FUNCTION
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

// Macros that a program may set before the first include of a unit:
// LOCUS_CHECKED         1: expressions notice destroyed tensors, and operands are checked before a
//                       launch; 0: no checks. Default: 1 unless NDEBUG. A compiled run time has
//                       its own setting for its checks (decisions/38-compiled-run-time.md)
// LOCUS_DEFAULT_POLICY  prefer_gpu (default), follow_data or min_copies
// LOCUS_DEFAULT_NUMERICS  exact (default), relaxed or reproducible (plan/numerics.hpp)
// LOCUS_GPU_ENGINE      cub (default), shared or own (<locus/cuda.cuh>)
// LOCUS_CUDA_KERNELS    set by <locus/cuda.cuh>, not by the program: 1 (own), this unit makes
//                       kernels for GPUs; 2 (cub), also CUB's kernels; 3 (shared), as 2, without
//                       the plain folds of the unit with LOCUS_INSTANTIATE_ALGORITHMS
// LOCUS_TARGETS         3: kernels of the host are compiled for the unit's own instructions, and
//                       also for AVX2 and AVX-512 if the unit has fewer; 1: for its own alone.
//                       Default: 3 for x86-64, unless the unit is not optimised
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

#if !defined(LOCUS_DEFAULT_NUMERICS)
#define LOCUS_DEFAULT_NUMERICS exact
#endif

#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 0
#endif

#if !defined(LOCUS_TARGETS)
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define LOCUS_TARGETS 3
#else
#define LOCUS_TARGETS 1
#endif
#elif LOCUS_TARGETS != 1 && LOCUS_TARGETS != 3
#error \
    "locus: LOCUS_TARGETS has a value it cannot have; write 3 (kernels for AVX2 and AVX-512 too) or 1 (for the unit's own instructions)"
#endif

// LOCUS_OPENMP          1: loops run on OpenMP's threads if LOCUS_THREADS=openmp says so; 0:
//                       always on the pool of locus. Default: 1 with -fopenmp
#if !defined(LOCUS_OPENMP)
#if defined(_OPENMP)
#define LOCUS_OPENMP 1
#else
#define LOCUS_OPENMP 0
#endif
#endif

// LOCUS_KEEP_APART(x)   x is rounded here: the compiler may not fuse the operations around it
#if defined(__x86_64__)
#if defined(__AVX512F__)
#define LOCUS_KEEP_APART(x) asm("" : "+v"(x))
#else
#define LOCUS_KEEP_APART(x) asm("" : "+x"(x))
#endif
#elif defined(__aarch64__)
#define LOCUS_KEEP_APART(x) asm("" : "+w"(x))
#else
#define LOCUS_KEEP_APART(x) asm("" : "+m"(x))
#endif

// A compiled run time (decisions/38-compiled-run-time.md). Functions that are the same in every
// unit are in folders named bodies; every unit includes them, unless it sets LOCUS_COMPILED.
// LOCUS_COMPILED            set by the program: this unit only declares these functions
// LOCUS_IMPLEMENTATION      set in one unit of the program, or by the target locus::runtime: that
//                           unit compiles the bodies; 1: those of the core alone, 2: those of
//                           data, strategy and nn alone
// LOCUS_FUNCTION            in front of such a function
// LOCUS_GIVES_BODIES        1: LOCUS_IMPLEMENTATION was set before the first include of this unit
// LOCUS_HAS_BODIES          1: this unit includes the bodies of the core
// LOCUS_HAS_TRAINING_BODIES 1: this unit includes the bodies of data, strategy and nn
#if defined(LOCUS_IMPLEMENTATION)
#define LOCUS_FUNCTION
#define LOCUS_GIVES_BODIES 1
#define LOCUS_HAS_BODIES (LOCUS_IMPLEMENTATION + 0 != 2)
#define LOCUS_HAS_TRAINING_BODIES (LOCUS_IMPLEMENTATION + 0 != 1)
#elif defined(LOCUS_COMPILED)
#define LOCUS_FUNCTION
#define LOCUS_GIVES_BODIES 0
#define LOCUS_HAS_BODIES 0
#define LOCUS_HAS_TRAINING_BODIES 0
#else
#define LOCUS_FUNCTION inline
#define LOCUS_GIVES_BODIES 0
#define LOCUS_HAS_BODIES 1
#define LOCUS_HAS_TRAINING_BODIES 1
#endif

// LOCUS_SHARED_STATE    in front of a variable that exists once in a process, also with several
//                       shared libraries and any -fvisibility (decisions/09-units-and-modes.md)
#define LOCUS_SHARED_STATE [[gnu::visibility("default")]]

// One builtin for vectors of every length, for clang 23 lacks those of x86.
#if !defined(__CUDACC__) && __has_builtin(__builtin_elementwise_fma) && \
    __has_builtin(__builtin_elementwise_sqrt)
#define LOCUS_ELEMENTWISE_BUILTINS 1
#else
#define LOCUS_ELEMENTWISE_BUILTINS 0
#endif

// The instructions that the compiler may use. The linker keeps one copy of an inline function; it
// must never be a copy with more instructions than the processor has. One digit for each set.
#if defined(__AVX512F__)
#define LOCUS_ISA_AVX512 1
#else
#define LOCUS_ISA_AVX512 0
#endif
#if defined(__AVX512BW__) || defined(__AVX512DQ__) || defined(__AVX512VL__)
#define LOCUS_ISA_AVX512X 1
#else
#define LOCUS_ISA_AVX512X 0
#endif
#if defined(__AVX512VNNI__) || defined(__AVX512VBMI__) || defined(__AVX512FP16__) ||     \
    defined(__AVX512BF16__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_ATOMICS) || \
    defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC) || defined(__ARM_FEATURE_DOTPROD) ||   \
    defined(__ARM_FEATURE_BF16) || defined(__ARM_FEATURE_SVE2)
#define LOCUS_ISA_NEWER 1
#else
#define LOCUS_ISA_NEWER 0
#endif
#if defined(__AVX2__)
#define LOCUS_ISA_AVX 2
#elif defined(__AVX__)
#define LOCUS_ISA_AVX 1
#else
#define LOCUS_ISA_AVX 0
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define LOCUS_ISA_FMA 1
#else
#define LOCUS_ISA_FMA 0
#endif
#if defined(__SSE4_2__)
#define LOCUS_ISA_SSE 4
#elif defined(__SSE3__)
#define LOCUS_ISA_SSE 3
#else
#define LOCUS_ISA_SSE 2
#endif
#if defined(__BMI2__) || defined(__LZCNT__) || defined(__MOVBE__)
#define LOCUS_ISA_BITS 1
#else
#define LOCUS_ISA_BITS 0
#endif
#if defined(__F16C__)
#define LOCUS_ISA_F16C 1
#else
#define LOCUS_ISA_F16C 0
#endif
#if defined(__ARM_FEATURE_SVE)
#define LOCUS_ISA_SVE 1
#else
#define LOCUS_ISA_SVE 0
#endif

// What the compiler may assume about numbers, and whether it optimises.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__RECIPROCAL_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__)
#define LOCUS_FAST_MATH 1
#else
#define LOCUS_FAST_MATH 0
#endif
#if defined(__OPTIMIZE__)
#define LOCUS_OPTIMIZED 1
#else
#define LOCUS_OPTIMIZED 0
#endif

// LOCUS_RTTI            1: types have names at run time (not -fno-rtti)
// LOCUS_UNIT_FILE       the main file of this unit, for messages
#define LOCUS_UNIT_FILE __BASE_FILE__
#if defined(__GXX_RTTI)
#define LOCUS_RTTI 1
#else
#define LOCUS_RTTI 0
#endif

// Code whose machine code depends on these macros is in the inline namespace LOCUS_MODE, so that
// units of g++ and of nvcc, checked and unchecked, for this processor and for any, link into one
// program. Its name lists: kernels, checks, OpenMP, optimised, fast math, targets; instructions;
// numerics, policy. A comparison of kernels of different modes skips names that begin with `mode_k`
// (runtime/kernel_registry.hpp).
#define LOCUS_MODE_NAME_(k, c, p, o, f, t, i1, i2, i3, i4, i5, i6, i7, i8, i9, numerics, policy) \
  mode_k##k##c##p##o##f##t##_i##i1##i2##i3##i4##i5##i6##i7##i8##i9##_##numerics##_##policy
#define LOCUS_MODE_NAME(...) LOCUS_MODE_NAME_(__VA_ARGS__)
#define LOCUS_MODE                                                                              \
  LOCUS_MODE_NAME(LOCUS_CUDA_KERNELS, LOCUS_CHECKED, LOCUS_OPENMP, LOCUS_OPTIMIZED,             \
                  LOCUS_FAST_MATH, LOCUS_TARGETS, LOCUS_ISA_AVX512, LOCUS_ISA_AVX512X,          \
                  LOCUS_ISA_NEWER, LOCUS_ISA_AVX, LOCUS_ISA_FMA, LOCUS_ISA_SSE, LOCUS_ISA_BITS, \
                  LOCUS_ISA_SVE, LOCUS_ISA_F16C, LOCUS_DEFAULT_NUMERICS, LOCUS_DEFAULT_POLICY)

// The mode of the run-time loop and of the loop nests of the host, which call kernels through
// pointers and see only bytes: the unit's own mode, or, with a compiled run time, one mode for all
// units.
#if defined(LOCUS_COMPILED) || defined(LOCUS_IMPLEMENTATION)
#define LOCUS_RUN_MODE mode_of_run_time
#else
#define LOCUS_RUN_MODE LOCUS_MODE
#endif

// Namespace detail: names of one folder. Namespace internal: names that a folder offers to other
// folders, and that no program writes. Each sees the other (test/tools/check_includes.py holds both).
namespace locus::internal {}
namespace locus::detail {
using namespace locus::internal;
}
namespace locus::internal {
using namespace locus::detail;
}

namespace locus {

inline namespace LOCUS_MODE {
/// A default template argument for members of shared classes: it puts the mode into their names.
struct mode {};
}  // namespace LOCUS_MODE

inline constexpr bool checked_build = LOCUS_CHECKED != 0;

/// False, but only when a template is instantiated: for static_asserts that refuse.
template <class...>
inline constexpr bool always_false = false;

}  // namespace locus

// SPDX-License-Identifier: Apache-2.0
// The sets of instructions that a unit makes kernels for, and the set that this processor runs.
#pragma once
#include <string_view>  // string_view

#include <locus/core/environment.hpp>  // from_environment
#include <locus/core/error.hpp>        // configuration_error
#include <locus/core/macros.hpp>       // LOCUS_MODE, LOCUS_TARGETS, LOCUS_SHARED_STATE
#include <locus/core/printable.hpp>    // shown

// LOCUS_CLONES_AVX2, _AVX512   1: kernels are compiled for these too, besides the unit's own; 0 in
//                              nvcc's pass for GPUs, which makes no code for the host
#if LOCUS_ISA_AVX512 && LOCUS_ISA_AVX512X && LOCUS_ISA_FMA
#define LOCUS_OWN_INSTRUCTIONS 2
#elif LOCUS_ISA_AVX >= 2 && LOCUS_ISA_FMA
#define LOCUS_OWN_INSTRUCTIONS 1
#else
#define LOCUS_OWN_INSTRUCTIONS 0
#endif
#if LOCUS_TARGETS > 1 && LOCUS_OWN_INSTRUCTIONS < 1 && !defined(__CUDA_ARCH__)
#define LOCUS_CLONES_AVX2 1
#else
#define LOCUS_CLONES_AVX2 0
#endif
#if LOCUS_TARGETS > 1 && LOCUS_OWN_INSTRUCTIONS < 2 && !defined(__CUDA_ARCH__)
#define LOCUS_CLONES_AVX512 1
#else
#define LOCUS_CLONES_AVX512 0
#endif

// LOCUS_CLONES(host, f<T>)       f<T> for the unit's own instructions, for AVX2, for AVX-512;
//                                chosen_clone() is the index of the one to call
// LOCUS_CLONES_BY(simd, f, F)    the same for f<F>, with F compiled for the same instructions
// LOCUS_CHOSEN(host, f<T>)       the function of that list to call
#if LOCUS_CLONES_AVX2
#define LOCUS_CLONES(space, ...)                                      \
  ::locus::space::__VA_ARGS__, ::locus::for_avx2::space::__VA_ARGS__, \
      ::locus::for_avx512::space::__VA_ARGS__
#define LOCUS_CLONES_BY(space, f, F)                                                              \
  ::locus::space::f<::locus::space::F>, ::locus::for_avx2::space::f<::locus::for_avx2::space::F>, \
      ::locus::for_avx512::space::f<::locus::for_avx512::space::F>
#elif LOCUS_CLONES_AVX512
#define LOCUS_CLONES(space, ...) \
  ::locus::space::__VA_ARGS__, ::locus::for_avx512::space::__VA_ARGS__
#define LOCUS_CLONES_BY(space, f, F) \
  ::locus::space::f<::locus::space::F>, ::locus::for_avx512::space::f<::locus::for_avx512::space::F>
#else
#define LOCUS_CLONES(space, ...) ::locus::space::__VA_ARGS__
#define LOCUS_CLONES_BY(space, f, F) ::locus::space::f<::locus::space::F>
#endif
#define LOCUS_CHOSEN(...) ::locus::simd::chosen_of(LOCUS_CLONES(__VA_ARGS__))

namespace locus {
namespace simd {}
namespace host {}
namespace nn::detail {}
namespace nn::host::inline LOCUS_MODE::detail {}
// These namespaces hold code that is compiled for another set of instructions, under the names of
// the unit's own code; code in them also sees names that exist only once.
#define LOCUS_CLONE_NAMESPACES(instructions)                    \
  namespace instructions::simd {                                \
  using namespace ::locus::simd;                                \
  }                                                             \
  namespace instructions::host {                                \
  using namespace ::locus::host;                                \
  }                                                             \
  namespace instructions::nn {                                  \
  using namespace ::locus::nn;                                  \
  }                                                             \
  namespace instructions::nn::detail {                          \
  using namespace ::locus::nn::detail;                          \
  }                                                             \
  namespace instructions::nn::host {                            \
  using namespace ::locus::nn::host;                            \
  }                                                             \
  namespace instructions::nn::host::inline LOCUS_MODE::detail { \
  using namespace ::locus::nn::host::detail;                    \
  }
#if LOCUS_CLONES_AVX2
LOCUS_CLONE_NAMESPACES(for_avx2)
#endif
#if LOCUS_CLONES_AVX512
LOCUS_CLONE_NAMESPACES(for_avx512)
#endif
#undef LOCUS_CLONE_NAMESPACES

namespace simd {

/// Sets of instructions that kernels are compiled for; each holds the ones before it.
enum class instructions { baseline, avx2, avx512 };

/// The variable by which a user limits a program to fewer instructions than the processor has.
inline constexpr char instructions_variable[] = "LOCUS_INSTRUCTIONS";

/// means: the widest set that the processor and the operating system support
inline instructions instructions_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  [[maybe_unused]] unsigned a = 1, b = 0, c = 0, d = 0;
  asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  bool const f16c = (c >> 29 & 1) != 0;  // older compilers have no name for it
  if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return instructions::baseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return instructions::avx512;
  return instructions::avx2;
#else
  return instructions::baseline;
#endif
}

/// means: the set of kernels: the processor's, or the one that LOCUS_INSTRUCTIONS names
/// fails: configuration_error for another word, and for instructions that the processor lacks
inline instructions choose_instructions(char const* wanted, instructions has) {
  if (!wanted || !*wanted) return has;
  std::string_view const word(wanted);
  constexpr std::string_view words[] = {"baseline", "avx2", "avx512"};
  for (int k = 0; k < 3; ++k) {
    if (word != words[k]) continue;
    if (k <= static_cast<int>(has)) return static_cast<instructions>(k);
    message text;
    throw configuration_error(
        text << "locus: " << instructions_variable << " is \"" << word
             << "\", which this processor does not have; write " << words[static_cast<int>(has)]
             << (has == instructions::baseline ? "" : " or less") << ", or unset it");
  }
  message text;
  throw configuration_error(text << "locus: " << instructions_variable << " is \""
                                 << shown(word).view()
                                 << "\"; write baseline, avx2 or avx512, or unset it");
}

namespace detail {
LOCUS_SHARED_STATE inline constinit int found_instructions = -1;  // -1: not found yet
[[gnu::cold, gnu::noinline]] inline instructions find_instructions() {
  instructions const found =
      choose_instructions(from_environment(instructions_variable), instructions_of_processor());
  __atomic_store_n(&found_instructions, static_cast<int>(found), __ATOMIC_RELAXED);
  return found;
}
}  // namespace detail

/// means: the set of this process     fails: like choose_instructions, at the first call
inline instructions instructions_now() {
  int const found = __atomic_load_n(&detail::found_instructions, __ATOMIC_RELAXED);
  return found < 0 ? detail::find_instructions() : static_cast<instructions>(found);
}

inline namespace LOCUS_MODE {
/// means: the index into LOCUS_CLONES of the clone to call; 0: the unit's own
inline int chosen_clone() {
  if constexpr (!LOCUS_CLONES_AVX512)
    return 0;
  else {
    int const wider = static_cast<int>(instructions_now()) - LOCUS_OWN_INSTRUCTIONS;
    return wider > 0 ? wider : 0;
  }
}
/// means: that clone among these functions
template <class F, class... More>
F chosen_of(F own, More... wider) {
  if constexpr (sizeof...(More) == 0)
    return own;
  else {
    F const all[] = {own, wider...};
    return all[chosen_clone()];
  }
}
}  // namespace LOCUS_MODE

}  // namespace simd
}  // namespace locus

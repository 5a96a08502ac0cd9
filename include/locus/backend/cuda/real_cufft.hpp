// SPDX-License-Identifier: Apache-2.0
// cuFFT, opened at the first transform on a card, so that a program starts on machines without it.
// It needs no header of CUDA: constants are copied from cuFFT.
#pragma once
#include <cstddef>  // size_t

#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>  // cuda_api

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The entry points of cuFFT; its plans are numbers.
struct cufft_table {
  // codes of this table: not_found, or not_found + a status of cuFFT
  static constexpr int not_found = 400000;
  // constants of cuFFT: the sign of a transform and of its inverse
  static constexpr int forward = -1, inverse = 1;
  /// The kinds of transforms of floats, and of doubles.
  struct kinds {
    int complex, real, real_inverse;
  };
  static constexpr kinds of_floats{0x29, 0x2a, 0x2c}, of_doubles{0x69, 0x6a, 0x6c};
  static constexpr char const* missing =
      "no cuFFT library (libcufft.so.12 or .11) was found; install it, name its folder in "
      "LD_LIBRARY_PATH, or set LOCUS_FFT=own";
  int (*create)(int* plan) = nullptr;
  int (*destroy)(int plan) = nullptr;
  int (*own_workspace)(int plan, int) = nullptr;
  int (*describe)(int plan, int rank, long long* n, long long* in_whole, long long in_stride,
                  long long in_step, long long* out_whole, long long out_stride, long long out_step,
                  int kind, long long lines, std::size_t* workspace) = nullptr;
  int (*set_stream)(int plan, void*) = nullptr;
  int (*set_workspace)(int plan, void*) = nullptr;
  int (*floats)(int plan, void* in, void* out, int sign) = nullptr;
  int (*doubles)(int plan, void* in, void* out, int sign) = nullptr;
  int (*real_floats)(int plan, void* in, void* out) = nullptr;
  int (*real_doubles)(int plan, void* in, void* out) = nullptr;
  int (*floats_to_real)(int plan, void* in, void* out) = nullptr;
  int (*doubles_to_real)(int plan, void* in, void* out) = nullptr;

  bool is_complete() const {
    return create && destroy && own_workspace && describe && set_stream && set_workspace &&
           floats && doubles && real_floats && real_doubles && floats_to_real && doubles_to_real;
  }
  /// means: the library that dlopen or Python's packages have; incomplete: there is none
  static cufft_table const& instance();
};

/// Lines of n numbers of one plan: numbers of a line are `stride` apart, lines in_step and out_step.
struct cufft_lines {
  int kind = 0, sign = 0;
  long long n = 0, lines = 0, stride = 1, in_step = 0, out_step = 0;
  friend bool operator==(cufft_lines const&, cufft_lines const&) = default;
};

/// means: the workspace of the current card's plan for these lines; plans are kept, the last 64
/// returns: 0, or a code for describe_cufft or for CUDA
LOCUS_FUNCTION int workspace_of_cufft(cufft_lines const& what, std::size_t* bytes);
/// means: transforms lines on a stream of the current card; the inverse is not divided by n. A
///        transform to real numbers overwrites its operand
LOCUS_FUNCTION int run_cufft(cufft_lines const& what, void* in, void* out, void* workspace,
                             void* stream);

/// means: the text of a cuFFT status, with advice; null for codes of other libraries
constexpr char const* describe_cufft(int code) {
  if (code < cufft_table::not_found || code >= cufft_table::not_found + 100) return nullptr;
  switch (code - cufft_table::not_found) {
  case 0: return cufft_table::missing;
  case 2:
    return "CUFFT_ALLOC_FAILED: cuFFT found no memory on the card outside of what locus holds; "
           "lower the memory limit of the device, or set LOCUS_FFT=own";
  case 4:
    return "CUFFT_INVALID_VALUE: cuFFT refuses an address or a stride, an error in locus; set "
           "LOCUS_FFT=own";
  case 5:
  case 7:
    return "cuFFT failed inside (CUFFT_INTERNAL_ERROR or CUFFT_SETUP_FAILED); look for a driver "
           "that is older than the library, or set LOCUS_FFT=own";
  case 6: return "CUFFT_EXEC_FAILED: a kernel of cuFFT failed on the card";
  case 8:
    return "CUFFT_INVALID_SIZE: cuFFT has no plan for lines of this length; set LOCUS_FFT=own";
  default: return "a status of cuFFT that this locus does not know; set LOCUS_FFT=own";
  }
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cufft.hpp>  // bodies of the functions above
#endif

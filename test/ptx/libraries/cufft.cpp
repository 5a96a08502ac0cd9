// SPDX-License-Identifier: Apache-2.0
// In place of libcufft.so.12: transforms of many lines, in the order of a plan's stream, as sums in double. What the
// real one refuses is refused; a plan away from its card or without its workspace is a finding, and a transform to real
// numbers spoils its operand, as the real one may.
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <vector>

#include "../cudart/library.hpp"

#define FFT_API extern "C" __attribute__((visibility("default")))

namespace {

// cuFFT's numbers
enum : int {
  success = 0,
  invalid_plan = 1,
  invalid_type = 3,
  invalid_value = 4,
  exec_failed = 6,
  invalid_size = 8
};
enum : int {
  complex_floats = 0x29,
  real_floats = 0x2a,
  floats_to_real = 0x2c,
  complex_doubles = 0x69,
  real_doubles = 0x6a,
  doubles_to_real = 0x6c
};

struct plan {
  int card = ptx_card_of_stream(nullptr), kind = 0;
  bool own_workspace = true;
  long long n = 0, in_stride = 0, in_step = 0, out_stride = 0, out_step = 0, lines = 0;
  void *stream = nullptr, *workspace = nullptr;
};
std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
std::map<int, plan>& plans() {
  static auto& all = *new std::map<int, plan>;
  return all;
}
template <class F>
int with(char const* function, int number, F const& f) {
  if (int const planned = ptx_called(function)) return planned;
  std::lock_guard const hold(lock());
  auto const found = plans().find(number);
  return found == plans().end() ? invalid_plan : f(found->second);
}

template <class T>
T read(plan const& p, T const* from) {
  return *static_cast<T*>(ptx_reach(from, sizeof(T), p.card, true, "cuFFT"));
}
template <class T>
void write(plan const& p, T* to, T value) {
  *static_cast<T*>(ptx_reach(to, sizeof(T), p.card, false, "cuFFT")) = value;
  ptx_wrote(to, sizeof(T));
}

/// out[k] = the sum of in[j] exp(sign 2 pi i j k / n), lines at steps
template <class From, class To>
void transform(plan const& p, From* in, To* out, int sign) {
  using complex = std::complex<double>;
  constexpr bool takes_real = std::is_floating_point_v<From>,
                 gives_real = std::is_floating_point_v<To>;
  auto const n = std::size_t(p.n), half = n / 2 + 1;
  std::vector<complex> roots(n), line(n);
  for (std::size_t i = 0; i < n; ++i)
    roots[i] = std::polar(1., sign * 2 * std::numbers::pi * double(i) / double(n));
  for (long long l = 0; l < p.lines; ++l) {
    From* const from = in + l * p.in_step;
    To* const to = out + l * p.out_step;
    for (std::size_t j = 0; j < (gives_real ? half : n); ++j) {
      From const x = read(p, from + (long long)j * p.in_stride);
      if constexpr (takes_real)
        line[j] = double(x);
      else
        line[j] = complex(x);
      if (gives_real && j > 0 && 2 * j < n) line[n - j] = std::conj(line[j]);
    }
    if constexpr (gives_real)
      for (std::size_t j = 0; j < half; ++j)
        write(p, from + (long long)j * p.in_stride, From(NAN, NAN));
    for (std::size_t k = 0; k < (takes_real ? half : n); ++k) {
      complex sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += line[j] * roots[j * k % n];
      if constexpr (gives_real)
        write(p, to + (long long)k * p.out_stride, To(sum.real()));
      else
        write(p, to + (long long)k * p.out_stride, To(sum));
    }
  }
}
template <class From, class To>
int execute(char const* function, int number, int kind, From* in, To* out, int sign) {
  return with(function, number, [&](plan const& p) -> int {
    if (p.kind != kind) return invalid_type;
    if (!in || !out || (void*)in == (void*)out || (sign != 1 && sign != -1)) return invalid_value;
    constexpr auto number_bytes = sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To);
    if ((std::uintptr_t(in) | std::uintptr_t(out)) % number_bytes != 0) return invalid_value;
    if (!p.own_workspace && !p.workspace) ptx_report("a plan of cuFFT has no workspace");
    if (ptx_card_of_stream(nullptr) != p.card)
      ptx_report("a plan of cuFFT is used while another card is the current one");
    using work = std::function<void()>;
    auto* const task = new work([=] { transform(p, in, out, sign); });
    auto const run = [](void* data) {
      std::unique_ptr<work> const one(static_cast<work*>(data));
      (*one)();
    };
    auto const size = std::size_t(p.n * p.lines) * (sizeof(From) + sizeof(To));
    if (ptx_submit(p.stream, run, task, function, size, 0) == 0) return success;
    delete task;
    return exec_failed;
  });
}

}  // namespace

FFT_API int cufftCreate(int* number) {
  static int next = 1;
  if (int const planned = ptx_called("cufftCreate")) return planned;
  std::lock_guard const hold(lock());
  plans()[*number = next++] = {};
  return success;
}
FFT_API int cufftDestroy(int number) {
  std::lock_guard const hold(lock());
  return plans().erase(number) != 0 ? success : invalid_plan;
}
FFT_API int cufftSetAutoAllocation(int number, int on) {
  return with("cufftSetAutoAllocation", number,
              [&](plan& p) { return p.own_workspace = on != 0, success; });
}
FFT_API int cufftMakePlanMany64(int number, int rank, long long* n, long long* in_whole,
                                long long in_stride, long long in_step, long long* out_whole,
                                long long out_stride, long long out_step, int kind, long long lines,
                                std::size_t* workspace) {
  return with("cufftMakePlanMany64", number, [&](plan& p) -> int {
    if (rank != 1 || !n || !in_whole || !out_whole || !workspace) return invalid_value;
    if (*n < 1 || lines < 1) return invalid_size;
    p.kind = kind, p.n = *n, p.lines = lines;
    p.in_stride = in_stride, p.in_step = in_step, p.out_stride = out_stride, p.out_step = out_step;
    *workspace = std::size_t(*n) * 8;
    return success;
  });
}
FFT_API int cufftSetStream(int number, void* stream) {
  return with("cufftSetStream", number, [&](plan& p) -> int {
    if (ptx_card_of_stream(stream) != p.card) return invalid_value;
    return p.stream = stream, success;
  });
}
FFT_API int cufftSetWorkArea(int number, void* memory) {
  return with("cufftSetWorkArea", number, [&](plan& p) -> int {
    if (!memory || ptx_card_of(memory) != p.card) return invalid_value;
    return p.workspace = memory, success;
  });
}
FFT_API int cufftExecC2C(int number, std::complex<float>* in, std::complex<float>* out, int sign) {
  return execute("cufftExecC2C", number, complex_floats, in, out, sign);
}
FFT_API int cufftExecZ2Z(int number, std::complex<double>* in, std::complex<double>* out,
                         int sign) {
  return execute("cufftExecZ2Z", number, complex_doubles, in, out, sign);
}
FFT_API int cufftExecR2C(int number, float* in, std::complex<float>* out) {
  return execute("cufftExecR2C", number, real_floats, in, out, -1);
}
FFT_API int cufftExecD2Z(int number, double* in, std::complex<double>* out) {
  return execute("cufftExecD2Z", number, real_doubles, in, out, -1);
}
FFT_API int cufftExecC2R(int number, std::complex<float>* in, float* out) {
  return execute("cufftExecC2R", number, floats_to_real, in, out, 1);
}
FFT_API int cufftExecZ2D(int number, std::complex<double>* in, double* out) {
  return execute("cufftExecZ2D", number, doubles_to_real, in, out, 1);
}

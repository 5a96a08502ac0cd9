// SPDX-License-Identifier: Apache-2.0
// The FFTW of this machine, found at the first transform: the one that the program is linked with,
// else libfftw3 and libfftw3f. A program starts without any.
#pragma once
#include <dlfcn.h>  // dlopen, dlsym

#include <climits>      // INT_MAX
#include <cstdint>      // int64_t
#include <memory>       // shared_ptr
#include <type_traits>  // is_same
#include <vector>       // vector

#include <locus/core/lock.hpp>          // mutex, lock_guard
#include <locus/core/macros.hpp>        // LOCUS_COLD_BEGIN, LOCUS_SHARED_STATE
#include <locus/fft/lines.hpp>          // transform, line_grid
#include <locus/runtime/variables.hpp>  // own_or_fftw
#include <locus/shape/complex.hpp>      // complex
#include <locus/watch/log.hpp>          // warn

namespace locus::fourier {

/// means: the entry points for elements T; null where there is none. `numbers` are T (re, im)
/// after: FFTW 3, advanced interface
template <class T>
struct fftw_table {
  using plan = struct fftw_plan_of*;
  plan (*many)(int rank, int const* n, int howmany, T* in, int const* inembed, int istride,
               int idist, T* out, int const* onembed, int ostride, int odist, int sign,
               unsigned flags) = nullptr;
  plan (*many_real)(int rank, int const* n, int howmany, T* in, int const* inembed, int istride,
                    int idist, T* out, int const* onembed, int ostride, int odist,
                    unsigned flags) = nullptr;
  decltype(many_real) many_real_inverse = nullptr;
  void (*execute)(plan, T* in, T* out) = nullptr;
  void (*execute_real)(plan, T* in, T* out) = nullptr;
  void (*execute_real_inverse)(plan, T* in, T* out) = nullptr;
  void (*destroy)(plan) = nullptr;
  int (*alignment_of)(T*) = nullptr;
  char const* library = "none";
  explicit operator bool() const {
    return many && many_real && many_real_inverse && execute && execute_real &&
           execute_real_inverse && destroy && alignment_of;
  }
};

LOCUS_COLD_BEGIN
/// means: opens FFTW for T; LOCUS_FFT=own asks for none. A line on stderr says that a wanted one is
///        missing
template <class T>
fftw_table<T> find_fftw() {
  constexpr bool narrow = std::is_same_v<T, float>;
  fftw_table<T> t;
  int const said = runtime::own_or_fftw();
  if (said == 0) return t;
  auto const take = [&t](void* from, char const* library) {
    auto const find = [from](auto& entry, char const* of_floats, char const* of_doubles) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(
          dlsym(from, narrow ? of_floats : of_doubles));
    };
    find(t.many, "fftwf_plan_many_dft", "fftw_plan_many_dft");
    find(t.many_real, "fftwf_plan_many_dft_r2c", "fftw_plan_many_dft_r2c");
    find(t.many_real_inverse, "fftwf_plan_many_dft_c2r", "fftw_plan_many_dft_c2r");
    find(t.execute, "fftwf_execute_dft", "fftw_execute_dft");
    find(t.execute_real, "fftwf_execute_dft_r2c", "fftw_execute_dft_r2c");
    find(t.execute_real_inverse, "fftwf_execute_dft_c2r", "fftw_execute_dft_c2r");
    find(t.destroy, "fftwf_destroy_plan", "fftw_destroy_plan");
    find(t.alignment_of, "fftwf_alignment_of", "fftw_alignment_of");
    t.library = library;
    return bool(t);
  };
  if (take(RTLD_DEFAULT, "linked into the program")) return t;
  char const* const name = narrow ? "libfftw3f.so.3" : "libfftw3.so.3";
  if (void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL))
    if (take(handle, name)) return t;
  if (said == 1) {
    log_line line;
    runtime::warn(line << "locus: LOCUS_FFT is \"fftw\", and there is no " << name
                       << ": transforms use the kernels of locus; install FFTW 3, or unset "
                          "LOCUS_FFT");
  }
  return {};
}

/// means: the FFTW in use
template <class T>
LOCUS_SHARED_STATE fftw_table<T> const& fftw() {
  static fftw_table<T> const table = find_fftw<T>();
  return table;
}

/// means: of FFTW, one thread at a time makes or destroys plans of a type
template <class T>
LOCUS_SHARED_STATE mutex& planner() {
  static mutex one;
  return one;
}

/// Lines of one plan, which lie one behind the other.
struct fftw_lines {
  transform kind;
  bool aligned;  // as the vectors of FFTW want it
  int n, lines, in_n, out_n;
  friend bool operator==(fftw_lines const&, fftw_lines const&) = default;
};

/// A plan of FFTW; any number of threads may run it.
template <class T>
struct fftw_kept_plan {
  fftw_lines of;
  typename fftw_table<T>::plan plan = nullptr;
  fftw_kept_plan(fftw_lines const& l, typename fftw_table<T>::plan made) : of(l), plan(made) {}
  fftw_kept_plan(fftw_kept_plan const&) = delete;
  ~fftw_kept_plan() {
    lock_guard const guard(planner<T>());
    if (plan) fftw<T>().destroy(plan);
  }
};

/// means: a new plan, by FFTW's estimate; the arrays are looked at for their alignment alone
template <class T>
std::shared_ptr<fftw_kept_plan<T> const> make_fftw_plan(fftw_lines const& l, T* in, T* out) {
  // FFTW_ESTIMATE, FFTW_PRESERVE_INPUT, FFTW_UNALIGNED
  unsigned const flags = 1u << 6 | 1u << 4 | (l.aligned ? 0u : 1u << 1);
  fftw_table<T> const& t = fftw<T>();
  lock_guard const guard(planner<T>());
  auto const by = [&](auto make, auto... sign) {
    return make(1, &l.n, l.lines, in, nullptr, 1, l.in_n, out, nullptr, 1, l.out_n, sign..., flags);
  };
  auto const plan = l.kind == transform::real ? by(t.many_real)
                    : l.kind == transform::real_inverse
                        ? by(t.many_real_inverse)
                        : by(t.many, l.kind == transform::forward ? -1 : 1);
  return std::make_shared<fftw_kept_plan<T> const>(l, plan);
}

LOCUS_COLD_END

/// The plans that were used last.
template <class T>
struct fftw_plans {
  static constexpr int most = 64;
  mutex lock;
  std::vector<std::shared_ptr<fftw_kept_plan<T> const>> last;  // the one used last stands behind
};

/// means: the plan for these lines; the last 64 of a type are kept
template <class T>
LOCUS_SHARED_STATE std::shared_ptr<fftw_kept_plan<T> const> fftw_plan_for(fftw_lines const& l,
                                                                          T* in, T* out) {
  static fftw_plans<T> kept;
  fftw<T>();                                      // lives longer than the plans
  std::shared_ptr<fftw_kept_plan<T> const> gone;  // destroyed without the lock
  {
    lock_guard const guard(kept.lock);
    for (std::size_t k = kept.last.size(); k-- > 0;)
      if (kept.last[k]->of == l) {
        if (k + 1 == kept.last.size()) return kept.last[k];
        auto const found = kept.last[k];
        kept.last.erase(kept.last.begin() + static_cast<std::ptrdiff_t>(k));
        kept.last.push_back(found);
        return found;
      }
  }
  auto const made = make_fftw_plan<T>(l, in, out);
  lock_guard const guard(kept.lock);
  if (kept.last.size() >= kept.most) {
    gone = kept.last.front();
    kept.last.erase(kept.last.begin());
  }
  kept.last.push_back(made);
  return made;
}

inline namespace LOCUS_MODE {

template <class T>
LOCUS_LOOP_FUNCTION void scale_numbers(T* x, std::int64_t n, T by) {
  LOCUS_IVDEP
  for (std::int64_t k = 0; k < n; ++k) x[k] *= by;
}

/// means: as transform_lines, by FFTW     shape: grid.inner is 1
/// returns: false: there is no FFTW, or it has no such plan; all is to be computed otherwise
template <transform Kind, class From, class To>
bool fftw_transform_lines(From const* from, To* to, line_grid const& grid) {
  constexpr bool takes_real = Kind == transform::real, gives_real = Kind == transform::real_inverse,
                 inverse = Kind == transform::inverse || gives_real;
  using T = typename parts_of<From>::type;
  fftw_table<T> const& t = fftw<T>();
  std::int64_t const n = grid.n, lines = grid.outer, in_n = gives_real ? n / 2 + 1 : n,
                     out_n = takes_real ? n / 2 + 1 : n;
  if (!t || n > INT_MAX) return false;
  if (n == 0 || lines == 0) return true;
  int const threads = threads_worth(static_cast<float>(lines * n) *
                                    (0.5f + 0.2f * std::log2(static_cast<float>(n))));
  // blocks of lines that fit in a cache, or share the work among threads
  std::int64_t const even = (lines + threads - 1) / threads,
                     fit = (std::int64_t(1) << 20) / (n * std::int64_t(sizeof(complex<T>))),
                     least = fit < 1 ? 1 : fit, block = even < least ? even : least,
                     blocks = (lines + block - 1) / block;
  bool missing = false;
  auto const run_block = [&](std::int64_t k) {
    std::int64_t const first = k * block, here = lines - first < block ? lines - first : block;
    // FFTW takes pointers to what it may change, and keeps operands as they are
    T* const in = const_cast<T*>(reinterpret_cast<T const*>(from + first * in_n));
    T* const out = reinterpret_cast<T*>(to + first * out_n);
    bool const aligned = t.alignment_of(in) == 0 && t.alignment_of(out) == 0;
    auto const plan = fftw_plan_for<T>({Kind, aligned, static_cast<int>(n), static_cast<int>(here),
                                        static_cast<int>(in_n), static_cast<int>(out_n)},
                                       in, out);
    if (!plan->plan) {
      __atomic_store_n(&missing, true, __ATOMIC_RELAXED);
      return;
    }
    if constexpr (takes_real)
      t.execute_real(plan->plan, in, out);
    else if constexpr (gives_real)
      t.execute_real_inverse(plan->plan, in, out);
    else
      t.execute(plan->plan, in, out);
    if constexpr (inverse)
      scale_numbers(out, here * out_n * std::int64_t(sizeof(To) / sizeof(T)),
                    T(1) / static_cast<T>(n));
  };
  parallel_for(blocks, threads, run_block);
  return !missing;
}

}  // namespace LOCUS_MODE

}  // namespace locus::fourier

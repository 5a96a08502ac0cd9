// SPDX-License-Identifier: Apache-2.0
// Fourier transforms on one thread: statements beside FFTW's own calls, where an FFTW is found, and the kernels of locus
// beside FFTW and beside Eigen's unsupported module; lines alone, in batches, and along another axis than the last.
#include <memory>

#include <bench/harness.hpp>

#include <locus/fft/fft.hpp>

#if BENCH_EIGEN
#include <unsupported/Eigen/FFT>
#endif

using namespace locus;

namespace {

template <class T>
using Lines = Tensor<complex<T>, Dextents<2>>;
template <class T>
using shared = std::shared_ptr<Lines<T>>;

template <class T>
shared<T> room(std::int64_t rows, std::int64_t n) {
  auto const x = std::make_shared<Lines<T>>(rows, n);
  for (std::int64_t k = 0; k < x->size(); ++k) x->data()[k] = {T(k % 17) - 8, T(k % 13) - 6};
  return x;
}

/// FFTW's own call, by a plan that lives as long as the group
template <class T>
std::function<void()> by_fftw(shared<T> const& x, shared<T> const& y, int axis) {
  auto const& library = fourier::fftw<T>();
  int const n = static_cast<int>(x->extent(axis)), lines = static_cast<int>(x->extent(1 - axis)),
            step = axis == 1 ? 1 : lines, next = axis == 1 ? n : 1;
  T *const in = reinterpret_cast<T*>(x->data()), *const out = reinterpret_cast<T*>(y->data());
  auto* const plan =
      library.many(1, &n, lines, in, nullptr, step, next, out, nullptr, step, next, -1, 1u << 6);
  std::shared_ptr<void> const kept(plan, [&library](void*) {});
  return [=, &library] { library.execute(plan, in, out), static_cast<void>(kept); };
}

template <class T>
void add(std::int64_t n, std::int64_t lines) {
  std::string const type = sizeof(T) == 4 ? "float" : "double";
  std::string const size = std::to_string(lines) + " lines of " + std::to_string(n) + ", " + type;
  if (fourier::fftw<T>())
    bench::add("fft", "y = fft(x), FFTW inside", size, [=](bench::group& g) {
      auto const x = room<T>(lines, n), y = room<T>(lines, n);
      g.locus([=] { *y = fft(*x); });
      g.rival("FFTW", lines == 1 && n < 4096 ? 0.5 : 0.9, by_fftw<T>(x, y, 1));
    });
  bench::add("fft", "kernels of locus", size, [=](bench::group& g) {
    auto const x = room<T>(lines, n), y = room<T>(lines, n);
    g.locus([=] {
      fourier::transform_lines<fourier::transform::forward>(x->data(), y->data(), {lines, n, 1});
    });
    if (fourier::fftw<T>()) g.rival("FFTW", 0, by_fftw<T>(x, y, 1));
#if BENCH_EIGEN
    auto const eigen = std::make_shared<Eigen::FFT<T>>();
    g.rival("Eigen", 1, [=] {
      for (std::int64_t k = 0; k < lines; ++k)
        eigen->fwd(reinterpret_cast<std::complex<T>*>(y->data()) + k * n,
                   reinterpret_cast<std::complex<T> const*>(x->data()) + k * n,
                   static_cast<int>(n));
    });
#endif
  });
}

template <class T>
void add_columns(std::int64_t n, std::int64_t columns) {
  std::string const type = sizeof(T) == 4 ? "float" : "double";
  std::string const size = std::to_string(n) + " x " + std::to_string(columns) + ", " + type;
  bench::add("fft", "y = fft<0>(x)", size, [=](bench::group& g) {
    auto const x = room<T>(n, columns), y = room<T>(n, columns);
    g.locus([=] { *y = fft<0>(*x); });
    if (fourier::fftw<T>()) g.rival("FFTW", 0.8, by_fftw<T>(x, y, 0));
  });
}

bench::file const groups([] {
  for (std::int64_t n : {256, 1024, 4096, 65536}) {
    add<float>(n, 1), add<double>(n, 1);
    if (n < 65536) add<float>(n, 65536 / n), add<double>(n, 65536 / n);
  }
  add_columns<float>(256, 256), add_columns<double>(256, 256), add_columns<double>(1024, 16);
});

}  // namespace

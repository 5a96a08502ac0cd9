// SPDX-License-Identifier: Apache-2.0
// Programs over arrays and algorithms on one GPU, beside kernels written by hand, CUB and Thrust. Lines of JSON on stdout;
// 77 where no GPU answers, 1 where anything fell back or gave other numbers.
#include "card.cuh"
// locus comes first
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/reduce.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <cstdint>
#include <string>

#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/search_sorted.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/cub.cuh>

LOCUS_INSTANTIATE_ALGORITHMS(float, std::int32_t, std::int64_t);

namespace {

// by name: half of these names are also CUB's and Thrust's
using bench::copy_of, bench::Gpu, bench::other_memory, bench::stream;
using locus::all_close, locus::bincount, locus::cast, locus::compress, locus::cumsum,
    locus::Dextents, locus::equal, locus::erf, locus::expand_dims, locus::Extents, locus::histogram,
    locus::interior, locus::into, locus::let, locus::plan, locus::result, locus::run,
    locus::search_sorted, locus::seed, locus::segment_sum, locus::slice, locus::sort,
    locus::sort_by_key, locus::sqrt, locus::square, locus::sum, locus::take, locus::Tensor,
    locus::uniform, locus::unique;

template <class T>
using Vector = Tensor<T, Dextents<1>, Gpu>;
using Number = Tensor<double, Extents<>, Gpu>;
constexpr std::int64_t n = std::int64_t(1) << 26;

template <class T = float>
Vector<T> drawn(std::int64_t size, unsigned by, float low, float high) {
  Vector<T> x{Dextents<1>(size)};
  x = cast<T>(uniform<float>(Dextents<1>(size), seed{by}, low, high));
  return x;
}
unsigned blocks_of(std::int64_t items) { return unsigned((items + 255) / 256); }

/// the workspace that CUB wants for a call lies behind the first 2 GiB of the rivals' memory
template <class F>
void by_cub(F const& call) {
  std::size_t bytes = 0;
  bench::must(call(static_cast<void*>(nullptr), bytes), "CUB");
  bench::must(call(other_memory + (std::size_t(2) << 30), bytes), "CUB");
}
auto thrust_here() { return thrust::cuda::par_nosync.on(stream); }

__global__ void forces_by_hand(float const* __restrict__ x, float const* __restrict__ y,
                               float const* __restrict__ z, float const* __restrict__ m, float* fx,
                               float* fy, float* fz, int bodies) {
  __shared__ float4 tile[256];
  int const i = int(blockIdx.x * 256 + threadIdx.x);
  float const xi = x[i], yi = y[i], zi = z[i];
  float sx = 0, sy = 0, sz = 0;
  for (int first = 0; first < bodies; first += 256) {
    int const j = first + int(threadIdx.x);
    tile[threadIdx.x] = {x[j], y[j], z[j], m[j]};
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 256; ++k) {
      float const dx = tile[k].x - xi, dy = tile[k].y - yi, dz = tile[k].z - zi,
                  r2 = dx * dx + dy * dy + dz * dz + 0.01f, pull = tile[k].w / (r2 * sqrtf(r2));
      sx += dx * pull, sy += dy * pull, sz += dz * pull;
    }
    __syncthreads();
  }
  fx[i] = sx, fy[i] = sy, fz[i] = sz;
}
__global__ void prices_by_hand(float const* __restrict__ spot, float const* __restrict__ strike,
                               float const* __restrict__ years, float* call, float* put,
                               std::int64_t options) {
  std::int64_t const i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i >= options) return;
  float const s = spot[i], t = years[i], k = strike[i] * expf(-0.02f * t), spread = 0.3f * sqrtf(t),
              up = logf(s / k) / spread + 0.5f * spread,
              first = 0.5f * (1 + erff(up * 0.70710678f)),
              second = 0.5f * (1 + erff((up - spread) * 0.70710678f));
  call[i] = s * first - k * second, put[i] = k * (1 - second) - s * (1 - first);
}
__global__ void sweep_by_hand(double* to, double const* __restrict__ from, int side) {
  int const j = int(blockIdx.x * 256 + threadIdx.x), i = int(blockIdx.y) + 1;
  if (j < 1 || j >= side - 1) return;
  std::int64_t const o = std::int64_t(i) * side + j;
  to[o] = 0.25 * (from[o - side] + from[o + side] + from[o - 1] + from[o + 1]);
}
__global__ void wave_by_hand(double* to, double const* __restrict__ x,
                             double const* __restrict__ before, int side) {
  int const k = int(blockIdx.x * 128 + threadIdx.x);
  if (k < 1 || k >= side - 1) return;
  std::int64_t const m = std::int64_t(side) * side,
                     o = (blockIdx.z + 1) * m + std::int64_t(blockIdx.y + 1) * side + k;
  to[o] = 2 * x[o] - before[o] +
          .1 * (x[o - m] + x[o + m] + x[o - side] + x[o + side] + x[o - 1] + x[o + 1] - 6 * x[o]);
}

void points() {
  {
    std::int64_t const bodies = 65536;
    auto const x = drawn(bodies, 1, -1, 1), y = drawn(bodies, 2, -1, 1),
               z = drawn(bodies, 3, -1, 1), m = drawn(bodies, 4, 1, 2);
    Vector<float> fx{Dextents<1>(bodies)}, fy{Dextents<1>(bodies)}, fz{Dextents<1>(bodies)},
        gx{Dextents<1>(bodies)}, gy{Dextents<1>(bodies)}, gz{Dextents<1>(bodies)};
    bench::group g{"GPU programs", "forces of bodies, fp32", "65536"};
    g.operations = 18. * double(bodies) * double(bodies);
    g.add("locus", "locus", 0, [&] {
      let(expand_dims<0>(x) - expand_dims<1>(x), [&](auto dx) {
        let(expand_dims<0>(y) - expand_dims<1>(y), [&](auto dy) {
          let(expand_dims<0>(z) - expand_dims<1>(z), [&](auto dz) {
            auto const r2 = square(dx) + square(dy) + square(dz) + 0.01f;
            let(m / (r2 * sqrt(r2)), [&](auto pull) {
              run(plan(into(fx, sum<1>(dx * pull)), into(fy, sum<1>(dy * pull)),
                       into(fz, sum<1>(dz * pull))));
            });
          });
        });
      });
    });
    g.add("by hand", "rival", 1.0, [&] {
      forces_by_hand<<<unsigned(bodies / 256), 256, 0, stream>>>(
          x.data(), y.data(), z.data(), m.data(), gx.data(), gy.data(), gz.data(), int(bodies));
    });
    bench::run(g, stream);
    bench::check(all_close(fx, gx, 1e-3, 1e-1) && all_close(fz, gz, 1e-3, 1e-1), "forces");
  }
  auto const spot = drawn(n, 5, 10, 100), strike = drawn(n, 6, 10, 100),
             years = drawn(n, 7, .2f, 2);
  Vector<float> call{Dextents<1>(n)}, put{Dextents<1>(n)}, c{Dextents<1>(n)}, p{Dextents<1>(n)};
  bench::group g{"GPU programs", "prices of options, fp32", "2^26"};
  g.bytes = 20. * double(n);
  g.add("locus", "locus", 0, [&] {
    auto const below = [](auto const& d) { return 0.5f * (1.f + erf(d * 0.70710678f)); };
    let(years, [&](auto t) {
      let(spot, [&](auto s) {
        let(strike * exp(-0.02f * t), [&](auto k) {
          let(0.3f * sqrt(t), [&](auto spread) {
            let(log(s / k) / spread + 0.5f * spread, [&](auto up) {
              let(below(up), [&](auto first) {
                let(below(up - spread), [&](auto second) {
                  run(plan(into(call, s * first - k * second),
                           into(put, k * (1.f - second) - s * (1.f - first))));
                });
              });
            });
          });
        });
      });
    });
  });
  g.add("by hand", "rival", 1.0, [&] {
    prices_by_hand<<<blocks_of(n), 256, 0, stream>>>(spot.data(), strike.data(), years.data(),
                                                     c.data(), p.data(), n);
  });
  g.add("copy", "limit", 0.8, copy_of(g.bytes));
  bench::run(g, stream);
  bench::check(all_close(call, c, 1e-4, 1e-3) && all_close(put, p, 1e-4, 1e-3), "prices");
}

void fields() {
  {
    std::int64_t const side = 8192;
    Dextents<2> const all(side, side);
    Tensor<double, Dextents<2>, Gpu> u{all}, v{all}, w{all};
    u = uniform<double>(all, seed{1}), v = u, w = u;
    bench::group g{"GPU programs", "a sweep of Jacobi's method, fp64", "8192^2"};
    g.bytes = 16. * double(side) * double(side);
    g.add("locus", "locus", 0, [&] {
      slice(v, {1, -1}, {1, -1}) = 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                           interior<1, 0, -1>(u) + interior<1, 0, 1>(u));
    });
    g.add("by hand", "rival", 1.0, [&] {
      sweep_by_hand<<<dim3(blocks_of(side), unsigned(side - 2)), 256, 0, stream>>>(
          w.data(), u.data(), int(side));
    });
    g.add("copy", "limit", 0.8, copy_of(g.bytes));
    bench::run(g, stream);
    bench::check(all_close(v, w, 1e-15, 1e-15), "a sweep");
  }
  {
    std::int64_t const side = 512;
    Dextents<3> const all(side, side, side);
    Tensor<double, Dextents<3>, Gpu> u{all}, old{all}, v{all}, w{all};
    u = uniform<double>(all, seed{2}), old = uniform<double>(all, seed{3}), v = u, w = u;
    bench::group g{"GPU programs", "a step of a 3-D wave, fp64", "512^3"};
    g.bytes = 24. * double(side * side * side);
    g.add("locus", "locus", 0, [&] {
      slice(v, {1, -1}, {1, -1}, {1, -1}) =
          2. * interior<1>(u) - interior<1>(old) +
          .1 * (interior<1, -1, 0, 0>(u) + interior<1, 1, 0, 0>(u) + interior<1, 0, -1, 0>(u) +
                interior<1, 0, 1, 0>(u) + interior<1, 0, 0, -1>(u) + interior<1, 0, 0, 1>(u) -
                6. * interior<1>(u));
    });
    g.add("by hand", "rival", 1.0, [&] {
      wave_by_hand<<<dim3(4, unsigned(side - 2), unsigned(side - 2)), 128, 0, stream>>>(
          w.data(), u.data(), old.data(), int(side));
    });
    g.add("copy", "limit", 0.8, copy_of(g.bytes));
    bench::run(g, stream);
    bench::check(all_close(v, w, 1e-13, 1e-13), "a wave");
  }
  Vector<double> x = drawn<double>(n, 8, -1, 1), r = drawn<double>(n, 9, -1, 1);
  auto const p = drawn<double>(n, 10, -1, 1), q = drawn<double>(n, 11, -1, 1);
  Number rr;
  bench::group g{"GPU programs", "vectors of conjugate gradients, fp64", "2^26"};
  g.bytes = 48. * double(n);
  g.add("locus", "locus", 0, [&] {
    let(r - 1e-9 * q, [&](auto left) {
      run(plan(into(x, x + 1e-9 * p), into(r, left), into(rr, sum(square(left)))));
    });
  });
  g.add("copy", "limit", 0.9, copy_of(g.bytes));
  bench::run(g, stream);
}

void sorts_and_scans() {
  auto const x = drawn(n, 12, 0, 1), values = drawn(n, 13, 0, 1);
  Vector<float> r{Dextents<1>(n)}, s{Dextents<1>(n)}, t{Dextents<1>(n)};
  {
    bench::group g{"GPU algorithms", "cumsum, fp32", "256 MiB"};
    g.bytes = 8. * double(n);
    g.add("locus", "locus", 0, [&] { r = cumsum<0>(x); });
    g.add("cub::DeviceScan", "rival", 1.0, [&] {
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveSum(w, bytes, x.data(), s.data(), n, stream);
      });
    });
    g.add("copy", "limit", 0.8, copy_of(g.bytes));
    bench::run(g, stream);
    bench::check(all_close(r, s, 1e-3, 1), "cumsum");
  }
  {
    Tensor<float, Dextents<2>, Gpu> m{Dextents<2>(n / 4096, 4096)}, to{Dextents<2>(n / 4096, 4096)};
    m = uniform<float>(Dextents<2>(n / 4096, 4096), seed{14});
    bench::group g{"GPU algorithms", "cumsum along rows of 4096, fp32", "256 MiB"};
    g.bytes = 8. * double(n);
    g.add("locus", "locus", 0, [&] { to = cumsum<1>(m); });
    g.add("copy", "limit", 0.8, copy_of(g.bytes));
    bench::run(g, stream);
    bench::group h{"GPU algorithms", "cumsum along 4096 columns, fp32", "256 MiB"};
    h.bytes = 8. * double(n);
    h.add("locus", "locus", 0, [&] { to = cumsum<0>(m); });
    h.add("copy", "limit", 0.8, copy_of(h.bytes));
    bench::run(h, stream);
  }
  {
    bench::group g{"GPU algorithms", "sort_by_key, fp32", "256 MiB"};
    g.bytes = 16. * double(n);
    g.add("locus", "locus", 0, [&] {
      auto const [keys, sorted] = sort_by_key<0>(x, values);
      run(into(r, keys), into(s, sorted));
    });
    Vector<float> k{Dextents<1>(n)};
    g.add("cub::DeviceRadixSort", "rival", 1.0, [&] {
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(w, bytes, x.data(), k.data(), values.data(),
                                               t.data(), n, 0, 32, stream);
      });
    });
    bench::run(g, stream);
    bench::check(equal(r, k) && equal(s, t), "sort_by_key");
  }
  {
    Vector<std::int32_t> i = drawn<std::int32_t>(n, 15, 0, 1048576), own{Dextents<1>(n)},
                         sorted{Dextents<1>(n)}, theirs{Dextents<1>(n)};
    Tensor<std::int64_t, Extents<>, Gpu> count, other;
    bench::group g{"GPU algorithms", "unique of int32 below 2^20", "256 MiB"};
    g.bytes = 8. * double(n);
    g.add("locus", "locus", 0, [&] {
      auto const found = unique(i);
      run(into(own, result<0>(found)), into(count, result<2>(found)));
    });
    g.add("cub: a sort and a selection", "rival", 1.0, [&] {
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(w, bytes, i.data(), sorted.data(), n, 0, 32, stream);
      });
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceSelect::Unique(w, bytes, sorted.data(), theirs.data(), other.data(), n,
                                         stream);
      });
    });
    bench::run(g, stream);
    bench::check(equal(count, other), "unique");
  }
}

void selections() {
  auto const x = drawn(n, 16, 0, 1);
  Vector<float> r{Dextents<1>(n)}, s{Dextents<1>(n)};
  Tensor<std::int64_t, Extents<>, Gpu> count, other;
  {
    Tensor<bool, Dextents<1>, Gpu> mask{Dextents<1>(n)};
    mask = drawn(n, 17, 0, 1) < 0.5f;
    bench::group g{"GPU algorithms", "compress keeps 50 %, fp32", "256 MiB"};
    g.bytes = 9. * double(n);  // the rest of the result is set to 0
    g.add("locus", "locus", 0, [&] {
      auto const [kept, number] = compress(mask, x);
      run(into(r, kept), into(count, number));
    });
    g.add("cub::DeviceSelect", "rival", 1.0, [&] {
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceSelect::Flagged(w, bytes, x.data(), mask.data(), s.data(), other.data(),
                                          n, stream);
      });
    });
    bench::run(g, stream);
    bench::check(equal(count, other), "compress");
  }
  for (int const bins : {256, 65536}) {
    Vector<std::int64_t> own{Dextents<1>(bins)};
    Vector<unsigned> theirs{Dextents<1>(bins)};
    bench::group g{"GPU algorithms", "histogram of " + std::to_string(bins) + " bins, fp32",
                   "256 MiB"};
    g.bytes = 4. * double(n);
    g.add("locus", "locus", 0, [&] { own = histogram(x, 0., 1., bins); });
    g.add("cub::DeviceHistogram", "rival", 1.0, [&, bins] {
      by_cub([&](void* w, std::size_t& bytes) {
        return cub::DeviceHistogram::HistogramEven(w, bytes, x.data(), theirs.data(), bins + 1, 0.f,
                                                   1.f, n, stream);
      });
    });
    bench::run(g, stream);
  }
  {
    Vector<float> sorted = sort<0>(drawn(1 << 20, 18, 0, 1));
    Vector<std::int64_t> places{Dextents<1>(n)}, theirs{Dextents<1>(n)};
    bench::group g{"GPU algorithms", "search_sorted in 2^20, fp32", "256 MiB"};
    g.bytes = 12. * double(n);
    g.add("locus", "locus", 0, [&] { places = search_sorted(sorted, x); });
    g.add("thrust::lower_bound", "rival", 1.0, [&] {
      thrust::lower_bound(thrust_here(), sorted.data(), sorted.data() + (1 << 20), x.data(),
                          x.data() + n, theirs.data());
    });
    bench::run(g, stream);
    bench::check(equal(places, theirs), "search_sorted");
  }
  auto const at = drawn<std::int32_t>(n, 19, 0, float(n) - 8.f);
  {
    bench::group g{"GPU algorithms", "take at random, fp32", "256 MiB"};
    g.bytes = 12. * double(n);
    g.add("locus", "locus", 0, [&] { r = take(x, at); });
    g.add("thrust::gather", "rival", 1.0,
          [&] { thrust::gather(thrust_here(), at.data(), at.data() + n, x.data(), s.data()); });
    bench::run(g, stream);
    bench::check(equal(r, s), "take");
  }
  auto const ids = drawn<std::int32_t>(n, 20, 0, 1000);
  Vector<std::int32_t> const rising = sort<0>(ids);
  for (bool const sorted : {false, true}) {
    Vector<float> own{Dextents<1>(1000)}, theirs{Dextents<1>(1000)};
    auto const& which = sorted ? rising : ids;
    bench::group g{"GPU algorithms",
                   sorted ? "segment_sum into 1000, ids in order" : "segment_sum into 1000, fp32",
                   "256 MiB"};
    g.bytes = 8. * double(n);
    g.add("locus", "locus", 0, [&] { own = segment_sum(x, which, 1000); });
    if (sorted)
      g.add("thrust::reduce_by_key", "rival", 1.0, [&] {
        thrust::reduce_by_key(thrust::cuda::par.on(stream), which.data(), which.data() + n,
                              x.data(), thrust::make_discard_iterator(), theirs.data());
      });
    bench::run(g, stream);
    if (sorted) bench::check(all_close(own, theirs, 1e-4, 0), "segment_sum");
  }
}

}  // namespace

int main() {
  return bench::on_card([] { points(), fields(), sorts_and_scans(), selections(); });
}

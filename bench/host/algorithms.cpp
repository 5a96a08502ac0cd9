// SPDX-License-Identifier: Apache-2.0
// Algorithms over 2^24 elements on one thread, beside the standard library, loops by hand and Thrust's sequential back end.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include <bench/harness.hpp>

#include <locus/algorithms/argmin.hpp>
#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/search_sorted.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/algorithms/top_k.hpp>

#if BENCH_THRUST
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/for_each.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
#endif

using namespace locus;

namespace {

template <class T>
using Vector = Tensor<T, Dextents<1>>;
template <class T>
using shared = std::shared_ptr<Vector<T>>;

constexpr std::int64_t n = std::int64_t(1) << 24;

shared<float> floats(unsigned seed) {
  return std::make_shared<Vector<float>>(uniform<float>(dextents<1>{n}, locus::seed{seed}));
}
/// integers of [0, below)
shared<int> integers(unsigned seed, float below) {
  auto r = std::make_shared<Vector<int>>(n);
  *r = cast<int>(floor(uniform<float>(dextents<1>{n}, locus::seed{seed}, 0.f, below)));
  return r;
}
template <class T>
shared<T> room(std::int64_t size = n) {
  return std::make_shared<Vector<T>>(size);
}
template <class T>
T* begin_of(shared<T> const& x) {
  return x->data();
}
template <class T>
T* end_of(shared<T> const& x) {
  return x->data() + x->size();
}
struct pair {
  float key, value;
};
/// the numbers of an algorithm are those of each rival: looked at before anything is timed
template <class X, class Y>
void compare(bench::group& g, X const& own, Y const& theirs, double tolerance = 0) {
  auto const all = [](auto const& x) {
    return [x] { return std::vector<double>(x->data(), x->data() + x->size()); };
  };
  g.results(tolerance, all(own), all(theirs));
}

void add_scans() {
  bench::add("algorithms", "cumsum of floats", "2^24", [](bench::group& g) {
    auto const x = floats(1), r = room<float>(), s = room<float>();
    g.bytes(8. * n);
    compare(g, r, s, 1e-4);  // std:: and Thrust add floats in float
    g.locus([=] { *r = cumsum<0>(*x); });
    g.rival("std::inclusive_scan", 3,
            [=] { std::inclusive_scan(begin_of(x), end_of(x), begin_of(s)); });
#if BENCH_THRUST
    g.rival("Thrust", 1.5,
            [=] { thrust::inclusive_scan(thrust::cpp::par, begin_of(x), end_of(x), begin_of(s)); });
#endif
  });
}
/// scans of a matrix of 2^24 numbers along its rows, and along its columns
template <int Axis>
void add_scans_of_matrices(std::int64_t rows, std::int64_t columns) {
  bench::add("algorithms", Axis == 1 ? "cumsum along rows" : "cumsum along columns",
             std::to_string(rows) + " x " + std::to_string(columns), [=](bench::group& g) {
               using Matrix = Tensor<float, Dextents<2>>;
               auto const x =
                   std::make_shared<Matrix>(uniform<float>(dextents<2>{rows, columns}, seed{9}));
               auto const r = std::make_shared<Matrix>(rows, columns),
                          s = std::make_shared<Matrix>(rows, columns);
               g.bytes(8. * n);
               compare(g, r, s, 1e-4);
               g.locus([=] { *r = cumsum<Axis>(*x); });
               if constexpr (Axis == 1)
                 g.rival("std::inclusive_scan of each row", 3, [=] {
                   for (float const* row = x->data(); row != x->data() + n; row += columns)
                     std::inclusive_scan(row, row + columns, s->data() + (row - x->data()));
                 });
               else
                 g.rival("a loop over rows", 0.9, [=] {
                   float const* from = x->data();
                   float* to = s->data();
                   std::copy(from, from + columns, to);
                   for (std::int64_t i = columns; i < n; ++i) to[i] = to[i - columns] + from[i];
                 });
             });
}
void add_sorts() {
  bench::add("algorithms", "sort of floats", "2^24", [](bench::group& g) {
    auto const x = floats(2), r = room<float>(), s = room<float>();
    compare(g, r, s);
    g.locus([=] { *r = sort<0>(*x); });
    g.rival("std::sort", 12, [=] {
      std::copy(begin_of(x), end_of(x), begin_of(s));
      std::sort(begin_of(s), end_of(s));
    });
#if BENCH_THRUST
    g.rival("Thrust", 1.5, [=] {
      std::copy(begin_of(x), end_of(x), begin_of(s));
      thrust::sort(thrust::cpp::par, begin_of(s), end_of(s));
    });
#endif
  });
  bench::add("algorithms", "sort_by_key of floats", "2^24", [](bench::group& g) {
    auto const keys = floats(3), values = floats(4), k = room<float>(), v = room<float>();
    auto const pairs = std::make_shared<std::vector<pair>>(n);
    auto const s = room<float>(), t = room<float>();
    compare(g, v, t);
    g.locus([=] {
      auto const [first, second] = sort_by_key<0>(*keys, *values);
      run(into(*k, first), into(*v, second));
    });
    g.rival("std::stable_sort of pairs", 2, [=] {
      for (std::int64_t i = 0; i < n; ++i)
        (*pairs)[std::size_t(i)] = {keys->data()[i], values->data()[i]};
      std::stable_sort(pairs->begin(), pairs->end(),
                       [](pair const& a, pair const& b) { return a.key < b.key; });
      for (std::int64_t i = 0; i < n; ++i) t->data()[i] = (*pairs)[std::size_t(i)].value;
    });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      std::copy(begin_of(keys), end_of(keys), begin_of(s));
      std::copy(begin_of(values), end_of(values), begin_of(t));
      thrust::stable_sort_by_key(thrust::cpp::par, begin_of(s), end_of(s), begin_of(t));
    });
#endif
  });
  bench::add("algorithms", "the 10 largest of floats", "2^24", [](bench::group& g) {
    auto const x = floats(5), s = room<float>(10);
    auto const p = std::make_shared<Tensor<std::int64_t, Extents<10>>>();
    auto const r = std::make_shared<Tensor<float, Extents<10>>>();
    compare(g, r, s);
    g.locus([=] {
      auto const [values, places] = top_k<10>(*x);
      run(into(*r, values), into(*p, places));
    });
    g.rival("std::partial_sort_copy, values alone", 1, [=] {
      std::partial_sort_copy(begin_of(x), end_of(x), begin_of(s), end_of(s), std::greater<float>());
    });
  });
  bench::add("algorithms", "argmin of floats", "2^24", [](bench::group& g) {
    auto const x = floats(6);
    auto const place = std::make_shared<std::vector<std::int64_t>>(1),
               own = std::make_shared<std::vector<std::int64_t>>(1);
    compare(g, place, own);
    g.locus([=] { (*place)[0] = fetch(on<CpuDevice>(argmin(*x))); });
    g.rival("std::min_element", 1,
            [=] { (*own)[0] = std::min_element(begin_of(x), end_of(x)) - begin_of(x); });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      (*own)[0] = thrust::min_element(thrust::cpp::par, begin_of(x), end_of(x)) - begin_of(x);
    });
#endif
  });
}
void add_selections() {
  bench::add("algorithms", "unique of integers below 2^20", "2^24", [](bench::group& g) {
    auto const x = integers(7, 1048576), v = room<int>(), s = room<int>();
    auto const count = std::make_shared<Tensor<std::int64_t, Extents<>>>();
    auto const own = std::make_shared<std::int64_t>();
    auto const some = [](auto const& of, std::int64_t size) {
      return std::vector<double>(begin_of(of), begin_of(of) + size);
    };
    g.results(0, [=] { return some(v, (*count)()); }, [=] { return some(s, *own); });
    g.locus([=] {
      auto const found = unique(*x);
      run(into(*v, result<0>(found)), into(*count, result<2>(found)));
    });
    g.rival("std::sort and std::unique", 10, [=] {
      std::copy(begin_of(x), end_of(x), begin_of(s));
      std::sort(begin_of(s), end_of(s));
      *own = std::unique(begin_of(s), end_of(s)) - begin_of(s);
    });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      std::copy(begin_of(x), end_of(x), begin_of(s));
      thrust::sort(thrust::cpp::par, begin_of(s), end_of(s));
      *own = thrust::unique(thrust::cpp::par, begin_of(s), end_of(s)) - begin_of(s);
    });
#endif
  });
  for (float const part : {0.01f, 0.5f, 0.99f})
    bench::add("algorithms", "compress keeps " + std::to_string(int(100 * part)) + " %", "2^24",
               [=](bench::group& g) {
                 auto const x = floats(8), r = room<float>(), s = room<float>();
                 auto const mask = std::make_shared<Vector<bool>>(n);
                 *mask = *floats(9) < part;
                 auto const count = std::make_shared<Tensor<std::int64_t, Extents<>>>();
                 compare(g, r, s);
                 g.locus([=] {
                   auto const [values, kept] = compress(*mask, *x);
                   run(into(*r, values), into(*count, kept));
                 });
                 g.rival("a loop", 1, [=] {
                   float* to = begin_of(s);
                   for (std::int64_t i = 0; i < n; ++i)
                     if (mask->data()[i]) *to++ = x->data()[i];
                   std::fill(to, end_of(s), 0.f);
                   benchmark::DoNotOptimize(to);
                 });
#if BENCH_THRUST
                 g.rival("Thrust", 1, [=] {
                   auto* const to =
                       thrust::copy_if(thrust::cpp::par, begin_of(x), end_of(x), mask->data(),
                                       begin_of(s), [](bool keep) { return keep; });
                   std::fill(to, end_of(s), 0.f);
                 });
#endif
               });
}
void add_counts() {
  for (int const bins : {16, 256, 65536})
    bench::add(
        "algorithms", "histogram of " + std::to_string(bins) + " bins", "2^24",
        [=](bench::group& g) {
          auto const x = floats(10);
          auto const r = room<std::int64_t>(bins), s = room<std::int64_t>(bins);
          g.bytes(4. * n);
          compare(g, r, s);
          g.locus([=] { *r = histogram(*x, 0., 1., bins); });
          g.rival("a loop with four tables", 1, [=] {
            std::vector<std::int64_t> tables(std::size_t(4 * bins));
            double const bins_of_one = bins;
            for (std::int64_t i = 0; i < n; ++i) {
              double const at = double(x->data()[i]);
              if (!(at >= 0 && at <= 1)) continue;
              auto const b = std::min(std::int64_t(at * bins_of_one), std::int64_t(bins) - 1);
              ++tables[std::size_t((i & 3) * bins + b)];
            }
            for (std::int64_t b = 0; b < bins; ++b) {
              s->data()[b] = 0;
              for (std::int64_t t = 0; t < 4; ++t)
                s->data()[b] += tables[std::size_t(t * bins + b)];
            }
          });
#if BENCH_THRUST
          auto const sorted = room<int>();
          g.rival("Thrust: a sort and searches", 1, [=] {
            thrust::transform(thrust::cpp::par, begin_of(x), end_of(x), begin_of(sorted),
                              [=](float v) { return std::min(int(double(v) * bins), bins - 1); });
            thrust::sort(thrust::cpp::par, begin_of(sorted), end_of(sorted));
            thrust::counting_iterator<int> const bin(0);
            thrust::upper_bound(thrust::cpp::par, begin_of(sorted), end_of(sorted), bin, bin + bins,
                                begin_of(s));
            std::adjacent_difference(begin_of(s), end_of(s), begin_of(s));
          });
#endif
        });
  bench::add("algorithms", "search_sorted in 2^20", "2^24", [](bench::group& g) {
    auto const x = floats(11);
    auto const sorted = room<float>(1 << 20);
    *sorted = sort<0>(uniform<float>(dextents<1>{1 << 20}, locus::seed{12}));
    auto const places =
        std::make_shared<Vector<element_of_t<decltype(search_sorted(*sorted, *x))>>>(n);
    auto const own = std::make_shared<std::vector<std::int64_t>>(n);
    compare(g, places, own);
    g.locus([=] { *places = search_sorted(*sorted, *x); });
    g.rival("std::lower_bound", 1, [=] {
      for (std::int64_t i = 0; i < n; ++i)
        (*own)[std::size_t(i)] =
            std::lower_bound(begin_of(sorted), end_of(sorted), x->data()[i]) - begin_of(sorted);
    });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      thrust::lower_bound(thrust::cpp::par, begin_of(sorted), end_of(sorted), begin_of(x),
                          end_of(x), own->data());
    });
#endif
  });
}
void add_rows_by_number() {
  bench::add("algorithms", "take of 2^24 floats at random", "2^24", [](bench::group& g) {
    auto const x = floats(13), r = room<float>(), s = room<float>();
    auto const at = integers(14, 16777216);
    compare(g, r, s);
    g.locus([=] { *r = take(*x, *at); });
    g.rival("a loop", 1, [=] {
      for (std::int64_t i = 0; i < n; ++i) s->data()[i] = x->data()[at->data()[i]];
    });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      thrust::gather(thrust::cpp::par, begin_of(at), end_of(at), begin_of(x), begin_of(s));
    });
#endif
  });
  bench::add("algorithms", "segment_sum into 1000", "2^24", [](bench::group& g) {
    auto const x = floats(15), r = room<float>(1000);
    auto const ids = integers(16, 1000);
    auto const s = std::make_shared<std::vector<double>>(1000);
    compare(g, r, s, 1e-7);
    g.locus([=] { *r = segment_sum(*x, *ids, 1000); });
    g.rival("a loop in double", 1, [=] {
      std::fill(s->begin(), s->end(), 0.);
      for (std::int64_t i = 0; i < n; ++i)
        (*s)[std::size_t(ids->data()[i])] += double(x->data()[i]);
    });
#if BENCH_THRUST
    g.rival("Thrust", 1, [=] {
      std::fill(s->begin(), s->end(), 0.);
      double* const to = s->data();
      float const* const from = begin_of(x);
      int const* const id = begin_of(ids);
      thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), n,
                         [=](std::int64_t i) { to[id[i]] += double(from[i]); });
    });
#endif
  });
}

bench::file const groups([] {
  add_scans();
  add_scans_of_matrices<1>(1 << 18, 64);
  add_scans_of_matrices<0>(1 << 12, 1 << 12);
  add_sorts();
  add_selections();
  add_counts();
  add_rows_by_number();
});

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Element-wise statements of every class: side by side, broadcast along rows and columns, of mixed
// types, transposed, with divisions and roots; beside the best loops and Eigen.
#include <cmath>
#include <memory>

#if BENCH_EIGEN
#include <Eigen/Core>
#endif
#include <bench/harness.hpp>
#include <bench/host/loops.hpp>

#include <locus/tensor/column_major.hpp>

using namespace locus;

namespace {

template <class T, int Rank>
using Array = Tensor<T, Dextents<Rank>>;
template <class T = float, class... N>
auto random(unsigned seed, N... n) {
  return std::make_shared<Array<T, sizeof...(N)>>(
      cast<T>(uniform<float>(dextents<sizeof...(N)>{n...}, locus::seed{seed}, 0.5f, 2.5f)));
}

#if BENCH_EIGEN
template <class T>
using Flat = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
using Matrix = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
#endif

bool is_far(bench::level const& l) { return l.bytes > (64 << 20); }
/// goals: all of the best loop within caches, a quarter more than regular stores allow beyond them
double against_loops(bench::level const& l) { return is_far(l) ? 1.25 : 0.97; }

/// y = (a b + c) / (d + 2) - sqrt(a): the instructions of the formula, none else
void chain_by_hand(float* y, float const* a, float const* b, float const* c, float const* d,
                   std::size_t n) {
  using loops::at;
  for (std::size_t i = 0; i < n; i += loops::lanes) {
    loops::vector const x = at(a + i);
    at(y + i) = (x * at(b + i) + at(c + i)) / (at(d + i) + 2.f) - loops::root(x);
  }
}

void add_flat(bench::level const& l) {
  std::int64_t const n = l.bytes / 4;
  auto const count = static_cast<std::size_t>(n);
  auto const bytes = static_cast<double>(l.bytes);
  bench::add("maps", "triad: y = a x + b", l.name, [=](bench::group& g) {
    auto const x = random(1, n), y = random(2, n);
    g.bytes(2 * bytes);
    g.locus([=] { *y = 2.5f * *x + 1.5f; });
    g.rival("loop, omp simd", against_loops(l), [=] {
      float *const to = y->data(), *const from = x->data();
#pragma omp simd
      for (std::size_t i = 0; i < count; ++i) to[i] = 2.5f * from[i] + 1.5f;
    });
#if BENCH_EIGEN
    g.rival("Eigen", against_loops(l),
            [=] { Flat<float>(y->data(), n) = 2.5f * Flat<float>(x->data(), n) + 1.5f; });
#endif
  });
  bench::add("maps", "triad: y = a x + z", l.name, [=](bench::group& g) {
    auto const x = random(1, n), y = random(2, n), z = random(3, n);
    g.bytes(3 * bytes);
    g.locus([=] { *y = 2.5f * *x + *z; });
    g.rival("loop by hand, regular stores", against_loops(l),
            [=] { loops::triad(y->data(), x->data(), z->data(), 2.5f, count); });
    g.limit("loop by hand, streaming stores", is_far(l) ? 0.95 : 0,
            [=] { loops::triad_streaming(y->data(), x->data(), z->data(), 2.5f, count); });
  });
  bench::add("maps", "mixed: y(double) = a x(float) + z(double)", l.name, [=](bench::group& g) {
    auto const x = random(1, n / 2);
    auto const z = random<double>(2, n / 2), y = random<double>(3, n / 2);
    g.bytes(2.5 * bytes);
    g.locus([=] { *y = 2.5 * *x + *z; });
    g.rival("loop, omp simd", against_loops(l), [=] {
      double *const to = y->data(), *const w = z->data();
      float* const v = x->data();
#pragma omp simd
      for (std::size_t i = 0; i < count / 2; ++i) to[i] = 2.5 * static_cast<double>(v[i]) + w[i];
    });
#if BENCH_EIGEN
    g.rival("Eigen", against_loops(l), [=] {
      Flat<double>(y->data(), n / 2) =
          2.5 * Flat<float>(x->data(), n / 2).cast<double>() + Flat<double>(z->data(), n / 2);
    });
#endif
  });
  bench::add("maps", "chain: y = (a b + c) / (d + 2) - sqrt(a)", l.name, [=](bench::group& g) {
    auto const a = random(1, n), b = random(2, n), c = random(3, n), d = random(4, n),
               y = random(5, n);
    g.bytes(5 * bytes);
    g.locus([=] { *y = (*a * *b + *c) / (*d + 2.f) - sqrt(*a); });
    g.rival("loop by hand, division and root", is_far(l) ? 1.1 : 1,
            [=] { chain_by_hand(y->data(), a->data(), b->data(), c->data(), d->data(), count); });
#if BENCH_EIGEN
    g.rival("Eigen", 0, [=] {
      Flat<float> const p(a->data(), n), q(b->data(), n), r(c->data(), n), s(d->data(), n);
      Flat<float>(y->data(), n) = (p * q + r) / (s + 2.f) - p.sqrt();
    });
#endif
  });
}

void add_broadcasts(bench::level const& l) {
  std::int64_t const columns = l.bytes < (1 << 16) ? 32 : l.bytes < (1 << 20) ? 256 : 1024;
  std::int64_t const rows = l.bytes / 4 / columns;
  auto const bytes = static_cast<double>(l.bytes);
  bench::add("maps", "broadcast: y(r, c) = m(r, c) + v(c)", l.name, [=](bench::group& g) {
    auto const m = random(1, rows, columns), y = random(2, rows, columns);
    auto const v = random(3, columns);
    g.bytes(2 * bytes);
    g.locus([=] { *y = *m + *v; });
    g.rival("nested loop, omp simd", against_loops(l), [=] {
      float *const to = y->data(), *const from = m->data(), *const w = v->data();
      for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c)
          to[r * columns + c] = from[r * columns + c] + w[c];
      }
    });
#if BENCH_EIGEN
    g.rival("Eigen", against_loops(l), [=] {
      Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>> const w(v->data(), columns);
      Matrix(y->data(), rows, columns) = Matrix(m->data(), rows, columns).rowwise() + w;
    });
#endif
  });
  bench::add("maps", "broadcast: y(r, c) = m(r, c) + v(r)", l.name, [=](bench::group& g) {
    auto const m = random(1, rows, columns), y = random(2, rows, columns);
    auto const v = random(3, rows, std::int64_t(1));
    g.bytes(2 * bytes);
    g.locus([=] { *y = *m + *v; });
    g.rival("nested loop, omp simd", against_loops(l), [=] {
      float *const to = y->data(), *const from = m->data(), *const w = v->data();
      for (std::int64_t r = 0; r < rows; ++r) {
        float const s = w[r];
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) to[r * columns + c] = from[r * columns + c] + s;
      }
    });
#if BENCH_EIGEN
    g.rival("Eigen", against_loops(l), [=] {
      Eigen::Map<Eigen::Array<float, Eigen::Dynamic, 1>> const w(v->data(), rows);
      Matrix(y->data(), rows, columns) = Matrix(m->data(), rows, columns).colwise() + w;
    });
#endif
  });
  bench::add("maps", "rows of 3: y(r, c) = m(r, c) + v(c)", l.name, [=](bench::group& g) {
    std::int64_t const pixels = l.bytes / 12;
    auto const m = random(1, pixels, std::int64_t(3)), y = random(2, pixels, std::int64_t(3));
    auto const v = random(3, std::int64_t(3));
    g.bytes(2 * bytes);
    g.locus([=] { *y = *m + *v; });
    g.rival("nested loop", against_loops(l), [=] {
      float *const to = y->data(), *const from = m->data(), *const w = v->data();
      float const w0 = w[0], w1 = w[1], w2 = w[2];
      for (std::int64_t r = 0; r < pixels; ++r) {
        to[3 * r] = from[3 * r] + w0;
        to[3 * r + 1] = from[3 * r + 1] + w1;
        to[3 * r + 2] = from[3 * r + 2] + w2;
      }
    });
  });
  bench::add("maps", "transposed: y(r, c) = m(c, r) + z(r, c)", l.name, [=](bench::group& g) {
    auto const m = random(1, columns, rows), y = random(2, rows, columns),
               z = random(3, rows, columns);
    g.bytes(3 * bytes);
    g.locus([=] { *y = transpose(*m) + *z; });
    g.limit("the same, not transposed", is_far(l) ? 0.7 : 0, [=] {
      loops::triad(y->data(), m->data(), z->data(), 1.f, static_cast<std::size_t>(rows * columns));
    });
#if BENCH_EIGEN
    g.rival("Eigen", 1, [=] {
      Matrix(y->data(), rows, columns) =
          Matrix(m->data(), columns, rows).transpose() + Matrix(z->data(), rows, columns);
    });
#endif
  });
}

/// What two threads cost where one would do: the same statement with one and with two.
/// the same statement over arrays whose columns are contiguous, and over both orders
void add_columns() {
  std::int64_t const rows = 700, columns = 500;
  using Columns = ColumnMajor<float, Dextents<2>>;
  bench::add("maps", "y = 2 x + y of ColumnMajor", "700 x 500", [=](bench::group& g) {
    auto const x = random(1, rows, columns), y = random(2, rows, columns);
    auto const cx = std::make_shared<Columns>(*x), cy = std::make_shared<Columns>(*y);
    g.bytes(3. * 4 * double(rows * columns));
    g.locus([=] { *cy = 2.f * *cx + *cy; });
    g.rival("locus, Tensor", 0.95, [=] { *y = 2.f * *x + *y; });
    g.rival("locus, x of the other order", 0, [=] { *cy = 2.f * *x + *cy; });
  });
}

void add_threads() {
  for (int k = 0; k < 30; ++k) {
    // 1 KiB to 256 MiB
    auto const bytes = static_cast<std::int64_t>(1024 * std::exp2(18. * k / 29)) / 64 * 64;
    std::int64_t const n = bytes / 4;
    auto const size = std::to_string(bytes / 1024) + " KiB";
    auto const both = [=](char const* what, double arrays, auto statement) {
      bench::add("threads", what, size, [=](bench::group& g) {
        auto const run = statement(n);
        g.bytes(arrays * static_cast<double>(bytes)), g.threads(2);
        g.locus([=] { run(); });
        g.rival("locus, one thread", 0.95, [=] {
          config::set_intra_op_parallelism_threads(1);
          run();
          config::set_intra_op_parallelism_threads(2);
        });
      });
    };
    both("triad: y = a x + z", 3, [](std::int64_t m) {
      auto const x = random(1, m), y = random(2, m), z = random(3, m);
      return [=] { *y = 2.5f * *x + *z; };
    });
    both("chain: y = (a b + c) / (d + 2) - sqrt(a)", 5, [](std::int64_t m) {
      auto const a = random(1, m), b = random(2, m), c = random(3, m), d = random(4, m),
                 y = random(5, m);
      return [=] { *y = (*a * *b + *c) / (*d + 2.f) - sqrt(*a); };
    });
    both("sum(x)", 1, [](std::int64_t m) {
      auto const x = random(1, m);
      return [=] {
        float const s = fetch(on<CpuDevice>(sum(*x)));
        benchmark::DoNotOptimize(s);
      };
    });
  }
}

bench::file const groups([] {
  for (bench::level const& l : bench::levels) add_flat(l);
  for (bench::level const& l : bench::levels) add_broadcasts(l);
  add_columns();
  add_threads();
});

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Programs over ranks beside the same programs with MPI by hand: a step of training, a stencil with its
// halo, a sum. Both run in one process, in turns; each figure is the median of pairs.
//     mpirun -n 2 ranks [pairs]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/tensor/rows_over.hpp>

using namespace locus;

namespace {

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// means: microseconds of theirs and of ours, and the ratio theirs / ours, of the slowest rank
template <class Ours, class Theirs>
void compare(char const* name, int pairs, int repeats, Ours const& ours, Theirs const& theirs) {
  std::vector<double> a, b, ratios;
  auto const timed = [&](auto const& f) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const begin = MPI_Wtime();
    for (int k = 0; k < repeats; ++k) f();
    double own = MPI_Wtime() - begin, slowest = 0;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / repeats * 1e6;
  };
  timed(ours), timed(theirs);
  for (int k = 0; k < pairs; ++k) {
    a.push_back(timed(ours)), b.push_back(timed(theirs));
    ratios.push_back(b.back() / a.back());
  }
  if (ranks::rank() == 0)
    std::printf("%-34s %10.2f us by hand %10.2f us locus   ratio %.2f\n", name, median(b),
                median(a), median(ratios));
}

void sums(int pairs) {
  Tensor<double, Dextents<1>, Sharded<0, Ranks<CpuDevice>>> x(
      uniform<double>(dextents<1>(1 << 20), seed{1}));
  auto const mine = ranks::rows(x);
  double got = 0, want = 0;
  compare(
      "sum of 2^20 doubles", pairs, 200, [&] { got = fetch(sum(x)); },
      [&] {
        double const local = fetch(sum(mine));
        MPI_Allreduce(&local, &want, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      });
  if (std::abs(got / want - 1) > 1e-12) std::printf("sums differ\n");
}

/// Jacobi's method on a plate of n x n, cut by rows
void stencil(int pairs, std::int64_t n) {
  using Plate = Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>, Halo<1>>>;
  Plate now(uniform<double>(dextents<2>(n, n), seed{1})), next(now);
  auto const step = [&] {
    let(now, [&](auto u) {
      run(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                          interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
    });
    swap(now, next);
  };
  int const rank = ranks::rank(), count = ranks::count();
  std::int64_t const first = ranks::first_row(now), rows = ranks::rows(now).extent(0);
  std::vector<double> a(std::size_t((rows + 2) * n)), b;
  auto const mine = ranks::rows(now);
  std::copy(mine.data(), mine.data() + rows * n, a.begin() + n);
  b = a;
  double *u = a.data(), *v = b.data();
  auto const by_hand = [&] {
    MPI_Request all[4];
    int k = 0;
    if (rank > 0) {
      MPI_Irecv(u, int(n), MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &all[k++]);
      MPI_Isend(u + n, int(n), MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &all[k++]);
    }
    if (rank + 1 < count) {
      MPI_Irecv(u + (rows + 1) * n, int(n), MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &all[k++]);
      MPI_Isend(u + rows * n, int(n), MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &all[k++]);
    }
    MPI_Waitall(k, all, MPI_STATUSES_IGNORE);
    std::int64_t const from = first == 0 ? 2 : 1, to = first + rows == n ? rows - 1 : rows;
    for (std::int64_t i = from; i <= to; ++i) {
      double const *up = u + (i - 1) * n, *here = u + i * n, *down = u + (i + 1) * n;
      double* out = v + i * n;
#pragma GCC ivdep
      for (std::int64_t j = 1; j < n - 1; ++j)
        out[j] = 0.25 * (up[j] + down[j] + here[j - 1] + here[j + 1]);
    }
    std::swap(u, v);
  };
  char name[64];
  std::snprintf(name, sizeof name, "Jacobi, %d x %d", int(n), int(n));
  compare(name, pairs, n > 1000 ? 20 : 100, step, by_hand);
  auto const end = ranks::rows(now);
  double most = 0;
  for (std::int64_t i = 0; i < rows * n; ++i)
    most = std::max(most, std::abs(end.data()[i] - u[n + i]));
  if (most > 1e-12) std::printf("plates differ by %g\n", most);
}

/// one step of gradient descent of a 784-128-10 network on 256 rows of all ranks
template <class Where>
struct network {
  Tensor<float, Extents<784, 128>, Where> w1{
      to<Where>(uniform<float>(Extents<784, 128>{}, seed{1}, -0.08f, 0.08f))};
  Tensor<float, Extents<128, 10>, Where> w2{
      to<Where>(uniform<float>(Extents<128, 10>{}, seed{2}, -0.2f, 0.2f))};
  Tensor<float, Extents<784, 128>, Where> g1{to<Where>(zeros<float>(Extents<784, 128>{}))};
  Tensor<float, Extents<128, 10>, Where> g2{to<Where>(zeros<float>(Extents<128, 10>{}))};

  template <class X, class Y, class Then>
  void with_gradients(X const& x, Y const& label, double rows, Then const& then) {
    let(relu(matmul(x, w1)), [&](auto h) {
      let(matmul(h, w2), [&](auto logits) {
        let((softmax(logits) - one_hot<10>(label)) / rows, [&](auto d) {
          then(matmul(transpose(x), where(h > 0.f, matmul(d, transpose(w2)), 0.f)),
               matmul(transpose(h), d));
        });
      });
    });
  }
};

void training(int pairs) {
  constexpr std::int64_t rows = 256;
  using Over = Mirrored<Ranks<CpuDevice>>;
  network<Over> ours;
  network<Mirrored<CpuDevice>> theirs;
  Tensor<float, Extents<dyn, 784>, rows_over<Over>> x(
      uniform<float>(Extents<dyn, 784>(rows), seed{3}));
  Tensor<std::uint8_t, Dextents<1>, rows_over<Over>> label(
      cast<std::uint8_t>(10.f * uniform<float>(dextents<1>(rows), seed{4})));
  auto const own_x = ranks::rows(x);
  auto const own_label = ranks::rows(label);
  compare(
      "step of training, 256 rows", pairs, 20,
      [&] {
        ours.with_gradients(x, label, double(rows), [&](auto d1, auto d2) {
          run(plan(into(ours.w2, ours.w2 - 0.1f * d2), into(ours.w1, ours.w1 - 0.1f * d1)));
        });
      },
      [&] {
        theirs.with_gradients(own_x, own_label, double(rows), [&](auto d1, auto d2) {
          run(plan(into(theirs.g2, d2), into(theirs.g1, d1)));
        });
        MPI_Allreduce(MPI_IN_PLACE, theirs.g2.data(), 128 * 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, theirs.g1.data(), 784 * 128, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        theirs.w2 = theirs.w2 - 0.1f * theirs.g2;
        theirs.w1 = theirs.w1 - 0.1f * theirs.g1;
      });
  float const apart = fetch(max(abs(to<CpuDevice>(ours.w1) - to<CpuDevice>(theirs.w1))));
  if (!(apart < 1e-3f)) std::printf("weights differ by %g\n", double(apart));
}

}  // namespace

int main(int argc, char** argv) {
  mpi::world const world(argc, argv);
  int const pairs = argc > 1 ? std::atoi(argv[1]) : 21;
  if (world.rank() == 0)
    std::printf("%d ranks, %d threads each\n", world.size(), runtime::threads_of_pool());
  sums(pairs);
  stencil(pairs, 512), stencil(pairs, 2048);
  training(pairs);
}

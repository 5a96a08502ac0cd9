// SPDX-License-Identifier: Apache-2.0
// A program with MPI of its own: its last rank writes frames, and the others are the ranks of locus
// on a part of a split. Its own messages go on beside those of locus.
#include <cmath>     // abs
#include <cstdlib>   // getenv
#include <iostream>  // cout
#include <vector>    // vector

#include <locus/algorithms/shift.hpp>
#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>

using namespace locus;

/// in place of Open MPI's function, which says 0 where it is built without CUDA
extern "C" int MPIX_Query_cuda_support() { return std::getenv("MPI_TAKES_GPU_MEMORY") ? 1 : 0; }

namespace {

using Rows = Sharded<0, Ranks<CpuDevice>, Halo<1, beyond::wrap>>;
constexpr int steps = 20, n = 12, frame_tag = 7;

double start_of(std::int64_t row) { return row == n / 2 ? 1 : 0; }

/// means: the field after a step, by a loop
std::vector<double> step_of(std::vector<double> const& u) {
  std::vector<double> v(u.size());
  for (std::size_t i = 0; i < u.size(); ++i)
    v[i] = u[i] + 0.25 * (u[(i + u.size() - 1) % u.size()] + u[(i + 1) % u.size()] - 2 * u[i]);
  return v;
}

/// means: gets the rows of all solvers at every step, and compares them
int write_frames(int solvers) {
  std::vector<double> expected(n), frame(n);
  for (int i = 0; i < n; ++i) expected[std::size_t(i)] = start_of(i);
  int wrong = 0;
  for (int t = 0; t < steps; ++t) {
    expected = step_of(expected);
    for (int s = 0, row = 0; s < solvers; ++s) {
      MPI_Status status;
      int count = 0;
      MPI_Recv(frame.data() + row, n - row, MPI_DOUBLE, s, frame_tag, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      row += count;
    }
    for (int i = 0; i < n; ++i)
      wrong += !(std::abs(frame[std::size_t(i)] - expected[std::size_t(i)]) <= 1e-14);
  }
  std::cout << (wrong == 0 ? "frames are right" : "FRAMES ARE WRONG") << std::endl;
  return wrong;
}

void solve(MPI_Comm solvers, int writer) {
  mpi::world const world(solvers);  // solvers stays the program's
  if (world.rank() == 0)
    std::cout << (world.takes_gpu_memory() ? "memory of GPUs, too" : "host memory") << std::endl;
  Tensor<double, Dextents<1>, Rows> field(zeros<double>(dextents<1>(n)));
  std::int64_t const first = ranks::first_row(field);
  Tensor<double, Dextents<1>> mine = ranks::rows(field);
  for (std::int64_t i = 0; i < mine.size(); ++i) mine.data()[i] = start_of(first + i);
  field = ranks::from_rows<Rows>(mine);
  for (int t = 0; t < steps; ++t) {
    field = field + 0.25 * (shift<0, -1>(field) + shift<0, 1>(field) - 2. * field);
    mine = ranks::rows(field);
    MPI_Send(mine.data(), int(mine.size()), MPI_DOUBLE, writer, frame_tag, MPI_COMM_WORLD);
    double own = 0, all = 0;  // a collective on the program's communicator, by a hand-written loop
    for (std::int64_t i = 0; i < mine.size(); ++i) own += mine.data()[i];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, solvers);
    if (std::abs(all - fetch(sum(field))) > 1e-14) std::cout << "SUMS DIFFER" << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool const writes = rank == ranks - 1;
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, writes, rank, &part);
  int wrong = 0;
  if (writes)
    wrong = write_frames(ranks - 1);
  else
    solve(part, ranks - 1);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return wrong > 0;
}

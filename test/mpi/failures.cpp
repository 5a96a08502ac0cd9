// SPDX-License-Identifier: Apache-2.0
// Worlds that cannot be made, and ranks that leave the others: argv[1] says how, argv[2] after how
// many seconds a collective is late. run.py starts this program under mpirun, and compares what it
// writes and how it ends.
#include <sys/types.h>

#include <atomic>    // atomic
#include <chrono>    // seconds
#include <iostream>  // cout
#include <optional>  // optional
#include <thread>    // sleep_for

#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

namespace {

using Rows = Sharded<0, Ranks<CpuDevice>>;
using Values = Tensor<double, Dextents<1>, Rows>;
double timeout = 2;  // of collectives
/// A world whose ranks have time to come, also on a busy machine; then collectives have the timeout.
struct joined_world : mpi::world {
  joined_world(int& argc, char**& argv)
      : mpi::world((config::set_collective_timeout(20), argc), argv) {
    config::set_collective_timeout(timeout);
  }
};

void say(std::string_view text) {
  message line;
  line << "rank " << ranks::rank() << ": " << text << "\n";
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}
void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
Values some(std::int64_t n = 16) { return Values(uniform<double>(dextents<1>(n), seed{3})); }
/// means: f throws an error of locus, whose text this rank writes
template <class F>
void expect_error(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return say(e.what());
  }
  say("NO ERROR");
}
void init(int level) {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, level, &given);
}

// ---- worlds ----
void not_started(int, char**) {
  expect_error([] { mpi::world world(MPI_COMM_WORLD); });
  init(MPI_THREAD_MULTIPLE);
  MPI_Finalize();
}
void ended_before(int argc, char** argv) {
  init(MPI_THREAD_MULTIPLE);
  MPI_Finalize();
  expect_error([] { mpi::world world(MPI_COMM_WORLD); });
  expect_error([&] { mpi::world world(argc, argv); });
}
void second_world(int argc, char** argv) {
  joined_world world(argc, argv);
  expect_error([] { mpi::world second(MPI_COMM_WORLD); });
  expect_error([&] { mpi::world second(argc, argv); });
  Values x = some();
  if (fetch(sum(x * 0. + 1.)) == 16) say("the first world goes on");
}
void null_communicator(int, char**) {
  init(MPI_THREAD_MULTIPLE);
  expect_error([] { mpi::world world(MPI_COMM_NULL); });
  MPI_Finalize();
}
void two_groups(int, char**) {
  init(MPI_THREAD_MULTIPLE);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm joined;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 1, &joined);
  expect_error([&] { mpi::world world(joined); });
  MPI_Comm_free(&joined);
  MPI_Finalize();
}
void alone(int, char**) {
  init(MPI_THREAD_MULTIPLE);
  {
    mpi::world world(MPI_COMM_SELF);
    Values x = some();
    if (world.size() == 1 && fetch(sum(x * 0. + 1.)) == 16) say("one rank");
  }
  {
    mpi::world world(MPI_COMM_WORLD);  // one after the other
    Values x = some();
    if (world.size() > 1 && fetch(sum(x * 0. + 1.)) == 16) say("all ranks");
  }
  MPI_Finalize();
}
void ended_inside(int, char**) {
  init(MPI_THREAD_MULTIPLE);
  mpi::world world(MPI_COMM_WORLD);
  MPI_Finalize();
}
void not_joined(int, char**) {
  init(MPI_THREAD_MULTIPLE);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) sleep(20);
  expect_error([&] { mpi::world world(MPI_COMM_WORLD); });
  MPI_Abort(MPI_COMM_WORLD, 70);
}

void not_started_by_all(int argc, char** argv) {
  mpi::world world(argc, argv);
  say("NO ERROR");
}

// ---- threads ----
void on_level(int level) {
  init(level);
  {
    mpi::world world(MPI_COMM_WORLD);
    Values x = some();
    for (int k = 0; k < 5; ++k) x = x * 0. + 1.;
    if (fetch(sum(x)) == 16) say("one thread");
    if (level < MPI_THREAD_SERIALIZED)
      std::thread([&] { expect_error([&] { static_cast<void>(fetch(sum(x))); }); }).join();
  }
  MPI_Finalize();
}
void single(int, char**) { on_level(MPI_THREAD_SINGLE); }
void funneled(int, char**) { on_level(MPI_THREAD_FUNNELED); }
void serialized(int, char**) { on_level(MPI_THREAD_SERIALIZED); }

// ---- ranks that differ ----
void if_rank_0(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 0) static_cast<void>(fetch(sum(x)));  // the mistake
  x = x + fetch(max(x));
}
void if_rank_0_at_the_end(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 0) static_cast<void>(fetch(sum(x)));  // the mistake
}
void other_statement(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  static_cast<void>(world.rank() == 1 ? fetch(sum(x * x)) : fetch(sum(x)));
}
void other_extents(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some(world.rank() == 1 ? 24 : 16);
  static_cast<void>(fetch(sum(x)));
}
void other_type(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  Tensor<float, Dextents<1>, Rows> y(uniform<float>(dextents<1>(16), seed{3}));
  if (world.rank() == 1)
    static_cast<void>(fetch(sum(y)));
  else
    static_cast<void>(fetch(sum(x)));
}

template <class Devices>
void sum_over() {
  Tensor<double, Dextents<1>, Sharded<0, Devices>> const x(
      uniform<double>(dextents<1>(16), seed{3}));
  static_cast<void>(fetch(sum(x)));
}
void other_devices(int argc, char** argv) {  // a rank has one replica, or two
  testing::simulated_gpus const cards(2);
  joined_world world(argc, argv);
  world.rank() == 1 ? sum_over<Ranks<AllGpus>>() : sum_over<Ranks<CpuDevice>>();
}
void few_rows(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some(2), y = some(2);
  x = x * 0. + 1.;
  y = 2. * x + mean(x);
  Tensor<double, Dextents<1>> const whole(y);
  if (fetch(sum(x)) == 2 && fetch(max(y)) == 3 && whole.size() == 2 && whole.data()[1] == 3)
    say("two rows");
}

// ---- statements at places where none can be ----
void inside_a_kernel(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some(17);  // one rank has one row more
  x = map([&](double v) { return v * fetch(sum(x)); }, x);
}
void two_threads(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  std::atomic<int> refused = 0;
  auto const loop = [&] {
    Values y(x);
    try {
      for (int k = 0; k < 2000 && refused == 0; ++k) y = y * (1 / fetch(sum(y)));
    } catch (error const& e) {
      ++refused;
      say(e.what());
    }
  };
  std::thread other(loop);
  loop();
  other.join();
  if (refused == 0) say("NO ERROR");
}

// ---- ranks that leave ----
void loop_of_sums(Values& x) {
  for (;;) x = x * (1 / fetch(sum(x)));
}
void exits(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  static_cast<void>(fetch(sum(x)));
  if (world.rank() == 1) _exit(3);
  loop_of_sums(x);
}
void exits_with_0(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  static_cast<void>(fetch(sum(x)));
  if (world.rank() == 1) _exit(0);
  loop_of_sums(x);
}
void returns(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 1) return;
  loop_of_sums(x);
}
void throws(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 1) throw std::runtime_error("the program's own");
  loop_of_sums(x);
}
void throws_alone(int argc, char** argv) {
  try {
    joined_world world(argc, argv);
    Values x = some();
    throw std::runtime_error("the program's own");
  } catch (std::runtime_error const& e) {
    say(e.what());
  }
}
void catches(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 1) sleep(20);
  expect_error([&] { static_cast<void>(fetch(sum(x))); });
  expect_error([&] { static_cast<void>(fetch(sum(x))); });
}
void slow(int argc, char** argv) {
  joined_world world(argc, argv);
  Values x = some();
  if (world.rank() == 1) sleep(timeout / 2);  // in time
  if (fetch(sum(x * 0. + 1.)) == 16) say("in time");
}
/// means: sums of 2 MiB, by blocking calls of a thread, until this process is stopped
void loop_of_large_sums() {
  Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>>> x(
      uniform<double>(dextents<2>(8, 1 << 18), seed{1}));
  Tensor<double, Dextents<1>, Mirrored<Ranks<CpuDevice>>> s(sum<0>(x));
  for (;;) s = sum<0>(x);
}

void loops(int argc, char** argv) {  // run.py stops a rank
  joined_world world(argc, argv);
  std::string_view const order = argc > 3 ? argv[3] : "";
  if (order == "ranked") config::set_reduction_order(reduction_order::ranked);
  Values x = some();
  static_cast<void>(fetch(sum(x)));
  message text;
  say((text << "process " << getpid()).view());
  if (order == "large") loop_of_large_sums();
  loop_of_sums(x);
}

struct mistake {
  std::string_view name;
  void (*run)(int, char**);
};
constexpr mistake cases[] = {{"not_started", not_started},
                             {"ended_before", ended_before},
                             {"second_world", second_world},
                             {"null_communicator", null_communicator},
                             {"two_groups", two_groups},
                             {"alone", alone},
                             {"ended_inside", ended_inside},
                             {"not_joined", not_joined},
                             {"not_started_by_all", not_started_by_all},
                             {"single", single},
                             {"funneled", funneled},
                             {"serialized", serialized},
                             {"if_rank_0", if_rank_0},
                             {"if_rank_0_at_the_end", if_rank_0_at_the_end},
                             {"other_statement", other_statement},
                             {"other_extents", other_extents},
                             {"other_type", other_type},
                             {"other_devices", other_devices},
                             {"few_rows", few_rows},
                             {"inside_a_kernel", inside_a_kernel},
                             {"two_threads", two_threads},
                             {"exits", exits},
                             {"exits_with_0", exits_with_0},
                             {"returns", returns},
                             {"throws", throws},
                             {"throws_alone", throws_alone},
                             {"catches", catches},
                             {"slow", slow},
                             {"loops", loops}};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) timeout = std::atof(argv[2]);
  config::set_collective_timeout(timeout);
  std::string_view const wanted = argc > 1 ? argv[1] : "";
  for (mistake const& one : cases)
    if (one.name == wanted) {
      try {
        one.run(argc, argv);
      } catch (std::exception const& e) {
        std::cerr << e.what() << std::endl;
        return 1;
      }
      return 0;
    }
  std::cerr << "no case of this name\n";
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
// SIGINT during a training: it ends the program at once and costs no checkpoint; where the program has
// a handler of its own, the training goes on and learns the same.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <locus/data/dataset.hpp>
#include <locus/data/from_files.hpp>
#include <locus/files/npz.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/train/callbacks.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <signal_storm.hpp>

namespace signals_test {

using namespace locus;

namespace {

using Two = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using Column = Tensor<double, Extents<dyn, 1>>;

struct folder {
  char name[32] = "/tmp/locus_signal_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
};

auto fresh() {
  nn::Sequential const model{nn::Input<1>{}, nn::Dense<8>{}, nn::Dense<1>{}};
  return nn::compile<Two, double>(model, nn::Adam{.learning_rate = 0.05}, nn::MeanSquaredError{});
}
/// means: what a training learns that reads files, saves checkpoints, writes a table and draws a bar,
///        and what loops on threads of the host give
std::vector<double> learn(std::string const& folder, int epochs) {
  testing::simulated_gpus const gpus(2);
  Column const drawn(uniform<double>(Extents<dyn, 1>(300), seed{1}, -1., 1.));
  data::write_npy(folder + "/x.npy", drawn);
  auto const x = data::read_npy<double, 2>(folder + "/x.npy");
  std::ofstream table(folder + "/y.csv");
  table.precision(17);
  for (std::int64_t i = 0; i < x.size(); ++i) table << 3 * drawn.data()[i] + 2 << "\n";
  table.close();
  Tensor<double, Dextents<2>, CpuDevice> y(Dextents<2>(shape{2, {x.size(), 1}}));
  std::int64_t rows = 0;
  auto lines =
      data::from_csv<double>(folder + "/y.csv").map([](double v) { return v; }, {.threads = 2});
  for (auto const& row : lines.prefetch(2)) y.data()[rows++] = std::get<0>(row);

  auto t = fresh();
  nn::ModelCheckpoint each{{.path = folder + "/checkpoint", .every_steps = 3}};
  nn::CSVLogger log{folder + "/log.csv"};
  auto const h =
      t.fit(x, y, {.epochs = epochs, .callbacks = {&each, &log}, .verbose = 1, .batch_size = 33});
  std::vector<double> all = h["loss"];
  for (auto const& w : t.weights()) {
    std::vector<double> values(static_cast<std::size_t>(w.extents.size()));
    nn::read_values(w, values.data());
    all.insert(all.end(), values.begin(), values.end());
  }
  Tensor<float, Dextents<1>, CpuDevice> wide(Dextents<1>(std::int64_t(1) << 20));
  for (int k = 0; k < 20; ++k) {
    wide = 0.5f * iota<float>(wide.extents()) + float(k);
    all.push_back(fetch(sum(cast<double>(wide))));
  }
  return all;
}

/// a terminal; -1 where there is none to be had
int open_terminal() {
  int const t = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  return t >= 0 && grantpt(t) == 0 && unlockpt(t) == 0 ? t : -1;
}

}  // namespace

TEST_CASE("threads that work ahead, and those of replicas, take no signal sent to the process") {
  testing::simulated_gpus const gpus(2);
  auto const me = std::this_thread::get_id();
  auto const takes = [me](int signal) {
    sigset_t held;
    pthread_sigmask(SIG_BLOCK, nullptr, &held);
    return std::this_thread::get_id() != me && sigismember(&held, signal) == 0;
  };
  int others = 0;
  auto const ahead = data::range(64).map(
      [&](std::int64_t) {
        return 4 * takes(SIGINT) + 2 * takes(SIGTERM) + (std::this_thread::get_id() != me);
      },
      {.threads = 2});
  for (auto const& row : ahead.prefetch(2)) {
    CHECK(std::get<0>(row) < 2);
    others += std::get<0>(row);
  }
  CHECK(others > 0);
  strategy<Two> const both;
  auto const seen =
      both.run([&] { return 4 * takes(SIGINT) + 2 * takes(SIGTERM) + takes(SIGPROF); });
  CHECK(seen[0] == 0);  // the caller's own thread
  CHECK(seen[1] == 1);
  sigset_t held;
  pthread_sigmask(SIG_BLOCK, nullptr, &held);
  CHECK(sigismember(&held, SIGINT) == 0);
}

TEST_CASE("a program that handles signals learns what one without them learns") {
  folder const here, there;
  auto const want = learn(here.name, 6);
  std::vector<double> is;
  int came = 0;
  {
    signal_storm const storm;
    is = learn(there.name, 6);
    came = storm.came();
  }
  MESSAGE(came << " signals");
  CHECK(came > 20);
  CHECK(want.size() > 40);
  CHECK(is == want);
  for (folder const* f : {&here, &there}) {
    testing::simulated_gpus const gpus(2);
    auto t = fresh();
    CHECK(nn::load_checkpoint(*f / "checkpoint", t).step == 60);
    CHECK(access((*f / "checkpoint.part").c_str(), F_OK) != 0);
  }
}

TEST_CASE("a training that SIGINT ends" * doctest::skip()) {
  // doctest's handler prints, which takes locks that the code it came into may hold
  std::signal(SIGINT, SIG_DFL);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  static_cast<void>(learn(std::getenv("LOCUS_TEST_FOLDER"), 1 << 30));
}

TEST_CASE("SIGINT ends a training at once, and the next one finds a whole checkpoint") {
  folder const here;
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  std::mt19937 random(20261122);
  int found = 0, in_a_save = 0;
  double slowest = 0;
  for (int k = 0; k < 30; ++k) {
    int const terminal = open_terminal();
    std::string const settings[] = {"LOCUS_TEST_FOLDER=" + std::string(here.name),
                                    "LOCUS_NUM_THREADS=3", "LOCUS_QUIET=1"};
    std::vector<char*> variables;
    for (auto const& s : settings) variables.push_back(const_cast<char*>(s.c_str()));
    variables.push_back(nullptr);
    char const* arguments[] = {"child", "--test-case=a training that SIGINT ends", "--no-skip",
                               nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, terminal < 0 ? "/dev/null" : ptsname(terminal),
                                     O_WRONLY | O_NOCTTY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &interrupt);  // until the child's test case begins
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, "/proc/self/exe", &files, &attributes,
                        const_cast<char* const*>(arguments), variables.data()) == 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::microseconds(20000 + random() % 180000);
    while (clock::now() < end) {
      char part[512];
      if (terminal >= 0) static_cast<void>(!read(terminal, part, sizeof part));
      usleep(2000);
    }
    auto const sent = clock::now();
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    slowest = std::max(slowest, std::chrono::duration<double>(clock::now() - sent).count());
    if (terminal >= 0) close(terminal);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
    in_a_save += access((here / "checkpoint.part").c_str(), F_OK) == 0;
    if (access((here / "checkpoint").c_str(), F_OK) != 0) continue;
    testing::simulated_gpus const gpus(2);
    auto t = fresh();
    CHECK(nn::load_checkpoint(here / "checkpoint", t).step > 0);  // throws if it is a half
    ++found;
  }
  MESSAGE(found << " checkpoints found after 30 signals, " << in_a_save
                << " signals within a save, the slowest end took " << slowest << " s");
  CHECK(found > 10);
  CHECK(slowest < 5);
  testing::simulated_gpus const gpus(2);  // and nothing hinders the next one
  auto t = fresh();
  nn::save_checkpoint(here / "checkpoint", t, {});
  CHECK(nn::load_checkpoint(here / "checkpoint", t).step == 0);
  CHECK(access((here / "checkpoint.part").c_str(), F_OK) != 0);
}

}  // namespace signals_test

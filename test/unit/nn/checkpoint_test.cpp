// SPDX-License-Identifier: Apache-2.0
// Checkpoints: what is saved comes back over any number of replicas; nothing that fails, and no
// moment at which a process is killed, costs the checkpoint before.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/train/checkpoint.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

namespace checkpoint_test {

using namespace locus;

namespace {

struct folder {
  char name[32] = "/tmp/locus_ckpt_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
  int files() const {
    std::string const file = "/tmp/locus_ckpt_count" + std::to_string(getpid());
    CHECK(std::system(("ls " + std::string(name) + " | wc -l > " + file).c_str()) == 0);
    int n = -1;
    std::ifstream(file) >> n;
    unlink(file.c_str());
    return n;
  }
};

/// two weights, one of them with what an optimizer keeps
template <class Replicas>
struct toy {
  using tensor = Tensor<float, Dextents<1>, Replicas>;
  std::int64_t units;
  tensor kernel{Dextents<1>(3 * units)}, bias{Dextents<1>(units)}, velocity{Dextents<1>(3 * units)};
  Tensor<double, Dextents<1>, Replicas> mean{Dextents<1>(units)};
  std::int64_t iterations = 0;
  nn::position at{};

  explicit toy(std::int64_t n, int generation = 0) : units(n) { fill(generation); }
  std::vector<nn::stored> weights() {
    return {{"dense/kernel", shape{2, {3, units}}, true, kernel.block.get()},
            {"dense/bias", shape{1, {units}}, true, bias.block.get()},
            {"norm/mean", shape{1, {units}}, false, mean.block.get()}};
  }
  std::vector<nn::stored> slots() {
    return {{"sgd/dense/kernel", shape{2, {3, units}}, false, velocity.block.get()}};
  }
  std::vector<nn::counter> counters() { return {{"sgd/iterations", &iterations}}; }
  /// every number is a function of the generation
  static double number(int generation, int tensor, std::int64_t i) {
    return generation * 1000 + tensor * 100 + double(i % 64) / 64;
  }
  template <class F>
  void each(F&& f) {
    int k = 0;
    for (auto const& list : {weights(), slots()})
      for (nn::stored const& s : list) f(s, k++);
  }
  void fill(int generation) {
    each([&](nn::stored const& s, int k) {
      std::vector<double> wide(static_cast<std::size_t>(s.extents.size()));
      for (std::size_t i = 0; i < wide.size(); ++i)
        wide[i] = number(generation, k, std::int64_t(i));
      std::vector<float> const narrow(wide.begin(), wide.end());
      nn::write_values(s, s.type() == element::f64 ? static_cast<void const*>(wide.data())
                                                   : static_cast<void const*>(narrow.data()));
    });
    iterations = generation * 10;
    at = {generation, generation * 10, 3, 7, 9};
  }
  /// -1: not all of one generation
  int generation() {
    int g = int(iterations / 10);
    each([&](nn::stored const& s, int k) {
      std::vector<double> wide(static_cast<std::size_t>(s.extents.size()));
      std::vector<float> narrow(wide.size());
      bool const is_wide = s.type() == element::f64;
      nn::read_values(s, is_wide ? static_cast<void*>(wide.data()) : narrow.data());
      for (std::size_t i = 0; i < wide.size(); ++i)
        if ((is_wide ? wide[i] : double(narrow[i])) !=
            double(is_wide ? number(g, k, std::int64_t(i)) : float(number(g, k, std::int64_t(i)))))
          g = -1;
    });
    return g;
  }
  void save(std::string const& path) {
    nn::save_checkpoint(path, weights(), slots(), counters(), at);
  }
  void load(std::string const& path, nn::load what = nn::load::whole) {
    at = nn::load_checkpoint(path, weights(), slots(), counters(), what);
  }
};
using host_toy = toy<CpuDevice>;

/// File functions of which the n-th call fails; writes before it may be short.
struct failing {
  inline static int calls = 0, fails_at = -1;
  static bool fail() {
    if (calls++ != fails_at) return false;
    errno = EIO;
    return true;
  }
  static constexpr runtime::file_functions functions{
      [](char const* path, int flags, mode_t mode) {
        return fail() ? -1 : runtime::system_files.open(path, flags, mode);
      },
      [](char const* path, struct stat* what) {
        return fail() ? -1 : runtime::system_files.look(path, what);
      },
      [](int file, struct stat* what) {
        return fail() ? -1 : runtime::system_files.status(file, what);
      },
      [](int file, mode_t mode) { return fail() ? -1 : runtime::system_files.permit(file, mode); },
      [](int file, void const* from, std::size_t bytes) -> ssize_t {
        if (!fail()) return runtime::system_files.write(file, from, bytes > 300 ? 300 : bytes);
        return runtime::system_files.write(file, from, bytes / 2) * 0 -
               1;  // half of it, and no more
      },
      [](int file) { return fail() ? -1 : runtime::system_files.sync(file); },
      [](int file) {
        return fail() ? (runtime::system_files.close(file), -1) : runtime::system_files.close(file);
      },
      [](char const* from, char const* to) {
        return fail() ? -1 : runtime::system_files.rename(from, to);
      }};
  explicit failing(int n) {
    calls = 0, fails_at = n;
    runtime::files = &functions;
  }
  failing(failing const&) = delete;
  ~failing() { runtime::files = &runtime::system_files; }
};

std::string bytes_of(std::string const& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

}  // namespace

TEST_CASE("a checkpoint of any number of replicas is one of any other, to the bit") {
  folder const here;
  locus::testing::simulated_gpus const four{4};
  std::string first;
  auto save_with = [&](auto model) {
    std::string const path = here / "c";
    model.save(path);
    if (first.empty()) first = bytes_of(path);
    CHECK(bytes_of(path) == first);  // the file does not say how many there were
    auto load_with = [&](auto other) {
      other.load(path);
      CHECK(other.generation() == 5);
      CHECK(other.at.epoch == 5);
      CHECK(other.at.step == 50);
      CHECK(other.at.step_of_epoch == 3);
      CHECK(other.at.seed == 7);
      CHECK(other.at.data_seed == 9);
      for (int r = 0; r < other.kernel.replica_count(); ++r)
        locus::internal::require_equal_copies(*other.kernel.block.get());
    };
    load_with(host_toy(11));
    load_with(toy<GpuDevice<2>>(11));
    load_with(toy<replicas::mirrored<2>>(11));
    load_with(toy<replicas::mirrored<3>>(11));
    load_with(toy<Mirrored<AllGpus>>(11));
  };
  save_with(host_toy(11, 5));
  save_with(toy<GpuDevice<2>>(11, 5));
  save_with(toy<replicas::mirrored<2>>(11, 5));
  save_with(toy<replicas::mirrored<3>>(11, 5));
  save_with(toy<Mirrored<AllGpus>>(11, 5));
  if constexpr (checked_build) {
    toy<Mirrored<Cpu<0>, Cpu<1>>> apart(11, 5);
    auto& second = apart.kernel.block.get()->pieces[1];
    static_cast<float*>(second.data)[4] = 0;
    CHECK(message_of<bad_access>([&] { apart.save(here / "apart"); }).find("element 4") !=
          std::string::npos);
    CHECK(access((here / "apart").c_str(), F_OK) != 0);
  }
}

TEST_CASE("a checkpoint of another model is refused with what differs, and nothing has changed") {
  folder const here;
  std::string const path = here / "c";
  host_toy(4, 2).save(path);
  host_toy wide(5, 1);
  auto refusal = [&](auto&& f) {
    std::string const text = message_of<bad_file>(f);
    CHECK(text.starts_with("locus: " + path));
    return text.substr(std::min(text.size(), 7 + path.size()));
  };
  CHECK(refusal([&] { wide.load(path); }) ==
        " is of another model: dense/kernel: f4(3,4) in the file, f4(3,5) in the model; "
        "dense/bias: f4(4) in the file, f4(5) in the model; norm/mean: f8(4) in the file, f8(5) in "
        "the model. Load it into the model that saved it, or give another path");
  CHECK(wide.generation() == 1);

  host_toy m(4, 1);
  auto load = [&](std::vector<nn::stored> weights, std::vector<nn::stored> slots,
                  std::vector<nn::counter> counters, nn::load what = nn::load::whole) {
    return refusal([&] { nn::load_checkpoint(path, weights, slots, counters, what); });
  };
  auto renamed = m.weights();
  renamed[1].name = "dense/beta";
  CHECK(load(renamed, m.slots(), m.counters()) ==
        " is of another model: dense/beta: the file has none; dense/bias: only in the file. Load "
        "it into the model that saved it, or give another path");
  auto momentum = m.slots();
  momentum[0].name = "adam/m/dense/kernel";
  CHECK(load(m.weights(), momentum, {}) ==
        " is of another optimizer: adam/m/dense/kernel: the file has none; sgd/dense/kernel: only "
        "in the file. Load it into the model that saved it, or give another path");
  CHECK(m.generation() == 1);

  nn::save_checkpoint(path, host_toy(4, 3).weights(), {}, {}, {});
  CHECK(load(m.weights(), m.slots(), m.counters()) ==
        ": it holds no state of an optimizer; load the weights alone with load::weights, and train "
        "on with a fresh optimizer");
  CHECK(m.generation() == 1);
  m.load(path, nn::load::weights);
  CHECK(m.iterations == 10);
  CHECK(m.kernel(0) == float(host_toy::number(3, 0, 0)));
  CHECK(m.velocity(0) == float(host_toy::number(1, 3, 0)));

  data::npz_writer(path).add("locus_checkpoint", std::int64_t(2)).save();
  CHECK(
      load(m.weights(), {}, {}) ==
      ": it is a checkpoint of version 2, this locus reads version 1; read it with the locus that "
      "wrote it");
  nn::export_weights(path, m.weights());
  CHECK(load(m.weights(), {}, {}) ==
        ": it is no checkpoint of locus; read arrays of other programs with import_weights");
  host_toy other(4, 8);
  nn::import_weights(path, other.weights());
  CHECK(other.kernel(0) == m.kernel(0));
  CHECK(other.velocity(0) == float(host_toy::number(8, 3, 0)));
}

TEST_CASE("a damaged or truncated checkpoint is refused, and the model is as it was") {
  folder const here;
  std::string const path = here / "c";
  host_toy(4, 2).save(path);
  std::string const good = bytes_of(path);
  host_toy m(4, 1);
  auto load = [&](std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return message_of<bad_file>([&] { m.load(path); });
  };
  for (std::size_t n = 0; n < good.size(); n += 1 + n / 40) {
    std::string const text = load(good.substr(0, n));
    INFO(n, " bytes: ", text);
    CHECK(text.starts_with("locus: " + path + ": expected "));
  }
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    INFO("byte ", i);
    m.fill(1);
    bool const loaded = load(changed) == nothing_thrown;
    CHECK(m.generation() == (loaded ? 2 : 1));
  }
}

TEST_CASE("whichever call fails while a checkpoint is written, the one before is there") {
  folder const here;
  std::string const path = here / "c";
  host_toy(30, 1).save(path);
  host_toy second(30, 2), m(30);
  int failures = 0, late = 0;
  for (int n = 0;; ++n) {
    std::string text;
    {
      failing const at{n};
      text = message_of<bad_file>([&] { second.save(path); });
    }
    INFO("call ", n, ": ", text);
    m.load(path);
    CHECK(here.files() == 1);
    if (text == nothing_thrown) {
      CHECK(m.generation() == 2);
      break;
    }
    ++failures;
    REQUIRE(text.find("Input/output error") != std::string::npos);
    if (m.generation() == 2) {  // the name was changed already: the new one as a whole
      ++late;
      CHECK(text.find("the new file is there") != std::string::npos);
      host_toy(30, 1).save(path);
    } else {
      CHECK(m.generation() == 1);
      CHECK(text.find("what was there before is unchanged") != std::string::npos);
    }
  }
  CHECK(failures > 30);
  CHECK(late == 3);  // closing it, opening its folder, syncing that
}

TEST_CASE("two writers of one checkpoint do not meet, and what a killed one left is taken over") {
  folder const here;
  std::string const path = here / "c";
  {
    runtime::atomic_file first(path);
    CHECK(message_of<bad_file>([&] { host_toy(4).save(path); }) ==
          "locus: " + path +
              ": another writer is at work on it; let it finish, or give another path");
    first.write("abc", 3);
  }
  CHECK(here.files() == 0);
  std::ofstream(path + ".part") << std::string(100000, 'x');
  host_toy(4, 3).save(path);
  host_toy m(4);
  m.load(path);
  CHECK(m.generation() == 3);
  CHECK(here.files() == 1);
}

TEST_CASE("a child saves checkpoints until it is killed" * doctest::skip()) {
  std::string const path = std::getenv("LOCUS_TEST_CHECKPOINT");
  for (int g = std::atoi(std::getenv("LOCUS_TEST_GENERATION"));; ++g) {
    host_toy(2000, g).save(path);
    if (write(3, &g, sizeof g) != sizeof g) return;
  }
}

TEST_CASE("200 kills at random moments lose no checkpoint and leave no half of one") {
  folder const here;
  std::string const path = here / "c";
  std::mt19937 random(20240607);
  int last = 1, killed_in_a_save = 0, saved = 0;
  host_toy(2000, last).save(path);
  host_toy m(2000);
  for (int k = 0; k < 200; ++k) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::string const settings[] = {"LOCUS_TEST_CHECKPOINT=" + path,
                                    "LOCUS_TEST_GENERATION=" + std::to_string(last + 1),
                                    "OMP_NUM_THREADS=1", "LOCUS_QUIET=1"};
    std::vector<char*> variables;
    for (auto const& s : settings) variables.push_back(const_cast<char*>(s.c_str()));
    variables.push_back(nullptr);
    char const* arguments[] = {"child", "--test-case=a child saves*", "--no-skip", nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 3);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, "/proc/self/exe", &files, nullptr,
                        const_cast<char* const*>(arguments), variables.data()) == 0);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    pollfd started{ends[0], POLLIN, 0};
    if (random() % 8 != 0) poll(&started, 1, 20000);  // else it dies before its first save, maybe
    usleep(static_cast<useconds_t>(random() % 5000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    int told = last;
    for (int g; read(ends[0], &g, sizeof g) == sizeof g; ++saved) told = g;
    close(ends[0]);

    killed_in_a_save += access((path + ".part").c_str(), F_OK) == 0;
    m.load(path);  // throws if it is a half
    int const g = m.generation();
    INFO("kill ", k, ": it told of ", told, ", there is ", g);
    REQUIRE((g == told || g == told + 1));
    last = g;
  }
  CHECK(killed_in_a_save > 20);
  CHECK(saved > 100);
  CHECK(here.files() <= 2);
  MESSAGE(saved << " saves, " << killed_in_a_save << " of 200 kills within one");
}

}  // namespace checkpoint_test

// SPDX-License-Identifier: Apache-2.0
// Training beside other programs: steps in a second with one and with two threads, on idle processors
// and beside busy processes, in turn within each round. Prints medians and ratios of rounds; ends with
// 1 where a goal is missed.
//     shared_machine [rounds: 9] [seconds of a slice: 0.4] [busy processes: 4]
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include <locus/data/batches.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>

using namespace locus;

namespace {

std::uint32_t next_number() {
  static std::uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

/// the step of bench/host/training.cpp
constexpr int vocabulary = 30979, length = 300, classes = 46;
auto make_text_cnn() {
  nn::Sequential const model{nn::Embedding<7, length>{vocabulary},
                             nn::Conv1D<64, 5>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Conv1D<32, 3>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Flatten{},
                             nn::Dense<classes>{}};
  return nn::compile<CpuDevice>(model, nn::Nadam{},
                                nn::SparseCategoricalCrossentropy{nn::from_logits});
}
class text_cnn {
  static constexpr int rows = 32, batches = 32;
  decltype(make_text_cnn()) network_ = make_text_cnn();
  std::vector<Tensor<std::int32_t, Dextents<2>>> x_;
  std::vector<Tensor<std::int32_t, Dextents<1>>> y_;
  std::size_t at_ = 0;

 public:
  static constexpr char const* name = "text CNN, batch 32";
  text_cnn() {
    for (int k = 0; k < batches; ++k) {
      x_.emplace_back(Dextents<2>(rows, length)), y_.emplace_back(Dextents<1>(rows));
      for (int i = 0; i < rows * length; ++i)
        x_.back().data()[i] = static_cast<std::int32_t>(next_number() % vocabulary);
      for (int i = 0; i < rows; ++i)
        y_.back().data()[i] = static_cast<std::int32_t>(next_number() % classes);
    }
  }
  void step() {
    network_.train_on_batch(x_[at_], y_[at_]);
    at_ = (at_ + 1) % batches;
  }
};

/// the step of examples/04_mirrored_fashion_mnist.cpp: two replicas, batch 64
class main_job {
  using Replicas = Mirrored<GpuDevice<0>, GpuDevice<1>>;
  static constexpr int rows = 64, batches = 32;
  Tensor<float, Extents<784, 128>, Replicas> w1_{
      to<Replicas>(uniform<float>(Extents<784, 128>{}, seed{1}) * 0.16f - 0.08f)};
  Tensor<float, Extents<128, 10>, Replicas> w2_{
      to<Replicas>(uniform<float>(Extents<128, 10>{}, seed{2}) * 0.4f - 0.2f)};
  Tensor<float, Extents<>, Replicas> loss_{to<Replicas>(zeros<float>(Extents<>{}))};
  Tensor<float, Extents<dyn, 784>> images_;
  Tensor<std::uint8_t, Dextents<1>> labels_;

  template <class Images, class Labels>
  void learn(Images const& x, Labels const& label) {
    let(relu(matmul(x, w1_)), [&](auto h) {
      let(matmul(h, w2_), [&](auto logits) {
        let((softmax(logits) - one_hot<10>(label)) / global_batch(x), [&](auto d) {
          auto const dh = where(h > 0.f, matmul(d, transpose(w2_)), 0.f);
          run(plan(into(w2_, w2_ - 0.01f * matmul(transpose(h), d)),
                   into(w1_, w1_ - 0.01f * matmul(transpose(x), dh)),
                   into(loss_, loss_ - sum(one_hot<10>(label) * log_softmax(logits)))));
        });
      });
    });
  }

 public:
  static constexpr char const* name = "784-128-10 network, 2 replicas, 32 batches of 64";
  main_job()
      : images_(uniform<float>(Extents<dyn, 784>(rows * batches), seed{3})),
        labels_(rows * batches) {
    for (int i = 0; i < rows * batches; ++i)
      labels_.data()[i] = static_cast<std::uint8_t>(next_number() % 10);
  }
  void step() {
    auto sets = data::batches({.batch_size = rows, .seed = 3}, images_, labels_);
    for (auto const& [x, label] : distribute<Replicas>(sets)) learn(x, label);
  }
};

/// Processes that compute while told to.
class busy_processes {
  int* told_;

 public:
  explicit busy_processes(int count)
      : told_(static_cast<int*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    for (int k = 0; k < count; ++k)
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned n = 0;; ++n)
          if (__atomic_load_n(told_, __ATOMIC_RELAXED) == 0)
            usleep(1000);
          else
            for (int volatile i = 0; i < 10000;) i = i + 1;
      }
  }
  void work(bool yes) {
    __atomic_store_n(told_, yes ? 1 : 0, __ATOMIC_RELAXED);
    usleep(20000);
  }
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

bool good = true;
void print(char const* what, std::vector<double> const& over, std::vector<double> const& under,
           double goal) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < over.size(); ++i) ratios.push_back(over[i] / under[i]);
  double const m = median(ratios);
  std::printf("  %-58s %5.2f (%.2f to %.2f), goal %.2f%s\n", what, m,
              *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()), goal, m < goal ? "  MISSED" : "");
  good = good && m >= goal;
}

template <class Job>
void measure(busy_processes& others, int rounds, double seconds) {
  Job job;
  for (int k = 0; k < 3; ++k) job.step();
  auto const speed = [&](int threads) {  // steps in a second
    config::set_intra_op_parallelism_threads(threads);
    double const begin = seconds_now();
    double now = begin;
    int steps = 0;
    for (; now - begin < seconds; ++steps, now = seconds_now()) job.step();
    return steps / (now - begin);
  };
  std::vector<double> of[2][2];  // idle or beside the others; one thread or two
  for (int r = 0; r < rounds; ++r)
    for (int busy : {0, 1}) {
      others.work(busy == 1);
      int const first = r % 2;
      of[busy][first].push_back(speed(1 + first));
      of[busy][1 - first].push_back(speed(2 - first));
    }
  others.work(false);
  std::printf(
      "%s: steps/s, idle %.4g with one thread, %.4g with two; beside the others %.4g, %.4g\n",
      Job::name, median(of[0][0]), median(of[0][1]), median(of[1][0]), median(of[1][1]));
  print("two threads beside the others / idle", of[1][1], of[0][1], 0.25);
  print("two threads / one thread, beside the others", of[1][1], of[1][0], 0.9);
  print("two threads / one thread, idle", of[0][1], of[0][0], 0.97);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  double const seconds = argc > 2 ? std::atof(argv[2]) : 0.4;
  busy_processes others(argc > 3 ? std::atoi(argv[3]) : 4);
  measure<text_cnn>(others, rounds, seconds);
  measure<main_job>(others, rounds, seconds);
  return good ? 0 : 1;
}

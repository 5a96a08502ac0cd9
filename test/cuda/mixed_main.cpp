// SPDX-License-Identifier: Apache-2.0
// Tensors, errors, devices and kernels cross between a unit of the host compiler and one of nvcc: on
// what is there, on simulated GPUs and on recorded ones.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <locus/testing/count.hpp>
#include <locus/testing/recorder.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <string>

#include "mixed.hpp"

namespace {

int failures = 0;
void check(bool holds, char const* what, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__, __LINE__)

template <class F>
bool throws_bad_access(F f) {
  try {
    f();
  } catch (locus::bad_access const& e) {
    return std::strstr(e.what(), "moved from") != nullptr;
  }
  return false;
}

/// sum of (2 (first + i) + 0.5)^2 over 15 elements, in double
double expected_total(double first) {
  double sum = 0;
  for (int i = 0; i < 15; ++i) sum += (2 * (first + i) + 0.5) * (2 * (first + i) + 0.5);
  return sum;
}

void exchange() {
  Grid from_host = host_unit::make_grid(5, 1.f), from_cuda = cuda_unit::make_grid(5, 7.f);
  Grid a = cuda_unit::scaled(from_host, 2.f), b = host_unit::scaled(from_cuda, 2.f);
  CHECK(std::abs(host_unit::total(a) - expected_total(1)) < 1e-2);
  CHECK(std::abs(cuda_unit::total(a) - expected_total(1)) < 1e-2);
  CHECK(std::abs(host_unit::total(b) - expected_total(7)) < 1e-2);
  CHECK(std::abs(cuda_unit::total(b) - expected_total(7)) < 1e-2);

  auto host_gram = host_unit::gram(from_cuda), cuda_gram = cuda_unit::gram(from_cuda);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int k = 0; k < 5; ++k) sum += (7. + 3 * k + i) * (7. + 3 * k + j);
      CHECK(std::abs(host_gram(i, j) - sum) < 1e-3);
      CHECK(std::abs(cuda_gram(i, j) - sum) < 1e-3);
    }

  Copies mirrored({1, 2, 3, 4});
  host_unit::average(mirrored, from_host);
  CHECK(locus::fetch(mirrored)(3) == 120.f);
  cuda_unit::average(mirrored, from_cuda);
  CHECK(locus::fetch(mirrored)(3) == 210.f);

  CHECK(throws_bad_access(host_unit::misuse));
  CHECK(throws_bad_access(cuda_unit::misuse));
}

/// What f wrote to stderr.
template <class F>
std::string said(F f) {
  std::fflush(stderr);
  int pipe_ends[2], before = dup(2);
  CHECK(pipe(pipe_ends) == 0);
  dup2(pipe_ends[1], 2), close(pipe_ends[1]);
  f();
  dup2(before, 2), close(before);
  std::string text(65536, '\0');
  auto const n = read(pipe_ends[0], text.data(), text.size());
  close(pipe_ends[0]);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
std::string refused(void (*f)()) {
  try {
    f();
  } catch (locus::no_kernel_in_unit const& e) {
    return e.what();
  }
  return "nothing was thrown";
}
std::int64_t round_trips() { return locus::runtime::host_round_trips; }

double fourth_power(double v) { return v * v * v * v; }
/// elements of a grid, on the host
bool holds(Grid const& x, double (*expected)(int row, int column)) {
  auto const here = locus::fetch(x);
  for (int i = 0; i < int(x.extent(0)); ++i)
    for (int j = 0; j < 3; ++j)
      if (std::abs(double(here(i, j)) - expected(i, j)) > 1e-6 * std::abs(expected(i, j)))
        return false;
  return true;
}

/// what only the unit of the host compiler does
void alone() {
  Grid x = host_unit::make_grid(5, 1.f);
  CHECK(holds(host_unit::cubed(x, 2.f),
              [](int i, int j) { return std::pow(1. + 3 * i + j, 3) + 2; }));
  CHECK(host_unit::centred(x, true) == 3.f);  // 2 (1 - 2) + 5
  CHECK(host_unit::centred(x, false) == 3.f);
  CHECK(holds(host_unit::fourth(x), [](int i, int j) { return fourth_power(1. + 3 * i + j); }));
  double sum = 0;
  for (int k = 1; k <= 15; ++k) sum += 0.5 * fourth_power(k);
  CHECK(std::abs(host_unit::scaled_fourth_sum(x, 0.5f) - sum) < 1e-6 * sum);
  CHECK(holds(host_unit::fourth_of_local_functor(x),
              [](int i, int j) { return fourth_power(1. + 3 * i + j); }));
  host_unit::fourth_of_middle(x);
  CHECK(holds(x, [](int i, int j) {
    double const v = 1. + 3 * i + j;
    return j == 1 ? fourth_power(v) : v;
  }));
  host_unit::fourth_in_place(x);
  CHECK(holds(x, [](int i, int j) {
    double const v = fourth_power(1. + 3 * i + j);
    return j == 1 ? fourth_power(v) : v;
  }));
  auto const turned = host_unit::turned(x);
  CHECK(turned(2, 1) == 1296.f);
}

/// on GPUs that are there: kernels of the other unit, else the host, said and counted
void beside_gpus() {
  Grid x = host_unit::make_grid(5, 1.f);  // iota: a kernel that the other unit has too
  auto before = round_trips();
  host_unit::cubed(x, 1.f), host_unit::gram(x), host_unit::turned(x), host_unit::scaled(x, 2.f);
  host_unit::total(x);
  CHECK(round_trips() == before);
  CHECK(host_unit::centred(x, true) == 3.f);
  CHECK(round_trips() == before);
  CHECK(locus::testing::count_round_trips([&] { CHECK(host_unit::centred(x, false) == 3.f); }) ==
        1);
  before = round_trips();
  CHECK(locus::testing::count_round_trips([&] { host_unit::fourth(x); }) == 1);
  CHECK(round_trips() == before + 1);
  host_unit::scaled_fourth_sum(x, 2.f);
  CHECK(round_trips() == before + 2);

  locus::config::set_soft_device_placement(false);
  std::string const text = refused([] {
    Grid y = cuda_unit::make_grid(5, 1.f);
    host_unit::fourth(y);
  });
  CHECK(has(text, "(fourth) on /GPU:0: no unit of this program made a GPU kernel for it"));
  CHECK(has(text, "mixed_host.cpp with nvcc"));
  CHECK(has(text, "LOCUS_INSTANTIATE("));
  CHECK(has(refused([] {
              Grid y = cuda_unit::make_grid(5, 1.f);
              host_unit::fourth_of_local_functor(y);
            }),
            "unnamed namespace"));
  CHECK(holds(host_unit::cubed(x, 0.f), [](int i, int j) { return std::pow(1. + 3 * i + j, 3); }));
  locus::config::set_soft_device_placement(true);
  CHECK(round_trips() == before + 2);
  locus::debugging::set_log_device_placement(true, locus::log_frequency::every);
  std::string const log = said([&] { host_unit::fourth(x), host_unit::fourth(x); });
  locus::debugging::set_log_device_placement(false);
  auto const first = log.find("of /GPU:0 runs on the host");
  CHECK(first != std::string::npos);
  CHECK(log.find("of /GPU:0 runs on the host", first + 1) != std::string::npos);
}

/// the n-th call of CUDA fails in a round trip: an error, nothing is left behind
void failing_round_trip() {
  for (int n = 0; n < 40; ++n) {
    locus::testing::recorder r{{.cards = 1}};
    {
      Grid x = host_unit::make_grid(5, 1.f);
      (void)locus::fetch(x);
      r.fail_at(n);
      bool threw = false;
      try {
        host_unit::fourth_in_place(x);
      } catch (locus::device_lost const&) {
        threw = true;
      }
      CHECK(threw == r.failed() || r.failed_call() == "get_device" ||
            r.failed_call() == "free_async");
      r.fail_at(-1);
      if (!r.failed()) n = 40;
    }
  }
}

}  // namespace

int main() {
  CHECK(host_unit::table_of_devices() == cuda_unit::table_of_devices());
  bool const gpus = locus::config::count_logical_gpus() > 0;
  exchange(), alone();
  if (gpus) beside_gpus();
  {
    locus::testing::simulated_gpus two{2, {.seed = 7}};
    exchange(), alone();
  }
  for (int cards = 1; cards <= 2; ++cards) {
    locus::testing::recorder some{{.cards = cards}};
    std::string const told = said([] { exchange(), alone(); });
    if (cards == 1 && !gpus && !locus::runtime::is_quiet()) {
      CHECK(has(told, "(fourth) of /GPU:0 runs on the host"));
      CHECK(!has(told, "(cube)"));
    }
    beside_gpus();
  }
  failing_round_trip();
  exchange();
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}

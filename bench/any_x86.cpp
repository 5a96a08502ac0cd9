// SPDX-License-Identifier: Apache-2.0
// What any_x86.sh builds twice: kernels of the host, one line each: name, microseconds of the processor.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/optimizers/row_update.hpp>

using namespace locus;

namespace {

double seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
template <class F>
void time_of(char const* name, F const& f) {
  f(), f();
  double best = 1;
  for (int round = 0; round < 15; ++round) {
    double const begin = seconds();
    for (int k = 0; k < 8; ++k) f();
    best = std::min(best, (seconds() - begin) / 8);
  }
  std::printf("%s %.4g\n", name, best * 1e6);
}
struct own_functor {
  float operator()(float v) const { return v > 0.5f ? v * v + 1 : -v; }
};

}  // namespace

int main() {
  using vector = Tensor<float, Dextents<1>>;
  auto const e = dextents<1>(65536);
  vector const a(uniform<float>(e, 1)), b(uniform<float>(e, 2)), c(uniform<float>(e, 3));
  vector y(zeros<float>(e));
  auto const shape = dextents<2>(200, 500);
  Tensor<float, Dextents<2>> const m(uniform<float>(shape, 4));
  Tensor<float, Dextents<2>> s(zeros<float>(shape));
  vector rows(dextents<1>(200)), columns(dextents<1>(500));
  time_of("chain", [&] { y = exp(-a * a) * sin(a) + log1p(b); });
  time_of("softmax", [&] { s = softmax(m); });
  time_of("sum", [&] {
    float volatile total = fetch(on<CpuDevice>(sum(a)));
    (void)total;
  });
  time_of("row_sums", [&] { rows = sum<1>(m); });
  time_of("column_sums", [&] { columns = sum<0>(m); });
  std::vector<float> w(65536, 1), momentum(65536), velocity(65536), gradient(65536, 0.5f);
  nn::host::row_gradient<float, 3> t{{w.data(), momentum.data(), velocity.data()},
                                     {w.data(), momentum.data(), velocity.data()}};
  t.elements = 65536, t.dense = gradient.data();
  nn::adam_rule<float> const adam{0.1f, 0.001f, 0.001f, 0, 1, 1e-7f};
  time_of("adam", [&] { nn::host::update_rows(adam, t); });
#define LOCUS_ONE(name, ...) time_of(name, [&] { y = __VA_ARGS__; });
#include "any_x86_expressions.hpp"
}

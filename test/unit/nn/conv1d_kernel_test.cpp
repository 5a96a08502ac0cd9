// SPDX-License-Identifier: Apache-2.0
// The kernels of convolutions along one axis against loops in double: random odd sizes, every
// padding, strides, dilations, groups, pools; guards around what is written.
#include <doctest/doctest.h>
#include <oracle.hpp>
#include <worst_of.hpp>

#include <locus/config/settings.hpp>
#include <locus/nn/kernels/conv1d_backward.hpp>
#include <locus/nn/kernels/window.hpp>

using namespace locus;
using nn::conv_geometry;

namespace {

template <class T>
struct case_of {
  conv_geometry s;
  std::int64_t batch;
  std::vector<T> x, w, bias, dy;
};
template <class T>
std::vector<T> random_numbers(oracle::random& r, std::int64_t n) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& e : v) e = r.value<T>(-1, 1);
  return v;
}

template <class T>
case_of<T> random_case(oracle::random& r) {
  std::int64_t const groups = r.number(0, 3) ? 1 : r.number(2, 3);
  conv_geometry s;
  std::int64_t const steps = r.number(1, 150);
  s.channels = groups * r.number(1, groups > 1 ? 5 : 40);
  s.filters = groups * r.number(1, groups > 1 ? 12 : 40), s.groups = groups;
  nn::window_steps along{r.number(1, 6)};
  if (r.number(0, 2) == 0) along.stride = r.number(1, 3);
  if (r.number(0, 2) == 0) along.dilation = r.number(1, 3);
  s.pool = r.number(0, 1) ? 2 : r.number(1, 3), s.relu = r.number(0, 2) > 0;
  s.h = along.over(steps, nn::padding(r.number(0, 2)));
  std::int64_t const batch = s.images = r.number(0, 5);
  return {s,
          batch,
          random_numbers<T>(r, batch * s.h.in * s.channels),
          random_numbers<T>(r, s.kernel_size()),
          random_numbers<T>(r, s.filters),
          random_numbers<T>(r, batch * s.rows() * s.filters)};
}

template <class T>
std::string text_of(case_of<T> const& k) {
  std::string text;
  for (std::int64_t n :
       {k.batch, k.s.h.in, k.s.channels, k.s.filters, k.s.h.size, k.s.h.stride, k.s.h.dilation,
        k.s.groups, k.s.h.before, k.s.h.out, k.s.pool, std::int64_t(k.s.relu)})
    text += std::to_string(n) + " ";
  return text;
}

/// what the kernels should give, and the sums of absolute values that errors are measured by
struct expected {
  std::vector<double> y, y_all, dw, dw_all, db, db_all, dx, dx_all;
};
template <class T>
expected by_loops(case_of<T> const& k, std::vector<unsigned char> const& winners,
                  std::vector<T> const& y) {
  conv_geometry const& s = k.s;
  expected e;
  e.y.resize(y.size()), e.y_all = e.y;
  e.dw.resize(k.w.size()), e.dw_all = e.dw;
  e.db.resize(k.bias.size()), e.db_all = e.db;
  e.dx.resize(k.x.size()), e.dx_all = e.dx;
  std::int64_t const cg = s.group_channels(), fg = s.group_filters();
  for (std::int64_t b = 0; b < k.batch; ++b)
    for (std::int64_t i = 0; i < s.rows(); ++i)
      for (std::int64_t f = 0; f < s.filters; ++f) {
        auto const at = std::size_t((b * s.rows() + i) * s.filters + f);
        double best = s.relu ? 0 : -1e300, all = 1;
        for (std::int64_t p = 0; p < s.pool; ++p) {
          double sum = k.bias[std::size_t(f)];
          auto const each = [&](auto&& visit) {
            for (std::int64_t t = 0; t < s.h.size; ++t)
              for (std::int64_t c = 0; c < cg; ++c) {
                std::int64_t const step =
                    (i * s.pool + p) * s.h.stride + t * s.h.dilation - s.h.before;
                if (step < 0 || step >= s.h.in) continue;
                visit(std::size_t((b * s.h.in + step) * s.channels + f / fg * cg + c),
                      std::size_t((t * cg + c) * s.filters + f));
              }
          };
          each([&](std::size_t from, std::size_t weight) {
            sum += double(k.x[from]) * double(k.w[weight]);
            all += std::fabs(double(k.x[from]) * double(k.w[weight]));
          });
          best = std::max(best, sum);
          bool const won = s.pool > 1 ? winners[at] == p + 1 : !s.relu || y[at] > 0;
          if (!won) continue;
          double const g = k.dy[at];
          e.db[std::size_t(f)] += g, e.db_all[std::size_t(f)] += std::fabs(g);
          each([&](std::size_t from, std::size_t weight) {
            e.dw[weight] += g * double(k.x[from]);
            e.dw_all[weight] += std::fabs(g * double(k.x[from]));
            e.dx[from] += g * double(k.w[weight]);
            e.dx_all[from] += std::fabs(g * double(k.w[weight]));
          });
        }
        e.y[at] = best, e.y_all[at] = all;
      }
  return e;
}
/// a result between guards
template <class T>
struct guarded {
  std::vector<T> cells;
  explicit guarded(std::size_t n) : cells(n + 64, T(77)) {}
  T* data() { return cells.data() + 32; }
  std::vector<T> values() const { return {cells.begin() + 32, cells.end() - 32}; }
  bool intact() const {
    for (std::size_t i = 0; i < 32; ++i)
      if (cells[i] != T(77) || cells[cells.size() - 1 - i] != T(77)) return false;
    return true;
  }
};
template <class T>
double worst(std::vector<T> const& is, std::vector<double> const& want,
             std::vector<double> const& all) {
  double most = is.size() == want.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < is.size() && most < 1e9; ++i)
    most = worst_of(most, std::fabs(double(is[i]) - want[i]) / (all[i] + 1e-30));
  return most;
}

template <class T>
void check(int cases) {
  oracle::random r(sizeof(T));
  double const least = sizeof(T) == 4 ? 1e-6 : 2e-15;
  for (int n = 0; n < cases; ++n) {
    case_of<T> const k = random_case<T>(r);
    conv_geometry const& s = k.s;
    std::string const what = text_of(k);
    CAPTURE(what);
    guarded<T> y(k.dy.size()), dw(k.w.size()), db(k.bias.size()), dx(k.x.size());
    guarded<unsigned char> winners(k.dy.size());
    nn::host::conv1d<T>(s, k.x.data(), k.w.data(), k.bias.data(), y.data(),
                        s.pool > 1 ? winners.data() : nullptr);
    nn::host::conv1d_backward<T>(s, k.x.data(), k.w.data(), y.data(),
                                 s.pool > 1 ? winners.data() : nullptr, k.dy.data(), dw.data(),
                                 db.data(), dx.data());
    expected const e = by_loops(k, winners.values(), y.values());
    REQUIRE(worst(y.values(), e.y, e.y_all) < least);
    REQUIRE(worst(dw.values(), e.dw, e.dw_all) < least * 3);
    REQUIRE(worst(db.values(), e.db, e.db_all) < least * 3);
    REQUIRE(worst(dx.values(), e.dx, e.dx_all) < least);
    REQUIRE((y.intact() && winners.intact() && dw.intact() && db.intact() && dx.intact()));
    bool cut_off = true;  // 0 exactly where relu cuts off
    auto const ys = y.values();
    auto const wins = winners.values();
    for (std::size_t i = 0; s.pool > 1 && s.relu && i < ys.size(); ++i)
      cut_off &= (wins[i] == 0) == (ys[i] == 0);
    REQUIRE(cut_off);
  }
}

}  // namespace

TEST_CASE("convolutions along one axis and their gradients agree with loops in double") {
  check<float>(250);
  check<double>(120);
}

TEST_CASE("no bit of a convolution or of its gradients depends on the number of threads") {
  oracle::random r(3);
  std::int64_t const batch = 19;
  conv_geometry const s{{batch, {90, 5, 1, 1, 0, 86}, {}, 7}, 64, 1, 2, true};
  auto const x = random_numbers<float>(r, batch * 90 * 7),
             w = random_numbers<float>(r, s.kernel_size()), bias = random_numbers<float>(r, 64),
             dy = random_numbers<float>(r, batch * 43 * 64);
  std::vector<float> first;
  for (int threads : {1, 2, 3, 7}) {
    config::set_intra_op_parallelism_threads(threads);
    std::vector<float> y(dy.size()), all(w.size() + 64 + x.size());
    std::vector<unsigned char> winners(dy.size());
    nn::host::conv1d<float>(s, x.data(), w.data(), bias.data(), y.data(), winners.data());
    nn::host::conv1d_backward<float>(s, x.data(), w.data(), nullptr, winners.data(), dy.data(),
                                     all.data(), all.data() + w.size(), all.data() + w.size() + 64);
    all.insert(all.end(), y.begin(), y.end());
    if (threads == 1) first = all;
    CHECK(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)) == 0);
  }
  config::set_intra_op_parallelism_threads(0);
}

TEST_CASE("NaN passes through bias, relu and pool, and wins") {
  conv_geometry const s{{1, {4, 1, 1, 1, 0, 4}, {}, 1}, 1, 1, 2, true};
  float const nan = __builtin_nanf(""), x[] = {1, nan, nan, 2}, w[] = {1}, bias[] = {0};
  float y[2];
  unsigned char winners[2];
  nn::host::conv1d<float>(s, x, w, bias, y, winners);
  CHECK((y[0] != y[0] && y[1] != y[1]));
  CHECK((winners[0] == 2 && winners[1] == 1));
}

// SPDX-License-Identifier: Apache-2.0
// The kernel of rows of the CUDA path, block by block on the host: rows of any length, address and
// stride, by warps and by blocks, kept in shared memory or read again.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <cmath>
#include <oracle.hpp>
#include <run_body.hpp>
#include <worst_of.hpp>

#include <locus/locus.hpp>

using namespace locus;

namespace {

template <class T, class F, class... Args>
using apply_of = kernel::apply<T, F, Args...>;
template <class Top>
using stage_of = kernel::stage<type_list<>, type_list<Top>>;
template <reduction R, class T, class Top>
using fold_of = host::row_fold<kernel::reducer<R, T>, stage_of<Top>>;

/// m = max(x), s = sum(x - m): out = (x - m) / s
template <class T>
using centred = apply_of<T, subtract_fn, kernel::input<0, T>, kernel::fold_value<0, T>>;
template <class T>
using scaled_rows =
    rows_work<true,
              type_list<fold_of<reduction::max, T, kernel::input<0, T>>,
                        fold_of<reduction::sum, T, centred<T>>>,
              stage_of<apply_of<T, divide_fn, centred<T>, kernel::fold_value<1, T>>>,
              type_list<kernel::elements_of<T>>, type_list<>, type_list<T>, true>;
/// one number of each row: sum(x - m) + y
template <class T>
using row_sums =
    rows_work<false,
              type_list<fold_of<reduction::max, T, kernel::input<0, T>>,
                        fold_of<reduction::sum, T, centred<T>>>,
              stage_of<apply_of<T, add_fn, kernel::fold_value<1, T>, kernel::input<0, T>>>,
              type_list<kernel::elements_of<T>>, type_list<kernel::elements_of<T>>, type_list<T>,
              true>;

unsigned teams_seen = 0;
template <class Work>
void run(Work const& work) {
  cuda_kernel<Work>::choose(work, [](auto const& body, unsigned blocks) {
    teams_seen |= body.team();
    cuda_side::run_body<std::remove_cvref_t<decltype(body)>>(&body, blocks,
                                                             cuda_side::block_threads);
  });
}

/// rows of x at an address off by `shift` elements, `gap` elements apart, `step` within
template <class T>
struct rows_case {
  std::int64_t rows, length, shift, gap, step;
  std::vector<T> x, out, y;
  rows_case(std::int64_t r, std::int64_t n, std::int64_t off, std::int64_t between,
            std::int64_t stride, unsigned seed)
      : rows(r), length(n), shift(off), gap(between), step(stride) {
    x.assign(std::size_t(shift + rows * line()), T(-77));
    out.assign(x.size(), T(-77)), y.assign(std::size_t(rows), T(0));
    oracle::random random(seed);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < length; ++j) x[at(i, j)] = random.value<T>(-4, 4);
    for (T& v : y) v = random.value<T>(-4, 4);
  }
  std::int64_t line() const { return length * step + gap; }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return std::size_t(shift + i * line() + j * step);
  }
  template <class Work>
  Work work() {
    typename Work::fold_list const folds;
    (void)folds;
    auto const n = length;
    pack<fold_of<reduction::max, T, kernel::input<0, T>>, fold_of<reduction::sum, T, centred<T>>>
        both{{{{}, n, -1}}, {{{}, n, -1}}};
    Work w(both, {});
    w.over.rank = 2, w.over.extent[0] = rows, w.over.extent[1] = length;
    for (auto& a : w.operands) a = {};
    w.operands[0].data = x.data() + shift;
    w.operands[0].stride[0] = line(), w.operands[0].stride[1] = step;
    return w;
  }
};

template <class T>
void check(std::int64_t rows, std::int64_t n, std::int64_t shift, std::int64_t gap,
           std::int64_t step) {
  INFO("rows ", rows, " of ", n, ", off by ", shift, ", gaps ", gap, ", stride ", step);
  rows_case<T> c(rows, n, shift, gap, step, 1), plain(rows, n, 0, 0, 1, 1);
  auto elements = c.template work<scaled_rows<T>>();
  elements.operands[1] = elements.operands[0];
  elements.operands[1].data = c.out.data() + shift;
  run(elements);
  auto sums = c.template work<row_sums<T>>();
  auto aligned = plain.template work<row_sums<T>>();
  std::vector<T> got(std::size_t(rows), T(-77)), same(std::size_t(rows), T(-77));
  for (auto* w : {&sums, &aligned}) w->operands[1].stride[0] = w->operands[2].stride[0] = 1;
  sums.operands[1].data = aligned.operands[1].data = c.y.data();
  sums.operands[2].data = got.data(), aligned.operands[2].data = same.data();
  run(sums), run(aligned);
  CHECK(got == same);  // in bits: where the row lies changes nothing
  double worst = 0, worst_sum = 0;
  bool untouched = true;
  for (std::int64_t i = 0; i < rows; ++i) {
    long double most = -100, sum = 0, size = 0;
    for (std::int64_t j = 0; j < n; ++j) most = std::max<long double>(most, c.x[c.at(i, j)]);
    for (std::int64_t j = 0; j < n; ++j) {
      long double const off = T(c.x[c.at(i, j)] - T(most));
      sum += off, size -= off;
    }
    auto const off_by = [](long double is, long double want) {
      return double(std::fabs(is - want));
    };
    worst_sum = worst_of(worst_sum,
                         off_by(got[std::size_t(i)], sum + c.y[std::size_t(i)]) / double(size + 4));
    for (std::int64_t j = 0; j < n && n > 1; ++j) {
      long double const want = T(c.x[c.at(i, j)] - T(most)) / sum;
      worst = worst_of(worst, off_by(c.out[c.at(i, j)], want) / (1e-30 + double(std::fabs(want))));
    }
  }
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    auto const k = std::int64_t(i) - shift;
    bool const inside = k >= 0 && k % c.line() < n * step && k % c.line() % step == 0;
    untouched = untouched && (inside || c.out[i] == T(-77));
  }
  CHECK(untouched);
  CHECK(worst <= 4 * oracle::ulp<T>);
  CHECK(worst_sum <= 2 * oracle::ulp<T>);
}

}  // namespace

TEST_CASE("rows: any length, address and stride") {
  teams_seen = 0;
  for (std::int64_t n : {1, 2, 7, 32, 129, 500, 2001, 4096, 5003})
    for (std::int64_t shift : {0, 1, 3})
      for (std::int64_t gap : {0, 4, 1}) {
        check<float>(3, n, shift, gap, 1);
        check<double>(2, n, shift, gap, shift == 1 ? 2 : 1);
      }
  for (std::int64_t n : {3, 200, 512, 513}) check<float>(1030, n, 1, 0, 1);
  for (std::int64_t n : {1500, 3001}) check<float>(512, n, 0, 0, 1);
  CHECK(teams_seen == (63 | 64 | 128 | 256));  // every power of two to a warp, and a block
}

TEST_CASE("rows: NaN goes through, an empty row sums to nothing") {
  rows_case<float> c(2, 70, 0, 0, 1, 3);
  c.x[c.at(1, 69)] = NAN;
  auto w = c.work<row_sums<float>>();
  float got[2]{};
  w.operands[1].data = c.y.data(), w.operands[2].data = got;
  w.operands[1].stride[0] = w.operands[2].stride[0] = 1;
  run(w);
  CHECK(got[0] == got[0]);
  CHECK(got[1] != got[1]);
  w.over.extent[1] = 0;
  for_each_index<2>([&](auto k) { get<k>(w.folds).extent = 0; });
  run(w);
  CHECK(got[0] == c.y[0]);
  CHECK(got[1] == c.y[1]);
}

// SPDX-License-Identifier: Apache-2.0
// Convolutions on GPUs are products of cuBLAS: the host's numbers where these are whole, rounding elsewhere, on
// random shapes; cut into slabs of any size; their workspace is counted. Channels by themselves make no product.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>

#include <locus/nn/layers/conv1d_ops.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>
#include <message_of.hpp>
#include <oracle.hpp>
#include <worst_of.hpp>

namespace convolution_test {

using namespace locus;
using namespace locus::nn;

namespace slabs {  // operations of kernels have names

/// one convolution whose slabs are so small that there are many
struct Conv2d : conv2d_op {
  std::int64_t rows = 1;
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x, tile<T const> w,
            tile<T const> b) const {
    cards::window_slabs<T> s(window.over(x));
    s.rows = rows;
    cards::conv2d(here, s, y.data, x.data, w.data, {b.data, true, T(0), T(6)});
  }
};
struct Conv2dKernelGradient : conv2d_kernel_gradient_op {
  std::int64_t rows = 1;
  template <class T>
  void card(card_context& here, tile<T> dw, tile<T const> x, tile<T const> dy) const {
    cards::window_slabs<T> s(window.over(x));
    s.rows = rows;
    cards::conv_kernel_gradient<T>(
        here, s, dw.data, nullptr, x.data,
        [&](std::int64_t first, std::int64_t) { return dy.data + first * window.filters; });
  }
};
struct Conv2dInputGradient : conv2d_input_gradient_op {
  std::int64_t images = 1, lines = 1;
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> dy, tile<T const> w) const {
    cards::input_slabs<T> s(geometry(dy));
    s.images = images, s.lines = lines;
    cards::conv_input_gradient(
        here, s, dx.data,
        [&](std::int64_t first, std::int64_t) { return dy.data + first * window.filters; }, w.data);
  }
};
struct Conv1d : conv1d_op {
  std::int64_t pools = 1;
  template <class T>
  void card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
            tile<T const> w, tile<T const> b) const {
    cards::window_slabs<T> cut(window.over(x).without_unread(), window.pool);
    cut.rows = pools * window.pool;
    cards::conv1d(here, cut, x.data, w.data, b.data, y.data, winner.data);
  }
};
struct Conv1dGradient : conv1d_gradient_op {
  std::int64_t rows = 1, lines = 1;
  template <class T, class Marks>
  void card(card_context& here, tile<T> dx, tile<T> dw, tile<T> db, tile<T const> x,
            tile<T const> w, tile<Marks const> marks, tile<T const> dy) const {
    cards::window_slabs<T> windows(window.over(x).without_unread());
    cards::input_slabs<T> inputs(windows.of);
    windows.rows = rows, inputs.images = 1, inputs.lines = lines;
    locus::nn::detail::conv1d_slope<T, Marks> const slope{windows.of, marks.data, dy.data};
    cards::conv1d_backward(here, windows, inputs, x.data, w.data, dy.data, slope, dx.data, dw.data,
                           db.data);
  }
};

}  // namespace slabs

namespace {

using G = GpuDevice<0>;
template <class T, int Rank, class Where = CpuDevice>
using array = Tensor<T, Dextents<Rank>, Where>;

template <class T, class E>
Tensor<T, E> made(oracle::random& r, E const& e, bool whole = true) {
  Tensor<T, E> a{e};
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.data()[i] = whole ? T(r.number(-3, 3)) : T(r.real(-1, 1));
  return a;
}
template <class To, class A, class F>
auto each_of(A const& a, F const& f) {
  Tensor<To, typename A::extents_type> b{a.extents()};
  for (std::int64_t i = 0; i < a.size(); ++i) b.data()[i] = f(To(a.data()[i]));
  return b;
}
template <class To>
constexpr auto as_it_is = [](To v) { return v; };
template <class To>
constexpr auto without_sign = [](To v) { return std::abs(v); };

template <class A, class B>
bool same(A const& a, B const& b) {
  auto const there = to<CpuDevice>(b);
  if (a.size() != there.size()) return false;
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (!(a.data()[i] == there.data()[i])) return false;
  return true;
}
template <class E>
auto on_host(E const& e) {
  return to<CpuDevice>(on<CpuDevice>(e));
}
/// the host's bits
template <class Op, class... A>
void check_whole(Op const& op, A const&... in) {
  CHECK(same(on_host(call(op, in...)), call(op, to<G>(in)...)));
}
/// the sums of double, to rounding; op is linear in each operand
template <class T, class Op, class... A>
void check_rounding(Op const& op, double units, A const&... in) {
  auto const is = to<CpuDevice>(call(op, to<G>(each_of<T>(in, as_it_is<T>))...));
  auto const want =
      on_host(call(op, each_of<double>(each_of<T>(in, as_it_is<T>), as_it_is<double>)...));
  auto const size = on_host(call(op, each_of<double>(in, without_sign<double>)...));
  double worst = 0;
  for (std::int64_t i = 0; i < want.size(); ++i)
    worst = worst_of(worst, std::abs(double(is.data()[i]) - double(want.data()[i])) /
                                (double(size.data()[i]) + 1e-30));
  double const unit = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
  CAPTURE(worst / unit);
  CHECK(worst <= units * unit);
}

struct images {
  conv_window window;
  std::int64_t n, h, w, c;
  explicit images(oracle::random& r) {
    auto any = [&] { return window_steps{r.number(1, 4), r.number(1, 3), r.number(1, 2)}; };
    window = {any(), any(), r.number(0, 1) ? padding::same : padding::valid};
    if (r.number(0, 4) == 0) window.h = window.w = {};
    window.groups = r.number(0, 2) ? 1 : r.number(2, 3);
    std::int64_t const some[] = {1, 3, 4, 5, 8};
    c = window.groups * some[r.number(window.groups > 1, 4)];
    window.filters = window.groups * some[r.number(0, 4)];
    n = r.number(1, 3), h = r.number(7, 11), w = r.number(7, 9);
  }
  conv_geometry over() const { return window.over(n, h, w, c); }
  shape one() const { return {3, {h, w, c}}; }
};
/// what a convolution of images takes, and a slope of its result
template <class T>
struct operands {
  array<T, 4> x;
  array<T, 1> w, b;
  array<T, 4> dy;
  operands(oracle::random& r, images const& i, bool whole) : operands(r, i, i.over(), whole) {}

 private:
  operands(oracle::random& r, images const& i, conv_geometry const& g, bool whole)
      : x(made<T>(r, Dextents<4>(i.n, i.h, i.w, i.c), whole)),
        w(made<T>(r, Dextents<1>(g.kernel_size()), whole)),
        b(made<T>(r, Dextents<1>(g.filters), whole)),
        dy(made<T>(r, Dextents<4>(i.n, g.h.out, g.w.out, g.filters), whole)) {}
};
struct signals {
  conv_window window;
  std::int64_t n, steps, c;
  explicit signals(oracle::random& r, bool relu) {
    window.h = {r.number(1, 5), r.number(1, 2), r.number(1, 2)};
    window.groups = r.number(1, 2), window.filters = window.groups * r.number(1, 5);
    window.pool = r.number(1, 3), window.pad = static_cast<padding>(r.number(0, 2));
    window.relu = relu;
    n = r.number(1, 3), steps = r.number(20, 33), c = window.groups * 2 * r.number(1, 3);
  }
  conv_geometry over() const { return window.over(n, steps, 1, c); }
};

/// both results of a convolution with its pool, and the three of its gradient, against the host's
template <class Forward, class Backward>
void check_signals(oracle::random& r, signals const& s, Forward const& forward,
                   Backward const& backward) {
  conv_geometry const z = s.over();
  auto const x = made<float>(r, Dextents<3>(s.n, s.steps, s.c));
  auto const w = made<float>(r, Dextents<1>(z.kernel_size())),
             b = made<float>(r, Dextents<1>(z.filters));
  Dextents<3> const out(s.n, z.rows(), z.filters);
  array<float, 3> y{out};
  array<std::uint8_t, 3> marks{out};
  auto const here = call(forward, x, w, b);
  run(plan(into(y, on<CpuDevice>(result<0>(here))), into(marks, on<CpuDevice>(result<1>(here)))));
  array<float, 3, G> y_there{out};
  array<std::uint8_t, 3, G> marks_there{out};
  auto const xg = to<G>(x);
  auto const wg = to<G>(w), bg = to<G>(b);
  auto const there = call(forward, xg, wg, bg);
  run(plan(into(y_there, result<0>(there)), into(marks_there, result<1>(there))));
  CHECK(same(y, y_there));
  CHECK(same(marks, marks_there));
  CHECK(same(y, result<0>(there)));
  CHECK(same(marks, result<1>(there)));

  auto const dy = made<float>(r, out);
  auto const gradient = [&](auto const& m, auto const& m_there) {
    auto const d = call(backward, x, w, m, dy);
    auto const want_dx = on_host(result<0>(d));
    auto const want_dw = on_host(result<1>(d));
    auto const want_db = on_host(result<2>(d));
    auto const g = call(backward, xg, wg, m_there, to<G>(dy));
    array<float, 3, G> dx{Dextents<3>(s.n, s.steps, s.c)};
    array<float, 1, G> dw{Dextents<1>(z.kernel_size())}, db{Dextents<1>(z.filters)};
    run(plan(into(dx, result<0>(g)), into(dw, result<1>(g)), into(db, result<2>(g))));
    CHECK(same(want_dx, dx));
    CHECK(same(want_dw, dw));
    CHECK(same(want_db, db));
    CHECK(same(want_db, result<2>(g)));
    CHECK(same(want_dx, result<0>(g)));
  };
  if (z.pool > 1)
    gradient(marks, marks_there);
  else
    gradient(y, y_there);
}

}  // namespace

TEST_CASE("convolutions of images on GPUs have the host's numbers") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      CAPTURE(seed);
      oracle::random r(seed);
      images const i(r);
      operands<float> const o(r, i, true);
      activation const hows[] = {activation::linear, activation::relu, activation::relu6};
      check_whole(conv2d_op{i.window, r.number(0, 1) != 0, hows[r.number(0, 2)]}, o.x, o.w, o.b);
      check_whole(conv2d_input_gradient_op{i.window, i.one()}, o.dy, o.w);
      check_whole(conv2d_kernel_gradient_op{i.window}, o.x, o.dy);
      check_whole(slabs::Conv2d{{i.window, true, activation::relu6}, r.number(1, 40)}, o.x, o.w,
                  o.b);
      check_whole(slabs::Conv2dKernelGradient{{i.window}, r.number(1, 40)}, o.x, o.dy);
      check_whole(slabs::Conv2dInputGradient{{i.window, i.one()}, 1, r.number(1, 8)}, o.dy, o.w);
      check_whole(slabs::Conv2dInputGradient{{i.window, i.one()}, 2, i.h}, o.dy, o.w);
    }
  });
}

TEST_CASE("their sums are those of double, to rounding") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      CAPTURE(seed);
      oracle::random r(seed);
      images const i(r);
      operands<double> const o(r, i, false);
      auto const check = [&]<class T>(T) {
        check_rounding<T>(conv2d_op{i.window}, 40, o.x, o.w, o.b);
        check_rounding<T>(conv2d_input_gradient_op{i.window, i.one()}, 40, o.dy, o.w);
        check_rounding<T>(conv2d_kernel_gradient_op{i.window}, 60, o.x, o.dy);
      };
      check(float());
      check(double());
    }
  });
}

TEST_CASE("convolutions along one axis on GPUs have the host's numbers, pools and winners") {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      CAPTURE(seed);
      oracle::random r(seed);
      signals const s(r, seed % 2 != 0);
      check_signals(r, s, conv1d_op{s.window}, conv1d_gradient_op{s.window});
      check_signals(r, s, slabs::Conv1d{{s.window}, r.number(1, 9)},
                    slabs::Conv1dGradient{{s.window}, r.number(1, 30), r.number(1, 9)});
    }
  });
}

TEST_CASE("slabs: every line once, all lines of dy that they need, no more memory than they say") {
  oracle::random r(11);
  for (int k = 0; k < 2000; ++k) {
    images const i(r);
    conv_geometry const g = i.over();
    cards::input_slabs<float> s(g);
    s.images = r.number(1, 3), s.lines = s.images > 1 ? g.h.in : r.number(1, g.h.in);
    std::int64_t lines = 0, most = 0;
    bool has_all = true;
    s.each([&](cards::input_slab const& one) {
      lines += one.images * one.lines;
      std::int64_t const n = one.images * (one.high - one.low) * g.w.out;
      most = n > most ? n : most;
      for (std::int64_t line = one.line; line < one.line + one.lines; ++line)
        for (std::int64_t t = 0; t < g.h.size; ++t) {
          std::int64_t const o = g.h.result(line, t);
          has_all = has_all && (o < 0 || (o >= one.low && o < one.high));
        }
    });
    CHECK(lines == g.images * g.h.in);
    CHECK(has_all);
    CHECK(most <= s.rows());
  }
  // short rows, those of 32 MiB, longer ones, and one that is longer than a slab
  CHECK(cards::rows_of_slab(4) == 8 << 20);
  CHECK(cards::rows_of_slab(4096) == 8192);
  CHECK(cards::rows_of_slab(16 << 10) == 4096);
  CHECK(cards::rows_of_slab(128 << 20) == 1);
  conv_window w{{3, 1, 1}, {3, 1, 1}, padding::same};
  cards::input_slabs<float> const large(w.over(4, 1000, 1000, 64));
  CHECK(large.images == 1);
  CHECK(large.lines == 12);  // 14 lines of dy, of 2304 KB each
  CHECK(large.memory() * 4 <= 64 << 20);
  // a slab has no fewer lines than a window: where those of dy are long it is larger than 64 MiB
  w.h = w.w = {7, 1, 1};
  cards::input_slabs<float> const long_lines(w.over(4, 1000, 1000, 64));
  CHECK(long_lines.lines == 7);
  CHECK(long_lines.rows() == 13 * 1000);
  CHECK(long_lines.memory() * 4 == 163'072'000);
  for (std::int64_t size : {1, 3, 7, 15})
    for (std::int64_t stride : {1, 2})
      for (std::int64_t width : {10, 224, 4000})
        for (std::int64_t channels : {1, 64, 512}) {
          w.h = w.w = {size, stride, 1};
          conv_geometry const g = w.over(3, 300, width, channels);
          std::int64_t const line = g.w.out * size * size * channels * 4,
                             most = (2 * g.h.span() - 1) * line;
          CHECK(cards::input_slabs<float>(g).memory() * 4 <= (most > 64 << 20 ? most : 64 << 20));
          std::int64_t lines = 0;
          cards::input_slabs<float>(g).each(
              [&](cards::input_slab const& s) { lines += s.images * (s.high - s.low); });
          CHECK(lines < 2 * g.images * g.h.out);
        }
}

TEST_CASE("images that are larger than a kernel counts are refused, whatever is large") {
  std::int64_t const large = (std::int64_t(1) << 30) + 1;
  auto const refused = [](conv_geometry const& g, char const* what = "of more than 2^30 lines") {
    auto const text = message_of<shape_error>([&] { cards::window_slabs<float>{g}; });
    CHECK(text == message_of<shape_error>([&] { cards::input_slabs<float>{g}; }));
    CHECK(text.find(what) != std::string::npos);
  };
  conv_window w;
  refused(w.over(1, large, 1, 1));
  refused(w.over(1, 1, large, 1));
  refused(w.over(1, 1, large / 2 + 1, 2));
  w.pad = padding::same, w.w = {2, 1, large};
  refused(w.over(1, 4, 4, 1));
  w.w = {1, large, 1};
  refused(w.over(1, 4, 4, 1));
  CHECK(cards::window_slabs<float>(conv_window{}.over(1, large - 1, 1, 9)).rows == large - 1);
  w.w = w.h = {1000, 1, 1};
  refused(w.over(1, 1000, 1000, 2200), "windows of more than 2^30 numbers");
  // a slab of dx is no larger either
  w.w = w.h = {1, 1000, 1};
  cards::input_slabs<float> const sparse(w.over(5000, 1000, 1000, 4));
  CHECK(sparse.images * sparse.lines * 1000 * 4 <= large);
}

#if !LOCUS_DEVICE_CODE  // what only a recorder can do
namespace {
/// calls of a kind that a convolution of these channels and groups makes, there and back
std::int64_t calls_of(testing::recorder const& record, char const* kind, std::int64_t channels,
                      std::int64_t groups) {
  oracle::random r(5);
  conv_window w{{3, 1, 1}, {3, 1, 1}, padding::same};
  w.filters = channels, w.groups = groups;
  conv_geometry const g = w.over(2, 6, 6, channels);
  auto const x = to<G>(made<float>(r, Dextents<4>(2, 6, 6, channels)));
  auto const k = to<G>(made<float>(r, Dextents<1>(g.kernel_size())));
  auto const before = record.calls(kind);
  (void)to<CpuDevice>(call(conv2d_op{w, false}, x, k, k));
  (void)to<CpuDevice>(call(conv2d_input_gradient_op{w, {3, {6, 6, channels}}}, x, k));
  (void)to<CpuDevice>(call(conv2d_kernel_gradient_op{w}, x, x));
  return record.calls(kind) - before;
}
}  // namespace

TEST_CASE("a convolution is a product; of groups, of channels by themselves, at the session's "
          "precision") {
  testing::recorder record;
  CHECK(calls_of(record, "gemm", 8, 1) == 3);
  CHECK(calls_of(record, "gemm_batch", 8, 2) == 3);
  CHECK(calls_of(record, "gemm", 8, 8) == 0);
  CHECK(calls_of(record, "gemm_batch", 8, 8) == 0);
  config::set_matmul_precision(matmul_precision::high);
  CHECK(calls_of(record, "gemm_tf32", 8, 1) == 3);
  config::set_matmul_precision(matmul_precision::highest);
}

TEST_CASE(
    "windows are workspace, counted and there before the first step; those of one pixel are none") {
  testing::recorder record;
  oracle::random r(3);
  conv_window w{{3, 1, 1}, {3, 1, 1}, padding::same};
  w.filters = 8;
  auto const x = to<G>(made<float>(r, Dextents<4>(4, 16, 16, 4)));
  array<float, 4, G> y{Dextents<4>(4, 16, 16, 8)};
  auto const peak = [&](conv_window const& window) {
    auto const k = to<G>(made<float>(r, Dextents<1>(window.over(4, 16, 16, 4).kernel_size())));
    auto const b = to<G>(made<float>(r, Dextents<1>(8)));
    auto const step = plan(into(y, call(conv2d_op{window}, x, k, b)));
    run(step);
    auto const before = config::get_memory_info<G>().current;
    config::reset_memory_stats<G>();
    auto const obtained = record.calls("malloc_device");
    run(step);
    CHECK(record.calls("malloc_device") == obtained);
    return config::get_memory_info<G>().peak - before;
  };
  CHECK(peak(w) == 4 * 16 * 16 * 9 * 4 * 4);
  w.h = w.w = {};
  CHECK(peak(w) == 0);
}

TEST_CASE("whichever call of a convolution fails, the step is named and nothing is kept") {
  int failures = 0;
  for (int k = -1;; ++k) {  // -1: none, and the workspace is known from then on
    testing::recorder record;
    oracle::random r(3);
    conv_window w{{3, 1, 1}, {3, 1, 1}, padding::same};
    w.filters = 8;
    auto const x = to<G>(made<float>(r, Dextents<4>(2, 5, 5, 4)));
    auto const kernel = to<G>(made<float>(r, Dextents<1>(9 * 4 * 8))),
               b = to<G>(made<float>(r, Dextents<1>(8)));
    array<float, 4, G> y{Dextents<4>(2, 5, 5, 8)};
    record.fail_at(k);
    auto const text =
        message_of<device_lost>([&] { y = call(conv2d_op{w}, x, kernel, b), (void)fetch(sum(y)); });
    if (!record.failed() && k >= 0) break;
    if (record.failed_call() == "gemm") {
      ++failures;
      CHECK(text.find("conv2d") != std::string::npos);
    }
  }
  CHECK(failures == 1);
  CHECK(runtime::table.live_blocks == 0);
}
#endif

}  // namespace convolution_test

// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN, over a stand-in: what locus asks of it, what it does where cuDNN is not there, refuses or
// fails, and the stand-in's own rules. LOCUS_CUDNN is libcudnn.so.9.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <on_cards.hpp>

#include <doctest/doctest.h>

#include <worst_of.hpp>

#include <locus/locus.hpp>
#include <locus/nn/layers/conv1d_ops.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>

#include "child.hpp"
#include "on_card.hpp"
#include "oracle.hpp"
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

using namespace locus;
using namespace locus::nn;

#if __has_include(<cudnn.h>)
namespace {
using table = cuda_side::cudnn_table;
static_assert(table::channels_last == CUDNN_TENSOR_NHWC);
static_assert(table::cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(table::real_float == CUDNN_DATA_FLOAT && table::real_double == CUDNN_DATA_DOUBLE);
static_assert(table::real_half == CUDNN_DATA_HALF && table::real_bfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(table::default_math == CUDNN_DEFAULT_MATH && table::fused_math == CUDNN_FMA_MATH);
static_assert(table::converting_math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
static_assert(table::deterministic == CUDNN_DETERMINISTIC);
static_assert(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM == 0 &&
              CUDNN_CONVOLUTION_FWD_ALGO_GEMM == 2);
static_assert(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 == 1 && CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 == 1);
static_assert(sizeof(table::answer) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(offsetof(table::answer, workspace) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(table::answer, determinism) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));
static_assert(offsetof(table::answer, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
static_assert(sizeof(table::answer) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t) &&
              sizeof(table::answer) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
static_assert(CUDNN_STATUS_NOT_INITIALIZED == 1001 && CUDNN_STATUS_BAD_PARAM == 2000 &&
              CUDNN_STATUS_NOT_SUPPORTED == 3000 && CUDNN_STATUS_INTERNAL_ERROR == 4000 &&
              CUDNN_STATUS_EXECUTION_FAILED == 5000);
static_assert(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED == 4004);
}  // namespace
#endif

namespace {

using G = GpuDevice<0>;
template <class T, int Rank, class Where = CpuDevice>
using array = Tensor<T, Dextents<Rank>, Where>;

constexpr char const* functions[] = {"cudnnConvolutionForward", "cudnnConvolutionBackwardData",
                                     "cudnnConvolutionBackwardFilter"};
constexpr char const* chosen_by[] = {"cudnnGetConvolutionForwardAlgorithm_v7",
                                     "cudnnGetConvolutionBackwardDataAlgorithm_v7",
                                     "cudnnGetConvolutionBackwardFilterAlgorithm_v7"};
std::int64_t by_cudnn() {
  std::int64_t n = 0;
  for (char const* f : functions) n += ptx_calls(f);
  return n;
}
std::int64_t by_cublas() {
  std::int64_t n = 0;
  for (char const* f : {"cublasSgemm", "cublasDgemm", "cublasGemmEx", "cublasGemmStridedBatchedEx"})
    n += ptx_calls(f);
  return n;
}

template <class T, class E>
Tensor<T, E> made(oracle::random& r, E const& e) {
  Tensor<T, E> a{e};
  for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = T(float(r.number(-3, 3)));
  return a;
}
template <class A, class B>
double most_apart(A const& a, B const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    double const d = std::fabs(double(float(a.data()[i])) - double(float(b.data()[i])));
    most = worst_of(most, d);
  }
  return most;
}

/// A convolution and its operands, of whole numbers: sums are exact in floats.
template <class T, class Where = G>
struct trial {
  conv_window window;
  array<T, 4> x, dy;
  array<T, 1> kernel, bias;
  array<T, 4, Where> xg, dyg;
  array<T, 1, Where> kernelg, biasg;

  trial(conv_window const& w, std::int64_t n, std::int64_t h, std::int64_t columns, std::int64_t c,
        unsigned seed = 1)
      : trial(w, w.over(n, h, columns, c), oracle::random(seed)) {}

  /// how far apart y, dx and dkernel are from the host's
  double y() const { return apart(conv2d_op{window, true, activation::relu}, x, kernel, bias); }
  double dx() const {
    return apart(conv2d_input_gradient_op{window, {3, {x.extent(1), x.extent(2), x.extent(3)}}}, dy,
                 kernel);
  }
  double dkernel() const { return apart(conv2d_kernel_gradient_op{window}, x, dy); }
  double all() const { return std::fmax(y(), std::fmax(dx(), dkernel())); }

 private:
  trial(conv_window const& w, conv_geometry const& g, oracle::random r)
      : window(w), x(made<T>(r, Dextents<4>(g.images, g.h.in, g.w.in, g.channels))),
        dy(made<T>(r, Dextents<4>(g.images, g.h.out, g.w.out, g.filters))),
        kernel(made<T>(r, Dextents<1>(g.kernel_size()))), bias(made<T>(r, Dextents<1>(g.filters))),
        xg(to<Where>(x)), dyg(to<Where>(dy)), kernelg(to<Where>(kernel)), biasg(to<Where>(bias)) {}
  template <class Op, class... A>
  static double apart(Op const& op, A const&... in) {
    return most_apart(to<CpuDevice>(call(op, to<Where>(in)...)),
                      to<CpuDevice>(on<CpuDevice>(call(op, in...))));
  }
};

conv_window window_of(std::int64_t size, std::int64_t stride, std::int64_t dilation, padding pad,
                      std::int64_t filters = 4, std::int64_t groups = 1) {
  return {{size, stride, dilation}, {size, stride, dilation}, pad, filters, groups};
}
conv_window const plain = window_of(3, 1, 1, padding::same);

/// the same convolution in slabs of few bytes
struct SlabbedConv2d : conv2d_op {
  std::int64_t bytes = 1;
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x, tile<T const> w,
            tile<T const> b) const {
    cards::window_slabs<T> const slabs(window.over(x));
    cards::conv_cudnn<T> cudnn(here, cards::convolution_result::y, slabs.of, 1, bytes);
    cards::conv2d(here, slabs, y.data, x.data, w.data, {b.data, true, T(0), T(6)}, &cudnn);
  }
};
struct SlabbedInputGradient : conv2d_input_gradient_op {
  std::int64_t bytes = 1;
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> dy, tile<T const> w) const {
    conv_geometry const g = geometry(dy);
    cards::conv_cudnn<T> cudnn(here, cards::convolution_result::dx, g, 1, bytes);
    cards::conv_input_gradient(
        here, cards::input_slabs<T>(g), dx.data,
        [&](std::int64_t first, std::int64_t) { return dy.data + first * g.filters; }, w.data,
        &cudnn);
  }
};
struct SlabbedKernelGradient : conv2d_kernel_gradient_op {
  std::int64_t bytes = 1;
  template <class T>
  void card(card_context& here, tile<T> dw, tile<T const> x, tile<T const> dy) const {
    conv_geometry const g = window.over(x);
    cards::conv_cudnn<T> cudnn(here, cards::convolution_result::dkernel, g, 1, bytes);
    cards::conv_kernel_gradient<T>(
        here, cards::window_slabs<T>(g), dw.data, nullptr, x.data,
        [&](std::int64_t first, std::int64_t) { return dy.data + first * g.filters; }, &cudnn);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("y, dx and the kernel's gradient are calls of cuDNN, and the host's numbers", T,
                   float, double) {
  for (std::int64_t size : {2, 3})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t dilation : {1, 2})
        for (padding pad : {padding::valid, padding::same})
          for (std::int64_t groups : {1, 2}) {
            CAPTURE(size);
            CAPTURE(stride);
            CAPTURE(dilation);
            CAPTURE(int(pad));
            CAPTURE(groups);
            trial<T> const t(window_of(size, stride, dilation, pad, 4, groups), 2, 8, 7, 4);
            std::int64_t const before = by_cudnn(), products = by_cublas();
            CHECK(t.all() == 0);
            CHECK(by_cudnn() - before == 3);
            CHECK(by_cublas() == products);
          }
  CHECK(ptx_calls("convolutions by transforms") == 0);
}
TEST_CASE("along one axis: zeros in front alone, rows that no pool reads, a relu and a bias") {
  conv_window window{
      .h = {3}, .w = {}, .pad = padding::causal, .filters = 4, .pool = 2, .relu = true};
  oracle::random r(5);
  auto const x = made<float>(r, Dextents<3>(3, 9, 4));
  auto const w = made<float>(r, Dextents<1>(3 * 4 * 4)), b = made<float>(r, Dextents<1>(4));
  auto const dy = made<float>(r, Dextents<3>(3, 4, 4));
  auto const here = call(conv1d_op{window}, x, w, b);
  auto const marks = to<CpuDevice>(on<CpuDevice>(result<1>(here)));
  auto const there = call(conv1d_op{window}, to<G>(x), to<G>(w), to<G>(b));
  std::int64_t before = by_cudnn();
  CHECK(most_apart(to<CpuDevice>(result<0>(there)),
                   to<CpuDevice>(on<CpuDevice>(result<0>(here)))) == 0);
  CHECK(by_cudnn() - before == 1);
  before = by_cudnn();
  auto const back = call(conv1d_gradient_op{window}, x, w, marks, dy);
  auto const back_there =
      call(conv1d_gradient_op{window}, to<G>(x), to<G>(w), to<G>(marks), to<G>(dy));
  array<float, 3, G> dx{x.extents()};
  array<float, 1, G> dw{w.extents()}, db{b.extents()};
  run(plan(into(dx, result<0>(back_there)), into(dw, result<1>(back_there)),
           into(db, result<2>(back_there))));
  CHECK(by_cudnn() - before == 2);
  CHECK(most_apart(to<CpuDevice>(dx), to<CpuDevice>(on<CpuDevice>(result<0>(back)))) == 0);
  CHECK(most_apart(to<CpuDevice>(dw), to<CpuDevice>(on<CpuDevice>(result<1>(back)))) == 0);
  CHECK(most_apart(to<CpuDevice>(db), to<CpuDevice>(on<CpuDevice>(result<2>(back)))) == 0);
}
TEST_CASE("one pixel is a product, channels by themselves are neither") {
  std::int64_t before = by_cudnn(), products = by_cublas();
  CHECK(trial<float>(window_of(1, 1, 1, padding::valid), 2, 5, 5, 4).all() == 0);
  CHECK(by_cudnn() == before);
  CHECK(by_cublas() - products == 3);
  products = by_cublas();
  CHECK(trial<float>(window_of(3, 1, 1, padding::same, 4, 4), 2, 5, 5, 4).all() == 0);
  CHECK(by_cudnn() == before);
  CHECK(by_cublas() == products);
}
TEST_CASE("slabs of whole images, all alike; a slab begins with 16 bytes, or cuDNN is not asked") {
  for (std::int64_t n : {1, 6, 7}) {
    CAPTURE(n);
    conv_window const w = window_of(3, 2, 1, padding::same, 4);  // in a frame
    trial<float> const t(w, n, 6, 8, 4);
    auto const calls = [&](auto const& f) {
      std::int64_t const before = by_cudnn();
      f();
      return by_cudnn() - before;
    };
    auto const same = [&](auto const& op, auto const& plain_op, auto const&... in) {
      CHECK(most_apart(to<CpuDevice>(call(op, to<G>(in)...)),
                       to<CpuDevice>(on<CpuDevice>(call(plain_op, in...)))) == 0);
    };
    conv2d_op const forward{w, true, activation::relu6};
    conv2d_input_gradient_op const back{w, {3, {6, 8, 4}}};
    conv2d_kernel_gradient_op const kernel{w};
    std::int64_t const frame = (7 * 9 * 4 + 1) * 4;
    // one image, two, three
    for (auto [bytes, slabs] : {std::pair{std::int64_t(1), n}, std::pair{2 * frame, n == 6 ? 3 : n},
                                std::pair{3 * frame, n == 6 ? 2 : n}}) {
      CAPTURE(bytes);
      CHECK(calls([&] { same(SlabbedConv2d{forward, bytes}, forward, t.x, t.kernel, t.bias); }) ==
            slabs);
      CHECK(calls([&] { same(SlabbedInputGradient{back, bytes}, back, t.dy, t.kernel); }) == slabs);
      CHECK(calls([&] { same(SlabbedKernelGradient{kernel, bytes}, kernel, t.x, t.dy); }) == slabs);
    }
  }
  {  // eight images fit, and 13 are no multiple of more than one
    conv_window const w = window_of(3, 2, 1, padding::same, 4);
    trial<float> const t(w, 13, 6, 8, 4);
    std::int64_t const before = by_cudnn();
    conv2d_op const forward{w, true, activation::relu6};
    CHECK(most_apart(to<CpuDevice>(call(SlabbedConv2d{forward, 8 * (7 * 9 * 4 + 1) * 4}, t.xg,
                                        t.kernelg, t.biasg)),
                     to<CpuDevice>(on<CpuDevice>(call(forward, t.x, t.kernel, t.bias)))) == 0);
    CHECK(by_cudnn() == before);
  }
  conv_window const odd = window_of(3, 2, 1, padding::same, 3);
  trial<float> const t(odd, 4, 5, 5, 3);
  std::int64_t const before = by_cudnn();
  conv2d_op const forward{odd, true, activation::relu6};
  CHECK(most_apart(to<CpuDevice>(call(SlabbedConv2d{forward, 1}, t.xg, t.kernelg, t.biasg)),
                   to<CpuDevice>(on<CpuDevice>(call(forward, t.x, t.kernel, t.bias)))) == 0);
  CHECK(by_cudnn() == before);
}
TEST_CASE("images in the midst of 16 bytes are products of cuBLAS") {
  trial<float> const t(plain, 2, 4, 4, 4);
  array<float, 1, G> room{Dextents<1>(t.x.size() + 1)};
  auto const shifted = view<G>(room.data() + 1, t.x.extents());
  REQUIRE(cudaMemcpy(room.data() + 1, t.x.data(), std::size_t(t.x.size()) * sizeof(float),
                     cudaMemcpyDefault) == cudaSuccess);
  std::int64_t const before = by_cudnn(), products = by_cublas();
  conv2d_op const op{plain};
  CHECK(most_apart(to<CpuDevice>(call(op, shifted, t.kernelg, t.biasg)),
                   to<CpuDevice>(on<CpuDevice>(call(op, t.x, t.kernel, t.bias)))) == 0);
  CHECK(by_cudnn() == before);
  CHECK(by_cublas() > products);
}
TEST_CASE("floats are read whole, unless the session's products read 10 bits of fraction") {
  trial<float> const t(window_of(3, 1, 1, padding::same), 1, 4, 4, 4);
  std::int64_t const before = ptx_calls("convolutions of tf32");
  CHECK(t.all() == 0);
  CHECK(ptx_calls("convolutions of tf32") == before);
  config::set_matmul_precision(matmul_precision::high);
  CHECK(t.all() == 0);
  CHECK(ptx_calls("convolutions of tf32") - before == 3);
  config::set_matmul_precision(matmul_precision::highest);
  CHECK(t.all() == 0);
  CHECK(ptx_calls("convolutions of tf32") - before == 3);
}
TEST_CASE("a convolution is chosen once for its shape, and the workspace is there from then on") {
  conv_window const w = window_of(3, 1, 1, padding::same, 8);
  trial<float> const t(w, 4, 8, 8, 4);
  array<float, 4, G> y{Dextents<4>(4, 8, 8, 8)};
  auto const step = plan(into(y, call(conv2d_op{w}, t.xg, t.kernelg, t.biasg)));
  std::int64_t const choice = ptx_calls(chosen_by[0]);
  run(step);
  CHECK(ptx_calls(chosen_by[0]) - choice == 1);
  auto const before = config::get_memory_info<G>().current;
  config::reset_memory_stats<G>();
  auto const obtained = ptx_calls("cudaMalloc");
  run(step);
  CHECK(ptx_calls("cudaMalloc") == obtained);
  CHECK(ptx_calls(chosen_by[0]) - choice == 1);
  // what the stand-in wants, in whole units, and the turned kernel
  auto const round = [](std::int64_t n) { return (n + 255) / 256 * 256; };
  std::int64_t const wanted = round(1000) + round(9 * 4 * 8 * 4);
  CHECK(config::get_memory_info<G>().peak - before == wanted);
  config::set_matmul_precision(matmul_precision::high);  // which is another convolution
  run(step);
  // until cuDNN has computed it once there is memory for the products, too: of all windows
  CHECK(config::get_memory_info<G>().peak - before == wanted + 4 * 8 * 8 * 9 * 4 * 4);
  config::reset_memory_stats<G>();
  run(step);
  CHECK(config::get_memory_info<G>().peak - before == wanted);
  config::set_matmul_precision(matmul_precision::highest);
  CHECK(ptx_calls(chosen_by[0]) - choice == 2);
}
TEST_CASE("what cuDNN refuses, before or in the call, is a product of cuBLAS, now and later") {
  int number = 20;
  for (int k = 0; k < 3; ++k)
    for (char const* function : {chosen_by[k], functions[k], "cudnnCreateConvolutionDescriptor"})
      for (int status : {3000, 2000}) {
        CAPTURE(function);
        // a shape that nobody has asked for yet
        trial<float> const t(window_of(3, 1, 1, padding::same), 1, ++number, 4, 4);
        auto const one = [&] { return k == 0 ? t.y() : k == 1 ? t.dx() : t.dkernel(); };
        ptx_fail(function, 1, status);
        std::int64_t products = by_cublas();
        CHECK(one() == 0);
        CHECK(by_cublas() > products);
        products = by_cublas();
        std::int64_t const before = by_cudnn();
        CHECK(one() == 0);
        CHECK(by_cublas() > products);
        CHECK(by_cudnn() == before);
      }
}
TEST_CASE("refusals in the call in a process of its own" * doctest::skip()) {
  trial<float> const t(plain, 2, 6, 6, 4);
  for (int k = 0; k < 3; ++k) {
    ptx_fail(functions[k], 1, 3000);
    std::int64_t const products = by_cublas();
    CHECK((k == 0 ? t.y() : k == 1 ? t.dx() : t.dkernel()) == 0);
    CHECK(by_cublas() > products);
  }
  // a shape that cuDNN computes, and images of it that cuDNN cannot read
  trial<float> const even(plain, 2, 4, 4, 4);
  CHECK(even.y() == 0);
  array<float, 1, G> room{Dextents<1>(even.x.size() + 1)};
  auto const shifted = view<G>(room.data() + 1, even.x.extents());
  REQUIRE(cudaMemcpy(room.data() + 1, even.x.data(), std::size_t(even.x.size()) * sizeof(float),
                     cudaMemcpyDefault) == cudaSuccess);
  std::int64_t const products = by_cublas();
  CHECK(most_apart(to<CpuDevice>(call(conv2d_op{plain}, shifted, even.kernelg, even.biasg)),
                   to<CpuDevice>(on<CpuDevice>(
                       call(conv2d_op{plain}, even.x, even.kernel, even.bias)))) == 0);
  CHECK(by_cublas() > products);
}
TEST_CASE("the products of what cuDNN refuses find the workspace that was measured for them") {
  auto const log =
      child::run("refusals in the call in a process of its own", {"LOCUS_LOG_ALLOCATIONS=1"});
  CAPTURE(log.text);
  CHECK(log.code == 0);
  CHECK(log.says("the workspace of kernels"));
  CHECK_FALSE(log.says("the workspace of a kernel"));  // which no plan obtained
}
TEST_CASE("libraries are opened in a process of its own" * doctest::skip()) {
  array<float, 1, G> const x(ones<float>(dextents<1>{4}));
  REQUIRE(fetch(sum(x)) == 4);
  runtime::logical_device& d = runtime::table.gpu_devices[0];
  auto const is_open = [](char const* name) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    return library && dlclose(library) == 0;
  };
  auto const opens = [&](char const* name, auto const& use) {
    CHECK_FALSE(is_open(name));
    runtime::issue_lock.lock();
    std::thread user(use);
    for (int n = 0; n < 1000 && !is_open(name); ++n)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(is_open(name));
    runtime::issue_lock.unlock();
    user.join();
  };
  opens("libcudnn.so.9", [&] { CHECK(runtime::convolutions_of(d)); });
  opens("libcublas.so.13", [&] { CHECK(runtime::products_of(d).handle); });
}
TEST_CASE("libraries are opened while other threads give work to the cards") {
  auto const found = child::run("libraries are opened in a process of its own");
  CAPTURE(found.text);
  CHECK(found.code == 0);
}
TEST_CASE(
    "a call of cuDNN that fails is an error with its step; nothing is kept, the next is right") {
  trial<float> const t(window_of(3, 1, 1, padding::same), 1, 5, 6, 4);
  CHECK(t.all() == 0);
  auto const blocks = runtime::table.live_blocks;
  for (int k = 0; k < 3; ++k)
    for (int status : {5000, 4004, 4003, 4000, 7777}) {
      CAPTURE(k);
      CAPTURE(status);
      auto const one = [&] { return k == 0 ? t.y() : k == 1 ? t.dx() : t.dkernel(); };
      ptx_fail(functions[k], 1, status);
      std::string said;
      try {
        one();
      } catch (device_error const& e) {
        said = e.what();
      }
      CAPTURE(said);
      CHECK(said.find("locus: CUDA failed on /GPU:0 in cuDNN convolution: ") == 0);
      CHECK(said.find("conv2d") != said.npos);
      CHECK(said.find(status == 5000       ? "EXECUTION_FAILED"
                      : status / 10 == 400 ? (status == 4000 ? "INTERNAL_ERROR" : "ALLOC_FAILED")
                                           : "this locus does not know") != said.npos);
      CHECK(runtime::table.live_blocks == blocks);
      CHECK(one() == 0);
    }
}
TEST_CASE("a choice of cuDNN that fails is an error; nothing is kept, and it is asked again") {
  for (int k = 0; k < 3; ++k)
    for (int status : {4004, 5000}) {
      CAPTURE(k);
      // a shape that nobody has asked for yet
      trial<float> const t(window_of(3, 1, 1, padding::same), 1, 40 + k, status == 4004 ? 6 : 7, 4);
      auto const one = [&] { return k == 0 ? t.y() : k == 1 ? t.dx() : t.dkernel(); };
      ptx_fail(chosen_by[k], 1, status);
      CHECK_THROWS_AS(one(), device_error);
      std::int64_t const before = by_cudnn();
      CHECK(one() == 0);
      CHECK(by_cudnn() == before + 1);
    }
}
TEST_CASE_TEMPLATE("a handle computes each type, and halves with sums of floats", T, float, double,
                   half, bfloat16) {
  void* made_handle = nullptr;
  REQUIRE(cuda_side::make_dnn_handle(cuda_side::cudnn_table::instance(), &made_handle) == 0);
  auto* const handle = static_cast<cuda_side::dnn_handle*>(made_handle);
  runtime::cuda_convolution c;
  c.type = element_of_v<T>, c.images = 1, c.channels = 300, c.filters = 2;
  c.h = c.w = {.in = 3, .size = 3, .out = 1}, c.most_workspace = 1 << 20;
  std::vector<T> const x(9 * 300, T(1.f)), kernel(2 * 9 * 300, T(0.5f));
  on_card<T> a(x), b(kernel), y(std::vector<T>(2, T(1.f)));
  on_card<char> memory(1000);
  runtime::cuda_convolution_choice choice;
  CHECK(handle->ask(c, &choice) == 0);
  CHECK(choice.workspace == 1000);
  CHECK_FALSE(choice.was_computed);
  for (bool adds : {false, true}) {
    runtime::cuda_convolution_arrays const arrays{
        a.p, b.p, y.p, adds, nullptr, memory.p, choice.workspace};
    CHECK(handle->convolve(c, arrays) == 0);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    T const wanted(adds ? 1350.f + float(T(1350.f)) : 1350.f);
    for (T v : y.values()) CHECK(float(v) == float(wanted));
    CHECK(handle->ask(c, &choice) == 0);
    CHECK(choice.was_computed);
  }
  delete handle;
}
TEST_CASE("a handle keeps 128 choices and asks again for the oldest") {
  void* made_handle = nullptr;
  REQUIRE(cuda_side::make_dnn_handle(cuda_side::cudnn_table::instance(), &made_handle) == 0);
  auto* const handle = static_cast<cuda_side::dnn_handle*>(made_handle);
  runtime::cuda_convolution c;
  c.channels = c.filters = 4, c.h = c.w = {.in = 3, .size = 3, .out = 1},
  c.most_workspace = 1 << 20;
  runtime::cuda_convolution_choice choice;
  std::int64_t const before = ptx_calls(chosen_by[0]);
  auto const ask = [&](int images) {
    c.images = images;
    CHECK(handle->ask(c, &choice) == 0);
    return ptx_calls(chosen_by[0]) - before;
  };
  for (int turn = 0; turn < 2; ++turn)
    for (int n = 1; n <= 128; ++n) ask(n);
  CHECK(ask(128) == 128);
  CHECK(ask(129) == 129);
  CHECK(ask(2) == 129);
  CHECK(ask(1) == 130);
  c.w.stride = 0;  // an error in the caller
  c.images = 1;
  CHECK(handle->ask(c, &choice) == runtime::cuda_api::of_cudnn + 2000);
  delete handle;
}
TEST_CASE("in a process of its own" * doctest::skip()) {
  debugging::set_log_device_placement(true);
  trial<float> const t(window_of(3, 2, 1, padding::same), 2, 6, 6, 4);
  CHECK(t.all() == 0);
  CHECK(t.all() == 0);
  CHECK(trial<float>(window_of(3, 1, 1, padding::valid), 2, 6, 6, 4).all() == 0);
  CHECK(trial<float>(window_of(3, 1, 1, padding::same), 1, 28, 28, 2).y() == 0);
  std::printf("cuDNN %d, cuBLAS %d, version %d\n", int(by_cudnn()), int(by_cublas() > 0),
              config::versions().cudnn);
}
TEST_CASE(
    "a cuDNN that is named computes all, one that is found large images; without one products do, "
    "and one line says why") {
  struct way {
    char const *named, *version, *says, *calls;
  };
  char const *const none = "cuDNN 0, cuBLAS 1, version 0\n",
                    *const all = "cuDNN 10, cuBLAS 0, version 91900\n",
                    *const large = "cuDNN 1, cuBLAS 1, version 91900\n";
  for (way const& w :
       {way{"off", "", "", none}, way{"", "", "", large}, way{"libcudnn.so.9", "", "", all},
        way{"/nowhere/libcudnn.so.9", "",
            "LOCUS_CUDNN is \"/nowhere/libcudnn.so.9\", which is no library that "
            "can be opened, and convolutions are products of cuBLAS; write the path "
            "of a libcudnn.so.9, off, or unset it",
            none},
        way{"libcublas.so.13", "", "which is no cuDNN 9: it lacks cudnnGetVersion", none},
        way{"libcudnn.so.9", "8907",
            "LOCUS_CUDNN is \"libcudnn.so.9\", which is cuDNN 8.9, older than 9", none},
        way{"", "8907", "the cuDNN that was found is cuDNN 8.9, older than 9", none}}) {
    CAPTURE(w.named);
    std::vector<std::string> settings{std::string("LOCUS_CUDNN=") + w.named};
    if (*w.version) settings.push_back(std::string("PTX_CUDNN_VERSION=") + w.version);
    auto const found = child::run("in a process of its own", settings);
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.says(w.calls));
    CHECK(found.says(" 0 findings"));
    CHECK(found.count("and convolutions are products of cuBLAS") == (*w.says ? 1 : 0));
    if (*w.says) CHECK(found.count(w.says) == 1);
  }
}
TEST_CASE("what cuDNN says of a device, and a workspace that is too large") {
  struct way {
    char const *setting, *says, *calls;
    bool fails;
  };
  char const* const none = "cuDNN 0, cuBLAS 1";
  for (way const& w :
       {way{"PTX_FAIL=cudnnCreate:1:1001",
            "cuDNN does not compute convolutions on /GPU:0: CUDNN_STATUS_NOT_INITIALIZED", none,
            false},
        way{"PTX_FAIL=cudnnCreate:1:3007", "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", none, false},
        // y has an algorithm that wants none
        way{"PTX_CUDNN_WORKSPACE=8000000000000",
            "no deterministic sum of products for this shape that fits the workspace",
            "cuDNN 4, cuBLAS 1", false},
        way{"PTX_FAIL=cudnnCreate:1:4004",
            "locus: CUDA failed on /GPU:0 in opening cuDNN: CUDNN_STATUS_ALLOC_FAILED: cuDNN found "
            "no memory on the card",
            "", true}}) {
    CAPTURE(w.setting);
    auto const found = child::run("in a process of its own", {w.setting});
    CAPTURE(found.text);
    CHECK((found.code != 0) == w.fails);
    CHECK(found.count(w.says) == 1);
    CHECK(found.says(w.calls));
    CHECK(found.says(" 0 findings"));
  }
}
TEST_CASE("the log names the library of a step") {
  auto const log = child::run("in a process of its own", {"LOCUS_LOG=text"});
  CAPTURE(log.text);
  CHECK(log.count("by each_number + cuDNN") == 3);
  CHECK_FALSE(log.says("+ cuBLAS"));
}
TEST_CASE("threads convolve on one card and on two") {
  auto const convolve = []<class Where>(Where, double* most) {
    trial<float, Where> const t(window_of(3, 2, 1, padding::same), 2, 9, 5, 4);
    for (int i = 0; i < 10; ++i) *most = std::fmax(*most, t.all());
  };
  double most[3] = {};
  std::thread a([&] { convolve(G(), most); }), b([&] { convolve(G(), most + 1); }),
      c([&] { convolve(GpuDevice<1>(), most + 2); });
  a.join(), b.join(), c.join();
  for (double m : most) CHECK(m == 0);
}
TEST_CASE("what the stand-in refuses") {
  cuda_side::cudnn_table const& t = cuda_side::cudnn_table::instance();
  REQUIRE(t.complete);
  void *handle = nullptr, *x = nullptr, *y = nullptr, *w = nullptr, *how = nullptr;
  REQUIRE(t.create(&handle) == 0);
  REQUIRE((t.make_tensor(&x) | t.make_tensor(&y) | t.make_filter(&w) | t.make_window(&how)) == 0);
  cuda_side::cudnn_table::answer answers[8];
  int found = 0;
  auto const choose = [&](void* h) {
    return t.results[0].choose(h, x, w, how, y, 8, &found, answers);
  };
  CHECK(choose(handle) == 2000);  // nothing is set
  CHECK(t.set_tensor(x, 1, 0, 0, 4, 5, 5) == 2000);
  CHECK(t.set_tensor(x, 1, 0, 1 << 15, 1 << 15, 4, 4) == 3000);
  CHECK(t.set_tensor(x, 1, 0, 1, 4, 5, 5) == 0);
  CHECK(t.set_filter(w, 0, 1, 6, 4, 3, 3) == 0);
  CHECK(t.set_window(how, -1, 0, 1, 1, 1, 1, 1, 0) == 2000);
  CHECK(t.set_window(how, 0, 0, 0, 1, 1, 1, 1, 0) == 2000);
  CHECK(t.set_window(how, 1, 1, 1, 1, 1, 1, 1, 0) == 0);
  CHECK(t.set_math(how, 4) == 2000);
  CHECK(t.set_groups(how, 0) == 2000);
  CHECK(t.set_tensor(y, 1, 0, 1, 6, 5, 4) == 0);
  CHECK(choose(handle) == 2008);
  CHECK(t.set_tensor(y, 1, 1, 1, 6, 5, 5) == 0);
  CHECK(choose(handle) == 2000);  // another type
  CHECK(t.set_tensor(y, 1, 0, 1, 6, 5, 5) == 0);
  CHECK(choose(nullptr) == 1001);
  CHECK(choose(handle) == 0);
  CHECK(found == 5);
  on_card<float> from(std::vector<float>(100)), kernel(std::vector<float>(216)), to(150),
      memory(250);
  float const one = 1, zero = 0;
  auto const compute = [&](void const* a, int algorithm, std::size_t bytes, int expected) {
    CHECK(t.results[0].compute(handle, &one, x, a, w, kernel.p, how, algorithm, memory.p, bytes,
                               &zero, y, to.p) == expected);
  };
  compute(from.p, 1, 999, 2006);
  compute(nullptr, 1, 1000, 2002);
  compute(from.p, 8, 1000, 2000);
  compute(from.p, 1, 1000, 0);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (float v : to.values()) CHECK(v == 0);
  CHECK(ptx_figure("ptx_findings") == 0);  // of all tests before: they are forgotten below
  CHECK(t.set_math(how, 2) == 0);
  compute(from.p, 1, 1000, 0);  // floats as halves
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(ptx_figure("ptx_findings") == 1);
  ptx_forget();
  CHECK((t.drop_tensor(x) | t.drop_tensor(y) | t.drop_filter(w) | t.drop_window(how)) == 0);
  CHECK(t.drop_tensor(x) == 2000);
  CHECK(t.destroy(handle) == 0);
  CHECK(t.destroy(handle) == 1001);
}

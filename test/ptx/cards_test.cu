// SPDX-License-Identifier: Apache-2.0
// Statements of locus as device code, on cards with cuBLAS and NCCL: halves, products of two threads, calls that
// fail, and a network that learns the same on one card, on two, on four and on the host.
#include <barrier>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <on_cards.hpp>

#include <doctest/doctest.h>

#include <worst_of.hpp>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>

#include "child.hpp"
#include "count.hpp"
#include "stories.hpp"
#include "unit/training/network.hpp"

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;
template <class T, class Device = CpuDevice>
using Matrix = Tensor<T, Dextents<2>, Device>;

template <class T>
Matrix<T> counted(std::int64_t rows, std::int64_t columns, int seed) {
  Matrix<T> m(rows, columns);
  for (std::int64_t i = 0; i < m.size(); ++i)
    m.data()[i] = static_cast<T>(float((i * 37 + seed * 101) % 257) / 64.f - 2.f);
  return m;
}
template <class T>
std::int64_t bits_that_differ(Matrix<T> const& a, Matrix<T> const& b) {
  REQUIRE(a.size() == b.size());
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    n += std::memcmp(a.data() + i, b.data() + i, sizeof(T)) != 0;
  return n;
}
template <class T>
double most_apart(Matrix<T> const& a, Matrix<T> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    double const d = std::fabs(double(a.data()[i]) - double(b.data()[i]));
    most = worst_of(most, d);
  }
  return most;
}

}  // namespace

TEST_CASE_TEMPLATE("halves on a card: each rounded once, as on the host", T, half, bfloat16) {
  std::int64_t const rows = 37, columns = 53;
  auto const a = counted<T>(rows, columns, 1), b = counted<T>(rows, columns, 2);
  Matrix<T, G0> const x = to<G0>(a), y = to<G0>(b);
  auto const same = [&](auto const& on_card, auto const& on_host) {
    Matrix<T> const found = to<CpuDevice>(eval(on_card)), wanted = eval(on<CpuDevice>(on_host));
    CHECK(bits_that_differ<T>(found, wanted) == 0);
  };
  same(x + y * 2.f, a + b * 2.f);
  same((x - y) / (abs(y) + 2.f), (a - b) / (abs(b) + 2.f));
  same(maximum(minimum(x, y), -x), maximum(minimum(a, b), -a));
  same(where(x < y, x, 0.1f) * 3.f, where(a < b, a, 0.1f) * 3.f);
  same(sqrt(abs(x)), sqrt(abs(a)));
  same(transpose(to<G0>(eval(on<CpuDevice>(transpose(a))))) + y, a + b);
  // all 65,536 values there and back
  Matrix<T> all(256, 256);
  for (int i = 0; i < 0x10000; ++i) all.data()[i] = T::from_bits(static_cast<std::uint16_t>(i));
  Matrix<T, G0> const there = to<G0>(all);
  Matrix<float> const wide = to<CpuDevice>(eval(cast<float>(there)));
  Matrix<T> const back = to<CpuDevice>(eval(cast<T>(cast<float>(there) * 1.f)));
  int wrong = 0;
  for (int i = 0; i < 0x10000; ++i) {
    float const v = all.data()[i];
    wrong +=
        v == v ? wide.data()[i] != v || back.data()[i].bits != i : wide.data()[i] == wide.data()[i];
  }
  CHECK(wrong == 0);
  Matrix<float> close(1, 4);
  close.data()[0] = 1 + 0x1p-8f, close.data()[1] = 1 + 0x1p-11f + 0x1p-20f, close.data()[2] = 65519,
  close.data()[3] = -3.0e-8f;
  Matrix<T> const rounded = to<CpuDevice>(eval(cast<T>(to<G0>(close))));
  for (int i = 0; i < 4; ++i) CHECK(rounded.data()[i].bits == T(close.data()[i]).bits);
  // sums are floats
  double total = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) total += double(a.data()[i]);
  double const unit = std::numeric_limits<T>::epsilon();
  CHECK(double(fetch(sum(x))) == doctest::Approx(total).epsilon(unit));
  CHECK(float(fetch(max(x))) == float(fetch(on<CpuDevice>(max(a)))));
  CHECK(fetch(argmax(x)) == fetch(on<CpuDevice>(argmax(a))));
  Matrix<T> const p = to<CpuDevice>(eval(softmax(x))), q = eval(on<CpuDevice>(softmax(a)));
  CHECK(most_apart<T>(p, q) <= unit);
  Matrix<T> const product = to<CpuDevice>(eval(matmul(x, transpose(y)))),
                  wanted = eval(on<CpuDevice>(matmul(a, transpose(b))));
  CHECK(most_apart<T>(product, wanted) <= 128 * unit);
}
TEST_CASE_TEMPLATE("products on a card beside those of the host", T, float, double, half,
                   bfloat16) {
  double const unit = std::numeric_limits<T>::epsilon();
  auto const a = counted<T>(21, 34, 1), b = counted<T>(34, 13, 2);
  Matrix<T> const at = eval(on<CpuDevice>(transpose(a))), bt = eval(on<CpuDevice>(transpose(b))),
                  wanted = eval(on<CpuDevice>(matmul(a, b)));
  auto const near = [&](auto const& e) {
    Matrix<T> const found = to<CpuDevice>(eval(e));
    CHECK(most_apart<T>(found, wanted) <= 256 * unit);
  };
  Matrix<T, G0> const x = to<G0>(a), y = to<G0>(b), xt = to<G0>(at), yt = to<G0>(bt);
  near(matmul(x, y));
  near(matmul(transpose(xt), y));
  near(matmul(x, transpose(yt)));
  near(matmul(transpose(xt), transpose(yt)));
  near(transpose(eval(matmul(yt, xt))));
}
TEST_CASE(
    "memory that CUDA manages, or that the program has pinned, is free when a copy has returned") {
  constexpr std::int64_t n = 5000;
  for (bool const managed : {true, false}) {
    CAPTURE(managed);
    float* memory = nullptr;
    REQUIRE((managed ? cudaMallocManaged(&memory, n * sizeof(float))
                     : cudaMallocHost(&memory, n * sizeof(float))) == cudaSuccess);
    auto const source = view<CpuDevice>(memory, Dextents<1>(n));
    for (std::int64_t i = 0; i < n; ++i) memory[i] = float(i);
    Tensor<float, Dextents<1>, G0> const there(to<G0>(source));
    for (std::int64_t i = 0; i < n; ++i) memory[i] = -1;
    auto const back = to<CpuDevice>(there);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += back(i) != float(i);
    CHECK(wrong == 0);
    CHECK((managed ? cudaFree(memory) : cudaFreeHost(memory)) == cudaSuccess);
  }
}

/// In a process of its own: it makes two logical GPUs of one card.
TEST_CASE("two logical GPUs" * doctest::skip()) {
  config::set_logical_devices("GPU:0", {{.memory_limit = 64_MiB}, {.memory_limit = 64_MiB}});
  auto const a = counted<float>(16, 16, 1);
  Matrix<float> const right = eval(on<CpuDevice>(matmul(a, a)));
  std::barrier together(2);
  auto const multiply = [&]<class Device>(Device) {
    Matrix<float, Device> const x = to<Device>(a);
    CHECK(fetch(sum(x * 0.f)) == 0);
    for (int i = 0; i < 30; ++i) {
      together.arrive_and_wait();
      CHECK(most_apart<float>(to<CpuDevice>(eval(matmul(x, x))), right) < 1e-3);
    }
  };
  std::thread one([&] { multiply(G0()); }), two([&] { multiply(G1()); });
  one.join(), two.join();
}
TEST_CASE("two threads multiply on one card, each on a logical GPU of its own") {
  for (char const* late : {"PTX_LATE=0", "PTX_LATE=1"}) {
    auto const found = child::run("two logical GPUs", {late});
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.says(" 0 findings"));
  }
}

namespace {
bool adds_up() {
  Tensor<float, Extents<64>, Rows> x = to<Rows>(iota<float>(Extents<64>{}));
  Tensor<float, Extents<>, Pair> total = sum(x);
  return fetch(total) == 2016;
}
/// a product with a row, of one shape
bool adds_rows() {
  Tensor<float, Extents<8, 16>, G0> const x = to<G0>(ones<float>(Extents<8, 16>{}));
  Tensor<float, Extents<16, 4>, G0> const w = to<G0>(ones<float>(Extents<16, 4>{}));
  Tensor<float, Extents<4>, G0> const b = to<G0>(iota<float>(Extents<4>{}));
  Tensor<float, Extents<8, 4>, G0> y = matmul(x, w) + b;
  return fetch(sum(y)) == 8 * (4 * 16 + 6);
}
struct named_story {
  char const* name;
  stories::story run;
};
constexpr named_story programs[] = {{"creates", stories::creates},
                                    {"copies", stories::copies},
                                    {"multiplies", stories::multiplies},
                                    {"adds up", adds_up},
                                    {"adds rows", adds_rows}};
/// functions that a statement calls and whose failure it must hear of
constexpr char const* functions[] = {"cudaMalloc",           "cudaHostAlloc",
                                     "cudaMemcpyAsync",      "cudaMemcpyPeerAsync",
                                     "cudaLaunchKernel",     "cudaEventRecord",
                                     "cudaStreamWaitEvent",  "cudaStreamSynchronize",
                                     "cudaEventSynchronize", "cudaEventCreateWithFlags",
                                     "cublasSgemm",          "cublasSetStream",
                                     "cublasLtMatmul"};
}  // namespace

TEST_CASE("whichever call fails, locus says so, nothing is lost, and the next run is right") {
  for (auto const& program : programs) {
    std::string const name = program.name;
    auto const& run = program.run;
    CAPTURE(name);
    REQUIRE(run());  // devices are found, pools and communicators are there
    REQUIRE(run());
    std::int64_t heard = 0;
    for (char const* const function : functions) {
      std::string const called = function;
      CAPTURE(called);
      std::int64_t const before = ptx_calls(function);
      REQUIRE(run());
      std::int64_t const calls = ptx_calls(function) - before;
      for (std::int64_t n = 1; n <= calls; ++n) {
        CAPTURE(n);
        bool right = false, threw = false;
        ptx_fail(function, std::uint64_t(n), cudaErrorInvalidValue);
        try {
          right = run();
        } catch (error const& e) {
          threw = true;
          std::string const said = e.what();
          CAPTURE(said);
          CHECK(said.starts_with("locus: "));
          CHECK((said.find("/GPU:") != said.npos));
          CHECK((said.find("invalid argument") != said.npos || said.find("cuBLAS") != said.npos ||
                 said.find("memory") != said.npos));
        }
        ptx_fail(nullptr, 0, 0);
        heard += threw;
        CHECK(right == !threw);        // a wrong number is never passed on
        for (int g = 0; g < 4; ++g) {  // what cuBLAS keeps is no block of a plan's
          auto& d = runtime::table.gpu_devices[g];
          auto const& kept = runtime::cuda_queue_of(d, queue_kind::compute).products;
          CHECK(d.memory.in_use == std::int64_t(kept.workspace ? kept.bytes : 0));
        }
        CHECK(runtime::table.live_blocks == 0);
        CHECK(run());
      }
    }
    CHECK(heard > 3);
  }
}

namespace {
/// the weights behind three steps, the same in every replica
template <class Where>
std::vector<double> learned() {
  std::int64_t const rows = 30;
  Tensor<double, Extents<dyn, 784>> x(rows);
  Tensor<std::uint8_t, Dextents<1>> label(rows);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = double(i * 7919 % 1009) / 1009;
  for (std::int64_t i = 0; i < rows; ++i) label.data()[i] = static_cast<std::uint8_t>(i * 3 % 10);
  auto const xs = to<rows_over<Where>>(x);
  auto const labels = to<rows_over<Where>>(label);
  network::model<double, Where> m;
  for (int i = 0; i < 3; ++i)
    network::with_step(m, xs, labels, 0.1, [](auto const& step) { run(step); });
  auto const w1 = network::copies_of(m.w1), w2 = network::copies_of(m.w2);
  for (std::size_t r = 0; r < w1.size(); ++r) CHECK((w1[r] == w1[0] && w2[r] == w2[0]));
  std::vector<double> all = w1[0];
  all.insert(all.end(), w2[0].begin(), w2[0].end());
  return all;
}
double most_apart(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = worst_of(most, std::fabs(a[i] - b[i]));
  return most;
}
}  // namespace

TEST_CASE("a network learns the same on one card, on two, on four, and on the host") {
  auto const host = learned<Mirrored<CpuDevice>>();
  std::int64_t const launches = ptx_figure("ptx_launches"), sums = ptx_calls("ncclAllReduce");
  auto const alone = learned<Mirrored<G0>>();
  CHECK(ptx_figure("ptx_launches") > launches);
  CHECK(most_apart(alone, host) <= 1e-12);
  CHECK(ptx_calls("ncclAllReduce") == sums);
  CHECK(most_apart(learned<Pair>(), host) <= 1e-12);
  CHECK(ptx_calls("ncclAllReduce") > sums);
  CHECK(most_apart(learned<Mirrored<G0, G1, GpuDevice<2>, GpuDevice<3>>>(), host) <= 1e-12);
}

namespace {
struct packs_of_200 : prefer_gpu {
  static constexpr bucket_sizes buckets{200, 200};
};
template <class Policy>
std::int64_t buckets_of_a_run() {
  Tensor<float, Extents<2, 32>, Rows> const x = to<Rows>(ones<float>(Extents<2, 32>{}));
  Tensor<float, Extents<32>, Pair> a, b, c;
  auto step = plan<Policy>(into(a, sum<0>(x)), into(b, sum<0>(x * 2.f)), into(c, sum<0>(x * 3.f)));
  std::int64_t const done = testing::count([&] { run(step); }).all_reduces;
  CHECK(done == step.all_reduces());
  CHECK((fetch(sum(a)) == 64 && fetch(sum(b)) == 128 && fetch(sum(c)) == 192));
  return done;
}
}  // namespace

TEST_CASE("all-reduces travel in the buckets of the policy, whatever joins the cards") {
  CHECK(buckets_of_a_run<prefer_gpu>() == 1);
  CHECK(buckets_of_a_run<packs_of_200>() == 2);  // 128 and 128 bytes are more than 200
}

TEST_CASE("a product with a row is one call of cuBLASLt, or one of cuBLAS and a kernel of ours") {
  auto const calls = [](char const* name, auto&& f) {
    std::int64_t const before = ptx_calls(name);
    f();
    return ptx_calls(name) - before;
  };
  REQUIRE(adds_rows());
  CHECK(calls("cublasLtMatmulAlgoGetHeuristic", [] { CHECK(adds_rows()); }) == 0);  // asked once
  CHECK(calls("cublasLtMatmul", [] { CHECK(adds_rows()); }) == 1);
  CHECK(calls("cublasSgemm", [] { CHECK(adds_rows()); }) == 0);
  ptx_counts::measure("with row", [] { CHECK(adds_rows()); });
  CHECK(ptx_counts::figure("with row", "library_work") == 1);
  CHECK(ptx_counts::figure("with row", "library_bytes") == 4 * (8 * 16 + 16 * 4 + 8 * 4 + 4));
  // refused when it shall run: never again, and nothing is lost
  auto const other = [](std::int64_t rows) {
    Matrix<float, G0> const x(ones<float>(dextents<2>{rows, 16})),
        w(ones<float>(dextents<2>{16, 4}));
    Tensor<float, Dextents<1>, G0> const b(ones<float>(dextents<1>{4}));
    Matrix<float, G0> y(rows, 4);
    y = matmul(x, w) + b;
    return fetch(sum(y)) == float(rows * 4 * 17);
  };
  ptx_fail("cublasLtMatmul", 1, 15);
  CHECK(calls("cublasSgemm", [&] { CHECK(other(12)); }) == 1);
  CHECK(calls("cublasLtMatmul", [&] { CHECK(other(12)); }) == 0);
  // no algorithm for a shape
  ptx_fail("cublasLtMatmulAlgoGetHeuristic", 1, 15);
  CHECK(calls("cublasLtMatmul", [&] { CHECK(other(20)); }) == 0);
  CHECK(calls("cublasSgemm", [&] { CHECK(other(20)); }) == 1);
  CHECK(calls("cublasLtMatmul", [&] { CHECK(other(28)); }) == 1);
  ptx_fail(nullptr, 0, 0);
  // an address that is refused: the shape is refused from then on, and products go on
  ptx_fail("cublasLtMatmul", 1, 7);
  CHECK(calls("cublasSgemm", [&] { CHECK(other(36)); }) == 1);
  CHECK(calls("cublasLtMatmul", [&] { CHECK(other(36)); }) == 0);
  // what is no refusal is an error, and the shape keeps its kernel
  ptx_fail("cublasLtMatmul", 1, 14);
  CHECK_THROWS_AS(other(28), device_error);
  CHECK(calls("cublasLtMatmul", [&] { CHECK(other(28)); }) == 1);
  ptx_fail(nullptr, 0, 0);
  // floats as tf32, when the program says so
  config::set_matmul_precision(matmul_precision::high);
  CHECK(calls("products of tf32", [&] { CHECK(other(28)); }) == 1);
  config::set_matmul_precision(matmul_precision::highest);
}

TEST_CASE("a handle keeps 256 products with a row, and asks again for the oldest") {
  void* made = nullptr;
  REQUIRE(cuda_side::make_blas_handle(cuda_side::cublas_table::instance(), &made) == 0);
  auto* const handle = static_cast<cuda_side::blas_handle*>(made);
  std::int64_t const before = ptx_calls("cublasLtMatmulAlgoGetHeuristic");
  runtime::cuda_gemm g;
  g.m = 4, g.n = 5, g.k = 6, g.lda = 8, g.ldb = 8, g.ldc = 8;
  std::int64_t questions = 0;
  auto const asks = [&](std::int64_t more) {
    for (int twice = 0; twice < 2; ++twice) {
      bool has = false;
      CHECK(handle->multiply_with_row(g, true, has) == 0);
      CHECK(has);
    }
    questions += more;
    CHECK(ptx_calls("cublasLtMatmulAlgoGetHeuristic") - before == questions);
  };
  // each number of a shape makes another one
  asks(1);
  auto const other = [&](auto change) {
    runtime::cuda_gemm const plain = g;
    change();
    asks(1);
    g = plain;
    asks(0);
  };
  other([&] { g.m = 3; });
  other([&] { g.n = 7; });
  other([&] { g.k = 7; });
  other([&] { g.lda = 16; });
  other([&] { g.ldb = 16; });
  other([&] { g.ldc = 16; });
  other([&] { g.transpose_a = true; });
  other([&] { g.transpose_b = true; });
  other([&] { g.relu = true; });
  other([&] { g.tf32 = true; });
  other([&] { g.type = element::f64; });
  other([&] { g.workspace_bytes = 4096; });
  REQUIRE(questions == 13);
  for (int n = 14; n <= 256; ++n) g.n = 100 + n, asks(1);
  g.n = 5, asks(0);          // 256 are kept
  g.n = 1000, asks(1);       // in the place of the oldest
  g.n = 100 + 256, asks(0);  // the last one is there
  g.n = 5, asks(1);          // the oldest is not, and takes the place of the next
  bool has = true;
  g.n = 1001, g.a = reinterpret_cast<void const*>(8);  // in the midst of 16 bytes: no question
  CHECK(handle->multiply_with_row(g, true, has) == 0);
  CHECK_FALSE(has);
  CHECK(ptx_calls("cublasLtMatmulAlgoGetHeuristic") - before == questions);
  delete handle;
}

TEST_CASE(
    "a stream that is being captured is refused, and the null stream while that waits for it") {
  Tensor<float, Extents<4>, G0> x{{1, 1, 1, 1}};
  REQUIRE(fetch(sum(x)) == 4);
  auto const refusal = [&](cudaStream_t s) {
    std::string said;
    try {
      run(into(x, x * 2.f), on_stream(s));
    } catch (placement_error const& e) {
      said = e.what();
    }
    CHECK(cudaPeekAtLastError() == cudaSuccess);  // an answer, and no error of the program's
    return said;
  };
  cudaStream_t waits = nullptr, does_not = nullptr, gone = nullptr;
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&waits) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&does_not, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE((cudaStreamCreate(&gone) == cudaSuccess && cudaStreamDestroy(gone) == cudaSuccess));
  bool is = true;
  CHECK((runtime::gpu_api->stream_is_captured(waits, &is) == 0 && !is));
  CHECK((runtime::gpu_api->stream_is_captured(nullptr, &is) == 0 && !is));
  if (on_ptx_machine()) {  // CUDA itself reads behind the pointer of a stream that is no more
    is = true;
    CHECK(runtime::gpu_api->stream_is_captured(gone, &is) == cudaErrorInvalidResourceHandle);
    CHECK_FALSE(is);
    cudaGetLastError();
    CHECK(refusal(gone).starts_with("locus: on_stream was given what is no stream of CUDA: "));
  }
  std::string const captured = "locus: on_stream was given a stream that is being captured";
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(waits, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(refusal(waits).starts_with(captured));
  CHECK(refusal(nullptr).starts_with(captured));
  CHECK((runtime::gpu_api->stream_is_captured(does_not, &is) == 0 && !is));
  REQUIRE(cudaStreamEndCapture(waits, &graph) == cudaSuccess);  // the capture is as it was
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(does_not, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(refusal(does_not).starts_with(captured));
  CHECK((runtime::gpu_api->stream_is_captured(nullptr, &is) == 0 && !is));
  REQUIRE(cudaStreamEndCapture(does_not, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(refusal(waits) == "");
  CHECK(fetch(sum(x)) == 8);
  CHECK((cudaStreamDestroy(waits) == cudaSuccess && cudaStreamDestroy(does_not) == cudaSuccess));
}

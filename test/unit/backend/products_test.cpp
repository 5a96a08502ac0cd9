// SPDX-License-Identifier: Apache-2.0
// Products by cuBLAS: a handle and a counted workspace for each logical device, several threads, and what
// each status says. cuBLAS itself is a table of functions here.
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <zlib.h>

#include <doctest/doctest.h>

#include <locus/backend/cuda/real_cublas.hpp>
#include <locus/locus.hpp>

#include <message_of.hpp>

using namespace locus;

namespace {

using cuda_side::cublas_table;

/// A cuBLAS that looks whether stream, workspace and product of a call belong together.
struct fake_cublas {
  void* stream = nullptr;
  void* workspace = nullptr;
  static inline std::atomic<int> open = 0, wrong = 0, products = 0;
  static inline int fail_with = 0;

  static fake_cublas& of(void* handle) { return *static_cast<fake_cublas*>(handle); }
  /// the number that all parts of one call carry
  static int product(void* handle, void const* a) {
    if (fail_with) return fail_with;
    fake_cublas const before = of(handle);
    std::this_thread::yield();
    ++products;
    wrong += before.stream != a || before.workspace != a || of(handle).stream != a;
    return 0;
  }
  static cublas_table table() {
    cublas_table t;
    t.create = [](void** handle) { return *handle = new fake_cublas, ++open, 0; };
    t.destroy = [](void* handle) { return delete &of(handle), --open, 0; };
    t.set_stream = [](void* handle, void* s) {
      of(handle) = {s, nullptr};  // as cublasSetStream: the workspace is forgotten
      std::this_thread::yield();
      return 0;
    };
    t.set_workspace = [](void* handle, void* p, std::size_t bytes) {
      std::this_thread::yield();
      return of(handle).workspace = p, bytes == 512 ? 0 : 7;
    };
    t.sgemm = [](void* handle, int, int, int, int, int, float const*, float const* a, int,
                 float const*, int, float const*, float*, int) { return product(handle, a); };
    t.dgemm = [](void* handle, int, int, int, int, int, double const*, double const* a, int,
                 double const*, int, double const*, double*, int) { return product(handle, a); };
    t.gemm_of = [](void* handle, int, int, int, int, int, void const*, void const* a, int, int,
                   void const*, int, int, void const*, void*, int, int, int,
                   int) { return product(handle, a); };
    t.gemm_of_batch = [](void* handle, int, int, int, int, int, void const*, void const* a, int,
                         int, long long, void const*, int, int, long long, void const*, void*, int,
                         int, long long, int, int, int) { return product(handle, a); };
    return t;
  }
};
runtime::cuda_gemm product_on(int number) {
  runtime::cuda_gemm g;
  g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 1;
  static char places[64];
  g.a = g.stream = g.workspace = places + number, g.workspace_bytes = 512;
  return g;
}

template <int N>
using G = GpuDevice<N>;

}  // namespace

TEST_CASE("stream, workspace and product are one for each thread that shares a handle") {
  cublas_table const table = fake_cublas::table();
  void* handle = nullptr;
  REQUIRE(cuda_side::make_blas_handle(table, &handle) == 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        runtime::cuda_gemm g = product_on(t);
        g.type = i % 2 ? element::f32 : element::f64, g.batch = i % 3 ? 1 : 2;
        static_cast<cuda_side::blas_handle*>(handle)->multiply(g);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(fake_cublas::products == 8000);
  CHECK(fake_cublas::wrong == 0);
  delete static_cast<cuda_side::blas_handle*>(handle);
  CHECK(fake_cublas::open == 0);
}

TEST_CASE("a product that adds reads what it adds to, of each type and in a batch") {
  static double before = -1;
  cublas_table table = fake_cublas::table();
  table.sgemm = [](void*, int, int, int, int, int, float const*, float const*, int, float const*,
                   int, float const* beta, float*, int) { return before = *beta, 0; };
  table.dgemm = [](void*, int, int, int, int, int, double const*, double const*, int, double const*,
                   int, double const* beta, double*, int) { return before = *beta, 0; };
  static auto const read = [](void const* beta, int sums) {
    return before = sums == cublas_table::compute_double ? *static_cast<double const*>(beta)
                                                         : *static_cast<float const*>(beta),
           0;
  };
  table.gemm_of = [](void*, int, int, int, int, int, void const*, void const*, int, int,
                     void const*, int, int, void const* beta, void*, int, int, int sums,
                     int) { return read(beta, sums); };
  table.gemm_of_batch = [](void*, int, int, int, int, int, void const*, void const*, int, int,
                           long long, void const*, int, int, long long, void const* beta, void*,
                           int, int, long long, int, int sums, int) { return read(beta, sums); };
  void* handle = nullptr;
  REQUIRE(cuda_side::make_blas_handle(table, &handle) == 0);
  for (element const type : {element::f32, element::f64, element::f16, element::bf16})
    for (int const batch : {1, 2})
      for (bool const adds : {false, true}) {
        runtime::cuda_gemm g = product_on(0);
        g.type = type, g.batch = batch, g.adds = adds;
        CHECK(static_cast<cuda_side::blas_handle*>(handle)->multiply(g) == 0);
        CHECK(before == (adds ? 1 : 0));
      }
  delete static_cast<cuda_side::blas_handle*>(handle);
}

TEST_CASE("what cuBLAS does not count is refused before anything is asked of it") {
  testing::recorder const cards{{.cards = 1}};
  launch_site site;
  site.on = &runtime::find_device(gpu(0));
  float cell = 0;
  kernel::matrix const one{&cell, 1, 1, 1, 1};
  std::int64_t const large = std::int64_t(1) << 31;
  auto const refused = [&](kernel::matrix const& c, kernel::matrix const& a,
                           kernel::matrix const& b, std::int64_t products) {
    return message_of<shape_error>(
        [&] { cuda_side::start_product(site, element::f32, c, a, b, {products, 0, 0, 0}); });
  };
  std::string const matrix =
      "locus: a matrix of matmul has more than 2^31 - 1 rows or columns; cut it with slice";
  CHECK(refused({&cell, large, 1, 1, 1}, {&cell, large, 1, 1, 1}, one, 1) == matrix);
  CHECK(refused({&cell, 1, large, large, 1}, one, {&cell, 1, large, large, 1}, 1) == matrix);
  CHECK(refused(one, {&cell, 1, large, large, 1}, {&cell, large, 1, 1, 1}, 1) == matrix);
  CHECK(refused(one, one, one, large) ==
        "locus: a batch has more than 2^31 - 1 products; multiply parts of it");
  CHECK(cards.calls("gemm") + cards.calls("gemm_batch") == 0);
}

TEST_CASE("each status of cuBLAS has its name and a remedy") {
  cublas_table table = fake_cublas::table();
  void* handle = nullptr;
  REQUIRE(cuda_side::make_blas_handle(table, &handle) == 0);
  struct {
    int status;
    char const* name;
  } const rows[] = {{1, "NOT_INITIALIZED"},   {3, "ALLOC_FAILED"},   {7, "INVALID_VALUE"},
                    {8, "ARCH_MISMATCH"},     {11, "MAPPING_ERROR"}, {13, "EXECUTION_FAILED"},
                    {14, "INTERNAL_ERROR"},   {15, "NOT_SUPPORTED"}, {16, "LICENSE_ERROR"},
                    {17, "does not know; up"}};
  for (auto const& [status, name] : rows) {
    fake_cublas::fail_with = status;
    int const code = static_cast<cuda_side::blas_handle*>(handle)->multiply(product_on(0));
    fake_cublas::fail_with = 0;
    char const* const text = cuda_side::describe_cublas(code);
    REQUIRE(text);
    CHECK(std::string(text).find(name) != std::string::npos);
  }
  CHECK(cuda_side::describe_cublas(0) == nullptr);
  CHECK(cuda_side::describe_cublas(719) == nullptr);
  delete static_cast<cuda_side::blas_handle*>(handle);
  table.create = nullptr;
  CHECK(std::string(cuda_side::describe_cublas(cuda_side::make_blas_handle(table, &handle)))
            .starts_with("no cuBLAS library"));
}

TEST_CASE(
    "each logical device of a card has a handle of its own, that no other stream comes into") {
  testing::recorder const cards{{.cards = 1}};
  config::set_logical_devices("GPU:0", {{.memory_limit = 64 << 20}, {.memory_limit = 64 << 20}});
  auto const work = [](auto device) {
    using D = decltype(device);
    Tensor<float, Dextents<2>, D> a(uniform<float>(dextents<2>{20, 30}, seed{1})), b(20, 20);
    for (int i = 0; i < 50; ++i) b = matmul(a, transpose(a));
  };
  work(G<0>{});  // the table is made
  std::thread other([&] { work(G<1>{}); });
  work(G<0>{});
  other.join();
  CHECK(cards.calls("blas_create") == 2);
  CHECK(cards.most_streams_of_handle() == 1);
}

TEST_CASE("threads that multiply first on one device make one handle") {
  testing::recorder const cards{{.cards = 1}};
  Tensor<float, Dextents<2>, G<0>> a(uniform<float>(dextents<2>{20, 30}, seed{1}));
  static runtime::cuda_api const* quick = nullptr;
  quick = runtime::gpu_api;
  runtime::cuda_api slow = *quick;
  slow.blas_create = [](void** handle) { return usleep(20000), quick->blas_create(handle); };
  runtime::gpu_api = &slow;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Tensor<float, Dextents<2>, G<0>> b(20, 20);
      b = matmul(a, transpose(a));
    });
  for (std::thread& t : threads) t.join();
  runtime::gpu_api = quick;
  CHECK(cards.open_handles() == 1);
}

TEST_CASE(
    "cuBLAS' workspace is counted, at most a sixteenth of the limit, and goes with the device") {
  testing::recorder const cards{{.cards = 1}};
  config::set_logical_devices("GPU:0", {{.memory_limit = 64 << 20}, {.memory_limit = 1 << 18}});
  auto const taken = [](auto device) {
    using D = decltype(device);
    Tensor<float, Dextents<2>, D> a(8, 8), b(8, 8);
    auto const before = config::get_memory_info<D>().current;
    b = matmul(a, a);
    return config::get_memory_info<D>().current - before;
  };
  CHECK(taken(G<0>{}) == 64 << 10);
  CHECK(taken(G<1>{}) == 1 << 14);
  CHECK(taken(G<0>{}) == 0);
  CHECK(cards.open_handles() == 2);
}

TEST_CASE("a library is found among Python's packages, where no loader looks") {
  char folder[] = "/tmp/locus_library_XXXXXX";
  REQUIRE(mkdtemp(folder));
  std::filesystem::path const root = folder;
  std::filesystem::path const at = root / "lib/python3.11/site-packages/nvidia/cublas/lib";
  std::filesystem::create_directories(at);
  Dl_info info{};
  REQUIRE(dladdr(reinterpret_cast<void*>(&zlibVersion), &info));  // some library of this program
  std::filesystem::copy_file(std::filesystem::canonical(info.dli_fname), at / "liblocus_test.so.1");
  CHECK(cuda_side::open_library({"liblocus_test.so.1"}) == nullptr);
  setenv("VIRTUAL_ENV", folder, 1);
  void* const handle = cuda_side::open_library({"liblocus_none.so", "liblocus_test.so.1"});
  unsetenv("VIRTUAL_ENV");
  CHECK(handle != nullptr);
  if (handle) dlclose(handle);
  std::filesystem::remove_all(root);
}

TEST_CASE("a cuBLAS that cannot begin says so, and the next product tries again") {
  testing::recorder cards{{.cards = 1}};
  Tensor<float, Dextents<2>, G<0>> a(8, 8), b(8, 8);
  a = ones<float>(dextents<2>{8, 8});
  cards.fail_next("blas_create", 100003);
  std::string const said = message_of<error>([&] { b = matmul(a, a); });
  CHECK(said.find("opening cuBLAS") != std::string::npos);
  b = matmul(a, a);
  CHECK(fetch(sum(b)) == 512);
}

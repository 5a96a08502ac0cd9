// SPDX-License-Identifier: Apache-2.0
// Products by cuBLAS: a handle and a counted workspace for each logical device, several threads, and what
// each status says. cuBLAS itself is a table of functions here.
#define LOCUS_CUDA_KERNELS 1
#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <array>
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

namespace {
/// A cuBLASLt that has an answer for each shape of less than 100 rows, and refuses what the answer was not for.
struct fake_light {
  static inline int asked = 0, launched = 0, open = 0, refuses = 0, attributes = 0;
  static inline void const* row = nullptr;
  static inline std::uint64_t rows = 0;
  static inline std::size_t workspace = 0, wants = 0;

  static cuda_side::cublaslt_table table() {
    asked = launched = open = refuses = attributes = 0, wants = 0;
    cuda_side::cublaslt_table t;
    t.make_product = [](void** p, int, int) { return *p = new int(), ++open, 0; };
    t.end_product = [](void* p) { return delete static_cast<int*>(p), --open, 0; };
    t.set_product = [](void*, int what, void const* from, std::size_t) {
      ++attributes;
      if (what == cuda_side::cublaslt_table::row_pointer)
        row = *static_cast<void const* const*>(from);
      return 0;
    };
    t.make_layout = [](void** l, int, std::uint64_t high, std::uint64_t, std::int64_t) {
      return rows = high, *l = new int(), ++open, 0;
    };
    t.end_layout = [](void* l) { return delete static_cast<int*>(l), --open, 0; };
    t.make_preference = [](void** p) { return *p = new int(), ++open, 0; };
    t.end_preference = [](void* p) { return delete static_cast<int*>(p), --open, 0; };
    t.set_preference = [](void*, int, void const*, std::size_t) { return 0; };
    t.ask = [](void*, void*, void*, void*, void*, void*, void*, int, cuda_side::cublaslt_answer* to,
               int* found) {
      ++asked;
      to->algorithm[0] = rows, to->workspace_bytes = wants;
      return *found = rows < 100, rows < 100 ? 0 : 15;
    };
    t.multiply = [](void*, void*, void const*, void const*, void*, void const*, void*, void const*,
                    void const*, void*, void*, void*, std::uint64_t const* how, void*,
                    std::size_t bytes, void*) {
      if (refuses) return refuses;
      return ++launched, workspace = bytes, how[0] == rows ? 0 : 7;
    };
    return t;
  }
};
struct light_handle {
  cublas_table table = fake_cublas::table();
  void* handle = nullptr;
  explicit light_handle(cuda_side::cublaslt_table const& light = fake_light::table()) {
    table.light = light;
    REQUIRE(cuda_side::make_blas_handle(table, &handle) == 0);
  }
  light_handle(light_handle const&) = delete;
  ~light_handle() { delete &get(); }
  cuda_side::blas_handle& get() { return *static_cast<cuda_side::blas_handle*>(handle); }
  /// the code; has: it was launched, or would be
  int run(runtime::cuda_gemm const& g, bool& has, bool asks = false) {
    return get().multiply_with_row(g, asks, has);
  }
};
alignas(64) float light_memory[64];
runtime::cuda_gemm light_product(int rows) {
  runtime::cuda_gemm g;
  g.m = rows, g.n = g.k = 2, g.lda = g.ldc = rows, g.ldb = 2;
  g.a = g.b = g.c = light_memory, g.row = light_memory + 4;
  return g;
}
}  // namespace

TEST_CASE("cuBLASLt is asked once for each shape, and gets the row of each call") {
  {
    light_handle h;
    bool has = false;
    for (int i = 0; i < 3; ++i) {
      runtime::cuda_gemm g = light_product(8);
      g.row = light_memory + 4 * i;
      CHECK(h.run(g, has, true) == 0);
      CHECK((has && fake_light::launched == i));  // a question launches nothing
      CHECK(h.run(g, has) == 0);
      CHECK((has && fake_light::launched == i + 1 && fake_light::row == g.row));
    }
    CHECK(fake_light::asked == 1);
    auto const fresh = [&](auto&& change) {
      runtime::cuda_gemm g = light_product(8);
      change(g);
      int const before = fake_light::asked;
      CHECK(h.run(g, has, true) == 0);
      return fake_light::asked - before;
    };
    CHECK(fresh([](auto& g) { g.relu = true; }) == 1);
    CHECK(fresh([](auto& g) { g.tf32 = true; }) == 1);
    CHECK(fresh([](auto& g) { g.type = element::f16; }) == 1);
    CHECK(fresh([](auto& g) { g.transpose_a = true, g.lda = 9; }) == 1);
    CHECK(fresh([](auto& g) { g.transpose_b = true; }) == 1);
    CHECK(fresh([](auto& g) { g.ldc = 12; }) == 1);
    CHECK(fresh([](auto& g) { g.workspace_bytes = 256; }) == 1);
    CHECK(fresh([](auto&) {}) == 0);
    // of very many shapes the oldest are forgotten
    for (int i = 0; i < 300; ++i) fresh([i](auto& g) { g.n = 10 + i; });
    CHECK(fresh([](auto&) {}) == 1);
    CHECK(fresh([](auto& g) { g.n = 309; }) == 0);
  }
  CHECK(fake_light::open == 0);
}

TEST_CASE("without a kernel of cuBLASLt nothing is launched, and no error is made of it") {
  bool has = true;
  {
    light_handle h;
    CHECK(h.run(light_product(200), has) == 0);  // no answer
    CHECK((!has && fake_light::launched == 0));
    CHECK(h.run(light_product(200), has) == 0);
    CHECK((!has && fake_light::asked == 1));
    runtime::cuda_gemm g = light_product(8);
    g.row = light_memory + 1;  // addresses that an algorithm was not asked for
    CHECK(h.run(g, has) == 0);
    CHECK((!has && fake_light::asked == 1));
    fake_light::wants = 4096;  // more workspace than there is
    CHECK(h.run(light_product(9), has) == 0);
    CHECK(!has);
    fake_light::wants = 0;
    // an algorithm that is refused when it shall run is tried once
    fake_light::refuses = 15;
    CHECK(h.run(light_product(10), has) == 0);
    CHECK(!has);
    fake_light::refuses = 0;
    CHECK(h.run(light_product(10), has) == 0);
    CHECK(!has);
    // what failed is said
    fake_light::refuses = 13;
    CHECK(h.run(light_product(11), has) == cublas_table::execution_failed);
    fake_light::refuses = 0;
    CHECK(h.run(light_product(11), has) == 0);
    CHECK(has);
  }
  light_handle none{cuda_side::cublaslt_table{}};
  CHECK(none.run(light_product(8), has) == 0);
  CHECK(!has);
}

TEST_CASE(
    "a row goes with the product where cuBLASLt has a kernel, else a kernel of ours adds it") {
  auto const calls = [](auto&& statement, bool adds_rows) {
    testing::recorder const cards{{.cards = 1, .adds_rows = adds_rows}};
    Tensor<float, Dextents<2>, G<0>> x(uniform<float>(dextents<2>{6, 8}, seed{1})),
        w(uniform<float>(dextents<2>{8, 4}, seed{2})), y(6, 4), wide(6, 8), turned(4, 6);
    Tensor<float, Dextents<1>, G<0>> b(uniform<float>(dextents<1>{8}, seed{3}));
    y = matmul(x, w) + slice(b, {0, 4});
    auto const before = [&](char const* name) { return cards.calls(name); };
    std::int64_t const with = before("gemm_with_row"), alone = before("gemm"),
                       kernels = before("launch");
    statement(x, w, b, y, wide, turned);
    return std::array<std::int64_t, 3>{before("gemm_with_row") - with, before("gemm") - alone,
                                       before("launch") - kernels};
  };
  using counts = std::array<std::int64_t, 3>;
  auto const plain = [](auto& x, auto& w, auto& b, auto& y, auto&, auto&) {
    y = matmul(x, w) + slice(b, {0, 4});
  };
  CHECK(calls(plain, true) == counts{1, 0, 0});
  auto const without = calls(plain, false);
  CHECK((without[0] == 0 && without[1] == 1 && without[2] >= 1));
  // a result in columns, a row with gaps
  auto const columns = calls(
      [](auto& x, auto& w, auto& b, auto&, auto&, auto& turned) {
        auto const to = view<G<0>>(turned.data(), Dextents<2>(6, 4), layout_left{});
        run(into(to, matmul(x, w) + slice(b, {0, 4})));
      },
      true);
  CHECK((columns[0] == 0 && columns[1] == 1));
  auto const gaps = calls(
      [](auto& x, auto& w, auto& b, auto& y, auto&, auto&) {
        y = matmul(x, w) + view<G<0>>(b.data(), Dextents<1>(4), layout_stride{{2}});
      },
      true);
  CHECK((gaps[0] == 0 && gaps[1] == 1));
  // a part of a wider matrix is a place like others
  auto const part =
      calls([](auto& x, auto& w, auto& b, auto&, auto& wide,
               auto&) { run(into(slice(wide, all_of, {0, 4}), matmul(x, w) + slice(b, {0, 4}))); },
            true);
  CHECK(part == counts{1, 0, 0});
}

TEST_CASE("a product with a row that fails says so, and the next one is right") {
  testing::recorder cards{{.cards = 1}};
  Tensor<float, Dextents<2>, G<0>> a(ones<float>(dextents<2>{8, 8})), c(8, 8);
  Tensor<float, Dextents<1>, G<0>> b(ones<float>(dextents<1>{8}));
  c = matmul(a, a) + b;
  cards.fail_next("gemm_with_row", 100014);
  std::string const said = message_of<error>([&] { c = matmul(a, a) + b; });
  CHECK(said.find("cuBLASLt matmul") != std::string::npos);
  c = matmul(a, a) + b;
  CHECK(fetch(sum(c)) == 64 * 9);
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

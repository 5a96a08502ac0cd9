// SPDX-License-Identifier: Apache-2.0
// In place of libcublas.so.13: the products that locus calls, in the order of a handle's stream. What the real
// one refuses is refused; two threads with one handle, and a handle away from its card, are findings.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "../cudart/library.hpp"
#include "../machine/numbers.hpp"

#define BLAS_API extern "C" __attribute__((visibility("default")))

namespace {

// cuBLAS' numbers
enum : int {
  success = 0,
  not_initialized = 1,
  invalid_value = 7,
  execution_failed = 13,
  not_supported = 15
};
enum : int { real_float = 0, real_double = 1, real_half = 2, real_bfloat16 = 14 };
enum : int { sums_of_floats = 68, sums_of_doubles = 70, sums_of_tf32 = 77 };
enum : int { without_narrow_sums = 16 };

struct handle {
  int card = ptx_card_of_stream(nullptr);
  void* stream = nullptr;
  std::thread::id set_by, used_by;
  bool has_stream = false, shared = false;
  int math_mode = 0;
};
std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
std::set<handle*>& handles() {
  static auto& all = *new std::set<handle*>;
  return all;
}
/// f(handle), which a thread uses now
template <class F>
int with(void* h, F&& f) {
  std::lock_guard const hold(lock());
  auto* const mine = static_cast<handle*>(h);
  if (!handles().count(mine)) return not_initialized;
  std::thread::id const me = std::this_thread::get_id();
  mine->shared |= mine->used_by != std::thread::id() && mine->used_by != me;
  mine->used_by = me;
  return f(*mine);
}

struct matrix {
  char const* at;
  int type;
  long long step;  // of columns
  bool turned;
  std::size_t size() const { return type == real_double ? 8 : type == real_float ? 4 : 2; }
};
struct product {
  matrix a, b, c;
  long long a_step, b_step, c_step;  // of a batch
  int m, n, k, batch, sums;
  double alpha, beta;
  int card;
  bool narrow_sums;
  /// that it reads and writes, what all products of a batch share once
  std::size_t bytes() const {
    auto const times = [&](long long step) { return std::size_t(step != 0 ? batch : 1); };
    auto const of = [](int rows, int columns) { return std::size_t(rows) * std::size_t(columns); };
    return (of(m, k) * times(a_step) + of(k, n) * times(b_step) +
            of(m, n) * times(c_step) * (beta != 0 ? 2 : 1)) *
           a.size();
  }
  std::size_t multiplications() const {
    return std::size_t(m) * std::size_t(n) * std::size_t(k) * std::size_t(batch);
  }
};

template <class S>
S value(char const* p, int type, bool tf32) {
  auto const read = [p]<class T>(T v) {
    return std::memcpy(static_cast<void*>(&v), p, sizeof v), v;
  };
  switch (type) {
  case real_double: return static_cast<S>(read(double()));
  case real_half: return static_cast<S>(float(read(ptx::half())));
  case real_bfloat16: return static_cast<S>(float(read(ptx::brain())));
  default: {
    float const v = read(float());
    if (!tf32) return static_cast<S>(v);
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(v);  // 10 bits of fraction stay
    return static_cast<S>(std::isfinite(v) ? std::bit_cast<float>((bits + 0x1000) & ~0x1fffu) : v);
  }
  }
}
double rounded(double v, int type) {
  return type == real_half       ? double(float(ptx::half(v)))
         : type == real_bfloat16 ? double(float(ptx::brain(v)))
         : type == real_float    ? double(float(v))
                                 : v;
}
void put(char* p, int type, double v) {
  auto const write = [p](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (type) {
  case real_double: return write(v);
  case real_half: return write(ptx::half(v));
  case real_bfloat16: return write(ptx::brain(v));
  default: return write(float(v));
  }
}
/// op(x) as rows of S, each element asked for as a card's kernel would
template <class S>
std::vector<S> rows_of(matrix const& x, char const* at, int rows, int columns, product const& p) {
  std::vector<S> r(std::size_t(rows) * std::size_t(columns));
  int const high = x.turned ? columns : rows, wide = x.turned ? rows : columns;
  for (int j = 0; j < wide; ++j) {
    auto const* const column =
        static_cast<char const*>(ptx_reach(at + x.step * j * (long long)x.size(),
                                           std::size_t(high) * x.size(), p.card, true, "cuBLAS"));
    for (int i = 0; i < high; ++i)
      r[x.turned ? std::size_t(j) * std::size_t(columns) + std::size_t(i)
                 : std::size_t(i) * std::size_t(columns) + std::size_t(j)] =
          value<S>(column + std::size_t(i) * x.size(), x.type, p.sums == sums_of_tf32);
  }
  return r;
}
template <class S>
void multiply(product const& p, long long number) {
  std::size_t const n = std::size_t(p.n), k = std::size_t(p.k);
  auto const a = rows_of<S>(p.a, p.a.at + number * p.a_step * (long long)p.a.size(), p.m, p.k, p);
  auto const b = rows_of<S>(p.b, p.b.at + number * p.b_step * (long long)p.b.size(), p.k, p.n, p);
  std::vector<S> c(std::size_t(p.m) * n);
  for (std::size_t i = 0; i < std::size_t(p.m); ++i)
    for (std::size_t l = 0; l < k; ++l) {
      S const x = a[i * k + l];
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += x * b[l * n + j];
      if (p.narrow_sums && l % 64 == 63)  // parts of a sum meet as halves, unless that is forbidden
        for (std::size_t j = 0; j < n; ++j)
          c[i * n + j] = S(rounded(double(c[i * n + j]), p.c.type));
    }
  char const* const to = p.c.at + number * p.c_step * (long long)p.c.size();
  for (std::size_t j = 0; j < n; ++j) {
    char const* const column = to + p.c.step * (long long)(j * p.c.size());
    std::size_t const bytes = std::size_t(p.m) * p.c.size();
    auto* const out = static_cast<char*>(ptx_reach(column, bytes, p.card, p.beta != 0, "cuBLAS"));
    for (std::size_t i = 0; i < std::size_t(p.m); ++i) {
      char* const e = out + i * p.c.size();
      double const before = p.beta != 0 ? p.beta * value<double>(e, p.c.type, false) : 0;
      put(e, p.c.type, p.alpha * double(c[i * n + j]) + before);
    }
    ptx_wrote(column, bytes);
  }
}
void run(void* data) {
  std::unique_ptr<product> const p(static_cast<product*>(data));
  for (long long each = 0; each < p->batch; ++each)
    p->sums == sums_of_doubles ? multiply<double>(*p, each) : multiply<float>(*p, each);
}

int start(char const* function, void* h, int ta, int tb, int m, int n, int k, void const* alpha,
          void const* a, int at, int lda, long long as, void const* b, int bt, int ldb,
          long long bs, void const* beta, void* c, int ct, int ldc, long long cs, int batch,
          int sums) {
  if (sums == sums_of_tf32) (void)ptx_called("products of tf32");
  if (int const planned = ptx_called(function)) return planned;
  return with(h, [&](handle& mine) -> int {
    bool const wide = sums == sums_of_doubles;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || (ta | tb) & ~1) return invalid_value;
    if (lda < std::max(1, ta ? k : m) || ldb < std::max(1, tb ? n : k) || ldc < std::max(1, m))
      return invalid_value;
    if (!alpha || !beta) return invalid_value;
    bool const known = wide                   ? at == real_double
                       : sums == sums_of_tf32 ? at == real_float
                       : sums == sums_of_floats
                           ? at == real_float || at == real_half || at == real_bfloat16
                           : false;
    if (!known || at != bt || at != ct) return not_supported;
    if (m == 0 || n == 0 || batch == 0) return success;
    if (!c || (k > 0 && (!a || !b))) return invalid_value;
    if (mine.has_stream && mine.set_by != std::this_thread::get_id())
      ptx_report("a product of cuBLAS runs on a stream that another thread gave to the handle");
    if (ptx_card_of_stream(nullptr) != mine.card)
      ptx_report("a handle of cuBLAS is used while another card is the current one");
    auto const number = [wide](void const* p) {
      return wide ? *static_cast<double const*>(p) : double(*static_cast<float const*>(p));
    };
    bool const halves = at == real_half || at == real_bfloat16;
    auto* const p = new product{{static_cast<char const*>(a), at, lda, ta == 1},
                                {static_cast<char const*>(b), bt, ldb, tb == 1},
                                {static_cast<char const*>(c), ct, ldc, false},
                                as,
                                bs,
                                cs,
                                m,
                                n,
                                k,
                                batch,
                                sums,
                                number(alpha),
                                number(beta),
                                mine.card,
                                halves && !(mine.math_mode & without_narrow_sums)};
    if (ptx_submit(mine.stream, run, p, function, p->bytes(), p->multiplications()) == 0)
      return success;
    delete p;
    return execution_failed;
  });
}

}  // namespace

BLAS_API int cublasCreate_v2(void** h) {
  if (!h) return invalid_value;
  if (int const planned = ptx_called("cublasCreate")) return planned;
  std::lock_guard const hold(lock());
  auto* const fresh = new handle;
  handles().insert(fresh);
  return *h = fresh, success;
}
BLAS_API int cublasDestroy_v2(void* h) {
  std::lock_guard const hold(lock());
  if (handles().erase(static_cast<handle*>(h)) == 0) return not_initialized;
  return delete static_cast<handle*>(h), success;
}
BLAS_API int cublasSetStream_v2(void* h, void* stream) {
  bool shared = false;
  if (int const planned = ptx_called("cublasSetStream")) return planned;
  int const code = with(h, [&](handle& mine) -> int {
    if (ptx_card_of_stream(stream) != mine.card) return invalid_value;
    mine.stream = stream, mine.has_stream = true, mine.set_by = mine.used_by, shared = mine.shared;
    return success;
  });
  if (shared) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the other's turn
  return code;
}
BLAS_API int cublasSetWorkspace_v2(void* h, void* p, std::size_t bytes) {
  return with(h, [&](handle& mine) -> int {
    return bytes == 0 || (p && ptx_card_of(p) == mine.card) ? success : invalid_value;
  });
}
BLAS_API int cublasSetMathMode(void* h, int mode) {
  return with(h, [&](handle& mine) -> int {
    if (mode & ~(0xf | without_narrow_sums)) return invalid_value;
    return mine.math_mode = mode, success;
  });
}
BLAS_API int cublasGetProperty(int part, int* v) {
  if (!v || part < 0 || part > 2) return invalid_value;
  return *v = part == 0 ? 13 : 0, success;
}
BLAS_API int cublasSgemm_v2(void* h, int ta, int tb, int m, int n, int k, float const* alpha,
                            float const* a, int lda, float const* b, int ldb, float const* beta,
                            float* c, int ldc) {
  return start("cublasSgemm", h, ta, tb, m, n, k, alpha, a, real_float, lda, 0, b, real_float, ldb,
               0, beta, c, real_float, ldc, 0, 1, sums_of_floats);
}
BLAS_API int cublasDgemm_v2(void* h, int ta, int tb, int m, int n, int k, double const* alpha,
                            double const* a, int lda, double const* b, int ldb, double const* beta,
                            double* c, int ldc) {
  return start("cublasDgemm", h, ta, tb, m, n, k, alpha, a, real_double, lda, 0, b, real_double,
               ldb, 0, beta, c, real_double, ldc, 0, 1, sums_of_doubles);
}
BLAS_API int cublasGemmEx(void* h, int ta, int tb, int m, int n, int k, void const* alpha,
                          void const* a, int at, int lda, void const* b, int bt, int ldb,
                          void const* beta, void* c, int ct, int ldc, int sums, int) {
  return start("cublasGemmEx", h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct,
               ldc, 0, 1, sums);
}
BLAS_API int cublasGemmStridedBatchedEx(void* h, int ta, int tb, int m, int n, int k,
                                        void const* alpha, void const* a, int at, int lda,
                                        long long as, void const* b, int bt, int ldb, long long bs,
                                        void const* beta, void* c, int ct, int ldc, long long cs,
                                        int batch, int sums, int) {
  return start("cublasGemmStridedBatchedEx", h, ta, tb, m, n, k, alpha, a, at, lda, as, b, bt, ldb,
               bs, beta, c, ct, ldc, cs, batch, sums);
}

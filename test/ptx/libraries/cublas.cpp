// SPDX-License-Identifier: Apache-2.0
// In place of libcublas.so.13: the products that locus calls, in the order of a handle's stream. What the real
// one refuses is refused; two threads with one handle, and a handle away from its card, are findings.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "elimination.hpp"
#include "product.hpp"

BLAS_API int cublasLtCreate(void** h);
BLAS_API int cublasLtDestroy(void* h);

namespace {

using namespace products;

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
/// by the handles of cuBLASLt in them: each of ours is one of those, too
std::map<void*, std::unique_ptr<handle>>& handles() {
  static auto& all = *new std::map<void*, std::unique_ptr<handle>>;
  return all;
}
/// f(handle), which a thread uses now
template <class F>
int with(void* h, F&& f) {
  std::lock_guard const hold(lock());
  auto const found = handles().find(h);
  if (found == handles().end()) return not_initialized;
  handle* const mine = found->second.get();
  std::thread::id const me = std::this_thread::get_id();
  mine->shared |= mine->used_by != std::thread::id() && mine->used_by != me;
  mine->used_by = me;
  return f(*mine);
}

/// the systems of a batch: pivots and factors, or a solution for each right side; matrices are dense
template <class T>
struct batch {
  int n, right, all;
  T* const* each;
  T* const* rights;
  int *pivots, *infos;

  void factor(stand_ins::card_memory const& here, int k) const {
    T* const a = here.address(each, k);
    stand_ins::numbers x = here.read(a, n * n), rows;
    int const ended = stand_ins::eliminate(n, x, rows);
    here.write(a, x), here.write(pivots + k * n, rows), here.write(infos + k, {double(ended)});
  }
  void solve(stand_ins::card_memory const& here, int k) const {
    T* const b = here.address(rights, k);
    stand_ins::numbers x = here.read(here.address(each, k), n * n), y = here.read(b, n * right);
    stand_ins::substitute(n, right, x, here.read(pivots + k * n, n), y);
    here.write(b, y);
  }
};
template <class T>
int start_batch(char const* function, void* h, batch<T> const& of, bool solves) {
  if (int const planned = ptx_called(function)) return planned;
  return with(h, [&](handle& mine) -> int {
    if (of.n < 1 || of.all < 0 || of.right < 0 || !of.each || (solves && !of.rights))
      return invalid_value;
    struct task {
      batch<T> of;
      bool solves;
      stand_ins::card_memory here;
    };
    auto* const t = new task{of, solves, {mine.card, "cuBLAS"}};
    auto const run_all = [](void* data) {
      std::unique_ptr<task> const one(static_cast<task*>(data));
      for (int k = 0; k < one->of.all; ++k)
        one->solves ? one->of.solve(one->here, k) : one->of.factor(one->here, k);
    };
    auto const bytes = std::size_t(of.all) * std::size_t(of.n) * std::size_t(of.n) * sizeof(T);
    if (ptx_submit(mine.stream, run_all, t, function, bytes, 0) == 0) return success;
    delete t;
    return execution_failed;
  });
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
    if (!is_known(at, sums) || at != bt || at != ct) return not_supported;
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
  if (int const code = cublasLtCreate(h); code != success) return code;
  handles()[*h] = std::make_unique<handle>();
  return success;
}
BLAS_API int cublasDestroy_v2(void* h) {
  std::lock_guard const hold(lock());
  if (handles().erase(h) == 0) return not_initialized;
  return cublasLtDestroy(h);
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
#define BATCHES(T, letter)                                                                        \
  BLAS_API int cublas##letter##getrfBatched(void* h, int n, T* const* each, int lda, int* pivots, \
                                            int* infos, int all) {                                \
    if (lda != n || !pivots || !infos) return invalid_value;                                      \
    return start_batch<T>("cublasXgetrfBatched", h, {n, 0, all, each, nullptr, pivots, infos},    \
                          false);                                                                 \
  }                                                                                               \
  BLAS_API int cublas##letter##getrsBatched(void* h, int turned, int n, int right,                \
                                            T const* const* each, int lda, int const* pivots,     \
                                            T* const* rights, int ldb, int* refused, int all) {   \
    if (turned != 0 || lda != n || ldb != n || !refused || right < 1) return invalid_value;       \
    *refused = 0;                                                                                 \
    return start_batch<T>(                                                                        \
        "cublasXgetrsBatched", h,                                                                 \
        {n, right, all, const_cast<T* const*>(each), rights, const_cast<int*>(pivots), nullptr},  \
        true);                                                                                    \
  }
BATCHES(float, S)
BATCHES(double, D)

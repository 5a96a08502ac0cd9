// SPDX-License-Identifier: Apache-2.0
// In place of libcublasLt.so.13, the library below libcublas.so.13: products with a row and a relu in their kernel. What
// the real one refuses is refused: layouts that do not meet, an algorithm of another question, addresses of less than the
// alignment that was asked for, a workspace that is too small.
#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>

#include "product.hpp"

namespace {

using namespace products;

/// of descriptors, of preferences, of what follows a product, of how parts of a sum meet
enum : int {
  desc_scale_pointer = 2,
  desc_transpose_a = 3,
  desc_transpose_b = 4,
  desc_epilogue = 7,
  desc_row = 8
};
enum : int { most_workspace = 1, reductions = 3, alignment_a = 5, alignment_d = 8 };
enum : unsigned { plain = 1, relu = 2, row = 4 };
enum : unsigned { in_place = 1, in_type_of_sums = 2, in_type_of_result = 4 };

struct description {
  int sums = 0, scale = 0;
  std::int32_t transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = plain;
  void const* at_row = nullptr;
};
struct layout {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
};
struct preference {
  std::size_t workspace = 0;
  std::uint32_t reductions = 7, alignment[4] = {256, 256, 256, 256};
};
/// what is in the 64 bytes of an algorithm
struct algorithm {
  std::uint64_t known = 0, shape = 0, workspace = 0, narrow = 0, alignment[4] = {};
  static constexpr std::uint64_t mark = 0x4c6f637573ull;
};
static_assert(sizeof(algorithm) == 64);
struct answer {
  algorithm what;
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
/// the card of each handle
std::map<void*, int>& handles() {
  static auto& all = *new std::map<void*, int>;
  return all;
}
int card_of_handle(void* h) {
  std::lock_guard const hold(lock());
  auto const found = handles().find(h);
  return found == handles().end() ? -1 : found->second;
}

/// one product, as descriptors and layouts say it; a status of cuBLAS
int read(description const& d, layout const& a, layout const& b, layout const& c, layout const& to,
         product& p) {
  auto const high = [](layout const& x, bool turned) { return turned ? x.columns : x.rows; };
  auto const wide = [](layout const& x, bool turned) { return turned ? x.rows : x.columns; };
  bool const ta = d.transpose_a != 0, tb = d.transpose_b != 0;
  std::uint64_t const m = high(a, ta), k = wide(a, ta), n = wide(b, tb);
  if ((d.transpose_a | d.transpose_b) & ~1) return invalid_value;
  if (high(b, tb) != k || to.rows != m || to.columns != n) return invalid_value;
  if (c.rows != m || c.columns != n || m == 0 || n == 0 || k == 0) return invalid_value;
  for (layout const* const x : {&a, &b, &c, &to})
    if (x->leading < std::int64_t(x->rows)) return invalid_value;
  if (!is_known(a.type, d.sums) || a.type != b.type || a.type != c.type || a.type != to.type)
    return not_supported;
  bool const in_doubles = d.sums == sums_of_doubles, has_complex = is_complex(a.type);
  int const scale = has_complex  ? in_doubles ? complex_double : complex_float
                    : in_doubles ? real_double
                                 : real_float;
  if (d.scale != scale || (has_complex && d.epilogue != plain)) return not_supported;
  if (d.epilogue & ~(plain | relu | row)) return not_supported;
  if ((d.epilogue & row) && !d.at_row) return invalid_value;
  p = {{nullptr, a.type, a.leading, ta},
       {nullptr, b.type, b.leading, tb},
       {nullptr, to.type, to.leading, false},
       0,
       0,
       0,
       int(m),
       int(n),
       int(k),
       1,
       d.sums,
       1,
       0,
       0,
       false};
  p.relu = (d.epilogue & relu) != 0;
  return success;
}
std::uint64_t shape_of(description const& d, product const& p) {
  std::uint64_t h = 1469598103934665603ull;
  for (std::int64_t const part :
       {std::int64_t(p.m), std::int64_t(p.n), std::int64_t(p.k), std::int64_t(p.a.step),
        std::int64_t(p.b.step), std::int64_t(p.c.step), std::int64_t(p.a.type),
        std::int64_t(p.sums), std::int64_t(d.epilogue), std::int64_t(d.transpose_a),
        std::int64_t(d.transpose_b)})
    h = (h ^ std::uint64_t(part)) * 1099511628211ull;
  return h;
}
/// a number of a descriptor
template <class T>
int take(T& to, void const* from, std::size_t bytes) {
  if (!from || bytes != sizeof to) return invalid_value;
  return std::memcpy(static_cast<void*>(&to), from, bytes), success;
}
template <class T, class... Args>
int make(void** to, Args... args) {
  if (!to) return invalid_value;
  return *to = new T{args...}, success;
}

}  // namespace

BLAS_API int cublasLtCreate(void** h) {
  if (!h) return invalid_value;
  std::lock_guard const hold(lock());
  *h = new char;
  handles()[*h] = ptx_card_of_stream(nullptr);
  return success;
}
BLAS_API int cublasLtDestroy(void* h) {
  std::lock_guard const hold(lock());
  if (handles().erase(h) == 0) return not_initialized;
  return delete static_cast<char*>(h), success;
}
BLAS_API int cublasLtMatmulDescCreate(void** d, int sums, int scale) {
  return make<description>(d, sums, scale);
}
BLAS_API int cublasLtMatmulDescDestroy(void* d) {
  return delete static_cast<description*>(d), success;
}
BLAS_API int cublasLtMatmulDescSetAttribute(void* to, int what, void const* from,
                                            std::size_t bytes) {
  if (!to) return invalid_value;
  auto& d = *static_cast<description*>(to);
  switch (what) {
  case desc_transpose_a: return take(d.transpose_a, from, bytes);
  case desc_transpose_b: return take(d.transpose_b, from, bytes);
  case desc_epilogue: return take(d.epilogue, from, bytes);
  case desc_row: return take(d.at_row, from, bytes);
  default: return invalid_value;
  }
}
BLAS_API int cublasLtMatrixLayoutCreate(void** to, int type, std::uint64_t rows,
                                        std::uint64_t columns, std::int64_t leading) {
  return make<layout>(to, type, rows, columns, leading);
}
BLAS_API int cublasLtMatrixLayoutDestroy(void* l) {
  return delete static_cast<layout*>(l), success;
}
BLAS_API int cublasLtMatmulPreferenceCreate(void** p) { return make<preference>(p); }
BLAS_API int cublasLtMatmulPreferenceDestroy(void* p) {
  return delete static_cast<preference*>(p), success;
}
BLAS_API int cublasLtMatmulPreferenceSetAttribute(void* to, int what, void const* from,
                                                  std::size_t bytes) {
  if (!to) return invalid_value;
  auto& p = *static_cast<preference*>(to);
  if (what == most_workspace) return take(p.workspace, from, bytes);
  if (what == reductions) return take(p.reductions, from, bytes);
  if (what >= alignment_a && what <= alignment_d)
    return take(p.alignment[what - alignment_a], from, bytes);
  return invalid_value;
}
/// One algorithm: deep products are cut along the sum, where there is workspace for the parts.
BLAS_API int cublasLtMatmulAlgoGetHeuristic(void* h, void* desc, void* a, void* b, void* c, void* d,
                                            void* wanted, int most, void* to, int* found) {
  if (found) *found = 0;
  if (int const planned = ptx_called("cublasLtMatmulAlgoGetHeuristic")) return planned;
  if (card_of_handle(h) < 0) return not_initialized;
  if (!desc || !a || !b || !c || !d || !wanted || most <= 0 || !to || !found) return invalid_value;
  auto const& of = *static_cast<description*>(desc);
  auto const& how = *static_cast<preference*>(wanted);
  product p;
  if (int const code = read(of, *static_cast<layout*>(a), *static_cast<layout*>(b),
                            *static_cast<layout*>(c), *static_cast<layout*>(d), p))
    return code;
  answer& r = *static_cast<answer*>(to);
  r = {};
  r.what.known = algorithm::mark, r.what.shape = shape_of(of, p);
  bool const halves = p.c.type == real_half || p.c.type == real_bfloat16;
  r.what.narrow = halves && (how.reductions & (in_place | in_type_of_result));
  std::size_t const parts = std::size_t(p.m) * std::size_t(p.n) * 4 * 2;
  if (p.k > 64 && (how.reductions & in_type_of_sums) && parts <= how.workspace)
    r.what.workspace = r.workspace = parts;
  for (int k = 0; k < 4; ++k) r.what.alignment[k] = how.alignment[k];
  return *found = 1, success;
}
BLAS_API int cublasLtMatmul(void* h, void* desc, void const* alpha, void const* a, void* a_layout,
                            void const* b, void* b_layout, void const* beta, void const* c,
                            void* c_layout, void* d, void* d_layout, void const* by,
                            void* workspace, std::size_t workspace_bytes, void* stream) {
  if (int const planned = ptx_called("cublasLtMatmul")) return planned;
  int const card = card_of_handle(h);
  if (card < 0) return not_initialized;
  if (!desc || !alpha || !a || !a_layout || !b || !b_layout || !beta || !c_layout || !d ||
      !d_layout || !by)
    return invalid_value;
  auto const& of = *static_cast<description*>(desc);
  product p;
  if (int const code = read(of, *static_cast<layout*>(a_layout), *static_cast<layout*>(b_layout),
                            *static_cast<layout*>(c_layout), *static_cast<layout*>(d_layout), p))
    return code;
  if (p.sums == sums_of_tf32) (void)ptx_called("products of tf32");
  algorithm how;
  std::memcpy(static_cast<void*>(&how), by, sizeof how);
  if (how.known != algorithm::mark || how.shape != shape_of(of, p)) return invalid_value;
  void const* const at[] = {a, b, c, d};
  for (int k = 0; k < 4; ++k)
    if (how.alignment[k] == 0 || reinterpret_cast<std::uintptr_t>(at[k]) % how.alignment[k] != 0)
      return invalid_value;
  if (how.workspace > workspace_bytes || (how.workspace && ptx_card_of(workspace) != card))
    return invalid_value;
  if (ptx_card_of_stream(stream) != card || ptx_card_of_stream(nullptr) != card) {
    ptx_report(
        "a handle of cuBLASLt is used with a stream of another card, or while that is current");
    return invalid_value;
  }
  auto const number = [&](void const* v) {
    return of.scale == real_double ? *static_cast<double const*>(v)
                                   : double(*static_cast<float const*>(v));
  };
  p.alpha = number(alpha), p.beta = number(beta), p.card = card, p.narrow_sums = how.narrow != 0;
  if (p.beta != 0 && c != d) return not_supported;
  p.a.at = static_cast<char const*>(a), p.b.at = static_cast<char const*>(b);
  p.c.at = static_cast<char const*>(d);
  if (of.epilogue & row) p.row = static_cast<char const*>(of.at_row);
  auto* const work = new product(p);
  if (ptx_submit(stream, run, work, "cublasLtMatmul", work->bytes(), work->multiplications()) == 0)
    return success;
  delete work;
  return execution_failed;
}

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_cublaslt.hpp declares.
#pragma once
#include <locus/backend/cuda/open_library.hpp>   // take_function
#include <locus/backend/cuda/real_cublaslt.hpp>  // the declarations
#include <locus/core/macros.hpp>                 // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION bool cublaslt_table::is_complete() const {
  return make_product && end_product && set_product && make_layout && end_layout &&
         make_preference && end_preference && set_preference && ask && multiply;
}

LOCUS_FUNCTION cublaslt_table cublaslt_table::of_library(void* library) {
  cublaslt_table found;
  auto const take = [library](auto& to, char const* name) { take_function(library, to, name); };
  take(found.make_product, "cublasLtMatmulDescCreate");
  take(found.end_product, "cublasLtMatmulDescDestroy");
  take(found.set_product, "cublasLtMatmulDescSetAttribute");
  take(found.make_layout, "cublasLtMatrixLayoutCreate");
  take(found.end_layout, "cublasLtMatrixLayoutDestroy");
  take(found.make_preference, "cublasLtMatmulPreferenceCreate");
  take(found.end_preference, "cublasLtMatmulPreferenceDestroy");
  take(found.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  take(found.ask, "cublasLtMatmulAlgoGetHeuristic");
  take(found.multiply, "cublasLtMatmul");
  return found;
}

LOCUS_FUNCTION product_with_row::product_with_row(cublaslt_table const& t, void* handle,
                                                  runtime::cuda_gemm const& g, numbers const& of)
    : table_(t), of_(g) {
  int status = t.make_product(&product_, of.sums, of.scale);
  auto set = [&](int attribute, auto const& value) {
    if (status == 0)
      status = t.set_product(product_, attribute, static_cast<void const*>(&value), sizeof value);
  };
  set(cublaslt_table::transpose_a, std::int32_t(g.transpose_a));
  set(cublaslt_table::transpose_b, std::int32_t(g.transpose_b));
  set(cublaslt_table::epilogue,
      g.relu ? cublaslt_table::adds_row_then_relu : cublaslt_table::adds_row);
  // cuBLASLt reads only the alignment of this address
  set(cublaslt_table::row_pointer, reinterpret_cast<void const*>(alignment));
  auto lay_out = [&](void*& to, int rows, int columns, int leading) {
    if (status == 0)
      status = t.make_layout(&to, of.type, std::uint64_t(rows), std::uint64_t(columns), leading);
  };
  lay_out(a_, g.transpose_a ? g.k : g.m, g.transpose_a ? g.m : g.k, g.lda);
  lay_out(b_, g.transpose_b ? g.n : g.k, g.transpose_b ? g.k : g.n, g.ldb);
  lay_out(c_, g.m, g.n, g.ldc);
  if (status == 0) ask(handle);
}

LOCUS_FUNCTION product_with_row::~product_with_row() {
  if (product_) table_.end_product(product_);
  for (void* const layout : {a_, b_, c_})
    if (layout) table_.end_layout(layout);
}

LOCUS_FUNCTION bool product_with_row::serves(runtime::cuda_gemm const& g) const {
  return g.type == of_.type && g.transpose_a == of_.transpose_a &&
         g.transpose_b == of_.transpose_b && g.tf32 == of_.tf32 && g.relu == of_.relu &&
         g.m == of_.m && g.n == of_.n && g.k == of_.k && g.lda == of_.lda && g.ldb == of_.ldb &&
         g.ldc == of_.ldc && g.workspace_bytes == of_.workspace_bytes;
}

LOCUS_FUNCTION int product_with_row::run(void* handle, runtime::cuda_gemm const& g) {
  double const one = 1, zero = 0;
  float const one_float = 1, zero_float = 0;
  bool const wide = g.type == element::f64;
  void const *alpha = wide ? static_cast<void const*>(&one) : &one_float,
             *beta = wide ? static_cast<void const*>(&zero) : &zero_float;
  int status = table_.set_product(product_, cublaslt_table::row_pointer,
                                  static_cast<void const*>(&g.row), sizeof g.row);
  if (status == 0)
    status = table_.multiply(handle, product_, alpha, g.a, a_, g.b, b_, beta, g.c, c_, g.c, c_,
                             algorithm_, g.workspace, g.workspace_bytes, g.stream);
  if (status == cublaslt_table::not_supported || status == cublaslt_table::invalid_value)
    has_ = false;
  return status;
}

LOCUS_FUNCTION void product_with_row::ask(void* handle) {
  void* preference = nullptr;
  if (table_.make_preference(&preference) != 0) return;
  int status = 0;
  auto set = [&](int attribute, auto const& value) {
    if (status == 0) status = table_.set_preference(preference, attribute, &value, sizeof value);
  };
  set(cublaslt_table::most_workspace, of_.workspace_bytes);
  set(cublaslt_table::reductions, cublaslt_table::sums_as_computed);
  for (int k = cublaslt_table::alignment_a; k <= cublaslt_table::alignment_d; ++k)
    set(k, std::uint32_t(alignment));
  cublaslt_answer answer;
  int found = 0;
  if (status == 0)
    status = table_.ask(handle, product_, a_, b_, c_, c_, preference, 1, &answer, &found);
  table_.end_preference(preference);
  has_ = status == 0 && found > 0 && answer.status == 0 &&
         answer.workspace_bytes <= of_.workspace_bytes;
  for (int k = 0; k < 8; ++k) algorithm_[k] = answer.algorithm[k];
}

LOCUS_FUNCTION int products_with_row::run(void* handle, runtime::cuda_gemm const& g,
                                          product_with_row::numbers const& of, bool asks,
                                          bool& has) {
  has = false;
  if (!table_.is_complete() || !is_aligned(g)) return 0;
  product_with_row& p = find(handle, g, of);
  if (!p.has_kernel()) return 0;
  int const status = asks ? 0 : p.run(handle, g);
  has = p.has_kernel();
  return has ? status : 0;
}

LOCUS_FUNCTION bool products_with_row::is_aligned(runtime::cuda_gemm const& g) {
  for (void const* const at : {g.a, g.b, static_cast<void const*>(g.c), g.row})
    if (reinterpret_cast<std::uintptr_t>(at) % product_with_row::alignment != 0) return false;
  return true;
}

LOCUS_FUNCTION product_with_row& products_with_row::find(void* handle, runtime::cuda_gemm const& g,
                                                         product_with_row::numbers const& of) {
  for (std::size_t k = 0; k < shapes_.size(); ++k)
    if (shapes_[k]->serves(g)) return *shapes_[k];
  auto fresh = std::make_unique<product_with_row>(table_, handle, g, of);
  if (shapes_.size() < most) return *shapes_.push(std::move(fresh));
  std::size_t const at = oldest_++ % most;
  shapes_[at] = std::move(fresh);
  return *shapes_[at];
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END

// SPDX-License-Identifier: Apache-2.0
// How each kind of work is launched on a GPU.
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_COLD_BEGIN
#include <locus/engine/gpu/copy.hpp>         // cuda_kernel<copy_work>
#include <locus/engine/gpu/map.hpp>          // cuda_kernel<map_work>
#include <locus/engine/gpu/ordered_sum.hpp>  // cuda_kernel<ordered_sum_work>
#include <locus/engine/gpu/product.hpp>      // start_product
#include <locus/engine/gpu/reduce.hpp>       // cuda_kernel<reduce_work>
#include <locus/engine/gpu/rows.hpp>         // cuda_kernel<rows_work>
#include <locus/work/call_work.hpp>          // call_work
#include <locus/work/fold.hpp>               // fold_work
#include <locus/work/work.hpp>               // copy_work, matmul_work

LOCUS_COLD_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// runs card(), a body of several launches (engine/gpu/card_context.hpp)
template <class Work>
void run_card_body(launch_site const& site, Work const& work);
/// runs team(), a body for teams of threads (engine/gpu/call_teams.hpp)
template <class Team>
void start_teams(launch_site const& site, Team const& of);

template <class Work>
struct fold_elements {
  Work w;
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    each_of(block, w.of.count, [&](std::int64_t i) { w.element(i); });
  }
};

template <class Work>
struct call_elements {
  Work w;
  std::int64_t size;
  bool zeros;
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    each_of(block, size, [&](std::int64_t i) {
      if constexpr (Work::has_element_body)
        if (!zeros) return w.write_element(i);
      w.write_zero(i);
    });
  }
};

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <reduction R, class T>
struct cuda_kernel<fold_work<R, T>> {
  static void launch(launch_site const& site, fold_work<R, T> const& work) {
    cuda_side::start(site, cuda_side::fold_elements<fold_work<R, T>>{work},
                     cuda_side::blocks_for(work.of.count));
  }
};

/// card(), team(), or one thread for each element of the results
template <class Op, class Results, class Operands>
struct cuda_kernel<call_work<Op, Results, Operands>> {
  using work_type = call_work<Op, Results, Operands>;
  static void launch(launch_site const& site, work_type const& work) {
    std::int64_t const n = work.size();
    if (n == 0) return;
    bool const zeros = work.has_nothing_to_read();
    if constexpr (work_type::has_card_body)
      if (!zeros && work.is_for_cards()) return cuda_side::run_card_body(site, work);
    if constexpr (Op::rule.by_teams)
      if (!zeros) return cuda_side::start_teams(site, work.team());
    cuda_side::start(site, cuda_side::call_elements<work_type>{work, n, zeros},
                     cuda_side::blocks_for(n));
  }
};

/// c = a b by cuBLAS, which is column-major: c' = b' a'
template <class T>
struct cuda_kernel<matmul_work<T>> {
  static void launch(launch_site const& site, matmul_work<T> const& work) {
    kernel::matrix const &a = work.a, &b = work.b, &c = work.c;
    if (c.rows == 0 || c.columns == 0) return;
    if (work.batch.count != 1) return launch_batch(site, work);
    if (work.row.data && c.is_row_major() && a.fits_blas() && b.fits_blas() &&
        cuda_side::start_product_with_row(site, element_of_v<T>, c, a, b, work.row)) {
      *work.row.added = true;
      return;
    }
    if (!a.fits_blas())
      return with_dense(site, work, a,
                        [&](kernel::matrix const& m) { return matmul_work<T>{c, m, b}; });
    if (!b.fits_blas())
      return with_dense(site, work, b,
                        [&](kernel::matrix const& m) { return matmul_work<T>{c, a, m}; });
    if (c.is_row_major()) return gemm(site, c, a, b);
    if (c.transposed().is_row_major())
      return gemm(site, c.transposed(), b.transposed(), a.transposed());
    cuda_side::workspace const memory(site, c.rows * c.columns * std::int64_t(sizeof(T)));
    kernel::matrix const dense{memory.data(), c.rows, c.columns, c.columns, 1};
    gemm(site, dense, a, b);
    copy(site, c, dense);
  }

 private:
  /// one call of cuBLAS if all operands fit it, otherwise one product after another
  static void launch_batch(launch_site const& site, matmul_work<T> const& work) {
    kernel::matrix const &a = work.a, &b = work.b, &c = work.c;
    kernel::batch const& n = work.batch;
    if (a.fits_blas() && b.fits_blas() && n.count <= INT32_MAX) {
      if (c.is_row_major()) return gemm(site, c, a, b, n);
      if (c.transposed().is_row_major())
        return gemm(site, c.transposed(), b.transposed(), a.transposed(), {n.count, n.c, n.b, n.a});
    }
    for (std::int64_t i = 0; i < n.count; ++i)
      launch(site, matmul_work<T>{kernel::matrix_at<T>(c, n.c, i), kernel::matrix_at<T>(a, n.a, i),
                                  kernel::matrix_at<T>(b, n.b, i)});
  }
  static void copy(launch_site const& site, kernel::matrix const& to, kernel::matrix const& from) {
    copy_work w{sizeof(T), {}, {}, {}};
    w.over.rank = 2, w.over.extent[0] = from.rows, w.over.extent[1] = from.columns;
    w.to.data = to.data, w.to.stride[0] = to.row_stride, w.to.stride[1] = to.column_stride;
    w.from.data = from.data, w.from.stride[0] = from.row_stride,
    w.from.stride[1] = from.column_stride;
    cuda_kernel<copy_work>::launch(site, w);
  }
  template <class Rebuild>
  static void with_dense(launch_site const& site, matmul_work<T> const&, kernel::matrix const& m,
                         Rebuild rebuild) {
    cuda_side::workspace const memory(site, m.rows * m.columns * std::int64_t(sizeof(T)));
    kernel::matrix const dense{memory.data(), m.rows, m.columns, m.columns, 1};
    copy(site, dense, m);
    launch(site, rebuild(dense));
  }
  static void gemm(launch_site const& site, kernel::matrix const& c, kernel::matrix const& a,
                   kernel::matrix const& b, kernel::batch const& batch = {}) {
    cuda_side::start_product(site, element_of_v<T>, c, a, b, batch);
  }
};

/// The kernels that every unit of nvcc makes for all units: copies and products.
inline bool const common_kernels = (cuda_side::require_registered<copy_work>(),
                                    cuda_side::require_registered<matmul_work<float>>(),
                                    cuda_side::require_registered<matmul_work<double>>(),
                                    cuda_side::require_registered<matmul_work<half>>(),
                                    cuda_side::require_registered<matmul_work<bfloat16>>(), true);
}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// A sparse matrix times a vector and times a dense matrix, on one thread: five points on a square, and
// random columns; beside Eigen's SparseMatrix<RowMajor> over the same arrays and a plain loop.
#include <memory>
#include <random>
#include <vector>

#include <bench/harness.hpp>

#include <locus/sparse/from_lists.hpp>
#include <locus/sparse/matmul.hpp>

#if BENCH_EIGEN
#include <Eigen/Sparse>
#endif

using namespace locus;

namespace {

template <class T>
using Vector = Tensor<T, Dextents<1>>;
template <class T>
using Matrix = sparse::csr<T>;
template <class T>
using shared_matrix = std::shared_ptr<Matrix<T>>;

template <class T>
shared_matrix<T> poisson(std::int64_t n) {
  std::vector<sparse::triplet<T>> list;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t const row = i * n + j;
      list.push_back({row, row, T(4)});
      if (i > 0) list.push_back({row, row - n, T(-1)});
      if (i + 1 < n) list.push_back({row, row + n, T(-1)});
      if (j > 0) list.push_back({row, row - 1, T(-1)});
      if (j + 1 < n) list.push_back({row, row + 1, T(-1)});
    }
  return std::make_shared<Matrix<T>>(sparse::from_triplets(dextents<2>(n * n, n * n), list));
}
/// rows of `each` entries on average, from none to twice as many
template <class T>
shared_matrix<T> random_columns(std::int64_t rows, std::int64_t columns, int each) {
  std::mt19937_64 r(7);
  std::vector<sparse::triplet<T>> list;
  for (std::int64_t i = 0; i < rows; ++i)
    for (auto k = r() % (2 * unsigned(each) + 1); k > 0; --k)
      list.push_back({i, std::int64_t(r() % std::uint64_t(columns)), T(r() % 1000) / T(1000)});
  return std::make_shared<Matrix<T>>(sparse::from_triplets(dextents<2>(rows, columns), list));
}

template <class T>
[[gnu::noinline]] void loop(std::int64_t rows, std::int32_t const* offsets,
                            std::int32_t const* columns, T const* values, T const* x, T* y) {
  for (std::int64_t i = 0; i < rows; ++i) {
    T sum = 0;
    for (std::int32_t e = offsets[i]; e < offsets[i + 1]; ++e) sum += values[e] * x[columns[e]];
    y[i] = sum;
  }
}

template <class T, class Make>
void add_vector(std::string what, std::string size, Make make) {
  bench::add("sparse", what, size, [=](bench::group& g) {
    auto const a = make();
    std::int64_t const m = a->extent(0), n = a->extent(1), entries = a->entries();
    auto const x = std::make_shared<Vector<T>>(cast<T>(uniform<float>(dextents<1>(n), seed{1})));
    auto const y = std::make_shared<Vector<T>>(m), z = std::make_shared<Vector<T>>(m);
    g.bytes(double(entries) * (4 + sizeof(T)) + 4. * double(m) + double(sizeof(T)) * double(m + n));
    g.operations(2. * double(entries));
    g.locus([=] { *y = matmul(*a, *x); });
#if BENCH_EIGEN
    using S = Eigen::SparseMatrix<T, Eigen::RowMajor>;
    g.rival("Eigen", 0.95, [=] {
      Eigen::Map<S const> const s(m, n, entries, a->offsets().data(), a->columns().data(),
                                  a->values().data());
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1> const> const from(x->data(), n);
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> to(z->data(), m);
      to.noalias() = s * from;
    });
#endif
    g.rival("a loop", 0.95, [=] {
      loop(m, a->offsets().data(), a->columns().data(), a->values().data(), x->data(), z->data());
    });
  });
}

template <class T>
void add_matrix(std::int64_t side, std::int64_t wide) {
  bench::add("sparse", "five points times " + std::to_string(wide) + " columns",
             std::to_string(side), [=](bench::group& g) {
               auto const a = poisson<T>(side);
               std::int64_t const m = a->extent(0), entries = a->entries();
               using Dense = Tensor<T, Dextents<2>>;
               auto const x =
                   std::make_shared<Dense>(cast<T>(uniform<float>(dextents<2>(m, wide), seed{1})));
               auto const y = std::make_shared<Dense>(m, wide),
                          z = std::make_shared<Dense>(m, wide);
               g.operations(2. * double(entries * wide));
               g.locus([=] { *y = matmul(*a, *x); });
#if BENCH_EIGEN
               using S = Eigen::SparseMatrix<T, Eigen::RowMajor>;
               using D = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
               g.rival("Eigen", 0.95, [=] {
                 Eigen::Map<S const> const s(m, m, entries, a->offsets().data(),
                                             a->columns().data(), a->values().data());
                 Eigen::Map<D const> const from(x->data(), m, wide);
                 Eigen::Map<D> to(z->data(), m, wide);
                 to.noalias() = s * from;
               });
#endif
               g.rival("a loop", 0.95, [=] {
                 std::int32_t const *const offsets = a->offsets().data(), *const columns =
                                                                              a->columns().data();
                 T const *const values = a->values().data(), *const from = x->data();
                 T* const to = z->data();
                 for (std::int64_t i = 0; i < m; ++i) {
                   for (std::int64_t c = 0; c < wide; ++c) to[i * wide + c] = 0;
                   for (std::int32_t e = offsets[i]; e < offsets[i + 1]; ++e)
                     for (std::int64_t c = 0; c < wide; ++c)
                       to[i * wide + c] += values[e] * from[columns[e] * wide + c];
                 }
               });
             });
}

bench::file const groups([] {
  for (std::int64_t const n : {32, 256, 512}) {
    add_vector<double>("five points times a vector, double", std::to_string(n),
                       [n] { return poisson<double>(n); });
    add_vector<float>("five points times a vector, float", std::to_string(n),
                      [n] { return poisson<float>(n); });
  }
  add_vector<double>("random columns times a vector, double", "10^5, 12 each",
                     [] { return random_columns<double>(100000, 100000, 12); });
  add_vector<double>("random columns times a vector, double", "2000, 300 each",
                     [] { return random_columns<double>(2000, 20000, 300); });
  add_matrix<double>(256, 8);
  add_matrix<float>(256, 16);
});

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Functions of matrices, transforms and sparse products on one GPU, beside the calls of cuSOLVER, cuFFT and cuSPARSE
// that do the same. Lines of JSON on stdout; 77 where no GPU answers, 1 where anything fell back or gave other numbers.
#include "card.cuh"
// locus comes first
#include <cstdint>
#include <string>
#include <vector>

#include <locus/cub.cuh>
#include <locus/fft/fft.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/linalg/svd.hpp>
#include <locus/ops/grids.hpp>
#include <locus/sparse/from_lists.hpp>
#include <locus/sparse/matmul.hpp>

namespace {

using bench::Gpu, bench::stream;
using locus::all_close, locus::cast, locus::complex, locus::Dextents, locus::expand_dims,
    locus::eye, locus::into, locus::matmul, locus::result, locus::run, locus::seed, locus::sum,
    locus::Tensor, locus::transpose, locus::uniform;
namespace sparse = locus::sparse;

template <class T, int Rank>
using Array = Tensor<T, Dextents<Rank>, Gpu>;

/// means: a a' + n, for each matrix
template <class T>
Array<T, 3> positive(std::int64_t all, std::int64_t n) {
  Dextents<3> const e(all, n, n);
  Array<T, 3> m{e}, a{e};
  m = uniform<T>(e, seed{1}, T(-1), T(1));
  a = matmul(m, transpose<0, 2, 1>(m)) + expand_dims<0>(T(n) * eye<T>(Dextents<2>(n, n)));
  return a;
}
template <class T>
char const* name_of() {
  return sizeof(T) == 4 ? "fp32" : "fp64";
}
std::string times(std::int64_t all, std::int64_t m, std::int64_t n) {
  return (all > 1 ? std::to_string(all) + " x " : "") + std::to_string(m) + " x " +
         std::to_string(n);
}

template <class T>
void factors(std::int64_t all, std::int64_t n) {
  std::string const of = std::string(" of ") + times(all, n, n) + ", " + name_of<T>();
  auto const a = positive<T>(all, n);
  Array<T, 3> l{Dextents<3>(all, n, n)}, b{Dextents<3>(all, n, 1)}, x{Dextents<3>(all, n, 1)};
  b = uniform<T>(b.extents(), seed{2}, T(-1), T(1));
  double const cube = double(all) * double(n) * double(n) * double(n);
  {
    bench::group g{"GPU libraries", "cholesky" + of, "matrices"};
    g.operations = cube / 3;
    g.add("locus", "locus", 0, [&] { l = cholesky(a); });
    bench::run(g, stream);
    Array<T, 3> const back = matmul(l, transpose<0, 2, 1>(l));
    bench::check(all_close(back, a, 1e-3, 1e-3 * double(n)), "cholesky");
  }
  bench::group g{"GPU libraries", "solve" + of, "matrices"};
  g.operations = cube * 2 / 3;
  g.add("locus", "locus", 0, [&] { x = solve(a, b); });
  bench::run(g, stream);
  Array<T, 3> const back = matmul(a, x);
  bench::check(all_close(back, b, 1e-2, 1e-3), "solve");
}
template <class T>
void decompositions(std::int64_t all, std::int64_t m, std::int64_t n) {
  std::string const of = std::string(" of ") + times(all, m, n) + ", " + name_of<T>();
  std::int64_t const k = std::min(m, n);
  Dextents<3> const e(all, m, n);
  Array<T, 3> a{e}, q{Dextents<3>(all, m, k)}, r{Dextents<3>(all, k, n)};
  a = uniform<T>(e, seed{3}, T(-1), T(1));
  {
    bench::group g{"GPU libraries", "qr" + of, "matrices"};
    g.operations = 4. * double(all) * double(m) * double(n) * double(k);
    g.add("locus", "locus", 0, [&] {
      auto const [left, right] = qr(a);
      run(into(q, left), into(r, right));
    });
    bench::run(g, stream);
    Array<T, 3> const back = matmul(q, r);
    bench::check(all_close(back, a, 1e-3, 1e-3), "qr");
  }
  if (k > 1024) return;
  Array<T, 2> s{Dextents<2>(all, k)};
  {
    bench::group g{"GPU libraries", "svd" + of, "matrices"};
    g.operations = 14. * double(all) * double(m) * double(n) * double(k);
    g.add("locus", "locus", 0, [&] {
      auto const [left, values, right] = svd(a);
      run(into(q, left), into(s, values), into(r, right));
    });
    bench::run(g, stream);
    q = q * expand_dims<1>(s);
    Array<T, 3> const back = matmul(q, r);
    bench::check(all_close(back, a, 1e-3, 1e-3), "svd");
  }
  if (m != n) return;
  Array<T, 3> const half = positive<T>(all, n);
  bench::group g{"GPU libraries", "eigh" + of, "matrices"};
  g.operations = 9. * double(all) * double(n) * double(n) * double(n);
  g.add("locus", "locus", 0, [&] {
    auto const [values, vectors] = eigh(half);
    run(into(s, values), into(q, vectors));
  });
  bench::run(g, stream);
  Array<T, 3> const left = matmul(half, q), right = q * expand_dims<1>(s);
  bench::check(all_close(left, right, 1e-2, 1e-3 * double(n)), "eigh");
}

/// means: lines along Axis beside cuFFT's own call
template <class T, int Axis>
void transforms(std::int64_t rows, std::int64_t columns) {
  Dextents<2> const e(rows, columns);
  Array<complex<T>, 2> x{e}, y{e}, z{e};
  x = cast<complex<T>>(uniform<T>(e, seed{4}, T(-1), T(1)));
  std::int64_t const n = Axis == 1 ? columns : rows;
  bench::group g{"GPU libraries",
                 std::string("fft along ") + (Axis == 1 ? "rows" : "columns") + " of " +
                     std::to_string(n) + ", complex " + name_of<T>(),
                 "matrices"};
  g.bytes = 4. * sizeof(T) * double(rows) * double(columns);
  g.add("locus", "locus", 0, [&] { y = locus::fft<Axis>(x); });
  locus::cuda_side::cufft_lines what;
  using table = locus::cuda_side::cufft_table;
  what.kind = sizeof(T) == 4 ? table::of_floats.complex : table::of_doubles.complex;
  what.sign = table::forward, what.n = n, what.lines = Axis == 1 ? rows : columns;
  what.stride = Axis == 1 ? 1 : columns, what.in_step = what.out_step = Axis == 1 ? n : 1;
  g.add("cuFFT", "rival", 0.95, [&, what] {
    std::size_t bytes = 0;
    if (locus::cuda_side::workspace_of_cufft(what, &bytes) != 0 ||
        locus::cuda_side::run_cufft(what, x.data(), z.data(), bench::other_memory, stream) != 0)
      std::exit(1);
  });
  g.add("copy", "limit", 0, bench::copy_of(g.bytes));
  bench::run(g, stream);
  Array<complex<T>, 2> const back = locus::ifft<Axis>(y);
  bench::check(all_close(real(back), real(x), 1e-4, 1e-5), "fft");
}

/// cuSPARSE's product of a matrix in rows and a vector, and its constants
struct sparse_library {
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*make_matrix)(void**, std::int64_t rows, std::int64_t columns, std::int64_t entries, void*,
                     void*, void*, int offsets, int places, int base, int type) = nullptr;
  int (*make_vector)(void**, std::int64_t, void*, int type) = nullptr;
  int (*room)(void*, int, void const*, void*, void*, void const*, void*, int type, int algorithm,
              std::size_t*) = nullptr;
  int (*multiply)(void*, int, void const*, void*, void*, void const*, void*, int type,
                  int algorithm, void*) = nullptr;
  void* handle = nullptr;
  sparse_library() {
    void* const library =
        locus::cuda_side::open_library({"libcusparse.so.12", "libcusparse.so.11"});
    if (!library) return;
    using locus::cuda_side::take_function;
    take_function(library, create, "cusparseCreate");
    take_function(library, set_stream, "cusparseSetStream");
    take_function(library, make_matrix, "cusparseCreateCsr");
    take_function(library, make_vector, "cusparseCreateDnVec");
    take_function(library, room, "cusparseSpMV_bufferSize");
    take_function(library, multiply, "cusparseSpMV");
    if (create(&handle) != 0 || set_stream(handle, stream) != 0) handle = nullptr;
  }
};
template <class T>
void products(char const* what, sparse::csr<T, Dextents<2>> const& here, std::string size) {
  static sparse_library const library;
  auto const a = locus::to<Gpu>(here);
  std::int64_t const m = a.extent(0), n = a.extent(1), entries = a.entries();
  Array<T, 1> x{Dextents<1>(n)}, y{Dextents<1>(m)}, z{Dextents<1>(m)};
  x = uniform<T>(x.extents(), seed{5}, T(0), T(1));
  bench::group g{"GPU libraries", std::string("sparse matmul, ") + what + ", " + name_of<T>(),
                 size};
  g.bytes = double(entries) * (4 + sizeof(T)) + 4. * double(m) + double(sizeof(T)) * double(m + n);
  g.operations = 2. * double(entries);
  g.add("locus", "locus", 0, [&] { y = matmul(a, x); });
  if (library.handle) {
    int const type = sizeof(T) == 4 ? 0 : 1, algorithm = 3;  // of rows, the same bits each time
    T const one = 1, zero = 0;
    void *matrix = nullptr, *from = nullptr, *to = nullptr;
    std::size_t bytes = 0;
    auto const data = [](auto const& t) {
      return const_cast<void*>(static_cast<void const*>(t.data()));
    };
    library.make_matrix(&matrix, m, n, entries, data(a.offsets()), data(a.columns()),
                        data(a.values()), 2, 2, 0, type);
    library.make_vector(&from, n, x.data(), type), library.make_vector(&to, m, z.data(), type);
    library.room(library.handle, 0, &one, matrix, from, &zero, to, type, algorithm, &bytes);
    g.add("cuSPARSE", "rival", 1.0, [=] {
      if (library.multiply(library.handle, 0, &one, matrix, from, &zero, to, type, algorithm,
                           bench::other_memory) != 0)
        std::exit(1);
    });
    int const other = 2;  // of rows, sums in any order
    library.room(library.handle, 0, &one, matrix, from, &zero, to, type, other, &bytes);
    g.add("cuSPARSE, any order", "rival", 0, [=] {
      if (library.multiply(library.handle, 0, &one, matrix, from, &zero, to, type, other,
                           bench::other_memory) != 0)
        std::exit(1);
    });
  }
  g.add("copy", "limit", 0, bench::copy_of(g.bytes));
  bench::run(g, stream);
  if (library.handle) bench::check(all_close(y, z, 1e-4, 1e-5), what);
}
/// entries of each row: `each`, or what the function says
template <class T, class F>
sparse::csr<T, Dextents<2>> rows_of(std::int64_t rows, std::int64_t columns, F const& each) {
  Tensor<std::int32_t, Dextents<1>> offsets{Dextents<1>(rows + 1)};
  offsets(0) = 0;
  std::uint64_t state = 1;
  auto const next = [&] {
    return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33;
  };
  for (std::int64_t i = 0; i < rows; ++i) offsets(i + 1) = offsets(i) + int(each(i));
  std::int64_t const entries = offsets(rows);
  Tensor<T, Dextents<1>> values{Dextents<1>(entries)};
  Tensor<std::int32_t, Dextents<1>> at{Dextents<1>(entries)};
  for (std::int64_t e = 0; e < entries; ++e)
    values(e) = T(next() % 1000) / T(1000), at(e) = int(next() % std::uint64_t(columns));
  return {Dextents<2>(rows, columns), std::move(values), std::move(at), std::move(offsets)};
}
/// the Laplacian of side^2 points
template <class T>
sparse::csr<T, Dextents<2>> laplacian(std::int64_t side) {
  std::int64_t const rows = side * side;
  Tensor<std::int32_t, Dextents<1>> offsets{Dextents<1>(rows + 1)};
  offsets(0) = 0;
  std::vector<T> v;
  std::vector<std::int32_t> c;
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j) {
      std::int64_t const row = i * side + j;
      auto const put = [&](bool is_inside, std::int64_t at, T x) {
        if (is_inside) v.push_back(x), c.push_back(int(at));
      };
      put(i > 0, row - side, T(-1)), put(j > 0, row - 1, T(-1)), put(true, row, T(4));
      put(j + 1 < side, row + 1, T(-1)), put(i + 1 < side, row + side, T(-1));
      offsets(row + 1) = int(v.size());
    }
  Tensor<T, Dextents<1>> values{Dextents<1>(std::int64_t(v.size()))};
  Tensor<std::int32_t, Dextents<1>> at{Dextents<1>(std::int64_t(v.size()))};
  std::copy(v.begin(), v.end(), values.data()), std::copy(c.begin(), c.end(), at.data());
  return {Dextents<2>(rows, rows), std::move(values), std::move(at), std::move(offsets)};
}

}  // namespace

int main() {
  return bench::on_card([] {
    factors<float>(1, 4096), factors<double>(1, 4096), factors<double>(1000, 16),
        factors<float>(100, 128);
    decompositions<double>(1, 2048, 2048), decompositions<double>(1, 512, 512),
        decompositions<float>(1, 20000, 64), decompositions<float>(64, 32, 32);
    transforms<float, 1>(65536, 1024), transforms<float, 0>(8192, 8192),
        transforms<double, 1>(1, 1 << 24), transforms<float, 1>(10000, 2000);
    products<double>("Laplacian of 2048^2", laplacian<double>(2048), "4.2 M rows");
    products<float>("32 entries a row", rows_of<float>(1 << 20, 1 << 20, [](auto) { return 32; }),
                    "1 M rows");
    products<double>("1000 entries a row",
                     rows_of<double>(20000, 1 << 20, [](auto) { return 1000; }), "20000 rows");
    products<float>(
        "one long row",
        rows_of<float>(1 << 20, 1 << 20, [](std::int64_t i) { return i == 5 ? 1 << 20 : 4; }),
        "1 M rows");
  });
}

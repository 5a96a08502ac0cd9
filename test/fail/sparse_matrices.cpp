// SPDX-License-Identifier: Apache-2.0
// Sparse matrices of other elements, ranks and places; products that have no kernel.
// expect-1: locus: the values of a sparse matrix are float or double; write sparse::csr<double>
// expect-2: locus: a sparse matrix has two extents; write Dextents<2>
// expect-3: locus: the columns and offsets of a sparse matrix are signed integers; write std::int32_t or std::int64_t
// expect-4: locus: a sparse matrix lies whole on its devices; write CpuDevice, GpuDevice<0> or Mirrored<...>, and cut the columns of the dense operand
// expect-5: locus: a sparse matrix times a vector or a dense matrix; reshape the right side to one or two axes
// expect-6: locus: both sides of a sparse product have the same element type; write matmul(a, cast<double>(x))
// expect-7: locus: a sparse matrix stands on the left of a product; write transpose(matmul(transpose(a), transpose(x)))
// expect-8: locus: there is no product of two sparse matrices; multiply by a dense one, matmul(a, to_dense(b)), or by vectors in turn, matmul(a, matmul(b, x))
// expect-9: locus: a sparse matrix is transposed on the host; write to<GpuDevice<0>>(transpose(to<CpuDevice>(a)))
// expect-10: locus: the values of a sparse matrix keep their element type; write with_values(a, cast<double>(v))
// expect-11: locus: the columns and the offsets of a sparse matrix have one type, std::int32_t or std::int64_t
// expect-12: locus: from_dense takes a matrix; reshape its operand to two axes
// expect-13: locus: the shapes of the operands of a functor do not fit; they are printed below
// expect-14: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-15: locus: a matrix with other values points to the matrix; give with_values a named one
// expect-16: locus: view_csr keeps no array; give it arrays with names, or spans
// expect-17: locus: transpose puts the values of a sparse matrix in another order; store them in the matrix first: a.values() = v; transpose(a)
#include <vector>

#include <locus/locus.hpp>
#include <locus/sparse/from_lists.hpp>
#include <locus/sparse/matmul.hpp>
using namespace locus;

using Both = Mirrored<Cpu<0>, Cpu<1>>;
sparse::csr<double> a;
sparse::csr<double, Extents<2, 3>> small;
sparse::csr<double, Dextents<2>, GpuDevice<0>> there;
sparse::csr<double, Dextents<2>, Both> mirrored;
Tensor<double, Dextents<1>> x;
Tensor<double, Extents<2>> two;
Tensor<float, Dextents<1>> narrow;
Tensor<double, Dextents<3>> batch;
Tensor<double, Dextents<2>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
Tensor<double, Dextents<2>, Sharded<1, Cpu<0>, Cpu<1>>> columns;
std::vector<double> values;
std::vector<int> short_ones;
std::vector<std::int64_t> long_ones;
#if LOCUS_MUST_FAIL == 1
sparse::csr<int> misuse;
#elif LOCUS_MUST_FAIL == 2
sparse::csr<double, Dextents<3>> misuse;
#elif LOCUS_MUST_FAIL == 3
sparse::csr<double, Dextents<2>, CpuDevice, short> misuse;
#elif LOCUS_MUST_FAIL == 4
sparse::csr<double, Dextents<2>, Sharded<0, Cpu<0>, Cpu<1>>> misuse;
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return matmul(a, batch); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return matmul(a, narrow); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return matmul(x, a); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return matmul(a, small); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return transpose(there); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return with_values(a, narrow); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() {
  return sparse::view_csr<CpuDevice>(dextents<2>(1, 1), values, short_ones, long_ones);
}
#elif LOCUS_MUST_FAIL == 12
auto misuse() { return sparse::from_dense(x); }
#elif LOCUS_MUST_FAIL == 13
auto misuse() { return eval(matmul(small, two)); }
#elif LOCUS_MUST_FAIL == 14
auto misuse() { return eval(matmul(mirrored, rows)); }
#elif LOCUS_MUST_FAIL == 15
auto misuse() { return with_values(transpose(a), x); }
#elif LOCUS_MUST_FAIL == 16
auto misuse() {
  return sparse::view_csr<CpuDevice>(dextents<2>(1, 1), std::vector<double>(), short_ones,
                                     short_ones);
}
#elif LOCUS_MUST_FAIL == 17
auto misuse() { return transpose(with_values(a, 2. * x)); }
#else
auto stored() {
  a.values() = 2. * x;
  return transpose(a);
}
auto proper() { return eval(matmul(a, matmul(with_values(small, x), x))); }
auto also_proper() { return eval(matmul(mirrored, columns)); }
#endif

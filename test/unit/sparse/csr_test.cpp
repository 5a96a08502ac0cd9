// SPDX-License-Identifier: Apache-2.0
// Sparse matrices from triplets, dense matrices, tensors and arrays of the program; transposed ones;
// bad input, each sentence.
#include <doctest/doctest.h>

#include <limits>
#include <span>

#include <locus/algorithms/moves.hpp>
#include <message_of.hpp>

#include "random_sparse.hpp"

namespace csr_test {

using namespace locus;
using namespace sparse_lists;

namespace {

using Numbers = Tensor<std::int32_t, Dextents<1>>;
using Values = Tensor<double, Dextents<1>>;

template <class A>
bool has_rising_rows(A const& a) {
  for (std::int64_t i = 0; i < a.extent(0); ++i)
    for (std::int64_t e = a.offsets()[i] + 1; e < a.offsets()[i + 1]; ++e)
      if (a.columns()[e] <= a.columns()[e - 1]) return false;
  return true;
}

template <class T, class Index>
void check_lists() {
  for (auto const& size : all_sizes)
    for (kind const how : all_kinds) {
      std::int64_t const m = size[0], n = size[1];
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(int(how));
      auto const list = random_list<T>(m, n, how, 3);
      auto const want = dense_of(m, n, list);
      auto const a = sparse::from_triplets<Index>(dextents<2>(m, n), list);
      static_assert(std::is_same_v<typename decltype(a)::index_type, Index>);
      CHECK(has_rising_rows(a));
      CHECK(a.offsets().size() == m + 1);
      CHECK(a.offsets()[m] == a.entries());
      auto const dense = eval(to_dense(a));
      CHECK(distance(values_of(dense), want) <= bound<T>(64));
      // of three lists, of the dense matrix, transposed twice: the same entries
      std::vector<int> rows;
      std::vector<std::int64_t> columns;
      std::vector<T> values;
      for (auto const& t : list)
        rows.push_back(int(t.row)), columns.push_back(t.column), values.push_back(t.value);
      auto const b = sparse::from_triplets<Index>(dextents<2>(m, n), rows, columns, values);
      auto const c = sparse::from_dense<Index>(dense);
      auto const d = transpose(transpose(a));
      CHECK(has_rising_rows(transpose(a)));
      auto const check_same = [&](auto const& other) {
        CHECK(values_of(other.values()) == values_of(a.values()));
        CHECK(values_of(other.columns()) == values_of(a.columns()));
        CHECK(values_of(other.offsets()) == values_of(a.offsets()));
      };
      check_same(b);
      check_same(c);
      check_same(d);
      CHECK(values_of(eval(to_dense(transpose(a)))) == values_of(eval(transpose(dense) + T(0))));
      plain diagonals;
      for (std::int64_t i = 0; i < std::min(m, n); ++i)
        diagonals.push_back(dense.data()[i * n + i]);
      CHECK(values_of(eval(diagonal(a))) == diagonals);
    }
}

}  // namespace

TEST_CASE("lists of triplets in any order are added up, and transposed twice they are themselves") {
  check_lists<double, std::int32_t>();
  check_lists<float, std::int64_t>();
}

TEST_CASE("a matrix without entries, and one from a list that stands in the program") {
  sparse::csr<double> const none;
  CHECK(none.extent(0) == 0);
  CHECK(none.offsets().size() == 1);
  sparse::csr<float, Extents<2, 3>> const empty;
  CHECK(values_of(eval(to_dense(empty))) == plain(6));
  auto const a =
      sparse::from_triplets<double>(Extents<2, 3>{}, {{1, 2, 4.}, {0, 1, 2.}, {1, 2, 0.5}});
  static_assert(std::is_same_v<decltype(a), sparse::csr<double, Extents<2, 3>> const>);
  CHECK(values_of(a.values()) == plain{2, 4.5});
  static_assert(std::is_same_v<decltype(eval(to_dense(a)))::extents_type, Extents<2, 3>>);
  static_assert(std::is_same_v<decltype(eval(diagonal(a)))::extents_type, Extents<2>>);
  CHECK(values_of(eval(to_dense(a))) == plain{0, 2, 0, 0, 0, 4.5});
}

TEST_CASE("values of one place are added in the order of the list, in double; a sum of 0 stays") {
  auto const a = sparse::from_triplets<float>(
      dextents<2>(1, 2), {{0, 0, 1e8f}, {0, 1, 1.f}, {0, 0, 1.f}, {0, 1, -1.f}, {0, 0, -1e8f}});
  CHECK(values_of(a.values()) == plain{1, 0});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Tensor<double, Dextents<2>> const x{{0., nan}, {-0., 1.}};
  auto const b = sparse::from_dense(x);
  CHECK(b.entries() == 2);
  CHECK(std::isnan(b.values()[0]));
  auto const c = sparse::from_dense(x + 0. * x);  // an expression
  CHECK(c.entries() == 2);
}

TEST_CASE("tensors that are moved in are the matrix; its rows have any order and double columns") {
  Values v{1, 2, 3, 4};
  Numbers c{2, 0, 0, 2}, o{0, 3, 3, 4};
  double const* const at = v.data();
  std::int32_t const* const column = c.data();
  sparse::csr<double> a(dextents<2>(3, 3), std::move(v), std::move(c), std::move(o));
  CHECK(a.values().data() == at);
  CHECK(a.columns().data() == column);
  CHECK(values_of(eval(to_dense(a))) == plain{5, 0, 1, 0, 0, 0, 0, 0, 4});
  a.values() *= 2.;
  CHECK(values_of(eval(to_dense(a))) == plain{10, 0, 2, 0, 0, 0, 0, 0, 8});
  CHECK(values_of(eval(to_dense(transpose(a)))) == plain{10, 0, 0, 0, 0, 0, 2, 0, 8});
  sparse::csr<double> const copy(a);
  a.values() = 0.;
  CHECK(copy.values()[0] == 2);
  sparse::csr<double> const kept(a.extents(), a.values(), a.columns(), a.offsets());  // copies
  CHECK(kept.values().data() != a.values().data());
}

TEST_CASE("arrays of the program are a matrix without a copy") {
  std::vector<double> values{1, 2, 3};
  std::vector<std::int64_t> const columns{1, 0, 2}, offsets{0, 1, 3};
  auto const a = sparse::view_csr<CpuDevice>(dextents<2>(2, 3), values, columns, offsets);
  CHECK(a.values().data() == values.data());
  CHECK(values_of(eval(to_dense(a))) == plain{0, 1, 0, 2, 0, 3});
  values[0] = 7;
  Tensor<double, Dextents<1>> const x{1, 1, 1};
  CHECK(values_of(eval(matmul(a, x))) == plain{7, 5});
  a.values() = 2. * a.values();
  CHECK(values[2] == 6);
  sparse::csr<double, Dextents<2>, CpuDevice, std::int64_t> const own(a);
  values[0] = 0;
  CHECK(own.values()[0] == 14);
  CHECK(values_of(eval(to_dense(transpose(a)))) == plain{0, 4, 0, 0, 0, 6});
  auto const of_spans = sparse::view_csr<CpuDevice>(  // as pointers of another library
      dextents<2>(2, 3), std::span<double const>(values), std::span(columns), std::span(offsets));
  CHECK(of_spans.values().data() == values.data());
  std::vector<float> const fixed{1, 2};
  std::vector<int> const c{0, 0}, o{0, 1, 2};
  auto const b = sparse::view_csr<CpuDevice>(Extents<2, 1>{}, fixed, c, o);
  CHECK(values_of(eval(to_dense(b))) == plain{1, 2});
  CHECK(message_of([&] {
          (void)sparse::view_csr<CpuDevice>(dextents<2>(2, 1), values, columns, offsets);
        }) == "locus: entry 0 of a sparse matrix (row 0) has column 1; columns are 0 to 0");
}

TEST_CASE("a wrong matrix is refused, with the place and the remedy") {
  auto const made = [](Dextents<2> const& e, Values v, Numbers c, Numbers o) {
    return message_of<shape_error>([&] { sparse::csr<double>(e, v, c, o); });
  };
  auto const e = dextents<2>(2, 3);
  CHECK(made(e, {1, 2}, {0, 2}, {0, 1, 2}) == nothing_thrown);
  CHECK(made(e, {1, 2}, {2, 0}, {0, 2, 2}) == nothing_thrown);  // not sorted
  CHECK(made(e, {1, 2}, {0}, {0, 1, 2}) ==
        "locus: a sparse matrix has 2 values and 1 columns of entries; give one column for each "
        "value");
  CHECK(made(e, {1, 2}, {0, 2}, {0, 2}) ==
        "locus: a sparse matrix of 2 rows has 2 offsets; give 3: where each row begins, and the "
        "number of entries");
  CHECK(made(e, {1, 2}, {0, 2}, {1, 1, 2}) ==
        "locus: the offsets of a sparse matrix begin with 1; row 0 begins with entry 0");
  CHECK(made(e, {1, 2}, {0, 2}, {0, 3, 2}) ==
        "locus: row 1 of a sparse matrix begins with entry 3 and ends in front of entry 2; offsets "
        "do not fall");
  CHECK(
      made(e, {1, 2}, {0, 2}, {0, 1, 1}) ==
      "locus: the offsets of a sparse matrix end with 1, and it has 2 entries; the last offset is "
      "their number");
  CHECK(
      made(e, {1, 2}, {0, 2}, {0, 1, 7}) ==
      "locus: the offsets of a sparse matrix end with 7, and it has 2 entries; the last offset is "
      "their number");
  CHECK(made(e, {1, 2}, {0, 3}, {0, 1, 2}) ==
        "locus: entry 1 of a sparse matrix (row 1) has column 3; columns are 0 to 2");
  CHECK(made(e, {1, 2}, {-1, 0}, {0, 1, 2}) ==
        "locus: entry 0 of a sparse matrix (row 0) has column -1; columns are 0 to 2");
  CHECK(made(dextents<2>(1, 0), {1}, {0}, {0, 1}) ==
        "locus: entry 0 of a sparse matrix (row 0) has column 0; a matrix without columns has no "
        "entries");
  using list = std::vector<sparse::triplet<float>>;
  auto const from = [](Dextents<2> const& extents, list const& of) {
    return message_of<shape_error>([&] { (void)sparse::from_triplets(extents, of); });
  };
  CHECK(from(e, list{{0, 0, 1.f}, {2, 0, 1.f}}) ==
        "locus: triplet 1 of a sparse matrix has row 2; rows are 0 to 1");
  CHECK(from(dextents<2>(0, 3), list{{0, 0, 1.f}}) ==
        "locus: triplet 0 of a sparse matrix has row 0; a matrix without rows has no entries");
  CHECK(from(e, list{{0, -1, 1.f}}) ==
        "locus: entry 0 of a sparse matrix (row 0) has column -1; columns are 0 to 2");
  std::vector<int> const two{0, 1}, one{0};
  std::vector<double> const values{1, 2};
  CHECK(message_of<shape_error>([&] { (void)sparse::from_triplets(e, two, one, values); }) ==
        "locus: a sparse matrix has 2 values and 1 columns of entries; give one column for each "
        "value");
  std::int64_t const much = std::int64_t(1) << 31;
  CHECK(message_of<shape_error>([&] { sparse::csr<float>(dextents<2>(2, much)); }) ==
        "locus: a sparse matrix with 0 entries and 2147483648 columns does not fit indices of 32 "
        "bits; make it with std::int64_t as its index type");
  sparse::csr<float, Dextents<2>, CpuDevice, std::int64_t> const wide(dextents<2>(2, much));
  CHECK(wide.entries() == 0);
  // the program says that columns are right: lengths alone are looked at
  CHECK(message_of<shape_error>([&] {
          sparse::csr<double>(sparse::trusted, e, Values{1, 2}, Numbers{0, 9}, Numbers{0, 1, 2});
        }) == nothing_thrown);
  CHECK(message_of<shape_error>([&] {
          sparse::csr<double>(sparse::trusted, e, Values{1, 2}, Numbers{0, 9}, Numbers{0, 1});
        }) != nothing_thrown);
}

TEST_CASE("values of another length than the pattern are refused where the matrix is used") {
  auto const a =
      sparse::from_triplets<double>(dextents<2>(3, 3), {{0, 2, 1.}, {1, 2, 2.}, {2, 0, 3.}});
  Values const x{1, 2, 3};
  auto const do_not_fit = [](auto const& f) {
    return message_of<shape_error>(f).starts_with("locus: the shapes of the operands of 'sparse.");
  };
  for (Values const& other : {Values{1, 2}, Values{1, 2, 3, 4}, Values(0)}) {
    auto b = a;
    b.values() = other;
    CHECK(message_of<shape_error>([&] {
            (void)transpose(b);
          }).find(" values and 3 columns of entries; ") != std::string::npos);
    CHECK(do_not_fit([&] { (void)eval(to_dense(b)); }));
    CHECK(do_not_fit([&] { (void)eval(diagonal(b)); }));
    CHECK(do_not_fit([&] { (void)eval(matmul(b, x)); }));
    CHECK(do_not_fit([&] { (void)eval(matmul(with_values(a, other), x)); }));
    b.values() = a.values();
    CHECK(values_of(transpose(b).values()) == plain{3, 1, 2});
  }
}

}  // namespace csr_test

// SPDX-License-Identifier: Apache-2.0
// csr: a sparse matrix in rows: values, their columns, and where each row begins. A program includes
// the headers of this folder by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // move, forward

#include <locus/core/macros.hpp>       // LOCUS_MODE
#include <locus/ops/generators.hpp>    // zeros
#include <locus/sparse/structure.hpp>  // require_lengths, require_structure
#include <locus/tensor/eval.hpp>       // to
#include <locus/tensor/tensor.hpp>     // Tensor
#include <locus/tensor/view.hpp>       // View, host_range

namespace locus::sparse {

/// A csr, a view of one, or a pattern with computed values.
template <class A>
concept sparse_matrix = requires { typename std::remove_cvref_t<A>::is_sparse; };

/// means: the program says that offsets and columns are right: nothing is checked but lengths
struct trusted_t {
  explicit trusted_t() = default;
};
inline constexpr trusted_t trusted{};

/// means: the types of a sparse matrix, and which it may have
template <class T, class E, class Where, class Index>
struct csr_types {
  static_assert(
      std::is_same_v<T, float> || std::is_same_v<T, double>,
      "locus: the values of a sparse matrix are float or double; write sparse::csr<double>");
  static_assert(is_extents<E> && E::rank() == 2,
                "locus: a sparse matrix has two extents; write Dextents<2>");
  static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                "locus: the columns and offsets of a sparse matrix are signed integers; write "
                "std::int32_t or std::int64_t");
  static_assert(device_policy<Where> && !Where::value.is_sharded(),
                "locus: a sparse matrix lies whole on its devices; write CpuDevice, GpuDevice<0> "
                "or Mirrored<...>, and cut the columns of the dense operand");

  using is_sparse = void;
  using value_type = T;
  using extents_type = E;
  using policy = Where;
  using index_type = Index;
};

/// means: row i of the matrix has the entries offsets[i] to offsets[i + 1] - 1; entry e has the value
///        values[e] and the column columns[e]. Columns of a row come in any order, and entries of
///        one column are added
/// shape: E, (rows, columns): open, static, or one of both
/// device: Where: one device, or mirrored
/// cost:  making: none for tensors that are moved in, but one pass over columns and offsets that
///        checks them; of tensors on GPUs they are brought to the host for it
/// fails: shape_error, for lengths that do not fit, offsets that do not rise from 0 to the number of
///        entries, columns outside the matrix, and more entries than Index counts
/// after: SciPy's csr_array, Eigen's SparseMatrix<T, RowMajor>
template <class T, class E = Dextents<2>, class Where = CpuDevice, class Index = std::int32_t>
class csr : public csr_types<T, E, Where, Index> {
 public:
  using values_type = Tensor<T, Dextents<1>, Where>;
  using numbers_type = Tensor<Index, Dextents<1>, Where>;

  /// a matrix without entries
  explicit csr(E const& extents)
      : csr(trusted, extents, values_type(0), numbers_type(0),
            numbers_type(zeros<Index>(dextents<1>(extents.extent(0) + 1)))) {}
  csr() : csr(E()) {}
  /// of tensors: a named one is copied, one that is moved or made here is not
  csr(E const& extents, values_type values, numbers_type columns, numbers_type offsets)
      : csr(trusted, extents, std::move(values), std::move(columns), std::move(offsets)) {
    auto const look = [&](auto const& at, auto const& starts) {
      require_structure(extent(0), extent(1), entries(), at.data(), starts.data());
    };
    if constexpr (values_type::on_one_cpu)
      look(columns_, offsets_);
    else
      look(to<CpuDevice>(columns_), to<CpuDevice>(offsets_));
  }
  csr(trusted_t, E const& extents, values_type values, numbers_type columns, numbers_type offsets)
      : extents_(extents), values_(std::move(values)), columns_(std::move(columns)),
        offsets_(std::move(offsets)) {
    require_numbers<Index>(values_.size(), extent(1));
    require_lengths(extent(0), values_.size(), columns_.size(), offsets_.size());
  }
  /// the same matrix on other devices, or a view's as a matrix of its own
  template <sparse_matrix A>
    requires(!std::same_as<A, csr> && std::same_as<typename A::value_type, T> &&
             std::same_as<typename A::index_type, Index>)
  explicit csr(A const& a)
      : csr(trusted, E(a.extents().as_shape()), values_type(a.values()), numbers_type(a.columns()),
            numbers_type(a.offsets())) {}

  E const& extents() const { return extents_; }
  std::int64_t extent(int axis) const { return extents_.extent(axis); }
  /// means: the number of entries
  std::int64_t entries() const { return values_.size(); }
  /// means: the values of the entries, which a program may change: a.values() *= 2. They keep their
  ///        number: products and transpose(a) refuse another one
  values_type& values() & { return values_; }
  values_type const& values() const& { return values_; }
  values_type&& values() && { return std::move(values_); }
  numbers_type const& columns() const& { return columns_; }
  numbers_type&& columns() && { return std::move(columns_); }
  numbers_type const& offsets() const& { return offsets_; }
  numbers_type&& offsets() && { return std::move(offsets_); }

 private:
  E extents_;
  values_type values_;
  numbers_type columns_, offsets_;
};

/// means: a sparse matrix in memory of the program's own; it owns nothing
/// device: Where
/// after: Eigen's Map of a SparseMatrix
template <class T, class E, class Where, class Index>
class csr_view : public csr_types<std::remove_const_t<T>, E, Where, Index> {
 public:
  using values_type = View<T, Dextents<1>, Where, true>;
  using numbers_type = View<Index const, Dextents<1>, Where, true>;

  csr_view(E const& extents, values_type values, numbers_type columns, numbers_type offsets)
      : extents_(extents), values_(values), columns_(columns), offsets_(offsets) {
    require_numbers<Index>(values.size(), extent(1));
    require_lengths(extent(0), values.size(), columns.size(), offsets.size());
    auto const look = [&](auto const& at, auto const& starts) {
      require_structure(extent(0), extent(1), entries(), at.data(), starts.data());
    };
    if constexpr (Where::value.at(0).is_cpu())
      look(columns, offsets);
    else
      look(to<CpuDevice>(columns), to<CpuDevice>(offsets));
  }
  E const& extents() const { return extents_; }
  std::int64_t extent(int axis) const { return extents_.extent(axis); }
  std::int64_t entries() const { return values_.size(); }
  values_type const& values() const { return values_; }
  numbers_type const& columns() const { return columns_; }
  numbers_type const& offsets() const { return offsets_; }

 private:
  E extents_;
  values_type values_;
  numbers_type columns_, offsets_;
};

/// means: an array that is there behind the statement: it has a name, or points to its elements
template <class R>
inline constexpr bool stays = std::is_lvalue_reference_v<R> || std::is_trivially_copyable_v<R>;

inline namespace LOCUS_MODE {

/// means: a matrix over arrays of the program: std::vector, std::span, or what has data() and
///        size(); values may be const. The program keeps the arrays, and leaves columns and offsets
///        as they are
/// device: Where, whose memory the arrays are in     cost: one pass over columns and offsets
/// fails: as csr
template <single_device Where, std::int64_t... N, class V, class C, class O>
auto view_csr(Extents<N...> const& extents, V&& values, C&& columns, O&& offsets) {
  using T = std::remove_pointer_t<decltype(values.data())>;
  using Index = std::remove_cv_t<std::remove_pointer_t<decltype(columns.data())>>;
  constexpr bool same_index =
      std::is_same_v<Index, std::remove_cv_t<std::remove_pointer_t<decltype(offsets.data())>>>;
  constexpr bool stay = stays<V> && stays<C> && stays<O>;
  static_assert(same_index, "locus: the columns and the offsets of a sparse matrix have one type, "
                            "std::int32_t or std::int64_t");
  static_assert(stay, "locus: view_csr keeps no array; give it arrays with names, or spans");
  auto const part = []<class P>(P* from, auto size) {
    return view<Where>(from, dextents<1>(static_cast<std::int64_t>(size)));
  };
  if constexpr (same_index && stay)
    return csr_view<T, Extents<N...>, Where, Index>(
        extents, part(values.data(), values.size()),
        part(static_cast<Index const*>(columns.data()), columns.size()),
        part(static_cast<Index const*>(offsets.data()), offsets.size()));
}

}  // namespace LOCUS_MODE
}  // namespace locus::sparse

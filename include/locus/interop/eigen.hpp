// SPDX-License-Identifier: Apache-2.0
// Eigen both ways: eigen_map_of(x), and view<CpuDevice>(m) of a matrix, vector or map. The program
// includes <Eigen/Core> itself, and this header by name; <locus/locus.hpp> does not.
#pragma once
#include <complex>      // std::complex, which Eigen has as elements
#include <concepts>     // convertible_to
#include <type_traits>  // remove_cvref

#include <locus/core/macros.hpp>       // LOCUS_MODE
#include <locus/interop/elements.hpp>  // strides_of, require_lasting_elements
#include <locus/shape/complex.hpp>     // complex
#include <locus/tensor/view.hpp>       // view, View

// Eigen defines these; the names let a unit without Eigen read this header
namespace Eigen {
template <class Scalar, int Rows, int Columns, int Options, int MostRows, int MostColumns>
class Matrix;
template <class Plain, int Options, class Stride>
class Map;
template <int Outer, int Inner>
class Stride;
}  // namespace Eigen

namespace locus {

/// means: a matrix, array, vector or map of Eigen, or a block of one: elements at an address
template <class M>
concept eigen_elements = requires(M& m) {
  { M::RowsAtCompileTime } -> std::convertible_to<int>;
  { M::ColsAtCompileTime } -> std::convertible_to<int>;
  typename M::Scalar;
  typename M::PlainObject;
  m.data();
  m.rowStride();
  m.colStride();
};

namespace interop {

/// means: an extent as Eigen says it: an int, or -1 for one that is known when the program runs
constexpr int eigen_extent(std::int64_t n) {
  return n == dyn || n > 0x7fffffff ? -1 : static_cast<int>(n);
}
constexpr std::int64_t extent_of_eigen(int n) { return n < 0 ? dyn : n; }

/// means: T as Eigen knows it: std::complex<float> for complex<float>
template <class T>
struct eigen_scalar {
  using type = T;
};
template <class T>
struct eigen_scalar<complex<T>> {
  using type = std::complex<T>;
};

/// The map of elements T with extents E. A tensor of one axis is a column. Rows lie first, but in a
/// single column, where Eigen has no other order than columns first.
template <class T, class E, bool Dense>
struct eigen_map_type {
  static constexpr int rows = eigen_extent(E::static_extent(0)),
                       columns = E::rank() == 2 ? eigen_extent(E::static_extent(1)) : 1,
                       rows_first = columns == 1 ? 0 : 1;
  using scalar = typename eigen_scalar<std::remove_const_t<T>>::type;
  using element = std::conditional_t<std::is_const_v<T>, scalar const, scalar>;
  using plain = Eigen::Matrix<scalar, rows, columns, rows_first, rows, columns>;
  using matrix = std::conditional_t<std::is_const_v<T>, plain const, plain>;
  static constexpr int gaps = Dense ? 0 : -1;  // Eigen's 0: none; -1: known when the program runs
  using stride = Eigen::Stride<gaps, gaps>;
  using type = Eigen::Map<matrix, 0, stride>;
};

/// means: View of the elements of M: one axis where M is a vector by its type, two otherwise
template <class M>
struct view_of_eigen {
  static constexpr bool is_vector = M::RowsAtCompileTime == 1 || M::ColsAtCompileTime == 1;
  static constexpr std::int64_t rows = extent_of_eigen(M::RowsAtCompileTime),
                                columns = extent_of_eigen(M::ColsAtCompileTime);
  /// no map and no block: those may have strides
  static constexpr bool is_owner = std::is_same_v<typename M::PlainObject, M>,
                        is_in_row_order = is_owner && (is_vector || M::IsRowMajor);
  using extents =
      std::conditional_t<is_vector, Extents<(rows == 1 ? columns : rows)>, Extents<rows, columns>>;
};

}  // namespace interop

inline namespace LOCUS_MODE {

/// means: a tensor or view as an Eigen::Map over the same memory: a matrix for two axes, a column for
///        one; its rows lie first, with strides where x has strides. x may change through the map
///        unless x is const
/// shape: that of x, fixed in the type where it is in x's
/// device: a CPU     cost: none; the map owns nothing
/// fails: at compile time: no <Eigen/Core>, another rank than 1 or 2, GPUs, replicas, a tensor
///        without a name
/// after: Eigen::Map
template <interop::tensor_or_view X>
auto eigen_map_of(X&& x) {
  using plain = std::remove_cvref_t<X>;
  using E = typename plain::extents_type;
  constexpr bool has_axes = E::rank() == 1 || E::rank() == 2,
                 on_host = !has_gpu(plain::policy::value.devices);
  static_assert(has_axes, "locus: a map of Eigen has one or two axes; reshape the tensor");
  static_assert(on_host, "locus: Eigen reads memory of the host; bring the tensor over with "
                         "to<CpuDevice>(x)");
  if constexpr (interop::require_lasting_elements<X>() && has_axes && on_host) {
    using parts = interop::eigen_map_type<interop::element_in_t<X>, E, interop::has_no_gaps<X>>;
    using map = typename parts::type;
    constexpr bool has_eigen = requires { sizeof(map); };
    static_assert(has_eigen, "locus: eigen_map_of needs Eigen; write #include <Eigen/Core> before "
                             "its first use");
    if constexpr (has_eigen) {
      std::int64_t strides[max_rank + 1]{};
      interop::strides_of(x, strides);
      shape const s = x.extents().as_shape();
      auto const rows = s.extent[0], columns = E::rank() == 2 ? s.extent[1] : 1;
      auto* const data = reinterpret_cast<typename parts::element*>(x.data());
      if constexpr (interop::has_no_gaps<X>)
        return map(data, rows, columns);
      else if constexpr (E::rank() == 1)
        return map(data, rows, 1, typename parts::stride(rows * strides[0], strides[0]));
      else if constexpr (parts::rows_first == 0)
        return map(data, rows, 1, typename parts::stride(strides[1], strides[0]));
      else
        return map(data, rows, columns, typename parts::stride(strides[0], strides[1]));
    }
  }
}

/// means: the elements of a matrix, vector, map or block of Eigen as an operand or a destination, in
///        either order of storage: view<CpuDevice>(m)
/// shape: two axes; one for a vector; static where Eigen's type is
/// device: Where, a CPU     cost: none; m owns the elements, and keeps its size
/// after: view of a pointer
template <single_device Where, class M>
  requires(eigen_elements<std::remove_cvref_t<M>> && !open_device<Where>)
auto view(M&& m) {
  using plain = std::remove_cvref_t<M>;
  using parts = interop::view_of_eigen<plain>;
  using E = typename parts::extents;
  static_assert(Where::value.at(0).is_cpu(),
                "locus: elements of Eigen are memory of the host; write view<CpuDevice>(m)");
  constexpr bool lasts = std::is_lvalue_reference_v<M> || !parts::is_owner;
  static_assert(lasts, "locus: a matrix of Eigen without a name dies with the statement; give it a "
                       "name, or write a Tensor");
  shape const s = parts::is_vector ? shape{1, {m.size()}} : shape{2, {m.rows(), m.cols()}};
  if constexpr (parts::is_in_row_order)
    return view<Where>(m.data(), E(s));
  else if constexpr (parts::is_vector)
    return view<Where>(m.data(), E(s), layout_stride{{m.innerStride()}});
  else
    return view<Where>(m.data(), E(s), layout_stride{{m.rowStride(), m.colStride()}});
}

}  // namespace LOCUS_MODE
}  // namespace locus

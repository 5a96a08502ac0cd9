// SPDX-License-Identifier: Apache-2.0
// Work: a kernel with its operands, as one trivially copyable object. The loops are in engine/.
#pragma once
#include <type_traits>  // is_trivially_copyable

#include <locus/core/macros.hpp>   // LOCUS_LEAN_BEGIN
#include <locus/work/call.hpp>     // space, access
#include <locus/work/matrix.hpp>   // matrix
#include <locus/work/reducer.hpp>  // reducer
#include <locus/work/stage.hpp>    // stage, is_fold_as_it_is

LOCUS_LEAN_BEGIN

namespace locus {
inline namespace LOCUS_MODE {

/// out[m][i] = f(in[k][i]...)[m]
template <class Stage, class Ins, class Outs, bool HasCudaKernel>
struct map_work {
  static constexpr bool has_cuda_kernel = HasCudaKernel;
  static constexpr int operand_count = Ins::size + Outs::size;
  using stage_type = Stage;
  using inputs = Ins;
  using outputs = Outs;
  Stage f;
  kernel::space over;
  kernel::access operands[operand_count];

  explicit map_work(Stage stage) : f(stage) {}
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (kernel::access& a : operands) visit(a.data);
  }
};

/// A sum, mean, maximum or minimum of all elements of an operand of float or integer type, with no
/// map before or after the fold. One unit of a program, compiled with
/// LOCUS_INSTANTIATE_ALGORITHMS, has these kernels for all units.
template <class Reducers, class Stage, class Rest>
inline constexpr bool is_plain_fold = false;
template <reduction R, class U, class T, class V>
inline constexpr bool is_plain_fold<type_list<kernel::reducer<R, U>>,
                                    kernel::stage<type_list<>, type_list<kernel::input<0, T>>>,
                                    kernel::stage<type_list<>, type_list<V>>> =
    (R == reduction::sum || R == reduction::max || R == reduction::min) &&
    (is_floating_v<T> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>) &&
    kernel::is_fold_as_it_is<V>;

/// One pass over the elements: r = f(in[k][i]...). Folds: t[n] = fold n of r[n] over a row, for the
/// first results of f. Stores: element_out[m][i] = r[folds + m], for the other results. Then for
/// each row: out[m] = rest(row_in[k]..., t...)[m].
/// Order of operands: Ins, Rows, ElementOuts, Outs. FoldsAll: all elements are one row.
template <class Reducers, class Stage, class Rest, class Ins, class Rows, class ElementOuts,
          class Outs, bool HasCudaKernel, bool FoldsAll = false>
struct reduce_work {
  static constexpr bool has_cuda_kernel = HasCudaKernel, folds_all = FoldsAll;
  static constexpr bool is_plain = FoldsAll && is_plain_fold<Reducers, Stage, Rest>;
  static constexpr int operand_count = Ins::size + Rows::size + ElementOuts::size + Outs::size;
  using reducers = Reducers;
  using inputs = Ins;
  using row_inputs = Rows;
  using element_outputs = ElementOuts;
  using outputs = Outs;
  Stage f;
  Rest rest;
  kernel::mean_counts<Reducers::size> means;
  kernel::space over;
  kernel::access operands[operand_count];

  reduce_work(Stage stage, Rest after, kernel::mean_counts<Reducers::size> const& n)
      : f(stage), rest(after), means(n) {}
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (kernel::access& a : operands) visit(a.data);
  }
};

/// For each row: the folds, each of which may read those before it. Then last(in..., folds...) for
/// each element (Elementwise), or last(row_in..., folds...) once.
template <bool Elementwise, class Folds, class Last, class Ins, class Rows, class Outs,
          bool HasCudaKernel>
struct rows_work;
template <bool Elementwise, class... Folds, class Last, class Ins, class Rows, class Outs,
          bool HasCudaKernel>
struct rows_work<Elementwise, type_list<Folds...>, Last, Ins, Rows, Outs, HasCudaKernel> {
  static constexpr bool has_cuda_kernel = HasCudaKernel, elementwise = Elementwise;
  static constexpr int operand_count = Ins::size + Rows::size + Outs::size;
  using fold_list = type_list<Folds...>;
  using inputs = Ins;
  using row_inputs = Rows;
  using outputs = Outs;
  pack<Folds...> folds;
  Last last;
  kernel::space over;
  kernel::access operands[operand_count];

  rows_work(pack<Folds...> all, Last end) : folds(all), last(end) {}
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (kernel::access& a : operands) visit(a.data);
  }
};

/// c = a b, or a batch of such products
template <class T>
struct matmul_work {
  static constexpr bool has_cuda_kernel = is_floating_v<T> || is_complex_v<T>;
  using type = T;
  kernel::matrix c, a, b;
  kernel::batch batch{};
  kernel::product_row row{};  // the host ignores it

  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    visit(c.data), visit(a.data), visit(b.data);
  }
};

/// c = a b on the host; the extents are part of the type
template <class T, kernel::product_extents E>
struct static_matmul_work {
  static constexpr bool has_cuda_kernel = false;
  kernel::matrix c, a, b;
  kernel::batch batch{};

  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    visit(c.data), visit(a.data), visit(b.data);
  }
};

/// The work of a map or of folds on the host. Its input number Product is the product a b, computed
/// in panels and never stored whole.
template <class T, int Product, class Work>
struct panel_work {
  static constexpr bool has_cuda_kernel = false;
  Work reader;
  kernel::matrix a, b;

  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    reader.for_each_pointer(visit);
    visit(a.data), visit(b.data);
  }
};

/// to[i...] = from[i...], for elements of `bytes` bytes of any type
struct copy_work {
  static constexpr bool has_cuda_kernel = true;
  int bytes;
  kernel::space over;
  kernel::access to, from;

  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    visit(to.data), visit(from.data);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END

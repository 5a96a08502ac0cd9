// SPDX-License-Identifier: Apache-2.0
// ColumnMajor: an array that owns its elements and stores its first axis contiguously, as Fortran and LAPACK do.
// A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <concepts>  // integral, same_as
#include <cstddef>   // size_t
#include <utility>   // forward, move, index_sequence

#include <locus/tensor/assign.hpp>       // into, run
#include <locus/tensor/assign_part.hpp>  // row_at(x, i) = e
#include <locus/tensor/eval.hpp>         // run_graph
#include <locus/tensor/parts.hpp>        // view_destination

namespace locus {

namespace internal {
template <class E, class Axes>
struct reversed_extents;
template <class E, std::size_t... A>
struct reversed_extents<E, std::index_sequence<A...>> {
  using type = Extents<E::static_extent(E::rank() - 1 - int(A))...>;
};
constexpr shape reversed(shape const& s) {
  shape r{s.rank, {}};
  for (int a = 0; a < s.rank; ++a) r.extent[a] = s.extent[s.rank - 1 - a];
  return r;
}
}  // namespace internal

/// means: x(i, j, ...) lies at data()[i + extent(0) * (j + extent(1) * ...)]
/// shape: E     device: Where, one device
/// cost:  that of a Tensor, in expressions and as a destination. Kernels follow the order of their
///        arrays; a kernel over arrays of both orders costs a transpose
/// fails: as Tensor does; at compile time, on several devices
/// after: layout_left of std::mdspan, and Fortran's arrays
template <class T, class E, class Where = CpuDevice>
class ColumnMajor {
  static_assert(
      single_device<Where>,
      "locus: a ColumnMajor array lies on one device; write CpuDevice or GpuDevice<0>, or a "
      "Tensor for replicas and pieces");
  using axes = std::make_index_sequence<std::size_t(E::rank())>;
  using Memory = Tensor<T, typename internal::reversed_extents<E, axes>::type, Where>;
  using MemoryExtents = typename Memory::extents_type;

 public:
  using is_tensor = void;
  using value_type = T;
  using extents_type = E;
  using policy = Where;
  static constexpr place where = Where::value;
  static constexpr int rank() { return E::rank(); }

  /// open extents are 0; elements are unspecified until an assignment
  ColumnMajor() = default;
  explicit ColumnMajor(E const& extents, call_site site = call_site::here())
      : memory_(MemoryExtents(internal::reversed(extents.as_shape())), site) {}
  template <std::integral... N>
    requires(!E::pattern.is_static() && int(sizeof...(N)) == E::rank_dynamic())
  explicit ColumnMajor(N... extents) : ColumnMajor(E(extents...)) {}
  ColumnMajor(locus::device d, E const& extents, call_site site = call_site::here())
    requires open_device<Where>
      : memory_(d, MemoryExtents(internal::reversed(extents.as_shape())), site) {}
  /// nested lists, row by row: {{1, 2, 3}, {4, 5, 6}}
  ColumnMajor(typename detail::nested_list<T, E::rank()>::type const& values,
              call_site site = call_site::here())
    requires(E::rank() > 0 && !open_device<Where>)
      : ColumnMajor(Tensor<T, E, CpuDevice>(values, site), site) {}
  /// the value of an expression, or the elements of a tensor or a view
  template <tensor_operand X>
    requires(!std::same_as<std::remove_cvref_t<X>, ColumnMajor>)
  ColumnMajor(X&& x, call_site site = call_site::here()) : memory_(typename Memory::unmade{}) {
    auto const e = as_operand<void>(std::forward<X>(x));
    using Value = std::remove_const_t<decltype(e)>;
    detail::view_destination const to([this] { return elements(); });
    if constexpr (require_takes<T, E, Value>())
      lowering::run_graph<graph<default_policy, root_of<Value, Where>>>(
          site,
          [&](int, shape const& extents, place const& at) {
            memory_.make_for(internal::reversed(extents), at, site);
            target t = to.as_target();
            t.fresh = true;
            return t;
          },
          e);
  }

  /// means: every element = that of the expression, or = the number
  template <tensor_operand X>
    requires(!std::same_as<std::remove_cvref_t<X>, ColumnMajor>)
  ColumnMajor& operator=(X&& x) {
    locus::run(into(*this, std::forward<X>(x)), runtime::site_of_operator());
    return *this;
  }
  template <number X>
  ColumnMajor& operator=(X n) {
    memory_ = n;
    return *this;
  }
#define LOCUS_ASSIGNING(symbol)                     \
  template <operand X>                              \
  ColumnMajor& operator symbol##=(X && x) {         \
    return *this = *this symbol std::forward<X>(x); \
  }
  LOCUS_ASSIGNING_OPERATORS(LOCUS_ASSIGNING)
#undef LOCUS_ASSIGNING

  /// means: gives the array these extents; where they differ from its own, it has new memory with
  ///        unspecified elements
  void resize(E const& extents, call_site site = call_site::here()) {
    memory_.resize(MemoryExtents(internal::reversed(extents.as_shape())), site);
  }
  friend void swap(ColumnMajor& a, ColumnMajor& b) noexcept { swap(a.memory_, b.memory_); }

  E extents() const { return E(internal::reversed(memory_.extents().as_shape())); }
  std::int64_t extent(int axis) const {
    return memory_.extent(axis < 0 ? -1 - axis : rank() - 1 - axis);
  }
  std::int64_t size() const { return memory_.size(); }
  locus::device device() const { return memory_.device(); }
  /// units: elements between neighbours along an axis; LAPACK's leading dimension is stride(1)
  std::int64_t stride(int axis) const {
    std::int64_t n = 1;
    for (int a = 0; a < axis; ++a) n *= extent(a);
    return n;
  }
  T* data() { return memory_.data(); }
  T const* data() const { return memory_.data(); }

  /// means: one element     fails: at compile time, where the array is not on one CPU
  template <std::integral... Idx>
  T& operator()(Idx... i) {
    return element<T>(memory_, axes{}, i...);
  }
  template <std::integral... Idx>
  T const& operator()(Idx... i) const {
    return element<T const>(memory_, axes{}, i...);
  }

  // the leaf of a constant array is one of constants: no part of it is written
  auto leaf() & { return turned(internal::as_whole(memory_)); }
  auto leaf() const& { return turned(internal::as_whole(memory_)); }
  auto leaf() && { return turned(std::move(memory_).leaf()); }

  /// means: the elements as a view, for functions that take one: eigen_map_of(x.elements())
  /// cost:  none; the array owns the elements, and keeps its extents while the view is used
  auto elements() { return view_of(memory_); }
  auto elements() const { return view_of(memory_); }

 private:
  template <class L>
  static auto turned(L leaf) {
    return make_node(columns_op{}, std::move(leaf));
  }
  template <class M>
  auto view_of(M& memory) const {
    if constexpr (open_device<Where>)
      return view<Where>(memory.data(), extents(), layout_left{}, memory.device());
    else
      return view<Where>(memory.data(), extents(), layout_left{});
  }
  template <class Element, class M, std::size_t... A, class... Idx>
  static Element& element(M& memory, std::index_sequence<A...>, Idx... i) {
    static_assert(
        sizeof...(Idx) == sizeof...(A),
        "locus: a ColumnMajor array is asked for an element with another number of indices; "
        "write one for each axis");
    std::int64_t const at[] = {std::int64_t(i)..., 0};
    return memory(at[sizeof...(A) - 1 - A]...);
  }
  Memory memory_;
};

inline namespace LOCUS_MODE {

/// means: the assignment to = e as an object for plan and run; a plan that is kept writes the memory
///        that `to` has when the plan runs
/// fails: as into of a Tensor
template <class T, class E, class Where, tensor_operand X>
auto into(ColumnMajor<T, E, Where>& to, X&& e) {
  return detail::make_assignment(detail::view_destination([&to] { return to.elements(); }),
                                 as_operand<void>(std::forward<X>(e)));
}

}  // namespace LOCUS_MODE

}  // namespace locus

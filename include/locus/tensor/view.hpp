// SPDX-License-Identifier: Apache-2.0
// view: memory of the program's own as a tensor, without a copy.
#pragma once
#include <locus/expr/leaf.hpp>           // ViewLeaf
#include <locus/run/program.hpp>         // target
#include <locus/run/same_bytes.hpp>      // repeats_elements
#include <locus/run/statement_loop.hpp>  // offer_statement_loop
#include <locus/shape/layout.hpp>        // layout_right
#include <locus/shape/mdspan_parts.hpp>  // mdspan_like
#include <locus/tensor/host_range.hpp>   // host_range
#include <locus/tensor/tensor.hpp>       // Tensor

namespace locus {

namespace internal {
/// means: an address of elements T on the device of policy Where is a multiple of this: kernels of a
///        GPU load a complex number at once, to which a std::complex of the host need not be aligned
/// units: bytes
template <class T, class Where>
inline constexpr std::size_t alignment_on =
    is_complex_v<T> && has_gpu(Where::value.devices) ? sizeof(T) : alignof(T);
}  // namespace internal

/// means: elements at data + sum of i[a] * stride[a], on the device of policy Where; a view owns no
///        memory
/// shape: E     cost: none
/// fails: shape_error, where it is written and has one element at several indices; bad_access, where
///        complex numbers on a GPU begin at no multiple of their size; another wrong address or a wrong
///        stride is undefined behaviour
/// after: std::mdspan
template <class T, class E, class Where, bool Dense>
class View {
  static_assert(single_device<Where>,
                "locus: a view lies on one device; write CpuDevice or GpuDevice<0>");

 public:
  using is_tensor = void;
  using value_type = std::remove_const_t<T>;
  using extents_type = E;
  using policy = Where;
  static constexpr place where = Where::value;
  static constexpr int rank() { return E::rank(); }

  template <class Layout>
  View(T* data, E const& extents, Layout const& layout) : leaf_{data, extents.as_shape(), {}} {
    internal::strides_of(layout, leaf_.extents, leaf_.strides);
    constexpr auto alignment = internal::alignment_on<value_type, Where>;
    if constexpr (alignment > alignof(value_type))
      if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) refuse_address();
    lowering::offer_statement_loop();
  }
  template <class Layout>
  View(T* data, E const& extents, Layout const& layout, locus::device on)
    requires open_device<Where>
      : View(data, extents, layout) {
    leaf_.on.value = on;
  }
  View(View const&) = default;
  /// a named view, assigned one of its type, looks at the memory of that one, as an mdspan and a
  /// std::span do: std::swap(q, r) exchanges two views. run(into(q, r)) copies the elements
  View& operator=(View const&) & = default;
  template <std::same_as<View> X>
  void operator=(X const&) && {
    static_assert(always_false<X>,
                  "locus: a view without a name would look elsewhere, and no element is copied; "
                  "write run(into(view<Where>(data, extents), e))");
  }
  template <std::same_as<View> X>
  void operator=(X const&) const& {
    static_assert(always_false<X>,
                  "locus: a constant view is assigned one of its type, and cannot look elsewhere; "
                  "write run(into(q, r)) to copy the elements");
  }
  auto leaf() const { return leaf_; }
  locus::device device() const {
    if constexpr (open_device<Where>)
      return leaf_.on.value;
    else
      return where.at(0);
  }
  T* data() const { return leaf_.data; }
  E extents() const { return E(leaf_.extents); }
  std::int64_t extent(int axis) const { return internal::extent_at(leaf_.extents, axis); }
  std::int64_t stride(int axis) const { return leaf_.strides[axis]; }
  std::int64_t size() const { return leaf_.extents.size(); }

  template <tensor_operand X, class Mode = mode>
    requires(!std::is_const_v<T> && !std::same_as<std::remove_cvref_t<X>, View>)
  [[gnu::always_inline]] View const& operator=(X&& x) const {
    assign(as_operand<void>(std::forward<X>(x)), runtime::site_of_operator());
    return *this;
  }
  target as_target() const
    requires(!std::is_const_v<T>)
  {
    if constexpr (!Dense)
      if (internal::repeats_elements(leaf_.extents.extent, leaf_.strides, rank())) refuse_repeats();
    target t;
    t.where = single(device()), t.extents = leaf_.extents;
    t.locals[0] = {leaf_.data, leaf_.extents.extent, leaf_.strides};
    return t;
  }

 private:
  [[noreturn, gnu::cold]] static void refuse_address() {
    message text;
    throw bad_access(
        text << "locus: a view of complex numbers on a GPU begins at an address that is "
                "no multiple of "
             << static_cast<int>(sizeof(T)) << " bytes; copy them there first");
  }
  [[noreturn, gnu::cold]] void refuse_repeats() const {
    message text;
    text << "locus: a view with extents " << leaf_.extents << " and strides [";
    for (int a = 0; a < rank(); ++a) text << (a ? "," : "") << leaf_.strides[a];
    throw shape_error(
        text << "] has one element at several indices, and is written; give it strides "
                "that keep its elements apart");
  }
  template <class X, class Mode = mode>
  void assign(X const& e, call_site site) const {
    using Graph = graph<default_policy, root_of<X, Where>>;
    if constexpr (require_takes<T, E, X>())
      lowering::run_graph<Graph>(
          site, [&](int, shape const&, place const&) { return as_target(); }, e);
  }
  ViewLeaf<T, E, Where, Dense> leaf_;
};

/// a Tensor owns its elements: an assignment to a temporary one would be lost
template <class Destination>
concept tensor_owner = std::is_base_of_v<tensor_base, std::remove_cvref_t<Destination>>;

/// means: memory of the program's own as a tensor operand, or as a destination; memory of
///        std::complex has elements of locus::complex
template <single_device Where, class T, std::int64_t... N, class Layout = layout_right>
auto view(T* data, Extents<N...> const& extents, Layout const& layout = {}) {
  static_assert(
      !open_device<Where>,
      "locus: a view on GpuDevice<dyn> needs its ordinal; write view<GpuDevice<dyn>>(data, "
      "extents, layout_right{}, 2)");
  return View<internal::stored_as_t<T>, Extents<N...>, Where, std::is_same_v<Layout, layout_right>>(
      internal::as_elements(data), extents, layout);
}
/// means: view on the device that an ordinal or a device gives at run time
template <open_device Where, class T, std::int64_t... N, class Layout>
auto view(T* data, Extents<N...> const& extents, Layout const& layout,
          bound_device<Where> const& on) {
  return View<internal::stored_as_t<T>, Extents<N...>, Where, std::is_same_v<Layout, layout_right>>(
      internal::as_elements(data), extents, layout, on);
}

/// means: the elements of a std::vector, std::span or std::array, as one axis or with these extents
/// device: Where, whose memory the range must be in     cost: none; the range owns the elements,
///         and keeps its size while the view is used
/// fails: shape_error, where the range has another number of elements
template <single_device Where, class R>
  requires(host_range<R> && (std::is_lvalue_reference_v<R> || std::is_trivially_copyable_v<R>))
auto view(R&& from) {
  return view<Where>(from.data(), Dextents<1>(static_cast<std::int64_t>(from.size())));
}
template <single_device Where, class R, std::int64_t... N>
  requires(host_range<R> && (std::is_lvalue_reference_v<R> || std::is_trivially_copyable_v<R>))
auto view(R&& from, Extents<N...> const& extents) {
  detail::require_size(static_cast<std::int64_t>(from.size()), extents.as_shape());
  return view<Where>(from.data(), extents);
}
template <class Memory, class... More>
  requires(!device_policy<Memory>)
auto view(Memory const&, More const&...) {
  static_assert(always_false<Memory>,
                "locus: a view names its device; write view<CpuDevice>(data, extents)");
}
template <replicas Where, class... X>
auto view(X const&...) {
  static_assert(always_false<Where>,
                "locus: a view lies on one device; write view<CpuDevice>(data, extents)");
}

namespace detail {
template <mdspan_like M>
constexpr bool require_elements_by_address() {
  static_assert(internal::reads_by_address<M>,
                "locus: the accessor of this mdspan computes its elements; write the elements into "
                "a Tensor, or view the mdspan below it");
  return internal::reads_by_address<M>;
}
}  // namespace detail

/// means: an mdspan (std::mdspan, Kokkos' or libcu++'s) as a tensor operand, or as a destination
/// shape: that of m, static where the type of m is     device: Where, whose memory m must view
/// cost:  none     fails: at compile time, for an accessor that computes elements; shape_error, for
///        a layout without strides
template <single_device Where, mdspan_like M>
auto view(M const& m) {
  if constexpr (detail::require_elements_by_address<M>())
    return View<internal::stored_as_t<typename M::element_type>, internal::extents_of_mdspan_t<M>,
                Where, internal::is_in_row_order<M>>(internal::as_elements(m.data_handle()),
                                                     internal::extents_of_mdspan(m), m.mapping());
}
template <open_device Where, mdspan_like M>
auto view(M const& m, bound_device<Where> const& on) {
  if constexpr (detail::require_elements_by_address<M>())
    return View<internal::stored_as_t<typename M::element_type>, internal::extents_of_mdspan_t<M>,
                Where, internal::is_in_row_order<M>>(
        internal::as_elements(m.data_handle()), internal::extents_of_mdspan(m), m.mapping(), on);
}

}  // namespace locus

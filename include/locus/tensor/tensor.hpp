// SPDX-License-Identifier: Apache-2.0
// Tensor<T, Extents, Where>: elements on the devices that the type names.
#pragma once
#include <concepts>     // integral
#include <type_traits>  // is_same

#include <locus/backend/all_gpus.hpp>    // place_now
#include <locus/core/call_site.hpp>      // call_site
#include <locus/core/forward.hpp>        // Tensor, with default arguments
#include <locus/device/open.hpp>         // bound_device
#include <locus/expr/leaf.hpp>           // Leaf, tensor_base
#include <locus/expr/operand.hpp>        // as_operand
#include <locus/machine/copies.hpp>      // copy
#include <locus/memory/allocate.hpp>     // allocate, release
#include <locus/ops/generators.hpp>      // full
#include <locus/run/bind_and_run.hpp>    // graph_code
#include <locus/run/events.hpp>          // log_creation
#include <locus/shape/layout.hpp>        // layout_right
#include <locus/tensor/assignable.hpp>   // require_takes
#include <locus/tensor/host_range.hpp>   // host_range
#include <locus/tensor/move_block.hpp>   // move_block
#include <locus/tensor/nested_list.hpp>  // nested_list, measure
#include <locus/tensor/storage.hpp>      // make_storage

namespace locus {

namespace detail {

/// the first extent of Tensor(2, 3), with the call site: a parameter pack takes no default argument
struct first_extent {
  template <std::integral N>
  constexpr first_extent(N n, call_site at = call_site::here())
      : value(std::int64_t(n)), where(at) {}
  std::int64_t value;
  call_site where;
};

/// host memory for values that are copied to devices
class host_buffer {
 public:
  explicit host_buffer(std::int64_t bytes) : bytes_(bytes > 0 ? bytes : 1) {
    data_ = runtime::allocate(runtime::find_device(cpu(0)), bytes_, "values on the host");
  }
  host_buffer(host_buffer const&) = delete;
  ~host_buffer() { runtime::release(runtime::find_device(cpu(0)), data_, bytes_); }
  void* data() const { return data_; }

 private:
  void* data_;
  std::int64_t bytes_;
};

}  // namespace detail

/// means: elements of type T with extents E on the device, or the devices, of policy Where
/// shape: E; extents that are dyn are given when it is made
/// device: Where; without it /CPU:0. On GpuDevice<dyn> or Cpu<dyn> the constructor takes the device
///         first: Tensor<float, E, GpuDevice<dyn>> t(gpu(2), n, m); the tensor keeps it for life
/// cost:  making: one allocation on each device; moving: O(1); copying: the elements, on the same
///        devices
/// fails: out_of_memory, shape_error; bad_access, when it is used after it was moved from
/// after: the parameters of std::mdspan, with a place in addition
template <class T, class E, class Where>
class Tensor : public tensor_base {
  static_assert(device_policy<Where>,
                "locus: the third parameter of a Tensor says where it is; write CpuDevice, "
                "GpuDevice<0>, Mirrored<...> or Sharded<0, ...>");
  static_assert(is_extents<E>,
                "locus: the extents of a Tensor are a type; write Tensor<float, Extents<2, 3>>");
  static_assert(!std::is_const_v<T> && !std::is_reference_v<T>,
                "locus: the element type of a Tensor is a plain type; write Tensor<float, ...>");
  static_assert(
      !Where::value.is_sharded() || Where::value.axis < E::rank(),
      "locus: a Tensor is cut along an axis that it does not have; name an axis below its rank");
  static_assert(!std::is_same_v<Where, AllGpus>,
                "locus: AllGpus is a list of devices, no place; write Mirrored<AllGpus> or "
                "Sharded<0, AllGpus>");
  static_assert(
      std::is_trivially_copyable_v<T>,
      "locus: elements are copied between devices as bytes; use a trivially copyable type");

 public:
  using is_tensor = void;
  using value_type = T;
  using extents_type = E;
  using policy = Where;
  using list_type = typename detail::nested_list<T, E::rank()>::type;
  static constexpr place where = Where::value;
  static constexpr int rank() { return E::rank(); }
  static constexpr bool on_one_cpu = where.is_single() && where.at(0).is_cpu();
  /// a Tensor with the same elements converts to one on a CPU implicitly: the program's type names
  /// the CPU
  template <class X>
  static constexpr bool converts_implicitly =
      on_one_cpu && !where.is_open() && detail::tensor_with_memory<X, T, E::rank()>;

  /// dyn extents are 0; elements are unspecified until an assignment (NaN in checked builds, on the
  /// host)
  Tensor(call_site site = call_site::here()) : Tensor(E(), site) {}
  explicit Tensor(E const& extents, call_site site = call_site::here()) {
    make(asked_home(site), extents.as_shape(), site);
  }
  template <std::integral... N>
    requires(!E::pattern.is_static() &&
             (int(sizeof...(N)) + 1 == E::rank() || int(sizeof...(N)) + 1 == E::rank_dynamic()))
  explicit Tensor(detail::first_extent n, N... extents) : Tensor(E(n.value, extents...), n.where) {}
  /// extents of another type     fails: shape_error, where they differ from static extents of E
  template <std::int64_t... N>
    requires(!std::same_as<Extents<N...>, E>)
  explicit Tensor(Extents<N...> const& extents, call_site site = call_site::here())
      : Tensor(of_this_rank(extents), site) {}
  /// the elements of a std::vector, std::span or std::array, in row order
  template <host_range R>
    requires(E::rank() == 1)
  explicit Tensor(R const& from, call_site site = call_site::here())
      : Tensor(from, E(shape{1, {static_cast<std::int64_t>(from.size())}}), site) {}
  template <host_range R, class Mode = mode>
  Tensor(R const& from, E const& extents, call_site site = call_site::here()) {
    asked_home(site);
    detail::require_size(static_cast<std::int64_t>(from.size()), extents.as_shape());
    using element = internal::stored_as_t<std::remove_const_t<element_of_range_t<R const>>>;
    ViewLeaf<element const, E, CpuDevice, true> leaf{
        internal::as_elements(from.data()), extents.as_shape(), {}};
    internal::strides_of(layout_right{}, leaf.extents, leaf.strides);
    assign_to_new<Mode>(leaf, site);
  }
  /// nested lists: {{1, 2, 3}, {4, 5, 6}}
  Tensor(list_type const& values, call_site site = call_site::here()) {
    place const at = asked_home(site);
    shape s{E::rank(), {}};
    detail::measure<E::rank()>(values, s, 0, false);
    make(at, E(s).as_shape(), site);
    assign_list(values);
  }
  // ---- on GpuDevice<dyn> and Cpu<dyn>: the device first ----
  explicit Tensor(locus::device d, call_site site = call_site::here())
    requires(open_device<Where> && E::pattern.is_static())
      : Tensor(d, E(), site) {}
  Tensor(locus::device d, E const& extents, call_site site = call_site::here())
    requires open_device<Where>
  {
    make(asked(single(bound_device<Where>(d)), site), extents.as_shape(), site);
  }
  template <std::integral... N>
    requires(open_device<Where> && !E::pattern.is_static() &&
             (int(sizeof...(N)) + 1 == E::rank() || int(sizeof...(N)) + 1 == E::rank_dynamic()))
  Tensor(locus::device d, detail::first_extent n, N... extents)
      : Tensor(d, E(n.value, extents...), n.where) {}
  Tensor(locus::device d, list_type const& values, call_site site = call_site::here())
    requires open_device<Where>
  {
    place const at = asked(single(bound_device<Where>(d)), site);
    shape s{E::rank(), {}};
    detail::measure<E::rank()>(values, s, 0, false);
    make(at, E(s).as_shape(), site);
    assign_list(values);
  }
  /// the value of an expression
  template <expression X, class Mode = mode>
  Tensor(X const& x, call_site site = call_site::here()) {
    if constexpr (open_device<Where>)
      runtime::devices(made, site);  // the expression says where
    else
      asked_home(site);
    assign_to_new<Mode>(x, site);
  }
  /// the elements of a view, or of a tensor on another place; implicit for a Tensor that becomes
  /// one on a CPU, as in Tensor<float, E> c = eval(a + b)
  template <detail::tensor_besides<Tensor> X, class Mode = mode>
    requires detail::may_be_converted<X>
  explicit(!converts_implicitly<X>) Tensor(X const& x, call_site site = call_site::here()) {
    if constexpr (open_device<Where>)
      runtime::devices(made, site);  // the expression says where
    else
      asked_home(site);
    assign_to_new<Mode>(x.leaf(), site);
  }

  // ---- constructors that refuse, with a sentence ----
  template <detail::tensor_besides<Tensor> X, class Mode = mode>
  Tensor(X const&, call_site = {}) {
    static_assert(always_false<X>,
                  "locus: a tensor is made from one on another device, or of other elements, and "
                  "nothing says so; write Tensor<...> t(x), or t(cast<T>(x))");
  }
  template <class P, class... More>
  explicit Tensor(P*, More const&...) {
    static_assert(always_false<P>, "locus: a pointer does not say how many elements there are; "
                                   "write Tensor<...> t(view<CpuDevice>(p, extents))");
  }
  template <std::integral... N>
    requires(sizeof...(N) > 0 &&
             (E::pattern.is_static() ||
              (int(sizeof...(N)) != E::rank() && int(sizeof...(N)) != E::rank_dynamic())))
  explicit Tensor(N...) {
    static_assert(always_false<N...>,
                  "locus: a Tensor takes one number for each open extent, or for each extent, and "
                  "none where all are known; write t(2, 3) of Dextents<2>");
  }

  Tensor(Tensor const& o) { copy_of(o, o.live().where); }
  Tensor(Tensor&& o) noexcept { take(std::move(o)); }
  /// copies the elements of a tensor of the same type. The memory stays where extents agree. The
  /// device stays too: a tensor of GpuDevice<dyn> on another device is copied over, which is
  /// counted
  Tensor& operator=(Tensor const& o) & {
    if (this == &o) return *this;
    if (!block || !(o.live().extents == block->extents))
      copy_of(o, block ? block->where : o.live().where);
    else
      copy_elements(o);
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    take(std::move(o));
    return *this;
  }
  Tensor& operator=(list_type const& values) & {
    shape s{E::rank(), {}};
    detail::measure<E::rank()>(values, s, 0, false);
    if (!(s == live().extents)) {
      message text;
      throw shape_error(text << "locus: a nested list with extents " << s
                             << " is assigned to a tensor with extents " << block->extents
                             << "; write as many elements");
    }
    assign_list(values);
    return *this;
  }
  /// means: every element = that of the expression, computed by its plan
  template <tensor_operand X, class Mode = mode>
    requires(!std::same_as<std::remove_cvref_t<X>, Tensor>)
  [[gnu::always_inline]] Tensor& operator=(X&& x) & {
    assign<Mode>(as_operand<void>(std::forward<X>(x)), runtime::site_of_operator());
    return *this;
  }
  /// means: every element = n     fails: shape_error, for an integer that T cannot hold
  template <number X, class Mode = mode>
    requires(E::rank() > 0)
  Tensor& operator=(X n) & {
    if constexpr (require_number<T, X>())
      assign<Mode>(full<T>(extents(), internal::checked_number<T>(n)), runtime::site_of_operator());
    return *this;
  }
  /// to a tensor without a name: refused, with a sentence
  template <operand X>
  void operator=(X const&) && {
    refuse_without_name<X>();
  }
  void operator=(list_type const&) && { refuse_without_name<list_type>(); }
#define LOCUS_ASSIGNING(symbol)                     \
  template <operand X, class Mode = mode>           \
  Tensor& operator symbol##=(X && x)& {             \
    return *this = *this symbol std::forward<X>(x); \
  }                                                 \
  template <operand X>                              \
  void operator symbol##=(X const&)&& {             \
    refuse_without_name<X>();                       \
  }
  LOCUS_ASSIGNING_OPERATORS(LOCUS_ASSIGNING)
#undef LOCUS_ASSIGNING

  /// means: gives the tensor these extents; where they differ from its own, the tensor has new
  ///        memory with unspecified elements
  /// cost:  one allocation on each device where extents change
  /// fails: out_of_memory; shape_error; bad_access, after the tensor was moved from
  void resize(E const& extents, call_site site = call_site::here()) {
    if (!(live().extents == extents.as_shape())) make(block->where, extents.as_shape(), site);
  }
  template <std::integral... N>
    requires(!E::pattern.is_static() &&
             (int(sizeof...(N)) + 1 == E::rank() || int(sizeof...(N)) + 1 == E::rank_dynamic()))
  void resize(detail::first_extent n, N... extents) {
    resize(E(n.value, extents...), n.where);
  }
  /// means: a and b exchange their memory     cost: O(1)
  friend void swap(Tensor& a, Tensor& b) noexcept {
    Tensor was(std::move(a));
    a = std::move(b), b = std::move(was);
  }

  E extents() const { return E(live().extents); }
  /// means: the extent of an axis; a negative one counts from the end
  std::int64_t extent(int axis) const { return internal::extent_at(live().extents, axis); }
  /// units: elements of the whole value
  std::int64_t size() const { return live().extents.size(); }
  /// means: the device of a replica, also where the type leaves it open; and the number of replicas
  ///        of this rank
  locus::device device(int replica = 0) const { return live().where.at(replica); }
  int replica_count() const { return live().where.local_count(); }
  /// means: the address of a replica's elements; host code may not read it on a GPU
  T* data(int replica = 0) {
    tensor_block const& b = live();
    meet_late(b, replica);
    if (!__atomic_load_n(&b.exposed, __ATOMIC_RELAXED)) {
      __atomic_store_n(&b.exposed, 1, __ATOMIC_RELAXED);  // the pointer may be written through
      runtime::forget_copies(b);
    }
    return static_cast<T*>(b.pieces[replica].data);
  }
  T const* data(int replica = 0) const {
    tensor_block const& b = live();
    meet_late(b, replica);
    return static_cast<T const*>(b.pieces[replica].data);
  }

  /// means: one element     fails: at compile time, where the tensor is not on one CPU
  template <std::integral... Idx, class Mode = mode>
  T& operator()(Idx... i) {
    return element<Mode>(i...);
  }
  template <std::integral... Idx, class Mode = mode>
  T const& operator()(Idx... i) const {
    return element<Mode>(i...);
  }

  /// of a tensor of rank 1: t[i] is t(i)
  template <std::integral Index, class Mode = mode>
  T& operator[](Index i) {
    return element<Mode>(i);
  }
  template <std::integral Index, class Mode = mode>
  T const& operator[](Index i) const {
    return element<Mode>(i);
  }
  /// means: the elements in row order, for loops and for the algorithms of the standard library
  T* begin()
    requires on_one_cpu
  {
    return data();
  }
  T* end()
    requires on_one_cpu
  {
    return data() + size();
  }
  T const* begin() const
    requires on_one_cpu
  {
    return data();
  }
  T const* end() const
    requires on_one_cpu
  {
    return data() + size();
  }

  template <class Mode = mode>
  auto leaf() const& {
    return Leaf<T, E, Where, borrowed<checked_build>>{borrowed<checked_build>(*this)};
  }
  auto leaf() && { return Leaf<T, E, Where, owned>{owned{std::move(block)}}; }

  /// means: this tensor as a destination of a plan
  target as_target() const {
    target t;
    t.where = where.without_margin(), t.extents = live().extents;
    if constexpr (where.is_open()) t.where = block->where.without_margin();
    forget_margins(*block.get());
    for (int r = 0; r < t.where.local_count(); ++r) t.locals[r] = block->local(r);
    return t;
  }

  // ---- for eval, to and fetch: a tensor whose memory a plan makes once it knows the extents ----
  struct unmade {};
  explicit Tensor(unmade) {}
  target make_for(shape const& extents, place const& at, call_site site = {}) {
    if (at.is_open()) internal::refuse_unbound(at.at(0));
    make(at, E(extents).as_shape(), site);
    target t = as_target();
    t.fresh = true;
    return t;
  }

 private:
  /// means: waits for the sum between ranks that is still written there (run/late_results.hpp)
  static void meet_late(tensor_block const& b, int replica) {
    if constexpr (where.devices.is_over_ranks()) {
      if (!runtime::has_arrivals()) return;
      auto& d = runtime::find_device(b.where.at(replica));
      if (d.is_host()) runtime::meet_arrivals_of_host(&d, nullptr, 0);
    }
  }
  template <class Given>
  static E of_this_rank(Given const& extents) {
    static_assert(
        Given::rank() == E::rank(),
        "locus: a Tensor is made with extents of another rank; write as many as its type has");
    return E(extents.as_shape());
  }
  static target found(void const* t, shape const&) {
    return static_cast<Tensor const*>(static_cast<tensor_base const*>(t))->as_target();
  }
  static constexpr char const* made = "a Tensor was made";
  /// the place that the program named for a tensor
  /// fails: unknown_device with hard placement
  static place asked(place const& at, call_site site) {
    runtime::devices(made, site);
    runtime::note_gpus<has_gpu(where.devices)>();
    runtime::request_devices(at, "a Tensor", site);
    return at;
  }
  tensor_block& live() const {
    if (!block) {
      message text;
      throw bad_access(text << "locus: a Tensor of " << row_of(element_of_v<T>).name << E::pattern
                            << " on " << where
                            << " was moved from and is used again; assign a tensor to it first");
    }
    return *block.get();
  }
  /// the place of a tensor whose constructor names no device
  static place asked_home(call_site site) {
    static_assert(
        !open_device<Where>,
        "locus: a tensor on GpuDevice<dyn> or Cpu<dyn> needs its device; write Tensor<float, "
        "E, GpuDevice<dyn>> t(gpu(2), extents...)");
    runtime::devices(made, site);
    if constexpr (where.is_open())
      return asked(runtime::place_now(where), site);
    else
      return asked(where, site);
  }
  void make(place const& at, shape const& extents, call_site site = {}) {
    runtime::note_gpus<has_gpu(where.devices)>();
    block = internal::make_storage(where.is_open() ? at.with(where.margin) : where, extents,
                                   element_of_v<T>, sizeof(T));
    block->tensor = static_cast<tensor_base const*>(this);
    static constexpr char created = 0;
    if (runtime::log_wants(&created, site))
      internal::log_creation(row_of(element_of_v<T>).name, extents, block->where, site);
  }
  template <class X>
  static constexpr void refuse_without_name() {
    static_assert(always_false<X>,
                  "locus: a tensor without a name is assigned to, and nobody could read it; write "
                  "x = where(mask, e, x) for the elements of a mask, or give the tensor a name");
  }
  void take(Tensor&& o) noexcept {
    block = std::move(o.block);
    if (block) block->tensor = static_cast<tensor_base const*>(this);
  }
  void copy_of(Tensor const& o, place const at) {
    make(at, o.live().extents);
    copy_elements(o);
  }
  void copy_elements(Tensor const& o) {
    runtime::forget_copies(*block.get());
    if constexpr (where.is_open())
      if (!(o.live().where == block->where))
        return internal::move_block(*o.block.get(), *block.get());
    static constexpr char copied = 0;
    bool const logged = runtime::log_wants(&copied, {});
    for (int r = 0; r < block->where.local_count(); ++r) {
      logical_device& d = runtime::find_device(block->where.at(r));
      piece const& from = o.live().pieces[r];
      runtime::copy(d, block->pieces[r].data, d, from.data, std::int64_t(from.bytes),
                    queue_kind::compute, {-1, "copying a tensor", d.name});
      if (logged)
        internal::log_tensor_copy(row_of(element_of_v<T>).name, block->extents,
                                  std::int64_t(from.bytes), block->where.at(r));
    }
  }
  void assign_list(list_type const& values) {
    std::int64_t const bytes = block->extents.size() * std::int64_t(sizeof(T));
    detail::host_buffer buffer(bytes);
    detail::flatten_list<E::rank()>(values, static_cast<T*>(buffer.data()));
    internal::fill_storage(*block.get(), buffer.data());
  }
  template <class Mode, class X>
  void assign(X const& x, call_site site) {
    using Graph = graph<default_policy, root_of<X, Where>>;
    if constexpr (!require_takes<T, E, X>())
      return;
    else if constexpr (is_local_statement<Graph>)
      lowering::map_statement<Graph>::assign(site, *this, found, x);
    else
      lowering::run_graph<Graph>(
          site, [&](int, shape const&, place const&) { return as_target(); }, x);
  }
  template <class Mode, class X>
  void assign_to_new(X const& x, call_site site) {
    using Graph = graph<default_policy, root_of<X, Where>>;
    if constexpr (require_takes<T, E, X>())
      lowering::run_graph<Graph>(
          site,
          [&](int, shape const& extents, place const& at) { return make_for(extents, at, site); },
          x);
  }
  template <class Mode, class... Idx>
  T& element(Idx... i) {
    std::int64_t const at = offset<Mode>(i...);
    runtime::forget_copies(*block.get());
    return static_cast<T*>(block->pieces[0].data)[at];
  }
  template <class Mode, class... Idx>
  T const& element(Idx... i) const {
    return data()[offset<Mode>(i...)];
  }
  template <class Mode, class... Idx>
  std::int64_t offset(Idx... i) const {
    static_assert(
        on_one_cpu,
        "locus: an element of a tensor on a GPU, or of replicas, is not host memory; write "
        "fetch(t) and read that");
    static_assert(int(sizeof...(Idx)) == E::rank(),
                  "locus: an element needs one index for each axis; write t(i, j) of rank 2");
    std::int64_t const at[] = {static_cast<std::int64_t>(i)..., 0};
    tensor_block const& b = live();
    std::int64_t offset = 0;
    for (int a = 0; a < E::rank(); ++a) {
      if (checked_build && (at[a] < 0 || at[a] >= b.extents.extent[a])) {
        message text;
        throw bad_access(text << "locus: index " << at[a] << " of axis " << a
                              << " is outside extents " << b.extents);
      }
      offset += at[a] * b.pieces[0].strides[a];
    }
    return offset;
  }
};

}  // namespace locus

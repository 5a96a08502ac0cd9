// SPDX-License-Identifier: Apache-2.0
// AnyTensor<T, Extents>: a tensor whose place is known only when the program runs.
#pragma once
#include <locus/runtime/ranks.hpp>      // lies_on_ranks
#include <locus/tensor/eval.hpp>        // Tensor
#include <locus/tensor/file.hpp>        // write_tensor, read_header
#include <locus/tensor/move_block.hpp>  // move_block
#include <locus/tensor/print.hpp>       // <<

namespace locus {

namespace detail {
/// means: a tensor whose place is `actual` can have a policy whose place is `pattern`
inline bool lies_as(place const& pattern, place const& actual) {
  if (pattern.how != actual.how || pattern.axis != actual.axis) return false;
  if (!pattern.is_open()) return pattern == actual;
  if (pattern.devices.is_all_gpus() || pattern.devices.is_over_ranks())
    return actual.devices == runtime::place_now(pattern).devices;
  return actual.at(0).kind() == pattern.at(0).kind();
}
/// means: every extent of `to` is dyn, or equal to the extent of `from`
constexpr bool may_hold(shape const& to, shape const& from) {
  if (to.rank != from.rank) return false;
  for (int a = 0; a < to.rank; ++a)
    if (to.extent[a] != dyn && to.extent[a] != from.extent[a]) return false;
  return true;
}
}  // namespace detail

/// means: a tensor of elements T with extents E on any device, or over any device list
/// shape: E; a Tensor whose type fixes more extents converts to it
/// device: that of the Tensor from which it was made, or that of load(); is_on<Where>() tells
/// cost:  from an rvalue Tensor O(1), from an lvalue a copy on the same devices. No code is
///        compiled for each place: copies are plans made when the program runs
/// fails: bad_access, when the AnyTensor was moved from; placement_error, when as<Where>() names
///        another place than its own
/// after: std::any, for the place alone
template <class T, class E>
class AnyTensor : public tensor_base {
  static_assert(is_extents<E>,
                "locus: the extents of an AnyTensor are a type; write AnyTensor<float, "
                "Dextents<2>>");

 public:
  using value_type = T;
  using extents_type = E;

  template <class From, class Where>
    requires(detail::may_hold(E::pattern, From::pattern))
  AnyTensor(Tensor<T, From, Where>&& t) {
    if (!t.block) refuse_moved_from();
    take(std::move(t.block));
  }
  template <class From, class Where>
    requires(detail::may_hold(E::pattern, From::pattern))
  AnyTensor(Tensor<T, From, Where> const& t) {
    if (!t.block) refuse_moved_from();
    copy_of(*t.block.get(), t.block->where);
  }
  AnyTensor(AnyTensor const& o) { copy_of(o.live(), o.live().where); }
  AnyTensor(AnyTensor&& o) noexcept { take(std::move(o.block)); }
  AnyTensor& operator=(AnyTensor o) noexcept {
    take(std::move(o.block));
    return *this;
  }

  E extents() const { return E(live().extents); }
  std::int64_t size() const { return live().extents.size(); }
  /// means: the place of the tensor now
  place where() const { return live().where; }
  template <device_policy Where>
  bool is_on() const {
    return detail::lies_as(Where::value, live().where);
  }

  /// means: the tensor as an operand whose type names its place: eval(2 * a.as<CpuDevice>())
  /// cost:  none; the operand points to this object, which must live until the expression has run
  /// fails: placement_error, where the tensor has another place
  template <device_policy Where>
  auto as() const& {
    require_place<Where>();
    return Leaf<T, E, Where, borrowed<checked_build>>{borrowed<checked_build>(*this)};
  }
  /// means: moves the memory into a Tensor: std::move(a).as<CpuDevice>()     cost: O(1)
  template <device_policy Where>
  Tensor<T, E, Where> as() && {
    require_place<Where>();
    Tensor<T, E, Where> t{typename Tensor<T, E, Where>::unmade{}};
    t.block = std::move(block);
    t.block->tensor = static_cast<tensor_base const*>(&t);
    return t;
  }
  /// means: a copy on Where     cost: counted and logged like the copies of plans
  template <device_policy Where>
  Tensor<T, E, Where> to(call_site site = call_site::here()) const {
    static_assert(!open_device<Where>,
                  "locus: to<GpuDevice<dyn>> of an AnyTensor needs its ordinal; write "
                  "any.to<GpuDevice<dyn>>(2)");
    place at = Where::value;
    if constexpr (open_policy<Where>) at = runtime::place_now(at);
    return copied_to<Where>(at, site);
  }
  template <open_device Where>
  Tensor<T, E, Where> to(bound_device<Where> const& on, call_site site = call_site::here()) const {
    return copied_to<Where>(single(on.value()), site);
  }

  /// means: writes extents, element type and elements to a file
  /// cost:  a copy to the host where the tensor is elsewhere; the file is written whole or not at
  ///        all
  /// fails: bad_file, with the text of the system's error
  void save(std::string_view path) const {
    if (live().where == single(cpu(0))) return write(path, live());
    write(path, *to<CpuDevice>().block.get());
  }
  /// means: the tensor in a file, on /CPU:0
  /// fails: bad_file naming path, expected and found: the file is truncated, too long or changed,
  ///        or has another element type, rank or extents
  static AnyTensor load(std::string_view path, call_site where = call_site::here()) {
    runtime::input_file file(path);
    auto const h = detail::read_header(file, path, E::pattern, element_of_v<T>, int(sizeof(T)));
    shape s{E::rank(), {}};
    for (int a = 0; a < E::rank(); ++a) s.extent[a] = h.extent(a);
    Tensor<T, E, CpuDevice> t(E(s), where);
    if (!file.read(t.data(), h.bytes)) detail::refuse_file(path, "all its bytes", "fewer");
    if (detail::checksum_of(h, t.data()) != h.checksum)
      detail::refuse_file(path, "the elements that were written",
                          "others: their check sum differs");
    return AnyTensor(std::move(t));
  }

 private:
  [[noreturn]] static void refuse_moved_from() {
    message text;
    throw bad_access(text << "locus: an AnyTensor of " << row_of(element_of_v<T>).name << E::pattern
                          << " was moved from and is used again; assign a tensor to it first");
  }
  tensor_block& live() const {
    if (!block) refuse_moved_from();
    return *block.get();
  }
  void take(block_owner b) noexcept {
    block = std::move(b);
    if (block) block->tensor = static_cast<tensor_base const*>(this);
  }
  void copy_of(tensor_block const& o, place const& at) {
    take(internal::make_storage(at, o.extents, element_of_v<T>, sizeof(T)));
    internal::move_block(o, *block.get());
  }
  template <class Where>
  void require_place() const {
    if (is_on<Where>()) return;
    message text;
    throw placement_error(text << "locus: an AnyTensor of " << row_of(element_of_v<T>).name
                               << live().extents << " lies on " << live().where
                               << " and is taken as one on " << Where::value
                               << "; copy it there with to<...>()");
  }
  template <class Where>
  Tensor<T, E, Where> copied_to(place const& at, call_site site) const {
    tensor_block const& from = live();
    runtime::note_gpus<has_gpu(Where::value.devices)>();
    runtime::request_devices(at, "to<...>()", site);
    Tensor<T, E, Where> t{typename Tensor<T, E, Where>::unmade{}};
    t.make_for(from.extents, at);
    internal::move_block(from, *t.block.get());
    return t;
  }
  static void write(std::string_view path, tensor_block const& b) {
    detail::write_tensor(path, b.extents, b.type, int(sizeof(T)), b.pieces[0].data);
  }
};

namespace internal {

/// means: X is an AnyTensor
template <class X>
inline constexpr bool is_any_tensor = false;
template <class T, class E>
inline constexpr bool is_any_tensor<AnyTensor<T, E>> = true;

}  // namespace internal

namespace detail {

template <class A, class B = A>
concept any_of_both = is_any_tensor<A> || is_any_tensor<B>;
template <class A>
constexpr void refuse_arithmetic() {
  static_assert(always_false<A>,
                "locus: an expression knows the device of its operands when it is compiled, and an "
                "AnyTensor when the program runs; write a.as<CpuDevice>() where it lies, or "
                "to<CpuDevice>(a)");
}

}  // namespace detail

/// means: a copy of an AnyTensor on Where: to<CpuDevice>(a), to<GpuDevice<dyn>>(a, 2)
/// cost:  counted and logged like the copies of plans
template <device_policy Where, class T, class E>
[[nodiscard]] auto to(AnyTensor<T, E> const& a) {
  return a.template to<Where>();
}
template <open_device Where, class T, class E>
[[nodiscard]] auto to(AnyTensor<T, E> const& a, bound_device<Where> const& on) {
  return a.template to<Where>(on);
}
template <fixed_string Name, class T, class E>
[[nodiscard]] auto to(AnyTensor<T, E> const& a) {
  if constexpr (require_device_name<Name>()) {
    constexpr int code = parse_device(Name.view()).value.code();
    return a.template to<typename decltype(internal::policy_of_code<code>())::type>();
  }
}
/// means: the value on the host: a number if it has rank 0, a Tensor on /CPU:0 otherwise
template <class T, class E>
[[nodiscard]] auto fetch(AnyTensor<T, E> const& a) {
  auto t = a.template to<CpuDevice>();
  if constexpr (E::rank() == 0)
    return *t.data();
  else
    return t;
}
/// means: the place of a Tensor or an AnyTensor now, also where its type leaves the device open
/// fails: bad_access, when it was moved from
template <class X>
  requires std::is_base_of_v<tensor_base, X>
place place_of(X const& x) {
  static_cast<void>(x.size());  // size() throws where x was moved from
  return x.block.get()->where;
}
// ---- an AnyTensor is no operand: these operators refuse it with a sentence ----
template <class A>
  requires internal::is_any_tensor<A>
constexpr void operator-(A const&) {
  detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::any_of_both<A, B>
constexpr void operator+(A const&, B const&) {
  detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::any_of_both<A, B>
constexpr void operator-(A const&, B const&) {
  detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::any_of_both<A, B>
constexpr void operator*(A const&, B const&) {
  detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::any_of_both<A, B>
constexpr void operator/(A const&, B const&) {
  detail::refuse_arithmetic<A>();
}

/// means: writes the tensor as text, like a Tensor     cost: a copy of the elements to the host
/// device: of a value over ranks: every rank runs the statement, rank 0 writes
template <class Stream, class T, class E>
  requires requires(Stream& s) { s.write("", 0); }
Stream& operator<<(Stream& out, AnyTensor<T, E> const& t) {
  auto const host = t.template to<CpuDevice>();
  if (!runtime::lies_on_ranks(t.where().devices) || runtime::this_rank.rank == 0)
    detail::print_host(out, host);
  return out;
}

}  // namespace locus

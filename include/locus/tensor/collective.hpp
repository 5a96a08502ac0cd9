// SPDX-License-Identifier: Apache-2.0
// Collectives over tensors on different devices, for programs that place each tensor by hand.
// Mirrored and sharded tensors do not need them: their plans contain the collectives.
#pragma once
#include <type_traits>  // remove_cvref

#include <locus/collective/local.hpp>           // local_reduction
#include <locus/collective/rank_functions.hpp>  // over_ranks
#include <locus/collective/rebuild.hpp>         // rebuild, use_communicator
#include <locus/device/name.hpp>                // message << device
#include <locus/runtime/ranks.hpp>              // this_rank
#include <locus/tensor/tensor.hpp>              // Tensor

namespace locus {

namespace collective {

/// The operation of a reduction. The two means differ in bits and in range: mean_of_sums divides
/// the sum (as TensorFlow does), mean_prescaled adds terms multiplied by 1/n (as NCCL does).
enum class combine_with : unsigned char { sum, mean_of_sums, mean_prescaled, max, min, all, any };
inline constexpr combine_with sum = combine_with::sum, mean_of_sums = combine_with::mean_of_sums,
                              mean_prescaled = combine_with::mean_prescaled,
                              max = combine_with::max, min = combine_with::min,
                              all = combine_with::all, any = combine_with::any;

}  // namespace collective

namespace detail {

/// a tensor whose elements are on one device
template <class X>
concept tensor_of_one = requires { typename std::remove_cvref_t<X>::is_tensor; } &&
                        std::remove_cvref_t<X>::where.is_single();

/// NCCL's type of T; `none`: NCCL moves bytes, and locus folds them in the order of the replicas
template <class T>
consteval runtime::nccl_type nccl_type_for() {
  using enum runtime::nccl_type;
  if constexpr (std::is_same_v<T, float>) return float32;
  if constexpr (std::is_same_v<T, double>) return float64;
  if constexpr (std::is_same_v<T, half>) return float16;
  if constexpr (std::is_same_v<T, locus::bfloat16>) return bfloat16;
  if constexpr (std::is_same_v<T, bool>) return uint8;
  if constexpr (std::is_integral_v<T>) {
    constexpr bool with_sign = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return with_sign ? int8 : uint8;
    if constexpr (sizeof(T) == 4) return with_sign ? int32 : uint32;
    if constexpr (sizeof(T) == 8) return with_sign ? int64 : uint64;
  }
  return none;
}
constexpr reduction reduction_for(collective::combine_with o) {
  constexpr reduction kinds[] = {reduction::sum, reduction::sum, reduction::sum, reduction::max,
                                 reduction::min, reduction::all, reduction::any};
  return kinds[static_cast<int>(o)];
}
template <collective::combine_with Op, class T>
consteval bool is_reducible() {
  using collective::combine_with;
  if (Op == combine_with::all || Op == combine_with::any) return std::is_same_v<T, bool>;
  if (Op == combine_with::mean_prescaled) return std::is_floating_point_v<compute_t<T>>;
  return std::is_arithmetic_v<compute_t<T>> && !std::is_same_v<T, bool>;
}

template <class X, class... Xs>
consteval bool require_parts() {
  using T = typename X::value_type;
  constexpr bool alike =
      ((std::is_same_v<T, typename Xs::value_type> && X::rank() == Xs::rank()) && ...);
  static_assert(alike,
                "locus: tensors of a collective agree in element type and number of axes; write "
                "cast<T>(t) or reshape(t, ...)");
  constexpr bool few = 1 + sizeof...(Xs) <= std::size_t(max_devices);
  static_assert(few, "locus: a collective takes at most 8 tensors; use more processes for more");
  return alike && few;
}
template <collective::combine_with Op, class T>
consteval bool require_reducible() {
  constexpr bool ok = is_reducible<Op, T>();
  static_assert(ok, "locus: this reduction is not for these elements: all and any take bool, "
                    "mean_prescaled floats, the others numbers; write cast<T>(t)");
  return ok;
}

template <class X>
local_part part_of_tensor(X& t) {
  target const at = t.as_target();
  return {at.where.at(0), at.locals[0].data, at.extents};
}
template <class... Xs>
local_parts parts_of_tensors(Xs&... ts) {
  local_parts p;
  ((p.of[p.count++] = part_of_tensor(ts)), ...);
  return p;
}

}  // namespace detail

namespace internal {

/// means: the collective that combines elements T of `count` parts by Op
template <collective::combine_with Op, class T>
local_operation operation_for(std::string_view name, int count) {
  local_operation o;
  o.name = name, o.element_bytes = sizeof(T), o.type = nccl_type_for<T>();
  o.op = reduction_for(Op), o.fold = &fold_replicas<reduction_for(Op), T>;
  if (Op == collective::combine_with::mean_of_sums) o.scaled = scaling::divide_sum, o.by = count;
  if (Op == collective::combine_with::mean_prescaled)
    o.scaled = scaling::multiply_terms, o.by = 1. / count;
  return o;
}
/// means: copies the rows of parts.of[0], parts.of[1], ... from `whole`, or into `whole` if
///        `gathers`
inline void copy_rows(local_parts const& parts, local_part const& whole, int element_bytes,
                      bool gathers, std::string_view name) {
  char* at = static_cast<char*>(whole.data);
  for (int r = 0; r < parts.count; ++r) {
    local_part const& p = parts.of[r];
    std::int64_t const bytes = p.size() * element_bytes;
    if (gathers)
      copy_local(whole.at, at, p.at, p.data, bytes, name);
    else
      copy_local(p.at, p.data, whole.at, at, bytes, name);
    at += bytes;
  }
}

/// means: each replica of a mirrored value over ranks becomes equal to replica `root` of all ranks
template <class T>
void broadcast_over_ranks(target const& at, int root) {
  constexpr std::string_view name = "broadcast";
  std::int64_t const bytes = at.extents.size() * std::int64_t(sizeof(T));
  int const mine = root - at.where.devices.before();
  bool const is_here = mine >= 0 && mine < at.where.local_count();
  Tensor<T, Dextents<1>, CpuDevice> value{Dextents<1>(at.extents.size())};
  if (is_here)
    copy_local(cpu(0), value.data(), at.where.at(mine), at.locals[mine].data, bytes, name);
  std::int64_t before = 0;  // the rank that has the replica tells its number, the others 0
  auto const from = runtime::over_ranks->tell(name, is_here ? runtime::this_rank.rank : 0, before);
  runtime::over_ranks->share(name, value.data(), bytes, static_cast<int>(from));
  for (int r = 0; r < at.where.local_count(); ++r)
    copy_local(at.where.at(r), at.locals[r].data, cpu(0), value.data(), bytes, name);
}

}  // namespace internal

namespace collective {

/// Tensors of different devices, in the order of the replicas: list(t0, t1, ...), for one call.
template <class Elem, int Rank>
struct tensor_list {
  using value_type = Elem;
  internal::local_parts parts;
};
template <detail::tensor_of_one X, detail::tensor_of_one... Xs>
auto list(X&& t, Xs&&... ts) {
  using First = std::remove_cvref_t<X>;
  tensor_list<typename First::value_type, First::rank()> l;
  if constexpr (detail::require_parts<First, std::remove_cvref_t<Xs>...>())
    l.parts = detail::parts_of_tensors(t, ts...);
  return l;
}

/// means: each tensor becomes the reduction of all of them, element by element
/// shape: all of one shape     device: those of the tensors
/// cost:  one fold where one kernel can read all of them, else NCCL, else through the host
/// fails: at compile time for element types that Op does not take; shape_error, placement_error for
///        two tensors of one device, collective_error
template <combine_with Op, detail::tensor_of_one X, detail::tensor_of_one... Xs>
void all_reduce(X& t, Xs&... ts) {
  using T = typename X::value_type;
  if constexpr (detail::require_parts<X, Xs...>() && detail::require_reducible<Op, T>())
    internal::local_reduction(detail::parts_of_tensors(t, ts...),
                              internal::operation_for<Op, T>("all_reduce", 1 + int(sizeof...(Xs))))
        .all();
}
/// means: out becomes the reduction of t and ts; out may be on any device
template <combine_with Op, detail::tensor_of_one Out, detail::tensor_of_one X,
          detail::tensor_of_one... Xs>
void reduce(Out& out, X const& t, Xs const&... ts) {
  using T = typename X::value_type;
  if constexpr (detail::require_parts<X, Out>() && detail::require_parts<X, Xs...>() &&
                detail::require_reducible<Op, T>())
    internal::local_reduction(detail::parts_of_tensors(t, ts...),
                              internal::operation_for<Op, T>("reduce", 1 + int(sizeof...(Xs))))
        .to_one(detail::part_of_tensor(out));
}
/// means: outs[r] becomes its rows of the reduction of all `terms`; outs[r] is on the device of
///        terms[r]
/// shape: the rows of all outs together are the rows of one term; outs may differ in rows
template <combine_with Op, class Elem, int Rank>
  requires(Rank > 0)
void reduce_scatter(tensor_list<Elem, Rank> const& terms, tensor_list<Elem, Rank> const& outs) {
  if constexpr (detail::require_reducible<Op, Elem>()) {
    constexpr std::string_view name = "reduce_scatter";
    internal::local_reduction r(terms.parts,
                                internal::operation_for<Op, Elem>(name, terms.parts.count));
    internal::require_distinct(outs.parts, name);
    internal::require_rows(outs.parts, terms.parts.of[0].extents, name);
    if (!(outs.parts.devices() == terms.parts.devices()))
      throw placement_error(
          "locus: the results of collective::reduce_scatter lie elsewhere than its terms; give one "
          "on each device of the terms, in their order");
    r.to_rows(outs.parts);
  }
}
/// means: every out becomes the rows of all parts, one after another
template <class Elem, int Rank>
  requires(Rank > 0)
void all_gather(tensor_list<Elem, Rank> const& parts, tensor_list<Elem, Rank> const& outs) {
  constexpr std::string_view name = "all_gather";
  internal::require_distinct(parts.parts, name);
  internal::require_same_extents(outs.parts, name);
  internal::require_rows(parts.parts, outs.parts.of[0].extents, name);
  for (int r = 0; r < outs.parts.count; ++r)
    internal::copy_rows(parts.parts, outs.parts.of[r], sizeof(Elem), true, name);
}
/// means: out becomes the rows of all parts, one after another
template <class Elem, int Rank, detail::tensor_of_one Out>
  requires(Rank > 0)
void gather(tensor_list<Elem, Rank> const& parts, Out& out) {
  all_gather(parts, list(out));
}
/// means: parts[r] becomes its rows of `whole`
template <detail::tensor_of_one Whole, class Elem, int Rank>
  requires(Rank > 0 && Whole::rank() == Rank && std::is_same_v<typename Whole::value_type, Elem>)
void scatter(Whole const& whole, tensor_list<Elem, Rank> const& parts) {
  constexpr std::string_view name = "scatter";
  auto const from = list(whole);
  internal::require_distinct(parts.parts, name);
  internal::require_rows(parts.parts, from.parts.of[0].extents, name);
  internal::copy_rows(parts.parts, from.parts.of[0], sizeof(Elem), false, name);
}
/// means: each tensor of ts becomes equal to `from`
template <detail::tensor_of_one X, detail::tensor_of_one... Xs>
void broadcast(X const& from, Xs&... ts) {
  constexpr std::string_view name = "broadcast";
  if constexpr (detail::require_parts<X, Xs...>()) {
    internal::local_parts const p = detail::parts_of_tensors(from, ts...);
    internal::require_same_extents(p, name);
    for (int r = 1; r < p.count; ++r)
      internal::copy_local(p.of[r].at, p.of[r].data, p.of[0].at, p.of[0].data,
                           p.of[0].size() * std::int64_t(sizeof(typename X::value_type)), name);
  }
}
/// means: every replica of a mirrored tensor becomes equal to replica `root`, after a program wrote
///        to that replica by hand. Over ranks `root` counts the replicas of all ranks, which all call it
template <class T, class E, device_policy Where>
  requires(Where::value.is_mirrored())
void broadcast(Tensor<T, E, Where>& t, int root) {
  target const at = t.as_target();
  if (root < 0 || root >= at.where.global_count()) {
    message text;
    throw placement_error(text << "locus: there is no replica " << root << " among "
                               << at.where.global_count() << "; count them from 0");
  }
  if (runtime::lies_on_ranks(at.where.devices)) return internal::broadcast_over_ranks<T>(at, root);
  for (int r = 0; r < at.where.local_count(); ++r)
    internal::copy_local(at.where.at(r), at.locals[r].data, at.where.at(root), at.locals[root].data,
                         at.extents.size() * std::int64_t(sizeof(T)), "broadcast");
}

}  // namespace collective

}  // namespace locus

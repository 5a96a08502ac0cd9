// SPDX-License-Identifier: Apache-2.0
// Device policies: types that name a place. Each has one place as its `value`; a new policy is a
// new type here.
#pragma once
#include <type_traits>  // is_same
#include <utility>      // index_sequence

#include <locus/core/dyn.hpp>       // dyn
#include <locus/core/forward.hpp>   // CpuDevice
#include <locus/core/macros.hpp>    // always_false
#include <locus/device/device.hpp>  // device, place

namespace locus {

template <class Policy>
concept device_policy = std::is_same_v<decltype(Policy::value), place const>;
template <class Policy>
concept single_device = device_policy<Policy> && Policy::value.is_single();
template <class Policy>
concept replicas = device_policy<Policy> && Policy::value.is_distributed();
/// its devices are known when the program runs
template <class Policy>
concept open_policy = device_policy<Policy> && Policy::value.is_open();
template <class Policy>
concept open_device = open_policy<Policy> && single_device<Policy>;

/// means: logical CPU N of this process
template <int N>
struct Cpu {
  static_assert(N >= 0 && N <= max_ordinal, "locus: a CPU ordinal is 0 to 99; write Cpu<0>");
  static constexpr place value = single(cpu(N));
};
/// the ordinal is in the object
template <>
struct Cpu<dyn> {
  static constexpr place value = single(open_cpu);
};

/// means: logical GPU N, whether this machine has it or not
/// fails: never at compile time; where the GPU is missing at run time, its steps run on other
///        devices
template <int N>
struct GpuDevice {
  static_assert(N >= 0 && N <= max_ordinal, "locus: a GPU ordinal is 0 to 99; write GpuDevice<0>");
  static constexpr place value = single(gpu(N));
};

/// means: the logical GPU whose ordinal is in the object: in a Tensor, a view or an on<>. All such
///        objects of one expression must have one ordinal; binding checks it.
/// cost:  one plan and one kernel for all ordinals
template <>
struct GpuDevice<dyn> {
  static constexpr place value = single(open_gpu);
};

namespace detail {
constexpr place place_of_all_gpus() {
  place p;
  for (int k = 0; k < max_devices; ++k) p.devices.push(visible_gpu(k));
  return p.mirrored();
}
}  // namespace detail

/// means: a device list: the visible GPUs (the first 8), or one CPU where there is no GPU
/// cost:  one plan and one kernel for all numbers of GPUs
/// after: TensorFlow's MirroredStrategy() without arguments
struct AllGpus {
  static constexpr place value = detail::place_of_all_gpus();
};

template <class... Devices>
struct Ranks;

namespace detail {
template <class Item>
inline constexpr bool is_ranks = false;
template <class... Devices>
inline constexpr bool is_ranks<Ranks<Devices...>> = true;
/// means: an item that is a list by itself
template <class Item>
inline constexpr bool is_list = std::is_same_v<Item, AllGpus> || is_ranks<Item>;
}  // namespace detail

/// means: first in a device list: values are cut over the list into pieces that differ by at most
///        one row, the longer ones first. Without it each piece has ceil(n/R) rows while rows are
///        left. Mirrored<Balanced, GpuDevice<0>, GpuDevice<1>> trains on balanced pieces. The lists
///        with and without Balanced differ: their values cannot be operands of one expression.
/// after: the V2 rule of TensorFlow's distributed datasets; the other rule is that of batches in
///        memory
struct Balanced {};

inline constexpr int max_halo = 8;  // units: rows

/// means: last in Sharded<0, ...>: a tensor keeps beside each piece the Width rows before the piece
///        and the Width rows behind it, which lie in other pieces. A plan that reads these rows
///        brings them first, once until the tensor is written. Outside: the rows in front of the
///        first piece and behind the last one, for shift
/// device: pieces along axis 0
/// cost:  2 Width rows of memory on each device; an exchange copies the rows that a plan reads
/// fails: at compile time, for a Width outside 1 ... 8, along another axis, not last, in Mirrored
/// after: the ghost points of PETSc's DMDA, whose width is that of the stencil
template <int Width, beyond Outside = beyond::nothing>
struct Halo {
  static_assert(Width >= 1 && Width <= max_halo,
                "locus: a Halo is 1 to 8 rows wide; write Halo<1>");
  static constexpr halo rows{Width, Outside};
};

namespace detail {
template <class Item>
inline constexpr bool is_halo = false;
template <int Width, beyond Outside>
inline constexpr bool is_halo<Halo<Width, Outside>> = true;

/// means: the Halo that stands last in the list of a Sharded
template <class... Items>
consteval halo halo_of() {
  constexpr int halos = (int(is_halo<Items>) + ... + 0);
  constexpr bool stands[] = {is_halo<Items>..., false};
  static_assert(halos == 0 || (halos == 1 && stands[sizeof...(Items) - 1]),
                "locus: a Halo stands last in the list; write Sharded<0, GpuDevice<0>, "
                "GpuDevice<1>, Halo<1>>");
  halo found{};
  auto const look = [&]<class Item>(std::type_identity<Item>) {
    if constexpr (is_halo<Item>) found = Item::rows;
  };
  (look(std::type_identity<Items>{}), ...);
  return found;
}

template <class... Items>
consteval place place_of_devices() {
  constexpr std::size_t devices = (std::size_t(!is_halo<Items>) + ... + 0);
  static_assert(!(std::is_same_v<Items, AllGpus> || ...) || devices == 1,
                "locus: AllGpus stands alone in a device list; write Mirrored<AllGpus>");
  static_assert(!(is_ranks<Items> || ...) || devices == 1,
                "locus: Ranks stands alone in a device list; write Mirrored<Ranks<AllGpus>>");
  static_assert(devices >= 1, "locus: a device list is empty; write Mirrored<GpuDevice<0>>");
  static_assert(devices <= std::size_t(max_devices),
                "locus: a device list holds at most 8 devices; use more processes for more");
  static_assert(
      ((single_device<Items> || is_list<Items> || is_halo<Items>) && ...),
      "locus: a device list names single devices; write Mirrored<GpuDevice<0>, GpuDevice<1>>");
  static_assert(
      !(open_device<Items> || ...),
      "locus: the devices of a list are known when it is compiled; write Mirrored<AllGpus>, "
      "or use GpuDevice<dyn> by itself");
  place p;
  bool distinct = true;
  auto const add = [&]<class Item>(std::type_identity<Item>) {
    if constexpr (is_list<Item>) {
      p.devices = Item::value.devices;
    } else if constexpr (!is_halo<Item>) {
      distinct = distinct && !p.devices.contains(Item::value.at(0));
      p.devices.push(Item::value.at(0));
    }
  };
  (add(std::type_identity<Items>{}), ...);
  if (!distinct) return {};
  return p;
}
template <class... Devices>
struct devices_of_list {
  static constexpr place value = place_of_devices<Devices...>();
};
template <class... Devices>
struct devices_of_list<Balanced, Devices...> {
  static constexpr place value = {place_of_devices<Devices...>().devices.balanced()};
};
template <class... Devices>
consteval place list_place() {
  return devices_of_list<Devices...>::value;
}
}  // namespace detail

/// means: a device list over the ranks, that is the processes, of a program: each rank has these
///        devices; Ranks<AllGpus>: its visible GPUs, or one CPU. Replicas are numbered from rank 0
///        on. A program that no rank carrier has joined to others is one rank
/// device: stands alone in the list: Mirrored<Ranks<AllGpus>>, Sharded<0, Ranks<CpuDevice>>
/// cost:  plans are those of one rank, and constant; one plan for all numbers of ranks
/// fails: at compile time, beside other devices
/// after: the SPMD model of MPI programs; TensorFlow's MultiWorkerMirroredStrategy
template <class... Devices>
struct Ranks {
  static_assert(!(detail::is_ranks<Devices> || ...),
                "locus: Ranks holds the devices of one rank; write Ranks<AllGpus>");
  static constexpr place value =
      place{detail::place_of_devices<Devices...>().devices.over_ranks()}.mirrored();
};

/// means: an equal copy of the value on each device; replica r is on the r-th device
template <class... Devices>
struct Mirrored {
  static_assert(!(detail::is_halo<Devices> || ...),
                "locus: a Halo keeps rows beside pieces; write it last in Sharded<0, ...>");
  static_assert(!detail::list_place<Devices...>().is_nowhere(),
                "locus: a device stands twice in a device list; name each device once");
  static constexpr place value = detail::list_place<Devices...>().mirrored();
};

/// means: the k-th device has rows [k p, min(n, (k+1) p)) of the axis, p = ceil(n/R); or a balanced
///        piece (Balanced); with rows of its neighbours beside them (Halo)
/// shape: the extents of a Tensor are those of the whole value
template <int Axis, class... Devices>
struct Sharded {
  static_assert(Axis >= 0 && Axis < 6,
                "locus: the axis of Sharded is 0 to 5; write Sharded<0, ...>");
  static constexpr place value =
      detail::list_place<Devices...>().sharded(Axis).with(detail::halo_of<Devices...>());
  static_assert(!value.is_nowhere(),
                "locus: a device stands twice in a device list; name each device once");
  static_assert(value.margin.width == 0 || Axis == 0,
                "locus: a Halo keeps rows beside pieces that are cut along axis 0; cut axis 0, or "
                "transpose the data");
};

namespace internal {

/// means: the policy type that users write, of the code of a place
// The place comes as the static member
// `value` of a type: g++ 12 crashes where a class-type template parameter is used inside another
// template argument.
template <int Code>
consteval auto policy_of_code() {
  constexpr device d = device::from_code(Code);
  if constexpr (d.is_open() && d.is_gpu())
    return std::type_identity<std::conditional_t<d == open_gpu, GpuDevice<dyn>, AllGpus>>{};
  else if constexpr (d.is_open())
    return std::type_identity<Cpu<dyn>>{};
  else if constexpr (d.is_gpu())
    return std::type_identity<GpuDevice<d.ordinal()>>{};
  else
    return std::type_identity<Cpu<d.is_none() ? 0 : d.ordinal()>>{};
}

}  // namespace internal

namespace detail {

template <class Has, std::size_t Idx>
using device_at = typename decltype(policy_of_code<Has::value.at(int(Idx)).code()>())::type;

template <class Has, class... Devices>
consteval auto policy_over() {
  constexpr place p = Has::value;
  if constexpr (p.is_mirrored())
    return std::type_identity<Mirrored<Devices...>>{};
  else if constexpr (p.is_sharded())
    return std::type_identity<Sharded<int(p.axis), Devices...>>{};
}
template <class Has, class... Devices>
consteval auto policy_in_order() {
  if constexpr (Has::value.devices.is_balanced())
    return policy_over<Has, Balanced, Devices...>();
  else
    return policy_over<Has, Devices...>();
}
template <class Has, std::size_t... Idx>
consteval auto policy_of_place(std::index_sequence<Idx...>) {
  constexpr place p = Has::value;
  if constexpr (p.is_single())
    return std::type_identity<device_at<Has, 0>>{};
  else if constexpr (!p.is_partial() && p.devices.is_over_ranks())
    return policy_in_order<Has, Ranks<device_at<Has, Idx>...>>();
  else if constexpr (!p.is_partial())
    return policy_in_order<Has, device_at<Has, Idx>...>();
  else
    static_assert(always_false<Has>, "locus: a distribution has no policy; name it here");
}

}  // namespace detail

/// means: the policy type whose place is Has::value
template <class Has>
using policy_of_t = typename decltype(detail::policy_of_place<Has>(
    std::make_index_sequence<std::size_t(
        Has::value.devices.is_all_gpus() ? 1 : Has::value.local_count())>{}))::type;

}  // namespace locus

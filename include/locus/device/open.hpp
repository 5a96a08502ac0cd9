// SPDX-License-Identifier: Apache-2.0
// Open devices: the devices that replace a plan's placeholders in one run.
#pragma once
#include <locus/core/error.hpp>     // unknown_device, placement_error
#include <locus/device/name.hpp>    // message << device
#include <locus/device/policy.hpp>  // open_device

namespace locus {

/// The ranks of a program, and the replicas that Ranks<AllGpus> has on them.
struct rank_numbers {
  int rank = 0, ranks = 1;
  int gpus_before = 0,
      all_gpus = 0;  // replicas on the ranks before this one, and on all; 0: one rank

  /// means: a list over ranks with its numbers: `here` are the devices of this rank. Each rank has
  ///        as many devices of a list as the type names; of AllGpus, its own number
  constexpr device_list number(device_list const& here, bool is_all_gpus) const {
    if (is_all_gpus && ranks > 1) return here.among(gpus_before, all_gpus, true);
    return here.among(rank * here.size(), ranks * here.size());
  }
  /// means: a list over ranks has these numbers, not those of a world before or after
  constexpr bool has(device_list const& all) const {
    return !all.is_over_ranks() || all.is_open() ||
           number(all.here(), all.has_own_count()) == all.balanced(false);
  }
};

[[noreturn, gnu::cold]] inline void refuse_other_world() {
  throw placement_error(
      "locus: a tensor over ranks is used in another world than the one in which it was made, or "
      "without a world; make tensors over ranks inside of their world, and let them end before it");
}

/// The devices that replace the open devices of one plan in one run; none: not known yet.
struct open_devices {
  device gpu{}, cpu{};
  device_list all_gpus{};
  rank_numbers ranks{};

  constexpr device of(device d) const { return d == open_gpu ? gpu : d == open_cpu ? cpu : d; }
  constexpr place of(place const& p) const {
    if (!p.is_open()) return p;
    bool const all = p.devices.is_all_gpus(), over_ranks = p.devices.is_over_ranks();
    place here = all ? p.over(all_gpus) : over_ranks ? p : p.over(device_list(of(p.at(0))));
    if (over_ranks) here.devices = ranks.number(here.devices, all);
    return here;
  }
  /// means: replaces `open` by `actual`     false: `open` was replaced by another device before
  constexpr bool bind(device_list const& open, device_list const& actual) {
    bool const all = open.is_all_gpus();
    if (all && all_gpus.size() == 0) all_gpus = actual.here();
    if (open.is_over_ranks()) {
      device_list const here = all ? all_gpus : open.here();
      return ranks.number(here, all) == actual.balanced(false);
    }
    if (all) return all_gpus == actual.here();  // each place says if it is balanced
    device& d = open[0] == open_gpu ? gpu : cpu;
    if (d.is_none()) d = actual[0];
    return d == actual[0];
  }
};

/// means: a policy whose ordinal is known at run time, together with its device
/// fails: unknown_device for an ordinal out of range; placement_error for a device of the other
///        kind
template <open_device Policy>
class bound_device {
 public:
  using policy = Policy;
  constexpr bound_device(int ordinal) : bound_device(numbered(ordinal)) {}
  constexpr bound_device(device d) : value_(d) {
    if (d.is_none() || d.is_open() || d.kind() != Policy::value.at(0).kind()) refuse(d);
  }
  constexpr device value() const { return value_; }
  constexpr operator device() const { return value_; }

 private:
  static constexpr device numbered(int ordinal) {
    if (ordinal < 0 || ordinal > max_ordinal) {
      message text;
      throw unknown_device(text << "locus: " << Policy::value << " with the ordinal " << ordinal
                                << "; an ordinal is 0 to 99");
    }
    return {Policy::value.at(0).kind(), ordinal};
  }
  [[noreturn]] static void refuse(device d) {
    message text;
    throw placement_error(text << "locus: " << Policy::value << " does not stand for " << d
                               << "; name a device of its kind, as in "
                               << device(Policy::value.at(0).kind(), 0));
  }
  device value_;
};

/// The device that an object of an open policy stores; empty for other policies.
template <class Policy>
struct own_device {};
template <open_device Policy>
struct own_device<Policy> {
  device value{};
};

}  // namespace locus

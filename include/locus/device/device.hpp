// SPDX-License-Identifier: Apache-2.0
// Devices and places as values of a few bytes, for the passes of a plan.
#pragma once
#include <cstdint>  // uint64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

enum class device_kind : unsigned char { none, cpu, gpu };

inline constexpr int max_devices = 8;   // in one device list; for more, start more processes
inline constexpr int max_ordinal = 99;  // of /CPU:n and /GPU:n

/// means: one logical device, /CPU:n or /GPU:n; or none (a value that needs no memory); or an open
///        device, a placeholder in a plan for a device that is known when the program runs
class device {
 public:
  constexpr device() = default;
  constexpr device(device_kind kind, int ordinal)
      : code_(static_cast<unsigned char>(kind == device_kind::none  ? 0
                                         : kind == device_kind::gpu ? first_gpu + ordinal
                                                                    : first_cpu + ordinal)) {}
  static constexpr device from_code(int code) {
    device d;
    d.code_ = static_cast<unsigned char>(code);
    return d;
  }
  constexpr int code() const { return code_; }
  constexpr device_kind kind() const {
    return code_ == 0 ? device_kind::none : code_ < first_cpu ? device_kind::gpu : device_kind::cpu;
  }
  constexpr int ordinal() const {
    return code_ < first_cpu ? code_ - first_gpu : code_ - first_cpu;
  }
  constexpr bool is_gpu() const { return kind() == device_kind::gpu; }
  constexpr bool is_cpu() const { return kind() == device_kind::cpu; }
  constexpr bool is_none() const { return code_ == 0; }
  constexpr bool is_open() const { return code_ != 0 && ordinal() > max_ordinal; }
  friend constexpr bool operator==(device, device) = default;

 private:
  static constexpr int first_gpu = 1, first_cpu = 128;
  unsigned char code_ = 0;
};

constexpr device cpu(int ordinal) { return {device_kind::cpu, ordinal}; }
constexpr device gpu(int ordinal) { return {device_kind::gpu, ordinal}; }

/// The open devices. open_gpu and open_cpu stand for GpuDevice<dyn> and Cpu<dyn>, whose ordinal is
/// in the object; visible_gpu(k) stands for the k-th visible GPU of AllGpus.
inline constexpr device open_gpu{device_kind::gpu, 126}, open_cpu{device_kind::cpu, 127};
constexpr device visible_gpu(int k) { return {device_kind::gpu, max_ordinal + 1 + k}; }

/// means: up to eight devices in order, one byte each, so that one comparison compares two lists. A
///        list over ranks has devices of each rank (process): those of this rank are in the list;
///        a run fills in how many all ranks have
class device_list {
 public:
  constexpr device_list() = default;
  constexpr explicit device_list(device d) { push(d); }
  constexpr void push(device d) {
    codes_ |= static_cast<std::uint64_t>(d.code()) << (8 * size_);
    ++size_;
  }
  constexpr int size() const { return size_; }
  constexpr device operator[](int i) const {
    return device::from_code(static_cast<int>(codes_ >> (8 * i) & 0xff));
  }
  constexpr int find(device d) const {
    int i = 0;
    while (i < size_ && !((*this)[i] == d)) ++i;
    return i;  // size() where d is absent
  }
  constexpr bool contains(device d) const { return find(d) < size_; }
  /// an open list is AllGpus, one open device, or a list over ranks before a run fills it in
  constexpr bool is_open() const {
    return size_ > 0 && ((*this)[0].is_open() || (over_ranks_ && total_ == 0));
  }
  constexpr bool is_all_gpus() const { return size_ > 0 && (*this)[0] == visible_gpu(0); }
  /// how a value is cut over the list: into balanced pieces, or ceil(n / R) rows each while rows
  /// are left
  constexpr bool is_balanced() const { return balanced_; }
  constexpr device_list balanced(bool on = true) const {
    device_list all = *this;
    all.balanced_ = on;
    return all;
  }
  /// means: the devices of this rank alone, in order
  constexpr device_list here() const {
    device_list all;
    all.codes_ = codes_, all.size_ = size_;
    return all;
  }
  /// the list has devices of each rank
  constexpr bool is_over_ranks() const { return over_ranks_; }
  constexpr device_list over_ranks() const {
    device_list all = *this;
    all.over_ranks_ = true;
    return all;
  }
  /// means: the same list over ranks, with `before` devices on the ranks before this one and `total`
  ///        devices on all; own_count: each rank has its own number of devices, as of AllGpus
  constexpr device_list among(int before, int total, bool own_count = false) const {
    device_list all = over_ranks();
    all.own_count_ = own_count;
    all.before_ = static_cast<std::uint16_t>(before);
    all.total_ = static_cast<std::uint16_t>(total);
    return all;
  }
  constexpr bool has_own_count() const { return own_count_; }
  /// units: devices on the ranks before this one
  constexpr int before() const { return before_; }
  /// units: devices of all ranks; before a run fills it in those of this rank
  constexpr int total() const { return total_ == 0 ? size_ : total_; }
  friend constexpr bool operator==(device_list const&, device_list const&) = default;

 private:
  std::uint64_t codes_ = 0;
  unsigned char size_ = 0;
  bool balanced_ = false, over_ranks_ = false, own_count_ = false;
  std::uint16_t before_ = 0, total_ = 0;  // over ranks, in a run
};

constexpr bool has_gpu(device_list const& all) {
  for (int i = 0; i < all.size(); ++i)
    if (all[i].is_gpu()) return true;
  return false;
}

/// How a value lies over its devices: one copy; an equal copy on each; a piece on each; on each a
/// term, and the reduction of the terms is the value.
enum class distribution : unsigned char { single, mirrored, sharded, partial };

/// The operation of a reduction. first_max combines pairs (value, index): the largest value, of
/// equal ones the lowest index.
enum class reduction : unsigned char { none, sum, max, min, any, all, first_max, product };

/// The rows beyond the ends of the cut axis of a tensor: none that may be read; the rows of the
/// other end, as on a ring; the row at the end, again; zeros.
enum class beyond : unsigned char { nothing, wrap, keep, zero };
/// Rows of its neighbours that a tensor keeps beside each of its pieces.
struct halo {
  unsigned char width = 0;
  beyond outside = beyond::nothing;
  friend constexpr bool operator==(halo, halo) = default;
};

/// means: the devices of a value and its distribution over them. A window is a part of a value in
///        pieces, cut where the whole value is cut: row i of the window lies where row i + lead of
///        the value lies, and the value has lead + trail rows more
struct place {
  device_list devices;
  distribution how = distribution::single;
  reduction op = reduction::none;   // of a partial value
  signed char axis = -1;            // of a sharded value
  signed char lead = 0, trail = 0;  // of a window
  halo margin{};                    // of a tensor, never of a value in a plan

  /// the replicas of this rank (process), and those of all ranks. Replicas are numbered from the
  /// first of this rank on: those of ranks before have numbers below 0
  constexpr int local_count() const { return devices.size(); }
  constexpr int global_count() const { return devices.total(); }
  constexpr device at(int replica) const { return devices[replica]; }
  /// means: replica k is on this rank
  constexpr bool has_piece(int k) const { return k >= 0 && k < local_count(); }
  constexpr bool is_single() const { return how == distribution::single; }
  constexpr bool is_distributed() const { return how != distribution::single; }
  constexpr bool is_mirrored() const { return how == distribution::mirrored; }
  constexpr bool is_sharded() const { return how == distribution::sharded; }
  constexpr bool is_partial() const { return how == distribution::partial; }
  constexpr bool is_window() const { return lead != 0 || trail != 0; }
  /// units: rows that the whole value has more than the window
  constexpr int span() const { return lead + trail; }
  constexpr bool is_nowhere() const { return devices.size() == 0; }
  constexpr bool is_open() const { return devices.is_open(); }

  constexpr place mirrored() const { return {devices, distribution::mirrored}; }
  constexpr place sharded(int along) const {
    return {devices, distribution::sharded, reduction::none, static_cast<signed char>(along)};
  }
  /// means: the same cut along another axis, as a view gives it
  constexpr place along(int other) const {
    place p = *this;
    p.axis = static_cast<signed char>(other);
    return p;
  }
  /// means: the window that leaves out `before` rows in front and `behind` rows at the end
  constexpr place window(int before, int behind) const {
    place p = *this;
    p.lead = static_cast<signed char>(before), p.trail = static_cast<signed char>(behind);
    return p;
  }
  /// means: the same with those margins, as of a tensor; values of a plan have none
  constexpr place with(halo beside) const {
    place p = *this;
    p.margin = beside;
    return p;
  }
  constexpr place without_margin() const { return with({}); }
  constexpr place partial(reduction with) const { return {devices, distribution::partial, with}; }
  constexpr place over(device_list const& others) const {
    place p = *this;
    p.devices = others.balanced(devices.is_balanced());
    return p;
  }
  /// means: the first row, and the number of rows, of piece k of n rows that are cut over these
  ///        devices
  constexpr std::int64_t piece_begin(std::int64_t n, int k) const;
  constexpr std::int64_t piece_size(std::int64_t n, int k) const {
    return piece_begin(n, k + 1) - piece_begin(n, k);
  }
  /// means: the row of piece k of `whole`, which has n rows, at which piece k of this window of it
  ///        begins; also outside of the piece, in a margin
  constexpr std::int64_t begin_in(place const& whole, std::int64_t n, int k) const {
    return piece_begin(n + whole.span() - span(), k) + lead - whole.lead - whole.piece_begin(n, k);
  }
  friend constexpr bool operator==(place const&, place const&) = default;
};

constexpr place single(device d) { return {device_list(d)}; }

/// means: the first row, and the number of rows, of piece k of n rows over R replicas: TensorFlow's
///        cut, ceil(n / R) rows each while rows are left
/// after: tensorflow/core/kernels/data/experimental/rebatch_dataset_op.cc
constexpr std::int64_t piece_begin(std::int64_t n, int replicas, int k) {
  std::int64_t const begin = (n + replicas - 1) / replicas * k;
  return begin < n ? begin : n;
}
constexpr std::int64_t piece_size(std::int64_t n, int replicas, int k) {
  return piece_begin(n, replicas, k + 1) - piece_begin(n, replicas, k);
}
/// means: the same for the balanced cut: the first n mod R pieces have one row more than the others
/// after: tensorflow/python/data/experimental/ops/distribute.py, batch_sizes_for_worker
constexpr std::int64_t balanced_begin(std::int64_t n, int replicas, int k) {
  std::int64_t const longer = n % replicas;
  return n / replicas * k + (k < longer ? k : longer);
}
constexpr std::int64_t place::piece_begin(std::int64_t n, int k) const {
  int const total = global_count(), piece = devices.before() + k;
  if (is_window() && (piece == 0 || piece == total)) return piece == 0 ? 0 : n;
  std::int64_t const all = n + span();
  std::int64_t const begin = (devices.is_balanced() ? balanced_begin(all, total, piece)
                                                    : locus::piece_begin(all, total, piece)) -
                             lead;
  return begin < 0 ? 0 : begin > n ? n : begin;
}

}  // namespace locus

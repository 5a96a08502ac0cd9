// SPDX-License-Identifier: Apache-2.0
// Collectives outside plans, over blocks that the caller gives, one on each device. The compute
// queue of each device orders them with other work on the blocks; blocks on the host are up to date
// at return.
#pragma once

#include <locus/collective/reduce.hpp>  // replica_reducer
#include <locus/core/macros.hpp>        // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/memory/allocate.hpp>    // release
#include <locus/shape/shape.hpp>        // shape

LOCUS_COLD_BEGIN

namespace locus::internal {

/// means: the part of a collective on one device, dense elements
struct local_part {
  device at{};
  void* data = nullptr;
  shape extents{};
  std::int64_t size() const { return extents.size(); }
};
/// means: the parts of one collective, one on each device of a list
struct local_parts {
  local_part of[max_devices]{};
  int count = 0;
  device_list over{};  // a list over ranks, to which the devices of the parts belong; empty: none
  device_list devices() const;
  bool lie_on_ranks() const { return runtime::lies_on_ranks(over); }
  /// units: parts of all ranks
  int count_of_all() const { return lie_on_ranks() ? over.total() : count; }
};

/// means: the operation of a collective on the elements
struct local_operation {
  std::string_view name;
  int element_bytes = 0;
  runtime::nccl_type type = runtime::nccl_type::none;
  reduction op = reduction::sum;
  scaling scaled = scaling::none;
  double by = 1;
  fold_fn fold = nullptr;
};

}  // namespace locus::internal

namespace locus::detail {

/// Memory of one collective, released in the order of its device's compute queue.
class local_scratch {
 public:
  local_scratch() = default;
  local_scratch(local_scratch const&) = delete;
  ~local_scratch() {
    for (block const& b : blocks_) runtime::release(*b.on, b.at, b.bytes, purpose);
  }
  void* take(logical_device& d, std::int64_t bytes);

 private:
  static constexpr std::string_view purpose = "a collective";
  struct block {
    logical_device* on = nullptr;
    void* at = nullptr;
    std::int64_t bytes = 0;
  };
  dynamic_array<block> blocks_;
};

/// means: the address where a collective writes: the compute queue waits for collectives of plans
///        that still use it, and copies that devices keep of the memory are dropped
/// cost:  two tests
LOCUS_FUNCTION void* receive_at(device at, void* first, std::int64_t bytes);

}  // namespace locus::detail

namespace locus::internal {

/// means: copies bytes from one device to another, in the order of the compute queues of both
LOCUS_FUNCTION void copy_local(device to_name, void* to, device from_name, void const* from,
                               std::int64_t bytes, std::string_view name);

/// fails: shape_error: part r has other extents than the first; the text ends with the remedy
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_parts(std::string_view name, int r,
                                                         shape const& one, shape const& other,
                                                         std::string_view remedy);
/// fails: placement_error, if two parts lie on one device
LOCUS_FUNCTION void require_distinct(local_parts const& p, std::string_view name);
/// fails: shape_error, if two parts differ in their extents
LOCUS_FUNCTION void require_same_extents(local_parts const& p, std::string_view name);
/// fails: shape_error, if the rows of all parts together are not the rows of `whole`
LOCUS_FUNCTION void require_rows(local_parts const& parts, shape const& whole,
                                 std::string_view name);

/// means: a reduction of parts, with its scratch memory
class local_reduction {
 public:
  local_reduction(local_parts const& parts, local_operation const& o);
  /// each term becomes the result
  void all();
  void to_one(local_part const& out);
  /// out r gets the rows of the result that belong to replica r
  void to_rows(local_parts const& outs);

 private:
  [[gnu::cold]] void log() const;
  local_parts parts_;
  device_list devices_;
  replica_topology topology_;
  replica_reducer by_;
  local_operation operation_;
  reduction_job job_;
  local_scratch scratch_;
};

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/local.hpp>  // bodies of the functions above
#endif

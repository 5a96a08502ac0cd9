// SPDX-License-Identifier: Apache-2.0
// A step on a GPU in a unit that made no kernel for it: the kernel of another unit, or else the host
// with the operands brought there and back.
#pragma once
#include <locus/backend/cuda/streams.hpp>       // cuda_queue_of
#include <locus/core/array.hpp>                 // dynamic_array
#include <locus/core/macros.hpp>                // LOCUS_UNIT_FILE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>                // message << device
#include <locus/machine/machine_functions.hpp>  // erased_work, missing_kernel
#include <locus/runtime/kernel_registry.hpp>    // is_local_to_unit, kernel_entry

LOCUS_COLD_BEGIN

namespace locus {

namespace cuda_side {

/// means: another unit's kernel for the same work, or null
LOCUS_FUNCTION runtime::kernel_entry const* find_kernel(missing_kernel& m);

namespace detail {
template <class Text>
Text& write_remedy(Text& text, missing_kernel const& m) {
  char const* const missing = "no unit of this program made ";
  char const* const door = "; LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes "
                           "<locus/cub.cuh> makes what locus has";
  if (m.algorithm && *m.algorithm) return text << missing << m.algorithm << door;
  text << "no unit of this program made a GPU kernel for it; ";
  if (runtime::is_local_to_unit(m.of.name))
    return text
           << "its functor lies in an unnamed namespace, which other units cannot name: compile "
           << m.unit << " with nvcc and <locus/cuda.cuh>, or give the functor a name";
  if (m.of.name.empty())
    return text << "compile " << m.unit << " without -fno-rtti, or with nvcc and <locus/cuda.cuh>";
  text << "compile " << m.unit
       << " with nvcc and <locus/cuda.cuh>, or write LOCUS_INSTANTIATE(expression type) in a "
          ".cu";
  if (m.algorithm) text << door;
  return text;
}
}  // namespace detail

/// fails: no_kernel_in_unit, when two units of the program see the type of work differently
[[gnu::cold]] LOCUS_FUNCTION void require_same_layout(launch_site const& site,
                                                      missing_kernel const& m);

/// means: said once, counted each time
/// fails: no_kernel_in_unit without soft placement
[[gnu::cold]] LOCUS_FUNCTION void announce_round_trip(launch_site const& site, missing_kernel& m);

/// means: the operands of a step in host memory, in the order of the device's queues
/// cost:  waits for the device; copies what is read and written to the host, what is written back
class host_operands {
 public:
  explicit host_operands(launch_site const& site);
  host_operands(host_operands const&) = delete;
  ~host_operands();
  /// where the host finds what the device has at p
  void* operator()(void* p) const;
  void bring_back();

 private:
  struct range {
    char* there = nullptr;
    std::size_t bytes = 0;
    bool writes = false;
    void* here = nullptr;
  };
  /// from here on the destructor runs whatever is thrown
  explicit host_operands(launch_site const* site) : site_(*site) {}

  /// operands that overlap are one range: a step may read where it writes
  void add(touched const& t);
  void move(void* to, void const* from, std::size_t bytes);
  void wait(queue_kind kind);
  void* stream(queue_kind kind) { return runtime::cuda_queue_of(*site_.on, kind).stream; }

  launch_site const& site_;
  dynamic_array<range> ranges_;
  bool in_flight_ = false;
};

/// means: work that its unit has no kernel for, on a GPU
/// cost:  another unit's kernel: a few loads more than a launch of one's own
/// fails: no_kernel_in_unit, without soft placement, or where units see the functor differently
LOCUS_FUNCTION void run_elsewhere(launch_site const& site, erased_work const& work);

}  // namespace cuda_side
}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/missing_kernel.hpp>  // bodies of the functions above
#endif

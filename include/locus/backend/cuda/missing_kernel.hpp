// SPDX-License-Identifier: Apache-2.0
// A GPU step whose unit compiled no kernel for it: runs the kernel of another unit, or else runs on
// the host with copied operands, a round trip.
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

/// means: the kernel that another unit compiled for the same work; null: none did
LOCUS_FUNCTION runtime::kernel_entry const* find_kernel(missing_kernel& m);

template <class Text>
Text& write_remedy(Text& text, missing_kernel const& m) {
  char const* const missing = "no unit of this program made ";
  char const* const door = "; LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes "
                           "<locus/cub.cuh> makes what locus has, and <locus/training_cub.cuh> "
                           "what layers use";
  if (m.library) return text << m.library;
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

/// fails: no_kernel_in_unit, if the two units see different sizes of the work's type
[[gnu::cold]] LOCUS_FUNCTION void require_same_layout(launch_site const& site,
                                                      missing_kernel const& m);

/// means: counts a round trip, and logs the first one of a statement or every one
/// fails: no_kernel_in_unit under hard placement
[[gnu::cold]] LOCUS_FUNCTION void announce_round_trip(launch_site const& site, missing_kernel& m);

/// means: copies of a GPU step's operands in host memory; bring_back() writes results to the GPU
/// cost:  waits for the device; copies every operand to the host, and written ones back
class host_operands {
 public:
  explicit host_operands(launch_site const& site);
  host_operands(host_operands const&) = delete;
  ~host_operands();
  /// means: the host address of the copy of device address p
  void* operator()(void* p) const;
  void bring_back();

 private:
  struct range {
    char* there = nullptr;
    std::size_t bytes = 0;
    bool writes = false;
    void* here = nullptr;
  };
  /// delegated to, so that the destructor also runs if the constructor throws
  explicit host_operands(launch_site const* site) : site_(*site) {}

  /// overlapping operands share one range: a step may read the memory that it writes
  void add(touched const& t);
  void move(void* to, void const* from, std::size_t bytes);
  void wait(queue_kind kind);
  void* stream(queue_kind kind) { return runtime::cuda_queue_of(*site_.on, kind).stream; }

  launch_site const& site_;
  dynamic_array<range> ranges_;
  bool in_flight_ = false;
};

/// means: runs work on a GPU whose unit has no kernel for it
/// cost:  with a kernel of another unit, a few loads more than an own kernel; otherwise a round
///        trip
/// fails: no_kernel_in_unit under hard placement, or if units see different sizes of the functor
LOCUS_FUNCTION void run_elsewhere(launch_site const& site, erased_work const& work);

}  // namespace cuda_side

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/missing_kernel.hpp>  // bodies of the functions above
#endif

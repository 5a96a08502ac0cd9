// SPDX-License-Identifier: Apache-2.0
// A step: the one record that all passes read and write.
#pragma once
#include <string_view>  // string_view

#include <locus/device/device.hpp>   // device, place
#include <locus/expr/call_rule.hpp>  // call_facts
#include <locus/expr/operation.hpp>  // law, operation
#include <locus/shape/element.hpp>   // element
#include <locus/shape/shape.hpp>     // shape, axis_set

namespace locus {

enum class step_kind : unsigned char {
  leaf,    // a tensor or a view, stored before the plan runs
  scalar,  // one number, captured by value
  index,   // each element is its offset in row order; generators read it
  map,     // one element from one element of each operand
  reduce,  // one element from all elements along some axes
  matmul,  // (m,k) x (k,n)
  // transpose to slice are the views of is_view_kind
  transpose,    // the same memory under other strides: no launch
  expand,       // the same memory with one more axis of extent 1: no launch
  at,           // the part of the same memory at one index of an axis, without the axis: no launch
  reshape,      // the same memory under other extents: no launch if it is dense
  slice,        // a part of the same memory: no launch
  concatenate,  // one operand after the other along an axis
  call,         // an operation with its own kernel; each of its results is a step
};

/// means: the same memory under other extents or strides
constexpr bool is_view_kind(step_kind kind) {
  return kind >= step_kind::transpose && kind <= step_kind::slice;
}

/// The rule of placement that decided where a step runs.
enum class reason : unsigned char {
  undecided,
  leaf,           // it lies there
  requested,      // the innermost on<Device>
  home,           // all its leaves are on the device of the destination
  home_region,    // it is in the element-wise region that ends in the destination
  most_operands,  // prefer_gpu: no other GPU holds more of its operands
  first_gpu,      // prefer_gpu: none of its operands lies on a GPU
  no_gpu_kernel,  // the CPU, since GPUs have no kernel for its element types
  no_cpu_kernel,  // a GPU, since the CPU has no kernel for its element types
  followed_data,  // follow_data: the device of its first operand with a place
  cheapest,       // min_copies: the cheapest place
  with_replicas,  // an operand is distributed
  with_readers,   // a function of numbers alone: the device of its readers
  view,           // a view: the device of its operand
  one_kernel,     // another result of a call: one kernel makes all of them
};

/// An end of a slice that only a run knows, or that leaves out more than max_left_out elements.
inline constexpr signed char open_end = -128;
inline constexpr int max_left_out = 32;

struct step {
  step_kind kind = step_kind::leaf;
  element type = element::other;  // of the result
  law commutes = law::none;
  reduction combines = reduction::none;  // of a reduce
  axis_set axes = 0;                     // reduced, or cut by a slice
  bool keep = false;                     // a reduce keeps extents of 1
  bool dense = true;                     // a leaf lies in row order without gaps
  bool whole = true;                     // a leaf begins at a multiple of 16 bytes, as tensors do
  bool on_cpu = true, on_gpu = true;     // kernels for the operands' element types
  bool heavy = false;
  product_end ends = product_end::none;  // the part of the operation after a matrix product
  bool has_row = false;                  // a product: the kernel of its region adds a row to it
  bool builtin = true;                   // a functor of locus, not of the user
  bool generated = false;                // of scalars and indices alone: placed with its readers
  bool strict = false;                   // requested with strict
  bool takes_workspace = false;          // of a call: on GPUs, which is measured before a run
  bool fell_back = false;                // its requested or preferred device has no kernel for it
  signed char order[max_rank]{};         // of a transpose
  // of a slice: the elements that it leaves out at both ends of each axis; open_end: a run knows
  signed char front[max_rank]{}, back[max_rank]{};
  halo margin{};         // of a tensor: rows beside its pieces
  signed char axis = 0;  // of a concatenate, of an expand, of an at
  reason why = reason::undecided;
  device request{};  // the innermost on<Device>
  unsigned short element_bytes = 0;
  short arity = 0, first_edge = 0;
  call_facts const* call = nullptr;  // of a call
  signed char result = 0;            // of a call: the number of the result
  short region = -1;                 // the step that ends the kernel this one belongs to
  bool stored = false;               // a step outside its region reads it from memory
  place where{};                     // the decision of distribute and place
  shape extents{};
  std::string_view name, tensorflow;

  constexpr bool is_view() const { return is_view_kind(kind); }
  /// a result of a call after the first one, which is its operand: one kernel makes both
  constexpr bool is_sibling() const { return kind == step_kind::call && result > 0; }
  /// a leaf, a scalar or an index: no kernel to launch and no place to decide
  constexpr bool is_source() const {
    return kind == step_kind::leaf || kind == step_kind::scalar || kind == step_kind::index;
  }
  /// of a step that fell back: the side that has no kernel for it
  constexpr std::string_view side_without_kernel() const {
    return why == reason::no_cpu_kernel ? "CPU" : "GPU";
  }
  /// units: bytes of the whole value; dyn while an extent is open
  constexpr std::int64_t bytes() const {
    return extents.is_static() ? extents.size() * element_bytes : dyn;
  }
  friend constexpr bool operator==(step const&, step const&) = default;
};

/// The transfer of a value between the step that makes it and the steps that read it.
enum class transfer_kind : unsigned char {
  none,
  copy,            // single to single
  broadcast,       // single to mirrored
  scatter,         // single to sharded
  all_reduce,      // partial to mirrored
  reduce_scatter,  // partial to sharded
  reduce,          // partial to single
  all_gather,      // sharded to mirrored
  gather,          // sharded to single
  slice,           // mirrored to sharded: no traffic
  halo,            // rows of a tensor's pieces into the margins of their neighbours
  first_replica,   // mirrored to single: no traffic, or one copy to a device that is no replica
};

constexpr std::string_view name_of(transfer_kind how) {
  constexpr std::string_view names[] = {
      "none",   "copy",       "broadcast", "scatter", "all_reduce", "reduce_scatter",
      "reduce", "all_gather", "gather",    "slice",   "halo",       "first_replica"};
  return names[static_cast<int>(how)];
}

/// The transfer of one value to one place: all readers there share it.
struct transfer {
  short from = -1;  // step
  transfer_kind how = transfer_kind::none;
  short bucket = -1;  // all-reduces of one bucket travel together
  place arrives{};
  unsigned char before = 0, behind = 0;  // of a halo: rows in front of each piece, and behind it
  beyond outside = beyond::nothing;      // of a halo: the outermost rows
};

/// An operand of a step: the step that makes it, the place where the reader needs it, and the
/// transfer.
struct edge {
  short from = -1;
  short by = -1;    // a transfer; -1: it is read where it lies
  place arrives{};  // nowhere: the device of the reader
  friend constexpr bool operator==(edge const&, edge const&) = default;
};

/// An array with an int index: std::span's size_t makes -Wsign-conversion fire on every line.
template <class T>
struct array_view {
  T* first = nullptr;
  int count = 0;
  constexpr T& operator[](int i) const { return first[i]; }
  constexpr T* begin() const { return first; }
  constexpr T* end() const { return first + count; }
};

}  // namespace locus

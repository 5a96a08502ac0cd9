// SPDX-License-Identifier: Apache-2.0
// Flattening an expression writes its steps here, operands before the step that reads them; binding
// visits the steps in the same order.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/device/open.hpp>  // open_devices
#include <locus/expr/step.hpp>    // step, edge

namespace locus {

/// The request that a node inherits from the innermost on<Device> around it.
struct request {
  device where{};
  bool strict = false;
};

/// means: the arrays under construction; lets[k] is the step that holds the k-th let's value
struct builder {
  step* steps = nullptr;
  edge* edges = nullptr;
  short const* lets = nullptr;
  short steps_used = 0, edges_used = 0;

  constexpr short add(step s, short const* operands, int arity) {
    s.arity = static_cast<short>(arity);
    s.first_edge = edges_used;
    for (int k = 0; k < arity; ++k) edges[edges_used++].from = operands[k];
    steps[steps_used] = s;
    return steps_used++;
  }
};

/// means: an entry of the type list parallel to the steps: operation and element type
template <class Op, class T>
struct entry {
  using op = Op;
  using type = T;
};

/// means: one replica's part of a value; extents and strides in elements, one for each axis
/// (without initialisers: an array of them costs nothing until it is used)
struct local_value {
  void* data;
  std::int64_t const* extents;
  std::int64_t const* strides;
};

/// means: the arrays that binding fills for each step: addresses of leaves, extents, operation
///        objects
struct binder {
  local_value* values = nullptr;   // [step * replicas + replica]
  shape* extents = nullptr;        // [step]; null where the graph's extents are all static
  void const** objects = nullptr;  // [step]: the operation, for operations with state
  int replicas = 1;
  short at = 0;                  // the next step
  open_devices* open = nullptr;  // where the graph has open places
  void set_extents(shape const& s) const {
    if (extents) extents[at] = s;
  }
  /// fails: placement_error, where another operand gave the open devices other ordinals
  void set_devices(device_list const& placeholders, device_list const& actual,
                   std::string_view who) const;

 private:
  [[noreturn, gnu::cold]] void refuse_devices(device_list const& placeholders,
                                              device_list const& actual,
                                              std::string_view who) const;
};

}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/expr/bodies/builder.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// Flattening writes steps here, operands before their reader; binding visits them in the same
// order.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/device/open.hpp>  // open_devices
#include <locus/expr/step.hpp>    // step, edge

namespace locus {

/// What a node inherits from the on<Device> around it.
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

/// means: one entry of the type list that runs beside the steps: operation object and element type
template <class Op, class T>
struct entry {
  using op = Op;
  using type = T;
};

/// means: what one replica holds of a value; extents and strides in elements, one for each axis
/// (without initialisers: an array of these costs nothing until it is used)
struct local_value {
  void* data;
  std::int64_t const* extents;
  std::int64_t const* strides;
};

/// means: what binding fills for each step: where leaves lie, whole extents, operation objects
struct binder {
  local_value* values = nullptr;   // [step * replicas + replica]
  shape* extents = nullptr;        // [step]; null where the graph's extents are all static
  void const** objects = nullptr;  // [step]: the operation, for those that have state
  int replicas = 1;
  short at = 0;                  // the next step
  open_devices* open = nullptr;  // where the graph has open places
  void set_extents(shape const& s) const {
    if (extents) extents[at] = s;
  }
  /// fails: placement_error, where something else said that the open devices are others
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

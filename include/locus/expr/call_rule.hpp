// SPDX-License-Identifier: Apache-2.0
// What the passes must know of a called operation: how its operands and results lie over replicas,
// and how shapes follow from shapes.
#pragma once
#include <initializer_list>  // initializer_list
#include <string_view>       // string_view

#include <locus/shape/shape.hpp>  // shape

namespace locus {

enum class call_role : unsigned char {
  rows,   // cut along axis 0 with the batch; what one row becomes does not depend on the others
  terms,  // a result: each replica has a term of a sum, of its own rows; the sum is the value
  whole   // the same on every replica
};

/// Roles of operands or of results, in order: {call_role::rows, call_role::whole}
struct call_roles {
  static constexpr int most = 24;
  call_role of[most]{};
  int count = 0;
  constexpr call_roles() = default;
  constexpr call_roles(std::initializer_list<call_role> all) {
    for (call_role r : all) of[count++] = r;
  }
  constexpr call_role operator[](int k) const { return of[k]; }
  constexpr bool has(call_role r) const {
    for (int k = 0; k < count; ++k)
      if (of[k] == r) return true;
    return false;
  }
  friend constexpr bool operator==(call_roles const&, call_roles const&) = default;
};

/// An operation says it as `static constexpr call_rule rule{.name = ..., .operands = ..., ...}`.
struct call_rule {
  std::string_view name;
  call_roles operands, results;
  std::string_view tensorflow{};  // in the placement log; empty: the name
  bool fixed_bits = false;        // the same bits on every device and for any number of threads
  bool stores_all = false;        // also results that nobody reads have memory: bodies write them
  // all results have one size, and element i of each is made of elements i of the operands of that
  // size, before any of them is stored: a result may lie where such an operand does
  bool in_place = false;
  bool by_teams = false;  // on GPUs by teams of threads: its body is team(), not element()
  friend constexpr bool operator==(call_rule const&, call_rule const&) = default;
};

/// What a step of a plan knows of the operation that it calls.
struct call_facts {
  call_rule rule;
  /// means: extents of one result; op: the object, null while the plan is a constant
  shape (*infer)(void const* op, int result, shape const* operands) = nullptr;
  /// units: arithmetic operations, given the extents of the first result and of the operands
  std::int64_t (*operations)(shape const& result, shape const* operands) = nullptr;
};

}  // namespace locus

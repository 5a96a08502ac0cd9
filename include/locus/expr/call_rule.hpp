// SPDX-License-Identifier: Apache-2.0
// The rule of a called operation, for the passes: how its operands and results lie over replicas,
// and how its extents follow from those of the operands.
#pragma once
#include <initializer_list>  // initializer_list
#include <string_view>       // string_view

#include <locus/device/device.hpp>  // reduction
#include <locus/shape/shape.hpp>    // shape

namespace locus {

enum class call_role : unsigned char {
  rows,   // sharded along axis 0 with the batch; no row of a result depends on another row
  terms,  // of a result: partial; each replica holds the term of its own rows
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

/// An operation states its rule as
/// `static constexpr call_rule rule{.name = ..., .operands = ..., ...}`.
struct call_rule {
  std::string_view name;
  call_roles operands, results;
  std::string_view tensorflow{};  // in the placement log; empty: the name
  bool fixed_bits = false;        // the same bits on every device and for any number of threads
  bool stores_all = false;        // results that no step reads have memory too: kernels write them
  // all results have one size; a kernel reads element i of the operands of that size before it
  // stores element i of a result: a result may use the memory of such an operand
  bool in_place = false;
  bool by_teams = false;  // GPUs run team(), by teams of threads, instead of element()
  friend constexpr bool operator==(call_rule const&, call_rule const&) = default;
};

/// The cut of each operand of a call, in order: the axis of its pieces, or call_cut::whole.
struct call_axes {
  signed char of[call_roles::most]{};
  constexpr signed char operator[](int k) const { return of[k]; }
  constexpr signed char& operator[](int k) { return of[k]; }
};

/// How a call works in pieces, where roles cannot say it: an operation states it in place of its
/// roles as `static constexpr call_cut cut(call_axes const& found)`, found: the cuts that its
/// operands have, one of them at least in pieces. cut(the operands of its answer) is that answer.
/// A result of role whole has no pieces.
struct call_cut {
  static constexpr signed char whole = -1;
  bool fits = false;                  // false: no such call in pieces; the program gathers first
  call_axes operands{};               // the cuts in which operands arrive
  signed char axis = whole;           // of the results: whole: they have no pieces
  reduction terms = reduction::none;  // each replica has a term of the results
  // the operand whose rows along its cut call_context counts; -1: only the first row of the piece
  // of the first operand in pieces is known
  signed char batch = -1;
};

/// The facts about the operation of a call that its step holds.
struct call_facts {
  call_rule rule;
  /// means: extents of one result; op: the object, null while the plan is a constant
  shape (*infer)(void const* op, int result, shape const* operands) = nullptr;
  /// units: arithmetic operations, given the extents of the first result and of the operands
  std::int64_t (*operations)(shape const& result, shape const* operands) = nullptr;
  /// true: cut says how the call lies; false: roles say so. (Under -fsanitize=undefined g++ compares no
  /// address with null in a constant.)
  bool has_own_cut = false;
  call_cut (*cut)(call_axes const& found) = nullptr;
};

}  // namespace locus

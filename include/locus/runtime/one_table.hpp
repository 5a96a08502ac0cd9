// SPDX-License-Identifier: Apache-2.0
// One device table for each process. The linker merges the tables of a program and its shared
// libraries where it sees their names; where it does not, the second table is found and refused.
#pragma once

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::runtime {

namespace detail {
/// A page of this process that every copy of locus finds by its name, whatever its own symbols are.
struct named_page {
  static constexpr char const* name = "locus-device-table";

  /// null: nobody made one yet, or this machine has no /proc
  static void const** find();
  /// null where the system has none to give
  static void const** make();
};
LOCUS_FUNCTION char const* file_that_holds(void const* p);
}  // namespace detail

/// means: `ours` is the only table that plans of this process use
/// cost:  reads the list of the process' mappings; once, before the devices are made
/// fails: configuration_error, naming both files and the remedy
[[gnu::cold]] LOCUS_FUNCTION void require_one_table(void const* ours);

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/one_table.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// One device table for each process. The linker merges the tables of a program and its shared
// libraries if it sees their names; otherwise locus finds the second table and refuses it.
#pragma once

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::runtime {

namespace detail {
/// A memory page of this process that every copy of locus finds by name, for every symbol
/// visibility.
struct named_page {
  static constexpr char const* name = "locus-device-table";

  /// null: no copy of locus has made the page yet, or this machine has no /proc
  static void const** find();
  /// null: the system gives no memory
  static void const** make();
};
LOCUS_FUNCTION char const* file_that_holds(void const* p);
/// means: dlclose leaves the library that holds p where it is: threads of the pool are in its code.
///        g++ marks such a library itself (STB_GNU_UNIQUE), clang does not
LOCUS_FUNCTION void keep_loaded(void const* p);
}  // namespace detail

/// means: `ours` is the only table in use in this process, and its library stays loaded
/// cost:  reads /proc/self/maps once, before the devices are made
/// fails: configuration_error, naming both files and the remedy
[[gnu::cold]] LOCUS_FUNCTION void require_one_table(void const* ours);

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/one_table.hpp>  // bodies of the functions above
#endif

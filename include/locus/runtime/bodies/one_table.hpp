// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/one_table.hpp declares.
#pragma once
#include <cstdio>      // fopen, fgets
#include <dlfcn.h>     // dladdr, dlopen
#include <sys/mman.h>  // memfd_create, mmap
#include <unistd.h>    // ftruncate, close

#include <locus/core/error.hpp>         // configuration_error
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/runtime/one_table.hpp>  // the declarations

namespace locus::runtime::detail {

LOCUS_FUNCTION void const** named_page::find() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return nullptr;
  char line[1024];
  void* first = nullptr;
  while (!first && std::fgets(line, sizeof line, maps))
    if (contains_text(line, "/memfd:locus-device-table"))
      if (std::sscanf(line, "%p-", &first) != 1) first = nullptr;
  std::fclose(maps);
  return static_cast<void const**>(first);
}

LOCUS_FUNCTION void const** named_page::make() {
  int const file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* page = MAP_FAILED;
  if (ftruncate(file, 4096) == 0)
    page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<void const**>(page);
}

LOCUS_FUNCTION char const* file_that_holds(void const* p) {
  Dl_info found;
  return dladdr(p, &found) && found.dli_fname ? found.dli_fname : nullptr;
}

LOCUS_FUNCTION void keep_loaded(void const* p) {
  if (char const* const file = file_that_holds(p))
    static_cast<void>(dlopen(file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void require_one_table(void const* ours) {
  detail::keep_loaded(ours), detail::keep_loaded(reinterpret_cast<void const*>(&require_one_table));
  void const** page = detail::named_page::find();
  if (!page) page = detail::named_page::make();
  if (!page || *page == ours) return;
  char const* const other = *page ? detail::file_that_holds(*page) : nullptr;
  if (!other) {  // empty, or of a library that was unloaded
    *page = ours;
    return;
  }
  char const* const mine = detail::file_that_holds(ours);
  message text;
  throw configuration_error(
      text << "locus: this process has two device tables, in " << other << " and in "
           << (mine ? mine : "this program")
           << "; make them one: link the program with -rdynamic (CMake: ENABLE_EXPORTS ON; Meson: "
              "export_dynamic: true), or open the first library with RTLD_GLOBAL");
}

}  // namespace locus::runtime

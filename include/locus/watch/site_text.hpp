// SPDX-License-Identifier: Apache-2.0
// A call site as text: file:line, or the program and an address that addr2line turns into lines.
#pragma once
#include <dlfcn.h>  // dladdr

#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN
#include <locus/core/text.hpp>       // text_buffer

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: x.cpp:12, or program+0x1234 for addr2line -i -e program 0x1234; nothing for an unset site
template <std::size_t N>
[[gnu::cold]] text_buffer<N>& write_site(text_buffer<N>& out, call_site site) {
  if (site.is_set()) return out << std::string_view(site.file) << ":" << site.line;
  if (!site.is_code()) return out;
  Dl_info info{};
  auto address = reinterpret_cast<std::uintptr_t>(site.code());
  bool const known = dladdr(site.code(), &info) != 0 && info.dli_fname;
  if (known) address -= reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  char digits[16];
  int n = 0;
  do digits[n++] = "0123456789abcdef"[address % 16];
  while (address /= 16);
  out << (known ? std::string_view(info.dli_fname) : "code") << "+0x";
  while (n) out << std::string_view(&digits[--n], 1);
  return out;
}

}  // namespace locus::runtime

LOCUS_COLD_END

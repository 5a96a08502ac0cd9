// SPDX-License-Identifier: Apache-2.0
#include "short_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace ptx::counts {
namespace {
/// without namespaces, up to what follows a name
std::string base_name(std::string_view v) {
  std::string_view const head = v.substr(0, v.find_first_of("<(,>"));
  std::size_t const colon = head.rfind("::");
  return std::string(colon == head.npos ? head : head.substr(colon + 2));
}
}  // namespace
std::string short_name(std::string const& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string s = status == 0 && text ? text : mangled;
  std::free(text);
  if (s.compare(0, 5, "void ") == 0) s.erase(0, 5);
  std::string const nameless = "(anonymous namespace)::";
  for (std::size_t at; (at = s.find(nameless)) != s.npos;) s.erase(at, nameless.size());
  std::size_t const less = s.find('<'), parameters = s.find('(');
  std::string found = base_name(s);
  if (less < parameters && less + 1 < s.size())
    found += "<" + base_name(std::string_view(s).substr(less + 1)) + ">";
  return found;
}

}  // namespace ptx::counts

// SPDX-License-Identifier: Apache-2.0
// Paths for system calls: never truncated.
#pragma once
#include <sys/stat.h>  // S_ISDIR

#include <locus/core/error.hpp>      // bad_file
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN
#include <locus/core/printable.hpp>  // shown

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: a path that ends in a null character
/// fails: bad_file, for a path that is too long for the system, or has a null character inside:
///        truncated there, it would name another file
class system_path {
 public:
  explicit system_path(std::string_view path, std::string_view suffix = {}) {
    if (path.size() + suffix.size() + 1 > sizeof text_)
      refuse(path, "its path is too long; give a shorter path");
    if (find_char(path, '\0') != path.npos)
      refuse(path, "its path holds a null character; give another path");
    for (std::string_view const part : {path, suffix})
      for (char const c : part) text_[size_++] = c;
    text_[size_] = '\0';
  }
  char const* c_str() const { return text_; }
  std::string_view view() const { return {text_, size_}; }

 private:
  [[noreturn]] static void refuse(std::string_view path, std::string_view why) {
    message text;
    throw bad_file(text << "locus: " << shown(path).view() << ": " << why);
  }
  char text_[4096];  // PATH_MAX of Linux
  std::size_t size_ = 0;
};

/// means: the kind of file, in words
constexpr std::string_view kind_of_file(mode_t mode) {
  return S_ISREG(mode)    ? "a file"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISLNK(mode)  ? "a symbolic link"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

}  // namespace locus::runtime

LOCUS_COLD_END

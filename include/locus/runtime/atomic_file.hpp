// SPDX-License-Identifier: Apache-2.0
// A file that is replaced as a whole or not at all: written under another name, synced, renamed.
#pragma once
#include <cstdio>      // rename
#include <fcntl.h>     // open
#include <sys/stat.h>  // lstat, fchmod
#include <unistd.h>    // write, fsync, fchown

#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/runtime/path.hpp>     // system_path
#include <locus/runtime/signals.hpp>  // uninterrupted

namespace locus::runtime {

/// The system calls of atomic_file. A test replaces them by calls of which the n-th fails.
struct file_functions {
  int (*open)(char const* path, int flags, mode_t mode);
  int (*look)(char const* path, struct stat* what);  // lstat: does not follow a link
  int (*status)(int file, struct stat* what);
  int (*permit)(int file, mode_t mode);
  ssize_t (*write)(int file, void const* from, std::size_t bytes);
  int (*sync)(int file);
  int (*close)(int file);
  int (*rename)(char const* from, char const* to);
};
inline constexpr file_functions system_files{
    [](char const* path, int flags, mode_t mode) { return ::open(path, flags | O_CLOEXEC, mode); },
    [](char const* path, struct stat* what) { return ::lstat(path, what); },
    [](int file, struct stat* what) { return ::fstat(file, what); },
    [](int file, mode_t mode) { return ::fchmod(file, mode); },
    [](int file, void const* from, std::size_t bytes) { return ::write(file, from, bytes); },
    [](int file) { return ::fsync(file); },
    [](int file) { return ::close(file); },
    [](char const* from, char const* to) { return std::rename(from, to); }};
LOCUS_SHARED_STATE inline constinit file_functions const* files = &system_files;

/// means: the new content appears at `path` when commit() returns, and not before; until then, and
///        after a failure or a crash at any moment, the old file is there. The new file has the
///        rights, the group and, if this process may change it, the owner of the old one
/// cost:  two syncs; a killed process leaves one file "path.part", which the next writer of that
///        path takes over
/// fails: bad_file, naming path and the system's error; when another process writes the same path;
///        when `path` is no regular file; when "path.part" is not a writer's leftover: a link, a
///        pipe, a file with two names or of another user. Then nothing is written to it
class atomic_file {
 public:
  explicit atomic_file(std::string_view path);
  atomic_file(atomic_file const&) = delete;
  ~atomic_file() { give_up(); }
  char const* path() const { return path_.c_str(); }
  /// units: bytes written so far
  std::uint64_t size() const { return size_; }

  void write(void const* from, std::size_t bytes);
  /// means: the file is at its path, also after a crash of the machine
  void commit();

 private:
  // system calls that a signal handler may interrupt; they are called again
  static int open(system_path const& path, int flags, mode_t mode) {
    return uninterrupted([&] { return files->open(path.c_str(), flags, mode); });
  }
  static int look(system_path const& path, struct stat& what) {
    return uninterrupted([&] { return files->look(path.c_str(), &what); });
  }
  int status(struct stat& what) const {
    return uninterrupted([&] { return files->status(file_, &what); });
  }
  int permit(mode_t mode) const {
    return uninterrupted([&] { return files->permit(file_, mode); });
  }
  /// A link is not followed: a person who can put a link into the folder would choose the
  /// file to replace.
  void look_at_target();
  /// Opens and locks "path.part". The lock tells a leftover of a killed process from a file in use.
  /// A lock may be taken on a file that its writer has just renamed: then the path names another
  /// file, or none.
  void open_part();
  void take_over(struct stat const& what);
  /// If the group cannot be kept, the group of the new file gets no rights.
  void take_over_rights();
  void give_up();
  /// makes the rename durable: syncs the folder
  void sync_folder();
  [[noreturn, gnu::cold]] void fail(std::string_view what, std::string_view remedy) const;
  [[noreturn, gnu::cold]] void fail_part(std::string_view what) const;
  [[noreturn, gnu::cold]] void fail_with_words(std::string_view what, int why) const;
  [[noreturn, gnu::cold]] void fail_late(std::string_view what, int why) const;
  system_path path_, part_;
  struct stat old_{};
  bool replaces_ = false;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/atomic_file.hpp>  // bodies of the functions above
#endif

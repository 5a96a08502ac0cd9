// SPDX-License-Identifier: Apache-2.0
// A file that is there as a whole or not at all: written beside its place, synced, renamed.
#pragma once
#include <cerrno>      // errno
#include <cstdio>      // rename
#include <cstring>     // strerror
#include <fcntl.h>     // open
#include <sys/file.h>  // flock
#include <sys/stat.h>  // fstat
#include <unistd.h>    // write, fsync
#include <utility>     // exchange

#include <locus/core/error.hpp>  // bad_file

namespace locus::runtime {

/// The calls that write such a file. A test puts others in their place, of which the n-th fails.
struct file_functions {
  int (*open)(char const* path, int flags);
  ssize_t (*write)(int file, void const* from, std::size_t bytes);
  int (*sync)(int file);
  int (*close)(int file);
  int (*rename)(char const* from, char const* to);
};
inline constexpr file_functions system_files{
    [](char const* path, int flags) { return ::open(path, flags | O_CLOEXEC, 0666); },
    [](int file, void const* from, std::size_t bytes) { return ::write(file, from, bytes); },
    [](int file) { return ::fsync(file); }, [](int file) { return ::close(file); },
    [](char const* from, char const* to) { return std::rename(from, to); }};
LOCUS_SHARED_STATE inline constinit file_functions const* files = &system_files;

/// means: what is written appears at `path` when commit() returns, and not before; until then, and
///        after a failure or a crash at any moment, the file that was there is there
/// cost:  two syncs; one file "path.part" stays behind when the process is killed, which the next
///        writer of that path takes over
/// fails: bad_file, naming path and the words of the system; another process writes the same path
class atomic_file {
 public:
  explicit atomic_file(std::string_view path) {
    path_ << path;
    part_ << path << ".part";
    if (path_.view() != path || part_.view().size() != path.size() + 5)
      fail("its path is too long", "give a shorter path");
    open_part();
  }
  atomic_file(atomic_file const&) = delete;
  ~atomic_file() {
    if (file_ < 0) return;
    ::unlink(part_.c_str());  // while the lock is held: it is ours
    ::close(file_);
  }
  char const* path() const { return path_.c_str(); }
  /// units: bytes written so far
  std::uint64_t size() const { return size_; }

  void write(void const* from, std::size_t bytes) {
    auto const* p = static_cast<char const*>(from);
    constexpr std::size_t most = std::size_t(1) << 30;  // Linux takes no more than 2 GiB at once
    while (bytes > 0) {
      ssize_t const n = files->write(file_, p, bytes < most ? bytes : most);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail_with_words("writing it failed", n == 0 ? ENOSPC : errno);
      p += n, bytes -= static_cast<std::size_t>(n), size_ += static_cast<std::uint64_t>(n);
    }
  }
  /// means: the file is at its path, whatever happens to the machine from here on
  void commit() {
    if (files->sync(file_) != 0) fail_with_words("syncing it to the disk failed", errno);
    if (files->rename(part_.c_str(), path_.c_str()) != 0)
      fail_with_words("renaming it into its place failed", errno);
    int const file = file_;
    file_ = -1;
    if (files->close(file) != 0 && errno != EINTR) fail_late("closing it failed", errno);
    sync_folder();
  }

 private:
  /// The lock tells a file that a killed process left from one that is being written. It may be
  /// had for a file that its writer has just renamed: then the path names another file, or none.
  void open_part() {
    for (;;) {
      file_ = files->open(part_.c_str(), O_WRONLY | O_CREAT);
      if (file_ < 0) fail_with_words("it cannot be written", errno);
      struct stat ours{}, named{};
      if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        int const why = errno;
        ::close(std::exchange(file_, -1));
        if (why == EWOULDBLOCK)
          fail("another writer is at work on it", "let it finish, or give another path");
        fail_with_words("it cannot be locked", why);
      }
      if (::fstat(file_, &ours) == 0 && ::stat(part_.c_str(), &named) == 0 &&
          ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
        break;
      ::close(std::exchange(file_, -1));
    }
    if (::ftruncate(file_, 0) == 0) return;
    int const why = errno;
    ::close(std::exchange(file_, -1));
    fail_with_words("it cannot be emptied", why);
  }
  /// the name itself is on the disk when its folder is
  void sync_folder() {
    text_buffer<4096> folder;
    std::size_t const slash = path_.view().rfind('/');
    folder << (slash == std::string_view::npos ? std::string_view(".")
               : slash == 0                    ? std::string_view("/")
                                               : path_.view().substr(0, slash));
    int const f = files->open(folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (f < 0) fail_late("its folder cannot be opened to sync it", errno);
    bool const synced = files->sync(f) == 0 || errno == EINVAL || errno == ENOTSUP;
    int const why = errno;
    ::close(f);
    if (!synced) fail_late("syncing its folder failed", why);
  }
  [[noreturn, gnu::cold]] void fail(std::string_view what, std::string_view remedy) const {
    message text;
    throw bad_file(text << "locus: " << path_.view() << ": " << what << "; " << remedy);
  }
  [[noreturn, gnu::cold]] void fail_with_words(std::string_view what, int why) const {
    message text;
    text << what << " (" << std::string_view(std::strerror(why))
         << "), and what was there before is unchanged";
    fail(text.view(), "make room, or give another path");
  }
  [[noreturn, gnu::cold]] void fail_late(std::string_view what, int why) const {
    message text;
    text << what << " (" << std::string_view(std::strerror(why))
         << "): the new file is there, but a loss of power may bring back the one before";
    fail(text.view(), "write it again");
  }
  text_buffer<4096> path_, part_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace locus::runtime

// SPDX-License-Identifier: Apache-2.0
// A file that is there as a whole or not at all: written beside its place, synced, renamed.
#pragma once
#include <cerrno>      // errno
#include <cstdio>      // rename
#include <cstring>     // strerror
#include <fcntl.h>     // open
#include <sys/file.h>  // flock
#include <sys/stat.h>  // lstat, fchmod
#include <unistd.h>    // write, fsync, fchown
#include <utility>     // exchange

#include <locus/core/error.hpp>           // bad_file
#include <locus/runtime/output_file.hpp>  // why_not_ours
#include <locus/runtime/path.hpp>         // system_path
#include <locus/runtime/signals.hpp>      // uninterrupted

namespace locus::runtime {

/// The calls that write such a file. A test puts others in their place, of which the n-th fails.
struct file_functions {
  int (*open)(char const* path, int flags, mode_t mode);
  int (*look)(char const* path, struct stat* what);  // at a link, not behind it
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

/// means: what is written appears at `path` when commit() returns, and not before; until then, and
///        after a failure or a crash at any moment, the file that was there is there. It has the rights,
///        the group and, where this process may give files away, the owner of the one it replaces
/// cost:  two syncs; one file "path.part" stays behind when the process is killed, which the next
///        writer of that path takes over
/// fails: bad_file, naming path and the words of the system; another process writes the same path;
///        what lies at `path` is no file; what lies at "path.part" is none that a writer left: a link,
///        a pipe, a file with two names or of another user. Nothing is written through it
class atomic_file {
 public:
  explicit atomic_file(std::string_view path) : path_(path), part_(path, ".part") {
    look_at_target();
    open_part();
  }
  atomic_file(atomic_file const&) = delete;
  ~atomic_file() { give_up(); }
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
    take_over_rights();
    if (uninterrupted([&] { return files->sync(file_); }) != 0)
      fail_with_words("syncing it to the disk failed", errno);
    if (files->rename(part_.c_str(), path_.c_str()) != 0)
      fail_with_words("renaming it into its place failed", errno);
    int const file = file_;
    file_ = -1;
    if (files->close(file) != 0 && errno != EINTR) fail_late("closing it failed", errno);
    sync_folder();
  }

 private:
  // calls that the handler of a signal may break into, and that are made again then
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
  /// A link is not followed: who may lay one into the folder would choose the file that is replaced.
  void look_at_target() {
    replaces_ = look(path_, old_) == 0;
    if (!replaces_ && errno != ENOENT) fail_with_words("it cannot be looked at", errno);
    if (!replaces_ || S_ISREG(old_.st_mode)) return;
    message text;
    text << kind_of_file(old_.st_mode) << " lies there, and a file replaces files alone";
    fail(text.view(), S_ISLNK(old_.st_mode) ? "give the path that it names, or remove it"
                                            : "give the path of a file");
  }
  /// The lock tells a file that a killed process left from one that is being written. It may be
  /// had for a file that its writer has just renamed: then the path names another file, or none.
  void open_part() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      constexpr int how = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
      file_ = open(part_, how | O_CREAT | O_EXCL, replaces_ ? 0600 : 0666);
      bool const is_new = file_ >= 0;
      struct stat ours{}, named{};
      if (!is_new) {
        if (errno != EEXIST) fail_with_words("it cannot be written", errno);
        if (look(part_, named) == 0) {
          if (!S_ISREG(named.st_mode)) fail_part(kind_of_file(named.st_mode));
          file_ = open(part_, how, 0);
        }
        if (file_ < 0 && errno == ENOENT) continue;
        if (file_ < 0) fail_with_words("what lies beside it cannot be taken over", errno);
      }
      if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        int const why = errno;
        ::close(std::exchange(file_, -1));
        if (why == EWOULDBLOCK) break;
        fail_with_words("it cannot be locked", why);
      }
      if (status(ours) != 0) {
        int const why = errno;
        give_up();
        fail_with_words("it cannot be looked at", why);
      }
      bool const is_named = look(part_, named) == 0;
      if (!is_named && errno != ENOENT) {
        int const why = errno;
        if (is_new) give_up();
        ::close(std::exchange(file_, -1));
        fail_with_words("it cannot be looked at", why);
      }
      if (is_named && ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
        return is_new ? void() : take_over(ours);
      ::close(std::exchange(file_, -1));
    }
    fail("another writer is at work on it", "let it finish, or give another path");
  }
  void take_over(struct stat const& what) {
    if (auto const why = why_not_ours(what, ::geteuid()); !why.empty()) {
      ::close(std::exchange(file_, -1));
      fail_part(why);
    }
    if ((!replaces_ || permit(0600) == 0) &&
        uninterrupted([&] { return ::ftruncate(file_, 0); }) == 0)
      return;
    int const why = errno;
    ::close(std::exchange(file_, -1));
    fail_with_words("it cannot be emptied", why);
  }
  /// A group that cannot be kept gets no rights: they were another group's.
  void take_over_rights() {
    struct stat ours{};
    if (!replaces_) return;
    if (status(ours) != 0) fail_with_words("it cannot be looked at", errno);
    mode_t rights = old_.st_mode & 0777;
    if (ours.st_gid != old_.st_gid && ::fchown(file_, uid_t(-1), old_.st_gid) != 0)
      rights &= ~mode_t(070);
    if (ours.st_uid != old_.st_uid && ::fchown(file_, old_.st_uid, gid_t(-1)) != 0)
      static_cast<void>(errno);  // it stays ours
    if ((ours.st_mode & 0777) != rights && permit(rights) != 0)
      fail_with_words("its rights cannot be those of the file before", errno);
  }
  void give_up() {
    if (file_ < 0) return;
    ::unlink(part_.c_str());  // while the lock is held: it is ours
    ::close(std::exchange(file_, -1));
  }
  /// the name itself is on the disk when its folder is
  void sync_folder() {
    std::size_t const slash = path_.view().rfind('/');
    system_path const folder(slash == std::string_view::npos ? std::string_view(".")
                             : slash == 0                    ? std::string_view("/")
                                                             : path_.view().substr(0, slash));
    int const f = open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (f < 0) fail_late("its folder cannot be opened to sync it", errno);
    bool const synced =
        uninterrupted([f] { return files->sync(f); }) == 0 || errno == EINVAL || errno == ENOTSUP;
    int const why = errno;
    ::close(f);
    if (!synced) fail_late("syncing its folder failed", why);
  }
  [[noreturn, gnu::cold]] void fail(std::string_view what, std::string_view remedy) const {
    message text;
    throw bad_file(text << "locus: " << shown(path_.view()).view() << ": " << what << "; "
                        << remedy);
  }
  [[noreturn, gnu::cold]] void fail_part(std::string_view what) const {
    message text;
    text << "beside it, at " << shown(part_.view()).view() << ", lies " << what
         << ", and nothing is written to that";
    fail(text.view(), "remove it, or give another path");
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
  system_path path_, part_;
  struct stat old_{};
  bool replaces_ = false;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace locus::runtime

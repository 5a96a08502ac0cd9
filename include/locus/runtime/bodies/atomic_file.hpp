// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/atomic_file.hpp declares.
#pragma once
#include <cstring>     // strerror
#include <sys/file.h>  // flock
#include <utility>     // exchange

#include <locus/core/error.hpp>           // bad_file
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION
#include <locus/runtime/atomic_file.hpp>  // the declarations
#include <locus/runtime/output_file.hpp>  // why_not_ours

namespace locus::runtime {

LOCUS_FUNCTION atomic_file::atomic_file(std::string_view path) : path_(path), part_(path, ".part") {
  look_at_target();
  open_part();
}

LOCUS_FUNCTION void atomic_file::write(void const* from, std::size_t bytes) {
  auto const* p = static_cast<char const*>(from);
  constexpr std::size_t most = std::size_t(1) << 30;  // Linux takes no more than 2 GiB at once
  while (bytes > 0) {
    ssize_t const n = files->write(file_, p, bytes < most ? bytes : most);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_with_words("writing it failed", n == 0 ? ENOSPC : errno);
    p += n, bytes -= static_cast<std::size_t>(n), size_ += static_cast<std::uint64_t>(n);
  }
}

LOCUS_FUNCTION void atomic_file::commit() {
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

LOCUS_FUNCTION void atomic_file::look_at_target() {
  replaces_ = look(path_, old_) == 0;
  if (!replaces_ && errno != ENOENT) fail_with_words("it cannot be looked at", errno);
  if (!replaces_ || S_ISREG(old_.st_mode)) return;
  message text;
  text << kind_of_file(old_.st_mode) << " lies there, and a file replaces files alone";
  fail(text.view(), S_ISLNK(old_.st_mode) ? "give the path that it names, or remove it"
                                          : "give the path of a file");
}

LOCUS_FUNCTION void atomic_file::open_part() {
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

LOCUS_FUNCTION void atomic_file::take_over(struct stat const& what) {
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

LOCUS_FUNCTION void atomic_file::take_over_rights() {
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

LOCUS_FUNCTION void atomic_file::give_up() {
  if (file_ < 0) return;
  ::unlink(part_.c_str());  // the lock is held: the file is ours
  ::close(std::exchange(file_, -1));
}

LOCUS_FUNCTION void atomic_file::sync_folder() {
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

LOCUS_FUNCTION void atomic_file::fail(std::string_view what, std::string_view remedy) const {
  message text;
  throw bad_file(text << "locus: " << shown(path_.view()).view() << ": " << what << "; " << remedy);
}

LOCUS_FUNCTION void atomic_file::fail_part(std::string_view what) const {
  message text;
  text << "beside it, at " << shown(part_.view()).view() << ", lies " << what
       << ", and nothing is written to that";
  fail(text.view(), "remove it, or give another path");
}

LOCUS_FUNCTION void atomic_file::fail_with_words(std::string_view what, int why) const {
  message text;
  text << what << " (" << std::string_view(std::strerror(why))
       << "), and what was there before is unchanged";
  fail(text.view(), "make room, or give another path");
}

LOCUS_FUNCTION void atomic_file::fail_late(std::string_view what, int why) const {
  message text;
  text << what << " (" << std::string_view(std::strerror(why))
       << "): the new file is there, but a loss of power may bring back the one before";
  fail(text.view(), "write it again");
}

}  // namespace locus::runtime

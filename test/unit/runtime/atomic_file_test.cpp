// SPDX-License-Identifier: Apache-2.0
// Files that are written where others may lay links: nothing is written through one, nothing waits, and
// who could read a file before can read the next one, nobody else.
#include <cerrno>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <functional>
#include <grp.h>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <locus/machine/start_watching.hpp>
#include <locus/runtime/atomic_file.hpp>
#include <locus/runtime/output_file.hpp>  // open_output, writing
#include <locus/runtime/write_all.hpp>    // write_all
#include <locus/watch/log.hpp>

#include "child.hpp"
#include <message_of.hpp>

using namespace locus;

namespace {

constexpr uid_t somebody = 65534;

struct folder {
  char name[40] = "/tmp/locus_atomic_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
};
void put(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string bytes_of(std::string const& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
struct stat status(std::string const& path) {
  struct stat s{};
  CHECK(lstat(path.c_str(), &s) == 0);
  return s;
}
int mode_of(std::string const& path) { return int(status(path).st_mode & 0777); }

void save(std::string const& path, std::string const& bytes = "new") {
  runtime::atomic_file file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}
std::string refusal(std::string const& path) {
  return message_of<bad_file>([&] { save(path); });
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }
bool is_root() {
  if (geteuid() == 0) return true;
  MESSAGE("skipped: only root can make files of other users");
  return false;
}

/// What somebody may lay at a name, and how a message calls it. False: this process cannot make one.
struct trap {
  char const* kind;
  std::function<bool(std::string const& path, std::string const& victim)> lay;
};
std::vector<trap> const special = {
    {"a symbolic link",
     [](auto& p, auto& victim) { return symlink(victim.c_str(), p.c_str()) == 0; }},
    {"a symbolic link", [](auto& p, auto&) { return symlink("nowhere", p.c_str()) == 0; }},
    {"a symbolic link", [](auto& p, auto&) { return symlink(".", p.c_str()) == 0; }},
    {"a pipe", [](auto& p, auto&) { return mkfifo(p.c_str(), 0666) == 0; }},
    {"a folder", [](auto& p, auto&) { return mkdir(p.c_str(), 0777) == 0; }},
    {"a device", [](auto& p, auto&) {  // a second /dev/null, as root where that is allowed
       return mknod(p.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0;
     }}};
trap const hard_link = {"a file with a second name (a hard link)",
                        [](auto& p, auto& victim) { return link(victim.c_str(), p.c_str()) == 0; }};
trap const foreign = {"a file of another user", [](auto& p, auto&) {
                        put(p, "theirs");
                        return chown(p.c_str(), somebody, somebody) == 0;
                      }};

/// means: f in a child that is nobody in particular; its answer
bool as_somebody(std::function<bool()> const& f) {
  pid_t const child = fork();
  if (child == 0) {
    bool const dropped =
        setgroups(0, nullptr) == 0 && setgid(somebody) == 0 && setuid(somebody) == 0;
    _exit(dropped && f() ? 0 : 1);
  }
  int end = -1;
  waitpid(child, &end, 0);
  return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

}  // namespace

TEST_CASE("a program that saves over what somebody laid there" * doctest::skip()) {
  folder const here;
  std::string const path = here / "m.npz", part = path + ".part", victim = here / "victim";
  std::vector<trap> beside = special;
  beside.push_back(hard_link);
  if (geteuid() == 0) beside.push_back(foreign);
  int laid = 0;
  for (trap const& t : beside)
    for (bool const old : {false, true}) {
      INFO(t.kind);
      put(victim, "precious");
      if (old) put(path, "old");
      if (!t.lay(part, victim)) continue;
      ++laid;
      auto const before = status(part);
      CHECK(refusal(path) ==
            "locus: " + path + ": beside it, at " + part + ", lies " + t.kind +
                ", and nothing is written to that; remove it, or give another path");
      CHECK(bytes_of(victim) == "precious");
      CHECK(access((here / "nowhere").c_str(), F_OK) != 0);
      CHECK(status(part).st_ino == before.st_ino);  // it is there as it was
      CHECK(status(part).st_mode == before.st_mode);
      CHECK((access(path.c_str(), F_OK) == 0) == old);
      if (old) CHECK(bytes_of(path) == "old");
      CHECK(remove(part.c_str()) == 0);
      save(path);  // and with the remedy it works
      CHECK(bytes_of(path) == "new");
      CHECK(remove(path.c_str()) == 0);
    }
  CHECK(laid >= 12);
  for (trap const& t : special) {
    INFO(t.kind);
    put(victim, "precious");
    if (!t.lay(path, victim)) continue;
    bool const link = S_ISLNK(status(path).st_mode);
    CHECK(refusal(path) == "locus: " + path + ": " + t.kind +
                               " lies there, and a file replaces files alone; give the path " +
                               (link ? "that it names, or remove it" : "of a file"));
    CHECK(bytes_of(victim) == "precious");
    CHECK_FALSE(S_ISREG(status(path).st_mode));
    CHECK(access(part.c_str(), F_OK) != 0);
    CHECK(remove(path.c_str()) == 0);
  }
}

TEST_CASE("a save writes through no link, pipe, device or file of another, and waits for none") {
  auto const seen = child::run("a program that saves over what somebody laid there", {}, 30);
  INFO(seen.text);
  CHECK_FALSE(seen.hung);
  CHECK(seen.code == 0);
}

TEST_CASE("a second name of what is replaced keeps what it held") {
  folder const here;
  put(here / "m", "old");
  REQUIRE(link((here / "m").c_str(), (here / "backup").c_str()) == 0);
  save(here / "m");
  CHECK(bytes_of(here / "m") == "new");
  CHECK(bytes_of(here / "backup") == "old");
}

TEST_CASE("a file has the rights of the one that it replaces, a new one those of the process") {
  folder const here;
  std::string const path = here / "m";
  mode_t const before = umask(022);
  for (int const mask : {022, 077, 0}) {
    umask(mode_t(mask));
    for (int const mode : {0600, 0640, 0644, 0666, 0400, 0755}) {
      CAPTURE(mode);
      put(path, "old");
      CHECK(chmod(path.c_str(), mode_t(mode)) == 0);
      {
        runtime::atomic_file file(path);
        file.write("new", 3);
        CHECK(mode_of(path + ".part") == 0600);  // nobody reads what nobody may read later
        file.commit();
      }
      CHECK(mode_of(path) == mode);
      CHECK(bytes_of(path) == "new");
      put(path + ".part", "left by a writer that was killed");
      chmod((path + ".part").c_str(), 0644);
      save(path);
      CHECK(mode_of(path) == mode);
      CHECK(bytes_of(path) == "new");
      CHECK(remove(path.c_str()) == 0);
      save(path);
      CHECK(mode_of(path) == (0666 & ~mask));
      CHECK(remove(path.c_str()) == 0);
    }
  }
  umask(before);
}

TEST_CASE("the group of a file stays, or its rights go; root leaves files with their owners") {
  if (!is_root()) return;
  folder const here;
  std::string const path = here / "m";
  put(path, "old");
  REQUIRE(chown(path.c_str(), somebody, 12) == 0);
  chmod(path.c_str(), 0640);
  save(path);
  CHECK(status(path).st_uid == somebody);
  CHECK(status(path).st_gid == 12);
  CHECK(mode_of(path) == 0640);
  // a user who is not of group 12: what that group could read is not for his own group
  chmod(here.name, 0777);
  REQUIRE(chown(path.c_str(), somebody, 12) == 0);
  CHECK(as_somebody([&] { return save(path), true; }));
  CHECK(status(path).st_gid == somebody);
  CHECK(mode_of(path) == 0600);
  CHECK(bytes_of(path) == "new");
  // a file of root in a folder of all: it may be replaced, as ever, but not by what is beside it
  put(path, "old"), put(path + ".part", "laid there");
  CHECK(chown(path.c_str(), 0, 0) == 0);
  CHECK(chown((path + ".part").c_str(), 0, 0) == 0);
  CHECK(as_somebody([&] {
    return has(refusal(path), "it cannot be written") || has(refusal(path), "another user") ||
           has(refusal(path), "taken over");
  }));
  CHECK(bytes_of(path) == "old");
}

TEST_CASE("a program whose log goes where somebody laid something" * doctest::skip()) {
  folder const here;
  std::string const path = here / "log", victim = here / "victim";
  std::vector<trap> all(special.begin(), special.begin() + 5);
  all.push_back(hard_link);
  if (geteuid() == 0) all.push_back(foreign);
  struct writer {
    char const* subject;
    void (*open)(std::string const&);
  };
  for (writer const& by :
       {writer{"the log cannot be written to", [](auto& p) { debugging::log_to_json(p); }},
        writer{"a trace cannot be written to", [](auto& p) { runtime::open_trace(p, {}); }},
        writer{"a line cannot be added to", [](auto& p) {
                 close(runtime::open_output("a line cannot be added to", p,
                                            runtime::writing::at_the_end));
               }}})
    for (trap const& t : all) {
      INFO(by.subject, " ", t.kind);
      put(victim, "precious");
      REQUIRE(t.lay(path, victim));
      CHECK(message_of<bad_file>([&] { by.open(path); }) ==
            "locus: " + std::string(by.subject) + " " + path + ": " + t.kind +
                "; name a new file, or remove that one");
      CHECK(bytes_of(victim) == "precious");
      CHECK(access((here / "nowhere").c_str(), F_OK) != 0);
      CHECK(remove(path.c_str()) == 0);
    }
}

TEST_CASE("a log and a trace are written through no link, pipe or file of another") {
  auto const seen = child::run("a program whose log goes where somebody laid something", {}, 30);
  INFO(seen.text);
  CHECK_FALSE(seen.hung);
  CHECK(seen.code == 0);
}

TEST_CASE("an output is a new file, an old one emptied or gone on with, or a terminal's kin") {
  folder const here;
  std::string const path = here / "log";
  auto const write = [&](runtime::writing how, std::string const& text) {
    int const f = runtime::open_output("it cannot be written to", path, how);
    CHECK(runtime::write_all(f, text));
    CHECK((fcntl(f, F_GETFL) & O_NONBLOCK) == 0);
    close(f);
  };
  write(runtime::writing::anew, "one");
  write(runtime::writing::at_the_end, "two");
  CHECK(bytes_of(path) == "onetwo");
  write(runtime::writing::anew, "three");
  CHECK(bytes_of(path) == "three");
  int const null = runtime::open_output("it cannot be written to", "/dev/null");
  CHECK(runtime::write_all(null, "gone"));
  close(null);
}

TEST_CASE("the path of a log is a whole one: up to 4,095 characters, and none beyond") {
  folder const here;
  std::string path = here.name;
  while (path.size() < 3000) path += "/.";
  path += "/log";  // what its first 1,023 characters name is the folder
  debugging::log_to_json(path);
  runtime::open_trace(path + "%p", {});
  runtime::close_trace();
  debugging::log_to_json("");
  CHECK(access((here / "log").c_str(), F_OK) == 0);
  CHECK(bytes_of(here / ("log" + std::to_string(getpid()))).starts_with("{\"traceEvents\""));
  std::string percent = here / "";
  while (percent.size() < 4094) percent += "%p";  // as long as a path may be, until it is read
  percent.resize(4094);
  for (std::string const& bad :
       {path + std::string(2000, 'x'), percent, path + std::string("\0x", 2)}) {
    CHECK(has(message_of<bad_file>([&] { debugging::log_to_json(bad); }), ": its path "));
    CHECK(has(message_of<bad_file>([&] { runtime::open_trace(bad, {}); }), ": its path "));
    CHECK(has(refusal(bad), ": its path "));
  }
}

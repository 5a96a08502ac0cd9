// SPDX-License-Identifier: Apache-2.0
// A locale whose numbers have a comma, as those of German: made here, since a machine may have none.
#pragma once
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

/// During its lifetime the program has that locale; was_set: glibc took it.
class locale_with_comma {
 public:
  locale_with_comma() {
    // a compiled LC_NUMERIC of glibc: magic, six fields, their offsets; ",", ".", groups of 3, UTF-8
    static constexpr unsigned char bytes[] = {
        0x14, 0x11, 3,    0x20, 6,   0, 0,    0, 0x20, 0, 0,    0, 0x22, 0,   0,   0,   0x24, 0,
        0,    0,    0x28, 0,    0,   0, 0x2c, 0, 0,    0, 0x30, 0, 0,    0,   ',', 0,   '.',  0,
        3,    3,    0,    0,    ',', 0, 0,    0, '.',  0, 0,    0, 'U',  'T', 'F', '-', '8',  0};
    folder_ = "/tmp/locus_locale_" + std::to_string(getpid());
    mkdir(folder_.c_str(), 0700), mkdir((folder_ + "/comma").c_str(), 0700);
    if (std::FILE* const f = std::fopen(file().c_str(), "wb")) {
      std::fwrite(bytes, 1, sizeof bytes, f), std::fclose(f);
    }
    setenv("LOCPATH", folder_.c_str(), 1);
    was_set = std::setlocale(LC_NUMERIC, "comma") != nullptr;
  }
  locale_with_comma(locale_with_comma const&) = delete;
  ~locale_with_comma() {
    std::setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    unlink(file().c_str()), rmdir((folder_ + "/comma").c_str()), rmdir(folder_.c_str());
  }
  bool was_set = false;

 private:
  std::string file() const { return folder_ + "/comma/LC_NUMERIC"; }
  std::string folder_;
};

// SPDX-License-Identifier: Apache-2.0
// Reads zip archives, and checks sizes, names and sums before it uses them.
#pragma once

#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/zip.hpp>           // zip_member
#include <locus/runtime/input_file.hpp>  // input_file

namespace locus::data::detail {

/// means: the members of an archive, and their bytes
/// fails: bad_file naming path, member, expected and found
/// after: APPNOTE.TXT 6.3.10; one disk, no encryption, stored or deflated
class zip_reader {
 public:
  explicit zip_reader(std::string_view path) : path_(path), file_(path), size_(file_.size()) {
    read_directory();
  }
  std::string const& path() const { return path_; }
  std::vector<zip_member> const& members() const { return members_; }
  zip_member const* find(std::string_view name) const;

  /// means: the bytes of a member, after a check of its sum
  byte_block read(zip_member const& m) const;
  [[noreturn, gnu::cold]] void fail(std::string_view member, std::string_view expected,
                                    std::string_view found) const;

 private:
  static std::string number(std::uint64_t v) { return std::to_string(v); }
  void read_directory();
  unsigned char const* read_entry(unsigned char const* p, unsigned char const* last);
  void inflate_member(zip_member const& m, std::uint64_t begin, byte_block& out) const;
  std::string path_;
  runtime::input_file file_;
  std::uint64_t size_;
  std::vector<zip_member> members_;
};

}  // namespace locus::data::detail

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/zip_reader.hpp>  // bodies of the functions above
#endif

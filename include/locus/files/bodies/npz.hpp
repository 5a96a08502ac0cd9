// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/npz.hpp declares.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION
#include <locus/files/npz.hpp>    // the declarations

namespace locus::data {

LOCUS_FUNCTION npz_writer& npz_writer::add(std::string_view name, npy_type type,
                                           shape const& extents, void const* elements) {
  add_bytes(name, detail::npy_head(type, extents), elements,
            static_cast<std::size_t>(extents.size() * type.bytes));
  return *this;
}

LOCUS_FUNCTION void npz_writer::add_bytes(std::string_view name, std::string_view head,
                                          void const* p, std::size_t bytes) {
  bool known = name.empty() || name.size() > 65000;
  for (std::string const& n : names_) known = known || n == name;
  if (known) {
    message text;
    throw bad_file(text << "locus: " << shown(file_.path()).view() << ": an array named \""
                        << shown(name).view()
                        << "\" is added twice, or the name is empty or too long; "
                        << "give each array a name of its own");
  }
  names_.emplace_back(name);
  file_.add(names_.back() + ".npy", head, p, bytes, level_);
}

LOCUS_FUNCTION npz_file::npz_file(std::string_view path) : file_(path) {
  for (detail::zip_member const& m : file_.members()) {
    std::string_view n = m.name;
    if (n.ends_with(".npy")) n.remove_suffix(4);
    names_.emplace_back(n);
  }
}

LOCUS_FUNCTION bool npz_file::contains(std::string_view name) const {
  for (std::string const& n : names_)
    if (n == name) return true;
  return false;
}

LOCUS_FUNCTION npy_array npz_file::array(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name)
      return detail::parse_npy(file_.path() + ", member " + file_.members()[i].name,
                               file_.read(file_.members()[i]));
  std::string all;
  for (std::size_t i = 0; i < names_.size() && i < 12; ++i) all += (i ? ", " : "") + names_[i];
  file_.fail({}, "an array named " + std::string(name),
             names_.empty() ? "none at all" : all + (names_.size() > 12 ? ", ..." : ""));
}

LOCUS_FUNCTION npy_array load_npy(std::string_view path) {
  runtime::input_file file(path);
  byte_block all(file.size());
  if (!file.read(all.data.get(), all.size)) all.resize(0);  // the file shrank during the read
  return detail::parse_npy(path, std::move(all));
}

}  // namespace locus::data

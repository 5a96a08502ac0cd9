// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/npy.hpp declares.
#pragma once
#include <locus/core/error.hpp>   // bad_file
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/files/npy.hpp>    // the declarations
#include <locus/files/zip.hpp>    // little

LOCUS_COLD_BEGIN

namespace locus::data {

LOCUS_FUNCTION std::int64_t npy_array::size() const {  // no overflow: parse_npy checked it
  for (std::int64_t const e : extents)
    if (e == 0) return 0;
  std::int64_t n = 1;
  for (std::int64_t const e : extents) n *= e;
  return n;
}

LOCUS_FUNCTION std::string npy_array::extents_text() const {
  std::string s = "(";
  for (std::size_t a = 0; a < extents.size(); ++a) s += (a ? "," : "") + std::to_string(extents[a]);
  return s + ")";
}

LOCUS_FUNCTION void npy_array::fail(std::string_view expected, std::string_view found,
                                    std::string_view remedy) const {
  message text;
  throw bad_file(text << "locus: " << shown(name).view() << ": expected " << expected << ", found "
                      << shown(found).view() << "; " << remedy);
}

}  // namespace locus::data

namespace locus::data::detail {

LOCUS_FUNCTION npy_header npy_parser::parse() {
  npy_header h;
  bool has[3] = {};
  auto const take = [&](bool& already, std::string_view key) {
    if (already) fail("each key once", std::string("two of ") += key);
    already = true;
  };
  need('{');
  while (!skip('}')) {
    std::string_view const key = word();
    need(':');
    if (key == "descr")
      take(has[0], key), read_type(h);
    else if (key == "fortran_order")
      take(has[1], key), h.by_columns = truth();
    else if (key == "shape")
      take(has[2], key), read_extents(h);
    else
      fail("the keys descr, fortran_order and shape", key);
    if (!skip(',') && !ahead('}')) fail("a comma", rest_.substr(0, 8));
  }
  if (!has[0] || !has[1] || !has[2])
    fail("the keys descr, fortran_order and shape", "fewer of them");
  blank();
  if (!rest_.empty()) fail("the end of the header", rest_.substr(0, 8));
  std::int64_t bytes = h.type.bytes;  // known once both keys are read
  if (!bytes_of_extents(h.extents.data(), h.extents.size(), bytes))
    fail("an array that fits into memory", "extents beyond 2^63");
  return h;
}

LOCUS_FUNCTION void npy_parser::fail(std::string_view expected, std::string_view found,
                                     std::string_view remedy) const {
  message text;
  throw bad_file(text << "locus: " << shown(where_).view() << ": expected "
                      << shown(expected).view() << ", found " << shown(found).view() << "; "
                      << remedy);
}

LOCUS_FUNCTION void npy_parser::blank() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
    rest_.remove_prefix(1);
}

LOCUS_FUNCTION bool npy_parser::ahead(char c) {
  blank();
  return !rest_.empty() && rest_[0] == c;
}

LOCUS_FUNCTION bool npy_parser::skip(char c) {
  if (!ahead(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

LOCUS_FUNCTION std::string_view npy_parser::word() {
  char const quote = skip('\'') ? '\'' : '"';
  if (quote == '"') need('"');
  std::size_t const end = rest_.find(quote);
  if (end == rest_.npos) fail("a closed string", rest_.substr(0, 8));
  std::string_view const w = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return w;
}

LOCUS_FUNCTION bool npy_parser::truth() {
  blank();
  for (std::string_view const word : {"True", "False"})
    if (rest_.starts_with(word)) return rest_.remove_prefix(word.size()), word == "True";
  fail("True or False", rest_.substr(0, 8));
}

LOCUS_FUNCTION void npy_parser::read_type(npy_header& h) {
  char const* const remedy = "store each field, or its numbers, as an array of floats or integers";
  if (ahead('[')) fail("elements that are numbers", "records with fields", remedy);
  std::string_view const all = word();
  char const order =
      all.size() > 2 && std::string_view("<>|=").find(all[0]) != all.npos ? all[0] : '=';
  std::string_view const t = all.substr(order == all[0] ? 1 : 0);
  h.type = {t.size() > 1 ? t[0] : '?', t.size() == 2 && t[1] > '0' && t[1] <= '9' ? t[1] - '0'
                                       : t == "c16"                               ? 16
                                                                                  : 0};
  h.swapped = order == '>' && h.type.bytes > 1;
  bool const known = with_npy_type(h.type, [](auto) {});
  if (!known)
    fail("elements of type f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 or b1", all,
         all == "|O" ? "objects are Python's own: store numbers" : remedy);
}

LOCUS_FUNCTION void npy_parser::read_extents(npy_header& h) {
  need('(');
  while (!skip(')')) {
    blank();
    std::int64_t n = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9' && digits < 18)
      n = 10 * n + (rest_[digits++] - '0');
    rest_.remove_prefix(digits);
    if (digits == 0 || digits == 18) fail("an extent", rest_.substr(0, 8));
    if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // Python 2's suffix
    if (h.extents.size() == 64) fail("at most 64 axes", "more of them");
    h.extents.push_back(n);
    if (!skip(',') && !ahead(')')) fail("a comma", rest_.substr(0, 8));
  }
}

LOCUS_FUNCTION std::string npy_head(npy_type type, shape const& s) {
  std::string dict = std::string("{'descr': '") + (type.bytes > 1 ? '<' : '|') + type.text() +
                     "', 'fortran_order': False, 'shape': (";
  for (int a = 0; a < s.rank; ++a)
    dict += std::to_string(s.extent[a]) + (a + 1 < s.rank ? ", " : s.rank == 1 ? "," : "");
  dict += "), }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  zip_record r;
  r.put("\x93NUMPY").put<1>(1).put<1>(0).put<2>(dict.size()).put(dict);
  return r.text();
}

LOCUS_FUNCTION std::size_t npy_head_size(std::string_view where, byte_block const& file) {
  unsigned char const* const p = file.data.get();
  npy_parser const at_begin(where, {});
  if (file.size < 10 || __builtin_memcmp(p, "\x93NUMPY", 6) != 0)
    at_begin.fail("an array of NumPy, which begins with \\x93NUMPY", "other first bytes");
  int const version = p[6];
  if (version < 1 || version > 3)
    at_begin.fail("version 1, 2 or 3 of the format", std::to_string(version));
  std::size_t const head = version == 1 ? 10 : 12;
  if (file.size < head)
    at_begin.fail("a header, whose length stands in 4 bytes", "the end of the file",
                  "it was cut short: write or fetch it again");
  return head + (version == 1 ? little<2>(p + 8) : little<4>(p + 8));
}

LOCUS_FUNCTION npy_header read_npy_header(std::string_view where, byte_block const& file) {
  std::size_t const end = npy_head_size(where, file), head = file.data[6] == 1 ? 10 : 12;
  if (end > file.size)
    npy_parser(where, {}).fail("a header of " + std::to_string(end - head) + " bytes",
                               "the end of the file", "it was cut short: write or fetch it again");
  npy_parser parser(where, {reinterpret_cast<char const*>(file.data.get()) + head, end - head});
  npy_header h = parser.parse();
  h.begin = end;
  return h;
}

LOCUS_FUNCTION void require_npy_size(npy_array const& a, std::uint64_t found) {
  std::size_t const bytes = static_cast<std::size_t>(a.size() * a.type.bytes);
  if (bytes != found)
    npy_parser(a.name, {})
        .fail(std::to_string(bytes) + " bytes of elements for extents " + a.extents_text(),
              std::to_string(found), "write or fetch it again");
}

LOCUS_FUNCTION void swap_npy_bytes(npy_array& a) {
  auto const size = static_cast<std::size_t>(a.type.bytes);
  std::size_t const part = a.type.kind == 'c' ? size / 2 : size;
  for (unsigned char *e = a.bytes.data.get(), *const end = e + a.bytes.size; e < end; e += part)
    for (std::size_t k = 0; k < part / 2; ++k) std::swap(e[k], e[part - 1 - k]);
}

LOCUS_FUNCTION npy_array parse_npy(std::string_view where, byte_block file) {
  npy_header const h = read_npy_header(where, file);
  npy_array a;
  a.name = where, a.type = h.type, a.extents = h.extents;
  require_npy_size(a, file.size - h.begin);
  std::size_t const bytes = file.size - h.begin;
  auto const size = static_cast<std::size_t>(h.type.bytes);
  std::size_t const rank = a.extents.size();
  unsigned char const* const from = file.data.get() + h.begin;
  if (h.by_columns && rank > 1 && bytes > 0) {  // the first axis runs fastest: convert to row order
    a.bytes.resize(bytes);
    std::vector<std::size_t> index(rank), stride(rank, 1);
    for (std::size_t d = 1; d < rank; ++d)
      stride[d] = stride[d - 1] * static_cast<std::size_t>(a.extents[d - 1]);
    std::size_t source = 0;
    for (std::size_t to = 0; to < bytes; to += size) {
      __builtin_memcpy(&a.bytes.data[to], from + source * size, size);
      for (std::size_t d = rank; d-- > 0;) {
        source += stride[d];
        if (++index[d] < static_cast<std::size_t>(a.extents[d])) break;
        source -= stride[d] * index[d];
        index[d] = 0;
      }
    }
  } else {
    __builtin_memmove(file.data.get(), from, bytes);
    file.resize(bytes);
    a.bytes = std::move(file);
  }
  if (h.swapped) swap_npy_bytes(a);
  return a;
}

LOCUS_FUNCTION npy_rows::npy_rows(std::string_view path) : file_(path) {
  byte_block first(file_.size() < 12 ? file_.size() : 12);
  bool good = file_.read_at(0, first.data.get(), first.size);
  if (good && first.size >= 10) {
    std::size_t const end = npy_head_size(path, first);
    first.resize(end < file_.size() ? end : file_.size());
    good = file_.read_at(0, first.data.get(), first.size);
  }
  if (!good) first.resize(0);  // the file shrank
  header_ = read_npy_header(path, first);
  all_.name = path, all_.type = header_.type, all_.extents = header_.extents;
  require_npy_size(all_, file_.size() - header_.begin);
  if (all_.extents.empty())
    npy_parser(path, {}).fail("an array with rows", "a number", "read it with read_npy<T, 0>");
}

LOCUS_FUNCTION npy_array npy_rows::read(std::int64_t begin, std::int64_t end) const {
  npy_array part;
  part.name = all_.name, part.type = all_.type, part.extents = all_.extents;
  std::int64_t const n = part.extents[0];
  if (begin < 0 || end < begin || end > n) {
    message text;
    throw shape_error(text << "locus: " << shown(part.name).view() << ": rows " << begin << " to "
                           << end << " of " << n << " are asked for; name rows that it has");
  }
  if (header_.by_columns && part.extents.size() > 1)
    npy_parser(part.name, {})
        .fail("rows one after another", "columns one after another",
              "write it again with numpy.save(path, numpy.ascontiguousarray(a))");
  part.extents[0] = end - begin;
  std::size_t const bytes = static_cast<std::size_t>(part.size() * part.type.bytes);
  std::uint64_t const row =
      n > 0 ? std::uint64_t(all_.size() / n) * std::uint64_t(part.type.bytes) : 0;
  part.bytes.resize(bytes);
  if (!file_.read_at(header_.begin + std::uint64_t(begin) * row, part.bytes.data.get(), bytes))
    npy_parser(part.name, {}).fail(std::to_string(bytes) + " bytes", "the end of the file");
  if (header_.swapped) swap_npy_bytes(part);
  return part;
}

}  // namespace locus::data::detail

LOCUS_COLD_END

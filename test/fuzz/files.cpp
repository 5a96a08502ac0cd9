// SPDX-License-Identifier: Apache-2.0
// Fuzz targets that read files. The first byte of an input says in which form the rest reaches the
// reader: as it is, or inside what has right check sums, which mutations alone would not find.
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include <locus/data/from_files.hpp>
#include <locus/files/idx.hpp>
#include <locus/files/npz.hpp>
#include <locus/files/text.hpp>
#include <locus/locus.hpp>
#include <locus/nn/train/checkpoint.hpp>
#include <locus/predict.hpp>
#include <locus/tensor/any_tensor.hpp>

#include "fuzz.hpp"

using namespace locus;
using fuzz::demand;
using fuzz::done_or_refused;

namespace {

/// means: a path whose file has these bytes
std::string const& path_of(std::string_view bytes) {
  static int const file = memfd_create("locus fuzz", MFD_CLOEXEC);
  static std::string const path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fuzz::found("no memory file");
  return path;
}
std::string packed(std::string_view bytes, int window) {
  z_stream z{};
  if (deflateInit2(&z, 1, Z_DEFLATED, window, 1, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(bytes.size() + bytes.size() / 8 + 1024, ' ');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<unsigned>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data()),
  z.avail_out = static_cast<unsigned>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}
std::string gzipped(std::string_view bytes) { return packed(bytes, 10 + 16); }

struct member {
  std::string_view name, bytes;
};
/// means: an archive of those members with right sums
std::string archive(std::vector<member> const& members, bool deflated) {
  using data::detail::zip_record;
  std::string all, directory;
  for (member const& m : members) {
    std::string const body = deflated ? packed(m.bytes, -10) : std::string(m.bytes);
    auto const crc = crc32(0, reinterpret_cast<Bytef const*>(m.bytes.data()),
                           static_cast<unsigned>(m.bytes.size()));
    zip_record common, local, central;
    common.put<2>(0).put<2>(deflated ? 8 : 0).put<4>(0x210000).put<4>(crc).put<4>(body.size());
    common.put<4>(m.bytes.size()).put<2>(m.name.size()).put<2>(0);
    local.put<4>(data::detail::zip_local).put<2>(20).put(common.text()).put(m.name);
    central.put<4>(data::detail::zip_central).put<2>(20).put<2>(20).put(common.text());
    central.put<2>(0).put<2>(0).put<2>(0).put<4>(0).put<4>(all.size()).put(m.name);
    directory += central.text();
    all += local.text() + body;
  }
  zip_record end;
  end.put<4>(data::detail::zip_end).put<4>(0).put<2>(members.size()).put<2>(members.size());
  end.put<4>(directory.size()).put<4>(all.size()).put<2>(0);
  return all + directory + end.text();
}

/// means: what an array says of itself is true, and it becomes tensors or is refused
void look_at(data::npy_array const& a, std::size_t file_bytes) {
  std::int64_t n = 1;
  bool has_none = false;
  for (std::int64_t const e : a.extents) has_none = has_none || e == 0;
  for (std::int64_t const e : a.extents)
    demand(e >= 0 && (has_none || !__builtin_mul_overflow(n, e, &n)), "extents of no array");
  if (has_none) n = 0;
  demand(a.size() == n, "another size");
  demand(static_cast<std::uint64_t>(n) * static_cast<unsigned>(a.type.bytes) == a.bytes.size,
         "extents without their elements");
  demand(a.bytes.size <= file_bytes, "more elements than bytes");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < a.bytes.size; ++i) sum += a.bytes.data[i];
  demand(sum <= 255 * a.bytes.size, "a sum");
  static_cast<void>(a.extents_text());
  done_or_refused([&] { static_cast<void>(a.to_tensor<float, 1>()); });
  done_or_refused([&] { static_cast<void>(a.to_tensor<std::int32_t, 2>()); });
  done_or_refused([&] { static_cast<void>(a.to_tensor<bool, 0>()); });
  done_or_refused([&] { static_cast<void>(a.to_tensor<half, 3>()); });
}

void npy(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string all;
  if (form % 2 == 1) {  // a header around a dict and the elements behind it
    std::size_t const end = bytes.find('}');
    std::size_t const n = end == bytes.npos ? bytes.size() : end + 1;
    all = std::string("\x93NUMPY") + char(1 + form / 2 % 3) + '\0';
    all += {char(n & 255), char(n >> 8 & 255)};
    if (form / 2 % 3 > 0) all += std::string(2, '\0');
    bytes = all += bytes;
  }
  std::string const path = path_of(bytes);
  done_or_refused([&] { look_at(data::load_npy(path), bytes.size()); });
  done_or_refused([&] {
    data::detail::npy_rows const rows(path);
    std::int64_t const n = rows.extents()[0];
    look_at(rows.read(n / 3, n), bytes.size());
  });
}

void npz(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string all;
  if (form % 4 != 0) {
    std::size_t const half = bytes.size() / 2;
    if (form % 4 == 3)
      all = archive({{"a.npy", bytes.substr(0, half)}, {"b/c.npy", bytes.substr(half)}}, form & 4);
    else
      all = archive({{"a.npy", bytes}}, form % 4 == 2);
    if (form & 8)  // one of its bytes changed
      all[(form >> 4) * 7 % all.size()] =
          static_cast<char>(all[(form >> 4) * 7 % all.size()] ^ 0x11);
    bytes = all;
  }
  done_or_refused([&] {
    data::npz_file const f(path_of(bytes));
    for (std::string const& name : f.names()) {
      demand(f.contains(name), "a name that is not contained");
      done_or_refused([&] { look_at(f.array(name), 1040 * bytes.size()); });
    }
    done_or_refused([&] { static_cast<void>(f.array("nothing of that name")); });
  });
}

template <class T>
void idx_of(std::string const& path, unsigned rank) {
  auto const look = [](auto const& t) {  // reads every element
    double sum = 0;
    for (std::int64_t i = 0; i < t.size(); ++i) sum += t.data()[i] == t.data()[0];
    demand(sum <= double(t.size()), "more elements than there are");
  };
  if (rank == 0) look(data::read_idx<1, T>(path));
  if (rank == 1) look(data::read_idx<2, T>(path));
  if (rank == 2) look(data::read_idx<3, T>(path));
}
void idx(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string const all = form & 1 ? gzipped(bytes) : std::string(bytes);
  unsigned const rank = form / 2 % 3;
  done_or_refused([&] {
    std::string const& path = path_of(all);
    if (form / 8 % 3 == 0) idx_of<std::uint8_t>(path, rank);
    if (form / 8 % 3 == 1) idx_of<std::int32_t>(path, rank);
    if (form / 8 % 3 == 2) idx_of<double>(path, rank);
  });
}

void gz(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string all(bytes);
  if (form % 4 == 1) all = gzipped(bytes);
  if (form % 4 == 2) all = gzipped(bytes) + gzipped(bytes);
  if (form % 4 == 3) all = gzipped(bytes).substr(0, bytes.size());
  std::string const& path = path_of(all);
  done_or_refused([&] {
    data::gzip_file f(path);
    std::string text;
    for (std::string line; f.read_line(line);) text += line + "\n";
    if (form % 4 == 1 && text.size() > bytes.size() + 1) fuzz::found("more text than there is");
  });
  done_or_refused([&] {
    auto const t =
        data::read_flat<std::int8_t>(path, dextents<1>(static_cast<std::int64_t>(bytes.size())));
    if (form % 4 == 1)
      demand(t.size() == 0 || std::memcmp(t.data(), bytes.data(), bytes.size()) == 0,
             "other bytes");
  });
  done_or_refused([&] { data::read_flat<float>(path, dextents<2>(form * 1000, 77)); });
}

void csv(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string const all = form & 1 ? gzipped(bytes) : std::string(bytes);
  std::string const& path = path_of(all);
  data::csv_options const options{form & 2 ? '\t' : form & 4 ? '\0' : ',', int(form / 8 % 3)};
  [[maybe_unused]] int last = 0;
  done_or_refused([&] {
    for (auto const& [x, y, label] :
         data::from_csv<std::array<float, 2>, double, int>(path, options)) {
      demand(std::isfinite(x[0]) && std::isfinite(x[1]) && std::isfinite(y),
             "a number that is none");
      last = label;
    }
  });
  [[maybe_unused]] std::uint8_t value = 0;
  done_or_refused([&] {
    for (auto const& [name, b] : data::from_csv<std::string, std::uint8_t>(path, options))
      demand(name.find('\0') == name.npos && name.find('\n') == name.npos, "no field"), value = b;
  });
}

void text(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string const all = form & 1 ? gzipped(bytes) : std::string(bytes);
  std::string const& path = path_of(all);
  std::vector<std::string> lines;
  bool const whole = done_or_refused([&] {
    for (auto const& [line] : data::from_lines(path)) {
      demand(line.find('\0') == line.npos && line.find('\n') == line.npos, "no line");
      lines.push_back(line);
    }
  });
  std::string joined;
  for (std::string const& line : lines) joined += line;
  std::string expected;
  for (char const c : bytes)
    if (c != '\n' && c != '\r') expected += c;
  std::erase(joined, '\r');
  demand(!whole || joined == expected, "text that is lost");
  data::tokenizer t(
      {.words = form & 2 ? 5 : -1, .lower = (form & 4) != 0, .oov = form & 8 ? "?" : ""});
  t.fit(lines);
  auto const sequences = t.sequences(lines);
  auto const rows = data::pad_sequences(sequences, {.length = 1 + form / 16});
  for (std::int64_t i = 0; i < rows.size(); ++i)
    demand(rows.data()[i] >= 0 && rows.data()[i] < t.vocabulary() + 1,
           "a token beyond the vocabulary");
}

/// A small training, as a checkpoint sees it.
struct training {
  Tensor<float, Dextents<2>> kernel{{1, 2, 3}, {4, 5, 6}};
  Tensor<double, Dextents<1>> bias{7, 8};
  Tensor<float, Dextents<2>> momentum{{1, 2, 3}, {4, 5, 6}};
  std::int64_t iterations = 9;
  std::vector<nn::stored> weights() {
    return {{"dense/kernel", shape{2, {2, 3}}, true, kernel.block.get()},
            {"dense/bias", shape{1, {2}}, true, bias.block.get()}};
  }
  std::vector<nn::stored> slots() {
    return {{"sgd/dense/kernel", shape{2, {2, 3}}, false, momentum.block.get()}};
  }
  std::vector<nn::counter> counters() { return {{"sgd/iterations", &iterations}}; }
  bool is_as_made() const {
    for (int i = 0; i < 6; ++i)
      if (kernel.data()[i] != float(i + 1) || momentum.data()[i] != float(i + 1)) return false;
    return bias.data()[0] == 7 && bias.data()[1] == 8 && iterations == 9;
  }
};
void checkpoint(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  static constexpr std::string_view names[] = {"locus_checkpoint.npy",
                                               "weights/dense/kernel.npy",
                                               "weights/dense/bias.npy",
                                               "optimizer/sgd/dense/kernel.npy",
                                               "counters/sgd/iterations.npy",
                                               "position/epoch.npy",
                                               "position/step.npy",
                                               "position/step_of_epoch.npy",
                                               "position/seed.npy",
                                               "position/data_seed.npy",
                                               "weights/more.npy"};
  std::string all;
  if (form % 2 == 1) {  // members that each begin with an array's first bytes
    std::vector<member> members;
    for (std::size_t k = 0; k < std::size(names) && !bytes.empty(); ++k) {
      std::size_t const next = bytes.find("\x93NUMPY", 1);
      members.push_back({names[k], bytes.substr(0, next)});
      bytes.remove_prefix(next == bytes.npos ? bytes.size() : next);
    }
    bytes = all = archive(members, form & 2);
  }
  training t;
  nn::load const what = form & 4 ? nn::load::weights : nn::load::whole;
  std::string const& path = path_of(bytes);
  if (!done_or_refused(
          [&] { nn::load_checkpoint(path, t.weights(), t.slots(), t.counters(), what); }))
    demand(t.is_as_made(), "a refused checkpoint that changed a training");
  training u;
  if (!done_or_refused([&] { nn::import_weights(path, u.weights()); }))
    demand(u.is_as_made(), "refused weights that changed a training");
}

template <class Any>
void load_tensor(std::string_view bytes) {
  done_or_refused([&] {
    Any const t = Any::load(path_of(bytes));
    auto const host = t.template to<CpuDevice>();
    std::uint64_t const size =
        static_cast<std::uint64_t>(t.size()) * sizeof(typename Any::value_type);
    demand(bytes.size() == 128 + size, "a tensor of another size");
    demand(size == 0 || std::memcmp(host.data(), bytes.data() + 128, size) == 0, "other elements");
  });
}
void tensor_file(std::string_view bytes) {
  unsigned const form = fuzz::form_of(bytes);
  std::string all;
  if (form % 2 == 1 && bytes.size() >= 128) {  // with its sum, so that what it says is believed
    locus::detail::tensor_header h;
    std::memcpy(static_cast<void*>(&h), bytes.data(), sizeof h);
    h.bytes = bytes.size() - 128;
    h.checksum = locus::detail::checksum_of(h, bytes.data() + 128);
    all.assign(reinterpret_cast<char const*>(&h), sizeof h);
    bytes = all += bytes.substr(128);
  }
  load_tensor<AnyTensor<float, Dextents<2>>>(bytes);
  load_tensor<AnyTensor<std::uint8_t, Dextents<1>>>(bytes);
  load_tensor<AnyTensor<float, Extents<2, 3>>>(bytes);
}

/// a machine in a file, and what a step takes on it
void machine(std::string_view bytes) {
  done_or_refused([&] {
    machines::description const m = machines::from_file(path_of(bytes));
    demand(fuzz::is_printable(m.name), "a name of a machine that commands a terminal");
    step_list s(64);
    s.kernel("matmul", {0, 1e9}, {1e6, 1e7}).all_reduce(4e6).update("adam", 1e6, 1e7);
    auto const p = predict(s, m, {.rows_each = 32});
    for (int const n : {1, 2, 4}) {
      auto const row = p.at(n);
      demand(row.step_seconds_with_full_overlap >= 0 &&
                 row.step_seconds_with_full_overlap <= row.step_seconds_without_overlap,
             "bounds of a step that cross, or are no numbers");
    }
  });
}

}  // namespace

namespace fuzz {
target const file_targets[9] = {{"npy", npy},
                                {"npz", npz},
                                {"idx", idx},
                                {"gz", gz},
                                {"csv", csv},
                                {"text", text},
                                {"checkpoint", checkpoint},
                                {"tensor", tensor_file},
                                {"machine", machine}};
}  // namespace fuzz

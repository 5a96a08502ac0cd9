// SPDX-License-Identifier: Apache-2.0
// Arrays in files of NumPy: .npz archives and single .npy files. Link with -lz.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/npy.hpp>         // npy_array
#include <locus/files/zip_reader.hpp>  // zip_reader
#include <locus/tensor/eval.hpp>       // to
#include <locus/tensor/ranks.hpp>      // on_first, from_rows

namespace locus::data {

namespace detail {
template <class T>
constexpr npy_type require_npy_type() {
  static_assert(npy_type_of<T>().kind != '?',
                "locus: NumPy has no such element type; write cast<float>(x)");
  return npy_type_of<T>();
}
/// means: f(head, elements, bytes) with the elements of x on the host
template <class X, class F>
void with_host_elements(X const& x, F&& f) {
  using T = typename X::value_type;
  static_assert(npy_type_of<T>().kind != '?',
                "locus: NumPy has no such element type; write cast<float>(x)");
  if constexpr (std::is_base_of_v<tensor_base, X> && std::is_same_v<typename X::policy, CpuDevice>)
    f(npy_head(npy_type_of<T>(), x.extents().as_shape()), x.data(),
      static_cast<std::size_t>(x.size()) * sizeof(T));
  else
    with_host_elements(to<CpuDevice>(x), f);
}
}  // namespace detail

/// means: writes named arrays; save() makes the file visible, with all arrays or not at all
/// cost:  each add() writes its array and keeps nothing; deflate, if wanted, runs on one thread
/// fails: bad_file: a name is given twice or empty, or the system reports an error
/// after: numpy.savez(path, name=array), numpy.savez_compressed
class npz_writer {
 public:
  /// level: 0 stores, 1 (fast) to 9 (small) deflate
  explicit npz_writer(std::string_view path, int level = 0) : file_(path), level_(level) {}

  template <tensor X>
  npz_writer& add(std::string_view name, X const& x) {
    detail::with_host_elements(x, [&](std::string const& head, void const* p, std::size_t bytes) {
      add_bytes(name, head, p, bytes);
    });
    return *this;
  }
  template <number X>
  npz_writer& add(std::string_view name, X x) {
    add_bytes(name, detail::npy_head(detail::require_npy_type<X>(), {}), &x, sizeof x);
    return *this;
  }
  template <class T>
  npz_writer& add(std::string_view name, std::vector<T> const& x) {
    shape const s{1, {static_cast<std::int64_t>(x.size())}};
    add_bytes(name, detail::npy_head(detail::require_npy_type<T>(), s), x.data(),
              x.size() * sizeof(T));
    return *this;
  }
  /// elements in row order on the host
  npz_writer& add(std::string_view name, npy_type type, shape const& extents, void const* elements);
  void save() { file_.finish(); }

 private:
  void add_bytes(std::string_view name, std::string_view head, void const* p, std::size_t bytes);
  detail::zip_writer file_;
  std::vector<std::string> names_;
  int level_;
};

/// means: the arrays of an archive; each is read and checked at each read()
/// fails: bad_file naming path, member, expected and found
/// after: numpy.load(path)
class npz_file {
 public:
  explicit npz_file(std::string_view path);
  std::vector<std::string> const& names() const { return names_; }
  std::string const& path() const { return file_.path(); }
  bool contains(std::string_view name) const;
  npy_array array(std::string_view name) const;
  /// means: an array as a tensor on the host; see npy_array::to_tensor
  template <class T, int Rank>
  Tensor<T, Dextents<Rank>, CpuDevice> read(std::string_view name,
                                            call_site where = call_site::here()) const {
    return array(name).to_tensor<T, Rank>(where);
  }

 private:
  detail::zip_reader file_;
  std::vector<std::string> names_;
};

/// means: writes one array to a file     after: numpy.save
template <tensor X>
void write_npy(std::string_view path, X const& x) {
  auto const write = [&](auto const& host) {
    detail::with_host_elements(host,
                               [&](std::string const& head, void const* p, std::size_t bytes) {
                                 runtime::atomic_file file(path);
                                 file.write(head.data(), head.size());
                                 file.write(p, bytes);
                                 file.commit();
                               });
  };
  if constexpr (X::where.devices.is_over_ranks()) {
    auto const whole = to<CpuDevice>(x);
    ranks::on_first([&] { write(whole); });
  } else
    write(x);
}
/// means: the array in a .npy file     fails: bad_file, like npz_file     after: numpy.load
LOCUS_FUNCTION npy_array load_npy(std::string_view path);
template <class T, int Rank>
Tensor<T, Dextents<Rank>, CpuDevice> read_npy(std::string_view path,
                                              call_site where = call_site::here()) {
  return load_npy(path).to_tensor<T, Rank>(where);
}

/// means: rows [begin, end) of the array in a .npy file; no other rows are read
/// fails: as read_npy; shape_error: the file does not have these rows; bad_file: its columns lie one
///        after another
template <class T, int Rank>
Tensor<T, Dextents<Rank>, CpuDevice> read_npy_rows(std::string_view path, std::int64_t begin,
                                                   std::int64_t end,
                                                   call_site where = call_site::here()) {
  return detail::npy_rows(path).read(begin, end).template to_tensor<T, Rank>(where);
}
/// means: the array in a .npy file as a tensor in pieces over ranks: each rank reads its own rows
/// device: Rows, as in read_npy<double, 2, Sharded<0, Ranks<AllGpus>>>(path)
/// cost:  no traffic between ranks but two votes
/// fails: as read_npy_rows, on all ranks
template <class T, int Rank, device_policy Rows>
Tensor<T, Dextents<Rank>, Rows> read_npy(std::string_view path,
                                         call_site where = call_site::here()) {
  Tensor<T, Dextents<Rank>, CpuDevice> mine(Dextents<Rank>{});
  ranks::on_each([&] {
    detail::npy_rows const file(path);
    std::int64_t const n = file.extents()[0];
    place const at = runtime::place_now(Rows::value);
    mine = file.read(at.piece_begin(n, 0), at.piece_begin(n, at.local_count()))
               .template to_tensor<T, Rank>(where);
  });
  return ranks::from_rows<Rows>(mine);
}

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/npz.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// What the units of generate.py run in: leaves with data, results beside the oracle's.
#pragma once
#if LOCUS_RANDOM_RECORDER  // over the CUDA path
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/recorder.hpp>
#endif
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <locus/locus.hpp>

#include "datum.hpp"
#include "interpreter.hpp"

namespace random_expressions {

/// One run of one expression type: extents and data, what the oracle has, what was found.
struct world {
  std::int64_t m = 0, n = 0, k = 0;
  std::uint64_t seed = 0;
  int kind = 0;
  interpreter* oracle = nullptr;
  int const* roots = nullptr;
  std::int64_t compared = 0, exact = 0, skipped = 0;
  std::string failure;  // the first one
  int failed_root = -1;
  std::int64_t failed_at = -1;
  std::string want, is;
};

namespace detail {
/// elements of a block in row order on the host; fails: when copies of a mirrored tensor differ
inline std::vector<char> read(locus::tensor_block const& b, std::string& failure) {
  namespace rt = locus::runtime;
  auto const bytes = static_cast<std::size_t>(b.extents.size() * b.element_bytes);
  std::vector<char> all(bytes + 1), part;
  std::int64_t inner = b.element_bytes, outer = 1;
  int const axis = b.where.axis;
  if (b.where.is_sharded()) {
    for (int a = axis + 1; a < b.extents.rank; ++a) inner *= b.extents.extent[a];
    for (int a = 0; a < axis; ++a) outer *= b.extents.extent[a];
  }
  for (int r = 0; r < b.where.local_count(); ++r) {
    locus::piece const& p = b.pieces[r];
    part.assign(p.bytes + 1, 0);
    auto& d = rt::find_device(b.where.at(r));
    auto const record = locus::step_record{-1, "reading a result", d.name};
    if (d.is_host()) {
      rt::check_host_access(p.data, static_cast<std::int64_t>(p.bytes), false, record);
      if (p.bytes) std::memcpy(part.data(), p.data, p.bytes);
    } else {
      rt::synchronize(rt::copy(rt::find_device(locus::cpu(0)), part.data(), d, p.data,
                               static_cast<std::int64_t>(p.bytes), locus::queue_kind::compute,
                               record));
    }
    if (b.where.is_sharded()) {
      std::int64_t const n = b.extents.extent[axis], begin = b.where.piece_begin(n, r),
                         rows = b.where.piece_size(n, r);
      for (std::int64_t o = 0; o < outer && rows > 0; ++o)
        std::memcpy(all.data() + (o * n + begin) * inner, part.data() + o * rows * inner,
                    static_cast<std::size_t>(rows * inner));
    } else if (r == 0)
      std::memcpy(all.data(), part.data(), bytes);
    else if (std::memcmp(all.data(), part.data(), bytes) != 0)
      failure = "the copies of a mirrored result differ";
  }
  return all;
}
/// the block of a leaf, and the same elements for the oracle
template <class T>
void fill(world& w, int leaf, int node, locus::shape const& s, locus::tensor_block const& b) {
  auto const n = static_cast<std::size_t>(s.size());
  std::unique_ptr<T[]> const host(new T[n + 1]);
  values v{locus::element_of_v<T>, s, std::vector<cell>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    T const x = host[i] = datum<T>(w.seed, leaf, static_cast<std::int64_t>(i), w.kind);
    cell& c = v.cells[i];
    if constexpr (locus::is_floating_v<T>)
      c.v = static_cast<double>(x), c.terms = std::fabs(c.v);
    else
      c.i = static_cast<std::int64_t>(x);
  }
  locus::internal::fill_storage(b, host.get());
  if (!w.oracle->has(node)) w.oracle->set(node, std::move(v));
}
void compare(world& w, int root, locus::tensor_block const& b);
}  // namespace detail

template <class T, class E, class Where>
locus::Tensor<T, E, Where> leaf(world& w, int number, int node,
                                std::initializer_list<std::int64_t> e) {
  locus::shape s{static_cast<int>(e.size()), {}};
  int a = 0;
  for (std::int64_t const x : e) s.extent[a++] = x;
  locus::Tensor<T, E, Where> t{E(s)};
  detail::fill<T>(w, number, node, s, *t.block.get());
  return t;
}
inline void shape_of(world& w, int node, std::initializer_list<std::int64_t> e) {
  locus::shape s{static_cast<int>(e.size()), {}};
  int a = 0;
  for (std::int64_t const x : e) s.extent[a++] = x;
  w.oracle->set_shape(node, s);
}
template <class T, class E, class Where>
void check(world& w, int root, locus::Tensor<T, E, Where> const& t) {
  detail::compare(w, root, *t.block.get());
}

/// One expression type, as generate.py writes it.
struct expression_type {
  int number;
  node const* nodes;
  int node_count;
  int const* roots;
  int root_count;
  void (*run[3])(world&);  // prefer_gpu, follow_data, min_copies
  char const* text;        // of run, for the program that reproduces a failure
};
/// written by generate.py: the seed, and the program that reproduces a failure with gaps @...@
extern std::uint64_t const program_seed;
extern char const* const program_text;
/// all that this program holds
std::vector<expression_type>& all_types();
struct registered {
  explicit registered(expression_type const& t) { all_types().push_back(t); }
};

}  // namespace random_expressions

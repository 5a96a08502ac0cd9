// SPDX-License-Identifier: Apache-2.0
// The matrix product of locus, for any strides and element type. Small products read operands in
// place; larger ones pack blocks, which the tile kernel then reads contiguously from a cache. The
// cut of a sum depends on the extents only.
#pragma once
#include <locus/engine/host/gemm_tile.hpp>  // tiles, tile_call
#include <locus/ops/functors.hpp>           // add_fn
#include <locus/runtime/host_memory.hpp>    // host_memory
#include <locus/runtime/threads.hpp>        // parallel_for
#include <locus/work/matrix.hpp>            // matrix

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: threads worth using for a product of so many multiplications, at 50 for each nanosecond
inline int threads_for_product(std::int64_t multiplications) {
  return threads_worth(static_cast<float>(multiplications) * 0.02f);
}

/// Workspace of a kernel, on huge pages if it is large; data() is null without memory.
class scratch {
 public:
  explicit scratch(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    if (bytes_ > (1u << 17) && bytes_ < runtime::host_pool::huge) bytes_ = runtime::host_pool::huge;
    data_ = runtime::host_memory.allocate(bytes_);
  }
  scratch(scratch const&) = delete;
  ~scratch() {
    if (data_) runtime::host_memory.release(data_, bytes_);
  }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

namespace detail {

template <class T>
struct strided {
  T* data;
  std::int64_t row, column;  // strides
  T* at(std::int64_t i, std::int64_t j) const { return data + i * row + j * column; }
};
template <class T>
strided<T const> input_of(kernel::matrix const& m) {
  return {static_cast<T const*>(m.data), m.row_stride, m.column_stride};
}
template <class T>
strided<T> output_of(kernel::matrix const& m) {
  return {static_cast<T*>(m.data), m.row_stride, m.column_stride};
}

}  // namespace detail

/// means: the smaller number
constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
/// means: blocks of `each` elements that hold n elements
constexpr std::int64_t blocks_of(std::int64_t n, std::int64_t each) {
  return (n + each - 1) / each;
}

namespace detail {

// ---- small products: operands in place ----

inline constexpr int most_packed_rows = 12;
inline constexpr int most_tile_elements = most_packed_rows * 2 * 64;  // registers, lanes of bytes

/// c = a b; rows of b and c are contiguous and at least a register wide. The last tile overlaps the
/// one before it, and computes the same bits there again.
template <class T>
void open_rows(typename tile_set<T>::open_tiles const& tiles, tile_call<T> t, std::int64_t m) {
  int r = 0;
  while (tiles.rows[r] > m) ++r;
  std::int64_t const step = tiles.rows[r];
  T const* const a = t.a;
  T* const c = t.c;
  for (std::int64_t i = 0; i < m; i += step) {
    std::int64_t const at = least(i, m - step);
    t.a = a + at * t.a_row, t.c = c + at * t.c_row;
    tiles.run[r](t);
  }
}

}  // namespace detail

template <class T>
void open_product(tile_set<T> const& set, tile_call<T> t, std::int64_t m, std::int64_t n) {
  T const* const b = t.b;
  T* const c = t.c;
  for (std::int64_t j = 0; j < n;) {
    int const registers = n - j > set.lanes ? 2 : 1;
    int const wide = n >= registers * set.lanes ? registers : 1;
    std::int64_t const at = least(j, n - wide * set.lanes);
    t.b = b + at, t.c = c + at;
    detail::open_rows<T>(set.open[wide - 1], t, m);
    j = at + wide * set.lanes;
  }
}

namespace detail {

/// the same if rows of b or c have gaps, or are narrower than a register: through contiguous copies
template <class T>
[[gnu::noinline]] void small_product_of_copies(tile_set<T> const& set, kernel::matrix const& c,
                                               kernel::matrix const& b, tile_call<T> t) {
  constexpr int most = 64;
  alignas(64) T rows[most * most], result[most * most];
  std::int64_t const n = c.columns, wide = n < set.lanes ? set.lanes : n;
  strided<T const> const from = input_of<T>(b);
  for (std::int64_t p = 0; p < t.k; ++p) {
    for (std::int64_t j = 0; j < n; ++j) rows[p * wide + j] = *from.at(p, j);
    for (std::int64_t j = n; j < wide; ++j) rows[p * wide + j] = T(0);
  }
  t.b = rows, t.b_k = wide;
  t.c = result, t.c_row = wide;
  open_product(set, t, c.rows, wide);
  strided<T> const to = output_of<T>(c);
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) *to.at(i, j) = result[i * wide + j];
}
/// c = a b; no extent is larger than 64
template <class T>
void small_product(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  if (a.columns == 0) {  // the sum over no elements is 0
    strided<T> const to = output_of<T>(c);
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.columns; ++j) *to.at(i, j) = T(0);
    return;
  }
  tile_sets<T> const& sets = tiles<T>();
  tile_set<T> const& set = c.columns >= sets.wide.lanes ? sets.wide : sets.narrow;
  tile_call<T> const t{input_of<T>(a).data, input_of<T>(b).data, output_of<T>(c).data,
                       a.columns,           a.row_stride,        a.column_stride,
                       b.row_stride,        c.row_stride,        false};
  if (c.columns >= set.lanes && b.has_unit_rows() && c.has_unit_rows())
    open_product(set, t, c.rows, c.columns);
  else
    small_product_of_copies<T>(set, c, b, t);
}

// ---- large products: packed blocks ----

/// The sizes of blocks. units: elements
struct blocking {
  std::int64_t k, rows, columns;
};
template <class T>
constexpr blocking blocks_for = {sizeof(T) == 8 ? 320 : 512, 240,
                                 32768 / std::int64_t(sizeof(T)) / 2};

/// to: panels of `height` rows; in a panel, one column after another; the last panel is filled with
/// 0
template <class T>
void pack_rows(T* to, strided<T const> const& from, std::int64_t rows, std::int64_t columns,
               int height) {
  for (std::int64_t i = 0; i < rows; i += height, to += height * columns) {
    std::int64_t const here = least(height, rows - i);
    if (here < height)
      __builtin_memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(height * columns));
    if (from.row == 1 && here == height) {
      for (std::int64_t p = 0; p < columns; ++p)
        __builtin_memcpy(to + p * height, from.at(i, p), sizeof(T) * std::size_t(height));
    } else
      for (std::int64_t r = 0; r < here; ++r) {
        T const* x = from.at(i + r, 0);
        for (std::int64_t p = 0; p < columns; ++p) to[p * height + r] = x[p * from.column];
      }
  }
}
/// to: panels of `width` columns; in a panel, one row after another; the last panel is filled with
/// 0
template <class T>
void pack_columns(T* to, strided<T const> const& from, std::int64_t rows, std::int64_t columns,
                  int width) {
  if (width * int(sizeof(T)) == 128 && from.column == 1 && columns == width) {
    for (std::int64_t p = 0; p < rows; ++p)
      __builtin_memcpy(static_cast<void*>(to + p * width), from.at(p, 0), 128);
  } else
    pack_rows<T>(to, {from.data, from.column, from.row}, columns, rows, width);
}

/// c = packed rows times packed columns, or c += with accumulate
template <class T>
void packed_product(tile_set<T> const& set, strided<T> const& c, T const* rows, T const* columns,
                    std::int64_t m, std::int64_t n, std::int64_t k, bool accumulate) {
  int const height = set.packed_rows, width = set.packed_columns();
  alignas(64) T result[most_tile_elements];
  for (std::int64_t j = 0; j < n; j += width)
    for (std::int64_t i = 0; i < m; i += height) {
      std::int64_t const h = least(height, m - i), w = least(width, n - j);
      T* const to = c.at(i, j);
      tile_call<T> t{rows + i * k, columns + j * k, to, k, 0, 0, 0, c.row, accumulate};
      if (h == height && w == width && c.column == 1) {
        set.packed(t);
        continue;
      }
      t.c = result, t.c_row = width, t.accumulate = false;
      set.packed(t);
      for (std::int64_t y = 0; y < h; ++y)
        for (std::int64_t x = 0; x < w; ++x) {
          T& e = to[y * c.row + x * c.column];
          e = accumulate ? add_fn{}(e, result[y * width + x]) : result[y * width + x];
        }
    }
}

/// c = a b without workspace
template <class T>
void product_by_loops(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  strided<T const> const left = input_of<T>(a), right = input_of<T>(b);
  strided<T> const to = output_of<T>(c);
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T sum = T(0);
      for (std::int64_t p = 0; p < a.columns; ++p)
        sum = add_fn{}(sum, multiply_fn{}(*left.at(i, p), *right.at(p, j)));
      *to.at(i, j) = sum;
    }
}

template <class T>
void pack_all_columns(T* to, strided<T const> const& from, std::int64_t k, std::int64_t n,
                      int width, int threads) {
  parallel_for(static_cast<int>(blocks_of(n, width)), threads, [&](int block) {
    std::int64_t const j = std::int64_t(block) * width;
    pack_columns<T>(to + j * k, {from.at(0, j), from.row, from.column}, k, least(width, n - j),
                    width);
  });
}

template <class T>
void large_product(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  tile_set<T> const& set = tiles<T>().wide;
  std::int64_t const m = c.rows, n = c.columns, k = a.columns;
  int const threads = threads_for_product(m * n * k), height = set.packed_rows;
  blocking const cut = blocks_for<T>;
  strided<T const> const left = input_of<T>(a), right = input_of<T>(b);
  strided<T> const to = output_of<T>(c);
  // blocks of rows, times strips of columns: tasks for every thread
  std::int64_t rows = least(cut.rows, blocks_of(blocks_of(m, threads), height) * height);
  std::int64_t const width = set.packed_columns();
  std::int64_t const widest = blocks_of(least(n, cut.columns), width) * width;
  scratch const packed(std::int64_t(sizeof(T)) * widest * least(k, cut.k) + 4096);
  T* const columns = static_cast<T*>(packed.data());
  if (!columns) return product_by_loops<T>(c, a, b);
  for (std::int64_t j = 0; j < n; j += cut.columns) {
    std::int64_t const nc = least(cut.columns, n - j);
    std::int64_t const row_blocks = blocks_of(m, rows);
    std::int64_t strips = row_blocks >= 2 * threads ? 1 : blocks_of(2 * threads, row_blocks);
    if (threads == 1) strips = 1;
    std::int64_t const strip = blocks_of(blocks_of(nc, strips), width) * width;
    strips = blocks_of(nc, strip);
    std::int64_t p = 0;
    do {  // once even if k is 0
      std::int64_t const kc = least(cut.k, k - p);
      pack_all_columns<T>(columns, {right.at(p, j), right.row, right.column}, kc, nc, int(width),
                          threads);
      parallel_for(static_cast<int>(row_blocks * strips), threads, [&](int task) {
        std::int64_t const i = task / strips * rows, x = task % strips * strip;
        std::int64_t const mc = least(rows, m - i);
        scratch const block(std::int64_t(sizeof(T)) * (rows * kc) + 4096);
        alignas(64) T few[most_packed_rows * blocks_for<T>.k + 16 * most_packed_rows];
        T* const left_packed = block.data() ? static_cast<T*>(block.data()) : few;
        std::int64_t const each = block.data() ? mc : height;
        for (std::int64_t y = 0; y < mc; y += each) {
          std::int64_t const h = least(each, mc - y);
          pack_rows<T>(left_packed, {left.at(i + y, p), left.row, left.column}, h, kc, height);
          packed_product<T>(set, {to.at(i + y, j + x), to.row, to.column}, left_packed,
                            columns + x * kc, h, least(strip, nc - x), kc, p > 0);
        }
      });
    } while ((p += cut.k) < k);
  }
}

}  // namespace detail

/// means: small_product serves these extents
constexpr bool is_small(kernel::matrix const& c, kernel::matrix const& a) {
  return c.rows <= 64 && c.columns <= 64 && a.columns <= 64;
}

/// means: c[i][j] = sum over k of a[i][k] * b[k][j], for any element type
/// cost:  2 m n k operations; workspace for one block of each operand, none if all extents are at
///        most 64; without memory, plain loops
template <class T>
void product(kernel::matrix c, kernel::matrix a, kernel::matrix b) {
  if (c.rows == 0 || c.columns == 0) return;
  if (c.columns > 1 && c.column_stride != 1 && c.has_unit_columns())  // c is column-major
    return product<T>(c.transposed(), b.transposed(), a.transposed());
  if (is_small(c, a))
    detail::small_product<T>(c, a, b);
  else
    detail::large_product<T>(c, a, b);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host

// SPDX-License-Identifier: Apache-2.0
// A matrix product with one element-wise reader: computed in panels, each of which is read while a
// cache holds it. The cut, and with it the order of additions, depends on the extents only.
#pragma once
#include <locus/core/error.hpp>           // out_of_memory
#include <locus/core/pack.hpp>            // pack
#include <locus/engine/host/element.hpp>  // element_at
#include <locus/engine/host/gemm.hpp>     // packed_product, scratch
#include <locus/engine/host/map.hpp>      // map
#include <locus/engine/host/reduce.hpp>   // reduce
#include <locus/work/call.hpp>            // space, access
#include <locus/work/reducer.hpp>         // unfinished
#include <locus/work/stage.hpp>           // stage, fold_value

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: the part of a product with rows [i, i + rows) and columns [j, j + columns)
struct panel {
  std::int64_t i, j, rows, columns;
  void* data;
  std::int64_t row_stride;
  int part;  // group of rows: one thread reads its panels, in order
};

/// The cut of a product into panels.     units: elements
struct panel_cut {
  std::int64_t rows, columns;  // size of a panel
  std::int64_t packed;         // columns of b packed at a time; 0: product() computes each panel
  std::int64_t blocks;         // blocks of rows: one panel high
  int parts;                   // groups of blocks
  std::int64_t blocks_of_part(int part) const { return first_block(part + 1) - first_block(part); }
  std::int64_t first_block(int part) const { return blocks * part / parts; }
};

namespace detail {

inline constexpr std::int64_t deepest_packed = 1024;  // largest k of packed panels

template <class T>
panel_cut cut_panels(std::int64_t m, std::int64_t n, std::int64_t k, int most_parts) {
  tile_set<T> const& set = tiles<T>().wide;
  panel_cut cut{};
  bool const fits_cache = m * n * std::int64_t(sizeof(T)) <= (1 << 18);
  if (fits_cache || k > deepest_packed || k == 0) {
    cut.rows = fits_cache ? m : least(m, 1024), cut.columns = fits_cache ? n : least(n, 1024);
    cut.packed = 0;
  } else {
    std::int64_t const height = set.packed_rows, width = 1024 / std::int64_t(sizeof(T));
    std::int64_t const few = blocks_of(blocks_of(m, 16), height) * height;
    cut.rows = least(few, 240), cut.columns = least(n, width);
    std::int64_t const most = (std::int64_t(8) << 20) / std::int64_t(sizeof(T)) / k / width * width;
    cut.packed = most < width ? width : least(most, 16 * width);
  }
  cut.blocks = blocks_of(m, cut.rows);
  cut.parts = static_cast<int>(least(cut.blocks, most_parts));
  return cut;
}

[[noreturn, gnu::cold]] inline void refuse_workspace(std::int64_t bytes) {
  message text;
  throw out_of_memory(text << "locus: the host has no " << bytes
                           << " bytes of workspace for a matmul in panels");
}

/// means: read(panel) for each panel; panels of one part are read one after another, in a fixed
///        order
template <class T, class Read>
void for_each_panel(panel_cut const& cut, kernel::matrix const& a, kernel::matrix const& b,
                    Read const& read) {
  tile_set<T> const& set = tiles<T>().wide;
  std::int64_t const m = a.rows, n = b.columns, k = a.columns;
  int const width = set.packed_columns(), height = set.packed_rows;
  std::int64_t const size = std::int64_t(sizeof(T));
  std::int64_t const row_stride = blocks_of(cut.columns, width) * width;
  std::int64_t const panel_bytes = cut.rows * row_stride * size;
  if (cut.packed == 0) {
    scratch const memory(panel_bytes);
    if (!memory.data()) refuse_workspace(panel_bytes);
    for (std::int64_t j = 0; j < n; j += cut.columns)
      for (int part = 0; part < cut.parts; ++part)
        for (std::int64_t block = cut.first_block(part); block < cut.first_block(part + 1);
             ++block) {
          std::int64_t const i = block * cut.rows;
          panel const p{
              i,          j,   least(cut.rows, m - i), least(cut.columns, n - j), memory.data(),
              row_stride, part};
          kernel::matrix left = a, right = b;
          left.data = const_cast<T*>(input_of<T>(a).at(i, 0)), left.rows = p.rows;
          right.data = const_cast<T*>(input_of<T>(b).at(0, j)), right.columns = p.columns;
          product<T>({p.data, p.rows, p.columns, p.row_stride, 1}, left, right);
          read(p);
        }
    return;
  }
  int const wanted = threads_for_product(m * n * k);
  int const threads = wanted < cut.parts ? wanted : cut.parts;
  std::int64_t const packed_columns = blocks_of(least(n, cut.packed), width) * width;
  std::int64_t const columns_bytes = packed_columns * k * size + 4096;
  std::int64_t const rows_bytes = cut.rows * k * size + 4096;
  std::int64_t const bytes = columns_bytes + threads * (rows_bytes + panel_bytes);
  scratch const memory(bytes);
  if (!memory.data()) refuse_workspace(bytes);
  auto* const first = static_cast<char*>(memory.data());
  T* const columns = reinterpret_cast<T*>(first);
  strided<T const> const left = input_of<T>(a), right = input_of<T>(b);
  for (std::int64_t j = 0; j < n; j += cut.packed) {
    std::int64_t const nc = least(cut.packed, n - j);
    pack_all_columns<T>(columns, {right.at(0, j), right.row, right.column}, k, nc, width, threads);
    int taken = 0;
    parallel_for(threads, threads, [&](int worker) {
      char* const mine = first + columns_bytes + worker * (rows_bytes + panel_bytes);
      T* const packed_rows = reinterpret_cast<T*>(mine);
      T* const result = reinterpret_cast<T*>(mine + rows_bytes);
      for (int part; (part = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < cut.parts;)
        for (std::int64_t block = cut.first_block(part); block < cut.first_block(part + 1);
             ++block) {
          std::int64_t const i = block * cut.rows, mc = least(cut.rows, m - i);
          pack_rows<T>(packed_rows, {left.at(i, 0), left.row, left.column}, mc, k, height);
          for (std::int64_t x = 0; x < nc; x += cut.columns) {
            std::int64_t const wide = least(cut.columns, nc - x);
            packed_product<T>(set, {result, row_stride, 1}, packed_rows, columns + x * k, mc, wide,
                              k, false);
            read(panel{i, j + x, mc, wide, result, row_stride, part});
          }
        }
    });
  }
}

/// means: moves operand k to element (i, j) of the space
template <class Kind>
void move_to(kernel::access& a, std::int64_t i, std::int64_t j) {
  std::int64_t const by = i * a.stride[0] + j * a.stride[1];
  if constexpr (std::is_same_v<Kind, kernel::own_offset>)
    a.base += by;
  else if (a.data)  // null while a workspace is measured
    a.data = static_cast<typename Kind::type*>(a.data) + by;
}
template <class... Kinds>
void move_all_to(kernel::access* a, std::int64_t i, std::int64_t j, type_list<Kinds...>) {
  int k = 0;
  (move_to<Kinds>(a[k++], i, j), ...);
}
inline kernel::space space_of(panel const& p, axis_set axes) {
  kernel::space s;
  s.rank = 2, s.axes = axes, s.extent[0] = p.rows, s.extent[1] = p.columns;
  return s;
}

/// means: the product is computed whole instead: it is small or empty, or it is broadcast
template <class T>
bool reads_whole(kernel::space const& over, kernel::matrix const& a, kernel::matrix const& b) {
  std::int64_t const m = a.rows, n = b.columns;
  return over.extent[0] != m || over.extent[1] != n || m * n == 0 ||
         m * n * std::int64_t(sizeof(T)) <= (1 << 18);
}
/// means: run(access to the whole product)
template <class T, class Run>
void with_whole_product(kernel::space const& over, kernel::matrix const& a, kernel::matrix const& b,
                        Run const& run) {
  std::int64_t const m = a.rows, n = b.columns, bytes = m * n * std::int64_t(sizeof(T)) + 1;
  scratch const memory(bytes);
  if (!memory.data()) refuse_workspace(bytes);
  product<T>({memory.data(), m, n, n, 1}, a, b);  // its bits do not depend on threads
  kernel::access x{memory.data(), 0, {}};
  x.stride[0] = m == 1 && over.extent[0] != 1 ? 0 : n;
  x.stride[1] = n == 1 && over.extent[1] != 1 ? 0 : 1;
  run(x);
}
inline kernel::access access_of(panel const& p) {
  kernel::access x{p.data, 0, {}};
  x.stride[0] = p.row_stride, x.stride[1] = 1;
  return x;
}

}  // namespace detail

/// means: a map whose input `Product` is the product a b
template <class T, int Product, class Stage, class... Ins, class... Outs>
void map_in_panels(Stage const& f, kernel::space const& over, kernel::access const* operands,
                   kernel::matrix const& a, kernel::matrix const& b, type_list<Ins...> ins,
                   type_list<Outs...> outs) {
  constexpr int all = sizeof...(Ins) + sizeof...(Outs);
  auto run = [&](kernel::space const& s, kernel::access const& product, std::int64_t i,
                 std::int64_t j) {
    kernel::access here[all];
    for (int k = 0; k < all; ++k) here[k] = operands[k];
    detail::move_all_to(here, i, j, type_list<Ins..., kernel::elements_of<Outs>...>{});
    here[Product] = product;
    map(f, s, here, ins, outs);
  };
  if (detail::reads_whole<T>(over, a, b))
    return detail::with_whole_product<T>(
        over, a, b, [&](kernel::access const& product) { run(over, product, 0, 0); });
  panel_cut const cut = detail::cut_panels<T>(a.rows, b.columns, a.columns, 1 << 16);
  detail::for_each_panel<T>(cut, a, b, [&](panel const& p) {
    run(detail::space_of(p, 0), detail::access_of(p), p.i, p.j);
  });
}

/// Folds that read a product in panels: totals of panels are combined, then totals of parts in
/// order.
template <class T, int Product, class Reducers, class Stage, class Rest, class Ins, class Rows,
          class ElementOuts, class Outs>
struct panel_folds;
template <class T, int Product, class... Reducers, class Stage, class Rest, class... Ins,
          class... Rows, class... ElementOuts, class... Outs>
struct panel_folds<T, Product, type_list<Reducers...>, Stage, Rest, type_list<Ins...>,
                   type_list<Rows...>, type_list<ElementOuts...>, type_list<Outs...>> {
  static constexpr int folds = sizeof...(Reducers), ins = sizeof...(Ins), rows = sizeof...(Rows),
                       elements = sizeof...(ElementOuts), outs = sizeof...(Outs),
                       all = ins + rows + elements + outs;
  using totals = pack<typename Reducers::total...>;
  template <int N>
  using reducer = at_t<N, type_list<Reducers...>>;

  Stage const& f;
  Rest const& rest;
  kernel::mean_counts<folds> const& means;
  kernel::space over;
  kernel::access const* operands;

  bool folds_axis(int d) const { return has_axis(over.axes, d); }
  /// means: the output of element (i, j)
  std::int64_t number(std::int64_t i, std::int64_t j) const {
    return (folds_axis(0) ? 0 : i) + (folds_axis(1) ? 0 : j);
  }
  std::int64_t outputs() const {
    return folds_axis(0) ? (folds_axis(1) ? 1 : over.extent[1]) : over.extent[0];
  }

  void run(kernel::matrix const& a, kernel::matrix const& b) const {
    if (detail::reads_whole<T>(over, a, b)) return run_whole(a, b);
    // a set of totals for each part if parts share outputs
    panel_cut const cut =
        detail::cut_panels<T>(a.rows, b.columns, a.columns, folds_axis(1) ? 64 : 16);
    std::int64_t const n = outputs(), sets = folds_axis(0) ? cut.parts : 1;
    std::int64_t const bytes = n * sets * std::int64_t(sizeof(totals));
    scratch const memory(bytes);
    if (!memory.data()) detail::refuse_workspace(bytes);
    auto* const sums = static_cast<totals*>(memory.data());
    for (std::int64_t k = 0; k < n * sets; ++k) sums[k] = totals{{Reducers::identity()}...};
    detail::for_each_panel<T>(
        cut, a, b, [&](panel const& p) { read(p, sums + (folds_axis(0) ? p.part * n : 0)); });
    for (std::int64_t o = 0; o < n; ++o) {
      for (std::int64_t k = 1; k < sets; ++k) combine(sums[o], sums[k * n + o]);
      finish(sums[o], o);
    }
  }

 private:
  void run_whole(kernel::matrix const& a, kernel::matrix const& b) const {
    detail::with_whole_product<T>(over, a, b, [&](kernel::access const& product) {
      kernel::access here[all];
      for (int k = 0; k < all; ++k) here[k] = operands[k];
      here[Product] = product;
      reduce<false>(type_list<Reducers...>{}, f, rest, means, over, here, type_list<Ins...>{},
                    type_list<Rows...>{}, type_list<ElementOuts...>{}, type_list<Outs...>{});
    });
  }
  static void combine(totals& t, totals const& other) {
    for_each_index<folds>(
        [&](auto n) { get<n>(t) = reducer<n>::combine(get<n>(t), get<n>(other)); });
  }
  template <std::size_t... N>
  static auto give_totals(std::index_sequence<N...>) {
    using tree = type_list<kernel::fold_value<int(N), typename Reducers::total>...>;
    return kernel::stage<type_list<>, tree>{{}, {}};
  }
  /// means: combines the totals of one panel with those of its outputs
  void read(panel const& p, totals* sums) const {
    kernel::access here[ins + elements + folds];
    for (int k = 0; k < ins; ++k) here[k] = operands[k];
    for (int k = 0; k < elements; ++k) here[ins + k] = operands[ins + rows + k];
    detail::move_all_to(here, p.i, p.j, type_list<Ins..., kernel::elements_of<ElementOuts>...>{});
    here[Product] = detail::access_of(p);
    std::int64_t const n = folds_axis(0) ? (folds_axis(1) ? 1 : p.columns) : p.rows;
    auto bytes_of = [n](std::size_t each) { return (n * std::int64_t(each) + 63) / 64 * 64; };
    std::int64_t const bytes = (bytes_of(sizeof(typename Reducers::total)) + ... + 0);
    scratch const memory(bytes);
    if (!memory.data()) detail::refuse_workspace(bytes);
    auto* to = static_cast<char*>(memory.data());
    pack<typename Reducers::total*...> results{};
    for_each_index<folds>([&](auto k) {
      using total = typename reducer<k>::total;
      get<k>(results) = reinterpret_cast<total*>(to), to += bytes_of(sizeof(total));
    });
    for_each_index<folds>([&](auto k) {
      kernel::access& out = here[ins + elements + k];
      out = {get<k>(results), 0, {}};
      for (int d = 0; d < 2; ++d) out.stride[d] = folds_axis(d) ? 0 : 1;
    });
    auto const give = give_totals(std::make_index_sequence<std::size_t(folds)>{});
    reduce<false>(type_list<kernel::unfinished<Reducers>...>{}, f, give, means,
                  detail::space_of(p, over.axes), here, type_list<Ins...>{}, type_list<>{},
                  type_list<ElementOuts...>{}, type_list<typename Reducers::total...>{});
    totals* const first = sums + number(p.i, p.j);
    for (std::int64_t o = 0; o < n; ++o) {
      totals mine;
      for_each_index<folds>([&](auto k) { get<k>(mine) = get<k>(results)[o]; });
      combine(first[o], mine);
    }
  }
  template <std::size_t... K>
  pack<typename Rows::type...> row_values(std::int64_t const* at, std::index_sequence<K...>) const {
    return {{element_at<Rows>(operands[ins + int(K)], at[ins + int(K)])}...};
  }
  void finish(totals const& t, std::int64_t o) const {
    std::int64_t at[all];
    for (int k = 0; k < all; ++k)
      at[k] = folds_axis(0) ? (folds_axis(1) ? 0 : o * operands[k].stride[1])
                            : o * operands[k].stride[0];
    pack<typename Reducers::result...> done;
    for_each_index<folds>(
        [&](auto n) { get<n>(done) = reducer<n>::finish(get<n>(t), means.of[n]); });
    auto const r = rest(row_values(at, std::index_sequence_for<Rows...>{}), done);
    for_each_index<outs>([&](auto m) {
      constexpr int k = ins + rows + elements + m;
      static_cast<at_t<m, type_list<Outs...>>*>(operands[k].data)[at[k]] = get<m>(r);
    });
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host

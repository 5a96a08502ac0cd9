// SPDX-License-Identifier: Apache-2.0
// Reproducible sums on the host, in the order of work/ordered_sum.hpp. Values are computed in rows
// of 256, one for each lane, and added to the lanes; if the innermost axis is kept, 32 neighbouring
// outputs are added together.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_ORDERED_SUM)
#define LOCUS_ENGINE_HOST_ORDERED_SUM
#include <locus/engine/host/element.hpp>          // element_at
#include <locus/engine/host/packet_rounding.hpp>  // packet_results, runs_on_packets
#include <locus/runtime/host_memory.hpp>          // host_memory
#include <locus/runtime/threads.hpp>              // parallel_for
#include <locus/work/call.hpp>                    // space, access, collapse
#include <locus/work/ordered_sum.hpp>             // lanes, chunk, add_lanes

#define LOCUS_CLONED <locus/engine/host/ordered_sum.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: the outputs of work = work.rest(row inputs, the sum of work.f(elements))
template <class Work>
void ordered_sum(Work const& work) {
  using ins = typename Work::inputs;
  using rows = typename Work::row_inputs;
  using outs = typename Work::outputs;
  LOCUS_CHOSEN(host, ordered_summing<Work, ins, rows, outs>::of)(work);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: to[j] = f(input k at offset[k] + j * stride[k], ...) for j in [0, n)
template <class Stage, class T, class... Ins>
struct value_row {
  static constexpr int widest = [] {
    std::size_t bytes = sizeof(T);
    ((bytes = sizeof(typename Ins::type) > bytes ? sizeof(typename Ins::type) : bytes), ...);
    return static_cast<int>(bytes);
  }();
  static constexpr int lanes = simd::native_bytes / widest;
  static constexpr bool has_index = (std::is_same_v<Ins, kernel::own_offset> || ...);
  static constexpr bool on_packets = !has_index && runs_on_packets<lanes, Stage>;
  static constexpr int count = sizeof...(Ins);

  template <class Kind>
  LOCUS_VECTOR_FUNCTION static auto packet_at(kernel::access const& a, std::int64_t offset,
                                              std::int64_t stride) {
    auto const* const p = static_cast<typename Kind::type const*>(a.data) + offset;
    if (stride == 1) return simd::load<lanes>(p);
    auto const same = simd::broadcast<lanes>(*p);
    return same;
  }
  template <std::size_t... K>
  static void fill(Stage const& f, kernel::access const* a, std::int64_t const* offset,
                   std::int64_t const* stride, T* to, std::int64_t n, std::index_sequence<K...>) {
    std::int64_t j = 0;
    if constexpr (on_packets)
      if (((stride[K] == 0 || stride[K] == 1) && ... && true))
        for (; j + lanes <= n; j += lanes) {
          pack<decltype(packet_at<Ins>(a[K], 0, 0))...> const in{
              {packet_at<Ins>(a[K], offset[K] + j * stride[K], stride[K])}...};
          simd::store(to + j, get<0>(packet_results<lanes>(f, in, pack<>{})));
        }
    for (; j < n; ++j)
      to[j] = get<0>(
          f(pack<typename Ins::type...>{{element_at<Ins>(a[K], offset[K] + j * stride[K])}...},
            pack<>{}));
  }
};

template <class Work, class Ins, class Rows, class Outs>
class ordered_summing;
template <class Work, class... Ins, class... Rows, class... Outs>
class ordered_summing<Work, type_list<Ins...>, type_list<Rows...>, type_list<Outs...>> {
 public:
  static void of(Work const& work) { ordered_summing(work).run(); }
  explicit ordered_summing(Work const& work) : w_(work), s_(work.over) {
    for (int k = 0; k < all; ++k) a_[k] = work.operands[k];
    kernel::collapse(s_, a_, all);
    int const last = s_.rank - 1;
    side_by_side_ = !has_axis(s_.axes, last);
    width_ = side_by_side_ ? s_.extent[last] : 1;
    for (int d = 0; d < s_.rank; ++d) {
      bool const fold = has_axis(s_.axes, d);
      if (!fold && d == last) continue;  // its outputs are contiguous
      kernel::space& to = fold ? folded_ : kept_;
      (fold ? folded_axis_ : kept_axis_)[to.rank] = d;
      to.extent[to.rank++] = s_.extent[d];
    }
  }

  void run() {
    std::int64_t const groups = (width_ + columns - 1) / columns, runs = kept_.size() * groups;
    if (kept_.size() == 0 || width_ == 0) return;
    std::int64_t const length = folded_.size();
    std::int64_t const chunks = kernel::ordered_sum::chunks_of(length);
    std::int64_t const wide = side_by_side_ ? columns : 1;
    // as many outputs at a time as have totals of half a mebibyte
    std::int64_t batch = (std::int64_t(1) << 16) / (chunks * wide);
    if (batch < 1) batch = 1;
    if (batch > runs) batch = runs;
    host_totals const totals(batch * chunks * wide);
    int const threads = threads_worth(static_cast<float>(runs * wide * length) * 0.15f);
    for (std::int64_t first = 0; first < runs; first += batch) {
      std::int64_t const some = runs - first < batch ? runs - first : batch;
      std::int64_t const jobs = some * chunks, each = (jobs + 8 * threads - 1) / (8 * threads);
      parallel_for(static_cast<int>((jobs + each - 1) / each), threads, [&](int trip) {
        std::int64_t const end = (trip + 1) * each < jobs ? (trip + 1) * each : jobs;
        for (std::int64_t j = trip * each; j < end; ++j)
          add_chunk(first + j / chunks, groups, j % chunks, length,
                    totals.data + (j / chunks * wide) * chunks + j % chunks, chunks);
      });
      for (std::int64_t r = 0; r < some; ++r)
        finish(first + r, groups, totals.data + r * wide * chunks, chunks);
    }
  }

 private:
  using T = typename Work::type;
  using row = value_row<std::remove_cvref_t<decltype(Work::f)>, T, Ins...>;
  static constexpr int elements = sizeof...(Ins), rows = sizeof...(Rows), outs = sizeof...(Outs),
                       all = elements + rows + outs;
  static constexpr int columns = 32, lanes = kernel::ordered_sum::lanes,
                       chunk = kernel::ordered_sum::chunk;

  /// memory for the totals of chunks; its out_of_memory error names the purpose
  struct host_totals {
    explicit host_totals(std::int64_t n) : bytes(std::size_t(n) * sizeof(double)) {
      data = static_cast<double*>(runtime::host_memory.allocate(bytes));
      if (!data) {
        message text;
        throw out_of_memory(text << "locus: /CPU:0 has no " << n * std::int64_t(sizeof(double))
                                 << " bytes left for the totals of a reproducible sum");
      }
    }
    host_totals(host_totals const&) = delete;
    ~host_totals() { runtime::host_memory.release(data, bytes); }
    std::size_t bytes;
    double* data = nullptr;
  };

  static std::int64_t offset(kernel::space const& part, int const* axes, kernel::access const& a,
                             std::int64_t i) {
    std::int64_t at = 0;
    for (int d = part.rank; d-- > 0;) {
      at += i % part.extent[d] * a.stride[axes[d]];
      i /= part.extent[d];
    }
    return at;
  }

  /// means: the totals of chunk c: of one output, or of `columns` neighbouring outputs
  void add_chunk(std::int64_t run, std::int64_t groups, std::int64_t c, std::int64_t length,
                 double* totals, std::int64_t chunks) const {
    std::int64_t const begin = c * chunk, end = begin + chunk < length ? begin + chunk : length;
    std::int64_t at[elements + 1], stride[elements + 1];
    int const last = s_.rank - 1;
    std::int64_t const column = run % groups * columns;
    for (int k = 0; k < elements; ++k) {
      at[k] = offset(kept_, kept_axis_, a_[k], run / groups);
      stride[k] = a_[k].stride[last];
      if (side_by_side_) at[k] += column * stride[k];
    }
    if (side_by_side_) {
      std::int64_t const width = width_ - column < columns ? width_ - column : columns;
      add_columns(at, stride, begin, end, width, totals, chunks);
    } else
      add_lines(at, stride, begin, end, totals);
  }
  void add_lines(std::int64_t const* at, std::int64_t const* stride, std::int64_t begin,
                 std::int64_t end, double* total) const {
    alignas(64) T lane[lanes]{};
    alignas(64) T values[lanes];
    std::int64_t const n = folded_.extent[folded_.rank - 1];  // extent of the innermost folded axis
    std::int64_t here[elements + 1];
    for (std::int64_t i = begin; i < end; i += lanes) {
      int const some = static_cast<int>(end - i < lanes ? end - i : lanes);
      for (int have = 0; have < some;) {
        std::int64_t const inside = (i + have) % n;
        std::int64_t const k_left = n - inside < some - have ? n - inside : some - have;
        for (int k = 0; k < elements; ++k)
          here[k] = at[k] + offset(folded_, folded_axis_, a_[k], i + have);
        row::fill(w_.f, a_, here, stride, values + have, k_left, std::index_sequence_for<Ins...>{});
        have += static_cast<int>(k_left);
      }
      add_row(lane, values, some);
    }
    alignas(64) double wide[lanes];
    for (int l = 0; l < lanes; ++l) wide[l] = static_cast<double>(lane[l]);
    kernel::ordered_sum::add_lanes<1>(wide, total);
  }
  void add_columns(std::int64_t const* at, std::int64_t const* stride, std::int64_t begin,
                   std::int64_t end, std::int64_t width, double* totals,
                   std::int64_t chunks) const {
    alignas(64) T lane[lanes * columns]{};
    alignas(64) T values[columns]{};
    std::int64_t here[elements + 1];
    for (std::int64_t i = begin; i < end; ++i) {
      for (int k = 0; k < elements; ++k) here[k] = at[k] + offset(folded_, folded_axis_, a_[k], i);
      row::fill(w_.f, a_, here, stride, values, width, std::index_sequence_for<Ins...>{});
      T* const to = lane + (i - begin) % lanes * columns;
      for (int c = 0; c < columns; ++c) to[c] = to[c] + values[c];
    }
    alignas(64) double wide[lanes * columns], sums[columns];
    for (int l = 0; l < lanes * columns; ++l) wide[l] = static_cast<double>(lane[l]);
    kernel::ordered_sum::add_lanes<columns>(wide, sums);
    for (std::int64_t c = 0; c < width; ++c) totals[c * chunks] = sums[c];
  }
  static void add_row(T* lane, T const* values, int n) {
    constexpr int some = simd::native_bytes / int(sizeof(T));
    int j = 0;
    for (; j + some <= n; j += some)
      simd::store(lane + j, simd::add(simd::load<some>(lane + j), simd::load<some>(values + j)));
    for (; j < n; ++j) lane[j] = lane[j] + values[j];
  }

  void finish(std::int64_t run, std::int64_t groups, double* totals, std::int64_t chunks) const {
    std::int64_t const column = run % groups * columns;
    std::int64_t const width = !side_by_side_              ? 1
                               : width_ - column < columns ? width_ - column
                                                           : columns;
    for (std::int64_t c = 0; c < width; ++c) {
      std::int64_t at[all];
      for (int k = elements; k < all; ++k) {
        at[k] = offset(kept_, kept_axis_, a_[k], run / groups);
        if (side_by_side_) at[k] += (column + c) * a_[k].stride[s_.rank - 1];
      }
      end_of(kernel::ordered_sum::add_totals(totals + c * chunks, chunks), at,
             std::index_sequence_for<Rows...>{}, std::index_sequence_for<Outs...>{});
    }
  }
  template <std::size_t... R, std::size_t... M>
  void end_of(double total, std::int64_t const* at, std::index_sequence<R...>,
              std::index_sequence<M...>) const {
    auto const r = w_.rest(pack<typename Rows::type...>{{element_at<Rows>(
                               a_[elements + int(R)], at[elements + int(R)])}...},
                           w_.result(total));
    ((static_cast<Outs*>(a_[elements + rows + int(M)].data)[at[elements + rows + int(M)]] =
          get<M>(r)),
     ...);
  }

  Work const& w_;
  kernel::space s_, kept_, folded_;
  int kept_axis_[max_rank]{}, folded_axis_[max_rank]{};
  kernel::access a_[all];
  bool side_by_side_ = false;
  std::int64_t width_ = 1;
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

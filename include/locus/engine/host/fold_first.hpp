// SPDX-License-Identifier: Apache-2.0
// argmax of columns on packets: each lane keeps the largest value of its column, and the line that
// has it.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_FOLD_FIRST)
#define LOCUS_ENGINE_HOST_FOLD_FIRST
#include <locus/engine/host/fold_columns.hpp>  // fold_columns, column_loops

#define LOCUS_CLONED <locus/engine/host/fold_first.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: sums[j] = the first largest value of column first + j; the last input gives the index of
///        each element
template <class T, class Stage, class Kinds>
  requires((sizeof(T) == 4 || sizeof(T) == 8) && (is_floating_v<T> || is_integer_v<T>))
struct fold_columns<type_list<kernel::reducer<reduction::first_max, ranked<T>>>, Stage, Kinds,
                    type_list<>>
    : column_loops<type_list<kernel::reducer<reduction::first_max, ranked<T>>>, Stage, Kinds,
                   type_list<>> {
  using base = column_loops<type_list<kernel::reducer<reduction::first_max, ranked<T>>>, Stage,
                            Kinds, type_list<>>;
  using base::elements, base::most, typename base::pass, typename base::totals;
  using largest = typename pass::largest;
  using lanes = typename pass::lanes;
  using value_run = run_operands<typename pass::value_kinds, type_list<>>;
  static constexpr bool by_packets = true;
  static constexpr int N = lanes::N, number = elements - 1;
  using line_number = simd::signed_of<int(sizeof(T))>;

  static void run(Stage const& f, column_run const& c, totals* sums) {
    std::int64_t const lines = c.end - c.begin;
    // a line below another one has the higher index, and its number fits in a lane
    if (c.nest.folded.rank != 1 || way(c, number) < 0 || lines > (std::int64_t(1) << 31) - 1)
      return base::one_by_one(f, c, sums);
    best to;
    auto const values = pass::values_of::of(f);
    value_run r;
    std::int64_t steps[elements + 1]{};
    bool regular = largest::by_packets;
    for (int k = 0; k < number; ++k) {
      steps[k] = way(c, k);
      regular = regular && (c.operands[k].stride[c.last] == 1 || steps[k] == 0);
    }
    for (std::int64_t line = 0; line < lines; ++line) {
      if (line > 0 && regular)
        r.move(steps);
      else
        begin_line(r, c, c.begin + line);
      std::int64_t const each = !largest::by_packets || r.chunked ? chunk : c.width;
      for (std::int64_t j = 0; j < c.width; j += each) {
        std::int64_t const n = c.width - j < each ? c.width - j : each;
        if constexpr (largest::by_packets)
          to.add(values, r.read(j, n), r.steps, line, j, n);
        else {
          typename largest::buffers b;
          largest::compute(values, pack<>{}, r, j, n, b);
          to.add(typename largest::stored{}, largest::sources_of(b), largest::moves, line, j, n);
        }
      }
    }
    kernel::access const& a = c.operands[number];
    std::int64_t const index = a.base + c.at[number] + c.begin * way(c, number);
    for (std::int64_t j = 0; j < c.width; ++j)
      get<0>(sums[j]) = lines > 0 ? ranked<T>{to.value[j], index + to.line[j] * way(c, number) +
                                                               (c.first + j) * a.stride[c.last]}
                                  : pass::reducer::identity();
  }

 private:
  /// means: elements of operand k from a line to the next
  static std::int64_t way(column_run const& c, int k) {
    return c.operands[k].stride[c.nest.folded_axis[0]];
  }
  static void begin_line(value_run& r, column_run const& c, std::int64_t i) {
    std::int64_t at[elements + 1];
    for (int k = 0; k < number; ++k)
      at[k] = c.at[k] + i * way(c, k) + c.first * c.operands[k].stride[c.last];
    r.begin(c.operands, at, c.operands, at, c.last);
  }
  /// The largest value of each column so far, and the line that has it.
  struct alignas(64) best {
    T value[most];
    line_number line[most];

    template <class Values, class Sources>
    LOCUS_VECTOR_FUNCTION void add(Values const& f, Sources const& p, std::int64_t const* steps,
                                   std::int64_t number_of_line, std::int64_t first,
                                   std::int64_t n) {
      std::int64_t j = 0;
      for (; j + N <= n; j += N) {
        std::int64_t at[elements + 1]{};
        for (int k = 0; k < number; ++k) at[k] = j & steps[k];
        keep(get<0>(lanes::values(f, pack<>{}, p, at)), number_of_line, first + j);
      }
      if (j < n)
        keep(get<0>(lanes::tail(f, pack<>{}, p, steps, {}, j, n, true)), number_of_line, first + j);
    }
    LOCUS_VECTOR_FUNCTION void keep(packet<T, N> v, std::int64_t number_of_line, std::int64_t j) {
      auto const now = simd::broadcast<N>(static_cast<line_number>(number_of_line));
      if (number_of_line == 0) return simd::store(value + j, v), simd::store(line + j, now);
      auto const old = simd::load<N>(value + j);
      auto better = simd::greater(v, old);
      if constexpr (is_floating_v<T>) better.v |= simd::not_equal(v, v).v & simd::equal(old, old).v;
      simd::store(value + j, simd::select(better, v, old));
      simd::store(line + j, simd::select(better, now, simd::load<N>(line + j)));
    }
  };
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels on the host.
#pragma once
#include <locus/backend/host/line.hpp>  // line
#include <locus/kernel/call.hpp>        // space, access, collapse
#include <locus/runtime/threads.hpp>    // parallel_for

LOCUS_LOOPS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// threads for a kernel that touches that many bytes: one for each 128 KiB, so that waking them
/// pays
inline int threads_for(std::int64_t bytes) {
  std::int64_t const worth = bytes >> 17;
  if (worth < 2) return 1;
  int const all = thread_count();
  return worth < all ? static_cast<int>(worth) : all;
}

/// means: one operand that is written along one line
template <class T>
struct line_output {
  T* data;
  std::int64_t stride;
};

template <class Stage, class Ins, class Outs>
struct mapping;
/// means: out[m][i] = stage(in[k][i]...)[m] for every point i of the space
template <class Stage, class... Ins, class... Outs>
struct mapping<Stage, type_list<Ins...>, type_list<Outs...>> {
  static constexpr int in_count = sizeof...(Ins), out_count = sizeof...(Outs);
  using line_type = line<type_list<Ins...>>;
  using targets = pack<line_output<Outs>...>;

  /// one block of up to `block` elements; Whole: exactly so many
  template <bool Whole, class Folds>
  static void one_block(Stage const& f, Folds const& folds, typename line_type::pointers const& in,
                        targets const& out, std::int64_t i, int n) {
    bool direct = true;
    for_each_index<out_count>([&](auto m) { direct = direct && get<m>(out).stride == 1; });
    if (direct) {
      pack<Outs*...> to;
      for_each_index<out_count>([&](auto m) { get<m>(to) = get<m>(out).data + i; });
      store<Whole>(f, folds, in, to, n);
    } else {
      pack<array_of<Outs>...> buffers;
      pack<Outs*...> to;
      for_each_index<out_count>([&](auto m) { get<m>(to) = get<m>(buffers).values; });
      store<Whole>(f, folds, in, to, n);
      for_each_index<out_count>([&](auto m) {
        for (int j = 0; j < n; ++j)
          get<m>(out).data[(i + j) * get<m>(out).stride] = get<m>(buffers).values[j];
      });
    }
  }
  template <class Folds>
  static void run_line(Stage const& f, Folds const& folds, line_type& in, targets const& out,
                       std::int64_t n) {
    std::int64_t i = 0;
    for (; i + block <= n; i += block) one_block<true>(f, folds, in.at(i, block), out, i, block);
    if (i < n)
      one_block<false>(f, folds, in.at(i, static_cast<int>(n - i)), out, i,
                       static_cast<int>(n - i));
  }

 private:
  template <class T>
  struct array_of {
    T values[block];
  };
  template <bool Whole, class Folds>
  static void store(Stage const& f, Folds const& folds, typename line_type::pointers const& from,
                    pack<Outs*...> const& to, int n) {
    auto const in = from;  // copies that nothing else can point to
    auto const out = to;
    int const count = Whole ? block : n;
    LOCUS_IVDEP
    for (int j = 0; j < count; ++j) {
      auto const r = f(line_type::load(in, j), folds);
      for_each_index<out_count>([&](auto m) { get<m>(out)[j] = get<m>(r); });
    }
  }
};

/// means: for every point i of the space, out[m][i] = f(in[k][i]...)[m]
/// cost:  one pass; threads share rows, or parts of one row where there are few
template <class Stage, class... Ins, class... Outs>
void map(Stage const& f, kernel::space s, kernel::access const* operands, type_list<Ins...>,
         type_list<Outs...>) {
  using loop = mapping<Stage, type_list<Ins...>, type_list<Outs...>>;
  constexpr int ins = sizeof...(Ins), outs = sizeof...(Outs), all = ins + outs;
  kernel::access a[all];
  for (int k = 0; k < all; ++k) a[k] = operands[k];
  kernel::collapse(s, a, all);
  if (s.size() == 0) return;
  int const last = s.rank - 1;
  std::int64_t const n = s.extent[last];
  std::int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= s.extent[d];
  constexpr std::int64_t bytes = (sizeof(typename Ins::type) + ... + (sizeof(Outs) + ... + 0));
  // rows [begin, end), and of each the elements [first, first + length)
  auto run = [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t length) {
    Stage const mine = f;
    pack<> const no_folds{};
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t offset[all];
      for (int k = 0; k < all; ++k)
        offset[k] = (last ? kernel::offset_of(s, a[k], r, last) : 0) + first * a[k].stride[last];
      typename loop::line_type in(a, offset, last);
      typename loop::targets out;
      for_each_index<outs>([&](auto m) {
        using T = std::remove_pointer_t<decltype(get<m>(out).data)>;
        get<m>(out) = {static_cast<T*>(a[ins + m].data) + offset[ins + m], a[ins + m].stride[last]};
      });
      loop::run_line(mine, no_folds, in, out, length);
    }
  };
  int const threads = threads_for(rows * n * bytes);
  if (threads == 1) return run(0, rows, 0, n);
  if (rows >= 4 * threads) {
    std::int64_t const each = (rows + threads - 1) / threads;
    return parallel_for(threads, threads, [&](int task) {
      std::int64_t const begin = task * each;
      run(begin, begin + each < rows ? begin + each : rows, 0, n);
    });
  }
  std::int64_t const part = ((n + threads - 1) / threads + 1023) / 1024 * 1024;
  parallel_for(threads, threads, [&](int task) {
    std::int64_t const first = task * part;
    if (first < n) run(0, rows, first, n - first < part ? n - first : part);
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_LOOPS_END

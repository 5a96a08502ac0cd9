// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels on the host: on packets if every functor has a packet form.
#pragma once
#include <cstring>  // memset

#include <locus/engine/host/map_kernel.hpp>  // map_kernel
#include <locus/engine/host/nest.hpp>        // run_nest, run_plane, threads_for
#include <locus/engine/host/tiles.hpp>       // has_gaps
#include <locus/simd/instructions.hpp>       // LOCUS_CLONES, chosen_clone

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: the kernels of a stage, one for each instruction set; simd::chosen_clone() is the index
template <class Stage, class Folds, class Ins, class Outs>
inline constexpr loop_kernel map_kernels[] = {
    LOCUS_CLONES(host, map_kernel<Stage, Folds, Ins, Outs>::value)};

template <class Stage, class Folds, class Ins, class Outs>
loop_kernel const& map_kernel_now() {
  return map_kernels<Stage, Folds, Ins, Outs>[simd::chosen_clone()];
}

/// means: fills memory with zeros     cost: less than half of that of any other value
inline void clear(void const* context, plane const& p) {
  int const bytes = *static_cast<int const*>(context);
  plane_operand const& o = p.operands[0];
  for (std::int64_t r = 0; r < p.rows; ++r) {
    std::intptr_t const row = o.at + r * o.row;
    if (o.step == bytes)
      std::memset(reinterpret_cast<void*>(row), 0, static_cast<std::size_t>(p.n * bytes));
    else
      for (std::int64_t j = 0; j < p.n; ++j)
        std::memset(reinterpret_cast<void*>(row + j * o.step), 0, static_cast<std::size_t>(bytes));
  }
}
template <class T>
bool is_all_zero(T const& value) {
  unsigned char bytes[sizeof(T)], any = 0;
  __builtin_memcpy(bytes, &value, sizeof(T));
  for (unsigned char b : bytes) any = static_cast<unsigned char>(any | b);
  return any == 0;
}

/// means: out[m][i] = f(in[k][i]...)[m] for every point i of the space
template <class Stage, class... Ins, class... Outs>
void map(Stage const& f, kernel::space s, kernel::access const* operands, type_list<Ins...>,
         type_list<Outs...>) {
  constexpr int ins = sizeof...(Ins), all = ins + int(sizeof...(Outs));
  pack<> const no_folds{};
  auto const run = [&](loop_kernel const& loop, void const* context, int first) {
    if (s.rank == 1 && run_small_row(loop, context, s, operands + first)) return;
    kernel::access a[all];
    __builtin_memcpy(a, operands, sizeof a);
    run_nest(loop, context, s, a + first);
  };
  if constexpr (kernel::is_constant<Stage>) {
    auto const value = get<0>(f(pack<typename Ins::type...>{}, no_folds));
    if (is_all_zero(value)) {
      static constexpr int bytes[] = {int(sizeof value)};
      static constexpr loop_kernel zeros{&clear, 0, 1, 0, 0, bytes};
      return run(zeros, bytes, ins);
    }
  }
  map_context<Stage, pack<>> const context{f, &no_folds};
  run(map_kernel_now<Stage, pack<>, type_list<Ins...>, type_list<Outs...>>(), &context, 0);
}

/// means: the same for the rows of a plane, at most 16 of them, row r with folds[r]
template <class Stage, class Folds, class Ins, class Outs>
void map_rows(Stage const& f, Folds const* folds, plane const& p, Ins, Outs) {
  if (p.n == 0) return;  // a kernel pads short rows with their first element
  loop_kernel const& kernel = map_kernel_now<Stage, Folds, Ins, Outs>();
  constexpr int all = Ins::size + Outs::size;
  bool gaps = false;
  for (int k = 0; k < all && kernel.lanes != 0; ++k)
    gaps = gaps || has_gaps(p.operands[k].step, kernel.bytes[k]);
  if (!gaps) {
    map_context<Stage, Folds> const context{f, folds, 1};
    return p.n < kernel.lanes ? run_short_rows(kernel, &context, p) : kernel.rows(&context, p);
  }
  plane_operand one[all];
  for (int k = 0; k < all; ++k) one[k] = p.operands[k];
  for (std::int64_t r = 0; r < p.rows; ++r) {
    map_context<Stage, Folds> const context{f, folds + r};
    run_plane(kernel, &context, {one, 1, p.n, false});
    for (plane_operand& o : one) o.at += o.row;
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::host

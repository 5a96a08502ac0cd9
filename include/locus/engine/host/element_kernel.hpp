// SPDX-License-Identifier: Apache-2.0
// The innermost loop for functors without a packet form, such as lambdas: element by element, over
// contiguous operands, so that the compiler may vectorise it. Other operands pass through buffers.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_ELEMENT_KERNEL)
#define LOCUS_ENGINE_HOST_ELEMENT_KERNEL
#include <locus/core/macros.hpp>             // LOCUS_IVDEP
#include <locus/core/pack.hpp>               // pack, get
#include <locus/core/type_list.hpp>          // type_list
#include <locus/engine/host/row_kernel.hpp>  // plane, map_context
#include <locus/work/call.hpp>               // own_offset

#define LOCUS_CLONED <locus/engine/host/element_kernel.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_LOOPS_BEGIN
namespace LOCUS_SPACE(host) {

template <class Stage, class Folds, class Ins, class Outs, class InIndex, class OutIndex>
struct element_kernel_of;
/// means: out[m](r, j) = f(in[k](r, j)...)[m]
template <class Stage, class Folds, class... Ins, class... Outs, std::size_t... K, std::size_t... M>
struct element_kernel_of<Stage, Folds, type_list<Ins...>, type_list<Outs...>,
                         std::index_sequence<K...>, std::index_sequence<M...>> {
  static constexpr int ins = sizeof...(Ins), few = 64;
  template <class T>
  struct buffer {
    T values[few];
  };

  LOCUS_LOOP_FUNCTION static void rows(void const* context, plane const& p) {
    auto const& given = *static_cast<map_context<Stage, Folds> const*>(context);
    Stage const f = given.f;  // local copies: no pointer aliases them
    pack<buffer<typename Ins::type>...> from;
    pack<buffer<Outs>...> to;
    plane_operand const* const o = p.operands;
    bool const whole = (is_dense<Ins>(o[K].step) && ... && true) &&
                       ((o[ins + M].step == std::intptr_t(sizeof(Outs))) && ...);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      Folds const folds = given.folds[r * given.each];
      for (std::int64_t i = 0; i < p.n;) {
        std::int64_t const count = whole || p.n - i < few ? p.n - i : few;
        pack<typename Ins::type const*...> const in{
            {values<Ins>(get<K>(from).values, o[K].at + r * o[K].row, o[K].step, i, count)}...};
        pack<Outs*...> const out{{place(get<M>(to).values, o[ins + M], r, i)}...};
        LOCUS_IVDEP
        for (std::int64_t j = 0; j < count; ++j) {
          auto const results = f(pack<typename Ins::type...>{{get<K>(in)[j]}...}, folds);
          ((get<M>(out)[j] = get<M>(results)), ...);
        }
        (spread(get<M>(to).values, o[ins + M], r, i, count), ...);
        i += count;
      }
    }
  }

 private:
  template <class Kind>
  static bool is_dense(std::intptr_t step) {
    return !std::is_same_v<Kind, kernel::own_offset> &&
           step == std::intptr_t(sizeof(typename Kind::type));
  }
  /// means: elements [i, i + count) of a row, contiguous: in memory or in the buffer
  template <class Kind, class T>
  static T const* values(T* buffer, std::intptr_t at, std::intptr_t step, std::int64_t i,
                         std::int64_t count) {
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      for (std::int64_t j = 0; j < count; ++j) buffer[j] = at + (i + j) * step;
    else if (is_dense<Kind>(step))
      return reinterpret_cast<T const*>(at) + i;
    else if (step != 0 || i == 0)  // a broadcast value is written once
      for (std::int64_t j = 0; j < count; ++j)
        buffer[j] = *reinterpret_cast<T const*>(at + (i + j) * step);
    return buffer;
  }
  template <class T>
  static T* place(T* buffer, plane_operand const& o, std::int64_t r, std::int64_t i) {
    return o.step == std::intptr_t(sizeof(T)) ? reinterpret_cast<T*>(o.at + r * o.row) + i : buffer;
  }
  template <class T>
  static void spread(T const* buffer, plane_operand const& o, std::int64_t r, std::int64_t i,
                     std::int64_t count) {
    if (o.step == std::intptr_t(sizeof(T))) return;
    for (std::int64_t j = 0; j < count; ++j)
      *reinterpret_cast<T*>(o.at + r * o.row + (i + j) * o.step) = buffer[j];
  }
};
template <class Stage, class Folds, class Ins, class Outs>
using element_kernel =
    element_kernel_of<Stage, Folds, Ins, Outs, std::make_index_sequence<std::size_t(Ins::size)>,
                      std::make_index_sequence<std::size_t(Outs::size)>>;

}  // namespace LOCUS_SPACE(host)
LOCUS_LOOPS_END
#endif

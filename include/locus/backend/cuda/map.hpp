// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels on a GPU: one with vector loads where every operand is contiguous, one for
// strides.
#pragma once
#include <locus/backend/cuda/backend.hpp>  // cuda_kernel
#include <locus/backend/cuda/inputs.hpp>   // unravel, input_pack
#include <locus/backend/cuda/launch.hpp>   // start
#include <locus/backend/work.hpp>          // map_work

namespace locus {

namespace cuda {
inline namespace LOCUS_MODE {

/// elements of one vector: 16 bytes of the widest operand
template <class T, int Size>
struct alignas(sizeof(T) * Size) vector_of {
  T element[Size];
};

/// means: out[m][i] = f(in[k][i]...)[m], Vector elements a time; every operand has stride 1, or 0
template <class Work, int Vector>
struct contiguous_map {
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  static constexpr int in_count = ins::size, out_count = outs::size;
  typename Work::stage_type f;
  std::int64_t size;
  kernel::access operands[Work::operand_count];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    block.each([&](unsigned t) {
      std::int64_t const threads = std::int64_t(block.count()) * block.size();
      std::int64_t const first = std::int64_t(block.number()) * block.size() + t;
      for (std::int64_t v = first; v < size / Vector; v += threads)
        whole(v * Vector, std::make_index_sequence<in_count>{});
      for (std::int64_t i = size / Vector * Vector + first; i < size; i += threads) single(i);
    });
  }

 private:
  template <class Kind>
  struct loaded {
    using type = typename Kind::type;
    type values[Vector];
    LOCUS_HOST_DEVICE loaded(kernel::access const& a, std::int64_t i) {
      if constexpr (std::is_same_v<Kind, kernel::own_offset>)
        for (int j = 0; j < Vector; ++j) values[j] = a.base + (i + j) * a.stride[0];
      else {
        auto const* const p = static_cast<type const*>(a.data);
        if (a.stride[0] == 0)
          for (int j = 0; j < Vector; ++j) values[j] = p[0];
        else {
          auto const v = *reinterpret_cast<vector_of<type, Vector> const*>(p + i);
          for (int j = 0; j < Vector; ++j) values[j] = v.element[j];
        }
      }
    }
  };
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void whole(std::int64_t i, std::index_sequence<K...>) const {
    pack<loaded<at_t<int(K), ins>>...> const in{{loaded<at_t<int(K), ins>>(operands[K], i)}...};
    results<outs> to;
    for (int j = 0; j < Vector; ++j)
      to.set(j, f(pack<typename at_t<int(K), ins>::type...>{{get<K>(in).values[j]}...}, pack<>{}),
             std::make_index_sequence<std::size_t(out_count)>{});
    to.store(operands + in_count, i, std::make_index_sequence<std::size_t(out_count)>{});
  }
  template <class Outs>
  struct results;
  template <class... Outs>
  struct results<type_list<Outs...>> {
    pack<vector_of<Outs, Vector>...> vectors;
    template <class Values, std::size_t... M>
    LOCUS_HOST_DEVICE void set(int j, Values const& v, std::index_sequence<M...>) {
      ((get<M>(vectors).element[j] = get<M>(v)), ...);
    }
    template <std::size_t... M>
    LOCUS_HOST_DEVICE void store(kernel::access const* a, std::int64_t i,
                                 std::index_sequence<M...>) const {
      ((*reinterpret_cast<vector_of<Outs, Vector>*>(static_cast<Outs*>(a[M].data) + i) =
            get<M>(vectors)),
       ...);
    }
  };
  LOCUS_HOST_DEVICE void single(std::int64_t i) const {
    std::int64_t at[Work::operand_count];
    for (int k = 0; k < Work::operand_count; ++k) at[k] = i * operands[k].stride[0];
    output_pack<outs>::write(f(input_pack<ins>::at(operands, at), pack<>{}), operands + in_count,
                             at + in_count);
  }
};

/// means: the same for operands with any strides
template <class Work>
struct strided_map {
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  typename Work::stage_type f;
  std::int64_t size;
  unravel points;
  kernel::access operands[Work::operand_count];

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    each_of(block, size, [&](std::int64_t i) {
      std::int64_t at[Work::operand_count];
      points.template offsets<Work::operand_count>(i, operands, at);
      output_pack<outs>::write(f(input_pack<ins>::at(operands, at), pack<>{}), operands + ins::size,
                               at + ins::size);
    });
  }
};

/// elements of one vector load: 16 bytes of the widest operand, at least 1
template <class... Kinds, class... Outs>
consteval int vector_size(type_list<Kinds...>, type_list<Outs...>) {
  std::size_t widest = 1;
  ((widest = !std::is_same_v<Kinds, kernel::own_offset> && sizeof(typename Kinds::type) > widest
                 ? sizeof(typename Kinds::type)
                 : widest),
   ...);
  ((widest = sizeof(Outs) > widest ? sizeof(Outs) : widest), ...);
  bool const power_of_two = (widest & (widest - 1)) == 0;
  return power_of_two && widest <= 16 ? static_cast<int>(16 / widest) : 1;
}

}  // namespace LOCUS_MODE
}  // namespace cuda

inline namespace LOCUS_MODE {

template <class Stage, class Ins, class Outs, bool HasCudaKernel>
struct cuda_kernel<map_work<Stage, Ins, Outs, HasCudaKernel>> {
  using Work = map_work<Stage, Ins, Outs, HasCudaKernel>;

  static void launch(launch_site const& site, Work work) {
    constexpr int vector = cuda::vector_size(Ins{}, Outs{});
    kernel::collapse(work.over, work.operands, Work::operand_count);
    std::int64_t const size = work.over.size();
    if (size == 0) return;
    if (work.over.rank == 1 && is_contiguous(work, vector)) {
      cuda::contiguous_map<Work, vector> body{work.f, size, {}};
      for (int k = 0; k < Work::operand_count; ++k) body.operands[k] = work.operands[k];
      return cuda::start(site, body, cuda::blocks_for((size + vector - 1) / vector));
    }
    cuda::strided_map<Work> body{work.f, size, cuda::unravel(work.over), {}};
    for (int k = 0; k < Work::operand_count; ++k) body.operands[k] = work.operands[k];
    cuda::start(site, body, cuda::blocks_for(size));
  }

 private:
  template <class... Kinds, class... Os, std::size_t... K, std::size_t... M>
  static bool aligned(Work const& w, int vector, type_list<Kinds...>, type_list<Os...>,
                      std::index_sequence<K...>, std::index_sequence<M...>) {
    auto fits = [&](kernel::access const& a, std::size_t bytes, bool is_index, bool written) {
      if (is_index) return true;
      if (a.stride[0] == 0 && !written) return true;
      return a.stride[0] == 1 && reinterpret_cast<std::uintptr_t>(a.data) %
                                         (bytes * static_cast<std::size_t>(vector)) ==
                                     0;
    };
    return (fits(w.operands[K], sizeof(typename Kinds::type),
                 std::is_same_v<Kinds, kernel::own_offset>, false) &&
            ... && true) &&
           (fits(w.operands[sizeof...(K) + M], sizeof(Os), false, true) && ...);
  }
  static bool is_contiguous(Work const& w, int vector) {
    return aligned(w, vector, Ins{}, Outs{}, std::make_index_sequence<std::size_t(Ins::size)>{},
                   std::make_index_sequence<std::size_t(Outs::size)>{});
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

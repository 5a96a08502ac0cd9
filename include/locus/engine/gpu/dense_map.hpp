// SPDX-License-Identifier: Apache-2.0
// Maps of contiguous arrays by CUB: items are vectors of 16 bytes, the functor is the fused
// expression. An expression that reads no memory is cub::DeviceFor, any other cub::DeviceTransform.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/algorithm.hpp>  // run_algorithm
#include <locus/engine/gpu/engine.hpp>     // has_cub_engine
#include <locus/engine/gpu/map_facts.hpp>  // map_facts
#include <locus/engine/gpu/vectors.hpp>    // loaded_inputs, stored_outputs
#if LOCUS_MAKES_CUB
#include <locus/engine/gpu/cub_map.cuh>  // transform, for_each
#endif

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// The outputs of a map as an output iterator over packs of vectors.
template <class Outs, int Size>
struct vector_places;
template <class... Outs, int Size>
struct vector_places<type_list<Outs...>, Size> {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = std::int64_t;
  using pointer = void;
  using reference = void;
  using vectors = stored_outputs<type_list<Outs...>, Size>;
  pack<vector_of<Outs, Size>*...> at;

  struct place {
    vector_places const& all;
    std::int64_t i;
    LOCUS_HOST_DEVICE void operator=(vectors const& v) const { all.store(v, i, each{}); }
  };
  LOCUS_HOST_DEVICE place operator[](std::int64_t i) const { return {*this, i}; }
  LOCUS_HOST_DEVICE vector_places& operator+=(std::int64_t n) { return move(n, each{}); }
  LOCUS_HOST_DEVICE vector_places operator+(std::int64_t n) const {
    vector_places r = *this;
    return r += n;
  }

 private:
  using each = std::index_sequence_for<Outs...>;
  template <std::size_t... M>
  LOCUS_HOST_DEVICE void store(vectors const& v, std::int64_t i, std::index_sequence<M...>) const {
    ((get<M>(at)[i] = get<M>(v.vectors)), ...);
  }
  template <std::size_t... M>
  LOCUS_HOST_DEVICE vector_places& move(std::int64_t n, std::index_sequence<M...>) {
    ((get<M>(at) += n), ...);
    return *this;
  }
};

/// A fused expression as a function of vectors; parameters by value, so that each is one load of 16
/// bytes.
template <class Stage, class Ins, class Outs, int Size>
struct vector_function;
template <class Stage, class... Kinds, class Outs, int Size>
struct vector_function<Stage, type_list<Kinds...>, Outs, Size> {
  Stage f;
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE stored_outputs<Outs, Size> operator()(
      vector_of<typename Kinds::type, Size>... in) const {
    stored_outputs<Outs, Size> to;
    for (int j = 0; j < Size; ++j)
      to.template set_from<0>(j, f(pack<typename Kinds::type...>{{in.element[j]}...}, pack<>{}));
    return to;
  }
};

/// Computes vector i of a fused expression that reads no memory.
template <class Stage, class Ins, class Outs, int Size>
struct vector_generator;
template <class Stage, class... Offsets, class Outs, int Size>
struct vector_generator<Stage, type_list<Offsets...>, Outs, Size> {
  static constexpr std::size_t count = sizeof...(Offsets);
  Stage f;
  vector_places<Outs, Size> to;
  std::int64_t first[count + 1];  // operand k of vector i is the vector of numbers first[k] + i

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    write(i, std::make_index_sequence<count>{});
  }

 private:
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t... K>
  LOCUS_HOST_DEVICE void write(std::int64_t i, std::index_sequence<K...>) const {
    std::int64_t numbers[count + 1][Size];
    (number_vector(numbers[K], first[K] + i), ...);
    stored_outputs<Outs, Size> v;
    for (int j = 0; j < Size; ++j)
      v.template set_from<0>(j, f(pack<typename Offsets::type...>{{numbers[K][j]}...}, pack<>{}));
    to[i] = v;
  }
};

/// means: out[m][i] = f(in[k][i]...)[m] for contiguous arrays that begin at multiples of 16 bytes
template <class Stage, class Ins, class Outs>
struct dense_map;
template <class Stage, class... Kinds, class Outs>
struct dense_map<Stage, type_list<Kinds...>, Outs> {
  static constexpr char const* name = "cub::DeviceTransform";
  static constexpr int vector = vector_size(type_list<Kinds...>{}, Outs{});
  vector_function<Stage, type_list<Kinds...>, Outs, vector> f;
  std::int64_t vectors;
  pack<vector_of<typename Kinds::type, vector> const*...> in;
  vector_places<Outs, vector> out;

#if LOCUS_MAKES_CUB
  int card(void*, std::size_t*, void* stream) const { return card(stream, each{}); }
#endif
  void host() const { host(each{}); }

 private:
  using each = std::index_sequence_for<Kinds...>;
#if LOCUS_MAKES_CUB
  template <std::size_t... K>
  int card(void* stream, std::index_sequence<K...>) const {
    return cub_calls::transform(vectors, f, out, stream, get<K>(in)...);
  }
#endif
  template <std::size_t... K>
  void host(std::index_sequence<K...>) const {
    for (std::int64_t i = 0; i < vectors; ++i) out[i] = f(get<K>(in)[i]...);
  }
};
/// means: the same for an expression that reads no memory
template <class Stage, class Ins, class Outs>
struct dense_generator {
  static constexpr char const* name = "cub::DeviceFor";
  static constexpr int vector = vector_size(Ins{}, Outs{});
  vector_generator<Stage, Ins, Outs, vector> f;
  std::int64_t vectors;

#if LOCUS_MAKES_CUB
  int card(void*, std::size_t*, void* stream) const {
    return cub_calls::for_each(vectors, f, stream);
  }
#endif
  void host() const {
    for (std::int64_t i = 0; i < vectors; ++i) f(i);
  }
};

/// true: CUB computes the map if all operands are contiguous arrays. Its inputs must all be in
/// memory, or none of them.
template <class Work>
inline constexpr bool may_be_dense =
    has_cub_engine && (map_facts<Work>::inputs_in_memory == 0 ||
                       map_facts<Work>::inputs_in_memory == Work::inputs::size);

/// means: computes the first `vectors` vectors of a map by CUB
/// shape: one axis after collapsing; every operand is contiguous and begins at a multiple of a
///        vector
template <class Work>
void run_dense_map(launch_site const& site, Work const& work, std::int64_t vectors) {
  using facts = map_facts<Work>;
  using ins = typename Work::inputs;
  using outs = typename Work::outputs;
  using stage = typename Work::stage_type;
  constexpr int vector = facts::vector;
  vector_places<outs, vector> const to =
      [&]<class... O, std::size_t... M>(type_list<O...>, std::index_sequence<M...>) {
        return vector_places<outs, vector>{
            {{static_cast<vector_of<O, vector>*>(work.operands[ins::size + M].data)}...}};
      }(outs{}, std::make_index_sequence<std::size_t(outs::size)>{});
  [&]<class... Kinds, std::size_t... K>(type_list<Kinds...>, std::index_sequence<K...>) {
    if constexpr (facts::inputs_in_memory > 0)
      run_algorithm(site, dense_map<stage, ins, outs>{
                              {work.f},
                              vectors,
                              {{static_cast<vector_of<typename Kinds::type, vector> const*>(
                                  work.operands[K].data)}...},
                              to});
    else
      run_algorithm(site, dense_generator<stage, ins, outs>{
                              {work.f, to, {work.operands[K].base / vector..., 0}}, vectors});
  }(ins{}, std::make_index_sequence<std::size_t(ins::size)>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

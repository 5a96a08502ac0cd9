// SPDX-License-Identifier: Apache-2.0
// Neighbouring elements of an operand as one vector of at most 16 bytes, for any address and
// stride.
#pragma once
#include <cstdint>      // uintptr_t
#include <type_traits>  // integral_constant

#include <locus/core/macros.hpp>          // LOCUS_HOST_DEVICE
#include <locus/core/type_list.hpp>       // type_list
#include <locus/engine/gpu/inputs.hpp>    // read
#include <locus/plan/library_kernel.hpp>  // elements_of_vector
#include <locus/work/call.hpp>            // access, own_offset

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class T, int Size>
struct alignas(sizeof(T) * Size) vector_of {
  T element[Size];
};

/// elements of a vector of 16 bytes, at least 1
template <class T>
inline constexpr int vector_elements = elements_of_vector(sizeof(T));

/// means: a vector may begin at p
template <class T>
bool begins_vector(T const* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (sizeof(T) * unsigned(vector_elements<T>)) == 0;
}
/// means: arrays with rows of n elements can be accessed as such vectors
template <class... T>
bool are_vectors(std::int64_t n, T const*... arrays) {
  return ((n % vector_elements<T> == 0 && begins_vector(arrays)) && ...);
}

/// means: f(integral_constant<int, Size>); Size is the elements of a vector if all arrays can be
///        accessed as vectors, otherwise 1
template <class F, class T, class... More>
void with_vectors(std::int64_t n, F&& f, T const* first, More const*... more) {
  are_vectors(n, first, more...) ? f(std::integral_constant<int, vector_elements<T>>{})
                                 : f(std::integral_constant<int, 1>{});
}

/// The layout of an operand along the last axis. constant: one element for the whole line; aligned:
/// contiguous, vectors at multiples of their size; shifted: contiguous, vectors at other addresses;
/// strided: any other stride; by_warps: elements of a warp's vectors are interleaved.
enum class lay : unsigned char { constant, aligned, shifted, strided, by_warps };

/// elements of one vector: 16 bytes of the widest operand, at least 1
template <class... Kinds, class... Outs>
consteval int vector_size(type_list<Kinds...>, type_list<Outs...>) {
  std::size_t widest = 1;
  auto see = [&](std::size_t bytes) { widest = bytes > widest ? bytes : widest; };
  (see(std::is_same_v<Kinds, kernel::own_offset> ? 1 : sizeof(typename Kinds::type)), ...);
  (see(sizeof(Outs)), ...);
  return elements_of_vector(widest);
}
/// bytes of one element of each input in memory, added up
template <class... Kinds>
consteval int bytes_of(type_list<Kinds...>) {
  return (0 + ... +
          (std::is_same_v<Kinds, kernel::own_offset> ? 0 : int(sizeof(typename Kinds::type))));
}

/// means: the position of an operand's first element in its vector of Size elements
/// shape: bytes, the size of an element, is at least 1
template <int Size>
std::int64_t place_in_vector(kernel::access const& a, int bytes) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.data) / unsigned(bytes) %
                                   unsigned(Size));
}
/// size of an element of each operand, inputs first; 0 for an operand without memory
template <int Count>
struct operand_bytes {
  int of[Count];
};
template <class... Kinds, class... Outs>
consteval auto bytes_of_each(type_list<Kinds...>, type_list<Outs...>) {
  return operand_bytes<int(sizeof...(Kinds) + sizeof...(Outs))>{
      {bytes_of(type_list<Kinds>{})..., int(sizeof(Outs))...}};
}

constexpr int largest_power(int n) { return n < 2 ? n : 2 * largest_power(n / 2); }

/// means: Words words from an address that is a multiple of Unit bytes, out of the two aligned
///        vectors that contain them
/// cost:  two loads, the second of which is the first of the neighbouring thread; at most 14
///        selects and shifts; no shift if Unit is a multiple of 4
template <int Words, int Unit = 1>
LOCUS_HOST_DEVICE vector_of<std::uint32_t, Words> load_between(void const* p) {
  using words = vector_of<std::uint32_t, Words>;
  auto const off = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % sizeof(words));
  auto const* const at = reinterpret_cast<words const*>(static_cast<char const*>(p) - off);
  words const low = at[0], high = at[off != 0];
  std::uint32_t w[2 * Words + 1];
  for (int i = 0; i < Words; ++i) w[i] = low.element[i], w[Words + i] = high.element[i];
  w[2 * Words] = 0;
  for (unsigned step = Words / 2; step > 0; step /= 2)
    for (int i = 0; i + int(step) < 2 * Words; ++i)
      w[i] = (off / 4 & step) != 0 ? w[i + int(step)] : w[i];
  words r;
  for (int i = 0; i < Words; ++i)
    r.element[i] = Unit % 4 == 0
                       ? w[i]
                       : static_cast<std::uint32_t>(
                             (static_cast<std::uint64_t>(w[i + 1]) << 32 | w[i]) >> (off % 4 * 8));
  return r;
}

/// means: vector n of the numbers 0, 1, 2, ... The product may wrap (unsigned), so that the
///        compiler keeps it as one value: a block of random words is then one expression for its
///        four elements, and is computed once
template <int Size>
LOCUS_HOST_DEVICE void number_vector(std::int64_t (&to)[Size], std::int64_t n) {
  auto const first = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) * unsigned(Size));
  for (int j = 0; j < Size; ++j) to[j] = first + j;
}

/// means: elements [i, i + Size) of a line of an operand; the line begins at offset `row` and has
///        `length` elements; memory outside the line is not read
template <class Kind, int Size>
struct loaded {
  using type = typename Kind::type;
  static constexpr int bytes = int(sizeof(type)) * Size;
  alignas(bytes <= 16 && (bytes & (bytes - 1)) == 0 ? bytes : int(alignof(type))) type values[Size];

  LOCUS_HOST_DEVICE void load(kernel::access const& a, lay how, std::int64_t stride,
                              std::int64_t row, std::int64_t i, std::int64_t length) {
    if constexpr (std::is_same_v<Kind, kernel::own_offset>)
      for (int j = 0; j < Size; ++j) values[j] = a.base + row + (i + j) * stride;
    else {
      auto const* const p = static_cast<type const*>(a.data) + row;
      if (how == lay::aligned) return load_aligned(p + i);
      if (how == lay::constant) return spread(*p);
      if constexpr (can_shift)
        if (how == lay::shifted && i >= Size && i + 2 * Size <= length) return load_shifted(p + i);
      for (int j = 0; j < Size; ++j) values[j] = p[(i + j) * stride];
    }
  }
  /// means: elements i, i + apart, ... of an operand of any layout
  LOCUS_HOST_DEVICE void load_apart(kernel::access const& a, std::int64_t stride, std::int64_t row,
                                    std::int64_t i, unsigned apart) {
    for (int j = 0; j < Size; ++j)
      values[j] = read<Kind>(a, row + (i + unsigned(j) * apart) * stride);
  }
  /// means: element j is that at the offset at + j Apart, if has(j)
  template <int Apart, class F>
  LOCUS_HOST_DEVICE void load_some(void const* data, std::int64_t at, F const& has) {
    auto const* const p = static_cast<type const*>(data) + at;
    for (int j = 0; j < Size; ++j) values[j] = has(j) ? p[j * Apart] : type{};
  }
  LOCUS_HOST_DEVICE void load_aligned(type const* p) {
    auto const v = *reinterpret_cast<vector_of<type, Size> const*>(p);
    for (int j = 0; j < Size; ++j) values[j] = v.element[j];
  }

 private:
  static constexpr bool can_shift = Size > 1 && bytes % 4 == 0 && sizeof(type) <= 8;
  LOCUS_HOST_DEVICE void spread(type v) {
    for (int j = 0; j < Size; ++j) values[j] = v;
  }
  LOCUS_HOST_DEVICE void load_shifted(type const* p) {
    auto const words = load_between<bytes / 4, int(sizeof(type))>(p);
    __builtin_memcpy(values, &words, bytes);
  }
};

/// The vectors of all inputs, and access to the inputs of one element.
template <class Ins, int Size>
struct loaded_inputs;
template <class... Kinds, int Size>
struct loaded_inputs<type_list<Kinds...>, Size> {
  pack<loaded<Kinds, Size>...> vectors;
  template <std::size_t... K>
  LOCUS_HOST_DEVICE pack<typename Kinds::type...> element(int j, std::index_sequence<K...>) const {
    return {{get<K>(vectors).values[j]}...};
  }
  LOCUS_HOST_DEVICE pack<typename Kinds::type...> element(int j) const {
    return element(j, std::index_sequence_for<Kinds...>{});
  }
};

/// The vectors of all outputs.
template <class Outs, int Size>
struct stored_outputs;
template <class... Outs, int Size>
struct stored_outputs<type_list<Outs...>, Size> {
  pack<vector_of<Outs, Size>...> vectors;
  template <int First, class Values, std::size_t... M>
  LOCUS_HOST_DEVICE void set([[maybe_unused]] int j, [[maybe_unused]] Values const& v,
                             std::index_sequence<M...>) {
    ((get<M>(vectors).element[j] = get<std::size_t(First) + M>(v)), ...);
  }
  /// stores results First, First + 1, ...
  template <int First, class Values>
  LOCUS_HOST_DEVICE void set_from(int j, Values const& v) {
    set<First>(j, v, std::index_sequence_for<Outs...>{});
  }
};

/// means: the results of f for each element of the vectors
LOCUS_EXEC_CHECK_DISABLE
template <class Outs, class F, class Ins, int Size>
LOCUS_HOST_DEVICE stored_outputs<Outs, Size> made_of(F const& f,
                                                     loaded_inputs<Ins, Size> const& in) {
  stored_outputs<Outs, Size> made;
  for (int j = 0; j < Size; ++j) made.template set_from<0>(j, f(in.element(j), pack<>{}));
  return made;
}

/// means: all loads before this call are issued before it; nvcc would move each load to its use
LOCUS_HOST_DEVICE inline void keep_loads_in_front() {
#if defined(__CUDA_ARCH__)
  asm volatile("" : : : "memory");
#endif
}

/// means: *to = v by one instruction; after a branch, nvcc would store each element by one
template <class T, int Size>
LOCUS_HOST_DEVICE void store_whole(T* to, vector_of<T, Size> const& v) {
#if defined(__CUDA_ARCH__)
  constexpr int words = int(sizeof v / 4);
  if constexpr (sizeof v % 4 == 0 && (words == 1 || words == 2 || words == 4) &&
                (words == 4 || Size > 1)) {
    std::uint32_t w[words];
    __builtin_memcpy(w, &v, sizeof w);
    std::size_t const at = __cvta_generic_to_global(to);
    if constexpr (words == 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                   :
                   : "l"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                   : "memory");
    else if constexpr (words == 2)
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(at), "r"(w[0]), "r"(w[1]) : "memory");
    else
      asm volatile("st.global.b32 [%0], %1;" : : "l"(at), "r"(w[0]) : "memory");
    return;
  }
#endif
  *reinterpret_cast<vector_of<T, Size>*>(to) = v;
}

/// means: stores elements i, i + apart, ... of a line of an output; `aligned` ignores `apart`
template <class T, int Size>
LOCUS_HOST_DEVICE void store_vector(vector_of<T, Size> const& v, kernel::access const& a, lay how,
                                    std::int64_t stride, std::int64_t row, std::int64_t i,
                                    unsigned apart = 1) {
  T* const line = static_cast<T*>(a.data) + row;
  if (how == lay::aligned)
    store_whole(line + i, v);
  else if (how == lay::by_warps)
    for (int j = 0; j < Size; ++j) line[i + j * 32] = v.element[j];
  else
    for (int j = 0; j < Size; ++j) line[(i + unsigned(j) * apart) * stride] = v.element[j];
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END

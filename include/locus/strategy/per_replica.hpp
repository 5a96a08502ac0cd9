// SPDX-License-Identifier: Apache-2.0
// per_replica<X>: one value for each replica. Also: functions on the leaves of tuples, arrays,
// vectors, maps and records.
#pragma once
#include <array>        // array
#include <map>          // map
#include <memory>       // shared_ptr
#include <tuple>        // tuple
#include <type_traits>  // is_aggregate
#include <utility>      // pair
#include <vector>       // vector

#include <locus/core/error.hpp>         // placement_error
#include <locus/tensor/any_tensor.hpp>  // AnyTensor

namespace locus {

/// means: one value for each replica; copies of this object share the values
/// cost:  copying it copies a pointer
template <class X>
class per_replica {
 public:
  using value_type = X;
  per_replica() = default;
  void push(X x) { values_.push_back(std::make_shared<X>(std::move(x))); }
  int size() const { return static_cast<int>(values_.size()); }
  X& operator[](int replica) { return *values_[static_cast<std::size_t>(replica)]; }
  X const& operator[](int replica) const { return *values_[static_cast<std::size_t>(replica)]; }

 private:
  std::vector<std::shared_ptr<X>> values_;
};

namespace detail {

enum class structure : unsigned char { leaf, tuple, vector, map, record };

template <class X>
struct structure_of {
  static constexpr structure kind = structure::leaf;
};
template <class... A>
struct structure_of<std::tuple<A...>> {
  static constexpr structure kind = structure::tuple;
  template <class... B>
  using with = std::tuple<B...>;
};
template <class A, class B>
struct structure_of<std::pair<A, B>> {
  static constexpr structure kind = structure::tuple;
  template <class... C>
  using with = std::pair<C...>;
};
template <class A, std::size_t N>
struct structure_of<std::array<A, N>> {
  static constexpr structure kind = structure::tuple;
  template <class B, class...>
  using with = std::array<B, N>;
};
template <class A>
  requires(!std::is_same_v<A, bool>)
struct structure_of<std::vector<A>> {
  static constexpr structure kind = structure::vector;
};
template <class K, class A>
struct structure_of<std::map<K, A>> {
  static constexpr structure kind = structure::map;
};

struct anything {
  template <class T>
  operator T() const;
};
/// a struct template whose members have the types of its parameters, in order: template <class A,
/// class B> struct losses { A data; B decay; }; map_leaves makes the same template of other types
template <template <class...> class S, class... A>
  requires(
      sizeof...(A) > 0 && sizeof...(A) <= 4 && std::is_aggregate_v<S<A...>> &&
      !tensor_operand<S<A...>> && requires(A... a) { S<A...>{a...}; } &&
      !requires(A... a) { S<A...>{a..., anything{}}; })
struct structure_of<S<A...>> {
  static constexpr structure kind = structure::record;
  static constexpr std::size_t members = sizeof...(A);
  template <class... B>
  using with = S<B...>;
};
template <class X>
inline constexpr structure structure_v = structure_of<std::remove_cvref_t<X>>::kind;

/// means: references to the parts of a tuple, an array or a record
template <class X>
auto parts_of_structure(X& x) {
  using Of = std::remove_cv_t<X>;
  if constexpr (structure_v<Of> == structure::tuple) {
    return std::apply([](auto&... p) { return std::tie(p...); }, x);
  } else if constexpr (structure_of<Of>::members == 1) {
    auto& [a] = x;
    return std::tie(a);
  } else if constexpr (structure_of<Of>::members == 2) {
    auto& [a, b] = x;
    return std::tie(a, b);
  } else if constexpr (structure_of<Of>::members == 3) {
    auto& [a, b, c] = x;
    return std::tie(a, b, c);
  } else {
    auto& [a, b, c, d] = x;
    return std::tie(a, b, c, d);
  }
}
template <class Of, class... B>
auto made_like(B&&... b) {
  return typename structure_of<Of>::template with<std::remove_cvref_t<B>...>{std::forward<B>(b)...};
}

}  // namespace detail

namespace internal {

/// means: the same structure with f(leaf) in place of each leaf
template <class X, class F>
auto map_leaves(X& x, F const& f) {
  constexpr structure kind = structure_v<X>;
  if constexpr (kind == structure::leaf) {
    return f(x);
  } else if constexpr (kind == structure::vector) {
    std::vector<decltype(map_leaves(x[0], f))> out;
    for (auto& e : x) out.push_back(map_leaves(e, f));
    return out;
  } else if constexpr (kind == structure::map) {
    using K = typename std::remove_cv_t<X>::key_type;
    std::map<K, decltype(map_leaves(x.begin()->second, f))> out;
    for (auto& [key, e] : x) out.emplace(key, map_leaves(e, f));
    return out;
  } else {
    return std::apply(
        [&](auto&... p) { return made_like<std::remove_cv_t<X>>(map_leaves(p, f)...); },
        parts_of_structure(x));
  }
}
/// means: Test<leaf type> is true for some leaf of the structure X
template <class X, template <class> class Test>
consteval bool any_leaf() {
  using Of = std::remove_cvref_t<X>;
  constexpr structure kind = structure_v<Of>;
  if constexpr (kind == structure::leaf)
    return Test<Of>::value;
  else if constexpr (kind == structure::vector)
    return any_leaf<typename Of::value_type, Test>();
  else if constexpr (kind == structure::map)
    return any_leaf<typename Of::mapped_type, Test>();
  else
    return []<class... P>(std::type_identity<std::tuple<P...>>) {
      return (any_leaf<P, Test>() || ...);
    }(std::type_identity<decltype(parts_of_structure(std::declval<Of&>()))>{});
}

}  // namespace internal

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_regroup(int replica, std::string_view what) {
  message text;
  throw placement_error(text << "locus: what replica " << replica
                             << " returned differs from replica "
                             << "0's in " << what << "; return the same structure from each");
}

}  // namespace detail

namespace internal {

/// means: one structure of the results of all replicas: each leaf is a per_replica of the leaves
/// after: tf.distribute's regroup
template <class X>
auto regroup(std::vector<X*> const& all) {
  constexpr structure kind = structure_v<X>;
  X& first = *all[0];
  auto const replicas = static_cast<int>(all.size());
  if constexpr (kind == structure::leaf) {
    per_replica<X> out;
    for (X* x : all) out.push(std::move(*x));
    return out;
  } else if constexpr (kind == structure::vector || kind == structure::map) {
    for (int r = 1; r < replicas; ++r)
      if (all[std::size_t(r)]->size() != first.size()) refuse_regroup(r, "length");
    using Part = std::remove_reference_t<decltype([](X& x) -> auto& {
      if constexpr (kind == structure::map)
        return x.begin()->second;
      else
        return x[0];
    }(first))>;
    std::vector<Part*> parts(all.size());
    if constexpr (kind == structure::vector) {
      std::vector<decltype(regroup(parts))> out;
      for (std::size_t i = 0; i < first.size(); ++i) {
        for (std::size_t r = 0; r < all.size(); ++r) parts[r] = &(*all[r])[i];
        out.push_back(regroup(parts));
      }
      return out;
    } else {
      std::map<typename X::key_type, decltype(regroup(parts))> out;
      for (auto& [key, unused] : first) {
        for (int r = 0; r < replicas; ++r) {
          auto const at = all[std::size_t(r)]->find(key);
          if (at == all[std::size_t(r)]->end()) refuse_regroup(r, "the keys of a map");
          parts[std::size_t(r)] = &at->second;
        }
        out.emplace(key, regroup(parts));
      }
      return out;
    }
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      [[maybe_unused]] auto part = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        using Part =
            std::remove_reference_t<std::tuple_element_t<K, decltype(parts_of_structure(first))>>;
        std::vector<Part*> parts;
        for (X* x : all) parts.push_back(&std::get<K>(parts_of_structure(*x)));
        return regroup(parts);
      };
      return made_like<X>(part(std::integral_constant<std::size_t, I>{})...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(parts_of_structure(first))>>{});
  }
}

}  // namespace internal

namespace detail {

template <class X>
inline constexpr bool is_per_replica = false;
template <class X>
inline constexpr bool is_per_replica<per_replica<X>> = true;
template <class X>
struct part_of_replica {
  using type = X;
};
template <class X>
struct part_of_replica<per_replica<X>> {
  using type = X;
};
/// the type of a value on one replica: the entry of a per_replica, else the value's own
template <class X>
using part_of_replica_t = typename part_of_replica<X>::type;
/// a tensor that owns its elements, on one place: a Tensor on one device, or an AnyTensor
template <class X>
inline constexpr bool is_own_tensor = is_any_tensor<X>;
template <class T, class E, class Where>
inline constexpr bool is_own_tensor<Tensor<T, E, Where>> = Where::value.is_single();
template <class X>
inline constexpr bool is_variable = requires { typename X::is_variable; };
/// a Tensor over a device list
template <class X>
constexpr bool is_distributed_tensor() {
  if constexpr (tensor<X>)
    return !X::where.is_single();
  else
    return false;
}

}  // namespace detail

}  // namespace locus

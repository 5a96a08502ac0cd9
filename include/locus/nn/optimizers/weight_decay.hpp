// SPDX-License-Identifier: Apache-2.0
// Weights that do not decay: ExcludeFromDecay{AdamW{}, {.names = {"embeddings"}, .axes = 1}}.
#pragma once
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

#include <locus/core/error.hpp>      // configuration_error
#include <locus/core/is_finite.hpp>  // is_nan
#include <locus/shape/shape.hpp>     // shape

LOCUS_COLD_BEGIN

namespace locus::nn {

/// Weights that do not decay: those with one of these names, and those of few axes.
struct undecayed {
  /// parts of a weight's name: "bias", a layer's "dense_1", "dense_1/bias"
  std::vector<std::string> names{};
  int axes = -1;  // weights of at most so many axes; 1: biases and the factors of normalisations
};

/// means: the optimizer, whose weight_decay leaves these weights out
/// cost:  on GPUs, up to one more launch for each step: weights of one launch decay alike
/// fails: configuration_error, if weight_decay is 0, nothing is named, or a name is that of no weight
/// after: exclude_from_weight_decay of Keras, whose names are parts of texts; parameter groups of PyTorch
template <class Optimizer>
struct ExcludeFromDecay {
  Optimizer of{};
  undecayed weights{};
  static constexpr bool excludes = true;
};
template <class Optimizer>
ExcludeFromDecay(Optimizer, undecayed) -> ExcludeFromDecay<Optimizer>;

namespace detail {

template <class Optimizer>
consteval bool excludes() {
  if constexpr (requires { Optimizer::excludes; }) {
    static_assert(
        !excludes<decltype(Optimizer::of)>(),
        "locus: weights are excluded from decay twice; write one ExcludeFromDecay with all "
        "their names");
    return true;
  } else if constexpr (requires(Optimizer& o) { o.of; })
    return excludes<decltype(Optimizer::of)>();
  else
    return false;
}
template <class Optimizer>
undecayed const& excluded_weights(Optimizer const& o) {
  if constexpr (requires { Optimizer::excludes; })
    return o.weights;
  else
    return excluded_weights(o.of);
}

/// means: the parts of `name` between slashes have those of `part` among them, in order
inline bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1)) {
    std::size_t const end = at + part.size();
    if ((at == 0 || name[at - 1] == '/') && (end == name.size() || name[end] == '/')) return true;
  }
  return false;
}

inline void require_excluded(undecayed const& u, double weight_decay) {
  if (u.names.empty() && u.axes < 0)
    throw configuration_error(
        "locus: ExcludeFromDecay names no weights; write {.names = {\"bias\"}}, or {.axes = 1}");
  for (std::string const& name : u.names)
    if (name.empty())
      throw configuration_error(
          "locus: ExcludeFromDecay got a name without letters; write that of a weight or a layer");
  if (locus::internal::is_nan(weight_decay) || weight_decay <= 0)
    throw configuration_error(
        "locus: ExcludeFromDecay stands around an optimizer without weight_decay; give it one, as "
        "in AdamW{.weight_decay = 0.01}");
}

/// The name and the extents of a weight.
struct named_extents {
  std::string name;
  shape extents;
};
/// means: of each weight, whether it decays     fails: configuration_error for a name of no weight
inline std::vector<char> decaying_of(undecayed const& u, std::vector<named_extents> const& all) {
  std::vector<char> decays;
  for (named_extents const& w : all) {
    bool out = w.extents.rank <= u.axes;
    for (std::string const& name : u.names) out = out || has_part(w.name, name);
    decays.push_back(!out);
  }
  for (std::string const& name : u.names) {
    bool is_there = false;
    for (named_extents const& w : all) is_there = is_there || has_part(w.name, name);
    if (is_there) continue;
    message text;
    text << "locus: ExcludeFromDecay names '" << std::string_view(name)
         << "', which is part of no trained weight's name; there are";
    for (named_extents const& w : all) text << " " << std::string_view(w.name);
    throw configuration_error(text);
  }
  return decays;
}

}  // namespace detail

}  // namespace locus::nn

LOCUS_COLD_END

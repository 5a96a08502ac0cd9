// SPDX-License-Identifier: Apache-2.0
// Embedding<Width>: rows of a trained table, chosen by number.
#pragma once
#include <locus/nn/layers/embedding_ops.hpp>  // embedding_op, embedding_gradient_op
#include <locus/nn/layers/layer.hpp>          // parameter, batch_of
#include <locus/tensor/eval.hpp>              // run

namespace locus::nn {

/// The state of an Embedding: embeddings (vocabulary, width), whose gradient is sparse.
template <class T, class Replicas>
struct embedding_state {
  using element = std::int32_t;  // of its examples
  using kept = nothing;
  static constexpr bool reads_y = false;
  using in_batch = batch_of<std::int32_t, 2, Replicas>;
  using out_batch = batch_of<T, 3, Replicas>;

  parameter<T, Replicas> embeddings;
  std::int64_t length;  // tokens of an example

  std::int64_t vocabulary() const { return embeddings.extents.extent[0]; }
  std::int64_t width() const { return embeddings.extents.extent[1]; }
  shape output_extents() const { return {2, {length, width()}}; }
  template <class F>
  void for_each_parameter(F&& f) {
    f(embeddings);
  }

  out_batch forward(in_batch const& x, kept&, pass const&) {
    return out_batch(call(embedding_op{width()}, x, embeddings.value));
  }
  /// tokens have no gradient: the returned batch has no rows
  in_batch backward(in_batch const& x, out_batch const&, kept&, out_batch dy, bool) {
    if (embeddings.trainable)  // every replica sums all rows: equal bits for any number of replicas
      sum_rows(Tensor<std::int32_t, Dextents<2>, Replicas>(x),
               Tensor<T, Dextents<3>, Replicas>(dy));
    return in_batch(Dextents<2>(0, length));
  }

 private:
  template <class Tokens, class Rows>
  void sum_rows(Tokens const& tokens, Rows const& dy) {
    std::int64_t const n = tokens.extent(0) * tokens.extent(1);
    parameter<T, Replicas>& p = embeddings;
    if (p.rows.extent(0) != n) {
      p.rows = Tensor<std::int32_t, Dextents<1>, Replicas>(Dextents<1>(n));
      p.row_values = Tensor<T, Dextents<2>, Replicas>(Dextents<2>(n, width()));
    }
    auto const sums = call(embedding_gradient_op{vocabulary()}, tokens, dy);
    run(plan(into(p.rows, result<0>(sums)), into(p.row_values, result<1>(sums))));
  }
};

namespace detail {
LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_vocabulary(std::int64_t vocabulary) {
  message text;
  throw shape_error(text << "locus: an Embedding has a vocabulary of " << vocabulary
                         << "; give it one row for each token, from 1 to 2147483647: "
                            "nn::Embedding<7, 300>{vocabulary}");
}
LOCUS_COLD_END
}  // namespace detail

/// means: y[i] = row x[i] of a trained table: Embedding<7, 300>{30979} takes 300 tokens
/// shape: (Length) of int32 -> (Length, Width); embeddings (vocabulary, Width)
/// fails: at compile time, for examples of another rank or length; on the host, shape_error for a
///        token without a row
/// after: keras.layers.Embedding: uniform numbers in [-0.05, 0.05]; the gradient is sorted rows
template <std::int64_t Width, std::int64_t Length = dyn>
struct Embedding {
  static_assert(Width > 0 && (Length > 0 || Length == dyn),
                "locus: an Embedding has rows of at least one number, and examples of at least one "
                "token; write nn::Embedding<7, 300>{vocabulary}");
  static constexpr char const* kind = "Embedding";
  using input = Extents<Length>;

  std::int64_t vocabulary = 0;
  std::int64_t length = Length;  // of an example; set it if the type leaves it open
  initial begins = random_uniform();

  constexpr Embedding begin_with(initial how) const {
    return detail::with(*this, &Embedding::begins, how);
  }
  shape input_extents() const { return {1, {length}}; }

  template <class In>
  static consteval auto output_type() {
    static_assert(In::rank() == 1, "locus: an Embedding takes examples of one axis, tokens; write "
                                   "nn::Input<300>{} in front of it");
    if constexpr (In::rank() == 1) {
      constexpr std::int64_t n = In::pattern.extent[0];
      static_assert(n == dyn || Length == dyn || n == Length,
                    "locus: an Embedding takes another number of tokens than its examples have; "
                    "say it once, in nn::Embedding<7, 300> or in nn::Input<300>");
      return std::type_identity<Extents<(n == dyn ? Length : n), Width>>{};
    } else
      return std::type_identity<Extents<dyn, Width>>{};
  }
  template <class In>
  using output = typename decltype(output_type<In>())::type;
  template <class T, class In, class Replicas>
  using state = embedding_state<T, Replicas>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    if (vocabulary < 1 || vocabulary > INT32_MAX) detail::refuse_vocabulary(vocabulary);
    auto table = make_parameter<T, Replicas>("embeddings", {2, {vocabulary, Width}}, begins, seed,
                                             /*trainable=*/false);
    table.trainable = table.sparse = true;
    return state<T, In, Replicas>{std::move(table), in.extent[0]};
  }
};

}  // namespace locus::nn

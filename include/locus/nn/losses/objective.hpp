// SPDX-License-Identifier: Apache-2.0
// objective: the loss and the metrics of a training. One kernel passes over the rows of a batch
// once and computes the gradient of the loss, the loss and all metrics. Their sums stay on the
// devices until they are read, once an epoch; sums over replicas with uneven pieces are exact.
#pragma once
#include <string>  // string
#include <tuple>   // tuple
#include <vector>  // vector

#include <locus/engine/host/nest.hpp>      // threads_for
#include <locus/nn/layers/layer.hpp>       // batch_of
#include <locus/nn/losses/metric.hpp>      // metric_of_row
#include <locus/nn/losses/score_rows.hpp>  // score_row
#include <locus/ops/call.hpp>              // call
#include <locus/ops/generators.hpp>        // iota
#include <locus/ops/math.hpp>              // where
#include <locus/ops/reduce.hpp>            // sum
#include <locus/runtime/threads.hpp>       // parallel_for
#include <locus/tensor/assign.hpp>         // into, plan, run
#if LOCUS_CUDA_KERNELS
#include <locus/nn/losses/score_team.hpp>  // score_team
#endif

namespace locus::nn {

/// The factor of a row in the gradient of the loss.
enum class weighting : unsigned char {
  global_batch,  // 1 / rows of the batch: exact for uneven pieces
  per_replica    // 1 / (replicas * rows of the piece), as TensorFlow's MirroredStrategy
};

namespace detail {

inline namespace LOCUS_MODE {

constexpr call_roles score_operands(weights_of by, bool apart) {
  call_roles all{call_role::rows, call_role::rows};
  if (of_rows(by)) all.of[all.count++] = call_role::rows;
  if (of_classes(by)) all.of[all.count++] = call_role::whole;
  if (apart) all.of[all.count++] = call_role::rows;
  return all;
}

/// Operands: predictions or logits for the loss, targets, weights of rows and of classes (By), and the
/// predictions for metrics if these are not the operand of the loss (Apart).
template <class Loss, weights_of By, bool Apart, class... Metrics>
struct score_op {
  static constexpr call_rule rule{.name = "score",
                                  .operands = score_operands(By, Apart),
                                  .results = {call_role::rows, call_role::rows},
                                  .stores_all = true,
                                  .by_teams = true};
  static constexpr int columns = 1 + int(sizeof...(Metrics));
  Loss loss;
  pack<Metrics...> metrics;
  weighting rows_count = weighting::global_batch;

  template <int Result, class T, class U, class... Others>
  using result = std::conditional_t<Result == 0, T, double>;
  /// extents of the gradient: those of the predictions; of the values: for each row, loss and
  /// metrics
  static constexpr shape infer(int result, shape p, shape target, auto...) {
    if (p.rank < 2 || target.rank < 1) return no_shape;
    if (result == 1) p.extent[p.rank - 1] = columns;
    return p;
  }

  template <class T>
  T scale(call_context const& here, tile<T const> const& p, std::int64_t n) const {
    std::int64_t const count = p.size() / n;
    double const rows = double(count), inner = rows / double(p.extent[0]);
    return T(1 / (rows_count == weighting::global_batch ? double(here.rows) * inner
                                                        : double(here.replicas) * rows));
  }
  template <class U>
  static bool is_class(U label, std::int64_t n) {
    return static_cast<std::int64_t>(label) >= 0 && static_cast<std::int64_t>(label) < n;
  }

  template <class T, class U, class... Others>
  void host(call_context const& here, tile<T> d, tile<double> values, tile<T const> p,
            tile<U const> target, Others... others) const {
    std::int64_t const n = p.extent[p.rank - 1], rows = p.size() / n;
    T const by = scale<T>(here, p, n);
    constexpr std::int64_t at_once = 64;
    int const tasks = int((rows + at_once - 1) / at_once);
    parallel_for(
        tasks, locus::host::threads_for(16 * p.size() * std::int64_t(sizeof(T))), [&](int task) {
          std::int64_t const end = (task + 1) * at_once;
          for (std::int64_t r = task * at_once; r < rows && r < end; ++r) {
            T const* const row = p.data + r * n;
            U const* const t = target.data + (Loss::sparse ? r : r * n);
            if constexpr (Loss::sparse)
              if (!is_class(*t, n)) refuse_label(here, p, r, *t, n);
            double v[columns];
            T const w = weight_of(r, p, t, n, others...);
            v[0] = double(w) * nn::host::score_row(loss, row, t, n, by * w, d.data + r * n);
            metric_values(seen_by_metrics(p, others...) + r * n, t, n, v,
                          std::index_sequence_for<Metrics...>{});
            for (int c = 0; c < columns; ++c) values.data[r * columns + c] = v[c];
          }
        });
  }

  /// a team for each row (nn/losses/score_team.hpp); a row with an invalid label gives NaN
  template <class T, class U, class... Others>
  auto team(call_context const& here, tile<T> d, tile<double> values, tile<T const> p,
            tile<U const> target, Others... others) const;

 private:
  /// number K of the operands behind the targets, or, where K is none of them, null
  template <int K, class... Others>
  static auto data_of(Others const&... others) {
    if constexpr (K >= 0)
      return get<std::size_t(K)>(pack<Others...>{{others}...}).data;
    else
      return static_cast<std::nullptr_t*>(nullptr);
  }
  static constexpr int row_weights = of_rows(By) ? 0 : -1;
  static constexpr int class_weights = of_classes(By) ? int(of_rows(By)) : -1;
  template <class T, class U, class... Others>
  static T weight_of([[maybe_unused]] std::int64_t row, [[maybe_unused]] tile<T const> const& p,
                     [[maybe_unused]] U const* t, [[maybe_unused]] std::int64_t n,
                     Others const&... others) {
    T w(1);
    if constexpr (of_rows(By))
      w = T(data_of<row_weights>(others...)[row / (p.size() / n / p.extent[0])]);
    if constexpr (of_classes(By)) w *= T(data_of<class_weights>(others...)[class_of_row(t, n)]);
    return w;
  }
  template <class U>
  static std::int64_t class_of_row(U const* t, [[maybe_unused]] std::int64_t n) {
    if constexpr (Loss::sparse)
      return static_cast<std::int64_t>(*t);
    else
      return n == 1 ? class_of_label(t[0]) : place_of_largest(t, n);
  }
  /// means: the address of the predictions that the metrics read, at row 0
  template <class T, class... Others>
  static T const* seen_by_metrics(tile<T const> const& p, Others const&... others) {
    if constexpr (Apart)
      return data_of<int(sizeof...(Others)) - 1>(others...);
    else
      return p.data;
  }
  template <class T, class U, std::size_t... K>
  void metric_values([[maybe_unused]] T const* row, [[maybe_unused]] U const* t,
                     [[maybe_unused]] std::int64_t n, [[maybe_unused]] double* v,
                     std::index_sequence<K...>) const {
    ((v[K + 1] = metric_of_row(get<K>(metrics), row, t, n)), ...);
  }
  template <class T>
  [[noreturn, gnu::cold]] static void refuse_label(call_context const& here, tile<T const> const& p,
                                                   std::int64_t r, std::int64_t label,
                                                   std::int64_t n) {
    std::int64_t const inner = p.size() / n / p.extent[0];
    message text;
    throw shape_error(text << "locus: the label of row " << here.first_row + r / inner
                           << " of a batch is " << label << ", outside [0, " << n
                           << "), the classes that the model predicts; drop the record or give "
                              "the last layer more units");
  }
};

#if LOCUS_CUDA_KERNELS
template <class Loss, weights_of By, bool Apart, class... Metrics>
template <class T, class U, class... Others>
auto score_op<Loss, By, Apart, Metrics...>::team(call_context const& here, tile<T> d,
                                                 tile<double> values, tile<T const> p,
                                                 tile<U const> target, Others... others) const {
  std::int64_t const n = p.extent[p.rank - 1], rows = n > 0 ? p.size() / n : 0;
  if (n > INT32_MAX) {
    message text;
    throw shape_error(text << "locus: rows of " << n
                           << " predictions are more than a GPU's kernel counts, 2^31 - 1; compute "
                              "their loss on a CPU");
  }
  auto const* const of_row = data_of<row_weights>(others...);
  auto const* const of_class = data_of<class_weights>(others...);
  using row_weight = std::remove_cvref_t<decltype(*of_row)>;
  using class_weight = std::remove_cvref_t<decltype(*of_class)>;
  score_team<Loss, By, Apart, T, U, row_weight, class_weight, Metrics...> all{
      loss,
      metrics,
      scale<T>(here, p, n),
      rows,
      static_cast<std::int32_t>(n),
      rows > 0 ? rows / p.extent[0] : 1,
      d.data,
      values.data,
      p.data,
      target.data,
      of_row,
      of_class,
      seen_by_metrics(p, others...)};
  all.look_at_addresses();
  return all;
}
#endif

}  // namespace LOCUS_MODE

/// means: the names, each of them once: where a name is there already, "_1", "_2", ... behind it
[[gnu::cold]] inline std::vector<std::string> made_different(std::vector<std::string> names) {
  auto const is_before = [&](std::string const& name, std::size_t end) {
    for (std::size_t k = 0; k < end; ++k)
      if (names[k] == name) return true;
    return false;
  };
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::string const given = names[k];
    for (int n = 1; is_before(names[k], k); ++n) names[k] = given + "_" + std::to_string(n);
  }
  return names;
}

}  // namespace detail

/// means: the sums of a loss and of metrics over batches, and the gradient of each batch's loss
/// shape: predictions (rows, classes); targets (rows) or (rows, 1) of labels, or as the predictions
/// device: rows over the replicas; the sums are mirrored
/// cost:  for each batch, one kernel over the predictions and one sum over its rows
/// fails: shape_error for targets of other extents, for an invalid label (on GPUs: NaN), for a
///        metric of the first K classes of fewer
template <class T, class Label, class Replicas, class Loss, class... Metrics>
class objective {
  static_assert(
      !Loss::sparse || is_integer_v<Label>,
      "locus: this loss reads the number of a class for each row; give it integer labels, "
      "or take CategoricalCrossentropy");
  static_assert(
      ((!Metrics::sparse || is_integer_v<Label>) && ... && true),
      "locus: this metric reads the number of a class for each row, and the targets are no "
      "integers; take the metric without Sparse in its name");
  static_assert(
      ((Metrics::sparse == Loss::sparse) && ... && true),
      "locus: a metric reads other targets than the loss: one takes the number of a class "
      "for each row, the other a value for each prediction; take both of one kind");

 public:
  static constexpr int columns = 1 + int(sizeof...(Metrics));

  explicit objective(Loss loss, Metrics... metrics)
      : loss_(loss), metrics_{{metrics}...}, sums_(Dextents<1>(columns)) {
    reset();
  }
  void set_weighting(weighting w) { weights_ = w; }

  /// means: adds a batch to the sums; returns the gradient of its loss by the predictions. weights:
  ///        factors of the row losses: one for each row, mirrored ones for each class, or both, which
  ///        multiply; metrics ignore them
  /// after: Keras' sample_weight: the sum of weighted losses is divided by the number of rows
  template <class E, class Target, class... Weights>
  Tensor<T, E, rows_over<Replicas>> add(Tensor<T, E, rows_over<Replicas>> const& predictions,
                                        Tensor<Label, Target, rows_over<Replicas>> const& targets,
                                        Weights const&... weights) {
    return add_row<false>(predictions, predictions, targets, weights...);
  }
  /// means: the same, if the loss reads logits and the metrics read the activation of them
  template <class E, class Target, class... Weights>
  Tensor<T, E, rows_over<Replicas>> add_apart(
      Tensor<T, E, rows_over<Replicas>> const& logits,
      Tensor<T, E, rows_over<Replicas>> const& predictions,
      Tensor<Label, Target, rows_over<Replicas>> const& targets, Weights const&... weights) {
    return add_row<true>(logits, predictions, targets, weights...);
  }

  /// means: adds a number, the value of an expression, to the loss of each row of the last batch
  template <class E>
  void add_to_loss(E const& e) {
    auto const first = iota<double>(Extents<columns>{}) == 0.;
    run(into(sums_, sums_ + where(first, double(last_rows_) * e, 0.)));
  }

  /// means: the mean of the loss and of each metric over all rows since the last reset; NaN without
  ///        rows
  /// cost:  waits for the devices
  std::vector<double> read() const {
    auto const host = to<CpuDevice>(sums_);
    std::vector<double> r(host.data(), host.data() + columns);
    for (double& v : r) v /= double(rows_);
    return r;
  }
  /// means: "loss" and the metrics, of which a second one of a name has "_1" behind it, and so on
  /// after: Keras' names of metrics
  static std::vector<std::string> names() {
    return detail::made_different({"loss", Metrics::name...});
  }
  /// units: rows since the last reset
  std::int64_t rows() const { return rows_; }
  void reset() {
    double const none[columns] = {};
    locus::internal::fill_storage(*sums_.block.get(), none);
    rows_ = 0;
  }

 private:
  template <bool Apart, class E, class Target, class... Weights>
  Tensor<T, E, rows_over<Replicas>> add_row(
      Tensor<T, E, rows_over<Replicas>> const& read_by_loss,
      [[maybe_unused]] Tensor<T, E, rows_over<Replicas>> const& predictions,
      Tensor<Label, Target, rows_over<Replicas>> const& targets, Weights const&... weights) {
    static_assert(E::rank() >= 2 && E::rank() <= 4,
                  "locus: predictions have rows and classes, and up to two axes between them; "
                  "reshape them");
    static_assert(in_order<Weights...>(),
                  "locus: weights of rows come before those of classes; write add(predictions, "
                  "targets, rows, classes), with rows in pieces and classes mirrored");
    if constexpr (E::rank() >= 2 && E::rank() <= 4 && in_order<Weights...>()) {
      shape const p = read_by_loss.extents().as_shape();
      require_fit(p, targets.extents().as_shape());
      (require_weights(p, weights.extents().as_shape(), of_classes<Weights>), ...);
      Tensor<T, E, rows_over<Replicas>> d{read_by_loss.extents()};
      constexpr auto by = sizeof...(Weights) == 0        ? detail::weights_of::none
                          : sizeof...(Weights) == 2      ? detail::weights_of::rows_and_classes
                          : (of_classes<Weights> || ...) ? detail::weights_of::classes
                                                         : detail::weights_of::rows;
      using op = detail::score_op<Loss, by, Apart, Metrics...>;
      auto const scores = [&] {
        if constexpr (Apart)
          return call(op{loss_, metrics_, weights_}, read_by_loss, targets, weights...,
                      predictions);
        else
          return call(op{loss_, metrics_, weights_}, read_by_loss, targets, weights...);
      }();
      run(plan(into(d, result<0>(scores)), into(sums_, sums_ + sum_of_rows(result<1>(scores)))));
      last_rows_ = p.size() / p.extent[p.rank - 1], rows_ += last_rows_;
      return d;
    } else
      return read_by_loss;
  }

  template <class Values>
  static auto sum_of_rows(Values values) {
    constexpr int rank = Values::pattern.rank;
    if constexpr (rank == 2)
      return sum<0>(std::move(values));
    else if constexpr (rank == 3)
      return sum<0, 1>(std::move(values));
    else
      return sum<0, 1, 2>(std::move(values));
  }
  /// true: weights of classes: mirrored, not sharded by rows
  template <class W>
  static constexpr bool of_classes = std::is_same_v<typename W::policy, Replicas> &&
                                     !std::is_same_v<Replicas, rows_over<Replicas>>;
  /// true: weights of rows or of classes, or those of rows and then those of classes
  template <class... W>
  static consteval bool in_order() {
    if constexpr (sizeof...(W) < 2)
      return true;
    else {
      bool const classes[] = {of_classes<W>...};
      return sizeof...(W) == 2 && !classes[0] && classes[1];
    }
  }
  static void require_weights(shape const& p, shape const& w, bool of_classes) {
    std::int64_t const n =
        of_classes ? detail::classes_of(p.extent[p.rank - 1], Loss::sparse) : p.extent[0];
    if (w.rank == 1 && w.extent[0] == n) return;
    message text;
    throw shape_error(text << "locus: predictions " << p << " get weights " << w
                           << "; give one number for each "
                           << (of_classes ? n == p.extent[p.rank - 1] ? "class" : "label, 0 and 1"
                                          : "row of the batch"));
  }
  static void require_fit(shape const& p, shape const& t) {
    std::int64_t const n = p.extent[p.rank - 1], rows = p.extent[0];
    if (n < 1) {
      message text;
      throw shape_error(text << "locus: predictions " << p << " have no classes; give the last "
                             << "layer units");
    }
    if (t.extent[0] == rows && t.size() == (Loss::sparse ? p.size() / n : p.size())) {
      int const classes[] = {detail::least_classes_of<Metrics>()..., 1};
      for (int k : classes)
        if (k > n) {
          message text;
          throw shape_error(text << "locus: a metric counts the first " << k << " classes of " << n
                                 << "; take a smaller K");
        }
      return;
    }
    message text;
    throw shape_error(
        text << "locus: " << std::string_view(Loss::name) << " gets predictions " << p
             << " and targets " << t << "; it takes "
             << (Loss::sparse ? "one label for each row"
                              : "a target for each prediction; of numbers of classes make "
                                "one_hot<N>(labels), or take the loss with Sparse in its name"));
  }
  Loss loss_;
  pack<Metrics...> metrics_;
  weighting weights_ = weighting::global_batch;
  Tensor<double, Dextents<1>, Replicas> sums_;
  std::int64_t rows_ = 0, last_rows_ = 0;
};

}  // namespace locus::nn

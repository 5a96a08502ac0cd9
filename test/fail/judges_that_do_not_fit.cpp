// SPDX-License-Identifier: Apache-2.0
// Losses, metrics and optimizers: targets of another kind, no classes to count, two norms, no averages, too many slots, complex numbers to count, weights of classes before those of rows, weights of rows twice.
// expect-1: locus: this loss reads the number of a class for each row; give it integer labels, or take CategoricalCrossentropy
// expect-2: locus: this metric reads the number of a class for each row, and the targets are no integers; take the metric without Sparse in its name
// expect-3: locus: a metric reads other targets than the loss: one takes the number of a class for each row, the other a value for each prediction; take both of one kind
// expect-4: locus: the first K classes of a row are counted; write a K of at least 1
// expect-5: locus: the first K classes of a row are counted; write a K of at least 1
// expect-6: locus: predictions have rows and classes, and up to two axes between them; reshape them
// expect-7: locus: gradients are clipped to one norm; take ClipNorm or ClipGlobalNorm
// expect-8: locus: this optimizer keeps no averages; wrap it in MovingAverage
// expect-9: locus: a kernel reads a weight, its slots, its gradient and a factor, 24 values in all, and this rule of an optimizer has more slots; give it 20 at most
// expect-10: locus: a metric counts real numbers and booleans; give it real(z) or abs(z)
// expect-11: locus: weights of rows come before those of classes; write add(predictions, targets, rows, classes), with rows in pieces and classes mirrored
// expect-12: locus: weights of rows come before those of classes; write add(predictions, targets, rows, classes), with rows in pieces and classes mirrored
#include <locus/complex.hpp>
#include <locus/nn/losses/metric_states.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/nn/optimizers/updater.hpp>
using namespace locus;
using Cross = nn::SparseCategoricalCrossentropy<nn::from_logits_t>;
template <class T, class Loss, class... Metrics>
using judged = nn::objective<float, T, CpuDevice, Loss, Metrics...>;
template <int Rank, class Where = rows_over<CpuDevice>>
using floats_of = Tensor<float, Dextents<Rank>, Where>;
/// an objective gets predictions, targets and two weights
template <class First, class Second>
void weigh(judged<float, nn::MeanSquaredError>& o, floats_of<2>& p, First& first, Second& second) {
  static_cast<void>(o.add(p, p, first, second));
}
struct no_model {
  template <class F>
  void for_each_parameter(F&&) {}
};
template <int Slots>
struct Hoards {
  struct rule {
    static constexpr int slot_count = Slots;
    template <class V>
    void operator()(V* x, V g) const {
      x[Slots] = g;
    }
  };
  nn::rate learning_rate = 0.1;
  double weight_decay = 0, clipvalue = 0;
  static constexpr char const* name = "Hoards";
  static constexpr char const* slot_names[Slots]{};
  void require() const {}
  template <class T, class F>
  void with_rule(nn::step_state const&, F&& f) const {
    f(rule{});
  }
};
#if LOCUS_MUST_FAIL == 1
judged<float, Cross> misuse(Cross{});
#elif LOCUS_MUST_FAIL == 2
judged<float, nn::MeanSquaredError, nn::SparseCategoricalAccuracy> misuse(nn::MeanSquaredError{},
                                                                          {});
#elif LOCUS_MUST_FAIL == 3
judged<int, Cross, nn::CategoricalAccuracy> misuse(Cross{}, {});
#elif LOCUS_MUST_FAIL == 4
nn::SparseTopKCategoricalAccuracy<0> misuse;
#elif LOCUS_MUST_FAIL == 5
nn::TopKCategoricalAccuracy<0> misuse;
#elif LOCUS_MUST_FAIL == 6
void misuse(judged<float, nn::MeanSquaredError>& o,
            Tensor<float, Dextents<1>, rows_over<CpuDevice>> const& p) {
  static_cast<void>(o.add(p, p));
}
#elif LOCUS_MUST_FAIL == 7
nn::updater<nn::ClipNorm<nn::ClipGlobalNorm<nn::SGD>>, float, CpuDevice> misuse({});
#elif LOCUS_MUST_FAIL == 8
void misuse(nn::updater<nn::SGD, float, CpuDevice>& u) { u.take_averages(no_model{}); }
#elif LOCUS_MUST_FAIL == 9
void misuse(nn::updater<Hoards<22>, float, CpuDevice>& u) { u.step(no_model{}); }
#elif LOCUS_MUST_FAIL == 10
void misuse(nn::metrics::Mean& m, Tensor<complex<float>, Dextents<1>> const& z) {
  m.update_state(z);
}
#elif LOCUS_MUST_FAIL == 11
void misuse(judged<float, nn::MeanSquaredError>& o, floats_of<2>& p,
            floats_of<1, CpuDevice>& classes, floats_of<1>& rows) {
  weigh(o, p, classes, rows);
}
#elif LOCUS_MUST_FAIL == 12
void misuse(judged<float, nn::MeanSquaredError>& o, floats_of<2>& p, floats_of<1>& rows) {
  weigh(o, p, rows, rows);
}
#else
void weigh_both(judged<float, nn::MeanSquaredError>& o, floats_of<2>& p, floats_of<1>& rows,
                floats_of<1, CpuDevice>& classes) {
  weigh(o, p, rows, classes);
}
judged<int, Cross, nn::SparseTopKCategoricalAccuracy<2>> use(Cross{}, {});
nn::updater<nn::ClipNorm<nn::SGD>, float, CpuDevice> clipped({});
void keep(nn::updater<Hoards<21>, float, CpuDevice>& u) { u.step(no_model{}); }
#endif

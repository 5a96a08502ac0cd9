// SPDX-License-Identifier: Apache-2.0
// Optimizers of own loops: what is no weight, copies that differ, no weights, two types, two places, integers, pieces, a gradient too few, two sums, a name too few, copies in a file, two exclusions, rows that are no table's.
// expect-1: locus: an optimizer updates tensors and variables of a strategy; give it those, as in nn::optimizer{nn::Adam{}, w, b}
// expect-2: locus: an optimizer keeps the copies of a variable equal, and this one has copies of their own; write make_variable<on_write, aggregation::mean>
// expect-3: locus: an optimizer without weights; write nn::optimizer{nn::Adam{}, w, b}
// expect-4: locus: the weights of one optimizer have one element type; make an optimizer for each
// expect-5: locus: the weights of one optimizer lie on the same devices; make an optimizer for each place
// expect-6: locus: a step of an optimizer is no integer; give it weights of floats
// expect-7: locus: an optimizer updates weights on one named device, or mirrored ones; write to<GpuDevice<0>>(w), or to<Mirrored<...>>(w)
// expect-8: locus: an optimizer takes one gradient for each of its weights, in their order; write apply_gradients(grad(loss, w, b))
// expect-9: locus: gradients are added up twice; write one Accumulate with the product of the steps
// expect-10: locus: an optimizer names each of its weights, in their order; write name_weights("w", "b")
// expect-11: locus: the copies of a variable that each replica writes are combined when they are read; store v.read(), and assign it after loading
// expect-12: locus: weights are excluded from decay twice; write one ExcludeFromDecay with all their names
// expect-13: locus: the rows of a table are numbered by int32; write gradient_of_rows(cast<std::int32_t>(i), g)
// expect-14: locus: the gradient of rows has the axes of their numbers, and behind them one for the width of the table; give it the gradient by take(table, i)
// expect-15: locus: gradient_of_rows is the gradient of a table of two axes; give another weight grad(loss, w)
#include <locus/nn/optimizers/own_loop.hpp>
using namespace locus;
template <class T, class Where = CpuDevice>
using vector_of = Tensor<T, Dextents<1>, Where>;
template <class... Weights>
void of(Weights&... w) {
  nn::optimizer all(nn::SGD{}, w...);
}
#if LOCUS_MUST_FAIL == 1
void misuse(float& w) { of(w); }
#elif LOCUS_MUST_FAIL == 2
void misuse(variable<float, 1, Mirrored<AllGpus>, on_read, aggregation::sum>& w) { of(w); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { of(); }
#elif LOCUS_MUST_FAIL == 4
void misuse(vector_of<float>& w, vector_of<double>& b) { of(w, b); }
#elif LOCUS_MUST_FAIL == 5
void misuse(vector_of<float>& w, vector_of<float, GpuDevice<0>>& b) { of(w, b); }
#elif LOCUS_MUST_FAIL == 6
void misuse(vector_of<int>& w) { of(w); }
#elif LOCUS_MUST_FAIL == 7
void misuse(vector_of<float, Sharded<0, AllGpus>>& w) { of(w); }
#elif LOCUS_MUST_FAIL == 8
void misuse(vector_of<float>& w, vector_of<float>& b) {
  nn::optimizer all(nn::SGD{}, w, b);
  all.apply_gradients(w);
}
#elif LOCUS_MUST_FAIL == 9
nn::updater<nn::Accumulate<nn::Accumulate<nn::SGD>>, float, CpuDevice> misuse({});
#elif LOCUS_MUST_FAIL == 10
void misuse(vector_of<float>& w, vector_of<float>& b) {
  nn::optimizer all(nn::SGD{}, w, b);
  all.name_weights("w");
}
#elif LOCUS_MUST_FAIL == 11
void misuse(variable<float, 1, Mirrored<AllGpus>, on_read, aggregation::sum>& w) {
  nn::stored_of("w", w);
}
#elif LOCUS_MUST_FAIL == 12
using decays = nn::ExcludeFromDecay<nn::AdamW>;
nn::updater<nn::ExcludeFromDecay<nn::MovingAverage<decays>>, float, CpuDevice> misuse({});
#elif LOCUS_MUST_FAIL == 13
auto misuse(vector_of<long>& i, Tensor<float, Dextents<2>>& g) {
  return nn::gradient_of_rows(i, g);
}
#elif LOCUS_MUST_FAIL == 14
auto misuse(vector_of<std::int32_t>& i, vector_of<float>& g) { return nn::gradient_of_rows(i, g); }
#elif LOCUS_MUST_FAIL == 15
void misuse(vector_of<float>& w, vector_of<std::int32_t>& i, Tensor<float, Dextents<2>>& g) {
  nn::optimizer all(nn::SGD{}, w);
  all.apply_gradients(nn::gradient_of_rows(i, g));
}
#else
void use(vector_of<float>& w, variable<float, 1, CpuDevice, on_write, aggregation::none>& v) {
  of(w);
  of(v);
}
nn::updater<nn::Accumulate<nn::ClipNorm<nn::SGD>>, float, CpuDevice> both({});
#endif

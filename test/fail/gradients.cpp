// SPDX-License-Identifier: Apache-2.0
// Gradients that do not exist, or that types cannot tell apart.
// expect-1: locus: a gradient is that of one number and this loss has axes; write grad(sum(loss), w), grad(mean(loss), w) or grad_with(loss, upstream, w)
// expect-2: locus: a loss without gradient: its elements are integers, booleans or complex numbers; compute it from floats, as in cast<float>(x)
// expect-3: locus: gradients are asked for tensors and for names; give the value a name first, as in let(e, [&](auto h) { ... grad(loss, h) ... })
// expect-4: locus: a gradient is asked for integers, booleans or complex numbers, which have none; make the tensor one of floats
// expect-5: locus: a gradient is asked for a tensor that the loss does not read, or only behind stop_gradient; build the loss from what grad is given
// expect-6: locus: the loss reads several tensors of one type, or one of them twice, and types do not say which is which; write auto p = named<"p">(w), and p for w in the loss and in grad
// expect-7: locus: the loss has no gradient by a tensor: what it reads of it are comparisons, integers or stop_gradient; let floats lead from one to the other
// expect-8: locus: no gradient passes 'floor'; write stop_gradient(e) around it, or give a functor of your own a derivative(y, x...)
// expect-9: locus: no gradient passes an operation of the loss, which is printed below; give it a derivative(y, x...) or a pullback(g, y, x...) of expressions, or write stop_gradient(e) around it
// expect-10: locus: an upstream gradient has the element type of the value that it belongs to, and its extents or extents that stretch to them; write cast<float>(g), or give it the value's extents
// expect-11: locus: a gradient leads through complex numbers, which have none; write the real and the imaginary part as two tensors, or stop_gradient(z)
// expect-12: locus: the gradient of a stencil reads rows of other pieces that a tensor of the loss does not keep; write a wider Halo in the type of the tensor, up to twice the width of the stencil, or compute the adjoint g of the stencil into a tensor with a Halo and write grad_with(stencil, g, x)
// expect-13: locus: the gradient of a stencil around a ring reads a tensor of the loss whose Halo has another rule; write Halo<1, beyond::wrap> in the type of each tensor
// expect-14: locus: the gradient of a stencil over pieces reads an adjoint at a distance that is no map of tensors in pieces with a Halo; compute the adjoint g of the stencil into such a tensor and write grad_with(stencil, g, x)
#include <locus/algorithms/shift.hpp>
#include <locus/complex.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x, y;
Tensor<float, Extents<1>> u;
Tensor<float, Extents<2>> z;
Tensor<int, Extents<4>> label;
template <int Width, beyond Outside>
using Pieces =
    Tensor<float, Extents<8, 4>, Sharded<0, GpuDevice<0>, GpuDevice<1>, Halo<Width, Outside>>>;
Pieces<1, beyond::zero> thin;
Tensor<float, Extents<4, 4>, Mirrored<GpuDevice<0>, GpuDevice<1>>> square_matrix;
Pieces<2, beyond::zero> thick;
Pieces<2, beyond::wrap> ring;
template <class T>
constexpr auto moved_loss(T const& u) {
  return sum(square(shift<0, 1>(u) - shift<0, -1>(u)));
}
struct own {
  float operator()(float v) const { return v; }
};
#ifndef LOCUS_MUST_FAIL
auto proper = grad(sum(square(x)), x);
auto besides = grad(sum(square(x)) + sum(abs(stop_gradient(make_complex(u, u)))), x);
void stencils() {
  let(thick, [](auto u) { thick = grad(moved_loss(u), u); });
  let(ring, [](auto u) { ring = grad(moved_loss(u), u); });
  thin = grad_with(shift<0, 1>(thick), thin * 2.f, thick);
}
#elif LOCUS_MUST_FAIL == 1
auto misuse() { return grad(square(x), x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return grad(sum(label), x); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return grad(sum(square(x)), square(x)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return grad(sum(x * cast<float>(label)), label); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return grad(sum(square(x)), z); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return grad(sum(x * y), x); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return grad(sum(cast<float>(x > 0.f)), x); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return grad(sum(floor(x)), x); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return grad(sum(map(own{}, x)), x); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return grad_with(square(x), z, x); }
#elif LOCUS_MUST_FAIL == 12
auto misuse() {
  let(thin, [](auto u) { thin = grad(moved_loss(u), u); });
}
#elif LOCUS_MUST_FAIL == 13
auto misuse() { return grad(sum(square(shift<0, 1>(ring) - thick)), ring); }
#elif LOCUS_MUST_FAIL == 14
auto misuse() { return grad(sum(square(matmul(shift<0, 1>(thin), square_matrix))), thin); }
#else
auto misuse() { return grad(sum(abs(make_complex(x, u))), x); }
#endif

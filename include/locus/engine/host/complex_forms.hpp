// SPDX-License-Identifier: Apache-2.0
// The packet forms of ops/complex_functors.hpp.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_COMPLEX_FORMS)
#define LOCUS_ENGINE_HOST_COMPLEX_FORMS
#include <locus/engine/host/packet_form.hpp>  // packet_form
#include <locus/engine/host/packet_math.hpp>  // its rows for atan2, cos, sin
#include <locus/ops/complex_functors.hpp>     // real_fn, ...

#define LOCUS_CLONED <locus/engine/host/complex_forms.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

#define LOCUS_FORM_OF_COMPLEX(name, expression)                       \
  template <>                                                         \
  struct packet_form<name##_fn> {                                     \
    template <class T, int N>                                         \
    LOCUS_VECTOR_FUNCTION static auto call(packet<complex<T>, N> z) { \
      return expression;                                              \
    }                                                                 \
  };
LOCUS_FORM_OF_COMPLEX(real, z.re)
LOCUS_FORM_OF_COMPLEX(imag, z.im)
LOCUS_FORM_OF_COMPLEX(conj, (packet<complex<T>, N>{z.re, {-z.im.v}}))
LOCUS_FORM_OF_COMPLEX(abs2, (packet<T, N>{z.re.v * z.re.v + z.im.v * z.im.v}))
LOCUS_FORM_OF_COMPLEX(arg, packet_form<atan2_fn>::call(z.im, z.re))
#undef LOCUS_FORM_OF_COMPLEX

template <>
struct packet_form<make_complex_fn> {
  template <class A, int N, class B>
    requires is_floating_v<promote_t<A, B>>
  LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> a, packet<B, N> b) {
    using T = promote_t<A, B>;
    return packet<complex<T>, N>{simd::convert<T>(a), simd::convert<T>(b)};
  }
};
template <>
struct packet_form<polar_fn> {
  template <class A, int N, class B>
    requires is_floating_v<promote_t<A, B>>
  LOCUS_VECTOR_FUNCTION static auto call(packet<A, N> r, packet<B, N> t) {
    using T = promote_t<A, B>;
    auto const radius = simd::convert<T>(r), angle = simd::convert<T>(t);
    return packet<complex<T>, N>{simd::multiply(radius, packet_form<cos_fn>::call(angle)),
                                 simd::multiply(radius, packet_form<sin_fn>::call(angle))};
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif

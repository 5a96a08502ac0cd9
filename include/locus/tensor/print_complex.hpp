// SPDX-License-Identifier: Apache-2.0
// Complex numbers as text, in NumPy's format.
#pragma once
#include <cmath>  // signbit

#include <locus/shape/complex.hpp>  // complex
#include <locus/tensor/print.hpp>   // element_format

namespace locus::detail {

/// means: two columns, the real and the imaginary parts
template <class T>
struct element_format<complex<T>> {
  bool alone = false;

  void look(complex<T> const* values, int n) {
    dynamic_array<T> re, im;
    for (int i = 0; i < n; ++i) re.push(values[i].re), im.push(values[i].im);
    real_.is_part = imaginary_.is_part = imaginary_.plus = true;
    real_.alone = imaginary_.alone = alone;
    real_.look(re.begin(), n), imaginary_.look(im.begin(), n);
  }
  void write(text_sink& out, complex<T> v) const {
    // Python writes no real part that is 0 and positive
    bool const whole = alone && !(v.re == 0 && !std::signbit(v.re));
    if (alone && !whole) {
      element_format<T> only = imaginary_;
      only.plus = false;
      only.write(out, v.im);
      out << "j";
      return;
    }
    if (whole) out << "(";
    real_.write(out, v.re);
    text_sink part;
    imaginary_.write(part, v.im);
    std::string_view const text = part.view();
    std::size_t end = text.size();
    while (text[end - 1] == ' ') --end;
    out << text.substr(0, end) << "j" << text.substr(end) << (whole ? ")" : "");
  }

 private:
  element_format<T> real_, imaginary_;
};

}  // namespace locus::detail

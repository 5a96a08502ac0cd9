// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/plot.hpp declares.
#pragma once
#include <locus/core/is_finite.hpp>     // is_finite
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/write_number.hpp>  // write_number
#include <locus/nn/train/plot.hpp>      // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION scale scale::over(double low, double high, int wanted, bool whole) {
  if (!(high > low)) {
    double const half_width = low == 0 ? 1 : (low < 0 ? -low : low) / 10;
    low -= half_width, high += half_width;
  }
  double const rough = (high - low) / wanted;
  double power = 1;
  int decimals = 0;
  while (power > rough) power /= 10, ++decimals;
  while (power * 10 <= rough) power *= 10, decimals = decimals > 0 ? decimals - 1 : 0;
  scale s;
  for (double const m : {1.0, 2.0, 5.0, 10.0})
    if ((s.step = m * power) >= rough) {
      if (m == 10 && decimals > 0) --decimals;
      break;
    }
  if (whole && s.step < 1) s.step = 1, decimals = 0;
  auto floor_of = [](double v) { return __builtin_floor(v); };
  s.low = floor_of(low / s.step) * s.step;
  s.high = -floor_of(-high / s.step) * s.step;
  s.first = s.low, s.decimals = decimals;
  s.count = static_cast<int>((s.high - s.low) / s.step + 1.5);
  return s;
}

LOCUS_FUNCTION std::string scale::label(int k) const {
  double v = first + k * step;
  if (v < step / 1000 && -v < step / 1000) v = 0;
  char text[32];
  bool const plain = decimals <= 4 && v < 1e6 && v > -1e6;
  internal::write_number(text, sizeof text, plain ? "%.*f" : "%.*e", plain ? decimals : 1, v);
  return text;
}

LOCUS_FUNCTION svg_text::svg_text(double width, double height) {
  add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g "
      "%g\" "
      "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
}

LOCUS_FUNCTION void svg_text::text(double x, double y, char const* anchor, std::string_view s,
                                   char const* more) {
  add("<text x=\"%g\" y=\"%g\" text-anchor=\"%s\" fill=\"#333333\" %s>", x, y, anchor, more);
  for (char const c : s)
    text_ += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  text_ += "</text>\n";
}

LOCUS_FUNCTION void svg_text::curve(std::vector<double> const& x, std::vector<double> const& y,
                                    char const* color, char const* dash) {
  std::string path;
  bool pen = false;
  for (std::size_t k = 0; k < x.size(); ++k) {
    bool const there = internal::is_finite(y[k]);
    char point[64];
    internal::write_number(point, sizeof point, "%c%.2f %.2f", pen ? 'L' : 'M', x[k], y[k]);
    if (there) path += point;
    pen = there;
  }
  add("<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
      "stroke-dasharray=\"%s\" d=\"",
      color, dash);
  text_ += path + "\"/>\n";
  if (x.size() > 40) return;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (internal::is_finite(y[k]))
      add("<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2.4\" fill=\"%s\"/>\n", x[k], y[k], color);
}

LOCUS_FUNCTION series series_of(history const& h, std::string_view name) {
  series s;
  for (std::size_t k = 0; k < h.epochs.size(); ++k)
    if (h.epochs[k].has(name)) s.epoch.push_back(h.epoch[k]), s.value.push_back(h.epochs[k][name]);
  return s;
}

LOCUS_FUNCTION void draw_panel(svg_text& svg, history const& h, std::string_view name, double left,
                               double top, double width, double height) {
  series const curves[] = {series_of(h, name), series_of(h, std::string("val_") += name)};
  constexpr char const *colors[] = {"#1f77b4", "#d95f02"}, *dashes[] = {"none", "6 3"},
                       *names[] = {"training", "validation"};
  double low = 1, high = 0, first = 1, last = 0;
  for (series const& s : curves)
    for (std::size_t k = 0; k < s.value.size(); ++k) {
      double const v = s.value[k], e = s.epoch[k];
      if (first > last) first = last = e;
      first = e < first ? e : first, last = e > last ? e : last;
      if (!internal::is_finite(v)) continue;
      if (low > high) low = high = v;
      low = v < low ? v : low, high = v > high ? v : high;
    }
  svg.text(left + width / 2, top + 18, "middle", name, "font-size=\"14\" font-weight=\"bold\"");
  if (low > high) {
    svg.text(left + width / 2, top + height / 2, "middle", "no value is a number");
    return;
  }
  double const x0 = left + 64, x1 = left + width - 16, y0 = top + height - 44, y1 = top + 52;
  scale const y = scale::over(low, high, 5, false);
  scale x = scale::over(first, last, 8, true);
  if (first < last) x.low = first, x.high = last;
  auto at_x = [&](double v) { return x0 + (v - x.low) / (x.high - x.low) * (x1 - x0); };
  auto at_y = [&](double v) { return y0 - (v - y.low) / (y.high - y.low) * (y0 - y1); };
  for (int k = 0; k < y.count; ++k) {
    double const v = at_y(y.first + k * y.step);
    svg.line(x0, v, x1, v, "#e4e4e4");
    svg.text(x0 - 6, v + 4, "end", y.label(k));
  }
  for (int k = 0; k < x.count; ++k) {
    double const v = at_x(x.first + k * x.step);
    if (v < x0 - 0.5 || v > x1 + 0.5) continue;
    svg.line(v, y0, v, y0 + 4, "#333333");
    svg.text(v, y0 + 17, "middle", x.label(k));
  }
  svg.line(x0, y0, x1, y0, "#333333");
  svg.line(x0, y1, x0, y0, "#333333");
  svg.text((x0 + x1) / 2, y0 + 35, "middle", "epoch");
  double legend = x0 + 4;
  for (int c = 0; c < 2; ++c) {
    series s = curves[c];
    if (s.value.empty()) continue;
    for (double& v : s.epoch) v = at_x(v);
    for (double& v : s.value) v = at_y(v);
    svg.curve(s.epoch, s.value, colors[c], dashes[c]);
    svg.curve({legend, legend + 24}, {top + 36, top + 36}, colors[c], dashes[c]);
    svg.text(legend + 30, top + 40, "start", names[c]);
    legend += 110;
  }
}

}  // namespace locus::nn::detail

namespace locus::nn {

LOCUS_FUNCTION std::string plot_svg(history const& h) {
  std::vector<std::string> names;
  auto add = [&](std::string_view n) {
    if (n.starts_with("val_")) n.remove_prefix(4);
    for (auto const& known : names)
      if (known == n) return;
    names.emplace_back(n);
  };
  for (logs const& e : h.epochs)
    for (auto const& n : e.names) add(n);
  std::size_t const n = names.size(), columns = n < 2 ? 1 : 2,
                    rows = n == 0 ? 1 : (n + columns - 1) / columns;
  constexpr double width = 480, height = 320;
  detail::svg_text svg(width * double(columns), height * double(rows));
  for (std::size_t k = 0; k < n; ++k)
    detail::draw_panel(svg, h, names[k], width * double(k % columns),
                       height * double(std::size_t(k / columns)), width, height);
  if (n == 0) svg.text(width / 2, height / 2, "middle", "no epoch has ended");
  return svg.finish();
}

}  // namespace locus::nn

LOCUS_COLD_END

// SPDX-License-Identifier: Apache-2.0
// A history as a picture: a panel for the loss and for each metric, with training and validation.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/core/write_number.hpp>   // write_number
#include <locus/nn/train/callback.hpp>   // history
#include <locus/nn/train/log_files.hpp>  // write_file

namespace locus::nn {

namespace detail {

LOCUS_COLD_BEGIN

/// means: the ticks of an axis: multiples of 1, 2 or 5 times a power of ten
struct scale {
  double first = 0, step = 1;
  int count = 0, decimals = 0;  // ticks are at first + k step
  double low = 0, high = 1;     // the ends of the axis

  /// whole: whole numbers only
  static scale over(double low, double high, int wanted, bool whole);
  std::string label(int k) const;
};

/// Builds the text of an SVG.
class svg_text {
 public:
  svg_text(double width, double height);
  template <class... A>
  void add(char const* format, A... a) {
    char line[512];
    internal::write_number(line, sizeof line, format, a...);
    text_ += line;
  }
  void line(double x1, double y1, double x2, double y2, char const* color) {
    add("<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"%s\"/>\n", x1, y1, x2, y2, color);
  }
  void text(double x, double y, char const* anchor, std::string_view s, char const* more = "");
  /// a curve, with gaps at values that are not finite
  void curve(std::vector<double> const& x, std::vector<double> const& y, char const* color,
             char const* dash);
  std::string finish() { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

struct series {
  std::vector<double> epoch, value;
};
LOCUS_FUNCTION series series_of(history const& h, std::string_view name);

LOCUS_FUNCTION void draw_panel(svg_text& svg, history const& h, std::string_view name, double left,
                               double top, double width, double height);

LOCUS_COLD_END

}  // namespace detail

/// means: the history as SVG: a panel for the loss and each metric, training against validation
LOCUS_FUNCTION std::string plot_svg(history const& h);
/// means: writes it to a file     fails: bad_file
inline void save_plot(std::string const& path, history const& h) {
  detail::write_file(path, plot_svg(h));
}

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/plot.hpp>  // bodies of the functions above
#endif

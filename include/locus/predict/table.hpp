// SPDX-License-Identifier: Apache-2.0
// A prediction as text and as a picture. Each figure stands between its bounds.
#pragma once
#include <string>  // string

#include <locus/core/write_number.hpp>  // write_number
#include <locus/predict/law.hpp>        // prediction
#include <locus/tensor/explain.hpp>     // write_to

LOCUS_COLD_BEGIN

namespace locus {

namespace internal {

/// means: "12.3 us"
inline std::string readable_seconds(double s) {
  char text[32];
  double const us = s * 1e6;
  if (us < 1000)
    write_number(text, sizeof text, us < 10 ? "%.2f us" : "%.1f us", us);
  else if (us < 1e6)
    write_number(text, sizeof text, "%.2f ms", us * 1e-3);
  else
    write_number(text, sizeof text, "%.2f s", s);
  return text;
}
/// means: "0.953"
inline std::string readable_share(double v) {
  char text[32];
  write_number(text, sizeof text, "%.3f", v);
  return text;
}
inline std::string readable_number(double v) {
  char text[32];
  write_number(text, sizeof text, "%.4g", v);
  return text;
}
/// means: "a [low to high]"
inline std::string between_bounds(std::string const& a, std::string const& low,
                                  std::string const& high) {
  return a + " [" + low + " to " + high + "]";
}

inline std::string row_text(predicted_time const& t) {
  auto const s = readable_seconds;
  return "| " + std::to_string(t.replicas) + " | " +
         between_bounds(s(t.step_seconds), s(t.step_seconds_with_full_overlap),
                        s(t.step_seconds_without_overlap)) +
         " | " + s(t.compute_seconds) + " | " + s(t.reduce_seconds) + " | " +
         (t.exchange_seconds > 0 ? s(t.exchange_seconds) : std::string("-")) + " | " +
         between_bounds(s(t.exposed_seconds()),
                        s(t.step_seconds_with_full_overlap - t.compute_seconds),
                        s(t.step_seconds_without_overlap - t.compute_seconds)) +
         " | " +
         between_bounds(readable_share(t.efficiency()),
                        readable_share(t.efficiency_without_overlap()),
                        readable_share(t.efficiency_with_full_overlap())) +
         " | " + std::string(name_of(t.limit)) + " |\n";
}

/// means: a line for each constant, with its source
inline std::string constants_text(machines::description const& m) {
  std::string text = "| constant | value | source |\n|---|---|---|\n";
  auto const line = [&](std::string const& name, std::string const& value,
                        std::string_view source) {
    text += "| " + name + " | " + value + " | " + std::string(source) + " |\n";
  };
  machines::for_each_constant(m, [&](std::string_view name, machines::constant const& c, bool) {
    if (c.value > 0) line(std::string(name), readable_number(c.value), c.source);
  });
  for (int k = 0; k < m.kernel_count; ++k)
    line("operations_per_second of " + std::string(m.kernels[k].name),
         readable_number(m.kernels[k].operations_per_second.value),
         m.kernels[k].operations_per_second.source);
  for (int k = 0; k < m.shared_count; ++k) {
    std::string const n = std::to_string(m.shared[k].replicas) + " busy replicas";
    machines::constant const &own = m.shared[k].factor, &memory = m.shared[k].memory_factor;
    line("slowdown of " + n, readable_number(own.value), own.source);
    if (memory.value > 0)
      line("slowdown of the memory of " + n, readable_number(memory.value), memory.source);
  }
  auto const times = [&](std::string const& name, machines::time_table const& t) {
    std::string all;
    for (int i = 0; i < t.count; ++i)
      all += (i ? ", " : "") + readable_number(t.at[i].bytes) + ": " +
             readable_seconds(t.at[i].seconds);
    if (t.count > 0) line(name + ", bytes: time", all, t.source);
  };
  times("kernels that read", m.reads);
  for (int k = 0; k < m.reduce_count; ++k)
    times("all-reduce of " + std::to_string(m.reduces[k].replicas) + " replicas", m.reduces[k]);
  return text;
}

inline std::string title_of(prediction const& p) {
  std::string text = "predicted, not measured: " + std::string(p.machine.name) + ", ";
  if (p.machine.nodes > 1) text += std::to_string(p.machine.nodes) + " nodes of ";
  text += std::to_string(p.machine.replicas_per_node) + " replicas, ";
  return text + std::to_string(p.rows) +
         (p.options.rows_of_all > 0 ? " rows of all replicas (strong scaling)"
                                    : " rows of each replica (weak scaling)");
}

inline constexpr std::string_view left_out_text =
    "Left out: stragglers, kernels that a reduction slows down on its device, launches that wait "
    "for "
    "the host, input, copies between devices of one replica.\n";

/// means: p as its table
inline std::string table_of(prediction const& p) {
  std::string text = title_of(p) + "\n";
  if (p.options.seconds_on_one > 0)
    text += "times of kernels are scaled to " + readable_seconds(p.options.seconds_on_one) +
            ", which one replica was measured to take\n";
  text +=
      "\n| replicas | step [full overlap to none] | compute | all-reduce | exchange | exposed "
      "[full "
      "overlap to none] | "
      "efficiency [no overlap to full] | most of the time |\n|---|---|---|---|---|---|---|---|\n";
  bool listed = false;
  for (int k = 0; k < p.point_count; ++k) {
    if (!listed && p.points[k].replicas > p.asked.replicas)
      text += row_text(p.asked), listed = true;
    text += row_text(p.points[k]);
    listed = listed || p.points[k].replicas == p.asked.replicas;
  }
  if (!listed) text += row_text(p.asked);
  return text + "\n" + constants_text(p.machine) + "\n" + std::string(left_out_text);
}

/// means: p as a picture: efficiency over replicas, the band between its bounds
class picture_of {
 public:
  explicit picture_of(prediction const& p) : p_(p) {}
  std::string text() const {
    std::string band, line, dots;
    for (int k = 0; k < p_.point_count; ++k)
      band += at(k, p_.points[k].efficiency_with_full_overlap());
    for (int k = p_.point_count; k-- > 0;) band += at(k, p_.points[k].efficiency_without_overlap());
    for (int k = 0; k < p_.point_count; ++k) {
      predicted_time const& t = p_.points[k];
      line += at(k, t.efficiency());
      dots += "<circle cx=\"" + number(x(k)) + "\" cy=\"" + number(y(t.efficiency())) +
              "\" r=\"3.5\" fill=\"#06c\"><title>" + std::to_string(t.replicas) + ": " +
              between_bounds(readable_share(t.efficiency()),
                             readable_share(t.efficiency_without_overlap()),
                             readable_share(t.efficiency_with_full_overlap())) +
              "</title></circle>\n" +
              words(x(k), height - 24, std::to_string(t.replicas), "middle");
    }
    std::string grid;
    for (int k = 0; k <= 10; k += 2)
      grid += "<line x1=\"" + number(left) + "\" x2=\"" + number(width - 20) + "\" y1=\"" +
              number(y(k * .1)) + "\" y2=\"" + number(y(k * .1)) + "\" stroke=\"#ddd\"/>\n" +
              words(left - 6, y(k * .1) + 4, readable_share(k * .1), "end");
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           words(left, 18, escaped(title_of(p_)), "start") +
           words(left, 34, "efficiency; the band reaches from no overlap to full overlap",
                 "start") +
           grid + "<polygon points=\"" + band + "\" fill=\"#06c\" fill-opacity=\"0.18\"/>\n" +
           "<polyline points=\"" + line +
           "\" fill=\"none\" stroke=\"#06c\" stroke-width=\"2\"/>\n" + dots +
           words((left + width) / 2, height - 6, "replicas", "middle") + "</svg>\n";
  }

 private:
  static constexpr double left = 60, width = 720, height = 360;
  static std::string number(double v) {
    char text[32];
    write_number(text, sizeof text, "%.1f", v);
    return text;
  }
  static std::string escaped(std::string const& s) {
    std::string out;
    for (char const c : s)
      out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return out;
  }
  static std::string words(double x, double y, std::string const& text, char const* anchor) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" +
           text + "</text>\n";
  }
  double x(int k) const {
    int const steps = p_.point_count > 1 ? p_.point_count - 1 : 1;
    return left + 20 + (width - left - 60) * k / steps;
  }
  static double y(double share) { return height - 44 - (height - 94) * share; }
  std::string at(int k, double share) const { return number(x(k)) + "," + number(y(share)) + " "; }

  prediction const& p_;
};

}  // namespace internal

/// means: prints the word predicted, a row for 1, 2, 4, ... replicas with both bounds, each constant
///        with its source, and what is left out
template <class Stream>
void explain(Stream& out, prediction const& p) {
  internal::write_to(out, internal::table_of(p));
}
/// means: prints efficiency over replicas as SVG
template <class Stream>
void explain_svg(Stream& out, prediction const& p) {
  internal::write_to(out, internal::picture_of(p).text());
}

}  // namespace locus

LOCUS_COLD_END

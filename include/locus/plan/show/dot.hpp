// SPDX-License-Identifier: Apache-2.0
// The plan as a graph for Graphviz: a cluster for each device list, a box for each kernel with its
// steps, coloured edges for transfers.
#pragma once
#include <locus/plan/numerics.hpp>      // policy_value
#include <locus/plan/show/explain.hpp>  // write_operand, write_type

namespace locus::internal {

/// means: the plan of a graph as DOT; byte-equal for equal plans
template <std::size_t N>
class dot_writer {
 public:
  dot_writer(text_buffer<N>& out, plan_view const& p, shape const* extents)
      : out_(out), p_(p), extents_(extents) {}

  void run(policy_value const& policy) {
    write_policy(out_ << "digraph plan {\n  label=\"plan under ", policy)
        << "\"; labelloc=t; fontname=Helvetica;\n"
        << "  node [fontname=Helvetica, fontsize=11, style=filled, fillcolor=white];\n"
        << "  edge [fontname=Helvetica, fontsize=10];\n";
    find_clusters();
    for (int c = 0; c < cluster_count_; ++c) write_cluster(c);
    for (short i = 0; i < p_.steps.count; ++i)
      if (p_.steps[i].region == i) write_reads(i);
    for (int t = 0; t < p_.transfers.count; ++t)
      if (is_drawn(p_.transfers[t])) write_transfer_edge(t);
    for (int k = 0; k < p_.roots.count; ++k) {
      begin_edge(p_.roots[k].from, p_.roots[k].by);
      out_ << "r" << k << ";\n";
    }
    out_ << "}\n";
  }

 private:
  using line = text_buffer<600>;

  // ---- clusters ----
  void add_cluster(device_list const& d) {
    for (int c = 0; c < cluster_count_; ++c)
      if (clusters_[c] == d) return;
    if (d.size() > 0 && cluster_count_ < max_clusters) clusters_[cluster_count_++] = d;
  }
  void find_clusters() {
    for (step const& s : p_.steps)
      if (s.kind == step_kind::leaf || s.region >= 0) add_cluster(s.where.devices);
    for (transfer const& t : p_.transfers)
      if (is_drawn(t)) add_cluster(t.arrives.devices);
    for (root const& r : p_.roots) add_cluster(r.result.devices);
  }
  void write_cluster(int c) {
    device_list const& d = clusters_[c];
    out_ << "  subgraph cluster_" << c << " {\n    label=\"";
    for (int i = 0; i < d.size(); ++i) out_ << (i ? "  " : "") << d[i];
    out_ << "\"; style=\"rounded,filled\"; color=\"#888888\"; fillcolor=\""
         << (d[0].is_gpu() ? "#eaf3e6" : "#f3efe6") << "\";\n";
    for (short i = 0; i < p_.steps.count; ++i) {
      step const& s = p_.steps[i];
      if (!(s.where.devices == d)) continue;
      if (s.kind == step_kind::leaf) write_leaf(i);
      if (s.region == i) write_kernel(i);
    }
    for (int t = 0; t < p_.transfers.count; ++t)
      if (has_point(p_.transfers[t]) && p_.transfers[t].arrives.devices == d)
        out_ << "    t" << t << " [shape=point, width=0.1, fillcolor=\""
             << colour_of(p_.transfers[t]) << "\"];\n";
    for (int k = 0; k < p_.roots.count; ++k)
      if (p_.roots[k].result.devices == d) write_result(k);
    out_ << "  }\n";
  }

  // ---- nodes ----
  static bool is_special(char c, bool record) {
    if (c == '"' || c == '\\') return true;
    return record && (c == '{' || c == '}' || c == '|' || c == '<' || c == '>');
  }
  void escape(std::string_view text, bool record) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_special(text[i], record)) out_ << "\\";
      out_ << (text[i] == '\n' ? std::string_view(" ") : text.substr(i, 1));
    }
  }
  static void write_how(line& out, place const& at) {
    if (at.is_mirrored()) out << ", mirrored";
    if (at.is_sharded()) out << ", cut along axis " << int(at.axis);
    if (at.is_partial()) out << ", terms of a " << name_of(at.op);
  }
  void write_leaf(short i) {
    step const& s = p_.steps[i];
    line text;
    text << s.name << " #" << int(i) << " ";
    write_type(text, s, extents_[i]);
    write_how(text, s.where);
    out_ << "    s" << int(i) << " [shape=box, label=\"";
    escape(text.view(), false);
    out_ << "\"];\n";
  }
  void write_kernel(short region) {
    bool fell_back = false;
    for (step const& s : p_.steps) fell_back = fell_back || (s.region == region && s.fell_back);
    out_ << "    k" << int(region) << " [shape=record, label=\"{";
    bool first = true;
    for (short i = 0; i < p_.steps.count; ++i) {
      if (p_.steps[i].region != region) continue;
      line text;
      write_step(text, p_, i, extents_[i]);
      out_ << (first ? "<s" : "|<s") << int(i) << "> ";
      std::string_view const all = text.view();
      escape(all.substr(0, all.size() - 1), true);  // without the end of the line
      if (p_.steps[i].where.is_partial()) out_ << ", terms of a " << name_of(p_.steps[i].where.op);
      out_ << "\\l";
      first = false;
    }
    out_ << "}\"" << (fell_back ? ", color=\"#c0392b\", fontcolor=\"#c0392b\", penwidth=2" : "")
         << "];\n";
  }
  void write_result(int k) {
    root const& r = p_.roots[k];
    line text;
    text << "result ";
    write_operand(text, p_, r.from);
    write_how(text, r.result);
    out_ << "    r" << k << " [shape=box, peripheries=2, label=\"";
    escape(text.view(), false);
    out_ << "\"];\n";
  }

  // ---- edges ----
  static bool is_drawn(transfer const& t) { return t.how != transfer_kind::none; }
  /// rows of a tensor go to its own margins: the edge ends where it begins
  static bool has_point(transfer const& t) { return is_drawn(t) && t.how != transfer_kind::halo; }
  static std::string_view colour_of(transfer const& t) {
    if (is_reduction(t.how)) return "#8e44ad";
    return t.how == transfer_kind::slice ? "#7f8c8d" : "#2471a3";
  }
  bool has_node(short from) const {
    step const& s = p_.steps[memory_of(p_, from)];
    return s.kind == step_kind::leaf || s.region >= 0;
  }
  /// writes the source of an edge: a transfer, a leaf, or a step of a kernel
  void begin_edge(short from, short by) {
    short const memory = memory_of(p_, from);
    if (by >= 0)
      out_ << "  t" << int(by);
    else if (p_.steps[memory].kind == step_kind::leaf)
      out_ << "  s" << int(memory);
    else
      out_ << "  k" << int(p_.steps[memory].region) << ":s" << int(memory);
    out_ << " -> ";
  }
  bool read_before_in(short region, edge const& e) const {
    for (step const& s : p_.steps) {
      if (s.region != region) continue;
      for (edge const& other : p_.operands(s)) {
        if (&other == &e) return false;
        if (memory_of(p_, other.from) == memory_of(p_, e.from) && other.by == e.by) return true;
      }
    }
    return false;
  }
  void write_reads(short region) {
    for (short i = 0; i < p_.steps.count; ++i) {
      if (p_.steps[i].region != region) continue;
      for (edge const& e : p_.operands(p_.steps[i])) {
        bool const inside = e.by < 0 && p_.steps[memory_of(p_, e.from)].region == region;
        if (inside || !has_node(e.from) || read_before_in(region, e)) continue;
        begin_edge(e.from, e.by);
        out_ << "k" << int(region) << ":s" << int(i) << ";\n";
      }
    }
  }
  void write_transfer_edge(int number) {
    transfer const& t = p_.transfers[number];
    step const& s = p_.steps[t.from];
    if (!has_node(t.from)) return;
    tally cost;
    count_transfer(cost, s.where, t, extents_[t.from], s.element_bytes);
    begin_edge(t.from, -1);
    if (has_point(t))
      out_ << "t" << number;
    else
      out_ << "s" << int(t.from);
    out_ << " [color=\"" << colour_of(t) << "\", fontcolor=\"" << colour_of(t)
         << "\", penwidth=2, label=\"" << name_of(t.how) << " ";
    write_operand(out_, p_, t.from);
    if (!has_point(t)) out_ << ", " << int(t.before) << " before, " << int(t.behind) << " behind";
    out_ << "\\n";
    write_bytes(out_, cost.bytes_moved + cost.bytes_reduced, extents_[t.from].is_static());
    if (t.bucket >= 0) out_ << ", bucket " << int(t.bucket);
    out_ << "\"];\n";
  }

  static constexpr int max_clusters = 64;
  text_buffer<N>& out_;
  plan_view const p_;
  shape const* extents_;
  device_list clusters_[max_clusters];
  int cluster_count_ = 0;
};

/// means: the text of a graph in the language of Graphviz
using dot_text = text_buffer<1 << 17>;

}  // namespace locus::internal

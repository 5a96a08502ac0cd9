// SPDX-License-Identifier: Apache-2.0
// Plans as pictures: the text for Graphviz, and that the pictures in the documents are what the
// library makes today.
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <unistd.h>

#include <locus/locus.hpp>

namespace dot_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;
using Rows = Sharded<0, G0, G1>;

struct legacy_fn {
  LOCUS_OPERATION("legacy", on_cpu)
  float operator()(float v) const { return v; }
};
struct odd_fn {
  static constexpr auto name = "odd{a}|<b>\"c\"\\d\n";
  static constexpr auto kernels = on_both;
  float operator()(float v) const { return v; }
};

/// an operation without a GPU kernel between two that run on a GPU
std::string fallback() {
  Tensor<float, Extents<2, 3>> a;
  std::ostringstream out;
  explain_dot(out, on<G0>(map(legacy_fn{}, a) * 2.f) + a);
  return out.str();
}
/// the step of examples/04_mirrored_fashion_mnist.cpp on two replicas, with a batch of 64
std::string training_step() {
  Tensor<float, Extents<784, 128>, Pair> w1;
  Tensor<float, Extents<128, 10>, Pair> w2;
  Tensor<float, Extents<>, Pair> loss, correct;
  Tensor<float, Extents<64, 784>, Rows> x;
  Tensor<std::int32_t, Extents<64>, Rows> label;
  float const lr = 0.1f;
  std::ostringstream out;
  let(relu(matmul(x, w1)), [&](auto h) {
    let(matmul(h, w2), [&](auto logits) {
      let((softmax(logits) - one_hot<10>(label)) / global_batch(x), [&](auto d) {
        auto const dh = where(h > 0.f, matmul(d, transpose(w2)), 0.f);
        auto const hit = argmax<1>(logits) == cast<std::int64_t>(label);
        explain_dot(out, plan(into(w2, w2 - lr * matmul(transpose(h), d)),
                              into(w1, w1 - lr * matmul(transpose(x), dh)),
                              into(loss, loss - sum(one_hot<10>(label) * log_softmax(logits))),
                              into(correct, correct + sum(cast<float>(hit)))));
      });
    });
  });
  return out.str();
}
struct picture {
  char const* name;
  std::string (*make)();
};
picture const pictures[] = {{"fallback", fallback}, {"training_step", training_step}};

std::string folder() {
  std::string const here = __FILE__;
  return here.substr(0, here.rfind("test/unit/")) + "examples/pictures/";
}
std::string read(std::string const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// what a command writes when it reads a text; empty: it failed
std::string through(std::string const& command, std::string const& text) {
  std::string const path = "/tmp/locus_" + std::to_string(getpid()) + ".dot";
  std::ofstream(path) << text;
  std::string out;
  std::FILE* const pipe = popen((command + " < " + path + " 2>&1").c_str(), "r");
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) out += char(c);
  int const code = pipe ? pclose(pipe) : -1;
  std::remove(path.c_str());
  INFO(out);
  CHECK(code == 0);
  return out;
}
bool has_graphviz() { return std::system("command -v dot >/dev/null 2>&1") == 0; }
/// the words of a picture, whatever version of Graphviz drew it
std::multiset<std::string> words_of(std::string const& svg) {
  std::multiset<std::string> words;
  for (std::string const tag : {"<title>", "<text"})
    for (auto at = svg.find(tag); at != svg.npos; at = svg.find(tag, at + 1)) {
      auto const begin = svg.find('>', at) + 1;
      words.insert(svg.substr(begin, svg.find('<', begin) - begin));
    }
  return words;
}

}  // namespace

TEST_CASE("a plan as DOT: clusters of devices, kernels with their steps, what crosses in colour") {
  CHECK(fallback() == R"x(digraph plan {
  label="plan under prefer_gpu"; labelloc=t; fontname=Helvetica;
  node [fontname=Helvetica, fontsize=11, style=filled, fillcolor=white];
  edge [fontname=Helvetica, fontsize=10];
  subgraph cluster_0 {
    label="/CPU:0"; style="rounded,filled"; color="#888888"; fillcolor="#f3efe6";
    s0 [shape=box, label="leaf #0 float[2,3]"];
    k1 [shape=record, label="{<s1> #1 = legacy(#0) float[2,3]; 'legacy' has no GPU kernel, asked for /GPU:0\l}", color="#c0392b", fontcolor="#c0392b", penwidth=2];
    s4 [shape=box, label="leaf #4 float[2,3]"];
  }
  subgraph cluster_1 {
    label="/GPU:0"; style="rounded,filled"; color="#888888"; fillcolor="#eaf3e6";
    k5 [shape=record, label="{<s3> #3 = multiply(#1, scalar) float[2,3]\l|<s5> #5 = add(#3, #4) float[2,3]\l}"];
    t0 [shape=point, width=0.1, fillcolor="#2471a3"];
    t1 [shape=point, width=0.1, fillcolor="#2471a3"];
    r0 [shape=box, peripheries=2, label="result #5"];
  }
  s0 -> k1:s1;
  t0 -> k5:s3;
  t1 -> k5:s5;
  k1:s1 -> t0 [color="#2471a3", fontcolor="#2471a3", penwidth=2, label="copy #1\n24 bytes"];
  s4 -> t1 [color="#2471a3", fontcolor="#2471a3", penwidth=2, label="copy #4\n24 bytes"];
  k5:s5 -> r0;
}
)x");
}

TEST_CASE("a name cannot break out of a picture") {
  Tensor<float, Extents<4>> a;
  std::ostringstream out;
  explain_dot(out, map(odd_fn{}, a));
  auto const text = out.str();
  CHECK(text.find(R"(#1 = odd\{a\}\|\<b\>\"c\"\\d (#0) float[4]\l)") != text.npos);
  if (!has_graphviz()) return;
  auto const words = words_of(through("dot -Tsvg", text));
  CHECK(words.count("#1 = odd{a}|&lt;b&gt;&quot;c&quot;\\d (#0) float[4]") == 1);
}

TEST_CASE("each edge of a picture joins nodes that it draws") {
  auto const text = training_step();
  CAPTURE(text);
  std::istringstream lines(text);
  int edges = 0, reductions = 0;
  for (std::string line; std::getline(lines, line);) {
    auto const arrow = line.find(" -> ");
    if (arrow == line.npos) continue;
    ++edges;
    reductions += line.find("bucket 0") != line.npos;
    for (std::string end : {line.substr(2, arrow - 2), line.substr(arrow + 4)}) {
      end = end.substr(0, end.find_first_of(" ;"));
      auto const node = end.substr(0, end.find(':')), port = end.substr(node.size());
      CHECK(text.find("\n    " + node + " [") != text.npos);
      if (!port.empty()) CHECK(text.find("<" + port.substr(1) + ">") != text.npos);
    }
  }
  CHECK(edges > 30);
  CHECK(reductions == 4);  // gradients and metrics share one bucket
}

TEST_CASE("the pictures in the documents are what the library makes") {
  for (picture const& p : pictures) {
    CAPTURE(p.name);
    auto const text = p.make();
    CHECK(text == read(folder() + p.name + ".dot"));
    auto const drawn = read(folder() + p.name + ".svg");
    CHECK(drawn.find("</svg>") != drawn.npos);
    if (has_graphviz()) CHECK(words_of(through("dot -Tsvg", text)) == words_of(drawn));
  }
}

TEST_CASE("makes the pictures anew" * doctest::skip()) {
  for (picture const& p : pictures) {
    std::ofstream(folder() + p.name + ".dot") << p.make();
    std::ofstream(folder() + p.name + ".svg") << through("dot -Tsvg", p.make());
  }
}

}  // namespace dot_test

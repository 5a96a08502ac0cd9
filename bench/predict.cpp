// SPDX-License-Identifier: Apache-2.0
// Predictions beside measurements, and predictions of machines that are not here.
//     mpirun -n N predict host MACHINE [ONES]    steps of training on N ranks: a line of JSON for each. MACHINE is
//                                                what fit_machine.sh wrote, ONES the lines of one rank
//     predict cluster STEM                       tables of steps on H200 to stdout, pictures to STEM-*.svg
//     predict published                          the law beside scaling that others published
// bench/predict.sh runs all of them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <locus/mpi.hpp>
#include <locus/predict.hpp>

#include "networks.hpp"
#include "rank_clock.hpp"
#include "resnet_50.hpp"

#include "example_11.hpp"

namespace {

/// units: seconds that one rank took, by the lines of its run; 0: they do not say
double one_of(std::string const& lines, std::string const& name) {
  auto const at = lines.find("\"what\": \"" + name + "\"");
  auto const value = at == std::string::npos ? at : lines.find("\"measured\": ", at);
  return value == std::string::npos ? 0 : std::atof(lines.c_str() + value + 12);
}

void on_host(std::string const& path, std::string const& ones) {
  using Over = Mirrored<Ranks<CpuDevice>>;
  auto const machine = machines::from_file(path);
  int const n = ranks::count();
  networks::each_network<Over>(
      n, [&](char const* name, auto trainer, auto const& x, auto const& y) {
        auto const once = [&] { static_cast<void>(trainer.train_on_batch(x, y)); };
        for (int k = 0; k < 3; ++k) once();
        step_list const step = step_of_run(once);
        int repeats = int(std::clamp(4e-3 / seconds_of(3, 3, once), 1., 100.));
        locus::internal::share_from_first("repeats", &repeats, sizeof repeats);
        double const measured = seconds_of(15, repeats, once);
        std::int64_t const each = step.rows() / n;
        auto const p = predict(step, machine, {.replicas = n, .rows_each = each}).asked;
        double const one = one_of(ones, name);
        auto const q =
            predict(step, machine, {.replicas = n, .rows_each = each, .seconds_on_one = one}).asked;
        if (ranks::rank() == 0)
          std::printf("{\"what\": \"%s\", \"ranks\": %d, \"measured\": %.6g, \"predicted\": %.6g, "
                      "\"low\": %.6g, "
                      "\"high\": %.6g, \"with_one\": %.6g, \"compute\": %.6g, \"reduce\": %.6g}\n",
                      name, n, measured, p.step_seconds, p.step_seconds_with_full_overlap,
                      p.step_seconds_without_overlap, one > 0 ? q.step_seconds : 0.,
                      p.compute_seconds, p.reduce_seconds);
      });
}

void show(std::string const& title, std::string const& stem, step_view const& step,
          std::int64_t rows) {
  std::printf("### %s\n\n", title.c_str());
  auto const p = predict(step, machines::hgx_h200{.nodes = 8}, {.rows_each = rows});
  std::string text = internal::table_of(p);
  std::cout << text.substr(0, text.find("\n| constant")) << "\n" << std::flush;
  std::ofstream picture(stem + ".svg");
  explain_svg(picture, p);
}

void on_clusters(std::string const& stem) {
  using Over = Mirrored<AllGpus>;
  nn::SparseCategoricalCrossentropy const loss{nn::from_logits};
  int number = 0;
  networks::each_network<Over>(
      1, [&](char const* name, auto trainer, auto const& x, auto const& y) {
        if (++number < 5) return;  // the networks of examples 07 and 08
        auto const step = step_of_run([&] { static_cast<void>(trainer.train_on_batch(x, y)); });
        show(name, stem + (number == 5 ? "-07" : "-08"), step.view(), step.rows());
      });
  auto trainer = nn::compile<Over>(mobilenet_v2<10>(), nn::Adam{}, loss);
  auto const x = networks::images<Over, 224, 224, 3>(2);
  auto const y = networks::labels<Over>(2);
  auto const step = step_of_run([&] { static_cast<void>(trainer.train_on_batch(x, y)); });
  show("MobileNetV2 of example 11, 64 rows", stem + "-11", step.view(), 64);
  show("ResNet-50 by its list of layers, 64 rows", stem + "-resnet", resnet::step(64).view(), 64);
  std::printf("Constants of the tables above:\n\n");
  std::cout << internal::constants_text(machines::hgx_h200{.nodes = 8}.describe()) << "\n"
            << internal::left_out_text;
}

/// a step by its published time on one GPU: a third forward, then the backward with four buckets
step_list published_step(double images_per_second, double gradient_bytes, int buckets) {
  double const seconds = 64 / images_per_second;
  step_list s(64);
  s.measured("forward", seconds / 3);
  for (int k = 0; k < buckets; ++k)
    s.measured("backward", seconds * 2 / 3 / buckets).all_reduce(gradient_bytes / buckets);
  return s;
}

void beside_published() {
  auto const row = [](char const* what, auto const& machine, double images, double bytes,
                      int buckets, double published) {
    auto const p = predict(published_step(images, bytes, buckets), machine);
    std::printf("| %s | %.3g | %.3f [%.3f to %.3f] | %.3f | %+.1f %% | %s |\n", what, bytes * 1e-6,
                p.efficiency(), p.efficiency_without_overlap(), p.efficiency_with_full_overlap(),
                published, 100 * (p.efficiency() / published - 1),
                p.efficiency_without_overlap() <= published &&
                        published <= p.efficiency_with_full_overlap()
                    ? "yes"
                    : "no");
  };
  std::printf("| what | gradients, MB | predicted efficiency [no overlap to full] | published | "
              "predicted / published - 1 | within the bounds |\n|---|---|---|---|---|---|\n");
  machines::dgx1_p100 const node;
  machines::p100_hosts const hosts;
  row("TensorFlow, 8 P100, Inception v3", node, 142, 95.2e6, 4, 1131 / (8 * 142.));
  row("TensorFlow, 8 P100, ResNet-50", node, 219, 102.2e6, 4, 1734 / (8 * 219.));
  row("TensorFlow, 8 P100, ResNet-152", node, 91.8, 240.8e6, 4, 716 / (8 * 91.8));
  row("TensorFlow, 8 P100, VGG-16", node, 154, 553.4e6, 4, 1081 / (8 * 154.));
  row("Horovod, 512 P100, Inception v3", hosts, 142, 95.2e6, 1, 0.90);
  row("Horovod, 512 P100, ResNet-101 (130 images/s assumed)", hosts, 130, 178.2e6, 2, 0.90);
  row("Horovod, 512 P100, VGG-16", hosts, 154, 553.4e6, 5, 0.68);
}

}  // namespace

int main(int argc, char** argv) try {
  mpi::world const world(argc, argv);
  std::string const what = argc > 1 ? argv[1] : "";
  auto const read = [](char const* path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  if (what == "host" && argc > 2)
    on_host(argv[2], argc > 3 ? read(argv[3]) : "");
  else if (what == "cluster" && argc > 2)
    on_clusters(argv[2]);
  else if (what == "published")
    beside_published();
  else
    return std::fprintf(stderr,
                        "predict host MACHINE [ONES], predict cluster STEM, predict published\n"),
           2;
} catch (locus::error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

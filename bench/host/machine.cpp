// SPDX-License-Identifier: Apache-2.0
// What the machine can do: the limits that the other tables give shares of, beside what locus does
// with the same bytes.
#include <memory>

#include <bench/harness.hpp>
#include <bench/host/loops.hpp>

using namespace locus;

namespace {

using Vector = Tensor<float, Dextents<1>>;

std::shared_ptr<Vector> random(std::int64_t n, unsigned seed) {
  return std::make_shared<Vector>(uniform<float>(dextents<1>{n}, locus::seed{seed}));
}

bench::file const groups([] {
  bench::add("machine", "peak: multiply-add of floats", "registers", [](bench::group& g) {
    g.operations(1000 * 16 * 2 * static_cast<double>(loops::lanes));
    g.limit("16 chains", 0, [] { loops::multiply_add(1000); });
  });
  for (bench::level const& l : bench::levels)
    for (int threads : {1, 2}) {
      if (threads == 2 && l.bytes < (1 << 20)) continue;
      std::string const size = std::string(l.name) + (threads == 2 ? ", 2 threads" : "");
      std::int64_t const n = l.bytes / 4;
      auto const count = static_cast<std::size_t>(n);
      auto const bytes = static_cast<double>(l.bytes);
      auto each = [=](auto f) {
        return [=] {
          loops::parts(count, threads, [&](std::size_t b, std::size_t e) { f(b, e - b); });
        };
      };
      bench::add("machine", "copy: y = x", size, [=](bench::group& g) {
        auto const x = random(n, 1), y = random(n, 2);
        g.bytes(2 * bytes), g.threads(threads);
        g.locus([=] { *y = *x; });
        g.limit("regular stores", 0, each([=](std::size_t b, std::size_t k) {
                  loops::copy(y->data() + b, x->data() + b, k);
                }));
        g.limit("streaming stores", 0, each([=](std::size_t b, std::size_t k) {
                  loops::copy_streaming(y->data() + b, x->data() + b, k);
                }));
        g.limit("memcpy", 0, each([=](std::size_t b, std::size_t k) {
                  std::memcpy(y->data() + b, x->data() + b, 4 * k);
                }));
      });
      bench::add("machine", "STREAM triad: y = a x + z", size, [=](bench::group& g) {
        auto const x = random(n, 1), y = random(n, 2), z = random(n, 3);
        g.bytes(3 * bytes), g.threads(threads);
        g.locus([=] { *y = 2.5f * *x + *z; });
        bool const far = l.bytes > (64 << 20);
        g.limit("regular stores", far ? 0 : 0.97, each([=](std::size_t b, std::size_t k) {
                  loops::triad(y->data() + b, x->data() + b, z->data() + b, 2.5f, k);
                }));
        g.limit("streaming stores", far ? 0.95 : 0, each([=](std::size_t b, std::size_t k) {
                  loops::triad_streaming(y->data() + b, x->data() + b, z->data() + b, 2.5f, k);
                }));
      });
      bench::add("machine", "zero fill: y = 0", size, [=](bench::group& g) {
        auto const y = random(n, 2);
        g.bytes(bytes), g.threads(threads);
        g.locus([=] { *y = zeros<float>(dextents<1>{n}); });
        g.limit("memset", 0,
                each([=](std::size_t b, std::size_t k) { std::memset(y->data() + b, 0, 4 * k); }));
        g.limit("streaming stores", 0, each([=](std::size_t b, std::size_t k) {
                  loops::fill_streaming(y->data() + b, 0, k);
                }));
        g.limit("regular stores", 0,
                each([=](std::size_t b, std::size_t k) { loops::fill(y->data() + b, 0, k); }));
      });
      bench::add("machine", "read: sum(x)", size, [=](bench::group& g) {
        auto const x = random(n, 1);
        g.bytes(bytes), g.threads(threads);
        g.locus([=] {
          float const s = fetch(on<CpuDevice>(sum(*x)));
          benchmark::DoNotOptimize(s);
        });
        g.limit("8 accumulators", 0.95, each([=](std::size_t b, std::size_t k) {
                  float const s = loops::read(x->data() + b, k);
                  benchmark::DoNotOptimize(s);
                }));
      });
    }
});

}  // namespace

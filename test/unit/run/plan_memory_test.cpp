// SPDX-License-Identifier: Apache-2.0
// The memory of a plan: all of it is there before the first step, workspace included; whichever
// allocation fails, nothing has changed; and a steady statement makes no system call.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <worst_of.hpp>
// the recorder comes first
#include <cmath>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <linux/seccomp.h>

#include <locus/engine/host/cblas.hpp>

#include "child.hpp"

namespace plan_memory_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Matrix = Tensor<float, Dextents<2>, G0>;
using HostMatrix = Tensor<float, Dextents<2>>;

bool same(HostMatrix const& a, HostMatrix const& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data());
}

/// What plans read and write.
struct story {
  HostMatrix numbers{uniform<float>(dextents<2>{40, 40}, seed{1})};
  Matrix a{to<G0>(numbers)}, b{a * 2.f}, c{a * 3.f};
  HostMatrix host{numbers}, turned{numbers};
  Tensor<float, Dextents<2>, Sharded<1, G0, G1>> cut{to<Sharded<1, G0, G1>>(numbers)};
  Tensor<float, Dextents<1>, G0> long_one = iota<float>(dextents<1>{20'000});
  Tensor<float, Extents<>, G0> total = zeros<float>(Extents<>{});
  /// every second row and column: no BLAS reads, or writes, that
  auto with_gaps(Matrix& m) const {
    return view<G0>(m.data(), dextents<2>{20, 20}, layout_stride{80, 2});
  }
  std::vector<HostMatrix> all() const {
    std::vector<HostMatrix> out;
    out.push_back(to<CpuDevice>(b)), out.push_back(to<CpuDevice>(c));
    out.push_back(host), out.push_back(turned);
    out.push_back(HostMatrix(full<float>(dextents<2>{1, 1}, fetch(total))));
    return out;
  }
};
std::int64_t held() {
  std::int64_t n = 0;
  for (int i = 0; i < runtime::table.gpus; ++i) n += runtime::table.gpu_devices[i].memory.in_use;
  return n + runtime::table.cpu_devices[0].memory.in_use;
}

/// one plan, with the n-th allocation failing for every n; its destinations are as they were
template <class Plan>
int check_plan(story& s, Plan const& step) {
  auto const before = s.all();
  auto const bytes = held();
  int n = 0;
  for (bool lacked = true; lacked; ++n) {
    CAPTURE(n);
    runtime::planted.lack_memory = n;
    lacked = false;
    try {
      run(step);
    } catch (out_of_memory const& e) {
      lacked = true;
      std::string const text = e.what();
      CAPTURE(text);
      CHECK(text.starts_with("locus: no memory on /"));
    }
    CHECK((runtime::planted.lack_memory < 0) == lacked);
    runtime::planted.lack_memory = -1;
    CHECK(held() == bytes);
    if (!lacked) break;
    auto const now = s.all();
    for (std::size_t i = 0; i < now.size(); ++i) {
      CAPTURE(i);
      CHECK(same(now[i], before[i]));
    }
  }
  return n;
}

}  // namespace

TEST_CASE("whichever allocation of a plan fails, no destination has changed") {
  for (auto const how : {backends::kind::simulated, backends::kind::recorded})
    backends::run_on({how, 2, 3}, [&] {
      bool const cuda = how == backends::kind::recorded;
      story s;
      static_cast<void>(eval(matmul(s.a, s.a)));  // cuBLAS begins, with workspace of its own
      // products of products: an arena
      CHECK(check_plan(s, plan(into(s.b, s.b + 1.f), into(s.c, matmul(s.a, matmul(s.a, s.a))))) ==
            1);
      // matrices with gaps: workspace of the kernel, to read two of them and to write one
      auto const gaps =
          plan(into(s.b, s.b + 1.f),
               into(s.with_gaps(s.c), matmul(s.with_gaps(s.a), transpose(s.with_gaps(s.a)))));
      CHECK(check_plan(s, gaps) == (cuda ? 1 : 0));
      // a sum in parts
      CHECK(check_plan(s, plan(into(s.b, s.b + 1.f), into(s.total, sum(s.long_one)))) ==
            (cuda ? 1 : 0));
      // packing on the way to the host
      CHECK(check_plan(s, plan(into(s.host, on<G0>(s.a + 1.f)),
                               into(s.turned, transpose(on<G0>(s.a * 2.f))))) >= 1);
      // pieces, gathered and summed
      CHECK(check_plan(s, plan(into(s.b, s.b + 1.f), into(s.host, s.cut),
                               into(s.total, on<G0>(sum(to<G0>(s.cut)))))) >= 1);
      CHECK(fetch(s.total) != 0);
    });
}

TEST_CASE("workspace is counted and limited, and comes from the device's pool") {
  testing::recorder gpus{};
  story s;
  auto const step =
      plan(into(s.with_gaps(s.c), matmul(s.with_gaps(s.a), transpose(s.with_gaps(s.a)))));
  run(step);  // cuBLAS begins, with workspace of its own
  auto const before = config::get_memory_info<G0>().current;
  config::reset_memory_stats<G0>();
  auto const calls = gpus.calls("malloc_device");
  run(step);
  CHECK(gpus.calls("malloc_device") == calls);
  // two operands and the result, 1600 bytes each, in one block
  CHECK(config::get_memory_info<G0>().peak == before + 3 * 1792);
  CHECK(config::get_memory_info<G0>().allocations == 1);
  HostMatrix const c = to<CpuDevice>(s.c), a = s.numbers;
  float worst = 0;
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j) {
      double sum = 0;
      for (int k = 0; k < 20; ++k) sum += double(a(2 * i, 2 * k)) * double(a(2 * j, 2 * k));
      worst = worst_of(worst, std::fabs(c(2 * i, 2 * j) - float(sum)));
    }
  CHECK(worst < 1e-5f);
  CHECK(c(1, 1) == a(1, 1) * 3.f);  // between them nothing was written
}

TEST_CASE("kernels of the host do without workspace where there is none, and find the same") {
  HostMatrix x(uniform<float>(dextents<2>{700, 300}, seed{1})),
      y(zeros<float>(dextents<2>{20, 20}));
  Tensor<float, Extents<>> total;
  Tensor<float, Dextents<1>> columns(300);
  auto const gaps = view<CpuDevice>(x.data(), dextents<2>{20, 20}, layout_stride{600, 2});
  auto const all = [&] {
    total = sum(x), columns = sum<0>(x), y = matmul(gaps, transpose(gaps));
    std::vector<float> values(columns.data(), columns.data() + 300);
    values.push_back(*total.data());
    return values;
  };
  auto const well = all();
  HostMatrix const product = y;
  runtime::host_memory.trim();
  runtime::host_memory.refuses = true;
  y.data()[0] = 0;
  auto const poor = all();
  runtime::host_memory.refuses = false;
  CHECK(poor == well);  // bit by bit
  CHECK(all_close(y, product, 1e-5f, 1e-5f));
}

TEST_CASE("a steady statement on the host" * doctest::skip()) {
  config::set_intra_op_parallelism_threads(1);
  HostMatrix x(uniform<float>(dextents<2>{60, 60}, seed{1})), y(x), z(x);
  Tensor<float, Extents<>> total;
  auto const statements = [&] {
    y = 2.f * x + y;
    z = matmul(x, y) + transpose(matmul(y, x));  // two temporaries
    total = sum(z);
    auto const fresh = eval(x + 1.f);  // a tensor that comes and goes
    x.data()[0] = fresh.data()[1];
  };
  for (int i = 0; i < 3; ++i) statements();
  // from here on the kernel kills who calls it for anything but write and exit
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
    std::puts("no seccomp here");
    return;
  }
  for (int i = 0; i < 100; ++i) statements();
  if (std::getenv("TEST_PLANT")) {
    HostMatrix const larger(700, 700);
    x.data()[0] = larger.data()[0];
  }
  char const text[] = "no system call\n";
  static_cast<void>(!::write(1, text, sizeof text - 1));
  syscall(SYS_exit, 0);
}
TEST_CASE("a steady statement on one thread of the host makes no system call") {
  if (LOCUS_ADDRESS_SANITIZER) return;  // it calls the system itself
  auto const well = child::run("a steady statement on the host", {"OPENBLAS_NUM_THREADS=1"});
  CAPTURE(well.text);
  CHECK((well.says("no system call") || well.says("no seccomp here")));
  CHECK(well.signal == 0);
  auto const badly =
      child::run("a steady statement on the host", {"OPENBLAS_NUM_THREADS=1", "TEST_PLANT=1"});
  CHECK((badly.signal == SIGKILL || badly.says("no seccomp here")));
  CHECK_FALSE(badly.says("no system call"));
}

}  // namespace plan_memory_test

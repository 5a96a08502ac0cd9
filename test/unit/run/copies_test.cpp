// SPDX-License-Identifier: Apache-2.0
// Copies that a run may leave out, and copies that a program may forbid: one tensor that occurs more
// than once is copied once; the copy policy.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <sstream>
#include <string>

namespace copies_test {

using namespace locus;
using Matrix = Dextents<2>;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Pair = Mirrored<G0, G1>;

/// what locus says while f runs
template <class F>
std::string said(F&& f) {
  std::string text;
  debugging::set_log_sink(
      [](log_event const&, std::string_view line, void* to) {
        *static_cast<std::string*>(to) += std::string(line) + "\n";
      },
      &text);
  f();
  debugging::set_log_sink(nullptr);
  return text;
}
int count_of(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a tensor that occurs twice is copied once; two tensors are copied twice") {
  on_backends([] {
    Tensor<float, Extents<3>> a{{1, 2, 3}}, b{{4, 5, 6}};
    auto const product = [](auto const& x, auto const& y) { return on<G0>(x * y); };
    using E = decltype(product(a, b));
    static_assert(plan_of<E>.copies() == 2 && plan_of<E>.bytes_moved() == 24);
    auto seen = testing::count([&] { CHECK(fetch(sum(eval(product(a, a)))) == 14); });
    CHECK(seen.copies == 2);  // the second one brings the sum
    CHECK(seen.reused == 1);
    CHECK(seen.bytes_moved == 16);
    CHECK(seen.bytes_reused == 12);
    seen = testing::count([&] { CHECK(fetch(sum(eval(product(a, b)))) == 32); });
    CHECK(seen.copies == 3);
    CHECK(seen.reused == 0);
    CHECK(tally_of(product(a, a)).copies == 1);
    CHECK(tally_of(product(a, a)).reused == 1);
    CHECK(tally_of(product(a, b)).copies == 2);

    std::ostringstream twice, once;
    explain(twice, product(a, b)), explain(once, product(a, a));
    CHECK(twice.str() == plan_of<E>.explain().view());
    CHECK(once.str() ==
          twice.str() + "  when it runs: 1 copy (12 bytes), 1 occurrence of a tensor reused\n");
    debugging::set_log_device_placement(true, log_frequency::every);
    auto const log = said([&] { static_cast<void>(eval(product(a, a))); });
    debugging::set_log_device_placement(false);
    CHECK(count_of(log, "Copying 12 bytes") == 2);
    CHECK(count_of(log, "(skipped: reused: the same tensor was brought before)") == 1);
  });
}

TEST_CASE("occurrences that other kernels read later, in whatever memory the plan gave them") {
  on_backends([] {
    Tensor<float, Matrix> c = uniform<float>(Matrix(5, 5), seed{7}, -1.f, 1.f);
    Tensor<float, Matrix> d = uniform<float>(Matrix(5, 5), seed{8}, -1.f, 1.f);
    auto const chain = [](auto const& x, auto const& y, auto const& z) {
      return matmul(matmul(exp(x), y) * 0.5f, matmul(z, exp(y))) - x + matmul(y, z);
    };
    // x y z: which of them are the same tensor
    auto check = [&](auto const& x, auto const& y, auto const& z, int at_most) {
      Tensor<float, Matrix> here = on<CpuDevice>(chain(x, y, z)), there(5, 5);
      auto const seen = testing::count([&] { there = fetch(eval(on<G0>(chain(x, y, z)))); });
      CHECK(seen.copies + seen.reused == 7 + 1);
      CHECK(seen.copies <= at_most + 1);
      CHECK(all_close(here, there, 1e-5));
    };
    Tensor<float, Matrix> e = c + d;
    check(c, d, e, 5), check(c, c, e, 5), check(c, d, d, 5), check(c, d, c, 5), check(d, d, d, 4);
  });
}

TEST_CASE("views of one tensor are different values; pieces and mirrors are shared too") {
  on_backends([] {
    Tensor<float, Extents<4, 4>> a = iota<float>(Extents<4, 4>{});
    auto seen = testing::count([&] { CHECK(fetch(sum(on<G0>(a * transpose(a)))) == 1060); });
    CHECK(seen.copies + seen.reused == 3);
    CHECK(seen.reused == 0);
    Tensor<float, Extents<4, 4>, Pair> m(a);
    seen = testing::count([&] { CHECK(fetch(sum((m + a) * a)) == 2480); });
    CHECK(seen.reused == 2);  // on each replica
    auto const rows = [&] { return slice(a, {0, 2}, {}); };
    seen = testing::count([&] { CHECK(fetch(sum(on<G1>(rows() * rows()))) == 140); });
    CHECK(seen.reused == 1);
    a = on<G0>(a + a * 2.f);  // what is read is written at the end
    CHECK(fetch(sum(a)) == 360);
  });
}

TEST_CASE("a missing event behind a shared copy is found") {
  testing::simulated_gpus const gpus(2, {.seed = 5});
  Tensor<float, Extents<3>, G0> a{{1, 2, 3}};
  auto const square = [&] { return fetch(sum(on<G1>(a * a))); };
  CHECK(square() == 14);
  runtime::planted.no_waits = true;
  CHECK_THROWS_AS(static_cast<void>(square()), bad_access);
  runtime::planted.no_waits = false;
  simulated::gpus().run_everything();
}

TEST_CASE("the copy policy: a copy that nobody wrote is said, or refused before anything runs") {
  on_few_backends([](backends::machine const& where) {
    Tensor<float, Extents<3>> a{{1, 2, 3}};
    Tensor<float, Extents<3>, G0> x{{1, 2, 3}}, y{{5, 5, 5}};
    Tensor<float, Extents<3>, Pair> m{{1, 1, 1}};
    auto const adds = [&] { static_cast<void>(eval(x + a)); };
    auto const stays = [&] { y = x * 2.f + y; };
    auto const asks = [&] {
      static_cast<void>(eval(x + on<G0>(a)));
      static_cast<void>(eval(x + to<G0>(a)));
      static_cast<void>(fetch(sum(x)));
      std::ostringstream text;
      text << x;
      a = x;
      x = a;
      Tensor<float, Extents<3>, Pair> copies(x);
    };
    CHECK(said([&] { adds(), asks(), stays(); }) == "");

    config::set_device_policy(copy_policy::warn);
    auto const warned = said([&] {
      for (int k = 0; k < 3; ++k) adds();
    });
    CHECK(count_of(warned, "\n") == !where.has_gpu());  // once for this line of the program
    if (!where.has_gpu()) {
      CHECK(warned.starts_with(
          "locus: step 2 (add) on /GPU:0 copies operand #1 (leaf, 12 bytes) from "
          "/CPU:0, which nobody wrote, at "));
      CHECK(warned.find("copies_test.cpp:") != warned.npos);
      CHECK(warned.ends_with("; write to<\"/GPU:0\">(x) or on<\"/GPU:0\">(x)\n"));
    }
    CHECK(said([&] { asks(), stays(); }) == "");

    config::set_device_policy(copy_policy::explicit_only);
    CHECK_NOTHROW(asks());
    CHECK_NOTHROW(stays());
    std::string text, over;
    auto const seen = testing::count([&] {
      try {
        y = exp(y) + (x + a);
      } catch (placement_error const& e) {
        text = e.what();
      }
      try {
        static_cast<void>(eval(m * a));
      } catch (placement_error const& e) {
        over = e.what();
      }
    });
    config::set_device_policy(copy_policy::silent);
    CHECK(seen == tally{});
    CHECK(text.find("(add) on /GPU:0 would copy operand #1 (leaf, 12 bytes) from /CPU:0, which "
                    "nobody wrote") != text.npos);
    CHECK(text.ends_with("; write to<\"/GPU:0\">(x) or on<\"/GPU:0\">(x)"));
    CHECK(over.find("would copy operand #1 (leaf, 24 bytes)") != over.npos);
    CHECK(over.find("; write to<Where>(x) for ") != over.npos);
    CHECK(said(adds) == "");
  });
}

TEST_CASE("each copy of a long plan that nobody wrote is said") {
  testing::simulated_gpus const one{1};
  Tensor<float, Extents<3>, G0> const g{1, 2, 3};
  Tensor<float, Extents<3>> const a{4, 5, 6}, b{7, 8, 9};
  config::set_device_policy(copy_policy::warn);
  auto const warned =
      said([&] { static_cast<void>(eval(b + -(a + g + g + g + g + g + g + g + g))); });
  config::set_device_policy(copy_policy::silent);
  CHECK(count_of(warned, "step 3 (add) on /GPU:0 copies operand #0") == 1);
  CHECK(count_of(warned, "step 19 (add) on /GPU:0 copies operand #0") == 1);
}

TEST_CASE("a value that a copy between two sides of the host leaves where it is stays there") {
  on_few_backends([] {
    Tensor<float, Extents<2>> const a{1, 2}, b{10, 20};
    auto const c = eval(on<CpuDevice>(on<G0>(2.f * a) + on<G0>(3.f * b)));  // two in one arena
    CHECK(c(0) == 32);
    CHECK(c(1) == 64);
  });
}

}  // namespace copies_test

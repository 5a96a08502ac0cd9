// SPDX-License-Identifier: Apache-2.0
// Runs every generated expression type on 50 shapes and data sets under three policies, over four
// simulated GPUs and the CPU, beside the oracle. The first failure of a type is written as a program
// that reproduces it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "harness.hpp"

#if !LOCUS_RANDOM_RECORDER
#include <locus/testing/simulated_gpus.hpp>
#endif

using namespace random_expressions;
namespace lc = locus;

std::vector<expression_type>& random_expressions::all_types() {
  static std::vector<expression_type> all;
  return all;
}

namespace {

std::string text_of(double v) {
  char out[48];
  std::snprintf(out, sizeof out, "%.17g", v);
  return out;
}
double element_at(std::vector<char> const& bytes, lc::element type, std::int64_t i,
                  std::int64_t& whole) {
  auto const read = [&](auto zero) {
    std::memcpy(&zero, bytes.data() + static_cast<std::size_t>(i) * sizeof zero, sizeof zero);
    return zero;
  };
  switch (type) {
  case lc::element::f32: return static_cast<double>(read(float()));
  case lc::element::f64: return read(double());
  case lc::element::f16: return static_cast<double>(read(lc::half()));
  case lc::element::bf16: return static_cast<double>(read(lc::bfloat16()));
  case lc::element::i32: whole = read(std::int32_t()); break;
  case lc::element::i64: whole = read(std::int64_t()); break;
  case lc::element::u8: whole = read(std::uint8_t()); break;
  case lc::element::i8: whole = read(std::int8_t()); break;
  case lc::element::i16: whole = read(std::int16_t()); break;
  default: whole = read(char()); break;
  }
  return 0;
}

}  // namespace

void random_expressions::detail::compare(world& w, int root, lc::tensor_block const& b) {
  values const& want = (*w.oracle)(w.roots[root]);
  if (!w.failure.empty()) return;
  std::vector<char> const is = read(b, w.failure);
  if (!w.failure.empty()) {
    w.failed_root = root, w.failed_at = 0;
    return;
  }
  if (!(b.extents == want.extents) || b.type != want.type) {
    lc::message text;
    text << "extents or element type differ: " << b.extents << ", not " << want.extents;
    w.failure = text.c_str(), w.failed_root = root;
    return;
  }
  for (std::int64_t i = 0; i < want.size(); ++i) {
    cell const& c = want[i];
    std::int64_t whole = 0;
    double const v = element_at(is, b.type, i, whole);
    ++w.compared;
    if (c.error == unknown) {
      ++w.skipped;
      continue;
    }
    w.exact += c.error == 0;
    bool const same = is_float(b.type) ? (v == c.v || (std::isnan(v) && std::isnan(c.v)) ||
                                          std::fabs(v - c.v) <= c.error)
                                       : whole == c.i;
    if (same) continue;
    w.want = is_float(b.type) ? text_of(c.v) + " +- " + text_of(c.error) : std::to_string(c.i);
    w.is = is_float(b.type) ? text_of(v) : std::to_string(whole);
    w.failed_root = root, w.failed_at = i;
    w.failure = "root " + std::to_string(root) + ": element [" + std::to_string(i) + "] is " +
                w.is + ", not " + w.want;
    return;
  }
}

namespace {

char const* const policies[] = {"prefer_gpu", "follow_data", "min_copies"};

/// The run under way: also for the handler of a fault, which can do little more than write.
struct under_way {
  expression_type const* type = nullptr;
  world* w = nullptr;
  int policy = 0;
  std::uint64_t gpu_seed = 0;
  int gpus = 4, cards = 0;  // cards: 0, one for each
} now;
std::string folder = ".";
std::uint64_t base_seed = 0;

void replace(std::string& text, std::string const& what, std::string const& by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}
/// a program that fails as this run did
std::string reproduce(std::string const& why) {
  world const& w = *now.w;
  std::string program = program_text;
  std::string comment = why;
  replace(comment, "\n", " ");
  replace(program, "@body@", now.type->text);
  replace(program, "@why@", comment);
  replace(program, "@seed@", std::to_string(base_seed));
  replace(program, "@type@", std::to_string(now.type->number));
  replace(program, "@m@", std::to_string(w.m));
  replace(program, "@n@", std::to_string(w.n));
  replace(program, "@k@", std::to_string(w.k));
  replace(program, "@data@", std::to_string(w.seed) + "u");
  replace(program, "@kind@", std::to_string(w.kind));
  replace(program, "@gpus@", std::to_string(now.gpu_seed) + "u");
  replace(program, "@count@", std::to_string(now.gpus));
  replace(program, "@cards@", std::to_string(now.cards));
  replace(program, "@policy@", policies[now.policy]);
  replace(program, "@root@", std::to_string(w.failed_root));
  replace(program, "@at@", std::to_string(w.failed_at));
  replace(program, "@want@", w.want.empty() ? "?" : w.want);
  std::string const path = folder + "/locus_seed" + std::to_string(base_seed) + "_type" +
                           std::to_string(now.type->number) + ".cpp";
  std::ofstream(path) << program;
  return path;
}
void on_fault(int signal) {
  std::string const path = reproduce("a fault, signal " + std::to_string(signal));
  std::fprintf(stderr,
               "seed %llu: type %d under %s with m = %lld, n = %lld, k = %lld: signal %d; %s "
               "reproduces it\n",
               static_cast<unsigned long long>(base_seed), now.type->number, policies[now.policy],
               static_cast<long long>(now.w->m), static_cast<long long>(now.w->n),
               static_cast<long long>(now.w->k), signal, path.c_str());
  std::_Exit(3);
}

/// a deliberate mistake, to see that it is found
void plant(std::string const& what) {
  auto& p = lc::runtime::planted;
  if (what == "omit_transfer") p.omit_transfer = 0;
  if (what == "no_waits") p.no_waits = true;
  if (what == "free_at_once") p.free_at_once = true;
  if (what == "swap_replicas") p.swap_replicas = true;
  if (what == "host_does_not_wait") p.host_does_not_wait = true;
}

struct totals {
  std::int64_t runs = 0, compared = 0, exact = 0, skipped = 0, refused = 0;
  int failures = 0;
};

/// means: one expression type on one shape under one policy; false: it failed
bool run_one(expression_type const& t, world& w, int policy, totals& sum) {
  now.type = &t, now.w = &w, now.policy = policy;
  w.compared = w.exact = w.skipped = 0;
  bool refused = false, expected = false;
  try {
    t.run[policy](w);
  } catch (nothing_to_reduce const&) {
    w.failure = "an extremum of nothing was not refused";
  } catch (lc::shape_error const& e) {
    refused = true;
    try {  // the oracle must refuse it too
      for (int r = 0; r < t.root_count; ++r) (*w.oracle)(t.roots[r]);
    } catch (nothing_to_reduce const&) {
      expected = true;
    }
    if (!expected) w.failure = e.what();
  } catch (std::exception const& e) {
    w.failure = e.what();
  }
  ++sum.runs, sum.compared += w.compared, sum.exact += w.exact, sum.skipped += w.skipped;
  sum.refused += refused && expected;
  if (w.failure.empty()) return true;
  ++sum.failures;
  std::string const path = reproduce(w.failure);
  std::printf("FAILED seed %llu, type %d under %s with m = %lld, n = %lld, k = %lld: %s\n    %s "
              "reproduces it\n",
              static_cast<unsigned long long>(base_seed), t.number, policies[policy],
              static_cast<long long>(w.m), static_cast<long long>(w.n), static_cast<long long>(w.k),
              w.failure.c_str(), path.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  base_seed = program_seed;
  if (argc > 1) folder = argv[1];
  int const only = argc > 2 ? std::atoi(argv[2]) : -1;
  if (argc > 3) plant(argv[3]);
  std::signal(SIGSEGV, on_fault), std::signal(SIGABRT, on_fault), std::signal(SIGFPE, on_fault);
  std::printf("random expressions: seed %llu, %zu types\n",
              static_cast<unsigned long long>(base_seed), all_types().size());
  auto& types = all_types();
  std::sort(types.begin(), types.end(), [](auto& a, auto& b) { return a.number < b.number; });
  totals sum;
  constexpr int shapes = 50;
  for (int s = 0; s < shapes; ++s) {
    // small ones first: the first failure of a type is the smallest
    std::uint64_t const bits = mix(base_seed + static_cast<std::uint64_t>(s) * 7919);
    std::int64_t const largest = s < 10 ? 2 : s < 25 ? 6 : s < 40 ? 14 : 45;
    auto const extent = [&](int shift) {
      return static_cast<std::int64_t>(bits >> shift & 0xffff) % (largest + 1);
    };
    for (expression_type const& t : types) {
      static std::set<int> failed;
      if (failed.count(t.number) || (only >= 0 && t.number != only)) continue;
      world w;
      w.m = extent(0), w.n = extent(16), w.k = extent(32);
      if (s == 0) w.m = w.n = w.k = 1;
      if (s == shapes - 1) w.m = 71, w.n = 37, w.k = 23;
      w.seed = mix(base_seed * 1000 + static_cast<std::uint64_t>(s) + 17) >> 20;
      w.kind = s % 5;
      now.gpu_seed = bits >> 40;
      // sometimes GPUs share cards, or some that the program names are not there, or all
      now.gpus = s % 7 == 3 ? 2 : s % 7 == 5 ? 3 : s % 16 == 15 ? 0 : 4;
      now.cards = s % 4 == 1 ? 2 : s % 4 == 2 ? 1 : 0;
      interpreter oracle(t.nodes, t.node_count);
      w.oracle = &oracle, w.roots = t.roots;
#if LOCUS_RANDOM_RECORDER
      lc::testing::recorder const machine{{.cards = now.gpus}};
#else
      std::optional<lc::testing::simulated_gpus> machine;
      if (now.gpus > 0)
        machine.emplace(now.gpus,
                        lc::runtime::simulated_options{.seed = now.gpu_seed, .cards = now.cards});
#endif
      for (int policy = 0; policy < 3; ++policy)
        if (!run_one(t, w, policy, sum)) {
          failed.insert(t.number);
          break;
        }
    }
  }
  std::printf(
      "%zu types, %lld runs, %lld elements compared: %.1f%% of them must be equal to the bit, "
      "%.2f%% are not known; %lld runs refused as they must; %d types failed\n",
      types.size(), static_cast<long long>(sum.runs), static_cast<long long>(sum.compared),
      100. * static_cast<double>(sum.exact) /
          static_cast<double>(std::max<std::int64_t>(sum.compared, 1)),
      100. * static_cast<double>(sum.skipped) /
          static_cast<double>(std::max<std::int64_t>(sum.compared, 1)),
      static_cast<long long>(sum.refused), sum.failures);
  return sum.failures > 0 || sum.runs == 0;
}

// SPDX-License-Identifier: Apache-2.0
// programs [STATEMENTS [SEED]]: random statements on tensors that live on, over simulated GPUs that
// keep copies, with collectives between them and settings that change, beside arrays of the host.
// All numbers are whole and small, so every result is exact. A failure prints the seed, the last
// statements and the element; the same seed runs the same program.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <locus/locus.hpp>
#include <locus/tensor/collective.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using G2 = GpuDevice<2>;
using Row = Dextents<1>;
template <class Where>
using Vector = Tensor<float, Row, Where>;
using values = std::vector<float>;

/// A tensor and what it must hold.
template <class Where>
struct checked {
  Vector<Where> is;
  values want;
  checked(std::int64_t n) : is(n), want(static_cast<std::size_t>(n)) {}
};

class random_program {
 public:
  random_program(std::uint64_t seed, int statements) : random_(seed), left_(statements) {
    n_ = pick(1, 24);
    for (int k = 0; k < 2; ++k) cut_[k] = pick(0, int(n_));
    if (cut_[1] < cut_[0]) std::swap(cut_[0], cut_[1]);
    std::apply([&](auto&... x) { (make(x, n_), ...); }, whole_);
    make(std::get<0>(parts_), cut_[0]);
    make(std::get<1>(parts_), cut_[1] - cut_[0]);
    make(std::get<2>(parts_), n_ - cut_[1]);
    config::set_copy_cache(1 << 16);
  }
  random_program(random_program const&) = delete;
  ~random_program() {
    config::set_copy_cache(0);
    config::set_reduction_order(reduction_order::fast);
    config::set_cross_device_ops(cross_device_ops::automatic);
  }

  /// empty: everything was right
  std::string run() {
    while (left_-- > 0 && failure_.empty()) {
      statement();
      keep_small();
      if (pick(0, 5) == 0) check_all();
    }
    check_all();
    return failure_.empty() ? failure_ : failure_ + "\n  the last statements:" + history_;
  }

 private:
  // two whole tensors in each place, and three parts, whose rows are those of a whole one
  template <int K>
  using place_of = std::tuple_element_t<std::size_t(K), std::tuple<CpuDevice, G0, G1, G2>>;
  using Copies = Mirrored<G0, G1, G2>;
  using Pieces = Sharded<0, G0, G1, G2>;
  std::tuple<std::vector<checked<CpuDevice>>, std::vector<checked<G0>>, std::vector<checked<G1>>,
             std::vector<checked<G2>>, std::vector<checked<Copies>>, std::vector<checked<Pieces>>>
      whole_;
  std::tuple<std::vector<checked<G0>>, std::vector<checked<G1>>, std::vector<checked<G2>>> parts_;
  std::mt19937_64 random_;
  int left_;
  std::int64_t n_ = 0, cut_[2]{};
  std::string failure_, history_;

  int pick(int low, int high) {
    return low + int(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <int K>
  auto& any() {
    return std::get<std::size_t(K)>(whole_)[std::size_t(pick(0, 1))];
  }
  /// f(std::integral_constant<int, k>{}) for a random k < Count
  template <int Count, class F>
  void with_any(F&& f) {
    int const which = pick(0, Count - 1);
    [&]<int... K>(std::integer_sequence<int, K...>) {
      ((K == which ? f(std::integral_constant<int, K>{}) : void()), ...);
    }(std::make_integer_sequence<int, Count>{});
  }
  template <class Where>
  void make(std::vector<checked<Where>>& all, std::int64_t n) {
    for (int k = 0; k < 2; ++k) all.emplace_back(n);
    for (auto& x : all) fill(x);
  }
  template <class Where>
  void fill(checked<Where>& x) {
    for (float& v : x.want) v = float(pick(-9, 9));
    internal::fill_storage(*x.is.block.get(), x.want.data());
  }
  void note(std::string const& what) {
    history_ += "\n    " + what;
    if (history_.size() > 1500) history_.erase(0, history_.find('\n', 300));
  }
  template <class Where>
  static std::string name(Vector<Where> const&) {
    return name_of<Where>();
  }
  template <class Where>
  static std::string name_of() {
    text_buffer<64> text;
    text << Where::value;
    return text.c_str();
  }

  template <class Where>
  void check(checked<Where>& x) {
    auto const is = to<CpuDevice>(x.is);
    for (std::size_t i = 0; i < x.want.size(); ++i) {
      float const got = is(std::int64_t(i));
      if (got == x.want[i] || !failure_.empty()) continue;
      failure_ = "element " + std::to_string(i) + " of a tensor on " + name(x.is) + " is " +
                 std::to_string(got) + ", not " + std::to_string(x.want[i]);
    }
  }
  template <class F>
  void each_tensor(F&& f) {
    auto const each = [&](auto& all) {
      for (auto& x : all) f(x);
    };
    std::apply([&](auto&... all) { (each(all), ...); }, whole_);
    std::apply([&](auto&... all) { (each(all), ...); }, parts_);
  }
  void check_all() {
    each_tensor([&](auto& x) { check(x); });
  }
  /// numbers that one more statement could make inexact are replaced
  void keep_small() {
    each_tensor([&](auto& x) {
      bool large = false;
      for (float const v : x.want) large = large || v > 1e4f || v < -1e4f;
      if (large) check(x), fill(x);
    });
  }

  // ---- statements ----
  void statement() {
    // what is read again and again is what devices keep
    while (pick(0, 2) != 0)
      with_any<4>([&](auto d) { with_any<4>([&](auto a) { look<d(), a()>(); }); });
    switch (pick(0, 11)) {
    case 0:
    case 1: return with_any<6>([&](auto d) { with_any<6>([&](auto a) { copy_of<d(), a()>(); }); });
    case 2: return with_any<4>([&](auto d) { with_any<4>([&](auto a) { sum_of<d(), a()>(); }); });
    case 3: return with_any<6>([&](auto a) { add_the_sum<a()>(); });
    case 4: return with_any<4>([&](auto d) { with_any<4>([&](auto a) { slice_of<d(), a()>(); }); });
    case 5: return with_any<4>([&](auto a) { swap_with<a()>(); });
    case 6: return with_any<6>([&](auto d) { write<d()>(); });
    case 7: return with_any<3>([&](auto d) { update_part<d()>(); });
    case 8:
    case 9:
    case 10: return collective_call();
    default: return change_settings();
    }
  }
  /// a value that another device computes with, once or twice
  template <int D, int A>
  void look() {
    auto& a = any<A>();
    note("what " + name_of<place_of<D>>() + " sees of " + name(a.is));
    for (int turns = pick(1, 2); turns-- > 0;) {
      checked<place_of<D>> seen(n_);
      seen.is = a.is + 1.f;
      for (std::size_t i = 0; i < a.want.size(); ++i) seen.want[i] = a.want[i] + 1;
      check(seen);
    }
  }
  template <int D, int A>
  void copy_of() {
    auto& d = any<D>();
    auto& a = any<A>();
    float const by = float(pick(-3, 3));
    note(name(d.is) + " = " + name(a.is) + " + number");
    values const from = a.want;
    d.is = a.is + by;
    for (std::size_t i = 0; i < from.size(); ++i) d.want[i] = from[i] + by;
    if (pick(0, 2) == 0) check(d);
  }
  template <int D, int A>
  void sum_of() {
    auto& d = any<D>();
    auto& a = any<A>();
    auto& b = any<(A + 1) % 4>();
    note(name(d.is) + " = " + name(a.is) + " - " + name(b.is) + " on a GPU");
    values const x = a.want, y = b.want;
    d.is = on<G1>(a.is - b.is);
    for (std::size_t i = 0; i < x.size(); ++i) d.want[i] = x[i] - y[i];
    if (pick(0, 2) == 0) check(d);
  }
  template <int A>
  void add_the_sum() {
    auto& a = any<A>();
    auto& d = any<(A + 4) % 6>();
    note(name(d.is) + " = itself + sum(" + name(a.is) + ")");
    float all = 0;
    for (float const v : a.want) all += v;
    d.is = d.is + sum(a.is);
    for (float& v : d.want) v += all;
  }
  template <int D, int A>
  void slice_of() {
    auto& d = any<D>();
    auto& a = any<A>();
    int const rows = pick(0, int(n_)), to = pick(0, int(n_) - rows), from = pick(0, int(n_) - rows);
    note("rows of " + name(d.is) + " = rows of " + name(a.is));
    values const x = a.want;
    run_now(into(slice(d.is, {to, to + rows}), slice(a.is, {from, from + rows})));
    for (int i = 0; i < rows; ++i) d.want[std::size_t(to + i)] = x[std::size_t(from + i)];
  }
  template <int A>
  void swap_with() {
    auto& a = any<A>();
    auto& b = any<(A + 1) % 4>();
    note("plan: " + name(a.is) + " = " + name(b.is) + " + 1, and the other way round");
    run_now(plan(into(a.is, b.is + 1.f), into(b.is, a.is)));
    std::swap(a.want, b.want);
    for (float& v : a.want) v += 1;
  }
  template <class Step>
  static void run_now(Step const& s) {
    locus::run(s);
  }
  template <int D>
  void write() {
    auto& d = any<D>();
    auto& other = std::get<std::size_t(D)>(whole_)[0];
    switch (pick(0, 4)) {
    case 0: note("numbers of the host to " + name(d.is)); return fill(d);
    case 1:
      note("a copy in " + name(d.is));
      d.is = other.is, d.want = other.want;
      return;
    case 2:
      note("memory of another " + name(d.is));
      {
        auto made = other.is;
        d.is = std::move(made), d.want = other.want;
      }
      return;
    case 3:
      note(name(d.is) + " += 1");
      d.is += 1.f;
      for (float& v : d.want) v += 1;
      return;
    default:
      if constexpr (D == 0) {
        int const i = pick(0, int(n_) - 1);
        note("an element of " + name(d.is));
        d.is(i) = 7, d.want[std::size_t(i)] = 7;
      } else if constexpr (D == 4) {
        note("a broadcast of one replica");
        collective::broadcast(d.is, pick(0, 2));
      }
    }
  }
  template <int D>
  void update_part() {
    auto& p = std::get<std::size_t(D)>(parts_)[std::size_t(pick(0, 1))];
    note("a part on " + name(p.is) + " = 1 - itself, by way of the host");
    Vector<CpuDevice> on_host(std::int64_t(p.want.size()));
    on_host = 1.f - p.is;  // which keeps a copy
    p.is = on_host;
    for (float& v : p.want) v = 1 - v;
  }

  // ---- collectives ----
  void collective_call() {
    switch (pick(0, 7)) {
    case 0: return all_reduce_on<1, 2, 3>();
    case 1: return all_reduce_on<3, 1>();
    case 2: return all_reduce_on<0, 2>();
    case 3: return with_any<4>([&](auto out) { reduce_to<out()>(); });
    case 4: return with_any<4>([&](auto from) { broadcast_from<from()>(); });
    case 5: return with_any<4>([&](auto out) { gather_to<out()>(); });
    case 6: return with_any<4>([&](auto from) { scatter_from<from()>(); });
    default: return scatter_the_sum();
    }
  }
  template <int... K>
  void all_reduce_on() {
    bool const sums = pick(0, 1);
    note(sums ? "all_reduce, a sum" : "all_reduce, a maximum");
    auto const of = std::tie(any<K>()...);
    std::apply(
        [&](auto&... x) {
          if (sums)
            collective::all_reduce<collective::sum>(x.is...);
          else
            collective::all_reduce<collective::max>(x.is...);
          values all = std::get<0>(of).want;
          for (std::size_t i = 0; i < all.size(); ++i) {
            float total = 0, most = -1e9f;
            ((total += x.want[i], most = x.want[i] > most ? x.want[i] : most), ...);
            all[i] = sums ? total : most;
          }
          ((x.want = all), ...);
        },
        of);
  }
  template <int Out>
  void reduce_to() {
    auto& out = any<Out>();
    auto& a = any<1>();
    auto& b = any<2>();
    auto& c = any<3>();
    note("reduce to " + name(out.is));
    values all = a.want;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += b.want[i] + c.want[i];
    collective::reduce<collective::sum>(out.is, a.is, b.is, c.is);
    out.want = all;
  }
  template <int From>
  void broadcast_from() {
    auto& from = any<From>();
    auto& a = any<(From + 1) % 4>();
    auto& b = any<(From + 2) % 4>();
    note("broadcast from " + name(from.is));
    collective::broadcast(from.is, a.is, b.is);
    a.want = b.want = from.want;
  }
  /// the parts that a collective takes, as one list
  template <class F>
  void with_parts(F&& f) {
    int const k = pick(0, 1), l = pick(0, 1), m = pick(0, 1);
    f(std::get<0>(parts_)[std::size_t(k)], std::get<1>(parts_)[std::size_t(l)],
      std::get<2>(parts_)[std::size_t(m)]);
  }
  static void join(values& to, values const& a, values const& b, values const& c) {
    to = a;
    to.insert(to.end(), b.begin(), b.end());
    to.insert(to.end(), c.begin(), c.end());
  }
  void cut(values const& from, values& a, values& b, values& c) const {
    auto const begin = from.begin();
    a.assign(begin, begin + cut_[0]), b.assign(begin + cut_[0], begin + cut_[1]);
    c.assign(begin + cut_[1], from.end());
  }
  template <int Out>
  void gather_to() {
    auto& out = any<Out>();
    with_parts([&](auto& p, auto& q, auto& r) {
      auto const parts = collective::list(p.is, q.is, r.is);
      if (pick(0, 1)) {
        auto& other = any<(Out + 1) % 4>();
        note("all_gather to " + name(out.is) + " and " + name(other.is));
        collective::all_gather(parts, collective::list(out.is, other.is));
        join(other.want, p.want, q.want, r.want);
      } else {
        note("gather to " + name(out.is));
        collective::gather(parts, out.is);
      }
      join(out.want, p.want, q.want, r.want);
    });
  }
  template <int From>
  void scatter_from() {
    auto& from = any<From>();
    note("scatter from " + name(from.is));
    with_parts([&](auto& p, auto& q, auto& r) {
      collective::scatter(from.is, collective::list(p.is, q.is, r.is));
      cut(from.want, p.want, q.want, r.want);
    });
  }
  void scatter_the_sum() {
    auto& a = any<1>();
    auto& b = any<2>();
    auto& c = any<3>();
    note("reduce_scatter");
    values all = a.want;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += b.want[i] + c.want[i];
    with_parts([&](auto& p, auto& q, auto& r) {
      collective::reduce_scatter<collective::sum>(collective::list(a.is, b.is, c.is),
                                                  collective::list(p.is, q.is, r.is));
      cut(all, p.want, q.want, r.want);
    });
  }
  void change_settings() {
    switch (pick(0, 5)) {
    case 0: config::set_copy_cache(pick(0, 1) ? 1 << 16 : 1024); break;  // what was kept goes
    case 1: config::set_reduction_order(reduction_order::ranked); break;
    case 2: config::set_reduction_order(reduction_order::fast); break;
    case 3: config::set_cross_device_ops(cross_device_ops::reduction_to_one_device); break;
    default: config::set_cross_device_ops(cross_device_ops::automatic); break;
    }
  }
};

}  // namespace

int main(int count, char** arguments) try {
  int const statements = count > 1 ? std::atoi(arguments[1]) : 2000;
  constexpr int in_one_program = 250;
  std::uint64_t const seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10)
                                       : std::uint64_t(std::time(nullptr)) / 86400;
  int wrong = 0;
  tally const done = testing::count([&] {
    for (int at = 0; at < statements; at += in_one_program) {
      std::uint64_t const mine = seed * 1000003 + std::uint64_t(at / in_one_program);
      testing::simulated_gpus const gpus(
          3, {.seed = mine, .cards = int(mine % 4), .peers = mine % 3 != 0});
      random_program program(mine,
                             in_one_program < statements - at ? in_one_program : statements - at);
      std::string const failure = program.run();
      if (failure.empty()) continue;
      ++wrong;
      std::printf("seed %llu, program %d: %s\n", static_cast<unsigned long long>(seed),
                  at / in_one_program, failure.c_str());
    }
  });
  std::printf("%d statements, seed %llu: %d programs wrong; %lld copies made, %lld reused\n",
              statements, static_cast<unsigned long long>(seed), wrong,
              static_cast<long long>(done.copies), static_cast<long long>(done.reused));
  if (done.reused * 10 < statements) {
    std::puts("hardly a copy was reused: this tests nothing");
    return 1;
  }
  return wrong != 0;
} catch (std::exception const& e) {
  std::printf("a statement threw: %s\n", e.what());
  return 1;
}

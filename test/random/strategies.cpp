// SPDX-License-Identifier: Apache-2.0
// Random programs of strategies: functions on one to three replicas, what they return, give one another
// and write to variables, beside arithmetic on the host. Numbers are small and whole, or means of such.
//     strategies STATEMENTS SEED [a mistake to plant]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/train/parallel.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/strategy/variable.hpp>
#include <locus/tensor/rows_over.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

namespace {

using numbers = std::vector<double>;
using Any = AnyTensor<float, Dextents<2>>;
using Matrix = Tensor<float, Dextents<2>, CpuDevice>;

/// Numbers in rows, as the host has them.
struct table {
  std::int64_t rows = 0, columns = 0;
  numbers v;
};
struct wrong : std::runtime_error {
  using runtime_error::runtime_error;
};

template <class T, class E>
table table_of(Tensor<T, E, CpuDevice> const& t) {
  table out;
  out.rows = E::rank() > 0 ? t.extents().as_shape().extent[0] : 1;
  out.columns = E::rank() > 1 ? t.extents().as_shape().extent[1] : 1;
  out.v.assign(t.data(), t.data() + t.size());
  return out;
}
template <class T, class E>
table table_of(AnyTensor<T, E> const& t) {
  return table_of(t.template to<CpuDevice>());
}
Matrix matrix_of(table const& t) {
  Matrix m(t.rows, t.columns);
  for (std::size_t i = 0; i < t.v.size(); ++i) m.data()[i] = float(t.v[i]);
  return m;
}
void same(numbers const& is, numbers const& want, std::string const& what) {
  bool good = is.size() == want.size();
  for (std::size_t i = 0; good && i < is.size(); ++i)
    good = std::fabs(is[i] - want[i]) <= 1e-5 * (10 + std::fabs(want[i])) ||
           (std::isnan(is[i]) && std::isnan(want[i]));
  if (good) return;
  std::string text = what + ": (";
  for (double const v : is) text += " " + std::to_string(v);
  text += " ), not (";
  for (double const v : want) text += " " + std::to_string(v);
  throw wrong(text + " )");
}
void same(table const& is, table const& want, std::string const& what) {
  same(numbers{double(is.rows), double(is.columns)},
       numbers{double(want.rows), double(want.columns)}, what + ", rows and columns");
  same(is.v, want.v, what);
}
void same(double is, double want, std::string const& what) {
  same(numbers{is}, numbers{want}, what);
}

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_(seed) {}
  int pick(int low, int high) {
    return low + int(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  numbers several(std::int64_t n, int step = 1) {
    numbers all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(step * pick(-9, 9));
    return all;
  }

 private:
  std::mt19937_64 random_;
};

/// A variable and what each copy of it must hold.
template <class T, class Replicas, synchronization Sync, aggregation How>
struct checked_variable {
  variable<T, 1, Replicas, Sync, How> is;
  std::vector<numbers> copies;
  static constexpr bool sums = How == aggregation::sum, means = How == aggregation::mean;
  static constexpr bool each_its_own = Sync == on_read;

  checked_variable(strategy<Replicas> const& s, int length)
      : is(s, zeros<T>(dextents<1>(length))),
        copies(std::size_t(s.num_replicas_in_sync()), numbers(std::size_t(length))) {}
  numbers combined(std::vector<numbers> const& of) const {
    if (!sums && !means) return of[0];
    numbers all(of[0].size());
    for (numbers const& one : of)
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += one[i];
    if (means)
      for (double& v : all) v /= double(of.size());
    return all;
  }
  numbers read() const { return each_its_own ? combined(copies) : copies[0]; }
  /// as from outside
  void set(numbers const& x) {
    auto const n = double(copies.size());
    for (std::size_t r = 0; r < copies.size(); ++r) {
      copies[r] = x;
      if (!each_its_own || !sums) continue;
      for (double& v : copies[r]) {
        double const part = std::is_integral_v<T> ? std::trunc(v / n) : v / n;
        v = std::is_integral_v<T> && r == 0 ? v - part * (n - 1) : part;
      }
    }
  }
  void check(strategy<Replicas> const& s) {
    same(table_of(is.read()).v, read(), "a variable");
    auto const mine = is.local_results(), given = s.local_results(is);
    same(double(mine.size()), double(copies.size()), "the copies of a variable");
    for (std::size_t r = 0; r < copies.size(); ++r) {
      same(table_of(mine[r]).v, copies[r], "copy " + std::to_string(r));
      same(table_of(given[r]).v, copies[r], "local result " + std::to_string(r));
      copies[r] = table_of(mine[r]).v;  // a mean is rounded
    }
    if (!each_its_own)
      for (numbers const& one : copies)
        if (one != copies[0]) throw wrong("copies of a variable that differ");
  }
};

template <class Replicas>
class random_program : dice {
 public:
  random_program(std::uint64_t seed, int statements, int gpus)
      : dice(seed), left_(statements), gpus_(gpus), replicas_(s_.num_replicas_in_sync()),
        length_(pick(1, 5)) {
    for (int k = 0; k < 2; ++k) begin(k);
  }
  random_program(random_program const&) = delete;
  ~random_program() {
    config::set_copy_cache(0);
    config::set_reduction_order(reduction_order::fast);
    config::set_cross_device_ops(cross_device_ops::automatic);
  }
  /// empty: everything was right
  std::string run() {
    try {
      while (left_-- > 0) statement();
      return {};
    } catch (std::exception const& e) {
      std::string where;
      for (int r = 0; r < replicas_; ++r) {
        text_buffer<64> name;
        name << s_.devices()[r];
        where += " " + std::string(name.view());
      }
      return std::string(e.what()) + "\n  over" + where + " with " + std::to_string(gpus_) +
             " GPUs; the last statements:" + history_;
    }
  }

 private:
  using List = typename strategy<Replicas>::policy;
  strategy<Replicas> s_;
  int left_, gpus_, replicas_, length_;
  std::string history_;
  per_replica<Any> is_[2];
  std::vector<table> want_[2];  // of each replica
  checked_variable<float, Replicas, on_write, aggregation::sum> write_sum_{s_, length_};
  checked_variable<float, Replicas, on_write, aggregation::mean> write_mean_{s_, length_};
  checked_variable<float, Replicas, on_write, aggregation::only_first_replica> write_first_{
      s_, length_};
  checked_variable<float, Replicas, on_read, aggregation::sum> read_sum_{s_, length_};
  checked_variable<float, Replicas, on_read, aggregation::mean> read_mean_{s_, length_};
  checked_variable<float, Replicas, on_read, aggregation::only_first_replica> read_first_{s_,
                                                                                          length_};
  checked_variable<std::int64_t, Replicas, on_read, aggregation::sum> counter_{s_, length_};

  void note(std::string const& what) {
    history_ += "\n    " + what;
    if (history_.size() > 1500) history_.erase(0, history_.find('\n', 300));
  }
  /// a tensor of a replica, there or elsewhere
  Any placed(table const& t, int r) {
    Matrix m = matrix_of(t);
    int const where = pick(0, 3);
    device const at = where < 2 ? s_.devices()[r] : where == 2 ? cpu(0) : gpu(pick(0, 2));
    if (!at.is_gpu()) return Any(to<Cpu<dyn>>(m, bound_device<Cpu<dyn>>(at)));
    return Any(to<GpuDevice<dyn>>(m, bound_device<GpuDevice<dyn>>(at)));
  }
  void begin(int k) {
    std::int64_t const columns = pick(1, 3), rows = pick(0, 4);
    bool const even = pick(0, 1);
    want_[k].clear();
    for (int r = 0; r < replicas_; ++r) {
      std::int64_t const n = even ? rows : pick(0, 4);
      want_[k].push_back({n, columns, several(n * columns)});
    }
    is_[k] = s_.values_from([&](int r) { return placed(want_[k][std::size_t(r)], r); });
  }
  bool is_even(int k) const {
    for (table const& t : want_[k])
      if (t.rows != want_[k][0].rows) return false;
    return true;
  }
  void check(int k) {
    auto const all = s_.local_results(is_[k]);
    for (std::size_t r = 0; r < want_[k].size(); ++r) {
      same(table_of(all[r]), want_[k][r], "the value of replica " + std::to_string(r));
      for (double const v : want_[k][r].v)
        if (std::fabs(v) > 1e4) return begin(k);
    }
    if (want_[k][0].v.size() > 100) begin(k);
  }
  /// f() is refused, and nothing has changed
  template <class Error, class F>
  void refused(F&& f, char const* what) {
    try {
      f();
    } catch (Error const&) {
      return;
    }
    throw wrong(std::string(what) + " was not refused");
  }
  table sum_of(int k, bool mean) const {
    table all = want_[k][0];
    for (int r = 1; r < replicas_; ++r)
      for (std::size_t i = 0; i < all.v.size(); ++i) all.v[i] += want_[k][std::size_t(r)].v[i];
    if (mean)
      for (double& v : all.v) v /= replicas_;
    return all;
  }
  table rows_of_all(int k) const {
    table all{0, want_[k][0].columns, {}};
    for (table const& t : want_[k]) {
      all.rows += t.rows;
      all.v.insert(all.v.end(), t.v.begin(), t.v.end());
    }
    return all;
  }

  // ---- statements ----
  void statement() {
    int const k = pick(0, 1);
    switch (pick(0, 13)) {
    case 0: return begin(k);
    case 1: map(k); break;
    case 2: all_reduce(k); break;
    case 3: all_gather(k); break;
    case 4: reduce(k); break;
    case 5: reduce_along(k); break;
    case 6: gather(k); break;
    case 7: pieces(); break;
    case 8: scalars(); break;
    case 9: merge(k); break;
    case 10: throws(); break;
    case 11: parallel(); break;
    case 12: settings(); break;
    default: variables();
    }
    check(k);
  }
  void map(int k) {
    note("run: a function of a value, a tensor over all and a number");
    std::int64_t const columns = want_[k][0].columns;
    table const w{1, columns, several(columns)};
    auto const weights = to<List>(matrix_of(w));
    auto const shift = s_.values_from([&](int r) { return 2 * r + 1; });
    bool const evaluated = pick(0, 1);
    auto const sums = s_.run(
        [](auto& c, auto const& x, auto const& m, int n) {
          if (!(x.device() == c.device()) || !(m.device() == c.device()))
            throw wrong("a part that is not on its replica's device");
          return std::tuple(x * m + float(n), x.extent(0), c.replica_id());
        },
        is_[k], weights, shift);
    auto const plain = s_.run(
        [evaluated](auto& c, auto const& x, auto const& m) {
          using Device = typename std::remove_reference_t<decltype(c)>::policy;
          auto y = eval(on<Device>(x * m, bound_device<Device>(c.device())));
          return evaluated ? std::move(y) : eval(on<Device>(y + 0.f, c.device()));
        },
        is_[k], weights);
    for (int r = 0; r < replicas_; ++r) {
      table& t = want_[k][std::size_t(r)];
      same(double(std::get<1>(sums)[r]), double(t.rows), "rows");
      same(std::get<2>(sums)[r], r, "the number of a replica");
      for (std::size_t i = 0; i < t.v.size(); ++i) t.v[i] *= w.v[i % std::size_t(columns)];
      same(table_of(plain[r]), t, "a product of replica " + std::to_string(r));
      for (double& v : t.v) v += 2 * r + 1;
    }
    is_[k] = std::get<0>(sums);
  }
  void all_reduce(int k) {
    bool const mean = pick(0, 1);
    note(mean ? "all_reduce, a mean" : "all_reduce, a sum");
    auto const f = [mean](auto& c, auto const& x) {
      auto first = c.all_reduce(across::sum, x);
      auto second = c.all_reduce(across::mean, x);
      return mean ? std::move(second) : std::move(first);
    };
    if (!is_even(k)) {
      refused<shape_error>([&] { s_.run(f, is_[k]); }, "an all_reduce of unequal parts");
      return;
    }
    is_[k] = s_.run(f, is_[k]);
    table const all = sum_of(k, mean);
    for (table& t : want_[k]) t = all;
    take(k);
  }
  /// means: what is there is what is wanted from now on: a mean is rounded
  void take(int k) {
    for (int r = 0; r < replicas_; ++r) {
      table const is = table_of(is_[k][r]);
      same(is, want_[k][std::size_t(r)], "the value of replica " + std::to_string(r));
      want_[k][std::size_t(r)] = is;
    }
  }
  void all_gather(int k) {
    note("all_gather");
    is_[k] = s_.run([](auto& c, auto const& x) { return c.all_gather(x); }, is_[k]);
    table const all = rows_of_all(k);
    for (table& t : want_[k]) t = all;
  }
  void reduce(int k) {
    bool const mean = pick(0, 1);
    note(mean ? "reduce, a mean" : "reduce, a sum");
    auto const reduced = [&] {
      return mean ? s_.reduce(across::mean, is_[k]) : s_.reduce(across::sum, is_[k]);
    };
    if (is_even(k))
      same(table_of(reduced()), sum_of(k, mean), "a reduction");
    else
      refused<shape_error>([&] { reduced(); }, "a sum of unequal parts");
  }
  void reduce_along(int k) {
    int const what = pick(0, 2);  // rows, columns, both
    bool const mean = pick(0, 1);
    note("reduce along axes, case " + std::to_string(what));
    auto const reduced = [&](auto op) {
      if (what == 0) return table_of(s_.reduce(op, is_[k], pick(0, 1) ? 0 : -2));
      if (what == 1) return table_of(s_.reduce(op, is_[k], pick(0, 1) ? 1 : -1));
      return table_of(s_.reduce(op, is_[k], {0, 1}));
    };
    auto const result = [&] { return mean ? reduced(across::mean) : reduced(across::sum); };
    if (what == 1 && !is_even(k))
      return refused<shape_error>([&] { result(); }, "a sum of unequal rows");
    std::int64_t const columns = want_[k][0].columns;
    numbers all(std::size_t(what == 0 ? columns : what == 1 ? want_[k][0].rows : 1));
    double counted = 0;
    for (table const& t : want_[k]) {
      counted += double(what == 0 ? t.rows : what == 1 ? columns : t.rows * columns);
      for (std::size_t i = 0; i < t.v.size(); ++i) {
        std::size_t const width = std::size_t(columns);
        all[what == 0 ? i % width : what == 1 ? i / width : 0] += t.v[i];
      }
    }
    if (mean)
      for (double& v : all) v /= counted;
    same(result().v, all, "a reduction along axes");
  }
  void gather(int k) {
    note("gather");
    same(table_of(s_.gather(is_[k], 0)), rows_of_all(k), "gathered rows");
    if (!is_even(k))
      return refused<shape_error>([&] { s_.gather(is_[k], 1); }, "columns of unequal length");
    table all{want_[k][0].rows, 0, {}};
    for (table const& t : want_[k]) all.columns += t.columns;
    for (std::int64_t row = 0; row < all.rows; ++row)
      for (table const& t : want_[k]) {
        auto const begin = t.v.begin() + row * t.columns;
        all.v.insert(all.v.end(), begin, begin + t.columns);
      }
    same(table_of(s_.gather(is_[k], 1)), all, "gathered columns");
  }
  void pieces() {
    note("a tensor in pieces");
    std::int64_t const n = pick(0, 8), columns = pick(1, 3), each = (n + replicas_ - 1) / replicas_;
    table const all{n, columns, several(n * columns)};
    auto const rows = to<rows_over<List>>(matrix_of(all));
    auto const out = s_.run([](auto const& x) { return std::pair(x * 2.f, x.extent(0)); }, rows);
    auto const local = s_.local_results(rows);
    numbers sums(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < all.v.size(); ++i) sums[i % std::size_t(columns)] += all.v[i];
    for (int r = 0; r < replicas_; ++r) {
      std::int64_t const begin = std::min(n, r * each), end = std::min(n, begin + each);
      table mine{
          end - begin, columns, {all.v.begin() + begin * columns, all.v.begin() + end * columns}};
      same(double(out.second[r]), double(mine.rows), "rows of a piece");
      same(table_of(local[std::size_t(r)]), mine, "a piece");
      for (double& v : mine.v) v *= 2;
      same(table_of(out.first[r]), mine, "twice a piece");
    }
    same(table_of(s_.gather(rows, 0)), all, "pieces gathered");
    same(table_of(s_.reduce(across::sum, rows, 0)).v, sums, "the sum of pieces");
  }
  void scalars() {
    note("numbers");
    std::vector<int> some;
    for (int r = 0; r < replicas_; ++r) some.push_back(pick(-50, 50));
    int all = 0;
    for (int const v : some) all += v;
    auto const given = s_.values_from([&](int r) { return some[std::size_t(r)]; });
    same(s_.reduce(across::sum, given), all, "a sum of numbers");
    table const row = table_of(s_.gather(given, 0));
    same(row.v, numbers(some.begin(), some.end()), "numbers in a row");
    auto const met = s_.run(
        [](auto& c, int n) {
          return std::tuple(c.all_reduce(across::sum, n), c.all_reduce(across::mean, n * 0.5),
                            std::array{n, c.num_replicas_in_sync()});
        },
        given);
    for (int r = 0; r < replicas_; ++r) {
      same(std::get<0>(met)[r], all, "a sum that replicas make");
      same(std::get<1>(met)[r], all * 0.5 / replicas_, "a mean that replicas make");
      same(std::get<2>(met)[0][r], some[std::size_t(r)], "a number that comes back");
    }
    same(s_.reduce(across::mean, std::get<1>(met)), all * 0.5 / replicas_, "a mean of means");
  }
  void merge(int k) {
    note("merge_call");
    if (!is_even(k)) return;
    int calls = 0;
    auto const out = s_.run(
        [&](auto& c, auto const& x) {
          auto [sum, mine] = c.merge_call(
              [&](auto const& parts, auto const& n) {
                ++calls;
                return std::pair(s_.reduce(across::sum, parts), n);
              },
              x, 3 * c.replica_id());
          return std::pair(std::move(sum), mine);
        },
        is_[k]);
    same(calls, 1, "calls of a merge_call");
    for (int r = 0; r < replicas_; ++r) {
      same(table_of(out.first[r]), sum_of(k, false), "the sum of a merge_call");
      same(out.second[r], 3 * r, "a part of a merge_call");
    }
  }
  void throws() {
    note("a replica that throws");
    int const bad = pick(0, replicas_ - 1);
    bool const meets = pick(0, 1);
    try {
      s_.run([&](auto& c) {
        if (meets) c.all_reduce(across::sum, 1);
        if (c.replica_id() == bad) throw std::runtime_error("planted");
        if (meets) c.all_reduce(across::sum, 1);
      });
    } catch (replica_error const& e) {
      same(e.replica, bad, "the replica that threw");
      return;
    }
    throw wrong("what a replica threw was lost");
  }
  /// rows on several GPUs, as torch and Keras split them
  void parallel() {
    if (gpus_ < 1) return;
    note("DataParallel");
    std::int64_t const n = pick(0, 9), columns = pick(1, 3);
    table const x{n, columns, several(n * columns)}, w{1, columns, several(columns)};
    table want = x;
    for (std::size_t i = 0; i < x.v.size(); ++i) want.v[i] *= w.v[i % std::size_t(columns)];
    auto const f = [](auto const& rows, auto const& weights) {
      return std::pair(rows * weights, double(rows.extent(0)));
    };
    std::vector<int> ids;
    for (int id = 0; id < gpus_; ++id) ids.push_back(id);
    for (std::size_t i = ids.size(); i > 1; --i)
      std::swap(ids[i - 1], ids[std::size_t(pick(0, int(i) - 1))]);
    ids.resize(std::size_t(pick(1, gpus_)));
    bound_device<GpuDevice<dyn>> const first(gpu(ids[0])), home(gpu(0));
    Matrix const rows = matrix_of(x), row = matrix_of(w);
    auto const check = [&](auto const& out) {
      same(table_of(out.first), want, "rows of several GPUs");
      double all = 0;
      for (double const v : table_of(out.second).v) all += v;
      same(all, double(n), "the number of rows");
    };
    check(nn::DataParallel(f, ids)(rows, to<GpuDevice<dyn>>(row, first)));
    if (gpus_ > 1) check(nn::multi_gpu_model<2>(f)(rows, to<GpuDevice<dyn>>(row, home)));
    if (gpus_ > 2) check(nn::multi_gpu_model<3>(f, false)(rows, to<GpuDevice<dyn>>(row, home)));
  }
  void settings() {
    switch (pick(0, 5)) {
    case 0: config::set_copy_cache(pick(0, 1) ? 1 << 16 : 0); break;
    case 1: config::set_reduction_order(reduction_order::ranked); break;
    case 2: config::set_reduction_order(reduction_order::fast); break;
    case 3: config::set_cross_device_ops(cross_device_ops::reduction_to_one_device); break;
    default: config::set_cross_device_ops(cross_device_ops::automatic); break;
    }
  }
  void variables() {
    switch (pick(0, 6)) {
    case 0: return change(write_sum_, "on_write, sum");
    case 1: return change(write_mean_, "on_write, mean");
    case 2: return change(write_first_, "on_write, the first replica's");
    case 3: return change(read_sum_, "on_read, sum");
    case 4: return change(read_mean_, "on_read, mean");
    case 5: return change(read_first_, "on_read, the first replica's");
    default: return change(counter_, "on_read, sum of integers");
    }
  }
  template <class T, synchronization Sync, aggregation How>
  void change(checked_variable<T, Replicas, Sync, How>& v, std::string const& kind) {
    using Row = Tensor<T, Dextents<1>, CpuDevice>;
    int const what = pick(0, 2);  // assign, add, subtract
    bool const inside = pick(0, 1);
    note("a variable (" + kind + ") changes " + (inside ? "inside" : "from outside") + ", case " +
         std::to_string(what));
    auto const changed = [what](numbers const& old, numbers const& by) {
      numbers out = by;
      for (std::size_t i = 0; i < by.size() && what > 0; ++i)
        out[i] = what == 1 ? old[i] + by[i] : old[i] - by[i];
      return out;
    };
    auto const row_of = [&](numbers const& from) {
      Row t(length_);
      for (int i = 0; i < length_; ++i) t.data()[i] = static_cast<T>(from[std::size_t(i)]);
      return t;
    };
    if (inside) {
      std::vector<numbers> by;
      for (int r = 0; r < replicas_; ++r) by.push_back(several(length_));
      auto const given = s_.values_from([&](int r) { return row_of(by[std::size_t(r)]); });
      s_.run(
          [what](auto local, auto const& x) {
            if (what == 0) local.assign(x);
            if (what == 1) local.assign_add(x);
            if (what == 2) local.assign_sub(x);
          },
          v.is, given);
      for (std::size_t r = 0; r < by.size(); ++r)
        v.copies[r] = changed(v.copies[r], Sync == on_write ? v.combined(by) : by[r]);
    } else if (constexpr bool alone = Sync == on_read && How == aggregation::sum;
               what == 0 || alone) {
      numbers by = several(length_, 6);
      if (pick(0, 2) == 0) {
        by.assign(std::size_t(length_), by[0]);
        v.is.assign(static_cast<T>(by[0]));
      } else
        v.is.assign(row_of(by));
      v.set(by);
    } else if constexpr (!alone) {
      numbers const by = several(length_);
      if (what == 1)
        v.is.assign_add(row_of(by));
      else
        v.is.assign_sub(row_of(by));
      v.set(changed(v.read(), by));
    }
    v.check(s_);
    for (double const x : v.read())
      if (std::fabs(x) > 1e4) {
        v.is.assign(static_cast<T>(6)), v.set(numbers(std::size_t(length_), 6));
        return;
      }
  }
};

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using G2 = GpuDevice<2>;

/// means: a program of a strategy that the seed chooses, on a machine that it chooses
std::string run_one(std::uint64_t seed, int statements) {
  dice d(seed);
  int const gpus = d.pick(0, 3), which = d.pick(0, 5);
  std::optional<testing::simulated_gpus> machine;
  if (gpus > 0)
    machine.emplace(gpus, runtime::simulated_options{
                              .seed = seed, .cards = d.pick(0, gpus), .peers = d.pick(0, 1) != 0});
  auto const of = [&]<class Replicas>(std::type_identity<Replicas>) {
    return random_program<Replicas>(seed + 1, statements, gpus).run();
  };
  switch (which) {
  case 0: return of(std::type_identity<Mirrored<G0>>{});
  case 1: return of(std::type_identity<Mirrored<G1, G0>>{});
  case 2: return of(std::type_identity<Mirrored<G0, G1, G2>>{});
  case 3: return of(std::type_identity<Mirrored<Cpu<1>, Cpu<0>>>{});
  case 4: return of(std::type_identity<Mirrored<Cpu<0>, G1>>{});
  default: return of(std::type_identity<Mirrored<AllGpus>>{});
  }
}

/// a deliberate mistake, to see that it is found
void plant(std::string const& what) {
  runtime::planted.no_waits = what == "no_waits";
  runtime::planted.free_at_once = what == "free_at_once";
  runtime::planted.swap_replicas = what == "swap_replicas";
  runtime::planted.host_does_not_wait = what == "host_does_not_wait";
}

}  // namespace

int main(int count, char** arguments) try {
  int const statements = count > 1 ? std::atoi(arguments[1]) : 1500;
  constexpr int in_one_program = 60;
  std::uint64_t const seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10)
                                       : std::uint64_t(std::time(nullptr)) / 86400;
  if (count > 3) plant(arguments[3]);
  int wrong_programs = 0, programs = 0;
  for (int at = 0; at < statements; at += in_one_program, ++programs) {
    std::string const failure = run_one(seed * 1000003 + std::uint64_t(programs),
                                        std::min(in_one_program, statements - at));
    if (failure.empty()) continue;
    ++wrong_programs;
    std::printf("seed %llu, program %d: %s\n", static_cast<unsigned long long>(seed), programs,
                failure.c_str());
  }
  std::printf("%d statements of strategies in %d programs, seed %llu: %d programs wrong\n",
              statements, programs, static_cast<unsigned long long>(seed), wrong_programs);
  return wrong_programs != 0;
} catch (std::exception const& e) {
  std::printf("a statement threw: %s\n", e.what());
  return 1;
}

// SPDX-License-Identifier: Apache-2.0
// Every way of a value between ranks, for all element types. "laws write FILE GPUS" runs without a
// world on so many simulated GPUs, and writes what it computed; "laws read FILE GPUS,GPUS,..." runs
// as ranks with so many each, and compares on every rank.
#include <cstdlib>   // strtod
#include <fstream>   // ifstream
#include <iostream>  // cout
#include <optional>  // optional
#include <sstream>   // istringstream
#include <string>    // string

#include <locus/algorithms/shift.hpp>
#include <locus/complex.hpp>
#include <locus/locus.hpp>
#include <locus/mpi.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

namespace {

using Over = Ranks<AllGpus>;
using Rows = Sharded<0, Over>;
using Copies = Mirrored<Over>;
constexpr std::int64_t rows = 11, columns = 3;

/// What the program computed: lines of a name, a relative tolerance, and numbers.
std::ostringstream record;

template <class V>
void put(V v) {
  if constexpr ((kind_of_v<V> == element_kind::complex))
    put(v.real()), put(v.imag());
  else
    record << ' ' << std::hexfloat << double(v);
}
void begin(std::string_view name, std::string_view type, double tolerance) {
  record << name << '-' << type << ' ' << std::defaultfloat << tolerance;
}
template <class T, class E, class D>
void note(std::string_view name, Tensor<T, E, D> const& all, double tolerance = 0) {
  begin(name, row_of(element_of_v<T>).name, tolerance);
  for (std::int64_t i = 0; i < all.size(); ++i) put(all.data()[i]);
  record << '\n';
}
template <class T>
void note_number(std::string_view name, T v, double tolerance = 0) {
  begin(name, row_of(element_of_v<T>).name, tolerance);
  put(v);
  record << '\n';
}

/// means: rank 0 has numbers, other ranks have zeros: what is rank 0's goes to all
template <class T>
Tensor<T, Dextents<2>> numbers_of_rank_0() {
  Tensor<T, Dextents<2>> a(dextents<2>(rows, columns));
  for (std::int64_t i = 0; i < a.size(); ++i) {
    int const n = ranks::rank() == 0 ? int((i * 7 + 3) % 13) : 0;
    if constexpr ((kind_of_v<T> == element_kind::complex))
      a.data()[i] = T(typename T::value_type(n) / 3, typename T::value_type(n - 5) / 7);
    else if constexpr (std::is_integral_v<T>)
      a.data()[i] = T(n);
    else
      a.data()[i] = T(float(n - 6) / 7);
  }
  return a;
}

/// means: values in pieces, copies, and what is made of them
template <class T>
void moves() {
  Tensor<T, Dextents<2>> const a = numbers_of_rank_0<T>();
  Tensor<T, Dextents<2>, Rows> const x(a);    // scatter
  Tensor<T, Dextents<2>, Copies> const c(a);  // broadcast
  note("scatter and gather", Tensor<T, Dextents<2>>(x));
  note("broadcast", Tensor<T, Dextents<2>>(c));
  note("all_gather", Tensor<T, Dextents<2>>(Tensor<T, Dextents<2>, Copies>(x)));
  note("rows of copies", Tensor<T, Dextents<2>>(Tensor<T, Dextents<2>, Rows>(c)));
}

/// means: reductions over the cut in one order and in the carrier's
template <class T>
void sums() {
  constexpr double close = std::is_integral_v<T> ? 0 : sizeof(T) == 2 ? 2e-2 : 1e-5;
  Tensor<T, Dextents<2>, Rows> const x(numbers_of_rank_0<T>());
  for (bool const ranked : {true, false}) {
    config::set_reduction_order(ranked ? reduction_order::ranked : reduction_order::fast);
    std::string const order = ranked ? "ranked " : "fast ";
    double const tolerance = ranked ? 0 : close;
    note(order + "sum of columns", eval(to<CpuDevice>(sum<0>(x))), tolerance);
    note_number(order + "sum", fetch(sum(x)), tolerance);
    if constexpr (!(kind_of_v<T> == element_kind::complex)) {
      note(order + "maxima", eval(to<CpuDevice>(max<0>(x))));
      note_number(order + "min", fetch(min(x)));
    }
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>) {
      Tensor<T, Dextents<2>, Copies> const c(numbers_of_rank_0<T>());
      note_number(order + "product", fetch(prod(x + c + T(2))), tolerance);
      note_number(order + "sum of a product", fetch(sum(x * c)), tolerance);
      note(order + "product of matrices", eval(to<CpuDevice>(matmul(transpose(x), x))), tolerance);
    }
    if constexpr (std::is_same_v<T, double>) {
      note_number(order + "mean", fetch(mean(x)), tolerance);
      Tensor<T, Extents<>, Copies> const kept(sum(x * x));
      note_number(order + "kept sum", fetch(kept), tolerance);
    }
  }
}
template <class... T>
void all_moves(type_list<T...>) {
  (moves<T>(), ...);
}
template <class... T>
void all_sums() {
  (sums<T>(), ...);
}

/// means: more than one segment of the chain, and more than one message of a halo
void long_values() {
  std::int64_t const n = 30011;
  Tensor<double, Dextents<2>, Rows> const x(uniform<double>(dextents<2>(rows, n), seed{5}));
  for (bool const ranked : {true, false}) {
    config::set_reduction_order(ranked ? reduction_order::ranked : reduction_order::fast);
    note(ranked ? "long ranked" : "long fast", Tensor<double, Dextents<1>>(sum<0>(x)),
         ranked ? 0 : 1e-14);
  }
  note("long gather", Tensor<double, Dextents<2>>(x));
}

void halos() {
  using Ring = Sharded<0, Over, Halo<2, beyond::wrap>>;
  Tensor<double, Dextents<2>, Ring> u(numbers_of_rank_0<double>()), v(u);
  for (int k = 0; k < 4; ++k) {
    v = 0.25 * (shift<0, -1>(u) + shift<0, 2>(u) + u) + 0.1 * shift<1, 1, beyond::keep>(u);
    u = v - 0.5 * shift<0, 1>(v);
  }
  note("ring", Tensor<double, Dextents<2>>(u));
  using Line = Sharded<0, Over, Halo<1, beyond::zero>>;
  Tensor<float, Dextents<2>, Line> w(numbers_of_rank_0<float>());
  for (int k = 0; k < 4; ++k) w = shift<0, -1>(w) + shift<0, 1>(w) - 2.f * w;
  note("line", Tensor<float, Dextents<2>>(w));
  note_number("change", fetch(max(abs(w - shift<0, 1>(w)))));
}

/// means: rows of each rank make the value, and come back
void own_rows() {
  Tensor<double, Dextents<2>, Rows> const x(numbers_of_rank_0<double>());
  Tensor<double, Dextents<2>> const mine = ranks::rows(x);
  Tensor<double, Dextents<2>, Rows> const y = ranks::from_rows<Rows>(mine);
  note("from_rows", Tensor<double, Dextents<2>>(y));
  note_number("rows", fetch(max(abs(x - y))));
  std::string said;
  int calls = 0;
  ranks::on_first([&] { ++calls; });
  if (calls != (ranks::rank() == 0)) record << "on_first ran on another rank\n";
  try {
    ranks::on_first([] { throw shape_error("locus: planted"); });
  } catch (error const& e) {
    said = e.what();
  }
  if (said.find("planted") == said.npos) record << "on_first threw nothing\n";
  if (ranks::count() > 1) {
    said.clear();
    try {
      std::int64_t const wrong = 20 * ranks::rank();
      Tensor<double, Dextents<2>> const rows_of_me(zeros<double>(dextents<2>(wrong, columns)));
      static_cast<void>(ranks::from_rows<Rows>(rows_of_me));
    } catch (shape_error const& e) {
      said = e.what();
    }
    if (said.find("from_rows") == said.npos) record << "from_rows took wrong rows\n";
  }
}

void compute() {
  all_moves(element_types{});
  all_sums<float, double, half, bfloat16, std::int32_t, std::int64_t, std::uint64_t, complex<float>,
           complex<double>>();
  long_values();
  halos();
  own_rows();
}

/// means: the lines that differ by more than their tolerances; 0: none
int compare(std::string_view path) {
  std::ifstream expected{std::string(path)};
  std::istringstream computed(record.str());
  int wrong = 0, lines = 0;
  for (std::string a, b; bool(std::getline(expected, a)) | bool(std::getline(computed, b));
       a.clear(), b.clear()) {
    ++lines;
    if (a == b) continue;
    std::istringstream as(a), bs(b);
    bool same = true;
    double tolerance = -1;
    for (std::string s, t; bool(as >> s) | bool(bs >> t); s.clear(), t.clear()) {
      char *end_s, *end_t;
      double const x = std::strtod(s.c_str(), &end_s), y = std::strtod(t.c_str(), &end_t);
      bool const numbers = !s.empty() && !t.empty() && !*end_s && !*end_t;
      if (numbers && tolerance < 0)
        tolerance = x, same = same && x == y;
      else
        same = same && (s == t || (numbers && tolerance > 0 &&
                                   std::abs(x - y) <= tolerance * (1 + std::abs(x))));
    }
    if (same) continue;
    if (++wrong <= 5)
      std::cerr << "rank " << ranks::rank() << " differs\n  expected " << a.substr(0, 300)
                << "\n  computed " << b.substr(0, 300) << std::endl;
  }
  if (lines < 100) std::cerr << "only " << lines << " lines\n", ++wrong;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    if (std::string_view(argv[1]) == "write") {
      testing::simulated_gpus const cards(std::atoi(argv[3]));
      compute();
      std::ofstream(argv[2]) << record.str();
      return 0;
    }
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    int rank = 0, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    {
      int gpus = 0;
      std::istringstream each(argv[3]);
      for (std::string one; rank >= 0 && std::getline(each, one, ','); --rank)
        gpus = std::atoi(one.c_str());
      std::optional<testing::simulated_gpus> cards;
      if (gpus > 0) cards.emplace(gpus);
      mpi::world const world(MPI_COMM_WORLD);
      compute();
      wrong = compare(argv[2]);
      Tensor<std::int32_t, Dextents<1>, Rows> const shown(
          full<std::int32_t>(dextents<1>(world.replicas()), 7));
      std::cout << shown << std::endl;
    }
    MPI_Finalize();
    return wrong > 0;
  } catch (std::exception const& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
}

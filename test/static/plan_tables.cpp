// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of plans, as static_asserts: the first programs, distributions, placement,
// policies, fallbacks, and what a plan says of itself. The program prints the plans themselves;
// its output is plan_tables.txt under every compiler.
#if defined(__CUDACC__)
#include <locus/cuda.cuh>
#else
#include <locus/locus.hpp>
#endif
#include <cstdio>

using namespace locus;

namespace {

using Cpu0 = CpuDevice;
using Gpu0 = GpuDevice<0>;
using Gpu1 = GpuDevice<1>;
using Both = Mirrored<Gpu0, Gpu1>;
using Rows = Sharded<0, Gpu0, Gpu1>;
using Columns = Sharded<1, Gpu0, Gpu1>;
using Others = Mirrored<Gpu1, Gpu0>;

// ---- how a row is asked: the type of an expression over tensors that nobody makes ----
template <class Where, std::int64_t... N>
using floats_on = Tensor<float, Extents<N...>, Where>&;
template <class Where, std::int64_t... N>
floats_on<Where, N...> t();

template <class E, class Destination = nowhere, class Policy = default_policy>
constexpr plan_facts<graph_of<E, Destination, Policy>> facts{};
template <class E, class Destination = nowhere, class Policy = default_policy>
constexpr plan_error refusal =
    internal::unchecked_plan<graph_of<E, Destination, Policy>>.found.error;
template <class E, class Destination = nowhere, class Policy = default_policy>
constexpr bool lies(place const& where) {
  return refusal<E, Destination, Policy> == plan_error::none &&
         facts<E, Destination, Policy>.result() == where;
}
/// copies, bytes of them, all-reduces, bytes of those
template <class E, class Destination = nowhere, class Policy = default_policy>
constexpr bool moves(int copies, int bytes, int all_reduces = 0, int bytes_reduced = 0) {
  constexpr auto p = facts<E, Destination, Policy>;
  return refusal<E, Destination, Policy> == plan_error::none && p.copies() == copies &&
         p.bytes_moved() == bytes && p.all_reduces() == all_reduces &&
         p.bytes_reduced() == bytes_reduced;
}

constexpr place both = Both::value, rows = Rows::value, columns = Columns::value;
constexpr place cpu0 = single(cpu(0)), gpu0 = single(gpu(0)), gpu1 = single(gpu(1));

// ---- the first programs ----

// 1. Nothing is said: operations prefer the GPU.
using product = decltype(matmul(t<Cpu0, 2, 3>(), t<Cpu0, 3, 2>()));
static_assert(device_of<product> == "/GPU:0");
static_assert(device_of<product> == "GPU:0" && device_of<product> == "/job:localhost/gpu:0");
static_assert(plan_of<product>.copies() == 2 && plan_of<product>.bytes_moved() == 48);
static_assert(plan_of<product>.launches() == 1 && plan_of<product>.flops() == 24);
static_assert(plan_of<product>.bytes_read() == 48 && plan_of<product>.bytes_written() == 16);
static_assert(plan_of<product>.peak_bytes<Gpu0>() == 3 * 256);  // two copies and the result
static_assert(plan_of<product>.peak_bytes<Cpu0>() == 0);
static_assert(plan_of<product>.device_of("matmul") == gpu0 && plan_of<product>.all_on<Gpu0>());
static_assert(!plan_of<product>.all_on<Cpu0>() && plan_of<product>.all_reduces() == 0);
static_assert(plan_of<product>.fallbacks() == 0 && !plan_of<product>.may_alias());

// 2. Manual placement; the innermost request wins.
using on_host = decltype(on<CpuDevice>(matmul(t<Cpu0, 2, 3>(), t<Cpu0, 3, 2>())));
static_assert(device_of<on_host> == "/CPU:0" && plan_of<on_host>.all_on<CpuDevice>());
static_assert(plan_of<on_host>.copies() == 0 && plan_of<on_host>.peak_bytes<Cpu0>() == 256);
using innermost = decltype(on<Gpu1>(t<Gpu0, 8>() + on<CpuDevice>(t<Gpu1, 8>() * 2.f)));
static_assert(plan_of<innermost>.device_of("multiply") == cpu0);
static_assert(plan_of<innermost>.device_of("add") == gpu1 && moves<innermost>(3, 96));
using by_name = decltype(on<"/device:GPU:1">(t<Gpu0, 8>() + t<Gpu1, 8>()));
static_assert(device_of<by_name> == "/GPU:1" && moves<by_name>(1, 32));
using copied_leaf = decltype(on<Gpu1>(t<Gpu0, 8>()));
static_assert(device_of<copied_leaf> == "/GPU:1" && moves<copied_leaf>(1, 32));
using update = decltype(2.f * t<Gpu1, 8>() + t<Gpu1, 8>());  // y = 2 x + y
static_assert(moves<update, Gpu1>(0, 0) && facts<update, Gpu1>.all_on<Gpu1>());
static_assert(facts<update, Gpu1>.launches() == 1 && !facts<update, Gpu1>.may_alias());
static_assert(facts<update, Gpu1>.bytes_read() == 64 && facts<update, Gpu1>.bytes_written() == 32);
static_assert(facts<update, Gpu1>.flops() == 16);
static_assert(facts<update, Gpu1>.peak_bytes<Gpu1>() == 0);  // written where it belongs
using total = decltype(sum(t<Gpu1, 8>()));                   // fetch(sum(y))
static_assert(moves<total, CpuDevice>(1, 4) && facts<total, CpuDevice>.device_of("sum") == gpu1);
static_assert(facts<total, CpuDevice>.flops() == 8);

// 3. An operation without a GPU kernel goes to the CPU, visibly; strict refuses.
struct Legacy {
  LOCUS_OPERATION("legacy", on_cpu)
  float operator()(float v) const { return v; }
};
using legacy = decltype(on<Gpu0>(map(Legacy{}, t<Gpu0, 8>()) * 2.f));
static_assert(plan_of<legacy>.device_of("legacy") == cpu0 && moves<legacy>(2, 64));
static_assert(plan_of<legacy>.device_of("multiply") == gpu0 && plan_of<legacy>.fallbacks() == 1);
using strict_legacy = decltype(on<Gpu0, strict>(map(Legacy{}, t<Gpu0, 8>())));
static_assert(refusal<strict_legacy> == plan_error::strict_placement);
static_assert(refusal<strict_legacy, nowhere, min_copies> == plan_error::strict_placement);
using strict_host = decltype(on<CpuDevice, strict>(map(Legacy{}, t<Gpu0, 8>())));
static_assert(refusal<strict_host> == plan_error::none && plan_of<strict_host>.fallbacks() == 0);
using integer_product = decltype(matmul(std::declval<Tensor<int, Extents<4, 4>, Gpu0>&>(),
                                        std::declval<Tensor<int, Extents<4, 4>, Gpu0>&>()));
static_assert(device_of<integer_product> == "/CPU:0" && plan_of<integer_product>.fallbacks() == 1);
static_assert(plan_of<integer_product>.copies() == 2);
using legacy_rows = decltype(map(Legacy{}, t<Rows, 6, 4>()) + t<Rows, 6, 4>());
static_assert(plan_of<legacy_rows>.device_of("legacy") == cpu0 && lies<legacy_rows>(rows));
static_assert(moves<legacy_rows>(4, 192) && plan_of<legacy_rows>.fallbacks() == 1);

// 4. Replicas, two layers: both gradients share one bucket.
template <class X, class Label, class Weights1, class Weights2>
auto training_step(X& x, Label& label, Weights1& w1, Weights2& w2) {
  return let(relu(matmul(x, w1)), [&](auto h) {
    return let((softmax(matmul(h, w2)) - one_hot<10>(label)) / 64.0, [&](auto d) {
      return plan(into(w2, w2 - 0.1f * matmul(transpose(h), d)),
                  into(w1, w1 - 0.1f * matmul(transpose(x),
                                              where(h > 0.f, matmul(d, transpose(w2)), 0.f))));
    });
  });
}
template <class Weights, class Batch, std::int64_t N>
using training = decltype(training_step(std::declval<Tensor<float, Extents<N, 784>, Batch>&>(),
                                        std::declval<Tensor<std::uint8_t, Extents<N>, Batch>&>(),
                                        std::declval<Tensor<float, Extents<784, 128>, Weights>&>(),
                                        std::declval<Tensor<float, Extents<128, 10>, Weights>&>()));
using replicas_step = training<Both, Rows, 64>;
static_assert(replicas_step::all_reduces() == 1 && replicas_step::copies() == 0);
static_assert(replicas_step::bytes_reduced() == 4 * (784 * 128 + 128 * 10));
static_assert(replicas_step::fallbacks() == 0 && replicas_step::may_alias());
static_assert(replicas_step::flops() >
              2 * 64 * (3 * 784 * 128 + 3 * 128 * 10) - 2 * 64 * 784 * 128);
using open_step = training<Both, Rows, dyn>;
static_assert(open_step::all_reduces() == 1 && open_step::copies() == 0);
static_assert(open_step::bytes_reduced() == replicas_step::bytes_reduced());  // of static values
static_assert(open_step::launches() == replicas_step::launches());
using one_gpu_step = training<Gpu0, Gpu0, 64>;
static_assert(one_gpu_step::all_reduces() == 0 && one_gpu_step::copies() == 0);
static_assert(one_gpu_step::all_on<Gpu0>() &&
              one_gpu_step::launches() == replicas_step::launches());

// ---- how values lie over devices: element-wise ----
using mirrored_mirrored = decltype(t<Both, 6, 4>() + t<Both, 6, 4>());
static_assert(lies<mirrored_mirrored>(both) && moves<mirrored_mirrored>(0, 0));
using cut_cut = decltype(t<Rows, 6, 4>() + t<Rows, 6, 4>());
static_assert(lies<cut_cut>(rows) && moves<cut_cut>(0, 0));
using cut_mirrored = decltype(t<Columns, 6, 4>() + t<Both, 6, 4>());
static_assert(lies<cut_mirrored>(columns) && moves<cut_mirrored>(0, 0));
using mirrored_cut = decltype(t<Both, 4>() * t<Rows, 6, 4>());
static_assert(lies<mirrored_cut>(rows) && moves<mirrored_cut>(0, 0));
using cut_of_last_axis = decltype(t<Rows, 4>() * t<Both, 6, 4>());  // axis 0 of 1 is axis 1 of 2
static_assert(lies<cut_of_last_axis>(columns) && moves<cut_of_last_axis>(0, 0));
using host_mirrored = decltype(t<Cpu0, 6, 4>() + t<Both, 6, 4>());
static_assert(lies<host_mirrored>(both) && moves<host_mirrored>(2, 192));  // to each of two devices
using gpu_mirrored = decltype(t<Both, 6, 4>() + t<Gpu1, 6, 4>());
static_assert(lies<gpu_mirrored>(both) && moves<gpu_mirrored>(1, 96));  // it lies on one of them
using host_cut = decltype(t<Cpu0, 6, 4>() + t<Rows, 6, 4>());
static_assert(lies<host_cut>(rows) && moves<host_cut>(2, 96));
using host_beside_cut = decltype(t<Cpu0, 4>() + t<Rows, 6, 4>());  // has no axis that is cut
static_assert(lies<host_beside_cut>(rows) && moves<host_beside_cut>(2, 32));
using uneven_cut =
    decltype(t<Cpu0, 100, 2>() + t<Sharded<0, Gpu0, Gpu1, GpuDevice<2>>, 100, 2>());  // 34 34 32
static_assert(moves<uneven_cut>(3, 800));
using three_operands = decltype(where(t<Rows, 6, 4>() > 0.f, t<Both, 6, 4>(), t<Cpu0, 6, 1>()));
static_assert(lies<three_operands>(rows) && moves<three_operands>(2, 24));

using cut_other = decltype(t<Rows, 6, 4>() + t<Columns, 6, 4>());
static_assert(refusal<cut_other> == plan_error::cuts_do_not_meet);
using cut_other_side =
    decltype(t<Rows, 4>() + t<Rows, 6, 4>());  // axis 1 of the result, and axis 0
static_assert(refusal<cut_other_side> == plan_error::cuts_do_not_meet);
using row_mirrored = decltype(t<Rows, 6, 4>() + t<Both, 1, 4>());
static_assert(lies<row_mirrored>(rows) && moves<row_mirrored>(0, 0));
using row_cut = decltype(t<Rows, 1, 4>() + t<Both, 6, 4>());
static_assert(refusal<row_cut> == plan_error::stretched_cut);
static_assert(refusal<decltype(t<Rows, 1, 4>() + t<Rows, 6, 4>())> == plan_error::stretched_cut);
using generated_mirrored = decltype(t<Both, 6, 4>() + uniform<float>(Extents<6, 4>{}, seed{1}));
static_assert(lies<generated_mirrored>(both) && moves<generated_mirrored>(0, 0));
static_assert(plan_of<generated_mirrored>.launches() == 1);
using generated_cut = decltype(t<Columns, 6, 4>() + 2.f * uniform<float>(Extents<6, 4>{}, seed{1}));
static_assert(lies<generated_cut>(columns) && moves<generated_cut>(0, 0));

// ---- linear operations keep a partial sum partial: only what is summed at last is reduced ----
using partial = decltype(matmul(t<Columns, 6, 4>(), t<Rows, 4, 3>()));
static_assert(lies<partial>(both) && moves<partial>(0, 0, 1, 72));
static_assert(plan_of<partial>.device_of("matmul") == both.partial(reduction::sum));
template <class = void>
partial& p();
template <class E>
consteval bool delays(std::string_view name, int bytes = 4) {
  return moves<E>(0, 0, 1, bytes) && facts<E>.device_of(name) == both.partial(reduction::sum);
}
static_assert(delays<decltype(sum(-p()))>("negate"));
static_assert(delays<decltype(sum(cast<double>(p())))>("cast", 8));
static_assert(delays<decltype(sum(transpose(p())))>("transpose"));
static_assert(delays<decltype(sum(reshape<18>(p())))>("reshape"));
static_assert(delays<decltype(sum(expand_dims<0>(p())))>("expand_dims"));
static_assert(delays<decltype(sum(slice<0, 1, 3>(p())))>("slice"));
static_assert(delays<decltype(sum(sum<0>(p())))>("sum"));
static_assert(delays<decltype(sum(mean<0>(p())))>("mean"));
static_assert(delays<decltype(sum(p() * t<Both, 6, 3>()))>("multiply"));
static_assert(delays<decltype(sum(t<Both, 6, 3>() * p()))>("multiply"));
static_assert(delays<decltype(sum(2.f * p()))>("multiply"));
static_assert(delays<decltype(sum(p() / t<Both, 6, 3>()))>("divide"));
static_assert(delays<decltype(sum(p() / 2.f))>("divide"));
static_assert(delays<decltype(sum(matmul(p(), t<Both, 3, 2>())))>("matmul"));
static_assert(delays<decltype(sum(matmul(t<Both, 2, 6>(), p())))>("matmul"));
static_assert(delays<decltype(sum(p() + p()))>("add"));
static_assert(delays<decltype(sum(p() - p()))>("subtract"));
using scaled = decltype(0.5f * -p());  // the scaling fuses behind the all-reduce
static_assert(moves<scaled>(0, 0, 1, 72) && plan_of<scaled>.device_of("multiply") == both);
static_assert(plan_of<scaled>.launches() == 2);
using added = decltype(p() + p());  // one reduction of the sum, not two of the terms
static_assert(moves<added>(0, 0, 1, 72));
static_assert(plan_of<added>.device_of("add") == both.partial(reduction::sum));

// ---- anything else reduces first ----
template <class E>
constexpr bool reduces_first(int bytes = 72, int all_reduces = 1) {
  return moves<E>(0, 0, all_reduces, bytes) && lies<E>(both);
}
static_assert(reduces_first<decltype(sum(p() + 1.f))>());
static_assert(reduces_first<decltype(sum(1.f / p()))>());
static_assert(reduces_first<decltype(sum(p() + t<Both, 6, 3>()))>());
static_assert(reduces_first<decltype(sum(exp(p())))>());
static_assert(reduces_first<decltype(sum(p() * p()))>(144));  // two occurrences in one bucket
static_assert(reduces_first<decltype(max(p()))>());
static_assert(reduces_first<decltype(sum(cast<float>(cast<double>(p()))))>(144));
using partial_max = decltype(max<0>(t<Rows, 6, 4>()));
static_assert(plan_of<partial_max>.device_of("max") == both.partial(reduction::max));
static_assert(moves<partial_max>(0, 0, 1, 16));
using scaled_max = decltype(sum(-max<0>(t<Rows, 6, 4>())));  // -max(a, b) is not max(-a, -b)
static_assert(moves<scaled_max>(0, 0, 1, 16) && plan_of<scaled_max>.device_of("negate") == both);
using looked_at_max = decltype(expand_dims<0>(max<0>(t<Rows, 6, 4>())));  // only looks: still terms
static_assert(moves<looked_at_max>(0, 0, 1, 16));
static_assert(plan_of<looked_at_max>.device_of("expand_dims") == both.partial(reduction::max));

// ---- matmul ----
static_assert(lies<decltype(matmul(t<Both, 6, 4>(), t<Both, 4, 3>()))>(both));
static_assert(lies<decltype(matmul(t<Rows, 6, 4>(), t<Both, 4, 3>()))>(rows));
static_assert(lies<decltype(matmul(t<Both, 6, 4>(), t<Columns, 4, 3>()))>(columns));
static_assert(lies<decltype(matmul(t<Rows, 6, 4>(), t<Cpu0, 4, 3>()))>(rows));
static_assert(moves<decltype(matmul(t<Rows, 6, 4>(), t<Cpu0, 4, 3>()))>(2, 96));
template <class Left, class Right>
constexpr bool gathers =
    refusal<decltype(matmul(t<Left, 6, 4>(), t<Right, 4, 3>()))> == plan_error::matmul_cuts;
static_assert(gathers<Rows, Rows> && gathers<Rows, Columns> && gathers<Columns, Columns>);
static_assert(gathers<Columns, Both> && gathers<Both, Rows>);
static_assert(!gathers<Columns, Rows> && !gathers<Both, Both>);

// ---- transpose, and what else looks at pieces ----
using transposed = decltype(transpose(t<Rows, 6, 4>()) * 1.f);
static_assert(lies<transposed>(columns) && moves<transposed>(0, 0));
static_assert(lies<decltype(transpose<1, 2, 0>(t<Rows, 6, 4, 2>()) * 1.f)>(both.sharded(2)));
static_assert(lies<decltype(expand_dims<0>(t<Rows, 6, 4>()) * 1.f)>(columns));
static_assert(lies<decltype(expand_dims<1>(t<Rows, 6, 4>()) * 1.f)>(rows));
static_assert(lies<decltype(slice<1, 0, 2>(t<Rows, 6, 4>()) * 1.f)>(rows));
static_assert(lies<decltype(reshape<6, 2, 2>(t<Rows, 6, 4>()) * 1.f)>(rows));
static_assert(refusal<decltype(slice<0, 0, 2>(t<Rows, 6, 4>()))> == plan_error::view_across_cut);

// windows: slices across the cut whose ends the type knows, counted from both ends
using Near = Sharded<0, Gpu0, Gpu1, Halo<1>>;
template <int... Moved>
using part = decltype(interior<1, Moved...>(t<Near, 6, 4>()));
template <int... Moved>
part<Moved...> w();
static_assert(lies<decltype(t<Near, 6, 4>() + 1.f)>(rows));  // the margins belong to the tensor
static_assert(facts<decltype(sum(w<1, 0>() + w<-1, 0>()))>.device_of("add") == rows.window(1, 1));
static_assert(facts<decltype(sum(w<1, 0>() + w<1, 1>()))>.device_of("add") == rows.window(2, 0));
static_assert(facts<decltype(sum(w<1, 0>() * t<Both, 4, 2>()))>.device_of("multiply") ==
              rows.window(2, 0));
static_assert(facts<decltype(sum(w<1, 0>() + w<-1, 0>()))>.halo_exchanges() == 2);
static_assert(facts<decltype(sum(w<1, 0>() + w<1, 1>()))>.halo_exchanges() == 0);
static_assert(moves<part<0, 0>, Cpu0>(2, 32));  // gathered: two rows of two elements from each
static_assert(refusal<part<0, 0>> == plan_error::window_without_home);
static_assert(refusal<decltype(w<1, 0>() + t<Near, 4, 2>())> == plan_error::windows_do_not_meet);
static_assert(refusal<decltype(matmul(w<0, 0>(), t<Both, 2, 2>()))> ==
              plan_error::window_in_own_kernel);
static_assert(refusal<decltype(sum(slice<0, 2, range::to_end>(t<Rows, 6, 4>()) +
                                   slice<0, 0, -2>(t<Rows, 6, 4>())))> ==
              plan_error::reads_beyond_margin);
static_assert(lies<decltype(reshape<24>(t<Rows, 6, 4>()) * 1.f)>(rows));  // halves of the row order
static_assert(refusal<decltype(reshape<20>(t<Rows, 5, 4>()))> == plan_error::view_across_cut);
static_assert(refusal<decltype(reshape<4, 6>(t<Columns, 6, 4>()))> == plan_error::view_across_cut);
using joined_rows = decltype(concatenate<0>(t<Rows, 6, 4>(), t<Rows, 2, 4>()));
static_assert(refusal<joined_rows> == plan_error::view_across_cut);
using joined_columns = decltype(concatenate<1>(t<Rows, 6, 4>(), t<Rows, 6, 2>()));
static_assert(lies<joined_columns>(rows) && moves<joined_columns>(0, 0));

// ---- reductions over elements ----
template <class E>
consteval bool leaves_terms(std::string_view name, reduction op, int bytes) {
  return facts<E>.device_of(name) == both.partial(op) && moves<E>(0, 0, 1, bytes) && lies<E>(both);
}
static_assert(leaves_terms<decltype(sum(t<Rows, 6, 4>()))>("sum", reduction::sum, 4));
static_assert(leaves_terms<decltype(sum<0>(t<Rows, 6, 4>()))>("sum", reduction::sum, 16));
static_assert(leaves_terms<decltype(sum<1>(t<Columns, 6, 4>()))>("sum", reduction::sum, 24));
static_assert(leaves_terms<decltype(min<0>(t<Rows, 6, 4>()))>("min", reduction::min, 16));
static_assert(leaves_terms<decltype(max(t<Rows, 6, 4>()))>("max", reduction::max, 4));
static_assert(leaves_terms<decltype(any(t<Rows, 6, 4>() > 0.f))>("any", reduction::any, 1));
static_assert(leaves_terms<decltype(all(t<Rows, 6, 4>() > 0.f))>("all", reduction::all, 1));
static_assert(leaves_terms<decltype(mean(t<Rows, 6, 4>()))>("mean", reduction::sum, 4));
static_assert(leaves_terms<decltype(argmax<0>(t<Rows, 6, 4>()))>("argmax", reduction::first_max,
                                                                 64));
static_assert(moves<decltype(softmax<0>(t<Rows, 6, 4>()))>(0, 0, 2, 32));  // the maximum, the sum
static_assert(lies<decltype(softmax<0>(t<Rows, 6, 4>()))>(rows));
static_assert(moves<decltype(log_softmax<1>(t<Columns, 6, 4>()))>(0, 0, 2, 48));
static_assert(moves<decltype(softmax<1>(t<Rows, 6, 4>()))>(0, 0));
static_assert(plan_of<decltype(softmax<1>(t<Rows, 6, 4>()))>.launches() == 1);
static_assert(lies<decltype(sum<1>(t<Rows, 6, 4>()))>(rows) &&
              moves<decltype(sum<1>(t<Rows, 6, 4>()))>(0, 0));
static_assert(lies<decltype(sum<0>(t<Columns, 6, 4>()))>(rows));  // axis 1 is now axis 0
static_assert(lies<decltype(sum<0>(t<Columns, 6, 4>(), keep_dims))>(columns));
static_assert(lies<decltype(max<1>(t<Both, 6, 4>()))>(both) &&
              moves<decltype(max<1>(t<Both, 6, 4>()))>(0, 0));

// ---- all_reduce over replicas ----
static_assert(moves<decltype(all_reduce(p()) + 1.f)>(0, 0, 1, 72));
static_assert(refusal<decltype(all_reduce(t<Both, 6, 4>()))> ==
              plan_error::all_reduce_without_terms);
static_assert(refusal<decltype(all_reduce(t<Rows, 6, 4>()))> ==
              plan_error::all_reduce_without_terms);

// ---- assign, eval, fetch, print ----
template <class E, class To>
constexpr tally cost =
    count_plan(facts<E, To>.view(), internal::extents_of_steps<graph_of<E, To>>().of);
template <class E, class To>
constexpr bool reduces(int all_reduces, int other, int bytes, int copies = 0) {
  return cost<E, To>.all_reduces == all_reduces && cost<E, To>.other_reductions == other &&
         cost<E, To>.bytes_reduced == bytes && cost<E, To>.copies == copies;
}
static_assert(reduces<partial, Both>(1, 0, 72));
static_assert(reduces<partial, Rows>(0, 1, 72));
static_assert(reduces<partial, CpuDevice>(0, 1, 72) && reduces<partial, Gpu1>(0, 1, 72));
static_assert(moves<floats_on<Rows, 6, 4>, Both>(2, 96));  // each piece to the device without it
static_assert(moves<floats_on<Rows, 6, 4>, CpuDevice>(2, 96));
static_assert(moves<floats_on<Rows, 6, 4>, Gpu0>(1, 48));
static_assert(moves<floats_on<Both, 6, 4>, Columns>(0, 0));
static_assert(moves<floats_on<Both, 6, 4>, Gpu1>(0, 0));
static_assert(moves<floats_on<Both, 6, 4>, CpuDevice>(1, 96));
static_assert(moves<floats_on<Cpu0, 6, 4>, Both>(2, 192));
static_assert(moves<floats_on<Cpu0, 6, 4>, Rows>(2, 96));
static_assert(moves<floats_on<Cpu0, 6, 4>, Gpu1>(1, 96));
static_assert(refusal<floats_on<Rows, 6, 4>, Columns> == plan_error::cuts_do_not_meet);
static_assert(refusal<floats_on<Both, 6, 4>, Others> == plan_error::device_lists_differ);

// ---- on<Device> around replicas, and different device lists ----
static_assert(refusal<decltype(on<Gpu0>(t<Both, 6, 4>() + 1.f))> ==
              plan_error::request_on_distributed);
static_assert(refusal<decltype(on<Gpu0>(t<Rows, 6, 4>()))> == plan_error::request_on_distributed);
static_assert(refusal<decltype(t<Both, 6, 4>() + t<Others, 6, 4>())> ==
              plan_error::device_lists_differ);
static_assert(refusal<decltype(matmul(t<Rows, 6, 4>(), t<Others, 4, 3>()))> ==
              plan_error::device_lists_differ);

// ---- placement: six programs ----
using cc = decltype(matmul(t<Cpu0, 4, 4>(), t<Cpu0, 4, 4>()));
using gg = decltype(matmul(t<Gpu0, 4, 4>(), t<Gpu0, 4, 4>()));
static_assert(facts<cc>.all_on<Gpu0>() && moves<cc>(2, 128));  // eval(matmul(c, c))
static_assert(facts<cc, CpuDevice>.all_on<CpuDevice>() && moves<cc, CpuDevice>(0, 0));  // y_c = ...
static_assert(facts<gg, CpuDevice>.all_on<Gpu0>() && moves<gg, CpuDevice>(1, 64));
using g1g1 = decltype(t<Gpu1, 4, 4>() + t<Gpu1, 4, 4>());
static_assert(device_of<g1g1> == "/GPU:1" && moves<g1g1>(0, 0));
using twice = decltype(2.f * t<Gpu0, 4, 4>());
static_assert(facts<twice, CpuDevice>.all_on<CpuDevice>() && moves<twice, CpuDevice>(1, 64));
using sum_c = decltype(sum(t<Cpu0, 4, 4>()));
static_assert(device_of<sum_c> == "/GPU:0" && moves<sum_c>(1, 64));

// most operands, and of as many the first
using most = decltype(where(t<Gpu0, 4>() > 0.f, t<Gpu1, 4>(), on<Gpu1>(t<Cpu0, 4>())));
static_assert(facts<most>.device_of("where") == gpu1);
using tie = decltype(t<Gpu1, 4>() + t<Gpu0, 4>());
static_assert(device_of<tie> == "/GPU:1" && moves<tie>(1, 16));
using mixed = decltype(t<Cpu0, 4>() + t<Gpu1, 4>());
static_assert(device_of<mixed> == "/GPU:1" && moves<mixed>(1, 16));
// a generator goes where it is read
using generated = decltype(matmul(t<Gpu1, 4, 4>(), uniform<float>(Extents<4, 4>{}, seed{1})));
static_assert(device_of<generated> == "/GPU:1" && moves<generated>(0, 0));
using generated_alone = decltype(iota<float>(Extents<8>{}) + 1.f);
static_assert(device_of<generated_alone> == "/GPU:0");
static_assert(facts<generated_alone, CpuDevice>.all_on<CpuDevice>());
static_assert(moves<generated_alone, Both>(0, 0) && moves<generated_alone, Rows>(0, 0));

// ---- the three policies ----
template <class E, class Policy>
constexpr place runs_on = facts<E, nowhere, Policy>.device_of("matmul");
static_assert(runs_on<cc, prefer_gpu> == gpu0 && moves<cc, nowhere, prefer_gpu>(2, 128));
static_assert(runs_on<cc, follow_data> == cpu0 && moves<cc, nowhere, follow_data>(0, 0));
static_assert(runs_on<cc, min_copies> == cpu0 && moves<cc, nowhere, min_copies>(0, 0));
using small_and_large = decltype(matmul(t<Gpu0, 2, 4>(), t<Cpu0, 4, 100>()));
static_assert(runs_on<small_and_large, prefer_gpu> == gpu0);
static_assert(moves<small_and_large, nowhere, prefer_gpu>(1, 1600));
static_assert(runs_on<small_and_large, follow_data> == gpu0);  // the first operand
static_assert(runs_on<small_and_large, min_copies> == cpu0);
static_assert(moves<small_and_large, nowhere, min_copies>(1, 32));
using equally_far = decltype(matmul(t<Cpu0, 4, 4>(), t<Gpu0, 4, 4>()));
static_assert(runs_on<equally_far, min_copies> == gpu0);  // ties go to the GPU
static_assert(runs_on<equally_far, follow_data> == cpu0);
using two_gpus = decltype(matmul(t<Gpu0, 2, 4>(), t<Gpu1, 4, 100>()));
static_assert(runs_on<two_gpus, min_copies> == gpu1 && runs_on<two_gpus, prefer_gpu> == gpu0);
using open_extents = decltype(matmul(t<Gpu0, dyn, 4>(), t<Cpu0, 4, dyn>()) + t<Cpu0, dyn, dyn>());
static_assert(facts<open_extents, nowhere, min_copies>.copies() == 1);  // counts, not bytes
static_assert(runs_on<open_extents, min_copies> == cpu0);
static_assert(runs_on<on_host, min_copies> == cpu0 && runs_on<on_host, follow_data> == cpu0);

// ---- what a plan says of itself ----
using regression = decltype(sum(square(t<Gpu0, 64, 8>() - t<Gpu0, 8>())));
static_assert(plan_of<regression>.launches() == 1 && plan_of<regression>.flops() == 3 * 512);
static_assert(plan_of<regression>.bytes_read() == 4 * (512 + 8));
static_assert(plan_of<regression>.bytes_written() == 4);
static_assert(plan_of<regression>.peak_bytes<Gpu0>() == 256);
using replicas_work = decltype(matmul(t<Both, 6, 4>(), t<Both, 4, 3>()) + t<Both, 3>());
static_assert(plan_of<replicas_work>.flops() == 2 * (2 * 6 * 4 * 3 + 18));  // each replica does all
static_assert(plan_of<replicas_work>.bytes_read() == 2 * 4 * (24 + 12 + 3));
static_assert(plan_of<replicas_work>.bytes_written() == 2 * 4 * 18);
using pieces_work = decltype(matmul(t<Rows, 6, 4>(), t<Both, 4, 3>()) + t<Both, 6, 3>());
static_assert(plan_of<pieces_work>.flops() == 2 * 6 * 4 * 3 + 18);  // each does its rows
static_assert(plan_of<pieces_work>.bytes_read() == 4 * (24 + 2 * 12 + 18 + 18));
static_assert(plan_of<pieces_work>.bytes_written() == 4 * (18 + 18));
static_assert(plan_of<partial>.flops() == 2 * 6 * 4 * 3 && plan_of<partial>.bytes_written() == 144);
using squared =
    decltype(let(matmul(t<Gpu0, 4, 4>(), t<Gpu0, 4, 4>()), [](auto h) { return h * h; }));
static_assert(plan_of<squared>.launches() == 2 && plan_of<squared>.flops() == 2 * 64 + 16);
static_assert(plan_of<squared>.bytes_read() == 3 * 64);  // h once, though it occurs twice

// a leaf that occurs twice is two occurrences, under a name it is one
using twice_in_type = decltype(on<Gpu0>(t<Cpu0, 8>() * t<Cpu0, 8>()));
static_assert(moves<twice_in_type>(2, 64));
using once_by_name = decltype(on<Gpu0>(named<"x">(t<Cpu0, 8>()) * named<"x">(t<Cpu0, 8>())));
static_assert(moves<once_by_name>(1, 32));

// open extents: counts stay constants
using open_rows = decltype(t<Cpu0, dyn, 4>() + t<Gpu0, dyn, 4>());
static_assert(plan_of<open_rows>.copies() == 1 && plan_of<open_rows>.launches() == 1);
static_assert(device_of<open_rows> == "/GPU:0" && !decltype(plan_of<open_rows>)::is_static);

// may_alias: another index than the one that is written
static_assert(!facts<update, Gpu1>.may_alias());
static_assert(facts<decltype(transpose(t<Gpu0, 4, 4>()) + 1.f), Gpu0>.may_alias());
static_assert(facts<gg, Gpu0>.may_alias());
static_assert(!facts<gg, Gpu1>.may_alias());

// open devices: the ordinal lies in the object, or as many GPUs as there are
using AnyGpu = GpuDevice<dyn>;
using AnyCpu = Cpu<dyn>;
using Every = Mirrored<AllGpus>;
using EveryRows = Sharded<0, AllGpus>;
template <class E, class Destination = nowhere>
constexpr bool counts_are_known = knows_devices(facts<E, Destination>.view());
using any_and_host = decltype(t<AnyGpu, 8>() + t<Cpu0, 8>());
static_assert(lies<any_and_host>(AnyGpu::value) && moves<any_and_host>(1, 32));
using on_any = decltype(on<AnyGpu>(t<Cpu0, 8>() * 2.f, 0));
static_assert(lies<on_any>(AnyGpu::value) && moves<on_any>(1, 32));
static_assert(moves<on_any, Cpu0>(2, 64) && facts<on_any>.template peak_bytes<AnyGpu>() == 512);
using any_and_known = decltype(t<AnyGpu, 8>() + t<Gpu1, 8>());  // a copy, or the same device
static_assert(lies<any_and_known>(AnyGpu::value) && !counts_are_known<any_and_known>);
using any_hosts = decltype(t<AnyCpu, 8>() + t<Cpu0, 8>());
static_assert(lies<any_hosts>(gpu0) && moves<any_hosts>(2, 64));
static_assert(lies<any_hosts, Cpu0>(cpu0) && !counts_are_known<any_hosts, Cpu0>);
static_assert(facts<any_and_host, Gpu1>.may_alias());  // some GPU may be GPU:1
using all_partial = decltype(matmul(t<Sharded<1, AllGpus>, 6, 4>(), t<EveryRows, 4, 3>()));
static_assert(lies<all_partial>(Every::value) && moves<all_partial>(0, 0, 1, 72));
using all_rows = decltype(matmul(t<EveryRows, 6, 4>(), t<Every, 4, 3>()) + t<Every, 3>());
static_assert(lies<all_rows>(EveryRows::value) && moves<all_rows>(0, 0));
using all_and_host = decltype(t<Every, 8>() + t<Cpu0, 8>());
static_assert(lies<all_and_host>(Every::value) && !counts_are_known<all_and_host>);
static_assert(facts<all_and_host>.launches() == 1 && !knows_replicas(facts<all_rows>.view()));
static_assert(refusal<decltype(t<Every, 8>() + t<Both, 8>())> == plan_error::device_lists_differ);
static_assert(refusal<decltype(on<Gpu0>(2.f * t<Every, 8>()))> ==
              plan_error::request_on_distributed);

// the same as a list of types
static_assert(std::is_same_v<plan_types_of<all_partial>,
                             plan_types<kernel_on<matmul_op, Every>, all_reduce_over<Every, 72>>>);
static_assert(std::is_same_v<plan_types_of<product>,
                             plan_types<copy<CpuDevice, Gpu0, 24>, copy<CpuDevice, Gpu0, 24>,
                                        kernel_on<matmul_op, Gpu0>>>);
static_assert(std::is_same_v<plan_types_of<added>,
                             plan_types<kernel_on<matmul_op, Both>, kernel_on<matmul_op, Both>,
                                        kernel_on<add_fn, Both>, all_reduce_over<Both, 72>>>);

// ---- the plans as text ----
template <class Facts>
void print(char const* title) {
  constexpr auto text = Facts::explain();
  std::printf("%s\n%s\n", title, text.c_str());
}
template <class E, class Destination = nowhere, class Policy = default_policy>
void show(char const* title) {
  print<plan_facts<graph_of<E, Destination, Policy>>>(title);
}
template <class E, class Destination = nowhere, class Policy = default_policy>
void show_why(char const* name) {
  std::printf("%s\n", facts<E, Destination, Policy>.why(name).c_str());
}

}  // namespace

int main() {
  show<product>("eval(matmul(a, b))");
  show<on_host>("eval(on<CpuDevice>(matmul(a, b)))");
  show<innermost>("eval(on<GpuDevice<1>>(d0 + on<CpuDevice>(d1 * 2.f)))");
  show<update, Gpu1>("y = 2.f * x + y");
  show<total, CpuDevice>("fetch(sum(y))");
  show<legacy>("on<GpuDevice<0>>(map(Legacy{}, x) * 2.f)");
  show<legacy_rows>("map(Legacy{}, rows) + rows");
  print<replicas_step>("one step of training on two replicas");
  print<open_step>("the same, rows known when it runs");
  print<one_gpu_step>("the same on one GPU");
  show<host_mirrored>("host + mirrored");
  show<host_cut>("host + sharded");
  show<uneven_cut>("100 rows over 3");
  show<generated_cut>("sharded + 2.f * uniform");
  show<partial>("sharded columns x sharded rows");
  show<scaled>("0.5f * -partial");
  show<added>("partial + partial");
  show<looked_at_max>("expand_dims<0>(max<0>(sharded))");
  show<decltype(softmax<0>(t<Rows, 6, 4>()))>("softmax over the sharded axis");
  show<decltype(argmax<0>(t<Rows, 6, 4>()))>("argmax over the sharded axis");
  show<partial, Rows>("sharded = partial");
  show<partial, CpuDevice>("host = partial");
  show<floats_on<Rows, 6, 4>, Both>("mirrored = sharded");
  show<floats_on<Both, 6, 4>, CpuDevice>("host = mirrored");
  show<open_extents, nowhere, min_copies>("matmul(g, c) + c, under min_copies");
  show<small_and_large, nowhere, follow_data>("matmul(g, c), under follow_data");
  show<once_by_name>("named x * x");
  show<on_any, CpuDevice>("host = on<GpuDevice<dyn>>(host * 2.f, k)");
  show<any_and_known>("a tensor of some GPU and one of GPU:1");
  show<all_partial, CpuDevice>("host = columns x rows over all GPUs");
  show<squared>("let(matmul(a, b), [](auto h) { return h * h; })");
  show_why<product>("matmul");
  show_why<cc, CpuDevice>("matmul");
  show_why<twice, CpuDevice>("multiply");
  show_why<g1g1>("add");
  show_why<innermost>("multiply");
  show_why<legacy>("legacy");
  show_why<cut_cut>("add");
  show_why<generated>("uniform");
  show_why<cc, nowhere, min_copies>("matmul");
  show_why<cc, nowhere, follow_data>("matmul");
  show_why<transposed>("transpose");
  show_why<product>("leaf");
  show_why<product>("relu");
}

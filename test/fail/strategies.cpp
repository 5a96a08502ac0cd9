// SPDX-License-Identifier: Apache-2.0
// What MirroredStrategy does silently, or finds when it runs: sums of what is the same everywhere,
// copies that diverge, means of integers.
// expect-1: locus: a strategy runs on the devices of a list, or on one; write strategy<Mirrored<...>>
// expect-2: locus: a value that is the same on each replica counts once: no sum over them and no join is owed; use it as it is
// expect-3: locus: a value that is the same on each replica counts once: no sum over them and no join is owed; use it as it is
// expect-4: locus: a mean of integers over replicas is no integer; write cast<float>(x)
// expect-5: locus: replicas are reduced by sums and means of numbers and of tensors of numbers; write cast<float>(x), or reduce the members one by one
// expect-6: locus: more axes are named than a value of a replica has; name fewer
// expect-7: locus: all_reduce of a tensor that is no replica's own would count it once for each replica; pass it to run, or use it as it is
// expect-8: locus: a replica returns tensors of its own, not one over all replicas; return its piece
// expect-9: locus: an assignment inside a replica without an aggregation lets the copies of the variable diverge; write aggregation::sum, mean or only_first_replica, or on_read
// expect-10: locus: a number is the same on each replica, and its sum over them R times that; assign from outside, or a tensor of the replica's own
// expect-11: locus: copies that each replica writes have no common value without an aggregation; write aggregation::sum, mean or only_first_replica
// expect-12: locus: assign_add from outside to a sum over replicas would have to say to which of them; add inside a replica
// expect-13: locus: a function of a strategy returns an expression that borrows a tensor, which may be dead by then; write return eval(on<policy>(e, c.device())), or move the tensor into the expression, as in return std::move(t) * 2.f
// expect-14: locus: a function of a strategy returns an expression that borrows a tensor, which may be dead by then; write return eval(on<policy>(e, c.device())), or move the tensor into the expression, as in return std::move(t) * 2.f
// expect-15: locus: a variable combines its copies when it is read; write v.read(), or v.local_results() for each of them
// expect-16: locus: an expression knows the device of its operands when it is compiled, and an AnyTensor when the program runs; write a.as<CpuDevice>() where it lies, or to<CpuDevice>(a)
// expect-17: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-18: locus: the extents of a value do not fit its destination; make the tensor as large, or slice it; they are printed below
// expect-19: locus: a mean of integers over replicas is no integer; write cast<float>(x)
// expect-20: locus: copies that each replica writes have no common value without an aggregation; write aggregation::sum, mean or only_first_replica
// expect-21: locus: replicas are reduced by sums and means of numbers and of tensors of numbers; write cast<float>(x), or reduce the members one by one
// expect-22: locus: more axes are named than a value of a replica has; name fewer
#include <locus/locus.hpp>
#include <locus/strategy/variable.hpp>
using namespace locus;

#if !defined(LOCUS_MUST_FAIL)
#define LOCUS_MUST_FAIL 0
#endif
using Two = Mirrored<Cpu<0>, Cpu<1>>;
using Row = Tensor<float, Dextents<1>>;
#if LOCUS_MUST_FAIL == 1
strategy<Sharded<0, Cpu<0>, Cpu<1>>> s;
#else
strategy<Two> s;
#endif
Tensor<float, Dextents<1>, Two> mirrored(4);
per_replica<int> counts;
per_replica<char const*> texts;
per_replica<AnyTensor<float, Dextents<1>>> rows;
per_replica<AnyTensor<float, Extents<>>> scalars;
per_replica<bool> flags;
Row values(4);
variable<float, 1, Two, on_write, aggregation::none> unmarked(s, values);
variable<float, 1, Two, on_write, aggregation::sum> total(s, values);
variable<float, 1, Two, on_read, aggregation::none> own(s, values);
variable<float, 1, Two, on_read, aggregation::sum> parts(s, values);

void use() {
#if LOCUS_MUST_FAIL == 2
  static_cast<void>(s.reduce(across::sum, mirrored));
#elif LOCUS_MUST_FAIL == 3
  static_cast<void>(s.reduce(across::sum, 4.5));
#elif LOCUS_MUST_FAIL == 4
  static_cast<void>(s.reduce(across::mean, counts));
#elif LOCUS_MUST_FAIL == 5
  static_cast<void>(s.reduce(across::sum, texts));
#elif LOCUS_MUST_FAIL == 6
  static_cast<void>(s.reduce(across::sum, rows, {0, 1}));
#elif LOCUS_MUST_FAIL == 7
  s.run([](auto& c) { c.all_reduce(across::sum, values); });
#elif LOCUS_MUST_FAIL == 8
  s.run([] { return Tensor<float, Dextents<1>, Two>(4); });
#elif LOCUS_MUST_FAIL == 9
  s.run([](auto v) { v.assign(1); }, unmarked);
#elif LOCUS_MUST_FAIL == 10
  s.run([](auto v) { v.assign(1); }, total);
#elif LOCUS_MUST_FAIL == 11
  static_cast<void>(own.read());
#elif LOCUS_MUST_FAIL == 12
  parts.assign_add(values);
#elif LOCUS_MUST_FAIL == 13
  s.run([] {
    Tensor<float, Extents<2>> const t{1, 2};
    return std::pair(1, let(t * 2.f, [](auto h) { return h + 1.f; }));
  });
#elif LOCUS_MUST_FAIL == 14
  static_cast<void>(s.values_from([](int) {
    Tensor<float, Extents<2>> const t{1, 2};
    return t * 2.f;
  }));
#elif LOCUS_MUST_FAIL == 15
  static_cast<void>(s.reduce(across::sum, parts));
#elif LOCUS_MUST_FAIL == 16
  static_cast<void>(rows[0] + 1.f);
#elif LOCUS_MUST_FAIL == 17
  total.assign(zeros<double>(Extents<4>{}));
#elif LOCUS_MUST_FAIL == 18
  s.run([](auto v) { v.assign(zeros<float>(Extents<4, 1>{})); }, own);
#elif LOCUS_MUST_FAIL == 19
  variable<int, 1, Two, on_read, aggregation::mean> means(s, Tensor<int, Dextents<1>>(4));
#elif LOCUS_MUST_FAIL == 20
  own.assign(values);
#elif LOCUS_MUST_FAIL == 21
  static_cast<void>(s.reduce(across::sum, flags));
#elif LOCUS_MUST_FAIL == 22
  static_cast<void>(s.gather(scalars, 0));
#else
  s.run([](auto v) { v.assign(1); }, own);
  s.run([] { return Tensor<float, Extents<2>>{1, 2} * 2.f; });
  using namespace locus;
  static_cast<void>(sum(values) + mean(values));
  static_cast<void>(s.reduce(across::sum, counts));
#endif
}

// SPDX-License-Identifier: Apache-2.0
// The element-wise kernels of the CUDA path, block by block on the host: any address, any stride,
// any length give what a plain loop gives, and nothing outside the operands is touched.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <oracle.hpp>
#include <run_body.hpp>

#include <locus/locus.hpp>

using namespace locus;

namespace {

/// a * x + z, rounded twice on every compiler; for integers modulo 2^n
struct mix {
  template <class A, class B>
  LOCUS_HOST_DEVICE A operator()(A a, B b) const {
    return static_cast<A>(static_cast<std::int64_t>(a) * 3 + static_cast<std::int64_t>(b));
  }
};
/// the same as a functor of locus, which takes every value
struct own_mix : mix {
  LOCUS_BUILTIN("add")
};
/// the same as a functor of a program, which takes the elements alone: none is 0
struct mix_of_elements : mix {
  static inline int others = 0;  // calls with another value
  template <class A, class B>
  LOCUS_HOST_DEVICE A operator()(A a, B b) const {
#if !defined(__CUDA_ARCH__)
    others += a == A(0);
#endif
    return mix::operator()(a, b);
  }
};
template <class F, class T, class... Args>
using apply_of = kernel::apply<T, F, Args...>;
template <class Top>
using stage_of = kernel::stage<type_list<>, type_list<Top>>;

template <class A, class B, class F = mix_of_elements>
using two_inputs =
    map_work<stage_of<apply_of<F, A, kernel::input<0, A>, kernel::input<1, B>>>,
             type_list<kernel::elements_of<A>, kernel::elements_of<B>>, type_list<A>, true>;
template <class A, class F = mix_of_elements>
using with_index = map_work<
    kernel::stage<type_list<>,
                  type_list<apply_of<F, A, kernel::input<0, A>, kernel::input<1, std::int64_t>>,
                            kernel::input<0, A>>>,
    type_list<kernel::elements_of<A>, kernel::own_offset>, type_list<A, A>, true>;

/// Memory with a border on both sides that must not change.
template <class T>
struct bordered {
  static constexpr std::size_t border = 64;
  std::vector<oracle::cell<T>> cells;
  explicit bordered(std::size_t n) : cells(n + 2 * border) {}
  T* data() { return &cells[border].value; }
};

/// the kernels that were chosen
struct {
  int flat, lines, cut, points, tiles;  // cut: lines of one axis in parts
} chosen;
template <class Work>
void run(Work const& work) {
  cuda_kernel<Work>::choose(work, [&](auto& body, unsigned blocks) {
    using Body = std::remove_reference_t<decltype(body)>;
    if constexpr (std::is_same_v<Body, cuda_side::point_map<Work>>)
      ++(body.in_tiles ? chosen.tiles : chosen.points);
    else if constexpr (std::is_same_v<Body, cuda_side::flat_map<Work>>)
      ++chosen.flat;
    else
      ++chosen.lines, chosen.cut += work.over.rank == 1 && body.over.rows > 1;
    cuda_side::run_body<Body>(&body, blocks, cuda_side::block_threads);
  });
}

struct shape_case {
  int rank;
  std::int64_t extent[3];
};
constexpr shape_case shapes[] = {
    {1, {1}},        {1, {3}},         {1, {15}},         {1, {16}},     {1, {1000}},
    {1, {4099}},     {2, {7, 3}},      {2, {5, 16}},      {2, {9, 33}},  {2, {3, 1030}},
    {3, {3, 5, 12}}, {3, {2, 3, 17}},  {3, {4, 1, 40}},   {2, {600, 2}}, {1, {9001}},
    {2, {70, 45}},   {3, {9, 3, 300}}, {3, {10, 34, 36}}, {2, {256, 8}},
};

/// means: strides of an operand: 0: dense, 1: constant along the last axis, 2: constant along the
///        first, 3: columns of a wider array, 4: transposed, 5: every second, 6: one number
std::int64_t strides_of(int form, shape_case const& s, std::int64_t* stride) {
  std::int64_t at[3], n = form == 5 ? 2 : 1;
  for (int d = s.rank; d-- > 0;) {
    at[d] = n;
    n *= s.extent[d] + (form == 3 && d == s.rank - 1 ? 5 : 0);
  }
  if (form == 4) {
    n = 1;
    for (int d = 0; d < s.rank; ++d) at[d] = n, n *= s.extent[d];
  }
  if (form == 1) at[s.rank - 1] = 0;
  if (form == 2) at[0] = 0;
  if (form == 6)
    for (int d = 0; d < s.rank; ++d) at[d] = 0;
  for (int d = 0; d < s.rank; ++d) stride[d] = at[d];
  return n;
}
constexpr int forms = 7;

template <class Work, class A, class B>
void check(oracle::random& r, shape_case const& s, int form_a, int form_b, int form_out) {
  constexpr bool indexed = Work::outputs::size == 2;
  kernel::space over;
  over.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) over.extent[d] = s.extent[d];
  kernel::access a{}, b{}, out{}, second{};
  auto const na = strides_of(form_a, s, a.stride), nb = strides_of(form_b, s, b.stride),
             nout = strides_of(form_out, s, out.stride);
  strides_of(0, s, second.stride);
  bordered<A> ma(std::size_t(na + 16)), mout(std::size_t(nout + 16)),
      msecond(std::size_t(nout + 16));
  bordered<B> mb(std::size_t(nb + 16));
  for (auto& c : ma.cells) c.value = r.value<A>(1, 100);
  for (auto& c : mb.cells) c.value = r.value<B>(0, 100);
  // any first element: no operand need begin where a vector may
  a.data = ma.data() + r.number(0, 3) * r.number(0, 4);
  out.data = mout.data() + r.number(0, 2) * r.number(0, 5);
  second.data = msecond.data() + r.number(0, 1);
  if (indexed)
    b.base = form_a % 2 == 0 ? 8 : 5;  // with and without a whole vector in front
  else
    b.data = mb.data() + r.number(0, 4);
  auto const before = mout.cells;
  auto const before_second = msecond.cells;
  auto want = before;
  auto want_second = before_second;
  auto at = [&](auto& cells, auto& memory, kernel::access const& x, std::int64_t i) -> auto& {
    using T = std::remove_reference_t<decltype(cells[0].value)>;
    auto const first = static_cast<T*>(x.data) - &memory.cells[0].value;
    return cells[std::size_t(first + kernel::offset_of(over, x, i, over.rank))].value;
  };
  for (std::int64_t i = 0; i < over.size(); ++i) {
    A const x = at(ma.cells, ma, a, i);
    if (indexed)
      at(want, mout, out, i) = mix{}(x, b.base + kernel::offset_of(over, b, i, over.rank)),
                          at(want_second, msecond, second, i) = x;
    else
      at(want, mout, out, i) = mix{}(x, at(mb.cells, mb, b, i));
  }
  Work work{typename Work::stage_type{}};
  work.over = over;
  work.operands[0] = a, work.operands[1] = b, work.operands[2] = out;
  if constexpr (indexed) work.operands[3] = second;
  run(work);
  auto same = [](auto const& x, auto const& y) {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(x[i].value == y[i].value)) return false;
    return true;
  };
  INFO("rank ", s.rank, " last ", s.extent[s.rank - 1], " forms ", form_a, form_b, form_out);
  REQUIRE(same(mout.cells, want));
  REQUIRE(same(msecond.cells, want_second));
}
template <class Work, class A, class B>
void check_all(unsigned seed) {
  oracle::random r(seed);
  for (auto const& s : shapes)
    for (int fa = 0; fa < forms; ++fa)
      for (int fb = 0; fb < forms; ++fb) {
        int const out = int(r.number(0, 3));  // an output has an element for each point
        check<Work, A, B>(r, s, fa, fb, out == 0 ? 3 : out == 1 ? 4 : out == 2 ? 5 : 0);
        check<Work, A, B>(r, s, fa, fb, 0);
      }
}

}  // namespace

TEST_CASE("element-wise kernels: any address, stride and length") {
  chosen = {};
  check_all<two_inputs<float, float>, float, float>(1);
  check_all<two_inputs<double, float>, double, float>(2);
  check_all<two_inputs<std::uint8_t, std::uint8_t>, std::uint8_t, std::uint8_t>(3);
  check_all<two_inputs<std::int32_t, bool>, std::int32_t, bool>(4);
  check_all<with_index<float>, float, std::int64_t>(5);
  check_all<two_inputs<std::int16_t, std::int8_t>, std::int16_t, std::int8_t>(6);
  CHECK(mix_of_elements::others == 0);
  check_all<two_inputs<float, float, own_mix>, float, float>(7);
  check_all<two_inputs<std::uint8_t, std::uint8_t, own_mix>, std::uint8_t, std::uint8_t>(8);
  check_all<with_index<double, own_mix>, double, std::int64_t>(9);
  CHECK(chosen.flat > 100);
  CHECK(chosen.lines > 500);
  CHECK(chosen.points > 500);
  CHECK(chosen.tiles > 100);
}

TEST_CASE("a line that is long enough is cut, and its parts meet") {
  chosen = {};
  oracle::random r(9);
  for (int k = 0; k < 4; ++k)
    check<two_inputs<float, float>, float, float>(r, {1, {(1 << 20) + 70 + k}}, 0, k == 3 ? 6 : 0,
                                                  0);
  check<two_inputs<std::int16_t, std::int8_t>, std::int16_t, std::int8_t>(r, {1, {(1 << 21) + 5}},
                                                                          0, 6, 0);
  CHECK(chosen.cut >= 3);
}

TEST_CASE("an array that ends before its first vector") {
  using Work = with_index<float>;
  constexpr int vector = cuda_side::map_facts<Work>::vector;
  alignas(16) float in[3 * vector], out[2][3 * vector];
  for (int i = 0; i < 3 * vector; ++i) in[i] = float(i * i % 11);
  for (int phase = 0; phase < vector; ++phase)
    for (int size = 2; size < 2 * vector; ++size) {
      std::fill(&out[0][0], &out[0][0] + 6 * vector, -1.f);
      Work work{Work::stage_type{}};
      work.over.rank = 1, work.over.extent[0] = size;
      for (auto& a : work.operands) a = {}, a.stride[0] = 1;
      work.operands[0].data = in + phase, work.operands[1].base = 4 * vector + phase;
      work.operands[2].data = out[0] + phase, work.operands[3].data = out[1] + phase;
      chosen = {};
      run(work);
      CHECK(chosen.flat == 1);
      INFO("phase ", phase, ", ", size, " elements");
      for (int i = 0; i < 3 * vector; ++i) {
        bool const is_there = i >= phase && i < phase + size;
        CHECK(out[0][i] == (is_there ? mix{}(in[i], std::int64_t(4 * vector + i)) : -1.f));
        CHECK(out[1][i] == (is_there ? in[i] : -1.f));
      }
    }
}

namespace {
/// a copy between two forms, elements of any size at any multiple of `unit`
template <int Bytes>
void check_copy(oracle::random& r, shape_case const& s, int form_from, int form_to, int unit) {
  copy_work w{Bytes, {}, {}, {}};
  w.over.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) w.over.extent[d] = s.extent[d];
  auto const n = strides_of(form_from, s, w.from.stride), m = strides_of(form_to, s, w.to.stride);
  std::vector<unsigned char> from(std::size_t(n * Bytes + 64)), to(std::size_t(m * Bytes + 64));
  for (auto& b : from) b = r.value<std::uint8_t>(0, 255);
  for (auto& b : to) b = r.value<std::uint8_t>(0, 255);
  auto want = to;
  auto const first = std::size_t(r.number(0, 16 / unit) * unit),
             to_first = std::size_t(r.number(0, 16 / unit) * unit);
  for (std::int64_t i = 0; i < w.over.size(); ++i)
    std::memcpy(&want[to_first + std::size_t(kernel::offset_of(w.over, w.to, i, s.rank)) * Bytes],
                &from[first + std::size_t(kernel::offset_of(w.over, w.from, i, s.rank)) * Bytes],
                Bytes);
  w.from.data = &from[first], w.to.data = &to[to_first];
  cuda_side::choose_copy(w, [](auto& body, unsigned blocks) {
    using Body = std::remove_reference_t<decltype(body)>;
    if constexpr (requires { body.in_tiles; })
      ++(body.in_tiles ? chosen.tiles : chosen.points);
    else
      ++chosen.lines;
    cuda_side::run_body<Body>(&body, blocks, cuda_side::block_threads);
  });
  INFO("bytes ", Bytes, " rank ", s.rank, " last ", s.extent[s.rank - 1], " forms ", form_from,
       form_to, " unit ", unit);
  REQUIRE(to == want);
}
template <int Bytes>
void check_copies(unsigned seed) {
  oracle::random r(seed);
  for (auto const& s : shapes)
    for (int from = 0; from < forms; ++from)
      for (int const to : {0, 3, 4, 5})
        for (int const unit : {Bytes & -Bytes, 1})
          check_copy<Bytes>(r, s, from, to, unit < 16 ? unit : 16);
}
}  // namespace

TEST_CASE("copies: elements of any size, any address, stride and length") {
  chosen = {};
  check_copies<1>(1), check_copies<2>(2), check_copies<4>(3), check_copies<8>(4);
  check_copies<16>(5), check_copies<12>(6), check_copies<3>(7), check_copies<64>(8);
  CHECK(chosen.lines > 500);
  CHECK(chosen.points > 500);
  CHECK(chosen.tiles > 500);
}

TEST_CASE("words between two vectors") {
  alignas(16) unsigned char bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<unsigned char>(37 * i + 1);
  for (int at = 0; at < 48; ++at) {
    auto const four = cuda_side::load_between<4>(bytes + at);
    auto const two = cuda_side::load_between<2>(bytes + at);
    auto const one = cuda_side::load_between<1>(bytes + at);
    CHECK(std::memcmp(&four, bytes + at, 16) == 0);
    CHECK(std::memcmp(&two, bytes + at, 8) == 0);
    CHECK(std::memcmp(&one, bytes + at, 4) == 0);
    if (at % 4 != 0) continue;
    auto const whole = cuda_side::load_between<4, 4>(bytes + at);
    CHECK(std::memcmp(&whole, bytes + at, 16) == 0);
  }
}

namespace {
/// addresses without memory behind them until they are written to
struct far_memory {
  std::size_t bytes;
  std::uint8_t* data;
  explicit far_memory(std::int64_t n)
      : bytes(std::size_t(n)),
        data(static_cast<std::uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    REQUIRE(static_cast<void*>(data) != MAP_FAILED);
  }
  far_memory(far_memory const&) = delete;
  ~far_memory() { munmap(data, bytes); }
};
}  // namespace

TEST_CASE("more elements than 32 bits number: the first, the last and those at 2^31 and 2^32") {
  using Work = two_inputs<std::uint8_t, std::uint8_t>;
  std::int64_t const wide = 1 << 16, n = (wide + 1) * wide + 7;
  far_memory in(n), out(n);
  std::int64_t const probes[] = {0,
                                 15,
                                 1000,
                                 INT32_MAX,
                                 std::int64_t(1) << 31,
                                 (std::int64_t(1) << 32) - 1,
                                 std::int64_t(1) << 32,
                                 n - 8,
                                 n - 1};
  for (std::int64_t i : probes) in.data[i] = static_cast<std::uint8_t>(i % 201 + 1);
  for (bool const is_flat : {true, false}) {
    std::int64_t const elements = is_flat ? n : n - 7;
    Work work{Work::stage_type{}};
    for (auto& a : work.operands) a = {};
    work.operands[0].data = in.data, work.operands[1].data = in.data + 1000,
    work.operands[2].data = out.data;
    if (is_flat) {  // x + x, one array
      work.over.rank = 1, work.over.extent[0] = n;
      for (auto& a : work.operands) a.stride[0] = 1;
      work.operands[1].data = in.data;
    } else {  // x + a number of each row
      work.over.rank = 2, work.over.extent[0] = wide + 1, work.over.extent[1] = wide;
      for (auto& a : work.operands) a.stride[0] = wide, a.stride[1] = 1;
      work.operands[1].stride[0] = work.operands[1].stride[1] = 0;
    }
    cuda_kernel<Work>::choose(work, [&](auto& body, unsigned blocks) {
      using Body = std::remove_reference_t<decltype(body)>;
      CHECK(std::is_same_v<Body, cuda_side::flat_map<Work>> == is_flat);
      unsigned const each = cuda_side::block_threads * 16;
      CHECK(blocks == (elements / 16 + cuda_side::block_threads - 1) / cuda_side::block_threads);
      unsigned last = blocks;
      for (std::int64_t i : probes)
        if (unsigned const b = unsigned(i / each); i < elements && b != last && b < blocks)
          body(cuda_side::host_block(last = b, blocks, cuda_side::block_threads));
      body(cuda_side::host_block(0, blocks, cuda_side::block_threads));  // what vectors leave
    });
    for (std::int64_t i : probes)
      if (i < elements)
        CHECK(out.data[i] == std::uint8_t(3 * in.data[i] + in.data[is_flat ? i : 1000]));
  }
}

namespace {

/// what the threads of kernel N share
template <int N>
struct shared_bytes {
  char of[40'000];
};
template <int... N>
std::int64_t distinct_rooms(std::integer_sequence<int, N...>) {
  cuda_side::host_block const block(0, 1, cuda_side::block_threads);
  std::vector<void*> rooms{block.shared<shared_bytes<N>, 1>()...};
  std::sort(rooms.begin(), rooms.end());
  return std::unique(rooms.begin(), rooms.end()) - rooms.begin();
}
constexpr int many_bodies = 32;
void* count_rooms(void* found) {
  *static_cast<std::int64_t*>(found) =
      distinct_rooms(std::make_integer_sequence<int, many_bodies>());
  return nullptr;
}

}  // namespace

TEST_CASE("shared memory of many kernels leaves the stack of a thread as it is") {
  pthread_attr_t how;
  REQUIRE(pthread_attr_init(&how) == 0);
  REQUIRE(pthread_attr_setstacksize(&how, 512 * 1024) == 0);  // bytes; the kernels share 1,280,000
  std::int64_t found = 0;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &how, &count_rooms, &found) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&how);
  CHECK(found == many_bodies);
}

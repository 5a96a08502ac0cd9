// SPDX-License-Identifier: Apache-2.0
// What locus makes of statements beside what one would write by hand, compared in machine code by
// test/tools/check_kernels.py. Never run.
#include <locus/cuda.cuh>

using namespace locus;

namespace {
struct alignas(16) four {
  float x[4];
};
template <class F>
__device__ void by_vectors(float* y, int head, long long vectors, int rest, F f) {
  long long const tile = 512ll * blockIdx.x, left = vectors - tile;
  unsigned const here = left < 512 ? unsigned(left) : 512;
  f(y, tile, here);
  if (blockIdx.x == 0 && threadIdx.x < unsigned(rest))
    f.one(y, threadIdx.x < unsigned(head) ? (long long)(threadIdx.x) - head
                                          : vectors * 4 + threadIdx.x - head);
}
/// two vectors of each thread under way before the first is used
template <class Element, int Inputs>
struct map_by_hand {
  Element e;
  float const* in[Inputs];
  __device__ void operator()(float* y, long long tile, unsigned here) const {
    four v[2][Inputs];
#pragma unroll
    for (unsigned u = 0; u < 2; ++u)
      if (threadIdx.x + u * 256 < here)
#pragma unroll
        for (int k = 0; k < Inputs; ++k)
          v[u][k] = reinterpret_cast<four const*>(in[k])[tile + threadIdx.x + u * 256];
#pragma unroll
    for (unsigned u = 0; u < 2; ++u)
      if (threadIdx.x + u * 256 < here) {
        four r;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float a[Inputs];
#pragma unroll
          for (int k = 0; k < Inputs; ++k) a[k] = v[u][k].x[j];
          r.x[j] = e(a);
        }
        reinterpret_cast<four*>(y)[tile + threadIdx.x + u * 256] = r;
      }
  }
  __device__ void one(float* y, long long i) const {
    float a[Inputs];
#pragma unroll
    for (int k = 0; k < Inputs; ++k) a[k] = in[k][i];
    y[i] = e(a);
  }
};
struct triad_by_hand {
  float a;
  __device__ float operator()(float const* v) const { return a * v[0] + v[1]; }
};
struct chain_by_hand {
  __device__ float operator()(float const* v) const {
    return (v[0] * v[1] + v[2]) / (v[3] + 2.f) - sqrtf(v[4]);
  }
};
}  // namespace

extern "C" __global__ void hand_triad(float* y, float const* x, float const* z, float a, int head,
                                      long long vectors, int rest) {
  by_vectors(y, head, vectors, rest, map_by_hand<triad_by_hand, 2>{{a}, {x, z}});
}
/// (a b + c) / (d + 2) - sqrt(e): a vector of each operand under way
extern "C" __global__ void hand_chain(float* y, float const* a, float const* b, float const* c,
                                      float const* d, float const* e, int head, long long vectors,
                                      int rest) {
  long long const i = 256ll * blockIdx.x + threadIdx.x;
  map_by_hand<chain_by_hand, 5> const f{{}, {a, b, c, d, e}};
  if (i < vectors) {
    four const va = reinterpret_cast<four const*>(a)[i], vb = reinterpret_cast<four const*>(b)[i],
               vc = reinterpret_cast<four const*>(c)[i], vd = reinterpret_cast<four const*>(d)[i],
               ve = reinterpret_cast<four const*>(e)[i];
    four r;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float const v[]{va.x[j], vb.x[j], vc.x[j], vd.x[j], ve.x[j]};
      r.x[j] = f.e(v);
    }
    reinterpret_cast<four*>(y)[i] = r;
  }
  if (blockIdx.x == 0 && threadIdx.x < unsigned(rest))
    f.one(y, threadIdx.x < unsigned(head) ? (long long)(threadIdx.x) - head
                                          : vectors * 4 + threadIdx.x - head);
}
/// sums of a block: four lanes, four vectors under way
extern "C" __global__ void hand_sum(float const* x, double* totals, long long vectors) {
  double total = 0;
  long long v = threadIdx.x;
  for (; v + 3 * 256 < vectors; v += 4 * 256) {
    four in[4];
    float lane[4]{};
#pragma unroll
    for (int u = 0; u < 4; ++u) in[u] = reinterpret_cast<four const*>(x)[v + u * 256];
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int j = 0; j < 4; ++j) lane[j] += in[u].x[j];
#pragma unroll
    for (int j = 0; j < 4; ++j) total += double(lane[j]);
  }
  atomicAdd(totals, total);
}
/// sum, largest and sum of squares in one pass, of three arrays
extern "C" __global__ void hand_three(float const* x, float const* y, float const* z,
                                      double* totals, long long vectors) {
  double sum = 0, squares = 0;
  float most[4]{};
  long long v = threadIdx.x;
  for (; v + 3 * 256 < vectors; v += 4 * 256) {
    four in[4][3];
    float lane[4]{}, square[4]{};
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      in[u][0] = reinterpret_cast<four const*>(x)[v + u * 256];
      in[u][1] = reinterpret_cast<four const*>(y)[v + u * 256];
      in[u][2] = reinterpret_cast<four const*>(z)[v + u * 256];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float const e = in[u][1].x[j];
        lane[j] += in[u][0].x[j];
        most[j] = most[j] > e || most[j] != most[j] ? most[j] : e;
        square[j] += in[u][2].x[j] * in[u][2].x[j];
      }
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += double(lane[j]), squares += double(square[j]);
  }
  for (int j = 0; j < 4; ++j) atomicAdd(totals + j, sum + squares + double(most[j]));
}

using Gpu = GpuDevice<0>;
using Vector = Tensor<float, Dextents<1>, Gpu>;
using Matrix = Tensor<float, Dextents<2>, Gpu>;
using Number = Tensor<float, Extents<>, Gpu>;

// check: flat_map(?!.*divide).*multiply_fn like hand_triad, at most 32 registers
// one type of kernel for eight ordinals and ten shapes, each in three forms
// count: ^(?!.*divide).*map_work.*multiply_fn is 3
template <int N, std::int64_t... Shape>
using Fixed = Tensor<float, Extents<Shape...>, GpuDevice<N>>;
template <class Y>
void triad() {
  Y y, x, z;
  y = 2.5f * x + z;
}
void triads(Vector& y, Vector const& x, Vector const& z) {
  y = 2.5f * x + z;
  triad<Fixed<0, 10>>(), triad<Fixed<1, 1000>>(), triad<Fixed<2, 7>>(), triad<Fixed<3, 64>>();
  triad<Fixed<4, 65>>(), triad<Fixed<5, 4, 5>>(), triad<Fixed<6, 1 << 20>>();
  triad<Fixed<7, 3, 4, 5>>(), triad<Fixed<0, 77>>(), triad<Fixed<1, 12, 12>>();
}
// check: flat_map.*divide_fn like hand_chain, at most 40 registers
// check: line_map.*divide_fn, at most 72 registers
void chain(Vector& y, Vector const& a, Vector const& b, Vector const& c, Vector const& d,
           Vector const& e) {
  y = (a * b + c) / (d + 2.f) - sqrt(e);
}
// four lines of a thread
// check: line_map(?!.*multiply).*add_fn, at most 64 registers
// check: point_map(?!.*multiply).*add_fn, at most 64 registers
void broadcast(Matrix& y, Matrix const& x, Vector const& row) { y = x + row; }
// check: fold_rows(?!.*square) loops like hand_sum, at most 72 registers
// check: fold_the_parts, at most 40 registers
void total(Number& y, Vector const& x) { y = sum(x); }
// check: fold_columns, at most 128 registers
void columns(Vector& y, Matrix const& x) { y = sum<0>(x); }
// check: fold_rows.*square loops like hand_three, at most 128 registers
void moments(Number& a, Number& b, Number& c, Fixed<0, 1 << 20> const& x) {
  run(plan(into(a, sum(x)), into(b, max(x)), into(c, sum(square(x)))));
}
// check: flat_map.*cast_fn, at most 40 registers
void narrow(Tensor<std::int8_t, Dextents<1>, Gpu>& y, Vector const& x) { y = cast<std::int8_t>(x); }
// check: rows_by_teams, at most 80 registers and 384 bytes of memory
void rows(Matrix& y, Matrix const& x) { y = softmax<1>(x); }

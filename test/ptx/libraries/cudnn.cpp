// SPDX-License-Identifier: Apache-2.0
// In place of libcudnn.so.9: the functions for convolutions that locus calls, in the order of a handle's stream. What
// the real one refuses is refused; its first answers are algorithms that locus must not take. PTX_CUDNN_VERSION says
// another version, PTX_CUDNN_WORKSPACE how many bytes a convolution wants.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "../cudart/library.hpp"
#include "../machine/numbers.hpp"

#define DNN_API extern "C" __attribute__((visibility("default")))

namespace {

// cuDNN's numbers
enum : int {
  success = 0,
  not_initialized = 1001,
  bad_param = 2000,
  null_pointer = 2002,
  size_insufficient = 2006,
  shape_mismatch = 2008,
  not_supported = 3000,
  execution_failed = 5000
};
enum : int { real_float = 0, real_double = 1, real_half = 2, real_bfloat16 = 9 };
enum : int { channels_last = 1, cross_correlation = 1 };
enum : int { default_math = 0, tensor_math = 1, converting_math = 2, fused_math = 3 };
enum result { of_y, of_dx, of_dkernel };

struct handle {
  int card = ptx_card_of_stream(nullptr);
  void* stream = nullptr;
  std::thread::id set_by, used_by;
  bool has_stream = false, shared = false;
};
struct array {  // a tensor or a filter
  int type = -1, format = 0;
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t size() const { return n * c * h * w; }
};
struct window {
  int pad_h = 0, pad_w = 0, stride_h = 0, stride_w = 0, dilation_h = 1, dilation_w = 1, mode = 0,
      sums = -1, math = default_math, groups = 1;
};
struct answer {
  int algorithm, status;
  float milliseconds;
  std::size_t workspace;
  int determinism, math, reserved[3];
};

std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
template <class T>
std::set<T*>& all() {
  static auto& them = *new std::set<T*>;
  return them;
}
/// which descriptor, if it lives
template <class T>
T* find(void* p) {
  auto* const t = static_cast<T*>(p);
  return all<T>().count(t) ? t : nullptr;
}
template <class T>
int make(char const* function, void** to) {
  if (int const planned = ptx_called(function)) return planned;
  if (!to) return null_pointer;
  std::lock_guard const hold(lock());
  auto* const fresh = new T;
  all<T>().insert(fresh);
  return *to = fresh, success;
}
template <class T>
int drop(void* p) {
  std::lock_guard const hold(lock());
  if (!find<T>(p)) return bad_param;
  all<T>().erase(static_cast<T*>(p));
  return delete static_cast<T*>(p), success;
}

std::size_t size_of(int type) { return type == real_double ? 8 : type == real_float ? 4 : 2; }

struct convolution {
  result which;
  array x, kernel, y;
  window how;
  char const *a, *b;
  char* c;
  char* workspace;
  std::size_t workspace_bytes;
  double alpha, beta;
  int card;

  std::size_t multiplications() const {
    return std::size_t(y.size() * kernel.c * kernel.h * kernel.w);
  }
  std::size_t bytes() const {
    return std::size_t(x.size() + kernel.size() + y.size()) * size_of(x.type);
  }
};

double value(char const* p, int type, bool tf32) {
  auto const read = [p]<class T>(T v) {
    return std::memcpy(static_cast<void*>(&v), p, sizeof v), v;
  };
  switch (type) {
  case real_double: return read(double());
  case real_half: return double(float(read(ptx::half())));
  case real_bfloat16: return double(float(read(ptx::brain())));
  default: {
    float const v = read(float());
    if (!tf32 || !std::isfinite(v)) return double(v);
    return double(std::bit_cast<float>((std::bit_cast<std::uint32_t>(v) + 0x1000) & ~0x1fffu));
  }
  }
}
void put(char* p, int type, double v) {
  auto const write = [p](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (type) {
  case real_double: return write(v);
  case real_half: return write(ptx::half(v));
  case real_bfloat16: return write(ptx::brain(v));
  default: return write(float(v));
  }
}
std::vector<double> values(array const& a, char const* at, convolution const& p) {
  std::size_t const n = std::size_t(a.size()), bytes = n * size_of(a.type);
  auto const* const from = static_cast<char const*>(ptx_reach(at, bytes, p.card, true, "cuDNN"));
  std::vector<double> v(n);
  bool const tf32 = a.type == real_float && p.how.math != fused_math;
  for (std::size_t i = 0; i < n; ++i) v[i] = value(from + i * size_of(a.type), a.type, tf32);
  return v;
}
/// f(index in x, index in the kernel, index in y) for each product
template <class F>
void each_product(convolution const& p, F const& f) {
  std::int64_t const filters = p.kernel.n / p.how.groups;
  for (std::int64_t n = 0; n < p.y.n; ++n)
    for (std::int64_t oh = 0; oh < p.y.h; ++oh)
      for (std::int64_t ow = 0; ow < p.y.w; ++ow)
        for (std::int64_t k = 0; k < p.kernel.n; ++k)
          for (std::int64_t r = 0; r < p.kernel.h; ++r)
            for (std::int64_t s = 0; s < p.kernel.w; ++s) {
              std::int64_t const h = oh * p.how.stride_h + r * p.how.dilation_h - p.how.pad_h,
                                 w = ow * p.how.stride_w + s * p.how.dilation_w - p.how.pad_w;
              if (h < 0 || h >= p.x.h || w < 0 || w >= p.x.w) continue;
              std::int64_t const first = k / filters * p.kernel.c,
                                 from = ((n * p.x.h + h) * p.x.w + w) * p.x.c + first,
                                 of = ((k * p.kernel.h + r) * p.kernel.w + s) * p.kernel.c,
                                 to = ((n * p.y.h + oh) * p.y.w + ow) * p.y.c + k;
              for (std::int64_t c = 0; c < p.kernel.c; ++c)
                f(std::size_t(from + c), std::size_t(of + c), std::size_t(to));
            }
}
void run(void* data) {
  std::unique_ptr<convolution> const p(static_cast<convolution*>(data));
  if (p->workspace_bytes > 0) {  // all of it is written, whatever lay there
    auto* const w = ptx_reach(p->workspace, p->workspace_bytes, p->card, false, "cuDNN");
    std::memset(w, 0x7f, p->workspace_bytes);
    ptx_wrote(p->workspace, p->workspace_bytes);
  }
  array const& to = p->which == of_y ? p->y : p->which == of_dx ? p->x : p->kernel;
  auto const a = values(p->which == of_dx ? p->kernel : p->x, p->a, *p),
             b = values(p->which == of_y ? p->kernel : p->y, p->b, *p);
  std::vector<double> c(std::size_t(to.size()));
  each_product(*p, [&](std::size_t x, std::size_t k, std::size_t y) {
    if (p->which == of_y)
      c[y] += a[x] * b[k];
    else if (p->which == of_dx)
      c[x] += a[k] * b[y];
    else
      c[k] += a[x] * b[y];
  });
  std::size_t const bytes = c.size() * size_of(to.type);
  auto* const out = static_cast<char*>(ptx_reach(p->c, bytes, p->card, p->beta != 0, "cuDNN"));
  for (std::size_t i = 0; i < c.size(); ++i) {
    char* const e = out + i * size_of(to.type);
    double const before = p->beta != 0 ? p->beta * value(e, to.type, false) : 0;
    put(e, to.type, p->alpha * c[i] + before);
  }
  ptx_wrote(p->c, bytes);
}

/// the handle, which a thread uses now; null: there is none
handle* use(void* h) {
  handle* const mine = find<handle>(h);
  if (!mine) return nullptr;
  std::thread::id const me = std::this_thread::get_id();
  mine->shared |= mine->used_by != std::thread::id() && mine->used_by != me;
  mine->used_by = me;
  if (ptx_card_of_stream(nullptr) != mine->card)
    ptx_report("a handle of cuDNN is used while another card is the current one");
  return mine;
}
/// the arrays of a call by their parts, if they fit each other; a status
int fit(result which, void* a, void* b, void* how, void* c, convolution& p) {
  auto *const first = find<array>(a), *const second = find<array>(b), *const third = find<array>(c);
  window* const w = find<window>(how);
  if (!first || !second || !third || !w) return bad_param;
  p.which = which, p.how = *w;
  p.x = which == of_dx ? *third : *first;
  p.kernel = which == of_y ? *second : which == of_dx ? *first : *third;
  p.y = which == of_y ? *third : *second;
  if (p.x.type < 0 || p.kernel.type < 0 || p.y.type < 0 || w->sums < 0) return bad_param;
  if (p.x.type != p.kernel.type || p.x.type != p.y.type) return bad_param;
  if (p.x.format != channels_last || p.kernel.format != channels_last ||
      p.y.format != channels_last || w->mode != cross_correlation)
    return not_supported;  // of this one
  if (w->sums != (p.x.type == real_double ? real_double : real_float)) return not_supported;
  auto const results = [](std::int64_t in, std::int64_t size, int pad, int stride, int dilation) {
    return 1 + (in + 2 * pad - ((size - 1) * dilation + 1)) / stride;
  };
  bool const fits = p.x.c == p.kernel.c * w->groups && p.kernel.n % w->groups == 0 &&
                    p.y.c == p.kernel.n && p.x.n == p.y.n &&
                    p.x.h + 2 * w->pad_h >= (p.kernel.h - 1) * w->dilation_h + 1 &&
                    p.x.w + 2 * w->pad_w >= (p.kernel.w - 1) * w->dilation_w + 1 &&
                    p.y.h == results(p.x.h, p.kernel.h, w->pad_h, w->stride_h, w->dilation_h) &&
                    p.y.w == results(p.x.w, p.kernel.w, w->pad_w, w->stride_w, w->dilation_w);
  return fits ? success : shape_mismatch;
}
/// what an algorithm wants; more for the one that locus takes
std::size_t wanted(result which, int algorithm) {
  char const* const said = std::getenv("PTX_CUDNN_WORKSPACE");
  std::size_t const bytes = said ? std::strtoull(said, nullptr, 10) : 1000;
  return which == of_y && algorithm == 0 ? 0 : bytes;
}
bool is_deterministic(result which, int algorithm) {
  return which == of_y || (algorithm != 0 && !(which == of_dkernel && algorithm == 3));
}
int choose(char const* function, result which, void* h, void* a, void* b, void* how, void* c,
           int count, int* found, answer* answers) {
  if (int const planned = ptx_called(function)) return planned;
  std::lock_guard const hold(lock());
  if (!use(h)) return not_initialized;
  if (!found || !answers || count < 1) return bad_param;
  convolution p{};
  if (int const status = fit(which, a, b, how, c, p)) return status;
  int const math = p.x.type == real_half || p.x.type == real_bfloat16 ? tensor_math : p.how.math;
  std::vector<answer> some;
  auto const add = [&](int algorithm, int status, int with) {
    some.push_back({algorithm,
                    status,
                    status == success ? 1.f : -1.f,
                    wanted(which, algorithm),
                    is_deterministic(which, algorithm),
                    with,
                    {}});
  };
  if (which == of_y) {
    add(7, success, math);  // a transform
    if (p.x.type == real_float && p.how.math != fused_math) add(1, success, converting_math);
    add(2, not_supported, math);
    add(1, success, math);
    add(0, success, math);
  } else {
    add(0, success, math);  // in no fixed order
    add(5, success, math);
    add(1, success, math);
  }
  *found = std::min(count, int(some.size()));
  std::copy_n(some.begin(), *found, answers);
  return success;
}
int workspace(result which, void* h, void* a, void* b, void* how, void* c, int algorithm,
              std::size_t* bytes) {
  std::lock_guard const hold(lock());
  if (!use(h)) return not_initialized;
  if (!bytes) return null_pointer;
  convolution p{};
  if (int const status = fit(which, a, b, how, c, p)) return status;
  return *bytes = wanted(which, algorithm), success;
}
int compute(char const* function, result which, void* h, void const* alpha, void* a, void const* at,
            void* b, void const* bt, void* how, int algorithm, void* memory, std::size_t bytes,
            void const* beta, void* c, void* ct) {
  if (int const planned = ptx_called(function)) return planned;
  std::lock_guard const hold(lock());
  handle* const mine = use(h);
  if (!mine) return not_initialized;
  if (!alpha || !beta || !at || !bt || !ct) return null_pointer;
  convolution p{};
  if (int const status = fit(which, a, b, how, c, p)) return status;
  if (algorithm < 0 || algorithm > 7) return bad_param;
  if (bytes < wanted(which, algorithm) || (bytes > 0 && !memory)) return size_insufficient;
  for (void const* each : {at, bt, static_cast<void const*>(ct)})
    if (reinterpret_cast<std::uintptr_t>(each) % 16 != 0)
      ptx_report("an array for cuDNN begins in the midst of 16 bytes");
  if (algorithm > 3) (void)ptx_called("convolutions by transforms");
  if (!is_deterministic(which, algorithm))
    ptx_report("a convolution of cuDNN adds in no fixed order");
  if (p.x.type == real_float && p.how.math == converting_math)
    ptx_report("a convolution of cuDNN reads floats as halves");
  if (mine->has_stream && mine->set_by != std::this_thread::get_id())
    ptx_report("a convolution of cuDNN runs on a stream that another thread gave to the handle");
  if (p.x.type == real_float && p.how.math != fused_math) (void)ptx_called("convolutions of tf32");
  auto const number = [&](void const* v) {
    return p.x.type == real_double ? *static_cast<double const*>(v)
                                   : double(*static_cast<float const*>(v));
  };
  p.a = static_cast<char const*>(at), p.b = static_cast<char const*>(bt);
  p.c = static_cast<char*>(ct), p.workspace = static_cast<char*>(memory);
  p.workspace_bytes = wanted(which, algorithm);
  p.alpha = number(alpha), p.beta = number(beta), p.card = mine->card;
  auto* const job = new convolution(p);
  if (ptx_submit(mine->stream, run, job, function, p.bytes(), p.multiplications()) == 0)
    return success;
  delete job;
  return execution_failed;
}

int set_array(void* d, int format, int type, int n, int c, int h, int w) {
  std::lock_guard const hold(lock());
  array* const mine = find<array>(d);
  if (!mine) return bad_param;
  if (n < 1 || c < 1 || h < 1 || w < 1 || format < 0 || format > 2) return bad_param;
  if (type != real_float && type != real_double && type != real_half && type != real_bfloat16)
    return not_supported;  // of this one
  *mine = {type, format, n, c, h, w};
  return mine->size() > INT32_MAX ? int(not_supported) : int(success);
}

}  // namespace

DNN_API std::size_t cudnnGetVersion() {
  char const* const said = std::getenv("PTX_CUDNN_VERSION");
  return said ? std::strtoull(said, nullptr, 10) : 91900;
}
DNN_API int cudnnCreate(void** h) { return make<handle>("cudnnCreate", h); }
DNN_API int cudnnDestroy(void* h) {
  (void)ptx_called("cudnnDestroy");
  return drop<handle>(h) == success ? int(success) : int(not_initialized);
}
DNN_API int cudnnSetStream(void* h, void* stream) {
  if (int const planned = ptx_called("cudnnSetStream")) return planned;
  bool shared = false;
  {
    std::lock_guard const hold(lock());
    handle* const mine = use(h);
    if (!mine) return not_initialized;
    if (ptx_card_of_stream(stream) != mine->card) return bad_param;
    mine->stream = stream, mine->has_stream = true, mine->set_by = mine->used_by;
    shared = mine->shared;
  }
  if (shared) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the other's turn
  return success;
}
DNN_API int cudnnCreateTensorDescriptor(void** d) {
  return make<array>("cudnnCreateTensorDescriptor", d);
}
DNN_API int cudnnDestroyTensorDescriptor(void* d) { return drop<array>(d); }
DNN_API int cudnnSetTensor4dDescriptor(void* d, int format, int type, int n, int c, int h, int w) {
  return set_array(d, format, type, n, c, h, w);
}
DNN_API int cudnnCreateFilterDescriptor(void** d) {
  return make<array>("cudnnCreateFilterDescriptor", d);
}
DNN_API int cudnnDestroyFilterDescriptor(void* d) { return drop<array>(d); }
DNN_API int cudnnSetFilter4dDescriptor(void* d, int type, int format, int k, int c, int h, int w) {
  return set_array(d, format, type, k, c, h, w);
}
DNN_API int cudnnCreateConvolutionDescriptor(void** d) {
  return make<window>("cudnnCreateConvolutionDescriptor", d);
}
DNN_API int cudnnDestroyConvolutionDescriptor(void* d) { return drop<window>(d); }
DNN_API int cudnnSetConvolution2dDescriptor(void* d, int pad_h, int pad_w, int stride_h,
                                            int stride_w, int dilation_h, int dilation_w, int mode,
                                            int sums) {
  std::lock_guard const hold(lock());
  window* const mine = find<window>(d);
  if (!mine || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 ||
      dilation_w < 1 || mode < 0 || mode > 1)
    return bad_param;
  if (sums != real_float && sums != real_double && sums != real_half) return not_supported;
  *mine = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, sums};
  return success;
}
DNN_API int cudnnSetConvolutionMathType(void* d, int math) {
  std::lock_guard const hold(lock());
  window* const mine = find<window>(d);
  if (!mine || math < default_math || math > fused_math) return bad_param;
  return mine->math = math, success;
}
DNN_API int cudnnSetConvolutionGroupCount(void* d, int groups) {
  std::lock_guard const hold(lock());
  window* const mine = find<window>(d);
  if (!mine || groups < 1) return bad_param;
  return mine->groups = groups, success;
}

#define CONVOLUTION(FUNCTION, CHOOSE, WORKSPACE, WHICH)                                           \
  DNN_API int CHOOSE(void* h, void* a, void* b, void* how, void* c, int count, int* found,        \
                     answer* answers) {                                                           \
    return choose(#CHOOSE, WHICH, h, a, b, how, c, count, found, answers);                        \
  }                                                                                               \
  DNN_API int WORKSPACE(void* h, void* a, void* b, void* how, void* c, int algorithm,             \
                        std::size_t* bytes) {                                                     \
    return workspace(WHICH, h, a, b, how, c, algorithm, bytes);                                   \
  }                                                                                               \
  DNN_API int FUNCTION(void* h, void const* alpha, void* a, void const* at, void* b,              \
                       void const* bt, void* how, int algorithm, void* memory, std::size_t bytes, \
                       void const* beta, void* c, void* ct) {                                     \
    return compute(#FUNCTION, WHICH, h, alpha, a, at, b, bt, how, algorithm, memory, bytes, beta, \
                   c, ct);                                                                        \
  }
CONVOLUTION(cudnnConvolutionForward, cudnnGetConvolutionForwardAlgorithm_v7,
            cudnnGetConvolutionForwardWorkspaceSize, of_y)
CONVOLUTION(cudnnConvolutionBackwardData, cudnnGetConvolutionBackwardDataAlgorithm_v7,
            cudnnGetConvolutionBackwardDataWorkspaceSize, of_dx)
CONVOLUTION(cudnnConvolutionBackwardFilter, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
            cudnnGetConvolutionBackwardFilterWorkspaceSize, of_dkernel)

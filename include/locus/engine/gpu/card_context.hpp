// SPDX-License-Identifier: Apache-2.0
// The context of the card() body of a call: workspace, loops and algorithms on one device's compute
// queue; and the launch of such a body.
#pragma once
#include <locus/backend/cuda/missing_kernel.hpp>  // run_elsewhere
#include <locus/core/array.hpp>                   // dynamic_array
#include <locus/core/macros.hpp>                  // LOCUS_MODE
#include <locus/engine/gpu/algorithm.hpp>         // run_algorithm
#include <locus/engine/gpu/block.hpp>             // each_of
#include <locus/engine/gpu/convolution.hpp>       // ask_convolution, start_convolution
#include <locus/engine/gpu/launch.hpp>            // start, workspace
#include <locus/engine/gpu/product.hpp>           // start_product
#include <locus/engine/launch.hpp>                // erase_type
#include <locus/shape/tile.hpp>                   // call_context

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {
template <class F>
struct each_number {
  F f;
  std::int64_t n;
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    each_of(block, n, f);
  }
};
}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

/// means: the context of a call on one GPU. Its functions enqueue work and never wait. A body also
///        runs while the plan measures workspace: then nothing is enqueued, and take() returns
///        null.
/// fails: out_of_memory, device_error, device_lost, no_kernel_in_unit
class card_context : public call_context {
 public:
  card_context(call_context const& part, launch_site const& site)
      : call_context(part), site_(site) {}
  card_context(card_context const&) = delete;
  ~card_context() {
    while (!taken_.empty()) {
      delete taken_.back();
      taken_.resize(taken_.size() - 1);
    }
  }
  /// true: only workspace is measured; the body must not call a library itself
  bool measuring() const { return site_.workspace && site_.workspace->measuring; }
  /// the device's cudaStream_t; its card is CUDA's current device; with a recorder it is no CUDA
  /// stream
  void* stream() const { return runtime::cuda_queue_of(*site_.on, queue_kind::compute).stream; }
  int card() const { return site_.on->card; }

  /// means: uninitialised memory for n elements until the body returns; null for n = 0
  template <class T>
  T* take(std::int64_t n) {
    taken_.reserve(taken_.size() + 1);
    taken_.push(new cuda_side::workspace(site_, n * std::int64_t(sizeof(T))));
    return static_cast<T*>(taken_.back()->data());
  }
  /// means: f(i) for i in [0, n), one thread for each; f is LOCUS_HOST_DEVICE and trivially
  ///        copyable
  template <class F>
  void each(std::int64_t n, F const& f) const {
    if (n > 0) cuda_side::start(site_, cuda_side::each_number<F>{f, n}, cuda_side::blocks_for(n));
  }
  /// means: the body of a kernel (engine/gpu/block.hpp) on `jobs` blocks, or fewer that stride over
  ///        them
  template <class Body>
  void start(Body const& body, std::int64_t jobs) const {
    std::int64_t const blocks = jobs < cuda_side::most_blocks ? jobs : cuda_side::most_blocks;
    if (jobs > 0) cuda_side::start(site_, body, static_cast<unsigned>(blocks));
  }
  /// means: issues an algorithm of a library (engine/gpu/algorithm.hpp)
  template <class Algorithm>
  void run(Algorithm const& a) {
    needs(a);
    if (!missing_) cuda_side::run_algorithm(site_, a);
  }
  /// means: this body may run such an algorithm, for other operands: the step runs on the host where no
  ///        unit compiled it
  template <class Algorithm>
  void needs(Algorithm const& a) {
    if (measuring() && !missing_ && !has(a)) missing_ = &cuda_side::type_of_algorithm<Algorithm>();
  }
  /// means: a unit of the program compiled this algorithm, or its library was found
  template <class Algorithm>
  bool has(Algorithm const& a) const {
    return cuda_side::is_made(cuda_side::type_of_algorithm<Algorithm>(),
                              cuda_side::algorithm_of(a));
  }
  /// means: c = a b by cuBLAS, or c += a b, or a batch of such products, of element type T; floats
  ///        use the precision of matmul in the settings
  /// shape: c is row-major; a and b fit BLAS (work/matrix.hpp)
  /// fails: shape_error, for more than 2^31 - 1 rows, columns or products: cuBLAS counts in int
  template <class T>
  void multiply(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b,
                kernel::batch const& batch = {}, bool adds = false) const {
    cuda_side::start_product(site_, element_of_v<T>, c, a, b, batch, adds);
  }
  /// means: true: cuDNN computes convolution c on this device, and `choice` has its facts. Sets the
  ///        element type T and the precision of c, that of matmul in the settings
  template <class T>
  bool asks_cudnn(runtime::cuda_convolution& c, runtime::cuda_convolution_choice& choice) const {
    c.type = element_of_v<T>;
    return cuda_side::ask_convolution(site_, c, choice);
  }
  /// means: issues a convolution for which asks_cudnn returned true; false: cuDNN refused it, and
  ///        nothing was issued
  bool convolve(runtime::cuda_convolution const& c,
                runtime::cuda_convolution_arrays const& arrays) const {
    return cuda_side::start_convolution(site_, c, arrays);
  }
  /// after measuring: the first algorithm of the body that no unit compiled; null: none
  cuda_side::algorithm_type* missing() const { return missing_; }

 private:
  launch_site const& site_;
  dynamic_array<cuda_side::workspace*> taken_;
  cuda_side::algorithm_type* missing_ = nullptr;
};

}  // namespace LOCUS_MODE

namespace cuda_side {
inline namespace LOCUS_MODE {

/// means: the first algorithm of the body that no unit of the program compiled, or null
/// cost:  measures the body once, and again after the registry has changed
template <class Work>
missing_kernel* missing_algorithm(launch_site const& site, Work const& work) {
  static unsigned seen = 0;
  static missing_kernel* missing = nullptr;
  if (runtime::gpu_api->is_recorder) return nullptr;
  unsigned const now = runtime::kernels.changes();
  if (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) != now) {
    kernel_workspace none{site.on};
    launch_site dry = site;
    dry.workspace = &none;
    card_context here(work.here, dry);
    work.on_card(here);
    __atomic_store_n(&missing, here.missing() ? &here.missing()->lookup : nullptr,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&seen, now, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&missing, __ATOMIC_RELAXED);
}

/// means: runs the card() body of a call on one device; if no unit compiled one of its algorithms,
///        a round trip: host() with copied operands
template <class Work>
void run_card_body(launch_site const& site, Work const& work) {
  runtime::require_card(*site.on);
  runtime::current_card const scope(*site.on);
  if (missing_kernel* const missing = missing_algorithm(site, work)) {
    erased_work away = erase_type(work);
    away.missing = missing;
    return run_elsewhere(site, away);
  }
  card_context here(work.here, site);
  bool const had_error = runtime::gpu_api->peek_error() != runtime::cuda_success;  // the program's
  work.on_card(here);
  if (!here.measuring() && !had_error)  // errors of launches that the body itself made
    runtime::check_cuda(runtime::gpu_api->last_error(), "a body for cards", site.on->name);
}

}  // namespace LOCUS_MODE
}  // namespace cuda_side
}  // namespace locus

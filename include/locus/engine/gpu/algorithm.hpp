// SPDX-License-Identifier: Apache-2.0
// Algorithms of a library on the compute stream of a device. One unit of the program makes their code
// for GPUs (<locus/cub.cuh>), the kernel registry finds it; over a recorder they are loops of the host.
#pragma once
#include <cstddef>  // size_t
#include <cstdio>   // remove

#include <locus/backend/cuda/missing_kernel.hpp>  // find_kernel
#include <locus/core/lock.hpp>                    // mutex
#include <locus/core/macros.hpp>                  // LOCUS_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/engine/gpu/registered.hpp>        // id_of
#include <locus/runtime/cuda_api.hpp>             // cuda_algorithm

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

// The body of an algorithm is a trivially copyable class with
//   static constexpr char const* name     of the library's function: for messages and counts
//   algorithm_size size() const           the numbers that its workspace depends on; without: it needs none
//   void host() const                     the same as a loop: what a recorder runs
// Its code for GPUs is card_code<Body>::run(body, workspace, &bytes, stream), a specialisation that a unit
// of nvcc registers (registered_algorithm); or a member card(workspace, &bytes, stream) of the body, for
// the unit's own use. Both return CUDA's code. Without workspace they only say how many bytes they need.

/// What the workspace of an algorithm depends on, besides its types and the card.
struct algorithm_size {
  std::int64_t items = 0, other = 0;
  friend constexpr bool operator==(algorithm_size const&, algorithm_size const&) = default;
};

/// The last answers of one algorithm to the question for its workspace.
class size_answers {
 public:
  /// means: ask(), or what it said for the same size on the same card of the same table of functions
  template <class Ask>
  std::size_t of(int card, algorithm_size const& size, Ask&& ask) {
    {
      lock_guard hold(lock_);
      for (answer const& a : last_)
        if (a.by == runtime::gpu_api && a.card == card && a.size == size) return a.bytes;
    }
    std::size_t const bytes = ask();
    lock_guard hold(lock_);
    last_[next_++ % kept] = {runtime::gpu_api, card, size, bytes};
    return bytes;
  }

 private:
  static constexpr unsigned kept = 8;
  struct answer {
    runtime::cuda_api const* by = nullptr;
    int card = 0;
    algorithm_size size{};
    std::size_t bytes = 0;
  };
  mutex lock_;
  answer last_[kept]{};
  unsigned next_ = 0;
};

/// What one type of algorithm has in a unit.
struct algorithm_type {
  char const* name;
  missing_kernel lookup;  // in the registry
  size_answers sizes{};
};

/// fails: no_kernel_in_unit, naming what makes the algorithm
[[noreturn]] LOCUS_FUNCTION void refuse_algorithm(launch_site const& site,
                                                  algorithm_type const& type);

/// means: the algorithm can run on the devices that there are
inline bool is_made(algorithm_type& type, runtime::cuda_algorithm const& what) {
  return what.on_card || runtime::gpu_api->is_recorder || find_kernel(type.lookup);
}

/// means: what.body in the order of the compute stream; while workspace is measured only the question
///        for its bytes
LOCUS_FUNCTION void issue_algorithm(launch_site const& site, algorithm_type& type,
                                    runtime::cuda_algorithm what, algorithm_size const* size);

inline namespace LOCUS_MODE {

/// The code of an algorithm for GPUs: a .cuh specialises it.
template <class Body>
struct card_code;

template <class Body>
algorithm_type& type_of_algorithm() {
  static algorithm_type type{Body::name, {LOCUS_UNIT_FILE, id_of<Body>(), Body::name}};
  return type;
}

/// the body as data
template <class Body>
runtime::cuda_algorithm algorithm_of(Body const& body) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "locus: the body of an algorithm runs later on a GPU; give it values, not owners of "
      "memory");
  runtime::cuda_algorithm what;
  if constexpr (requires(std::size_t* n) { body.card(nullptr, n, nullptr); })
    what.on_card = [](void const* b, void* memory, std::size_t* n, void* stream) {
      return static_cast<Body const*>(b)->card(memory, n, stream);
    };
  what.on_host = [](void const* b) { static_cast<Body const*>(b)->host(); };
  what.body = &body, what.body_bytes = sizeof(Body);
  return what;
}

/// means: the algorithm in the order of the device's compute stream, its workspace out of what the plan
///        obtained; while that is measured, only the question how much it is
/// cost:  the library's dispatch; the question is put once for each size and card
/// fails: no_kernel_in_unit, where no unit of the program made it; device_lost, naming the algorithm
template <class Body>
void run_algorithm(launch_site const& site, Body const& body) {
  if constexpr (requires { body.size(); }) {
    algorithm_size const size = body.size();
    issue_algorithm(site, type_of_algorithm<Body>(), algorithm_of(body), &size);
  } else
    issue_algorithm(site, type_of_algorithm<Body>(), algorithm_of(body), nullptr);
}

/// One algorithm that this unit made, for all units.
template <class Body>
class registered_algorithm {
 public:
  registered_algorithm() { runtime::kernels.add(entry_); }
  registered_algorithm(registered_algorithm const&) = delete;
  ~registered_algorithm() { runtime::kernels.remove(entry_); }
  static registered_algorithm made;

 private:
  static int run(void const* body, void* memory, std::size_t* bytes, void* stream) {
    return card_code<Body>::run(*static_cast<Body const*>(body), memory, bytes, stream);
  }
  runtime::kernel_entry entry_{.of = id_of<Body>(), .algorithm = &run};
};
template <class Body>
registered_algorithm<Body> registered_algorithm<Body>::made;

template <class... Bodies>
void require_algorithms() {
  ((void)&registered_algorithm<Bodies>::made, ...);
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/engine/gpu/bodies/algorithm.hpp>  // bodies of the functions above
#endif

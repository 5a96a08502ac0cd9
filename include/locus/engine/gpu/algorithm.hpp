// SPDX-License-Identifier: Apache-2.0
// Algorithms of CUB on the compute stream of a device. One unit of a program compiles their code
// for GPUs (<locus/cub.cuh>), and the kernel registry finds it; with a recorder they are loops on
// the host.
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
//   static constexpr char const* name     the library function, for messages and counts
//   algorithm_size size() const           the numbers on which its workspace depends; none: no workspace
//   void host() const                     the algorithm as loops, which a recorder runs
// Its code for GPUs is card_code<Body>::run(body, workspace, &bytes, stream), a specialisation that a
// unit of nvcc registers (registered_algorithm); or the member card(workspace, &bytes, stream), for
// its own unit only. Both return CUDA's code; with a null workspace they only set `bytes`. A body whose
// card() calls a library that is opened while the program runs says so:
//   using library = ...     a table with instance().is_complete(), and a text: missing

/// The numbers on which the workspace of an algorithm depends, besides its types and the card.
struct algorithm_size {
  std::int64_t items = 0, other = 0;
  friend constexpr bool operator==(algorithm_size const&, algorithm_size const&) = default;
};

/// The last workspace sizes of one algorithm.
class size_answers {
 public:
  /// means: ask(), or its last answer for this size, this card and this table of CUDA functions
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

/// The static data of one algorithm in a unit.
struct algorithm_type {
  char const* name;
  missing_kernel lookup;  // for the registry
  size_answers sizes{};
};

/// fails: no_kernel_in_unit, with the macro that compiles the algorithm
[[noreturn]] LOCUS_FUNCTION void refuse_algorithm(launch_site const& site,
                                                  algorithm_type const& type);

/// means: the algorithm can run: its code exists, or a recorder runs it
inline bool is_made(algorithm_type& type, runtime::cuda_algorithm const& what) {
  return what.on_card || runtime::gpu_api->is_recorder || find_kernel(type.lookup);
}

/// means: issues what.body to the compute stream; while workspace is measured, only asks for its
///        size
LOCUS_FUNCTION void issue_algorithm(launch_site const& site, algorithm_type& type,
                                    runtime::cuda_algorithm what, algorithm_size const* size);

inline namespace LOCUS_MODE {

/// The code of an algorithm for GPUs; a .cuh specialises it.
template <class Body>
struct card_code;

template <class Body>
algorithm_type& type_of_algorithm() {
  static algorithm_type type = [] {
    missing_kernel lookup{LOCUS_UNIT_FILE, id_of<Body>(), Body::name};
    if constexpr (requires { typename Body::library; }) lookup.library = Body::library::missing;
    return algorithm_type{Body::name, lookup};
  }();
  return type;
}
/// means: card() of the body can be called: it needs no library, or the library was found
template <class Body>
bool finds_library() {
  if constexpr (requires { typename Body::library; })
    return Body::library::instance().is_complete();
  else
    return true;
}

/// the body as untyped data
template <class Body>
runtime::cuda_algorithm algorithm_of(Body const& body) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "locus: the body of an algorithm runs later on a GPU; give it values, not owners of "
      "memory");
  runtime::cuda_algorithm what;
  if constexpr (requires(std::size_t* n) { body.card(nullptr, n, nullptr); })
    if (runtime::gpu_api->is_recorder || finds_library<Body>())
      what.on_card = [](void const* b, void* memory, std::size_t* n, void* stream) {
        return static_cast<Body const*>(b)->card(memory, n, stream);
      };
  what.on_host = [](void const* b) { static_cast<Body const*>(b)->host(); };
  what.body = &body, what.body_bytes = sizeof(Body);
  return what;
}

/// means: issues an algorithm to the compute stream of the device, with workspace from the plan;
///        while workspace is measured, only asks for its size
/// cost:  the library's dispatch; the library is asked for the size once for each size and card
/// fails: no_kernel_in_unit, if no unit of the program compiled it; device_error or device_lost,
///        naming the algorithm
template <class Body>
void run_algorithm(launch_site const& site, Body const& body) {
  if constexpr (requires { body.size(); }) {
    algorithm_size const size = body.size();
    issue_algorithm(site, type_of_algorithm<Body>(), algorithm_of(body), &size);
  } else
    issue_algorithm(site, type_of_algorithm<Body>(), algorithm_of(body), nullptr);
}

/// An algorithm that this unit compiles for all units.
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

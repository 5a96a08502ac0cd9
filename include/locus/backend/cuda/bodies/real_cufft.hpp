// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_cufft.hpp declares.
#pragma once
#include <locus/backend/cuda/open_library.hpp>    // open_library
#include <locus/backend/cuda/real_cufft.hpp>      // the declarations
#include <locus/core/lock.hpp>                    // mutex, lock_guard
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

namespace detail {

/// The plans that were used last. Stream and workspace are state of a plan: one lock covers setting
/// them and the transform.
struct cufft_plans {
  static constexpr int most = 64;
  struct kept {
    cufft_lines of;
    int card = -1, plan = 0;
    std::size_t workspace = 0;
    unsigned used = 0;  // when
  };
  mutex lock;
  kept all[most];
  unsigned now = 0;

  static cufft_plans& instance();
  /// means: *found = the current card's plan for these lines, made if there is none
  /// returns: a code
  int find(cufft_lines const& what, kept** found);
};

LOCUS_FUNCTION cufft_plans& cufft_plans::instance() {
  static auto& one = *new cufft_plans;  // no destructor: cards are gone by then
  return one;
}

LOCUS_FUNCTION int cufft_plans::find(cufft_lines const& what, kept** found) {
  int card = 0;
  if (int const code = runtime::gpu_api->get_device(&card); code != 0) return code;
  kept* oldest = all;
  for (kept& k : all) {
    if (k.card == card && k.of == what) return k.used = ++now, *found = &k, 0;
    if (k.used < oldest->used) oldest = &k;
  }
  cufft_table const& t = cufft_table::instance();
  if (!t.is_complete()) return cufft_table::not_found;
  lock_guard const issuing(runtime::issue_lock);  // plans allocate memory of the card
  if (oldest->card >= 0) t.destroy(oldest->plan);
  *oldest = {};
  int plan = 0;
  std::size_t workspace = 0;
  long long n = what.n, whole = what.n;  // without one cuFFT takes no steps
  int status = t.create(&plan);
  if (status == 0) {
    status = t.own_workspace(plan, 0);
    if (status == 0)
      status = t.describe(plan, 1, &n, &whole, what.stride, what.in_step, &whole, what.stride,
                          what.out_step, what.kind, what.lines, &workspace);
    if (status != 0) t.destroy(plan);
  }
  if (status != 0) return cufft_table::not_found + status;
  *oldest = {what, card, plan, workspace, ++now};
  return *found = oldest, 0;
}

}  // namespace detail

LOCUS_FUNCTION cufft_table const& cufft_table::instance() {
  static cufft_table const t = [] {
    cufft_table found;
    void* const library = open_library({"libcufft.so.12", "libcufft.so.11", "libcufft.so"});
    if (!library) return found;
    auto const take = [library](auto& to, char const* name) { take_function(library, to, name); };
    take(found.create, "cufftCreate");
    take(found.destroy, "cufftDestroy");
    take(found.own_workspace, "cufftSetAutoAllocation");
    take(found.describe, "cufftMakePlanMany64");
    take(found.set_stream, "cufftSetStream");
    take(found.set_workspace, "cufftSetWorkArea");
    take(found.floats, "cufftExecC2C");
    take(found.doubles, "cufftExecZ2Z");
    take(found.real_floats, "cufftExecR2C");
    take(found.real_doubles, "cufftExecD2Z");
    take(found.floats_to_real, "cufftExecC2R");
    take(found.doubles_to_real, "cufftExecZ2D");
    return found;
  }();
  return t;
}

LOCUS_FUNCTION int workspace_of_cufft(cufft_lines const& what, std::size_t* bytes) {
  auto& plans = detail::cufft_plans::instance();
  lock_guard const hold(plans.lock);
  detail::cufft_plans::kept* mine = nullptr;
  if (int const code = plans.find(what, &mine); code != 0) return code;
  return *bytes = mine->workspace, 0;
}

LOCUS_FUNCTION int run_cufft(cufft_lines const& what, void* in, void* out, void* workspace,
                             void* stream) {
  auto& plans = detail::cufft_plans::instance();
  lock_guard const hold(plans.lock);
  detail::cufft_plans::kept* mine = nullptr;
  if (int const code = plans.find(what, &mine); code != 0) return code;
  cufft_table const& t = cufft_table::instance();
  int status = t.set_stream(mine->plan, stream);
  if (status == 0) status = t.set_workspace(mine->plan, workspace);
  if (status != 0) return cufft_table::not_found + status;
  switch (what.kind) {
  case cufft_table::of_floats.complex: status = t.floats(mine->plan, in, out, what.sign); break;
  case cufft_table::of_doubles.complex: status = t.doubles(mine->plan, in, out, what.sign); break;
  case cufft_table::of_floats.real: status = t.real_floats(mine->plan, in, out); break;
  case cufft_table::of_doubles.real: status = t.real_doubles(mine->plan, in, out); break;
  case cufft_table::of_floats.real_inverse: status = t.floats_to_real(mine->plan, in, out); break;
  default: status = t.doubles_to_real(mine->plan, in, out);
  }
  return status == 0 ? 0 : cufft_table::not_found + status;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END

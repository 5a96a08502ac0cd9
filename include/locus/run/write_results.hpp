// SPDX-License-Identifier: Apache-2.0
// The end of a run: results that lie elsewhere than in their destination are copied there.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/replicas.hpp>  // replica_reduction

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

class results : protected replica_reduction {
 protected:
  using replica_reduction::replica_reduction;

  /// results that lie elsewhere (a leaf, a view, a replica, memory aside) are copied into their
  /// destination
  void write_targets();

  /// the memory that setting values aside takes
  void foresee_targets();

 private:
  /// a sum over replicas that comes beside the compute queue stays there, so that plans behind this
  /// one that do not read it compute meanwhile
  bool leaves_beside(int v, int r, logical_device& d);
  bool must_set_aside(int k, int r) const;
  /// what is still to be copied, and is about to be written over: a = transpose(a), or a and b
  /// exchanged
  [[gnu::cold]] void set_aside();
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/write_results.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// Exchanges of halos take turns.
#pragma once
#include <locus/core/lock.hpp>    // mutex
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

LOCUS_SHARED_STATE inline constinit mutex exchange_of_halos;
LOCUS_SHARED_STATE inline thread_local constinit bool exchanges_halos = false;  // this thread

/// A run's turn to bring rows into margins. The turn ends once they are valid for other runs, else
/// with the run: no copy of another run comes between these rows and the kernels that read them.
class halo_turn {
 public:
  halo_turn() = default;
  halo_turn(halo_turn const&) = delete;
  ~halo_turn() { release(); }
  void begin() {
    if (exchanges_halos) return;  // this run, or one that this thread is inside of
    exchange_of_halos.lock();
    mine_ = exchanges_halos = true;
  }
  /// means: the turn ends, if all rows of the run so far are valid for other runs
  void end() {
    if (!lasts_) release();
  }
  /// means: the turn ends with the run
  void last() { lasts_ = true; }

 private:
  void release() {
    if (!mine_) return;
    mine_ = exchanges_halos = false;
    exchange_of_halos.unlock();
  }
  bool mine_ = false, lasts_ = false;
};

}  // namespace locus::runtime

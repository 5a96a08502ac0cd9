// SPDX-License-Identifier: Apache-2.0
// What runs: warps of 32 lanes, each with a place in the program; blocks with shared memory and barriers;
// grids of blocks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "findings.hpp"
#include "order.hpp"
#include "program.hpp"

namespace ptx {

// ---- generic addresses that are no memory of the device ----
inline constexpr std::uint64_t shared_window = std::uint64_t(1) << 56,
                               local_window = std::uint64_t(2) << 56,
                               param_window = std::uint64_t(3) << 56,
                               window_mask = std::uint64_t(0xff) << 56;

struct dimensions {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t(x) * y * z; }
};

struct grid;
class block;
class launch_counts;
struct grid {
  program const& code;
  program_function const& entry;
  dimensions blocks, threads;
  std::vector<std::byte> params;
  std::uint32_t dynamic_shared = 0;
  std::uint64_t number = 0;
  int device = -1;
  launch_order* order = nullptr;
  std::uint64_t workspace = 0;  // of a cooperative launch: where its blocks wait for each other
  launch_counts* counting = nullptr;  // while it runs, where launches are counted
  void run(bool all_at_once = false);
  void report(finding what, warp& w, instruction const& i, int lane, std::string const& more);
};

/// A call of a function, or the kernel itself: registers of 32 lanes.
struct frame {
  program_function const* of = nullptr;
  frame* caller = nullptr;
  std::uint32_t back = 0;  // where the caller goes on
  call_site const* site = nullptr;
  int depth = 0, lanes = 0;
  std::uint32_t local_base = 0;
  std::vector<std::byte> registers;
};

class warp {
 public:
  warp(block& b, int n) : in(b), number(n) {}
  void start(mask lanes);
  /// false: no lane can go on
  bool run(std::uint64_t budget);
  bool is_done() const { return alive == 0; }

  template <class T>
  T* at(std::int32_t place) const {
    return reinterpret_cast<T*>(registers + place);
  }
  mask predicate(std::int32_t place) const { return *at<mask>(place); }
  void set_predicate(std::int32_t place, mask lanes, mask values) const {
    mask& p = *at<mask>(place);
    p = (p & ~lanes) | (values & lanes);
  }
  /// the bytes of an address, checked
  enum class use : std::uint8_t { read, write, atomic };
  template <space S, use U>
  std::byte* memory(instruction const& i, std::uint64_t address, unsigned bytes, int lane);
  std::byte* memory(instruction const& i, use u, std::uint64_t address, unsigned bytes, int lane);
  std::byte* local(instruction const& i, std::uint64_t address, unsigned bytes, int lane) const;
  std::uint64_t address(instruction const& i, int lane, std::int32_t place) const {
    return (i.wide ? at<std::uint64_t>(place)[lane] : at<std::uint32_t>(place)[lane]) +
           std::uint64_t(i.added);
  }
  void release(mask lanes);  // from a barrier
  [[noreturn]] void fail(int code, instruction const& i, int lane, std::string const& what) const;
  std::string where(instruction const& i, int lane) const;

  block& in;
  int number;
  std::byte* registers = nullptr;  // of the group that runs
  mask active = 0, alive = 0, resting = 0;
  std::uint32_t time = 0;  // how often the warp synchronised its memory
  enum class state : std::uint8_t { ready, at_barrier, at_sync };
  state states[lane_count]{};
  std::uint32_t pcs[lane_count]{};
  frame* frames[lane_count]{};
  mask carry = 0;  // of add.cc

 private:
  template <bool Counts>
  bool run_counted(std::uint64_t budget);
  bool select();
  void park(mask lanes, std::uint32_t pc);
  void set(frame* f);
  frame* make_frame(program_function const& of, frame* caller);
  void call(instruction const& i, mask m);
  void give_back(mask m);
  void leave(mask m);
  void meet(instruction const& i, mask m);
  bool runtime_call(instruction const& i, call_site const& site, mask m);

  std::uint32_t pc_ = 0, stop_ = 0;
  frame* frame_ = nullptr;
  std::vector<std::unique_ptr<frame>> pool_;
  std::vector<frame*> free_;
  std::vector<std::byte> locals_;
  std::uint32_t local_size_ = 0;
  std::uint64_t last_run_[lane_count]{}, runs_ = 0;
  bool impatient_ = false;
  device_memory::block seen_;
};

/// Who touched a byte of shared memory last, and when.
struct touch {
  std::uint32_t block_time = 0, warp_time = 0;
  std::int32_t thread = -1;  // -2: several of one warp; -3: of several warps
  std::int32_t warp = -1;
};

class block {
 public:
  explicit block(grid& g);
  void restart(grid& g, dimensions number);
  /// true: something ran
  bool run(std::uint64_t budget);
  bool is_done() const;
  bool suits(grid const& g) const {
    return entry_ == &g.entry && threads_ == g.threads.count() &&
           dynamic_shared_ == g.dynamic_shared;
  }
  void arrive(warp& w, mask m, instruction const& i);
  void lanes_left() { open_barriers(); }
  std::byte* shared(warp& w, instruction const& i, warp::use u, std::uint64_t address,
                    unsigned bytes, int lane);
  [[noreturn]] void fail_stuck();

  grid* of;  // the launch that it belongs to now
  dimensions number;
  std::vector<std::unique_ptr<warp>> warps;
  std::vector<std::byte> memory;
  std::vector<std::uint8_t> written;
  std::vector<touch> reads, writes;
  std::uint32_t time = 1;  // how often it synchronised its memory
  block_order among_others;

 private:
  struct barrier {
    std::uint32_t arrived = 0, wanted = 0;  // wanted 0: all threads
    std::uint32_t count = 0;                // of true predicates
    struct waiting {
      warp* who;
      mask lanes;
      instruction const* i;
    };
    std::vector<waiting> all;
  };
  void open_barriers();
  void open(barrier& b);
  std::uint32_t alive() const;
  barrier barriers_[16];
  program_function const* entry_;
  std::uint64_t threads_;
  std::uint32_t dynamic_shared_;
  bool may_drop_ = false;  // may read shared memory that nobody wrote
};

}  // namespace ptx

// SPDX-License-Identifier: Apache-2.0
// What orders the blocks of a launch: flags in global memory, between fences. A byte that one block wrote and
// another touches needs such an order, or both touch it as a flag (atomics, volatile, relaxed): otherwise it is
// a race. Where one block reads a byte and another writes it later, a flag that is stored is enough, without fences: the
// read is over when its value is there, and the write begins when the flag is seen. A flag that an atomic sets needs the
// fence. Of threads in one block nothing is said here.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ptx {

struct instruction;
class warp;

/// Who touched a byte of global memory: a stamp, twice, and 1 where it was touched as a flag. Stamps grow from
/// launch to launch; those of earlier ones mean nothing.
struct touched_byte {
  std::uint32_t write, read;
};
/// How much a block knows of others: of each, up to which of its epochs. Fences and flags end epochs.
using knowledge = std::unordered_map<std::uint32_t, std::uint32_t>;
using told = std::shared_ptr<knowledge const>;

/// The blocks of one launch.
class launch_order {
 public:
  launch_order();
  launch_order(launch_order const&) = delete;

  struct epoch {
    std::uint32_t block, number;
  };
  std::uint32_t stamp_of(std::uint32_t block, std::uint32_t number);
  epoch const& at(std::uint32_t stamp) const { return epochs_[stamp - first_]; }
  bool is_now(std::uint32_t stamp) const { return stamp >= first_; }
  /// the stamp of bytes that several blocks read
  std::uint32_t many() const { return first_; }
  struct flag {
    told fenced, reads;  // what its writers knew at their fences; of which reads are over
  };
  /// what each word of 4 bytes tells who reads it as a flag
  std::unordered_map<std::uint64_t, flag> flags;

 private:
  std::uint32_t first_;
  std::vector<epoch> epochs_;
};

/// One block among those of its launch.
class block_order {
 public:
  /// null: nothing is looked for
  void start(launch_order* launch, std::uint32_t number);
  bool is_on() const { return launch_ != nullptr; }
  enum class use : std::uint8_t { read, write, atomic };
  /// t: what is known of these bytes; flag: they are touched as a flag
  void touch(warp& w, instruction const& i, use u, bool flag, touched_byte* t,
             std::uint64_t address, unsigned bytes, int lane) {
    bool const quick = !flag && (bytes == 4   ? alone<4>(u, t)
                                 : bytes == 8 ? alone<8>(u, t)
                                 : bytes == 2 ? alone<2>(u, t)
                                              : bytes == 16 && alone<16>(u, t));
    if (!quick) touch_each(w, i, u, flag, t, address, bytes, lane);
  }
  void fence();

 private:
  /// false: another block of the launch touched them; else they are this one's
  template <unsigned Bytes>
  bool alone(use u, touched_byte* t) {
    std::uint32_t const mine = stamp_ * 2, now = begin_ * 2;
    bool free = true;
    if (u == use::read) {
      for (unsigned k = 0; k < Bytes; ++k)
        free &= t[k].write < now && (t[k].read < now || t[k].read == mine);
      for (unsigned k = 0; k < Bytes && free; ++k) t[k].read = mine;
      has_read_ |= free;
    } else {
      for (unsigned k = 0; k < Bytes; ++k)
        free &= (t[k].write < now || t[k].write == mine) && (t[k].read < now || t[k].read == mine);
      for (unsigned k = 0; k < Bytes && free; ++k) t[k].write = mine;
    }
    return free;
  }
  void touch_each(warp& w, instruction const& i, use u, bool flag, touched_byte* t,
                  std::uint64_t address, unsigned bytes, int lane);
  void touch_flag(instruction const& i, use u, std::uint64_t word, bool is_part);
  bool knows(knowledge const& of, std::uint32_t stamp) const;
  told const& reads_until_now();
  void report(warp& w, instruction const& i, use u, int lane, std::uint64_t byte, bool wrote,
              std::uint32_t stamp);

  launch_order* launch_ = nullptr;
  std::uint32_t number_ = 0, epoch_ = 0, stamp_ = 0, begin_ = 0;
  knowledge known_, seen_;  // seen: of flags that were read since the last fence
  knowledge over_;          // reads that are over
  bool has_read_ = false;   // since its last flag
  told released_, reads_;   // what its flags tell
};

}  // namespace ptx

// SPDX-License-Identifier: Apache-2.0
// The memory of the pretended GPU. Device addresses are reserved and never readable by the host:
// what lies there is kept at a fixed distance. No address is given out twice, so that what was
// freed stays an error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "order.hpp"

namespace ptx {

/// A kernel did what ends it on a GPU; `code` is CUDA's number.
struct fault : std::runtime_error {
  fault(int number, std::string const& what) : runtime_error(what), code(number) {}
  int code;
};

class device_memory {
 public:
  static device_memory& instance();

  /// 0: there is no more
  std::uint64_t allocate(std::uint64_t bytes, int owner = -1);
  bool release(std::uint64_t address);
  /// memory of the host that kernels may use, too
  void add_host(void* p, std::uint64_t bytes);
  bool remove_host(void* p);
  /// such memory, for good
  std::uint64_t take_host(std::uint64_t bytes);

  bool is_device(std::uint64_t a) const { return a - face_ < size; }
  bool is_pinned(std::uint64_t a) const;
  /// the first and the last byte of what was allocated around an address; false: nothing
  struct block {
    std::uint64_t begin = 1, end = 0;
    int owner = -1;  // the card where it lies; -1: all of them may use it
    bool holds(std::uint64_t a, std::uint64_t bytes) const {
      return a >= begin && a + bytes <= end;
    }
  };
  bool find(std::uint64_t a, block& found) const;

  /// where the bytes of an address are on the host: themselves, if they are no device's
  std::byte* host(std::uint64_t a) const {
    return reinterpret_cast<std::byte*>(is_device(a) ? a + to_data_ : a);
  }
  /// a byte for each byte of device memory: 1 where something was written
  std::uint8_t* written(std::uint64_t a) const {
    return reinterpret_cast<std::uint8_t*>(a + to_written_);
  }
  /// for each byte of device memory: which blocks of a launch touched it
  touched_byte* touched(std::uint64_t a) const {
    return reinterpret_cast<touched_byte*>(to_touched_ + (a - face_) * sizeof(touched_byte));
  }
  void forget_touched();
  void set_written(std::uint64_t a, std::uint64_t bytes);
  void copy_written(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  /// means: kernels of a card may use memory of another
  bool reaches(int card, int owner) const {
    return card == owner || card < 0 || owner < 0 || reach_.count({card, owner}) != 0;
  }
  void set_reach(int card, int owner, bool may);

  static constexpr std::uint64_t size = std::uint64_t(1) << 38;

 private:
  device_memory();
  std::uint64_t face_ = 0, next_ = 0, to_data_ = 0, to_written_ = 0, to_touched_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, int>> blocks_;  // begin -> end, owner
  std::set<std::pair<int, int>> reach_;
};

}  // namespace ptx

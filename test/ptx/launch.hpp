// SPDX-License-Identifier: Apache-2.0
// PTX in a test: a body among registers of every kind, launched over buffers.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace ptx::testing {

/// Values of T in the memory of the device.
template <class T>
class buffer {
 public:
  explicit buffer(std::vector<T> const& values) : buffer(values.size()) {
    std::memcpy(memory().host(at_), values.data(), values.size() * sizeof(T));
    memory().set_written(at_, values.size() * sizeof(T));
  }
  /// nothing is written yet
  explicit buffer(std::size_t count) : count_(count), at_(memory().allocate(count * sizeof(T))) {}
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  ~buffer() { memory().release(at_); }
  std::uint64_t address() const { return at_; }
  void set(std::size_t k, T value) {
    std::memcpy(memory().host(at_ + k * sizeof(T)), &value, sizeof(T));
    memory().set_written(at_ + k * sizeof(T), sizeof(T));
  }
  std::vector<T> values() const {
    std::vector<T> found(count_);
    std::memcpy(found.data(), memory().host(at_), count_ * sizeof(T));
    return found;
  }

 private:
  static device_memory& memory() { return device_memory::instance(); }
  std::size_t count_;
  std::uint64_t at_;
};

inline std::string const heading = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel `test` with four addresses as parameters: %l1 to %l4 hold them, %r0 the thread's number in
/// the grid, %r1 that in its block. `more` stands before it.
inline std::string kernel(std::string const& body, std::string const& more = "") {
  return heading + more +
         ".visible .entry test(.param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4)\n{\n"
         ".reg .pred %p<16>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .b64 %l<64>;\n"
         ".reg .f32 %f<32>;\n.reg .f64 %d<32>;\n"
         "ld.param.u64 %l1, [p1];\nld.param.u64 %l2, [p2];\nld.param.u64 %l3, [p3];\n"
         "ld.param.u64 %l4, [p4];\n"
         "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
         "mad.lo.s32 %r0, %r2, %r3, %r1;\n" +
         body + "\nret;\n}\n";
}

/// fails: fault, as the kernel does
inline void run(program const& p, dimensions blocks, dimensions threads,
                std::vector<std::uint64_t> const& addresses = {}, std::uint32_t shared = 0) {
  program_function const& entry = *p.find("test");
  grid g{p, entry, blocks, threads, {}, shared};
  g.params.resize(entry.param_bytes);
  std::memcpy(g.params.data(), addresses.data(), addresses.size() * sizeof(std::uint64_t));
  g.run();
}
inline std::vector<std::unique_ptr<program>>&
programs() {  // what failed is asked for its place later
  static std::vector<std::unique_ptr<program>> all;
  return all;
}
inline program const& last_program() { return *programs().back(); }
inline void run(std::string const& text, dimensions blocks, dimensions threads,
                std::vector<std::uint64_t> const& addresses = {}, std::uint32_t shared = 0) {
  programs().push_back(load(text));
  run(last_program(), blocks, threads, addresses, shared);
}
/// how often something was found since the last call
inline std::uint64_t new_findings(finding what) {
  std::uint64_t& n = statistics::instance().findings[static_cast<std::size_t>(what)];
  std::uint64_t const found = n;
  n = 0;
  return found;
}

}  // namespace ptx::testing

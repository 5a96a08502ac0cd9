// SPDX-License-Identifier: Apache-2.0
// The work of a kernel without its type, for the tables of functions of machines.
#pragma once
#include <utility>  // exchange

#include <locus/core/compiler.hpp>            // C++20, 64 bits, exceptions
#include <locus/runtime/kernel_registry.hpp>  // work_id, kernel_entry

namespace locus {

/// A GPU kernel that a unit did not compile, and the result of the search for it in other units.
struct missing_kernel {
  char const* unit;  // path of the unit's source file
  runtime::work_id of;
  char const* algorithm = nullptr;  // library algorithm that lacks a kernel; "": one without a name
  runtime::kernel_entry const* found = nullptr;
  unsigned seen = 0;  // registry version at which `found` was looked up
  bool told = false;
  char const* library = nullptr;  // says that a library was not found, if that is missing
};

/// The work of a kernel without its type: the argument of machine_functions::run.
struct erased_work {
  void const* work;
  missing_kernel* missing;
  void (*on_host)(void const* work);
  void* (*copy)(void const* work);
  void (*destroy)(void* work);
  void (*for_each_pointer)(void* work, void (*visit)(void* context, void*& p), void* context);
};

/// A copy of erased work, with ownership of it.
class held_work {
 public:
  explicit held_work(erased_work const& of) : work_(of.copy(of.work)), of_(of) {}
  held_work(held_work&& other) noexcept
      : work_(std::exchange(other.work_, nullptr)), of_(other.of_) {}
  ~held_work() {
    if (work_) of_.destroy(work_);
  }
  void* work() const { return work_; }
  void operator()() const { of_.on_host(work_); }

 private:
  void* work_;
  erased_work of_;
};

}  // namespace locus

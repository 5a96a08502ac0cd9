// SPDX-License-Identifier: Apache-2.0
// Which kernels for GPUs the units of this program made: a unit of the host compiler finds here what
// a unit of nvcc made for the same type of work.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // uint64_t
#include <string_view>

#include <locus/core/lock.hpp>    // mutex
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus {

struct launch_site;

namespace runtime {

/// means: the parts of a mangled name between the names of modes, one after the other; so a type
///        has the same parts in every unit, whatever the unit's mode
class name_parts {
 public:
  constexpr explicit name_parts(std::string_view mangled) : rest_(mangled) {}
  constexpr bool at_end() const { return rest_.empty(); }
  constexpr std::string_view next() {
    std::size_t const at = rest_.find("mode_k");
    if (at == std::string_view::npos) {
      std::string_view const last = rest_;
      rest_ = {};
      return last;
    }
    std::size_t first = at, length = 0;  // <length>mode_k...: a name of the Itanium ABI
    while (first > 0 && rest_[first - 1] >= '0' && rest_[first - 1] <= '9') --first;
    for (std::size_t i = first; i < at; ++i)
      length = 10 * length + static_cast<std::size_t>(rest_[i] - '0');
    std::string_view const part = rest_.substr(0, first);
    std::size_t const behind = at + length;
    rest_ = rest_.substr(behind > at && behind < rest_.size() ? behind : at + 6);
    return part;
  }

 private:
  std::string_view rest_;
};

/// means: both are names of one type, in units of perhaps two modes
constexpr bool same_type(std::string_view a, std::string_view b) {
  name_parts x(a), y(b);
  while (!x.at_end() && !y.at_end())
    if (x.next() != y.next()) return false;
  return x.at_end() && y.at_end();
}
/// equal for names of one type
constexpr std::uint64_t hash_of_type(std::string_view mangled) {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  for (name_parts p(mangled); !p.at_end();)
    for (char const c : p.next()) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}
/// A type that only its own unit can name: two units may give one name to two of them.
constexpr bool is_local_to_unit(std::string_view mangled) {
  return mangled.find("_GLOBAL__N_") != std::string_view::npos ||
         mangled.find("$_") != std::string_view::npos;
}

/// LOCUS_CUDA_KERNELS of the unit that a name comes from, as a digit
constexpr char engines_of(std::string_view mangled) {
  std::size_t const at = mangled.find("mode_k");
  return at + 6 < mangled.size() && at != std::string_view::npos ? mangled[at + 6] : '0';
}

/// A type of work, as every unit names it.
struct work_id {
  std::string_view name;  // mangled; empty: this unit has no names of types
  std::size_t bytes = 0, alignment = 0;
};

/// What a unit made for a type of work.
struct kernel_entry {
  work_id of;
  void (*launch)(launch_site const&, void const* work) = nullptr;
  /// of an algorithm's body instead (cuda_algorithm::on_card)
  int (*algorithm)(void const* body, void* workspace, std::size_t* bytes, void* stream) = nullptr;
  std::uint64_t hash = 0;
  kernel_entry* next = nullptr;
};

/// means: the kernels of all units, those of loaded plugins included
/// cost:  a list of a bucket under a lock; a unit asks once for each type of work, and again after
///        the registry has changed
class kernel_registry {
 public:
  void add(kernel_entry& e);
  /// before the unit's library is unloaded
  void remove(kernel_entry& e) noexcept;
  /// means: that of the unit with the most engines, whatever the order of linking; null: no unit made one
  kernel_entry const* find(work_id const& what);
  /// another number after each change
  unsigned changes() const { return __atomic_load_n(&changes_, __ATOMIC_ACQUIRE); }

 private:
  static constexpr std::size_t bucket_count = 256;
  mutex lock_;
  kernel_entry* buckets_[bucket_count]{};
  unsigned changes_ = 1;
};
LOCUS_SHARED_STATE inline constinit kernel_registry kernels;

/// means: steps that ran on the host, with their operands brought there and back, since no unit of
///        the program made their kernel; of all threads
LOCUS_SHARED_STATE inline constinit std::int64_t host_round_trips = 0;

}  // namespace runtime
}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/kernel_registry.hpp>  // bodies of the functions above
#endif

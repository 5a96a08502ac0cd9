// SPDX-License-Identifier: Apache-2.0
// The GPU kernels that units of this program compiled: a unit of the host compiler finds the kernel
// that a unit of nvcc compiled for the same type of work.
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

/// means: the parts of a mangled name between names of modes, in order: a type has the same parts
///        in units of all modes
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

/// means: both are names of one type, possibly in units of two modes
constexpr bool same_type(std::string_view a, std::string_view b) {
  name_parts x(a), y(b);
  while (!x.at_end() && !y.at_end())
    if (x.next() != y.next()) return false;
  return x.at_end() && y.at_end();
}
/// equal for all names of one type
constexpr std::uint64_t hash_of_type(std::string_view mangled) {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  for (name_parts p(mangled); !p.at_end();)
    for (char const c : p.next()) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}
/// A type with internal linkage: two units may have different types of one name.
constexpr bool is_local_to_unit(std::string_view mangled) {
  return mangled.find("_GLOBAL__N_") != std::string_view::npos ||
         mangled.find("$_") != std::string_view::npos;
}

/// LOCUS_CUDA_KERNELS of the unit that a name comes from, as a digit
constexpr char engines_of(std::string_view mangled) {
  std::size_t const at = mangled.find("mode_k");
  return at + 6 < mangled.size() && at != std::string_view::npos ? mangled[at + 6] : '0';
}

/// A type of work, identified across units.
struct work_id {
  std::string_view name;  // mangled; empty: this unit has no names of types
  std::size_t bytes = 0, alignment = 0;
};

/// The kernel of a unit for a type of work.
struct kernel_entry {
  work_id of;
  void (*launch)(launch_site const&, void const* work) = nullptr;
  /// or the function of an algorithm's body (cuda_algorithm::on_card)
  int (*algorithm)(void const* body, void* workspace, std::size_t* bytes, void* stream) = nullptr;
  std::uint64_t hash = 0;
  kernel_entry* next = nullptr;
};

/// means: the kernels of all units, those of loaded plugins included
/// cost:  a search in one bucket under a lock; a unit searches once for each type of work, and
///        again when the registry has changed
class kernel_registry {
 public:
  void add(kernel_entry& e);
  /// must run before the unit's library is unloaded
  void remove(kernel_entry& e) noexcept;
  /// means: the kernel of the unit with the most engines, for every order of linking; null: no unit
  ///        has one
  kernel_entry const* find(work_id const& what);
  /// the number of changes so far
  unsigned changes() const { return __atomic_load_n(&changes_, __ATOMIC_ACQUIRE); }

 private:
  static constexpr std::size_t bucket_count = 256;
  mutex lock_;
  kernel_entry* buckets_[bucket_count]{};
  unsigned changes_ = 1;
};
LOCUS_SHARED_STATE inline constinit kernel_registry kernels;

/// means: the number of steps, of all threads, that ran on the host with operands copied there and
///        results copied back, because no unit compiled their kernel
LOCUS_SHARED_STATE inline constinit std::int64_t host_round_trips = 0;

}  // namespace runtime
}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/kernel_registry.hpp>  // bodies of the functions above
#endif

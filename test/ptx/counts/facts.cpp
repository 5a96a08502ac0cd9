// SPDX-License-Identifier: Apache-2.0
#include "facts.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include "../machine/decoding.hpp"

namespace ptx::counts {
namespace {

bool is_one_of(std::string const& s, std::initializer_list<char const*> names) {
  return std::any_of(names.begin(), names.end(), [&](char const* n) { return s == n; });
}

/// The registers of a function, numbered by scope and name.
class register_numbers {
 public:
  explicit register_numbers(function const& f) : function_(f) {}
  /// -1: it names no register
  std::int32_t number_of(statement const& s, std::string const& name) {
    std::size_t const end = name.find_last_not_of("0123456789");
    std::string const without_number = name.substr(0, end + 1);
    for (int k = s.scope; k >= 0; k = function_.scopes[std::size_t(k)].parent) {
      auto const& declared = function_.scopes[std::size_t(k)].declared;
      if (declared.count(name) || declared.count(without_number))
        return numbers_.try_emplace({k, name}, std::int32_t(numbers_.size())).first->second;
    }
    return -1;
  }
  void add(std::vector<std::int32_t>& list, statement const& s, operand const& o) {
    if (o.is == operand::kind::name || o.is == operand::kind::address) add(list, s, o.name);
    add(list, s, o.second);
    for (operand const& each : o.parts) add(list, s, each);
  }
  void add(std::vector<std::int32_t>& list, statement const& s, std::string const& name) {
    if (name.empty()) return;
    if (std::int32_t const n = number_of(s, name); n >= 0) list.push_back(n);
  }

 private:
  function const& function_;
  std::map<std::pair<int, std::string>, std::int32_t> numbers_;
};

bool gives_a_value(statement const& s) {
  return !is_one_of(s.opcode, {"st", "red", "bra", "bar", "barrier", "membar", "fence", "exit",
                               "ret", "prefetch", "call", "cp", "mbarrier", "nanosleep", "trap"}) ||
         s.has("red");
}
void set_memory(instruction_facts& f, instruction const& i, statement const& s) {
  std::string const& op = s.opcode;
  unsigned const bytes = bits_of(last_type(s)) / 8;
  bool const in_memory =
      i.where == space::generic || i.where == space::global || i.where == space::shared;
  if (op == "ld" || op == "ldu" || op == "st") {
    operand const& value = s.operands[op == "st" ? 1 : 0];
    bool const many = value.is == operand::kind::vector;
    f.bytes = std::uint8_t(bytes * (many ? value.parts.size() : 1));
    f.loads = in_memory && op != "st", f.stores = in_memory && op == "st";
    for (char const* past : {"volatile", "relaxed", "acquire", "cg", "cv"})
      f.past_first_cache |= s.has(past);
  } else if (op == "atom" || op == "red") {
    f.atomics = true, f.bytes = std::uint8_t(bytes);
  } else if (op == "cp") {
    f.waits_for_copies = s.has("wait_group") || s.has("wait_all");
    if (f.of.is != kind::load_global) return;
    f.loads = f.past_first_cache = true;
    f.copies_in_bulk = s.has("bulk"), f.copies = !f.copies_in_bulk;
    f.bytes = f.copies ? i.mode : 0;
  } else if (op == "mbarrier") {
    f.waits_for_copies = s.has("try_wait") || s.has("test_wait");
  }
}

}  // namespace

std::vector<instruction_facts> facts_of(program const& p) {
  std::vector<instruction_facts> all(p.code.size());
  for (auto const& each : p.functions) {
    function const& source = *each->source;
    register_numbers numbers(source);
    surroundings around;
    for (std::size_t k = 0; k < source.code.size(); ++k) {
      instruction const& i = p.code[each->first + k];
      statement const& s = source.code[k];
      instruction_facts& f = all[each->first + k];
      if (!s.guard.empty()) numbers.add(f.from, s, s.guard);
      for (std::size_t o = 0; o < s.operands.size(); ++o) {
        bool const is_to = o == 0 && gives_a_value(s) && s.operands[0].is != operand::kind::address;
        numbers.add(is_to ? f.to : f.from, s, s.operands[o]);
      }
      around.reads_special = f.from.empty() && s.operands.size() > 1 &&
                             s.operands[1].is == operand::kind::name &&
                             s.operands[1].name.rfind('%', 0) == 0;
      f.of = weight_of(i, s, around);
      f.is_branch = s.opcode == "bra", f.prefetches = s.opcode == "prefetch";
      set_memory(f, i, s);
      around.earlier = around.before, around.before = &s;
    }
    all[each->first + source.code.size()].of = {kind::control, 0};  // the end of the body
  }
  return all;
}

}  // namespace ptx::counts

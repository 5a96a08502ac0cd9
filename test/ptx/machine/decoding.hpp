// SPDX-License-Identifier: Apache-2.0
// From the text of a statement to an instruction: where the operands of a function lie, and tables of
// opcodes, one for each kind of instruction.
#pragma once
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "places.hpp"
#include "program.hpp"

namespace ptx {

type last_type(statement const& s);
space space_of(statement const& s);

/// The places of a function's registers, constants and variables.
class decoding {
 public:
  decoding(program& p, program_function& f) : program_(p), function_(f), source_(*f.source) {}
  /// the statements of the function, behind what the program has
  void run();

  program& code() { return program_; }
  bool is_entry() const { return source_.is_entry; }
  struct place {
    std::int32_t at = -1;
    unsigned bits = 0;
  };
  struct symbol {
    space where;
    std::uint64_t at, bytes;
  };
  /// a register is written, or read; before all are known its place is a number, not bytes
  std::int32_t written(statement const& s, std::string const& name);
  bool is_register(statement const& s, std::string const& name);
  std::int32_t constant(unsigned bits, std::uint64_t value);
  std::int32_t special_place_of(special is, unsigned bits);
  bool find_symbol(std::string const& name, symbol& found) const;
  /// where an operand of that many bits lies
  std::int32_t source(statement const& s, operand const& o, unsigned bits);
  std::int32_t destination(statement const& s, operand const& o);
  /// the predicate beside it, or -1: p|q
  std::int32_t second_destination(statement const& s, operand const& o);
  unsigned bits_in(statement const& s, operand const& o, unsigned otherwise);
  void set_address(instruction& i, statement const& s, operand const& o, std::size_t k = 0);
  std::uint32_t label(statement const& s, std::string const& name) const;
  /// d, a, b, ...: each of its bits
  void plain(instruction& i, statement const& s, std::initializer_list<unsigned> bits);
  /// d, a, b, ...: all of the same bits
  void same(instruction& i, statement const& s, unsigned bits);
  std::uint32_t parameter(operand const& o) const;
  std::vector<std::uint32_t> table(statement const& s, std::string const& name) const;
  [[noreturn]] static void fail(std::string const& what) { throw error(what); }

 private:
  void declare_variables();
  std::uint32_t place_local(variable const& v);
  scope::registers const* find_register(int scope, std::string const& name, std::string& key) const;
  std::int32_t take_place(unsigned bits);
  place register_of(statement const& s, std::string const& name);
  place read(statement const& s, std::string const& name);
  instruction decoded(statement const& s);
  std::vector<std::uint32_t> next_of(instruction const& i, std::size_t k) const;
  void place_registers();

  program& program_;
  program_function& function_;
  function const& source_;
  std::int32_t next_ = 0;
  std::map<std::string, place> registers_;  // numbers, from first_register
  std::vector<unsigned> widths_;            // of registers, in bits
  std::vector<register_use> uses_;          // of each statement
  std::map<std::pair<unsigned, std::uint64_t>, std::int32_t> constants_;
  std::map<std::pair<special, unsigned>, std::int32_t> specials_;
  std::map<std::string, symbol> locals_;
};

/// what fences and hints do: memory is seen at once and in order
void nothing(warp& w, instruction const& i, mask m);

/// How the statements of one opcode become instructions; false: the machine does not know this one.
struct opcode {
  std::string_view name;
  bool (*decode)(decoding& of, instruction& i, statement const& s);
};
std::span<opcode const> arithmetic();
std::span<opcode const> bit_operations();
std::span<opcode const> predicates();
std::span<opcode const> moves();
std::span<opcode const> accesses();
std::span<opcode const> together();
std::span<opcode const> flow();

}  // namespace ptx

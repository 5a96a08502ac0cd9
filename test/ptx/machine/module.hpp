// SPDX-License-Identifier: Apache-2.0
// The text of a PTX module as data: variables, functions, statements. No meaning yet.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

/// A type as an instruction names it.
enum class type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f16x2,
  bf16x2,
};
type type_of(std::string_view name);  // none: not the name of a type
unsigned bits_of(type t);             // of a predicate: 1

enum class space : std::uint8_t { generic, global, constant, shared, local, param };

struct error : std::runtime_error {
  using runtime_error::runtime_error;
};

struct operand {
  enum class kind : std::uint8_t { name, number, address, vector, sink };
  kind is = kind::sink;
  std::string name;      // register, variable, label or function; of an address: its base, or empty
  std::string second;    // q in p|q
  bool negated = false;  // !p
  std::int64_t value = 0;      // of a number: its bits; of an address: what is added
  unsigned float_bits = 0;     // of a number: 32 or 64 where it is a float's
  std::vector<operand> parts;  // of a vector, or the arguments of a call
};

struct statement {
  std::string guard;  // the name of its predicate, or empty
  bool guard_negated = false;
  std::string opcode;               // without what follows the first dot
  std::vector<std::string> suffix;  // what follows, cut at dots
  std::vector<operand> operands;
  int scope = 0;
  int line = 0;    // in the PTX
  int source = 0;  // of .loc, 0: none
  std::string_view text;
  bool has(std::string_view s) const {
    for (auto const& each : suffix)
      if (each == s) return true;
    return false;
  }
};

struct variable {
  std::string name;
  space where = space::global;
  unsigned align = 1;
  std::uint64_t bytes = 0;
  bool is_extern = false, is_managed = false;  // managed: the host uses it, too
  std::vector<std::uint8_t> data;              // its first value; empty: zero
  struct pointer {
    std::uint64_t at;  // in the data
    std::string to;
    std::int64_t added;
  };
  std::vector<pointer> pointers;
};

/// Names that a pair of braces declares.
struct scope {
  int parent = -1;
  struct registers {
    type of;
    bool many;  // name<n>
  };
  std::map<std::string, registers> declared;
  std::map<std::string, std::uint32_t> labels;             // the statement that follows
  std::map<std::string, std::vector<std::string>> tables;  // of brx.idx
};

struct function {
  std::string name;
  bool is_entry = false, is_extern = false;
  std::vector<variable> params, returns, variables;  // variables: .shared, .local, .param
  std::vector<scope> scopes;
  std::vector<statement> code;
};

struct module {
  std::string target;
  std::vector<variable> variables;
  std::vector<function> functions;
};

/// fails: error, with the line
module parse(std::string_view text);

}  // namespace ptx

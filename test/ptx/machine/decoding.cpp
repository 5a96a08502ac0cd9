// SPDX-License-Identifier: Apache-2.0
#include "decoding.hpp"

#include <bit>
#include <cctype>
#include <iterator>

#include "machine.hpp"

namespace ptx {

type last_type(statement const& s) {
  for (std::size_t k = s.suffix.size(); k-- > 0;)
    if (type const t = type_of(s.suffix[k]); t != type::none) return t;
  return type::none;
}
space space_of(statement const& s) {
  for (std::string const& each : s.suffix) {
    std::string const name = each.substr(0, each.find("::"));
    if (name == "global") return space::global;
    if (name == "shared") return space::shared;
    if (name == "local") return space::local;
    if (name == "const") return space::constant;
    if (name == "param") return space::param;
  }
  return space::generic;
}

// ---- names ----

std::uint32_t decoding::place_local(variable const& v) {
  std::uint32_t& end = function_.local_bytes;
  end = (end + v.align - 1) / v.align * v.align;
  std::uint32_t const at = end;
  end += static_cast<std::uint32_t>(v.bytes);
  return at;
}
void decoding::declare_variables() {
  for (auto const* list : {&source_.params, &source_.returns})
    for (variable const& v : *list) {
      auto const bytes = static_cast<std::uint32_t>(v.bytes);
      std::uint32_t at;
      if (source_.is_entry) {
        at = (function_.param_bytes + v.align - 1) / v.align * v.align;
        function_.param_bytes = at + bytes;
      } else {
        at = place_local(v);
      }
      (list == &source_.params ? function_.params : function_.returns).push_back({at, bytes});
      locals_[v.name] = {source_.is_entry ? space::param : space::local, at, v.bytes};
    }
  for (variable const& v : source_.variables)
    if (v.where == space::local || v.where == space::param)
      locals_[v.name] = {space::local, place_local(v), v.bytes};
}
scope::registers const* decoding::find_register(int scope, std::string const& name,
                                                std::string& key) const {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
  std::string const without_number = name.substr(0, digits);
  for (; scope >= 0; scope = source_.scopes[std::size_t(scope)].parent) {
    auto const& declared = source_.scopes[std::size_t(scope)].declared;
    key = std::to_string(scope) + " " + name;
    if (auto const found = declared.find(name); found != declared.end()) return &found->second;
    auto const found = declared.find(without_number);
    if (found != declared.end() && found->second.many) return &found->second;
  }
  return nullptr;
}
std::int32_t decoding::take_place(unsigned bits) {
  next_ = (next_ + 63) / 64 * 64;
  std::int32_t const at = next_;
  next_ += bits == 1 ? 4 : static_cast<std::int32_t>(bits) * lane_count / 8;
  return at;
}
namespace {
/// A number from here on is that of a register which has no place yet.
constexpr std::int32_t first_register = 1 << 30;
}  // namespace
decoding::place decoding::register_of(statement const& s, std::string const& name) {
  std::string key;
  auto const* const r = find_register(s.scope, name, key);
  if (!r) return {};
  auto const [found, is_new] = registers_.try_emplace(key, place{});
  if (is_new) {
    found->second = {first_register + std::int32_t(widths_.size()), bits_of(r->of)};
    widths_.push_back(bits_of(r->of));
  }
  return found->second;
}
decoding::place decoding::read(statement const& s, std::string const& name) {
  place const p = register_of(s, name);
  if (p.at >= 0) uses_.back().reads.push_back(p.at - first_register);
  return p;
}
std::int32_t decoding::written(statement const& s, std::string const& name) {
  place const p = register_of(s, name);
  if (p.at >= 0) uses_.back().writes.push_back(p.at - first_register);
  return p.at;
}
bool decoding::is_register(statement const& s, std::string const& name) {
  return register_of(s, name).at >= 0;
}
std::int32_t decoding::constant(unsigned bits, std::uint64_t value) {
  if (bits < 64) value &= (std::uint64_t(1) << bits) - 1;
  auto const [found, is_new] = constants_.try_emplace({bits, value}, 0);
  if (is_new) {
    found->second = take_place(bits);
    function_.constants.push_back({found->second, bits, value});
  }
  return found->second;
}
std::int32_t decoding::special_place_of(special is, unsigned bits) {
  auto const [found, is_new] = specials_.try_emplace({is, bits}, 0);
  if (is_new) {
    found->second = take_place(bits);
    function_.specials.push_back({found->second, bits, is});
  }
  return found->second;
}
namespace {
bool find_special(std::string const& name, special& is) {
  static std::map<std::string, special> const all = {
      {"%tid.x", special::tid_x},
      {"%tid.y", special::tid_y},
      {"%tid.z", special::tid_z},
      {"%ntid.x", special::ntid_x},
      {"%ntid.y", special::ntid_y},
      {"%ntid.z", special::ntid_z},
      {"%ctaid.x", special::ctaid_x},
      {"%ctaid.y", special::ctaid_y},
      {"%ctaid.z", special::ctaid_z},
      {"%nctaid.x", special::nctaid_x},
      {"%nctaid.y", special::nctaid_y},
      {"%nctaid.z", special::nctaid_z},
      {"%laneid", special::laneid},
      {"%warpid", special::warpid},
      {"%nwarpid", special::nwarpid},
      {"%smid", special::smid},
      {"%nsmid", special::nsmid},
      {"%envreg1", special::workspace_high},
      {"%envreg2", special::workspace_low},
      {"%gridid", special::gridid},
      {"%lanemask_eq", special::lanemask_eq},
      {"%lanemask_le", special::lanemask_le},
      {"%lanemask_lt", special::lanemask_lt},
      {"%lanemask_ge", special::lanemask_ge},
      {"%lanemask_gt", special::lanemask_gt},
      {"%dynamic_smem_size", special::dynamic_smem_size},
      {"%total_smem_size", special::total_smem_size},
  };
  auto const found = all.find(name);
  return found != all.end() && (is = found->second, true);
}
}  // namespace
bool decoding::find_symbol(std::string const& name, symbol& found) const {
  if (auto const l = locals_.find(name); l != locals_.end()) return found = l->second, true;
  auto const v = program_.variables.find(name);
  if (v == program_.variables.end()) return false;
  // addresses of shared memory are small, those of devices are not
  found = {v->second < (std::uint64_t(1) << 32) ? space::shared : space::global, v->second, 0};
  return true;
}

// ---- operands ----

std::int32_t decoding::source(statement const& s, operand const& o, unsigned bits) {
  if (o.is == operand::kind::number) {
    auto v = static_cast<std::uint64_t>(o.value);
    if (o.float_bits == 64 && bits == 32)
      v = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(v)));
    if (o.float_bits == 32 && bits == 64)
      v = std::bit_cast<std::uint64_t>(double(std::bit_cast<float>(std::uint32_t(v))));
    if (bits == 1) v = v ? 0xffffffff : 0, bits = 32;
    return constant(bits, v);
  }
  if (o.is != operand::kind::name) fail("an operand of another kind expected");
  if (place const p = read(s, o.name); p.at >= 0) return p.at;
  if (special is; find_special(o.name, is)) return special_place_of(is, bits);
  if (o.name == "WARP_SZ") return constant(bits, lane_count);
  if (symbol found; find_symbol(o.name, found) && found.where != space::local)
    return constant(bits, found.at + static_cast<std::uint64_t>(o.value));
  fail("nothing is known of " + o.name);
}
std::int32_t decoding::destination(statement const& s, operand const& o) {
  if (o.is == operand::kind::sink) return -1;
  std::int32_t const at = written(s, o.name);
  if (at < 0) fail("nothing is known of " + o.name);
  return at;
}
std::int32_t decoding::second_destination(statement const& s, operand const& o) {
  return o.second.empty() || o.second == "_" ? -1 : written(s, o.second);
}
unsigned decoding::bits_in(statement const& s, operand const& o, unsigned otherwise) {
  if (o.is != operand::kind::name) return otherwise;
  place const p = register_of(s, o.name);
  return p.at >= 0 ? p.bits : otherwise;
}
void decoding::set_address(instruction& i, statement const& s, operand const& o, std::size_t k) {
  i.added = o.value;
  if (o.name.empty()) {
    i.at[k] = constant(64, 0);
  } else if (place const p = read(s, o.name); p.at >= 0) {
    i.at[k] = p.at, i.wide = p.bits == 64;
  } else if (symbol found; find_symbol(o.name, found)) {
    i.at[k] =
        found.where == space::local ? special_place_of(special::local_base, 64) : constant(64, 0);
    i.added += static_cast<std::int64_t>(found.at);
  } else {
    fail("nothing is known of " + o.name);
  }
}
std::uint32_t decoding::label(statement const& s, std::string const& name) const {
  for (int scope = s.scope; scope >= 0; scope = source_.scopes[std::size_t(scope)].parent) {
    auto const& labels = source_.scopes[std::size_t(scope)].labels;
    if (auto const found = labels.find(name); found != labels.end())
      return function_.first + found->second;
  }
  fail("no label " + name);
}
std::vector<std::uint32_t> decoding::table(statement const& s, std::string const& name) const {
  for (int scope = s.scope; scope >= 0; scope = source_.scopes[std::size_t(scope)].parent) {
    auto const& tables = source_.scopes[std::size_t(scope)].tables;
    auto const found = tables.find(name);
    if (found == tables.end()) continue;
    std::vector<std::uint32_t> all;
    for (std::string const& each : found->second) all.push_back(label(s, each));
    return all;
  }
  fail("no table " + name);
}
std::uint32_t decoding::parameter(operand const& o) const {
  auto const found = locals_.find(o.name);
  if (found == locals_.end()) fail("a parameter expected");
  return static_cast<std::uint32_t>(found->second.at);
}
void decoding::plain(instruction& i, statement const& s, std::initializer_list<unsigned> bits) {
  if (s.operands.size() < bits.size()) fail("too few operands");
  std::size_t k = 0;
  for (unsigned const b : bits) {
    i.at[k] = k == 0 ? destination(s, s.operands[0]) : source(s, s.operands[k], b);
    ++k;
  }
}
void decoding::same(instruction& i, statement const& s, unsigned bits) {
  if (s.operands.size() > std::size(i.at)) fail("too many operands");
  i.at[0] = destination(s, s.operands[0]);
  for (std::size_t k = 1; k < s.operands.size(); ++k) i.at[k] = source(s, s.operands[k], bits);
}

// ---- statements ----

namespace {
void unknown(warp& w, instruction const& i, mask m) {
  w.fail(801, i, __builtin_ctz(m), "the machine does not know this instruction");
}
auto* find_opcode(std::string const& name) {
  static auto const all = [] {
    std::map<std::string_view, opcode const*> found;
    for (auto const& table :
         {arithmetic(), bit_operations(), predicates(), moves(), accesses(), together(), flow()})
      for (opcode const& each : table) found[each.name] = &each;
    return found;
  }();
  auto const found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}
/// ends: it goes to where the function returns; found: how many of the function came before it
bool is_left_out(statement const& s, bool ends, std::string const& function, unsigned& found) {
  auto const& without = options::instance().without;
  std::size_t const dot = without.what.find('.');
  bool const named = s.opcode == without.what.substr(0, dot) &&
                     (dot == std::string::npos || s.has(without.what.substr(dot + 1)));
  if (!(without.what == "ret" ? ends : named) || function.find(without.in) == std::string::npos)
    return false;
  return ++found == without.number || without.number == 0;
}
}  // namespace

instruction decoding::decoded(statement const& s) {
  instruction i;
  i.source = &s;
  bool known = false;
  try {
    if (!s.guard.empty()) i.guard = read(s, s.guard).at, i.guard_negated = s.guard_negated;
    opcode const* const how = find_opcode(s.opcode);
    known = how && how->decode(*this, i, s) && (i.run || i.goes != control::none);
  } catch (error const&) {}
  if (!known) i.run = unknown, i.goes = control::none;  // no error until it runs
  return i;
}
/// Instructions of the function that may come after its k-th.
std::vector<std::uint32_t> decoding::next_of(instruction const& i, std::size_t k) const {
  std::vector<std::uint32_t> all;
  if (i.goes == control::branch) all.push_back(i.target - function_.first);
  if (i.goes == control::table)
    for (std::uint32_t const to : program_.tables[i.target]) all.push_back(to - function_.first);
  bool const never_goes_on = i.goes == control::branch || i.goes == control::table ||
                             i.goes == control::leave || i.goes == control::give_back;
  if (i.guard >= 0 || !never_goes_on) all.push_back(std::uint32_t(k + 1));
  return all;
}
/// Places for registers, in the order of their lives: a frame as small as what lives at one time.
void decoding::place_registers() {
  for (std::size_t k = 0; k < uses_.size(); ++k) {
    instruction const& i = program_.code[function_.first + k];
    uses_[k].next = next_of(i, k), uses_[k].is_guarded = i.guard >= 0;
  }
  std::vector<std::int32_t> const shared = shared_places(lives_of(uses_, widths_.size()), widths_);
  std::vector<std::int32_t> bytes(widths_.size(), -1);  // of each shared place
  for (std::size_t r = 0; r < widths_.size(); ++r)
    if (auto& at = bytes[std::size_t(shared[r])]; at < 0) at = take_place(widths_[r]);
  auto const settle = [&](std::int32_t& at) {
    if (at >= first_register) at = bytes[std::size_t(shared[std::size_t(at - first_register)])];
  };
  for (std::size_t k = 0; k < uses_.size(); ++k) {
    instruction& i = program_.code[function_.first + k];
    settle(i.guard);
    for (std::int32_t& at : i.at) settle(at);
  }
}
void decoding::run() {
  function_.first = static_cast<std::uint32_t>(program_.code.size());
  declare_variables();
  bool const is_faulty = !options::instance().without.what.empty();
  auto const ends = [&](statement const& s) {  // where its predicate holds
    if (s.guard.empty() || s.opcode != "bra") return !s.guard.empty() && s.opcode == "ret";
    std::size_t const to = label(s, s.operands.at(0).name) - function_.first;
    return to >= source_.code.size() || source_.code[to].opcode == "ret";
  };
  unsigned left_out = 0;
  for (statement const& s : source_.code) {
    uses_.emplace_back();
    instruction i = decoded(s);
    if (is_faulty && is_left_out(s, ends(s), function_.name, left_out)) {
      ++statistics::instance().left_out;
      i.run = nothing, i.goes = control::none;
    }
    program_.code.push_back(i);
  }
  instruction end;  // a body that ends without ret
  end.goes = control::give_back;
  end.source = source_.code.empty() ? nullptr : &source_.code.back();
  program_.code.push_back(end);
  place_registers();
  function_.frame_bytes = next_;
}

}  // namespace ptx

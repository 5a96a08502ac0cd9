// SPDX-License-Identifier: Apache-2.0
// Branches, calls, and what the machine may leave out.
#include "decoding.hpp"

#include "machine.hpp"

namespace ptx {
void nothing(warp&, instruction const&, mask) {}

namespace {

void trap(warp& w, instruction const& i, mask m) { w.fail(719, i, __builtin_ctz(m), "trap"); }

bool branch(decoding& of, instruction& i, statement const& s) {
  i.goes = control::branch, i.target = of.label(s, s.operands[0].name);
  return true;
}
bool branch_of_table(decoding& of, instruction& i, statement const& s) {
  i.at[0] = of.source(s, s.operands[0], 32);
  i.target = static_cast<std::uint32_t>(of.code().tables.size());
  of.code().tables.push_back(of.table(s, s.operands[1].name));
  i.goes = control::table;
  return true;
}
template <control How>
bool end(decoding&, instruction& i, statement const&) {
  i.goes = How;
  return true;
}
bool call(decoding& of, instruction& i, statement const& s) {
  std::size_t k = 0;
  call_site site;
  if (s.operands[k].is == operand::kind::vector)
    for (operand const& each : s.operands[k++].parts) site.results.push_back(of.parameter(each));
  site.name = s.operands[k++].name;
  if (k < s.operands.size())
    for (operand const& each : s.operands[k].parts) site.arguments.push_back(of.parameter(each));
  if (of.is_register(s, site.name)) return false;  // through a pointer
  i.target = static_cast<std::uint32_t>(of.code().calls.size()), i.goes = control::call;
  of.code().calls.push_back(std::move(site));
  of.code().has_calls = true;
  return true;
}
bool stop(decoding&, instruction& i, statement const&) {
  i.run = trap;
  return true;
}
void order_blocks(warp& w, instruction const&, mask) { w.in.among_others.fence(); }
/// memory is seen at once; other blocks may rely on it behind a fence alone
bool fence(decoding&, instruction& i, statement const& s) {
  bool const among_blocks = !s.has("cta") && !s.has("proxy") && !s.has("mbarrier_init");
  i.run = among_blocks ? order_blocks : nothing;
  return true;
}
bool left_out(decoding&, instruction& i, statement const&) {
  i.run = nothing;
  return true;
}

}  // namespace

std::span<opcode const> flow() {
  static constexpr opcode all[] = {
      {"bra", branch},
      {"brx", branch_of_table},
      {"exit", end<control::leave>},
      {"ret", end<control::give_back>},
      {"nanosleep", end<control::rest>},
      {"call", call},
      {"trap", stop},
      {"membar", fence},
      {"fence", fence},
      {"prefetch", left_out},
      {"prefetchu", left_out},
      {"brkpt", left_out},
      {"pmevent", left_out},
      {"discard", left_out},
      {"applypriority", left_out},
      {"griddepcontrol", left_out},
      {"setmaxnreg", left_out},
  };
  return all;
}

}  // namespace ptx

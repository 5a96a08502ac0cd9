// SPDX-License-Identifier: Apache-2.0
// From a text to a program: variables get their places, functions their code.
#include <algorithm>
#include <cstring>

#include "decoding.hpp"
#include "device_memory.hpp"

namespace ptx {

program_function const* program::find(std::string const& name) const {
  for (auto const& f : functions)
    if (f->name == name) return f.get();
  return nullptr;
}

std::unique_ptr<program> load(std::string text) {
  auto made = std::make_unique<program>();
  program& p = *made;
  p.text = std::move(text);
  p.source = parse(p.text);
  device_memory& memory = device_memory::instance();
  std::vector<std::pair<variable const*, std::uint64_t>> with_data;
  auto const place = [&](variable const& v) {
    if (v.where == space::local || v.where == space::param) return;
    if (v.where == space::shared) return;
    std::uint64_t const bytes = v.bytes ? v.bytes : 1;
    std::uint64_t const at = v.is_managed ? memory.take_host(bytes) : memory.allocate(bytes);
    std::memset(memory.host(at), 0, v.bytes);
    if (!v.data.empty()) std::memcpy(memory.host(at), v.data.data(), v.bytes);
    memory.set_written(at, v.bytes);
    p.variables[v.name] = at;
    if (!v.pointers.empty()) with_data.push_back({&v, at});
  };
  auto const every = [&](auto&& f) {
    for (auto const& v : p.source.variables) f(v);
    for (auto const& each : p.source.functions)
      for (auto const& v : each.variables) f(v);
  };
  every(place);
  // shared memory: first what all kernels may use; behind it lie the variables of one kernel, in each block its own
  auto const place_shared = [&](std::vector<variable> const& variables,
                                std::vector<std::uint8_t>& used) {
    for (variable const& v : variables) {
      if (v.where != space::shared || v.bytes == 0 || v.is_extern) continue;
      used.resize((used.size() + v.align - 1) / v.align * v.align);
      p.variables[v.name] = used.size();
      used.resize(used.size() + v.bytes, 1);
      used.resize(used.size() + 64);  // what leaves a variable hits no other
    }
  };
  std::vector<std::uint8_t> of_all;
  place_shared(p.source.variables, of_all);
  for (auto const& f : p.source.functions)
    if (!f.is_entry) place_shared(f.variables, of_all);
  std::map<function const*, std::vector<std::uint8_t>> used;
  std::size_t most = of_all.size();
  for (auto const& f : p.source.functions)
    if (f.is_entry) {
      used[&f] = of_all;
      place_shared(f.variables, used[&f]);
      most = std::max(most, used[&f].size());
    }
  p.shared_bytes = std::uint32_t((most + 127) / 128 * 128);
  every([&](variable const& v) {  // what a launch adds begins behind the rest
    if (v.where == space::shared && (v.bytes == 0 || v.is_extern))
      p.variables[v.name] = p.shared_bytes;
  });
  for (auto const& [v, at] : with_data)
    for (auto const& pointer : v->pointers)
      if (auto const to = p.variables.find(pointer.to); to != p.variables.end()) {
        std::uint64_t const a = to->second + std::uint64_t(pointer.added);
        std::memcpy(memory.host(at + pointer.at), &a, sizeof a);
      }
  for (auto const& f : p.source.functions) {
    if (f.is_extern) continue;
    p.functions.push_back(std::make_unique<program_function>());
    p.functions.back()->name = f.name, p.functions.back()->source = &f;
    if (f.is_entry) p.functions.back()->shared_used = std::move(used[&f]);
  }
  for (auto& f : p.functions) decoding(p, *f).run();
  for (call_site& c : p.calls) c.to = p.find(c.name);
  return made;
}

}  // namespace ptx

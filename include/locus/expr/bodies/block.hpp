// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that expr/block.hpp declares.
#pragma once
#include <new>  // bad_alloc

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION
#include <locus/expr/block.hpp>   // the declarations

namespace locus {

LOCUS_FUNCTION tensor_block* tensor_block::make(place const& where, std::size_t room) {
  auto const extra = sizeof(piece) * static_cast<std::size_t>(where.local_count() - 1);
  void* const memory = std::malloc(sizeof(tensor_block) + extra + room);
  if (!memory) throw std::bad_alloc();
  auto* const block = new (memory) tensor_block;
  for (int r = 1; r < where.local_count(); ++r) new (block->pieces + r) piece;
  block->where = where;
  return block;
}

LOCUS_FUNCTION local_value tensor_block::local(int replica) const {
  piece const& p = pieces[replica];
  return {p.data, p.extents, p.strides};
}

LOCUS_FUNCTION block_owner& block_owner::operator=(block_owner o) noexcept {
  std::swap(block_, o.block_);
  return *this;
}

LOCUS_FUNCTION block_owner::~block_owner() {
  if (!block_ || count_down(block_->owners) > 0) return;
  if (block_->release) block_->release(*block_);
  detail::stop_watching(block_);
}

LOCUS_FUNCTION block_watcher& block_watcher::operator=(block_watcher o) noexcept {
  std::swap(block_, o.block_);
  return *this;
}

}  // namespace locus

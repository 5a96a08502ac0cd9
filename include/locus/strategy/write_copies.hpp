// SPDX-License-Identifier: Apache-2.0
// The copies of a mirrored value from the tensors of its replicas; for optimizers and metrics, which work for
// all replicas in a merge_call.
#pragma once
#include <locus/strategy/context.hpp>  // require_cross_replica, block_of

namespace locus::internal {

/// fails: placement_error inside a replica
inline void require_all_replicas(std::string_view what) { detail::require_cross_replica(what); }

/// means: copy r of `to` = the tensor of replica r
/// fails: placement_error, where `to` lies over other devices than the replicas
template <class Tensor>
void write_copies(tensor_block const& to, device_list const& replicas,
                  per_replica<Tensor> const& from, std::string_view what) {
  if (!(to.where.devices == replicas))
    detail::refuse_devices(to.where.devices, replicas, "a weight");
  for (int r = 0; r < from.size(); ++r) {
    local_part const p = part_of_block(detail::block_of(from[r]));
    copy_local(to.where.at(r), to.pieces[r].data, p.at, p.data, p.size() * to.element_bytes, what);
  }
}

}  // namespace locus::internal

// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/value_memory.hpp declares.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/machine/queues.hpp>    // copy
#include <locus/machine/stamps.hpp>    // mark
#include <locus/plan/distribute.hpp>   // check_cut
#include <locus/plan/infer.hpp>        // require_elements
#include <locus/run/same_bytes.hpp>    // share_bytes
#include <locus/run/value_memory.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION bool placing::all_on_host(place const& p) {
  for (int r = 0; r < p.count(); ++r)
    if (!on_host(p.at(r))) return false;
  return true;
}

LOCUS_FUNCTION void placing::drain() const noexcept {
  auto wait_for_all = [](place const& p) {
    for (int r = 0; r < p.count(); ++r)
      for (queue_kind const queue : runtime::queue_kinds) try {
          logical_device& d = runtime::find_device(p.at(r));
          runtime::synchronize(runtime::mark(d, queue));
        } catch (std::exception const&) {}  // the first error is on its way
  };
  for (step const& s : plan_.steps) wait_for_all(s.where);
  for (transfer const& t : plan_.transfers) wait_for_all(t.arrives);
}

LOCUS_FUNCTION void placing::check_extents() const {
  require_elements(plan_, extents_);
  for (short i = 0; i < plan_.steps.count && !p_.extents && p_.replicas > 1; ++i)
    if (check_cut(plan_, i, extents_) != plan_error::none) refuse_cut(i);
  for (int k = 0; k < plan_.roots.count; ++k)
    if (!(extents_[plan_.roots[k].from] == targets_[k].extents)) refuse_extents(k);
  for (int k = 1; k < plan_.roots.count; ++k)
    for (int other = 0; other < k; ++other) require_apart(other, k);
}

LOCUS_FUNCTION void placing::obtain_memory() {
  slots_ = p_.slots;
  if (!p_.extents) {
    slots_ = {a_.slots, plan_.steps.count + plan_.transfers.count};
    for (slot& s : slots_) s = slot{};
    lay_out(plan_, slots_, extents_);
  }
  for (short v = 0; v < slots_.count; ++v)
    if (slots_[v].bytes > 0 && !slots_[v].is_result)
      for (int r = 0; r < place_of(v).count(); ++r) open_arena(place_of(v).at(r));
}

LOCUS_FUNCTION void placing::place_values(void* run) {
  for (short i = 0; i < plan_.steps.count; ++i) {
    step const& s = plan_.steps[i];
    if (s.is_source() || (s.region >= 0 && !s.stored && slots_[i].bytes == 0)) continue;
    if (s.region >= 0) {
      place_made(i);
      continue;
    }
    short const from = plan_.operands(s)[0].from;
    for (int r = 0; r < s.where.count(); ++r)
      value(i, r) =
          view_value(plan_, i, r, value(from, r), extents_, a_.objects, a_.layouts[index(i, r)]);
  }
  for (short i = 0; i < plan_.steps.count;
       ++i)  // a product lies where the result of its kernel will lie
    if (is_product_with_row(plan_, i) && slots_[i].bytes == 0)
      for (int r = 0; r < plan_.steps[i].where.count(); ++r)
        value(i, r) = value(plan_.steps[i].region, r);
  if (p_.crossings) p_.crossings->place(run);
}

LOCUS_FUNCTION void placing::place_arrivals(bool keeps) {
  occurrence_finder(plan_, a_.values, p_.replicas, extents_, slots_).find(shared_);
  for (transfer const& t : plan_.transfers)
    if (!brought_by_other(t)) place_arrival(t);
  if (keeps) place_kept();
  for (occurrence const& o : shared_)
    for (int r = 0; r < plan_.transfers[o.first].arrives.count(); ++r)
      value(plan_.steps.count + o.transfer, r) = value(plan_.steps.count + o.first, r);
}

LOCUS_FUNCTION occurrence const* placing::find_occurrence(transfer const& t) const {
  for (occurrence const& o : shared_)
    if (&t - plan_.transfers.first == o.transfer) return &o;
  return nullptr;
}

LOCUS_FUNCTION bool placing::brought_by_other(transfer const& t) const {
  occurrence const* const o = find_occurrence(t);
  return o && o->first != o->transfer;
}

LOCUS_FUNCTION void placing::forget_written() const {
  for (int k = 0; k < plan_.roots.count; ++k)
    for (int r = 0; r < targets_[k].where.count(); ++r) {
      byte_range const to = range_of(targets_[k].locals[r], targets_[k].extents.rank,
                                     plan_.steps[plan_.roots[k].from].element_bytes);
      runtime::forget_copies(to.first, to.bytes);
    }
}

LOCUS_FUNCTION bool placing::is_written(byte_range const& range) const {
  for (int k = 0; k < plan_.roots.count; ++k)
    for (int r = 0; r < targets_[k].where.count(); ++r)
      if (range_of(targets_[k].locals[r], targets_[k].extents.rank,
                   plan_.steps[plan_.roots[k].from].element_bytes)
              .overlaps(range))
        return true;
  return false;
}

LOCUS_FUNCTION void placing::place_kept() {
  for (transfer const& t : plan_.transfers) {
    bool const whole = t.how == transfer_kind::copy || t.how == transfer_kind::broadcast;
    slot const& s = slots_[value_of(t)];
    step const& leaf = plan_.steps[memory_of(plan_, t.from)];
    if (!whole || brought_by_other(t) || s.bytes == 0 || s.is_result || s.in_place_of >= 0 ||
        leaf.kind != step_kind::leaf)
      continue;
    auto const* const of = static_cast<tensor_block const*>(a_.objects[&leaf - plan_.steps.first]);
    local_value const& source = value(t.from, 0);
    int const rank = rank_of(t.from);
    byte_range const range = bytes_of(t.from, 0);
    if (!of || __atomic_load_n(&of->exposed, __ATOMIC_RELAXED) || !is_block(source, rank) ||
        is_written(range))
      continue;
    for (int r = 0; r < t.arrives.count(); ++r) {
      runtime::copy_key key{of,          leaf.type,   rank,    source,
                            range.first, range.bytes, nullptr, nullptr};
      key.from = &runtime::find_device(plan_.steps[t.from].where.at(0));
      key.on = &runtime::find_device(t.arrives.at(r));
      if (key.on == key.from || (on_host(key.on->name) && on_host(key.from->name))) continue;
      if (runtime::kept_copy* const c = kept_.take(value_of(t), r, key, checked_build))
        value(value_of(t), r).data = c->data;
    }
  }
}

LOCUS_FUNCTION void placing::refuse_cut(short i) const {
  step const& s = plan_.steps[i];
  message text;
  text << "locus: '" << s.name << "' (step " << int(i) << ") mixes pieces that lie on different "
       << "devices: extents";
  for (edge const& e : plan_.operands(s)) text << " " << extents_[e.from];
  throw shape_error(text << " become " << extents_[i] << " on " << s.where
                         << "; bring the operands to one place with to<...>(x)");
}

LOCUS_FUNCTION void placing::require_apart(int k, int other) const {
  int const rank = targets_[k].extents.rank, other_rank = targets_[other].extents.rank;
  int const bytes = plan_.steps[plan_.roots[k].from].element_bytes,
            other_bytes = plan_.steps[plan_.roots[other].from].element_bytes;
  for (int r = 0; r < targets_[k].where.count(); ++r)
    for (int q = 0; q < targets_[other].where.count(); ++q)
      if (targets_[k].where.at(r) == targets_[other].where.at(q) &&
          share_bytes(targets_[k].locals[r], rank, bytes, targets_[other].locals[q], other_rank,
                      other_bytes))
        refuse_common(k, other, r);
}

LOCUS_FUNCTION void placing::refuse_common(int k, int other, int r) const {
  auto const name = [&](int root) { return plan_.steps[plan_.roots[root].from].name; };
  message text;
  throw shape_error(text << "locus: assignments " << k << " (" << name(k) << ") and " << other
                         << " (" << name(other) << ") of one plan write the same elements on "
                         << targets_[k].where.at(r)
                         << "; give each a destination of its own, or run two plans");
}

LOCUS_FUNCTION void placing::refuse_extents(int k) const {
  message text;
  throw shape_error(text << "locus: a value with extents " << extents_[plan_.roots[k].from]
                         << " is assigned to a tensor with extents " << targets_[k].extents
                         << "; make the tensor as large, or slice it");
}

LOCUS_FUNCTION void placing::open_arena(device name) {
  logical_device& d = runtime::find_device(name);
  if (has_arena(name)) return;
  std::int64_t const bytes = arena_bytes(plan_, slots_, name);
  if (bytes <= d.memory.limit - __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED))
    add_arena(name, d, bytes, "the temporaries of a plan");
  else
    add_arena(name, d, bytes, describe_temporaries(name).view());
}

LOCUS_FUNCTION message placing::describe_temporaries(device name) const {
  int largest = -1;
  for (int v = 0; v < slots_.count; ++v)
    if (!slots_[v].is_result && place_of(v).devices.contains(name) &&
        (largest < 0 || slots_[v].bytes > slots_[largest].bytes))
      largest = v;
  short const i = is_step(largest) ? static_cast<short>(largest)
                                   : plan_.transfers[largest - plan_.steps.count].from;
  message text;
  text << "the temporaries of a plan, most of all those of step " << int(i) << " ("
       << plan_.steps[i].name << ")";
  return text;
}

LOCUS_FUNCTION int placing::root_of_value(int v) const {
  for (int k = 0; k < plan_.roots.count; ++k) {
    int const ends = value_of(plan_.roots[k]);
    if ((ends == v || slots_[ends].in_place_of == v) && slots_[v].is_result) return k;
  }
  return -1;
}

LOCUS_FUNCTION std::int64_t placing::offset_of(int v) const {
  occurrence const* const o =
      is_step(v) ? nullptr : find_occurrence(plan_.transfers[v - plan_.steps.count]);
  return slots_[o ? plan_.steps.count + o->memory : v].offset;
}

LOCUS_FUNCTION void placing::place_made(int v) {
  place const& where = place_of(v);
  int const k = root_of_value(v);
  bool const direct = k >= 0 && may_write_directly(v, k);
  std::int64_t const bytes =
      k >= 0 && !direct ? local_bytes(whole_of(v), source_of(v).element_bytes, where) : 0;
  for (int r = 0; r < where.count(); ++r) {
    if (direct) {
      value(v, r) = is_shape_of(v, k) ? targets_[k].locals[r]
                                      : dense_value(targets_[k].locals[r].data, whole_of(v), where,
                                                    r, a_.layouts[index(v, r)]);
      continue;
    }
    void* const data = k < 0 ? in_arena(where.at(r), offset_of(v))
                             : extra_memory(runtime::find_device(where.at(r)), bytes,
                                            "a result that overlaps with an operand");
    value(v, r) = dense_value(data, whole_of(v), where, r, a_.layouts[index(v, r)]);
  }
}

LOCUS_FUNCTION bool placing::keeps_memory(short v, short until) const {
  slot const& mine = slots_[v];
  if (mine.bytes == 0 || mine.is_result || until <= mine.last_read) return true;
  for (short o = 0; o < slots_.count; ++o) {
    slot const& other = slots_[o];
    if (o == v || other.bytes == 0 || other.is_result) continue;
    occurrence const* const shared =
        is_step(o) ? nullptr : find_occurrence(plan_.transfers[o - plan_.steps.count]);
    short const made = shared ? slots_[plan_.steps.count + shared->first].made : other.made;
    if (made <= mine.made || made > until) continue;
    std::int64_t const at = offset_of(o);
    if (at >= mine.offset + round_up(mine.bytes) || mine.offset >= at + round_up(other.bytes))
      continue;
    for (int r = 0; r < place_of(v).count(); ++r)
      if (place_of(o).devices.contains(place_of(v).at(r))) return false;
  }
  return true;
}

LOCUS_FUNCTION void placing::place_arrival(transfer const& me) {
  step const& s = plan_.steps[me.from];
  int const v = value_of(me), rank = extents_[me.from].rank;
  bool const result = slots_[v].is_result;
  auto keep = [&](int r, int source) { value(v, r) = value(me.from, source); };
  if (me.how == transfer_kind::slice) {
    for (int r = 0; r < me.arrives.count(); ++r)
      value(v, r) = piece_of(value(me.from, r), rank, me.arrives, r, extents_[me.from],
                             s.element_bytes, a_.layouts[index(v, r)]);
    return;
  }
  if (me.how == transfer_kind::first_replica && s.where.devices.contains(me.arrives.at(0)))
    return keep(0, s.where.devices.find(me.arrives.at(0)));
  if (slots_[v].in_place_of >= 0) {
    for (int r = 0; r < me.arrives.count(); ++r) keep(r, r);
    return;
  }
  // both sides are host memory and nobody writes what arrives: the value stays where it is, unless
  // a later one is to lie there
  bool const whole = me.how == transfer_kind::copy || me.how == transfer_kind::broadcast ||
                     me.how == transfer_kind::first_replica;
  bool const stays = s.where == me.arrives;  // an open device turned out to be the other one
  if (whole && !result && (stays || (all_on_host(s.where) && all_on_host(me.arrives))) &&
      keeps_memory(memory_of(plan_, me.from), slots_[v].last_read)) {
    for (int r = 0; r < me.arrives.count(); ++r) keep(r, 0);
    return;
  }
  place_made(v);
  local_value const& source = value(me.from, 0);
  if (!whole || result || is_dense(source, rank) || !is_block(source, rank)) return;
  for (int r = 0; r < me.arrives.count(); ++r)  // a block arrives with the strides it had
    for (int a = 0; a < rank; ++a) a_.layouts[index(v, r)].strides[a] = source.strides[a];
}

LOCUS_FUNCTION bool placing::reads_same_index(int v, short leaf) const {
  short const i = plan_.steps[v].region;
  step const& ends = plan_.steps[i];
  bool const in_place_call =
      ends.kind == step_kind::call && ends.call->rule.in_place && extents_[leaf] == extents_[v];
  if (ends.kind != step_kind::map && ends.kind != step_kind::reduce && !in_place_call) return false;
  bool const row = plan_.levels[v] != level::element;  // before it is written whole rows are read
  for (short k = 0; k < plan_.steps.count; ++k) {
    if (plan_.steps[k].region != i) continue;
    for (edge const& e : plan_.operands(plan_.steps[k])) {
      if (memory_of(plan_, e.from) != leaf) continue;
      if (e.from != leaf || e.by >= 0 || (plan_.levels[k] == level::row) != row ||
          plan_.steps[k].kind == step_kind::matmul)
        return false;
    }
  }
  return true;
}

LOCUS_FUNCTION short placing::last_read_of(short leaf) const {
  short last = slots_[leaf].last_read;
  for (transfer const& t :
       plan_.transfers)  // a copy may be skipped: then its readers read the leaf
    if (memory_of(plan_, t.from) == leaf && slots_[value_of(t)].last_read > last)
      last = slots_[value_of(t)].last_read;
  return last;
}

LOCUS_FUNCTION bool placing::read_by_call(int v) const {
  for (step const& s : plan_.steps)
    if (s.kind == step_kind::call)
      for (edge const& e : plan_.operands(s))
        if (value_of(e) == v || (e.by < 0 && memory_of(plan_, e.from) == v)) return true;
  return false;
}

LOCUS_FUNCTION bool placing::may_write_directly(int v, int k) const {
  target const& to = targets_[k];
  place const& where = place_of(v);
  if (!(where.devices == to.where.devices)) return false;
  bool const kernel_writes = to.extents == whole_of(v) && is_step(v) &&
                             plan_.steps[v].kind != step_kind::concatenate &&
                             plan_.steps[v].kind != step_kind::reshape &&
                             plan_.steps[v].kind != step_kind::call && !read_by_call(v);
  for (int r = 0; r < where.count() && !kernel_writes; ++r)
    if (!is_dense(to.locals[r], to.extents.rank)) return false;
  if (!p_.may_alias || to.no_alias || to.fresh) return true;
  for (short i = 0; i < plan_.steps.count; ++i)
    if (plan_.steps[i].kind == step_kind::leaf && !may_write_beside(v, to, i)) return false;
  return true;
}

LOCUS_FUNCTION bool placing::may_write_beside(int v, target const& to, short leaf) const {
  short const written = slots_[v].made, read = last_read_of(leaf);
  if (read < written) return true;
  for (int a = 0; a < plan_.steps[leaf].where.count(); ++a)
    for (int b = 0; b < place_of(v).count(); ++b) {
      overlap const found = overlap_with(to, v, b, leaf, a);
      if (found == overlap::none) continue;
      bool const in_place = found == overlap::same && to.extents == whole_of(v) &&
                            read == written && is_step(v) && reads_same_index(v, leaf);
      if (!in_place) return false;
    }
  return true;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

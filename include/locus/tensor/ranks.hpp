// SPDX-License-Identifier: Apache-2.0
// Functions of a program with ranks: the rows of this rank, the whole on rank 0, work that rank 0
// does for all.
#pragma once
#include <cstring>    // memcpy
#include <exception>  // exception_ptr
#include <string>     // string
#include <utility>    // exchange

#include <locus/collective/local.hpp>           // copy_local
#include <locus/collective/rank_functions.hpp>  // share_from_first
#include <locus/runtime/bytes_of_ranks.hpp>     // bytes_of_ranks
#include <locus/tensor/eval.hpp>                // Tensor

namespace locus {

namespace detail {

/// a tensor in pieces along axis 0, over ranks
template <class X>
concept rows_over_ranks = requires { typename X::is_tensor; } && X::where.is_sharded() &&
                          X::where.devices.is_over_ranks();

template <class X>
consteval bool require_rows() {
  constexpr bool ok = X::where.axis == 0;
  static_assert(ok, "locus: the rows of a rank are those of a tensor that is cut along axis 0; "
                    "write Sharded<0, Ranks<...>>");
  return ok;
}

/// means: copies the rows of the pieces of this rank, in order, to host memory or from there
template <class X>
void copy_rows(X& x, void* host_rows, bool to_host) {
  tensor_block const& b = *x.block.get();
  char* rows = static_cast<char*>(host_rows);
  for (int r = 0; r < b.where.local_count(); ++r) {
    piece const& p = b.pieces[r];
    auto const bytes = static_cast<std::int64_t>(p.bytes);
    if (to_host)
      internal::copy_local(cpu(0), rows, b.where.at(r), p.data, bytes, "the rows of a rank");
    else
      internal::copy_local(b.where.at(r), p.data, cpu(0), rows, bytes, "the rows of a rank");
    rows += bytes;
  }
}

[[noreturn, gnu::cold]] inline void refuse_rows(place const& at, std::int64_t rows,
                                                std::int64_t begin, std::int64_t end,
                                                std::int64_t own) {
  message text;
  throw shape_error(text << "locus: from_rows: rank " << runtime::this_rank.rank << " of "
                         << runtime::this_rank.ranks << " has " << own << " rows; of " << rows
                         << " rows over " << at << " it has those from " << begin << " to " << end
                         << ", and some rank has others; give each rank the rows of its piece");
}

/// means: the extents of the rows of all ranks together; before: the rows of the ranks before this one
/// fails: shape_error, on all ranks, where they differ in other extents than rows
inline shape rows_of_all(shape const& mine, std::int64_t& before) {
  if (!runtime::over_ranks) return mine;
  runtime::bytes_of_ranks told;
  auto const bytes = std::int64_t(mine.rank) * std::int64_t(sizeof(std::int64_t));
  runtime::over_ranks->gather("from_rows", mine.extent, bytes, told);
  shape all = mine;
  all.extent[0] = 0;
  int rank = 0;
  for (std::int64_t at = 0; at < std::int64_t(told.bytes.size()); at += bytes, ++rank) {
    shape one = mine;
    std::memcpy(one.extent, told.bytes.data() + at, std::size_t(bytes));
    if (rank == runtime::this_rank.rank) before = all.extent[0];
    std::int64_t const rows = std::exchange(one.extent[0], all.extent[0]);
    if (rank == 0)
      for (int a = 1; a < mine.rank; ++a) all.extent[a] = one.extent[a];
    if (!(one == all)) {
      message text;
      throw shape_error(text << "locus: from_rows: rows of rank " << rank
                             << " have other extents than those of rank 0; "
                             << "give parts that differ in rows alone");
    }
    all.extent[0] += rows;
  }
  return all;
}

}  // namespace detail

namespace ranks {

/// means: the number of this process among the ranks of the program, and how many there are; without
///        a carrier 0 and 1
inline int rank() { return runtime::this_rank.rank; }
inline int count() { return runtime::this_rank.ranks; }

/// means: the number of the first row that this rank has of a tensor over ranks
template <detail::rows_over_ranks X>
std::int64_t first_row(X const& x) {
  if constexpr (detail::require_rows<X>()) return x.block->where.piece_begin(x.extent(0), 0);
}

/// means: a copy of the rows that this rank has, on its host
/// shape: (rows of this rank, d1, d2, ...)
/// cost:  a copy of them; no traffic between ranks
template <detail::rows_over_ranks X>
auto rows(X const& x) {
  if constexpr (detail::require_rows<X>()) {
    place const& at = x.block->where;
    shape s = x.extents().as_shape();
    std::int64_t const n = s.extent[0];
    s.extent[0] = at.piece_begin(n, at.local_count()) - at.piece_begin(n, 0);
    Tensor<typename X::value_type, Dextents<X::rank()>> mine{Dextents<X::rank()>(s)};
    detail::copy_rows(x, mine.data(), true);
    return mine;
  }
}

/// means: a tensor over ranks whose rows are those that each rank has, in the order of the ranks
/// shape: (rows of all ranks, d1, d2, ...)
/// device: Rows, as in Sharded<0, Ranks<CpuDevice>>
/// cost:  a copy of the rows of this rank; the ranks tell each other their extents
/// fails: shape_error, on all ranks, where the numbers of rows are not those of the cut, or other extents differ
template <device_policy Rows, class T, class E>
Tensor<T, Dextents<E::rank()>, Rows> from_rows(Tensor<T, E, CpuDevice> const& mine) {
  using Whole = Tensor<T, Dextents<E::rank()>, Rows>;
  static_assert(detail::rows_over_ranks<Whole>,
                "locus: from_rows makes a tensor in pieces over ranks; write "
                "from_rows<Sharded<0, Ranks<CpuDevice>>>(mine)");
  if constexpr (detail::require_rows<Whole>()) {
    std::int64_t const own = mine.extent(0);
    std::int64_t before = 0;
    shape const s = detail::rows_of_all(mine.extents().as_shape(), before);
    Whole all{Dextents<E::rank()>(s)};
    place const& at = all.block->where;
    std::int64_t const begin = at.piece_begin(s.extent[0], 0),
                       end = at.piece_begin(s.extent[0], at.local_count());
    if (!internal::all_ranks_say(begin == before && end - begin == own))
      detail::refuse_rows(at, s.extent[0], begin, end, own);
    detail::copy_rows(all, const_cast<T*>(mine.data()), false);
    return all;
  }
}

/// means: every rank calls f, and all wait for it. Where f throws on a rank, that rank throws its
///        exception, and the others throw `error`
/// cost:  a vote
template <class F>
void on_each(F&& f) {
  std::exception_ptr thrown;
  try {
    f();
  } catch (...) {
    thrown = std::current_exception();
  }
  bool failed = true;
  try {
    failed = internal::some_rank_says(thrown != nullptr);
  } catch (...) {  // the ranks are not in step: why f failed says more
    if (!thrown) throw;
  }
  if (thrown) std::rethrow_exception(thrown);
  if (failed) throw error("locus: another rank failed at what all ranks do; its own line says why");
}

/// means: rank 0 calls f, and all ranks wait for it. An exception of f is thrown on rank 0; the
///        others throw `error` with its text
/// cost:  two messages to each rank
template <class F>
void on_first(F&& f) {
  std::exception_ptr thrown;
  std::string text;
  if (rank() == 0) try {
      f();
    } catch (std::exception const& e) {
      thrown = std::current_exception(), text = e.what();
    } catch (...) {
      thrown = std::current_exception();
    }
  if (thrown && text.empty()) text = "an exception without a text";
  auto length = static_cast<std::int64_t>(text.size());
  internal::share_from_first("on_first", &length, sizeof length);
  if (length > 0) {
    text.resize(static_cast<std::size_t>(length));
    internal::share_from_first("on_first", text.data(), length);
  }
  if (thrown) std::rethrow_exception(thrown);
  if (length > 0) {
    message said;
    std::string_view why = text;
    if (why.starts_with("locus: ")) why.remove_prefix(7);
    throw error(said << "locus: rank 0 failed for all ranks: " << why);
  }
}

}  // namespace ranks
}  // namespace locus

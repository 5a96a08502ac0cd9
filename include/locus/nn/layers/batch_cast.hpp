// SPDX-License-Identifier: Apache-2.0
// Batches in the form that models take: rows over the replicas, dynamic extents; and rows collected
// again.
#pragma once
#include <limits>   // numeric_limits
#include <utility>  // in_range

#include <locus/data/number_text.hpp>     // number_text
#include <locus/nn/layers/layer.hpp>      // batch_of
#include <locus/ops/arithmetic.hpp>       // cast
#include <locus/ops/math.hpp>             // maximum, minimum, trunc, where
#include <locus/tensor/eval.hpp>          // to
#include <locus/tensor/in_row_order.hpp>  // in_row_order
#include <locus/tensor/relabel.hpp>       // relabel
#include <locus/tensor/view.hpp>          // tensor_owner

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {
inline shape example_of(shape const& batch) {
  shape s{batch.rank - 1, {}};
  for (int a = 0; a < s.rank; ++a) s.extent[a] = batch.extent[a + 1];
  return s;
}
inline shape with_rows(shape const& example, std::int64_t rows) {
  shape s{example.rank + 1, {rows}};
  for (int a = 0; a < example.rank; ++a) s.extent[a + 1] = example.extent[a];
  return s;
}
/// fails: shape_error, if the examples of a batch do not have the extents that a model takes
inline void require_examples(shape const& batch, shape const& takes) {
  if (example_of(batch) == takes) return;
  message text;
  throw shape_error(text << "locus: a batch with extents " << batch << " holds examples of "
                         << example_of(batch) << ", and the model takes " << takes
                         << "; reshape the data, or name its extents in nn::Input");
}
/// copies `bytes` bytes on the host
inline void copy_bytes(void* to, void const* from, std::int64_t bytes) {
  if (bytes > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}
template <class T, int Rank>
Tensor<T, Dextents<Rank>, CpuDevice> zero_array(shape const& s) {
  Tensor<T, Dextents<Rank>, CpuDevice> r{Dextents<Rank>(s)};
  for (std::int64_t i = 0; i < r.size(); ++i) r.data()[i] = T(0);
  return r;
}

/// some V is no T, and T are integers
template <class T, class V>
constexpr bool narrows = is_integer_v<T> && !std::is_same_v<V, bool> &&
                         (!is_integer_v<V> || sizeof(V) > sizeof(T) ||
                          (sizeof(V) == sizeof(T) && std::is_signed_v<V> != std::is_signed_v<T>));
/// v is a T
template <class T, class V>
bool is_whole(V v) {
  if constexpr (is_integer_v<V>)
    return std::in_range<T>(v);
  else {
    using limits = std::numeric_limits<T>;
    auto const d = static_cast<double>(v);
    return d >= double((limits::min)()) && d < double((limits::max)()) + 1 &&
           double(static_cast<T>(d)) == d;
  }
}
template <class V>
[[noreturn, gnu::cold]] void refuse_value(std::int64_t row, V v, int bits) {
  message text;
  throw shape_error(text << "locus: row " << row << " of a batch holds "
                         << locus::internal::number_text(v).view()
                         << ", and the model reads whole numbers of " << bits
                         << " bits; drop the record, or map it to such numbers");
}
/// means: x as T; an integer that is no T becomes the closest one, and any other number that is no T
///        -1: these are no tokens and no classes, and the kernel that reads them refuses them
template <class T, class X>
auto as_whole(X const& x) {
  using V = typename X::value_type;
  using limits = std::numeric_limits<T>;
  if constexpr (!narrows<T, V>)
    return cast<T>(x);
  else if constexpr (is_integer_v<V>) {
    constexpr V low = std::in_range<V>((limits::min)()) ? static_cast<V>((limits::min)()) : V(0),
                high = std::in_range<V>((limits::max)()) ? static_cast<V>((limits::max)())
                                                         : (std::numeric_limits<V>::max)();
    return cast<T>(maximum(minimum(x, high), low));
  } else {
    auto const v = cast<double>(x);  // which each integer of 32 bits is, too
    auto const inside = minimum(maximum(v, double((limits::min)())), double((limits::max)()));
    return cast<T>(where(trunc(v) == inside, inside, -1.));
  }
}
}  // namespace detail

/// means: x as batch_of<T, Rank, Replicas>
/// cost:  nothing if x is a tensor with that element type and those devices; otherwise a copy to the
///        replicas
/// fails: at compile time, if x has another rank; shape_error, where T are integers, for a value on
///        the host that is no T
template <class T, int Rank, class Replicas, class X>
batch_of<T, Rank, Replicas> batch_as(X const& x) {
  using To = batch_of<T, Rank, Replicas>;
  static_assert(X::rank() == Rank,
                "locus: a batch has another number of axes than the model takes: one for the rows, "
                "then those of nn::Input; reshape the data or name another Input");
  shape const s = x.extents().as_shape();
  if constexpr (!tensor_owner<X>)
    return batch_as<T, Rank, Replicas>(
        Tensor<typename X::value_type, Dextents<Rank>, typename X::policy>(x));
  else if constexpr (!std::is_same_v<typename X::value_type, T>) {
    if constexpr (std::is_same_v<typename X::policy, CpuDevice>) {
      Tensor<T, Dextents<Rank>, CpuDevice> converted{Dextents<Rank>(s)};
      for (std::int64_t i = 0; i < x.size(); ++i) {
        auto const v = x.data()[i];
        if constexpr (detail::narrows<T, typename X::value_type>)
          if (!detail::is_whole<T>(v))
            detail::refuse_value(i / (x.size() / s.extent[0]), v, 8 * int(sizeof(T)));
        converted.data()[i] = static_cast<T>(v);
      }
      return batch_as<T, Rank, Replicas>(converted);
    } else
      return To(detail::as_whole<T>(x));
  } else if constexpr (std::is_same_v<typename X::policy, typename To::policy>)
    return locus::internal::relabel<To>(x, s);
  else {
    To r{Dextents<Rank>(s)};
    locus::internal::move_block(*x.block.get(), *r.block.get());
    return r;
  }
}

/// means: rows [begin, end) of a tensor on the host
template <class X>
auto rows_of(X const& x, std::int64_t begin, std::int64_t end) {
  static_assert(
      std::is_same_v<typename X::policy, CpuDevice>,
      "locus: arrays are cut into batches on the host; write fetch(x), or give the model a "
      "batch itself");
  using T = typename X::value_type;
  shape s = x.extents().as_shape();
  std::int64_t const row = s.extent[0] ? s.size() / s.extent[0] : 0;
  s.extent[0] = end - begin;
  Tensor<T, Dextents<X::rank()>, CpuDevice> r{Dextents<X::rank()>(s)};
  decltype(auto) all = locus::internal::in_row_order(x);
  detail::copy_bytes(r.data(), all.data() + begin * row, s.size() * std::int64_t(sizeof(T)));
  return r;
}

/// means: f(batch) for the rows of x, n at a time, in order
template <class X, class F>
void for_each_slice(X const& x, std::int64_t n, F&& f) {
  if (n < 1) {
    message text;
    throw configuration_error(text << "locus: the batch size is " << n
                                   << "; write a positive number");
  }
  decltype(auto) all = locus::internal::in_row_order(x);
  for (std::int64_t i = 0; i < x.extent(0); i += n)
    f(rows_of(all, i, i + n < x.extent(0) ? i + n : x.extent(0)));
}

/// means: collects the rows of batches in one tensor on the host
template <class T, int Rank>
class rows_collector {
 public:
  using tensor = Tensor<T, Dextents<Rank>, CpuDevice>;
  rows_collector(shape const& example, std::int64_t rows)
      : all_(Dextents<Rank>(detail::with_rows(example, rows))), row_(example.size()) {}
  template <class Batch>
  void add(Batch const& b) {
    std::int64_t const rows = b.extent(0);
    if (at_ + rows > all_.extent(0)) grow(at_ + rows);
    tensor part{b.extents()};
    locus::internal::move_block(*b.block.get(), *part.block.get());
    detail::copy_bytes(all_.data() + at_ * row_, part.data(),
                       rows * row_ * std::int64_t(sizeof(T)));
    at_ += rows;
  }
  tensor take() {
    if (at_ == all_.extent(0)) return std::move(all_);
    return rows_of(all_, 0, at_);
  }

 private:
  void grow(std::int64_t rows) {
    std::int64_t const more = rows > 2 * all_.extent(0) ? rows : 2 * all_.extent(0);
    shape s = all_.extents().as_shape();
    s.extent[0] = more;
    tensor next{Dextents<Rank>(s)};
    detail::copy_bytes(next.data(), all_.data(), at_ * row_ * std::int64_t(sizeof(T)));
    all_ = std::move(next);
  }
  tensor all_;
  std::int64_t row_, at_ = 0;
};

}  // namespace locus::nn

LOCUS_COLD_END

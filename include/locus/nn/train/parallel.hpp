// SPDX-License-Identifier: Apache-2.0
// A function of a batch on several devices, as in torch.nn.DataParallel and Keras' multi_gpu_model:
// rows are split, each device runs the function, results are joined. A training does not need it:
// compile<Mirrored<...>> derives all exchanges, with exact weights.
#pragma once
#include <string>  // string

#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/strategy.hpp>  // strategy/gathered

namespace locus::nn {

/// Rows [begin, begin + size) of a batch.
struct row_range {
  std::int64_t begin = 0, size = 0;
  friend bool operator==(row_range, row_range) = default;
};
/// means: ceil(b / n) rows for each device until no rows are left; devices without rows are not
///        used
/// after: torch.chunk
LOCUS_FUNCTION std::vector<row_range> split_as_torch(std::int64_t rows, int devices);
/// means: floor(b / n) rows for each device; the last one also has the rest
/// after: keras.utils.multi_gpu_model
LOCUS_FUNCTION std::vector<row_range> split_as_keras(std::int64_t rows, int devices);
using split_function = std::vector<row_range> (*)(std::int64_t rows, int devices);

namespace detail {

LOCUS_FUNCTION std::string names_of(device_list const& all);
/// means: the result of a function stays valid after its local tensors have died
template <class Result>
consteval bool require_own_result() {
  constexpr bool owns = !locus::internal::any_leaf<Result, locus::internal::is_borrowing>();
  static_assert(owns,
                "locus: a function of DataParallel returns an expression that borrows a tensor, "
                "which may be dead by then; move the tensor into the expression, as in return "
                "std::move(t) * 2.f");
  return owns;
}
/// means: the view of a tensor that a function gets; the tensor lives until the results are
///        computed
template <class T, class E, class Device>
auto seen(Tensor<T, E, Device> const& x) {
  return locus::internal::view_of_piece<Device, T, E::rank()>(*x.block.get(), 0);
}
/// means: a copy of `rows` of x on a device
template <class Device, class X>
auto rows_on(X const& x, device at, row_range rows) {
  using T = typename X::value_type;
  static_assert(
      X::where.is_single(),
      "locus: what DataParallel splits lies on one device; use compile<Mirrored<...>> for "
      "tensors over replicas");
  locus::internal::local_part from = locus::internal::part_of_block(*x.block.get());
  std::int64_t const row = from.extents.extent[0] ? from.size() / from.extents.extent[0] : 0;
  from.extents.extent[0] = rows.size;
  Tensor<T, Dextents<X::rank()>, Device> part(at, Dextents<X::rank()>(from.extents));
  auto const bytes = static_cast<std::int64_t>(sizeof(T));
  locus::internal::copy_local(at, part.data(), from.at,
                              static_cast<T*>(from.data) + rows.begin * row,
                              rows.size * row * bytes, "scatter");
  return part;
}
template <class Device, class W>
auto parameter_on(W const& w, device at) {
  shape const s = w.extents().as_shape();
  Tensor<typename W::value_type, Dextents<W::rank()>, Device> copy(at, Dextents<W::rank()>(s));
  locus::internal::local_part const from = locus::internal::part_of_block(*w.block.get());
  locus::internal::copy_local(at, copy.data(), from.at, from.data,
                              s.size() * std::int64_t(sizeof(typename W::value_type)), "replicate");
  return copy;
}
/// means: the rows of all parts on one device; numbers become a row
template <class X>
auto joined_on(device at, per_replica<X> const& parts) {
  if constexpr (number<X>) {
    return locus::internal::gathered(parts, 0);
  } else {
    using T = typename X::value_type;
    constexpr int rank = X::extents_type::rank() ? X::extents_type::rank() : 1;
    locus::internal::local_parts of = locus::internal::parts_of_value(parts);
    for (int r = 0; r < of.count; ++r)
      if (of.of[r].extents.rank == 0) of.of[r].extents = {1, {1}};
    shape all = of.of[0].extents;
    all.extent[0] = 0;
    for (int r = 0; r < of.count; ++r) all.extent[0] += of.of[r].extents.extent[0];
    locus::internal::require_rows(of, all, "gather");
    block_owner out = locus::internal::make_storage(single(at), all, element_of_v<T>, sizeof(T));
    locus::internal::copy_rows(of, locus::internal::part_of_block(*out.get()), sizeof(T), true,
                               "gather");
    Tensor<T, Dextents<rank>, CpuDevice> unused{
        typename Tensor<T, Dextents<rank>, CpuDevice>::unmade{}};
    unused.block = std::move(out);
    return AnyTensor<T, Dextents<rank>>(std::move(unused));
  }
}

}  // namespace detail

/// means: y = parallel(x, parameters...): splits the rows of x, runs f(rows, parameters...) on each
///        device, and joins the results along axis 0; each leaf of a structure by itself
/// device: f gets views on its device; results are AnyTensors on the first device, or on the CPU
///        (merge_on_cpu)
/// cost:  each call copies rows and parameters to the devices, as torch does
/// fails: replica_error naming the device whose f threw; placement_error for a parameter that is
///        not on the first device; at compile time, if f returns an expression that borrows its own
///        tensor
template <class F, device_kind Kind>
class Parallel {
 public:
  using Device = std::conditional_t<Kind == device_kind::gpu, GpuDevice<dyn>, Cpu<dyn>>;
  Parallel(F f, device_list const& devices, split_function split, bool merge_on_cpu)
      : f_(std::move(f)), devices_(devices), split_(split), merge_on_cpu_(merge_on_cpu) {}
  device_list const& devices() const { return devices_; }

  template <class X, class... W>
  auto operator()(X const& x, W const&... parameters) const {
    (require_home(parameters), ...);
    std::vector<row_range> const pieces = split_(x.extent(0), devices_.size());
    device_list used;
    for (std::size_t r = 0; r < pieces.size(); ++r) used.push(devices_[int(r)]);
    bool side_by_side = true;
    for (int r = 0; r < used.size(); ++r)
      side_by_side = side_by_side && !runtime::find_device(used[r]).is_host();
    locus::internal::replica_team team(used, side_by_side);
    auto run = [&](int r) {
      locus::internal::replica_scope const inside(1);
      replica_context<Device> c(team, r);
      device const at = used[r];
      auto const rows = detail::rows_on<Device>(x, at, pieces[std::size_t(r)]);
      auto const own = std::make_tuple(detail::parameter_on<Device>(parameters, at)...);
      auto result = std::apply(
          [&](auto const&... w) { return f_(detail::seen(rows), detail::seen(w)...); }, own);
      if constexpr (detail::require_own_result<decltype(result)>())
        return locus::internal::map_leaves(result, locus::internal::carrier<Device>{c});
    };
    using Result = decltype(run(0));
    std::optional<Result> results[max_devices];
    team.run([&](int r) { results[r].emplace(run(r)); });
    std::vector<Result*> all;
    for (int r = 0; r < used.size(); ++r) all.push_back(&*results[r]);
    auto grouped = locus::internal::regroup(all);
    device const home = merge_on_cpu_ ? cpu(0) : devices_[0];
    return locus::internal::map_leaves(
        grouped, [&](auto const& leaf) { return detail::joined_on(home, leaf); });
  }

 private:
  template <class W>
  void require_home(W const& w) const {
    device const at = w.block.get()->where.at(0);
    if (w.block.get()->where.is_single() && (at == devices_[0] || merge_on_cpu_)) return;
    message text;
    throw placement_error(text << "locus: the parameters of DataParallel lie on its first device, "
                               << devices_[0] << ", and one lies on " << at
                               << "; bring it there with to<...>(w)");
  }
  F f_;
  device_list devices_;
  split_function split_;
  bool merge_on_cpu_;
};

/// means: f on the devices of the type: nn::DataParallel<GpuDevice<0>, GpuDevice<1>>(f)
/// after: torch.nn.DataParallel, with its split; gradients are those of the joined result
template <single_device... Devices, class F>
  requires(sizeof...(Devices) > 0)
auto DataParallel(F f) {
  constexpr device_list all = Mirrored<Devices...>::value.devices;
  constexpr device_kind kind = all[0].kind();
  static_assert(
      ((Devices::value.at(0).kind() == kind) && ...),
      "locus: the devices of DataParallel are of one kind; name GPUs alone, or CPUs alone");
  return Parallel<F, kind>(std::move(f), all, split_as_torch, false);
}
/// means: f on the GPUs of these ordinals; without ordinals, on all visible GPUs
/// fails: unknown_device for an ordinal that does not exist, or occurs twice
template <class F>
auto DataParallel(F f, std::vector<int> ids = {}) {
  int const there = config::count_logical_gpus();
  device_list all;
  if (ids.empty())
    for (int k = 0; k < there && k < max_devices; ++k) ids.push_back(k);
  for (int const id : ids) {
    bool const known = id >= 0 && id < there && !all.contains(gpu(id)) && all.size() < max_devices;
    if (known) {
      all.push(gpu(id));
      continue;
    }
    message text;
    throw unknown_device(text << "locus: DataParallel was given GPU " << id << ", and there are "
                              << there << " GPUs, each once; name some of them, 8 at most");
  }
  if (all.size() == 0)
    throw unknown_device(
        "locus: DataParallel found no GPU; name CPUs, as in DataParallel<Cpu<0>, Cpu<1>>(f)");
  return Parallel<F, device_kind::gpu>(std::move(f), all, split_as_torch, false);
}

/// means: f on the first N GPUs; results are joined on the CPU, or on the first GPU
/// fails: unknown_device, if there are fewer GPUs
/// after: keras.utils.multi_gpu_model(model, gpus, cpu_merge), with its split: 10 rows on 4 GPUs
///        are 2 2 2 4
template <int N, class F>
auto multi_gpu_model(F f, bool merge_on_cpu = true) {
  static_assert(N >= 2 && N <= max_devices,
                "locus: multi_gpu_model is for 2 to 8 GPUs; call the function itself on one");
  int const there = config::count_logical_gpus();
  if (there < N) {
    message text;
    throw unknown_device(text << "locus: multi_gpu_model<" << N << "> needs /GPU:0 to /GPU:"
                              << N - 1 << ", and there are " << there << " GPUs; name fewer");
  }
  device_list all;
  for (int k = 0; k < N; ++k) all.push(gpu(k));
  return Parallel<F, device_kind::gpu>(std::move(f), all, split_as_keras, merge_on_cpu);
}

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/parallel.hpp>  // bodies of the functions above
#endif

// SPDX-License-Identifier: Apache-2.0
// A step as costs, out of the plans that a run of it makes: for open extents, and for training.
#pragma once
#include <locus/predict/step.hpp>  // step_list, step_counter
#include <locus/run/report.hpp>    // plan_listener

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// means: a listener that counts every plan of its thread
class step_watch : public internal::plan_listener {
 public:
  void ran(plan_run const& run) override;
  /// means: the step, each update behind all reductions
  step_list take();

 private:
  step_list first_, updates_;
};

inline void step_watch::ran(plan_run const& run) {
  plan_view p = run.plan;  // copies of what the counter changes
  std::vector<step> steps(p.steps.begin(), p.steps.end());
  std::vector<transfer> transfers(p.transfers.begin(), p.transfers.end());
  p.steps.first = steps.data(), p.transfers.first = transfers.data();
  std::vector<step_part> parts(std::size_t(p.actions.count) + 1);
  internal::step_counter counter(p, run.extents);
  int const count = counter.run(parts.data());
  bool const updates = count > 0 && parts[0].kind == part_kind::update;
  (updates ? updates_ : first_)
      .append({parts.data(), count, counter.rows(), counter.is_over_replicas()});
}

inline step_list step_watch::take() {
  step_list all = std::move(first_);
  all.append(updates_.view());
  return all;
}

}  // namespace detail

/// means: the costs of what f() runs: step_of_run([&] { trainer.train_on_batch(x, y); }).
///        Kernels that update weights come last, behind every reduction, as they do with several
///        replicas
/// shape: rows that are cut over replicas count as rows of the step; predict takes more or fewer
/// device: any; the step may run on one CPU, with a list such as AllGpus or Ranks<CpuDevice>, and
///         with few rows
/// cost:  one run of f
template <class F>
step_list step_of_run(F&& f) {
  detail::step_watch watch;
  f();
  return watch.take();
}

}  // namespace locus

LOCUS_COLD_END

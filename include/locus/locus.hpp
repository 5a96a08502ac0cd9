// SPDX-License-Identifier: Apache-2.0
// All of locus for a host compiler. In a unit of nvcc include <locus/cuda.cuh> instead.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions: asked before anything else
#if defined(LOCUS_REQUIRE_CUDA) && !(defined(LOCUS_CUDA_KERNELS) && LOCUS_CUDA_KERNELS)
#error \
    "locus: LOCUS_REQUIRE_CUDA is set and this unit makes no kernels; compile it with nvcc and <locus/cuda.cuh>"
#endif
#include <locus/collective/error.hpp>  // collective_error
#include <locus/config/details.hpp>    // config::get_device_details, versions
#include <locus/config/listing.hpp>    // config::list_physical_devices ...
#include <locus/config/logical.hpp>    // config::set_logical_devices, set_memory_growth, 1_GiB
#include <locus/config/memory.hpp>     // config::get_memory_info, reset_memory_stats
#include <locus/config/memory_resource.hpp>  // config::set_memory_resource
#include <locus/config/print.hpp>            // print_devices
#include <locus/config/session.hpp>          // config::apply(session_options)
#include <locus/config/settings.hpp>         // config::set_soft_device_placement ...
#include <locus/config/visible.hpp>          // config::set_visible_devices
#include <locus/core/version.hpp>            // LOCUS_VERSION_MAJOR, version_text
#include <locus/device/named.hpp>            // MirroredOn, ShardedOn
#include <locus/expr/let.hpp>                // let, named
#include <locus/machine/start_watching.hpp>  // debugging::start_trace
#include <locus/ops/all_reduce.hpp>          // all_reduce
#include <locus/ops/at.hpp>                  // at, row_at, column_at
#include <locus/ops/call.hpp>                // call, result
#include <locus/ops/concatenate.hpp>         // concatenate
#include <locus/ops/generators.hpp>          // zeros, iota, uniform, normal ...
#include <locus/ops/math.hpp>                // exp, relu, where, cast ...
#include <locus/ops/matmul.hpp>              // matmul
#include <locus/ops/on.hpp>                  // on, strict
#include <locus/ops/one_hot.hpp>             // one_hot
#include <locus/ops/reduce.hpp>              // sum, mean, max, argmax ...
#include <locus/ops/softmax.hpp>             // softmax, log_softmax
#include <locus/ops/views.hpp>               // transpose, reshape, slice
#include <locus/ops/windows.hpp>             // interior
#include <locus/plan/plan.hpp>               // plan_of, device_of
#include <locus/plan/show/types.hpp>         // plan_types
#include <locus/tensor/assign.hpp>           // into, plan, run
#include <locus/tensor/assign_part.hpp>      // slice(x, r) = e
#include <locus/tensor/collective.hpp>       // collective::all_reduce ...
#include <locus/tensor/compare.hpp>          // equal, all_close
#include <locus/tensor/eval.hpp>             // eval, fetch, to
#include <locus/tensor/explain.hpp>          // explain, why
#include <locus/tensor/instantiate.hpp>      // LOCUS_INSTANTIATE
#include <locus/tensor/on_stream.hpp>        // on_stream, use_stream
#include <locus/tensor/print.hpp>            // <<
#include <locus/tensor/rows_over.hpp>        // rows_over, global_batch
#include <locus/tensor/synchronize.hpp>      // synchronize
#include <locus/tensor/tensor.hpp>           // Tensor
#include <locus/tensor/view.hpp>             // view
#include <locus/tensor/with_device.hpp>      // with_device
// last: otherwise each == between enumerators of the headers above would try these operators
#include <locus/ops/arithmetic.hpp>  // + - * / == < && ...

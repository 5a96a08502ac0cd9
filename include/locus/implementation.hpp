// SPDX-License-Identifier: Apache-2.0
// Every body of the core that units with LOCUS_COMPILED leave out. One unit of a program, or the library
// locus::runtime, defines LOCUS_IMPLEMENTATION and includes this header; nn/implementation.hpp has the bodies of
// layers, data and strategies.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions
#if !defined(LOCUS_IMPLEMENTATION)
#error \
    "locus: <locus/implementation.hpp> gives the bodies of a compiled run time; define LOCUS_IMPLEMENTATION before the first include of one unit"
#endif
#include <locus/backend/bodies/communication.hpp>        // backend/communication
#include <locus/backend/bodies/copy_cache.hpp>           // backend/copy_cache
#include <locus/backend/bodies/devices.hpp>              // backend/devices
#include <locus/backend/bodies/gpus.hpp>                 // backend/gpus
#include <locus/backend/bodies/lack_of_memory.hpp>       // backend/lack_of_memory
#include <locus/backend/bodies/memory.hpp>               // backend/memory
#include <locus/backend/bodies/pinned.hpp>               // backend/pinned
#include <locus/backend/bodies/pool.hpp>                 // backend/pool
#include <locus/backend/bodies/queues.hpp>               // backend/queues
#include <locus/backend/bodies/resource.hpp>             // backend/resource
#include <locus/backend/bodies/staging.hpp>              // backend/staging
#include <locus/backend/bodies/work_scope.hpp>           // backend/work_scope
#include <locus/backend/cuda/bodies/convolutions.hpp>    // backend/cuda/convolutions
#include <locus/backend/cuda/bodies/guest.hpp>           // backend/cuda/guest
#include <locus/backend/cuda/bodies/loss.hpp>            // backend/cuda/loss
#include <locus/backend/cuda/bodies/open_library.hpp>    // backend/cuda/open_library
#include <locus/backend/cuda/bodies/peers.hpp>           // backend/cuda/peers
#include <locus/backend/cuda/bodies/products.hpp>        // backend/cuda/products
#include <locus/backend/cuda/bodies/queue.hpp>           // backend/cuda/queue
#include <locus/backend/cuda/bodies/real_cublas.hpp>     // backend/cuda/real_cublas
#include <locus/backend/cuda/bodies/real_cublaslt.hpp>   // backend/cuda/real_cublaslt
#include <locus/backend/cuda/bodies/real_cudnn.hpp>      // backend/cuda/real_cudnn
#include <locus/backend/cuda/bodies/real_nccl.hpp>       // backend/cuda/real_nccl
#include <locus/backend/cuda/bodies/round_trip.hpp>      // backend/cuda/round_trip
#include <locus/backend/cuda/bodies/streams.hpp>         // backend/cuda/streams
#include <locus/backend/cuda/bodies/timing.hpp>          // backend/cuda/timing
#include <locus/backend/host/bodies/cblas.hpp>           // backend/host/cblas
#include <locus/backend/simulated/bodies/arena.hpp>      // backend/simulated/arena
#include <locus/backend/simulated/bodies/fake_nccl.hpp>  // backend/simulated/fake_nccl
#include <locus/backend/simulated/bodies/machine.hpp>    // backend/simulated/machine
#include <locus/collective/bodies/communicators.hpp>     // collective/communicators
#include <locus/collective/bodies/group.hpp>             // collective/group
#include <locus/collective/bodies/local.hpp>             // collective/local
#include <locus/collective/bodies/rebuild.hpp>           // collective/rebuild
#include <locus/collective/bodies/reduce.hpp>            // collective/reduce
#include <locus/collective/bodies/topology.hpp>          // collective/topology
#include <locus/config/bodies/details.hpp>               // config/details
#include <locus/config/bodies/listing.hpp>               // config/listing
#include <locus/config/bodies/logical.hpp>               // config/logical
#include <locus/config/bodies/memory.hpp>                // config/memory
#include <locus/config/bodies/names.hpp>                 // config/names
#include <locus/config/bodies/print.hpp>                 // config/print
#include <locus/config/bodies/session.hpp>               // config/session
#include <locus/config/bodies/visible.hpp>               // config/visible
#include <locus/core/bodies/json.hpp>                    // core/json
#include <locus/core/bodies/text_pool.hpp>               // core/text_pool
#include <locus/engine/gpu/bodies/algorithm.hpp>         // engine/gpu/algorithm
#include <locus/engine/gpu/bodies/convolution.hpp>       // engine/gpu/convolution
#include <locus/engine/gpu/bodies/product.hpp>           // engine/gpu/product
#include <locus/execute/bodies/implicit_copies.hpp>      // execute/implicit_copies
#include <locus/execute/bodies/log.hpp>                  // execute/log
#include <locus/execute/bodies/occurrences.hpp>          // execute/occurrences
#include <locus/execute/bodies/report.hpp>               // execute/report
#include <locus/execute/bodies/requests.hpp>             // execute/requests
#include <locus/execute/bodies/same_bytes.hpp>           // execute/same_bytes
#include <locus/execute/bodies/spans.hpp>                // execute/spans
#include <locus/execute/bodies/values.hpp>               // execute/values
#include <locus/expr/bodies/block.hpp>                   // expr/block
#include <locus/expr/bodies/builder.hpp>                 // expr/builder
#include <locus/plan/bodies/infer.hpp>                   // plan/infer
#include <locus/runtime/bodies/allocation_log.hpp>       // runtime/allocation_log
#include <locus/runtime/bodies/at_end.hpp>               // runtime/at_end
#include <locus/runtime/bodies/atomic_file.hpp>          // runtime/atomic_file
#include <locus/runtime/bodies/growth.hpp>               // runtime/growth
#include <locus/runtime/bodies/host_memory.hpp>          // runtime/host_memory
#include <locus/runtime/bodies/input_file.hpp>           // runtime/input_file
#include <locus/runtime/bodies/kernel_registry.hpp>      // runtime/kernel_registry
#include <locus/runtime/bodies/log.hpp>                  // runtime/log
#include <locus/runtime/bodies/log_event.hpp>            // runtime/log_event
#include <locus/runtime/bodies/one_table.hpp>            // runtime/one_table
#include <locus/runtime/bodies/output_file.hpp>          // runtime/output_file
#include <locus/runtime/bodies/physical.hpp>             // runtime/physical
#include <locus/runtime/bodies/processors.hpp>           // runtime/processors
#include <locus/runtime/bodies/region_bins.hpp>          // runtime/region_bins
#include <locus/runtime/bodies/regions.hpp>              // runtime/regions
#include <locus/runtime/bodies/thread_pool.hpp>          // runtime/thread_pool
#include <locus/runtime/bodies/trace.hpp>                // runtime/trace
#include <locus/runtime/bodies/trace_file.hpp>           // runtime/trace_file
#include <locus/runtime/bodies/variables.hpp>            // runtime/variables
#include <locus/runtime/bodies/visible_variable.hpp>     // runtime/visible_variable
#include <locus/runtime/bodies/watch_variables.hpp>      // runtime/watch_variables
#include <locus/tensor/bodies/copies.hpp>                // tensor/copies
#include <locus/tensor/bodies/file.hpp>                  // tensor/file
#include <locus/tensor/bodies/print.hpp>                 // tensor/print
#include <locus/tensor/bodies/relabel.hpp>               // tensor/relabel
#include <locus/tensor/bodies/storage.hpp>               // tensor/storage
#include <locus/testing/bodies/device_scope.hpp>         // testing/device_scope
#include <locus/testing/bodies/nccl_recorder.hpp>        // testing/nccl_recorder
#include <locus/testing/bodies/recorder.hpp>             // testing/recorder

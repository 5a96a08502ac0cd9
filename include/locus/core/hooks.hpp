// SPDX-License-Identifier: Apache-2.0
// Calls upwards: a higher header sets each of these pointers, a lower header calls it. All such
// pointers stand here; a new one needs a reason in decisions/37-calls-upwards.md. Each is null
// until it is set.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

/// means: a package on top of the core, and its version
struct package_version {
  std::string_view name, version;
};

struct gpu_part;       // machine/machine_functions.hpp
struct statement_run;  // run/statement.hpp

namespace runtime {

struct copy_cache_functions;  // memory/kept_copies_limit.hpp
struct cuda_api;              // runtime/cuda_api.hpp
struct nccl_api;              // runtime/nccl_api.hpp
struct rank_functions;        // collective/rank_functions.hpp
struct rank_queue_functions;  // runtime/rank_queue.hpp

using hook = void (*)();
using statement_loop = void (*)(statement_run const&);

/// set by: backend/gpus.hpp, before main, in each unit that names a GPU
/// called: when the device table is built or ends, and for copies that a queue of a GPU carries
LOCUS_SHARED_STATE inline constinit gpu_part const* gpus_of_program = nullptr;

/// set by: backend/cuda/real_api.cuh, before main, in a unit of nvcc; testing::recorder during its
///         lifetime
/// called: for each call of CUDA, cuBLAS and cuDNN
LOCUS_SHARED_STATE inline constinit cuda_api const* gpu_api = nullptr;
/// set by: as gpu_api; also testing::nccl_recorder during its lifetime
/// called: for collectives of CUDA's cards, real or recorded
LOCUS_SHARED_STATE inline constinit nccl_api const* nccl = nullptr;

/// set by: collective/communicators.hpp, with the first communicators
/// called: before the device table changes or ends; ends all communicators
LOCUS_SHARED_STATE inline constinit hook forget_communicators = nullptr;
/// set by: collective/communicators.hpp, with the first communicators
/// called: by a thread that waits for a queue of CUDA; throws the error of a collective that failed
///         in the meantime
LOCUS_SHARED_STATE inline constinit hook collective_report = nullptr;

/// set by: a carrier that joins processes (locus/mpi.hpp, testing/ranks.hpp), while it does
/// called: for transfers and folds between the ranks of a program
LOCUS_SHARED_STATE inline constinit rank_functions const* over_ranks = nullptr;
/// set by: collective/rank_queue.hpp, while a thread carries reductions between ranks
/// called: by waits for one of them, and by spans of a trace around one
LOCUS_SHARED_STATE inline constinit rank_queue_functions const* between_ranks = nullptr;

/// set by: memory/kept_copies.hpp, when kept copies are switched on
/// called: before a write to bytes that may have a kept copy, and when an allocation lacks memory
LOCUS_SHARED_STATE inline constinit copy_cache_functions const* kept_copy_functions = nullptr;

/// set by: run/statement_loop.hpp, where a unit makes a tensor or a view; [0]: by unchecked units,
///         [1]: by checked units
/// called: for a local statement that needs the run-time loop: a log, a temporary, an error
LOCUS_SHARED_STATE inline constinit statement_loop statement_loops[2] = {};

}  // namespace runtime

/// set by: nn/version.hpp, before main, in a program that uses the training package
/// called: for the versions in a trace
LOCUS_SHARED_STATE inline constinit package_version const* package_of_program = nullptr;

}  // namespace locus

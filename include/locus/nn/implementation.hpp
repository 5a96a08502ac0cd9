// SPDX-License-Identifier: Apache-2.0
// Every body of data/, strategy/ and nn/ that units with LOCUS_COMPILED leave out, and those of the
// core, which LOCUS_IMPLEMENTATION 2 leaves out. Reading .gz needs zlib.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_GIVES_BODIES, LOCUS_HAS_TRAINING_BODIES
#if !LOCUS_GIVES_BODIES || !LOCUS_HAS_TRAINING_BODIES
#error \
    "locus: <locus/nn/implementation.hpp> gives the bodies of a compiled run time; define LOCUS_IMPLEMENTATION before the first include of one unit"
#endif
#if LOCUS_HAS_BODIES
#include <locus/implementation.hpp>  // the bodies of the core
#endif
#include <locus/data/bodies/batch.hpp>                // data/batch
#include <locus/data/bodies/replicas.hpp>             // data/replicas
#include <locus/data/bodies/stage.hpp>                // data/stage
#include <locus/data/bodies/waiting.hpp>              // data/waiting
#include <locus/files/bodies/gzip_file.hpp>           // files/gzip_file
#include <locus/files/bodies/idx.hpp>                 // files/idx
#include <locus/files/bodies/npy.hpp>                 // files/npy
#include <locus/files/bodies/npz.hpp>                 // files/npz
#include <locus/files/bodies/text.hpp>                // files/text
#include <locus/files/bodies/zip.hpp>                 // files/zip
#include <locus/files/bodies/zip_reader.hpp>          // files/zip_reader
#include <locus/nn/layers/bodies/model_builder.hpp>   // nn/layers/model_builder
#include <locus/nn/layers/bodies/summary.hpp>         // nn/layers/summary
#include <locus/nn/losses/bodies/metric_states.hpp>   // nn/losses/metric_states
#include <locus/nn/optimizers/bodies/rate.hpp>        // nn/optimizers/rate
#include <locus/nn/train/bodies/callback.hpp>         // nn/train/callback
#include <locus/nn/train/bodies/callbacks.hpp>        // nn/train/callbacks
#include <locus/nn/train/bodies/checkpoint.hpp>       // nn/train/checkpoint
#include <locus/nn/train/bodies/epochs.hpp>           // nn/train/epochs
#include <locus/nn/train/bodies/explain_trainer.hpp>  // nn/train/explain_trainer
#include <locus/nn/train/bodies/finite.hpp>           // nn/train/finite
#include <locus/nn/train/bodies/log_files.hpp>        // nn/train/log_files
#include <locus/nn/train/bodies/parallel.hpp>         // nn/train/parallel
#include <locus/nn/train/bodies/plot.hpp>             // nn/train/plot
#include <locus/strategy/bodies/context.hpp>          // strategy/context
#include <locus/strategy/bodies/gathered.hpp>         // strategy/gathered
#include <locus/strategy/bodies/replica_threads.hpp>  // strategy/replica_threads

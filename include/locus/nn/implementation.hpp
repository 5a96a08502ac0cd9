// SPDX-License-Identifier: Apache-2.0
// Every body of data/, strategy/ and nn/ that units with LOCUS_COMPILED leave out, and those of the
// core, which LOCUS_IMPLEMENTATION 2 leaves out. Reading .gz needs zlib.
#pragma once
#include <locus/core/config.hpp>  // LOCUS_GIVES_BODIES, LOCUS_HAS_TRAINING_BODIES
#if !LOCUS_GIVES_BODIES || !LOCUS_HAS_TRAINING_BODIES
#error \
    "locus: <locus/nn/implementation.hpp> gives the bodies of a compiled run time; define LOCUS_IMPLEMENTATION before the first include of one unit"
#endif
#if LOCUS_HAS_BODIES
#include <locus/implementation.hpp>  // the bodies of the core
#endif
#include <locus/data/bodies/batch.hpp>         // data/batch
#include <locus/data/bodies/gzip_file.hpp>     // data/gzip_file
#include <locus/data/bodies/idx.hpp>           // data/idx
#include <locus/data/bodies/npy.hpp>           // data/npy
#include <locus/data/bodies/npz.hpp>           // data/npz
#include <locus/data/bodies/replicas.hpp>      // data/replicas
#include <locus/data/bodies/stage.hpp>         // data/stage
#include <locus/data/bodies/text.hpp>          // data/text
#include <locus/data/bodies/waiting.hpp>       // data/waiting
#include <locus/data/bodies/zip.hpp>           // data/zip
#include <locus/data/bodies/zip_reader.hpp>    // data/zip_reader
#include <locus/nn/bodies/callback.hpp>        // nn/callback
#include <locus/nn/bodies/callbacks.hpp>       // nn/callbacks
#include <locus/nn/bodies/checkpoint.hpp>      // nn/checkpoint
#include <locus/nn/bodies/epochs.hpp>          // nn/epochs
#include <locus/nn/bodies/finite.hpp>          // nn/finite
#include <locus/nn/bodies/log_files.hpp>       // nn/log_files
#include <locus/nn/bodies/making.hpp>          // nn/making
#include <locus/nn/bodies/parallel.hpp>        // nn/parallel
#include <locus/nn/bodies/plot.hpp>            // nn/plot
#include <locus/nn/bodies/rate.hpp>            // nn/rate
#include <locus/nn/bodies/story.hpp>           // nn/story
#include <locus/nn/bodies/summary.hpp>         // nn/summary
#include <locus/strategy/bodies/context.hpp>   // strategy/context
#include <locus/strategy/bodies/strategy.hpp>  // strategy/strategy
#include <locus/strategy/bodies/team.hpp>      // strategy/team

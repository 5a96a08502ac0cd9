// SPDX-License-Identifier: Apache-2.0
// The training package: networks, datasets, files and strategies on top of <locus/locus.hpp>. A unit of
// nvcc includes <locus/cuda.cuh> first. Link with -lz.
#pragma once
#include <locus/data/batches.hpp>             // data::batches
#include <locus/data/dataset.hpp>             // data::from_tensors, range, from_generator
#include <locus/data/from_files.hpp>          // data::from_lines, from_csv, read_flat
#include <locus/data/progress.hpp>            // data::progress_bar
#include <locus/data/resize.hpp>              // data::resize
#include <locus/files/idx.hpp>                // data::read_idx
#include <locus/files/npz.hpp>                // data::npz_file, npz_writer, read_npy
#include <locus/files/text.hpp>               // data::tokenizer, pad_sequences
#include <locus/locus.hpp>                    // the core
#include <locus/nn/losses/metric_states.hpp>  // nn::metrics::Mean, AUC, ...
#include <locus/nn/nn.hpp>                    // layers, losses, optimizers, compile
#include <locus/nn/optimizers/own_loop.hpp>   // nn::optimizer
#include <locus/nn/train/parallel.hpp>        // nn::DataParallel, multi_gpu_model
#include <locus/nn/train/towers.hpp>          // nn::tower_mean, AverageWeights
#include <locus/nn/version.hpp>               // LOCUS_TRAINING_VERSION_MAJOR
#include <locus/strategy/strategy.hpp>        // strategy
#include <locus/strategy/variable.hpp>        // variable

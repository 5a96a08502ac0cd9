// SPDX-License-Identifier: Apache-2.0
// Layers, losses, optimizers, metrics, training: <locus/nn/nn.hpp> behind <locus/locus.hpp> or
// <locus/cuda.cuh>. <locus/training.hpp> adds files, all datasets and strategies.
#pragma once
#include <locus/data/dataset.hpp>           // data::from_tensors
#include <locus/nn/layers/batch_norm.hpp>   // BatchNorm
#include <locus/nn/layers/conv.hpp>         // Conv1D, Conv2D, DepthwiseConv2D
#include <locus/nn/layers/embedding.hpp>    // Embedding
#include <locus/nn/layers/frozen.hpp>       // frozen
#include <locus/nn/layers/layer_norm.hpp>   // LayerNorm
#include <locus/nn/layers/pool.hpp>         // MaxPool1D, GlobalAveragePool2D, ...
#include <locus/nn/layers/regularized.hpp>  // regularized
#include <locus/nn/layers/residual.hpp>     // Residual
#include <locus/nn/layers/shared.hpp>       // shared
#include <locus/nn/train/callbacks.hpp>     // EarlyStopping, ModelCheckpoint, ...
#include <locus/nn/train/trainer.hpp>       // compile, Sequential, Dense, ...
#include <locus/nn/version.hpp>             // LOCUS_TRAINING_VERSION_MAJOR

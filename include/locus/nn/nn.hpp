// SPDX-License-Identifier: Apache-2.0
// Layers, losses, optimizers, metrics, training: <locus/nn/nn.hpp> behind <locus/locus.hpp> or
// <locus/cuda.cuh>.
#pragma once
#include <locus/data/dataset.hpp>          // data::from_tensors
#include <locus/nn/layers/batch_norm.hpp>  // BatchNorm
#include <locus/nn/layers/conv1d.hpp>      // Conv1D
#include <locus/nn/layers/conv2d.hpp>      // Conv2D, DepthwiseConv2D
#include <locus/nn/layers/embedding.hpp>   // Embedding
#include <locus/nn/layers/layer_norm.hpp>  // LayerNorm
#include <locus/nn/layers/pool1d.hpp>      // MaxPool1D, GlobalAveragePool1D, ...
#include <locus/nn/layers/pool2d.hpp>      // MaxPool2D, GlobalAveragePool2D, ...
#include <locus/nn/layers/residual.hpp>    // Residual
#include <locus/nn/layers/shared.hpp>      // shared
#include <locus/nn/train/callbacks.hpp>    // EarlyStopping, ModelCheckpoint, ...
#include <locus/nn/train/trainer.hpp>      // compile, Sequential, Dense, ...

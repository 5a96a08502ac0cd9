// SPDX-License-Identifier: Apache-2.0
// Layers, losses, optimizers, metrics, training: <locus/nn/nn.hpp> behind <locus/locus.hpp> or
// <locus/cuda.cuh>.
#pragma once
#include <locus/data/dataset.hpp>   // data::from_tensors
#include <locus/nn/batch_norm.hpp>  // BatchNorm
#include <locus/nn/callbacks.hpp>   // EarlyStopping, ModelCheckpoint, ...
#include <locus/nn/conv1d.hpp>      // Conv1D
#include <locus/nn/conv2d.hpp>      // Conv2D, DepthwiseConv2D
#include <locus/nn/embedding.hpp>   // Embedding
#include <locus/nn/layer_norm.hpp>  // LayerNorm
#include <locus/nn/pool1d.hpp>      // MaxPool1D, GlobalAveragePool1D, ...
#include <locus/nn/pool2d.hpp>      // MaxPool2D, GlobalAveragePool2D, ...
#include <locus/nn/residual.hpp>    // Residual
#include <locus/nn/shared.hpp>      // shared
#include <locus/nn/trainer.hpp>     // compile, Sequential, Dense, ...

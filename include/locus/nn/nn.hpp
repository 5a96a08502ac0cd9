// SPDX-License-Identifier: Apache-2.0
// Layers, losses, optimizers, metrics, training: <locus/nn/nn.hpp> behind <locus/locus.hpp> or
// <locus/cuda.cuh>.
#pragma once
#include <locus/nn/callbacks.hpp>  // EarlyStopping, ModelCheckpoint, ...
#include <locus/nn/residual.hpp>   // Residual
#include <locus/nn/shared.hpp>     // shared
#include <locus/nn/trainer.hpp>    // compile, Sequential, Dense, ...

// SPDX-License-Identifier: Apache-2.0
// Predicted times of steps on other machines: predict(step, machines::hgx_h200{.nodes = 8}).
#pragma once
#include <locus/predict/file.hpp>        // machines::from_file
#include <locus/predict/law.hpp>         // predict
#include <locus/predict/machines.hpp>    // machines::hgx_h200
#include <locus/predict/table.hpp>       // explain
#include <locus/predict/watch_step.hpp>  // step_of_run

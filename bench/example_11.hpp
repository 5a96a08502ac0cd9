// SPDX-License-Identifier: Apache-2.0
// The network of example 11, whose main is a function here.
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // main alone may end without a return
#define main example_11
#include "../examples/11_mobilenet_v2.cpp"
#undef main
#pragma GCC diagnostic pop

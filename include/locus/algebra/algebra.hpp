// SPDX-License-Identifier: Apache-2.0
// algebra<>, a placement policy: simpler expressions of equal value. A program includes this header by
// name; <locus/locus.hpp> does not.
#pragma once
#include <locus/algebra/graph.hpp>    // graphs under algebra<>
#include <locus/algebra/policy.hpp>   // algebra
#include <locus/algebra/rewrite.hpp>  // rewrite
#include <locus/algebra/texts.hpp>    // explain's lines

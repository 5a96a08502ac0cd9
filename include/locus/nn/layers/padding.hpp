// SPDX-License-Identifier: Apache-2.0
// What a window that slides finds outside of an example.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::nn {

/// valid: nothing, the window stays inside; same: zeros on both sides, as many results as strides, the
/// odd zero behind; causal: zeros in front alone
enum class padding : unsigned char { valid, same, causal };

}  // namespace locus::nn

// SPDX-License-Identifier: Apache-2.0
// The program that has a plugin alone.
#include "part.hpp"

part const* const linked_parts = nullptr;
int const linked_part_count = 0;

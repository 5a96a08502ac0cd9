// SPDX-License-Identifier: Apache-2.0
// The program that is linked with two libraries.
#include "part.hpp"

extern "C" {
void part_a(part_facts*);
void part_b(part_facts*);
void part_a_drop();
void part_b_drop();
void part_a_misuse();
void part_b_misuse();
}
static part const parts[] = {{"hidden library", part_a, part_a_drop, part_a_misuse},
                             {"library", part_b, part_b_drop, part_b_misuse}};
part const* const linked_parts = parts;
int const linked_part_count = 2;

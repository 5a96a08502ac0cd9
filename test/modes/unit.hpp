// SPDX-License-Identifier: Apache-2.0
// What each unit of the program does under its own flags.
#pragma once
#include <string>

#define LOCUS_MODES_UNIT(unit)                                                               \
  namespace unit {                                                                           \
  bool sums_on_gpu();         /* where the default policy puts the sum of two CPU tensors */ \
  bool notices_dead_tensor(); /* checked: an expression outlived its tensor */               \
  int count_nans();           /* of 1000 elements, 7 are NaN */                              \
  bool notices_bad_index();   /* checked: an index outside */                                \
  std::string numbers();      /* NaN, infinity and 1.5 as a printed tensor */                \
  bool narrows_nan();         /* half and bfloat16 of a double that is NaN are NaN */        \
  bool refuses_nan();         /* as a fraction of the memory, and as a bound of uniform */   \
  }
LOCUS_MODES_UNIT(plain_unit)
LOCUS_MODES_UNIT(fast_unit)
LOCUS_MODES_UNIT(unchecked_unit)

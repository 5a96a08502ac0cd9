// SPDX-License-Identifier: Apache-2.0
// The features that locus needs from a compiler. Every header includes this one before its own
// lines, directly or through another header, so that a missing feature gives one sentence and not a
// thousand errors.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "locus: this unit is compiled as an older C++ than C++20; write -std=c++20"
#include <locus stops here>
#elif __SIZEOF_POINTER__ < 8
#error "locus: addresses have 32 bits in this unit; compile for 64 bits, without -m32"
#include <locus stops here>
#elif !defined(__cpp_exceptions)
#error "locus: exceptions are switched off in this unit; compile it without -fno-exceptions"
#include <locus stops here>
#endif

// <windows.h> and other headers define min and max as macros. locus writes (min)(a, b); headers of
// the standard library that do not are included here, with the macros undefined.
#if defined(min) || defined(max)
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max
#include <algorithm>           // max
#include <array>               // array
#include <bit>                 // bit_width
#include <charconv>            // to_chars
#include <condition_variable>  // condition_variable
#include <deque>               // deque
#include <fstream>             // ofstream
#include <functional>          // function
#include <limits>              // numeric_limits
#include <map>                 // map
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <numeric>             // accumulate
#include <optional>            // optional
#include <string>              // string
#include <thread>              // thread
#include <tuple>               // tuple
#include <unordered_map>       // unordered_map
#include <vector>              // vector
#pragma pop_macro("max")
#pragma pop_macro("min")
#endif

// SPDX-License-Identifier: Apache-2.0
// What locus asks of a compiler. Each header reads this one before any line of its own, so that what is
// missing is one sentence and not a thousand errors.
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

// <windows.h> and others define min and max as macros. Our own headers write (min)(a, b); those of the
// standard library that do not are read here, without the macros.
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

// SPDX-License-Identifier: Apache-2.0
// Environment variables, as far as the program may trust them.
#pragma once
#include <cstdlib>  // secure_getenv

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

/// means: the value of a variable; null if it is not set, and always in a program with more rights
///        than its user has (set-uid, set-gid, file capabilities): that user must not decide which
///        files and libraries the program opens
/// after: secure_getenv(3)
inline char const* from_environment(char const* name) { return ::secure_getenv(name); }

}  // namespace locus

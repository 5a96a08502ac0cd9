// SPDX-License-Identifier: Apache-2.0
// The environment, as far as it is believed.
#pragma once
#include <cstdlib>  // secure_getenv

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

/// means: the value of a variable; null where it is not set, and in a program that has more rights than
///        who started it (set-uid, set-gid, file capabilities): what such a program opens, loads and
///        writes is not for its starter to say
/// after: secure_getenv(3)
inline char const* from_environment(char const* name) { return ::secure_getenv(name); }

}  // namespace locus

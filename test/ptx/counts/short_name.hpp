// SPDX-License-Identifier: Apache-2.0
// The name of a kernel as tests and tables have it.
#pragma once
#include <string>

namespace ptx::counts {

/// "kernel<flat_map>" of a mangled name
std::string short_name(std::string const& mangled);

}  // namespace ptx::counts

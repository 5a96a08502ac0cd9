// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

/// Without a driver NCCL 2.28 forgets a job of its own (group.cc) when a group fails.
extern "C" char const* __lsan_default_suppressions() { return "leak:libnccl\n"; }

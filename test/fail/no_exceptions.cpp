// SPDX-License-Identifier: Apache-2.0
// A unit without exceptions.
// only: host
// flags-1: -fno-exceptions
// expect: locus: exceptions are switched off in this unit; compile it without -fno-exceptions
#include <locus/locus.hpp>

// SPDX-License-Identifier: Apache-2.0
// Which sanitizer a test runs under. clang says so by __has_feature, g++ by macros.
#pragma once

#if defined(__has_feature)
#define TEST_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TEST_HAS_FEATURE(feature) 0
#endif

// ThreadSanitizer ends a child that makes threads after a fork, and takes the locks of one thread, which
// exits while it holds one, for those of two.
#if defined(__SANITIZE_THREAD__) || TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
// AddressSanitizer ends a program that reads freed memory, before locus can say so.
#if defined(__SANITIZE_ADDRESS__) || TEST_HAS_FEATURE(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif
#undef TEST_HAS_FEATURE

// SPDX-License-Identifier: Apache-2.0
// Which sanitizer a test runs under.
#pragma once

// ThreadSanitizer ends a child that makes threads after a fork, and takes the locks of one thread, which
// exits while it holds one, for those of two.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

// SPDX-License-Identifier: Apache-2.0
// Device names that TensorFlow would not take either.
// expect-1: locus: the device name names no device type; write "/GPU:0" or "/CPU:0"
// expect-2: locus: the device name has no type and number; write "/GPU:0" or "GPU:0"
// expect-3: locus: the device name has an unknown part; write "/device:GPU:0"
// expect-4: locus: the device name has a part without a proper value; write "/device:GPU:0"
// expect-5: locus: the device name has an ordinal that is no number from 0; write "/GPU:0"
// expect-6: locus: the device name has an unknown type; write "/GPU:0" or "/CPU:0"
// expect-7: locus: the device name has an ordinal above 99; write "/GPU:0"
// expect-8: locus: the device name names another process; this one is /job:localhost/replica:0/task:0
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return on<"">(x + x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return on<"job:localhost/GPU:0">(x + x); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return on<"/card:GPU:0">(x + x); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return on<"/job:/GPU:0">(x + x); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return on<"/GPU:first">(x + x); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return on<"/device:TPU:0">(x + x); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return on<"/GPU:100">(x + x); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return on<"/job:worker/task:1/GPU:0">(x + x); }
#else
auto proper() { return on<"/job:localhost/device:gpu:1">(x + x); }
#endif

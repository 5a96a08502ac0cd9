// SPDX-License-Identifier: Apache-2.0
// Twenty expressions over vectors a, b, c and a number s, each assigned to y. STATEMENT(e) is
// y = e in the words of one library; TIMES, MOST and LEAST are its product, maximum and minimum.
#pragma once
#define TWENTY_EXPRESSIONS                   \
  STATEMENT(a + b)                           \
  STATEMENT(a - TIMES(b, c))                 \
  STATEMENT(s* a + b)                        \
  STATEMENT(TIMES(a, b) + c)                 \
  STATEMENT(TIMES((a + b), (a - b)))         \
  STATEMENT(a / (b + s))                     \
  STATEMENT(sqrt(TIMES(a, a) + TIMES(b, b))) \
  STATEMENT(exp(a) + b)                      \
  STATEMENT(TIMES(log(a + s), c))            \
  STATEMENT(MOST(a, b) - c)                  \
  STATEMENT(LEAST(a, c) + b)                 \
  STATEMENT(abs(a - b))                      \
  STATEMENT(TIMES(TIMES(a, a), a) - b)       \
  STATEMENT(s*(a + b + c))                   \
  STATEMENT((a - b) / (a + b))               \
  STATEMENT(TIMES(tanh(a), b))               \
  STATEMENT(exp(a - b) / s)                  \
  STATEMENT(s - TIMES(a, b))                 \
  STATEMENT(sqrt(a) + sqrt(b) + sqrt(c))     \
  STATEMENT(TIMES(a, (b + c)) - s * b)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py TESTLOG.json...: Meson's logs of tests -> the line 'N passed, N failed, N skipped'.

A doctest program counts as its test cases (those it skips are programs for its other cases, see
test/child.hpp), a tool that ends with a line 'N passed, N failed, N skipped' as those, any other
test as one. The ten tests that took longest are named in front of that line. A failed test is named, with the last lines that it printed. EXTRA_FAILED in the environment: build steps that failed; TESTED: the exit
code of `meson test`: where it is not 0 and no test failed, Meson itself ended early, which counts as one failure,
as a log without a test does."""
import json
import os
import re
import sys

DOCTEST = re.compile(r'\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed')
COUNTS = re.compile(r'^(\d+) passed, (\d+) failed, (\d+) skipped$', re.M)

LAST_LINES = 12  # that a failed test printed


def counts(test):
    """passed, failed, skipped of one test of the log"""
    output = re.sub(r'\x1b\[[0-9;]*m', '', test.get('stdout') or '')
    if test['result'] == 'SKIP':
        return 0, 0, 1
    passed, failed, skipped = 0, 0, 0
    if found := DOCTEST.findall(output):
        passed, failed = (sum(int(row[k]) for row in found) for k in (0, 1))
        if test['result'] == 'OK' and not passed + failed:
            print('FAILED:', test['name'], 'has no test case')
            failed = 1
    elif found := COUNTS.findall(output):
        passed, failed, skipped = (int(n) for n in found[-1])
    elif test['result'] == 'OK':
        passed = 1
    if test['result'] != 'OK':
        failed = max(failed, 1)
        print('FAILED:', test['name'], test['result'])
        said = output + '\n' + (test.get('stderr') or '')
        for line in [line for line in said.splitlines() if line.strip()][-LAST_LINES:]:
            print('FAILED:     ', line)
    return passed, failed, skipped


took = []
total = [0, int(os.environ.get('EXTRA_FAILED', 0)), 0]
for log in sys.argv[1:]:
    if not os.path.exists(log):  # a program is missing that did not compile: no test ran
        total[1] = max(total[1], 1)
        continue
    with open(log) as lines:
        for line in lines:
            test = json.loads(line)
            took.append((test.get('duration', 0), test['name']))
            total = [a + b for a, b in zip(total, counts(test))]
if not total[1] and (os.environ.get('TESTED', '0') != '0' or not total[0] + total[2]):
    print('FAILED: meson test, which ended early or ran nothing')
    total[1] = 1
for seconds, name in sorted(took, reverse=True)[:10]:
    print(f'{seconds:7.1f} s  {name}')
print('{} passed, {} failed, {} skipped'.format(*total))
sys.exit(1 if total[1] or not total[0] else 0)

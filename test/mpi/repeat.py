#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""repeat.py BUILD [TIMES [JOBS [WORD]]]: each test of a build folder whose name has the word, TIMES times in a row.

TIMES is 100, the word 'rank': the tests of many processes. Each run has namespaces of processes and mounts and a folder
of its own, and no process of it may be left. Up to JOBS runs (1) go at once: more than the machine has cores show what
only a busy machine shows. Then one line for each test, with the seconds of its runs, and the output of runs that
failed. The last line is 'N passed, N failed, N skipped'."""
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from hosts import APART, may_go_apart, processes

SKIPPED = 77


def one_run(command):
    """a run in its namespaces"""
    subprocess.run(['mount', '-t', 'tmpfs', 'none', '/dev/shm'], check=True, timeout=20)
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    left = processes()
    for number, line in left.items():
        print(f'process {number} is left: {line}')
    return code or bool(left)


def repeated(test, build, apart):
    """means: code, seconds and output of one run of the test"""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        words = [*APART, sys.executable, os.path.abspath(__file__), '--inside'] if apart else []
        try:
            ended = subprocess.run([*words, *test['cmd']], cwd=test['workdir'] or build, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors='replace',
                                   env={**os.environ, **test['env'], 'TMPDIR': folder}, timeout=4 * test['timeout'])
            code, text = ended.returncode, ended.stdout
        except subprocess.TimeoutExpired as late:
            code, text = 1, f'{late}\n'
        return code, time.monotonic() - begin, text


def main():
    words = sys.argv[1:]
    if words[:1] == ['--inside']:
        return one_run(words[1:])
    build = os.path.abspath(words[0])
    times, jobs, word = int((words[1:] or [100])[0]), int((words[2:] or [1])[0]), (words[3:] or ['rank'])[0]
    with open(f'{build}/meson-info/intro-tests.json') as file:
        tests = [t for t in json.load(file) if word in t['name'] and 'locus:lint' not in t['suite']]
    if not tests:
        print(f'no test of {build} has "{word}" in its name')
        return 1
    apart = may_go_apart()
    if not apart:
        print('the runs have no namespaces of their own: this machine does not allow them')
    seconds, codes, total = {}, {0: 0, SKIPPED: 0}, times * len(tests)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(repeated, t, build, apart): t['name'] for _ in range(times) for t in tests}
        for n, run in enumerate(concurrent.futures.as_completed(runs), 1):
            code, took, text = run.result()
            code = code if code in codes else 1
            codes[code] = codes.get(code, 0) + 1
            seconds.setdefault(runs[run], []).append(took)
            if code == 1:
                print(f'FAILED: {runs[run]}, after {took:.1f} s:\n{text[-6000:]}', flush=True)
            if sys.stderr.isatty():
                print(f'\r{n} of {total} runs, {codes.get(1, 0)} failed', end='', file=sys.stderr)
    for name, took in sorted(seconds.items()):
        print(f'{len(took):4} runs, {statistics.median(took):6.1f} s, at most {max(took):6.1f} s: {name}')
    failed = codes.get(1, 0)
    print(f'{codes[0]} passed, {failed} failed, {codes[SKIPPED]} skipped')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_output.py GOLDEN SOURCE COMPILER [ARGS...]: what SOURCE prints when COMPILER made the program
is GOLDEN, byte by byte. With --write as first argument GOLDEN is written instead."""
import difflib
import os
import subprocess
import sys
import tempfile


def main():
    args = sys.argv[1:]
    write = args[:1] == ['--write']
    golden, source, *compiler = args[write:]
    if not compiler:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        exe = os.path.join(folder, 'program')
        made = subprocess.run([*compiler, source, '-o', exe], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            sys.exit(f'{source}: {compiler[0]} refuses it:\n{made.stdout[:4000]}')
        done = subprocess.run([exe], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f'{source}: exit code {done.returncode}')
    if write:
        with open(golden, 'wb') as f:
            f.write(done.stdout)
        return
    with open(golden, 'rb') as f:
        expected = f.read()
    if done.stdout != expected:
        lines = difflib.unified_diff(expected.decode().splitlines(), done.stdout.decode().splitlines(),
                                     golden, 'printed', lineterm='')
        sys.exit('\n'.join(lines) or f'{golden}: other bytes at the end of a line')
    print(f'{golden}: {len(expected)} bytes, the same from {compiler[0]}')


if __name__ == '__main__':
    main()

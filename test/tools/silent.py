#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""silent.py COMPILER ARGS...: the command succeeds and says nothing at all, on either stream."""
import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
said = done.stdout + done.stderr
print(said[:5000], end='')
print(f'exit code {done.returncode}, {len(said.splitlines())} lines')
sys.exit(bool(done.returncode or said))

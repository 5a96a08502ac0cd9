#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_accuracy.py LEAST EXE [ARGS...]: the last test accuracy that EXE prints is at least LEAST.
Skipped (77) where the dataset is not installed."""
import os
import re
import subprocess
import sys

ran = subprocess.run(sys.argv[2:], capture_output=True, text=True)
print(ran.stdout, ran.stderr, sep='')
if 'no dataset' in ran.stderr and not os.path.isdir('/usr/share/datasets/fashion-mnist'):
    sys.exit(77)
found = re.findall(r'test accuracy (\d\.\d+)', ran.stdout)
if ran.returncode or not found:
    sys.exit(f'exit status {ran.returncode}, {len(found)} accuracies')
if float(found[-1]) < float(sys.argv[1]):
    sys.exit(f'test accuracy {found[-1]}, below {sys.argv[1]}')

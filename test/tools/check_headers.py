#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py HEADERS... [--jobs N] [--days N] -- COMPILER ARGS...: each header compiles alone, also twice.

The headers are named as one includes them. With nvcc as the compiler both sides are looked at. With --days a
day looks at every N-th header, so that N days look at all."""
import argparse
import datetime
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main():
    cut = sys.argv.index('--')
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('headers', nargs='+')
    options.add_argument('--jobs', type=int, default=2)
    options.add_argument('--days', type=int, default=1)
    options = options.parse_args(sys.argv[1:cut])
    options.headers = options.headers[datetime.date.today().toordinal() % options.days::options.days]
    command = sys.argv[cut + 1:]
    nvcc = any(word.endswith('nvcc') for word in command[:2])
    check_only = ['-fdevice-syntax-only', '-c', '-o', '/dev/null'] if nvcc else ['-fsyntax-only']

    def compile_alone(header):
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / ('unit.cu' if nvcc else 'unit.cpp')
            unit.write_text(f'#include <{header}>\n#include <{header}>\n', encoding='utf-8')
            done = subprocess.run([*command, *check_only, str(unit)], capture_output=True, text=True)
        return f'{header}:\n{(done.stdout + done.stderr)[:2000]}' if done.returncode else None

    with ThreadPoolExecutor(options.jobs) as pool:
        wrong = [text for text in pool.map(compile_alone, options.headers) if text]
    print(*wrong, sep='\n')
    print(f'{len(options.headers)} headers alone, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()

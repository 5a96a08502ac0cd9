#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_foreign.py [--cuda] UNIT -- COMPILER ARGS...: a unit reaches no header of a library that it
does not use. Headers cost every unit their time; what locus needs of others it opens at run time.
A unit of nvcc reaches the CUDA runtime, and nothing of Thrust, CUB or NCCL."""
import re
import subprocess
import sys

NEVER = {
    'Thrust': r'/thrust/', 'CUB': r'/cub/', 'libcu++': r'/cuda/std/|/nv/target', 'NCCL': r'/nccl[^/]*\.h$',
    'cuBLAS': r'/cublas', 'BLAS': r'/(cblas|openblas|mkl)[^/]*\.h$', 'OpenMP': r'/omp\.h$',
    'MPI': r'/mpi\.h$', 'Eigen': r'/Eigen/', 'zlib': r'/zlib\.h$', 'intrinsics': r'/\w*intrin\.h$',
}
HOST_ONLY = {
    'CUDA': r'/cuda[^/]*\.h$|/nvtx3/',
    'a costly header of the standard library':
        r'/c\+\+/\d+/(algorithm|chrono|charconv|cmath|filesystem|format|functional|iostream|istream|map|'
        r'memory|mutex|ostream|random|ranges|set|sstream|string|thread|unordered_map|variant|vector)$',
}


def main():
    cut = sys.argv.index('--')
    arguments, command = sys.argv[1:cut], sys.argv[cut + 1:]
    command = command[1:] if command[0].endswith('ccache') else command
    cuda = '--cuda' in arguments
    unit = next(a for a in arguments if not a.startswith('--'))
    done = subprocess.run([*command, '-M', unit], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[:3000])
    headers = done.stdout.replace('\\\n', ' ').split()
    if not any(h.endswith('locus/locus.hpp') for h in headers):
        sys.exit(f'{unit} includes no locus')
    # what the compiler or the CUDA runtime bring by themselves is nobody's choice
    own = {h for h in headers if cuda and re.search(r'/cuda[^/]*/', h)} if cuda else set()
    wrong = 0
    for library, pattern in {**NEVER, **({} if cuda else HOST_ONLY)}.items():
        for h in headers:
            if re.search(pattern, h) and not (h in own and library in ('libcu++', 'intrinsics')):
                wrong += 1
                print(f'{unit}: reaches {h}, a header of {library}')
    print(f'{len(headers)} headers, {wrong} foreign')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()

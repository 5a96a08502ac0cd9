# SPDX-License-Identifier: Apache-2.0
"""Programs of nvcc, what ptxas says of their kernels, and their counts on the PTX machine."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def build(source, to, ptx, flags=()):
    """compiles for the PTX of one architecture, and for sm_90 to know registers; again where a source is newer"""
    nvcc = next((p for p in (os.environ.get('NVCC'), '/usr/local/cuda/bin/nvcc') if p and os.path.exists(p)), 'nvcc')
    log = to.with_suffix('.ptxas')
    depends = to.with_suffix('.d')
    if to.exists() and log.exists() and depends.exists():
        files = re.sub(r'\\\n', ' ', depends.read_text()).split(':', 1)[1].split()
        if all(os.path.exists(f) and os.path.getmtime(f) < os.path.getmtime(to) for f in files):
            return
    to.parent.mkdir(parents=True, exist_ok=True)
    command = [nvcc, '-std=c++20', '-O3', '-cudart', 'shared', f'-arch=compute_{ptx}', f'-code=compute_{ptx},sm_90',
               '-Xptxas', '-v', '--no-compress', '-MD', '-MF', str(depends), str(source), '-o', str(to), '-ldl', *flags]
    print('building', to.name, file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{" ".join(command)}\n{done.stderr[-4000:]}')
    log.write_text(done.stderr + done.stdout)


def of_locus(source, arguments, usage):
    """from LIBRARIES [MACHINE [FOLDER]]: the folder of the libraries, the GPU, the source as a program in the folder"""
    if not arguments:
        sys.exit(usage)
    library, machine, folder, *_ = [*arguments, None, None]
    library = pathlib.Path(library).resolve()
    program = pathlib.Path(folder or library / 'model').resolve() / source.stem
    build(source, program, 90, ['-I' + str(ROOT / 'include'), '-diag-suppress=177', '-Xcompiler', '-fopenmp', '-lgomp'])
    return library, machine or 'h200', program


def resources(program):
    """kernel -> (registers, bytes of static shared memory, of spills) for sm_90"""
    found, name, spills = {}, None, 0
    for line in program.with_suffix('.ptxas').read_text().splitlines():
        if m := re.search(r"Compiling entry function '(\S+)' for 'sm_90'", line):
            name, spills = m.group(1), 0
        elif m := re.search(r'(\d+) bytes spill stores', line):
            spills = int(m.group(1))
        elif (m := re.search(r'Used (\d+) registers', line)) and name:
            shared = re.search(r'(\d+) bytes smem', line)
            found[name], name = (int(m.group(1)), int(shared.group(1)) if shared else 0, spills), None
    return found


def run(program, library, arguments=(), environment=()):
    """its counts, a dictionary for each launch, and what it printed; the machine has 132 processors"""
    counts = program.with_suffix('.jsonl')
    counts.unlink(missing_ok=True)
    if not (pathlib.Path(library) / 'libcudart.so.13').exists():
        sys.exit(f'{library} has no libcudart.so.13: ninja -C BUILD test/ptx/libcudart.so.13')
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, env={
        **os.environ, 'LD_LIBRARY_PATH': str(library), 'PTX_PROCESSORS': '132', 'PTX_COUNTS': str(counts), 'LOCUS_QUIET': '1', 'LOCUS_CUDNN': 'off',
        **dict(environment)})
    if done.returncode:
        sys.exit(f'{program} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return read(counts), done.stdout


def read(path):
    return [json.loads(line) for line in open(path, encoding='utf-8')]


def by_others(launches):
    """(label, name, sums, 'copy' or 'product') of what is no kernel: copies by the host, products by cuBLAS; sums of NCCL are not among them"""
    rows = {}
    for c in launches:
        if 'symbol' in c or c.get('multiplications') == 0:
            continue
        how = 'product' if 'multiplications' in c else 'copy'
        sums = rows.setdefault((c['label'], c['name'], how), {'launches': 0})
        sums['launches'] += 1
        for k, v in c.items():
            if isinstance(v, int):
                sums[k] = sums.get(k, 0) + v
    return [(label, name, sums, how) for (label, name, how), sums in rows.items()]


def by_kernel(launches):
    """(label, kernel, threads of a block) -> their sum, in the order of the first launch; copies by the host are no kernels"""
    rows = {}
    for c in launches:
        if 'symbol' not in c:
            continue
        key = c['label'], c['name'], tuple(c['block'])
        if key not in rows:
            rows[key] = dict(c)
        else:
            for k, v in c.items():
                if isinstance(v, int):
                    rows[key][k] += v
    return rows

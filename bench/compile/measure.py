#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py STEM [ROUNDS]: what compiling costs, beside other libraries: STEM.md and STEM.svg.

Every unit of sources/ is compiled ROUNDS times (5), all of them once in each round, in random order.
Seconds are those of the processor (user and system, all processes of one compilation), peak is the
largest process. A compiler or a library that is not there is left out by name."""
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CUDA = pathlib.Path(os.environ.get('CUDA_HOME', '/usr/local/cuda'))
THRUST = ['-isystem', str(CUDA / 'include/cccl'), '-isystem', str(CUDA / 'include'), '-fopenmp',
          '-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_OMP', '-DCCCL_DISABLE_CTK_COMPATIBILITY_CHECK']
LIBRARIES = {
    'locus': ['-I' + str(ROOT / 'include')],
    'eigen': ['-isystem', '/usr/include/eigen3'],
    'xtensor': [], 'armadillo': [], 'thrust': THRUST, 'loops': [],
}
LEVELS = {'-O0': ['-O0'], '-O3': ['-O3', '-march=native']}
UNITS = {'include': ['-DINCLUDE_ONLY'], '20 expressions': []}
NVCC = {'element-wise, locus': 'elementwise_locus', 'element-wise, bare kernel': 'kernel_bare',
        'reduction, locus': 'reduction_locus', 'reduction, CUB by hand': 'reduction_cub'}


def compile_once(command):
    """seconds of the processor, bytes of the largest process; None where it does not compile"""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None, error.decode(errors='replace')
    return (used.ru_utime + used.ru_stime, used.ru_maxrss * 1024), ''


def jobs():
    out = {}
    for compiler in ('g++', 'clang++'):
        if not shutil.which(compiler):
            print(f'{compiler} is not there')
            continue
        for library, flags in LIBRARIES.items():
            for unit, defines in UNITS.items():
                for level, options in LEVELS.items():
                    out[compiler, unit, level, library] = [
                        compiler, '-std=c++20', *options, *flags, *defines, '-w', '-c', HERE / f'sources/{library}.cpp']
    nvcc = shutil.which('nvcc') or shutil.which(str(CUDA / 'bin/nvcc'))
    if not nvcc:
        print('nvcc is not there')
    for unit, source in NVCC.items() if nvcc else ():
        out['nvcc', unit.split(', ')[0], '-O3', unit.split(', ')[1]] = [
            nvcc, '-std=c++20', '-O3', '-arch=sm_90', '-w', *LIBRARIES['locus'], '-c', HERE / f'sources/{source}.cu']
    return out


def measure(rounds, out):
    todo, found = jobs(), {}
    for k in range(rounds):
        order = list(todo)
        random.shuffle(order)
        for job in order:
            result, error = compile_once([*todo[job], '-o', out])
            if result:
                found.setdefault(job, []).append(result)
            else:
                print('left out:', *job, '\n', error[:400])
                del todo[job]
        print(f'round {k + 1} of {rounds}', flush=True)
    return {job: (statistics.median(r[0] for r in runs), min(r[0] for r in runs), max(r[0] for r in runs),
                  statistics.median(r[1] for r in runs) / 2 ** 20) for job, runs in found.items()}


def table(found):
    lines = ['| compiler | unit | level | library | seconds: median (min..max) | times locus | peak, MiB |',
             '|---|---|---|---|---|---|---|']
    for job in jobs():
        if job in found:
            seconds, least, most, peak = found[job]
            own = found.get((*job[:3], 'locus'), found[job])[0]
            lines.append('| ' + ' | '.join(job) + f' | {seconds:.2f} ({least:.2f}..{most:.2f}) | {seconds / own:.2f} | {peak:.0f} |')
    return lines


def picture(found, left=330, width=520, step=17):
    groups = {}
    for job in jobs():
        if job in found:
            groups.setdefault(job[:3], []).append(job)
    longest = max(v[0] for v in found.values())
    parts, y = [], 26
    for group, members in groups.items():
        parts.append(f'<text x="{left - 8}" y="{y + 11}" font-size="12" text-anchor="end" font-weight="bold">'
                     f'{escape(" ".join(group))}</text>')
        y += step
        for job in members:
            seconds, least, most, peak = found[job]
            length = width * seconds / longest
            colour = '#2a7' if job[3] == 'locus' else '#89a'
            parts.append(f'<text x="{left - 8}" y="{y + 11}" font-size="11" text-anchor="end">{escape(job[3])}</text>'
                         f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{step - 5}" fill="{colour}"/>'
                         f'<text x="{left + length + 6:.1f}" y="{y + 11}" font-size="11">{seconds:.2f} s, {peak:.0f} MiB</text>')
            y += step
        y += 6
    head = (f'<text x="{left}" y="16" font-size="13">Compile time: seconds of the processor, and the largest process</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 130}" height="{y + 10}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>{head}{"".join(parts)}</svg>\n')


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        return f'no {command[0]}'


def main():
    stem, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    out = str(stem) + '.o'
    try:
        found = measure(rounds, out)
    finally:
        pathlib.Path(out).unlink(missing_ok=True)
    cpu = next((line.split(': ')[1] for line in open('/proc/cpuinfo') if line.startswith('model name')), platform.machine())
    text = [f'Compile time: {time.strftime("%F")}, {cpu.strip()}, {os.cpu_count()} cores, {first_line("g++", "--version")}, '
            f'{first_line("clang++", "--version")}; {rounds} rounds, every unit once in each, in random order. '
            'Seconds of the processor, all processes of a compilation; -O3 is -O3 -march=native. The load of the machine '
            f'was {os.getloadavg()[1]:.1f} (above 1: others ran, and seconds are too many).', '', *table(found), '',
            f'![compile times]({stem.name}.svg)', '']
    stem.with_suffix('.md').write_text('\n'.join(text), encoding='utf-8')
    stem.with_suffix('.svg').write_text(picture(found), encoding='utf-8')
    print('\n'.join(text))


if __name__ == '__main__':
    main()

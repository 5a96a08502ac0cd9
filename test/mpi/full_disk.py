#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""full_disk.py MPIRUN PROGRAM: the disk is full for the files of one of 3 ranks: the checkpoint and the CSV of rank 0,
lines of the last rank.

All ranks end with an error, one of them names the file and its rank, and the checkpoint from before stays. The
disk is a tmpfs in namespaces of this script, where the machine allows it; and then again a limit of the bytes of a file,
which needs no rights. Exit code 77, a skip, without MPI. The last line is 'N passed, N failed, 0 skipped'."""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import run
from hosts import APART, go_apart
from run import Run, faults_of, report

PAGE, PAGES = os.sysconf('SC_PAGE_SIZE'), 15
FULL = 5000  # bytes of a file under the limit: fewer than those of a checkpoint and of all lines
OTHERS = {'checkpoint': r'^rank [12] says: locus: rank 0 failed for all ranks: {}: ',
          'table': r'^rank [12] says: locus: another rank failed at what all ranks do',
          'lines': r'^rank [01] says: locus: another rank failed at what all ranks do'}


def one(mpirun, program, kind, handler, folder, limit):
    files = {'checkpoint': f'{folder}/c.npz', 'table': f'{folder}/t.csv', 'lines': f'{folder}/l.csv'}
    path, rank = files[kind], 2 if kind == 'lines' else 0
    for name in os.listdir(folder):
        os.remove(f'{folder}/{name}')
    before = b''
    if kind != 'checkpoint' and not limit:  # one page is left, and the lines need three
        with open(f'{folder}/fill', 'wb') as file:
            file.write(bytes(PAGE * (PAGES - 1)))
    elif limit:
        before = b'what was there before'
        with open(path, 'wb') as file:
            file.write(before)
    names = [files[name] if name == kind else '' for name in files]
    this = Run(mpirun, 3, [program, handler, *names, str(limit)])
    said = r'.*' + path.replace('.', r'\.') + '[:;]'
    wanted = ({f'^rank {rank} says: locus: {said}': 1, OTHERS[kind].format(path): 2} if handler == 'inside' else
              {rf'^locus: rank {rank} on \S+ leaves the world with an exception; all ranks end: {said}': 1})
    faults = faults_of(this, this.end(30), False, wanted)
    if kind == 'checkpoint':
        with open(path, 'rb') as file:
            stays = file.read() == before if limit else zipfile.is_zipfile(path) and not zipfile.ZipFile(path).testzip()
        if not stays:
            faults.append('the checkpoint from before does not stay')
    if any(name.endswith('.part') for name in os.listdir(folder)):
        faults.append('a part of a file is left')
    report(f'{kind} of rank {rank}, {"a limit of bytes" if limit else "a full disk"}, the handler {handler} the world',
           this, faults)


def main():
    words = sys.argv[1:]
    inside = words[:1] == ['--inside']
    mpirun, program = words[-2:] if len(words) > 1 else ('', '')
    if not shutil.which(mpirun) or Run(mpirun, 1, ['true']).end(30) != 0:
        print('skipped: this machine has no MPI, or mpirun starts nothing here')
        return 77
    if not inside and subprocess.run([*APART, 'mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True).returncode == 0:
        go_apart(__file__, mpirun, program)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ('checkpoint', 'table', 'lines'):
            one(mpirun, program, kind, 'inside', folder, FULL)
        if inside:
            subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={PAGE * PAGES}', 'none', folder], check=True, timeout=20)
            for kind in ('checkpoint', 'table', 'lines'):
                for handler in ('inside', 'outside'):
                    one(mpirun, program, kind, handler, folder, 0)
            subprocess.run(['umount', folder], check=True, timeout=20)
        else:
            print('no full disk: this machine mounts none')
    print(f'{run.passed} passed, {run.failed} failed, 0 skipped')
    return run.failed > 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""restarts.py MPIRUN PROGRAM [COUNT [SEED]]: a training on 4 ranks, one of which gets SIGKILL or SIGSTOP at a random
moment; then the training goes on from its last checkpoint with 1 to 4 ranks.

The disturbed run ends in time and with its line. Each loss of both runs is that of a run which nobody disturbs: the same
bits where sums are those of virtual shards, else to 9 digits. Each pair of runs has namespaces of processes and
mounts of its own, where the machine allows it; then no process of it may be left. COUNT is 10, SEED the day. SEED=K of
the environment or the second number gives the same draws again. The last line is 'N passed, N failed, 0 skipped'."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import run
from hosts import APART, processes
from run import LATE, Run, faults_of, processes_of, report

EPOCHS, PAUSE, LONGEST = 40, 40, 1.2  # epochs, milliseconds of each, the last moment of a signal in seconds
SAID = re.compile(r'^epoch (\d+) loss (\S+)$', re.M)
ENDS = {'SIGKILL': r'process rank {} with PID \d+ on node \S+ exited on signal 9|EXIT CODE: 9$',  # Open MPI, MPICH
        'SIGSTOP': r'^locus: rank \d on \S+: [\w ]+.*, collective \d+, did not end in {} ms; rank {} on \S+ does not answer'}


def losses_of(text):
    return {int(epoch): float.fromhex(loss) for epoch, loss in SAID.findall(text)}


def differing(found, wanted, exact):
    return [f'the loss of epoch {epoch} is {loss.hex()}, undisturbed {wanted[epoch].hex()}' for epoch, loss in found.items()
            if abs(loss - wanted[epoch]) > (0 if exact else 1e-9)][:2]


def one_pair(mpirun, program, kind, signal_name, rank, moment, again, folder, apart):
    """the disturbed run and the one that goes on"""
    if apart:
        subprocess.run(['mount', '-t', 'tmpfs', 'none', '/dev/shm'], check=True, timeout=20)
    os.environ['TMPDIR'] = tempfile.tempdir = folder
    with open(f'{folder}/{kind}') as file:
        wanted = losses_of(file.read())
    checkpoint = f'{folder}/checkpoint.npz'
    first = Run(mpirun, 4, [program, kind, checkpoint, str(EPOCHS), str(PAUSE), str(LATE)])
    said = {}
    while len(said) < 4 and time.monotonic() < first.begin + 30 and first.process.poll() is None:
        time.sleep(0.01)
        said = dict(re.findall(r'^rank (\d+): process (\d+)$', first.text, re.M))
    time.sleep(float(moment))
    sent = time.monotonic()
    name = f'{kind}: {signal_name} to rank {rank} after {moment} s, then {again} ranks'
    if rank not in said:
        first.end(0)
        return report(name, first, ['the ranks did not say their processes'])
    os.kill(int(said[rank]), getattr(signal, signal_name))
    code = first.end(sent - first.begin + LATE + 10)
    took = time.monotonic() - sent
    line = ENDS[signal_name].format(*((rank,) if signal_name == 'SIGKILL' else (LATE * 1000, rank)))
    faults = faults_of(first, code, False, {line: 1})
    if took > LATE + 5:
        faults.append(f'it ended {took:.1f} s after the signal')
    left = list(processes_of(first.process.pid))
    if apart:
        left = list(processes())  # also those that left the session
    if left:
        faults.append(f'{len(left)} processes are left')
    before = losses_of(first.text)
    faults += differing(before, wanted, kind == 'shards')
    second = Run(mpirun, int(again), [program, kind, checkpoint, str(EPOCHS), '0', str(run.LONG)])
    faults += faults_of(second, second.end(60), True, {'^trained$': 1})
    after = losses_of(second.text)
    faults += differing(after, wanted, kind == 'shards')
    begins, heard = min(after, default=EPOCHS), max(before, default=-1)
    if not heard < begins <= heard + 2:  # the signal may come between the checkpoint and its line
        faults.append(f'it goes on with epoch {begins}, and the last one was {heard}')
    if sorted(after) != list(range(begins, EPOCHS)):
        faults.append('epochs are missing')
    second.text = first.text + second.text
    report(f'{name} from epoch {begins}; the first run ended {took:.1f} s after the signal', second, faults)


def main():
    words = sys.argv[1:]
    if words[:1] == ['--inside']:
        one_pair(*words[1:9], words[9] == 'apart')
        return run.failed > 0
    if len(words) < 2 or not shutil.which(words[0]) or Run(words[0], 1, ['true']).end(30) != 0:
        print('skipped: this machine has no MPI, or mpirun starts nothing here')
        return 77
    mpirun, program = words[:2]
    count = int(words[2]) if len(words) > 2 else 10
    seed = words[3] if len(words) > 3 else os.environ.get('SEED') or time.strftime('%Y%m%d', time.gmtime())
    print(f'seed {seed}')
    apart = subprocess.run([*APART, 'mount', '-t', 'tmpfs', 'none', '/dev/shm'], capture_output=True).returncode == 0
    if not apart:
        print('the runs have no namespaces of their own: this machine does not allow them')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in ('network', 'shards'):
            whole = Run(mpirun, 1, [program, kind, f'{folder}/whole.npz', str(EPOCHS), '0', str(run.LONG)])
            code = whole.end(60)
            os.remove(f'{folder}/whole.npz')
            if code != 0 or len(losses_of(whole.text)) != EPOCHS:
                print(whole.text)
                return 1
            with open(f'{folder}/{kind}', 'w') as file:
                file.write(whole.text)
        for k in range(count):
            draw = random.Random(f'{seed} {k}')
            kind = ('network', 'shards')[k // 2 % 2]
            again = draw.choice((1, 2, 3, 4) if kind == 'network' else (1, 2, 4))
            inside = ['--inside', mpirun, program, kind, ('SIGKILL', 'SIGSTOP')[k % 2], str(draw.randrange(4)),
                      f'{draw.uniform(0, LONGEST):.3f}', str(again), folder, 'apart' if apart else '']
            failed += subprocess.run([*(APART if apart else []), sys.executable, os.path.abspath(__file__), *inside],
                                     timeout=180).returncode != 0
            for name in os.listdir(folder):
                if name.startswith('checkpoint'):
                    os.remove(f'{folder}/{name}')
            sys.stdout.flush()
    print(f'{count - failed} passed, {failed} failed, 0 skipped')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())

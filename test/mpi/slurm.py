#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slurm.py MPIRUN LAWS HEAT: ranks under SLURM, on a cluster of this one computer.

The script starts munged, slurmctld and slurmd with files of its own, in namespaces of processes and mounts of its own:
no daemon stays, however it ends. The jobs: srun starts the ranks (--mpi=pmix), and mpirun does in a job of sbatch,
directly and by examples/tools/ranks.sh; 2 and 4 ranks. Needs root and Debian's packages slurmctld, slurmd,
slurm-client and munge. Exit code 77, a skip, where something of this is not there. The last line is
'N passed, N failed, 0 skipped'."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import run
from hosts import RANKS, go_apart, may_go_apart
from run import ENVIRONMENT, Run, faults_of, report

CONF = '''ClusterName=locus
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=5 State=UP
'''
# sbatch -W would ask once in 10 seconds
SUBMIT = '''#!/bin/sh
job=$(sbatch --parsable -O -o {folder}/job.out "$@") || exit
until scontrol show job "$job" | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)'; do sleep 0.2; done
cat {folder}/job.out
scontrol show job "$job" | grep -q JobState=COMPLETED
'''
HEAT = {'^after 50 steps: largest change 0.484743$': 1, '^heat 88450.7$': 1}
children = []


def start(*words):
    children.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))


def wait_for(what, done, seconds=20):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f'{what} does not come')
        time.sleep(0.1)


def free_ports(count):
    all_of_them = [socket.socket() for _ in range(count)]
    for one in all_of_them:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in all_of_them]
    for one in all_of_them:
        one.close()
    return ports


def make_cluster(folder):
    """munged, slurmctld and slurmd, and a node that takes jobs"""
    os.chmod(folder, 0o711)
    with open(f'{folder}/munge.key', 'wb') as file:
        file.write(os.urandom(128))
    os.chmod(f'{folder}/munge.key', 0o400)
    for name in ('state', 'spool', 'munge'):
        os.mkdir(f'{folder}/{name}')
    start('munged', '-F', '--force', f'--socket={folder}/munge.socket', f'--key-file={folder}/munge.key',
          *(f'--{what}-file={folder}/munge/{what}' for what in ('pid', 'log', 'seed')))
    wait_for('the socket of munged', lambda: os.path.exists(f'{folder}/munge.socket'))
    with open(f'{folder}/slurm.conf', 'w') as file:
        file.write(CONF.format(folder=folder, host=socket.gethostname().split('.')[0], ports=free_ports(2),
                               cpus=len(os.sched_getaffinity(0))))
    with open(f'{folder}/submit', 'w') as file:
        file.write(SUBMIT.format(folder=folder))
    os.chmod(f'{folder}/submit', 0o700)
    with open(f'{folder}/share', 'w') as file:
        file.write(f'#!/bin/sh\nMPIRUN=srun exec sh {RANKS} --gpus-per-rank 2 "$@"\n')
    os.chmod(f'{folder}/share', 0o700)
    os.environ['SLURM_CONF'] = f'{folder}/slurm.conf'
    start('slurmctld', '-D', '-i')
    start('slurmd', '-D')
    wait_for('the node', lambda: subprocess.run(['sinfo', '-h', '-o', '%t'], capture_output=True, text=True,
                                                timeout=30).stdout.strip() == 'idle')


def batch(folder, name, ranks, command, wanted):
    """means: a job of sbatch ends well, and writes the wanted lines"""
    with open(f'{folder}/job.sh', 'w') as file:
        file.write(f'#!/bin/sh\n{command}\n')
    one = Run(f'{folder}/submit', ranks, [f'{folder}/job.sh'])
    report(name, one, faults_of(one, one.end(90), True, wanted))


def jobs(folder, mpirun, laws, heat):
    for replicas in (2, 4):
        subprocess.run([laws, 'write', f'{folder}/{replicas}', str(replicas)], check=True, timeout=120,
                       env={**os.environ, **ENVIRONMENT})
    for ranks, gpus in ((2, '0,0'), (4, '0,0,0,0')):
        shown = {r'\[' + ' '.join(['7'] * ranks) + r'\]': 1}
        for name, program, wanted in (('example 17', [heat], HEAT), ('laws', [laws, 'read', f'{folder}/{ranks}', gpus], shown)):
            one = Run('srun', ranks, ['-O', '--mpi=pmix', *program])
            report(f'{name}, {ranks} ranks of srun --mpi=pmix', one, faults_of(one, one.end(90), True, wanted))
            batch(folder, f'{name}, {ranks} ranks of mpirun in sbatch', ranks, f'{mpirun} -n {ranks} {" ".join(program)}', wanted)
        batch(folder, f'example 17, {ranks} ranks of ranks.sh in sbatch', ranks,
              f'MPIRUN={mpirun} sh {RANKS} -n {ranks} {heat}', HEAT)
    one = Run(f'{folder}/share', 2, ['-O', 'sh', '-c', 'echo "rank $SLURM_PROCID sees $CUDA_VISIBLE_DEVICES"'])
    wanted = {'^rank 0 sees 0,1$': 1, '^rank 1 sees 2,3$': 1}
    report('GPUs of the ranks of srun, by ranks.sh', one, faults_of(one, one.end(90), True, wanted))


def inside(mpirun, laws, heat):
    subprocess.run(['mount', '-t', 'tmpfs', 'none', '/dev/shm'], check=True, timeout=20)
    with tempfile.TemporaryDirectory() as folder:
        os.environ['TMPDIR'] = folder
        try:
            make_cluster(folder)
            jobs(folder, mpirun, laws, heat)
        except (OSError, subprocess.SubprocessError) as error:
            print('the daemons of SLURM:', error)
            for name in ('slurmctld.log', 'slurmd.log', 'munge/log'):
                if os.path.exists(f'{folder}/{name}'):
                    with open(f'{folder}/{name}') as file:
                        print(f'--- {name}', *file.read().splitlines()[-15:], sep='\n')
            return 1
        finally:
            for child in reversed(children):
                child.terminate()
            for child in children:
                try:
                    child.wait(5)
                except subprocess.TimeoutExpired:
                    child.kill()
    print(f'{run.passed} passed, {run.failed} failed, 0 skipped')
    return run.failed > 0


def main():
    words = sys.argv[1:]
    if words[:1] == ['--inside']:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return inside(*words[1:])
    os.environ['PATH'] += ':/usr/sbin:/sbin'
    for name, package in (('munged', 'munge'), ('slurmctld', 'slurmctld'), ('slurmd', 'slurmd'), ('srun', 'slurm-client'),
                          ('mpirun', 'openmpi-bin'), ('unshare', 'util-linux')):
        if not shutil.which(name):
            print(f'skipped: ranks under SLURM need {name}; install {package}')
            return 77
    if not may_go_apart():
        print('skipped: the daemons of SLURM run as root in namespaces of their own, which this machine does not allow')
        return 77
    if len(words) != 3 or not all(shutil.which(one) for one in words):
        print('skipped: slurm.py needs mpirun and two programs of the tests')
        return 77
    mpirun, laws, heat = words
    go_apart(__file__, shutil.which(mpirun), os.path.abspath(laws), os.path.abspath(heat))


if __name__ == '__main__':
    sys.exit(main())

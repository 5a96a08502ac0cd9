#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hosts.py MPIRUN LAWS HEAT FAILURES: ranks on two hosts, which are two network namespaces with a link between them.

examples/tools/ranks.sh starts the programs. mpirun's daemon on the other host gets no variables of this one, as with
ssh. The hosts live in namespaces of mounts and of processes of their own, so no host and no process stays, however
this script ends. Exit code 77, a skip, where the machine makes no hosts. The last line is
'N passed, N failed, 0 skipped'."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import run
from run import LATE, SILENT, Run, faults_of, report

RANKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples/tools/ranks.sh')
# what this process starts sees no processes of the machine, and ends with it
APART = ['unshare', '-fpm', '--kill-child', '--mount-proc']
KEEPALIVE = 4  # seconds after which a daemon misses another one, as in FIRST
AGENT = '''#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec env -i PATH="$PATH" TMPDIR="$TMPDIR" ip netns exec "$host" unshare -u sh -c "hostname $host; $*"
'''
# two hosts on one machine have the same cores, so ranks are not bound
FIRST = '''#!/bin/sh
export MPIRUN={mpirun}
exec ip netns exec {first} unshare -u sh -c 'hostname {first}; exec "$@"' sh {launcher} \\
  -H {first}:2,{second}:2 --map-by node --bind-to none -x ASAN_OPTIONS \\
  --mca plm rsh --mca plm_rsh_agent {folder}/agent --mca mpi_yield_when_idle 1 --mca btl self,vader,tcp \\
  --mca oob_tcp_if_include {net} --mca btl_tcp_if_include {net} \\
  --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2 "$@"
'''
NET = '10.77.2.0/24'


def go_apart(script, *words):
    """begins the script again, in namespaces of its own"""
    sys.stdout.flush()
    os.execvp(APART[0], [*APART, sys.executable, os.path.abspath(script), '--inside', *words])


def may_go_apart():
    return os.geteuid() == 0 and subprocess.run([*APART, 'true'], capture_output=True).returncode == 0


def ip(words):
    subprocess.run(['ip', *words.split()], check=True, timeout=20)


def processes():
    """the processes of this namespace beside this one, which still run: number, command line"""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f'/proc/{name}/stat') as stat, open(f'/proc/{name}/cmdline') as line:
                    if stat.read().rpartition(')')[2].split()[0] != 'Z':
                        found[int(name)] = line.read().replace('\0', ' ').strip()
            except OSError:
                continue
    return found


def make_hosts(folder, first, second, mpirun):
    """two hosts and the link between them"""
    os.makedirs('/run/netns', exist_ok=True)
    for place in ('/run/netns', '/dev/shm'):  # the names of the hosts; files of ranks that are killed
        subprocess.run(['mount', '-t', 'tmpfs', 'none', place], check=True, timeout=20)
    ip(f'netns add {first}')
    ip(f'netns add {second}')
    ip(f'link add link_a netns {first} type veth peer name link_b netns {second}')
    for host, link, address in ((first, 'link_a', '10.77.2.1/24'), (second, 'link_b', '10.77.2.2/24')):
        ip(f'-n {host} addr add {address} dev {link}')
        ip(f'-n {host} link set lo up')
        ip(f'-n {host} link set {link} up')
    texts = {'agent': AGENT}
    for name, launcher in (('first', f'sh {RANKS}'), ('bare', mpirun)):
        texts[name] = FIRST.format(mpirun=mpirun, first=first, second=second, launcher=launcher, folder=folder, net=NET)
    for name, text in texts.items():
        with open(f'{folder}/{name}', 'w') as file:
            file.write(text)
        os.chmod(f'{folder}/{name}', 0o700)


def say_hosts(start, hosts):
    """means: ranks.sh gives the variables of this shell to the ranks of both hosts, and no others"""
    names = {'LOCUS_QUIET': 'a b', 'LOCUS_TRACE': '', 'OMP_NUM_THREADS': '3', 'TF_CPP_MIN_LOG_LEVEL': '2',
             'CUDA_VISIBLE_DEVICES': '1,0', 'OF_NOBODY': '1'}
    show = 'echo "$(hostname):' + ','.join('${%s-unset}' % name for name in names) + '"'
    one = Run(start, 4, ['-x', 'LOCUS_GIVEN=1', 'sh', '-c', show + ' $LOCUS_GIVEN'], **names, LOCUS_GIVEN='2')
    code = one.end(30)
    # the daemon of the first host has the variables of mpirun
    wanted = {f'^{host}:a b,,3,2,1,0,{other} 1$': 2 for host, other in zip(hosts, ('1', 'unset'))}
    report('variables on two hosts', one, faults_of(one, code, True, wanted))


def read(path):
    if not os.path.exists(path):
        return ''
    with open(path) as file:
        return file.read()


def cut_link(start, hosts, program, ranks, folder, deadline):
    """means: the link goes in the middle of a loop of sums. Where the deadline of collectives comes first, each rank
    names one of the other host; else mpirun's daemons end the ranks. No keepalive runs while a daemon sends to the
    other one: it waits as long as TCP sends again, which is 15 minutes on Linux. Where the ranks come first, this test
    makes it shorter"""
    ranks_first = deadline < KEEPALIVE
    for host in hosts:
        subprocess.run(['ip', 'netns', 'exec', host, 'sh', '-c',
                        f'echo {3 if ranks_first else 15} > /proc/sys/net/ipv4/tcp_retries2'], check=True, timeout=20)
    # lines of the other host cannot come here
    said = [f'{folder}/said.{deadline}.{ranks}.{rank}' for rank in range(ranks)]
    command = f'exec "$0" loops {deadline} > {folder}/said.{deadline}.{ranks}.$OMPI_COMM_WORLD_RANK 2>&1'
    one = Run(start, ranks, ['sh', '-c', command, program])
    pids, cut = [], None
    while cut is None and time.monotonic() < one.begin + 30 and one.process.poll() is None:
        time.sleep(0.05)
        pids = [int(n) for path in said for n in re.findall(r'^rank \d: process (\d+)$', read(path), re.M)]
        if len(pids) == ranks:
            time.sleep(0.3)
            ip(f'-n {hosts[1]} link set link_b down')
            cut = time.monotonic()
    ended, gone = {}, None
    limit = (deadline if ranks_first else 0) + 5 + KEEPALIVE
    while cut is not None and gone is None and time.monotonic() < cut + limit:
        time.sleep(0.05)
        left = processes()
        for rank, pid in enumerate(pids):
            if pid not in left:
                ended.setdefault(rank, time.monotonic() - cut)
        if not left:
            gone = time.monotonic() - cut
    left = processes()
    code = one.end(time.monotonic() - one.begin)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    faults = faults_of(one, code, False, {})
    if cut is None:
        faults.append('the ranks did not say their processes')
    elif gone is None:
        faults.append(f'processes left after {limit} s: ' + '; '.join(line[:60] for line in left.values()))
    for rank, path in enumerate(said):
        one.text += f'--- rank {rank} ended after {ended.get(rank, -1):.1f} s and wrote\n{read(path)}'
        other = 1 - rank % 2  # --map-by node: even ranks are on the first host
        line = SILENT.replace('rank 1', f'rank {other}').replace(r'\S+', hosts[other])
        if ranks_first and not re.search(line, read(path)):
            faults.append(f'rank {rank} does not say {line!r}')
        if cut is not None and ended.get(rank, limit) > (deadline if ranks_first else KEEPALIVE) + 5:
            faults.append(f'rank {rank} ended too late')
    report(f'a cut link in a loop of sums, {ranks} ranks, {deadline} s for a collective', one, faults)
    if not faults:
        print(f'          after the cut: the last rank ended in {max(ended.values()):.1f} s, '
              f'the last process in {gone:.1f} s, exit code {code}')
    ip(f'-n {hosts[1]} link set link_b up')


def inside(mpirun, laws, heat, failures):
    """in the namespaces of APART"""
    number = time.time_ns() % 10**9  # MPI names files by hosts
    hosts = [f'locus{number}{which}' for which in 'ab']
    with tempfile.TemporaryDirectory() as folder:
        os.environ['TMPDIR'] = tempfile.tempdir = folder  # also that of mpirun's daemons
        try:
            make_hosts(folder, *hosts, mpirun)
        except (OSError, subprocess.SubprocessError) as error:
            print('skipped: this machine makes no hosts of network namespaces:', error)
            return 77
        bare = Run(f'{folder}/bare', 2, ['true'])
        if bare.end(30) != 0:
            print('skipped: mpirun starts nothing on two hosts here:', bare.text)
            return 77
        start = f'{folder}/first'
        say_hosts(start, hosts)
        run.laws(start, laws, ('0,0', '1,1,1,1'))
        run.heat(start, heat, (2,))
        for ranks, deadline in ((2, LATE), (4, LATE), (4, 60)):
            cut_link(start, hosts, failures, ranks, folder, deadline)
    print(f'{run.passed} passed, {run.failed} failed, 0 skipped')
    return run.failed > 0


def main():
    words = sys.argv[1:]
    if words[:1] == ['--inside']:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return inside(*words[1:])
    if len(words) != 4:
        print('skipped: this machine has no MPI; install libopenmpi-dev and openmpi-bin')
        return 77
    for name, package in (('ip', 'iproute2'), ('unshare', 'util-linux'), (words[0], 'openmpi-bin')):
        if not shutil.which(name):
            print(f'skipped: two hosts need {name}; install {package}')
            return 77
    if run.is_of_mpich(words[0]):
        print('skipped: two hosts are options of the mpirun of Open MPI')
        return 77
    if not may_go_apart():
        print('skipped: two hosts need namespaces, which only root makes, and not in every container')
        return 77
    go_apart(__file__, *words)


if __name__ == '__main__':
    sys.exit(main())

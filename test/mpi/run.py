#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py MPIRUN laws|beside|overlap|failures|examples|heat PROGRAM: starts a program under mpirun, once for each case.
run.py MPIRUN 04|07|08 PROGRAM_OF_FLOATS PROGRAM_OF_DOUBLES: an example over ranks.
run.py MPIRUN cards 04|07|08 PROGRAM PROGRAM_OF_CARDS N,N,...: the same over ranks with N cards of the PTX machine each,
  beside PROGRAM, one process with simulated GPUs; both of doubles.
run.py MPIRUN launcher RANKS_SH: what examples/tools/ranks.sh calls.

Each run has a limit of its own, after which all its processes are killed. Exit code 77, a skip, without arguments and
where mpirun starts nothing. The last line is 'N passed, N failed, 0 skipped'."""
import gzip
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ENVIRONMENT = {
    'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
    'OMPI_MCA_btl_vader_single_copy_mechanism': 'none',  # containers forbid it
    'OMPI_MCA_mpi_yield_when_idle': '1', 'OMPI_MCA_rmaps_base_oversubscribe': '1',
    'OMPI_MCA_hwloc_base_binding_policy': 'none',
    'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0',  # those of the library of MPI
    'LOCUS_QUIET': '1', 'OMP_NUM_THREADS': '1', 'OMP_WAIT_POLICY': 'passive',
}
LATE = 2  # seconds after which a collective is late, where a rank does not come
LONG = 20  # where all ranks come: a busy machine is not late


def processes_of(session):
    """the numbers of its processes that still run"""
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat') as stat:
                    state, _, _, its_session = stat.read().rpartition(')')[2].split()[:4]
            except OSError:
                continue
            if int(its_session) == session and state != 'Z':
                yield int(name)


class Run:
    """a program under mpirun, and what it writes"""

    def __init__(self, mpirun, ranks, arguments, **environment):
        self.begin, self.text = time.monotonic(), ''
        self.process = subprocess.Popen([mpirun, '-n', str(ranks), *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                        errors='replace', start_new_session=True,
                                        env={**os.environ, **ENVIRONMENT, **environment})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line

    def end(self, limit):
        """the exit code; None: it ran past the limit. No process of it is left"""
        try:
            return self.process.wait(max(0.1, self.begin + limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            for _ in range(20):  # mpirun gives its ranks process groups of their own
                left = list(processes_of(self.process.pid))
                for process in left:
                    try:
                        os.kill(process, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                if not left:
                    break
                time.sleep(0.05)
            self.process.wait()
            self.reader.join(2)
            self.seconds = time.monotonic() - self.begin


passed, failed = 0, 0


def report(name, run, faults):
    global passed, failed
    if not faults:
        passed += 1
        print(f'ok      {name} ({run.seconds:.1f} s)', flush=True)
        return
    failed += 1
    print(f'FAILED  {name} ({run.seconds:.1f} s): ' + '; '.join(faults))
    for line in run.text.splitlines()[-30:]:
        if line.strip():
            print('        ', line[:400])
    sys.stdout.flush()


def faults_of(run, code, ends_well, wanted):
    """wanted: regular expressions, each with the number of lines that must match"""
    faults = []
    if code is None:
        faults.append('it ran past its limit')
    elif ends_well != (code == 0):
        faults.append(f'exit code {code}')
    for pattern, count in wanted.items():
        found = len(re.findall(pattern, run.text, re.M))
        if found < count:
            faults.append(f'{found} of {count} lines match {pattern!r}')
    if 'NO ERROR' in run.text:
        faults.append('a call that must fail did not')
    return faults


PLACES = ('0', '1', '2', '1,1', '0,0', '3,1', '1,1,1', '2,0,1', '1,1,1,1', '0,0,0,0')  # GPUs of each rank


def laws(mpirun, program, places=PLACES):
    counts = {gpus: [int(n) for n in gpus.split(',')] for gpus in places}
    with tempfile.TemporaryDirectory() as folder:
        for replicas in sorted({sum(n or 1 for n in each) for each in counts.values()}):
            subprocess.run([program, 'write', f'{folder}/{replicas}', str(replicas)], check=True, timeout=120,
                           env={**os.environ, **ENVIRONMENT})
        for gpus, each in counts.items():
            replicas = sum(n or 1 for n in each)
            run = Run(mpirun, len(each), [program, 'read', f'{folder}/{replicas}', gpus])
            code = run.end(120)
            shown = r'\[' + ' '.join(['7'] * replicas) + r'\]'
            faults = faults_of(run, code, True, {shown: 1})
            if len(re.findall(shown, run.text)) > 1:
                faults.append('more than one rank wrote a tensor')
            report(f'{len(each)} ranks with {gpus} GPUs', run, faults)


def beside(mpirun, program):
    for ranks in (2, 3, 4):
        run = Run(mpirun, ranks, [program])
        faults = faults_of(run, run.end(60), True, {'^frames are right$': 1})
        if 'DIFFER' in run.text:
            faults.append('sums differ')
        report(f'messages of a program beside {ranks - 1} ranks', run, faults)
    asks = {'MPI_TAKES_GPU_MEMORY': '1'}  # what Open MPI says; a variable decides in its place
    version = subprocess.run([mpirun, '--version'], stdout=subprocess.PIPE, text=True).stdout
    for variables, takes in (({}, False), (asks, 'Open MPI' in version), ({'LOCUS_MPI_GPU_MEMORY': '1'}, True),
                             ({**asks, 'LOCUS_MPI_GPU_MEMORY': '0'}, False)):
        run = Run(mpirun, 2, [program], **variables)
        line = '^memory of GPUs, too$' if takes else '^host memory$'
        report(f'what MPI takes, with {variables}', run, faults_of(run, run.end(60), True, {line: 1}))


def place(at):
    """an expression that matches the place of a collective in failures.cpp"""
    return r'reduce of \d+ bytes \(\S*failures\.cpp:' + at


CANNOT = r'^rank \d: locus: an mpi::world cannot be made: '
SILENT = r'did not end in 2000 ms; rank 1 on \S+ does not answer'
WAITS = r'rank \d on \S+ \(process \d+\) waits at the same place'
# one rank ends its world, another reduces; the first to see it says so
ENDS_THERE = ('ranks of this program differ: .*' + place('.*') + 'end of the world|'
              'ranks of this program differ: .*end of the world.*' + place(''))
# name of the case: ranks, seconds of a collective, whether it ends well, lines that it writes
FAILURES = {
    'not_started': (1, LONG, True, {CANNOT + 'MPI is not started; call MPI_Init_thread first': 1}),
    'ended_before': (2, LONG, True, {CANNOT + 'MPI_Finalize was called; make the world before that': 4}),
    'second_world': (2, LONG, True, {CANNOT + 'there is a world already': 4, 'the first world goes on': 2}),
    'null_communicator': (1, LONG, True, {CANNOT + 'its communicator is MPI_COMM_NULL': 1}),
    'two_groups': (2, LONG, True, {CANNOT + 'its communicator joins two groups': 2}),
    'alone': (3, LONG, True, {': one rank$': 3, ': all ranks$': 3}),
    'ended_inside': (2, LONG, True, {'^locus: MPI_Finalize was called before the end of an mpi::world': 2}),
    'not_joined': (3, LATE, False, {CANNOT + 'some rank of its communicator did not come in 2000 ms': 1}),
    'single': (2, LONG, False, {': one thread$': 2, 'run statements over ranks on the thread that made the world': 2}),
    'funneled': (2, LONG, False, {': one thread$': 2, 'run statements over ranks on the thread that made the world': 2}),
    'serialized': (2, LONG, True, {': one thread$': 2}),
    'if_rank_0': (2, LATE, False, {'^locus: the ranks of this program differ: rank [01] on .*' + place('.*') +
                                   'rank [01] on .*' + place('.*another plan'): 1}),
    'if_rank_0_at_the_end': (2, LATE, False, {ENDS_THERE: 1}),
    'other_statement': (3, LONG, False, {'ranks of this program differ: .*rank 1 on .*another plan or other extents': 1}),
    'other_extents': (2, LONG, False, {'ranks of this program differ: .*rank 1 on .*another plan or other extents': 1}),
    'other_type': (2, LONG, False, {'ranks of this program differ: .*reduce of 8 bytes .*reduce of 4 bytes|'
                                    'ranks of this program differ: .*reduce of 4 bytes .*reduce of 8 bytes': 1}),
    'other_devices': (2, LONG, False, {'ranks of this program differ: .*rank 1 on .*another plan or other extents': 1}),
    'few_rows': (4, LONG, True, {': two rows$': 4}),
    'inside_a_kernel': (2, LATE, False, {ENDS_THERE: 1}),
    'two_threads': (2, LATE, False, {place('.*') + 'two threads of this rank run statements over ranks at once': 1}),
    'exits': (3, LATE, False, {}),
    'exits_with_0': (3, LATE, False, {}),
    'returns': (3, LATE, False, {ENDS_THERE: 1}),
    'throws': (3, LATE, False, {'^locus: rank 1 on .* leaves the world with an exception; all ranks end': 1}),
    'throws_alone': (1, LONG, True, {"^rank 0: the program's own$": 1}),
    'catches': (3, LATE, False, {SILENT + '.*' + WAITS: 2, 'a collective between ranks failed before': 2}),
    'slow': (3, 6, True, {': in time$': 3}),
}


def is_of_mpich(mpirun):
    version = subprocess.run([mpirun, '--version'], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT})
    return MPICH in version.stdout


def failures(mpirun, program):
    cases = dict(FAILURES)
    if is_of_mpich(mpirun):
        del cases['exits_with_0']  # its mpirun kills the others, and may end with the 0 of that rank
    for name, (ranks, seconds, ends_well, wanted) in cases.items():
        run = Run(mpirun, ranks, [program, name, str(seconds)])
        faults = faults_of(run, run.end(60 if ends_well else seconds + 15), ends_well, wanted)
        report(f'{name}, {ranks} ranks', run, faults)
    run = Run(mpirun, 2, [program, 'if_rank_0', str(LATE)], LOCUS_CHECK_RANKS='0')
    there = 'did not end in 2000 ms; rank . on .* is elsewhere: its last is collective 2, ' + place('')
    report('if_rank_0 without checks, 2 ranks', run, faults_of(run, run.end(LATE + 15), False, {there: 1}))
    run = Run(mpirun, 1, [program, 'not_started_by_all', str(LATE), ':', '-n', '1', 'sleep', '30'])
    report('a process of mpirun that starts no MPI', run, faults_of(run, run.end(LATE + 10), False, {
        '^locus: an mpi::world cannot be made: MPI_Init_thread did not end in 2000 ms; every process': 1}))
    run = Run(mpirun, 1, [program, 'loops', str(LATE), ':', '-n', '2', program, 'other_type', str(LATE)])
    report('ranks with different programs', run, faults_of(run, run.end(LATE + 15), False, {
        '^locus: the ranks of this program differ: rank [12] on .*' + place('.*; ') + 'rank 0 on .*' + place(''): 1}))
    for signal_name, ranks, checks, order, wanted in (
            ('SIGSTOP', 4, '1', [], {SILENT + '.*' + WAITS: 1}), ('SIGSTOP', 2, '0', [], {SILENT: 1}),
            ('SIGSTOP', 3, '0', ['ranked'], {SILENT: 1}),
            ('SIGSTOP', 3, '1', ['large'], {SILENT: 1}), ('SIGSTOP', 2, '0', ['large'], {SILENT: 1}), ('SIGKILL', 3, '1', [], {})):
        run = Run(mpirun, ranks, [program, 'loops', str(LATE), *order], LOCUS_CHECK_RANKS=checks)
        said = {}
        while len(said) < ranks and time.monotonic() < run.begin + 30 and run.process.poll() is None:
            time.sleep(0.02)
            said = dict(re.findall(r'^rank (\d+): process (\d+)$', run.text, re.M))
        time.sleep(0.2)
        sent = time.monotonic()
        if '1' in said:
            os.kill(int(said['1']), getattr(signal, signal_name))
        code = run.end(sent - run.begin + LATE + 15)
        faults = faults_of(run, code, False, wanted)
        if '1' not in said:
            faults.append('the ranks did not say their processes')
        elif (took := time.monotonic() - sent) > LATE + 5:
            faults.append(f'it ended {took:.1f} s after the signal')
        report(' '.join([signal_name, 'in a loop of', *order, f'sums, {ranks} ranks, LOCUS_CHECK_RANKS={checks}']), run, faults)


def examples(mpirun, program):
    """example 04 with Ranks in its device list: the lines of one process with as many replicas"""
    line = re.compile(r'^epoch  1  loss \S+  accuracy \S+  test accuracy \S+', re.M)
    reference = {}
    for ranks, gpus in ((1, 2), (2, 0), (1, 4), (2, 2), (4, 0)):
        run = Run(mpirun, ranks, [program, '2', '1'], LOCUS_SIMULATED_GPUS=str(gpus))
        code = run.end(240)
        if 'no dataset: install' in run.text:
            print('skipped: no dataset; install dataset-fashion-mnist')
            sys.exit(77)
        faults, found = faults_of(run, code, True, {}), line.findall(run.text)
        replicas = ranks * (gpus or 1)
        if len(found) != 1:
            faults.append(f'{len(found)} lines of an epoch')
        elif found[0] != reference.setdefault(replicas, found[0]):
            faults.append(f'{found[0]!r}, and one process writes {reference[replicas]!r}')
        report(f'example 04, {ranks} ranks, {gpus} GPUs each', run, faults)


def write_idx(path, code, extents, data):
    """a file as data::read_idx reads it"""
    with (gzip.open if path.endswith('.gz') else open)(path, 'wb') as file:
        file.write(bytes([0, 0, code, len(extents)]) + b''.join(n.to_bytes(4, 'big') for n in extents) + data)


def write_texts(folder, rows):
    """arrays for example 07: half of the words of a text say its class"""
    draw = random.Random(7)
    for part, count in (('test', rows // 4), ('train', rows)):
        labels = [draw.randrange(46) for _ in range(count)]
        lengths = [draw.randrange(3, 40) for _ in range(count)]
        tokens = [draw.choice((4 + label, draw.randrange(1, 400))) for label, n in zip(labels, lengths) for _ in range(n)]
        for name, all_of_it in (('tokens', tokens), ('lengths', lengths), ('labels', labels)):
            write_idx(f'{folder}/{part}-{name}.idx', 12, [len(all_of_it)], b''.join(n.to_bytes(4, 'big') for n in all_of_it))


def write_images(folder, rows):
    """images for example 08: noise, and a bar whose height says the class"""
    draw = random.Random(8)
    for part, count in (('t10k', rows // 4), ('train', rows)):
        labels = bytes(draw.randrange(10) for _ in range(count))
        images = bytes(draw.randrange(100) + 150 * (row // 3 == label)
                       for label in labels for row in range(28) for _ in range(28))
        write_idx(f'{folder}/{part}-images-idx3-ubyte.gz', 8, [count, 28, 28], images)
        write_idx(f'{folder}/{part}-labels-idx1-ubyte.gz', 8, [count], labels)


def data_of(example, folder, rows, epochs):
    """means: writes the data of an example     returns: its arguments"""
    (write_texts if example == '07' else write_images)(folder, rows)
    return ['2', str(epochs), folder] if example == '04' else [str(epochs), str(rows), folder]


def numbers_of(example, run):
    """what an example says of each epoch; the last number of example 04 is a speed"""
    lines = re.findall('^epoch.*\nbits (.*)', run.text, re.M)
    return [[float.fromhex(word) for word in line.split()][:-1 if example == '04' else None] for line in lines]


def faults_of_numbers(found, wanted, epochs, tolerance):
    if len(found) != epochs or not all(found):
        return [f'{len(found)} lines of numbers']
    if list(map(len, found)) != list(map(len, wanted)) or any(not abs(a - b) <= tolerance * abs(b) for one, other in zip(found, wanted) for a, b in zip(one, other)):
        return [f'{found}, and one process writes {wanted}']
    return []


AS_PLANNED = r'^rank \d: [1-9]\d* plans as they say, 0 otherwise$'


def trainers(mpirun, example, programs, rows=96, epochs=2):
    """means: with floats in replica order the losses of ranks have the bits of one process with as many replicas; with
    doubles, which MPI adds, they are equal to 9 digits. Each rank's plans do what they say"""
    with tempfile.TemporaryDirectory() as folder:
        arguments = data_of(example, folder, rows, epochs)
        for element, program, tolerance in zip(('float', 'double'), programs, (0, 1e-9)):
            reference = {}
            for ranks, gpus in ((1, 2), (2, 0), (1, 4), (4, 0)):
                run = Run(mpirun, ranks, [program, *arguments], LOCUS_SIMULATED_GPUS=str(gpus))
                faults = faults_of(run, run.end(60), True, {'^epoch +[12]  loss ': epochs, AS_PLANNED: ranks})
                found = numbers_of(example, run)
                faults += faults_of_numbers(found, reference.setdefault(ranks * (gpus or 1), found), epochs, tolerance)
                report(f'example {example} of {element}s, {ranks} ranks, {gpus} GPUs each', run, faults)


def on_cards(mpirun, example, host, cards, layouts, rows=128):
    """means: ranks with so many cards of the PTX machine each, joined by NCCL, have the losses of one process with as many
    simulated GPUs, to 9 digits; in replica order they have the bits of one process with as many cards. Each rank's plans
    do what they say, and the machine finds nothing"""
    with tempfile.TemporaryDirectory() as folder:
        arguments, reference = data_of(example, folder, rows, 1), {}

        def measure(counts, order, joined=''):
            each = [word for rank, n in enumerate(counts) for word in (
                ':', '-n', '1', 'env', f'PTX_CARDS={n}', f'NCCL_HOSTID=locus-test-{rank}', cards, *arguments)]
            run = Run(mpirun, 1, each[3:], ORDER=order)
            seen = r'^rank \d: [1-9]\d* launches on cards, 0 findings, ' + joined
            return run, faults_of(run, run.end(300), True, {AS_PLANNED: len(counts), seen: len(counts)})

        def compare(name, key, run, faults, tolerance):
            found = numbers_of(example, run)
            faults += faults_of_numbers(found, reference.setdefault(key, found), 1, tolerance)
            report(f'example {example}, {name}', run, faults)

        for layout in layouts:
            counts = [int(n) for n in layout.split(',')]
            replicas = sum(counts)
            if ('fast', replicas) not in reference:
                one = Run(mpirun, 1, [host, *arguments], LOCUS_SIMULATED_GPUS=str(replicas))
                compare(f'one process, {replicas} simulated GPUs', ('fast', replicas), one,
                        faults_of(one, one.end(60), True, {AS_PLANNED: 1}), 0)
                compare(f'one process, {replicas} cards, in replica order', ('ranked', replicas),
                        *measure([replicas], 'ranked'), 0)
            compare(f'{len(counts)} ranks with {layout} cards', ('fast', replicas), *measure(counts, 'fast', 'with NCCL'), 1e-9)
            compare(f'{len(counts)} ranks with {layout} cards, in replica order', ('ranked', replicas),
                    *measure(counts, 'ranked'), 0)


def overlap(mpirun, program):
    """means: sums that cross while ranks compute change no loss, in replica order no bit, and no rank waits for ever"""
    for order, tolerance in (('ranked', 0), ('fast', 1e-9)):
        for ranks in (2, 3):
            reference = None
            for beside in '0', '1':
                run = Run(mpirun, ranks, [program, order], LOCUS_OVERLAP_RANKS=beside)
                faults = faults_of(run, run.end(60), True, {'^bits ': 1})
                found = [[float.fromhex(word) for word in line.split()] for line in re.findall('^bits (.*)', run.text, re.M)]
                reference = reference or found
                faults += faults_of_numbers(found, reference, 1, tolerance)
                report(f'sums {order}, {ranks} ranks, ' + ('while they compute' if beside == '1' else 'between kernels'), run, faults)


def heat(mpirun, program, counts=(1, 2, 4)):
    for ranks in counts:
        run = Run(mpirun, ranks, [program])
        wanted = {'^after 50 steps: largest change 0.484743$': 1, '^heat 88450.7$': 1}
        faults = faults_of(run, run.end(60), True, wanted)
        if run.text.count('heat') != 1:
            faults.append('more than one rank wrote')
        report(f'example 17, {ranks} ranks', run, faults)


FAKE = """#!/bin/sh
if [ "$1" = --version ]; then
  echo '%s'
else
  printf '%%s|' "$@"
fi
"""
OPEN_MPI, MPICH = 'mpirun (Open MPI) 4.1.4', 'HYDRA build details:'
KEPT = '--mca|oob_tcp_keepalive_time|30|--mca|oob_tcp_keepalive_intvl|10|--mca|oob_tcp_keepalive_probes|3|'
UNBOUND = '--bind-to|none|--oversubscribe|--mca|mpi_yield_when_idle|1|'
BOUND = '--map-by|ppr:1:node:PE=CORES|--bind-to|core:if-supported|'
# what mpirun --version says, words to ranks.sh, words to mpirun, variables
CALLS = (
    (OPEN_MPI, '-n 100000 ./p -n 1', UNBOUND + KEPT + '-n|100000|./p|-n|1|', ()),
    (OPEN_MPI, '-n 1 ./p -n 100000', BOUND + KEPT + '-n|1|./p|-n|100000|', ()),
    (OPEN_MPI, '-H a:1,b:1 -n 2 ./p', BOUND + KEPT + '-H|a:1,b:1|-n|2|./p|', ()),
    (OPEN_MPI, '--hostfile HOSTS -n 2 ./p', BOUND + KEPT + '--hostfile|HOSTS|-n|2|./p|', ()),
    (OPEN_MPI, '-H a:2,b:1 -n 2 ./p', KEPT + '-H|a:2,b:1|-n|2|./p|', ()),
    (OPEN_MPI, '-n 2 ./p', '-x|OMP_A|' + KEPT + '-n|2|./p|', ('SLURM_JOB_ID', 'OMP_A')),
    (OPEN_MPI, '-np 2 --bind-to socket ./p', KEPT + '-np|2|--bind-to|socket|./p|', ()),
    (OPEN_MPI, './p', KEPT + './p|', ()),
    (OPEN_MPI, '--mca oob_tcp_keepalive_time 2 ./p', '--mca|oob_tcp_keepalive_time|2|./p|', ()),
    (OPEN_MPI, '-x OMP_A=2 -x LOCUS_Z ./p', '-x|LOCUS_B|' + KEPT + '-x|OMP_A=2|-x|LOCUS_Z|./p|',
     ('OMP_A', 'LOCUS_B', 'LOCUS_Z', 'XLOCUS_C')),
    (MPICH, '-n 2 ./p', '-genvlist|CUDA_VISIBLE_DEVICES,LOCUS_B,TF_D|-n|2|./p|',
     ('LOCUS_B', 'TF_D', 'CUDA_VISIBLE_DEVICES')),
    (MPICH, '-n 2 ./p', '-n|2|./p|', ()),
    ('another', '-n 2 ./p', '-n|2|./p|', ()),
)


SHOW = ['sh', '-c', 'echo "rank $OMPI_COMM_WORLD_LOCAL_RANK sees ${CUDA_VISIBLE_DEVICES-all} of $1"', 'x', 'a  b']
# GPUs of a rank, ranks, CUDA_VISIBLE_DEVICES, what each rank sees
SHARES = ((1, 3, None, ('0', '1', '2')), (2, 2, None, ('0,1', '2,3')), (1, 2, '3,1,0', ('3', '1')),
          (2, 2, '7,GPU-a,5,MIG-b', ('7,GPU-a', '5,MIG-b')), (2, 2, '', ('', '')))


def gpus_of_ranks(mpirun, script):
    """means: each rank of a host sees GPUs of its own; a stand-in for a program says which"""
    os.environ.pop('CUDA_VISIBLE_DEVICES', None)
    with tempfile.TemporaryDirectory() as folder:
        start = f'{folder}/start'
        with open(start, 'w') as file:
            file.write(f'#!/bin/sh\nexec sh {script} --gpus-per-rank "$GPUS" "$@"\n')
        os.chmod(start, 0o700)
        os.environ['MPIRUN'] = mpirun
        for each, ranks, visible, seen in SHARES:
            given = {} if visible is None else {'CUDA_VISIBLE_DEVICES': visible}
            this = Run(start, ranks, ['--mca', 'btl', 'self,vader', *SHOW], GPUS=str(each), **given)
            wanted = {f'^rank {rank} sees {gpus} of a  b$': 1 for rank, gpus in enumerate(seen)}
            report(f'ranks.sh --gpus-per-rank {each}, {ranks} ranks, of {visible}', this,
                   faults_of(this, this.end(30), True, wanted))
        few = Run(start, 2, SHOW, GPUS='2', CUDA_VISIBLE_DEVICES='0,1,2')
        report('ranks.sh --gpus-per-rank, too few of them', few, faults_of(few, few.end(30), False, {
            '^ranks.sh: rank 1 of its host needs GPUs up to number 4 of CUDA_VISIBLE_DEVICES, which names 3; ': 1}))
        fake = f'{folder}/mpirun'
        with open(fake, 'w') as file:
            file.write('#!/bin/sh\n[ "$1" = --version ] || { shift 2; exec "$@"; }\n')
        os.chmod(fake, 0o700)
        os.environ['MPIRUN'] = fake
        for names, seen in ((('MPI_LOCALRANKID',), '3'), (('SLURM_LOCALID',), '3'),
                            (('SLURM_LOCALID', 'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID'), '1'), ((), None)):
            values = {name: '1' if name.startswith('OMPI') else '3' for name in names}
            if len(names) == 3:
                values['MPI_LOCALRANKID'] = '2'
            this = Run(start, 1, SHOW, GPUS='1', **values)
            wanted = {f' sees {seen} of': 1} if seen else {'^ranks.sh: no variable says which rank of its host this is': 1}
            report('ranks.sh --gpus-per-rank by ' + (' '.join(names) or 'no variable'), this,
                   faults_of(this, this.end(30), bool(seen), wanted))
        for words, sentence in ((['true'], '--gpus-per-rank needs the number'), (['-n', '2'], 'finds no program')):
            called = subprocess.run(['sh', script, '--gpus-per-rank', *(['1'] if words[0] == '-n' else []), *words],
                                    capture_output=True, text=True, timeout=30)
            few.text = called.stderr
            report(f'ranks.sh --gpus-per-rank {" ".join(words)}', few, faults_of(few, called.returncode, False, {sentence: 1}))


def launcher(mpirun, script):
    global passed, failed
    cores = None
    with tempfile.TemporaryDirectory() as folder:
        fake, hosts = f'{folder}/mpirun', f'{folder}/hosts'
        with open(hosts, 'w') as file:
            file.write('# two hosts\na slots=4 max_slots=5\n\nb slots = 4\n')
        for version, words, wanted, names in CALLS:
            with open(fake, 'w') as file:
                file.write(FAKE % version)
            os.chmod(fake, 0o700)
            words, wanted = words.replace('HOSTS', hosts), wanted.replace('HOSTS', hosts)
            called = subprocess.run(['sh', script, *words.split()], capture_output=True, text=True, timeout=30, env={
                'PATH': os.environ['PATH'], 'MPIRUN': fake, **{name: 'a\nLOCUS_NO=b c' for name in names}})
            if 'CORES' in wanted:
                cores = cores or re.search(r':PE=(\d+)', called.stdout + ':PE=0')[1]
                wanted = wanted.replace('CORES', cores)
            right = called.returncode == 0 and called.stdout == wanted
            passed, failed = passed + right, failed + (not right)
            print(f'ok      ranks.sh {words}' if right else
                  f'FAILED  ranks.sh {words}\n         {called.stdout}\n         wanted {wanted}\n{called.stderr}')
    os.environ['MPIRUN'] = mpirun
    with tempfile.TemporaryDirectory() as folder:
        start = f'{folder}/start'
        with open(start, 'w') as file:
            file.write(f'#!/bin/sh\nunset OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_rmaps_base_oversubscribe\n'
                       f'exec sh {script} -v "$@"\n')
        os.chmod(start, 0o700)
        for ranks in (1, int(cores or 1) + 1):
            run = Run(start, ranks, ['sh', '-c', 'echo rank $OMPI_COMM_WORLD_RANK'])
            report(f'ranks.sh -n {ranks}', run, faults_of(run, run.end(30), True, {r'^rank \d+$': ranks, mpirun: 1}))
    gpus_of_ranks(mpirun, script)


def main():
    if len(sys.argv) < 4:
        print('skipped: this machine has no MPI; install libopenmpi-dev and openmpi-bin')
        return 77
    mpirun, which, program = sys.argv[1:4]
    first = Run(mpirun, 1, ['true'])
    if first.end(30) != 0:
        print('skipped: mpirun starts nothing here:', first.text)
        return 77
    if which in ('04', '07', '08', 'cards'):
        if which == 'cards':
            on_cards(mpirun, *sys.argv[3:6], sys.argv[6:])
        else:
            trainers(mpirun, which, sys.argv[3:5])
        print(f'{passed} passed, {failed} failed, 0 skipped')
        return failed > 0
    {'laws': laws, 'beside': beside, 'overlap': overlap, 'failures': failures, 'examples': examples, 'heat': heat,
     'launcher': launcher}[which](mpirun, program)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A step of data-parallel training over ranks beside PyTorch's DistributedDataParallel with gloo: the network of
example 04 and a wider one, with SGD and with Adam. Time of DDP / time of locus: above 1 DDP takes longer.

    PYTHON ranks_ddp.py PROGRAM [ROUNDS: 21] [RANKS: 1,2,4] [ROWS of each rank: 256]
    PYTHON ranks_ddp.py check      status 1 and a sentence, if PYTHON cannot run DistributedDataParallel

PROGRAM is bench/ranks_ddp; PYTHON has torch. Both start with the same rows and weights, which locus writes and
PyTorch reads. Both sets of ranks are there for the whole measurement; those whose turn it is not wait in a pipe,
without a processor. A rank has one thread and one core. In each round the two run a block of steps in random
order, and a ratio is taken within the round; the time of a block is that of the slowest rank. The first losses must be
equal, otherwise there is no table and the exit status is 1."""
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

NAMES = {'04-SGD': '784-128-10, SGD', '04-Adam': '784-128-10, Adam',
         'wide-SGD': '784-1024-1024-10, SGD', 'wide-Adam': '784-1024-1024-10, Adam'}
FIRST = 5  # steps whose losses are compared; later ones of the wide network with Adam part by rounding alone
CLOSE = 1e-3  # relative; the table has what it was
SECONDS = 0.1  # of a block

try:
    import numpy
    import torch
    import torch.distributed as dist
    import torch.nn.parallel
    gap = '' if dist.is_available() and dist.is_gloo_available() else 'its PyTorch has no gloo'
except ImportError as reason:
    gap = f'it lacks PyTorch or NumPy: {reason}'
if gap:
    sys.exit(f'refused: {sys.executable} cannot run DistributedDataParallel, {gap}; pip install torch numpy, or name another '
             'python: PYTHON=/path/to/python sh bench/ranks.sh ddp')


class Job:
    """a network of DDP with the rows of this rank"""

    def __init__(self, folder, name, rank, ranks):
        weights = numpy.load(f'{folder}/{name}.npz')
        kernels = [weights[k] for k in weights.files if k.endswith('/kernel')]
        biases = [weights[k] for k in weights.files if k.endswith('/bias')]
        layers = []
        for kernel, bias in zip(kernels, biases):
            layer = torch.nn.Linear(*kernel.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(kernel.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
            layers += [layer, torch.nn.ReLU()]
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers[:-1]),
                                                               gradient_as_bucket_view=True)
        own = {'fused': True} if tuple(int(n) for n in torch.__version__.split('.')[:2]) >= (2, 4) else {}
        parameters = self.model.parameters()
        self.optimizer = (torch.optim.SGD(parameters, lr=0.01, **own) if name.endswith('SGD') else
                          torch.optim.Adam(parameters, lr=0.001, **own))
        self.loss = torch.nn.CrossEntropyLoss()
        self.steps = 0
        x, y = numpy.load(f'{folder}/{name}.x.npy'), numpy.load(f'{folder}/{name}.y.npy')
        begin, end = len(x) * rank // ranks, len(x) * (rank + 1) // ranks
        self.x = torch.from_numpy(x[begin:end].copy())
        self.y = torch.from_numpy(y[begin:end].astype('int64'))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(self.x), self.y)
        loss.backward()
        self.steps += 1
        if 'eps' in self.optimizer.defaults:  # PyTorch adds it to a root that is larger by the root of 1 - beta_2^t
            self.optimizer.param_groups[0]['eps'] = 1e-7 / (1 - 0.999**self.steps) ** 0.5
        self.optimizer.step()
        return loss.detach()


def be_rank(folder, rank, ranks):
    """one rank of DDP: reads lines "NAME STEPS" from its pipe; rank 0 answers as the program of locus"""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]})
    torch.set_num_threads(1)
    dist.init_process_group('gloo', init_method=f'file://{folder}/meet', rank=rank, world_size=ranks)
    jobs = {name: Job(folder, name, rank, ranks) for name in NAMES}
    if rank == 0:
        print('ready', flush=True)
    with open(f'{folder}/torch.{rank}') as orders:
        for order in orders:
            name, count = order.split()
            losses = []
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(int(count)):
                losses.append(jobs[name].step())
            seconds = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
            dist.all_reduce(seconds, dist.ReduceOp.MAX)
            mean = torch.stack(losses)
            dist.all_reduce(mean)
            if rank == 0:
                print(float(seconds) / int(count), *(mean / ranks).tolist(), flush=True)
    dist.destroy_process_group()


class Ranks:
    """the ranks of one side: a line to all of them, an answer from rank 0"""

    def __init__(self, side, folder, ranks, commands, environment):
        self.side = side
        paths = [f'{folder}/{side}.{rank}' for rank in range(ranks)]
        for path in paths:
            os.mkfifo(path)
        self.processes = [subprocess.Popen(c, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                           env={**os.environ, **environment}) for c in commands]
        self.answers = self.processes[0].stdout
        if self.answer() != 'ready':
            self.end()
            sys.exit(f'the ranks of {side} ended before they were ready')
        # for both directions, so that no call waits for a rank that has ended
        self.pipes = [open(os.open(path, os.O_RDWR), 'w', buffering=1) for path in paths]

    def answer(self):
        return self.answers.readline().strip()

    def run(self, name, count):
        """seconds of a step, and the losses"""
        for pipe in self.pipes:
            pipe.write(f'{name} {count}\n')
        answer = self.answer().split()
        if len(answer) != count + 1:
            sys.exit(f'the ranks of {self.side} ended in {name}')
        return float(answer[0]), [float(loss) for loss in answer[1:]]

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        for pipe in self.pipes:
            pipe.close()
        if failure:
            return self.end()
        for process in self.processes:
            if process.wait(60) != 0:
                sys.exit(f'the ranks of {self.side} ended with {process.returncode}')


def measure(program, rounds, ranks, rows):
    """lines of the table for so many ranks"""
    one_thread = {'LOCUS_NUM_THREADS': '1', 'OMP_NUM_THREADS': '1', 'LOCUS_QUIET': '1', 'GLOO_SOCKET_IFNAME': 'lo',
                  'TORCH_CPP_LOG_LEVEL': 'ERROR'}
    if os.geteuid() == 0:
        one_thread |= {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    with contextlib.ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory())
        locus = ends.enter_context(Ranks('locus', folder, ranks, [
            ['mpirun', '-n', str(ranks), '--oversubscribe', '--map-by', 'core', '--bind-to', 'core:overload-allowed', '--mca',
             'mpi_yield_when_idle', '1', program, folder, str(rows)]], one_thread))
        ddp = ends.enter_context(Ranks('torch', folder, ranks, [
            [sys.executable, __file__, 'rank', folder, str(rank), str(ranks)] for rank in range(ranks)], one_thread))
        faults = 0
        for name, shown in NAMES.items():
            apart = max(abs(ours / theirs - 1) for ours, theirs in zip(locus.run(name, FIRST)[1], ddp.run(name, FIRST)[1]))
            if not apart < CLOSE:
                faults += 1
                print(f'{shown}, {ranks} ranks: losses of {FIRST} steps differ by {apart:.1e}', file=sys.stderr)
                continue
            counts = {side: max(1, min(1000, int(SECONDS / side.run(name, 5)[0]))) for side in (locus, ddp)}
            count = min(counts.values())
            times = {locus: [], ddp: []}
            for _ in range(rounds):
                for side in random.sample((locus, ddp), 2):
                    times[side].append(side.run(name, count)[0])
            ratios = sorted(theirs / ours for ours, theirs in zip(times[locus], times[ddp]))
            ours, theirs = (1e6 * statistics.median(times[side]) for side in (locus, ddp))
            print(f'| {shown} | {ranks} | {theirs:.0f} us | {ours:.0f} us | {statistics.median(ratios):.2f} | '
                  f'{ratios[0]:.2f} to {ratios[-1]:.2f} | {apart:.0e} |', flush=True)
        return faults


def main():
    if sys.argv[1] == 'check':  # what is above has looked
        return 0
    if sys.argv[1] == 'rank':
        return be_rank(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 21
    counts = [int(n) for n in (sys.argv[3] if len(sys.argv) > 3 else '1,2,4').split(',')]
    rows = int(sys.argv[4]) if len(sys.argv) > 4 else 256
    print(f'PyTorch {torch.__version__}, DistributedDataParallel with gloo; {rows} rows of each rank, {rounds} rounds, '
          f'{os.cpu_count()} processors\n')
    print('| network | ranks | DDP | locus | DDP / locus | lowest to highest | losses apart |\n|---|---|---|---|---|---|---|')
    return sum(measure(program, rounds, ranks, rows) for ranks in counts) > 0


if __name__ == '__main__':
    sys.exit(main())

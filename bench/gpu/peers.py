#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers.py RESULTS.jsonl: PyTorch (eager and compiled; its convolutions are cuDNN's) and CuPy do the work of the
groups that bench/gpu/*.cu measured; their lines follow those of locus. What is not installed is skipped by name.
A ratio is that of medians: another process cannot share a round."""
import json
import statistics
import sys


def skip(name, why):
    print(f'skipped: {name}: {why}', file=sys.stderr)


def torch_candidates():
    try:
        import torch
    except ImportError as error:
        return skip('PyTorch', error)
    if not torch.cuda.is_available():
        return skip('PyTorch', 'it finds no GPU')
    n, columns = 1 << 28, 4096

    def uniform(*shape, dtype=torch.float32):
        return (torch.rand(*shape, device='cuda') * 2 + 1).to(dtype)

    def time(run):
        for _ in range(3):
            run()
        seconds = []
        for _ in range(21):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(5):
                run()
            end.record()
            end.synchronize()
            seconds.append(begin.elapsed_time(end) / 5e3)
        return seconds

    def cases():
        x, z = uniform(n), uniform(n)
        y = torch.empty_like(x)
        yield 'a x + z, fp32', lambda: torch.add(z, x, alpha=2.5, out=y), lambda x, z: 2.5 * x + z, (x, z)
        yield 'sum, fp32', lambda: torch.sum(x), lambda x, z: torch.sum(x), (x, z)
        yield ('sum, max and sum of squares of one array', lambda: (x.sum(), x.max(), x.square().sum()),
               lambda x, z: (x.sum(), x.max(), x.square().sum()), (x, z))
        m = x.view(-1, columns)
        yield 'sums of rows of 4096, fp32', lambda: m.sum(1), lambda m, _: m.sum(1), (m, z)
        yield 'sums of 4096 columns, fp32', lambda: m.sum(0), lambda m, _: m.sum(0), (m, z)
        yield 'softmax of rows of 4096, fp32', lambda: torch.softmax(m, 1), lambda m, _: torch.softmax(m, 1), (m, z)
        yield ('y[0, n-1) = 2 x[1, n), fp32', lambda: torch.mul(x[1:], 2, out=y[:-1]), lambda x, z: 2 * x[1:], (x, z))
        h, k = x.half(), z.half()
        yield 'a x + z, fp16', lambda: torch.add(k, h, alpha=2.5), lambda x, z: 2.5 * x + z, (h, k)
        i, j = x.to(torch.int8), z.to(torch.int8)
        yield 'x z, int8', lambda: torch.mul(i, j), lambda x, z: x * z, (i, j)
        wide, row = x.view(-1, 8192), z[:8192]
        yield 'matrix + row, fp32', lambda: torch.add(wide, row), lambda x, z: x + z, (wide, row)

    def steps():
        """what a training step is made of: PyTorch's own kernels, of 256 MiB as the rows of training.cu"""
        small = 1 << 26
        f = torch.nn.functional
        x = torch.empty(small, device='cuda')
        yield 'uniform, fp32', lambda: x.uniform_(-1, 1)
        yield 'normal, fp32', lambda: x.normal_()
        m = x.view(8192, 8192)
        to = torch.empty_like(m)
        yield 'transpose, fp32', lambda: to.copy_(m.t())
        for width in (64, 1000):
            rows = x[:small // width * width].view(-1, width)
            yield f'sums of rows of {width}, fp32', lambda rows=rows: rows.sum(1)
        yield 'argmax, fp32', lambda: torch.argmax(x)
        yield 'sort, fp32', lambda: torch.sort(x)
        w = torch.nn.Parameter(uniform(small))
        w.grad = uniform(small)
        adam = torch.optim.Adam([w], fused=True)
        yield 'Adam, fp32', adam.step
        image = uniform(small // (1024 * 64), 64, 32, 32).to(memory_format=torch.channels_last)
        yield ('batch statistics of 64 channels, fp32',
               lambda: torch.var_mean(image, dim=(0, 2, 3), correction=0))
        logits, target = uniform(65536, 1000), torch.randint(1000, (65536,), device='cuda')
        logits.requires_grad_()
        yield ('cross-entropy of 1000 classes and its gradient, fp32',
               lambda: torch.autograd.grad(f.cross_entropy(logits, target), logits))
        torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False  # fp32 as locus
        images = uniform(512, 16, 32, 32).to(memory_format=torch.channels_last)
        kernel = uniform(32, 16, 3, 3).to(memory_format=torch.channels_last)
        bias, dy = uniform(32), uniform(512, 32, 32, 32).to(memory_format=torch.channels_last)
        yield 'conv2d 3 x 3, 16 to 32, fp32', lambda: f.conv2d(images, kernel, bias, padding=1).relu_()
        yield ('conv2d 3 x 3, 16 to 32, gradient of its kernel, fp32',
               lambda: torch.nn.grad.conv2d_weight(images, kernel.shape, dy, padding=1))
        tokens, table = torch.randint(5000, (small // 65536, 256), device='cuda'), uniform(5000, 256)
        yield 'embedding of 256 numbers, fp32', lambda: f.embedding(tokens, table)
        for name, dtype, side in (('fp32', torch.float32, 4096), ('fp16', torch.float16, 8192),
                                  ('bf16', torch.bfloat16, 8192), ('fp64', torch.float64, 4096)):
            a, b = uniform(side, side, dtype=dtype), uniform(side, side, dtype=dtype)
            yield f'matmul, {name}', lambda a=a, b=b: a @ b

    def arrays():
        """algorithms, functions of matrices and programs, as the rows of arrays.cu and libraries.cu"""
        small = 1 << 26
        f64 = torch.float64
        x, values = torch.rand(small, device='cuda'), torch.rand(small, device='cuda')
        yield 'cumsum, fp32', lambda: torch.cumsum(x, 0)
        m = x.view(-1, 4096)
        yield 'cumsum along rows of 4096, fp32', lambda: torch.cumsum(m, 1)
        yield 'cumsum along 4096 columns, fp32', lambda: torch.cumsum(m, 0)

        def by_key():
            keys, order = torch.sort(x, stable=True)
            return keys, values[order]
        yield 'sort_by_key, fp32', by_key
        i = torch.randint(1 << 20, (small,), device='cuda', dtype=torch.int32)
        yield 'unique of int32 below 2^20', lambda: torch.unique(i)
        mask = values < 0.5
        yield 'compress keeps 50 %, fp32', lambda: x[mask]
        for bins in (256, 65536):
            yield f'histogram of {bins} bins, fp32', lambda bins=bins: torch.histc(x, bins, 0, 1)
        rising = torch.sort(torch.rand(1 << 20, device='cuda')).values
        yield 'search_sorted in 2^20, fp32', lambda: torch.searchsorted(rising, x)
        at = torch.randint(small, (small,), device='cuda', dtype=torch.int32)
        yield 'take at random, fp32', lambda: torch.index_select(x, 0, at)
        ids = torch.randint(1000, (small,), device='cuda', dtype=torch.int32)
        ordered, sums = torch.sort(ids).values, torch.empty(1000, device='cuda')
        for name, which in (('segment_sum into 1000, fp32', ids), ('segment_sum into 1000, ids in order', ordered)):
            yield name, lambda which=which: sums.zero_().index_add_(0, which, x)
        for dtype, name, cases in ((torch.float32, 'fp32', ((1, 4096), (100, 128))), (f64, 'fp64', ((1, 4096), (1000, 16)))):
            for many, n in cases:
                w = torch.rand(many, n, n, device='cuda', dtype=dtype)
                a, b = w @ w.mT + n * torch.eye(n, device='cuda', dtype=dtype), w[:, :, :1].clone()
                of = f'of {str(many) + " x " if many > 1 else ""}{n} x {n}, {name}'
                yield f'cholesky {of}', lambda a=a: torch.linalg.cholesky_ex(a)
                yield f'solve {of}', lambda a=a, b=b: torch.linalg.solve_ex(a, b)
        for dtype, name, many, rows, columns in ((f64, 'fp64', 1, 2048, 2048), (f64, 'fp64', 1, 512, 512),
                                                 (torch.float32, 'fp32', 1, 20000, 64), (torch.float32, 'fp32', 64, 32, 32)):
            a = torch.rand(many, rows, columns, device='cuda', dtype=dtype)
            of = f'of {str(many) + " x " if many > 1 else ""}{rows} x {columns}, {name}'
            yield f'qr {of}', lambda a=a: torch.linalg.qr(a)
            if columns <= 1024:
                yield f'svd {of}', lambda a=a: torch.linalg.svd(a, full_matrices=False)
            if rows == columns <= 1024:
                half = a @ a.mT
                yield f'eigh {of}', lambda half=half: torch.linalg.eigh(half)
        for dtype, name, along, rows, columns in ((torch.complex64, 'fp32', 1, 65536, 1024), (torch.complex64, 'fp32', 0, 8192, 8192),
                                                  (torch.complex128, 'fp64', 1, 1, 1 << 24), (torch.complex64, 'fp32', 1, 10000, 2000)):
            z = torch.rand(rows, columns, device='cuda').to(dtype)
            n = columns if along else rows
            yield (f'fft along {"rows" if along else "columns"} of {n}, complex {name}',
                   lambda z=z, along=along: torch.fft.fft(z, dim=along))

    def prices(spot, strike, years):
        k, spread = strike * torch.exp(-0.02 * years), 0.3 * torch.sqrt(years)
        up = torch.log(spot / k) / spread + 0.5 * spread
        first, second = (0.5 * (1 + torch.erf(d * 0.70710678)) for d in (up, up - spread))
        return spot * first - k * second, k * (1 - second) - spot * (1 - first)

    def sweep(u, v):
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return v

    def wave(u, old, v):
        w = u[1:-1, 1:-1, 1:-1]
        v[1:-1, 1:-1, 1:-1] = 2 * w - old[1:-1, 1:-1, 1:-1] + .1 * (
            u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1] +
            u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:] - 6 * w)
        return v

    def forces(x, y, z, m):
        dx, dy, dz = (c[None, :] - c[:, None] for c in (x, y, z))
        r2 = dx * dx + dy * dy + dz * dz + 0.01
        pull = m / (r2 * torch.sqrt(r2))
        return (dx * pull).sum(1), (dy * pull).sum(1), (dz * pull).sum(1)

    def vectors(x, r, p, q):
        left = r - 1e-9 * q
        return x + 1e-9 * p, left, left.square().sum()

    def programs():
        def drawn(*shape, dtype=torch.float32):
            return torch.rand(*shape, device='cuda', dtype=dtype)
        yield 'prices of options, fp32', prices, [drawn(1 << 26) + 1 for _ in range(3)]
        yield "a sweep of Jacobi's method, fp64", sweep, [drawn(8192, 8192, dtype=torch.float64) for _ in range(2)]
        yield 'a step of a 3-D wave, fp64', wave, [drawn(512, 512, 512, dtype=torch.float64) for _ in range(3)]
        yield 'vectors of conjugate gradients, fp64', vectors, [drawn(1 << 26, dtype=torch.float64) for _ in range(4)]
        yield 'forces of bodies, fp32', forces, [drawn(65536) for _ in range(4)]

    for what, function, arguments in programs():
        if what != 'forces of bodies, fp32':  # n^2 numbers do not fit
            yield what, 'PyTorch', time(lambda: function(*arguments))
        try:
            compiled = torch.compile(function)
            yield what, 'torch.compile', time(lambda: compiled(*arguments))
        except Exception as error:
            skip(f'torch.compile, {what}', str(error).splitlines()[0])
    torch.cuda.empty_cache()
    for what, run in arrays():
        yield what, 'PyTorch', time(run)
    torch.cuda.empty_cache()
    for what, run in steps():
        yield what, 'PyTorch', time(run)
    for what, eager, function, arguments in cases():
        yield what, 'PyTorch', time(eager)
        try:
            compiled = torch.compile(function)
            yield what, 'torch.compile', time(lambda: compiled(*arguments))
        except Exception as error:  # it needs a compiler of its own
            skip(f'torch.compile, {what}', str(error).splitlines()[0])


def cupy_candidates():
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return skip('CuPy', error)
    from cupyx.profiler import benchmark
    n = 1 << 28
    x, z = cupy.random.rand(n, dtype=cupy.float32), cupy.random.rand(n, dtype=cupy.float32)
    triad = cupy.ElementwiseKernel('float32 a, float32 x, float32 z', 'float32 y', 'y = a * x + z', 'triad')
    y = cupy.empty_like(x)
    for what, run in (('a x + z, fp32', lambda: triad(2.5, x, z, y)), ('sum, fp32', lambda: cupy.sum(x))):
        yield what, 'CuPy', [float(t) for t in benchmark(run, n_repeat=21).gpu_times[0]]


def main(results):
    with open(results) as lines:
        own = {r['what']: r for r in map(json.loads, lines) if r['candidate'] == 'locus' and
               r['size'] not in ('16 MiB', '8 MiB', '4 MiB')}
    with open(results, 'a') as to:
        for candidates in (torch_candidates(), cupy_candidates()):
            for what, name, seconds in candidates or ():
                if what not in own:
                    continue
                r, middle = dict(own[what]), statistics.median(seconds)
                # the same library inside
                goal = 0.95 if r['table'] == 'GPU libraries' else 1.0  # the same library inside
                r.update(candidate=name, role='rival', goal=goal, median=middle, best=min(seconds), ratio=middle / r['median'],
                         low=min(seconds) / r['median'], high=max(seconds) / r['median'],
                         ratio_of_best=min(seconds) / r['best'], rounds=len(seconds))
                to.write(json.dumps(r) + '\n')


if __name__ == '__main__':
    main(sys.argv[1])

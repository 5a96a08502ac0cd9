#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py PROGRAM MACHINE [ROWS...]: runs the program, which writes operands and results of algorithms, and computes each
result again with NumPy. Integers, places and moved elements are equal; a computed float is near the value that NumPy has
in long double. check.py --planted: wrong results are found. Exit code 77, a skip, where Python has no NumPy."""
import collections
import ctypes
import ctypes.util
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print(f'no NumPy for {sys.executable}')
    sys.exit(77)

EPS = {'float': 2.0 ** -23, 'double': 2.0 ** -52, 'half': 2.0 ** -10, 'bfloat16': 2.0 ** -7,
       'complex64': 2.0 ** -23, 'complex128': 2.0 ** -52}
KINDS = list(EPS) + ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
C_LIBRARY = ctypes.CDLL(ctypes.util.find_library('m'))
C_LIBRARY.lgamma.restype, C_LIBRARY.lgamma.argtypes = ctypes.c_double, [ctypes.c_double]


class Near:
    """a value, and how far each element of a result may be from it"""

    def __init__(self, value, bound):
        self.value, self.bound = value, bound


def wide(x):
    """x in the type in which NumPy computes: long double, int64 or uint64"""
    if x.dtype.kind == 'c':
        return x.astype(np.clongdouble)
    return x.astype(np.longdouble if x.dtype.kind == 'f' else np.uint64 if x.dtype.kind == 'u' else np.int64)


def is_exact(x):
    return x.dtype.kind in 'iub'


def in_float(kind):
    """how far float, in which half and bfloat16 are computed, is from its result"""
    return 2.0 ** -22 if kind in ('half', 'bfloat16') else 0.0


def folded(value, size_of_terms, terms, kind):
    """a fold of so many terms, added up in double or by lanes: its rounding, and a few roundings on the way"""
    if kind not in EPS:
        return value
    eps = 2.0 ** -23 if kind in ('half', 'bfloat16') else EPS[kind]
    return Near(value, EPS[kind] * abs(value) + eps * (4 + math.log2(terms + 1)) * size_of_terms)


def line(x, axis, f):
    """f(line) of each line along an axis, which gives a line or a number"""
    return np.apply_along_axis(lambda one: np.array(f(one), x.dtype), axis, x) if x.size else x


def scan(x, o, f, first):
    """NumPy's scan of f, f: a ufunc; exclusive: it begins with `first`"""
    axis = int(o['axis'])
    if 'from_end' in o:
        x = np.flip(x, axis)
    r = f.accumulate(x, axis=axis)
    if 'exclusive' in o:
        r = np.concatenate([np.full_like(np.take(x, [0], axis), first), np.delete(r, -1, axis)], axis) if x.shape[axis] else x
    return np.flip(r, axis) if 'from_end' in o else r


def cumsum(kind, o, x):
    return folded(scan(wide(x), o, np.add, 0), scan(abs(wide(x)), o, np.add, 0), x.shape[int(o['axis'])], kind)


def cumprod(kind, o, x):
    r = scan(wide(x), o, np.multiply, 1)
    return r if is_exact(x) else Near(r, EPS[kind] * abs(r) * 2 + (x.shape[int(o['axis'])] + 4) * 2.0 ** -50 * abs(r))


def last(x, start=None):
    """the last element above 1, or the first one"""
    r, kept = [], start
    for v in x:
        kept = v if kept is None or v > 1 else kept
        r.append(kept)
    return r


def last_scan(kind, o, x):
    if 'exclusive' in o:
        start = x.dtype.type(o['start'])
        return line(x, int(o['axis']), lambda v: ([start] + last(v, start))[:-1])
    return line(x, int(o['axis']), last)


def last_fold(kind, o, x):
    start = x.dtype.type(o['start'])
    if not x.size:
        return np.full(np.delete(x.shape, int(o['axis'])), start)
    return line(x, int(o['axis']), lambda v: ([start] + last(v, start))[-1])


def top_k(kind, o, x):
    axis, k = int(o['axis']), int(o['k'])
    keys = x if 'smallest' in o else ~x if is_exact(x) else -x
    places = np.argsort(keys, axis, kind='stable')
    if not is_exact(x):  # NaN first
        behind = np.take_along_axis(np.where(np.isnan(x), 0, 1), places, axis)
        places = np.take_along_axis(places, np.argsort(behind, axis, kind='stable'), axis)
    places = np.take(places, range(k), axis)
    return np.take_along_axis(x, places, axis), places


def run_lengths(kind, o, x):
    if not len(x):
        return x, np.zeros(0, np.int64)
    same = (x[1:] == x[:-1]) | ((x[1:] != x[1:]) & (x[:-1] != x[:-1]))
    starts = np.concatenate([[0], np.nonzero(~same)[0] + 1])
    return x[starts], np.diff(np.concatenate([starts, [len(x)]]))


def sort_by_key(kind, o, keys, values):
    places = np.argsort(keys, kind='stable')
    return keys[places], values[places]


def histogram(kind, o, x, edges=None):
    if edges is None:
        return np.histogram(x.astype(np.float64), int(o['bins']), (float(o['low']), float(o['high'])))[0]
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    places = np.searchsorted(edges, inside, 'right') - 1
    last_one = len(edges) - 2
    return np.bincount(np.where(inside == edges[-1], last_one, places), minlength=len(edges) - 1)


def segments(start, ufunc):
    def fold(kind, o, x, ids):
        axis, number = int(o['axis']), int(o['segments'])
        y = wide(np.moveaxis(x, axis, 0)) if start == 0 else np.moveaxis(x, axis, 0)
        first = start if start == 0 else start(x.dtype)
        r = np.full((number,) + y.shape[1:], first, y.dtype)
        ufunc.at(r, ids, y)
        r = np.moveaxis(r, 0, axis)
        if start != 0:
            return r
        size = np.zeros((number,) + y.shape[1:], np.abs(y).dtype)
        np.add.at(size, ids, np.abs(y))
        return folded(r, np.moveaxis(size, 0, axis), len(ids), kind)
    return fold


def lowest(t):
    return -np.inf if t.kind == 'f' else np.iinfo(t).min


def highest(t):
    return np.inf if t.kind == 'f' else np.iinfo(t).max


def scatter_add(kind, o, y, ids, v):
    """y and a segment_sum, which is rounded to the elements' type first"""
    r, size = np.zeros_like(wide(y)), np.zeros_like(abs(wide(y)))
    np.add.at(r, ids, wide(v))
    np.add.at(size, ids, abs(wide(v)))
    sums = folded(r, size, len(ids), kind)
    return Near(wide(y) + r, sums.bound + EPS[kind] * abs(wide(y) + r)) if kind in EPS else wide(y) + r


def axis_of(o):
    return int(o['axis']) if 'axis' in o else None


def total(kind, o, x):
    a, keep = axis_of(o), 'keepdims' in o
    y = wide(x)
    return folded(np.sum(y, a, keepdims=keep), np.sum(abs(y), a, keepdims=keep), max(x.size, 1), kind)


def prod(kind, o, x):
    r = np.prod(wide(x), axis_of(o))
    n = x.shape[axis_of(o) or 0]
    return r if is_exact(x) else Near(r, EPS[kind] * abs(r) + (n + 4) * (2.0 ** -23 if kind in ('half', 'bfloat16') else EPS[kind]) * abs(r))


def mean(kind, o, x):
    a, n = axis_of(o), x.size if axis_of(o) is None else x.shape[axis_of(o)]
    y = wide(x)
    with np.errstate(all='ignore'):
        return folded(np.sum(y, a) / np.float64(n), np.sum(abs(y), a) / np.float64(max(n, 1)), n, kind)


def var(kind, o, x, root=False):
    a, ddof = axis_of(o), int(o.get('ddof', 0))
    n = x.size if a is None else x.shape[a]
    y = wide(x)
    with np.errstate(all='ignore'):
        m = np.sum(y, a, keepdims=True) / np.float64(n)
        r = np.sum((y - m) ** 2, a) / np.float64(n)
        if ddof:
            r = r * (np.float64(n) / (n - ddof) if n > ddof else np.nan)
        size = np.sum(y ** 2 + abs(m) * abs(y), a) / np.float64(max(n, 1))
        if not root:
            return folded(r, size, 4 * n, kind)
        r = np.sqrt(r)
        return folded(r, size / np.maximum(r, 1e-30), 4 * n, kind)


def norm(kind, o, x):
    y = np.sqrt(np.sum(abs(wide(x)) ** 2, axis_of(o)))
    return folded(y, y, x.size, kind)


def contract(letters):
    def product(kind, o, *xs):
        how = letters or o['letters']
        ys = [wide(x) for x in xs]
        if len(ys) < how.count(',') + 1:
            ys = ys * 2
        value = sum_of_products(how, ys)
        # products of integers have the elements' own type
        return folded(value, sum_of_products(how, [abs(y) for y in ys]), max(x.size for x in xs), kind)
    return product


def sum_of_products(how, ys):
    return np.einsum(how, *ys)


def dot(kind, o, x, y):
    if is_exact(x):  # products have the elements' type, their sum does not
        return np.sum(wide((x * y).astype(x.dtype)))
    return contract('i,i->')(kind, o, x, y)


def elements(f, ulps=1.0):
    """f of elements, in long double, rounded to their type; so many units in the last place apart"""
    def each(kind, o, *xs):
        with np.errstate(all='ignore'):
            if is_exact(xs[0]):
                return f(*xs)
            ys = [wide(x) for x in xs]
            if 'of_abs' in o:
                ys = [abs(y) for y in ys]
            r = f(*ys)
            return r if r.dtype == bool else Near(r, EPS[kind] * ulps * abs(r) + in_float(kind) * abs(r))
    return each


def exact(f):
    return lambda kind, o, *xs: f(*xs)


def complex_elements(f):
    """of complex numbers, whose parts may be small beside the value"""
    def each(kind, o, *xs):
        if is_exact(xs[0]):
            with np.errstate(all='ignore'):
                return f(*xs)
        size = f(*[abs(wide(x)) for x in xs]) if f is not np.subtract else abs(wide(xs[0])) + abs(wide(xs[1]))
        with np.errstate(all='ignore'):
            r = f(*[wide(x) for x in xs])
            return Near(r, EPS[kind] * (0.5 * abs(r) if r.dtype.kind == 'f' else 3 * abs(size)) + in_float(kind) * abs(size))
    return each


def divided(kind, o, x, y):
    with np.errstate(all='ignore'):
        if is_exact(x):  # 0 where the divisor is 0
            return np.where(y == 0, 0.0, x.astype(np.float64) / np.where(y == 0, 1, y).astype(np.float64))
        r = wide(x) / wide(y)
        return Near(r, EPS[kind] * abs(r) * (4 if r.dtype.kind == 'c' else 1))


def digamma(x):
    """by its recurrence to 20 and above, then its series"""
    x = x.astype(np.longdouble)
    shift = np.zeros_like(x)
    while np.any(x < 20):
        small = x < 20
        shift = shift - np.where(small, 1 / x, 0)
        x = np.where(small, x + 1, x)
    z = 1 / (x * x)
    series = z * (1 / np.longdouble(12) - z * (1 / np.longdouble(120) - z * (1 / np.longdouble(252) - z * (1 / np.longdouble(240) - z / 132))))
    return shift + np.log(x) - 1 / (2 * x) - series


def lgamma(x):
    """the C library's: Python's own is a few units further away"""
    return np.vectorize(C_LIBRARY.lgamma, otypes=[np.float64])(x.astype(np.float64)).astype(np.longdouble)


def near_zeros(f):
    """functions with zeros between their poles: near the value, or near it beside 1"""
    def each(kind, o, x):
        y = abs(wide(x))
        r = f(y)
        return Near(r, 4 * EPS[kind] * np.maximum(abs(r), 1))
    return each


def shifted(kind, o, x):
    axis, by, n = int(o['axis']), int(o['by']), x.shape[int(o['axis'])]
    i = np.arange(n) + by
    if o['edge'] == 'wrap':
        return np.take(x, i % n, axis)
    r = np.take(x, np.clip(i, 0, n - 1), axis)
    if o['edge'] == 'zero':
        outside = (i < 0) | (i >= n)
        r[(slice(None),) * axis + (outside,)] = 0
    return r


def padded(kind, o, x):
    widths = [(0, 0)] * x.ndim
    widths[int(o['axis'])] = (int(o['before']), int(o['after']))
    return np.pad(x, widths, constant_values=x.dtype.type(int(o['value'])))


def linspace(kind, o, rows):
    r = np.linspace(np.longdouble(o['first']), np.longdouble(o['last']), rows)
    return Near(r, 4 * EPS[kind] * 3)


def transform(f):
    """a number of a transform is a sum of all numbers of a line"""
    def each(kind, o, x):
        axis = int(o['axis'])
        n = 2 * x.shape[0] - 1 if f is np.fft.irfft else x.shape[axis]
        y = x.astype(np.complex128 if x.dtype.kind == 'c' else np.float64)
        r = f(y, n, axis)
        size = np.sqrt(np.sum(abs(y) ** 2, axis, keepdims=True)) * (1 if f is np.fft.fft or f is np.fft.rfft else 1 / np.sqrt(n))
        return Near(r, 4 * EPS[kind] * math.log2(n + 2) * size * np.ones_like(abs(r)))
    return each


def conditioned(f):
    """results of matrices, as near as the condition of the first one lets them be"""
    def each(kind, o, a, *more):
        a = a.astype(np.float64)
        r = f(a, *[x.astype(np.float64) for x in more])
        bound = 8 * EPS[kind] * len(a) * np.linalg.cond(a)
        return Near(r, bound * np.max(abs(r))) if not isinstance(r, tuple) else tuple(Near(v, bound * np.max(abs(v))) for v in r)
    return each


def qr(a):
    """the diagonal of r is not negative"""
    q, r = np.linalg.qr(a)
    signs = np.where(np.diagonal(r) < 0, -1, 1)
    return q * signs, r * signs[:, None]


def largest_positive(v):
    return v * np.sign(np.take_along_axis(v, np.argmax(abs(v), 0)[None], 0))


def eigh(kind, o, a):
    w, v = np.linalg.eigh(a.astype(np.float64))
    bound = 8 * EPS[kind] * len(a) * np.max(abs(w))
    apart = np.min(np.diff(w)) if len(w) > 1 else 1
    return Near(w, bound), Near(largest_positive(v), 4 * bound / apart)


def svd(kind, o, a):
    u, s, _ = np.linalg.svd(a.astype(np.float64), full_matrices=False)
    bound = 8 * EPS[kind] * len(a) * np.max(s)
    apart = min([abs(p - q) for i, p in enumerate(s) for q in s[:i]] + [s[-1], 1])
    return Near(largest_positive(u), 4 * bound / apart), Near(s, bound)


ALGORITHMS = {
    'fft': transform(np.fft.fft), 'ifft': transform(np.fft.ifft), 'rfft': transform(np.fft.rfft),
    'irfft': transform(np.fft.irfft), 'solve': conditioned(np.linalg.solve), 'inv': conditioned(np.linalg.inv),
    'cholesky': conditioned(np.linalg.cholesky), 'qr': conditioned(qr), 'eigh': eigh, 'svd': svd,
    'cumsum': cumsum, 'cumprod': cumprod,
    'cummax': lambda k, o, x: scan(x, o, np.maximum, None), 'cummin': lambda k, o, x: scan(x, o, np.minimum, None),
    'last': last_scan, 'last_fold': last_fold,
    'sort': lambda k, o, x: np.sort(x, int(o['axis'])),
    'argsort': lambda k, o, x: np.argsort(x, int(o['axis']), kind='stable'),
    'sort_by_key': sort_by_key, 'top_k': top_k, 'run_lengths': run_lengths,
    'unique': lambda k, o, x: np.unique(x, return_counts=True),
    'search_sorted': lambda k, o, s, x: np.searchsorted(s, x, 'right' if 'right' in o else 'left'),
    'histogram': histogram,
    'bincount': lambda k, o, i, *w: segments(0, np.add)(k, {'axis': 0, 'segments': 7}, w[0] if w else np.ones_like(i), i)
        if w else np.bincount(i, minlength=7),
    'take': lambda k, o, x, i: np.take(x, i, int(o['axis'])),
    'segment_sum': segments(0, np.add), 'segment_max': segments(lowest, np.maximum),
    'segment_min': segments(highest, np.minimum), 'scatter_add': scatter_add,
    'compress': lambda k, o, m, x: np.compress(m, x, int(o['axis'])), 'nonzero': lambda k, o, x: np.flatnonzero(x) if x.ndim == 1 else np.argwhere(x),
    'sum': total, 'prod': prod, 'mean': mean, 'var': var, 'std': lambda k, o, x: var(k, o, x, root=True), 'norm': norm,
    'dot': dot, 'outer': complex_elements(lambda x, y: np.outer(x, y)), 'einsum': contract(None),
    'any': lambda k, o, x: np.any(x, axis_of(o)), 'all': lambda k, o, x: np.all(x, axis_of(o)),
    'max': lambda k, o, x: np.max(x, axis_of(o)), 'min': lambda k, o, x: np.min(x, axis_of(o)),
    'argmax': lambda k, o, x: np.argmax(x, int(o['axis'])), 'argmin': lambda k, o, x: np.argmin(x, int(o['axis'])),
    'roll': lambda k, o, x: np.roll(x, int(o['by']), int(o['axis'])), 'flip': lambda k, o, x: np.flip(x, int(o['axis'])),
    'pad': padded, 'diagonal': lambda k, o, x: np.diagonal(x, int(o['offset'])),
    'stack': lambda k, o, x, y: np.stack([x, y], int(o['axis'])),
    'concatenate': lambda k, o, x, y=None: np.concatenate([x, x if y is None else y], int(o['axis'])),
    'transpose': lambda k, o, x: x.T, 'expand_dims': lambda k, o, x: np.expand_dims(x, int(o['axis'])),
    'row': lambda k, o, x: x[int(o['number'])], 'column': lambda k, o, x: x[:, int(o['number'])],
    'every': lambda k, o, x: x[::int(o['step'])], 'inside': lambda k, o, x: x[1:-1],
    'where': lambda k, o, m, x, y: np.where(m, x, y), 'shift': shifted,
    'equal': exact(np.equal), 'less': exact(np.less), 'greater_equal': exact(np.greater_equal),
    'logical_and': exact(np.logical_and), 'logical_or': exact(np.logical_or), 'logical_not': exact(np.logical_not),
    'bitwise_and': exact(np.bitwise_and), 'bitwise_or': exact(np.bitwise_or), 'bitwise_xor': exact(np.bitwise_xor),
    'invert': exact(np.invert), 'left_shift': exact(lambda x, y: np.left_shift(x, abs(y))),
    'right_shift': exact(lambda x, y: np.right_shift(x, abs(y))),
    'add': complex_elements(np.add), 'subtract': complex_elements(np.subtract), 'multiply': complex_elements(np.multiply),
    'negative': exact(np.negative), 'square': complex_elements(np.square), 'abs': elements(np.abs),
    'true_divide': divided, 'maximum': exact(np.maximum), 'minimum': exact(np.minimum), 'sign': exact(np.sign),
    'clip': exact(lambda x: np.clip(x, x.dtype.type(2), x.dtype.type(5))),
    'floor_divide': elements(np.floor_divide), 'mod': elements(np.mod), 'fmod': elements(np.fmod),
    'copysign': exact(np.copysign), 'exp': elements(np.exp, 1.5), 'log': elements(np.log, 2), 'sqrt': elements(np.sqrt),
    'sin': elements(np.sin, 2), 'tanh': elements(np.tanh, 4), 'floor': exact(np.floor),
    'lgamma': near_zeros(lgamma), 'digamma': near_zeros(digamma),
}
SMALL_ALONE = {'solve', 'inv', 'cholesky', 'qr', 'eigh', 'svd'}  # of matrices with at most 64 rows
CARDS_LACK = {'fft', 'ifft', 'irfft'}  # the PTX machine's programs have no complex numbers here
GENERATORS = {
    'eye': lambda k, o, n: np.eye(n, int(o['columns']), int(o['diagonal'])),
    'linspace': linspace,
}


def difference(found, want, kind):
    """'' or what differs"""
    bound = 0
    if isinstance(want, Near):
        want, bound = np.asarray(want.value), want.bound
    want = np.asarray(want)
    if found.shape != want.shape:
        return f'shape {found.shape}, NumPy: {want.shape}'
    if is_exact(found):
        with np.errstate(all='ignore'):
            wrong = found != want.astype(found.dtype)
    else:
        with np.errstate(all='ignore'):
            if not isinstance(bound, int) or bound:
                apart = abs(wide(found) - want)
                # a value may round to the next element, and below the smallest normal one to any of them
                wrong = ~((apart <= bound + tiny(found, kind)) | (wide(found) == want) | (np.isnan(found) & np.isnan(want)))
                wrong &= ~(np.isinf(found) & (abs(want) > largest(found, kind)))
            else:
                wrong = ~((found == want.astype(found.dtype)) | (np.isnan(found) & np.isnan(want)))
    if not np.any(wrong):
        return ''
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f'{int(np.sum(wrong))} of {wrong.size} differ, first at {at}: {found[at]!r}, NumPy: {want[at]!r}'


def tiny(found, kind):
    return 0.0 if kind == 'bfloat16' else float(np.finfo(found.dtype).smallest_subnormal)


def largest(found, kind):
    return float(np.finfo(found.dtype).max) * (1 - EPS[kind] / 2)


def check_file(path, counts):
    kind, _, rows = os.path.basename(path)[:-4].split('-')
    faults = []
    with np.load(path) as file:
        operands = {name: file[name] for name in file.files if '(' not in name}
        for name in file.files:
            if '(' not in name:
                continue
            text, _, part = name.partition(' #')
            call, *options = text.split()
            algorithm, _, given = call[:-1].partition('(')
            options = dict(o.split('=') if '=' in o else (o, True) for o in options)
            xs = [operands[x] for x in given.split(',') if x]
            if xs:
                want = ALGORITHMS[algorithm](kind, options, *xs)
            else:
                want = GENERATORS[algorithm](kind, options, int(rows))
            wrong = difference(file[name], want[int(part)] if part else want, kind)
            counts[algorithm] += 1
            if wrong:
                faults.append(f'{os.path.basename(path)}: {name}: {wrong}')
    return faults


def find_planted():
    """a right result passes, and each of these wrong ones does not"""
    x = (np.arange(33) % 7 - 3.25).astype(np.float32)
    k = np.arange(33, dtype=np.int32) % 5
    axis = {'axis': '0'}
    sums, order = ALGORITHMS['cumsum']('float', axis, x), ALGORITHMS['argsort']('int32', axis, k)
    right = np.cumsum(x.astype(np.float64)).astype(np.float32)
    wild = np.array([1, np.nan, np.inf], np.float32)

    def changed(values, at, by):
        values = values.copy()
        values[at] += by
        return values

    faults = [what for what, found, want, kind, passes in (
        ('sums', right, sums, 'float', True), ('a sum that is off by 1e-5', right * np.float32(1.00001), sums, 'float', False),
        ('one sum of 33', changed(right, 32, 0.01), sums, 'float', False), ('a NaN', changed(right, 3, np.nan), sums, 'float', False),
        ('a sum that is missing', right[:-1], sums, 'float', False), ('an order', order, order, 'int32', True),
        ('two places', changed(changed(order, 0, 1), 1, -1), order, 'int32', False), ('NaN where it belongs', wild, wild, 'float', True),
        ('an infinity of the other sign', -wild, wild, 'float', False), ('wrapped bytes', np.array([3], np.uint8), np.array([259]), 'uint8', True),
        ('a moved element', np.roll(x, 1), x, 'float', False))
              if (difference(found, want, kind) == '') != passes]
    print('planted: ' + (', '.join(faults) or 'all found'))
    sys.exit(1 if faults else 0)


def main():
    if sys.argv[1:] == ['--planted']:
        find_planted()
    program, machine, *rows = sys.argv[1:]
    counts, faults, files = collections.Counter(), [], 0
    # archives of large arrays have one type and one layout
    large = any(int(n) > 10 ** 5 for n in rows)
    for only in [[kind, 'open'] for kind in KINDS] if large else [[]]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, folder, machine] + rows + only, check=True)
            for name in sorted(os.listdir(folder)):
                files += 1
                faults += check_file(os.path.join(folder, name), counts)
    elsewhere = (CARDS_LACK if machine == 'cards' else set()) | (SMALL_ALONE if large else set())
    missing = sorted((set(ALGORITHMS) | set(GENERATORS)) - set(counts) - elsewhere)
    for fault in faults[:40]:
        print(fault)
    print(f'{machine}: {sum(counts.values())} results of {len(counts)} algorithms in {files} files, '
          f'{len(faults)} differ from NumPy {np.__version__}')
    if missing:
        print('no result of: ' + ', '.join(missing))
    sys.exit(1 if faults or missing else 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random, well-typed expressions as C++ units, each beside the list of operations that the
oracle walks:
    generate.py --seed 7 --count 40 --out DIR [--per-unit 20]
Only what compiles is written: this file holds the table of distributions
(include/locus/decisions/04-distributions.md) once more, and takes no combination without a row."""
import argparse
import os
import random
import re

FLOATS, INTS = ('f32', 'f64', 'f16', 'bf16'), ('i32', 'i64', 'u8', 'i8')
WHOLE = INTS + ('i16',)  # i16: u8 and i8 together
CPP = {'f32': 'float', 'f64': 'double', 'f16': 'locus::half', 'bf16': 'locus::bfloat16',
       'i32': 'std::int32_t', 'i64': 'std::int64_t', 'u8': 'std::uint8_t', 'i8': 'std::int8_t',
       'i16': 'std::int16_t',  # what u8 and i8 give
       'b8': 'bool'}
WIDTH = {'f32': 4, 'f64': 8, 'f16': 2, 'bf16': 2, 'i32': 4, 'i64': 8, 'u8': 1, 'i8': 1, 'i16': 2, 'b8': 1}
LISTS = [['GpuDevice<0>', 'GpuDevice<1>', 'GpuDevice<2>', 'GpuDevice<3>'],
         ['GpuDevice<3>', 'GpuDevice<1>'], ['GpuDevice<2>', 'GpuDevice<0>', 'GpuDevice<1>']]
MAX_STEPS = 26


class Refused(Exception):
    """No row in the table, or no operand that fits."""


# ---- how a value lies: None: a single device; ('mirrored',), ('sharded', axis), ('partial', op) ----
def kind_of(place):
    return place[0] if place else 'single'


def is_static(dim):
    return dim.isdigit()


class Value:
    """An expression: C++ text, its node of the oracle, element type, extents as texts, place."""

    def __init__(self, code, node, etype, dims, place, steps=1, generated=False, single=None,
                 leaf=None):
        self.code, self.node, self.etype, self.dims, self.place = code, node, etype, tuple(dims), place
        self.steps, self.generated, self.leaf = steps, generated, leaf
        self.single = (place is None) if single is None else single  # all its steps, too

    @property
    def rank(self):
        return len(self.dims)


def joined_dims(lists):
    """NumPy's broadcast over texts; '1' and 'o' (an open extent that is 1) stretch."""
    rank = max(len(d) for d in lists)
    out = []
    for r in range(1, rank + 1):
        have = [d[-r] for d in lists if len(d) >= r]
        real = {d for d in have if d not in ('1', 'o')}
        if len(real) > 1:
            raise Refused
        out.append(real.pop() if real else 'o' if 'o' in have else '1')
    return tuple(reversed(out))


class Case:
    def __init__(self, rng, number):
        self.rng, self.index = rng, number
        self.nodes, self.lines, self.leaves, self.pool = [], [], [], []
        self.lets = 0
        self.devices = rng.choice([LISTS[0]] * 6 + LISTS[1:])
        self.distributed = rng.random() < 0.7
        self.cut = rng.randrange(2)

    # ---- building blocks ----
    def node(self, what, etype, operands=(), in_terms=False, numbers=(), real=0.0):
        self.nodes.append((what, etype, tuple(operands), in_terms, tuple(numbers), real))
        return len(self.nodes) - 1

    def policy(self, place):
        names = ', '.join(self.devices)
        if place[0] == 'mirrored':
            return f'Mirrored<{names}>'
        return f'Sharded<{place[1]}, {names}>'

    def random_dims(self, rank=None):
        rank = rank if rank is not None else self.rng.choice([0, 1, 1, 2, 2, 2, 2, 3])
        return tuple(self.rng.choice(['m', 'n', 'k', 'm', 'n', 'k', '4', 'o']) for _ in range(rank))

    def random_place(self, dims):
        """A policy as C++ text, and the place."""
        rng = self.rng
        if self.distributed and rng.random() < 0.75:
            axes = [a for a, d in enumerate(dims) if d not in ('1', 'o')]
            if axes and rng.random() < 0.65:
                axis = self.cut if self.cut in axes else rng.choice(axes)
                place = ('sharded', axis)
            else:
                place = ('mirrored',)
            return self.policy(place), place
        return rng.choice(['CpuDevice', 'CpuDevice', 'GpuDevice<0>', 'GpuDevice<1>', 'GpuDevice<2>',
                           'GpuDevice<3>']), None

    def extents_type(self, dims):
        return 'Extents<' + ', '.join(d if is_static(d) else 'dyn' for d in dims) + '>'

    def extents_list(self, dims):
        return '{' + ', '.join('1' if d == 'o' else d for d in dims) + '}'

    def new_leaf(self, etype, dims, where=None):
        text, place = where or self.random_place(dims)
        number = len(self.leaves)
        node = self.node('leaf', etype)
        name = f'x{number}'
        self.lines.append(f'auto {name} = leaf<{CPP[etype]}, {self.extents_type(dims)}, {text}>'
                          f'(w, {number}, {node}, {self.extents_list(dims)});')
        value = Value(name, node, etype, dims, place, leaf=number)
        value.policy = text
        self.leaves.append(value)
        return value

    def generator(self, etype, dims):
        rng, what = self.rng, None
        if etype in FLOATS:
            what = rng.choice(['uniform', 'normal', 'iota', 'full'])
        elif etype in WHOLE:
            what = rng.choice(['iota', 'full'])
        else:
            raise Refused
        e = f'{self.extents_type(dims)}(locus::shape{{{len(dims)}, {self.extents_list(dims)}}})'
        seed = rng.randrange(1, 99)
        if what in ('uniform', 'normal'):
            code = f'{what}<{CPP[etype]}>({e}, {seed})'
        elif what == 'full':
            code = f'full<{CPP[etype]}>({e}, {seed})'
        else:
            code = f'iota<{CPP[etype]}>({e}, 1, {"0.5" if etype in FLOATS else "2"})'
            if etype in FLOATS and etype != 'f64':
                code = code.replace('0.5', '0.5f')
        node = self.node(what, etype, numbers=(seed,), real=float(seed))
        self.lines.append(f'shape_of(w, {node}, {self.extents_list(dims)});')
        return Value(code, node, etype, dims, None, steps=2, generated=True)

    def pick(self, fits, etype=None, dims=None):
        """A value of the pool that fits, or a new leaf."""
        rng = self.rng
        have = [v for v in self.pool if fits(v) and v.steps < MAX_STEPS - 6]
        if have and rng.random() < 0.8:
            return have[-1] if rng.random() < 0.5 else rng.choice(have)
        for _ in range(8):
            t = etype or rng.choice(['f32', 'f32', 'f32', 'f32', 'f16', 'f16', 'bf16', 'f64', 'i32',
                                     'i32', 'i32', 'i64', 'u8', 'i8', 'b8'])
            d = dims if dims is not None else self.random_dims()
            if rng.random() < 0.12 and t != 'b8':
                v = self.generator(t, d)
            elif len(self.leaves) < 7:
                v = self.new_leaf(t, d)
                self.pool.append(v)
            else:
                break
            if fits(v):
                return v
        if have:
            return rng.choice(have)
        raise Refused

    def partner(self, a, etype):
        """An operand that broadcasts with a."""
        rng = self.rng

        def fits(v):
            if v.etype != etype:
                return False
            try:
                joined_dims([a.dims, v.dims])
            except Refused:
                return False
            return True
        dims = a.dims
        if rng.random() < 0.3 and dims:
            dims = dims[rng.randrange(len(dims)):]
        if rng.random() < 0.15 and dims:
            i = rng.randrange(len(dims))
            dims = dims[:i] + ('o',) + dims[i + 1:]
        return self.pick(fits, etype, dims)

    # ---- the table of distributions ----
    def complete(self, v):
        return ('mirrored',) if kind_of(v.place) == 'partial' else v.place

    def keeps_partial(self, values, arity, law):
        partials = [v for v in values if kind_of(v.place) == 'partial']
        if not partials or any(v.place[1] != 'sum' for v in partials):
            return False
        if any(kind_of(v.place) == 'sharded' for v in values):
            return False
        return {'linear': arity == 1, 'add': len(partials) == arity, 'scale': len(partials) == 1,
                'scale_left': len(partials) == 1 and values[0] in partials
                and kind_of(values[0].place) == 'partial'}.get(law, False)

    def meet(self, values, dims):
        """Element-wise: the place of the result."""
        if all(v.place is None for v in values):
            return None
        cut = None
        for v in values:
            at = self.complete(v)
            if kind_of(at) != 'sharded':
                continue
            here = v.rank - 1 - at[1]
            if cut is not None and cut != here:
                raise Refused
            cut = here
        if cut is None:
            return ('mirrored',)
        axis = len(dims) - 1 - cut
        for v in values:  # pieces must lie side by side
            if cut < v.rank:
                d = v.dims[v.rank - 1 - cut]
                at = self.complete(v)
                if kind_of(at) == 'sharded' and d != dims[axis]:
                    raise Refused
                if v.place is None and d != '1' and d != dims[axis]:
                    raise Refused
        return ('sharded', axis)

    def operation(self, what, code, etype, values, dims, law='none', arity=None, numbers=(), steps=1,
                  operands=None):
        arity = arity or len(values)
        generated = all(v.generated for v in values)
        if all(v.place is None for v in values):
            place = None
        elif self.keeps_partial(values, arity, law):
            place = ('partial', 'sum')
        else:
            place = self.meet(values, dims)
        node = self.node(what, etype, operands or [v.node for v in values],
                         kind_of(place) == 'partial', numbers)
        extra = arity - len(values)
        return Value(code, node, etype, dims, place, sum(v.steps for v in values) + steps + extra,
                     generated, all(v.single for v in values))

    # ---- operations ----
    def number(self, etype):
        if etype in FLOATS:
            v = self.rng.choice([2.0, 0.5, -1.5, 3.0, -1.0])
            text = f'{v}' if etype == 'f64' else f'{v}f'
            return text, self.node('scalar', etype, real=v)
        v = self.rng.choice([2, 3, 1] if etype == 'u8' else [2, 3, -1, -2])
        return str(v), self.node('scalar', etype, numbers=(v,))

    def unary(self):
        v = self.pick(lambda v: v.etype != 'b8')
        names = ['negate', 'abs', 'square', 'relu']
        if v.etype in FLOATS:
            names += ['exp', 'tanh', 'sqrt', 'log', 'tanh', 'negate']
        what = self.rng.choice(names)
        code = f'(-{v.code})' if what == 'negate' else f'{what}({v.code})'
        law = 'linear' if what == 'negate' else 'none'
        return self.operation(what, code, v.etype, [v], v.dims, law)

    def promoted(self, a, b):
        if a != b and WIDTH[a] == WIDTH[b]:  # neither holds the other
            return 'f32' if a in FLOATS else 'i16'
        return a if WIDTH[a] >= WIDTH[b] else b

    def binary(self):
        rng = self.rng
        a = self.pick(lambda v: v.etype != 'b8')
        kin = FLOATS if a.etype in FLOATS else INTS
        other = a.etype if rng.random() < 0.8 else rng.choice(kin)
        table = [('add', '+', 'add'), ('subtract', '-', 'add'), ('multiply', '*', 'scale'),
                 ('maximum', None, 'none'), ('minimum', None, 'none')]
        if a.etype in FLOATS:
            table += [('divide', '/', 'scale_left'), ('add', '+', 'add'), ('multiply', '*', 'scale')]
        else:
            table += [('floor_div', None, 'none'), ('trunc_div', None, 'none'),
                      ('true_div', None, 'none'), ('fmod', '%', 'none'), ('floor_mod', None, 'none'),
                      ('bitwise_and', '&', 'none'), ('bitwise_or', '|', 'none'), ('bitwise_xor', '^', 'none'),
                      ('shift_left', '<<', 'none'), ('shift_right', '>>', 'none')]
        what, sign, law = rng.choice(table)
        if rng.random() < 0.25:  # with a number
            text, node = self.number(a.etype)
            first = rng.random() < 0.7
            x, y = (a.code, text) if first else (text, a.code)
            code = f'({x} {sign} {y})' if sign else f'{what}({x}, {y})'
            nodes = [a.node, node] if first else [node, a.node]
            if law == 'scale_left' and not first:
                law = 'none'
            t = 'f64' if what == 'true_div' and a.etype in WHOLE else a.etype
            v = self.operation(what, code, t, [a], a.dims, law, arity=2, operands=nodes)
            return v
        b = self.partner(a, other)
        if rng.random() < 0.5:
            a, b = b, a
        t = self.promoted(a.etype, b.etype)
        if what == 'true_div' and t in WHOLE:
            t = 'f64'
        code = f'({a.code} {sign} {b.code})' if sign else f'{what}({a.code}, {b.code})'
        return self.operation(what, code, t, [a, b], joined_dims([a.dims, b.dims]), law)

    def compare(self):
        a = self.pick(lambda v: v.etype != 'b8')
        what, sign = self.rng.choice([('less', '<'), ('less_equal', '<='), ('greater', '>'),
                                      ('greater_equal', '>='), ('equal_to', '=='),
                                      ('not_equal_to', '!=')])
        b = self.partner(a, a.etype)
        return self.operation(what, f'({a.code} {sign} {b.code})', 'b8', [a, b],
                              joined_dims([a.dims, b.dims]))

    def logic(self):
        a = self.pick(lambda v: v.etype == 'b8', 'b8')
        if self.rng.random() < 0.3:
            return self.operation('logical_not', f'(!{a.code})', 'b8', [a], a.dims)
        b = self.partner(a, 'b8')
        what, sign = self.rng.choice([('logical_and', '&&'), ('logical_or', '||')])
        return self.operation(what, f'({a.code} {sign} {b.code})', 'b8', [a, b],
                              joined_dims([a.dims, b.dims]))

    def select(self):
        c = self.pick(lambda v: v.etype == 'b8', 'b8')
        a = self.partner(c, self.rng.choice(['f32', 'i32', 'f32', 'f64', 'f16', 'b8']))
        if self.rng.random() < 0.3 and a.etype != 'b8':
            text, node = self.number(a.etype)
            return self.operation('where', f'where({c.code}, {a.code}, {text})', a.etype, [c, a],
                                  joined_dims([c.dims, a.dims]), arity=3,
                                  operands=[c.node, a.node, node])
        b = self.partner(a, a.etype)
        return self.operation('where', f'where({c.code}, {a.code}, {b.code})', a.etype, [c, a, b],
                              joined_dims([c.dims, a.dims, b.dims]))

    def clamp(self):
        a = self.pick(lambda v: v.etype in FLOATS + ('i32',))
        low, l = self.number(a.etype)
        b = self.partner(a, a.etype)
        return self.operation('clamp', f'clamp({a.code}, {low}, {b.code})', a.etype, [a, b],
                              joined_dims([a.dims, b.dims]), arity=3, operands=[a.node, l, b.node])

    def add_n(self):
        a = self.pick(lambda v: v.etype in FLOATS + ('i32',))
        b, c = self.partner(a, a.etype), self.partner(a, a.etype)
        return self.operation('add_n', f'add_n({a.code}, {b.code}, {c.code})', a.etype, [a, b, c],
                              joined_dims([a.dims, b.dims, c.dims]), 'add')

    def cast(self):
        a = self.pick(lambda v: True)
        t = self.rng.choice([t for t in ('f32', 'f32', 'f16', 'bf16', 'f64', 'i32', 'i64', 'u8', 'i8', 'b8')
                             if t != a.etype])
        widens = a.etype in FLOATS and t in FLOATS and self.promoted(a.etype, t) == t
        return self.operation('cast', f'cast<{CPP[t]}>({a.code})', t, [a], a.dims,
                              'linear' if widens else 'none')

    def reduce(self):
        rng = self.rng
        v = self.pick(lambda v: True)
        if v.etype == 'b8':
            what = rng.choice(['any', 'all', 'sum'])
        else:
            what = rng.choice(['sum', 'sum', 'sum', 'max', 'min', 'argmax'] +
                              (['mean', 'mean'] if v.etype in FLOATS else []))
        if what == 'argmax':
            axes = [] if rng.random() < 0.4 or v.rank == 0 else [rng.randrange(v.rank)]
        else:
            axes = [] if rng.random() < 0.3 else sorted(rng.sample(range(v.rank),
                                                                  rng.randint(0, v.rank)))
        gone = axes or list(range(v.rank))
        keep = bool(what != 'argmax' and rng.random() < 0.4)
        dims = [('1' if i in gone else d) for i, d in enumerate(v.dims)] if keep else \
            [d for i, d in enumerate(v.dims) if i not in gone]
        t = {'sum': v.etype if v.etype in FLOATS else 'i64', 'any': 'b8', 'all': 'b8',
             'argmax': 'i64'}.get(what, v.etype)
        place = None
        if v.place is not None:
            if self.keeps_partial([v], 1, 'linear') and what in ('sum', 'mean'):
                place = ('partial', 'sum')
            else:
                at = self.complete(v)
                if kind_of(at) == 'mirrored':
                    place = ('mirrored',)
                elif at[1] in gone:
                    place = ('partial', 'sum' if what in ('sum', 'mean') else what)
                else:
                    place = ('sharded', at[1] if keep else at[1] - sum(a < at[1] for a in gone))
        steps = 1
        if what == 'argmax':
            steps = 2
            if kind_of(place) == 'partial':
                place = ('mirrored',)
        mask = sum(1 << a for a in gone)
        node = self.node(what, t, [v.node], kind_of(place) == 'partial', (mask, int(keep)))
        arguments = '<' + ', '.join(str(a if rng.random() < 0.7 else a - v.rank) for a in axes) + '>'
        if not axes:
            arguments = ''
        code = f'{what}{arguments}({v.code}{", keep_dims" if keep else ""})'
        return Value(code, node, t, dims, place, v.steps + steps, False, v.single)

    def softmax(self):
        v = self.pick(lambda v: v.etype in FLOATS and v.rank > 0, 'f32', self.random_dims(2))
        axis = self.rng.randrange(v.rank)
        what = self.rng.choice(['softmax', 'softmax', 'log_softmax'])
        place = v.place and self.complete(v)
        node = self.node(what, v.etype, [v.node], False, (axis,))
        argument = '' if axis == v.rank - 1 and self.rng.random() < 0.5 else f'<{axis}>'
        return Value(f'{what}{argument}({v.code})', node, v.etype, v.dims, place, v.steps + 4,
                     False, v.single)

    def matmul(self):
        t = self.rng.choice(['f32', 'f32', 'f64', 'f16', 'i32'])
        a = self.pick(lambda v: v.etype == t and v.rank == 2 and 'o' not in v.dims and '1' not in v.dims,
                      t, tuple(self.rng.choice(['m', 'n', 'k']) for _ in range(2)))
        b = self.pick(lambda v: v.etype == t and v.rank == 2 and v.dims[0] == a.dims[1], t,
                      (a.dims[1], self.rng.choice(['m', 'n', 'k'])))
        place = None
        values = [a, b]
        if any(v.place is not None for v in values) and t in FLOATS:
            if self.keeps_partial(values, 2, 'scale'):
                place = ('partial', 'sum')
            else:
                x, y = (self.complete(v) or ('mirrored',) for v in values)
                rows = {(('mirrored',), ('mirrored',)): ('mirrored',),
                        (('sharded', 0), ('mirrored',)): ('sharded', 0),
                        (('mirrored',), ('sharded', 1)): ('sharded', 1),
                        (('sharded', 1), ('sharded', 0)): ('partial', 'sum')}
                if (x, y) not in rows:
                    raise Refused
                place = rows[(x, y)]
        node = self.node('matmul', t, [a.node, b.node], kind_of(place) == 'partial')
        return Value(f'matmul({a.code}, {b.code})', node, t, (a.dims[0], b.dims[1]), place,
                     a.steps + b.steps + 1, False, a.single and b.single)

    def viewed(self, v, what, code, dims, place, numbers=()):
        node = self.node(what, v.etype, [v.node], kind_of(v.place) == 'partial', numbers)
        if what == 'reshape':
            self.lines.append(f'shape_of(w, {node}, {self.extents_list(dims)});')
        return Value(code, node, v.etype, dims, place, v.steps + 1, v.generated, v.single)

    def transpose(self):
        v = self.pick(lambda v: v.rank >= 2)
        order = list(reversed(range(v.rank)))
        code = f'transpose({v.code})'
        if v.rank > 2 and self.rng.random() < 0.6:
            self.rng.shuffle(order)
            code = f'transpose<{", ".join(map(str, order))}>({v.code})'
        place = v.place
        if kind_of(place) == 'sharded':
            place = ('sharded', order.index(place[1]))
        return self.viewed(v, 'transpose', code, [v.dims[a] for a in order], place, order)

    def expand(self):
        v = self.pick(lambda v: v.rank < 4)
        axis = self.rng.randrange(v.rank + 1)
        place = v.place
        if kind_of(place) == 'sharded':
            place = ('sharded', place[1] + (axis <= place[1]))
        dims = v.dims[:axis] + ('1',) + v.dims[axis:]
        return self.viewed(v, 'expand_dims', f'expand_dims<{axis}>({v.code})', dims, place, (axis,))

    def reshape(self):
        v = self.pick(lambda v: v.rank >= 1)
        i = self.rng.randrange(v.rank)
        if v.rank >= 2 and i + 1 < v.rank:  # two axes become one
            joined = f'({self.plain(v.dims[i])} * {self.plain(v.dims[i + 1])})'
            if is_static(v.dims[i]) and is_static(v.dims[i + 1]):
                joined = str(int(v.dims[i]) * int(v.dims[i + 1]))
            dims = v.dims[:i] + (joined,) + v.dims[i + 2:]
        else:
            dims = v.dims[:i + 1] + ('1',) + v.dims[i + 1:]
        if kind_of(v.place) == 'sharded':
            a = v.place[1]
            if a >= len(dims) or dims[:a + 1] != v.dims[:a + 1]:
                raise Refused
        e = f'{self.extents_type(dims)}(locus::shape{{{len(dims)}, {self.extents_list(dims)}}})'
        return self.viewed(v, 'reshape', f'reshape({v.code}, {e})', dims, v.place)

    def plain(self, dim):
        return '1' if dim == 'o' else dim

    def slice(self):
        v = self.pick(lambda v: v.rank >= 1 and v.rank <= 4)
        static = [a for a, d in enumerate(v.dims) if d == '4']
        if static and self.rng.random() < 0.5:
            axis = static[0]
            begin = self.rng.randrange(3)
            end = self.rng.randint(begin, 4)
            if v.place is not None and kind_of(v.place) == 'sharded' and v.place[1] == axis:
                raise Refused
            dims = v.dims[:axis] + (str(end - begin),) + v.dims[axis + 1:]
            return self.viewed(v, 'slice', f'slice<{axis}, {begin}, {end}>({v.code})', dims, v.place,
                               (0, axis, begin, end))
        count = self.rng.randint(1, v.rank)
        if kind_of(v.place) == 'sharded' and v.place[1] < count:
            count = v.place[1]
            if count == 0:
                raise Refused
        ranges = ', '.join(f'{{cut_begin({self.plain(d)}), cut_end({self.plain(d)})}}'
                           for d in v.dims[:count])
        dims = tuple('o' if d in ('1', 'o') else f'part({d})' for d in v.dims[:count]) + v.dims[count:]
        # of a static extent the part is an open one
        return self.viewed(v, 'slice', f'slice({v.code}, {ranges})', dims, v.place, (count,))

    def concatenate(self):
        a = self.pick(lambda v: v.rank >= 1)
        axis = self.rng.randrange(a.rank)
        b = self.pick(lambda v: v.etype == a.etype and v.rank == a.rank and
                      v.dims[:axis] == a.dims[:axis] and v.dims[axis + 1:] == a.dims[axis + 1:],
                      a.etype, a.dims)
        values = [a, b]
        dim = f'({self.plain(a.dims[axis])} + {self.plain(b.dims[axis])})'
        if is_static(a.dims[axis]) and is_static(b.dims[axis]):
            dim = str(int(a.dims[axis]) + int(b.dims[axis]))
        dims = a.dims[:axis] + (dim,) + a.dims[axis + 1:]
        place = None
        if any(v.place is not None for v in values):
            place = self.meet(values, dims)
            if place == ('sharded', axis):
                raise Refused
        node = self.node('concatenate', a.etype, [a.node, b.node], False, (axis,))
        return Value(f'concatenate<{axis}>({a.code}, {b.code})', node, a.etype, dims, place,
                     a.steps + b.steps + 1, False, a.single and b.single)

    def one_hot(self):
        a = self.pick(lambda v: v.etype in WHOLE and v.rank <= 3, 'i32', self.random_dims(1))
        t = self.rng.choice(['f32', 'f64', 'f16', 'i32'])
        place = a.place and self.complete(a)
        node = self.node('one_hot', t, [a.node], False, (4,))
        generated = a.generated
        return Value(f'one_hot<4, {CPP[t]}>({a.code})', node, t, a.dims + ('4',), place, a.steps + 3,
                     generated, a.single)

    def on(self):
        v = self.pick(lambda v: v.single)
        device = self.rng.choice(['CpuDevice', 'GpuDevice<0>', 'GpuDevice<1>', 'GpuDevice<2>',
                                  'GpuDevice<3>', '"/GPU:1"', '"/CPU:0"'])
        return Value(f'on<{device}>({v.code})', v.node, v.etype, v.dims, None, v.steps + 1, False, True)

    def all_reduce(self):
        v = self.pick(lambda v: kind_of(v.place) == 'partial')
        if kind_of(v.place) != 'partial':
            raise Refused
        return Value(f'all_reduce({v.code})', self.node('all_reduce', v.etype, [v.node]), v.etype,
                     v.dims, ('mirrored',), v.steps + 1, False, v.single)

    def let(self):
        v = self.pick(lambda v: v.leaf is None and v.steps > 1 and not v.generated)
        if v.leaf is not None or v.generated or v.code.startswith('h'):
            raise Refused
        name = f'h{self.lets}'
        self.lets += 1
        self.lines.append(f'auto const {name} = named<"{name}">({v.code});')
        out = Value(name, v.node, v.etype, v.dims, v.place, 1, False, v.place is None)
        return out

    OPERATIONS = ([('binary', 9), ('unary', 4), ('reduce', 7), ('matmul', 4), ('softmax', 2), ('compare', 2),
                   ('logic', 1), ('select', 2), ('clamp', 1), ('add_n', 1), ('cast', 3), ('transpose', 3),
                   ('expand', 1), ('reshape', 2), ('slice', 3), ('concatenate', 2), ('one_hot', 1),
                   ('on', 3), ('all_reduce', 1), ('let', 2)])

    def grow(self, count):
        names = [n for n, _ in self.OPERATIONS]
        weights = [w for _, w in self.OPERATIONS]
        made = 0
        for _ in range(400):
            if made >= count:
                break
            nodes, lines, leaves = len(self.nodes), len(self.lines), len(self.leaves)
            pool = list(self.pool)
            try:
                v = getattr(self, self.rng.choices(names, weights)[0])()
                large = sum(len(re.findall(r'\b[mnk]\b', d)) for d in v.dims) > 3
                if v.rank > 5 or v.steps > MAX_STEPS or large:
                    raise Refused
            except Refused:
                del self.nodes[nodes:], self.lines[lines:], self.leaves[leaves:]
                self.pool = pool
                continue
            self.pool.append(v)
            made += 1

    # ---- roots ----
    def takes(self, place, value):
        """The row of assign: a value of that place at a destination."""
        if place is None or value is None:
            return True
        if place[0] == 'sharded' and kind_of(value) == 'sharded':
            return place == value
        return True

    def finish(self):
        """The statements that run it, and the nodes of the roots."""
        rng = self.rng
        roots, out = [], []
        candidates = [v for v in self.pool if v.leaf is None and v.steps <= MAX_STEPS and v.code[0] != 'h']
        if not candidates:
            return None
        main = candidates[-1]
        if rng.random() < 0.7:
            main = max(candidates, key=lambda v: v.steps)
        style = rng.choice(['eval', 'eval', 'eval', 'to', 'into', 'into', 'plan', 'plan', 'alias', 'rows'])

        def destination(v, alias):
            """A tensor that takes v: a leaf of the expression, or a fresh one."""
            old = [x for x in self.leaves if x.etype == v.etype and x.dims == v.dims and
                   self.takes(x.place, v.place) and x.leaf not in used]
            if alias and old:
                x = rng.choice(old)
            else:
                for _ in range(30):
                    text, place = self.random_place(v.dims)
                    if self.takes(place, v.place):
                        break
                else:
                    text, place = 'CpuDevice', None
                x = self.new_leaf(v.etype, v.dims, (text, place))
            used.add(x.leaf)
            return x
        used = set()
        if style == 'rows':
            slim = [x for x in self.leaves if x.place is None and x.rank >= 1 and x.etype in ('f32', 'i32', 'f64')
                    and x.dims[0] not in ('1', 'o')]
            if not slim:
                style = 'eval'
            else:
                x = rng.choice(slim)
                y = rng.choice([l for l in slim if l.dims == x.dims and l.etype == x.etype])
                d = self.plain(x.dims[0])
                shift = rng.choice([('cut_begin({0})', 'cut_end({0})'),
                                    ('0', 'part({0})')])
                a, b = (s.format(d) for s in shift)
                # rows of y, in place or moved, into rows of x
                node_all = self.node('slice', y.etype, [y.node], False, (1,)) if shift[0] != '0' else None
                if node_all is None:
                    return self.shifted_rows(x, y, d, out, roots)
                text, number = self.number(x.etype)
                node = self.node('multiply', x.etype, [node_all, number])
                whole = self.node('overwrite', x.etype, [x.node, node])
                out.append(f'run<P>(into(slice({x.code}, {{{a}, {b}}}), slice({y.code}, {{{a}, {b}}}) * {text}));')
                out.append(f'check(w, 0, {x.code});')
                return out, [whole]
        if style == 'eval':
            out.append(f'auto const r = eval<P>({main.code});')
            out.append('check(w, 0, r);')
            roots.append(main.node)
        elif style == 'to':
            for _ in range(30):
                text, place = self.random_place(main.dims)
                if self.takes(place, main.place):
                    break
            else:
                text, place = 'CpuDevice', None
            out.append(f'auto const r = to<{text}, P>({main.code});')
            out.append('check(w, 0, r);')
            roots.append(main.node)
        elif style in ('into', 'alias'):
            x = destination(main, style == 'alias')
            out.append(f'run<P>(into({x.code}, {main.code}));')
            out.append(f'check(w, 0, {x.code});')
            roots.append(main.node)
        else:
            chosen = [main] + [v for v in rng.sample(candidates, min(len(candidates), 2)) if v is not main]
            total, parts = 0, []
            for v in chosen[:3]:
                total += v.steps
                if parts and total > 60:
                    continue
                x = destination(v, rng.random() < 0.7)
                parts.append(f'into({x.code}, {v.code})')
                out.append(f'check(w, {len(roots)}, {x.code});')
                roots.append(v.node)
            out.insert(0, f'run(plan<P>({", ".join(parts)}));')
        return out, roots

    def shifted_rows(self, x, y, d, out, roots):
        """rows [0, part) of y become rows [cut_begin, cut_end) of x, which may be y"""
        first = self.node('slice', y.etype, [y.node], False, (-1,))
        negative = self.node('negate', y.etype, [first])
        whole = self.node('overwrite', x.etype, [x.node, negative])
        out.append(f'run<P>(into(slice({x.code}, {{cut_begin({d}), cut_end({d})}}), '
                   f'-slice({y.code}, {{0, part({d})}})));')
        out.append(f'check(w, 0, {x.code});')
        return out, [whole]


def reachable(nodes, roots):
    todo, found = list(roots), set()
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            todo += nodes[n][2]
    return found


def write_case(case, statements, roots):
    n = case.index
    keep, wanted = [], reachable(case.nodes, roots)
    for line in reversed(case.lines):  # what nobody reads goes
        below = '\n'.join(statements + keep)
        given = re.match(r'shape_of\(w, (\d+),', line)
        if int(given[1]) in wanted if given else re.search(r'\b%s\b' % re.match(r'auto (?:const )?(\w+)', line)[1], below):
            keep.insert(0, line)
    body = ''.join(f'  {line}\n' for line in keep + statements)
    text = [f'template <class P>\nvoid run_{n}(world& w) {{\n',
            '  [[maybe_unused]] std::int64_t const m = w.m, n = w.n, k = w.k;\n', body, '}\n',
            f'constexpr node nodes_{n}[] = {{\n']
    for what, etype, operands, in_terms, numbers, real in case.nodes:
        ops = ', '.join(map(str, list(operands) + [-1] * (4 - len(operands))))
        nums = ', '.join(map(str, list(numbers) + [0] * (4 - len(numbers))))
        text.append(f'    {{"{what}", element::{etype}, {{{ops}}}, {str(in_terms).lower()}, {{{nums}}}, {real}}},\n')
    text.append(f'}};\nconstexpr int roots_{n}[] = {{{", ".join(map(str, roots))}}};\n')
    text.append(f'registered const type_{n}{{{{{n}, nodes_{n}, {len(case.nodes)}, roots_{n}, {len(roots)},\n'
                f'    {{run_{n}<prefer_gpu>, run_{n}<follow_data>, run_{n}<min_copies>}},\n'
                f'    R"text({body})text"}}}};\n\n')
    return ''.join(text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--seed', type=int, required=True)
    arguments.add_argument('--count', type=int, required=True)
    arguments.add_argument('--out', help='a folder: units of --per-unit types')
    arguments.add_argument('--file', help='all of them in this one unit')
    arguments.add_argument('--per-unit', type=int, default=20)
    a = arguments.parse_args()
    if bool(a.file) == bool(a.out):
        arguments.error('write --out DIR or --file NAME')
    if a.out:
        os.makedirs(a.out, exist_ok=True)
    else:
        a.per_unit = a.count
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, 'datum.hpp')) as f:
        datum = ''.join(line for line in f if not line.startswith('#pragma'))
    with open(os.path.join(here, 'reproduce.cpp.in')) as f:
        program = f.read().replace('@datum@', datum)
    number, texts = 0, []
    attempt = 0
    while number < a.count:
        rng = random.Random(f'{a.seed} {attempt}')
        attempt += 1
        case = Case(rng, number)
        case.grow(rng.randint(3, 9))
        done = case.finish()
        if not done:
            continue
        texts.append(write_case(case, *done))
        number += 1
    for unit, begin in enumerate(range(0, a.count, a.per_unit)):
        with open(a.file or os.path.join(a.out, f'unit{unit}.cpp'), 'w') as f:
            f.write(f'// seed {a.seed}, written by test/random/generate.py\n#include <random/harness.hpp>\n'
                    'using namespace locus;\nusing namespace random_expressions;\nnamespace {\n\n')
            f.write(''.join(texts[begin:begin + a.per_unit]))
            f.write('}  // namespace\n')
            if unit == 0:
                f.write(f'std::uint64_t const random_expressions::program_seed = {a.seed};\n'
                        f'char const* const random_expressions::program_text = R"program({program})program";\n')


if __name__ == '__main__':
    main()

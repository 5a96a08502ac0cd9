# SPDX-License-Identifier: Apache-2.0
"""gdb shows tensors, views, extents, halves and expressions by their values, and steps over the functions that only
build expressions:
    (gdb) source include/locus/debugger/gdb.py
    (gdb) print t
    $1 = float[2,3] on /CPU:0 {1, 2, 3, 4, 5, 6}
As many elements are shown as `set print elements` says. Elements on a GPU and of replicas stay where they are."""
import re
import struct

import gdb


def extents_of(shape):
    return [int(shape['extent'][k]) for k in range(int(shape['rank']))]


def text_of(extents):
    return '[' + ','.join('dyn' if n == -1 else str(n) for n in extents) + ']'


def element_type(type):
    return re.sub(r'^locus::', '', str(type.unqualified()))


def device_of(policy):
    one = re.fullmatch(r'locus::(Cpu|GpuDevice)<(\d+)>', policy)
    if one:
        return f'/{"CPU" if one[1] == "Cpu" else "GPU"}:{one[2]}'
    return policy.replace('locus::', '')


def elements(data, extents, strides):
    """the first elements in row order"""
    most = gdb.parameter('print elements') or 2 ** 31
    total = 1
    for n in extents:
        total *= n
    shown = []
    for i in range(min(total, most)):
        at, rest = 0, i
        for n, stride in zip(reversed(extents), reversed(strides)):
            at += rest % n * stride
            rest //= n
        shown.append((data + at).dereference().format_string())
    return '{' + ', '.join(shown) + ('...' if total > most else '') + '}'


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        type = self.value.type.strip_typedefs()
        name = element_type(type.template_argument(0))
        block = self.value['block']['block_']
        if int(block) == 0:
            return f'{name}{pattern_of(str(type.template_argument(1)))}, moved from'
        block = block.dereference()
        extents = extents_of(block['extents'])
        policy = str(type.template_argument(2))
        text = f'{name}{text_of(extents)} on {device_of(policy)}'
        if not policy.startswith('locus::Cpu<'):
            return text
        piece = block['pieces'][0]
        data = piece['data'].cast(type.template_argument(0).pointer())
        return text + ' ' + elements(data, extents, [int(piece['strides'][k]) for k in range(len(extents))])


class ViewPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        type = self.value.type.strip_typedefs()
        leaf = self.value['leaf_']
        extents = extents_of(leaf['extents'])
        policy = str(type.template_argument(2))
        text = f'view of {element_type(type.template_argument(0))}{text_of(extents)} on {device_of(policy)}'
        if not policy.startswith('locus::Cpu<'):
            return text
        return text + ' ' + elements(leaf['data'], extents, [int(leaf['strides'][k]) for k in range(len(extents))])


class ExtentsPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return text_of(extents_of(self.value['value_']))


class HalfPrinter:
    """half and bfloat16: the number that their 16 bits stand for"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        bits = int(self.value['bits'])
        if str(self.value.type.strip_typedefs().unqualified()).endswith('bfloat16'):
            return f'{struct.unpack("<f", struct.pack("<I", bits << 16))[0]:g}'
        return f'{struct.unpack("<e", struct.pack("<H", bits))[0]:g}'


def pattern_of(extents):
    numbers = re.fullmatch(r'locus::Extents<(.*)>', extents)[1]
    return text_of([int(n.rstrip('lL')) for n in numbers.split(',') if n.strip()])


def split(arguments):
    """the arguments of a template, from their text"""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(arguments):
        depth += (c == '<') - (c == '>')
        if c == ',' and depth == 0:
            parts.append(arguments[begin:i].strip())
            begin = i + 1
    return parts + [arguments[begin:].strip()]


def operand_text(type):
    """an expression's type as a formula: exp(float[2,3] * scalar) is exp(multiply(float[2,3], scalar))"""
    type = re.sub(r'\b(const|volatile)\b', '', type).strip()
    found = re.fullmatch(r'locus::(?:mode_\w+::)?(\w+)<(.*)>', type)
    if not found:
        return type.replace('locus::', '')
    name, arguments = found[1], split(found[2])
    if name == 'Node':
        return f'{operation(arguments[0])}({", ".join(operand_text(a) for a in arguments[1:])})'
    if name in ('Leaf', 'ViewLeaf'):
        return f'{re.sub("^locus::", "", arguments[0])}{pattern_of(arguments[1])}'
    return {'Scalar': 'scalar', 'Index': 'index'}.get(name, name)


def operation(type):
    found = re.fullmatch(r'locus::(?:mode_\w+::)?(\w+)(?:<(.*)>)?', type)
    if not found:
        return type
    name = found[1]
    if name in ('map_op', 'reduce_op'):
        return operation(split(found[2])[0])
    return re.sub(r'_(fn|op)$', '', name)


class NodePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return operand_text(str(self.value.type.strip_typedefs().unqualified()))


PRINTERS = [(r'locus::Tensor<', TensorPrinter), (r'locus::View<', ViewPrinter), (r'locus::Extents<', ExtentsPrinter),
            (r'locus::Node<', NodePrinter), (r'locus::(half|bfloat16)$', HalfPrinter)]


def find_printer(value):
    name = str(value.type.strip_typedefs().unqualified())
    return next((printer(value) for form, printer in PRINTERS if re.match(form, name)), None)


find_printer.name = 'locus'
gdb.pretty_printers[:] = [find_printer] + [p for p in gdb.pretty_printers if getattr(p, 'name', '') != 'locus']
# `step` goes into what an expression computes, not into what builds it
for folder in ('expr', 'ops', 'tensor', 'plan'):
    gdb.execute(f'skip -gfi */locus/{folder}/*', to_string=True)
gdb.execute('skip -rfu ^std::(forward|move|addressof|get)', to_string=True)

# SPDX-License-Identifier: Apache-2.0
"""Texts for the printers of gdb and lldb, made of the names of types and of numbers."""
import re
import struct


def text_of(extents):
    return '[' + ','.join('dyn' if n == -1 else str(n) for n in extents) + ']'


def element_type(type):
    return re.sub(r'^locus::', '', re.sub(r'\b(const|volatile)\b', '', type).strip())


def device_of(policy):
    one = re.fullmatch(r'locus::(Cpu|GpuDevice)<(\d+)>', policy)
    if one:
        return f'/{"CPU" if one[1] == "Cpu" else "GPU"}:{one[2]}'
    return policy.replace('locus::', '')


def first_places(extents, strides, most):
    """the places of the first elements in row order, in elements behind the first; and whether there are more"""
    total = 1
    for n in extents:
        total *= n
    places = []
    for i in range(min(total, most)):
        at, rest = 0, i
        for n, stride in zip(reversed(extents), reversed(strides)):
            at += rest % n * stride
            rest //= n
        places.append(at)
    return places, total > most


def number_of(bits, is_bfloat16):
    """the number that the 16 bits of a half or a bfloat16 stand for"""
    if is_bfloat16:
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

# SPDX-License-Identifier: Apache-2.0
"""gdb shows tensors, views, extents, halves and expressions by their values, and steps over the functions that only
build expressions:
    (gdb) source include/locus/debugger/gdb.py
    (gdb) print t
    $1 = float[2,3] on /CPU:0 {1, 2, 3, 4, 5, 6}
As many elements are shown as `set print elements` says. Elements on a GPU and of replicas stay where they are."""
import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from type_text import device_of, element_type, first_places, number_of, operand_text, pattern_of, text_of  # noqa: E402


def extents_of(shape):
    return [int(shape['extent'][k]) for k in range(int(shape['rank']))]


def elements(data, extents, strides):
    """the first elements in row order"""
    places, more = first_places(extents, strides, gdb.parameter('print elements') or 2 ** 31)
    return '{' + ', '.join((data + at).dereference().format_string() for at in places) + ('...' if more else '') + '}'


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        type = self.value.type.strip_typedefs()
        name = element_type(str(type.template_argument(0)))
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
        text = f'view of {element_type(str(type.template_argument(0)))}{text_of(extents)} on {device_of(policy)}'
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
        name = str(self.value.type.strip_typedefs().unqualified())
        return number_of(int(self.value['bits']), name.endswith('bfloat16'))


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

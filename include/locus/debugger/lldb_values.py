# SPDX-License-Identifier: Apache-2.0
"""lldb shows tensors, views, extents, halves and expressions by their values, and steps over the functions of locus that
call no function of the program:
    (lldb) command script import include/locus/debugger/lldb_values.py
    (lldb) frame variable t
    (locus::Tensor<float, locus::Extents<2, 3> >) t = float[2,3] on /CPU:0 {1, 2, 3, 4, 5, 6}
As many elements are shown as the setting target.max-children-count says. Elements on a GPU and of replicas stay where they are."""
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from type_text import device_of, element_type, first_places, number_of, operand_text, pattern_of, split, text_of  # noqa: E402


def name_of(value):
    return value.GetType().GetCanonicalType().GetUnqualifiedType().GetName()


def arguments_of(value):
    """the arguments of a template, as texts"""
    name = name_of(value)
    return split(name[name.index('<') + 1:name.rindex('>')])


def member(value, *names):
    value = value.GetNonSyntheticValue()
    for name in names:
        value = value.GetChildMemberWithName(name)
    return value


def numbers(array, count):
    return [array.GetChildAtIndex(k).GetValueAsSigned() for k in range(min(count, array.GetNumChildren()))]


def extents_of(shape):
    return numbers(member(shape, 'extent'), member(shape, 'rank').GetValueAsSigned())


def element(value):
    name = name_of(value)
    if name in ('locus::half', 'locus::bfloat16'):
        return half(value, None)
    return value.GetValue() or value.GetSummary() or '?'


def elements(value, address, extents, strides):
    """the first elements in row order"""
    debugger, target, type = value.GetTarget().GetDebugger(), value.GetTarget(), value.GetType().GetCanonicalType()
    most = debugger.GetInternalVariableValue('target.max-children-count', debugger.GetInstanceName()).GetStringAtIndex(0)
    places, more = first_places(extents, strides, int(most))
    type = type.GetTemplateArgumentType(0).GetUnqualifiedType()
    shown = [element(target.CreateValueFromAddress('element', lldb.SBAddress(address + at * type.GetByteSize(), target), type)) for at in places]
    return '{' + ', '.join(shown) + ('...' if more else '') + '}'


def place_of(arguments):
    return arguments[2] if len(arguments) > 2 else 'locus::Cpu<0>'


def tensor(value, _):
    value = value.GetNonSyntheticValue()
    arguments = arguments_of(value)
    name, policy = element_type(arguments[0]), place_of(arguments)
    block = member(value, 'block', 'block_')
    if not block.IsValid():
        block = member(value.GetChildAtIndex(0), 'block', 'block_')
    if block.GetValueAsUnsigned() == 0:
        return f'{name}{pattern_of(arguments[1])}, moved from'
    block = block.Dereference()
    extents = extents_of(member(block, 'extents'))
    text = f'{name}{text_of(extents)} on {device_of(policy)}'
    if not policy.startswith('locus::Cpu<'):
        return text
    piece = member(block, 'pieces').GetChildAtIndex(0)
    return text + ' ' + elements(value, member(piece, 'data').GetValueAsUnsigned(), extents, numbers(member(piece, 'strides'), len(extents)))


def view(value, _):
    value = value.GetNonSyntheticValue()
    arguments, leaf = arguments_of(value), member(value, 'leaf_')
    policy, extents = place_of(arguments), extents_of(member(leaf, 'extents'))
    text = f'view of {element_type(arguments[0])}{text_of(extents)} on {device_of(policy)}'
    if not policy.startswith('locus::Cpu<'):
        return text
    return text + ' ' + elements(value, member(leaf, 'data').GetValueAsUnsigned(), extents, numbers(member(leaf, 'strides'), len(extents)))


def extents(value, _):
    return text_of(extents_of(member(value, 'value_')))


def half(value, _):
    return number_of(member(value, 'bits').GetValueAsUnsigned(), name_of(value).endswith('bfloat16'))


def node(value, _):
    return operand_text(name_of(value))


def __lldb_init_module(debugger, _):
    def run(command):
        debugger.HandleCommand(command)

    for form, function in [('^locus::Tensor<', tensor), ('^locus::View<', view), ('^locus::Extents<', extents),
                           ('^locus::Node<', node), ('^locus::(half|bfloat16)$', half)]:
        run(f"type summary add --category locus --regex '{form}' --python-function {__name__}.{function.__name__}")
    run('type category enable locus')
    run("settings set target.process.thread.step-avoid-regexp ^(std|locus)::")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrays.py LIBRARY numpy|torch: arrays of DLPack between a library that uses locus and NumPy or PyTorch.

Values, element types and strides both ways; one memory, which lives until both sides have let it go. Exit code 77, a
skip, where Python has no such package."""
import ctypes
import gc
import sys
import weakref

ELEMENTS = {'float32': 0, 'float64': 1, 'int64': 3, 'uint8': 4, 'float16': 6}  # locus' numbers of types
NAMES = {'plain': (b'dltensor', b'used_dltensor'), 'versioned': (b'dltensor_versioned', b'used_dltensor_versioned')}

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Made:
    """an array of the library, for from_dlpack of Python; kind: plain or versioned"""

    def __init__(self, pointer, kind='plain'):
        assert pointer, library.last_failure()
        self.pointer, self.kind = pointer, kind

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.pointer, NAMES[self.kind][0], None)


def give(capsule, function, *arguments, kind='plain'):
    """function(..., the array of a capsule), which takes it unless it fails"""
    name, used = NAMES[kind]
    result = function(*arguments, api.PyCapsule_GetPointer(capsule, name))
    if not library.last_failure():
        api.PyCapsule_SetName(capsule, used)
    return result


def load(path):
    loaded = ctypes.CDLL(path)
    for name, result, arguments in (
            ('last_failure', ctypes.c_char_p, []), ('live_tensors', ctypes.c_int64, []), ('drop', None, []),
            ('double_kept', None, []), ('share', ctypes.c_void_p, []), ('share_read_only', ctypes.c_void_p, []),
            ('make', ctypes.c_void_p, [ctypes.c_int, ctypes.c_int64, ctypes.c_int64]),
            ('make_versioned', ctypes.c_void_p, [ctypes.c_int, ctypes.c_int64, ctypes.c_int64]),
            ('keep', ctypes.c_int, [ctypes.c_void_p]), ('sum_array', ctypes.c_double, [ctypes.c_int, ctypes.c_void_p]),
            ('sum_versioned', ctypes.c_double, [ctypes.c_int, ctypes.c_void_p])):
        getattr(loaded, name).restype, getattr(loaded, name).argtypes = result, arguments
    return loaded


def check(condition, text):
    global checked
    checked += 1
    if not condition:
        sys.exit(f'{sys.argv[2]}: {text}; failure: {library.last_failure().decode()}')


def check_out(take, dtype_of, as_list):
    """arrays of locus in Python: take(object) is the package's from_dlpack"""
    for name, number in ELEMENTS.items():
        for rows, columns in ((0, 3), (1, 1), (31, 4), (257, 3)):
            before = library.live_tensors()
            array = take(Made(library.make(number, rows, columns)))
            check(dtype_of(array) == name and tuple(array.shape) == (rows, columns), f'an array of {name}')
            want = [[(i * columns + j) % 50 for j in range(columns)] for i in range(rows)]
            check(as_list(array) == want, f'values of {name}, {rows} rows')
            check(library.live_tensors() == before + 1, f'{name} is alive')
            del array
            gc.collect()
            check(library.live_tensors() == before, f'{name} is given back')


def check_in(array_of, dlpack_of, transposed):
    """arrays of Python in locus: array_of(name, lists) makes one, dlpack_of gives its capsule"""
    for name, number in ELEMENTS.items():
        lists = [[(7 * i + j) % 50 for j in range(4)] for i in range(33)]
        array = array_of(name, lists)
        total = sum(map(sum, lists))
        check(give(dlpack_of(array), library.sum_array, number) == total, f'the sum of {name}')
        check(give(dlpack_of(transposed(array)), library.sum_array, number) == total, f'the sum of a transposed {name}')
        check(give(dlpack_of(array[::2, 1:3]), library.sum_array, number) == sum(r[1] + r[2] for r in lists[::2]), f'a part of {name}')
    # one memory, kept by the library until it drops it
    array = array_of('float64', [[1, 2, 3], [4, 5, 6]])
    check(give(dlpack_of(array), library.keep) == 1, 'an array is kept')
    library.double_kept()
    check(array.tolist() == [[2, 4, 6], [8, 10, 12]], 'a plan writes the memory of Python')
    alive = weakref.ref(array)
    del array
    gc.collect()
    shared = take_back(Made(library.share()))
    library.double_kept()
    check(shared.tolist() == [[4, 8, 12], [16, 20, 24]], 'the library keeps the memory, and shares it')
    library.drop()
    gc.collect()
    check(shared.tolist() == [[4, 8, 12], [16, 20, 24]], 'who shares the memory keeps it')
    check(not owned_by_object or alive() is not None, 'the owner is alive while its memory is used')
    del shared
    gc.collect()
    check(alive() is None, 'and is released afterwards')
    # what does not fit stays Python's
    array = array_of('float32', [[1, 2]])
    capsule = dlpack_of(array)
    check(give(capsule, library.keep) == 0 and b'float32' in library.last_failure(), 'another type is refused')
    check(api.PyCapsule_IsValid(capsule, b'dltensor') == 1, 'and its capsule is not used up')
    capsule = dlpack_of(transposed(array_of('float64', [[1, 2], [3, 4]])))
    check(give(capsule, library.keep) == 0 and b'strides [1,2]' in library.last_failure(), 'gaps are refused')


checked, library, owned_by_object = 0, None, True


def main():
    global library, take_back, owned_by_object
    library = load(sys.argv[1])
    try:
        package = __import__(sys.argv[2])
    except ImportError:
        print(f'no {sys.argv[2]} for {sys.executable}')
        sys.exit(77)
    version = tuple(int(n) for n in package.__version__.split('.')[:2])
    take_back = package.from_dlpack
    if sys.argv[2] == 'numpy':
        check_out(package.from_dlpack, lambda a: str(a.dtype), lambda a: a.tolist())
        check_in(lambda name, lists: package.array(lists, name), lambda a: a.__dlpack__(), lambda a: a.T)
        if version >= (2, 1):
            array = package.from_dlpack(Made(library.make_versioned(1, 5, 2), 'versioned'))
            check(array.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]], 'a versioned array')
            array.flags.writeable = False
            check(give(array.__dlpack__(max_version=(1, 0)), library.sum_versioned, 1, kind='versioned') == 45, 'an array that may only be read')
    else:
        owned_by_object = False  # a storage owns the memory, not the tensor
        check_out(package.from_dlpack, lambda a: str(a.dtype).removeprefix('torch.'), lambda a: a.tolist())
        check_in(lambda name, lists: package.tensor(lists, dtype=getattr(package, name)), package.utils.dlpack.to_dlpack, lambda a: a.T)
    print(f'{sys.argv[2]} {package.__version__}: {checked} checks')


main()

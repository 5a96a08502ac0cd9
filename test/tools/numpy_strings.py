# SPDX-License-Identifier: Apache-2.0
# Writes test/unit/tensor/numpy_strings.hpp: arrays and what NumPy's str() makes of them. Run it by
# hand, with NumPy 2, when cases are added:  python3 numpy_strings.py > ../unit/tensor/numpy_strings.hpp
import numpy as np

random = np.random.default_rng(2026)
names = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64", "uint8": "u8",
         "bool": "boolean",
         "int16": "i16", "uint16": "u16", "uint32": "u32", "uint64": "u64", "complex64": "c64",
         "complex128": "c128"}
cases = []


def add(values, shape, dtype):
    """one case: the values, repeated until they fill the shape"""
    with np.errstate(all="ignore"):
        base = np.atleast_1d(np.asarray(values)).astype(dtype).ravel()
    full = np.resize(base, shape) if np.prod(shape, dtype=int) > 0 else np.zeros(shape, dtype)
    cases.append((names[dtype], shape, base, str(full)))


specials = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 2 / 3, 100.0, 12345.678, 1e-3, 1e-4, 9.9999e-5, 1e8,
            99999999.0, 1e7, 123456789.0, 1e16, 1e17, 1e22, 1e100, -1e-100, 5e-324, 1.5e-45,
            np.pi, -np.e, np.inf, -np.inf, np.nan, 0.5, 0.25, 0.125, 1e-8, 0.123456789, 1000.0001]
for dtype in ("float32", "float64"):
    for v in specials:
        add(v, (), dtype)
        add(v, (1,), dtype)
    for scale in range(-12, 14, 2):
        add(random.normal(size=5) * 10.0**scale, (5,), dtype)
        add(random.integers(-999, 999, 6) * 10.0 ** (scale // 2), (2, 3), dtype)
    for spread in (1, 2, 3, 4, 8, 20):
        add(10.0 ** random.uniform(-spread, spread, 6), (2, 3), dtype)
    for some in ([np.nan, 1.5], [np.inf, 1.0, 2.25], [-np.inf, 0.001], [np.nan, np.inf, -np.inf],
                 [np.nan, 1e10, 1.0], [-np.inf, 1e-10], [np.inf, 123456.789, -5], [-np.nan, -1.0]):
        add(some, (len(some),), dtype)
        add(some, (3, 2), dtype)
    add(random.normal(size=64), (40,), dtype)
    add(random.normal(size=64), (3, 19), dtype)
    add(random.normal(size=64) * 1e-7, (2, 2, 11), dtype)
    add(np.arange(24) / 4, (2, 3, 4), dtype)
    add(np.arange(24), (4, 1, 6), dtype)
    for shape in ((1000,), (1001,), (40, 40), (7, 200), (501, 2), (12, 12, 12), (2, 3, 400),
                  (200, 3, 2)):
        add(random.normal(size=97) * 100, shape, dtype)
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):
        add([0], shape, dtype)
for dtype, low, high in (("int32", -(2**31), 2**31), ("int64", -(2**63), 2**63 - 1), ("uint8", 0, 256)):
    for v in (0, 7, high - 1, low):
        add(v, (), dtype)
    add(random.integers(low, high, 5, dtype="int64"), (5,), dtype)
    add(random.integers(max(low, -50), 100, 60), (3, 20), dtype)
    add(random.integers(max(low, -5), 10, 60), (60,), dtype)
    add(random.integers(0, 100, 24), (2, 3, 4), dtype)
    add(random.integers(max(low, -200), 200, 97), (2000,), dtype)
    add(random.integers(max(low, -200), 200, 97), (30, 40), dtype)
    add([0], (0,), dtype)
for v in (True, False):
    add(v, (), "bool")
add([True, False, True], (3,), "bool")
add([True, False, True, True, False], (3, 11), "bool")
add([True, True], (2, 2, 2), "bool")
add([True, False, True], (1100,), "bool")

for dtype, low, high in (("int16", -(2**15), 2**15), ("uint16", 0, 2**16), ("uint32", 0, 2**32),
                         ("uint64", 0, 2**64 - 1)):
    for v in (0, 7, high - 1, low):
        add(np.array(v, dtype), (), dtype)
    add(random.integers(low, high, 5, dtype=dtype), (5,), dtype)
    add(random.integers(0, 100, 60), (3, 20), dtype)
    add(random.integers(0, 200, 97), (30, 40), dtype)
for dtype in ("complex64", "complex128"):
    for v in (0, 1, 1j, -1j, 1 + 2j, -0.0 + 1j, 1.5 - 0.0j, 1e20 + 1e-20j, 0.1 - 1e9j, complex("inf"),
              complex("nan"), complex(1, float("-inf")), complex(float("nan"), 2)):
        add(v, (), dtype)
        add(v, (1,), dtype)
    for scale in (0, -9, 7):
        parts = (random.normal(size=64) + 1j * random.normal(size=64)) * 10.0**scale
        add(parts, (5,), dtype)
        add(parts, (3, 7), dtype)
        add(parts, (40,), dtype)
        add(np.round(parts), (2, 3), dtype)
    add(random.normal(size=6) + 1j * 10.0 ** random.uniform(-9, 9, 6), (2, 3), dtype)
    for some in ([complex(1, np.nan), 1.5j], [complex(np.inf, 1), 2], [complex(0, -np.inf), 1e-10]):
        add(some, (2,), dtype)
    add(parts, (1001,), dtype)
    add([0], (0, 3), dtype)

print("""// SPDX-License-Identifier: Apache-2.0
// Made by test/tools/numpy_strings.py with NumPy %s: arrays, and what str() makes of them.
// clang-format off
#pragma once
#include <cstdint>  // uint64_t
#include <string_view>  // string_view
#include <vector>  // vector

enum class numpy_type { %s };
struct numpy_case {
  numpy_type type;
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> bits;  // of the values, which repeat until they fill the shape; a complex one has two
  std::string_view text;
};
inline std::vector<numpy_case> const numpy_cases = {""" % (
    np.__version__, ", ".join({"float": "f32", "double": "f64"}.get(n, n) for n in names.values())))
for kind, shape, base, text in cases:
    kind = {"float": "f32", "double": "f64"}.get(kind, kind)
    size = base.dtype.itemsize // (2 if kind in ("c64", "c128") else 1)
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size]
    bits = ", ".join("0x%x" % int(v) for v in base.view(unsigned))
    print('  {numpy_type::%s, {%s}, {%s}, R"(%s)"},' % (kind, ", ".join(map(str, shape)), bits, text))
print("};")

"""Cases of `kernels.atomics`."""

from functools import partial

import numpy as np

from formats import BF16, F16, F32, F64, I32, I64, Format
from kernels import atomics as kernels
from launch import Case, Expected, Scalar, Target, fresh, given, zeros

from .registry import blocks, case, random

BLOCK = 256


def scatter_add(number_format: Format, _: Target, n: int) -> Case:
    # Sums of small integers are exact in every format.
    x, index = random(n).integers(0, 3, n), random(n, 1).integers(0, 64, n)
    arguments = {"x": given(number_format, x), "index": given(I32, index), "out": zeros(number_format, 64), "n": Scalar(I32, n)}
    expected = {"out": Expected(np.bincount(index, x, 64))}
    return Case(kernels.scatter_add, arguments, {"BLOCK": BLOCK}, [blocks(n, BLOCK)], expected)


for _format in (F32, F64, F16, BF16, I32, I64):
    case(1000, 2048, 33, name=f"scatter_add_{_format.triton}")(partial(scatter_add, _format))


def integer_atomics(number_format: Format, _: Target, n: int) -> Case:
    buckets = 16
    x = random(n).integers(0, 2**20, n)
    initial = np.zeros((6, buckets), np.int64)
    initial[2:4] = 2**20 - 1
    expected = initial.copy()
    operations = (np.add, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for row, operation in zip(expected, operations):
        operation.at(row, np.arange(n) % buckets, x)
    arguments = {"x": given(number_format, x), "out": given(number_format, initial, written=True), "n": Scalar(I32, n)}
    constants = {"BUCKETS": buckets, "BLOCK": BLOCK}
    return Case(kernels.integer_atomics, arguments, constants, [blocks(n, BLOCK)], {"out": Expected(expected)})


for _format in (I32, I64):
    case(1000, 2048, 33, name=f"integer_atomics_{_format.triton}")(partial(integer_atomics, _format))


@case(1000, 2048, 33)
def float_extrema(_: Target, n: int) -> Case:
    x = random(n).standard_normal(n).astype(np.float32)
    arguments = {"x": given(F32, x), "n": Scalar(I32, n)}
    arguments |= {name: given(F32, np.zeros(8), written=True) for name in ("largest", "smallest")}
    expected = {"largest": Expected(np.array([max(0, x[i::8].max()) for i in range(8)]))}
    expected["smallest"] = Expected(np.array([min(0, x[i::8].min()) for i in range(8)]))
    return Case(kernels.float_extrema, arguments, {"BLOCK": BLOCK}, [blocks(n, BLOCK)], expected)


@case((4, 128), (6, 512), (3, 32))
def locked_sum(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).integers(0, 9, size)
    arguments = {"x": given(F32, x), "lock": zeros(I32, 1), "total": zeros(F32, size[1])}
    return Case(kernels.locked_sum, arguments, {"N": size[1]}, [size[0]], {"total": Expected(x.sum(0))})


@case((5, 256), (16, 128), (1, 64))
def last_one_sums(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).integers(0, 9, size)
    arguments = {"x": given(F32, x), "parts": fresh(F32, size[0]), "arrived": zeros(I32, 1), "out": fresh(F32, 1)}
    return Case(kernels.last_one_sums, arguments, {"N": size[1]}, [size[0]], {"out": Expected(np.array([x.sum()]))})

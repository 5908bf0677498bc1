"""Cases of `kernels.reductions`."""

from functools import partial

import numpy as np

from formats import F16, F32, I32, I64, Format
from kernels import reductions as kernels
from launch import Case, Expected, Scalar, Target, fresh, given, zeros

from .registry import blocks, case, random


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@case((3, 1000), (2, 4096), (5, 77))
def online_softmax(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    x = F16.encode(random(*size).standard_normal(size) * 3)
    arguments = {"x": given(F16, x), "out": fresh(F32, *size), "stride": Scalar(I64, columns), "columns": Scalar(I32, columns)}
    expected = {"out": Expected(softmax(x.astype(np.float64)), 1e-5)}
    return Case(kernels.online_softmax, arguments, {"BLOCK": 512}, [rows], expected, {"num_warps": 8})


@case((13, 100), (32, 128), (5, 3))
def softmax_rows(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).standard_normal(size).astype(np.float32)
    arguments = {"x": given(F32, x), "out": fresh(F32, *size), "rows": Scalar(I32, size[0]), "columns": Scalar(I32, size[1])}
    expected = {"out": Expected(softmax(x.astype(np.float64)), 1e-5)}
    return Case(kernels.softmax_rows, arguments, {"ROWS": 8, "BLOCK": 128}, [blocks(size[0], 8)], expected)


@case((3, 1000), (4, 1024), (5, 17))
def cross_entropy(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    x = F16.encode(random(*size).standard_normal(size) * 2)
    labels = random(rows).integers(0, columns, rows)
    p = softmax(x.astype(np.float64))
    losses = -np.log(p[np.arange(rows), labels])
    arguments = {"logits": given(F16, x), "labels": given(I64, labels), "losses": fresh(F32, rows)}
    arguments |= {"gradients": fresh(F32, *size), "columns": Scalar(I32, columns)}
    expected = {"losses": Expected(losses, 1e-5), "gradients": Expected(p - np.eye(columns)[labels], 1e-5)}
    return Case(kernels.cross_entropy, arguments, {"BLOCK": 1024}, [rows], expected)


@case((3, 1000), (4, 1024), (5, 17))
def extrema(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    # Few values, so that there are ties: the first one counts.
    x = random(*size).integers(-50, 50, size).astype(np.float32)
    arguments = {"x": given(F32, x), "columns": Scalar(I32, columns)}
    arguments |= {"largest": fresh(F32, rows), "smallest": fresh(F32, rows)}
    arguments |= {"where_largest": fresh(I32, rows), "where_smallest": fresh(I32, rows)}
    expected = {"largest": Expected(x.max(1)), "smallest": Expected(x.min(1))}
    expected |= {"where_largest": Expected(x.argmax(1)), "where_smallest": Expected(x.argmin(1))}
    return Case(kernels.extrema, arguments, {"BLOCK": 1024}, [rows], expected)


@case((64, 32), (16, 256), (128, 8))
def integer_reductions(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).integers(-(2**20), 2**20, size)
    arguments = {"x": given(I32, x), "sums": fresh(I32, size[1]), "smallest": fresh(I32, size[0]), "exclusive": fresh(I32, 1)}
    expected = {"sums": Expected(x.sum(0)), "smallest": Expected(x.min(1))}
    expected["exclusive"] = Expected(np.bitwise_xor.reduce(x.ravel())[None])
    return Case(kernels.integer_reductions, arguments, {"M": size[0], "N": size[1]}, [1], expected)


@case((16, 64), (64, 32), (2, 512))
def running_sums(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).uniform(0.9, 1.1, size).astype(np.float32)
    wide = x.astype(np.float64)
    arguments = {"x": given(F32, x), "sums": fresh(F32, *size), "products": fresh(F32, *size)}
    expected = {"sums": Expected(np.cumsum(wide, 0), 1e-5)}
    expected["products"] = Expected(np.cumprod(wide[:, ::-1], 1)[:, ::-1], 1e-5)
    return Case(kernels.running_sums, arguments, {"M": size[0], "N": size[1]}, [1], expected)


@case((4, 128), (16, 64), (1, 1024))
def linear_recurrence(_: Target, size: tuple[int, int]) -> Case:
    a, b = random(*size).uniform(-0.9, 0.9, (2, *size)).astype(np.float32)
    h, state = np.zeros(size), np.zeros(size[0])
    for step in range(size[1]):
        state = a[:, step].astype(np.float64) * state + b[:, step]
        h[:, step] = state
    arguments = {"a": given(F32, a), "b": given(F32, b), "out": fresh(F32, *size)}
    return Case(kernels.linear_recurrence, arguments, {"M": size[0], "N": size[1]}, [1], {"out": Expected(h, 1e-5)})


@case((3, 1000), (2, 1024), (5, 129))
def welford(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    x = (random(*size).standard_normal(size) + 5).astype(np.float32)
    arguments = {"x": given(F32, x), "means": fresh(F32, rows), "variances": fresh(F32, rows), "columns": Scalar(I32, columns)}
    wide = x.astype(np.float64)
    expected = {"means": Expected(wide.mean(1), 1e-6), "variances": Expected(wide.var(1), 1e-5)}
    return Case(kernels.welford, arguments, {"BLOCK": 1024}, [rows], expected)


def sort_rows(number_format: Format, descending: bool, _: Target, n: int) -> Case:
    x = random(n).integers(-1000, 1000, (2, n)).astype(number_format.storage)
    ascending = np.sort(x, 1)
    arguments = {"x": given(number_format, x), "out": fresh(number_format, 2, n)}
    expected = {"out": Expected(ascending[:, ::-1] if descending else ascending)}
    return Case(kernels.sort_rows, arguments, {"N": n, "DESCENDING": descending}, [2], expected)


case(512, 64, 1024, name="sort_fp32")(partial(sort_rows, F32, False))
case(512, 64, name="sort_i64_descending")(partial(sort_rows, I64, True))
case(256, 32, name="sort_fp16")(partial(sort_rows, F16, False))


@case((512, 8), (64, 16), (1024, 2))
def top_k(_: Target, size: tuple[int, int]) -> Case:
    n, k = size
    x = random(n).standard_normal((3, n)).astype(np.float32)
    arguments = {"x": given(F32, x), "out": fresh(F32, 3, k)}
    return Case(kernels.top_k, arguments, {"N": n, "K": k}, [3], {"out": Expected(np.sort(x, 1)[:, ::-1][:, :k])})


@case((1000, 64), (2048, 256), (77, 16))
def histogram(_: Target, size: tuple[int, int]) -> Case:
    n, bins = size
    x = random(n).integers(0, bins, n)
    arguments = {"x": given(I32, x), "out": zeros(I32, bins), "n": Scalar(I32, n)}
    expected = {"out": Expected(np.bincount(x, minlength=bins))}
    return Case(kernels.histogram, arguments, {"BLOCK": 256, "BINS": bins}, [blocks(n, 256)], expected)


@case((16, 64), (4, 512), (64, 8))
def gather_columns(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).standard_normal(size).astype(np.float32)
    index = random(*size, 1).integers(0, size[1], size)
    arguments = {"x": given(F32, x), "index": given(I32, index), "out": fresh(F32, *size)}
    expected = {"out": Expected(np.take_along_axis(x, index, 1))}
    return Case(kernels.gather_columns, arguments, {"M": size[0], "N": size[1]}, [1], expected)

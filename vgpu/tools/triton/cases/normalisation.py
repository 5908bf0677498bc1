"""Cases of `kernels.normalisation`."""

import numpy as np

from formats import BF16, F16, F32, I32, Array
from kernels import normalisation as kernels
from launch import Case, Expected, Scalar, Target, fresh, given, zeros

from .registry import blocks, case, random

EPSILON = 1e-5


def statistics(x: Array) -> tuple[Array, Array]:
    return x.mean(1, keepdims=True), 1 / np.sqrt(x.var(1, keepdims=True) + EPSILON)


@case((3, 1000), (2, 2048), (5, 77))
def layer_norm(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    x, (w, b) = F16.encode(random(*size).standard_normal(size)), F16.encode(random(columns).standard_normal((2, columns)))
    wide = x.astype(np.float64)
    mean, inverse = statistics(wide)
    arguments = {"x": given(F16, x), "out": fresh(F16, *size), "weight": given(F16, w), "bias": given(F16, b)}
    arguments |= {"means": fresh(F32, rows), "inverses": fresh(F32, rows)}
    arguments |= {"columns": Scalar(I32, columns), "epsilon": Scalar(F32, EPSILON)}
    expected = {"out": Expected((wide - mean) * inverse * w + b, 1e-3), "inverses": Expected(inverse[:, 0], 1e-5)}
    return Case(kernels.layer_norm, arguments, {"BLOCK": 512}, [rows], expected)


@case((3, 1000), (2, 1024), (5, 77))
def rms_norm(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    x = BF16.decode(BF16.encode(random(*size).standard_normal(size)))
    w = BF16.decode(BF16.encode(random(columns).standard_normal(columns)))
    arguments = {"x": given(BF16, x), "out": fresh(BF16, *size), "weight": given(BF16, w)}
    arguments |= {"columns": Scalar(I32, columns), "epsilon": Scalar(F32, EPSILON)}
    y = x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * w
    return Case(kernels.rms_norm, arguments, {"BLOCK": 1024}, [rows], {"out": Expected(y, 4e-3)}, {"num_warps": 1})


@case((9, 500), (8, 512), (5, 77))
def layer_norm_backward(_: Target, size: tuple[int, int]) -> Case:
    rows, columns = size
    groups = 2
    x, g = F16.encode(random(*size).standard_normal((2, *size)))
    w = F16.encode(random(columns).standard_normal(columns))
    wide, grad = x.astype(np.float64), g.astype(np.float64)
    mean, inverse = statistics(wide)
    normal, scaled = (wide - mean) * inverse, grad * w
    along = (normal * scaled).mean(1, keepdims=True)
    grad_x = (scaled - (normal * along + scaled.mean(1, keepdims=True))) * inverse
    arguments = {"grad_out": given(F16, g), "x": given(F16, x), "weight": given(F16, w)}
    arguments |= {"means": given(F32, mean[:, 0]), "inverses": given(F32, inverse[:, 0]), "grad_x": fresh(F16, *size)}
    arguments |= {name: zeros(F32, groups, columns) for name in ("grad_weight", "grad_bias")}
    arguments |= {"locks": zeros(I32, groups), "columns": Scalar(I32, columns)}
    expected = {"grad_x": Expected(grad_x, 2e-3)}
    for name, values in (("grad_weight", grad * normal), ("grad_bias", grad)):
        expected[name] = Expected(np.stack([values[group::groups].sum(0) for group in range(groups)]), 1e-5)
    return Case(kernels.layer_norm_backward, arguments, {"GROUP": groups, "BLOCK": 512}, [rows], expected)


@case((70, 100), (64, 128), (3, 5))
def column_sums(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).standard_normal(size).astype(np.float32)
    arguments = {"x": given(F32, x), "out": fresh(F32, size[1]), "rows": Scalar(I32, size[0]), "columns": Scalar(I32, size[1])}
    expected = {"out": Expected(x.astype(np.float64).sum(0), 1e-5)}
    return Case(kernels.column_sums, arguments, {"ROWS": 32, "BLOCK": 64}, [blocks(size[1], 64)], expected)

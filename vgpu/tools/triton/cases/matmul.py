"""Cases of `kernels.matmul`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import triton.language as tl

from formats import BF16, E4M3, E4M3FNUZ, E5M2, F16, F32, F64, FP4_VALUES, I8, I32, U8, Array, Format, fp8_values
from kernels import matmul as kernels
from launch import Case, Descriptor, Expected, Scalar, Target, fresh, given, zeros

from .registry import blocks, case, everywhere, hopper, nvidia, random

Extents = tuple[int, int, int]

# Unit roundoff of results and factors, with room for the accumulation.
TOLERANCES = {F16: 1e-3, BF16: 6e-3, F32: 1e-5, F64: 1e-13}


def factors(number_format: Format, extents: Extents) -> tuple[Array, Array]:
    """Two matrices of numbers that the format has."""
    m, n, k = extents
    rng = random(*extents)
    if number_format is I8:
        return rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    exact = (number_format.decode(number_format.encode(rng.standard_normal(shape))) for shape in ((m, k), (k, n)))
    return next(exact), next(exact)


def extents_of(extents: Extents) -> dict[str, Scalar]:
    return {name: Scalar(I32, extent) for name, extent in zip("MNK", extents)}


def by_pointers(
    factor: Format,
    result: Format,
    block: Extents,
    precision: str,
    tolerance: float,
    transposed: str,
    options: dict[str, int],
    _: Target,
    extents: Extents,
) -> Case:
    m, n, k = extents
    a, b = factors(factor, extents)
    accumulator = {I8: tl.int32, F64: tl.float64}.get(factor, tl.float32)
    a_held, b_held = (a.T if "a" in transposed else a), (b.T if "b" in transposed else b)
    strides = {"am": 1, "ak": m} if "a" in transposed else {"am": k, "ak": 1}
    strides |= {"bk": 1, "bn": k} if "b" in transposed else {"bk": n, "bn": 1}
    arguments: dict[str, Any] = {"a": given(factor, a_held), "b": given(factor, b_held), "c": fresh(result, m, n)}
    arguments |= extents_of(extents) | {f"stride_{name}": Scalar(I32, stride) for name, stride in strides.items()}
    arguments["stride_cm"] = Scalar(I32, n)
    stages = options.get("num_stages", 2)
    constants = dict(zip(("BM", "BN", "BK"), block)) | {"ACC": accumulator, "PRECISION": precision, "STAGES": stages}
    grid = [blocks(m, block[0]) * blocks(n, block[1])]
    return Case(kernels.matmul, arguments, constants, grid, {"c": Expected(a @ b, tolerance)}, options)


def not_sm_80(target: Target) -> bool:
    return target.name != "sm_80"


def gfx942(target: Target) -> bool:
    return target.name == "gfx942"


def pointers(
    name: str,
    factor: Format,
    result: Format,
    block: Extents = (64, 64, 32),
    precision: str = "ieee",
    tolerance: float | None = None,
    transposed: str = "",
    on: Callable[[Target], bool] = everywhere,
    **options: int,
) -> None:
    """Registers a product by pointers over sizes that are larger than, equal to, and odd against its blocks."""
    bm, bn, bk = block
    sizes = ((bm + 16, bn + 16, 3 * bk + 16), (bm, bn, 2 * bk), (bm - 3, bn + 7, bk + 5))
    limit = TOLERANCES.get(result, 0.0) if tolerance is None else tolerance
    build = partial(by_pointers, factor, result, block, precision, limit, transposed, options)
    case(*sizes, name=f"matmul_{name}", on=on)(build)


pointers("fp16", F16, F16)
pointers("fp16_128x128x64_w8_s3", F16, F16, (128, 128, 64), num_warps=8, num_stages=3, on=nvidia)
pointers("fp16_128x128x32_w8", F16, F32, (128, 128, 32), num_warps=8)
pointers("fp16_64x256x32_w4_s4", F16, F16, (64, 256, 32), num_stages=4, on=nvidia)
pointers("fp16_32x32x64_w1", F16, F16, (32, 32, 64), num_warps=1)
pointers("fp16_16x16x16_w2", F16, F32, (16, 16, 16), num_warps=2)
pointers("fp16_tn", F16, F16, transposed="a")
pointers("fp16_nt", F16, F16, transposed="b")
pointers("bf16", BF16, BF16)
pointers("bf16_tt", BF16, BF16, (128, 64, 64), transposed="ab", num_warps=4)
pointers("fp32_tf32", F32, F32, precision="tf32", tolerance=2e-3)
pointers("fp32_ieee", F32, F32, (32, 32, 32))
pointers("fp32_tf32x3", F32, F32, (32, 32, 32), precision="tf32x3", tolerance=1e-5)
pointers("fp32_bf16x3", F32, F32, (32, 32, 32), precision="bf16x3", tolerance=1e-4)
pointers("fp64", F64, F64, (32, 32, 16))
pointers("int8", I8, I32)
pointers("int8_nt", I8, I32, (64, 64, 64), transposed="b")
pointers("fp8e4nv", E4M3, F16, (64, 64, 64), tolerance=2e-3, transposed="b", on=not_sm_80)
pointers("fp8e5", E5M2, F32, (64, 64, 64), tolerance=2e-3, transposed="b")
pointers("fp8e4b8", E4M3FNUZ, F16, (64, 64, 64), on=gfx942)
pointers("fp16_clusters", F16, F16, (128, 128, 32), num_ctas=2, on=hopper)


def host_descriptors(
    number_format: Format, b_transposed: bool, block: Extents, options: dict[str, int], _: Target, extents: Extents
) -> Case:
    m, n, k = extents
    bm, bn, bk = block
    a, b = factors(number_format, extents)
    result = BF16 if number_format is BF16 else F16
    b_held, b_shape, b_block = (b.T, (n, k), (bn, bk)) if b_transposed else (b, (k, n), (bk, bn))
    arguments: dict[str, Any] = {"a": Descriptor(given(number_format, a), (m, k), (bm, bk))}
    arguments["b"] = Descriptor(given(number_format, b_held), b_shape, b_block)
    arguments["c"] = Descriptor(fresh(result, m, n), (m, n), (bm, bn))
    constants = {"BM": bm, "BN": bn, "BK": bk, "B_TRANSPOSED": b_transposed}
    grid = [blocks(m, bm), blocks(n, bn)]
    expected = {"c": Expected(a @ b, TOLERANCES[result])}
    return Case(kernels.matmul_descriptors, arguments | extents_of(extents), constants, grid, expected, options)


SIZES = ((80, 136, 160), (128, 128, 128), (61, 72, 48))
case(*SIZES, name="descriptors_fp16")(partial(host_descriptors, F16, False, (64, 64, 64), {}))
case(*SIZES, name="descriptors_bf16_nt")(partial(host_descriptors, BF16, True, (64, 128, 32), {}))
case(*SIZES, name="descriptors_fp8_nt", on=hopper)(partial(host_descriptors, E4M3, True, (64, 64, 128), {}))
case(*SIZES, name="descriptors_fp16_w8", on=nvidia)(partial(host_descriptors, F16, True, (128, 128, 64), {"num_warps": 8, "num_stages": 3}))
case(*SIZES, name="descriptors_fp16_clusters", on=hopper)(partial(host_descriptors, F16, True, (128, 64, 64), {"num_ctas": 2}))


def persistent(flatten: bool, specialise: bool, halves: bool, _: Target, extents: Extents) -> Case:
    m, n, k = extents
    bm, bn, bk = 128, 64, 64
    a, b = factors(F16, extents)
    arguments: dict[str, Any] = {"a": Descriptor(given(F16, a), (m, k), (bm, bk))}
    arguments["b"] = Descriptor(given(F16, b.T), (n, k), (bn, bk))
    arguments["c"] = Descriptor(fresh(F16, m, n), (m, n), (bm, bn // 2 if halves else bn))
    constants = {"BM": bm, "BN": bn, "BK": bk, "FLATTEN": flatten, "SPECIALISE": specialise, "HALVES": halves}
    expected = {"c": Expected(a @ b, 1e-3)}
    arguments |= extents_of(extents)
    options = {"num_stages": 3, "num_warps": 8 if specialise else 4}
    return Case(kernels.matmul_persistent_descriptors, arguments, constants, [3], expected, options)


SIZES = ((272, 136, 160), (256, 128, 128), (130, 200, 48))
case(*SIZES, name="persistent")(partial(persistent, False, False, False))
case(*SIZES, name="persistent_flat", on=nvidia)(partial(persistent, True, False, False))
case(*SIZES, name="persistent_halves", on=nvidia)(partial(persistent, True, False, True))
case(*SIZES, name="persistent_specialised", on=nvidia)(partial(persistent, False, True, False))


@case((80, 136, 160), (128, 128, 64), (61, 72, 48), on=nvidia)
def device_descriptors(_: Target, extents: Extents) -> Case:
    m, n, _k = extents
    a, b = factors(F16, extents)
    arguments = {"a": given(F16, a), "b": given(F16, b.T), "c": fresh(F16, m, n)} | extents_of(extents)
    return Case(kernels.matmul_device_descriptors, arguments, {"BM": 64, "BN": 64, "BK": 64}, [3], {"c": Expected(a @ b, 1e-3)})


def split_k(result: Format, tolerance: float, _: Target, extents: Extents) -> Case:
    m, n, _k = extents
    a, b = factors(F16, extents)
    arguments = {"a": given(F16, a), "b": given(F16, b), "c": zeros(result, m, n)} | extents_of(extents)
    grid, constants = [blocks(m, 32), blocks(n, 32), 3], {"BM": 32, "BN": 32, "BK": 32, "SPLIT": 3}
    return Case(kernels.matmul_split_k, arguments, constants, grid, {"c": Expected(a @ b, tolerance)})


for _result, _tolerance in ((F32, 1e-5), (F16, 3e-3), (BF16, 2e-2)):
    case((40, 48, 200), (32, 32, 192), (33, 35, 97), name=f"split_k_{_result.triton}")(partial(split_k, _result, _tolerance))


@case((80, 72, 200), (64, 64, 128), (33, 65, 97))
def stream_k(_: Target, extents: Extents) -> Case:
    m, n, k = extents
    a, b = factors(F16, extents)
    steps, programs = blocks(m, 32) * blocks(n, 32) * blocks(k, 32), 5
    arguments = {"a": given(F16, a), "b": given(F16, b), "c": zeros(F32, m, n)} | extents_of(extents)
    arguments["steps_each"] = Scalar(I32, blocks(steps, programs))
    constants = {"BM": 32, "BN": 32, "BK": 32}
    return Case(kernels.matmul_stream_k, arguments, constants, [programs], {"c": Expected(a @ b, 1e-5)})


@case((3, 40, 48, 72), (2, 64, 64, 64), (5, 17, 33, 31))
def batched(_: Target, size: tuple[int, int, int, int]) -> Case:
    batch, m, n, k = size
    a, b = (BF16.decode(BF16.encode(random(*size, *shape).standard_normal((batch, *shape)))) for shape in ((m, k), (k, n)))
    arguments = {"a": given(BF16, a), "b": given(BF16, b), "c": fresh(F32, batch, m, n)} | extents_of((m, n, k))
    grid = [blocks(m, 32), blocks(n, 32), batch]
    return Case(kernels.matmul_batched, arguments, {"BM": 32, "BN": 32, "BK": 32}, grid, {"c": Expected(a @ b, 1e-5)})


@case((2, 32, 32, 32), (4, 16, 64, 32), (8, 16, 16, 16))
def batched_dot(_: Target, size: tuple[int, int, int, int]) -> Case:
    batch, m, n, k = size
    a = F16.encode(random(*size).standard_normal((batch, m, k)))
    b = F16.encode(random(*size, 1).standard_normal((batch, k, n)))
    arguments = {"a": given(F16, a), "b": given(F16, b), "c": fresh(F32, batch, m, n)}
    expected = {"c": Expected(a.astype(np.float64) @ b.astype(np.float64), 1e-5)}
    return Case(kernels.batched_dot, arguments, dict(zip(("B", "M", "N", "K"), size)), [1], expected)


@case((70, 72, 80), (128, 64, 64), (33, 40, 31))
def grouped(_: Target, size: Extents) -> Case:
    tokens, n, k = size
    offsets = np.array([0, tokens // 5, tokens // 5, tokens - 7, tokens])
    x, w = F16.encode(random(*size).standard_normal((tokens, k))), F16.encode(random(n, k).standard_normal((4, k, n)))
    expected = np.concatenate(
        [x[first:last].astype(np.float64) @ w[group] for group, (first, last) in enumerate(zip(offsets, offsets[1:]))]
    )
    arguments = {"tokens": given(F16, x), "weights": given(F16, w), "out": fresh(F16, tokens, n), "offsets": given(I32, offsets)}
    arguments |= {"N": Scalar(I32, n), "K": Scalar(I32, k)}
    grid = [4, blocks(n, 32)]
    return Case(kernels.matmul_grouped, arguments, {"BM": 32, "BN": 32, "BK": 32}, grid, {"out": Expected(expected, 1e-3)})


@case((72, 80), (64, 64), (40, 31))
def by_addresses(_: Target, size: tuple[int, int]) -> Case:
    n, k = size
    a, b = F16.encode(random(*size).standard_normal((2, 32, k))), F16.encode(random(n).standard_normal((k, n)))
    programs = blocks(n, 32)
    arguments = {"first": given(F16, a[0]), "second": given(F16, a[1]), "b": given(F16, b), "c": fresh(F16, 2, 32, n)}
    arguments |= {"addresses": fresh(Format("i64", "i64", np.int64), programs, 2), "N": Scalar(I32, n), "K": Scalar(I32, k)}
    expected = {"c": Expected(a.astype(np.float64) @ b.astype(np.float64), 1e-3)}
    return Case(kernels.matmul_by_addresses, arguments, {"BM": 32, "BN": 32, "BK": 32}, [programs], expected)


def codes(name: str, shape: tuple[int, int], axis: int, seed: int) -> tuple[Array, Array]:
    """Codes of a format as they lie in memory, and their values."""
    rng = random(*shape, seed)
    if name == "e2m1":
        packed = rng.integers(0, 256, [extent // 2 if at == axis else extent for at, extent in enumerate(shape)])
        return packed, np.stack([FP4_VALUES[packed & 15], FP4_VALUES[packed >> 4]], axis + 1).reshape(shape)
    # Small exponents only: there is no infinity among them, and sums stay comparable.
    held = rng.integers(0, 256, shape) & 0xB7
    return held, fp8_values({"e4m3": "fp8e4nv", "e5m2": "fp8e5"}[name])[held]


def scaled_product(a_name: str, b_name: str, _: Target, k: int) -> Case:
    m, n = 64, 32
    a, a_values = codes(a_name, (m, k), 1, 1)
    b, b_values = codes(b_name, (k, n), 0, 2)
    a_scales, b_scales = random(k).integers(124, 130, (m, k // 32)), random(k, 1).integers(124, 130, (n, k // 32))
    wide = [np.repeat(2.0 ** (scales - 127.0), 32, 1) for scales in (a_scales, b_scales)]
    arguments = {"a": given(U8, a), "a_scales": given(U8, a_scales), "b": given(U8, b), "b_scales": given(U8, b_scales)}
    arguments |= {"c": fresh(F32, m, n), "K": Scalar(I32, k)}
    constants = {"BM": m, "BN": n, "BK": 128, "A": a_name, "B": b_name}
    constants |= {"A_PACK": 2 if a_name == "e2m1" else 1, "B_PACK": 2 if b_name == "e2m1" else 1}
    expected = {"c": Expected((a_values * wide[0]) @ (b_values * wide[1].T), 1e-3)}
    return Case(kernels.scaled_product, arguments, constants, [1], expected)


for _a, _b in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1")):
    case(128, 256, 384, name=f"scaled_{_a}_{_b}")(partial(scaled_product, _a, _b))


@case((40, 72, 128), (32, 64, 256), (3, 33, 64))
def int4_weights(_: Target, extents: Extents) -> Case:
    m, n, k = extents
    a = F16.encode(random(*extents).standard_normal((m, k)))
    packed = random(n, k).integers(0, 256, (k // 2, n))
    weights = np.stack([packed & 15, packed >> 4], 1).reshape(k, n) - 8
    scales = random(n).uniform(0.5, 2, (k // 32, n)).astype(np.float32)
    arguments = {"a": given(F16, a), "packed": given(U8, packed), "scales": given(F32, scales), "c": fresh(F16, m, n)}
    expected = {"c": Expected(a.astype(np.float64) @ (weights * np.repeat(scales, 32, 0)), 1e-3)}
    constants, grid = {"GROUP": 32, "BM": 32, "BN": 32, "BK": 32}, [blocks(m, 32), blocks(n, 32)]
    return Case(kernels.matmul_int4_weights, arguments | extents_of(extents), constants, grid, expected)


@case((1, 8, 8, 24, 40, 3, 1, 1), (2, 4, 8, 32, 32, 3, 2, 1), (1, 7, 9, 5, 33, 5, 2, 2))
def convolution(_: Target, size: tuple[int, ...]) -> Case:
    batch, height, width, channels, count, taps, stride, pad = size
    image = F16.encode(random(*size).standard_normal((batch, height, width, channels)))
    filters = F16.encode(random(*size, 1).standard_normal((count, taps, taps, channels)))
    rows, columns = (height + 2 * pad - taps) // stride + 1, (width + 2 * pad - taps) // stride + 1
    padded = np.pad(image.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    expected = np.zeros((batch, rows, columns, count))
    for r in range(taps):
        for s in range(taps):
            seen = padded[:, r : r + stride * rows : stride, s : s + stride * columns : stride][:, :rows, :columns]
            expected += seen @ filters[:, r, s].T.astype(np.float64)
    pixels = batch * rows * columns
    arguments: dict[str, Any] = {"image": given(F16, image), "filters": given(F16, filters), "out": fresh(F16, pixels, count)}
    extents = {"images": batch, "H": height, "W": width, "C": channels, "F": count, "P": rows, "Q": columns}
    arguments |= {name: Scalar(I32, extent) for name, extent in extents.items()}
    constants = {"R": taps, "S": taps, "STRIDE": stride, "PAD": pad, "BM": 32, "BN": 32, "BC": 16}
    result = {"out": Expected(expected.reshape(pixels, count), 1e-3)}
    return Case(kernels.convolution, arguments, constants, [blocks(pixels, 32), blocks(count, 32)], result)

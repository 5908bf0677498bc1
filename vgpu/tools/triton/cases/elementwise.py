"""Cases of `kernels.elementwise`."""

from functools import partial
from math import erf

import numpy as np

from formats import (
    BF16, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ, F16, F32, F64, FP8_LAYOUTS, I1, I8, I16, I32, I64, U8, Array, Format, fp8_values,
)  # fmt: skip
from kernels import elementwise as kernels
from launch import Case, Expected, Scalar, Target, fresh, given

from .registry import blocks, case, nvidia, random

BLOCK = 256
U32 = Format("u32", "u32", np.uint32)


def over(n: int, block: int = BLOCK) -> list[int]:
    return [blocks(n, block)]


@case(1000, 4096, 77)
def mathematics(_: Target, n: int) -> Case:
    x = random(n).standard_normal(n).astype(np.float32)
    v, a = x.astype(np.float64), np.abs(x.astype(np.float64))
    r = np.exp(-v * v) + np.exp2(v * 0.25) + np.log(a + 1) + np.log2(a + 2) + np.sin(v) * np.cos(v) + 2 * np.sqrt(a)
    r += 1 / np.sqrt(a + 0.5) + np.vectorize(erf)(v) + 1 / (1 + np.exp(-v)) + np.floor(v) - np.ceil(v * 0.5) + 3 * v + 1
    r += v / (a + 2) + v / (a + 3)
    arguments = {"x": given(F32, x), "out": fresh(F32, n), "n": Scalar(I32, n)}
    return Case(kernels.mathematics, arguments, {"BLOCK": BLOCK}, over(n), {"out": Expected(np.clip(r, -100, 100), 1e-6)})


def integers(number_format: Format, _: Target, n: int) -> Case:
    bits = number_format.storage(0).itemsize * 8
    rng = random(bits, n)
    x = [int(value) for value in rng.integers(-(2 ** (bits - 2)), 2 ** (bits - 2), n)]
    y = [int(value) or 7 for value in rng.integers(-(2 ** (bits // 2)), 2 ** (bits // 2), n)]

    def result(a: int, b: int) -> int:
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        r = quotient * 3 + (a - quotient * b) + (a ^ b) + ((a & b) << 2) + (a >> 3) + (a | ~b) + min(a, b) * max(a, 3) + abs(b) * a
        wrapped = r % 2**bits
        return wrapped - 2**bits if wrapped >> (bits - 1) else wrapped

    expected = np.array([result(a, b) for a, b in zip(x, y)], number_format.storage)
    held = [np.array(values, number_format.storage) for values in (x, y)]
    arguments = {"x": given(number_format, held[0]), "y": given(number_format, held[1])}
    arguments |= {"out": fresh(number_format, n), "n": Scalar(I32, n)}
    return Case(kernels.integers, arguments, {"BLOCK": BLOCK}, over(n), {"out": Expected(expected)})


for _format in (I32, I64):
    case(1000, 2048, 33, name=f"integers_{_format.triton}")(partial(integers, _format))


def high_products(bits: int, _: Target, n: int) -> Case:
    number_format = Format(f"u{bits}", f"u{bits}", {32: np.uint32, 64: np.uint64}[bits])
    x, y = random(bits, n).integers(0, 2**bits - 1, (2, n), np.uint64)
    expected = np.array([int(a) * int(b) >> bits for a, b in zip(x, y)], number_format.storage)
    arguments = {"x": given(number_format, x), "y": given(number_format, y), "out": fresh(number_format, n), "n": Scalar(I32, n)}
    return Case(kernels.high_products, arguments, {"BLOCK": BLOCK}, over(n), {"out": Expected(expected)})


for _bits in (32, 64):
    case(1000, 256, 33, name=f"high_products_u{_bits}")(partial(high_products, _bits))


def nearest(number_format: Format, values: Array) -> Array:
    """What conversion gives."""
    if number_format.triton in FP8_LAYOUTS:
        return fp8_values(number_format.triton)[number_format.encode(values)]
    if number_format.triton == "bf16":
        return number_format.decode(number_format.encode(values))
    return values.astype(number_format.storage)


def convert(source: Format, result: Format, _: Target, n: int) -> Case:
    values = random(n).uniform(-100, 100, n)
    if np.issubdtype(source.storage, np.integer) and source not in (BF16,) and source.triton not in FP8_LAYOUTS:
        values = np.trunc(values)
    x = given(source, values)
    assert x.contents is not None
    expected = nearest(result, source.decode(x.contents))
    arguments = {"x": x, "out": fresh(result, n), "n": Scalar(I32, n)}
    return Case(kernels.convert, arguments, {"BLOCK": BLOCK}, over(n), {"out": Expected(expected)})


CONVERSIONS = [(F32, to) for to in (F16, BF16, F64, E4M3, E5M2, E4M3FNUZ, E5M2FNUZ, I8, I16, I32, I64)]
CONVERSIONS += [(F16, to) for to in (F32, BF16, E4M3, E5M2, E4M3FNUZ, I8)] + [(BF16, F32), (BF16, E5M2), (BF16, F16)]
CONVERSIONS += [(of, to) for of in (E4M3, E5M2, E4M3FNUZ, E5M2FNUZ) for to in (F16, BF16, F32)]
CONVERSIONS += [(I8, F16), (I8, BF16), (U8, F32), (I32, F32), (I64, F64), (I64, F32), (F64, F32), (F64, I64), (I16, F16)]

for _source, _result in CONVERSIONS:
    case(1000, 64, name=f"convert_{_source.triton}_{_result.triton}")(partial(convert, _source, _result))


@case(1000, 64, 257)
def booleans(_: Target, n: int) -> Case:
    rng = random(n)
    x, y = rng.integers(0, 2, n), rng.standard_normal(n).astype(np.float32) * 2
    expected = ((x != 0) & (y > 0)) | ((x == 0) & (y < -1))
    arguments = {"x": given(I1, x), "y": given(F32, y), "out": fresh(I1, n), "n": Scalar(I32, n)}
    return Case(kernels.booleans, arguments, {"BLOCK": BLOCK}, over(n), {"out": Expected(expected.astype(np.int8))})


@case(1000, 4096, 500)
def dropout(_: Target, n: int) -> Case:
    x = random(n).uniform(1, 2, n).astype(np.float32)

    def check(out: Array) -> str | None:
        kept = out != 0
        if not np.allclose(out[kept], x[kept] / 0.75, rtol=1e-6):
            return "what is kept is not scaled"
        return None if abs(kept.mean() - 0.75) < 0.1 else f"{kept.mean():.2f} of the elements are kept"

    arguments = {"x": given(F32, x), "out": fresh(F32, n), "n": Scalar(I32, n), "seed": Scalar(I32, 7), "p": Scalar(F32, 0.25)}
    return Case(kernels.dropout, arguments, {"BLOCK": BLOCK}, over(n), {"out": check})


def philox(seed: int, counters: Array, rounds: int = 10) -> Array:
    """The first word of Philox 4x32 for counters of which only the first word is not zero."""
    low = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in (counters, counters * 0, counters * 0, counters * 0))
    k0, k1 = np.uint64(seed), np.uint64(0)
    for _ in range(rounds):
        p0, p2 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p2 >> np.uint64(32)) ^ c1 ^ k0, p2 & low, (p0 >> np.uint64(32)) ^ c3 ^ k1, p0 & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return c0.astype(np.uint32).view(np.int32)


@case(2000, 4096, 513)
def normal_noise(_: Target, n: int) -> Case:
    def check(out: Array) -> str | None:
        ordinary = abs(out.mean()) < 0.2 and abs(out.std() - 1) < 0.15
        return None if ordinary else f"mean {out.mean():.2f}, deviation {out.std():.2f}"

    arguments = {"out": fresh(F32, n), "bits": fresh(I32, n), "n": Scalar(I32, n), "seed": Scalar(I32, 11)}
    expected = {"out": check, "bits": Expected(philox(11, np.arange(n)))}
    return Case(kernels.normal_noise, arguments, {"BLOCK": BLOCK}, over(n), expected)


@case((5, 3, 64), (16, 4, 128), (7, 2, 32))
def rotary_embedding(_: Target, size: tuple[int, int, int]) -> Case:
    positions, heads, half = size
    x = F16.encode(random(*size).standard_normal((positions, heads, 2, half)))
    angle = np.arange(positions)[:, None] / 100.0 ** (np.arange(half) / half)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    low, high = x[:, :, 0].astype(np.float64), x[:, :, 1].astype(np.float64)
    expected = np.stack([low * c - high * s, high * c + low * s], 2)
    arguments = {"x": given(F16, x), "cosines": given(F32, c), "sines": given(F32, s), "out": fresh(F16, *x.shape)}
    arguments["heads"] = Scalar(I32, heads)
    return Case(kernels.rotary_embedding, arguments, {"HALF": half}, [positions, heads], {"out": Expected(expected, 1e-3)})


@case((40, 300, 9), (1000, 512, 32), (3, 77, 5))
def embedding(_: Target, size: tuple[int, int, int]) -> Case:
    entries, width, tokens = size
    table = BF16.encode(random(*size).standard_normal((entries, width)))
    rows = random(tokens).integers(0, entries, tokens)
    arguments = {"table": given(BF16, BF16.decode(table)), "rows": given(I64, rows), "out": fresh(BF16, tokens, width)}
    arguments["width"] = Scalar(I32, width)
    return Case(kernels.embedding, arguments, {"BLOCK": BLOCK}, [tokens], {"out": Expected(BF16.decode(table)[rows])})


@case(1000, 8192, 31)
def swiglu(_: Target, n: int) -> Case:
    gate, up = BF16.decode(BF16.encode(random(n).standard_normal((2, n)) * 2))
    arguments = {"gate": given(BF16, gate), "up": given(BF16, up), "out": fresh(BF16, n), "n": Scalar(I32, n)}
    expected = {"out": Expected(gate / (1 + np.exp(-gate)) * up, 5e-3)}
    return Case(kernels.swiglu, arguments, {"BLOCK": BLOCK}, over(n), expected, {"num_warps": 2})


@case((77, 101), (128, 192), (33, 1))
def transpose(_: Target, size: tuple[int, int]) -> Case:
    x = random(*size).standard_normal(size).astype(np.float16)
    arguments = {"x": given(F16, x), "out": fresh(F16, *size[::-1]), "M": Scalar(I32, size[0]), "N": Scalar(I32, size[1])}
    grid = [blocks(extent, 64) for extent in size]
    return Case(kernels.transpose, arguments, {"BLOCK": 64}, grid, {"out": Expected(x.T)})


@case((9, 300), (4, 512), (3, 17))
def quantise_rows(_: Target, size: tuple[int, int]) -> Case:
    rows, width = size
    x = random(*size).standard_normal(size).astype(np.float32)
    scales = np.abs(x).max(1) / np.float32(127)
    rounded = np.rint(x / scales[:, None])

    def check(out: Array) -> str | None:
        # Division may be off by a rounding error, which moves what lies halfway.
        wrong = int((np.abs(out - rounded) > (np.abs(np.abs(x / scales[:, None] % 1) - 0.5) < 1e-4)).sum())
        return f"{wrong} elements differ" if wrong else None

    arguments = {"x": given(F32, x), "out": fresh(I8, *size), "scales": fresh(F32, rows), "width": Scalar(I32, width)}
    expected = {"out": check, "scales": Expected(scales, 1e-6)}
    return Case(kernels.quantise_rows, arguments, {"BLOCK": 512}, [rows], expected)


@case(512, 1024, 96)
def unpack_int4(_: Target, n: int) -> Case:
    packed = random(n).integers(0, 256, n)
    scales = random(n, 1).uniform(0.5, 2, 2 * n // 32).astype(np.float32)
    signed = np.stack([packed & 15, packed >> 4], 1).ravel()
    expected = np.where(signed > 7, signed - 16, signed) * np.repeat(scales.astype(np.float64), 32)
    arguments = {"packed": given(U8, packed), "scales": given(F32, scales), "out": fresh(F16, 2 * n), "n": Scalar(I32, n)}
    constants = {"GROUP": 32, "BLOCK": BLOCK}
    return Case(kernels.unpack_int4, arguments, constants, over(n), {"out": Expected(expected, 1e-3)})


@case(128, 512, 32)
def deinterleave(_: Target, n: int) -> Case:
    x = random(n).standard_normal(2 * n).astype(np.float32)
    arguments = {"x": given(F32, x), "even": fresh(F32, n), "odd": fresh(F32, n)}
    expected = {"even": Expected(x[::2]), "odd": Expected(x[1::2])}
    return Case(kernels.deinterleave, arguments, {"BLOCK": n}, [1], expected)


@case(1000, 256, 33, on=nvidia)
def inline_ptx(_: Target, n: int) -> Case:
    x, y = random(n).integers(0, 2**32, (2, n)).astype(np.uint32)
    products = (x.view(np.uint8).astype(np.uint64) * y.view(np.uint8)).reshape(n, 4).sum(1)
    arguments = {"x": given(U32, x), "y": given(U32, y), "out": fresh(U32, n), "n": Scalar(I32, n)}
    # The table of lop3 is `a ^ c`, and both are x.
    expected = {"out": Expected(products.astype(np.uint32))}
    return Case(kernels.inline_ptx, arguments, {"BLOCK": BLOCK}, over(n), expected)


@case(512, 1024, 2048, on=nvidia)
def inline_ptx_packed(_: Target, n: int) -> Case:
    x = random(n).integers(0, 256, n)
    arguments = {"x": given(U8, x), "out": fresh(U8, n)}
    return Case(kernels.inline_ptx_packed, arguments, {"BLOCK": n}, [1], {"out": Expected(x & 15)})


@case(64, 128, 32)
def print_and_assert(target: Target, n: int) -> Case:
    """ROCm prints by calls of the host, which the machine refuses by name."""
    x = np.arange(n) + 100
    arguments = {"x": given(I32, x), "out": fresh(I32, n)}
    refusal = "hidden_hostcall_buffer" if target.is_amd else None
    expected = {"out": Expected(x + 1)}
    options = {"num_warps": 1, "debug": True}
    prints = None if target.is_amd else f"value: {n + 99}"
    return Case(kernels.print_and_assert, arguments, {"BLOCK": n}, [1], expected, options, refusal, prints)

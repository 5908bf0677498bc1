"""Element formats: Triton's name, the launch file's name, and numbers to bits and back."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Format:
    """An element format of buffers and scalars."""

    triton: str
    launch: str
    storage: type[np.generic]

    def encode(self, values: Array) -> Array:
        """Numbers to what a buffer holds; bits for formats that numpy has not."""
        match self.triton:
            case "bf16":
                bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
                return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            case name if name in FP8_LAYOUTS:
                return nearest_fp8(name, np.asarray(values, np.float64))
            case _:
                return np.ascontiguousarray(values, self.storage)

    def decode(self, held: Array) -> Array:
        """What a buffer holds as numbers: 64-bit floats, or integers as they are."""
        match self.triton:
            case "bf16":
                wide = held.view(np.uint16).astype(np.uint32) << np.uint32(16)
                return wide.view(np.float32).astype(np.float64)
            case name if name in FP8_LAYOUTS:
                return fp8_values(name)[held.view(np.uint8)]
            case _ if np.issubdtype(self.storage, np.floating):
                return held.astype(np.float64)
            case _:
                return held.view(self.storage)


# Mantissa bits, exponent bias, and the codes that are no finite numbers.
FP8_LAYOUTS: dict[str, tuple[int, int, frozenset[int]]] = {
    "fp8e4nv": (3, 7, frozenset({0x7F, 0xFF})),
    "fp8e5": (2, 15, frozenset(code | sign for code in (0x7C, 0x7D, 0x7E, 0x7F) for sign in (0, 0x80))),
    "fp8e4b8": (3, 8, frozenset({0x80})),
    "fp8e5b16": (2, 16, frozenset({0x80})),
}


@cache
def fp8_values(name: str) -> NDArray[np.float64]:
    """The value of each code; NaN for those that are no finite numbers."""
    mantissa_bits, bias, special = FP8_LAYOUTS[name]
    codes = np.arange(256)
    exponent = (codes & 0x7F) >> mantissa_bits
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    magnitude = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - float(bias)))
    values = np.where(codes & 0x80, -magnitude, magnitude)
    values[list(special)] = np.nan
    return values


def nearest_fp8(name: str, values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The codes nearest to values, the even one of two that are equally near."""
    table = fp8_values(name)
    order = np.argsort(np.where(np.isnan(table), np.inf, table), kind="stable")[: int((~np.isnan(table)).sum())]
    sorted_values = table[order]
    above = np.clip(np.searchsorted(sorted_values, values), 1, len(order) - 1)
    below, beyond = values - sorted_values[above - 1], sorted_values[above] - values
    lower = (below < beyond) | ((below == beyond) & (order[above - 1] % 2 == 0))
    return order[np.where(lower, above - 1, above)].astype(np.uint8)


FP4_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])

F16 = Format("fp16", "f16", np.float16)
F32 = Format("fp32", "f32", np.float32)
F64 = Format("fp64", "f64", np.float64)
BF16 = Format("bf16", "bf16", np.uint16)
I1 = Format("i1", "i8", np.int8)
I8 = Format("i8", "i8", np.int8)
U8 = Format("u8", "u8", np.uint8)
I16 = Format("i16", "i16", np.int16)
I32 = Format("i32", "i32", np.int32)
I64 = Format("i64", "i64", np.int64)
E4M3 = Format("fp8e4nv", "e4m3", np.uint8)
E5M2 = Format("fp8e5", "e5m2", np.uint8)
E4M3FNUZ = Format("fp8e4b8", "e4m3fnuz", np.uint8)
E5M2FNUZ = Format("fp8e5b16", "e5m2fnuz", np.uint8)

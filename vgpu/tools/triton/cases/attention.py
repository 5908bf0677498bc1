"""Cases of `kernels.attention`."""

from functools import partial
from typing import Any

import numpy as np

from formats import BF16, F16, F32, I32, Array, Format
from kernels import attention as kernels
from launch import Case, Descriptor, Expected, Scalar, Target, fresh, given, zeros

from .registry import blocks, case, nvidia, random


def heads_of(number_format: Format, count: int, length: int, d: int, seed: int) -> Array:
    """Rows of heads, with numbers that the format has."""
    return number_format.decode(number_format.encode(random(seed, count, length, d).standard_normal((count, length, d))))


def reference(q: Array, k: Array, v: Array, scale: float, causal: bool) -> tuple[Array, Array, Array]:
    """Results, weights, and the logarithms to base two of the sums."""
    scores = q @ k.swapaxes(1, 2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    top = scores.max(2, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(2, keepdims=True)
    return e / total @ v, e / total, ((top + np.log(total)) / np.log(2))[..., 0]


def attention(
    number_format: Format, causal: bool, group: int, block: tuple[int, int], options: dict[str, int], _: Target, size: Any
) -> Case:
    batch, heads, length, d = size
    q = heads_of(number_format, batch * heads, length, d, 1)
    k, v = (heads_of(number_format, batch * heads // group, length, d, seed) for seed in (2, 3))
    out, _weights, logs = reference(q, k.repeat(group, 0), v.repeat(group, 0), d**-0.5, causal)
    arguments = {"q": given(number_format, q), "k": given(number_format, k), "v": given(number_format, v)}
    arguments |= {"out": fresh(number_format, *q.shape), "logsumexp": fresh(F32, *logs.shape)}
    arguments |= {"scale": Scalar(F32, d**-0.5), "heads": Scalar(I32, heads), "group": Scalar(I32, group), "length": Scalar(I32, length)}
    constants = {"D": d, "BM": block[0], "BN": block[1], "CAUSAL": causal, "STAGES": options.get("num_stages", 2)}
    expected = {"out": Expected(out, 2e-3 if number_format is F16 else 1e-2), "logsumexp": Expected(logs, 1e-3)}
    return Case(kernels.attention, arguments, constants, [blocks(length, block[0]), batch * heads], expected, options)


SIZES = ((1, 2, 200, 64), (2, 2, 128, 64), (1, 2, 77, 32))
case(*SIZES, name="attention_fp16")(partial(attention, F16, False, 1, (64, 64), {}))
case(*SIZES, name="attention_fp16_causal")(partial(attention, F16, True, 1, (64, 32), {}))
case(*SIZES, name="attention_bf16_grouped")(partial(attention, BF16, True, 2, (32, 32), {"num_warps": 2}))
case(*SIZES, name="attention_fp16_128_w8", on=nvidia)(partial(attention, F16, True, 1, (128, 64), {"num_warps": 8, "num_stages": 3}))


def attention_descriptors(specialise: bool, _: Target, size: tuple[int, int, int]) -> Case:
    heads, length, d = size
    q, k, v = (heads_of(F16, heads, length, d, seed) for seed in (1, 2, 3))
    out, _weights, _logs = reference(q, k, v, d**-0.5, True)
    bm, bn = 128, 64
    arguments: dict[str, Any] = {"q": Descriptor(given(F16, q), (heads * length, d), (bm, d))}
    arguments |= {name: Descriptor(given(F16, rows), (heads * length, d), (bn, d)) for name, rows in (("k", k), ("v", v))}
    arguments["out"] = Descriptor(fresh(F16, *out.shape), (heads * length, d), (bm, d))
    arguments |= {"scale": Scalar(F32, d**-0.5), "length": Scalar(I32, length)}
    constants = {"D": d, "BM": bm, "BN": bn, "SPECIALISE": specialise}
    expected = {"out": Expected(out, 2e-3)}
    return Case(kernels.attention_descriptors, arguments, constants, [length // bm, heads], expected, {"num_warps": 8})


SIZES = ((2, 256, 64), (1, 128, 128), (3, 384, 32))
case(*SIZES, name="attention_descriptors", on=nvidia)(partial(attention_descriptors, False))
case(*SIZES, name="attention_specialised", on=nvidia)(partial(attention_descriptors, True))


@case((3, 100), (2, 64), (1, 1))
def attention_decode(_: Target, size: tuple[int, int]) -> Case:
    sequences, longest = size
    heads, d, page = 16, 64, 32
    pages = blocks(longest, page)
    lengths = np.array([longest - 3 * n if longest > 9 else longest for n in range(sequences)])
    tables = random(*size).permutation(sequences * pages + 2)[: sequences * pages].reshape(sequences, pages)
    stored = heads_of(F16, 2, (sequences * pages + 2) * page, d, 4).reshape(2, -1, page, d)
    q = heads_of(F16, sequences, heads, d, 5)
    rows = [stored[:, tables[n]].reshape(2, -1, d)[:, : lengths[n]] for n in range(sequences)]
    out = np.concatenate([reference(q[n : n + 1], k[None], v[None], d**-0.5, False)[0] for n, (k, v) in enumerate(rows)])
    arguments = {"q": given(F16, q), "k": given(F16, stored[0]), "v": given(F16, stored[1]), "out": fresh(F16, *q.shape)}
    arguments |= {"scale": Scalar(F32, d**-0.5), "tables": given(I32, tables), "lengths": given(I32, lengths)}
    arguments["pages"] = Scalar(I32, pages)
    constants = {"heads": heads, "D": d, "PAGE": page}
    return Case(kernels.attention_decode, arguments, constants, [sequences], {"out": Expected(out, 2e-3)})


def backward(length: int, d: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """What both backward kernels read, and the gradients."""
    heads, scale = 2, d**-0.5
    q, k, v, g = (heads_of(F16, heads, length, d, seed) for seed in range(1, 5))
    out, p, logs = reference(q, k, v, scale, True)
    delta = (out * g).sum(2)
    ds = p * (g @ v.swapaxes(1, 2) - delta[..., None]) * scale
    gradients = {"grad_q": ds @ k, "grad_k": ds.swapaxes(1, 2) @ q, "grad_v": p.swapaxes(1, 2) @ g}
    arguments: dict[str, Any] = {name: given(F16, rows) for name, rows in (("q", q), ("k", k), ("v", v), ("grad_out", g))}
    arguments |= {"logsumexp": given(F32, logs), "delta": given(F32, delta)}
    return arguments | {"scale": Scalar(F32, scale), "length": Scalar(I32, length)}, gradients


@case((100, 64), (128, 32), (77, 32))
def attention_backward(_: Target, size: tuple[int, int]) -> Case:
    length, d = size
    arguments, gradients = backward(length, d)
    arguments |= {name: zeros(F32, *gradients[name].shape) for name in ("grad_q", "grad_k", "grad_v")}
    expected = {name: Expected(values, 3e-3) for name, values in gradients.items()}
    grid = [blocks(length, 32), 2]
    return Case(kernels.attention_backward, arguments, {"D": d, "BM": 32, "BN": 32}, grid, expected)


@case((100, 64), (128, 32), (77, 32))
def attention_backward_queries(_: Target, size: tuple[int, int]) -> Case:
    length, d = size
    arguments, gradients = backward(length, d)
    arguments["grad_q"] = fresh(F32, *gradients["grad_q"].shape)
    grid, constants = [blocks(length, 64), 2], {"D": d, "BM": 64, "BN": 32}
    return Case(kernels.attention_backward_queries, arguments, constants, grid, {"grad_q": Expected(gradients["grad_q"], 3e-3)})

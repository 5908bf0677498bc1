"""The workloads in Triton. Products, attention and norms are the kernels that the virtual GPUs are checked with
(`vgpu/tools/triton/kernels`; a packed session has them beside this file); of each, Triton's own tuner takes the fastest of
a few configurations."""

import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

from measure import tensor

here = Path(__file__).resolve().parent
sys.path += [str(here), str(here.parent.parent / "vgpu/tools/triton")]

from kernels import attention, matmul, normalisation


def name():
    return f"Triton {triton.__version__}"


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n).to(tl.float32)
    tl.store(out + at, (0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0) * columns, tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=at < columns)


def tuned(kernel, key, configurations):
    """A kernel of which Triton takes the fastest configuration, each warps, stages and sizes."""
    choices = [triton.Config(sizes, num_warps=warps, num_stages=stages) for warps, stages, sizes in configurations]
    return triton.autotune(choices, key=key)(kernel)


FLAT = [(4, 1, {"BLOCK": 1024}), (4, 1, {"BLOCK": 2048}), (8, 1, {"BLOCK": 4096})]
ROWS = [(4, 1, {}), (8, 1, {}), (16, 1, {})]
PRODUCTS = [
    (warps, stages, {"BM": m, "BN": n, "BK": k, "STAGES": stages})
    for m, n, k, warps, stages in [
        (64, 64, 32, 4, 2),
        (128, 128, 32, 4, 3),
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (256, 128, 64, 8, 3),
    ]
]
ATTENTIONS = [
    (warps, stages, {"BM": m, "BN": n, "STAGES": stages})
    for m, n, warps, stages in [(64, 64, 4, 2), (128, 64, 4, 2), (128, 64, 8, 2), (128, 128, 8, 2), (128, 64, 4, 3)]
]

add = tuned(add_kernel, ["n"], FLAT)
gelu = tuned(gelu_kernel, ["n"], FLAT)
softmax = tuned(softmax_kernel, ["columns"], ROWS)
layer_norm = tuned(normalisation.layer_norm, ["columns"], ROWS)
rms_norm = tuned(normalisation.rms_norm, ["columns"], ROWS)
product = tuned(matmul.matmul, ["M", "N", "K"], PRODUCTS)
attend = tuned(attention.attention, ["length", "D", "CAUSAL"], ATTENTIONS)


def launcher(workload):
    """What launches a workload, and what makes a set of tensors for it; `None` for one that is not known here."""
    sizes = workload["sizes"]
    pair = lambda: tuple(tensor(*sizes) for _ in range(2))
    match workload["kernel"]:
        case "matmul":
            m, n, k = sizes
            tiles = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)
            options = {"ACC": tl.float32, "PRECISION": "ieee"}
            return (
                lambda a, b, c: product[tiles](a, b, c, m, n, k, k, 1, n, 1, n, **options),
                lambda: (tensor(m, k), tensor(k, n), tensor(m, n)),
            )
        case "attention":
            batch, heads, length, depth = sizes
            logs = torch.empty((batch, heads, length), device="cuda", dtype=torch.float32)
            blocks = lambda meta: (triton.cdiv(length, meta["BM"]), batch * heads)
            options = {"D": depth, "CAUSAL": workload["causal"]}
            return (
                lambda q, k, v, out: attend[blocks](q, k, v, out, logs, depth**-0.5, heads, 1, length, **options),
                lambda: tuple(tensor(*sizes) for _ in range(4)),
            )
        case "add":
            blocks = lambda meta: (triton.cdiv(sizes[0], meta["BLOCK"]),)
            return lambda x, y, out: add[blocks](x, y, out, sizes[0]), lambda: (*pair(), tensor(*sizes))
        case "gelu":
            blocks = lambda meta: (triton.cdiv(sizes[0], meta["BLOCK"]),)
            return lambda x, out: gelu[blocks](x, out, sizes[0]), pair
        case "softmax":
            rows, columns = sizes
            block = triton.next_power_of_2(columns)
            return lambda x, out: softmax[(rows,)](x, out, columns, BLOCK=block), pair
        case "layernorm":
            rows, columns = sizes
            weight, bias = tensor(columns), tensor(columns)
            block = triton.next_power_of_2(columns)
            moments = [torch.empty((rows,), device="cuda", dtype=torch.float32) for _ in range(2)]
            return lambda x, out: layer_norm[(rows,)](x, out, weight, bias, *moments, columns, 1e-5, BLOCK=block), pair
        case "rmsnorm":
            rows, columns = sizes
            weight, block = tensor(columns), triton.next_power_of_2(columns)
            return lambda x, out: rms_norm[(rows,)](x, out, weight, columns, 1e-5, BLOCK=block), pair
    return None

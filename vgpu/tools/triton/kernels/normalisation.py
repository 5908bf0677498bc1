"""Layer and root-mean-square normalisation, forwards and backwards."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(x, out, weight, bias, means, inverses, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + row * columns + start + at, mask=start + at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + start + at, mask=start + at < columns, other=0.0).to(tl.float32)
        centred = tl.where(start + at < columns, v - mean, 0.0)
        squares += centred * centred
    inverse = 1.0 / tl.sqrt(tl.sum(squares, 0) / columns + epsilon)
    tl.store(means + row, mean)
    tl.store(inverses + row, inverse)
    for start in range(0, columns, BLOCK):
        inside = start + at < columns
        v = tl.load(x + row * columns + start + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + start + at, mask=inside).to(tl.float32)
        b = tl.load(bias + start + at, mask=inside).to(tl.float32)
        y = (v - mean) * inverse * w + b
        tl.store(out + row * columns + start + at, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm(x, out, weight, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(v * v, 0) / columns + epsilon)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, (v * inverse * w).to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm_backward(
    grad_out, x, weight, means, inverses, grad_x, grad_weight, grad_bias, locks, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    """Sums of weight and bias gradients are gathered under a lock for each group of rows."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(grad_out + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.load(inverses + row)
    normal = tl.where(inside, (v - tl.load(means + row)) * inverse, 0.0)
    scaled = tl.where(inside, w * g, 0.0)
    along = tl.sum(normal * scaled, 0) / columns
    mean = tl.sum(scaled, 0) / columns
    tl.store(grad_x + row * columns + at, ((scaled - (normal * along + mean)) * inverse).to(grad_x.dtype.element_ty), mask=inside)
    group = row % GROUP
    lock = locks + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    sum_weight = tl.load(grad_weight + group * columns + at, mask=inside, other=0.0) + g * normal
    sum_bias = tl.load(grad_bias + group * columns + at, mask=inside, other=0.0) + g
    # Of copies of an element in several warps, one is stored: all must have been loaded before.
    tl.debug_barrier()
    tl.store(grad_weight + group * columns + at, sum_weight, mask=inside)
    tl.store(grad_bias + group * columns + at, sum_bias, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def column_sums(x, out, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, rows, ROWS):
        i = start + tl.arange(0, ROWS)
        inside = (i[:, None] < rows) & (j[None, :] < columns)
        total += tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=0.0)
    tl.store(out + j, tl.sum(total, 0), mask=j < columns)

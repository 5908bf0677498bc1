"""Kernels that reduce, scan and sort along an axis."""

import triton
import triton.language as tl


@triton.jit
def online_softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    top = tl.full((), -float("inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row * stride + start + at, mask=start + at < columns, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), 0)
        top = new
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row * stride + start + at, mask=start + at < columns, other=-float("inf")).to(tl.float32)
        tl.store(out + row * stride + start + at, tl.exp(v - top) / total, mask=start + at < columns)


@triton.jit
def softmax_rows(x, out, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, BLOCK)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    v = tl.load(x + i[:, None] * columns + j[None, :], mask=inside, other=-1e30)
    e = tl.exp(v - tl.max(v, 1)[:, None])
    tl.store(out + i[:, None] * columns + j[None, :], e / tl.sum(e, 1)[:, None], mask=inside)


@triton.jit
def cross_entropy(logits, labels, losses, gradients, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(logits + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
    label = tl.load(labels + row)
    top = tl.max(v, 0)
    e = tl.exp(v - top)
    total = tl.sum(e, 0)
    tl.store(losses + row, top + tl.log(total) - tl.load(logits + row * columns + label).to(tl.float32))
    tl.store(gradients + row * columns + at, e / total - tl.where(at == label, 1.0, 0.0), mask=inside)


@triton.jit
def extrema(x, largest, smallest, where_largest, where_smallest, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    base = x + row * columns + at
    high, at_high = tl.max(tl.load(base, mask=at < columns, other=-1e30), 0, return_indices=True)
    low, at_low = tl.min(tl.load(base, mask=at < columns, other=1e30), 0, return_indices=True)
    tl.store(largest + row, high)
    tl.store(smallest + row, low)
    tl.store(where_largest + row, at_high)
    tl.store(where_smallest + row, at_low)


@triton.jit
def integer_reductions(x, sums, smallest, exclusive, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    v = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(sums + j, tl.sum(v, 0))
    tl.store(smallest + i, tl.min(v, 1))
    tl.store(exclusive, tl.xor_sum(tl.xor_sum(v, 1), 0))


@triton.jit
def running_sums(x, sums, products, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 0))
    tl.store(products + at, tl.cumprod(v, 1, reverse=True))


@triton.jit
def compose_affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def linear_recurrence(a, b, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    _, h = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 1, compose_affine)
    tl.store(out + at, h)


@triton.jit
def welford_combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    delta = mean_b - mean_a
    n = n_a + n_b
    share = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def welford(x, means, variances, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, mask=inside, other=0.0)
    zero = tl.zeros((BLOCK,), tl.float32)
    mean, m2, n = tl.reduce((v, zero, inside.to(tl.float32)), 0, welford_combine)
    tl.store(means + row, mean)
    tl.store(variances + row, m2 / n)


@triton.jit
def sort_rows(x, out, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def top_k(x, out, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * N + tl.arange(0, N)), K))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def gather_columns(x, index, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 1))

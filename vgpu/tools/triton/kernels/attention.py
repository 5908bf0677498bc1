"""Attention without the matrix of scores in memory, forwards and backwards."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def attention(
    q, k, v, out, logsumexp, scale, heads, group, length,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Tensors of (batch, head, position, D); `group` heads of queries share one of keys and values."""
    head = tl.program_id(1)
    batch = head // heads
    kv_head = batch * (heads // group) + head % heads // group
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q_rows = q + (head * length + i)[:, None] * D + d[None, :]
    x = tl.load(q_rows, mask=i[:, None] < length, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = min((tl.program_id(0) + 1) * BM, length) if CAUSAL else length
    for start in tl.range(0, end, BN, num_stages=STAGES):
        j = start + tl.arange(0, BN)
        kt = tl.load(k + (kv_head * length + j)[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        scores = tl.dot(x, kt) * (scale * LOG2_E)
        allowed = j[None, :] < length
        if CAUSAL:
            allowed = allowed & (j[None, :] <= i[:, None])
        scores = tl.where(allowed, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        rows = tl.load(v + (kv_head * length + j)[:, None] * D + d[None, :], mask=j[:, None] < length, other=0.0)
        acc = tl.dot(p.to(rows.dtype), rows, acc * shrink[:, None])
        top = new
    acc /= total[:, None]
    tl.store(out + (head * length + i)[:, None] * D + d[None, :], acc.to(out.dtype.element_ty), mask=i[:, None] < length)
    tl.store(logsumexp + head * length + i, top + tl.log2(total), mask=i < length)


@triton.jit
def attention_descriptors(
    q, k, v, out, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SPECIALISE: tl.constexpr
):
    """The causal form with rows of all heads in one matrix that descriptors describe; `length` is a multiple of both blocks."""
    base = tl.program_id(1) * length
    first = tl.program_id(0) * BM
    i = first + tl.arange(0, BM)
    x = q.load([base + first, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, first + BM, BN, warp_specialize=SPECIALISE):
        scores = tl.dot(x, k.load([base + start, 0]).T) * (scale * LOG2_E)
        j = start + tl.arange(0, BN)
        scores = tl.where(j[None, :] <= i[:, None], scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v.load([base + start, 0]), acc * shrink[:, None])
        top = new
    out.store([base + first, 0], (acc / total[:, None]).to(out.dtype))


@triton.jit
def attention_decode(q, k, v, out, scale, tables, lengths, pages, heads: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr):
    """One query a sequence against keys and values that lie in pages; all heads share them."""
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    h = tl.arange(0, heads)
    d = tl.arange(0, D)
    x = tl.load(q + (sequence * heads + h)[:, None] * D + d[None, :])
    top = tl.full((heads,), -float("inf"), tl.float32)
    total = tl.zeros((heads,), tl.float32)
    acc = tl.zeros((heads, D), tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        block = tl.load(tables + sequence * pages + page).to(tl.int64)
        t = tl.arange(0, PAGE)
        there = page * PAGE + t < length
        rows = tl.load(k + (block * PAGE + t)[:, None] * D + d[None, :], mask=there[:, None], other=0.0)
        scores = tl.where(there[None, :], tl.dot(x, rows.T) * (scale * LOG2_E), -float("inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        values = tl.load(v + (block * PAGE + t)[:, None] * D + d[None, :], mask=there[:, None], other=0.0)
        acc = tl.dot(p.to(values.dtype), values, acc * shrink[:, None])
        top = new
    tl.store(out + (sequence * heads + h)[:, None] * D + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def attention_backward(
    q, k, v, grad_out, logsumexp, delta, grad_q, grad_k, grad_v, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """Causal; a program has a block of keys, and adds to the queries' gradients atomically. `delta` is the sum of out * grad_out."""
    base = tl.program_id(1) * length
    first = tl.program_id(0) * BN
    j = first + tl.arange(0, BN)
    d = tl.arange(0, D)
    columns = (base + j)[:, None] * D + d[None, :]
    keys = tl.load(k + columns, mask=j[:, None] < length, other=0.0)
    values = tl.load(v + columns, mask=j[:, None] < length, other=0.0)
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for start in range(first // BM * BM, length, BM):
        i = start + tl.arange(0, BM)
        rows = (base + i)[:, None] * D + d[None, :]
        x = tl.load(q + rows, mask=i[:, None] < length, other=0.0)
        g = tl.load(grad_out + rows, mask=i[:, None] < length, other=0.0)
        lse = tl.load(logsumexp + base + i, mask=i < length, other=0.0)
        total = tl.load(delta + base + i, mask=i < length, other=0.0)
        scores = tl.dot(x, keys.T) * (scale * LOG2_E)
        allowed = (j[None, :] <= i[:, None]) & (i[:, None] < length)
        p = tl.where(allowed, tl.exp2(scores - lse[:, None]), 0.0)
        dv = tl.dot(p.to(g.dtype).T, g, dv)
        dp = tl.dot(g, values.T)
        ds = (p * (dp - total[:, None]) * scale).to(x.dtype)
        dk = tl.dot(ds.T, x, dk)
        tl.atomic_add(grad_q + rows, tl.dot(ds, keys), mask=i[:, None] < length, sem="relaxed")
    tl.store(grad_k + columns, dk, mask=j[:, None] < length)
    tl.store(grad_v + columns, dv, mask=j[:, None] < length)


@triton.jit
def attention_backward_queries(
    q, k, v, grad_out, logsumexp, delta, grad_q, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """The queries' gradients without atomics: a program has a block of queries."""
    base = tl.program_id(1) * length
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = (base + i)[:, None] * D + d[None, :]
    x = tl.load(q + rows, mask=i[:, None] < length, other=0.0)
    g = tl.load(grad_out + rows, mask=i[:, None] < length, other=0.0)
    lse = tl.load(logsumexp + base + i, mask=i < length, other=0.0)
    total = tl.load(delta + base + i, mask=i < length, other=0.0)
    dq = tl.zeros((BM, D), tl.float32)
    for start in range(0, min((tl.program_id(0) + 1) * BM, length), BN):
        j = start + tl.arange(0, BN)
        kt = tl.load(k + (base + j)[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        vt = tl.load(v + (base + j)[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        p = tl.where(j[None, :] <= i[:, None], tl.exp2(tl.dot(x, kt) * (scale * LOG2_E) - lse[:, None]), 0.0)
        ds = p * (tl.dot(g, vt) - total[:, None]) * scale
        dq = tl.dot(ds.to(kt.dtype), kt.T, dq)
    tl.store(grad_q + rows, dq, mask=i[:, None] < length)

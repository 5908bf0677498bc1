"""Atomic operations, locks and hand-over between programs."""

import triton
import triton.language as tl


@triton.jit
def scatter_add(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(out + tl.load(index + at, mask=inside, other=0), tl.load(x + at, mask=inside), mask=inside, sem="relaxed")


@triton.jit
def integer_atomics(x, out, n, BUCKETS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0)
    bucket = at % BUCKETS
    tl.atomic_add(out + bucket, v, mask=inside)
    tl.atomic_max(out + BUCKETS + bucket, v, mask=inside)
    tl.atomic_min(out + 2 * BUCKETS + bucket, v, mask=inside)
    tl.atomic_and(out + 3 * BUCKETS + bucket, v, mask=inside)
    tl.atomic_or(out + 4 * BUCKETS + bucket, v, mask=inside)
    tl.atomic_xor(out + 5 * BUCKETS + bucket, v, mask=inside)


@triton.jit
def float_extrema(x, largest, smallest, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_max(largest + at % 8, v, mask=at < n)
    tl.atomic_min(smallest + at % 8, v, mask=at < n)


@triton.jit
def locked_sum(x, lock, total, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    sums = tl.load(total + at) + v
    tl.debug_barrier()
    tl.store(total + at, sums)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_one_sums(x, parts, arrived, out, N: tl.constexpr):
    """Each program leaves a part; the last to arrive adds them up."""
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    tl.store(parts + program, tl.sum(tl.load(x + program * N + tl.arange(0, N)), 0))
    tl.debug_barrier()
    if tl.atomic_add(arrived, 1, sem="acq_rel") == programs - 1:
        total = 0.0
        for other in range(programs):
            total += tl.load(parts + other, cache_modifier=".cg")
        tl.store(out, total)

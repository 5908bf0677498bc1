"""Kernels that treat elements one by one: mathematics, integers, conversions, random numbers, packed formats."""

import triton
import triton.language as tl


@triton.jit
def mathematics(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=1.0)
    r = tl.exp(-v * v) + tl.exp2(v * 0.25) + tl.log(tl.abs(v) + 1.0) + tl.log2(tl.abs(v) + 2.0)
    r += tl.sin(v) * tl.cos(v) + tl.sqrt(tl.abs(v)) + tl.rsqrt(tl.abs(v) + 0.5)
    r += tl.erf(v) + tl.sigmoid(v) + tl.floor(v) - tl.ceil(v * 0.5) + tl.fma(v, 3.0, 1.0)
    r += tl.div_rn(v, tl.abs(v) + 2.0) + tl.sqrt_rn(tl.abs(v)) + tl.fdiv(v, tl.abs(v) + 3.0)
    tl.store(out + at, tl.clamp(r, -100.0, 100.0), mask=inside)


@triton.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=1)
    b = tl.load(y + at, mask=inside, other=1)
    r = (a // b) * 3 + (a % b) + (a ^ b) + ((a & b) << 2) + (a >> 3) + (a | ~b)
    r += tl.minimum(a, b) * tl.maximum(a, 3) + tl.abs(b) * a
    tl.store(out + at, r, mask=inside)


@triton.jit
def high_products(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.umulhi(tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)), mask=inside)


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    tl.store(out + at, v.to(out.dtype.element_ty), mask=inside)


@triton.jit
def booleans(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=0)
    b = tl.load(y + at, mask=inside, other=0.0)
    tl.store(out + at, (a & (b > 0.0)) | (~a & (b < -1.0)), mask=inside)


@triton.jit
def dropout(x, out, n, seed, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(tl.rand(seed, at) > p, v / (1.0 - p), 0.0), mask=inside)


@triton.jit
def normal_noise(out, bits, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.randn(seed, at), mask=inside)
    tl.store(bits + at, tl.randint(seed, at), mask=inside)


@triton.jit
def rotary_embedding(x, cosines, sines, out, heads, HALF: tl.constexpr):
    position = tl.program_id(0)
    head = tl.program_id(1)
    lane = tl.arange(0, HALF)
    c = tl.load(cosines + position * HALF + lane)
    s = tl.load(sines + position * HALF + lane)
    row = (position * heads + head) * 2 * HALF
    low = tl.load(x + row + lane).to(tl.float32)
    high = tl.load(x + row + HALF + lane).to(tl.float32)
    tl.store(out + row + lane, (low * c - high * s).to(out.dtype.element_ty))
    tl.store(out + row + HALF + lane, (high * c + low * s).to(out.dtype.element_ty))


@triton.jit
def embedding(table, rows, out, width, BLOCK: tl.constexpr):
    row = tl.load(rows + tl.program_id(0))
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(table + row * width + at, mask=at < width)
        tl.store(out + tl.program_id(0).to(tl.int64) * width + at, v, mask=at < width)


@triton.jit
def swiglu(gate, up, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(gate + at, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(up + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), mask=inside)


@triton.jit
def transpose(x, out, M, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (i[:, None] < M) & (j[None, :] < N)
    v = tl.load(x + i[:, None] * N + j[None, :], mask=inside, other=0.0)
    tl.store(out + j[:, None] * M + i[None, :], v.T, mask=inside.T)


@triton.jit
def quantise_rows(x, out, scales, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * width + at, mask=at < width, other=0.0)
    scale = tl.max(tl.abs(v), 0) / 127.0
    # Rounds half to even without a library: adding 1.5 * 2^23 leaves no bits for a fraction.
    rounded = (v / scale + 12582912.0) - 12582912.0
    tl.store(scales + row, scale)
    tl.store(out + row * width + at, rounded.to(tl.int8), mask=at < width)


@triton.jit
def unpack_int4(packed, scales, out, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(packed + at, mask=inside, other=0)
    low = ((p << 4).to(tl.int8, bitcast=True) >> 4).to(tl.float32)
    high = (p.to(tl.int8, bitcast=True) >> 4).to(tl.float32)
    scale = tl.load(scales + at * 2 // GROUP, mask=inside, other=0.0)
    pairs = tl.interleave(low * scale, high * scale)
    wide = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out + wide, pairs.to(out.dtype.element_ty), mask=wide < 2 * n)


@triton.jit
def deinterleave(x, even, odd, BLOCK: tl.constexpr):
    pairs = tl.reshape(tl.load(x + tl.arange(0, 2 * BLOCK)), (BLOCK, 2))
    a, b = tl.split(pairs)
    tl.store(even + tl.arange(0, BLOCK), a)
    tl.store(odd + tl.arange(0, BLOCK), b)


@triton.jit
def inline_ptx(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=0)
    b = tl.load(y + at, mask=inside, other=0)
    r = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $1, $2, $1, 0x5a; dp4a.u32.u32 $0, $1, $2, t; }",
        "=r,r,r",
        [a, b],
        dtype=tl.uint32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, r, mask=inside)


@triton.jit
def inline_ptx_packed(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    r = tl.inline_asm_elementwise(
        "and.b32 $0, $1, 0x0f0f0f0f;", "=r,r", [tl.load(x + at)], dtype=tl.uint8, is_pure=True, pack=4
    )
    tl.store(out + at, r)


@triton.jit
def print_and_assert(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.device_print("value", v)
    tl.device_assert(v < 1000, "too large")
    tl.store(out + at, v + 1)

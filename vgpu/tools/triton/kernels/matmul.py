"""Matrix products in the shapes that libraries give them: tiles by pointers and descriptors, persistent, split and streamed along K,
batched, grouped, scaled, and convolution as a product."""

import triton
import triton.language as tl


@triton.jit
def tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The tile's row and column, so that programs that follow one another share rows of tiles."""
    in_group = GROUP * tiles_n
    first = (tile // in_group) * GROUP
    height = min(tiles_m - first, GROUP)
    return first + (tile % in_group) % height, (tile % in_group) // height


@triton.jit
def matmul(
    a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    row, column = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), 4)
    i = row * BM + tl.arange(0, BM)
    j = column * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_tile = a + (i % M)[:, None] * stride_am + k[None, :] * stride_ak
    b_tile = b + k[:, None] * stride_bk + (j % N)[None, :] * stride_bn
    acc = tl.zeros((BM, BN), ACC)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        x = tl.load(a_tile, mask=k[None, :] < K - start, other=0.0)
        y = tl.load(b_tile, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        a_tile += BK * stride_ak
        b_tile += BK * stride_bk
    inside = (i[:, None] < M) & (j[None, :] < N)
    tl.store(c + i[:, None] * stride_cm + j[None, :], acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, B_TRANSPOSED: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a.load([row, k])
        y = b.load([column, k]).T if B_TRANSPOSED else b.load([k, column])
        acc = tl.dot(x, y, acc)
    c.store([row, column], acc.to(c.dtype))


@triton.jit
def matmul_persistent_descriptors(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    FLATTEN: tl.constexpr, SPECIALISE: tl.constexpr, HALVES: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=FLATTEN, warp_specialize=SPECIALISE):
        row, column = tile_of(tile, tiles_m, tiles_n, 4)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([row * BM, k]), b.load([column * BN, k]).T, acc)
        if HALVES:
            halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c.store([row * BM, column * BN], left.to(c.dtype))
            c.store([row * BM, column * BN + BN // 2], right.to(c.dtype))
        else:
            c.store([row * BM, column * BN], acc.to(c.dtype))


@triton.jit
def matmul_device_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    y = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        row = tile // tiles_n * BM
        column = tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(x.load([row, k]), y.load([column, k]).T, acc)
        z.store([row, column], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK * SPLIT):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    inside = (i[:, None] < M) & (j[None, :] < N)
    tl.atomic_add(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=inside, sem="relaxed")


@triton.jit
def matmul_stream_k(a, b, c, M, N, K, steps_each, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Programs share the steps of all tiles evenly; tiles that several take part in are added up atomically."""
    steps = tl.cdiv(K, BK)
    tiles_n = tl.cdiv(N, BN)
    step = tl.program_id(0) * steps_each
    end = min(step + steps_each, tl.cdiv(M, BM) * tiles_n * steps)
    while step < end:
        tile = step // steps
        until = min(end, (tile + 1) * steps)
        i = tile // tiles_n * BM + tl.arange(0, BM)
        j = tile % tiles_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(step - tile * steps, until - tile * steps):
            k = s * BK + tl.arange(0, BK)
            x = tl.load(a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
            y = tl.load(b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
            acc = tl.dot(x, y, acc)
        tl.atomic_add(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N), sem="relaxed")
        step = until


@triton.jit
def matmul_batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    a += batch * M * K
    b += batch * K * N
    c += batch * M * N
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def batched_dot(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of three-dimensional tiles in one operation."""
    z = tl.arange(0, B)[:, None, None]
    i = tl.arange(0, M)[None, :, None]
    j = tl.arange(0, N)[None, None, :]
    x = tl.load(a + z * M * K + i * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + z * K * N + tl.arange(0, K)[None, :, None] * N + j)
    tl.store(c + z * M * N + i * N + j, tl.dot(x, y))


@triton.jit
def matmul_grouped(tokens, weights, out, offsets, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows `offsets[g]` to `offsets[g + 1]` are multiplied by the g-th of a list of matrices, as experts take tokens."""
    group = tl.program_id(0)
    first = tl.load(offsets + group)
    last = tl.load(offsets + group + 1)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    matrix = weights + group.to(tl.int64) * N * K
    for row in range(first, last, BM):
        i = row + tl.arange(0, BM)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(tokens + i[:, None] * K + k[None, :], mask=(i[:, None] < last) & (k[None, :] < K), other=0.0)
            y = tl.load(matrix + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
            acc = tl.dot(x, y, acc)
        inside = (i[:, None] < last) & (j[None, :] < N)
        tl.store(out + i[:, None] * N + j[None, :], acc.to(out.dtype.element_ty), mask=inside)


@triton.jit
def matmul_by_addresses(first, second, b, c, addresses, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiplies matrices whose addresses are read from memory. The program that writes them there is the one that reads them."""
    program = tl.program_id(0)
    tl.store(addresses + program * 2, first.to(tl.int64, bitcast=True))
    tl.store(addresses + program * 2 + 1, second.to(tl.int64, bitcast=True))
    tl.debug_barrier()
    i = tl.arange(0, BM)
    j = program * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    for matrix in range(2):
        a = tl.load(addresses + program * 2 + matrix).to(first.dtype)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=start + k[None, :] < K, other=0.0)
            y = tl.load(b + (start + k)[:, None] * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0.0)
            acc = tl.dot(x, y, acc)
        tl.store(c + matrix * BM * N + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=j[None, :] < N)


@triton.jit
def scaled_product(
    a, a_scales, b, b_scales, c, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A: tl.constexpr, B: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr,
):  # fmt: skip
    """A product of numbers with a scale for each 32 along K (a format of four bits packs two a byte along K)."""
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        ka = start // A_PACK + tl.arange(0, BK // A_PACK)
        kb = start // B_PACK + tl.arange(0, BK // B_PACK)
        ks = start // 32 + tl.arange(0, BK // 32)
        x = tl.load(a + i[:, None] * (K // A_PACK) + ka[None, :])
        y = tl.load(b + kb[:, None] * BN + j[None, :])
        sx = tl.load(a_scales + i[:, None] * (K // 32) + ks[None, :])
        sy = tl.load(b_scales + j[:, None] * (K // 32) + ks[None, :])
        acc = tl.dot_scaled(x, sx, A, y, sy, B, acc)
    tl.store(c + i[:, None] * BN + j[None, :], acc)


@triton.jit
def matmul_int4_weights(a, packed, scales, c, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights of four bits, two a byte along K, with a scale for each GROUP of K and column."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        half = start // 2 + tl.arange(0, BK // 2)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=i[:, None] < M, other=0.0)
        p = tl.load(packed + half[:, None] * N + j[None, :], mask=j[None, :] < N, other=0)
        low = ((p & 15).to(tl.int8) - 8).to(tl.float16)
        high = ((p >> 4).to(tl.int8) - 8).to(tl.float16)
        w = tl.reshape(tl.permute(tl.join(low, high), (0, 2, 1)), (BK, BN))
        s = tl.load(scales + start // GROUP * N + j, mask=j < N, other=0.0)
        acc += tl.dot(x, w) * s[None, :]
    tl.store(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def convolution(
    image, filters, out, images, H, W, C, F, P, Q,
    R: tl.constexpr, S: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """Channels last; pixels of the result are the rows of a product, and filters its columns."""
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    f = tl.program_id(1) * BN + tl.arange(0, BN)
    n = pixel // (P * Q)
    p = pixel // Q % P
    q = pixel % Q
    acc = tl.zeros((BM, BN), tl.float32)
    for r in range(R):
        for s in range(S):
            y = p * STRIDE - PAD + r
            x = q * STRIDE - PAD + s
            there = (n < images) & (y >= 0) & (y < H) & (x >= 0) & (x < W)
            for start in range(0, C, BC):
                c = start + tl.arange(0, BC)
                at = ((n * H + y) * W + x)[:, None] * C + c[None, :]
                v = tl.load(image + at, mask=there[:, None] & (c[None, :] < C), other=0.0)
                w = tl.load(
                    filters + (f[None, :] * R * S + r * S + s) * C + c[:, None], mask=(f[None, :] < F) & (c[:, None] < C), other=0.0
                )
                acc = tl.dot(v, w, acc)
    inside = (n[:, None] < images) & (f[None, :] < F)
    tl.store(out + pixel[:, None] * F + f[None, :], acc.to(out.dtype.element_ty), mask=inside)

// Kernels for the AMD machine's tests, compiled by Clang at several levels of optimisation. Only compiler builtins: no library is linked.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define ID (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())
#define BARRIER()                                                                                                              \
    do {                                                                                                                       \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                                 \
        __builtin_amdgcn_s_barrier();                                                                                          \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                                 \
    } while (0)

__kernel void integers(__global const long *in, __global long *out) {
    unsigned i = ID;
    long a = in[i * 2], b = in[i * 2 + 1];
    int x = (int)a, y = (int)(b >> 7);
    __global long *o = out + i * 16;
    o[0] = a / (b | 1);
    o[1] = (long)((ulong)a / ((ulong)b | 1));
    o[2] = a % (b | 1);
    o[3] = x / (y | 1);
    o[4] = (unsigned)x % ((unsigned)y | 1);
    o[5] = a * b;
    o[6] = x * (long)y;
    o[7] = __builtin_clzl((ulong)a | 1) + __builtin_popcountl((ulong)b);
    o[8] = a >> (b & 63);
    o[9] = (unsigned)x >> (y & 31) | (unsigned)x << (-y & 31);
    o[10] = (short)x * (short)y + (char)x;
    o[11] = a < b ? x : y;
    o[12] = __builtin_bswap32(x) ^ __builtin_bitreverse32(y);
    o[13] = (uchar)x / ((uchar)y | 1);
    o[14] = __builtin_elementwise_add_sat(x, y);
    o[15] = __builtin_elementwise_sub_sat((ushort)x, (ushort)y);
}

__kernel void floats(__global const double *in, __global double *out) {
    unsigned i = ID;
    double a = in[i * 2], b = in[i * 2 + 1];
    float x = (float)a, y = (float)b;
    __global double *o = out + i * 16;
    o[0] = a / b;
    o[1] = x / y;
    o[2] = __builtin_sqrt(__builtin_fabs(a));
    o[3] = __builtin_sqrtf(__builtin_fabsf(x));
    o[4] = __builtin_fma(a, b, a);
    o[5] = __builtin_fmaf(x, y, x);
    o[6] = (double)(long)(a * 1e6);
    o[7] = (double)(ulong)__builtin_fabs(b * 1e6);
    o[8] = (float)(long)(b * 1e12);
    o[9] = __builtin_floor(a) + __builtin_rint(b);
    o[10] = (float)(half)x;
    o[11] = __builtin_fmaxf(x, y) - __builtin_fminf(x, 1.0f);
    o[12] = __builtin_ldexp(a, 5) + __builtin_ldexpf(y, -3);
    o[13] = (float)(int)(x * 100.0f) + (float)(unsigned)__builtin_fabsf(y * 100.0f);
    o[14] = (double)(x > y) + (double)(a == b) * 2 + (double)!(x < y) * 4;
    o[15] = __builtin_copysignf(x, y) + __builtin_truncf(y);
}

__kernel void reduction(__global const float *in, __global float *out, __global int *count) {
    __local float partial[256];
    unsigned t = __builtin_amdgcn_workitem_id_x();
    partial[t] = in[ID];
    BARRIER();
    for (unsigned step = 128; step > 0; step >>= 1) {
        if (t < step)
            partial[t] += partial[t + step];
        BARRIER();
    }
    if (t == 0)
        out[__builtin_amdgcn_workgroup_id_x()] = partial[0];
    __scoped_atomic_fetch_add(count, (int)t, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

__attribute__((noinline)) static int steps(ulong n) {
    int count = 0;
    while (n != 1) {
        n = n & 1 ? n * 3 + 1 : n / 2;
        count++;
    }
    return count;
}

__attribute__((noinline)) static int pick(const int *values, int at) { return values[at]; }

__kernel void stack(__global const int *in, __global int *out) {
    int values[16];
    unsigned i = ID;
    for (int n = 0; n < 16; n++)
        values[n] = in[(i + n * 5) % 256];
    // Sorted in private memory, with indices that the compiler does not know.
    for (int n = 1; n < 16; n++) {
        int v = values[n], at = n;
        while (at > 0 && values[at - 1] > v) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = v;
    }
    out[i] = pick(values, i % 16) + steps(i + 1);
}

__constant int TABLE[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

__kernel void control(__global const int *in, __global int *out) {
    unsigned i = ID;
    int v = in[i], result = 0;
    switch (v & 7) {
    case 0: result = v * 3; break;
    case 1: result = -v; break;
    case 2: for (int n = 0; n < (v >> 4 & 15); n++) result += n * n; break;
    case 3: result = TABLE[v >> 3 & 15]; break;
    case 4: if (v & 64) { if (v & 128) result = 1; else result = 2; } else result = 3; break;
    case 5: result = __builtin_popcount(v); break;
    default: while (result < (v >> 5 & 31)) { result += 3; if (result == 9) break; }
    }
    out[i] = result + (int)__builtin_amdgcn_grid_size_x();
}

__kernel void lanes(__global const int *in, __global int *out) {
    unsigned i = ID, t = __builtin_amdgcn_workitem_id_x();
    int v = in[i];
    int above = __builtin_amdgcn_ds_bpermute((int)((t + 1) * 4), v);
    int first = __builtin_amdgcn_readfirstlane(v);
    int swapped = __builtin_amdgcn_update_dpp(v, v, 0xb1, 0xf, 0xf, false);
    int shifted = __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);
    out[i] = above ^ first ^ swapped * 3 ^ shifted * 5;
}

typedef short short8 __attribute__((ext_vector_type(8)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef uchar uchar16 __attribute__((ext_vector_type(16)));

__kernel void vectors(__global const uchar16 *bytes, __global const short8 *shorts, __global float4v *out) {
    unsigned i = ID;
    uchar16 b = bytes[i];
    short8 s = shorts[i] * (short)3 + (short)1;
    float4v sum = 0.0f;
    for (int n = 0; n < 16; n++)
        sum[n & 3] += b[n];
    for (int n = 0; n < 8; n++)
        sum[n & 3] -= s[n];
    out[i] = sum * 0.5f;
}

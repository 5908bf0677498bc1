// Lanes, atomics and shared memory.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void lanes(unsigned *out, const unsigned *in) {
  unsigned t = threadIdx.x, a = in[t];
  unsigned *o = out + t * 12;
  o[0] = __shfl_sync(~0u, a, 3, 8); o[1] = __shfl_xor_sync(~0u, a, 5); o[2] = __shfl_up_sync(~0u, a, 2); o[3] = __shfl_down_sync(~0u, a, 7, 16);
  o[4] = __ballot_sync(~0u, a & 1); o[5] = __all_sync(~0u, a != 0) + 2 * __any_sync(~0u, a & 8); o[6] = __match_any_sync(~0u, a & 3);
  o[7] = __reduce_add_sync(~0u, a); o[8] = __reduce_max_sync(~0u, (int)a); o[9] = __reduce_xor_sync(~0u, a); o[10] = __activemask();
  unsigned long long two = (unsigned long long)a << 32 | t;
  o[11] = (unsigned)(__shfl_xor_sync(~0u, two, 1) >> 32);
  __syncwarp();
}
extern __shared__ unsigned dynamic[];
__shared__ unsigned histogram[16];
extern "C" __global__ void __launch_bounds__(128, 2) shared(unsigned *out, const unsigned *in, int n) {
  unsigned t = threadIdx.x;
  if (t < 16) histogram[t] = 0;
  dynamic[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) {
    atomicAdd(&histogram[in[i] & 15], 1);
    atomicMax(&dynamic[in[i] & 63], in[i]);
  }
  __syncthreads();
  int many = __syncthreads_count(t < 16 && histogram[t & 15] > 4);
  if (t < 16) atomicAdd(out + t, histogram[t]);
  if (t < 64) atomicMax(out + 16 + t, dynamic[t]);
  if (t == 0) { atomicCAS(out + 80, 0u, (unsigned)many + 1); atomicInc(out + 81, 2); atomicExch(out + 82, 5u); atomicXor(out + 83, 0xF0F0u); }
  __threadfence();
}
extern "C" __global__ void halves(float *out, const float *in) {
  unsigned t = threadIdx.x;
  float a = in[t * 2], b = in[t * 2 + 1];
  float *o = out + t * 12;
  __half2 h = __floats2half2_rn(a, b), g = __floats2half2_rn(b, 0.5f);
  __half2 s = __hfma2(h, g, __float2half2_rn(1.0f));
  o[0] = __low2float(s); o[1] = __high2float(s);
  o[2] = __half2float(__hmax(__low2half(h), __high2half(h))); o[3] = __half2float(__hadd_sat(__low2half(h), __high2half(h)));
  o[4] = __half2float(__float2half_rz(a)); o[5] = (float)__hgt(__low2half(h), __high2half(h));
  __nv_bfloat162 x = __floats2bfloat162_rn(a, b), y = __floats2bfloat162_rn(b, 2.0f);
  __nv_bfloat162 z = __hfma2(x, y, x);
  o[6] = __low2float(z); o[7] = __high2float(z); o[8] = __bfloat162float(__hmin(__low2bfloat16(x), __high2bfloat16(x)));
  o[9] = __bfloat162float(__habs(__low2bfloat16(x))); o[10] = __half2float(h2exp2(h).x); o[11] = __half2float(hrint(__low2half(h)));
}

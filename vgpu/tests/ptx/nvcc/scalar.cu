// Integer, bit and float intrinsics of a thread.
extern "C" __global__ void integers(unsigned *out, const unsigned *in) {
  unsigned t = threadIdx.x;
  unsigned a = in[t * 2], b = in[t * 2 + 1];
  unsigned *o = out + t * 24;
  o[0] = __popc(a); o[1] = __clz(a); o[2] = __ffs(a); o[3] = __brev(a);
  o[4] = __byte_perm(a, b, 0x3715); o[5] = __funnelshift_l(a, b, 5); o[6] = __funnelshift_rc(a, b, b & 63);
  o[7] = __mulhi((int)a, (int)b); o[8] = __umulhi(a, b); o[9] = __mul24((int)a, (int)b); o[10] = __sad((int)a, (int)b, 7u);
  o[11] = __dp4a((int)a, (int)b, 3); o[12] = __dp2a_lo((int)a, (int)b, 3); o[13] = __hadd((int)a, (int)b); o[14] = __urhadd(a, b);
  o[15] = __vadd4(a, b); o[16] = __vmaxs2(a, b); o[17] = __vavgu4(a, b); o[18] = __usad(a, b, 1u);
  unsigned long long wide = ((unsigned long long)a << 32 | b) * 0x9E3779B97F4A7C15ull;
  o[19] = (unsigned)(wide >> 32); o[20] = __popcll(wide); o[21] = __clzll(wide); o[22] = (unsigned)__umul64hi(wide, wide);
  o[23] = (a / (b | 1)) ^ (unsigned)((int)a % (int)(b | 1));
}

extern "C" __global__ void floats(float *out, const float *in) {
  unsigned t = threadIdx.x;
  float a = in[t * 2], b = in[t * 2 + 1];
  float *o = out + t * 20;
  o[0] = __fadd_rz(a, b); o[1] = __fmul_ru(a, b); o[2] = __fmaf_rd(a, b, 1.5f); o[3] = __fdiv_rn(a, b); o[4] = __fsqrt_rz(fabsf(a));
  o[5] = __frcp_ru(b); o[6] = fminf(a, b); o[7] = fmaxf(a, b); o[8] = copysignf(a, b); o[9] = truncf(a);
  o[10] = rintf(b); o[11] = __saturatef(a); o[12] = (float)__float2int_rd(a); o[13] = (float)__float2uint_rn(fabsf(b)); o[14] = fmodf(a, b);
  o[15] = __int_as_float(__float_as_int(a) ^ 0x80000000); o[16] = a / b; o[17] = sqrtf(fabsf(b)); o[18] = ldexpf(a, 3); o[19] = floorf(a) + ceilf(b);
}

extern "C" __global__ void functions(float *out, const float *in) {
  unsigned t = threadIdx.x;
  float a = in[t];
  float *o = out + t * 16;
  o[0] = sinf(a); o[1] = cosf(a); o[2] = expf(a); o[3] = logf(fabsf(a)); o[4] = tanhf(a); o[5] = erff(a);
  o[6] = powf(fabsf(a), 1.7f); o[7] = cbrtf(a); o[8] = atan2f(a, 2.0f); o[9] = __expf(a); o[10] = __sinf(a); o[11] = __logf(fabsf(a));
  o[12] = rsqrtf(fabsf(a)); o[13] = exp2f(a); o[14] = (float)sin((double)a); o[15] = (float)exp((double)a);
}

// Programs that are compiled both for the host and to PTX: each computes one value of a thread's number, and both must agree.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel))
static inline u32 tid(void) { return __nvvm_read_ptx_sreg_tid_x(); }
#else
#define KERNEL
static u32 current;
static inline u32 tid(void) { return current; }
int printf(const char *, ...);
#endif
#define NOINLINE __attribute__((noinline))

// Structures by value, in both directions.
struct Mixed { u32 a; float b; u64 c; u8 d[5]; };
NOINLINE struct Mixed make(u32 x) {
  struct Mixed p = {x * 3, x * 0.5f, (u64)x << 33, {x, x + 1, x + 2, x + 3, x + 4}};
  return p;
}
NOINLINE u32 take(struct Mixed p, u32 k) { return p.a + (u32)p.b + (u32)(p.c >> 32) + p.d[k % 5]; }
KERNEL void structures(u32 *out) {
  struct Mixed p = make(tid());
  p.a += 7;
  out[tid()] = take(p, tid());
}

// Parameters whose address is taken.
NOINLINE u32 change(struct Mixed p, u32 n) {
  u8 *bytes = (u8 *)&p;
  for (u32 i = 0; i < n; i++) bytes[16 + i % 5] ^= i;
  return p.d[n % 5] + p.d[2];
}
KERNEL void addresses(u32 *out) { out[tid()] = change(make(tid()), tid()); }

NOINLINE u32 sum(u32 n, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, n);
  u32 s = 0;
  for (u32 i = 0; i < n; i++) s += i & 1 ? (u32)__builtin_va_arg(list, double) : __builtin_va_arg(list, u32);
  __builtin_va_end(list);
  return s;
}
KERNEL void varargs(u32 *out) { out[tid()] = sum(4, tid(), (double)tid() * 2.0, tid() + 1, 5.0); }

NOINLINE u32 f0(u32 x) { return x + 1; }
NOINLINE u32 f1(u32 x) { return x * x; }
NOINLINE u32 f2(u32 x) { return x ^ 0x55; }
u32 (*const table[3])(u32) = {f0, f1, f2};
KERNEL void pointers(u32 *out) { out[tid()] = table[tid() % 3](tid()) + table[tid() / 3 % 3](7); }

KERNEL void branches(u32 *out) {
  u32 t = tid(), r;
  switch (t % 11) {
  case 0: r = t * 3; break;
  case 1: r = t + 9; break;
  case 2: r = t ^ 77; break;
  case 3: r = t << 3; // falls through
  case 4: r = t / 3; break;
  case 5: r = ~t; break;
  case 6: r = t % 7; break;
  case 7: r = t * t; break;
  case 8: r = t - 100; break;
  default: r = 42;
  }
  out[t] = r;
}

NOINLINE u32 ackermann(u32 m, u32 n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL void recursion(u32 *out) { out[tid()] = ackermann(tid() % 3, tid() % 4); }

// Addresses in initial values.
struct Node { int v; struct Node *next; };
struct Node third = {30, 0}, second = {20, &third}, first = {10, &second};
const char *names[3] = {"abc", "de", "fghi"};
int numbers[4] = {1, 2, 3, 4};
int *inside = &numbers[2];
double halves[3] = {0.5, -1.25, 3e10};
KERNEL void globals(u32 *out) {
  struct Node *node = &first;
  u32 s = 0;
  for (u32 i = 0; i <= tid() % 3; i++, node = node->next) s += node->v;
  for (const char *c = names[tid() % 3]; *c; c++) s += *c;
  out[tid()] = s + *inside + (u32)(long)halves[tid() % 3];
}

KERNEL void wide(u64 *out) {
  u32 t = tid();
  unsigned __int128 x = ((unsigned __int128)t << 70) + t * 12345ul;
  x = x * (x + 3) / (t + 1);
  out[t] = (u64)(x >> 3) ^ (u64)(x >> 64);
}

KERNEL void local(u32 *out) {
  u32 t = tid(), a[32], s = 0;
  for (u32 i = 0; i < 32; i++) a[i] = i * t;
  for (u32 i = 1; i < 32; i++) a[(i * 7 + t) % 32] += a[i - 1];
  for (u32 i = 0; i < 32; i++) s = s * 31 + a[i];
  out[t] = s;
}

KERNEL void doubles(double *out) {
  double x = tid() * 0.1;
  out[tid()] = __builtin_sqrt(x) / (x + 1) + (double)(long)(x * 7) - __builtin_floor(x * 3) + __builtin_fma(x, x, 1.0);
}

KERNEL void floats(float *out) {
  float x = tid() * 0.37f - 3.0f, y = x * x - 1.5f;
  int i = (int)(x * 4);
  float z = i > 0 ? y / x : __builtin_fminf(x, y);
  out[tid()] = __builtin_truncf(z * 8) + (float)(u8)(tid() * 41) - __builtin_copysignf(0.25f, x) + (float)(long)(y * 1e6f);
}

KERNEL void narrow(u8 *out) {
  signed char c = (signed char)(tid() * 37);
  short s = (short)(c * 99);
  unsigned short u = (unsigned short)(s / 3);
  out[tid()] = (u8)(s >> 3) + (c < 0) + (u8)(u % 11);
}

KERNEL void atomics(u32 *out) {
  u32 t = tid();
  __atomic_fetch_add(&out[32], t, __ATOMIC_RELAXED);
  __atomic_fetch_xor(&out[34], t * t, __ATOMIC_SEQ_CST);
  __atomic_fetch_or(&out[35], 1u << t, __ATOMIC_RELEASE);
  __atomic_fetch_sub(&out[37], 3, __ATOMIC_ACQ_REL);
  u32 e = __atomic_load_n(&out[36], __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&out[36], &e, e + t + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  out[t] = t;
}

KERNEL void bits(u64 *out) {
  u32 t = tid();
  u64 x = 0x9E3779B97F4A7C15ul * (t + 1);
  u64 r = __builtin_popcountl(x) + ((u64)__builtin_clzl(x) << 8) + ((u64)__builtin_ctzl(x | 1ul << 40) << 16);
  r ^= __builtin_bswap64(x) ^ __builtin_bitreverse64(x) ^ __builtin_rotateleft64(x, t);
  r += __builtin_rotateright32((u32)x, t) + (x << (t * 2)) + ((long)x >> (t * 3 % 64));
  out[t] = r;
}

GENERATED_PROGRAMS

#ifndef __NVPTX__
#define RUN(name, width)                                                                     \
  {                                                                                          \
    static u8 out[64 * 8];                                                                   \
    for (current = 0; current < 32; current++) name((void *)out);                            \
    printf("%s %d ", #name, width);                                                          \
    for (u32 i = 0; i < 64 * width; i++) printf("%02x", out[i]);                             \
    printf("\n");                                                                            \
  }
int main(void) {
  RUN(structures, 4) RUN(addresses, 4) RUN(varargs, 4) RUN(pointers, 4) RUN(branches, 4) RUN(recursion, 4)
  RUN(globals, 4) RUN(wide, 8) RUN(local, 4) RUN(doubles, 8) RUN(floats, 4) RUN(narrow, 1) RUN(atomics, 4) RUN(bits, 8)
  GENERATED_RUNS
}
#endif

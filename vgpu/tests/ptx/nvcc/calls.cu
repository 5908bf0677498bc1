// Calls of all kinds, tables, local memory, constants.
#include <cstdio>
#include <cassert>
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int counter = 5;
struct Pair { int first; double second; char name[5]; };
__device__ __noinline__ Pair make(int x) { Pair p; p.first = x; p.second = x * 0.5; for (int i = 0; i < 5; ++i) p.name[i] = (char)(x + i); return p; }
__device__ __noinline__ int recursive(int n) { return n < 2 ? n : recursive(n - 1) + 2 * recursive(n - 2) + n; }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function functions[3] = {twice, square, negate};
struct Shape { __device__ virtual int area(int x) const { return x; } };
struct Box : Shape { int side; __device__ Box(int s) : side(s) {} __device__ int area(int x) const override { return side * x; } };
template <int N> __device__ __noinline__ int unrolled(int x) { return unrolled<N - 1>(x) * 3 + N; }
template <> __device__ __noinline__ int unrolled<0>(int x) { return x; }
extern "C" __global__ void calls(int *out, int n) {
  int t = threadIdx.x;
  int *o = out + t * 8;
  Pair p = make(t);
  o[0] = p.first + (int)(p.second * 2) + p.name[4];
  o[1] = recursive(t % 9);
  o[2] = functions[t % 3](t);
  Box box(t); Shape plain; const Shape *shape = t % 2 ? &box : &plain;
  o[3] = shape->area(n);
  o[4] = unrolled<4>(t);
  int values[16];
  for (int i = 0; i < 16; ++i) values[(i * 7 + t) % 16] = i * table[i % 8];
  o[5] = values[(t + n) % 16];
  switch (t % 11) {
    case 0: o[6] = t * 3; break; case 1: o[6] = t ^ 77; break; case 2: o[6] = t + n; break; case 3: o[6] = t * t; break;
    case 4: o[6] = -t; break; case 5: o[6] = t << 4; break; case 6: o[6] = t / 3; break; case 7: o[6] = n - t; break;
    case 8: o[6] = t % 5; break; default: o[6] = 1000; }
  o[7] = atomicAdd(&counter, 0);
  assert(n != 12345);
  if (t == 3) printf("t=%d n=%d x=%.2f s=%s\n", t, n, t * 0.25, "text");
}

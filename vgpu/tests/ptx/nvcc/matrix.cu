// Tensor cores through the header, asynchronous copies, cluster and grid constants.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
using namespace nvcuda;
extern "C" __global__ void product(float *d, const half *a, const half *b) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
  wmma::fill_fragment(z, 1.0f);
  wmma::load_matrix_sync(x, a, 16); wmma::load_matrix_sync(y, b, 16);
  wmma::mma_sync(z, x, y, z);
  for (int i = 0; i < z.num_elements; ++i) z.x[i] *= 2.0f;
  wmma::store_matrix_sync(d, z, 16, wmma::mem_row_major);
}
struct Big { int values[40]; };
extern "C" __global__ void __launch_bounds__(64) copies(int *out, const int *in, const __grid_constant__ Big big) {
  __shared__ alignas(16) int tile[64 * 4];
  int t = threadIdx.x;
  __pipeline_memcpy_async(tile + t * 4, in + t * 4, 16);
  __pipeline_commit(); __pipeline_wait_prior(0);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += tile[(t * 5 + i) % 256];
  out[t] = sum + big.values[t % 40];
}

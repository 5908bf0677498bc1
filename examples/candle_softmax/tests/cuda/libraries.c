// What stands in for cuBLAS and cuRAND when candle's CUDA backend runs on the stand-in of the CUDA driver: the vendor's own
// libraries need interfaces of the driver that are not public. Candle's device makes a handle of both when it is opened, so
// handles can be made here, and nothing can be computed with them. A program that is linked with more of their functions
// than are here, such as those of `matmul`, is not linked at all.

#include <stddef.h>
#include <stdio.h>

typedef int status_t;

static char handle;

status_t cublasCreate_v2(void **out) { *out = &handle; return 0; }
status_t cublasSetStream_v2(void *blas, void *stream) { return 0; }
status_t cublasDestroy_v2(void *blas) { return 0; }

status_t curandCreateGenerator(void **out, int kind) { *out = &handle; return 0; }
status_t curandSetStream(void *generator, void *stream) { return 0; }
status_t curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed) { return 0; }
status_t curandDestroyGenerator(void *generator) { return 0; }

// Random numbers are refused: CURAND_STATUS_INTERNAL_ERROR.
static status_t refuse(const char *name) {
    fprintf(stderr, "%s: not in the library that stands in for cuRAND\n", name);
    return 999;
}

status_t curandGenerateNormal(void *generator, float *out, size_t n, float mean, float deviation) {
    return refuse(__func__);
}

status_t curandGenerateNormalDouble(void *generator, double *out, size_t n, double mean, double deviation) {
    return refuse(__func__);
}

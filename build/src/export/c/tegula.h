/* What exported kernels have in common. Written by `tegula export`. */
#ifndef TEGULA_H
#define TEGULA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in the memory of the device that the kernel runs on. Extents and strides are in elements; only as many are
   read as the parameter has axes. */
typedef struct {
    void *data; /* the element at index zero */
    int64_t extents[5];
    int64_t strides[5];
} tegula_tensor;

typedef enum {
    TEGULA_OK = 0,
    TEGULA_INVALID_ARGUMENT = 1, /* an argument breaks what the kernel was compiled for */
    TEGULA_NO_DRIVER = 2,        /* the driver's library is not there, or lacks a function */
    TEGULA_NO_CODE = 3,          /* the kernel was not exported for this device */
    TEGULA_DRIVER_ERROR = 4,     /* the driver refused */
    TEGULA_ASSERTION = 5,        /* an assertion of the kernel failed */
    TEGULA_OUT_OF_MEMORY = 6
} tegula_status;

#ifdef __cplusplus
}
#endif

#endif

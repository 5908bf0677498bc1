// A CUDA driver that does nothing, in ways that the tests name: OLD, INCOMPLETE, NO_DEVICE, TURING, LOST.
#include <stddef.h>
#include <string.h>

#define OK(name) int name() { return 0; }

#ifdef OLD
#define VERSION 10020
#else
#define VERSION 12040
#endif

int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }

int cuGetErrorName(int code, const char **text) {
    *text = code == 214 ? "CUDA_ERROR_ECC_UNCORRECTABLE" : "CUDA_ERROR";
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == 214 ? "uncorrectable ECC error encountered" : "an error";
    return 0;
}

int cuInit(unsigned flags) {
#ifdef NO_DEVICE
    return 100;
#else
    return 0;
#endif
}

int cuDeviceGetCount(int *count) { *count = 1; return 0; }

int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake", length); return 0; }

int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1 << 30; return 0; }

// 75 and 76 are the compute capability, 115 whether there are pools.
int cuDeviceGetAttribute(int *value, int attribute, int device) {
#ifdef TURING
    *value = attribute == 75 ? 7 : attribute == 76 ? 5 : 1;
#else
    *value = attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 115 ? 0 : 1024;
#endif
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)1; return 0; }

int cuStreamCreate(void **stream, unsigned flags) { *stream = (void *)1; return 0; }

int cuCtxSynchronize() {
#ifdef LOST
    return 214;
#else
    return 0;
#endif
}

OK(cuCtxGetCurrent)
OK(cuCtxSetCurrent)
OK(cuEventCreate)
OK(cuEventDestroy_v2)
OK(cuEventElapsedTime)
OK(cuEventQuery)
OK(cuEventRecord)
OK(cuEventSynchronize)
OK(cuFuncGetAttribute)
OK(cuFuncSetAttribute)
OK(cuGraphDestroy)
OK(cuGraphExecDestroy)
OK(cuGraphInstantiateWithFlags)
OK(cuGraphLaunch)
OK(cuLaunchKernel)
OK(cuMemAlloc_v2)
OK(cuMemAllocHost_v2)
OK(cuMemFreeHost)
OK(cuMemFree_v2)
OK(cuMemGetInfo_v2)
OK(cuMemcpyDtoDAsync_v2)
OK(cuMemcpyDtoHAsync_v2)
OK(cuMemcpyHtoDAsync_v2)
OK(cuMemcpyPeerAsync)
OK(cuMemsetD8Async)
OK(cuModuleGetFunction)
OK(cuModuleLoadDataEx)
OK(cuModuleUnload)
#ifndef INCOMPLETE
OK(cuStreamBeginCapture_v2)
#endif
OK(cuStreamDestroy_v2)
OK(cuStreamEndCapture)
OK(cuStreamQuery)
OK(cuStreamSynchronize)
OK(cuStreamWaitEvent)

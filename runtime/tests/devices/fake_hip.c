// AMD's HIP library, doing nothing, in ways that the tests name: INCOMPLETE, NO_DEVICE, VEGA, LOST.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OK(name) int name() { return 0; }

int hipDriverGetVersion(int *version) { *version = 60000000; return 0; }

const char *hipGetErrorName(int code) { return code == 214 ? "hipErrorECCNotCorrectable" : "hipError"; }

const char *hipGetErrorString(int code) { return code == 214 ? "uncorrectable ECC error encountered" : "an error"; }

int hipGetDeviceCount(int *count) {
#ifdef NO_DEVICE
    return 100;
#else
    *count = 1;
    return 0;
#endif
}

// The offsets of `hipDeviceProp_tR0600`.
int hipGetDevicePropertiesR0600(char *properties, int device) {
    size_t memory = 1 << 30, shared = 65536;
    int threads = 1024, grid = 65536, processors = 1;
    strcpy(properties, "Fake");
    memcpy(properties + 288, &memory, sizeof memory);
    memcpy(properties + 296, &shared, sizeof shared);
    memcpy(properties + 320, &threads, sizeof threads);
    for (int axis = 0; axis < 3; axis++) memcpy(properties + 336 + 4 * axis, &grid, sizeof grid);
    memcpy(properties + 388, &processors, sizeof processors);
#ifdef VEGA
    strcpy(properties + 1160, "gfx906:sramecc+:xnack-");
#else
    strcpy(properties + 1160, "gfx942:sramecc+:xnack-");
#endif
    return 0;
}

int hipStreamCreateWithFlags(void **stream, unsigned flags) { *stream = (void *)1; return 0; }

int hipDeviceSynchronize() {
#ifdef LOST
    return 214;
#else
    return 0;
#endif
}

OK(hipInit)
OK(hipSetDevice)
OK(hipMemGetInfo)
OK(hipMalloc)
OK(hipFree)
OK(hipHostMalloc)
OK(hipHostFree)
OK(hipMemcpyHtoDAsync)
OK(hipMemcpyDtoHAsync)
OK(hipMemcpyDtoDAsync)
OK(hipMemcpyPeerAsync)
OK(hipMemsetD8Async)
OK(hipStreamDestroy)
OK(hipStreamSynchronize)
OK(hipStreamQuery)
OK(hipStreamWaitEvent)
#ifndef INCOMPLETE
OK(hipStreamBeginCapture)
#endif
OK(hipStreamEndCapture)
OK(hipEventCreateWithFlags)
OK(hipEventDestroy)
OK(hipEventRecord)
OK(hipEventQuery)
OK(hipEventSynchronize)
OK(hipEventElapsedTime)
OK(hipGraphInstantiate)
OK(hipGraphLaunch)
OK(hipGraphDestroy)
OK(hipGraphExecDestroy)
OK(hipModuleLoadData)
OK(hipModuleUnload)
OK(hipModuleGetFunction)
OK(hipFuncGetAttribute)
OK(hipModuleLaunchKernel)
OK(hipModuleLaunchCooperativeKernel)

/* Launches an exported kernel on the first CUDA device; says "no driver" where there is none. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "add_f32.h"

#define CHECK_ERROR add_f32_error
#include "check.h"

typedef unsigned long long address;

static float x[1500], y[1500], z[1500];

int main(void) {
    tegula_tensor a = { NULL, { 1500 }, { 1 } }, b = a, c = a;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        CHECK(add_f32_cuda(NULL, &a, &b, &c) == TEGULA_NO_DRIVER);
        CHECK(strstr(add_f32_error(), "libcuda.so.1"));
        puts("no driver");
        return 0;
    }
    int (*init)(unsigned), (*get)(int *, int), (*attribute)(int *, int, int), (*retain)(void **, int);
    int (*set)(void *), (*allocate)(address *, size_t), (*to)(address, const void *, size_t);
    int (*from)(void *, address, size_t);
    CHECK((*(void **)&init = dlsym(library, "cuInit")));
    CHECK((*(void **)&get = dlsym(library, "cuDeviceGet")));
    CHECK((*(void **)&attribute = dlsym(library, "cuDeviceGetAttribute")));
    CHECK((*(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain")));
    CHECK((*(void **)&set = dlsym(library, "cuCtxSetCurrent")));
    CHECK((*(void **)&allocate = dlsym(library, "cuMemAlloc_v2")));
    CHECK((*(void **)&to = dlsym(library, "cuMemcpyHtoD_v2")));
    CHECK((*(void **)&from = dlsym(library, "cuMemcpyDtoH_v2")));

    CHECK(init(0) == 0);
    CHECK(add_f32_cuda(NULL, &a, &b, &c) != TEGULA_OK); /* no context yet */
    int device, major, minor;
    void *context;
    CHECK(get(&device, 0) == 0 && attribute(&major, 75, device) == 0 && attribute(&minor, 76, device) == 0);
    CHECK(retain(&context, device) == 0 && set(context) == 0);
    for (int i = 0; i < 1500; i++) {
        x[i] = (float)i;
        y[i] = 0.25f * (float)i;
    }
    address pa, pb, pc;
    CHECK(allocate(&pa, sizeof x) == 0 && allocate(&pb, sizeof y) == 0 && allocate(&pc, sizeof z) == 0);
    CHECK(to(pa, x, sizeof x) == 0 && to(pb, y, sizeof y) == 0);
    a.data = (void *)pa, b.data = (void *)pb, c.data = (void *)pc;
    /* Twice: the second launch finds the kernel loaded. */
    for (int round = 0; round < 2; round++) {
        CHECK(add_f32_cuda(NULL, &a, &b, &c) == TEGULA_OK);
        memset(z, 0, sizeof z);
        CHECK(from(z, pc, sizeof z) == 0);
        for (int i = 0; i < 1500; i++)
            CHECK(z[i] == x[i] + y[i]);
    }
    printf("ok on sm_%d%d\n", major, minor);
    return 0;
}

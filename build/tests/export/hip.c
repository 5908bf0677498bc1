/* Launches an exported kernel on the first HIP device, and loads it from its bundle; says "no driver" where there is none. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "add_f32.h"

#define CHECK_ERROR add_f32_error
#include "check.h"

enum { TO_DEVICE = 1, TO_HOST = 2 };

static float x[1500], y[1500], z[1500];

int main(void) {
    tegula_tensor a = { NULL, { 1500 }, { 1 } }, b = a, c = a;
    void *library = dlopen("libamdhip64.so", RTLD_NOW);
    if (!library) {
        CHECK(add_f32_hip(NULL, &a, &b, &c) == TEGULA_NO_DRIVER);
        CHECK(strstr(add_f32_error(), "libamdhip64.so"));
        puts("no driver");
        return 0;
    }
    int (*allocate)(void **, size_t), (*copy)(void *, const void *, size_t, int), (*release)(void *);
    int (*load)(void **, const char *), (*find)(void **, void *, const char *);
    CHECK((*(void **)&allocate = dlsym(library, "hipMalloc")));
    CHECK((*(void **)&copy = dlsym(library, "hipMemcpy")));
    CHECK((*(void **)&release = dlsym(library, "hipFree")));
    CHECK((*(void **)&load = dlsym(library, "hipModuleLoad")));
    CHECK((*(void **)&find = dlsym(library, "hipModuleGetFunction")));

    for (int i = 0; i < 1500; i++) {
        x[i] = (float)i;
        y[i] = 0.25f * (float)i;
    }
    CHECK(allocate(&a.data, sizeof x) == 0 && allocate(&b.data, sizeof y) == 0 && allocate(&c.data, sizeof z) == 0);
    CHECK(copy(a.data, x, sizeof x, TO_DEVICE) == 0 && copy(b.data, y, sizeof y, TO_DEVICE) == 0);
    /* Twice: the second launch finds the kernel loaded. */
    for (int round = 0; round < 2; round++) {
        CHECK(add_f32_hip(NULL, &a, &b, &c) == TEGULA_OK);
        memset(z, 0, sizeof z);
        CHECK(copy(z, c.data, sizeof z, TO_HOST) == 0);
        for (int i = 0; i < 1500; i++)
            CHECK(z[i] == x[i] + y[i]);
    }
    /* What a launch must not be given. */
    b.extents[0] = -1;
    CHECK(add_f32_hip(NULL, &a, &b, &c) == TEGULA_INVALID_ARGUMENT);
    CHECK(release(a.data) == 0 && release(b.data) == 0 && release(c.data) == 0);

    void *module, *function;
    CHECK(load(&module, "add_f32.hipfb") == 0);
    CHECK(find(&function, module, "add") == 0);
    puts("ok on HIP");
    return 0;
}

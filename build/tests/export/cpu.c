/* Calls exported kernels on memory of the host, with arguments that fit and that do not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add_any.h"
#include "softmax_f32.h"

#include "check.h"

static _Alignas(64) float x[3000], y[3000], z[3000];

int main(void) {
    for (int i = 0; i < 3000; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
        z[i] = -1;
    }
    /* Every second element, and a size that no tile divides. */
    tegula_tensor a = { x, { 1030 }, { 2 } }, b = { y + 1, { 1030 }, { 1 } }, c = { z + 3, { 1030 }, { 1 } };
    CHECK(add_any_cpu(&a, &b, &c) == TEGULA_OK);
    for (int i = 0; i < 1030; i++)
        CHECK(z[i + 3] == x[2 * i] + y[i + 1]);
    CHECK(z[2] == -1 && z[1033] == -1);
    /* Nothing to do. */
    a.extents[0] = b.extents[0] = c.extents[0] = 0;
    CHECK(add_any_cpu(&a, &b, &c) == TEGULA_OK);

    CHECK(add_any_cpu(NULL, &b, &c) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(add_any_error(), "`x` is NULL"));
    a.extents[0] = -1;
    CHECK(add_any_cpu(&a, &b, &c) == TEGULA_INVALID_ARGUMENT);
    a.extents[0] = 1;
    a.data = (char *)x + 1;
    CHECK(add_any_cpu(&a, &b, &c) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(add_any_error(), "not aligned to 4 bytes"));

    tegula_tensor in = { x, { 5, 100 }, { 100, 1 } }, out = { z, { 5, 100 }, { 100, 1 } };
    for (int i = 0; i < 500; i++)
        x[i] = (float)(i * 37 % 11);
    CHECK(softmax_f32_cpu(&in, &out) == TEGULA_OK);
    for (int row = 0; row < 5; row++) {
        double sum = 0;
        for (int j = 0; j < 100; j++)
            sum += exp(x[row * 100 + j]);
        for (int j = 0; j < 100; j++)
            CHECK(fabs(z[row * 100 + j] - exp(x[row * 100 + j]) / sum) < 1e-6);
    }
    /* What was promised to the compiler is checked. */
    in.strides[1] = 2;
    CHECK(softmax_f32_cpu(&in, &out) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(softmax_f32_error(), "last stride of `x`"));
    in.strides[1] = 1;
    in.data = x + 1;
    CHECK(softmax_f32_cpu(&in, &out) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(softmax_f32_error(), "16 bytes"));
    in.data = z + 4;
    CHECK(softmax_f32_cpu(&in, &out) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(softmax_f32_error(), "overlap"));
    in.data = x;
    in.strides[0] = 1LL << 40;
    CHECK(softmax_f32_cpu(&in, &out) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(softmax_f32_error(), "2 GiB"));
    puts("ok");
    return 0;
}

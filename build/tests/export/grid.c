/* Calls exported kernels that take scalars, and a grid. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dropout_f32.h"
#include "softmax_long.h"

#include "check.h"

static float x[4000], y[4000];

int main(void) {
    for (int i = 0; i < 4000; i++)
        x[i] = 1;
    tegula_tensor in = { x, { 4000 }, { 1 } }, out = { y, { 4000 }, { 1 } };
    /* Nothing is dropped, then about a quarter. */
    CHECK(dropout_f32_cpu(&in, &out, 0.0f, 1234) == TEGULA_OK);
    for (int i = 0; i < 4000; i++)
        CHECK(y[i] == 1);
    CHECK(dropout_f32_cpu(&in, &out, 0.25f, 1234) == TEGULA_OK);
    int dropped = 0;
    for (int i = 0; i < 4000; i++) {
        CHECK(y[i] == 0 || fabsf(y[i] - 1 / 0.75f) < 1e-6f);
        dropped += y[i] == 0;
    }
    CHECK(dropped > 800 && dropped < 1200);

    for (int i = 0; i < 300; i++)
        x[i] = (float)(i % 13);
    tegula_tensor rows = { x, { 3, 100 }, { 100, 1 } }, result = { y, { 3, 100 }, { 100, 1 } };
    const uint32_t grid[3] = { 3, 1, 1 };
    CHECK(softmax_long_cpu(&rows, &result, grid) == TEGULA_OK);
    for (int row = 0; row < 3; row++) {
        float sum = 0;
        for (int j = 0; j < 100; j++)
            sum += y[row * 100 + j];
        CHECK(fabsf(sum - 1) < 1e-5f);
    }
    CHECK(softmax_long_cpu(&rows, &result, NULL) == TEGULA_INVALID_ARGUMENT);
    CHECK(strstr(softmax_long_error(), "grid"));
    puts("ok");
    return 0;
}

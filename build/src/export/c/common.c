/* @NAME@: code and launchers. Written by `tegula export`; compile as C11, link with -ldl -pthread@LINK@. */
#define _POSIX_C_SOURCE 200809L
#include "@NAME@.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char message[512];

const char *@NAME@_error(void) {
    return message;
}

static tegula_status fail(tegula_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

#define INVALID(...) return fail(TEGULA_INVALID_ARGUMENT, "@NAME@: " __VA_ARGS__)

/* The bytes from the first to behind the last element; equal for an empty tensor. */
static inline void range(const tegula_tensor *t, int rank, int64_t size, uintptr_t *from, uintptr_t *to) {
    int64_t low = 0, high = size;
    for (int i = 0; i < rank; i++) {
        if (t->extents[i] == 0) {
            *from = *to = (uintptr_t)t->data;
            return;
        }
        int64_t reach = (t->extents[i] - 1) * t->strides[i] * size;
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    *from = (uintptr_t)t->data + (uintptr_t)low;
    *to = (uintptr_t)t->data + (uintptr_t)high;
}

/* Looks at the arguments, and counts the programs. */
static tegula_status check(@PARAMS@, uint32_t programs[3]) {
@CHECKS@    return TEGULA_OK;
}

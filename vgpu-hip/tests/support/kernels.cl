// Kernels of the tests. `kernels.gfx942.hsaco` is made of them by
//   clang -x cl -cl-std=CL2.0 -O2 -nogpulib -target amdgcn-amd-amdhsa -mcpu=gfx942 kernels.cl -o kernels.gfx942.hsaco

// y[i] += a * x[i]
kernel void axpy(global float *y, global const float *x, float a, unsigned n) {
    unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        y[i] += a * x[i];
}

// Spins until a flag is set.
kernel void wait(global volatile unsigned *flag) {
    while (*flag == 0) {
    }
}

// Writes where it is told.
kernel void stray(global unsigned *p) { *p = 1; }

// Every group writes one element.
kernel void race(global unsigned *p) { *p = __builtin_amdgcn_workgroup_id_x(); }

// Counts in a variable.
__attribute__((visibility("default"))) global unsigned counter = 5;
kernel void count() { counter += 1; }

// Has 40 KiB of LDS.
kernel void shared(global unsigned *p, unsigned i) {
    local volatile unsigned tile[10240];
    tile[i] = 7;
    *p = tile[i] + i;
}

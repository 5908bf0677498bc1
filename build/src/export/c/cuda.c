
/* ---- NVIDIA GPUs, through the driver API: its library is loaded when it is first needed. ---- */

@CUDA_CODE@
static const struct cuda_code {
    int architecture; /* 80 for sm_80 */
    int exact;        /* runs on that architecture only */
    const unsigned char *ptx;
    unsigned threads, dynamic_shared;
} cuda_codes[] = { @CUDA_CODES@ };

static struct {
    int (*get_context)(void **);
    int (*get_device)(int *);
    int (*get_attribute)(int *, int, int);
    int (*load)(void **, const void *);
    int (*find)(void **, void *, const char *);
    int (*set)(void *, int, int);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*describe)(int, const char **);
} cuda;
static int cuda_found;

static void cuda_open(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return;
    /* The way POSIX has for pointers to functions. */
#define FIND(field, name) (*(void **)&cuda.field = dlsym(library, name)) != NULL
    cuda_found = FIND(get_context, "cuCtxGetCurrent") && FIND(get_device, "cuCtxGetDevice") &&
                 FIND(get_attribute, "cuDeviceGetAttribute") && FIND(load, "cuModuleLoadData") &&
                 FIND(find, "cuModuleGetFunction") && FIND(set, "cuFuncSetAttribute") &&
                 FIND(launch, "cuLaunchKernel") && FIND(describe, "cuGetErrorString");
#undef FIND
}

static tegula_status cuda_failed(const char *what, int code) {
    const char *text = NULL;
    cuda.describe(code, &text);
    return fail(TEGULA_DRIVER_ERROR, "@NAME@: %s: %s (CUDA error %d)", what, text ? text : "unknown", code);
}

/* The loaded kernels, one a context. */
static struct cuda_kernel {
    void *context, *function;
    const struct cuda_code *code;
    struct cuda_kernel *next;
} *cuda_kernels;
static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER;

static tegula_status cuda_load(void *context, struct cuda_kernel *kernel) {
    int device, major, minor, code;
    if ((code = cuda.get_device(&device)) || (code = cuda.get_attribute(&major, 75, device)) ||
        (code = cuda.get_attribute(&minor, 76, device)))
        return cuda_failed("cannot ask for the architecture", code);
    const int architecture = major * 10 + minor;
    const struct cuda_code *best = NULL;
    for (size_t i = 0; i < sizeof cuda_codes / sizeof *cuda_codes; i++) {
        const struct cuda_code *c = &cuda_codes[i];
        if (c->exact ? c->architecture != architecture : c->architecture > architecture)
            continue;
        if (!best || c->architecture > best->architecture || (c->architecture == best->architecture && c->exact))
            best = c;
    }
    if (!best)
        return fail(TEGULA_NO_CODE, "@NAME@ was exported for @CUDA_NAMES@, the device is sm_%d", architecture);
    void *module;
    if ((code = cuda.load(&module, best->ptx)))
        return cuda_failed("cannot load the code", code);
    if ((code = cuda.find(&kernel->function, module, "@KERNEL@")))
        return cuda_failed("the kernel is not in the code", code);
    /* Above 48 KiB shared memory must be asked for. */
    if (best->dynamic_shared > 48 * 1024 && (code = cuda.set(kernel->function, 8, (int)best->dynamic_shared)))
        return cuda_failed("cannot have that much shared memory", code);
    kernel->context = context;
    kernel->code = best;
    return TEGULA_OK;
}

tegula_status @NAME@_cuda(void *stream, @PARAMS@) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, cuda_open);
    if (!cuda_found)
        return fail(TEGULA_NO_DRIVER, "@NAME@: no libcuda.so.1, which comes with NVIDIA's driver");
    uint32_t grid[3] = { 0, 0, 0 };
    tegula_status status = check(@NAMES@, grid);
    if (status != TEGULA_OK || (uint64_t)grid[0] * grid[1] * grid[2] == 0)
        return status;
    void *context = NULL;
    int code = cuda.get_context(&context);
    if (code)
        return cuda_failed("cannot ask for the context", code);
    if (!context)
        INVALID("no CUDA context is current in this thread");
    pthread_mutex_lock(&cuda_lock);
    struct cuda_kernel *kernel = cuda_kernels;
    while (kernel && kernel->context != context)
        kernel = kernel->next;
    if (!kernel) {
        kernel = calloc(1, sizeof *kernel);
        status = kernel ? cuda_load(context, kernel) : fail(TEGULA_OUT_OF_MEMORY, "@NAME@: out of memory");
        if (status != TEGULA_OK) {
            free(kernel);
        } else {
            kernel->next = cuda_kernels;
            cuda_kernels = kernel;
        }
    }
    pthread_mutex_unlock(&cuda_lock);
    if (status != TEGULA_OK)
        return status;
    void *params[] = { @CUDA_PARAMS@ };
    code = cuda.launch(kernel->function, grid[0], grid[1], grid[2], kernel->code->threads, 1, 1,
                       kernel->code->dynamic_shared, stream, params, NULL);
    return code ? cuda_failed("cannot launch", code) : TEGULA_OK;
}

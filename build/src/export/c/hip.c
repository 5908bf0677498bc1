
/* ---- AMD GPUs, through HIP: its library is loaded when it is first needed. ---- */

@HIP_CODE@
static const struct hip_code {
    const unsigned char *object;
    unsigned threads, dynamic_shared;
} hip_codes[] = { @HIP_CODES@ };

static struct {
    int (*get_device)(int *);
    int (*load)(void **, const void *);
    int (*find)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    const char *(*describe)(int);
} hip;
static int hip_found;

static void hip_open(void) {
    static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so" };
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return;
#define FIND(field, name) (*(void **)&hip.field = dlsym(library, name)) != NULL
    hip_found = FIND(get_device, "hipGetDevice") && FIND(load, "hipModuleLoadData") &&
                FIND(find, "hipModuleGetFunction") && FIND(launch, "hipModuleLaunchKernel") &&
                FIND(describe, "hipGetErrorString");
#undef FIND
}

static tegula_status hip_failed(const char *what, int code) {
    const char *text = hip.describe(code);
    return fail(TEGULA_DRIVER_ERROR, "@NAME@: %s: %s (HIP error %d)", what, text ? text : "unknown", code);
}

/* The loaded kernels, one a device. */
static struct hip_kernel {
    int device;
    void *function;
    const struct hip_code *code;
    struct hip_kernel *next;
} *hip_kernels;
static pthread_mutex_t hip_lock = PTHREAD_MUTEX_INITIALIZER;

static tegula_status hip_load(int device, struct hip_kernel *kernel) {
    /* HIP takes the code of the device's own architecture only. */
    void *module = NULL;
    int code = 0;
    for (size_t i = 0; !module && i < sizeof hip_codes / sizeof *hip_codes; i++) {
        code = hip.load(&module, hip_codes[i].object);
        if (code)
            module = NULL;
        else
            kernel->code = &hip_codes[i];
    }
    if (!module)
        return fail(TEGULA_NO_CODE, "@NAME@ was exported for @HIP_NAMES@, which device %d does not take: %s", device,
                    hip.describe(code));
    if ((code = hip.find(&kernel->function, module, "@KERNEL@")))
        return hip_failed("the kernel is not in the code", code);
    kernel->device = device;
    return TEGULA_OK;
}

tegula_status @NAME@_hip(void *stream, @PARAMS@) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hip_open);
    if (!hip_found)
        return fail(TEGULA_NO_DRIVER, "@NAME@: no libamdhip64.so, which comes with ROCm");
    uint32_t grid[3] = { 0, 0, 0 };
    tegula_status status = check(@NAMES@, grid);
    if (status != TEGULA_OK || (uint64_t)grid[0] * grid[1] * grid[2] == 0)
        return status;
    int device, code = hip.get_device(&device);
    if (code)
        return hip_failed("cannot ask for the device", code);
    pthread_mutex_lock(&hip_lock);
    struct hip_kernel *kernel = hip_kernels;
    while (kernel && kernel->device != device)
        kernel = kernel->next;
    if (!kernel) {
        kernel = calloc(1, sizeof *kernel);
        status = kernel ? hip_load(device, kernel) : fail(TEGULA_OUT_OF_MEMORY, "@NAME@: out of memory");
        if (status != TEGULA_OK) {
            free(kernel);
        } else {
            kernel->next = hip_kernels;
            hip_kernels = kernel;
        }
    }
    pthread_mutex_unlock(&hip_lock);
    if (status != TEGULA_OK)
        return status;
    void *params[] = { @HIP_PARAMS@ };
    code = hip.launch(kernel->function, grid[0], grid[1], grid[2], kernel->code->threads, 1, 1,
                      kernel->code->dynamic_shared, stream, params, NULL);
    return code ? hip_failed("cannot launch", code) : TEGULA_OK;
}

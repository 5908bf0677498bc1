
/* ---- The CPU ---- */

struct context {
    int64_t num_programs[3];
    void (*print)(const struct context *, const int64_t *, uint32_t, const uint8_t *const *);
    void (*fail)(const struct context *, const int64_t *, uint32_t, int64_t);
    void *sink;
};

extern int32_t @SYMBOL@(const uint64_t *args, const struct context *context, const int64_t *program, uint8_t *arena);

static const char *const asserts[] = { @ASSERTS@ };

struct sink {
    pthread_mutex_t lock;
    int failed;
    uint32_t site;
    int64_t program[3];
};

/* Kernels that print are not exported. */
static void on_print(const struct context *c, const int64_t *p, uint32_t site, const uint8_t *const *values) {
    (void)c, (void)p, (void)site, (void)values;
}

static void on_fail(const struct context *context, const int64_t *program, uint32_t site, int64_t element) {
    struct sink *sink = context->sink;
    (void)element;
    pthread_mutex_lock(&sink->lock);
    if (!sink->failed) {
        sink->failed = 1;
        sink->site = site;
        for (int i = 0; i < 3; i++)
            sink->program[i] = program[i];
    }
    pthread_mutex_unlock(&sink->lock);
}

/* Memory for tiles, with room before and behind that a vector access may touch. */
#define ROOM 256
#define ARENA ((size_t)@ARENA@)

tegula_status @NAME@_cpu(@PARAMS@) {
    uint32_t grid[3] = { 0, 0, 0 };
    tegula_status status = check(@NAMES@, grid);
    if (status != TEGULA_OK)
        return status;
@CPU_CHECK@    const uint64_t args[] = { @WORDS@ };
    struct sink sink = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct context context = { { grid[0], grid[1], grid[2] }, on_print, on_fail, &sink };
    const int64_t total = (int64_t)grid[0] * grid[1] * grid[2];
    int starved = 0;
    /* With OpenMP (-fopenmp) on all processors. */
#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        uint8_t *arena = aligned_alloc(64, (ARENA + 2 * ROOM + 4095) / 4096 * 4096);
#ifdef _OPENMP
#pragma omp for schedule(dynamic)
#endif
        for (int64_t i = 0; i < total; i++) {
            if (!arena) {
                starved = 1;
                continue;
            }
            const int64_t program[3] = { i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1] };
            @SYMBOL@(args, &context, program, arena + ROOM);
        }
        free(arena);
    }
    if (starved)
        return fail(TEGULA_OUT_OF_MEMORY, "@NAME@: no memory for %zu bytes of tiles a thread", ARENA);
    if (sink.failed)
        return fail(TEGULA_ASSERTION, "@NAME@: %s, in program (%lld, %lld, %lld)", asserts[sink.site],
                    (long long)sink.program[0], (long long)sink.program[1], (long long)sink.program[2]);
    return TEGULA_OK;
}

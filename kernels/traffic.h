/* traffic.h - threads that load the memory: read and write lines in a given ratio, pause, and count what they moved. */
#ifndef PINSWEEP_TRAFFIC_H
#define PINSWEEP_TRAFFIC_H

#include "machine.h"

#include <pthread.h>

/* One group of requests: `reads` lines read, `writes` lines written through the cache (each costs the memory one
 * read, for ownership, and one write, when it is evicted), `streams` lines written past the cache; then one delay
 * after `repeat` groups. Counted: reads + 2 * writes + streams lines, of 64 bytes.
 * `option` is MLC's -W number; the ratios are those of its usage text. */
typedef struct {
    int option;
    const char *words;
    int reads, writes, streams, repeat;
    bool two_buffers; /* the reads come from two places */
} mix_t;

/* X(option, words, reads, writes, streams, repeat, two_buffers) */
#define MIXES(X)                                                  \
    X(0, "Read-only", 1, 0, 0, 4, false)                          \
    X(2, "2:1 read-write", 1, 1, 0, 1, false)                     \
    X(3, "3:1 read-write", 2, 1, 0, 1, false)                     \
    X(4, "3:2 read-write", 1, 2, 0, 1, false)                     \
    X(5, "1:1 read-write", 0, 1, 0, 1, false)                     \
    X(6, "0:1 read-nontemporal write", 0, 0, 1, 1, false)         \
    X(7, "2:1 read-nontemporal write", 2, 0, 1, 2, false)         \
    X(8, "1:1 read-nontemporal write", 1, 0, 1, 1, false)         \
    X(9, "3:1 read-nontemporal write", 3, 0, 1, 1, false)         \
    X(10, "2:1 read-nontemporal write stream-triad like", 2, 0, 1, 2, true) \
    X(11, "3:1 read-write stream-triad like", 2, 1, 0, 1, true)   \
    X(12, "4:1 read-write", 3, 1, 0, 1, false)

#define AS_ENTRY(option, words, reads, writes, streams, repeat, two) \
    {option, words, reads, writes, streams, repeat, two},
static const mix_t mixes[] = {MIXES(AS_ENTRY)};

static inline const mix_t *find_mix(int option)
{
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (mixes[i].option == option)
            return &mixes[i];
    return NULL;
}

/* What the threads are to do. */
typedef struct {
    list_t cpus; /* one thread on each */
    const mix_t *mix;
    size_t bytes; /* of a thread's buffer to read, and of another to write */
    size_t stride; /* one line of so many bytes */
    bool random; /* any line next, instead of the next one */
    int node; /* where the memory comes from; -1: by first touch */
    int touch_cpu; /* first touch from this CPU; -1: from the thread's own */
    enum pages pages;
} load_t;

typedef struct {
    _Alignas(128) int cpu;
    memory_t reads, writes;
    pthread_t thread;
    _Alignas(128) _Atomic uint64_t lines; /* a line of its own: the others must not slow the count down */
} worker_t;

static struct {
    load_t job;
    worker_t *workers;
    int count;
    pthread_barrier_t ready;
    _Alignas(128) _Atomic uint32_t delay;
    _Alignas(128) _Atomic bool stop;
} load;

/* The injected delay: a loop of one dependent instruction, on current cores one clock cycle per turn. */
static inline void spin(uint32_t turns)
{
    while (turns) {
        __asm__ volatile("" : "+r"(turns));
        turns--;
    }
}

static inline double ns_per_turn(void)
{
    double best = HUGE_VAL;
    for (int i = 0; i < 20; i++) {
        uint64_t start = now_ns();
        spin(100000);
        best = fmin(best, (double)(now_ns() - start) / 100000);
    }
    return best;
}

static inline void read_line(const char *at) /* loaded, never used: loads overlap as far as the core can */
{
    uint64_t value = *(const volatile uint64_t *)at;
    __asm__ volatile("" ::"r"(value));
}

static inline void write_line(char *at, uint64_t value) /* part of the line: it must be fetched before */
{
    *(volatile uint64_t *)at = value;
}

static inline void stream_line(char *at, uint64_t value) /* the whole line, past the caches */
{
#if defined(ON_X86_64) && defined(__AVX512F__)
    _mm512_stream_si512((void *)at, _mm512_set1_epi64((long long)value));
#elif defined(ON_X86_64)
    for (int i = 0; i < LINE; i += 16)
        _mm_stream_si128((void *)(at + i), _mm_set1_epi64x((long long)value));
#elif defined(ON_AARCH64)
    for (int i = 0; i < LINE; i += 16)
        __asm__ volatile("stnp %0, %0, [%1]" ::"r"(value), "r"(at + i) : "memory");
#else
    memset(at, (int)value, LINE);
#endif
}

#if defined(ON_X86_64) || defined(ON_AARCH64)
enum { HAVE_STREAM_LINE = 1 };
#else
enum { HAVE_STREAM_LINE = 0 };
#endif

/* Where a buffer is accessed next: the slots in order, or each drawn by itself (so some twice, some never). The draw
 * is a multiplication and an addition, no load: addresses must not wait for data. */
typedef struct {
    size_t slot;
    uint64_t state;
} cursor_t;

static inline __attribute__((always_inline)) size_t next_slot(cursor_t *cursor, size_t slots, bool random)
{
    if (random) {
        cursor->state = cursor->state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        return (size_t)(((unsigned __int128)cursor->state * slots) >> 64);
    }
    size_t slot = cursor->slot;
    cursor->slot = slot + 1 < slots ? slot + 1 : 0;
    return slot;
}

/* Compiled once per mix and order, with constants for all but the worker. */
static inline __attribute__((always_inline)) void make_traffic(worker_t *worker, int reads, int writes, int streams,
                                                               int repeat, bool two_buffers, bool random)
{
    enum { GROUPS = 16 }; /* between two looks at the shared delay */
    size_t stride = load.job.stride, slots = load.job.bytes / stride, half = slots / 2;
    cursor_t r = {.state = 2 * (uint64_t)worker->cpu + 1}, w = {.state = ~r.state};
    uint64_t lines = 0;
    while (!atomic_load_explicit(&load.stop, memory_order_relaxed)) {
        uint32_t turns = atomic_load_explicit(&load.delay, memory_order_relaxed);
        for (int group = 0; group < GROUPS; group++) {
            for (int k = 0; k < repeat; k++) {
                for (int i = 0; i < (two_buffers ? reads / 2 : reads); i++) {
                    size_t slot = next_slot(&r, two_buffers ? half : slots, random);
                    read_line(worker->reads.at + slot * stride);
                    if (two_buffers)
                        read_line(worker->reads.at + (slot + half) * stride);
                }
                for (int i = 0; i < writes + streams; i++) {
                    char *at = worker->writes.at + next_slot(&w, slots, random) * stride;
                    if (streams)
                        stream_line(at, lines);
                    else
                        write_line(at, lines);
                }
            }
            spin(turns);
        }
        lines += (uint64_t)(GROUPS * repeat) * (unsigned)(reads + 2 * writes + streams);
        atomic_store_explicit(&worker->lines, lines, memory_order_relaxed);
    }
}

static inline void need_buffer(memory_t *memory, int cpu)
{
    if (memory->at) /* of the mix before */
        return;
    *memory = get_memory(load.job.bytes, load.job.pages, load.job.node);
    if (load.job.touch_cpu >= 0)
        pin(load.job.touch_cpu);
    touch_all(memory);
    if (load.job.touch_cpu >= 0)
        pin(cpu);
}

static inline void *work(void *argument)
{
    worker_t *worker = argument;
    const mix_t *mix = load.job.mix;
    pin(worker->cpu); /* before its memory is touched: first touch is local unless a policy says otherwise */
    need_buffer(&worker->reads, worker->cpu);
    if (mix->writes + mix->streams)
        need_buffer(&worker->writes, worker->cpu);
    pthread_barrier_wait(&load.ready);
    switch (2 * mix->option + load.job.random) {
#define AS_CASES(option, words, reads, writes, streams, repeat, two)            \
    case 2 * option:                                                            \
        make_traffic(worker, reads, writes, streams, repeat, two, false);       \
        break;                                                                  \
    case 2 * option + 1:                                                        \
        make_traffic(worker, reads, writes, streams, repeat, two, true);        \
        break;
        MIXES(AS_CASES)
    }
    return NULL;
}

/* Start the threads of one job: each gets its buffers and fills them, while the caller may do other things until
 * wait_for_load. Until free_load the next job of the same CPUs, bytes and node finds the buffers filled. */
static inline void start_load(const load_t *job)
{
    size_t threads = (size_t)job->cpus.count;
    if (job->mix->streams && !HAVE_STREAM_LINE)
        refuse("no non-temporal stores on this architecture");
    if (job->bytes / job->stride < 4)
        refuse("-b: a buffer of %zu bytes is too small for a stride of %zu", job->bytes, job->stride);
    load.job = *job;
    if (!load.workers) {
        load.count = job->cpus.count;
        load.workers = aligned_alloc(128, threads * sizeof *load.workers);
        if (!load.workers)
            refuse("out of memory");
        memset(load.workers, 0, threads * sizeof *load.workers);
    }
    size_t missing = !load.workers[0].reads.at + (job->mix->writes + job->mix->streams && !load.workers[0].writes.at);
    need_memory(missing * job->bytes * threads, job->node, job->pages);
    atomic_store(&load.stop, false);
    pthread_barrier_init(&load.ready, NULL, (unsigned)threads + 1);
    for (int i = 0; i < load.count; i++) {
        load.workers[i].cpu = job->cpus.at[i];
        atomic_store(&load.workers[i].lines, 0);
        int error = pthread_create(&load.workers[i].thread, NULL, work, &load.workers[i]);
        if (error)
            refuse("cannot start load thread %d: %s", i, strerror(error));
    }
}

static inline void wait_for_load(void)
{
    pthread_barrier_wait(&load.ready);
}

static inline void stop_load(void)
{
    atomic_store(&load.stop, true);
    for (int i = 0; i < load.count; i++)
        pthread_join(load.workers[i].thread, NULL);
    pthread_barrier_destroy(&load.ready);
}

static inline void free_load(void)
{
    for (int i = 0; i < load.count; i++) {
        free_memory(&load.workers[i].reads);
        free_memory(&load.workers[i].writes);
    }
    free(load.workers);
    load.workers = NULL;
}

static inline uint64_t lines_so_far(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < load.count; i++)
        sum += atomic_load_explicit(&load.workers[i].lines, memory_order_relaxed);
    return sum;
}

/* MB/s of the running load over some seconds, after a warm-up of a tenth of them. */
static inline double measure_load(double for_s)
{
    sleep_s(for_s / 10);
    uint64_t start = now_ns(), lines = lines_so_far();
    sleep_s(for_s);
    lines = lines_so_far() - lines;
    return (double)lines * LINE / (double)(now_ns() - start) * 1e3;
}

#endif

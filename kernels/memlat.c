/* memlat.c - memory latency, idle and under load, and bandwidth between nodes, in the format of Intel's
 * Memory Latency Checker, for machines that cannot run it. It is not that program: its injection delays and
 * write types have the same direction and ratios, but compare them only with this program's own.
 *
 * Needs no root: it never touches the prefetchers. Latency is measured by dependent loads in random order,
 * which prefetchers cannot follow; MLC prints the same title when it cannot switch them off. */
#define PROGRAM "memlat"
#include "common.h"

#include <getopt.h>
#include <pthread.h>

enum mode { EVERYTHING, LATENCY_MATRIX, BANDWIDTH_MATRIX, PEAK, MAXIMUM, IDLE, LOADED, C2C };

static struct {
    enum mode mode;
    size_t buffer; /* bytes; 0: by the caches */
    size_t range; /* bytes inside which the chase jumps before it moves on; 0: the whole buffer */
    size_t stride; /* bytes; 0: CHASE_STRIDE for the latency thread, LINE for load threads */
    int latency_cpu, writer_cpu, touch_cpu, node; /* -1: not given */
    list_t load_cpus;
    const char *delay_file;
    int64_t delay; /* -1: not given */
    int mix;
    double seconds; /* per figure */
    bool one_per_core, huge_pages, all_pairs;
} opt = {.range = 4096 * LINE, .latency_cpu = -1, .writer_cpu = -1, .touch_cpu = -1, .node = -1, .delay = -1, .seconds = 2};

static list_t allowed; /* CPUs of the inherited mask, after -X */

enum {
    CHASE_STRIDE = 256, /* one line out of four: the buddy line that a spatial prefetcher brings is never used */
    CHUNK = 16384, /* loads between two readings of the clock: 0.3 % of their time if every one hits L1 */
    DEFAULT_BUFFER = 200000 << 10,
    DEFAULT_LOAD_BUFFER = 100000 << 10,
    MOST_BY_DEFAULT = 2047u << 20,
    MAX_DELAYS = 4096,
};

/* ---- the chase: dependent loads ---------------------------------------------------------------------------- */

/* Link the buffer into one cycle of pointers, one in every `stride` bytes. Ranges are visited in random order and
 * inside a range its pointers in random order, so that with 4 KiB pages few address translations are live at a
 * time; range 0 is one random cycle through everything. A pointer sits in a random word of its element: with
 * fixed positions a wide stride would use only some of the caches' sets, and looked like 83 ns instead of 145. */
static void **build_chase(char *buffer, size_t bytes, size_t stride, size_t range)
{
    uint64_t seed = 1;
    range = range && range < bytes ? range : bytes;
    size_t per_range = range / stride, ranges = bytes / range;
    if (!per_range || per_range > UINT32_MAX || ranges > UINT32_MAX)
        refuse("a buffer of %zu bytes cannot be walked in strides of %zu", bytes, stride);
    uint32_t *range_order = malloc(ranges * sizeof *range_order), *order = malloc(per_range * sizeof *order);
    if (!range_order || !order)
        refuse("out of memory");
    shuffled(range_order, ranges, &seed);
    void **first = NULL, **last = NULL;
    for (size_t i = 0; i < ranges; i++) {
        shuffled(order, per_range, &seed);
        for (size_t j = 0; j < per_range; j++) {
            char *at = buffer + range_order[i] * range + order[j] * stride;
            void **pointer = (void **)(at + random_below(&seed, stride / sizeof(void *)) * sizeof(void *));
            if (last)
                *last = pointer;
            else
                first = pointer;
            last = pointer;
        }
    }
    *last = first;
    free(range_order);
    free(order);
    return first;
}

/* Follow `loads` pointers (a multiple of 64); each load needs the one before. Counted: loads. */
static inline void **chase(void **p, size_t loads)
{
#define FOUR p = *p; p = *p; p = *p; p = *p;
#define SIXTEEN FOUR FOUR FOUR FOUR
    for (; loads; loads -= 64) {
        SIXTEEN SIXTEEN SIXTEEN SIXTEEN
        __asm__ volatile("" : "+r"(p));
    }
    return p;
}

typedef struct {
    double mean_ns, median_ns, least_ns; /* per load: of all, and of at least 20 equally long blocks */
    double elapsed_ns;
    uint64_t loads;
} latency_t;

static int by_value(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

static double median(double *values, int count) /* sorts them */
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Chase for some seconds. The warm-up, a tenth of that and at least one chunk, is not counted. */
static latency_t measure_chase(void ***position, double for_s)
{
    enum { BLOCKS = 20 };
    double block_ns[BLOCKS], limit = for_s * 1e9;
    void **p = *position;
    for (uint64_t start = now_ns(); (double)(now_ns() - start) < limit / 10;)
        p = chase(p, CHUNK);
    p = chase(p, CHUNK);
    latency_t result = {.least_ns = HUGE_VAL};
    uint64_t start = now_ns(), now = start;
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t block_start = now, loads = 0;
        do {
            p = chase(p, CHUNK);
            loads += CHUNK;
            now = now_ns();
        } while ((double)(now - start) < limit * (i + 1) / BLOCKS);
        block_ns[i] = (double)(now - block_start) / (double)loads;
        result.loads += loads;
        result.least_ns = fmin(result.least_ns, block_ns[i]);
    }
    result.elapsed_ns = (double)(now - start);
    result.mean_ns = result.elapsed_ns / (double)result.loads;
    result.median_ns = median(block_ns, BLOCKS);
    *position = p;
    return result;
}

/* ---- buffers ----------------------------------------------------------------------------------------------- */

static enum pages pages = PAGES_DEFAULT;

/* -L: reserved huge pages, or transparent ones where none are reserved. */
static void choose_pages(size_t bytes)
{
    if (opt.huge_pages)
        pages = memory_available(-1, PAGES_HUGETLB) > bytes / 20 * 21 ? PAGES_HUGETLB : PAGES_THP;
}

/* Fill a buffer from the CPU it is to be local to: this thread's own, or -i's. */
static void fill(memory_t *memory, int own_cpu)
{
    if (opt.touch_cpu >= 0)
        pin(opt.touch_cpu);
    memset(memory->at, 1, memory->bytes); /* written: pages that were only read are all one page of zeros */
    if (opt.touch_cpu >= 0)
        pin(own_cpu);
}

static size_t chase_stride(void)
{
    return opt.stride && opt.mode != LOADED ? opt.stride : CHASE_STRIDE;
}

/* Latency buffer by default: the lines that the chase uses, one per stride, are 2 x the caches of its CPU. At least
 * MLC's 200000 KiB; at most half of what is free, and 2 GiB: a virtual machine may show its host's whole cache. */
static size_t latency_bytes(int cpu, int node)
{
    if (opt.buffer)
        return opt.buffer;
    list_t one = {1, &cpu};
    uint64_t want = 2 * last_level_caches(one) * (chase_stride() / LINE), have = memory_available(node, PAGES_DEFAULT) / 2;
    want = want < MOST_BY_DEFAULT ? want : MOST_BY_DEFAULT;
    want = want > DEFAULT_BUFFER ? want : DEFAULT_BUFFER;
    want = want < have ? want : have;
    return want >> 20 << 20;
}

/* A load thread's buffers by default: those of all n threads together 4 x their caches; each at least MLC's
 * 100000 KiB; all together at most half of what is free, and 2 GiB for each thread. */
static size_t load_bytes(list_t cpus, int node)
{
    if (opt.buffer)
        return opt.buffer;
    uint64_t threads = cpus.count ? (uint64_t)cpus.count : 1;
    uint64_t want = 4 * last_level_caches(cpus) / threads, have = memory_available(node, PAGES_DEFAULT) / 4 / threads;
    want = want < MOST_BY_DEFAULT ? want : MOST_BY_DEFAULT;
    want = want > DEFAULT_LOAD_BUFFER ? want : DEFAULT_LOAD_BUFFER;
    want = want < have ? want : have;
    return want >> 20 << 20;
}

/* A filled and linked buffer, and what is known of its pages. */
typedef struct {
    memory_t memory;
    void **position;
} chased_t;

static chased_t new_chase(int cpu, size_t bytes, int node)
{
    chased_t chased;
    pin(cpu);
    choose_pages(bytes);
    need_memory(bytes, node, pages);
    chased.memory = get_memory(bytes, pages, node);
    fill(&chased.memory, cpu);
    if (opt.huge_pages) {
        int64_t huge = huge_bytes(&chased.memory);
        if (huge >= 0 && (size_t)huge < bytes / 10 * 9 && bytes >= 4u << 20)
            refuse("-L: no huge pages: none are reserved in /proc/sys/vm/nr_hugepages and only %.0f of %.0f MiB became "
                   "transparent huge pages", (double)huge / 1048576, (double)bytes / 1048576);
    }
    chased.position = build_chase(chased.memory.at, bytes, chase_stride(), opt.range);
    return chased;
}

static void say_chase(const chased_t *chased, int cpu)
{
    int64_t huge = huge_bytes(&chased->memory);
    list_t one = {1, &cpu};
    printf("# latency thread: CPU %d, random order, stride %zu bytes, ", cpu, chase_stride());
    if (opt.range && opt.range < chased->memory.bytes)
        printf("in ranges of %zu KiB", opt.range >> 10);
    else
        printf("over the whole buffer");
    if (huge >= 0)
        printf("; %.0f of %.0f MiB in huge pages", (double)huge / 1048576, (double)chased->memory.bytes / 1048576);
    printf("; %.0f MiB of lines are used, the last-level cache has %.0f MiB\n",
           (double)(chased->memory.bytes / chase_stride() * LINE) / 1048576, (double)last_level_caches(one) / 1048576);
}

static latency_t idle_latency(int cpu, int node, size_t bytes, bool say)
{
    chased_t chased = new_chase(cpu, bytes, node);
    if (say)
        say_chase(&chased, cpu);
    latency_t result = measure_chase(&chased.position, opt.seconds);
    free_memory(&chased.memory);
    return result;
}

/* ---- traffic ----------------------------------------------------------------------------------------------- */

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

static const mix_t *find_mix(int option)
{
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (mixes[i].option == option)
            return &mixes[i];
    return NULL;
}

typedef struct {
    _Alignas(128) int cpu;
    memory_t reads, writes;
    pthread_t thread;
    _Alignas(128) _Atomic uint64_t lines; /* a line of its own: the others must not slow the count down */
} worker_t;

static struct {
    worker_t *workers;
    int count;
    const mix_t *mix;
    size_t bytes, stride;
    int node;
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

static double ns_per_turn(void)
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

/* Compiled once per mix, with constants for all but the worker. */
static inline __attribute__((always_inline)) void make_traffic(worker_t *worker, int reads, int writes, int streams,
                                                               int repeat, bool two_buffers)
{
    enum { GROUPS = 16 }; /* between two looks at the shared delay */
    size_t slots = load.bytes / load.stride, half = slots / 2, read_slots = two_buffers ? half : slots;
    size_t r = 0, w = 0;
    uint64_t lines = 0;
    while (!atomic_load_explicit(&load.stop, memory_order_relaxed)) {
        uint32_t turns = atomic_load_explicit(&load.delay, memory_order_relaxed);
        for (int group = 0; group < GROUPS; group++) {
            for (int k = 0; k < repeat; k++) {
                for (int i = 0; i < (two_buffers ? reads / 2 : reads); i++) {
                    read_line(worker->reads.at + r * load.stride);
                    if (two_buffers)
                        read_line(worker->reads.at + (r + half) * load.stride);
                    r = r + 1 < read_slots ? r + 1 : 0;
                }
                for (int i = 0; i < writes + streams; i++) {
                    if (streams)
                        stream_line(worker->writes.at + w * load.stride, lines);
                    else
                        write_line(worker->writes.at + w * load.stride, lines);
                    w = w + 1 < slots ? w + 1 : 0;
                }
            }
            spin(turns);
        }
        lines += (uint64_t)(GROUPS * repeat) * (unsigned)(reads + 2 * writes + streams);
        atomic_store_explicit(&worker->lines, lines, memory_order_relaxed);
    }
}

static void need_buffer(memory_t *memory, int cpu)
{
    if (memory->at) /* of the mix before */
        return;
    *memory = get_memory(load.bytes, pages, load.node);
    fill(memory, cpu);
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    pin(worker->cpu); /* before its memory is touched: first touch is local unless a policy says otherwise */
    need_buffer(&worker->reads, worker->cpu);
    if (load.mix->writes + load.mix->streams)
        need_buffer(&worker->writes, worker->cpu);
    pthread_barrier_wait(&load.ready);
    switch (load.mix->option) {
#define AS_CASE(option, words, reads, writes, streams, repeat, two)       \
    case option:                                                          \
        make_traffic(worker, reads, writes, streams, repeat, two);        \
        break;
        MIXES(AS_CASE)
    }
    return NULL;
}

/* Threads for one mix. Until free_load the next mix, of the same CPUs, bytes and node, finds their buffers filled. */
static void start_load(list_t cpus, const mix_t *mix, size_t bytes, int node)
{
    load.stride = opt.stride ? opt.stride : LINE;
    load.bytes = bytes;
    load.mix = mix;
    load.node = node;
    if (mix->streams && !HAVE_STREAM_LINE)
        refuse("no non-temporal stores on this architecture");
    if (bytes / load.stride < 4)
        refuse("-b: a buffer of %zu bytes is too small for a stride of %zu", bytes, load.stride);
    if (!load.workers) {
        load.count = cpus.count;
        load.workers = aligned_alloc(128, (size_t)cpus.count * sizeof *load.workers);
        if (!load.workers)
            refuse("out of memory");
        memset(load.workers, 0, (size_t)cpus.count * sizeof *load.workers);
        choose_pages(2 * bytes * (size_t)cpus.count);
    }
    size_t missing = !load.workers[0].reads.at + (mix->writes + mix->streams && !load.workers[0].writes.at);
    need_memory(missing * bytes * (size_t)cpus.count, node, pages);
    atomic_store(&load.stop, false);
    pthread_barrier_init(&load.ready, NULL, (unsigned)cpus.count + 1);
    for (int i = 0; i < cpus.count; i++) {
        load.workers[i].cpu = cpus.at[i];
        atomic_store(&load.workers[i].lines, 0);
        int error = pthread_create(&load.workers[i].thread, NULL, work, &load.workers[i]);
        if (error)
            refuse("cannot start load thread %d: %s", i, strerror(error));
    }
    pthread_barrier_wait(&load.ready);
}

static void stop_load(void)
{
    atomic_store(&load.stop, true);
    for (int i = 0; i < load.count; i++)
        pthread_join(load.workers[i].thread, NULL);
    pthread_barrier_destroy(&load.ready);
}

static void free_load(void)
{
    for (int i = 0; i < load.count; i++) {
        free_memory(&load.workers[i].reads);
        free_memory(&load.workers[i].writes);
    }
    free(load.workers);
    load.workers = NULL;
}

static uint64_t lines_so_far(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < load.count; i++)
        sum += atomic_load_explicit(&load.workers[i].lines, memory_order_relaxed);
    return sum;
}

/* MB/s of the running load over some seconds, after a warm-up of a tenth of them. */
static double measure_load(double for_s)
{
    sleep_s(for_s / 10);
    uint64_t start = now_ns(), lines = lines_so_far();
    sleep_s(for_s);
    lines = lines_so_far() - lines;
    return (double)lines * LINE / (double)(now_ns() - start) * 1e3;
}

static double bandwidth(list_t cpus, const mix_t *mix, size_t bytes, int node)
{
    atomic_store(&load.delay, 0);
    start_load(cpus, mix, bytes, node);
    double result = measure_load(opt.seconds);
    stop_load();
    return result; /* its buffers wait for the next mix, or for free_load */
}

/* ---- cache to cache ---------------------------------------------------------------------------------------- */

enum { HIT, HITM }; /* the other cache holds the line unchanged; it holds it modified */
enum { HAND_OVER_BYTES = 256 << 10 }; /* every second line of pairs: 1024 lines, in anyone's L2 */

#if defined(ON_X86_64) || defined(ON_AARCH64)
enum { HAVE_FLUSH = 1 };
static void flush(const memory_t *memory) /* out of every cache: the next core to touch a line is its only holder */
{
    for (size_t i = 0; i < memory->bytes; i += LINE) {
#if defined(ON_X86_64)
        _mm_clflush(memory->at + i);
#else
        __asm__ volatile("dc civac, %0" ::"r"(memory->at + i) : "memory");
#endif
    }
    full_fence();
}
#else
enum { HAVE_FLUSH = 0 };
static void flush(const memory_t *memory)
{
    (void)memory;
}
#endif

static struct {
    void **first;
    size_t lines;
    int writer_cpu, state;
    _Alignas(128) _Atomic int turn; /* odd: the writer's, even: the reader's, negative: the end */
} c2c;

/* Walk the cycle once; make every line modified if asked. The count sits in the line, beside the pointer. */
static void hold_lines(bool modify)
{
    void **p = c2c.first;
    for (size_t i = 0; i < c2c.lines; i++) {
        if (modify) {
            uintptr_t line = (uintptr_t)p & ~(uintptr_t)(LINE - 1), word = ((uintptr_t)p / 8 % 8) ^ 1;
            (*(volatile uint64_t *)(line + 8 * word))++;
        }
        p = *p;
    }
    __asm__ volatile("" ::"r"(p) : "memory");
}

static void *write_lines(void *unused)
{
    (void)unused;
    pin(c2c.writer_cpu);
    for (;;) {
        int turn = atomic_load_explicit(&c2c.turn, memory_order_acquire);
        if (turn < 0)
            return NULL;
        if (turn % 2) {
            hold_lines(c2c.state == HITM);
            full_fence();
            atomic_store_explicit(&c2c.turn, turn + 1, memory_order_release);
        } else {
            relax();
        }
    }
}

/* Nanoseconds per load of lines that the writer's cache holds: the median over rounds. `home`: node of the lines. */
static double transfer_latency(int reader, int writer, int state, int home, double for_s)
{
    enum { MAX_ROUNDS = 20000 };
    double *rounds = malloc(MAX_ROUNDS * sizeof *rounds);
    if (!rounds)
        refuse("out of memory");
    int count = 0;
    pthread_t thread;
    pin(reader);
    memory_t memory = get_memory(HAND_OVER_BYTES, PAGES_DEFAULT, home);
    memset(memory.at, 0, memory.bytes);
    c2c.first = build_chase(memory.at, memory.bytes, CHASE_STRIDE, 0);
    c2c.lines = memory.bytes / CHASE_STRIDE;
    c2c.writer_cpu = writer;
    c2c.state = state;
    atomic_store(&c2c.turn, 0);
    int error = pthread_create(&thread, NULL, write_lines, NULL);
    if (error)
        refuse("cannot start a thread: %s", strerror(error));
    uint64_t begin = now_ns();
    for (int round = 0; round < MAX_ROUNDS + 2; round++) {
        flush(&memory);
        atomic_store_explicit(&c2c.turn, 2 * round + 1, memory_order_release);
        while (atomic_load_explicit(&c2c.turn, memory_order_acquire) != 2 * round + 2)
            relax();
        uint64_t start = now_ns();
        void **end = chase(c2c.first, c2c.lines);
        uint64_t took = now_ns() - start;
        __asm__ volatile("" ::"r"(end));
        if (round >= 2) /* the first two touch code and pages */
            rounds[count++] = (double)took / (double)c2c.lines;
        if (count >= 3 && (double)(now_ns() - begin) > for_s * 1e9)
            break;
    }
    atomic_store(&c2c.turn, -1);
    pthread_join(thread, NULL);
    free_memory(&memory);
    double result = median(rounds, count);
    free(rounds);
    return result;
}

/* Another CPU of the same package: of another core if there is one, else a hardware thread of the same; -1: none. */
static int partner_of(int cpu)
{
    list_t siblings = cpu_siblings(cpu);
    int found = -1;
    for (int i = 0; i < allowed.count; i++) {
        int other = allowed.at[i];
        if (other == cpu || cpu_package(other) != cpu_package(cpu))
            continue;
        if (!list_has(siblings, other)) {
            found = other;
            break;
        }
        found = found < 0 ? other : found;
    }
    free(siblings.at);
    return found;
}

/* ---- the modes --------------------------------------------------------------------------------------------- */

static void print_unit(void)
{
    puts("Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)");
}

static void print_threads_used(void)
{
    puts(opt.one_per_core ? "Using only one thread from each core if Hyper-threading is enabled"
                          : "Using all the threads from each core if Hyper-threading is enabled");
}

static void print_load_buffer(size_t bytes)
{
    double mib = (double)bytes / 1048576;
    printf("Using buffer size of %.3fMiB/thread for reads and an additional %.3fMiB/thread for writes\n", mib, mib);
}

static void print_matrix_head(const char *title, list_t columns)
{
    printf("\t\t%s\n%s\t", title, title);
    for (int j = 0; j < columns.count; j++)
        printf("%6d\t", columns.at[j]);
    putchar('\n');
}

static int latency_cpu(void) /* -c, or the first CPU that is not a load thread's */
{
    if (opt.latency_cpu >= 0)
        return opt.latency_cpu;
    for (int i = 0; i < allowed.count; i++)
        if (!list_has(opt.load_cpus, allowed.at[i]))
            return allowed.at[i];
    refuse("-k takes every CPU that this process may use: none is left for the latency thread");
}

/* -k, or every allowed CPU but the latency thread's (-1: there is none); with -X not its core's other threads. */
static list_t load_cpus(int latency)
{
    if (opt.load_cpus.count)
        return opt.load_cpus;
    list_t siblings = {0, NULL}, cpus = {0, NULL};
    if (latency >= 0 && opt.one_per_core)
        siblings = cpu_siblings(latency);
    for (int i = 0; i < allowed.count; i++)
        if (allowed.at[i] != latency && !list_has(siblings, allowed.at[i]))
            list_add(&cpus, allowed.at[i]);
    free(siblings.at);
    return cpus;
}

static void say_load(list_t cpus)
{
    printf("# load threads: %d, on CPUs ", cpus.count);
    print_list(stdout, cpus);
    putchar('\n');
}

static void do_idle_latency(void)
{
    int cpu = latency_cpu();
    size_t bytes = latency_bytes(cpu, opt.node);
    printf("Using buffer size of %.3fMiB\n", (double)bytes / 1048576);
    calibrate_ticks();
    latency_t latency = idle_latency(cpu, opt.node, bytes, true);
    printf("# %" PRIu64 " loads in %.2f s: median of 20 blocks; least %.2f ns, mean %.2f ns\n", latency.loads,
           latency.elapsed_ns * 1e-9, latency.least_ns, latency.mean_ns);
#if defined(ON_X86_64)
    if (!ticks_are_ns) { /* the time stamp counter runs at the base frequency */
        printf("Each iteration took %.1f base frequency clocks (\t%.1f\tns)\n", latency.median_ns / ns_per_tick,
               latency.median_ns);
        return;
    }
#endif
    double turn_ns = ns_per_turn();
    printf("# core clocks: turns of an empty loop, %.3f ns each\n", turn_ns);
    printf("Each iteration took %.1f core clocks (\t%.1f\tns)\n", latency.median_ns / turn_ns, latency.median_ns);
}

static void do_latency_matrix(void)
{
    list_t nodes = memory_nodes();
    puts("Measuring idle latencies for random access (in ns)...");
    print_matrix_head("Numa node", nodes);
    for (int i = 0; i < nodes.count; i++) {
        list_t cpus = cpus_of_node(nodes.at[i], allowed);
        if (!cpus.count) /* memory-only node: a column without a row */
            continue;
        printf("%8d\t", nodes.at[i]);
        for (int j = 0; j < nodes.count; j++) {
            size_t bytes = latency_bytes(cpus.at[0], nodes.at[j]);
            printf("%6.1f\t", idle_latency(cpus.at[0], nodes.at[j], bytes, false).median_ns);
            fflush(stdout);
        }
        putchar('\n');
    }
}

static void do_bandwidth_matrix(void)
{
    list_t nodes = memory_nodes();
    const mix_t *mix = find_mix(opt.mix);
    puts("Measuring Memory Bandwidths between nodes within system");
    print_unit();
    print_threads_used();
    printf("Using %s traffic type\n", mix->words);
    print_matrix_head("Numa node", nodes);
    for (int i = 0; i < nodes.count; i++) {
        list_t cpus = cpus_of_node(nodes.at[i], allowed);
        if (!cpus.count)
            continue;
        printf("%8d\t", nodes.at[i]);
        for (int j = 0; j < nodes.count; j++) {
            printf("%.1f\t", bandwidth(cpus, mix, load_bytes(cpus, nodes.at[j]), nodes.at[j]));
            free_load();
            fflush(stdout);
        }
        putchar('\n');
    }
}

static const struct {
    const char *label;
    int mix;
} peaks[] = {
    {"ALL Reads        :", 0}, {"3:1 Reads-Writes :", 3}, {"2:1 Reads-Writes :", 2},
    {"1:1 Reads-Writes :", 5}, {"Stream-triad like:", 10},
};

static void do_peak(bool maximum)
{
    static const uint32_t rates[] = {0, 2, 8, 15, 50};
    list_t cpus = load_cpus(-1);
    size_t bytes = load_bytes(cpus, -1); /* once: what is free is less when the first buffers are there */
    puts(maximum ? "Measuring Maximum Memory Bandwidths for the system\nWill take several minutes to complete as multiple "
                   "injection rates will be tried to get the best bandwidth"
                 : "Measuring Peak Injection Memory Bandwidths for the system");
    print_unit();
    print_threads_used();
    say_load(cpus);
    puts("Using traffic with the following read-write ratios");
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        const mix_t *mix = find_mix(peaks[i].mix);
        if (mix->streams && !HAVE_STREAM_LINE)
            continue;
        if (!maximum) {
            printf("%s\t%.1f\t\n", peaks[i].label, bandwidth(cpus, mix, bytes, -1));
            continue;
        }
        double best = 0;
        atomic_store(&load.delay, 0);
        start_load(cpus, mix, bytes, -1);
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
            atomic_store(&load.delay, rates[k]);
            best = fmax(best, measure_load(opt.seconds / (sizeof rates / sizeof *rates)));
        }
        stop_load();
        printf("%s\t%.2f\t\n", peaks[i].label, best);
    }
}

static size_t read_delays(uint32_t *delays)
{
    static const uint32_t usual[] = {0,   2,   8,    15,   50,   100,  200,  300,  400, 500,
                                     700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000};
    char line[256];
    size_t count = 0;
    if (opt.delay >= 0) {
        delays[0] = (uint32_t)opt.delay;
        return 1;
    }
    if (!opt.delay_file) {
        memcpy(delays, usual, sizeof usual);
        return sizeof usual / sizeof *usual;
    }
    FILE *file = fopen(opt.delay_file, "r");
    if (!file)
        refuse("-g %s: %s", opt.delay_file, strerror(errno));
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        char *end, *start = line + strspn(line, " \t\r\n");
        if (!*start)
            continue;
        unsigned long value = strtoul(start, &end, 10);
        if (*start == '-' || end == start || end[strspn(end, " \t\r\n")] || value > UINT32_MAX)
            refuse("-g %s:%d: not a delay: one whole number per line", opt.delay_file, number);
        if (count == MAX_DELAYS)
            refuse("-g %s: more than %d delays", opt.delay_file, MAX_DELAYS);
        delays[count++] = (uint32_t)value;
    }
    fclose(file);
    if (!count)
        refuse("-g %s: no delay in it", opt.delay_file);
    return count;
}

static void do_loaded_latency(void)
{
    static uint32_t delays[MAX_DELAYS];
    size_t count = read_delays(delays);
    int cpu = latency_cpu();
    list_t cpus = load_cpus(cpu);
    const mix_t *mix = find_mix(opt.mix);
    if (!cpus.count)
        refuse("no CPU is left for load threads beside the latency thread on CPU %d: a loaded latency without load is none",
               cpu);
    if (list_has(cpus, cpu))
        refuse("-k: CPU %d is the latency thread's (-c); leave it out", cpu);
    size_t bytes = load_bytes(cpus, opt.node);
    if (opt.mode != EVERYTHING) {
        print_load_buffer(bytes);
        putchar('\n');
    }
    chased_t chased = new_chase(cpu, opt.buffer ? opt.buffer : latency_bytes(cpu, opt.node), opt.node);
    puts("Measuring Loaded Latencies for the system");
    print_threads_used();
    printf("Using %s traffic type\n", mix->words);
    say_chase(&chased, cpu);
    say_load(cpus);
    printf("# inject delay: turns of an empty loop after every %d lines; one turn takes %.3f ns here\n",
           mix->repeat * (mix->reads + mix->writes + mix->streams), ns_per_turn());
    atomic_store(&load.delay, delays[0]);
    start_load(cpus, mix, bytes, opt.node);
    puts("Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================");
    for (size_t i = 0; i < count; i++) {
        atomic_store(&load.delay, delays[i]);
        sleep_s(fmin(opt.seconds / 20, 0.05)); /* let the load threads leave the previous delay */
        uint64_t start = now_ns(), lines = lines_so_far();
        latency_t latency = measure_chase(&chased.position, opt.seconds);
        lines = lines_so_far() - lines;
        double load_mb = (double)lines * LINE / (double)(now_ns() - start) * 1e3;
        double own_mb = LINE / latency.mean_ns * 1e3; /* like MLC: the latency thread's lines are part of the traffic */
        printf(" %05" PRIu32 "\t%6.2f\t%9.1f\n", delays[i], latency.mean_ns, load_mb + own_mb);
    }
    stop_load();
    free_load();
    free_memory(&chased.memory);
}

static void print_remote_matrix(const char *homed_in, bool reader_is_home, list_t nodes, list_t first_cpus)
{
    printf("Remote Socket L2->L2 HITM latency (data address homed in %s socket)\n", homed_in);
    printf("\t\t\tReader Numa Node\nWriter Numa Node");
    for (int j = 0; j < nodes.count; j++)
        printf("%6d\t", nodes.at[j]);
    putchar('\n');
    for (int i = 0; i < nodes.count; i++) {
        printf("%13d\t", nodes.at[i]);
        for (int j = 0; j < nodes.count; j++) {
            if (i == j)
                printf("%6s\t", "-");
            else
                printf("%6.1f\t", transfer_latency(first_cpus.at[j], first_cpus.at[i], HITM,
                                                   nodes.at[reader_is_home ? j : i], opt.seconds / 10));
        }
        putchar('\n');
    }
}

static void do_c2c(void)
{
    int reader = opt.latency_cpu >= 0 ? opt.latency_cpu : allowed.at[0];
    int writer = opt.writer_cpu >= 0 ? opt.writer_cpu : partner_of(reader);
    list_t nodes = {0, NULL}, first_cpus = {0, NULL}, memory = memory_nodes();
    for (int i = 0; i < memory.count; i++) {
        list_t cpus = cpus_of_node(memory.at[i], allowed);
        if (cpus.count) {
            list_add(&nodes, memory.at[i]);
            list_add(&first_cpus, cpus.at[0]);
        }
    }
    if (allowed.count < 2 && opt.writer_cpu < 0)
        refuse("a transfer between caches needs two CPUs, and this process may use one");
    if (writer == reader)
        refuse("-w: CPU %d is the reader's (-c)", writer);
    puts("Measuring cache-to-cache transfer latency (in ns)...");
    if (writer >= 0) {
        list_t siblings = cpu_siblings(reader);
        printf("# reader: CPU %d, writer: CPU %d%s\n", reader, writer,
               list_has(siblings, writer) ? " (the same core: what they share is its L1)" : "");
        free(siblings.at);
        if (HAVE_FLUSH)
            printf("Local Socket L2->L2 HIT  latency\t%.1f\n", transfer_latency(reader, writer, HIT, -1, opt.seconds / 10));
        printf("Local Socket L2->L2 HITM latency\t%.1f\n", transfer_latency(reader, writer, HITM, -1, opt.seconds / 10));
    }
    if (nodes.count > 1 && opt.latency_cpu < 0 && opt.writer_cpu < 0) {
        print_remote_matrix("writer", false, nodes, first_cpus);
        print_remote_matrix("reader", true, nodes, first_cpus);
    }
    if (opt.all_pairs) {
        puts("\nMeasuring cache-to-cache HITM latency between CPUs (in ns)...");
        printf("\t\t\tReader CPU\nWriter CPU\t");
        for (int j = 0; j < allowed.count; j++)
            printf("%6d\t", allowed.at[j]);
        putchar('\n');
        for (int i = 0; i < allowed.count; i++) {
            printf("%8d\t", allowed.at[i]);
            for (int j = 0; j < allowed.count; j++) {
                if (i == j)
                    printf("%6s\t", "-");
                else
                    printf("%6.1f\t", transfer_latency(allowed.at[j], allowed.at[i], HITM, -1, opt.seconds / 100));
            }
            putchar('\n');
        }
    }
}

/* ---- command line ------------------------------------------------------------------------------------------ */

/* Modes as MLC calls them, and the options each of them has a use for. */
static const struct {
    const char *name;
    enum mode mode;
    const char *options;
} modes[] = {
    {"latency_matrix", LATENCY_MATRIX, "bDelLtrX"},
    {"bandwidth_matrix", BANDWIDTH_MATRIX, "belLRtWX"},
    {"peak_injection_bandwidth", PEAK, "beklLtX"},
    {"max_bandwidth", MAXIMUM, "beklLtX"},
    {"idle_latency", IDLE, "bcDeijlLrtX"},
    {"loaded_latency", LOADED, "bcdDegijklLrRtWX"},
    {"c2c_latency", C2C, "acertwX"},
};

static void usage(void)
{
    puts("usage: memlat [MODE] [OPTION…]\n"
         "\n"
         "Memory latency and bandwidth with the options and tables of Intel's Memory Latency Checker. It is not that\n"
         "program. Without a mode it runs all but the maximum. Modes:\n"
         "  --idle_latency --loaded_latency --latency_matrix --bandwidth_matrix\n"
         "  --peak_injection_bandwidth --max_bandwidth --c2c_latency\n"
         "\n"
         "  -b n   buffer in KiB, or with a suffix k, m, g; by default several times the last-level caches. Load\n"
         "         threads have one each, and another where they write\n"
         "  -c n   latency thread (or c2c reader) on CPU n        -w n   c2c writer on CPU n\n"
         "  -k l   load threads on the CPUs of a list (0,2-5); by default every allowed CPU but the latency thread's\n"
         "  -X     one CPU of each core                           -a     c2c between every two allowed CPUs\n"
         "  -i n   memory touched first from CPU n                -j n   memory from node n\n"
         "  -d n   one injection delay                            -g f   delays from a file, one per line\n"
         "         in turns of an empty loop, about a clock cycle each, after every one to six lines\n"
         "  -l n   stride in bytes: of load threads (64), of the latency thread where it runs alone (256)\n"
         "  -D n   the latency thread jumps inside n lines of 64 bytes before it moves on (4096); 0: the whole buffer\n"
         "  -L     huge pages: reserved ones, else transparent ones, else refused\n"
         "  -t s   seconds per figure (2)\n"
         "  -R     read-only load; -W n: read-write 2 2:1, 3 3:1, 4 3:2, 5 1:1, 12 4:1; read-nontemporal write 6 0:1,\n"
         "         7 2:1, 8 1:1, 9 3:1; from two buffers 10 (as 7), 11 (as 3). An ordinary write counts as a read, for\n"
         "         ownership, and a write\n"
         "  -r, -e accepted: access is always random, prefetchers are never touched\n"
         "  --version, --help\n"
         "\n"
         "Exit status: 0 measured, 1 failed, 2 bad option or a machine that cannot do it.");
}

static void parse_options(int argc, char **argv)
{
    enum { FIRST_MODE = 1000 };
    struct option options[sizeof modes / sizeof *modes + 3] = {{NULL, 0, NULL, 0}};
    size_t count = sizeof modes / sizeof *modes;
    for (size_t i = 0; i < count; i++)
        options[i] = (struct option){modes[i].name, no_argument, NULL, FIRST_MODE + (int)i};
    options[count] = (struct option){"version", no_argument, NULL, 'V'};
    options[count + 1] = (struct option){"help", no_argument, NULL, 'h'};

    const char *useful = "ertX"; /* without a mode */
    const char *mode_name = "a run without a mode";
    char given[64] = "";
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":ab:c:d:D:eg:i:j:k:l:LrRt:w:W:X", options, NULL)) != -1) {
        char text[8] = {'-', (char)option, 0};
        if (option < FIRST_MODE && option != ':' && option != '?' && !strchr(given, option))
            strncat(given, text + 1, sizeof given - strlen(given) - 1);
        switch (option) {
        case 'a': opt.all_pairs = true; break;
        case 'b': opt.buffer = size_in(text, optarg, 1024); break;
        case 'c': opt.latency_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'd': opt.delay = (int64_t)whole_number(text, optarg, 0, UINT32_MAX); break;
        case 'D': opt.range = whole_number(text, optarg, 0, (uint64_t)1 << 40) * LINE; break;
        case 'g': opt.delay_file = optarg; break;
        case 'i': opt.touch_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'j': opt.node = (int)whole_number(text, optarg, 0, MAX_NODES - 1); break;
        case 'k': opt.load_cpus = parse_list(text, optarg, MAX_CPUS); break;
        case 'l': opt.stride = whole_number(text, optarg, LINE, 1 << 30); break;
        case 'L': opt.huge_pages = true; break;
        case 't': opt.seconds = seconds(text, optarg); break;
        case 'w': opt.writer_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'W': opt.mix = (int)whole_number(text, optarg, 2, 12); break;
        case 'X': opt.one_per_core = true; break;
        case 'e': case 'r': case 'R': break;
        case 'V': printf("pinsweep memlat %s\ncompiled by %s\n", KERNEL_VERSION, __VERSION__); exit(0);
        case 'h': usage(); exit(0);
        case ':': refuse("%s needs a value; --help lists the options", argv[optind - 1]);
        case '?': refuse("unknown option '%s'; --help lists the options", argv[optind - 1]);
        default:
            if (opt.mode != EVERYTHING)
                refuse("--%s: one mode at a time", modes[option - FIRST_MODE].name);
            opt.mode = modes[option - FIRST_MODE].mode;
            mode_name = modes[option - FIRST_MODE].name;
            useful = modes[option - FIRST_MODE].options;
        }
    }
    if (optind < argc)
        refuse("unexpected '%s'; --help lists the options", argv[optind]);
    for (const char *letter = given; *letter; letter++)
        if (!strchr(useful, *letter))
            refuse("-%c has no effect in %s", *letter, mode_name);
    if (strchr(given, 'W') && strchr(given, 'R'))
        refuse("-R and -W contradict each other");
    if (opt.delay >= 0 && opt.delay_file)
        refuse("-d and -g contradict each other");
    if (opt.stride % LINE)
        refuse("-l: %zu is not a multiple of %d bytes", opt.stride, LINE);
    if (opt.range && opt.range < (opt.stride > CHASE_STRIDE ? opt.stride : CHASE_STRIDE))
        refuse("-D: %zu lines are less than a stride", opt.range / LINE);
    if (strchr(given, 'b') && opt.buffer < 4096)
        refuse("-b: a buffer of %zu bytes is too small, 4 KiB are the least", opt.buffer);
}

static void keep_one_per_core(void)
{
    list_t kept = {0, NULL}, seen = {0, NULL};
    for (int i = 0; i < allowed.count; i++) {
        if (list_has(seen, allowed.at[i]))
            continue;
        list_t siblings = cpu_siblings(allowed.at[i]);
        for (int k = 0; k < siblings.count; k++)
            list_add(&seen, siblings.at[k]);
        list_add(&kept, allowed.at[i]);
        free(siblings.at);
    }
    free(seen.at);
    free(allowed.at);
    allowed = kept;
}

/* As MLC on Ctrl-C: a line that says the table above is not complete, then the end the signal asks for. */
static void on_signal(int number)
{
    static const char text[] = "\nExiting...\n";
    ssize_t ignored = write(1, text, sizeof text - 1);
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    program_name = PROGRAM;
    setvbuf(stdout, NULL, _IOLBF, 0);
    parse_options(argc, argv);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    allowed = allowed_cpus();
    if (opt.one_per_core)
        keep_one_per_core();

    printf("pinsweep memlat %s (MLC-style; not Intel(R) Memory Latency Checker)\n", KERNEL_VERSION);
    if (argc > 1) {
        printf("Command line parameters:");
        for (int i = 1; i < argc; i++)
            printf(" %s", argv[i]);
        puts("\n");
    }
    switch (opt.mode) {
    case LATENCY_MATRIX:
        printf("Using buffer size of %.3fMiB\n", (double)latency_bytes(allowed.at[0], -1) / 1048576);
        do_latency_matrix();
        break;
    case BANDWIDTH_MATRIX:
        print_load_buffer(load_bytes(allowed, -1));
        do_bandwidth_matrix();
        break;
    case PEAK:
    case MAXIMUM:
        print_load_buffer(load_bytes(load_cpus(-1), -1));
        putchar('\n');
        do_peak(opt.mode == MAXIMUM);
        break;
    case IDLE: do_idle_latency(); break;
    case LOADED: do_loaded_latency(); break;
    case C2C: do_c2c(); break;
    case EVERYTHING:
        do_latency_matrix();
        putchar('\n');
        do_peak(false);
        putchar('\n');
        do_bandwidth_matrix();
        if (allowed.count < 2) {
            puts("\n# one CPU: no loaded latencies and no transfers between caches");
            break;
        }
        putchar('\n');
        do_loaded_latency();
        putchar('\n');
        do_c2c();
    }
    return 0;
}

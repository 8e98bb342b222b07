/* stream.c - Copy, Scale, Add, Triad: sustained memory bandwidth, in STREAM's table format.
 *
 * Written from the published definition of the four loops and their counting rule; no line of STREAM's source.
 * It is not the STREAM benchmark and its results must not be called STREAM results.
 *
 *   copy   c[i] = a[i]             16 bytes per element (8-byte type)
 *   scale  b[i] = s * c[i]         16
 *   add    c[i] = a[i] + b[i]      24
 *   triad  a[i] = b[i] + s * c[i]  24
 *
 * MB = 10^6 bytes. The rate is that of the fastest pass; the first pass is not counted. */
#define PROGRAM "stream"
#include "common.h"
#include "machine.h"

#include <getopt.h>
#include <omp.h>

enum kernel { COPY, SCALE, ADD, TRIAD };
enum stores { STORES_AUTO, STORES_CACHED, STORES_NT };
enum precision { DOUBLE, FLOAT };

static const char *const kernel_labels[4] = {"Copy:", "Scale:", "Add:", "Triad:"};
static const int elements_moved[4] = {2, 2, 3, 3};
static const char *const store_words[] = {"auto", "cached", "nt", NULL};
static const char *const store_meaning[] = {
    "the compiler's choice (it may make Copy a memcpy, which may use non-temporal stores)",
    "ordinary stores: each written line is first fetched",
    "non-temporal stores: written lines are not fetched",
};
static const char *const precision_words[] = {"double", "float", NULL};

#define SCALAR 3
static volatile double one = 1; /* volatile: must not be folded */

#if defined(ON_X86_64)
#define HAVE_NT_STORES 1
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
static inline void store_vector_nt(void *target, const void *value)
{
    _mm512_stream_si512(target, _mm512_loadu_si512(value));
}
#elif defined(__AVX__)
enum { VECTOR_BYTES = 32 };
static inline void store_vector_nt(void *target, const void *value)
{
    _mm256_stream_si256(target, _mm256_loadu_si256(value));
}
#else
enum { VECTOR_BYTES = 16 };
static inline void store_vector_nt(void *target, const void *value)
{
    _mm_stream_si128(target, _mm_loadu_si128(value));
}
#endif
#elif defined(ON_AARCH64)
#define HAVE_NT_STORES 1
enum { VECTOR_BYTES = 32 };
static inline void store_vector_nt(void *target, const void *value)
{
    typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
    const pair *halves = value;
    __asm__ volatile("stnp %q1, %q2, [%0]" ::"r"(target), "w"(halves[0]), "w"(halves[1]) : "memory");
}
#else
#define HAVE_NT_STORES 0
#endif

#define REAL double
#define NAME(x) x##_double
#include "stream_loops.h"
#undef REAL
#undef NAME
#define REAL float
#define NAME(x) x##_float
#include "stream_loops.h"
#undef REAL
#undef NAME

static struct {
    ptrdiff_t array_size; /* elements of one array */
    size_t offset; /* elements between two arrays */
    int ntimes;
    enum stores stores;
    enum pages pages;
    enum precision precision;
} opt = {.array_size = 10000000, .ntimes = 10};

static char *a, *b, *c;
static size_t element;

/* Every loop, the first touch too, gives thread t the same contiguous share: its pages lie where it runs. */
typedef struct {
    ptrdiff_t first, count;
} share_t;

static share_t my_share(void)
{
    ptrdiff_t threads = omp_get_num_threads(), t = omp_get_thread_num();
    ptrdiff_t each = opt.array_size / threads, extra = opt.array_size % threads;
    return (share_t){.first = t * each + (t < extra ? t : extra), .count = each + (t < extra)};
}

static double run_kernel(enum kernel kernel)
{
    uint64_t start = now_ns();
#pragma omp parallel
    {
        share_t my = my_share();
        size_t skip = (size_t)my.first * element;
        if (opt.precision == FLOAT)
            run_float(kernel, opt.stores, (float *)(a + skip), (float *)(b + skip), (float *)(c + skip), my.count);
        else
            run_double(kernel, opt.stores, (double *)(a + skip), (double *)(b + skip), (double *)(c + skip), my.count);
    }
    return (double)(now_ns() - start) * 1e-9;
}

/* CPU of each thread, by thread number. Without a binding it may be another one a moment later. */
static list_t where_threads_run(void)
{
    list_t cpus = {0, calloc((size_t)omp_get_max_threads(), sizeof(int))};
    if (!cpus.at)
        refuse("out of memory");
#pragma omp parallel
    {
        cpus.at[omp_get_thread_num()] = sched_getcpu();
#pragma omp atomic
        cpus.count++;
    }
    return cpus;
}

static void touch(void)
{
#pragma omp parallel
    {
        share_t my = my_share();
        size_t skip = (size_t)my.first * element;
        if (opt.precision == FLOAT)
            touch_float((float *)(a + skip), (float *)(b + skip), (float *)(c + skip), my.count);
        else
            touch_double((double *)(a + skip), (double *)(b + skip), (double *)(c + skip), my.count);
    }
}

static double run_twice(void) /* STREAM's estimate of how long one pass takes; it also sets a = 2 */
{
    uint64_t start = now_ns();
#pragma omp parallel
    {
        share_t my = my_share();
        if (opt.precision == FLOAT)
            twice_float((float *)a + my.first, my.count);
        else
            twice_double((double *)a + my.first, my.count);
    }
    return (double)(now_ns() - start) * 1e-9;
}

static int clock_granularity_us(void) /* smallest step that is seen between two readings, in whole microseconds */
{
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t first = now_ns(), next = first;
        while (next == first)
            next = now_ns();
        smallest = next - first < smallest ? next - first : smallest;
    }
    return (int)(smallest / 1000);
}

/* STREAM's check: mean |element - expected| relative to the expected value, per array. */
static bool validate(void)
{
    double expected[3], sums[3] = {0, 0, 0}, epsilon = opt.precision == FLOAT ? 1e-6 : 1e-13;
    int64_t off[3] = {0, 0, 0};
    if (opt.precision == FLOAT)
        expect_float(opt.ntimes, expected);
    else
        expect_double(opt.ntimes, expected);
#pragma omp parallel reduction(+ : sums[:3], off[:3])
    {
        const char *arrays[3] = {a, b, c};
        ptrdiff_t threads = omp_get_num_threads(), t = omp_get_thread_num(), first = opt.array_size * t / threads;
        share_t my = {first, opt.array_size * (t + 1) / threads - first}; /* cut anew: finds what my_share may leave out */
        for (int j = 0; j < 3; j++) {
            if (opt.precision == FLOAT)
                check_float((const float *)arrays[j] + my.first, my.count, expected[j], epsilon, &sums[j], &off[j]);
            else
                check_double((const double *)arrays[j] + my.first, my.count, expected[j], epsilon, &sums[j], &off[j]);
        }
    }
    bool valid = true;
    for (int j = 0; j < 3; j++) {
        double mean = sums[j] / (double)opt.array_size, relative = fabs(mean / expected[j]);
        if (relative <= epsilon) /* false for NaN */
            continue;
        valid = false;
        printf("Failed Validation on array %c[], AvgRelAbsErr > epsilon (%e)\n", 'a' + j, epsilon);
        printf("     Expected Value: %e, AvgAbsErr: %e, AvgRelAbsErr: %e\n", expected[j], mean, relative);
        printf("     For array %c[], %" PRId64 " errors were found.\n", 'a' + j, off[j]);
    }
    if (valid)
        printf("Solution Validates: avg error less than %e on all three arrays\n", epsilon);
    return valid;
}

static void rule(void)
{
    puts("-------------------------------------------------------------");
}

static void print_head(const list_t *ran_on, const memory_t *memory)
{
    double mib = (double)opt.array_size * (double)element / 1048576;
    int requested = omp_get_max_threads();
    list_t cpus = allowed_cpus();
    double caches = (double)last_level_caches(cpus) / 1048576;
    int64_t huge = huge_bytes(memory);

    rule();
    printf("pinsweep stream %s (STREAM-style; not the STREAM benchmark)\n", KERNEL_VERSION);
    rule();
    printf("This system uses %zu bytes per array element.\n", element);
    rule();
    printf("Array size = %td (elements), Offset = %zu (elements)\n", opt.array_size, opt.offset);
    printf("Memory per array = %.1f MiB (= %.1f GiB).\n", mib, mib / 1024);
    printf("Total memory required = %.1f MiB (= %.1f GiB).\n", 3 * mib, 3 * mib / 1024);
    printf("Each kernel will be executed %d times.\n", opt.ntimes);
    puts(" The *best* time for each kernel (excluding the first iteration)");
    puts(" will be used to compute the reported bandwidth.");
    rule();
    printf("Number of Threads requested = %d\n", requested);
    printf("Number of Threads counted = %d\n", ran_on->count);
    printf("# cpus: ");
    print_list(stdout, *ran_on);
    printf("\n# stores: %s: %s\n", store_words[opt.stores], store_meaning[opt.stores]);
    printf("# pages: %s", page_words[opt.pages]);
    if (huge >= 0)
        printf("; %.1f of %.1f MiB in huge pages", (double)huge / 1048576, (double)memory->bytes / 1048576);
    if (caches > 0)
        printf("\n# caches: %.1f MiB last-level cache above the allowed CPUs; an array is %.2f x that%s\n", caches,
               mib / caches, mib < 4 * caches ? ": less than the 4 x that STREAM's rules ask for" : "");
    else
        puts("\n# caches: the kernel does not show them; an array should be 4 x their sum");
    rule();
}

static void print_timing(double pass_s)
{
    int granularity = clock_granularity_us();
    if (granularity >= 1) {
        printf("Your clock granularity/precision appears to be %d microseconds.\n", granularity);
    } else {
        puts("Your clock granularity is less than one microsecond.");
        granularity = 1;
    }
    printf("Each test below will take on the order of %d microseconds.\n", (int)(pass_s * 1e6));
    printf("   (= %d clock ticks)\n", (int)(pass_s * 1e6) / granularity);
    if (pass_s * 1e6 / granularity < 20)
        puts("Increase the size of the arrays: a test should take at least 20 clock ticks.");
    rule();
}

static void usage(void)
{
    puts("usage: stream [--array-size ELEMENTS] [--ntimes N] [--stores auto|cached|nt] [--offset ELEMENTS]\n"
         "              [--pages default|4k|thp|hugetlb] [--precision double|float]\n"
         "\n"
         "Copy, Scale, Add and Triad over three arrays, timed N times; prints STREAM's table. Not the STREAM benchmark.\n"
         "OMP_NUM_THREADS sets the number of threads, OMP_PLACES and OMP_PROC_BIND or numactl where they run.\n"
         "\n"
         "  --array-size  elements of one array, 10000000 by default; should be 4 x the last-level caches\n"
         "  --ntimes      passes, 2 to 100, 10 by default; the first is not counted\n"
         "  --stores      auto: the compiler's choice; cached: ordinary stores; nt: non-temporal stores\n"
         "  --pages       default: what the system gives; 4k, thp (transparent huge pages), hugetlb (reserved ones)\n"
         "  --precision   double (8 bytes) or float (4 bytes; at most 30 passes, then the values overflow)\n"
         "  --offset      elements between two arrays, 0 by default\n"
         "  --version, --help\n"
         "\n"
         "Exit status: 0 measured and validated, 1 validation failed, 2 bad option or no memory.");
}

static void parse_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"array-size", required_argument, NULL, 'a'}, {"ntimes", required_argument, NULL, 'n'},
        {"stores", required_argument, NULL, 's'},     {"pages", required_argument, NULL, 'p'},
        {"precision", required_argument, NULL, 'r'},  {"offset", required_argument, NULL, 'o'},
        {"version", no_argument, NULL, 'V'},          {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        switch (option) {
        case 'a': opt.array_size = (ptrdiff_t)whole_number("--array-size", optarg, 1, (uint64_t)1 << 48); break;
        case 'n': opt.ntimes = (int)whole_number("--ntimes", optarg, 2, 100); break;
        case 's': opt.stores = (enum stores)choice("--stores", optarg, store_words); break;
        case 'p': opt.pages = (enum pages)choice("--pages", optarg, page_words); break;
        case 'r': opt.precision = (enum precision)choice("--precision", optarg, precision_words); break;
        case 'o': opt.offset = whole_number("--offset", optarg, 0, (uint64_t)1 << 32); break;
        case 'V': printf("pinsweep stream %s\ncompiled by %s\n", KERNEL_VERSION, __VERSION__); exit(0);
        case 'h': usage(); exit(0);
        case ':': refuse("%s needs a value; --help lists the options", argv[optind - 1]);
        default: refuse("unknown option '%s'; --help lists the options", argv[optind - 1]);
        }
    }
    if (optind < argc)
        refuse("unexpected '%s'; --help lists the options", argv[optind]);
    if (opt.precision == FLOAT && opt.ntimes > 30) /* values grow 15-fold per pass: 2 * 15^32 is the last in range */
        refuse("--ntimes: %d passes overflow float, 30 is the most", opt.ntimes);
    if (opt.stores == STORES_NT && !HAVE_NT_STORES)
        refuse("--stores nt: none on this architecture");
}

int main(int argc, char **argv)
{
    program_name = PROGRAM;
    setvbuf(stdout, NULL, _IOLBF, 0);
    parse_options(argc, argv);

    element = opt.precision == FLOAT ? sizeof(float) : sizeof(double);
    size_t apart = ((size_t)opt.array_size + opt.offset) * element;
    need_memory(3 * apart, -1, opt.pages);
    memory_t memory = get_memory(3 * apart, opt.pages, -1); /* one block: as static arrays lie beside each other */
    a = memory.at;
    b = a + apart;
    c = b + apart;

    touch();
    list_t ran_on = where_threads_run();
    print_head(&ran_on, &memory);
    print_timing(run_twice());

    double times[4][100];
    for (int k = 0; k < opt.ntimes; k++)
        for (int kernel = COPY; kernel <= TRIAD; kernel++)
            times[kernel][k] = run_kernel((enum kernel)kernel);

    puts("Function    Best Rate MB/s  Avg time     Min time     Max time");
    for (int kernel = COPY; kernel <= TRIAD; kernel++) {
        double least = HUGE_VAL, most = 0, sum = 0;
        for (int k = 1; k < opt.ntimes; k++) {
            least = fmin(least, times[kernel][k]);
            most = fmax(most, times[kernel][k]);
            sum += times[kernel][k];
        }
        double bytes = (double)elements_moved[kernel] * (double)element * (double)opt.array_size;
        printf("%-11s%12.1f  %11.6f  %11.6f  %11.6f\n", kernel_labels[kernel], 1e-6 * bytes / least,
               sum / (opt.ntimes - 1), least, most);
    }
    rule();
    list_t ended_on = where_threads_run();
    bool valid = validate();
    printf("# cpus at the end: ");
    print_list(stdout, ended_on);
    putchar('\n');
    rule();
    free(ran_on.at);
    free(ended_on.at);
    free_memory(&memory);
    return valid ? 0 : 1;
}

/* memlat.c - memory latency, idle and under load, and bandwidth between nodes, in the format of Intel's
 * Memory Latency Checker, for machines that cannot run it. It is not that program: its injection delays and
 * write types have the same direction and ratios, but compare them only with this program's own.
 *
 * Needs no root: it never touches the prefetchers. Latency is measured by dependent loads in random order,
 * which prefetchers cannot follow; MLC prints the same title when it cannot switch them off.
 *
 * chase.h has the dependent loads, traffic.h the load threads, transfer.h the transfers between caches; here are
 * the options, the sizes, and the tables. */
#define PROGRAM "memlat"
#include "common.h"
#include "machine.h"
#include "chase.h"
#include "traffic.h"
#include "transfer.h"

#include <getopt.h>

enum mode { EVERYTHING, LATENCY_MATRIX, BANDWIDTH_MATRIX, PEAK, MAXIMUM, IDLE, LOADED, C2C };

static struct {
    enum mode mode;
    size_t buffer; /* bytes; 0: by the caches */
    size_t range; /* bytes inside which the chase jumps before it moves on; 0: the whole buffer */
    size_t stride; /* bytes; 0: every line, by the chase in passes that use one of four */
    int latency_cpu, writer_cpu, touch_cpu, node; /* -1: not given */
    list_t load_cpus;
    const char *delay_file;
    int64_t delay; /* -1: not given */
    int mix;
    double seconds; /* per figure */
    bool one_per_core, huge_pages, all_pairs, random_load, only_load;
} opt = {.range = 4096 * LINE, .latency_cpu = -1, .writer_cpu = -1, .touch_cpu = -1, .node = -1, .delay = -1, .seconds = 2};

static list_t allowed; /* CPUs of the inherited mask, after -X */

enum {
    DEFAULT_BUFFER = 200000 << 10,
    DEFAULT_LOAD_BUFFER = 100000 << 10,
    MOST_BY_DEFAULT = 2047u << 20,
    MOST_DELAYS = 4096,
    MOST_DELAY = 1000000, /* turns; longer ones would have the load threads count too rarely */
};

/* ---- buffers ----------------------------------------------------------------------------------------------- */

/* Default bytes of one buffer, of which there are `buffers`: those of all threads together 4 x the caches, the rule of
 * STREAM; each at least MLC's own default, at most 2 GiB; all together at most half of what is free. The caches of a
 * virtual machine may be its host's, shared with others or not: it can fill them all the same, so they count whole. */
static size_t default_bytes(list_t cpus, int node, uint64_t least, uint64_t threads, uint64_t buffers)
{
    uint64_t want = 4 * last_level_caches(cpus) / threads, have = memory_available(node, PAGES_DEFAULT) / 2 / buffers;
    want = want < MOST_BY_DEFAULT ? want : MOST_BY_DEFAULT;
    want = want > least ? want : least;
    want = want < have ? want : have;
    return want >> 20 << 20;
}

static size_t latency_bytes(int cpu, int node)
{
    list_t one = {1, &cpu};
    return opt.buffer ? opt.buffer : default_bytes(one, node, DEFAULT_BUFFER, 1, 1);
}

static size_t load_bytes(list_t cpus, int node) /* of each thread, and as much again where it writes */
{
    uint64_t threads = cpus.count ? (uint64_t)cpus.count : 1;
    return opt.buffer ? opt.buffer : default_bytes(cpus, node, DEFAULT_LOAD_BUFFER, threads, 2 * threads);
}

/* Pages for buffers of so many bytes together. -L: reserved huge pages, or transparent ones where too few are. */
static enum pages choose_pages(uint64_t bytes)
{
    if (!opt.huge_pages)
        return PAGES_DEFAULT;
    return memory_available(-1, PAGES_HUGETLB) > bytes / 20 * 21 ? PAGES_HUGETLB : PAGES_THP;
}

static void check_pages(const memory_t *memory) /* -L is kept, or refused */
{
    int64_t huge = opt.huge_pages ? huge_bytes(memory) : -1;
    if (huge >= 0 && (size_t)huge < memory->bytes / 10 * 9 && memory->bytes >= 4u << 20)
        refuse("-L: no huge pages: none are reserved in /proc/sys/vm/nr_hugepages and only %.0f of %.0f MiB became "
               "transparent huge pages", (double)huge / 1048576, (double)memory->bytes / 1048576);
}

/* ---- the latency thread ------------------------------------------------------------------------------------ */

/* -l says one line of every stride. Without it every line is used, so that the buffer is what the caches see of it. */
static walk_t walk(void)
{
    if (opt.stride && opt.mode != LOADED) /* there -l is the load threads' */
        return (walk_t){.stride = opt.stride, .passes = 1, .range = opt.range};
    return (walk_t){.stride = CHASE_STRIDE, .passes = CHASE_STRIDE / LINE, .range = opt.range};
}

/* A filled and linked buffer. */
typedef struct {
    memory_t memory;
    void **position;
} chased_t;

static chased_t new_chase(int cpu, size_t bytes, int node, enum pages pages)
{
    chased_t chased;
    pin(opt.touch_cpu >= 0 ? opt.touch_cpu : cpu);
    chased.memory = get_memory(bytes, pages, node);
    touch_all(&chased.memory);
    pin(cpu);
    check_pages(&chased.memory);
    chased.position = build_chase(chased.memory.at, bytes, walk());
    return chased;
}

static void say_chase(const chased_t *chased, int cpu)
{
    int64_t huge = huge_bytes(&chased->memory);
    list_t one = {1, &cpu};
    walk_t how = walk();
    printf("# latency thread: CPU %d, random order, stride %zu bytes, ", cpu, how.stride);
    if (how.range && how.range < chased->memory.bytes)
        printf("in ranges of %zu KiB", how.range >> 10);
    else
        printf("over the whole buffer");
    if (huge >= 0)
        printf("; %.0f of %.0f MiB in huge pages", (double)huge / 1048576, (double)chased->memory.bytes / 1048576);
    printf("; %.0f MiB of lines are used, the last-level cache has %.0f MiB\n",
           (double)(lines_walked(how, chased->memory.bytes) * LINE) / 1048576, (double)last_level_caches(one) / 1048576);
}

static latency_t idle_latency(int cpu, int node, size_t bytes, bool say)
{
    enum pages pages = choose_pages(bytes);
    need_memory(bytes, node, pages);
    chased_t chased = new_chase(cpu, bytes, node, pages);
    if (say)
        say_chase(&chased, cpu);
    latency_t result = measure_chase(&chased.position, opt.seconds);
    free_memory(&chased.memory);
    return result;
}

/* ---- the load threads -------------------------------------------------------------------------------------- */

static load_t new_job(list_t cpus, const mix_t *mix, size_t bytes, int node)
{
    return (load_t){
        .cpus = cpus, .mix = mix, .bytes = bytes, .node = node, .touch_cpu = opt.touch_cpu, .random = opt.random_load,
        .stride = opt.stride ? opt.stride : LINE, .pages = choose_pages(2 * bytes * (uint64_t)cpus.count),
    };
}

static void wait_and_check_load(void)
{
    wait_for_load();
    for (int i = 0; i < load.count && opt.huge_pages; i++)
        check_pages(&load.workers[i].reads);
}

static double bandwidth(list_t cpus, const mix_t *mix, size_t bytes, int node)
{
    load_t job = new_job(cpus, mix, bytes, node);
    atomic_store(&load.delay, 0);
    start_load(&job);
    wait_and_check_load();
    double result = measure_load(opt.seconds);
    stop_load();
    return result; /* its buffers wait for the next mix, or for free_load */
}

/* ---- the modes --------------------------------------------------------------------------------------------- */

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
    puts(opt.random_load ? "\n# load: each line drawn at random" : "");
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
        load_t job = new_job(cpus, mix, bytes, -1);
        atomic_store(&load.delay, 0);
        start_load(&job);
        wait_and_check_load();
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
        if (*start == '-' || end == start || end[strspn(end, " \t\r\n")] || value > MOST_DELAY)
            refuse("-g %s:%d: not a delay: one whole number per line, at most %d", opt.delay_file, number, MOST_DELAY);
        if (count == MOST_DELAYS)
            refuse("-g %s: more than %d delays", opt.delay_file, MOST_DELAYS);
        delays[count++] = (uint32_t)value;
    }
    fclose(file);
    if (!count)
        refuse("-g %s: no delay in it", opt.delay_file);
    return count;
}

/* Wait until the load has left the previous delay; then count for -t seconds, and chase meanwhile if there is a chase.
 * Returns the load's MB/s. */
static double measure_under_load(uint32_t delay, chased_t *chased, latency_t *latency)
{
    atomic_store(&load.delay, delay);
    sleep_s(fmin(opt.seconds / 20, 0.05));
    if (!chased)
        return measure_load(opt.seconds);
    uint64_t start = now_ns(), lines = lines_so_far();
    *latency = measure_chase(&chased->position, opt.seconds);
    return (double)(lines_so_far() - lines) * LINE / (double)(now_ns() - start) * 1e3;
}

static void do_loaded_latency(void)
{
    static uint32_t delays[MOST_DELAYS];
    size_t count = read_delays(delays);
    int cpu = opt.only_load ? -1 : latency_cpu();
    list_t cpus = load_cpus(cpu);
    const mix_t *mix = find_mix(opt.mix);
    if (!cpus.count)
        refuse("no CPU is left for load threads beside the latency thread on CPU %d: a loaded latency without load is none",
               cpu);
    if (list_has(cpus, cpu))
        refuse("-k: CPU %d is the latency thread's (-c); leave it out", cpu);
    size_t bytes = load_bytes(cpus, opt.node), own = opt.only_load ? 0 : latency_bytes(cpu, opt.node);
    if (opt.mode != EVERYTHING) {
        print_load_buffer(bytes);
        putchar('\n');
    }
    load_t job = new_job(cpus, mix, bytes, opt.node);
    uint64_t all = own + bytes * (uint64_t)cpus.count * (mix->writes + mix->streams ? 2 : 1);
    job.pages = choose_pages(all);
    need_memory(all, opt.node, job.pages);

    puts("Measuring Loaded Latencies for the system");
    print_threads_used();
    printf("Using %s traffic type\n", mix->words);
    double turn_ns = ns_per_turn();
    chased_t chased;
    latency_t latency = {.mean_ns = HUGE_VAL};
    atomic_store(&load.delay, delays[0]);
    start_load(&job); /* its buffers and the chase's are made at the same time */
    if (!opt.only_load) {
        chased = new_chase(cpu, own, opt.node, job.pages);
        say_chase(&chased, cpu);
    }
    wait_and_check_load();
    say_load(cpus);
    printf("# inject delay: turns of an empty loop after every %d lines; one turn takes %.3f ns here\n",
           mix->repeat * (mix->reads + mix->writes + mix->streams), turn_ns);
    puts(opt.only_load ? "Inject\tBandwidth\nDelay\tMB/sec\n=================="
                       : "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================");
    for (size_t i = 0; i < count; i++) {
        double load_mb = measure_under_load(delays[i], opt.only_load ? NULL : &chased, &latency);
        if (opt.only_load) {
            printf(" %05" PRIu32 "\t%9.1f\n", delays[i], load_mb);
            continue;
        }
        double own_mb = LINE / latency.mean_ns * 1e3; /* like MLC: the latency thread's lines are part of the traffic */
        printf(" %05" PRIu32 "\t%6.2f\t%9.1f\n", delays[i], latency.mean_ns, load_mb + own_mb);
    }
    stop_load();
    free_load();
    if (!opt.only_load)
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
    {"bandwidth_matrix", BANDWIDTH_MATRIX, "belLRtUWX"},
    {"peak_injection_bandwidth", PEAK, "beklLtUX"},
    {"max_bandwidth", MAXIMUM, "beklLtUX"},
    {"idle_latency", IDLE, "bcDeijlLrtX"},
    {"loaded_latency", LOADED, "bcdDegijklLrRtTUWX"},
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
         "  -b n   buffer in KiB, or with a suffix k, m, g; by default four times the last-level caches. Load threads\n"
         "         have one each, and another where they write\n"
         "  -c n   latency thread (or c2c reader) on CPU n        -w n   c2c writer on CPU n\n"
         "  -k l   load threads on the CPUs of a list (0,2-5); by default every allowed CPU but the latency thread's\n"
         "  -X     one CPU of each core                           -a     c2c between every two allowed CPUs\n"
         "  -i n   memory touched first from CPU n                -j n   memory from node n\n"
         "  -d n   one injection delay                            -g f   delays from a file, one per line\n"
         "         in turns of an empty loop, about a clock cycle each, after every one to six lines\n"
         "  -l n   one line of every n bytes: of load threads, and of the latency thread where it runs alone; by\n"
         "         default all lines, by the latency thread in four passes that each use one of 256 bytes\n"
         "  -D n   the latency thread jumps inside n lines of 64 bytes before it moves on (4096); 0: the whole buffer\n"
         "  -L     huge pages: reserved ones, else transparent ones, else refused\n"
         "  -t s   seconds per figure (2)\n"
         "  -T     only the load of --loaded_latency, without a latency thread\n"
         "  -U     load threads take lines at random\n"
         "  -R     read-only load; -W n: read-write 2 2:1, 3 3:1, 4 3:2, 5 1:1, 12 4:1; read-nontemporal write 6 0:1,\n"
         "         7 2:1, 8 1:1, 9 3:1; from two buffers 10 (as 7), 11 (as 3). An ordinary write counts as a read, for\n"
         "         ownership, and a write\n"
         "  -r, -e accepted: access is always random, prefetchers are never touched\n"
         "  --version, --help\n"
         "\n"
         "Exit status: 0 measured, 1 failed, 2 bad option or a machine that cannot do it.");
}

__attribute__((noreturn)) static void refuse_unknown(const char *word)
{
    if (optopt == 'x')
        refuse("-x: figures take a time here, not a number of iterations; give -t with seconds");
    if (optopt && strchr("BCEfGhHIJKmMnoOpPqQsSuvYZ", optopt))
        refuse("-%c is an option of MLC that memlat does not have; --help lists the options", optopt);
    refuse("unknown option '%s'; --help lists the options", word);
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
    while ((option = getopt_long(argc, argv, ":ab:c:d:D:eg:i:j:k:l:LrRt:TUw:W:X", options, NULL)) != -1) {
        char text[8] = {'-', (char)option, 0};
        if (option < FIRST_MODE && option != ':' && option != '?' && !strchr(given, option))
            strncat(given, text + 1, sizeof given - strlen(given) - 1);
        switch (option) {
        case 'a': opt.all_pairs = true; break;
        case 'b': opt.buffer = size_in(text, optarg, 1024); break;
        case 'c': opt.latency_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'd': opt.delay = (int64_t)whole_number(text, optarg, 0, MOST_DELAY); break;
        case 'D': opt.range = whole_number(text, optarg, 0, (uint64_t)1 << 40) * LINE; break;
        case 'g': opt.delay_file = optarg; break;
        case 'i': opt.touch_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'j': opt.node = (int)whole_number(text, optarg, 0, MAX_NODES - 1); break;
        case 'k': opt.load_cpus = parse_list(text, optarg, MAX_CPUS); break;
        case 'l': opt.stride = whole_number(text, optarg, LINE, 1 << 30); break;
        case 'L': opt.huge_pages = true; break;
        case 't': opt.seconds = seconds(text, optarg); break;
        case 'T': opt.only_load = true; break;
        case 'U': opt.random_load = true; break;
        case 'w': opt.writer_cpu = (int)whole_number(text, optarg, 0, MAX_CPUS - 1); break;
        case 'W': opt.mix = (int)whole_number(text, optarg, 2, 12); break;
        case 'X': opt.one_per_core = true; break;
        case 'e': case 'r': case 'R': break;
        case 'V': printf("pinsweep memlat %s\ncompiled by %s\n", KERNEL_VERSION, __VERSION__); exit(0);
        case 'h': usage(); exit(0);
        case ':': refuse("%s needs a value; --help lists the options", argv[optind - 1]);
        case '?': refuse_unknown(argv[optind - 1]);
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
    for (const char *letter = "cDr"; opt.only_load && *letter; letter++)
        if (strchr(given, *letter))
            refuse("-T and -%c contradict each other: there is no latency thread", *letter);
    if (opt.stride % LINE)
        refuse("-l: %zu is not a multiple of %d bytes", opt.stride, LINE);
    if (opt.range && opt.range < walk().stride)
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

/* common.h - what the three kernels share: clocks, option values, CPUs, nodes and memory.
 *
 * Linux, C11 with GNU extensions. x86-64 and AArch64 have their own time stamps, cache flushes and non-temporal
 * stores; anything else (or -DPINSWEEP_PORTABLE) falls back to clock_gettime and ordinary stores.
 * Every program exits 0 when it measured, 1 when a measurement failed, 2 when it was asked for something that
 * cannot be done, with one sentence on stderr. */
#ifndef PINSWEEP_COMMON_H
#define PINSWEEP_COMMON_H

#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KERNEL_VERSION "0.1"

#if defined(__x86_64__) && !defined(PINSWEEP_PORTABLE)
#define ON_X86_64 1
#include <cpuid.h>
#include <x86intrin.h>
#elif defined(__aarch64__) && !defined(PINSWEEP_PORTABLE)
#define ON_AARCH64 1
#endif

enum { LINE = 64 }; /* bytes: the unit in which memory traffic is counted, also where lines are wider */

/* ---- messages ---------------------------------------------------------------------------------------------- */

static const char *program_name = "kernel"; /* each main sets its own */

__attribute__((noreturn, format(printf, 2, 3))) static inline void leave(int status, const char *format, ...)
{
    va_list arguments;
    fflush(stdout); /* rows already measured come before the reason why there are no more */
    fprintf(stderr, "%s: ", program_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

#define refuse(...) leave(2, __VA_ARGS__) /* the caller's mistake, or a machine that cannot do it */
#define give_up(...) leave(1, __VA_ARGS__) /* it started and went wrong */

/* ---- clocks ------------------------------------------------------------------------------------------------ */

/* Nanoseconds of a clock that NTP neither steps nor slews. */
static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_s(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    while (nanosleep(&left, &left) && errno == EINTR) {
    }
}

/* Time stamps for single accesses. tick_begin: all earlier work is done, nothing later has started.
 * tick_end: waits for earlier loads; a store is waited for only after full_fence().
 * A counter that stops or changes its rate with the core's clock is of no use: then `ticks_are_ns`. */
static bool ticks_are_ns;
static double ns_per_tick = 1.0; /* set by calibrate_ticks */

static inline void full_fence(void)
{
#if defined(ON_X86_64)
    _mm_mfence();
#elif defined(ON_AARCH64)
    __asm__ volatile("dsb ish" ::: "memory");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

#if defined(ON_AARCH64)
static inline uint64_t read_cntvct(void)
{
    uint64_t t;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(t)::"memory");
    return t;
}
#endif

static inline uint64_t tick_begin(void)
{
    if (__builtin_expect(ticks_are_ns, 0))
        return now_ns();
#if defined(ON_X86_64)
    _mm_lfence();
    uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
#elif defined(ON_AARCH64)
    return read_cntvct();
#else
    return now_ns();
#endif
}

static inline uint64_t tick_end(void)
{
    if (__builtin_expect(ticks_are_ns, 0))
        return now_ns();
#if defined(ON_X86_64)
    unsigned cpu;
    uint64_t t = __rdtscp(&cpu); /* waits for all earlier loads by itself */
    _mm_lfence();
    return t;
#elif defined(ON_AARCH64)
    __asm__ volatile("dsb ld" ::: "memory");
    return read_cntvct();
#else
    return now_ns();
#endif
}

static inline const char *ticks_name(void)
{
    if (ticks_are_ns)
        return "clock_gettime(CLOCK_MONOTONIC_RAW)";
#if defined(ON_X86_64)
    return "rdtsc+lfence, rdtscp";
#elif defined(ON_AARCH64)
    return "cntvct_el0+isb";
#else
    return "clock_gettime(CLOCK_MONOTONIC_RAW)";
#endif
}

/* Choose the time stamp and find its rate: two points 50 ms apart, each the tightest (clock, tick, clock) of 64. */
static inline void calibrate_ticks(void)
{
    uint64_t at_ns[2] = {0, 0}, at_tick[2] = {0, 0};
#if defined(ON_X86_64)
    unsigned a, b, c, d = 0;
    bool invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d >> 8 & 1u);
    ticks_are_ns = !invariant;
#elif !defined(ON_AARCH64)
    ticks_are_ns = true;
#endif
    if (ticks_are_ns)
        return;
    for (int end = 0; end < 2; end++) {
        uint64_t tightest = UINT64_MAX;
        for (int i = 0; i < 64; i++) {
            uint64_t before = now_ns(), tick = tick_begin(), after = now_ns();
            if (after - before < tightest) {
                tightest = after - before;
                at_ns[end] = before + tightest / 2;
                at_tick[end] = tick;
            }
        }
        if (end == 0)
            sleep_s(0.05);
    }
    ns_per_tick = (double)(at_ns[1] - at_ns[0]) / (double)(at_tick[1] - at_tick[0]);
}

static inline void relax(void)
{
#if defined(ON_X86_64)
    _mm_pause();
#elif defined(ON_AARCH64)
    __asm__ volatile("yield");
#endif
}

/* ---- random numbers ---------------------------------------------------------------------------------------- */

static inline uint64_t random_u64(uint64_t *state) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (uint64_t)(((unsigned __int128)random_u64(state) * limit) >> 64);
}

static inline void shuffled(uint32_t *order, size_t count, uint64_t *state) /* 0 … count-1 in random order */
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(state, i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* ---- option values ----------------------------------------------------------------------------------------- */

static inline uint64_t whole_number(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-'))
        refuse("%s: '%s' is not a whole number", option, text);
    if (value < low || value > high)
        refuse("%s: %s is not between %" PRIu64 " and %" PRIu64, option, text, low, high);
    return value;
}

static inline double seconds(const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0) || value > 86400)
        refuse("%s: '%s' is not a time in seconds (0 < s <= 86400)", option, text);
    return value;
}

/* Bytes of a size: 4k = 4KiB = 4096, 1M = 2^20, 10kB = 10000; a bare number counts in `unit`. */
static inline uint64_t size_in(const char *option, const char *text, uint64_t unit)
{
    char *end;
    double value = strtod(text, &end), factor = (double)unit;
    if (end != text && *end) {
        static const char letters[] = "kmgt";
        const char *letter = strchr(letters, *end | 32);
        const char *rest = end + 1;
        if (letter) {
            double base = strcmp(rest, "B") == 0 || strcmp(rest, "b") == 0 ? 1000 : 1024;
            factor = pow(base, (double)(letter - letters) + 1);
            if (*rest && strcmp(rest, "B") && strcmp(rest, "b") && strcmp(rest, "iB") && strcmp(rest, "i"))
                end = (char *)text;
        } else if (strcmp(end, "B") == 0 || strcmp(end, "b") == 0) {
            factor = 1;
        } else {
            end = (char *)text;
        }
    }
    value *= factor;
    if (end == text || !(value >= 0) || value > 1e18 || floor(value) != value)
        refuse("%s: '%s' is not a size (4096, 4k, 1M, 10MB)", option, text);
    return (uint64_t)value;
}

/* Index of `text` among the words of a NULL-terminated list. */
static inline int choice(const char *option, const char *text, const char *const *words)
{
    char all[256] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
        strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, words[i], sizeof all - strlen(all) - 1);
    }
    refuse("%s: '%s' is not one of %s", option, text, all);
}

/* ---- small files ------------------------------------------------------------------------------------------- */

/* First `size`-1 bytes of a file of /proc or /sys; false and "" if it cannot be read. */
static inline bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    return got > 0;
}

/* The number after `key` in a text of "Key: 123 kB" lines; -1 if it is not there. */
static inline int64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key) + strspn(at + strlen(key), ": \t"), NULL, 10) : -1;
}

/* ---- CPUs and nodes ---------------------------------------------------------------------------------------- */

enum { MAX_CPUS = 8192, MAX_NODES = 1024 };

typedef struct {
    int count;
    int *at;
} list_t; /* numbers of CPUs or NUMA nodes, the operating system's own */

static inline void list_add(list_t *list, int value)
{
    list->at = realloc(list->at, (size_t)(list->count + 1) * sizeof *list->at);
    if (!list->at)
        refuse("out of memory");
    list->at[list->count++] = value;
}

static inline bool list_has(list_t list, int value)
{
    for (int i = 0; i < list.count; i++)
        if (list.at[i] == value)
            return true;
    return false;
}

/* "0,2-5" in order of appearance, each once. With an option's name, anything else is refused. */
static inline list_t parse_list(const char *option, const char *text, int limit)
{
    list_t list = {0, NULL};
    const char *at = text;
    while (*at && *at != '\n') {
        char *end;
        long low = strtol(at, &end, 10), high = low;
        bool bad = end == at || low < 0;
        if (!bad && *end == '-') {
            at = end + 1;
            high = strtol(at, &end, 10);
            bad = end == at || high < low;
        }
        if (bad || high >= limit || (*end && *end != ',' && *end != '\n')) {
            if (option)
                refuse("%s: '%s' is not a list of numbers below %d (0,2-5)", option, text, limit);
            break;
        }
        for (long i = low; i <= high; i++)
            if (!list_has(list, (int)i))
                list_add(&list, (int)i);
        at = *end == ',' ? end + 1 : end;
    }
    if (option && !list.count)
        refuse("%s: '%s' names nothing", option, text);
    return list;
}

static inline void print_list(FILE *file, list_t list)
{
    for (int i = 0; i < list.count; i++)
        fprintf(file, "%s%d", i ? "," : "", list.at[i]);
}

/* CPUs of the inherited affinity mask (numactl, taskset, cpuset), ascending. */
static inline list_t allowed_cpus(void)
{
    list_t list = {0, NULL};
    size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    if (!set || sched_getaffinity(0, bytes, set))
        refuse("cannot read the CPU affinity: %s", strerror(errno));
    for (int cpu = 0; cpu < MAX_CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, bytes, set))
            list_add(&list, cpu);
    CPU_FREE(set);
    return list;
}

static inline bool try_pin(int cpu)
{
    size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
    cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
    if (!set)
        return false;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    bool pinned = sched_setaffinity(0, bytes, set) == 0;
    CPU_FREE(set);
    return pinned;
}

static inline void pin(int cpu)
{
    if (!try_pin(cpu))
        refuse("cannot run on CPU %d: %s", cpu, errno == EINVAL ? "it is offline or not ours to use" : strerror(errno));
}

static inline list_t sysfs_list(const char *path)
{
    char text[4096];
    return read_text(path, text, sizeof text) ? parse_list(NULL, text, MAX_CPUS) : (list_t){0, NULL};
}

static inline list_t cpu_siblings(int cpu) /* hardware threads of the CPU's core, itself among them */
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    list_t list = sysfs_list(path);
    if (!list.count)
        list_add(&list, cpu);
    return list;
}

static inline int cpu_package(int cpu)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return read_text(path, text, sizeof text) ? atoi(text) : 0;
}

/* Bytes of the last-level caches above these CPUs, each cache once; 0 where the kernel does not say.
 * In a virtual machine this is what the host chose to show, often its whole L3. */
static inline uint64_t last_level_caches(list_t cpus)
{
    uint64_t sum = 0;
    list_t first_of = {0, NULL}; /* the first CPU of every cache counted so far */
    for (int i = 0; i < cpus.count; i++) {
        int best_level = 0, first_cpu = -1;
        uint64_t best_bytes = 0;
        for (int index = 0; index < 8; index++) {
            char path[160], level[16], size[32];
            int n = snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/", cpus.at[i], index);
            strcpy(path + n, "level");
            if (!read_text(path, level, sizeof level) || atoi(level) <= best_level)
                continue;
            strcpy(path + n, "size");
            if (!read_text(path, size, sizeof size))
                continue;
            strcpy(path + n, "shared_cpu_list");
            list_t sharing = sysfs_list(path);
            best_level = atoi(level);
            best_bytes = strtoull(size, NULL, 10) << (strchr(size, 'M') ? 20 : 10);
            first_cpu = sharing.count ? sharing.at[0] : cpus.at[i];
            free(sharing.at);
        }
        if (best_level && !list_has(first_of, first_cpu)) {
            list_add(&first_of, first_cpu);
            sum += best_bytes;
        }
    }
    free(first_of.at);
    return sum;
}

/* NUMA nodes that have memory this process may use. {0} where the kernel shows no nodes. */
static inline list_t memory_nodes(void)
{
    char text[8192];
    list_t with = sysfs_list("/sys/devices/system/node/has_memory"), usable = {0, NULL};
    if (!with.count)
        list_add(&with, 0);
    const char *line = read_text("/proc/self/status", text, sizeof text) ? strstr(text, "Mems_allowed_list:") : NULL;
    list_t mine = {0, NULL};
    if (line)
        mine = parse_list(NULL, line + strlen("Mems_allowed_list:") + 1, MAX_NODES);
    for (int i = 0; i < with.count; i++)
        if (!mine.count || list_has(mine, with.at[i]))
            list_add(&usable, with.at[i]);
    free(with.at);
    free(mine.at);
    return usable;
}

/* Those of `cpus` that belong to a node; none for a memory-only node (CXL, HBM). */
static inline list_t cpus_of_node(int node, list_t cpus)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    if (access(path, R_OK) && node == 0) /* a kernel without NUMA: everything is node 0 */
        return cpus;
    list_t all = sysfs_list(path), some = {0, NULL};
    for (int i = 0; i < cpus.count; i++)
        if (list_has(all, cpus.at[i]))
            list_add(&some, cpus.at[i]);
    free(all.at);
    return some;
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

enum pages { PAGES_DEFAULT, PAGES_4K, PAGES_THP, PAGES_HUGETLB };
static const char *const page_words[] = {"default", "4k", "thp", "hugetlb", NULL};

typedef struct {
    char *at;
    size_t bytes;
    void *map; /* what munmap wants */
    size_t map_bytes;
} memory_t;

/* What the cgroup (v2) of this process and its parents still allow; page cache gives way and does not count. */
static inline uint64_t cgroup_memory_left(void)
{
    char line[4096], path[4352], text[8192];
    uint64_t left = UINT64_MAX;
    if (!read_text("/proc/self/cgroup", line, sizeof line))
        return left;
    char *group = strstr(line, "0::/");
    if (!group)
        return left;
    group += 3;
    group[strcspn(group, "\n")] = 0;
    for (char *cut = group + strlen(group);; cut = strrchr(group, '/')) {
        *cut = 0;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
        if (read_text(path, text, sizeof text) && *text != 'm') {
            uint64_t limit = strtoull(text, NULL, 10);
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
            int64_t used = read_text(path, text, sizeof text) ? number_after(text, "anon ") : 0;
            uint64_t room = used > 0 && (uint64_t)used < limit ? limit - (uint64_t)used : used > 0 ? 0 : limit;
            left = room < left ? room : left;
        }
        if (!*group)
            return left;
    }
}

static inline uint64_t node_memory_available(int node) /* free, or page cache that gives way */
{
    static const char *const keys[] = {"MemFree", "Active(file)", "Inactive(file)", "SReclaimable", NULL};
    char path[96], text[8192];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    if (!read_text(path, text, sizeof text))
        return UINT64_MAX;
    for (int i = 0; keys[i]; i++) {
        int64_t kib = number_after(text, keys[i]);
        sum += kib > 0 ? (uint64_t)kib << 10 : 0;
    }
    return sum;
}

/* Bytes that can be had: of one node, or (node < 0) under the inherited memory policy and cgroup. */
static inline uint64_t memory_available(int node, enum pages pages)
{
    char text[8192];
    uint64_t left = UINT64_MAX;
    if (!read_text("/proc/meminfo", text, sizeof text))
        return left;
    if (pages == PAGES_HUGETLB) {
        int64_t free_pages = number_after(text, "HugePages_Free"), kib = number_after(text, "Hugepagesize");
        return free_pages > 0 && kib > 0 ? (uint64_t)free_pages * (uint64_t)kib << 10 : 0;
    }
    int64_t kib = number_after(text, "MemAvailable");
    left = kib >= 0 ? (uint64_t)kib << 10 : left;
    unsigned long mask[MAX_NODES / (8 * sizeof(unsigned long))] = {0};
    int policy = 0;
    if (node >= 0) {
        uint64_t here = node_memory_available(node);
        left = here < left ? here : left;
    } else if (syscall(SYS_get_mempolicy, &policy, mask, (unsigned long)MAX_NODES, 0ul, 0ul) == 0 && policy == 2) {
        uint64_t bound = 0; /* MPOL_BIND, as by numactl --membind: only these nodes count */
        for (int n = 0; n < MAX_NODES; n++)
            if (mask[n / (8 * sizeof *mask)] >> (n % (8 * sizeof *mask)) & 1ul) {
                uint64_t here = node_memory_available(n);
                bound += here < UINT64_MAX - bound ? here : UINT64_MAX - bound;
            }
        left = bound && bound < left ? bound : left;
    }
    uint64_t group = cgroup_memory_left();
    return group < left ? group : left;
}

/* Refuse before the kernel's OOM killer does: it would leave no sentence. */
static inline void need_memory(uint64_t bytes, int node, enum pages pages)
{
    uint64_t have = memory_available(node, pages);
    if (bytes / 20 * 21 > have)
        refuse("%.1f MiB of memory%s are needed, %.1f MiB can be had: ask for a smaller buffer", (double)bytes / 1048576,
               pages == PAGES_HUGETLB ? " in huge pages" : "", (double)have / 1048576);
}

static inline void on_sigbus(int number)
{
    static const char text[] = "no free huge page on the node that was asked for\n";
    (void)number;
    ssize_t ignored = write(2, text, sizeof text - 1);
    (void)ignored;
    _exit(2);
}

static inline void bind_memory(const memory_t *memory, int node)
{
    list_t nodes = memory_nodes();
    bool known = list_has(nodes, node), only = nodes.count == 1;
    free(nodes.at);
    if (!known)
        refuse("node %d has no memory that this process may use", node);
    if (only) /* nothing to choose, and containers often forbid the call */
        return;
    unsigned long mask[MAX_NODES / (8 * sizeof(unsigned long))] = {0};
    mask[(size_t)node / (8 * sizeof *mask)] = 1ul << ((size_t)node % (8 * sizeof *mask));
    if (syscall(SYS_mbind, memory->map, memory->map_bytes, 2 /* MPOL_BIND */, mask, (unsigned long)MAX_NODES, 0u))
        refuse("cannot take memory from node %d: mbind: %s", node, strerror(errno));
}

/* Untouched memory, aligned to a huge page. node < 0: the inherited policy decides, by first touch. */
static inline memory_t get_memory(size_t bytes, enum pages pages, int node)
{
    char text[8192];
    size_t align = 2u << 20;
    memory_t memory = {.bytes = bytes};
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (pages == PAGES_HUGETLB) {
        int64_t kib = read_text("/proc/meminfo", text, sizeof text) ? number_after(text, "Hugepagesize") : -1;
        align = kib > 0 ? (size_t)kib << 10 : align;
        memory.map_bytes = (bytes + align - 1) / align * align;
        flags |= MAP_HUGETLB;
        signal(SIGBUS, on_sigbus);
    } else {
        if (pages == PAGES_THP && read_text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text))
            align = strtoull(text, NULL, 10);
        memory.map_bytes = (bytes + align - 1) / align * align + align;
        flags |= MAP_NORESERVE;
    }
    memory.map = mmap(NULL, memory.map_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory.map == MAP_FAILED)
        refuse("no %.1f MiB of memory%s: %s", (double)bytes / 1048576, pages == PAGES_HUGETLB ? " in huge pages" : "",
               strerror(errno));
    memory.at = (char *)(((uintptr_t)memory.map + align - 1) / align * align);
    if (pages == PAGES_THP && madvise(memory.map, memory.map_bytes, MADV_HUGEPAGE))
        refuse("transparent huge pages: %s", strerror(errno));
    if (pages == PAGES_4K)
        madvise(memory.map, memory.map_bytes, MADV_NOHUGEPAGE); /* fails where there are none anyway */
    if (node >= 0)
        bind_memory(&memory, node);
    return memory;
}

static inline void free_memory(memory_t *memory)
{
    if (memory->map)
        munmap(memory->map, memory->map_bytes);
    memory->map = NULL;
}

/* Bytes of a block that the kernel really backs with huge pages (smaps), or -1 where it does not say. */
static inline int64_t huge_bytes(const memory_t *memory)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    if (!file)
        return -1;
    char line[512];
    uintptr_t first = (uintptr_t)memory->at, last = first + memory->bytes;
    bool inside = false;
    int64_t sum = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned long low, high;
        long kib;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
            inside = low < last && high > first;
        else if (inside && (sscanf(line, "AnonHugePages: %ld", &kib) == 1 ||
                            sscanf(line, "Private_Hugetlb: %ld", &kib) == 1))
            sum += (int64_t)kib << 10;
    }
    fclose(file);
    return sum > (int64_t)memory->bytes ? (int64_t)memory->bytes : sum;
}

#endif

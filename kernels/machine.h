/* machine.h - the machine as Linux shows it: CPUs, caches, NUMA nodes, and memory of a chosen node and page size. */
#ifndef PINSWEEP_MACHINE_H
#define PINSWEEP_MACHINE_H

#include "common.h"

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

/* What one kind of cgroup of this process and its parents still allow; page cache gives way and does not count. */
static inline uint64_t memory_left_in(const char *kind, const char *root, const char *max, const char *anon)
{
    char line[4096], path[4352], text[8192];
    uint64_t left = UINT64_MAX;
    if (!read_text("/proc/self/cgroup", line, sizeof line))
        return left;
    char *group = strstr(line, kind);
    if (!group)
        return left;
    group += strlen(kind) - 1;
    group[strcspn(group, "\n")] = 0;
    for (char *cut = group + strlen(group);; cut = strrchr(group, '/')) {
        *cut = 0;
        snprintf(path, sizeof path, "%s%s/%s", root, group, max);
        if (read_text(path, text, sizeof text) && *text != 'm') {
            uint64_t limit = strtoull(text, NULL, 10);
            snprintf(path, sizeof path, "%s%s/memory.stat", root, group);
            int64_t used = read_text(path, text, sizeof text) ? number_after(text, anon) : 0;
            uint64_t room = used > 0 && (uint64_t)used < limit ? limit - (uint64_t)used : used > 0 ? 0 : limit;
            left = room < left ? room : left;
        }
        if (!*group)
            return left;
    }
}

static inline uint64_t cgroup_memory_left(void)
{
    uint64_t new = memory_left_in("0::/", "/sys/fs/cgroup", "memory.max", "anon ");
    uint64_t old = memory_left_in(":memory:/", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss ");
    return new < old ? new : old;
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

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
/* The sanitizer does not know the ends of what mmap gives: tell it. */
static inline void mark_ends(const memory_t *memory)
{
    ASAN_POISON_MEMORY_REGION(memory->map, memory->map_bytes);
    ASAN_UNPOISON_MEMORY_REGION(memory->at, memory->bytes);
}
static inline void unmark(const memory_t *memory)
{
    ASAN_UNPOISON_MEMORY_REGION(memory->map, memory->map_bytes);
}
#else
#define mark_ends(memory) ((void)0)
#define unmark(memory) ((void)0)
#endif

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
    mark_ends(&memory);
    return memory;
}

static inline void free_memory(memory_t *memory)
{
    if (!memory->map)
        return;
    unmark(memory);
    munmap(memory->map, memory->map_bytes);
    memory->map = NULL;
}

/* Give a block all its pages, from this thread: first touch makes them local to it where no policy says otherwise.
 * In one call where the kernel has it (Linux 5.14), 2 to 3 times as fast as one page fault after the other. The bytes
 * are written after that: a host may keep pages of zeros as one page. */
static inline void touch_all(const memory_t *memory)
{
    madvise(memory->at, memory->bytes / 4096 * 4096, 23 /* MADV_POPULATE_WRITE */);
    memset(memory->at, 1, memory->bytes);
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

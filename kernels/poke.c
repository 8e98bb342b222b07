/* poke.c - how long does one access take, each of many: random reads or writes into memory or a file, small
 * files, compute loops. Prints the whole distribution as JSON.
 *
 * Each sample is one operation between two time stamps; nothing is subtracted. What an empty operation costs and
 * how fine the timer is are measured in the same process and printed beside. */
#define PROGRAM "poke"
#include "common.h"
#include "machine.h"

#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum target { MEMORY, FILE_TARGET, NOTHING, COMPUTE, FILES };
enum op { READ, WRITE, WRITE_FENCE };
enum loop { LOOP_EMPTY, LOOP_MULADD, LOOP_SINE };

static const char *const target_words[] = {"memory", "file", "null", "compute", "files", NULL};
static const char *const op_words[] = {"read", "write", "write+fence", NULL};
static const char *const loop_words[] = {"empty", "muladd", "sine", NULL};

static struct {
    enum target target;
    enum op op;
    enum loop loop;
    enum pages pages;
    uint64_t bytes, block, count, files, file_size, iterations, largest, seed;
    uint64_t window_offset, window_length; /* bytes; length 0: everything */
    const char *path, *folder;
    bool direct, fsync, create, have_bytes;
} opt = {.block = 1, .count = 100000, .iterations = 1000, .largest = 1000, .seed = 1, .files = 0};

/* ---- samples ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t took_ps; /* ticks while it is being measured */
    uint64_t at; /* ticks since the first sample's start */
} sample_t;

typedef struct {
    sample_t *at;
    uint64_t count, room;
    uint64_t begin; /* tick */
    uint64_t backwards; /* samples that ended before they began: the thread moved between unequal counters */
} samples_t;

/* Room for the samples, every page touched: a page fault between two pokes would cool the caches. */
static samples_t new_samples(uint64_t room)
{
    need_memory(2 * room * sizeof(sample_t), -1, PAGES_DEFAULT); /* sorting takes as much again */
    samples_t samples = {.at = malloc(room * sizeof(sample_t)), .room = room};
    if (!samples.at)
        refuse("--count: no memory for %" PRIu64 " samples", room);
    memset(samples.at, 0xff, room * sizeof(sample_t));
    samples.begin = tick_begin();
    return samples;
}

static inline void add_sample(samples_t *samples, uint64_t start, uint64_t end)
{
    if (__builtin_expect(end < start, 0)) {
        samples->backwards++;
        end = start;
    }
    samples->at[samples->count++] = (sample_t){.took_ps = end - start, .at = start - samples->begin};
}

static int by_duration(const void *left, const void *right)
{
    uint64_t l = ((const sample_t *)left)->took_ps, r = ((const sample_t *)right)->took_ps;
    return (l > r) - (l < r);
}

static void to_sorted_picoseconds(samples_t *samples)
{
    for (uint64_t i = 0; i < samples->count; i++)
        samples->at[i].took_ps = (uint64_t)((double)samples->at[i].took_ps * ns_per_tick * 1000 + 0.5);
    qsort(samples->at, samples->count, sizeof *samples->at, by_duration);
}

/* ---- what is poked ----------------------------------------------------------------------------------------- */

static struct {
    memory_t memory;
    int fd;
    char *buffer; /* one block, aligned for O_DIRECT, random bytes */
    uint64_t offset, slots; /* where pokes may go: slot i starts at offset + i * block */
    uint64_t huge;
    double sequential_ns_per_byte, first_touch_ns_per_byte; /* < 0: not measured */
} place = {.fd = -1, .sequential_ns_per_byte = -1, .first_touch_ns_per_byte = -1};

/* ---- files of our own: removed at the end, whatever the end is --------------------------------------------- */

static volatile sig_atomic_t interrupted;
static bool created; /* --create made opt.path */
static uint64_t files_made;

static void file_name(char *name, size_t size, uint64_t number)
{
    snprintf(name, size, "%s/pinsweep-poke-%ld-%" PRIu64, opt.folder, (long)getpid(), number);
}

static void remove_files(void)
{
    char name[4096];
    if (created)
        unlink(opt.path);
    created = false;
    while (files_made) {
        file_name(name, sizeof name, --files_made);
        unlink(name);
    }
}

static void on_signal(int number)
{
    interrupted = number;
}

static void end_by_signal(void) /* after the files are gone, what the signal asked for */
{
    remove_files();
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: a slow write ends early */
        sigaction(numbers[i], &action, NULL);
    }
    atexit(remove_files);
}

static void random_bytes(char *buffer, uint64_t bytes, uint64_t *seed) /* disks that compress must not win */
{
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t value = random_u64(seed);
        memcpy(buffer + i, &value, bytes - i < 8 ? bytes - i : 8);
    }
}

static void write_all(int fd, const char *name, const char *data, uint64_t bytes)
{
    while (bytes) {
        ssize_t wrote = write(fd, data, bytes > 1u << 30 ? 1u << 30 : bytes);
        if (interrupted)
            end_by_signal();
        if (wrote <= 0)
            give_up("%s: %s", name, wrote ? strerror(errno) : "nothing was written");
        data += wrote;
        bytes -= (uint64_t)wrote;
    }
}

static void need_space(const char *path, uint64_t bytes) /* of the file system that a folder or file lies on */
{
    struct statvfs fs;
    if (statvfs(path, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < (double)bytes)
        refuse("%s: %.1f MiB are needed, %.1f MiB are free", path, (double)bytes / 1048576,
               (double)fs.f_bavail * (double)fs.f_frsize / 1048576);
}

/* --create: a file that did not exist, written from start to end. */
static void create_file(void)
{
    enum { CHUNK = 1 << 20 };
    uint64_t seed = opt.seed, left = opt.bytes;
    char *chunk = malloc(CHUNK);
    if (!chunk)
        refuse("out of memory");
    random_bytes(chunk, CHUNK, &seed);
    int fd = open(opt.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        refuse("--create %s: %s", opt.path, strerror(errno));
    watch_signals();
    created = true;
    need_space(opt.path, opt.bytes);
    uint64_t start = now_ns();
    for (; left; left -= left < CHUNK ? left : CHUNK)
        write_all(fd, opt.path, chunk, left < CHUNK ? left : CHUNK);
    if (fsync(fd))
        give_up("%s: %s", opt.path, strerror(errno));
    place.sequential_ns_per_byte = (double)(now_ns() - start) / (double)opt.bytes;
    close(fd);
    free(chunk);
}

/* The file that was named, and only if it is a regular one: a poke into a disk would destroy what is on it. */
static void open_file(void)
{
    struct stat before, now;
    if (opt.create)
        create_file();
    if (stat(opt.path, &before))
        refuse("%s: %s", opt.path, errno == ENOENT ? "no such file; --create makes one and removes it" : strerror(errno));
    if (!S_ISREG(before.st_mode))
        refuse("%s is not a regular file; devices are never touched", opt.path);
    int flags = (opt.op == READ ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    place.fd = open(opt.path, flags | (opt.direct ? O_DIRECT : 0));
    if (place.fd < 0 && errno == EINVAL && opt.direct)
        refuse("%s: its file system has no O_DIRECT", opt.path);
    if (place.fd < 0)
        refuse("%s: %s", opt.path, strerror(errno));
    if (fstat(place.fd, &now) || !S_ISREG(now.st_mode) || now.st_ino != before.st_ino || now.st_dev != before.st_dev)
        refuse("%s became another file while it was opened", opt.path);
    if (!opt.have_bytes)
        opt.bytes = (uint64_t)now.st_size;
    if ((uint64_t)now.st_size < opt.bytes)
        refuse("%s has %" PRIu64 " bytes, --bytes asks for %" PRIu64, opt.path, (uint64_t)now.st_size, opt.bytes);
}

static void make_memory(void)
{
    need_memory(opt.bytes, -1, opt.pages);
    place.memory = get_memory(opt.bytes, opt.pages, -1);
    uint64_t start = now_ns(); /* written: pages that were only read are all one page of zeros */
    memset(place.memory.at, 1, opt.bytes);
    uint64_t touched = now_ns();
    __asm__ volatile("" ::"r"(place.memory.at) : "memory");
    memset(place.memory.at, 2, opt.bytes);
    __asm__ volatile("" ::"r"(place.memory.at) : "memory");
    place.sequential_ns_per_byte = (double)(now_ns() - touched) / (double)opt.bytes;
    place.first_touch_ns_per_byte = (double)(touched - start) / (double)opt.bytes;
}

static void set_window(void)
{
    uint64_t length = opt.window_length ? opt.window_length : opt.bytes;
    if (opt.window_offset > opt.bytes || length > opt.bytes - opt.window_offset)
        refuse("--window: %" PRIu64 ":%" PRIu64 " does not lie inside %" PRIu64 " bytes", opt.window_offset, length,
               opt.bytes);
    if (opt.direct && opt.window_offset % opt.block)
        refuse("--window: with --direct its offset must be a multiple of --block");
    place.offset = opt.window_offset;
    place.slots = length / opt.block;
    if (opt.bytes && !place.slots)
        refuse("--block: %" PRIu64 " bytes do not fit into %" PRIu64, opt.block, length);
}

/* ---- one poke ---------------------------------------------------------------------------------------------- */

#define KEEP(value) __asm__ volatile("" ::"r"(value) : "memory")

static inline void poke_memory(samples_t *samples, char *at)
{
    uint64_t start, end;
    if (opt.block > 1) {
        start = tick_begin();
        if (opt.op == READ)
            memcpy(place.buffer, at, opt.block);
        else
            memcpy(at, place.buffer, opt.block);
        KEEP(at);
    } else if (opt.op == READ) {
        start = tick_begin();
        uint8_t value = *(volatile uint8_t *)at;
        KEEP(value);
    } else {
        start = tick_begin();
        *(volatile uint8_t *)at = (uint8_t)start;
    }
    if (opt.op == WRITE_FENCE) /* without it a store is timed until it is issued, not until it is done */
        full_fence();
    end = tick_end();
    add_sample(samples, start, end);
}

static inline void poke_file(samples_t *samples, uint64_t offset)
{
    ssize_t moved;
    int synced = 0;
    uint64_t start = tick_begin();
    if (opt.op == READ) {
        moved = pread(place.fd, place.buffer, opt.block, (off_t)offset);
    } else {
        moved = pwrite(place.fd, place.buffer, opt.block, (off_t)offset);
        if (opt.fsync)
            synced = fdatasync(place.fd);
    }
    uint64_t end = tick_end();
    if (__builtin_expect(moved != (ssize_t)opt.block || synced, 0)) {
        if (interrupted)
            return;
        if (moved < 0 && errno == EINVAL && opt.direct)
            refuse("--block: %s does not take %" PRIu64 " bytes with --direct; try 4096", opt.path, opt.block);
        give_up("%s: %s", opt.path, moved < 0 || synced ? strerror(errno) : "fewer bytes than asked for");
    }
    add_sample(samples, start, end);
}

static inline void poke_nothing(samples_t *samples)
{
    uint64_t start = tick_begin();
    __asm__ volatile("" ::: "memory");
    uint64_t end = tick_end();
    add_sample(samples, start, end);
}

static void poke_compute(samples_t *samples)
{
    uint64_t start, end, n = opt.iterations;
    if (opt.loop == LOOP_SINE) {
        double sum = 0; /* a product of sines would soon be zero */
        start = tick_begin();
        for (uint64_t i = 0; i < n; i++)
            sum += sin((double)i);
        __asm__ volatile("" : "+m"(sum));
    } else if (opt.loop == LOOP_MULADD) {
        uint32_t d = 1;
        start = tick_begin();
        for (uint64_t i = 1; i <= n; i++) {
            d = d * (uint32_t)i + 1;
            __asm__ volatile("" : "+r"(d)); /* each turn needs the one before */
        }
    } else {
        start = tick_begin();
        for (uint64_t i = 0; i < n; i++)
            __asm__ volatile("" : "+r"(i)); /* a loop that must not be left out */
    }
    end = tick_end();
    add_sample(samples, start, end);
}

/* `count` pokes, each at a random slot. */
static void poke(samples_t *samples, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count && !interrupted; i++) {
        uint64_t offset = place.slots ? place.offset + random_below(&seed, place.slots) * opt.block : 0;
        if (opt.target == COMPUTE)
            poke_compute(samples);
        else if (!place.slots)
            poke_nothing(samples);
        else if (opt.target == FILE_TARGET)
            poke_file(samples, offset);
        else
            poke_memory(samples, place.memory.at + offset);
    }
}

/* Pokes that count, after up to 1000 that warm code, timer and branch predictors. */
static samples_t run_pokes(void)
{
    uint64_t warm = opt.count < 1000 ? opt.count : 1000;
    samples_t samples = new_samples(opt.count > warm ? opt.count : warm);
    poke(&samples, warm, opt.seed ^ 0x5555);
    samples.count = samples.backwards = 0;
    samples.begin = tick_begin();
    poke(&samples, opt.count, opt.seed);
    if (interrupted)
        end_by_signal();
    return samples;
}

/* ---- the timer --------------------------------------------------------------------------------------------- */

static struct {
    double resolution_ns, overhead_ns;
} timer;

/* How far apart (ticks) the values of a clock come, which differ by `least` or more: a counter that is looked at every 10 ns gives 20.0, 29.9, 30.3
 * and 40.1 ns. Values nearer than that jitter are one. Three or more from the least on, of ten samples each, must stand at multiples of their
 * least distance, each no wider than a quarter of that; else `least`. Samples are in order. */
static double ticks_apart(const samples_t *samples, uint64_t least)
{
    enum { VALUES = 32, FEWEST = 10 };
    uint64_t low[VALUES], widest = 0, apart = UINT64_MAX;
    int values = 0;
    for (uint64_t i = 0, from = 0; i < samples->count && values < VALUES; i++) {
        uint64_t here = samples->at[i].took_ps;
        if (i + 1 < samples->count && 2 * (samples->at[i + 1].took_ps - here) <= 5 * least)
            continue;
        if (i + 1 - from < FEWEST)
            break;
        low[values++] = samples->at[from].took_ps;
        widest = here - low[values - 1] > widest ? here - low[values - 1] : widest;
        from = i + 1;
    }
    for (int i = 1; i < values; i++)
        apart = low[i] - low[i - 1] < apart ? low[i] - low[i - 1] : apart;
    if (values < 3 || 4 * widest > apart)
        return (double)least;
    double steps = 0;
    for (int i = 1; i < values; i++) {
        double times = (double)(low[i] - low[i - 1]) / (double)apart;
        if (fabs(times - round(times)) > 0.2)
            return (double)least;
        steps += round(times);
    }
    return (double)(low[values - 1] - low[0]) / steps;
}

/* Overhead: the median of empty pokes. Resolution: how far apart their values come. */
static void measure_timer(void)
{
    enum { EMPTY_POKES = 100000 };
    samples_t samples = new_samples(EMPTY_POKES);
    for (int i = 0; i < EMPTY_POKES; i++)
        poke_nothing(&samples);
    qsort(samples.at, samples.count, sizeof *samples.at, by_duration);
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 1; i < samples.count; i++) {
        uint64_t step = samples.at[i].took_ps - samples.at[i - 1].took_ps; /* still ticks */
        least = step && step < least ? step : least;
    }
    timer.resolution_ns = (least == UINT64_MAX ? 1 : ticks_apart(&samples, least)) * ns_per_tick;
    timer.overhead_ns = (double)samples.at[samples.count / 2].took_ps * ns_per_tick;
    free(samples.at);
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

/* Log-linear buckets of picoseconds: exact below 2^7, then 2^7 to the octave, at most 0.8 % wide. */
enum { BITS = 7, PER_OCTAVE = 1 << BITS, BUCKETS = (64 - BITS + 1) << BITS };

static unsigned bucket_of(uint64_t ps)
{
    if (ps < PER_OCTAVE)
        return (unsigned)ps;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ps) - BITS;
    return ((shift + 1) << BITS) + (unsigned)((ps >> shift) - PER_OCTAVE);
}

static double bucket_low_ns(unsigned bucket)
{
    unsigned octave = bucket >> BITS;
    return octave ? ldexp((double)(PER_OCTAVE + bucket % PER_OCTAVE), (int)octave - 1) * 1e-3 : bucket * 1e-3;
}

static void print_quantiles(const samples_t *samples)
{
    static const double shares[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999};
    const char *comma = "";
    uint64_t n = samples->count;
    printf("   \"quantiles_ns\": {");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        uint64_t rank = (uint64_t)ceil(shares[i] * (double)n - 1e-9); /* nearest rank, from 1 */
        uint64_t beyond = shares[i] < 0.5 ? rank - (rank > 0) : n - rank;
        if (rank < 1 || beyond < 10) /* fewer samples do not fix it */
            continue;
        printf("%s\"%g\": %.3f", comma, shares[i], (double)samples->at[rank - 1].took_ps * 1e-3);
        comma = ", ";
    }
    puts("},");
}

static void print_number(const char *name, double value) /* negative: there is none */
{
    if (value < 0)
        printf("   \"%s\": null,\n", name);
    else
        printf("   \"%s\": %.6f,\n", name, value);
}

static void print_result(const char *op, samples_t *samples, uint64_t total_ns, bool last)
{
    static uint64_t histogram[BUCKETS];
    to_sorted_picoseconds(samples);
    uint64_t n = samples->count, top = opt.largest < n ? opt.largest : n;
    double sum = 0, squares = 0;
    memset(histogram, 0, sizeof histogram);
    for (uint64_t i = 0; i < n; i++) {
        sum += (double)samples->at[i].took_ps * 1e-3;
        histogram[bucket_of(samples->at[i].took_ps)]++;
    }
    double mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++) {
        double off = (double)samples->at[i].took_ps * 1e-3 - mean;
        squares += off * off;
    }
    printf("  {\"target\": \"%s\", \"op\": \"%s\",\n", target_words[opt.target], op);
    printf("   \"bytes\": %" PRIu64 ", \"block\": %" PRIu64 ", \"count\": %" PRIu64 ",\n",
           opt.target == FILES ? opt.files * opt.file_size : opt.bytes, opt.target == FILES ? opt.file_size : opt.block, n);
    if (opt.target == COMPUTE)
        printf("   \"iterations\": %" PRIu64 ", \"ns_per_iteration\": %.6f,\n", opt.iterations,
               mean / (double)opt.iterations);
    if (opt.target == FILES)
        printf("   \"files\": %" PRIu64 ", \"total_ns\": %" PRIu64 ",\n", opt.files, total_ns);
    printf("   \"mean_ns\": %.3f, \"sd_ns\": %.3f, \"min_ns\": %.3f, \"max_ns\": %.3f,\n", mean,
           n > 1 ? sqrt(squares / (double)(n - 1)) : 0, (double)samples->at[0].took_ps * 1e-3,
           (double)samples->at[n - 1].took_ps * 1e-3);
    print_quantiles(samples);
    print_number("sequential_ns_per_byte", place.sequential_ns_per_byte);
    print_number("first_touch_ns_per_byte", place.first_touch_ns_per_byte);
    printf("   \"clock_backwards\": %" PRIu64 ",\n   \"largest\": [", samples->backwards);
    for (uint64_t i = 0; i < top; i++) {
        const sample_t *sample = &samples->at[n - 1 - i];
        printf("%s[%.3f, %.0f]", i ? ", " : "", (double)sample->took_ps * 1e-3, (double)sample->at * ns_per_tick);
    }
    printf("],\n   \"histogram\": [");
    const char *comma = "";
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (!histogram[i])
            continue;
        printf("%s[%.3f, %.3f, %" PRIu64 "]", comma, bucket_low_ns(i), bucket_low_ns(i + 1), histogram[i]);
        comma = ", ";
    }
    printf("]}%s\n", last ? "" : ",");
}

static void print_head(void)
{
    int64_t huge = place.memory.map ? huge_bytes(&place.memory) : -1;
    printf("{\"program\": \"pinsweep poke\", \"version\": \"%s\",\n", KERNEL_VERSION);
    printf(" \"timer\": {\"name\": \"%s\", \"resolution_ns\": %.6f, \"overhead_ns\": %.3f},\n", ticks_name(),
           timer.resolution_ns, timer.overhead_ns);
    printf(" \"seed\": %" PRIu64 ", \"direct\": %s, \"fsync\": %s,", opt.seed, opt.direct ? "true" : "false",
           opt.fsync ? "true" : "false");
    if (opt.window_length)
        printf(" \"window\": [%" PRIu64 ", %" PRIu64 "],", opt.window_offset, opt.window_length);
    if (huge >= 0)
        printf(" \"pages\": \"%s\", \"huge_bytes\": %" PRId64 ",", page_words[opt.pages], huge);
    puts("\n \"results\": [");
}

/* ---- many small files -------------------------------------------------------------------------------------- */

/* Write every file, then read every file: each sample is open, write or read, fsync if asked for, and close. */
static void run_files(void)
{
    struct stat folder;
    char name[4096];
    if (stat(opt.folder, &folder) || !S_ISDIR(folder.st_mode))
        refuse("--dir: %s is not a folder", opt.folder);
    if (strlen(opt.folder) > sizeof name - 64)
        refuse("--dir: the path is too long");
    need_space(opt.folder, opt.files * opt.file_size);
    watch_signals();
    samples_t writes = new_samples(opt.files), reads = new_samples(opt.files);
    uint64_t first = now_ns();
    writes.begin = tick_begin();
    for (uint64_t i = 0; i < opt.files && !interrupted; i++) {
        file_name(name, sizeof name, i);
        uint64_t start = tick_begin();
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            give_up("%s: %s", name, strerror(errno));
        files_made = i + 1;
        write_all(fd, name, place.buffer, opt.file_size);
        if ((opt.fsync && fsync(fd)) || close(fd))
            give_up("%s: %s", name, strerror(errno));
        add_sample(&writes, start, tick_end());
    }
    uint64_t between = now_ns();
    reads.begin = tick_begin();
    for (uint64_t i = 0; i < opt.files && !interrupted; i++) {
        file_name(name, sizeof name, i);
        uint64_t start = tick_begin(), got = 0;
        int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        for (ssize_t part = 1; fd >= 0 && got < opt.file_size && part > 0; got += part > 0 ? (uint64_t)part : 0)
            part = read(fd, place.buffer, opt.file_size - got);
        if (!interrupted && (fd < 0 || got < opt.file_size))
            give_up("%s: cannot read back what was written", name);
        close(fd);
        add_sample(&reads, start, tick_end());
    }
    uint64_t last = now_ns();
    if (interrupted)
        end_by_signal();
    remove_files();
    print_head();
    print_result("write", &writes, between - first, false);
    print_result("read", &reads, last - between, true);
    puts(" ]}");
}

/* ---- command line ------------------------------------------------------------------------------------------ */

static void usage(void)
{
    puts("usage: poke --target memory|file|null|compute|files [OPTION…]\n"
         "\n"
         "Time every one of many single operations; print their distribution as JSON.\n"
         "\n"
         "  memory, file, null:\n"
         "    --bytes SIZE           of the memory or file; 0 pokes nothing, as null does (a file: its size)\n"
         "    --op read|write|write+fence\n"
         "    --block B              bytes of one poke (1); with --direct a multiple of 512\n"
         "    --window OFFSET:LENGTH poke only there\n"
         "    --pages default|4k|thp|hugetlb   of the memory\n"
         "    --file PATH            a regular file, with at least that size; writes change its contents\n"
         "    --create               make PATH, which must not exist, and remove it at the end\n"
         "    --direct               O_DIRECT: past the page cache        --fsync   fdatasync after every write\n"
         "  compute:\n"
         "    --loop empty|muladd|sine, --iterations N   turns of the loop in one sample (1000)\n"
         "  files:\n"
         "    --files N --file-size S --dir D   write N files, read them back, remove them\n"
         "    --fsync                           fsync every file before it is closed\n"
         "  all:\n"
         "    --count K              samples (100000)        --seed N      of the random places (1)\n"
         "    --largest N            list the N longest (1000)\n"
         "    --version, --help\n"
         "\n"
         "Sizes: 4k = 4096, 1M = 2^20, 10MB = 10^7.\n"
         "Exit status: 0 measured, 1 an operation failed, 2 bad option or a machine that cannot do it.");
}

static void parse_window(const char *text)
{
    char offset[64] = "";
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof offset)
        refuse("--window: '%s' is not OFFSET:LENGTH", text);
    memcpy(offset, text, (size_t)(colon - text));
    opt.window_offset = size_in("--window", offset, 1);
    opt.window_length = size_in("--window", colon + 1, 1);
    if (!opt.window_length)
        refuse("--window: a length of 0 leaves nothing to poke");
}

/* null is the zero of an axis of sizes: it takes what the other sizes are given. */
enum { PLACES = 1 << MEMORY | 1 << FILE_TARGET | 1 << NOTHING };

static void parse_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"target", required_argument, NULL, 't'},    {"bytes", required_argument, NULL, 'b'},
        {"op", required_argument, NULL, 'o'},        {"block", required_argument, NULL, 'B'},
        {"count", required_argument, NULL, 'c'},     {"file", required_argument, NULL, 'f'},
        {"direct", no_argument, NULL, 'D'},          {"fsync", no_argument, NULL, 'y'},
        {"create", no_argument, NULL, 'C'},          {"window", required_argument, NULL, 'w'},
        {"pages", required_argument, NULL, 'p'},     {"loop", required_argument, NULL, 'l'},
        {"iterations", required_argument, NULL, 'i'}, {"files", required_argument, NULL, 'n'},
        {"file-size", required_argument, NULL, 's'}, {"dir", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 'S'},      {"largest", required_argument, NULL, 'L'},
        {"version", no_argument, NULL, 'V'},         {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static const struct {
        int option, targets;
    } uses[] = {
        {'b', PLACES},
        {'o', PLACES},
        {'B', PLACES},
        {'c', PLACES | 1 << COMPUTE},
        {'f', 1 << FILE_TARGET | 1 << NOTHING},
        {'D', 1 << FILE_TARGET | 1 << NOTHING},
        {'y', 1 << FILE_TARGET | 1 << NOTHING | 1 << FILES},
        {'C', 1 << FILE_TARGET},
        {'w', 1 << MEMORY | 1 << FILE_TARGET},
        {'p', 1 << MEMORY | 1 << NOTHING},
        {'l', 1 << COMPUTE},
        {'i', 1 << COMPUTE},
        {'n', 1 << FILES},
        {'s', 1 << FILES},
        {'d', 1 << FILES},
    };
    const char *given[128] = {NULL}; /* by letter: the option's name */
    int option, index = -1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, &index)) != -1) {
        if (option != ':' && option != '?')
            given[option] = options[index].name;
        switch (option) {
        case 't': opt.target = (enum target)choice("--target", optarg, target_words); break;
        case 'b': opt.bytes = size_in("--bytes", optarg, 1); opt.have_bytes = true; break;
        case 'o': opt.op = (enum op)choice("--op", optarg, op_words); break;
        case 'B': opt.block = size_in("--block", optarg, 1); break;
        case 'c': opt.count = whole_number("--count", optarg, 1, 1000000000); break;
        case 'f': opt.path = optarg; break;
        case 'D': opt.direct = true; break;
        case 'y': opt.fsync = true; break;
        case 'C': opt.create = true; break;
        case 'w': parse_window(optarg); break;
        case 'p': opt.pages = (enum pages)choice("--pages", optarg, page_words); break;
        case 'l': opt.loop = (enum loop)choice("--loop", optarg, loop_words); break;
        case 'i': opt.iterations = whole_number("--iterations", optarg, 1, 4000000000u); break;
        case 'n': opt.files = whole_number("--files", optarg, 1, 10000000); break;
        case 's': opt.file_size = size_in("--file-size", optarg, 1); break;
        case 'd': opt.folder = optarg; break;
        case 'S': opt.seed = whole_number("--seed", optarg, 0, UINT64_MAX); break;
        case 'L': opt.largest = whole_number("--largest", optarg, 0, 1000000); break;
        case 'V': printf("pinsweep poke %s\ncompiled by %s\n", KERNEL_VERSION, __VERSION__); exit(0);
        case 'h': usage(); exit(0);
        case ':': refuse("%s needs a value; --help lists the options", argv[optind - 1]);
        default: refuse("unknown option '%s'; --help lists the options", argv[optind - 1]);
        }
    }
    if (optind < argc)
        refuse("unexpected '%s'; --help lists the options", argv[optind]);
    if (!given['t'])
        refuse("--target is needed: memory, file, null, compute or files");
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (given[uses[i].option] && !(uses[i].targets >> opt.target & 1))
            refuse("--%s has no effect on --target %s", given[uses[i].option], target_words[opt.target]);
}

static void check_options(void)
{
    if (!opt.block || opt.block > 1u << 30)
        refuse("--block: between 1 byte and 1 GiB");
    switch (opt.target) {
    case MEMORY:
        if (!opt.have_bytes)
            refuse("--bytes is needed");
        break;
    case FILE_TARGET:
        if (opt.have_bytes && !opt.bytes) /* pokes nothing: no file is needed */
            break;
        if (!opt.path)
            refuse("--file is needed");
        if (opt.create && !opt.have_bytes)
            refuse("--create needs --bytes");
        if (opt.op == WRITE_FENCE)
            refuse("--op write+fence is for memory; a file is waited for with --fsync");
        if (opt.fsync && opt.op == READ)
            refuse("--fsync has no effect on reads");
        if (opt.direct && opt.block % 512)
            refuse("--block: with --direct a multiple of 512, most often 4096");
        break;
    case NOTHING:
        if (opt.bytes)
            refuse("--target null has no bytes");
        break;
    case COMPUTE: break;
    case FILES:
        if (!opt.files || !opt.file_size || !opt.folder)
            refuse("--files, --file-size and --dir are needed");
        if (opt.file_size > 1u << 30)
            refuse("--file-size: 1 GiB is the most");
        break;
    }
}

int main(int argc, char **argv)
{
    program_name = PROGRAM;
    parse_options(argc, argv);
    check_options();
    calibrate_ticks();
    measure_timer();

    uint64_t seed = opt.seed ^ 0xb0ff, room = opt.target == FILES ? opt.file_size : opt.block;
    room = (room + 4095) / 4096 * 4096;
    place.buffer = aligned_alloc(4096, room);
    if (!place.buffer)
        refuse("out of memory");
    random_bytes(place.buffer, room, &seed);
    if (opt.target == FILES) {
        run_files();
    } else {
        if (opt.target == FILE_TARGET && !(opt.have_bytes && !opt.bytes))
            open_file();
        if (opt.target == MEMORY && opt.bytes)
            make_memory();
        set_window();
        samples_t samples = run_pokes();
        print_head();
        const char *op = opt.target == COMPUTE ? loop_words[opt.loop] : opt.target == NOTHING ? "none" : op_words[opt.op];
        print_result(op, &samples, 0, true);
        puts(" ]}");
        free(samples.at);
        free_memory(&place.memory);
    }
    free(place.buffer);
    return 0;
}

/* common.h - what the three kernels share: messages, clocks, random numbers, option values. CPUs, nodes and memory
 * are in machine.h.
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

#define KERNEL_VERSION "0.3"

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

#endif

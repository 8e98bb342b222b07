/* transfer.h - cache to cache: what loads of lines take that another core's cache holds. */
#ifndef PINSWEEP_TRANSFER_H
#define PINSWEEP_TRANSFER_H

#include "chase.h"

#include <pthread.h>

enum { HIT, HITM }; /* the other cache holds the line unchanged; it holds it modified */
enum { HAND_OVER_BYTES = 256 << 10 }; /* one line of each four: 1024 lines, in anyone's L2 */

#if defined(ON_X86_64) || defined(ON_AARCH64)
enum { HAVE_FLUSH = 1 };
static inline void flush(const memory_t *memory) /* out of every cache: the next core to touch a line is its only holder */
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
static inline void flush(const memory_t *memory)
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
static inline void hold_lines(bool modify)
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

static inline void *write_lines(void *unused)
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
static inline double transfer_latency(int reader, int writer, int state, int home, double for_s)
{
    enum { MAX_ROUNDS = 20000 };
    double *rounds = malloc(MAX_ROUNDS * sizeof *rounds);
    if (!rounds)
        refuse("out of memory");
    int count = 0;
    pthread_t thread;
    pin(reader);
    memory_t memory = get_memory(HAND_OVER_BYTES, PAGES_DEFAULT, home);
    touch_all(&memory);
    walk_t walk = {.stride = CHASE_STRIDE, .passes = 1};
    c2c.first = build_chase(memory.at, memory.bytes, walk);
    c2c.lines = lines_walked(walk, memory.bytes);
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

#endif

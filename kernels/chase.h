/* chase.h - the latency of dependent loads in random order: each load's address is what the load before it read. */
#ifndef PINSWEEP_CHASE_H
#define PINSWEEP_CHASE_H

#include "machine.h"

enum {
    CHASE_STRIDE = 256, /* one line out of four: the buddy line that a spatial prefetcher brings comes too early */
    CHUNK = 16384, /* loads between two readings of the clock: 0.3 % of their time if every one hits L1 */
};

/* How a chase walks through its buffer. */
typedef struct {
    size_t stride; /* bytes: one line out of so many, then the next so many; a multiple of LINE */
    size_t passes; /* lines of each stride that are used, one in each pass through the buffer; at most stride / LINE */
    size_t range; /* bytes inside which it jumps before it moves on; 0: the whole buffer */
} walk_t;

static inline size_t lines_walked(walk_t walk, size_t bytes)
{
    return bytes / walk.stride * walk.passes;
}

/* Link the buffer into one cycle of pointers. A pass visits the ranges in random order, and inside a range its
 * elements (of one stride each) in random order: with 4 KiB pages few address translations are live at a time. Each
 * pass has its own order and its own line of every element, so that a walk of stride / LINE passes uses every line
 * of the buffer once, and the line beside it only a whole pass later. A pointer sits in a random word of its line.
 * Which line comes first is drawn for every element: fixed positions use only some of the caches' sets and let
 * prefetchers guess, and looked like 83 ns instead of 145. */
static inline void **build_chase(char *buffer, size_t bytes, walk_t walk)
{
    uint64_t seed = 1;
    size_t elements = bytes / walk.stride, lines = walk.stride / LINE;
    size_t most = walk.range && walk.range < bytes ? walk.range / walk.stride : elements;
    if (!most || elements / most > UINT32_MAX - 1 || most > UINT32_MAX)
        refuse("a buffer of %zu bytes cannot be walked in strides of %zu", bytes, walk.stride);
    size_t ranges = (elements + most - 1) / most;
    uint32_t *range_order = malloc(ranges * sizeof *range_order), *order = malloc(most * sizeof *order);
    if (!range_order || !order)
        refuse("out of memory");
    void *first = NULL, **last = &first;
    for (size_t pass = 0; pass < walk.passes; pass++) {
        shuffled(range_order, ranges, &seed);
        for (size_t i = 0; i < ranges; i++) {
            size_t start = range_order[i] * most, count = elements - start < most ? elements - start : most;
            shuffled(order, count, &seed);
            for (size_t j = 0; j < count; j++) {
                uint64_t element = start + order[j], drawn = element;
                size_t line = (random_u64(&drawn) + pass) % lines;
                size_t word = random_below(&seed, LINE / sizeof(void *));
                void **pointer = (void **)(buffer + element * walk.stride + line * LINE) + word;
                *last = pointer;
                last = pointer;
            }
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
#undef FOUR
#undef SIXTEEN
}

typedef struct {
    double mean_ns, median_ns, least_ns; /* per load: of all, and of at least 20 equally long blocks */
    double elapsed_ns;
    uint64_t loads;
} latency_t;

static inline int by_value(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

static inline double median(double *values, int count) /* sorts them */
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Chase for some seconds. The warm-up, a tenth of that and at least one chunk, is not counted. */
static inline latency_t measure_chase(void ***position, double for_s)
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

#endif

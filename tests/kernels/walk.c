/* Walks a chase of kernels/chase.h once around: walk BYTES STRIDE PASSES RANGE
 * Prints the pointers in the cycle, the lines they are in, the most of them in one element in one pass, and how often
 * the walk moved from one range to another. */
#include "common.h"
#include "chase.h"

int main(int argc, char **argv)
{
    size_t given[4];
    for (int i = 0; i < 4 && argc == 5; i++)
        given[i] = strtoull(argv[i + 1], NULL, 10);
    size_t bytes = given[0];
    walk_t walk = {.stride = given[1], .passes = given[2], .range = given[3]};
    size_t elements = bytes / walk.stride, range = walk.range ? walk.range : bytes;
    char *buffer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), *lines = calloc(bytes / LINE + 1, 1);
    size_t *last_pass = calloc(elements, sizeof *last_pass);
    if (!buffer || !lines || !last_pass)
        return 1;
    void **first = build_chase(buffer, bytes, walk), **p = first;
    size_t count = 0, distinct = 0, twice = 0, moves = 0, before = SIZE_MAX;
    do {
        size_t at = (size_t)((char *)p - buffer), pass = count / elements + 1;
        if (at >= elements * walk.stride)
            return 1;
        distinct += !lines[at / LINE];
        lines[at / LINE] = 1;
        twice += last_pass[at / walk.stride] == pass;
        last_pass[at / walk.stride] = pass;
        moves += at / range != before;
        before = at / range;
        count++;
        p = *p;
    } while (p != first && count <= elements * walk.passes);
    printf("%zu %zu %zu %zu\n", count, distinct, twice, moves);
    return 0;
}

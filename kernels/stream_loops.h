/* stream_loops.h - the four loops, ordinary and with non-temporal stores, for one element type.
 *
 * Included once per type with REAL (double, float) and NAME(x) (x_double, x_float) defined.
 * Counted per element, in elements moved: copy 2, scale 2, add 3, triad 3. The line that an ordinary store
 * fetches before it is written is not counted, as in STREAM. Pages are already touched.
 *
 * The loops are functions of their own, never inlined: pointers that an OpenMP region captures lose the fact
 * that they do not alias, which separate static arrays (as in stream.c) have; `restrict` parameters restore it. */

#define LOOP static __attribute__((noinline)) void

LOOP NAME(copy)(REAL *restrict c, const REAL *restrict a, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        c[i] = a[i];
}

LOOP NAME(scale)(REAL *restrict b, const REAL *restrict c, REAL s, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        b[i] = s * c[i];
}

LOOP NAME(add)(REAL *restrict c, const REAL *restrict a, const REAL *restrict b, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

LOOP NAME(triad)(REAL *restrict a, const REAL *restrict b, const REAL *restrict c, REAL s, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

#if HAVE_NT_STORES
/* Whole vectors go past the caches, a line each; what lies before the first and after the last whole line is
 * stored as usual. The fence at the end makes the loop's time include its stores. */
#define NT_LOOP(target, value)                                                                                          \
    ptrdiff_t i = 0;                                                                                                    \
    for (; i < n && (uintptr_t)(target + i) % LINE; i++)                                                                \
        target[i] = value(REAL, i);                                                                                     \
    for (; i + NAME(per_line) <= n; i += NAME(per_line))                                                                \
        for (ptrdiff_t k = i; k < i + NAME(per_line); k += NAME(per_vector))                                            \
            NAME(store_nt)(target + k, value(NAME(vector), k));                                                         \
    for (; i < n; i++)                                                                                                  \
        target[i] = value(REAL, i);                                                                                     \
    full_fence();

/* A vector of the width that the non-temporal store takes; may_alias and aligned(1 element) make any load legal. */
typedef REAL NAME(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(per_vector) = VECTOR_BYTES / sizeof(REAL), NAME(per_line) = LINE / sizeof(REAL) };

static inline void NAME(store_nt)(REAL *target, NAME(vector) value)
{
    store_vector_nt(target, &value);
}

#define AT(type, array, i) (*(const type *)((array) + (i)))
LOOP NAME(copy_nt)(REAL *restrict c, const REAL *restrict a, ptrdiff_t n)
{
#define VALUE(type, i) AT(type, a, i)
    NT_LOOP(c, VALUE)
#undef VALUE
}

LOOP NAME(scale_nt)(REAL *restrict b, const REAL *restrict c, REAL s, ptrdiff_t n)
{
#define VALUE(type, i) (s * AT(type, c, i))
    NT_LOOP(b, VALUE)
#undef VALUE
}

LOOP NAME(add_nt)(REAL *restrict c, const REAL *restrict a, const REAL *restrict b, ptrdiff_t n)
{
#define VALUE(type, i) (AT(type, a, i) + AT(type, b, i))
    NT_LOOP(c, VALUE)
#undef VALUE
}

LOOP NAME(triad_nt)(REAL *restrict a, const REAL *restrict b, const REAL *restrict c, REAL s, ptrdiff_t n)
{
#define VALUE(type, i) (AT(type, b, i) + s * AT(type, c, i))
    NT_LOOP(a, VALUE)
#undef VALUE
}
#undef AT
#undef NT_LOOP
#endif

/* One thread's share of one kernel over the arrays a, b, c. */
static void NAME(run)(enum kernel kernel, enum stores stores, REAL *a, REAL *b, REAL *c, ptrdiff_t n)
{
    const REAL s = SCALAR;
#if HAVE_NT_STORES
    if (stores == STORES_NT) {
        switch (kernel) {
        case COPY: NAME(copy_nt)(c, a, n); break;
        case SCALE: NAME(scale_nt)(b, c, s, n); break;
        case ADD: NAME(add_nt)(c, a, b, n); break;
        case TRIAD: NAME(triad_nt)(a, b, c, s, n); break;
        }
        return;
    }
#endif
    switch (kernel) {
    case COPY:
        if (stores == STORES_CACHED) /* times one: a copy that a compiler cannot turn into a library call */
            NAME(scale)(c, a, (REAL)one, n);
        else
            NAME(copy)(c, a, n);
        break;
    case SCALE: NAME(scale)(b, c, s, n); break;
    case ADD: NAME(add)(c, a, b, n); break;
    case TRIAD: NAME(triad)(a, b, c, s, n); break;
    }
}

/* First touch: one array after the other. Touching all three in one loop mixes their page frames and cost 2-4 %
 * of Scale. The barriers keep the compiler from fusing the loops. */
static void NAME(touch)(REAL *a, REAL *b, REAL *c, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = 1;
    __asm__ volatile("" ::: "memory");
    for (ptrdiff_t i = 0; i < n; i++)
        b[i] = 2;
    __asm__ volatile("" ::: "memory");
    for (ptrdiff_t i = 0; i < n; i++)
        c[i] = 0;
}

static void NAME(twice)(REAL *a, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = 2 * a[i];
}

/* What every element must be after `ntimes` rounds, by the same operations on three numbers. */
static void NAME(expect)(int ntimes, double expected[3])
{
    volatile REAL a = 2, b = 2, c = 0; /* volatile: rounded to REAL after each operation */
    for (int k = 0; k < ntimes; k++) {
        c = a;
        b = (REAL)SCALAR * c;
        c = a + b;
        REAL product = (REAL)SCALAR * c;
        a = b + product;
    }
    expected[0] = a;
    expected[1] = b;
    expected[2] = c;
}

/* Sum of |element - expected| and the number of elements off by more than epsilon, over one thread's share. */
static void NAME(check)(const REAL *x, ptrdiff_t n, double expected, double epsilon, double *sum, int64_t *off)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double error = fabs((double)x[i] - expected);
        *sum += error;
        if (!(error <= epsilon * fabs(expected)))
            (*off)++;
    }
}

#undef LOOP

/* Types and elementary functions that all kernels share.
 *
 * No libc is needed, and no operation depends on the processor: compiled with -ffp-contract=off,
 * the same source gives the same bits on every platform. Python calls the functions marked EXPORT;
 * dcglearn/kernels/library.py checks what they are given.
 */
#ifndef DCGLEARN_H
#define DCGLEARN_H
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __attribute__((dllexport))
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))

typedef int64_t i64;

/* Parameters of functions: an array that is read, and one that is written and overlaps no other.
 * Use them for parameters alone: a second name for the same memory would make them untrue. */
typedef const double *restrict in;
typedef double *restrict out;

#define INFINITE __builtin_inf()

INLINE double min(double a, double b) { return b < a ? b : a; }
INLINE double max(double a, double b) { return b > a ? b : a; }
INLINE double size_of(double x) { return __builtin_fabs(x); }
INLINE double square_root(double x) { return __builtin_sqrt(x); } /* IEEE: correctly rounded */
INLINE void zero(double *a, i64 n) {
    for (i64 i = 0; i < n; i++) a[i] = 0.0;
}

/* Elementary functions: the argument is reduced to a small one (Cody and Waite), which a series or
 * fdlibm's polynomial serves. None has a branch, so that loops over them are vectorised. Errors
 * are below 2 units in the last place; exp is 0 below -708 and infinite above 709.7. */

typedef union {
    double value;
    uint64_t word;
} bits;

#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#define ONE_OVER_LN2 1.44269504088896338700
#define ROUNDING 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to a whole number */

INLINE double whole(double x) { return (x + ROUNDING) - ROUNDING; }

/* 2^k for a whole k, -1022 <= k <= 1023. */
INLINE double two_to(double k) {
    bits b;
    b.value = k + ROUNDING;
    b.word = (b.word + 1023) << 52;
    return b.value;
}

/* (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2; summed in pairs, so that no long chain waits. */
INLINE double exp_tail(double r) {
    double s = r * r, t = s * s;
    double low = (0.5 + r * (1.0 / 6.0)) + s * (1.0 / 24.0 + r * (1.0 / 120.0));
    double middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + s * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    double high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) +
                  s * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    return low + t * (middle + t * high);
}

INLINE double exponential(double x) {
    double tiny = x < -708.0 ? 0.0 : 1.0;
    double huge = x > 709.7 ? INFINITE : 1.0;
    x = x > 709.7 ? 709.7 : x;
    x = x < -708.0 ? -708.0 : x;

    double k = whole(x * ONE_OVER_LN2);
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    double y = 1.0 + (high + (r * r * exp_tail(r) - low));
    return 2.0 * y * two_to(k - 1.0) * tiny * huge; /* k may be 1024 */
}

/* The same for -708 <= x <= 709 alone, in four fifths of the time. */
INLINE double exponential_within(double x) {
    double k = whole(x * ONE_OVER_LN2);
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    double y = 1.0 + (high + (r * r * exp_tail(r) - low));
    return y * two_to(k);
}

/* exp(x) - 1. */
INLINE double exponential_less_1(double x) {
    double huge = x > 709.7 ? INFINITE : 0.0;
    x = x > 709.7 ? 709.7 : x;
    x = x < -50.0 ? -50.0 : x;

    double k = whole(x * ONE_OVER_LN2);
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    double y = high + (r * r * exp_tail(r) - low);
    double half = two_to(k - 1.0); /* k may be 1024 */
    return (k == 0.0 ? y : 2.0 * (half * y + (half - 0.5))) + huge;
}

/* log(x (1 + beyond)) for a positive normal x and a tiny share beyond it (fdlibm). */
INLINE double log_with(double x, double beyond) {
    bits b, exponent;
    b.value = x;
    uint64_t up = b.word + 0x95f6400000000ULL; /* so that the mantissa is in [sqrt(.5), sqrt(2)) */
    exponent.word = (up >> 52) | 0x4330000000000000ULL; /* 2^52 + the biased exponent */
    double k = exponent.value - (4503599627370496.0 + 1023.0);
    b.word = (up & 0xfffffffffffffULL) + 0x3fe6a09c00000000ULL;

    double f = b.value - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
    double odd = w * (3.999999999940941908e-01 +
                      w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double even = z * (6.666666666666735130e-01 +
                       w * (2.857142874366239149e-01 +
                            w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double half = 0.5 * f * f;
    return k * LN2_HIGH - ((half - (s * (half + (odd + even)) + (beyond + k * LN2_LOW))) - f);
}

/* log(x); -infinity at 0. */
INLINE double logarithm(double x) {
    int subnormal = x < 2.2250738585072014e-308;
    double log = log_with(subnormal ? x * 18014398509481984.0 : x, 0.0);
    log -= subnormal ? 54.0 * LN2_LOW : 0.0;
    log -= subnormal ? 54.0 * LN2_HIGH : 0.0;
    log = x == INFINITE ? INFINITE : log;
    return x > 0.0 ? log : x == 0.0 ? -INFINITE : __builtin_nan("");
}

/* log(1 + x) for x >= 0. */
INLINE double logarithm_of_1_and(double x) {
    double sum = 1.0 + x;
    return log_with(sum, (x - (sum - 1.0)) / sum);
}

/* Kinds of discounts at real-valued ranks; see dcglearn/metrics/smooth_discount.py. */
enum { TABLE, LOG2, RECIPROCAL, SQRT, GEOMETRIC };

typedef struct {
    double value, slope;
} discount_t;

/* A discount and its derivative at a rank >= 1. `numbers` are the (K, 4) polynomial pieces of a
 * table, or the factor of a closed form, for the geometric one with log p; `size` counts them. */
INLINE discount_t discount_at(i64 kind, i64 size, const double *numbers, double r) {
    double value, slope;
    if (kind == LOG2) {
        double log = logarithm(r + 1.0);
        value = numbers[0] * 0.6931471805599453 / log;
        slope = -value / (log * (r + 1.0));
    } else if (kind == RECIPROCAL) {
        value = numbers[0] / r;
        slope = -value / r;
    } else if (kind == SQRT) {
        value = numbers[0] / square_root(r);
        slope = -0.5 * value / r;
    } else if (kind == GEOMETRIC) {
        value = numbers[0] * exponential(r * numbers[1]);
        slope = value * numbers[1];
    } else if (!(r < (double)(size / 4))) { /* the tail, and NaN */
        double log = logarithm(r + 1.0);
        value = numbers[size - 4] / log;
        slope = -value / (log * (r + 1.0));
    } else {
        const i64 piece = r < 2.0 ? 0 : (i64)r - 1;
        const double *c = numbers + 4 * piece, x = r - (double)(piece + 1);
        value = c[0] + x * (c[1] + x * (c[2] + x * c[3]));
        slope = c[1] + x * (2.0 * c[2] + x * 3.0 * c[3]);
    }
    return (discount_t){value, slope};
}

/* ---- Sorting ----------------------------------------------------------------------------- */

/* A place with its score as a whole number: the higher the score, the lower the number. */
typedef struct {
    uint64_t key;
    i64 place;
} keyed_t;

#define FEW 64 /* places that are inserted one by one: for these, counting would take longer */

static inline void insert_places(i64 n, keyed_t *restrict a) {
    for (i64 i = 1; i < n; i++) {
        const keyed_t own = a[i];
        i64 k = i;
        for (; k > 0 && a[k - 1].key > own.key; k--) a[k] = a[k - 1];
        a[k] = own;
    }
}

/* Sort by counting, a byte of the keys at a time, from `a` into `b` and back; return the sorted one. */
static inline keyed_t *count_places(i64 n, keyed_t *restrict a, keyed_t *restrict b) {
    i64 starts[8][256] = {0};
    for (i64 i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++) starts[byte][(a[i].key >> 8 * byte) & 255]++;

    keyed_t *from = a, *to = b;
    for (int byte = 0; byte < 8; byte++) {
        i64 *start = starts[byte], total = 0;
        if (start[(from[0].key >> 8 * byte) & 255] == n) continue; /* all are the same */
        for (i64 k = 0; k < 256; k++) {
            const i64 held = start[k];
            start[k] = total;
            total += held;
        }
        for (i64 i = 0; i < n; i++) to[start[(from[i].key >> 8 * byte) & 255]++] = from[i];
        keyed_t *sorted = to;
        to = from, from = sorted;
    }
    return from;
}

/* Sort n places by score, highest first; places with equal scores keep their order. `work` has 4 n
 * entries of 8 bytes. */
static inline void sort_places(i64 n, in scores, i64 *restrict places, double *work) {
    keyed_t *keyed = (keyed_t *)work;
    for (i64 i = 0; i < n; i++) {
        bits b;
        b.value = scores[places[i]] + 0.0; /* -0 becomes 0 */
        keyed[i].key = b.word >> 63 ? b.word : b.word ^ 0x7fffffffffffffffULL;
        keyed[i].place = places[i];
    }
    if (n <= FEW) insert_places(n, keyed);
    else keyed = count_places(n, keyed, keyed + n);
    for (i64 i = 0; i < n; i++) places[i] = keyed[i].place;
}

#endif

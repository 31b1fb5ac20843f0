/* Discounts at real-valued ranks; see dcglearn/metric/smooth_discount.py. */
#include "dcglearn.h"

enum { TABLE, LOG2, RECIPROCAL, SQRT, GEOMETRIC };

/* Set discounts and their derivatives at n ranks >= 1. `numbers` are the (K, 4) polynomial pieces of
 * a table, or the factor of a closed form, for the geometric one with log p. */
EXPORT void fill_discounts(i64 kind, i64 size, in numbers, i64 n, in ranks, out values,
                           out slopes) {
    for (i64 i = 0; i < n; i++) {
        const double r = ranks[i];
        if (kind == LOG2) {
            double log = logarithm(r + 1.0);
            values[i] = numbers[0] * 0.6931471805599453 / log;
            slopes[i] = -values[i] / (log * (r + 1.0));
        } else if (kind == RECIPROCAL) {
            values[i] = numbers[0] / r;
            slopes[i] = -values[i] / r;
        } else if (kind == SQRT) {
            values[i] = numbers[0] / square_root(r);
            slopes[i] = -0.5 * values[i] / r;
        } else if (kind == GEOMETRIC) {
            values[i] = numbers[0] * exponential(r * numbers[1]);
            slopes[i] = values[i] * numbers[1];
        } else if (!(r < (double)(size / 4))) { /* the tail, and NaN */
            double log = logarithm(r + 1.0);
            values[i] = numbers[size - 4] / log;
            slopes[i] = -values[i] / (log * (r + 1.0));
        } else {
            const i64 piece = r < 2.0 ? 0 : (i64)r - 1;
            const double *c = numbers + 4 * piece, x = r - (double)(piece + 1);
            values[i] = c[0] + x * (c[1] + x * (c[2] + x * c[3]));
            slopes[i] = c[1] + x * (2.0 * c[2] + x * 3.0 * c[3]);
        }
    }
}

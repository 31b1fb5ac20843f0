/* Discounts at real-valued ranks; see dcglearn/metrics/smooth_discount.py. */
#include "dcglearn.h"

/* Set discounts and their derivatives at n ranks >= 1; `kind`, `size` and `numbers` are those of
 * discount_at. */
EXPORT void fill_discounts(i64 kind, i64 size, in numbers, i64 n, in ranks, out values,
                           out slopes) {
    for (i64 i = 0; i < n; i++) {
        const discount_t d = discount_at(kind, size, numbers, ranks[i]);
        values[i] = d.value, slopes[i] = d.slope;
    }
}

/* Inversions of weighted keys; see dcglearn/coherence/disagreements.py. */
#include "dcglearn.h"

/* Sort n keys and their sizes by key, in place; return the number of inversions, weighted by the
 * products of sizes. `other_keys` and `other_sizes` are memory of the same lengths. */
EXPORT double inversions(i64 n, i64 *restrict keys, out sizes, i64 *restrict other_keys,
                         out other_sizes) {
    double total = 0.0;
    for (i64 run = 1; run < n; run *= 2) {
        for (i64 start = 0; start < n; start += 2 * run) {
            const i64 middle = start + run < n ? start + run : n;
            const i64 stop = start + 2 * run < n ? start + 2 * run : n;
            double left = 0.0;
            for (i64 i = start; i < middle; i++) left += sizes[i];
            i64 i = start, j = middle;
            for (i64 k = start; k < stop; k++) {
                if (i < middle && (j == stop || keys[i] <= keys[j])) {
                    other_keys[k] = keys[i], other_sizes[k] = sizes[i];
                    left -= sizes[i++];
                } else {
                    other_keys[k] = keys[j], other_sizes[k] = sizes[j];
                    total += left * sizes[j++];
                }
            }
        }
        for (i64 k = 0; k < n; k++) keys[k] = other_keys[k], sizes[k] = other_sizes[k];
    }
    return total;
}

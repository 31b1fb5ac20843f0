/* The sums over pairs of the QP, from int8 grades; shapes as in dcglearn/learning/pair_sums.py. */
#include "dcglearn.h"

/* Margin less the difference of the utilities of two lists; `flat` has columns for -1. */
INLINE double shortfall(const int8_t *restrict first, const int8_t *restrict second, double margin,
                        in flat, i64 depth, i64 width) {
    double ahead = 0.0, behind = 0.0;
    for (i64 k = 0; k < depth; k++) {
        ahead += flat[k * width + first[k] + 1];
        behind += flat[k * width + second[k] + 1];
    }
    return margin - (ahead - behind);
}

/* Count pairs of codes: add to `single`, (S, c), and `joint`, (S (S - 1) / 2, c, c), the weights of
 * the pairs whose codes, (S, block), are given. A table at a time stays in the nearest cache. `rows`,
 * (block,), is memory. */
static void count_codes(i64 n_single, i64 block, i64 held, i64 n_codes,
                        const uint16_t *restrict codes, in weights, out single, out joint,
                        int32_t *restrict rows) {
    i64 pair = 0;
    for (i64 k = 0; k < n_single; k++) {
        const uint16_t *here = codes + k * block;
        double *alone = single + k * n_codes;
        for (i64 i = 0; i < held; i++) alone[here[i]] += weights[i];
        for (i64 i = 0; i < held; i++) rows[i] = here[i] * (int32_t)n_codes;
        for (i64 j = 0; j < k; j++, pair++) {
            const uint16_t *there = codes + j * block;
            double *both = joint + pair * n_codes * n_codes;
            for (i64 i = 0; i < held; i++) both[rows[i] + there[i]] += weights[i];
        }
    }
}

/* Number of 8-byte entries of the memory that add_pairs needs for blocks of pairs. */
EXPORT i64 work_of_pairs(i64 depth, i64 block) { return 4 * block + (depth * block + 3) / 4; }

/* Set `totals` to sum v xi^2 and sum v xi m of the pairs from `start` to `stop`; add v xi by position
 * and code to `sums`, (K, c), and, of the pairs that fall short, v by code and by two codes.
 *
 * A block at a time, the pairs that fall short are found without a branch, and then counted. */
EXPORT void add_pairs(i64 start, i64 stop, i64 depth, i64 width, i64 n_single, i64 block,
                      i64 margin_varies, i64 weight_varies, const int8_t *firsts,
                      const int8_t *seconds, const double *margins, const double *weights,
                      const double *flat, double *totals, double *sums, double *single,
                      double *joint, double *work) {
    const i64 n_codes = width * width;
    double *short_by = work, *v = work + block;
    i64 *at = (i64 *)(work + 2 * block);
    int32_t *rows = (int32_t *)(work + 3 * block);
    uint16_t *codes = (uint16_t *)(work + 4 * block);
    double loss = 0.0, slope = 0.0;
    for (i64 begin = start; begin < stop; begin += block) {
        const i64 end = begin + block < stop ? begin + block : stop;
        i64 held = 0;
        for (i64 i = begin; i < end; i++) {
            double margin = margins[margin_varies ? i : 0];
            double xi =
                shortfall(firsts + i * depth, seconds + i * depth, margin, flat, depth, width);
            at[held] = i, short_by[held] = xi;
            held += xi > 0.0;
        }

        for (i64 p = 0; p < held; p++) {
            const i64 i = at[p];
            v[p] = weights[weight_varies ? i : 0];
            const double weighted = short_by[p] * v[p];
            loss += weighted * short_by[p];
            slope += weighted * margins[margin_varies ? i : 0];
            for (i64 k = 0; k < depth; k++) {
                i64 code = (firsts[i * depth + k] + 1) * width + seconds[i * depth + k] + 1;
                codes[k * block + p] = (uint16_t)code;
                sums[k * n_codes + code] += weighted;
            }
        }
        count_codes(n_single, block, held, n_codes, codes, v, single, joint, rows);
    }
    totals[0] = loss, totals[1] = slope;
}

/* Add v d d^T of each pair that falls short to `both`, (K W, K W), on scales too wide for counts. */
EXPORT void add_wide_pairs(i64 start, i64 stop, i64 depth, i64 width, i64 margin_varies,
                           i64 weight_varies, const int8_t *firsts, const int8_t *seconds,
                           const double *margins, const double *weights, const double *flat,
                           double *both) {
    const i64 side = depth * width;
    for (i64 i = start; i < stop; i++) {
        const int8_t *first = firsts + i * depth, *second = seconds + i * depth;
        const double v = weights[weight_varies ? i : 0];
        if (shortfall(first, second, margins[margin_varies ? i : 0], flat, depth, width) <= 0.0)
            continue;
        for (i64 k = 0; k < depth; k++) {
            const i64 a = (k * width + first[k] + 1) * side, b = (k * width + second[k] + 1) * side;
            for (i64 j = 0; j < depth; j++) {
                const i64 c = j * width + first[j] + 1, d = j * width + second[j] + 1;
                both[a + c] += v;
                both[a + d] -= v;
                both[b + c] -= v;
                both[b + d] += v;
            }
        }
    }
}

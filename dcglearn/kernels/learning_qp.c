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

/* Set `totals` to sum v xi^2 and sum v xi m of the pairs from `start` to `stop`; add v xi d to
 * `moment`, (K, W), and, if `curved`, v d d^T to `curvature`, (K W, K W), on the diagonal and below,
 * both of the pairs that fall short. At positions whose codes differ, d has the entries sign at the
 * lower and -sign at the higher one; `lows`, `highs` and `signs`, (K,), are memory for these. */
EXPORT void add_pairs(i64 start, i64 stop, i64 depth, i64 width, i64 curved, i64 margin_varies,
                      i64 weight_varies, const int8_t *firsts, const int8_t *seconds,
                      const double *margins, const double *weights, const double *flat,
                      double *totals, double *moment, double *curvature, i64 *lows, i64 *highs,
                      double *signs) {
    const i64 side = depth * width;
    double loss = 0.0, slope = 0.0;
    for (i64 i = start; i < stop; i++) {
        const int8_t *first = firsts + i * depth, *second = seconds + i * depth;
        const double margin = margins[margin_varies ? i : 0];
        const double xi = shortfall(first, second, margin, flat, depth, width);
        if (xi <= 0.0) continue;

        /* what needs d once, and the entries of d */
        const double v = weights[weight_varies ? i : 0], weighted = v * xi;
        loss += weighted * xi;
        slope += weighted * margin;
        i64 n = 0;
        for (i64 k = 0; k < depth; k++) {
            const i64 one = k * width + first[k] + 1, other = k * width + second[k] + 1;
            moment[one] += weighted, moment[other] -= weighted;
            lows[n] = one < other ? one : other, highs[n] = one < other ? other : one;
            signs[n] = one < other ? 1.0 : -1.0;
            n += one != other;
        }

        /* products of two entries */
        for (i64 a = 0; curved && a < n; a++) {
            double *low = curvature + lows[a] * side, *high = curvature + highs[a] * side;
            const double signed_v = v * signs[a];
            for (i64 b = 0; b < a; b++) {
                const double both = signed_v * signs[b];
                low[lows[b]] += both, low[highs[b]] -= both;
                high[lows[b]] -= both, high[highs[b]] += both;
            }
            low[lows[a]] += v, high[lows[a]] -= v, high[highs[a]] += v;
        }
    }
    totals[0] = loss, totals[1] = slope;
}

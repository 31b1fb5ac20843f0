/* Losses: DCGs at smooth ranks, soft positions, noisy scores, and pairs of documents.
 *
 * Shapes are those that dcglearn/losses/dcg_kernel.py, smooth_kernel.py and pair_kernel.py give.
 * Query q holds the documents from offsets[q] to offsets[q + 1]. Scores fall within a query, or
 * within a segment of one. Of sums over parts of a batch, a call adds up those of the documents, or
 * queries, from `first` to `last`.
 */
#include "dcglearn.h"

#define RUN 64 /* documents whose discounts or losses are computed, and then added, at once */

/* Four numbers, whose sums do not depend on the processor's vectors. */
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef i64 four_words __attribute__((vector_size(32), aligned(8)));
#define FOUR(address) (*(const four *)(address))
#define AS_FOUR(address) (*(four *)(address))
#define SUM(a) (((a)[0] + (a)[1]) + ((a)[2] + (a)[3]))

INLINE i64 least(i64 a, i64 b) { return b < a ? b : a; }
INLINE i64 most(i64 a, i64 b) { return b > a ? b : a; }
INLINE i64 up_to_fours(i64 n) { return (n + 3) & ~(i64)3; }

/* The first j from low to high of falling scores with scale (f_j - x) <= gap. */
INLINE i64 first_at_most(const double *f, double x, double scale, double gap, i64 low, i64 high) {
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (scale * (f[middle] - x) <= gap) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The first j from low to high of falling scores with scale (f_j - x) < gap. */
INLINE i64 first_below(const double *f, double x, double scale, double gap, i64 low, i64 high) {
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (scale * (f[middle] - x) < gap) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The part that holds document i: the last of n whose start, in `offsets`, is at most i. */
INLINE i64 part_of(i64 n, const i64 *offsets, i64 i) {
    i64 low = 0, high = n;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (offsets[middle] > i) high = middle;
        else low = middle + 1;
    }
    return low - 1;
}

/* ---- A DCG and an average precision at real-valued ranks --------------------------------- */

#define NEGLIGIBLE 40.0 /* exp(-40) is below the precision of a number, relative to 1 */
#define ZERO 746.0      /* exp(-746) is zero */

/* Fill D(r) sigma(beta (edge - r)) and its derivative at n ranks r; without a truncation if `edge`
 * is infinite. */
static void fill_truncated(const i64 kind, i64 size, in numbers, double edge, double beta, i64 n,
                           in ranks, out values, out slopes) {
    for (i64 i = 0; i < n; i++) {
        const discount_t d = discount_at(kind, size, numbers, ranks[i]);
        values[i] = d.value, slopes[i] = d.slope;
    }
    if (edge == INFINITE) return;

    for (i64 i = 0; i < n; i++) {
        const double x = beta * (edge - ranks[i]);
        const double e = exponential(-size_of(x)), large = 1.0 / (1.0 + e), small = e * large;
        const double kept = x >= 0.0 ? large : small, lost = x >= 0.0 ? small : large;
        slopes[i] = (slopes[i] - values[i] * beta * lost) * kept;
        values[i] *= kept;
    }
}

/* Set the running sums, (longest + 1,), of the truncated discounts at ranks 1..longest. */
EXPORT void truncated_sums(i64 kind, i64 size, i64 longest, double edge, double beta,
                           const double *numbers, double *sums) {
    double ranks[RUN], values[RUN], slopes[RUN], total = 0.0;
    sums[0] = 0.0;
    for (i64 start = 0; start < longest; start += RUN) {
        const i64 n = least(RUN, longest - start);
        for (i64 i = 0; i < RUN; i++) ranks[i] = (double)(start + i + 1);
        fill_truncated(kind, size, numbers, edge, beta, up_to_fours(n), ranks, values, slopes);
        for (i64 i = 0; i < n; i++) {
            if (!(beta * (ranks[i] - edge) > NEGLIGIBLE)) total += values[i];
            sums[start + i + 1] = total;
        }
    }
}

/* Set `counts` to the number of documents from `start` to `stop` of each grade. */
static void count_grades(i64 start, i64 stop, i64 n_grades, const i64 *restrict grades,
                         i64 *restrict counts) {
    for (i64 g = 0; g < n_grades; g++) counts[g] = 0;
    for (i64 i = start; i < stop; i++) counts[grades[i]]++;
}

/* Set `factors` to the weight of each query over its value with the largest gains first, or 0;
 * `sums` are running sums of discounts, `counts`, (L,), is memory. */
EXPORT void over_soft_rank_ideals(i64 n_queries, i64 n_grades, const i64 *grades,
                                  const i64 *offsets, const double *gains, const i64 *by_gain,
                                  const double *sums, const double *weight, double *factors,
                                  i64 *counts) {
    for (i64 q = 0; q < n_queries; q++) {
        count_grades(offsets[q], offsets[q + 1], n_grades, grades, counts);
        double total = 0.0;
        i64 rank = 0;
        for (i64 k = 0; k < n_grades; k++) {
            const i64 grade = by_gain[k], n = counts[grade];
            if (n == 0) continue;
            total += max(gains[grade], 0.0) * (sums[rank + n] - sums[rank]);
            rank += n;
        }
        factors[q] = total > 0.0 ? weight[q] / total : 0.0;
    }
}

/* Set `factors` to the weight of each query over its DCG.ideal, or 0 unless that is positive; the
 * discounts, (K,), fall. `counts`, (L,), and `falling`, (the longest of K and the queries,), are
 * memory.
 *
 * Positive discounts take the largest gains above 0, negative ones the smallest below; other
 * positions stay empty. */
EXPORT void over_whole_rank_ideals(i64 n_queries, i64 n_grades, i64 depth, const i64 *grades,
                                   const i64 *offsets, const double *gains, const i64 *by_gain,
                                   const double *discounts, const double *weight, double *factors,
                                   i64 *counts, double *falling) {
    for (i64 q = 0; q < n_queries; q++) {
        const i64 size = offsets[q + 1] - offsets[q], places = most(size, depth);
        count_grades(offsets[q], offsets[q + 1], n_grades, grades, counts);

        /* Gains, with a 0 for each position without a document. */
        i64 at = 0, empty = places - size;
        for (i64 k = 0; k < n_grades; k++) {
            const i64 grade = by_gain[k];
            if (gains[grade] < 0.0)
                for (; empty > 0; empty--) falling[at++] = 0.0;
            for (i64 i = 0; i < counts[grade]; i++) falling[at++] = gains[grade];
        }
        for (; empty > 0; empty--) falling[at++] = 0.0;

        double total = 0.0;
        for (i64 p = 0; p < depth; p++) {
            const double first = falling[p], last = falling[places - depth + p];
            total += discounts[p] * (discounts[p] >= 0.0 ? max(first, 0.0) : min(last, 0.0));
        }
        factors[q] = total > 0.0 ? weight[q] / total : 0.0;
    }
}

/* Return sum_q factor_q sum_i G_i D(r_i) sigma(beta (edge_q - r_i)); set `slope` to its derivative
 * in r. Ranks are those of the documents `order`, sorted by query; there are n_edges edges, one for
 * each query, or one for all. */
EXPORT double dcg_of_ranks(i64 n_queries, i64 n_edges, i64 kind, i64 size, double beta,
                           const double *ranks, const i64 *order, const i64 *grades,
                           const i64 *offsets, const double *gains, const double *numbers,
                           const double *edges, const double *factor, double *slope) {
    double total = 0.0;
    for (i64 q = 0; q < n_queries; q++) {
        const double edge = edges[n_edges > 1 ? q : 0];
        double part = 0.0;
        for (i64 i = offsets[q]; i < offsets[q + 1];) {
            double r[RUN], gain[RUN], values[RUN], slopes[RUN];
            i64 at[RUN], n = 0;
            for (; i < offsets[q + 1] && n < RUN; i++) {
                slope[i] = 0.0;
                at[n] = i, r[n] = ranks[i], gain[n] = factor[q] * gains[grades[order[i]]];
                n += gain[n] != 0.0 && !(beta * (r[n] - edge) > ZERO);
            }
            for (i64 m = n; m < up_to_fours(n); m++) r[m] = 1.0;
            fill_truncated(kind, size, numbers, edge, beta, up_to_fours(n), r, values, slopes);
            for (i64 m = 0; m < n; m++) {
                part += gain[m] * values[m];
                slope[at[m]] = gain[m] * slopes[m];
            }
        }
        total += part;
    }
    return total;
}

/* Set `relevant` to the places of relevant documents in the sorted order, and `ends` to the offsets
 * of queries among these; return how many they are. */
EXPORT i64 find_relevant(i64 n_queries, i64 min_grade, const i64 *restrict order,
                         const i64 *restrict grades, const i64 *restrict offsets,
                         i64 *restrict relevant, i64 *restrict ends) {
    i64 n = 0;
    ends[0] = 0;
    for (i64 q = 0; q < n_queries; q++) {
        for (i64 i = offsets[q]; i < offsets[q + 1]; i++)
            if (grades[order[i]] >= min_grade) relevant[n++] = i;
        ends[q + 1] = n;
    }
    return n;
}

/* Return the weighted sum of average precisions; set its derivatives in ranks, in the entries of
 * `slope` of relevant documents, and in ranks among these, `inner`. */
EXPORT double average_precision(i64 n_queries, in ranks, const i64 *restrict relevant, in among,
                                const i64 *restrict ends, in weight, out slope, out inner) {
    double total = 0.0;
    for (i64 q = 0; q < n_queries; q++) {
        const double n = (double)(ends[q + 1] - ends[q]);
        double part = 0.0;
        for (i64 m = ends[q]; m < ends[q + 1]; m++) {
            const double r = ranks[relevant[m]];
            part += among[m] / r;
            inner[m] = weight[q] / (n * r);
            slope[relevant[m]] = -inner[m] * among[m] / r;
        }
        if (n > 0.0) total += weight[q] * part / n;
    }
    return total;
}

/* ---- Soft positions ---------------------------------------------------------------------- */

#define REACH 40.0 /* largest u^2 / s of a term that counts */
#define SPAN 16 /* documents whose terms with four others are computed, and then added, at once */

/* The end of the documents from p on, up to four and before `stop`, that are in reach of p. */
INLINE i64 end_of_group(const double *f, double near, i64 p, i64 stop) {
    i64 end = least(p + 4, stop);
    while (near * (f[p] - f[end - 1]) > 1.0) end--;
    return end;
}

/* Set e, (n, 4), to exp(-(f_i - x)^2 per) of n documents and four scores x that are in reach of each
 * other; terms out of reach, which at most doubles the distance, are 0. */
INLINE void fill_terms(i64 n, in f, const four *x, double per, double *e) {
    const four at = *x;
    for (i64 i = 0; i < n; i++) {
        const four u = f[i] - at;
        AS_FOUR(e + 4 * i) = -(u * u) * per;
    }
    for (i64 i = 0; i < 4 * n; i++) {
        const double term = exponential_within(e[i]);
        e[i] = e[i] < -REACH ? 0.0 : term;
    }
}

/* Set the three sums of up to four positions, from j to `stop`; see soft_positions. */
static void add_positions(in f, in gain, double per, i64 j, i64 stop, i64 low, i64 high, out mass,
                          out mean, out turn) {
    four x, total = {0}, of_gain = {0}, of_u = {0}, of_both = {0};
    for (int k = 0; k < 4; k++) x[k] = f[least(j + k, stop - 1)];
    for (i64 start = low; start < high; start += SPAN) {
        const i64 n = least(SPAN, high - start);
        double terms[4 * SPAN];
        fill_terms(n, f + start, &x, per, terms);
        for (i64 i = 0; i < n; i++) {
            const four e = FOUR(terms + 4 * i), moved = e * (f[start + i] - x);
            total += e;
            of_gain += e * gain[start + i];
            of_u += moved;
            of_both += moved * gain[start + i];
        }
    }

    for (int k = 0; k < 4 && j + k < stop; k++) {
        mass[j + k] = total[k];
        mean[j + k] = of_gain[k] / total[k];
        turn[j + k] = (of_both[k] - mean[j + k] * of_u[k]) / total[k];
    }
}

/* Set three sums over documents for the first `depth` positions j of each query:
 * mass_j = sum_i exp(-u_ij^2 / s), mean_j = sum_i h_ij G_i, turn_j = sum_i h_ij u_ij (G_i - mean_j);
 * past `depth` the latter two are 0. */
EXPORT void soft_positions(i64 n_queries, i64 depth, i64 first, i64 last, double s, const double *f,
                           const double *gain, const i64 *offsets, double *mass, double *mean,
                           double *turn) {
    const double near = 1.0 / square_root(REACH * s), per = min(1.0 / s, 1e308);
    i64 q = part_of(n_queries + 1, offsets, first);
    for (i64 j = first; j < last;) {
        while (offsets[q + 1] <= j) q++;
        const i64 stop = least(offsets[q + 1], last), end = least(stop, offsets[q] + depth);
        for (i64 p = j, next; p < end; p = next) {
            next = end_of_group(f, near, p, end);
            const i64 low = first_at_most(f, f[p], near, 1.0, offsets[q], p);
            const i64 high = first_below(f, f[next - 1], near, -1.0, next, offsets[q + 1]);
            add_positions(f, gain, per, p, next, low, high, mass, mean, turn);
        }
        for (i64 p = most(j, end); p < stop; p++) mean[p] = turn[p] = 0.0;
        j = stop;
    }
}

/* Set the slopes of up to four documents, from p to `stop`; see soft_positions_vjp. */
static void add_slopes(in f, in gain, in w, double s, i64 p, i64 stop, i64 end, i64 low, i64 high,
                       in mass, in mean, in turn, out slopes) {
    const double per = min(1.0 / s, 1e308);
    four x, own, total = {0};
    for (int k = 0; k < 4; k++) {
        x[k] = f[least(p + k, stop - 1)];
        own[k] = gain[least(p + k, stop - 1)];
    }
    for (i64 start = low; start < high; start += SPAN) {
        const i64 n = least(SPAN, high - start);
        double terms[4 * SPAN], shares[SPAN];
        fill_terms(n, f + start, &x, per, terms);
        for (i64 j = 0; j < n; j++) shares[j] = w[start + j] / mass[start + j];
        for (i64 j = 0; j < n; j++) {
            const four u = x - f[start + j], apart = own - mean[start + j];
            total += shares[j] * FOUR(terms + 4 * j) * u * apart;
        }
    }

    for (int k = 0; k < 4 && p + k < stop; k++) {
        if (p + k < end) total[k] -= w[p + k] * turn[p + k];
        slopes[p + k] = -2.0 / s * total[k];
    }
}

/* Set the derivative of sum_j w_j mean_j in the scores of documents; see soft_positions. */
EXPORT void soft_positions_vjp(i64 n_queries, i64 depth, i64 first, i64 last, double s,
                               const double *f, const double *gain, const i64 *offsets,
                               const double *w, const double *mass, const double *mean,
                               const double *turn, double *slopes) {
    const double near = 1.0 / square_root(REACH * s);
    i64 q = part_of(n_queries + 1, offsets, first);
    for (i64 p = first; p < last;) {
        while (offsets[q + 1] <= p) q++;
        const i64 stop = least(offsets[q + 1], last);
        const i64 end = least(offsets[q + 1], offsets[q] + depth);
        for (i64 next; p < stop; p = next) {
            next = end_of_group(f, near, p, stop);
            const i64 low = first_at_most(f, f[p], near, 1.0, offsets[q], least(p, end));
            const i64 high = first_below(f, f[next - 1], near, -1.0, low, end);
            add_slopes(f, gain, w, s, p, next, end, low, high, mass, mean, turn, slopes);
        }
    }
}

/* Return sum_q factor_q sum_j D_j mean_j; set `slope` to its derivative in each mean. There are
 * `depth` discounts. */
EXPORT double dcg_of_means(i64 n_queries, i64 depth, const i64 *restrict offsets, in discounts,
                           in factor, in mean, out slope) {
    double total = 0.0;
    for (i64 q = 0; q < n_queries; q++) {
        const i64 start = offsets[q], end = least(offsets[q + 1], start + depth);
        double part = 0.0;
        for (i64 j = start; j < end; j++) {
            slope[j] = factor[q] * discounts[j - start];
            part += slope[j] * mean[j];
        }
        for (i64 j = end; j < offsets[q + 1]; j++) slope[j] = 0.0;
        total += part;
    }
    return total;
}

/* Return the weighted sum over queries of 1/R sum_j mean_j Prec@j, see SmoothAP; set its derivative
 * in each mean. */
EXPORT double precision_of_means(i64 n_queries, const i64 *restrict offsets, in gain, in weight,
                                 in mean, out slope) {
    double total = 0.0;
    for (i64 q = 0; q < n_queries; q++) {
        const i64 start = offsets[q], stop = offsets[q + 1];
        double relevant = 0.0, above = 0.0, below = 0.0, part = 0.0;
        for (i64 j = start; j < stop; j++) relevant += gain[j];
        const double scale = relevant > 0.0 ? weight[q] / relevant : 0.0;
        for (i64 j = start; j < stop; j++) {
            above += mean[j];
            slope[j] = above / (double)(j - start + 1);
            part += slope[j] * mean[j];
        }
        for (i64 j = stop - 1; j >= start; j--) {
            below += mean[j] / (double)(j - start + 1);
            slope[j] = scale * (slope[j] + below);
        }
        total += scale * part;
    }
    return total;
}

/* ---- Ranks under Gaussian noise ---------------------------------------------------------- */

#define NOISE_REACH 12.0 /* in units of sigma: the probability of a reversal past it is neglected */
#define LANES 8          /* documents that are left out of a distribution, one each, at once */

/* Coefficients of (x + 3) exp(x^2) erfc(x), for 0 <= x <= 27, as a polynomial in (x - 3) / (x + 3):
 * the even powers, the odd ones. From its Chebyshev series, computed with 60 digits. */
static const double EVEN[] = {
    1.0740069070883398,      0.5902283571040998,     0.11952776128741321,
    -0.0012124166301396258,  -0.0005483096559307059, 0.0001075612327020987,
    -1.7469454615906496e-05, 2.762300995742786e-06,  -4.025242066375213e-07,
    4.0236537548520404e-08,  2.347014984841269e-09,  -1.5672576890530208e-09};
static const double ODD[] = {
    -0.8833944531698837,     -0.31046726190055907,   -0.026827234624762542,  0.0030340620054105294,
    -0.0002767778789471665,  3.0398302166958826e-05, -4.749527221132722e-06, 9.990343471601725e-07,
    -2.3266528411302553e-07, 4.848718965691909e-08,  -6.297504074810963e-09};

typedef struct {
    double tail, bell; /* erfc(x), exp(-x^2) */
} normal_t;

/* Relative errors are below 1e-15 wherever the result is a normal number. */
INLINE normal_t normal(double x) {
    const double size = min(size_of(x), 27.0), square = size * size;

    /* exp(-x^2), with what is lost in the square (Dekker) */
    const double split = 134217729.0 * size, high = split - (split - size), low = size - high;
    const double lost = ((high * high - square) + 2.0 * high * low) + low * low;
    const double e = exponential(-square), bell = e - e * lost;

    const double each = 1.0 / (size + 3.0), t = (size - 3.0) * each, z = t * t;
    double even = EVEN[11], odd = ODD[10];
    for (int k = 10; k >= 0; k--) even = even * z + EVEN[k];
    for (int k = 9; k >= 0; k--) odd = odd * z + ODD[k];
    const double tail = bell * each * (even + t * odd);
    return (normal_t){x < 0.0 ? 2.0 - tail : tail, bell};
}

/* Values of erfc, for the test of its accuracy. */
EXPORT void complementary_errors(i64 n, in x, out y) {
    for (i64 i = 0; i < n; i++) y[i] = normal(x[i]).tail;
}

/* Set p[r], r = 0..n, behind 4 zeros, to the probability that r of n documents are ahead; `beaten`
 * holds that of each, with zeros up to a multiple of 4. `front` has n + 12 entries. */
static void fill_distribution(i64 n, in beaten, out front) {
    double *p = front + 4;
    zero(front, n + 12);
    p[0] = 1.0;
    for (i64 i = 0; i < n; i += 4) {
        /* the distribution of four documents, which is folded with that of those before */
        double of_four[5] = {1.0};
        for (int m = 0; m < 4; m++) {
            const double b = beaten[i + m];
            for (int r = m + 1; r > 0; r--)
                of_four[r] = of_four[r] * (1.0 - b) + of_four[r - 1] * b;
            of_four[0] *= 1.0 - b;
        }
        for (i64 r = i + 4; r >= 0; r -= 4) {
            const four low = of_four[0] * FOUR(p + r) + of_four[1] * FOUR(p + r - 1);
            const four high = of_four[3] * FOUR(p + r - 3) + of_four[4] * FOUR(p + r - 4);
            AS_FOUR(p + r) = low + of_four[2] * FOUR(p + r - 2) + high;
        }
    }
}

/* Set `expected` of up to LANES documents, from m to `stop`, to sum_r q_r drop_r over the ranks
 * below `depth`: q is p without the document, which is ahead with probability beaten[m]. Of the two
 * recursions for q, this is the one for probabilities up to a half. */
static void fill_expected_up(i64 m, i64 stop, i64 depth, in p, in beaten, in drops, out expected) {
    double b[LANES];
    for (int k = 0; k < LANES; k++) b[k] = beaten[least(m + k, stop - 1)];
    const four each = 1.0 / (1.0 - FOUR(b)), other = 1.0 / (1.0 - FOUR(b + 4));
    const four ratio = FOUR(b) * each, other_ratio = FOUR(b + 4) * other;
    four q = {0}, other_q = {0}, total = {0}, other_total = {0};
    for (i64 r = 0; r < depth; r++) {
        q = p[r] * each - ratio * q;
        other_q = p[r] * other - other_ratio * other_q;
        total += q * drops[r];
        other_total += other_q * drops[r];
    }
    for (int k = 0; k < 4 && m + k < stop; k++) expected[m + k] = total[k];
    for (int k = 4; k < LANES && m + k < stop; k++) expected[m + k] = other_total[k - 4];
}

/* The same for probabilities above a half, from the last of n ranks. */
static void fill_expected_down(i64 m, i64 stop, i64 n, i64 depth, in p, in beaten, in drops,
                               out expected) {
    double b[LANES];
    for (int k = 0; k < LANES; k++) b[k] = beaten[least(m + k, stop - 1)];
    const four each = 1.0 / FOUR(b), other = 1.0 / FOUR(b + 4);
    const four ratio = (1.0 - FOUR(b)) * each, other_ratio = (1.0 - FOUR(b + 4)) * other;
    four q = {0}, other_q = {0}, total = {0}, other_total = {0};
    for (i64 r = n - 1; r >= 0; r--) {
        q = p[r + 1] * each - ratio * q;
        other_q = p[r + 1] * other - other_ratio * other_q;
        if (r >= depth) continue;
        total += q * drops[r];
        other_total += other_q * drops[r];
    }
    for (int k = 0; k < 4 && m + k < stop; k++) expected[m + k] = total[k];
    for (int k = 4; k < LANES && m + k < stop; k++) expected[m + k] = other_total[k - 4];
}

/* Number of 8-byte entries of the memory that expected_dcg needs for queries of up to `longest`
 * documents. */
EXPORT i64 work_of_expected_dcg(i64 depth, i64 longest) { return depth + 4 * (longest + 12); }

/* Return sum_i factor G_i E D(r_i) over documents; add its derivative to `slopes`, (n,). There are
 * `depth` discounts. */
EXPORT double expected_dcg(i64 n_queries, i64 depth, i64 longest, i64 first, i64 last, double sigma,
                           const double *f, const double *gain, const i64 *offsets,
                           const double *discounts, const double *factor, double *slopes,
                           double *work) {
    const double near = 1.0 / (NOISE_REACH * sigma), width = 2.0 * sigma;
    const double scale = 1.0 / (width * 1.7724538509055159);
    double *drops = work, *front = drops + depth, *beaten = front + longest + 12;
    double *bells = beaten + longest + 12, *expected = bells + longest + 12;
    for (i64 r = 0; r < depth; r++)
        drops[r] = discounts[r] - (r + 1 < depth ? discounts[r + 1] : 0.0);

    double value = 0.0;
    i64 q = part_of(n_queries + 1, offsets, first);
    for (i64 j = first; j < last; j++) {
        while (offsets[q + 1] <= j) q++;
        const double worth = factor[q] * gain[j];
        const i64 low = first_at_most(f, f[j], near, 1.0, offsets[q], j);
        const i64 high = first_below(f, f[j], near, -1.0, j, offsets[q + 1]);
        const i64 base = low - offsets[q], n = high - low - 1, left = depth - base;
        if (worth == 0.0 || left <= 0) continue;

        /* How likely is each document that noise may put ahead, all but j itself? */
        const i64 padded = up_to_fours(n);
        for (i64 m = 0; m < padded; m++) {
            const i64 i = low + least(m, n - 1);
            beaten[m] = (f[j] - f[i < j ? i : i + 1]) / width;
        }
        for (i64 m = 0; m < padded; m++) {
            const normal_t v = normal(beaten[m]);
            beaten[m] = 0.5 * v.tail, bells[m] = v.bell;
        }
        for (i64 m = n; m < padded; m++) beaten[m] = 0.0;

        /* The value. */
        fill_distribution(n, beaten, front);
        const double *p = front + 4;
        for (i64 r = 0; r < least(n + 1, left); r++) value += worth * p[r] * discounts[base + r];

        /* Its slopes; documents that score more, ahead in more than half of all cases, come first. */
        i64 turn = 0;
        while (turn < n && beaten[turn] > 0.5) turn++;
        for (i64 m = 0; m < turn; m += LANES)
            fill_expected_down(m, turn, n, left, p, beaten, drops + base, expected);
        for (i64 m = turn; m < n; m += LANES)
            fill_expected_up(m, n, least(n, left), p, beaten, drops + base, expected);
        for (i64 m = 0; m < n; m++) {
            const double change = worth * (bells[m] * scale) * expected[m];
            slopes[j] += change;
            slopes[low + m < j ? low + m : low + m + 1] -= change;
        }
    }
    return value;
}

/* ---- Pairs of a better and a worse document ---------------------------------------------- */

enum { LOG_LOSS, MODIFIED_HUBER }; /* losses of a pair, as in pair_kernel.py */
enum { BELL, HINGE, LOGISTIC };    /* slopes of a pair's comparison, likewise */

#define FAR 37.0   /* 1 + exp(-37) is 1 */
#define NEAR 0.001 /* as in pair_kernel.py, with the next one */
#define PAST 1.5
#define WIDE 600.0   /* exp(-600) is a normal number; in wider queries, each row has its own */
#define WIDEST 1e150 /* a distance whose square is finite */
#define LARGEST 1.7976931348623157e308 /* the largest number */
#define MAX_GRADES 128

/* Set `factors` to the weight of each query over its number of pairs of documents of different
 * classes, at least 1. */
EXPORT void over_pairs(i64 n_queries, i64 n_classes, const i64 *restrict segments, in weight,
                       out factors) {
    for (i64 q = 0; q < n_queries; q++) {
        const i64 *ends = segments + q * n_classes;
        i64 n_pairs = 0;
        for (i64 c = 0; c < n_classes; c++)
            n_pairs += (ends[c + 1] - ends[c]) * (ends[c] - ends[0]);
        factors[q] = weight[q] / (double)most(n_pairs, 1);
    }
}

/* Return the sum of max(0, margin - (f_better - f_worse)), or half of the squares, over the better
 * documents; set `slopes` to minus the derivative of the sum over all pairs. Segments are those of
 * queries and classes; for `down`, `squares` and `up` see pair_kernel.py. */
EXPORT double hinge(i64 n_segments, i64 n_classes, i64 squared, i64 first, i64 last, double margin,
                    in f, const i64 *restrict segments, in tops, in bottoms, in down, in squares,
                    in up, in factor, out slopes) {
    double value = 0.0;
    i64 s = part_of(n_segments + 1, segments, first);
    for (i64 i = first; i < last; i++) {
        while (segments[s + 1] <= i) s++;
        const i64 query = s / n_classes;
        const double x = f[i], share = factor[query];
        double push = 0.0;

        /* worse documents that score more than x - margin */
        for (i64 other = query * n_classes; other < s; other++) {
            const i64 start = segments[other], stop = segments[other + 1];
            if (start == stop) continue;
            const i64 turn = first_at_most(f, x - margin, 1.0, 0.0, start, stop);
            const double n = (double)(turn - start), a = margin - x + tops[other];
            const double below = down[other + turn], total = n * a + below;
            push += squared ? total : n;
            if (squared) {
                const double square = n * a * a + 2.0 * a * below + squares[other + turn];
                value += share * 0.5 * max(square, 0.0);
            } else value += share * total;
        }

        /* better documents that score less than x + margin */
        for (i64 other = s + 1; other < (query + 1) * n_classes; other++) {
            const i64 start = segments[other], stop = segments[other + 1];
            if (start == stop) continue;
            const i64 turn = first_below(f, x + margin, 1.0, 0.0, start, stop);
            const double n = (double)(stop - turn);
            push -= squared ? n * (margin + x - bottoms[other]) - up[other + turn] : n;
        }
        slopes[i] = share * push;
    }
    return value;
}

/* Pairs of documents `upper` and `lower`: the margins v and the weights, which are negative if the
 * lower document is the better one; then the losses, and the steps from the lower to the upper. */
typedef struct {
    double margin[RUN], weight[RUN], loss[RUN], step[RUN];
    i64 upper[RUN], lower[RUN];
} pairs_t;

/* Compute losses and steps of n pairs; `kind` is a constant where this is called. */
INLINE void fill_pairs(const i64 kind, i64 n, double steepness, pairs_t *restrict pairs) {
    for (i64 i = 0; i < n; i++) {
        const double v = pairs->margin[i], weight = pairs->weight[i];
        double loss, change;
        if (kind == LOG_LOSS) {
            const double rest = exponential_within(-min(size_of(v), 700.0));
            const double e = size_of(v) <= 2.0 * FAR ? rest : 0.0;
            loss = logarithm_of_1_and(e) + max(-v, 0.0);
            change = (v >= 0.0 ? -e : -1.0) / (1.0 + e);
        } else {
            const double square = (v - 1.0) * (v - 1.0), slope = 2.0 * (v - 1.0);
            loss = v < -1.0 ? -4.0 * v : v <= 1.0 ? square : 0.0;
            change = v < -1.0 ? -4.0 : v <= 1.0 ? slope : 0.0;
        }
        pairs->loss[i] = size_of(weight) * loss;
        pairs->step[i] = weight * change * steepness;
    }
}

/* Add the steps of n pairs to `slopes`, and return the sum of their losses. */
static double add_pairs(i64 kind, i64 n, double steepness, pairs_t *restrict pairs, out slopes) {
    if (kind == LOG_LOSS) fill_pairs(LOG_LOSS, up_to_fours(n), steepness, pairs);
    else fill_pairs(MODIFIED_HUBER, up_to_fours(n), steepness, pairs);
    double total = 0.0, push = 0.0;
    for (i64 i = 0; i < n; i++) {
        total += pairs->loss[i];
        push += pairs->step[i];
        slopes[pairs->lower[i]] += pairs->step[i];
        if (i + 1 == n || pairs->upper[i + 1] != pairs->upper[i]) {
            slopes[pairs->upper[i]] -= push;
            push = 0.0;
        }
    }
    return total;
}

/* Return sum |(G_a - G_b) (D_a - D_b)| phi(steepness v) over pairs whose upper document is among
 * those from `first` to `last`; subtract the derivative from `slopes`, (n,). There are `depth`
 * discounts. */
EXPORT double weighted_pairs(i64 n_queries, i64 depth, i64 kind, i64 first, i64 last,
                             double steepness, const double *f, const double *gain,
                             const i64 *offsets, const double *discounts, const double *factor,
                             double *slopes) {
    double value = 0.0;
    pairs_t pairs = {0};
    i64 n = 0, q = part_of(n_queries + 1, offsets, first);
    for (i64 a = first; a < last; a++) {
        while (offsets[q + 1] <= a) q++;
        const i64 start = offsets[q], stop = offsets[q + 1], position = a - start;
        if (position >= depth || factor[q] == 0.0) continue;
        for (i64 b = a + 1; b < stop;) {
            const i64 end = least(stop, b + RUN - n);
            for (; b < end; b++) {
                const double span = gain[a] - gain[b], sign = span > 0.0 ? 1.0 : -1.0;
                const double below = b - start < depth ? discounts[b - start] : 0.0;
                const double size = size_of(span * (discounts[position] - below));
                pairs.margin[n] = sign * steepness * (f[a] - f[b]);
                pairs.weight[n] = sign * (factor[q] * size);
                pairs.upper[n] = a, pairs.lower[n] = b;
                n += span != 0.0;
            }
            if (n < RUN) continue;
            value += add_pairs(kind, n, steepness, &pairs, slopes);
            n = 0;
        }
    }
    return value + add_pairs(kind, n, steepness, &pairs, slopes);
}

/* Documents of a query by falling score: entries for the longest query, and some more. */
typedef struct {
    double *scores, *x, *e, *gain, *discount, *sums, *curvatures, *keys;
    i64 *places, *ends;
} ranked_t;

/* Return the documents from `start` to `stop` by falling score, ties by rising class, independent of
 * their order. */
static const i64 *worst_first(i64 start, i64 stop, i64 n_classes, const double *scores,
                              const i64 *classes, const ranked_t *r) {
    for (i64 c = 0; c <= n_classes; c++) r->ends[c] = 0;
    for (i64 i = start; i < stop; i++) r->ends[classes[i] + 1]++;
    for (i64 c = 0; c < n_classes; c++) r->ends[c + 1] += r->ends[c];
    for (i64 i = start; i < stop; i++) r->places[r->ends[classes[i]]++] = i;
    sort_places(stop - start, scores, r->places, r->keys);
    return r->places;
}

/* Add the signed lambdas of position p with each position below it, and their curvatures, to its
 * sums and take them from, or add them to, those of the others; return the sum of their sizes.
 * `step` is a constant where this is called. */
INLINE double add_lambdas(const i64 step, i64 p, i64 m, in x, in e, out gain, in discount, out sums,
                          out curvatures) {
    const four_words sign = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    const double top = x[p], scale = 1.0 / e[p], own = gain[p], level = discount[p];
    four pulls = {0}, curves = {0}, sizes = {0};
    for (i64 r = m; r < m + 3; r++) gain[r] = own; /* so that past the last document all is 0 */
    for (i64 r = p + 1; r < m; r += 4) {
        /* one division for three: by 1 + t and by both distances */
        const four far = top - FOUR(x + r), past = far + PAST, distances = (far + NEAR) * past;
        const four t = FOUR(e + r) * scale, beside = 1.0 + t, each = 1.0 / (beside * distances);

        /* the steps of a better and of a worse document p, times 1 + t */
        four better = 2.0 * t, worse = {2.0, 2.0, 2.0, 2.0};
        if (step != LOGISTIC) {
            better *= 2.0 * (each * distances);
            worse = step == HINGE ? beside : better;
        }
        const four span = own - FOUR(gain + r), drop = level - FOUR(discount + r);
        const four_words is_better = span > 0.0;
        const four_words chosen =
            ((four_words)better & is_better) | ((four_words)worse & ~is_better);

        /* the curvature, the size of the lambda, and the lambda with the sign of the span */
        const four curve = (four)((four_words)((four)chosen * span * drop * each) & ~sign);
        const four size = curve * past;
        const four lambda = (four)((four_words)size | ((four_words)span & sign));
        sizes += size;
        pulls += lambda;
        curves += curve;
        AS_FOUR(sums + r) -= lambda;
        AS_FOUR(curvatures + r) += curve;
    }
    sums[p] += SUM(pulls);
    curvatures[p] += SUM(curves);
    return SUM(sizes);
}

/* Set y to x - top, at least -WIDEST, and e to exp(y), at least exp(-WIDE). */
static void fill_exponentials(i64 n, in x, double top, out y, out e) {
    for (i64 r = 0; r < n; r++) {
        y[r] = max(x[r] - top, -WIDEST);
        e[r] = exponential_within(max(y[r], -WIDE));
    }
}

/* Add up the lambdas of the m documents of a query and their curvatures; return the sum of sizes. */
static double add_query(i64 step, i64 m, const ranked_t *r) {
    const int is_wide = r->scores[m - 1] < -WIDE;
    const double *discount = r->discount;
    double *x = r->x, *e = r->e, *gain = r->gain, *sums = r->sums, *curvatures = r->curvatures;
    double total = 0.0;
    for (i64 p = 0; p < m; p++) {
        if (p == 0 || is_wide)
            fill_exponentials(up_to_fours(m + 3 - p), r->scores + p, r->scores[p], x + p, e + p);
        if (step == BELL) total += add_lambdas(BELL, p, m, x, e, gain, discount, sums, curvatures);
        else if (step == HINGE)
            total += add_lambdas(HINGE, p, m, x, e, gain, discount, sums, curvatures);
        else total += add_lambdas(LOGISTIC, p, m, x, e, gain, discount, sums, curvatures);
    }
    return total;
}

/* Number of 8-byte entries of the memory that lambdas needs for queries of up to `longest`
 * documents. */
EXPORT i64 work_of_lambdas(i64 n_classes, i64 longest) {
    return 12 * (longest + 8) + n_classes + 1;
}

/* Set the lambdas of the documents of queries, towards higher scores, and their curvature. `c` are
 * discounts by position. If `damped`, the lambdas of a query that sum to S are scaled to
 * log2(1 + S). */
EXPORT void lambdas(i64 n_classes, i64 longest, i64 step, i64 damped, i64 first, i64 last,
                    double alpha, const double *scores, const i64 *classes, const double *gains,
                    const i64 *offsets, const double *c, const double *factor, double *lambda,
                    double *curvature, double *work) {
    const i64 room = longest + 8;
    i64 *rest = (i64 *)(work + 11 * room);
    const ranked_t r = {work,
                        work + room,
                        work + 2 * room,
                        work + 3 * room,
                        work + 4 * room,
                        work + 5 * room,
                        work + 6 * room,
                        work + 7 * room,
                        rest,
                        rest + room};
    zero(work, 7 * room);
    for (i64 p = 0; p < longest; p++) r.discount[p] = c[p];
    for (i64 q = first; q < last; q++) {
        const i64 start = offsets[q], stop = offsets[q + 1], m = stop - start;
        if (factor[q] == 0.0 || m < 2) {
            for (i64 i = start; i < stop; i++) lambda[i] = curvature[i] = 0.0;
            continue;
        }
        const i64 *order = worst_first(start, stop, n_classes, scores, classes, &r);
        for (i64 p = 0; p < m + 4; p++) {
            const i64 i = order[least(p, m - 1)];
            r.scores[p] = max(alpha * (scores[i] - scores[order[0]]), -LARGEST);
            r.gain[p] = gains[i];
            r.sums[p] = r.curvatures[p] = 0.0;
        }

        double total = add_query(step, m, &r), scale = factor[q];
        if (damped && total > 0.0) {
            total *= 2.0 * factor[q];
            scale *= logarithm(1.0 + total) * ONE_OVER_LN2 / total;
        }
        for (i64 p = 0; p < m; p++) {
            lambda[order[p]] = scale * alpha * r.sums[p];
            curvature[order[p]] = scale * alpha * alpha * r.curvatures[p];
        }
    }
}

/* Add 2 (values_i - values_j - margin) to the slope of i, and take it from that of j, over violating
 * pairs; return the sum of (values_i - values_j - margin)^2. See pair_kernel.py. */
EXPORT double sweep(i64 n_queries, i64 n_grades, double margin, in scores, in values,
                    const int8_t *restrict grades, const i64 *restrict offsets,
                    const i64 *restrict order, out slope) {
    double count[MAX_GRADES], first[MAX_GRADES], second[MAX_GRADES], total = 0.0;
    for (i64 q = 0; q < n_queries; q++) {
        const i64 start = offsets[q], stop = offsets[q + 1];
        if (stop - start < 2) continue;
        double middle = 0.0;
        for (i64 p = start; p < stop; p++) middle += values[p];
        middle /= (double)(stop - start);

        /* Each better document i, and the worse j with scores above f_i - 1: from the top down. */
        zero(count, n_grades), zero(first, n_grades), zero(second, n_grades);
        for (i64 p = stop - 1, end = stop - 1; p >= start; p--) {
            const i64 i = order[p];
            for (; end >= start && scores[order[end]] > scores[i] - 1.0; end--) {
                const i64 j = order[end];
                const double x = values[j] - middle;
                count[grades[j]] += 1.0;
                first[grades[j]] += x;
                second[grades[j]] += x * x;
            }
            const double lack = margin - (values[i] - middle);
            for (i64 g = 0; g < grades[i]; g++) {
                slope[i] -= 2.0 * (count[g] * lack + first[g]);
                total += count[g] * lack * lack + 2.0 * lack * first[g] + second[g];
            }
        }

        /* Each worse document j, and the better i with scores below f_j + 1: from the bottom up. */
        zero(count, n_grades), zero(first, n_grades);
        for (i64 p = start, end = start; p < stop; p++) {
            const i64 j = order[p];
            for (; end < stop && scores[j] > scores[order[end]] - 1.0; end++) {
                const i64 i = order[end];
                count[grades[i]] += 1.0;
                first[grades[i]] += values[i] - middle;
            }
            const double over = margin + values[j] - middle;
            for (i64 g = grades[j] + 1; g < n_grades; g++)
                slope[j] += 2.0 * (count[g] * over - first[g]);
        }
    }
    return total;
}

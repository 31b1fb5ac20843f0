/* The learner: the probability of a verdict, sums over judgements, curves, and steps of a descent.
 *
 * Shapes are those that the Python modules of dcglearn/learning give; tables of grades have an
 * entry for -1, the grade that is not known, in front.
 */
#include "dcglearn.h"

enum { VALUE, SLOPES, CURVATURE };    /* how far derivatives are wanted */
enum { PLAIN, BEYOND, TIE, BETWEEN }; /* kinds of verdict, see kind_of_level */

#define TAIL 40.0 /* |z| beyond which exp(-|z|) is below 1e-17: only the error rate matters there */
#define RUN 120   /* judgements whose derivatives are computed, and then added, at once */
#define GROUP 8   /* points at which differences are computed side by side */
#define BLOCK 32768 /* judgements whose losses are added up before they are added to others' */
#define LEVELS 129  /* strengths are int8 */

/* ---- The probability of a verdict -------------------------------------------------------- */

/* The log probability and, of its loss (minus this), the slopes and second derivatives: in z with
 * z, low, high and e; in low with low, high and e; in high with high and e. That in e twice is the
 * square of the slope. */
typedef struct {
    double log, z, low, high, e, zz, z_low, z_high, ze, ll, lh, le, hh, he;
} verdict_t;

/* A preference among judgements without strengths and ties: Bradley and Terry's sigma(z). */
INLINE verdict_t preference(double z, double e) {
    verdict_t v = {0};
    double fall = exponential_within(-min(size_of(z), 700.0)), ahead = 1.0 / (1.0 + fall);
    double right = z >= 0.0 ? ahead : fall * ahead;
    double chance = e + (1.0 - 2.0 * e) * right;
    v.log = log_with(e > 0.0 ? chance : ahead, 0.0) + (e > 0.0 ? 0.0 : min(z, 0.0));

    double lead = 2.0 * right - 1.0, bell = fall * ahead * ahead / chance;
    v.z = (2.0 * e - 1.0) * bell;
    v.e = lead / chance;
    v.zz = v.z * (v.z - lead);
    v.ze = 2.0 * bell + v.z * v.e;
    return v;
}

/* A preference of the greatest strength, beyond a threshold below 300. */
INLINE verdict_t strong_preference(double z, double low, double e) {
    verdict_t v = {0};
    double x = z - low, y = -z - low;
    double fall = exponential_within(-min(size_of(x), 700.0)), ahead = 1.0 / (1.0 + fall);
    double fall_w = exponential_within(-min(size_of(y), 700.0)), ahead_w = 1.0 / (1.0 + fall_w);
    double right = x >= 0.0 ? ahead : fall * ahead, wrong = y >= 0.0 ? ahead_w : fall_w * ahead_w;
    double chance = (1.0 - e) * right + e * wrong, each = 1.0 / chance;
    v.log = log_with(e > 0.0 ? chance : ahead, 0.0) + (e > 0.0 ? 0.0 : min(x, 0.0));

    double bell = fall * ahead * ahead * each, bell_w = fall_w * ahead_w * ahead_w * each;
    double p = (1.0 - e) * bell, q = e * bell_w;
    double p_bent = p * (1.0 - 2.0 * right), q_bent = q * (1.0 - 2.0 * wrong);
    double g_z = p - q, g_low = -p - q, g_e = (wrong - right) * each;
    v.z = -g_z, v.low = -g_low, v.e = -g_e;
    v.zz = g_z * g_z - p_bent - q_bent;
    v.z_low = g_z * g_low + p_bent - q_bent;
    v.ll = g_low * g_low - p_bent - q_bent;
    v.ze = g_z * g_e + bell + bell_w;
    v.le = g_low * g_e + bell_w - bell;
    return v;
}

/* A tie: sigma(z + low) sigma(low - z) (1 - exp(-2 low)). */
INLINE verdict_t tie(double z, double low) {
    verdict_t v = {0};
    double x = z + low, y = low - z;
    double fall = exponential(-size_of(x)), ahead = 1.0 / (1.0 + fall);
    double fall_w = exponential(-size_of(y)), ahead_w = 1.0 / (1.0 + fall_w);
    double apart = -exponential_less_1(-2.0 * low);
    v.log = logarithm(apart * ahead * ahead_w) + min(x, 0.0) + min(y, 0.0);

    double lack = x >= 0.0 ? fall * ahead : ahead, lack_w = y >= 0.0 ? fall_w * ahead_w : ahead_w;
    double bell = fall * ahead * ahead, bell_w = fall_w * ahead_w * ahead_w;
    double near = 2.0 * (1.0 - apart) / apart;
    v.z = lack_w - lack;
    v.low = -lack - lack_w - near;
    v.zz = bell + bell_w;
    v.z_low = bell - bell_w;
    v.ll = bell + bell_w + near * (near + 2.0);
    return v;
}

typedef struct {
    double log, above, below; /* log sigma(x), sigma(x), sigma(-x) */
} sigma_t;

INLINE sigma_t sigma(double x) {
    double fall = exponential(-size_of(x)), large = 1.0 / (1.0 + fall);
    double log = min(x, 0.0) - logarithm_of_1_and(fall);
    double above = x >= 0.0 ? large : fall * large, below = x >= 0.0 ? fall * large : large;
    return (sigma_t){log, above, below};
}

/* log(sigma(upper) - sigma(lower)), its slopes in both, and its second derivatives. */
typedef struct {
    double log, up, down, uu, ll, ul;
} interval_t;

INLINE interval_t log_interval(double upper, double lower) {
    sigma_t a = sigma(upper), b = sigma(-lower);
    double gap = upper - lower, near = 1.0 / exponential_less_1(gap), both = near * (1.0 + near);
    double log = a.log + b.log + logarithm(-exponential_less_1(-gap));
    double uu = -a.above * a.below - both, ll = -b.below * b.above - both;
    return (interval_t){log, a.below + near, -b.below - near, uu, ll, both};
}

/* A preference whose strength lies between two thresholds. */
INLINE verdict_t between(double z, double low, double high, double e) {
    verdict_t v = {0};
    interval_t r = log_interval(z - low, z - high);
    if (e == 0.0) {
        v.log = r.log;
        v.z = -r.up - r.down, v.low = r.up, v.high = r.down;
        v.zz = -(r.uu + 2.0 * r.ul + r.ll), v.z_low = r.uu + r.ul, v.z_high = r.ul + r.ll;
        v.ll = -r.uu, v.lh = -r.ul, v.hh = -r.ll;
        return v;
    }

    /* With probability e the judge names the other list. */
    interval_t w = log_interval(-z - low, -z - high);
    double larger = max(r.log, w.log);
    double both = (1.0 - e) * exponential(r.log - larger) + e * exponential(w.log - larger);
    v.log = larger + logarithm(both);
    double share = exponential(r.log - v.log), share_w = exponential(w.log - v.log);
    double p = (1.0 - e) * share, q = e * share_w;

    double a = r.up + r.down, b = -w.up - w.down;
    double g_z = p * a + q * b, g_low = -p * r.up - q * w.up;
    double g_high = -p * r.down - q * w.down, g_e = share_w - share;
    v.z = -g_z, v.low = -g_low, v.high = -g_high, v.e = -g_e;
    v.zz =
        g_z * g_z - p * (r.uu + 2.0 * r.ul + r.ll + a * a) - q * (w.uu + 2.0 * w.ul + w.ll + b * b);
    v.z_low = g_z * g_low + p * (r.uu + r.ul + a * r.up) - q * (w.uu + w.ul - b * w.up);
    v.z_high = g_z * g_high + p * (r.ul + r.ll + a * r.down) - q * (w.ul + w.ll - b * w.down);
    v.ze = g_z * g_e - share_w * b + share * a;
    v.ll = g_low * g_low - p * (r.uu + r.up * r.up) - q * (w.uu + w.up * w.up);
    v.lh = g_low * g_high - p * (r.ul + r.up * r.down) - q * (w.ul + w.up * w.down);
    v.le = g_low * g_e + share_w * w.up - share * r.up;
    v.hh = g_high * g_high - p * (r.ll + r.down * r.down) - q * (w.ll + w.down * w.down);
    v.he = g_high * g_e + share_w * w.down - share * r.down;
    return v;
}

/* Which of the functions above serves a level between two thresholds. */
INLINE int kind_of_level(double low, double high, int is_tie) {
    if (is_tie) return TIE;
    if (high < INFINITE || low >= 300.0) return BETWEEN;
    return low == 0.0 ? PLAIN : BEYOND;
}

INLINE verdict_t verdict(int kind, double z, double low, double high, double e) {
    if (kind == PLAIN) return preference(z, e);
    if (kind == BEYOND) return strong_preference(z, low, e);
    if (kind == TIE) return tie(z, low);
    return between(z, low, high, e);
}

/* Log probabilities, slopes, (n, 4), and second derivatives, (n, 9), of verdicts at thresholds. */
EXPORT void verdicts(i64 n, in z, in low, in high, const int8_t *restrict is_tie, in e, out logs,
                     out slopes, out second) {
    for (i64 i = 0; i < n; i++) {
        int kind = kind_of_level(low[i], high[i], is_tie[i]);
        verdict_t v = verdict(kind, z[i], low[i], high[i], e[i]);
        logs[i] = v.log;
        double first[4] = {v.z, v.low, v.high, v.e};
        double twice[9] = {v.zz, v.z_low, v.z_high, v.ze, v.ll, v.lh, v.le, v.hh, v.he};
        for (int x = 0; x < 4; x++) slopes[4 * i + x] = first[x];
        for (int x = 0; x < 9; x++) second[9 * i + x] = twice[x];
    }
}

/* Probabilities of a preference of the first list, a tie and the second list, (n, 3). */
EXPORT void chances(i64 n, in z, double threshold, in errors, out shares) {
    int kind = kind_of_level(threshold, INFINITE, 0);
    for (i64 i = 0; i < n; i++) {
        double first = verdict(kind, z[i], threshold, INFINITE, errors[i]).log;
        double second = verdict(kind, -z[i], threshold, INFINITE, errors[i]).log;
        shares[3 * i] = exponential(first);
        shares[3 * i + 1] = exponential(tie(z[i], threshold).log);
        shares[3 * i + 2] = exponential(second);
    }
}

/* ---- Sums over judgements ---------------------------------------------------------------- */

/* A log: its columns, of which one that does not vary has one entry for all judgements. */
typedef struct {
    i64 depth;
    const int8_t *first, *second, *level, *way;
    const int32_t *rater;
    const double *weight;
    i64 level_varies, rater_varies, weight_varies, way_varies;
} log_t;

/* The derivatives in what is common to the judges, their logit of error and their position bias:
 * once, twice, and in both; and in the power of lengths, the second as far as z is not linear in it.
 */
typedef struct {
    double logit, bias, logit_twice, bias_twice, both, power, power_twice;
} common_t;

/* Memory for one point. Tables and sums by grade have a column for -1; `of_power` has the second
 * derivatives of z in the power and the table, times slopes, `curved` the rows of gains, discounts,
 * power, thresholds, logit and bias. */
typedef struct {
    double *table, *gains, *of_table, *of_power, *of_thresholds, *curved, *far, *u, *products;
} work_t;

/* Memory for a group of points, whose tables and sums by grade, (K, L + 1, GROUP), stand side by
 * side; gains, (GROUP, L + 1), slopes in thresholds, (GROUP, M + 2), and sums of clear judgements,
 * (GROUP, 2 R), behind one another. `slopes`, (RUN, GROUP), are those of a run's judgements. */
typedef struct {
    double *tables, *gains, *of_tables, *of_thresholds, *far, *slopes;
} group_t;

/* Judgements of a run, sorted by level, and their derivatives. */
typedef struct {
    double z[RUN], e[RUN], v[RUN], side[RUN];
    i64 row[RUN], level[RUN];
    double log[RUN], of_z[RUN], of_low[RUN], of_high[RUN], of_e[RUN];
    double zz[RUN], z_low[RUN], z_high[RUN], ze[RUN];
    double ll[RUN], lh[RUN], le[RUN], hh[RUN], he[RUN];
    i64 ends[LEVELS]; /* where each level ends */
} run_t;

/* What is the same for all judgements at one point. `size` counts gains, with that of -1, discounts
 * and the power, `columns` thresholds too. `factors`, GROUP apart, are those of the values of lists
 * with 0 to K results, `logs` the logarithms of these numbers; NULL if all factors are 1. */
typedef struct {
    i64 order, depth, width, size, columns, n_levels, n_judges;
    const double *thresholds, *errors, *biases, *discounts, *factors, *logs;
} point_t;

/* The derivative of an error rate in its logit, and the second over this. */
INLINE double move_of(double e) { return e * (1.0 - e); }
INLINE double turn_of(double e) { return 1.0 - 2.0 * e; }

/* Sum of products in 8 sums, whose order does not depend on the processor's vectors. */
typedef double four __attribute__((vector_size(32), aligned(8)));
INLINE double product(in one, in other, i64 n) {
    four a = {0}, b = {0};
    i64 i = 0;
    for (; i + 8 <= n; i += 8) {
        a += *(const four *)(one + i) * *(const four *)(other + i);
        b += *(const four *)(one + i + 4) * *(const four *)(other + i + 4);
    }
    a += b;
    double total = (a[0] + a[1]) + (a[2] + a[3]);
    for (; i < n; i++) total += one[i] * other[i];
    return total;
}

/* Set the utilities by position and grade, and the gains, with zeros for -1. */
static void set_tables(i64 depth, i64 width, in given, in discounts, out table, out gains) {
    zero(gains, width);
    zero(table, depth * width);
    for (i64 g = 1; g < width; g++) gains[g] = given[g - 1];
    for (i64 k = 0; k < depth; k++)
        for (i64 g = 1; g < width; g++) table[k * width + g] = discounts[k] * gains[g];
}

/* The number of results in a list; places without one hold -1. */
INLINE i64 length_of(const int8_t *restrict list, i64 depth) {
    i64 length = 0;
    for (i64 k = 0; k < depth; k++) length += list[k] >= 0;
    return length;
}

/* Set z, (RUN,), of the judgements from `start` to `stop` at one point. */
INLINE void fill_differences(const log_t *restrict log, const point_t *restrict p, i64 start,
                             i64 stop, in table, out z) {
    const i64 depth = log->depth, width = p->width;
    for (i64 i = start; i < stop; i++) {
        const int8_t *first = log->first + i * depth;
        const int8_t *second = log->second + i * depth;
        double one = 0.0, other = 0.0;
        for (i64 k = 0; k < depth; k++) {
            one += table[k * width + 1 + first[k]];
            other += table[k * width + 1 + second[k]];
        }
        if (p->factors) {
            one *= p->factors[length_of(first, depth) * GROUP];
            other *= p->factors[length_of(second, depth) * GROUP];
        }
        z[i - start] = one - other;
    }
}

/* The same, (GROUP, RUN), at several points, whose tables, (K, L + 1, GROUP), and factors stand side
 * by side. */
INLINE void fill_differences_of_group(const log_t *restrict log, const point_t *restrict p,
                                      i64 start, i64 stop, in tables, out z) {
    const i64 depth = log->depth, width = p->width;
    for (i64 i = start; i < stop; i++) {
        const int8_t *first = log->first + i * depth;
        const int8_t *second = log->second + i * depth;
        four one = {0}, next = {0}, other = {0}, other_next = {0};
        for (i64 k = 0; k < depth; k++) {
            const double *better = tables + (k * width + 1 + first[k]) * GROUP;
            const double *worse = tables + (k * width + 1 + second[k]) * GROUP;
            one += *(const four *)better, next += *(const four *)(better + 4);
            other += *(const four *)worse, other_next += *(const four *)(worse + 4);
        }
        if (p->factors) {
            const double *of_first = p->factors + length_of(first, depth) * GROUP;
            const double *of_second = p->factors + length_of(second, depth) * GROUP;
            one *= *(const four *)of_first, next *= *(const four *)(of_first + 4);
            other *= *(const four *)of_second, other_next *= *(const four *)(of_second + 4);
        }
        one -= other, next -= other_next;
        for (int b = 0; b < 4; b++) {
            z[b * RUN + i - start] = one[b];
            z[(b + 4) * RUN + i - start] = next[b];
        }
    }
}

/* Fill a run with judgements, whose differences are given; return how many. Left out are those so
 * clear that only the error rate matters: their weights are added to `far`, (R, 2). */
INLINE i64 fill_run(const log_t *restrict log, const point_t *restrict p, i64 start, i64 stop,
                    in differences, out far, run_t *restrict run) {
    const int one_level = p->n_levels == 1;
    const double low_of_one = p->thresholds[1];
    i64 m = 0;
    for (i64 i = start; i < stop; i++) {
        double z = differences[i - start], side = 0.0;
        i64 r = log->rater[log->rater_varies ? i : 0];
        if (p->biases) {
            side = log->way[log->way_varies ? i : 0];
            z += side * p->biases[r];
        }
        double v = log->weight[log->weight_varies ? i : 0], e = p->errors[r];
        i64 level = one_level ? 1 : log->level[log->level_varies ? i : 0];
        double low = one_level ? low_of_one : p->thresholds[level > 1 ? level : 1];

        run->z[m] = z, run->e[m] = e, run->v[m] = v, run->side[m] = side;
        run->row[m] = i, run->level[m] = level;
        int open = one_level || (level > 0 && p->thresholds[level + 1] == INFINITE);
        int clear = open && (z > TAIL + low || (z < -TAIL - low && e > 0.0));
        if (clear) far[2 * r + (z > 0.0)] += v;
        else m++;
    }
    return m;
}

/* Sort the m judgements of a run by level, in their order. */
static void sort_by_level(const run_t *restrict given, i64 m, i64 n_levels, run_t *restrict run) {
    i64 places[LEVELS], total = 0;
    for (i64 j = 0; j < n_levels; j++) run->ends[j] = 0;
    for (i64 i = 0; i < m; i++) run->ends[given->level[i]]++;
    for (i64 j = 0; j < n_levels; j++) {
        places[j] = total;
        total += run->ends[j];
        run->ends[j] = total;
    }
    for (i64 i = 0; i < m; i++) {
        i64 at = places[given->level[i]]++;
        run->z[at] = given->z[i], run->e[at] = given->e[i];
        run->v[at] = given->v[i], run->side[at] = given->side[i];
        run->row[at] = given->row[i];
    }
}

/* Set the rows of a run, from `start` to `stop`, sorted by level as those of a point are. */
static void set_order(const log_t *restrict log, i64 start, i64 stop, i64 n_levels,
                      i64 *restrict rows) {
    i64 m = 0;
    if (n_levels == 1 || !log->level_varies)
        for (i64 i = start; i < stop; i++) rows[m++] = i;
    else
        for (i64 j = 0; j < n_levels; j++)
            for (i64 i = start; i < stop; i++)
                if (log->level[i] == j) rows[m++] = i;
}

/* Compute losses and derivatives of the judgements of one level; `kind` and `order` are constants
 * where this is called, so that no loop has a branch. */
INLINE void fill_costs(run_t *restrict run, i64 start, i64 stop, double low, double high,
                       const int kind, const i64 order) {
    for (i64 i = start; i < stop; i++) {
        verdict_t v = verdict(kind, run->z[i], low, high, run->e[i]);
        run->log[i] = v.log;
        if (order == VALUE) continue;
        run->of_z[i] = v.z, run->of_e[i] = v.e;
        if (kind != PLAIN) run->of_low[i] = v.low;
        if (kind == BETWEEN) run->of_high[i] = v.high;

        if (order == SLOPES) continue;
        run->zz[i] = v.zz, run->ze[i] = v.ze;
        if (kind == PLAIN) continue;
        run->z_low[i] = v.z_low, run->ll[i] = v.ll, run->le[i] = v.le;
        if (kind != BETWEEN) continue;
        run->z_high[i] = v.z_high, run->lh[i] = v.lh, run->hh[i] = v.hh, run->he[i] = v.he;
    }
}

INLINE void fill_costs_of_kind(run_t *restrict run, i64 start, i64 stop, double low, double high,
                               int kind, const i64 order) {
    if (kind == PLAIN) fill_costs(run, start, stop, low, high, PLAIN, order);
    else if (kind == BEYOND) fill_costs(run, start, stop, low, high, BEYOND, order);
    else if (kind == TIE) fill_costs(run, start, stop, low, high, TIE, order);
    else fill_costs(run, start, stop, low, high, BETWEEN, order);
}

/* The two lists of a judgement as their lengths matter: factors of their values, logarithms of the
 * lengths and, where these matter, values times factors. Entries of a table are `apart`. */
typedef struct {
    double factor, log, value;
} of_length_t;

INLINE of_length_t of_length(const point_t *restrict p, in table, const i64 apart,
                             const int8_t *restrict list) {
    if (!p->factors) return (of_length_t){1.0, 0.0, 0.0};
    const i64 length = length_of(list, p->depth);
    double value = 0.0;
    for (i64 k = 0; k < p->depth; k++) value += table[(k * p->width + 1 + list[k]) * apart];
    const double factor = p->factors[length * GROUP];
    return (of_length_t){factor, p->logs[length], factor * value};
}

/* Add the slopes of a run's judgements, from `start` to `stop`, at the n points of a group. */
INLINE void add_slopes_of_group(const log_t *restrict log, const point_t *points, i64 n, i64 start,
                                i64 stop, const group_t *g, common_t *restrict commons) {
    const i64 depth = log->depth, width = points->width;
    i64 rows[RUN];
    set_order(log, start, stop, points->n_levels, rows);
    for (i64 at = 0; at < stop - start; at++) {
        const i64 i = rows[at];
        const int8_t *first = log->first + i * depth;
        const int8_t *second = log->second + i * depth;
        const double *slope = g->slopes + (i - start) * GROUP;
        double of_first[GROUP], of_second[GROUP];
        for (int b = 0; b < GROUP; b++) of_first[b] = of_second[b] = slope[b];
        for (i64 b = 0; points->factors && b < n; b++) {
            const of_length_t one = of_length(points + b, g->tables + b, GROUP, first);
            const of_length_t two = of_length(points + b, g->tables + b, GROUP, second);
            of_first[b] *= one.factor, of_second[b] *= two.factor;
            commons[b].power += slope[b] * (two.log * two.value - one.log * one.value);
        }

        const four plus = *(const four *)of_first, plus_next = *(const four *)(of_first + 4);
        const four minus = *(const four *)of_second, minus_next = *(const four *)(of_second + 4);
        for (i64 k = 0; k < depth; k++) {
            double *better = g->of_tables + (k * width + 1 + first[k]) * GROUP;
            double *worse = g->of_tables + (k * width + 1 + second[k]) * GROUP;
            *(four *)better += plus, *(four *)(better + 4) += plus_next;
            *(four *)worse -= minus, *(four *)(worse + 4) -= minus_next;
        }
    }
}

/* Add the slopes of m judgements, and what belongs to judges and the power alone. */
static void add_slopes(const run_t *restrict run, const log_t *restrict log,
                       const point_t *restrict p, i64 m, in table, out of_table, out of_power,
                       common_t *restrict common) {
    for (i64 i = 0; i < m; i++) {
        const i64 row = run->row[i];
        const int8_t *first = log->first + row * p->depth;
        const int8_t *second = log->second + row * p->depth;
        const of_length_t one = of_length(p, table, 1, first);
        const of_length_t two = of_length(p, table, 1, second);
        const double v = run->v[i], side = run->side[i], slope = v * run->of_z[i];
        const double of_first = one.factor * slope, of_second = two.factor * slope;
        for (i64 k = 0; k < p->depth; k++) {
            of_table[k * p->width + first[k] + 1] += of_first;
            of_table[k * p->width + second[k] + 1] -= of_second;
        }
        if (p->factors) {
            for (i64 k = 0; k < p->depth; k++) {
                of_power[k * p->width + first[k] + 1] -= one.log * of_first;
                of_power[k * p->width + second[k] + 1] += two.log * of_second;
            }
            common->power += slope * (two.log * two.value - one.log * one.value);
            common->power_twice +=
                slope * (one.log * one.log * one.value - two.log * two.log * two.value);
        }
        const double e = run->e[i], move = move_of(e), of_logit = move * run->of_e[i];
        common->logit += v * of_logit;
        common->bias += side * slope;
        common->logit_twice += v * (of_logit * of_logit + of_logit * turn_of(e));
        common->bias_twice += side * side * v * run->zz[i];
        common->both += side * v * move * run->ze[i];
    }
}

/* Add the second derivatives of m judgements in gains, discounts, the power and, with these, in the
 * logit and the bias. `u`, (size, RUN), becomes the slopes of z; `products`, (RUN,), is memory. */
static void add_products(const run_t *restrict run, const log_t *restrict log,
                         const point_t *restrict p, i64 m, in table, in gains, out u, out products,
                         out curved) {
    const i64 width = p->width, power = p->size - 1;
    zero(u, width * RUN);
    for (i64 i = 0; i < m; i++) {
        const i64 row = run->row[i];
        const int8_t *first = log->first + row * p->depth;
        const int8_t *second = log->second + row * p->depth;
        const of_length_t one = of_length(p, table, 1, first);
        const of_length_t two = of_length(p, table, 1, second);
        const double of_first = one.factor, of_second = two.factor;
        u[power * RUN + i] = two.log * two.value - one.log * one.value;
        for (i64 k = 0; k < p->depth; k++) {
            i64 better = first[k] + 1, worse = second[k] + 1;
            u[better * RUN + i] += of_first * p->discounts[k];
            u[worse * RUN + i] -= of_second * p->discounts[k];
            u[(width + k) * RUN + i] = of_first * gains[better] - of_second * gains[worse];
        }
    }

    double curvature[RUN], of_logit[RUN], of_bias[RUN];
    for (i64 i = 0; i < m; i++) {
        curvature[i] = run->v[i] * run->zz[i];
        of_logit[i] = run->v[i] * move_of(run->e[i]) * run->ze[i];
        of_bias[i] = run->side[i] * curvature[i];
    }
    double *logit = curved + p->columns * p->columns, *bias = logit + p->columns;
    for (i64 x = 0; x < p->size; x++) {
        if (x == power && !p->factors) continue;
        for (i64 i = 0; i < m; i++) products[i] = curvature[i] * u[x * RUN + i];
        for (i64 y = 0; y <= x; y++)
            curved[x * p->columns + y] += product(products, u + y * RUN, m);
        logit[x] += product(of_logit, u + x * RUN, m);
        if (p->biases) bias[x] += product(of_bias, u + x * RUN, m);
    }
}

/* Add the derivatives of the judgements of one level in its threshold or two. */
static void add_of_thresholds(const run_t *restrict run, const point_t *restrict p, i64 level,
                              i64 start, i64 stop, const int two, in u, out of_thresholds,
                              out curved) {
    for (i64 i = start; i < stop; i++) {
        of_thresholds[level] += run->v[i] * run->of_low[i];
        if (two) of_thresholds[level + 1] += run->v[i] * run->of_high[i];
    }
    if (p->order < CURVATURE) return;

    const i64 n = stop - start, low = p->size + level, high = low + 1, columns = p->columns;
    double *logit = curved + columns * columns, *bias = logit + columns;
    double with_low[RUN], with_high[RUN];
    for (i64 i = start; i < stop; i++) {
        const double moved = run->v[i] * move_of(run->e[i]);
        with_low[i] = run->v[i] * run->z_low[i];
        with_high[i] = two ? run->v[i] * run->z_high[i] : 0.0;
        curved[low * columns + low] += run->v[i] * run->ll[i];
        logit[low] += moved * run->le[i];
        bias[low] += run->side[i] * with_low[i];
        if (!two) continue;
        curved[high * columns + low] += run->v[i] * run->lh[i];
        curved[high * columns + high] += run->v[i] * run->hh[i];
        logit[high] += moved * run->he[i];
        bias[high] += run->side[i] * with_high[i];
    }
    for (i64 x = 0; x < p->size; x++) {
        const double *row = u + x * RUN + start;
        curved[low * columns + x] += product(with_low + start, row, n);
        if (two) curved[high * columns + x] += product(with_high + start, row, n);
    }
}

/* Add judgements so clear that only error rates matter, and forget them. `far`, (R, 2), holds the
 * weights of those that the model contradicts, and of the others. */
static void add_far(const point_t *restrict p, out far, double *loss, common_t *restrict common) {
    for (i64 r = 0; r < p->n_judges; r++)
        for (int side = 0; side < 2; side++) {
            const double e = p->errors[r], rate = side ? 1.0 - e : max(e, 1e-300);
            const double v = far[2 * r + side], of_logit = (side ? e : e - 1.0);
            far[2 * r + side] = 0.0;
            if (v == 0.0) continue;
            *loss -= v * logarithm(rate);
            common->logit += v * of_logit;
            common->logit_twice += v * move_of(e);
        }
}

/* Compute losses and derivatives of a run of m judgements, level by level, which are sorted by this;
 * set `run` to where they are, and return the loss. */
INLINE double fill_all_costs(const point_t *p, i64 m, run_t *filled, run_t *sorted, run_t **at,
                             const i64 order) {
    run_t *run = *at = p->n_levels > 1 ? sorted : filled;
    if (p->n_levels > 1) sort_by_level(filled, m, p->n_levels, sorted);
    for (i64 j = 0, s = 0; j < p->n_levels; j++) {
        const i64 level = p->n_levels == 1 ? 1 : j, t = level > 1 ? level : 1;
        const i64 e = p->n_levels == 1 ? m : run->ends[j];
        const double low = p->thresholds[t], high = p->thresholds[t + 1];
        fill_costs_of_kind(run, s, e, low, high, kind_of_level(low, high, level == 0), order);
        s = e;
    }
    double loss = 0.0;
    for (i64 i = 0; i < m; i++) loss -= run->v[i] * run->log[i];
    return loss;
}

/* Add the derivatives of a run of m judgements in the thresholds of all levels. */
static void add_of_levels(const run_t *run, const point_t *p, i64 m, in u, out of_thresholds,
                          out curved) {
    for (i64 j = 0, s = 0; j < p->n_levels; j++) {
        const i64 level = p->n_levels == 1 ? 1 : j, t = level > 1 ? level : 1;
        const i64 e = p->n_levels == 1 ? m : run->ends[j];
        const double low = p->thresholds[t], high = p->thresholds[t + 1];
        const int kind = kind_of_level(low, high, level == 0);
        if (kind != PLAIN && e > s)
            add_of_thresholds(run, p, t, s, e, kind == BETWEEN, u, of_thresholds, curved);
        s = e;
    }
}

/* Add the judgements of a log from `start` to `stop` with second derivatives at one point; return
 * their loss. */
static double add_at_point(const log_t *log, const point_t *p, i64 start, i64 stop, const work_t *w,
                           common_t *common) {
    run_t filled, sorted, *run;
    double z[RUN], total = 0.0;
    for (i64 block = start; block < stop; block += BLOCK) {
        const i64 end = block + BLOCK < stop ? block + BLOCK : stop;
        double loss = 0.0;
        for (i64 from = block; from < end; from += RUN) {
            const i64 to = from + RUN < end ? from + RUN : end;
            fill_differences(log, p, from, to, w->table, z);
            const i64 m = fill_run(log, p, from, to, z, w->far, &filled);
            loss += fill_all_costs(p, m, &filled, &sorted, &run, CURVATURE);

            add_slopes(run, log, p, m, w->table, w->of_table, w->of_power, common);
            add_products(run, log, p, m, w->table, w->gains, w->u, w->products, w->curved);
            add_of_levels(run, p, m, w->u, w->of_thresholds, w->curved);
        }
        total += loss;
        add_far(p, w->far, &total, common);
    }
    return total;
}

/* Set the losses of the judgements of a log at n points, at most GROUP, and add their slopes if the
 * order has them. */
INLINE void add_at_group(const log_t *log, const point_t *points, i64 n, i64 start, i64 stop,
                         const group_t *g, double *totals, common_t *commons, const i64 order) {
    run_t filled, sorted, *run;
    double z[GROUP * RUN], losses[GROUP];
    const i64 n_thresholds = points->columns - points->size;
    for (i64 b = 0; b < n; b++) totals[b] = 0.0;
    for (i64 block = start; block < stop; block += BLOCK) {
        const i64 end = block + BLOCK < stop ? block + BLOCK : stop;
        for (i64 b = 0; b < n; b++) losses[b] = 0.0;
        for (i64 from = block; from < end; from += RUN) {
            const i64 to = from + RUN < end ? from + RUN : end;
            fill_differences_of_group(log, points, from, to, g->tables, z);
            if (order == SLOPES) zero(g->slopes, RUN * GROUP);
            for (i64 b = 0; b < n; b++) {
                const point_t *p = points + b;
                double *far = g->far + 2 * b * p->n_judges;
                const i64 m = fill_run(log, p, from, to, z + b * RUN, far, &filled);
                losses[b] += fill_all_costs(p, m, &filled, &sorted, &run, order);
                if (order == VALUE) continue;

                for (i64 i = 0; i < m; i++) {
                    const double v = run->v[i], slope = v * run->of_z[i];
                    g->slopes[(run->row[i] - from) * GROUP + b] = slope;
                    commons[b].logit += v * (move_of(run->e[i]) * run->of_e[i]);
                    commons[b].bias += run->side[i] * slope;
                }
                add_of_levels(run, p, m, NULL, g->of_thresholds + b * n_thresholds, NULL);
            }
            if (order == SLOPES) add_slopes_of_group(log, points, n, from, to, g, commons);
        }
        for (i64 b = 0; b < n; b++) {
            totals[b] += losses[b];
            add_far(points + b, g->far + 2 * b * points->n_judges, totals + b, commons + b);
        }
    }
}

/* Write the first derivatives of one point without those of -1, (m,): in L gains, K discounts, the
 * power, thresholds, logit and bias. Sums by grade are `apart`. */
static void write_slopes(const point_t *p, in gains, in of_table, i64 apart, in of_thresholds,
                         const common_t *common, out slopes) {
    const i64 width = p->width, n_grades = width - 1, power = n_grades + p->depth;
    const i64 n_thresholds = p->columns - p->size;
    zero(slopes, p->columns + 1);
    for (i64 k = 0; k < p->depth; k++)
        for (i64 g = 0; g < n_grades; g++) {
            const double slope = of_table[(k * width + g + 1) * apart];
            slopes[g] += p->discounts[k] * slope;
            slopes[n_grades + k] += gains[g + 1] * slope;
        }
    slopes[power] = common->power;
    for (i64 t = 0; t < n_thresholds; t++) slopes[power + 1 + t] = of_thresholds[t];
    slopes[power + n_thresholds + 1] = common->logit;
    slopes[power + n_thresholds + 2] = common->bias;
}

/* Write the second derivatives of one point, (m, m), in the same. */
static void write_joint(const point_t *p, const work_t *w, const common_t *common, out joint) {
    const i64 width = p->width, n_grades = width - 1, columns = p->columns, m = columns + 1;
    const i64 power = n_grades + p->depth, logit = m - 2, bias = m - 1;
    for (i64 x = 1; x < columns + 2; x++)
        for (i64 y = 1; y <= (x < columns ? x : columns - 1); y++)
            joint[(x - 1) * m + y - 1] = joint[(y - 1) * m + x - 1] = w->curved[x * columns + y];
    joint[logit * m + logit] = common->logit_twice, joint[bias * m + bias] = common->bias_twice;
    joint[logit * m + bias] = joint[bias * m + logit] = common->both;

    /* z is a product of gains, discounts and factors. */
    joint[power * m + power] += common->power_twice;
    for (i64 k = 0; k < p->depth; k++)
        for (i64 g = 0; g < n_grades; g++) {
            const double slope = w->of_table[k * width + g + 1];
            joint[(n_grades + k) * m + g] += slope;
            joint[g * m + n_grades + k] += slope;
            if (!p->factors) continue;
            const double turn = w->of_power[k * width + g + 1];
            joint[power * m + g] += p->discounts[k] * turn;
            joint[power * m + n_grades + k] += w->gains[g + 1] * turn;
        }
    for (i64 x = 0; x < power; x++) joint[x * m + power] = joint[power * m + x];
}

/* Number of 8-byte entries of the memory that add_judgements needs. */
EXPORT i64 work_of_judgements(i64 depth, i64 n_grades, i64 n_thresholds, i64 n_judges) {
    i64 width = n_grades + 1, size = width + depth + 1, columns = size + n_thresholds;
    return (3 + 2 * GROUP) * depth * width + (1 + GROUP) * (width + n_thresholds) +
           (columns + 2) * columns + 2 * GROUP * n_judges + (size + 1 + GROUP) * RUN +
           (GROUP + 1) * (depth + 1);
}

/* Set the losses of judgements at B points, and their derivatives up to an order.
 *
 * The columns of the log are those of Pairs, with an entry for each judgement or, if they do not
 * vary, one for all.
 * Gains have shape (B, L), discounts (B, K); the values of lists with n results count n^-p times, p
 * being `powers`, (B,), or 0 where this is NULL; thresholds have shape (B, M + 2), error rates
 * (B, R), and position biases (B, R), or NULL. `memory` is set to loss, (B,), and, with slopes,
 * slopes, (B, m), and, with curvature, joint, (B, m, m), one behind another; see LossSums. What is
 * behind these is work_of_judgements. */
EXPORT void add_judgements(i64 start, i64 stop, i64 level_varies, i64 rater_varies,
                           i64 weight_varies, i64 way_varies, i64 n, i64 depth, i64 n_grades,
                           i64 n_thresholds, i64 n_judges, i64 order, const int8_t *first,
                           const int8_t *second, const int8_t *level, const int32_t *rater,
                           const double *weight, const int8_t *way, const double *gains,
                           const double *discounts, const double *powers, const double *thresholds,
                           const double *errors, const double *biases, double *memory) {
    const log_t all = {depth,  first,        second,       level,         way,       rater,
                       weight, level_varies, rater_varies, weight_varies, way_varies},
                *log = &all;
    const i64 width = n_grades + 1, size = width + depth + 1;
    const i64 columns = size + n_thresholds, m = columns + 1;

    /* Where each sum stands, and each piece of memory. */
    double *sums = memory, *slopes = sums + n, *joint = slopes + n * m;
    i64 n_sums = n;
    if (order > VALUE) n_sums += n * m;
    if (order == CURVATURE) n_sums += n * m * m;
    work_t w;
    w.table = memory + n_sums, w.gains = w.table + depth * width;
    w.of_table = w.gains + width, w.of_power = w.of_table + depth * width;
    w.of_thresholds = w.of_power + depth * width;
    w.curved = w.of_thresholds + n_thresholds, w.far = w.curved + (columns + 2) * columns;
    w.u = w.far + 2 * GROUP * n_judges, w.products = w.u + size * RUN;
    group_t g = {.tables = w.products + RUN, .far = w.far};
    g.of_tables = g.tables + GROUP * depth * width;
    g.gains = g.of_tables + GROUP * depth * width, g.of_thresholds = g.gains + GROUP * width;
    g.slopes = g.of_thresholds + GROUP * n_thresholds;
    double *factors = g.slopes + GROUP * RUN, *logs = factors + GROUP * (depth + 1);
    for (i64 k = 0; k <= depth; k++) logs[k] = k ? logarithm((double)k) : 0.0;
    for (i64 x = 0; x < GROUP * (depth + 1); x++) factors[x] = 1.0;
    zero(w.far, 2 * GROUP * n_judges);
    zero(g.tables, GROUP * depth * width);

    point_t points[GROUP];
    common_t commons[GROUP];
    for (i64 b = 0; b < n; b++) {
        const i64 place = b % GROUP;
        point_t *p = points + place;
        *p = (point_t){.order = order, .depth = depth, .width = width, .size = size};
        p->columns = columns, p->n_judges = n_judges;
        if (powers) {
            p->factors = factors + place, p->logs = logs;
            for (i64 k = 1; k <= depth; k++)
                factors[k * GROUP + place] = exponential(-powers[b] * logs[k]);
        }
        p->thresholds = thresholds + b * n_thresholds;
        p->errors = errors + b * n_judges;
        p->biases = biases ? biases + b * n_judges : NULL;
        p->discounts = discounts + b * depth;
        p->n_levels = n_thresholds == 3 && p->thresholds[1] == 0.0 ? 1 : n_thresholds - 1;
        double *own_gains = order == CURVATURE ? w.gains : g.gains + place * width;
        set_tables(depth, width, gains + b * n_grades, p->discounts, w.table, own_gains);
        commons[place] = (common_t){0};

        if (order == CURVATURE) {
            zero(w.of_table, depth * width);
            zero(w.of_power, depth * width);
            zero(w.of_thresholds, n_thresholds);
            zero(w.curved, (columns + 2) * columns);
            sums[b] = add_at_point(log, p, start, stop, &w, commons + place);
            write_slopes(p, w.gains, w.of_table, 1, w.of_thresholds, commons + place,
                         slopes + b * m);
            write_joint(p, &w, commons + place, joint + b * m * m);
            continue;
        }

        /* Values and slopes: a group of points at once. */
        for (i64 x = 0; x < depth * width; x++) g.tables[x * GROUP + place] = w.table[x];
        if (place < GROUP - 1 && b < n - 1) continue;
        const i64 begin = b - place, held = place + 1;
        if (order == VALUE) {
            add_at_group(log, points, held, start, stop, &g, sums + begin, commons, VALUE);
            continue;
        }
        zero(g.of_tables, GROUP * depth * width);
        zero(g.of_thresholds, GROUP * n_thresholds);
        add_at_group(log, points, held, start, stop, &g, sums + begin, commons, SLOPES);
        for (i64 c = 0; c < held; c++)
            write_slopes(points + c, g.gains + c * width, g.of_tables + c, GROUP,
                         g.of_thresholds + c * n_thresholds, commons + c, slopes + (begin + c) * m);
    }
}

/* ---- Curves: points, what the prior charges, and derivatives ----------------------------- */

/* How many of each kind of parameter there are: alpha, delta with the log sharpness, logits of
 * error, gains of empty places, logits of powers, position biases, threshold steps; then the first
 * threshold that is a parameter, whether discounts fall by exp(delta), or by delta of either sign,
 * and which grade is worth nothing, L for an empty place. */
typedef struct {
    i64 alpha, falls, error, empty, power, bias, rises, first, falling, zero;
} layout_t;

/* Where the gain of an empty place stands among the parameters, then the power and the bias. */
static i64 place_of_empty(const layout_t *l) { return l->alpha + l->falls + l->error; }
static i64 place_of_power(const layout_t *l) { return place_of_empty(l) + l->empty; }
static i64 place_of_bias(const layout_t *l) { return place_of_power(l) + l->power; }

/* By how much the log of a discount falls, and its derivative in delta. */
static double fall_of(const layout_t *l, double delta) {
    return l->falling ? exponential(delta) : delta;
}
static double growth_of(const layout_t *l, double delta) {
    return l->falling ? exponential(delta) : 1.0;
}

/* Set gains, (B, L), discounts times sharpness, (B, K), powers, (B,), thresholds, (B, M + 2), error
 * rates and position biases, (B, R), of B points with p parameters each. Judges' deviations from the
 * common logit and bias, (R,) each, are given. What is no parameter stays as it is. */
EXPORT void fill_points(const layout_t *restrict l, i64 n, i64 p, i64 n_gains, i64 n_thresholds,
                        i64 n_judges, in thetas, in own_logits, in own_biases, out gains,
                        out discounts, out powers, out thresholds, out errors, out biases) {
    const i64 sharp = l->alpha + l->falls - 1, bias = place_of_bias(l), rise = bias + l->bias;
    for (i64 b = 0; b < n; b++) {
        const double *theta = thetas + b * p;

        /* Gains rise by 1, and what is worth nothing has none. */
        double *g = gains + b * n_gains, total = 0.0;
        for (i64 j = 0; j < l->alpha; j++) g[j + 1] = exponential(theta[j]);
        for (i64 j = 0; j < l->alpha; j++) g[j + 1] = total += g[j + 1];
        for (i64 j = 0; j <= l->alpha; j++) g[j] /= total;
        const double nothing = l->empty ? theta[place_of_empty(l)] : g[l->zero];
        for (i64 j = 0; j <= l->alpha; j++) g[j] -= nothing;
        if (l->power) powers[b] = 1.0 / (1.0 + exponential(-theta[place_of_power(l)]));

        /* Discounts sum to the sharpness. */
        double *d = discounts + b * l->falls, fallen = 0.0;
        total = 0.0;
        for (i64 k = 1; k < l->falls; k++) d[k] = fall_of(l, theta[l->alpha + k - 1]);
        for (i64 k = 1; k < l->falls; k++) d[k] = fallen -= d[k];
        for (i64 k = 1; k < l->falls; k++) d[k] = exponential(d[k]);
        d[0] = 1.0;
        for (i64 k = 0; k < l->falls; k++) total += d[k];
        double size = exponential(theta[sharp]) / total;
        for (i64 k = 0; k < l->falls; k++) d[k] *= size;

        /* Judges. */
        for (i64 r = 0; r < n_judges; r++) {
            double logit = l->error ? theta[sharp + 1] + own_logits[r] : 0.0;
            if (l->error) errors[b * n_judges + r] = 1.0 / (1.0 + exponential(-logit));
            if (l->bias) biases[b * n_judges + r] = theta[bias] + own_biases[r];
        }
        total = 0.0;
        for (i64 j = 0; j < l->rises; j++) {
            total += exponential(theta[rise + j]);
            thresholds[b * n_thresholds + l->first + j] = total;
        }
    }
}

/* Add a factor times the outer product of a row with itself. */
INLINE void add_square(i64 p, in row, double factor, out hessian) {
    for (i64 x = 0; x < p; x++) {
        if (row[x] == 0.0) continue;
        for (i64 y = 0; y < p; y++) hessian[x * p + y] += factor * row[x] * row[y];
    }
}

/* Add a prior at B points, with derivatives, to values, (B,), gradients, (B, p), and, if it is
 * `curved`, Hessians, (B, p, p). `linear`, (q, p), are the linear functions that it charges, less
 * `centres`, (q,): the first are the bends of the gains, then come others up to `n_bends`, and all
 * else is charged by half its square. `work` has q + p entries. */
EXPORT void add_prior(i64 n, i64 p, i64 n_linear, i64 n_of_gains, i64 n_bends, i64 curved,
                      double ridge, double freedom, double knee, in linear, in centres, in thetas,
                      out values, out gradients, out hessians, out work) {
    double *root = work, *pulled = work + n_linear;
    for (i64 b = 0; b < n; b++) {
        const double *theta = thetas + b * p;
        double *gradient = gradients + b * p, *hessian = hessians + (curved ? b * p * p : 0);

        /* The bends of each curve have one ridge, which is not known. */
        for (i64 first = 0; first < n_bends;) {
            const i64 last = first < n_of_gains ? n_of_gains : n_bends;
            double bent = 0.0;
            zero(pulled, p);
            for (i64 q = first; q < last; q++) {
                double bend = product(linear + q * p, theta, p) - centres[q];
                root[q] = square_root(1.0 + bend * bend / (knee * knee));
                bent += knee * knee * (root[q] - 1.0);
                const double pull = bend / root[q];
                for (i64 x = 0; x < p; x++) pulled[x] += pull * linear[q * p + x];
            }
            const double strength = freedom + (double)(last - first), room = freedom + ridge * bent;
            const double learned = strength * ridge / room;
            values[b] += strength * logarithm(room / freedom);
            for (i64 x = 0; x < p; x++) gradient[x] += learned * pulled[x];
            if (curved) add_square(p, pulled, -learned * ridge / room, hessian);
            for (; first < last; first++) {
                if (!curved) continue;
                double cubed = root[first] * root[first] * root[first];
                add_square(p, linear + first * p, learned / cubed, hessian);
            }
        }

        for (i64 q = n_bends; q < n_linear; q++) {
            const double *row = linear + q * p;
            double slope = product(row, theta, p) - centres[q];
            values[b] += 0.5 * slope * slope;
            for (i64 x = 0; x < p; x++) gradient[x] += slope * row[x];
            if (curved) add_square(p, row, 1.0, hessian);
        }
    }
}

/* Set the Jacobian, (m, d), of gains, discounts, the power, thresholds and the judges' logit and bias
 * in the d parameters, zero so far, the share of the discounts beyond each position, and the derivative of
 * each fall in its parameter. */
static void fill_jacobian(const layout_t *restrict l, i64 m, i64 d, in theta, in gains,
                          in discounts, out beyond, out growth, out jacobian) {
    const i64 n_gains = l->alpha + 1, sharp = l->alpha + l->falls - 1;
    for (i64 j = 0; j < l->alpha; j++)
        for (i64 g = 0; g <= l->alpha; g++) {
            double above = gains[g] - (l->empty ? gains[0] : gains[l->zero]);
            double ahead = (g > j) - (l->empty ? 0 : l->zero > j);
            jacobian[g * d + j] = (gains[j + 1] - gains[j]) * (ahead - above);
        }
    for (i64 g = 0; g <= (l->empty ? l->alpha : -1); g++)
        jacobian[g * d + place_of_empty(l)] = -1.0;
    if (l->power) {
        double p = 1.0 / (1.0 + exponential(-theta[place_of_power(l)]));
        jacobian[(n_gains + l->falls) * d + place_of_power(l)] = move_of(p);
    }

    double size = exponential(theta[sharp]); /* the sum of the discounts */
    beyond[l->falls - 1] = 0.0;
    for (i64 k = l->falls - 1; k >= 0; k--) {
        growth[k] = k < l->falls - 1 ? growth_of(l, theta[l->alpha + k]) : 1.0;
        for (i64 r = 0; r < l->falls; r++) {
            double fallen = k < l->falls - 1 ? (r > k) - beyond[k] : -1.0;
            jacobian[(n_gains + r) * d + l->alpha + k] = -discounts[r] * growth[k] * fallen;
        }
        if (k) beyond[k - 1] = beyond[k] + discounts[k] / size;
    }

    for (i64 j = 0; j < l->rises; j++) /* threshold j moves with every step up to j */
        for (i64 i = n_gains + l->falls + 1 + l->first + j; i < m - 3; i++)
            jacobian[i * d + d - l->rises + j] = exponential(theta[d - l->rises + j]);
    if (l->error) jacobian[(m - 2) * d + sharp + 1] = 1.0;
    if (l->bias) jacobian[(m - 1) * d + place_of_bias(l)] = 1.0;
}

/* Add the loss's slopes in the parameters times the curvature of what they make. */
static void add_curvature_of_curves(const layout_t *restrict l, i64 d, in theta, in gains,
                                    in beyond, in growth, in slope, out dense) {
    const i64 n_alpha = l->alpha, sharp = n_alpha + l->falls - 1;
    for (i64 x = 0; x < d; x++) {
        for (i64 y = 0; y < d; y++) {
            i64 low = x < y ? x : y, high = x < y ? y : x;
            double *at = dense + x * d + y;
            if (high < n_alpha) { /* the steps of the gains are shares */
                *at -= slope[x] * (gains[y + 1] - gains[y]);
                *at -= slope[y] * (gains[x + 1] - gains[x]);
            } else if (n_alpha <= low && high < sharp) { /* and so are the discounts */
                i64 k = x - n_alpha, j = y - n_alpha;
                *at += beyond[k] * growth[k] * slope[y] + beyond[j] * growth[j] * slope[x];
                *at -= growth[low - n_alpha] * slope[high];
            } else if (n_alpha <= low && high == sharp) *at += slope[low];
        }
        i64 is_log = x < n_alpha || (l->falling && x < sharp);
        if (is_log || x >= place_of_bias(l) + l->bias) dense[x * d + x] += slope[x];
    }
    if (l->power) {
        const i64 x = place_of_power(l);
        dense[x * d + x] += slope[x] * turn_of(1.0 / (1.0 + exponential(-theta[x])));
    }
}

/* Number of 8-byte entries of the memory that add_in_parameters needs. */
EXPORT i64 work_of_parameters(i64 depth, i64 d, i64 m) { return 2 * m * d + d + 2 * depth; }

/* Add derivatives of a loss at B points, times `share`, to gradients, (B, d), and, where there
 * are `joints`, to `dense`, (B, d, d).
 *
 * `slopes`, (B, m), and `joints`, (B, m, m) or NULL, are those in gains, discounts, the power,
 * thresholds and, last, the judges' logit of error and position bias. */
EXPORT void add_in_parameters(const layout_t *l, i64 n, i64 d, i64 m, i64 n_gains, double share,
                              const double *thetas, const double *gains, const double *discounts,
                              const double *slopes, const double *joints, double *gradients,
                              double *dense, double *work) {
    double *bent = work, *own = bent + m * d, *slope = own + m * d, *beyond = slope + d;
    double *growth = beyond + l->falls;
    zero(own, m * d);
    for (i64 b = 0; b < n; b++) {
        fill_jacobian(l, m, d, thetas + b * d, gains + b * n_gains, discounts + b * l->falls,
                      beyond, growth, own);
        for (i64 x = 0; x < d; x++) {
            double total = 0.0;
            for (i64 z = 0; z < m; z++) total += share * slopes[b * m + z] * own[z * d + x];
            slope[x] = total;
            gradients[b * d + x] += total;
        }
        if (!joints) continue;

        const double *joint = joints + b * m * m;
        double *hessian = dense + b * d * d;
        for (i64 z = 0; z < m; z++) {
            double *row = bent + z * d;
            zero(row, d);
            for (i64 x = 0; x < m; x++) {
                if (joint[z * m + x] == 0.0) continue;
                for (i64 y = 0; y < d; y++) row[y] += share * joint[z * m + x] * own[x * d + y];
            }
            for (i64 x = 0; x < d; x++) {
                if (own[z * d + x] == 0.0) continue;
                for (i64 y = 0; y < d; y++) hessian[x * d + y] += own[z * d + x] * row[y];
            }
        }
        add_curvature_of_curves(l, d, thetas + b * d, gains + b * n_gains, beyond, growth, slope,
                                hessian);
    }
}

/* ---- Steps of a descent ------------------------------------------------------------------ */

/* Set row n of `factor`, (d + 1, d), to the minimum of a damped quadratic in its n `free` entries,
 * by Cholesky's factors; return 0 if it has none. */
static int solved(i64 n, i64 d, in gradient, in hessian, double damp, in step, out factor,
                  const i64 *restrict free) {
    for (i64 i = 0; i <= n; i++)
        for (i64 j = 0; j < (i < n ? i + 1 : n); j++) {
            const double *row = hessian + free[j] * d;
            double total = i < n ? row[free[i]] : -gradient[free[j]];
            for (i64 y = 0; y < (i < n ? 0 : d); y++) total -= row[y] * step[y];
            if (i == j) total += damp;

            double least = 1e-14 * size_of(total);
            for (i64 k = 0; k < j; k++) total -= factor[i * d + k] * factor[j * d + k];
            if (i > j) factor[i * d + j] = total / factor[j * d + j];
            else if (total > least) factor[i * d + i] = square_root(total);
            else return 0;
        }

    double *last = factor + n * d;
    for (i64 i = n - 1; i >= 0; i--) {
        for (i64 k = i + 1; k < n; k++) last[i] -= factor[k * d + i] * last[k];
        last[i] /= factor[i * d + i];
    }
    return 1;
}

/* Set `step` to about the damped quadratic's minimum within bounds; return its largest entry,
 * infinity if there is none. */
static double bounded(i64 d, const double *gradient, const double *hessian, double damp,
                      const double *low, const double *high, double *step, double *factor,
                      i64 *free) {
    i64 n = 0;
    for (i64 x = 0; x < d; x++) {
        step[x] = 0.0;
        if ((gradient[x] > 0.0 ? low[x] : high[x]) != 0.0) free[n++] = x;
    }

    /* Entries that would leave the bounds end there, and the others are found again. */
    for (i64 kept = -1; kept != n;) {
        if (kept >= 0) n = kept;
        if (!solved(n, d, gradient, hessian, damp, step, factor, free)) return INFINITE;
        kept = 0;
        for (i64 i = 0; i < n; i++) {
            i64 x = free[i];
            double want = factor[n * d + i], end = min(max(want, low[x]), high[x]);
            if (end == want) free[kept++] = x;
            else step[x] = end;
        }
    }

    for (i64 i = 0; i < n; i++) step[free[i]] = factor[n * d + i];
    double length = 0.0, fall = 0.0;
    for (i64 x = 0; x < d; x++) {
        double slope = gradient[x];
        length = max(length, size_of(step[x]));
        for (i64 y = 0; y < d; y++) slope += 0.5 * hessian[x * d + y] * step[y];
        fall -= slope * step[x];
    }
    return fall >= 0.0 ? length : INFINITE;
}

/* Set `steps`, (B, d), to the step to the minimum of each of B quadratics, that is damped until it
 * keeps to the radius. `work` has (d + 1) d entries, `free` d. */
EXPORT void dense_steps(i64 n, i64 d, const double *gradients, const double *hessians,
                        const double *low, const double *high, const double *radii,
                        double *dampings, double *steps, double *work, i64 *free) {
    for (i64 b = 0; b < n; b++) {
        const double *gradient = gradients + b * d, *hessian = hessians + b * d * d;
        double *step = steps + b * d, largest = 1e-300;
        for (i64 x = 0; x < d; x++) largest = max(largest, size_of(hessian[x * d + x]));

        const double least = 1e-7 * largest;
        double damp = 0.0, below = 0.0, above = INFINITE;
        while (damp < 1e30 * largest) {
            double length =
                bounded(d, gradient, hessian, damp, low + b * d, high + b * d, step, work, free);
            if (length > radii[b]) below = damp;
            else {
                above = damp;
                if (damp <= least || length > 0.6 * radii[b] || damp < 1.2 * below) break;
            }
            if (damp == 0.0) damp = max(dampings[b], least);
            else if (above == INFINITE) damp *= 4.0;
            else if (below == 0.0) damp *= 0.25;
            else damp = square_root(below * above);
        }
        dampings[b] = damp;
        if (above == INFINITE) zero(step, d);
    }
}

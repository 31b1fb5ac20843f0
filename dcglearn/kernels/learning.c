/* The learner: the probability of a verdict, sums over judgements, curves, and steps of a descent.
 *
 * Shapes are those that the Python modules of dcglearn/learning give; tables of grades have an
 * entry for -1, the grade that is not known, in front.
 */
#include "dcglearn.h"

enum { LIKELIHOOD, SIGMOID };         /* losses, as in judgement_kernel.py */
enum { VALUE, SLOPES, CURVATURE };    /* how far derivatives are wanted */
enum { PLAIN, BEYOND, TIE, BETWEEN }; /* kinds of verdict, see kind_of_level */

#define TAIL 40.0 /* |z| beyond which exp(-|z|) is below 1e-17: only the error rate matters there */
#define RUN 120   /* judgements whose derivatives are computed, and then added, at once */
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
    double fall = exponential(-min(size_of(z), 700.0)), ahead = 1.0 / (1.0 + fall);
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
    double fall = exponential(-min(size_of(x), 700.0)), ahead = 1.0 / (1.0 + fall);
    double fall_w = exponential(-min(size_of(y), 700.0)), ahead_w = 1.0 / (1.0 + fall_w);
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

/* The loss, in place of the log probability, with the derivatives of a verdict. */
INLINE verdict_t cost(i64 loss, int kind, double z, double low, double high, double e) {
    if (loss == LIKELIHOOD) {
        verdict_t v = verdict(kind, z, low, high, e);
        v.log = -v.log;
        return v;
    }
    verdict_t v = {0};
    sigma_t s = sigma(z);
    v.log = s.below;
    v.z = size_of(z) < TAIL ? -s.below * s.above : 0.0;
    v.zz = v.z * (s.below - s.above);
    return v;
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

/* Log probabilities of preferences of the first list, and their slopes in z and the error rate. */
EXPORT void log_chances(i64 n, in z, double error, out logs, out of_z, out of_error) {
    for (i64 i = 0; i < n; i++) {
        verdict_t v = preference(z[i], error);
        logs[i] = v.log, of_z[i] = -v.z, of_error[i] = -v.e;
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

/* A log: addresses of its columns, as numbers of 8 bytes on every platform. Where `varies` is 0,
 * a column has one entry for all judgements. */
typedef struct {
    i64 depth, first, second, level, rater, weight, way;
    i64 level_varies, rater_varies, weight_varies, way_varies;
} log_t;

#define INT8S(address) ((const int8_t *)(intptr_t)(address))
#define INT32S(address) ((const int32_t *)(intptr_t)(address))
#define DOUBLES(address) ((const double *)(intptr_t)(address))

/* B points: gains, (B, L), discounts, (B, K), or in their place `weights`, (B, K, L); thresholds,
 * (B, M + 2); judges, (B, J), J = R or 2 R: error rates and then position biases. */
typedef struct {
    i64 n, n_grades, n_thresholds, n_judges, n_free;
    const double *gains, *discounts, *weights, *thresholds, *judges;
} points_t;

/* What is added up, one array behind another; see LossSums. */
typedef struct {
    double *loss, *moment, *thresholds, *judges, *joint, *crossed, *judges_twice, *coupled;
} sums_t;

/* Memory for one point. Tables and sums by grade have a column for -1, `curved` has the rows of
 * gains, discounts, thresholds and judges. */
typedef struct {
    double *table, *gains, *of_table, *curved, *far, *u, *products;
} work_t;

/* Judgements of a run, sorted by level, and their derivatives. */
typedef struct {
    double z[RUN], e[RUN], v[RUN], side[RUN];
    i64 judge[RUN], row[RUN], level[RUN];
    double log[RUN], of_z[RUN], of_low[RUN], of_high[RUN], of_e[RUN];
    double zz[RUN], z_low[RUN], z_high[RUN], ze[RUN];
    double ll[RUN], lh[RUN], le[RUN], hh[RUN], he[RUN];
    i64 ends[LEVELS]; /* where each level ends */
} run_t;

/* What is the same for all judgements at one point. `size` counts gains, with that of -1, and
 * discounts, `columns` thresholds too, `rows` judges too. */
typedef struct {
    i64 loss, order, depth, width, size, columns, rows, n_levels, n_judges, n_free;
    const double *thresholds, *judges, *discounts;
} point_t;

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
static void set_tables(const points_t *p, i64 b, i64 depth, i64 width, out table, out gains) {
    i64 n_grades = p->n_grades;
    zero(gains, width);
    zero(table, depth * width);
    if (p->weights) {
        for (i64 k = 0; k < depth; k++)
            for (i64 g = 0; g < n_grades; g++)
                table[k * width + g + 1] = p->weights[(b * depth + k) * n_grades + g];
        return;
    }
    for (i64 g = 0; g < n_grades; g++) gains[g + 1] = p->gains[b * n_grades + g];
    for (i64 k = 0; k < depth; k++)
        for (i64 g = 1; g < width; g++)
            table[k * width + g] = p->discounts[b * depth + k] * gains[g];
}

/* Fill a run with judgements; return how many. Left out are those so clear that only the error rate
 * matters: their weights are added to `far`, (R, 2). */
INLINE i64 fill_run(const log_t *restrict log, const point_t *restrict p, i64 start, i64 stop,
                    in table, out far, run_t *restrict run) {
    const i64 depth = p->depth, width = p->width, n_judges = p->n_judges;
    const int sided = p->n_free != n_judges, one_level = p->n_levels == 1;
    const double low_of_one = p->thresholds[1];
    i64 m = 0;
    for (i64 i = start; i < stop; i++) {
        const int8_t *first = INT8S(log->first) + i * depth;
        const int8_t *second = INT8S(log->second) + i * depth;
        double z = 0.0, side = 0.0;
        for (i64 k = 0; k < depth; k++)
            z += table[k * width + 1 + first[k]] - table[k * width + 1 + second[k]];
        i64 r = INT32S(log->rater)[log->rater_varies ? i : 0];
        if (sided) {
            side = INT8S(log->way)[log->way_varies ? i : 0];
            z += side * p->judges[n_judges + r];
        }
        double v = DOUBLES(log->weight)[log->weight_varies ? i : 0], e = p->judges[r];
        i64 level = one_level ? 1 : INT8S(log->level)[log->level_varies ? i : 0];
        double low = one_level ? low_of_one : p->thresholds[level > 1 ? level : 1];

        run->z[m] = z, run->e[m] = e, run->v[m] = v, run->side[m] = side;
        run->judge[m] = r, run->row[m] = i, run->level[m] = level;
        int open = one_level || (level > 0 && p->thresholds[level + 1] == INFINITE);
        int clear =
            p->loss == LIKELIHOOD && open && (z > TAIL + low || (z < -TAIL - low && e > 0.0));
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
        run->judge[at] = given->judge[i], run->row[at] = given->row[i];
    }
}

/* Compute losses and derivatives of the judgements of one level; `loss`, `kind` and `order` are
 * constants where this is called, so that no loop has a branch. */
INLINE void fill_costs(run_t *restrict run, i64 start, i64 stop, double low, double high,
                       const i64 loss, const int kind, const i64 order) {
    for (i64 i = start; i < stop; i++) {
        verdict_t v = cost(loss, kind, run->z[i], low, high, run->e[i]);
        run->log[i] = v.log;
        if (order == VALUE) continue;
        run->of_z[i] = v.z, run->of_e[i] = v.e;
        run->zz[i] = v.zz, run->ze[i] = v.ze;
        if (loss == SIGMOID || kind == PLAIN) continue;
        run->of_low[i] = v.low, run->z_low[i] = v.z_low, run->ll[i] = v.ll, run->le[i] = v.le;
        if (kind != BETWEEN) continue;
        run->of_high[i] = v.high, run->z_high[i] = v.z_high;
        run->lh[i] = v.lh, run->hh[i] = v.hh, run->he[i] = v.he;
    }
}

INLINE void fill_costs_of_kind(run_t *restrict run, i64 start, i64 stop, double low, double high,
                               i64 loss, int kind, const i64 order) {
    if (loss == SIGMOID) fill_costs(run, start, stop, low, high, SIGMOID, PLAIN, order);
    else if (kind == PLAIN) fill_costs(run, start, stop, low, high, LIKELIHOOD, PLAIN, order);
    else if (kind == BEYOND) fill_costs(run, start, stop, low, high, LIKELIHOOD, BEYOND, order);
    else if (kind == TIE) fill_costs(run, start, stop, low, high, LIKELIHOOD, TIE, order);
    else fill_costs(run, start, stop, low, high, LIKELIHOOD, BETWEEN, order);
}

/* Add the slopes, and squares of those, of m judgements. */
static void add_slopes(const run_t *restrict run, const log_t *restrict log,
                       const point_t *restrict p, i64 m, out of_table, out of_judges, out twice,
                       out coupled) {
    for (i64 i = 0; i < m; i++) {
        const int8_t *first = INT8S(log->first) + run->row[i] * p->depth;
        const int8_t *second = INT8S(log->second) + run->row[i] * p->depth;
        const double v = run->v[i], side = run->side[i], slope = v * run->of_z[i];
        const i64 r = run->judge[i];
        for (i64 k = 0; k < p->depth; k++) {
            of_table[k * p->width + first[k] + 1] += slope;
            of_table[k * p->width + second[k] + 1] -= slope;
        }
        of_judges[r] += v * run->of_e[i];
        if (side != 0.0) of_judges[p->n_judges + r] += side * slope;
        if (p->order < CURVATURE) continue;

        twice[r] += v * run->of_e[i] * run->of_e[i];
        if (side != 0.0) {
            twice[p->n_judges + r] += v * run->zz[i];
            coupled[r] += side * v * run->ze[i];
        }
    }
}

/* Add the second derivatives of m judgements in gains, discounts and, with these, in judges. `u`,
 * (size, RUN), becomes the slopes of z; `products`, (RUN + size,), is memory. */
static void add_products(const run_t *restrict run, const log_t *restrict log,
                         const point_t *restrict p, i64 m, in gains, out u, out products,
                         out curved) {
    const i64 width = p->width;
    zero(u, width * RUN);
    for (i64 i = 0; i < m; i++) {
        const int8_t *first = INT8S(log->first) + run->row[i] * p->depth;
        const int8_t *second = INT8S(log->second) + run->row[i] * p->depth;
        for (i64 k = 0; k < p->depth; k++) {
            i64 better = first[k] + 1, worse = second[k] + 1;
            u[better * RUN + i] += p->discounts[k];
            u[worse * RUN + i] -= p->discounts[k];
            u[(width + k) * RUN + i] = gains[better] - gains[worse];
        }
    }

    double curvature[RUN], of_error[RUN], of_bias[RUN];
    for (i64 i = 0; i < m; i++) {
        curvature[i] = run->v[i] * run->zz[i];
        of_error[i] = run->v[i] * run->ze[i];
        of_bias[i] = run->side[i] * curvature[i];
    }
    for (i64 x = 0; x < p->size; x++) {
        for (i64 i = 0; i < m; i++) products[i] = curvature[i] * u[x * RUN + i];
        for (i64 y = 0; y <= x; y++)
            curved[x * p->columns + y] += product(products, u + y * RUN, m);
    }

    /* Rows of judges: a judgement at a time where there are several. */
    const int sided = p->n_free != p->n_judges;
    double *errors = curved + p->columns * p->columns, *biases = errors + p->n_judges * p->columns;
    if (p->n_judges == 1) {
        for (i64 x = 0; x < p->size; x++) {
            errors[x] += product(of_error, u + x * RUN, m);
            if (sided) biases[x] += product(of_bias, u + x * RUN, m);
        }
        return;
    }
    for (i64 i = 0; i < m; i++) {
        double *error = errors + run->judge[i] * p->columns;
        double *bias = biases + run->judge[i] * p->columns;
        for (i64 x = 0; x < p->size; x++) products[x] = u[x * RUN + i];
        for (i64 x = 0; x < p->size; x++) error[x] += of_error[i] * products[x];
        for (i64 x = 0; x < (sided ? p->size : 0); x++) bias[x] += of_bias[i] * products[x];
    }
}

/* Add the derivatives of the judgements of one level in its threshold or two. */
static void add_of_thresholds(const run_t *restrict run, const point_t *restrict p, i64 level,
                              i64 start, i64 stop, const int two, in u, out of_thresholds,
                              out curved) {
    const i64 n = stop - start, low = p->size + level, high = low + 1, columns = p->columns;
    double with_low[RUN], with_high[RUN];
    for (i64 i = start; i < stop; i++) {
        of_thresholds[level] += run->v[i] * run->of_low[i];
        if (two) of_thresholds[level + 1] += run->v[i] * run->of_high[i];
        if (p->order < CURVATURE) continue;

        with_low[i] = run->v[i] * run->z_low[i];
        with_high[i] = two ? run->v[i] * run->z_high[i] : 0.0;
        curved[low * columns + low] += run->v[i] * run->ll[i];
        double *error = curved + (columns + run->judge[i]) * columns;
        error[low] += run->v[i] * run->le[i];
        if (two) {
            curved[high * columns + low] += run->v[i] * run->lh[i];
            curved[high * columns + high] += run->v[i] * run->hh[i];
            error[high] += run->v[i] * run->he[i];
        }
        if (run->side[i] != 0.0) {
            double *bias = error + p->n_judges * columns;
            bias[low] += run->side[i] * with_low[i];
            if (two) bias[high] += run->side[i] * with_high[i];
        }
    }
    for (i64 x = 0; x < (p->order < CURVATURE ? 0 : p->size); x++) {
        const double *row = u + x * RUN + start;
        curved[low * columns + x] += product(with_low + start, row, n);
        if (two) curved[high * columns + x] += product(with_high + start, row, n);
    }
}

/* Add judgements so clear that only error rates matter, and forget them. `far`, (R, 2), holds the
 * weights of those that the model contradicts, and of the others. */
static void add_far(i64 n_judges, i64 order, in errors, out far, double *loss, out of_errors,
                    out twice) {
    for (i64 r = 0; r < n_judges; r++)
        for (int side = 0; side < 2; side++) {
            double rate = side ? 1.0 - errors[r] : max(errors[r], 1e-300);
            double sign = side ? -1.0 : 1.0, v = far[2 * r + side];
            far[2 * r + side] = 0.0;
            if (v == 0.0) continue;
            *loss -= v * logarithm(rate);
            if (order > VALUE) of_errors[r] -= sign * v / rate;
            if (order == CURVATURE) twice[r] += v / (rate * rate);
        }
}

/* Add the judgements of a log from `start` to `stop` at one point; return their loss. */
INLINE double add_at_point(const log_t *log, const point_t *p, i64 start, i64 stop, const work_t *w,
                           double *of_thresholds, double *of_judges, double *twice, double *coupled,
                           const i64 order) {
    run_t filled, sorted, *run = &filled;
    double total = 0.0;
    for (i64 block = start; block < stop; block += BLOCK) {
        const i64 end = block + BLOCK < stop ? block + BLOCK : stop;
        double loss = 0.0;
        for (i64 from = block; from < end; from += RUN) {
            /* Collect a run of judgements. */
            i64 m = fill_run(log, p, from, from + RUN < end ? from + RUN : end, w->table, w->far,
                             &filled);
            if (p->n_levels > 1) {
                sort_by_level(&filled, m, p->n_levels, &sorted);
                run = &sorted;
            }

            /* Compute their losses and derivatives, level by level. */
            for (i64 j = 0, s = 0; j < p->n_levels; j++) {
                const i64 level = p->n_levels == 1 ? 1 : j, t = level > 1 ? level : 1;
                const i64 e = p->n_levels == 1 ? m : run->ends[j];
                const double low = p->thresholds[t], high = p->thresholds[t + 1];
                fill_costs_of_kind(run, s, e, low, high, p->loss,
                                   kind_of_level(low, high, level == 0), order);
                s = e;
            }
            for (i64 i = 0; i < m; i++) loss += run->v[i] * run->log[i];
            if (order == VALUE) continue;

            /* Add them. */
            add_slopes(run, log, p, m, w->of_table, of_judges, twice, coupled);
            if (order == CURVATURE)
                add_products(run, log, p, m, w->gains, w->u, w->products, w->curved);
            for (i64 j = 0, s = 0; j < p->n_levels && p->loss != SIGMOID; j++) {
                const i64 level = p->n_levels == 1 ? 1 : j, t = level > 1 ? level : 1;
                const i64 e = p->n_levels == 1 ? m : run->ends[j];
                const double low = p->thresholds[t], high = p->thresholds[t + 1];
                const int kind = kind_of_level(low, high, level == 0);
                if (kind != PLAIN && e > s)
                    add_of_thresholds(run, p, t, s, e, kind == BETWEEN, w->u, of_thresholds,
                                      w->curved);
                s = e;
            }
        }
        total += loss;
        add_far(p->n_judges, order, p->judges, w->far, &total, of_judges, twice);
    }
    return total;
}

/* Write the sums by grade and the second derivatives of one point without those of -1. */
static void write_known(const point_t *p, const work_t *w, out moment, out joint, out crossed) {
    const i64 width = p->width, columns = p->columns, m = columns - 1;
    for (i64 k = 0; k < p->depth; k++)
        for (i64 g = 1; g < width; g++)
            moment[k * (width - 1) + g - 1] = w->of_table[k * width + g];
    if (p->order < CURVATURE) return;
    for (i64 x = 1; x < columns; x++)
        for (i64 y = 1; y <= x; y++)
            joint[(x - 1) * m + y - 1] = joint[(y - 1) * m + x - 1] = w->curved[x * columns + y];
    for (i64 r = columns; r < p->rows; r++)
        for (i64 y = 1; y < columns; y++)
            crossed[(r - columns) * m + y - 1] = w->curved[r * columns + y];
}

/* Number of 8-byte entries of the memory that add_judgements needs. */
EXPORT i64 work_of_judgements(i64 depth, i64 n_grades, i64 n_thresholds, i64 n_judges, i64 n_free) {
    i64 width = n_grades + 1, size = width + depth, columns = size + n_thresholds;
    return 2 * depth * width + width + (columns + n_free) * columns + 2 * n_judges + size * RUN +
           RUN + size;
}

/* Set the losses of judgements at B points, and their derivatives up to an order.
 *
 * `memory` is set to loss, (B,), and, with slopes, moment, (B, K, L), thresholds, (B, M + 2), judges,
 * (B, J), and, with curvature, joint, (B, m, m), crossed, (B, J, m), judges_twice, (B, J), coupled,
 * (B, J - R), one behind another; see LossSums. What is behind these is work_of_judgements. Second
 * derivatives need gains and discounts. */
EXPORT void add_judgements(const log_t *log, i64 start, i64 stop, i64 n, i64 n_grades,
                           i64 n_thresholds, i64 n_judges, i64 n_free, i64 loss, i64 order,
                           const double *gains, const double *discounts, const double *weights,
                           const double *thresholds, const double *judges, double *memory) {
    const i64 depth = log->depth, width = n_grades + 1, size = width + depth;
    const i64 columns = size + n_thresholds, rows = columns + n_free, m = columns - 1;
    const points_t points = {n,     n_grades,  n_thresholds, n_judges,   n_free,
                             gains, discounts, weights,      thresholds, judges};

    /* Where each sum stands, and each piece of memory. */
    double *sums = memory, *moment = sums + n, *of_thresholds = moment + n * depth * n_grades;
    double *of_judges = of_thresholds + n * n_thresholds, *joint = of_judges + n * n_free;
    double *crossed = joint + n * m * m, *twice = crossed + n * n_free * m;
    double *coupled = twice + n * n_free;
    i64 n_sums = n;
    if (order > VALUE) n_sums += n * (depth * n_grades + n_thresholds + n_free);
    if (order == CURVATURE) n_sums += n * (m * m + n_free * m + 2 * n_free - n_judges);
    work_t w;
    w.table = memory + n_sums, w.gains = w.table + depth * width;
    w.of_table = w.gains + width, w.curved = w.of_table + depth * width;
    w.far = w.curved + rows * columns, w.u = w.far + 2 * n_judges;
    w.products = w.u + size * RUN;
    zero(w.far, 2 * n_judges);
    if (order > VALUE) zero(of_thresholds, n * (n_thresholds + n_free));
    if (order == CURVATURE) zero(twice, n * (2 * n_free - n_judges));

    for (i64 b = 0; b < n; b++) {
        point_t p = {loss, order,    depth,  width, size, columns, rows,
                     0,    n_judges, n_free, NULL,  NULL, NULL};
        p.thresholds = thresholds + b * n_thresholds;
        p.judges = judges + b * n_free;
        p.discounts = discounts ? discounts + b * depth : NULL;
        int plain =
            loss == SIGMOID || (loss == LIKELIHOOD && n_thresholds == 3 && p.thresholds[1] == 0.0);
        p.n_levels = plain ? 1 : n_thresholds - 1;
        set_tables(&points, b, depth, width, w.table, w.gains);
        zero(w.of_table, depth * width);
        if (order == CURVATURE) zero(w.curved, rows * columns);

        double *own_t = of_thresholds + b * n_thresholds, *own_j = of_judges + b * n_free;
        double *own_twice = twice + b * n_free, *own_coupled = coupled + b * (n_free - n_judges);
        if (order == VALUE)
            sums[b] =
                add_at_point(log, &p, start, stop, &w, own_t, own_j, own_twice, own_coupled, VALUE);
        else if (order == SLOPES)
            sums[b] = add_at_point(log, &p, start, stop, &w, own_t, own_j, own_twice, own_coupled,
                                   SLOPES);
        else
            sums[b] = add_at_point(log, &p, start, stop, &w, own_t, own_j, own_twice, own_coupled,
                                   CURVATURE);
        if (order > VALUE)
            write_known(&p, &w, moment + b * depth * n_grades, joint + b * m * m,
                        crossed + b * n_free * m);
    }
}

/* ---- Values of lists --------------------------------------------------------------------- */

/* Set the values of m lists, (m, K), at B points, (B, m); tables have shape (B, L + 1). */
EXPORT void fill_values(i64 n, i64 n_lists, i64 depth, i64 width, const int8_t *restrict lists,
                        in gains, in discounts, out values) {
    for (i64 b = 0; b < n; b++)
        for (i64 i = 0; i < n_lists; i++) {
            double total = 0.0;
            for (i64 k = 0; k < depth; k++) {
                i64 grade = lists[i * depth + k] + 1;
                total += discounts[b * depth + k] * gains[b * width + grade];
            }
            values[b * n_lists + i] = total;
        }
}

/* Add slopes in the values of m lists, (B, m), to those in what a unit of discount times gain adds
 * for every grade at every position, `moment`, (B, K, L + 1). */
EXPORT void spread_slopes(i64 n, i64 n_lists, i64 depth, i64 width, const int8_t *restrict lists,
                          in slopes, out moment) {
    for (i64 b = 0; b < n; b++)
        for (i64 i = 0; i < n_lists; i++) {
            double slope = slopes[b * n_lists + i];
            for (i64 k = 0; k < depth; k++)
                moment[(b * depth + k) * width + lists[i * depth + k] + 1] += slope;
        }
}

/* Set the slopes of a DCG's values in its gains and discounts, (B, m, L + K), zero so far. */
EXPORT void fill_factors(i64 n, i64 n_lists, i64 depth, i64 width, const int8_t *restrict lists,
                         in gains, in discounts, out factors) {
    const i64 n_grades = width - 1, size = n_grades + depth;
    for (i64 b = 0; b < n; b++)
        for (i64 i = 0; i < n_lists; i++)
            for (i64 k = 0; k < depth; k++) {
                i64 grade = lists[i * depth + k];
                double *own = factors + (b * n_lists + i) * size;
                if (grade < 0) continue;
                own[grade] += discounts[b * depth + k];
                own[n_grades + k] = gains[b * width + grade + 1];
            }
}

/* ---- Curves: points, what the prior charges, and derivatives ----------------------------- */

/* How many of each kind of parameter there are: alpha, delta with the log sharpness, logits of
 * error, gains of empty places, position biases, threshold steps; then the first threshold that is
 * a parameter, the number of deviations of judges' logits, which follow, and whether discounts fall
 * by exp(delta), or by delta of either sign. */
typedef struct {
    i64 alpha, falls, error, empty, bias, rises, first, judges, falling;
} layout_t;

/* By how much the log of a discount falls, and its derivative in delta. */
static double fall_of(const layout_t *l, double delta) {
    return l->falling ? exponential(delta) : delta;
}
static double growth_of(const layout_t *l, double delta) {
    return l->falling ? exponential(delta) : 1.0;
}

/* Set gains, (B, L), discounts times sharpness, (B, K), thresholds, (B, M + 2), and error rates,
 * (B, R), of B points with p parameters each. What is no parameter stays as it is. */
EXPORT void fill_points(const layout_t *restrict l, i64 n, i64 p, i64 n_gains, i64 n_thresholds,
                        i64 n_judges, in thetas, out gains, out discounts, out thresholds,
                        out errors) {
    const i64 sharp = l->alpha + l->falls - 1;
    const i64 judges = sharp + 1 + l->error + l->empty + l->bias + l->rises;
    for (i64 b = 0; b < n; b++) {
        const double *theta = thetas + b * p;

        /* Gains rise from 0 to 1. */
        double *g = gains + b * n_gains, total = 0.0;
        for (i64 j = 0; j < l->alpha; j++) g[j + 1] = total += exponential(theta[j]);
        for (i64 j = 0; j <= l->alpha; j++) g[j] /= total;
        for (i64 j = 0; j < l->empty; j++) g[l->alpha + 1 + j] = theta[sharp + 1 + l->error + j];

        /* Discounts sum to the sharpness. */
        double *d = discounts + b * l->falls, fallen = 0.0;
        total = 0.0;
        for (i64 k = 0; k < l->falls; k++) {
            d[k] = exponential(-fallen);
            total += d[k];
            if (k < l->falls - 1) fallen += fall_of(l, theta[l->alpha + k]);
        }
        double size = exponential(theta[sharp]) / total;
        for (i64 k = 0; k < l->falls; k++) d[k] *= size;

        /* Judges. */
        for (i64 r = 0; r < (l->error ? n_judges : 0); r++) {
            double logit = theta[sharp + 1] + (l->judges ? theta[judges + r] : 0.0);
            errors[b * n_judges + r] = 1.0 / (1.0 + exponential(-logit));
        }
        total = 0.0;
        for (i64 j = 0; j < l->rises; j++) {
            total += exponential(theta[judges - l->rises + j]);
            thresholds[b * n_thresholds + l->first + j] = total;
        }
    }
}

/* Add a CurvePrior at B points, with derivatives, to values, (B,), gradients, (B, p), and Hessians
 * of the first d parameters, (B, d, d). `linear`, (q, d), are the linear functions that it charges,
 * of which the first are curvatures, less `centre`. */
EXPORT void add_prior(i64 n, i64 p, i64 d, i64 n_linear, i64 n_centre, double ridge, double knee,
                      in linear, in centre, in precision, in pull, in thetas, out values,
                      out gradients, out dense) {
    for (i64 b = 0; b < n; b++) {
        const double *theta = thetas + b * p;
        double *gradient = gradients + b * p, *hessian = dense + b * d * d;
        for (i64 x = 0; x < p; x++) {
            values[b] += (0.5 * precision[x] * theta[x] - pull[x]) * theta[x];
            gradient[x] += precision[x] * theta[x] - pull[x];
        }
        for (i64 x = 0; x < d; x++) hessian[x * d + x] += precision[x];

        for (i64 q = 0; q < n_linear; q++) {
            const double *row = linear + q * d;
            double slope = 0.0, curvature = 1.0;
            for (i64 x = 0; x < d; x++) slope += row[x] * theta[x];
            if (q < n_centre) { /* a smooth Huber loss */
                slope -= centre[q];
                double root = square_root(1.0 + slope * slope / (knee * knee));
                values[b] += ridge * knee * knee * (root - 1.0);
                curvature = ridge / (root * root * root);
                slope = ridge * slope / root;
            } else values[b] += 0.5 * slope * slope;
            for (i64 x = 0; x < d; x++) {
                if (row[x] == 0.0) continue;
                gradient[x] += slope * row[x];
                for (i64 y = 0; y < d; y++) hessian[x * d + y] += curvature * row[x] * row[y];
            }
        }
    }
}

/* Set the Jacobian, (m, d), of gains, discounts, thresholds and the judges' common two in the first
 * d parameters, zero so far, the share of the discounts beyond each position, and the derivative of
 * each fall in its parameter. */
static void fill_jacobian(const layout_t *restrict l, i64 m, i64 d, in theta, in gains,
                          in discounts, out beyond, out growth, out jacobian) {
    const i64 n_gains = l->alpha + 1 + l->empty, sharp = l->alpha + l->falls - 1;
    for (i64 j = 0; j < l->alpha; j++)
        for (i64 g = 0; g <= l->alpha; g++)
            jacobian[g * d + j] = (gains[j + 1] - gains[j]) * ((g > j) - gains[g]);
    for (i64 j = 0; j < l->empty; j++)
        jacobian[(l->alpha + 1 + j) * d + sharp + 1 + l->error + j] = 1.0;

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
        for (i64 i = n_gains + l->falls + l->first + j; i < m - l->error - l->bias - 1; i++)
            jacobian[i * d + d - l->rises + j] = exponential(theta[d - l->rises + j]);
    if (l->error) jacobian[(m - l->bias - 1) * d + sharp + 1] = 1.0;
    if (l->bias) jacobian[(m - 1) * d + sharp + 1 + l->error + l->empty] = 1.0;
}

/* Add the loss's slopes in the parameters times the curvature of what they make. */
static void add_curvature_of_curves(const layout_t *restrict l, i64 d, in gains, in beyond,
                                    in growth, in slope, out dense) {
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
        if (is_log || x > sharp + l->error + l->empty + l->bias) dense[x * d + x] += slope[x];
    }
}

/* Number of 8-byte entries of the memory that add_in_parameters needs. */
EXPORT i64 work_of_parameters(i64 depth, i64 d, i64 m) { return 2 * m * d + d + 2 * depth; }

/* Add derivatives of a loss at B points, times `share`, to gradients, (B, p), and `dense`, (B, d, d).
 *
 * `slopes`, (B, m), and `joints`, (B, m, m) or NULL, are those in gains, discounts, thresholds and,
 * last, the judges' common logit of error and position bias, where the layout has them. `jacobian`,
 * (B, m, d), is set to that of these m in the first d parameters. */
EXPORT void add_in_parameters(const layout_t *l, i64 n, i64 p, i64 d, i64 m, i64 n_gains,
                              double share, const double *thetas, const double *gains,
                              const double *discounts, const double *slopes, const double *joints,
                              double *jacobian, double *gradients, double *dense, double *work) {
    double *bent = work, *slope = bent + m * d, *beyond = slope + d, *growth = beyond + l->falls;
    zero(jacobian, n * m * d);
    for (i64 b = 0; b < n; b++) {
        double *own = jacobian + b * m * d, *hessian = dense + b * d * d;
        fill_jacobian(l, m, d, thetas + b * p, gains + b * n_gains, discounts + b * l->falls,
                      beyond, growth, own);
        for (i64 x = 0; x < d; x++) {
            double total = 0.0;
            for (i64 z = 0; z < m; z++) total += share * slopes[b * m + z] * own[z * d + x];
            slope[x] = total;
            gradients[b * p + x] += total;
        }
        if (!joints) continue;

        const double *joint = joints + b * m * m;
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
        add_curvature_of_curves(l, d, gains + b * n_gains, beyond, growth, slope, hessian);
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

/* Set `steps`, the first d of c columns, to the step to the minimum of each of B quadratics, that is
 * damped until it keeps to the radius. Gradients have p columns, of which the first d count. `work`
 * has (d + 1) d entries, `free` d. */
EXPORT void dense_steps(i64 n, i64 p, i64 d, i64 columns, const double *gradients,
                        const double *hessians, const double *low, const double *high,
                        const double *radii, double *dampings, double *steps, double *work,
                        i64 *free) {
    for (i64 b = 0; b < n; b++) {
        const double *gradient = gradients + b * p, *hessian = hessians + b * d * d;
        double *step = steps + b * columns, largest = 1e-300;
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

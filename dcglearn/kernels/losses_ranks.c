/* Soft ranks of documents and smoothed hinge ranks by class; see rank_kernel.py and class_kernel.py
 * of dcglearn/losses.
 *
 * Documents are sorted by falling score within segments, whose ends have shape (S + 1,). Sums over
 * documents, or over the points that stand for them, are computed for four scores at once.
 */
#include "dcglearn.h"

#define NODES 32    /* Chebyshev points of a box */
#define BOX 4.0     /* largest range of scores in a box, in units of 1 / alpha */
#define BLOCK 200.0 /* the same of a block, in which ratios of exponentials do not overflow */
#define FAR 37.0    /* half-width of the window: 1 + exp(-37) is 1 */
#define SPAN 16.0   /* largest range of four scores whose sums are computed at once */
#define MANY 128    /* documents of a box that is always replaced by points */
#define LONG 200    /* documents of a segment whose smaller boxes may be replaced too, */
#define SHARE 4     /* if that takes away 1 / SHARE of its documents */
#define PIECE 256   /* documents whose values at the scores are computed before they are used */

/* ---- Four numbers at once ---------------------------------------------------------------- */

/* They are used as four separate numbers: the processor's vectors do not matter. */
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t four_masks __attribute__((vector_size(32), aligned(8)));

static const four ONES = {1.0, 1.0, 1.0, 1.0};

INLINE four four_at(const double *a) { return *(const four *)a; }
INLINE void put_four(double *a, four x) { *(four *)a = x; }
INLINE four all(double x) { return (four){x, x, x, x}; }

/* The numbers of x where a <= b (or a > b), elsewhere 0. */
INLINE four where_up_to(four a, four b, four x) {
    return (four)((four_masks)(a <= b) & (four_masks)x);
}
INLINE four where_above(four a, four b, four x) {
    return (four)((four_masks)(a > b) & (four_masks)x);
}

/* The sum of n / (1 + t) over four terms, t <= exp(60), with one division. */
INLINE four quotients(const four *t, const four *n) {
    const four a = ONES + t[0], b = ONES + t[1], c = ONES + t[2], d = ONES + t[3];
    const four ab = a * b, cd = c * d;
    return ((n[0] * b + n[1] * a) * cd + (n[2] * d + n[3] * c) * ab) / (ab * cd);
}

/* The sum of n t / (1 + t)^2 over four terms, t <= exp(60), with two divisions. One alone takes more
 * multiplications, and large n could overflow. */
INLINE four bells(const four *t, const four *n) {
    const four a = ONES + t[0], b = ONES + t[1], c = ONES + t[2], d = ONES + t[3];
    const four of_ab = (t[0] * n[0]) * (b * b) + (t[1] * n[1]) * (a * a), ab = a * b;
    const four of_cd = (t[2] * n[2]) * (d * d) + (t[3] * n[3]) * (c * c), cd = c * d;
    return of_ab / (ab * ab) + of_cd / (cd * cd);
}

/* Set t to t / (1 + t)^2, for four terms, with two divisions. */
INLINE void bell(four *t) {
    const four a = ONES + t[0], b = ONES + t[1], c = ONES + t[2], d = ONES + t[3];
    const four of_ab = ONES / (a * b), of_cd = ONES / (c * d);
    const four y[4] = {of_ab * b, of_ab * a, of_cd * d, of_cd * c};
    for (int i = 0; i < 4; i++) t[i] = t[i] * y[i] * y[i];
}

/* ---- Sorting ----------------------------------------------------------------------------- */

/* Sort the documents of queries first..last-1 by falling score, ties in input order, into `order`
 * and `f`. `work` has 4 n entries for n documents of the longest query. */
EXPORT void sort_queries(i64 first, i64 last, const double *scores, const i64 *offsets, i64 *order,
                         double *f, double *work) {
    for (i64 q = first; q < last; q++) {
        const i64 start = offsets[q], stop = offsets[q + 1];
        for (i64 i = start; i < stop; i++) order[i] = i;
        sort_places(stop - start, scores, order + start, work);
        for (i64 i = start; i < stop; i++) f[i] = scores[order[i]];
    }
}

/* ---- Boxes and points -------------------------------------------------------------------- */

/* cos(j pi / 64), j = 0..32: literals, since libraries round cosines differently. */
static const double COSINES[NODES + 1] = {
    1.0,
    0.99879545620517241,
    0.99518472667219693,
    0.98917650996478101,
    0.98078528040323043,
    0.97003125319454397,
    0.95694033573220882,
    0.94154406518302081,
    0.92387953251128674,
    0.90398929312344334,
    0.88192126434835505,
    0.85772861000027212,
    0.83146961230254524,
    0.80320753148064494,
    0.77301045336273699,
    0.74095112535495911,
    0.70710678118654757,
    0.67155895484701844,
    0.63439328416364549,
    0.59569930449243336,
    0.55557023301960218,
    0.51410274419322177,
    0.47139673682599764,
    0.42755509343028208,
    0.38268343236508978,
    0.33688985339222005,
    0.29028467725446239,
    0.2429801799032639,
    0.19509032201612828,
    0.14673047445536175,
    0.098017140329560604,
    0.049067674327418015,
    0.0,
};

/* cos(j pi / 64) for any j >= 0. */
INLINE double cosine(i64 j) {
    j &= 4 * NODES - 1;
    j = j > 2 * NODES ? 4 * NODES - j : j;
    return j > NODES ? -COSINES[2 * NODES - j] : COSINES[j];
}

/* How far the Chebyshev point m of a box lies below its top. */
INLINE double below_top(double half, i64 m) { return half * (1.0 - cosine(2 * m + 1)); }

/* Set the factors, (NODES, NODES / 2), that take values at the first half of the points to
 * Chebyshev coefficients; those of the other half are the same, for odd coefficients negative. */
EXPORT void fill_cosines(out cosines) {
    for (i64 k = 0; k < NODES; k++)
        for (i64 m = 0; m < NODES / 2; m++)
            cosines[k * NODES / 2 + m] = cosine(k * (2 * m + 1)) / (k ? NODES / 2 : NODES);
}

/* Set where the boxes of a segment start, none wider than BOX / alpha; return how many there are. */
static i64 cut_boxes(i64 start, i64 stop, double alpha, in f, i64 *restrict starts) {
    i64 n = 0;
    for (i64 i = start, end; i < stop; i = end) {
        end = i + 1;
        while (end < stop && alpha * (f[i] - f[end]) <= BOX) end++;
        starts[n++] = i;
    }
    return n;
}

/* The fewest documents of a box of a segment that is replaced by points: `fewest` if that makes the
 * sums much shorter, else MANY (measured). */
static i64 fewest_replaced(i64 start, i64 stop, i64 n, const i64 *starts, i64 fewest) {
    i64 fewer = 0;
    for (i64 b = 0; b < n; b++) {
        const i64 size = (b + 1 < n ? starts[b + 1] : stop) - starts[b];
        if (size >= fewest) fewer += size - NODES;
    }
    const int much = stop - start >= LONG && SHARE * fewer >= stop - start;
    return much || fewest > MANY ? fewest : MANY;
}

/* Cut sorted segments into boxes no wider than BOX / alpha, and replace boxes of `fewest` documents
 * or more by points, where that saves time.
 *
 * Sets the documents and the points where boxes start (and end), those where segments do, (S + 1,),
 * and of each point the score, the ratio exp(alpha (f[head] - f[j])) and the start `head` of its
 * block; tail[head] is the block's end. `sizes` becomes the numbers of boxes and of points, which are
 * at most as many as documents. */
EXPORT void prepare(i64 n_segments, i64 fewest, double alpha, in f, const i64 *restrict segments,
                    i64 *restrict starts, i64 *restrict slots, i64 *restrict cuts, out points,
                    out ratio, i64 *restrict head, i64 *restrict tail, i64 *restrict sizes) {
    i64 b = 0, k = 0;
    cuts[0] = 0;
    for (i64 s = 0; s < n_segments; s++) {
        const i64 start = segments[s], stop = segments[s + 1];
        const i64 last = b + cut_boxes(start, stop, alpha, f, starts + b);
        const i64 least = fewest_replaced(start, stop, last - b, starts + b, fewest);
        i64 h = k;
        double top = 0.0;
        for (; b < last; b++) {
            const i64 i = starts[b], end = b + 1 < last ? starts[b + 1] : stop;
            slots[b] = k;
            if (k == cuts[s] || alpha * (top - f[i]) > BLOCK) h = k, top = f[i];

            const double half = 0.5 * (f[i] - f[end - 1]), fallen = top - f[i];
            i64 size = end - i;
            if (size < least)
                for (i64 m = 0; m < size; m++) {
                    points[k + m] = f[i + m];
                    ratio[k + m] = exponential(alpha * (top - f[i + m]));
                }
            else {
                size = half > 0.0 ? NODES : 1;
                for (i64 m = 0; m < size; m++) {
                    const double below = below_top(half, m);
                    points[k + m] = f[i] - below;
                    ratio[k + m] = exponential(alpha * (fallen + below));
                }
                points[k] = f[i]; /* the head of a block has to be exact */
            }
            for (i64 m = 0; m < size; m++) head[k + m] = h;
            k += size;
            tail[h] = k;
        }
        cuts[s + 1] = k;
    }
    starts[b] = segments[n_segments], slots[b] = k;
    sizes[0] = b, sizes[1] = k;
}

/* Set the sums of v T_k(u) over n documents with scores f of a box, T_k the Chebyshev polynomials. */
static void sum_moments(i64 n, in values, in f, double top, double half, out moments) {
    four sums[NODES] = {{0}};
    double score[8], value[8];
    for (i64 start = 0; start < n; start += PIECE) {
        const i64 stop = start + PIECE < n ? start + PIECE : n;
        int none = 1;
        for (i64 i = start; i < stop; i++) none &= values[i] == 0.0;
        if (none) continue;

        for (i64 i = start; i < stop; i += 8) {
            const double *at = f + i, *of = values + i;
            if (i + 8 > stop) { /* the last ones */
                for (i64 j = 0; j < 8; j++) score[j] = i + j < stop ? f[i + j] : top;
                for (i64 j = 0; j < 8; j++) value[j] = i + j < stop ? values[i + j] : 0.0;
                at = score, of = value;
            }
            const four u = ONES - (all(top) - four_at(at)) / all(half);
            const four x = ONES - (all(top) - four_at(at + 4)) / all(half);
            const four two_u = u + u, two_x = x + x;
            four a = four_at(of), b = four_at(of + 4), a_before = u * a, b_before = x * b;
            for (i64 k = 0; k < NODES; k++) {
                sums[k] += a + b;
                const four a_next = two_u * a - a_before, b_next = two_x * b - b_before;
                a_before = a, b_before = b;
                a = a_next, b = b_next;
            }
        }
    }
    for (i64 k = 0; k < NODES; k++)
        moments[k] = (sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]);
}

/* Set the weights of the points of boxes first..last-1: with them, a sum over points is that over
 * documents with `values`. */
EXPORT void condense(i64 first, i64 last, const double *cosines, const double *f, const i64 *starts,
                     const i64 *slots, const double *values, double *weights) {
    double moments[NODES], even[NODES / 2], odd[NODES / 2];
    for (i64 b = first; b < last; b++) {
        const i64 i = starts[b], n = starts[b + 1] - i, size = slots[b + 1] - slots[b];
        double *own = weights + slots[b];
        if (size == n) {
            for (i64 j = 0; j < n; j++) own[j] = values[i + j];
            continue;
        }
        if (size == 1) {
            double total = 0.0;
            for (i64 j = i; j < i + n; j++) total += values[j];
            own[0] = total;
            continue;
        }

        sum_moments(n, values + i, f + i, f[i], 0.5 * (f[i] - f[i + n - 1]), moments);
        zero(even, NODES / 2);
        zero(odd, NODES / 2);
        for (i64 k = 0; k < NODES; k += 2)
            for (i64 m = 0; m < NODES / 2; m++) {
                even[m] += moments[k] * cosines[k * NODES / 2 + m];
                odd[m] += moments[k + 1] * cosines[(k + 1) * NODES / 2 + m];
            }
        for (i64 m = 0; m < NODES / 2; m++) {
            own[m] = even[m] + odd[m];
            own[NODES - 1 - m] = even[m] - odd[m];
        }
    }
}

/* Set the Chebyshev coefficients of values at the Chebyshev points. */
static void find_coefficients(in cosines, in values, out coefficients) {
    double half[2][NODES / 2]; /* for even and odd coefficients */
    for (i64 m = 0; m < NODES / 2; m++) {
        half[0][m] = values[m] + values[NODES - 1 - m];
        half[1][m] = values[m] - values[NODES - 1 - m];
    }
    for (i64 k = 0; k < NODES; k++) {
        const double *row = cosines + k * NODES / 2, *with = half[k & 1];
        four total = {0};
        for (i64 m = 0; m < NODES / 2; m += 4) total += four_at(row + m) * four_at(with + m);
        coefficients[k] = (total[0] + total[1]) + (total[2] + total[3]);
    }
}

/* Set values to the Chebyshev series at n scores f of a box, by Clenshaw's recurrence. */
static void interpolate(i64 n, in coefficients, in f, double top, double half, out values) {
    double score[8], value[8];
    for (i64 i = 0; i < n; i += 8) {
        const double *at = f + i;
        double *to = values + i;
        if (i + 8 > n) { /* the last ones */
            for (i64 j = 0; j < 8; j++) score[j] = i + j < n ? f[i + j] : top;
            at = score, to = value;
        }
        const four u = ONES - (all(top) - four_at(at)) / all(half);
        const four x = ONES - (all(top) - four_at(at + 4)) / all(half);
        const four two_u = u + u, two_x = x + x;
        four a = {0}, b = {0}, a_before = {0}, b_before = {0};
        for (i64 k = NODES - 1; k > 0; k--) {
            const four c = all(coefficients[k]);
            const four a_next = (c - a_before) + two_u * a, b_next = (c - b_before) + two_x * b;
            a_before = a, b_before = b;
            a = a_next, b = b_next;
        }
        const four c = all(coefficients[0]);
        put_four(to, (c - a_before) + u * a);
        put_four(to + 4, (c - b_before) + x * b);
        if (i + 8 > n)
            for (i64 j = i; j < n; j++) values[j] = value[j - i];
    }
}

/* ---- Sums over points -------------------------------------------------------------------- */

/* Points of segments in falling order: ratios, blocks (see prepare) and, unless each counts 1,
 * counts. */
typedef struct {
    double alpha;
    const double *f, *ratio, *counts;
    const i64 *head, *tail;
} points_t;

/* exp(alpha (x - head - below)), subtracting in this order, of four scores. */
INLINE four from_head(const double *x, const double *below, double head, double alpha) {
    double e[4];
    for (int l = 0; l < 4; l++) e[l] = exponential(alpha * ((x[l] - head) - below[l]));
    return four_at(e);
}

/* Set the next four t = p ratio, and the indices in the piece, of the points from j on; return how
 * many there are. Those past n are copies of the last. */
INLINE i64 next_terms(i64 j, i64 n, const double *ratio, four p, i64 *at, four *t) {
    for (i64 i = 0; i < 4; i++) {
        at[i] = j + i < n ? j + i : n - 1;
        t[i] = p * ratio[at[i]];
    }
    return n - j;
}

/* The sum of counts / (1 + p ratio) over n points, counts being 1 unless `counted`. */
INLINE four add_up(i64 n, const double *ratio, const double *counts, four p, const int counted) {
    four total = {0}, t[4], c[4] = {ONES, ONES, ONES, ONES};
    i64 at[4], j = 0;
    for (; j + 4 <= n; j += 4) {
        for (int i = 0; i < 4; i++) t[i] = p * ratio[j + i];
        for (int i = 0; i < (counted ? 4 : 0); i++) c[i] = all(counts[j + i]);
        total += quotients(t, c);
    }
    if (j < n) {
        i64 left = next_terms(j, n, ratio, p, at, t);
        for (i64 i = 0; i < 4; i++) c[i] = all(i < left ? (counted ? counts[at[i]] : 1.0) : 0.0);
        total += quotients(t, c);
    }
    return total;
}

/* Add d (w - shift count) over n points, d = sigma'(...) of p ratio, and, if wanted, d count. */
INLINE void add_bells(i64 n, const double *ratio, const double *counts, const double *w, four p,
                      four shift, four *moment, four *total, const int counted, const int both) {
    four t[4], v[4], c[4] = {ONES, ONES, ONES, ONES};
    i64 at[4];
    for (i64 j = 0; j < n; j += 4) {
        if (j + 4 <= n)
            for (int i = 0; i < 4; i++) {
                t[i] = p * ratio[j + i];
                if (counted) c[i] = all(counts[j + i]);
                v[i] = w[j + i] - shift * c[i];
            }
        else {
            const i64 left = next_terms(j, n, ratio, p, at, t);
            for (i64 i = 0; i < 4; i++) {
                const double there = i < left ? 1.0 : 0.0;
                c[i] = all(counted ? there * counts[at[i]] : there);
                v[i] = there * w[at[i]] - shift * c[i];
            }
        }
        if (!both) {
            *moment += bells(t, v);
            continue;
        }
        bell(t);
        *moment += (t[0] * v[0] + t[1] * v[1]) + (t[2] * v[2] + t[3] * v[3]);
        *total += (t[0] * c[0] + t[1] * c[1]) + (t[2] * c[2] + t[3] * c[3]);
    }
}

/* ---- Soft ranks -------------------------------------------------------------------------- */

/* Sorted documents, their boxes and points (see prepare), with the counts and weights of points. */
typedef struct {
    const double *f;
    const i64 *starts, *slots, *segments, *cuts;
    points_t points;
} soft_t;

/* The points that count for some scores of a segment, and the box of the first of them. */
typedef struct {
    i64 segment, low, high, box;
} window_t;

/* The last segment that starts at or before a document, by bisection. */
static i64 segment_of(i64 n_segments, const i64 *segments, i64 document) {
    i64 low = 0, high = n_segments + 1;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (segments[middle] <= document) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/* A window before the segment of a document. */
INLINE window_t window_before(const soft_t *s, i64 n_segments, i64 document) {
    return (window_t){segment_of(n_segments, s->segments, document) - 1, 0, 0, 0};
}

/* Move the window to the segment of a document; return whether that is another one. */
INLINE int enter(const soft_t *s, window_t *window, i64 document) {
    int moved = 0;
    for (; s->segments[window->segment + 1] <= document; moved = 1) window->segment++;
    if (moved) window->low = window->high = s->cuts[window->segment];
    return moved;
}

/* Move the window to scores from top down to bottom; its ends only grow within a segment. */
INLINE void move_to(const soft_t *s, window_t *window, double top, double bottom) {
    const double *points = s->points.f, alpha = s->points.alpha;
    const i64 stop = s->cuts[window->segment + 1];
    i64 low = window->low, high = window->high;
    while (low + 1 < stop && alpha * (points[low] - top) > FAR) low++;
    while (high < stop && alpha * (bottom - points[high]) <= FAR) high++;
    while (s->slots[window->box + 1] <= low) window->box++;
    window->low = low, window->high = high;
}

/* How many documents of the segment stand above the window. */
INLINE double above(const soft_t *s, const window_t *window) {
    const i64 box = window->box, slot = s->slots[box], start = s->starts[box];
    double total = (double)(start - s->segments[window->segment]);
    if (s->slots[box + 1] - slot == s->starts[box + 1] - start)
        return total + (double)(window->low - slot);
    double part = 0.0;
    for (i64 j = slot; j < window->low; j++) part += s->points.counts[j];
    return total + part;
}

/* Whether sums over so many points take longer for the different scores of n documents than for the
 * Chebyshev points (measured). */
INLINE int is_read_at_nodes(i64 n, const double *f, i64 n_points) {
    i64 different = 1;
    for (i64 i = 1; i < n; i++) different += f[i] != f[i - 1];
    return (different - NODES) * (n_points + 100) >= 1500 + 50 * n;
}

/* The first box past b whose documents are not handled with those of b: boxes of few documents that
 * follow each other in a segment are handled together, if not more than `most` stand above. */
static i64 end_of_run(const soft_t *s, const window_t *window, i64 b, i64 last, double most) {
    const i64 start = s->segments[window->segment], stop = s->segments[window->segment + 1];
    i64 end = b + 1;
    if (s->starts[end] - s->starts[b] > NODES) return end;
    while (end < last && s->starts[end] < stop && s->starts[end + 1] - s->starts[end] <= NODES &&
           0.5 * (double)(s->starts[end] - start) <= most)
        end++;
    return end;
}

/* Four different scores, or fewer, from document i on: where the documents of each start and end,
 * and the scores, of which the last is repeated. */
typedef struct {
    i64 n, at[5];
    double x[4];
} group_t;

INLINE group_t group_from(const double *f, double alpha, i64 i, i64 stop) {
    group_t g;
    g.n = 0;
    do {
        g.x[g.n] = f[i], g.at[g.n] = i;
        while (i < stop && f[i] == g.x[g.n]) i++;
        g.n++;
    } while (i < stop && g.n < 4 && alpha * (g.x[0] - f[i]) <= SPAN);
    g.at[g.n] = i;
    for (i64 l = g.n; l < 4; l++) g.x[l] = g.x[g.n - 1];
    return g;
}

static const double NOT_BELOW[4] = {0.0, 0.0, 0.0, 0.0};

/* Sums of the points of a window over four scores. */
INLINE four sums_above(const points_t *p, const window_t *window, const double *x) {
    four total = {0};
    for (i64 j = window->low, end; j < window->high; j = end) {
        const i64 h = p->head[j];
        end = p->tail[h] < window->high ? p->tail[h] : window->high;
        const four e = from_head(x, NOT_BELOW, p->f[h], p->alpha);
        if (p->counts) total += add_up(end - j, p->ratio + j, p->counts + j, e, 1);
        else total += add_up(end - j, p->ratio + j, NULL, e, 0);
    }
    return total;
}

/* Set the ranks of n documents of a box from those at the Chebyshev points. */
static void ranks_at_nodes(const soft_t *s, const window_t *window, const double *cosines, i64 n,
                           const double *f, double *ranks) {
    const points_t *p = &s->points;
    const double top = f[0], half = 0.5 * (f[0] - f[n - 1]);
    double e[NODES], values[NODES], coefficients[NODES];
    zero(values, NODES);
    for (i64 j = window->low, end; j < window->high; j = end) {
        const i64 h = p->head[j];
        end = p->tail[h] < window->high ? p->tail[h] : window->high;
        for (i64 m = 0; m < NODES; m++)
            e[m] = exponential(p->alpha * ((top - p->f[h]) - below_top(half, m)));
        for (i64 m = 0; m < NODES; m += 4) {
            four sum = p->counts ? add_up(end - j, p->ratio + j, p->counts + j, four_at(e + m), 1)
                                 : add_up(end - j, p->ratio + j, NULL, four_at(e + m), 0);
            put_four(values + m, four_at(values + m) + sum);
        }
    }
    find_coefficients(cosines, values, coefficients);
    coefficients[0] += above(s, window) + 0.5;
    interpolate(n, coefficients, f, top, half, ranks);
}

/* Set the soft ranks of boxes first..last-1 in their segments, above `most` lower bounds of them.
 * `counts` are those of the points, or NULL if each counts 1. */
EXPORT void soft_ranks(i64 first, i64 last, i64 n_segments, double alpha, double most,
                       const double *cosines, const double *f, const i64 *starts, const i64 *slots,
                       const i64 *segments, const i64 *cuts, const double *points,
                       const double *ratio, const i64 *head, const i64 *tail, const double *counts,
                       double *ranks) {
    const soft_t s = {f, starts, slots, segments, cuts, {alpha, points, ratio, counts, head, tail}};
    window_t window = window_before(&s, n_segments, starts[first]);
    for (i64 b = first, next; b < last; b = next) {
        const i64 i = starts[b], end = starts[b + 1];
        next = b + 1;
        enter(&s, &window, i);

        /* Documents above add at least a half each. */
        const double least = 0.5 * (double)(i - segments[window.segment]);
        if (least > most) {
            for (i64 j = i; j < end; j++) ranks[j] = least;
            continue;
        }

        /* Many documents are read at the Chebyshev points. */
        if (end - i > NODES) {
            move_to(&s, &window, f[i], f[end - 1]);
            if (is_read_at_nodes(end - i, f + i, window.high - window.low)) {
                ranks_at_nodes(&s, &window, cosines, end - i, f + i, ranks + i);
                continue;
            }
        }

        /* Others are summed for four at a time. */
        next = end_of_run(&s, &window, b, last, most);
        for (i64 j = i; j < starts[next];) {
            const group_t g = group_from(f, alpha, j, starts[next]);
            move_to(&s, &window, g.x[0], g.x[3]);
            const four rank = sums_above(&s.points, &window, g.x) + (above(&s, &window) + 0.5);
            for (i64 l = 0; l < g.n; l++)
                for (; j < g.at[l + 1]; j++) ranks[j] = rank[l];
        }
    }
}

/* Whether one of n numbers is not 0. */
INLINE int any(i64 n, const double *a) {
    for (i64 i = 0; i < n; i++)
        if (a[i] != 0.0) return 1;
    return 0;
}

/* Add the slopes of the points up to `upto` of a window at four scores. */
INLINE void add_slopes(const points_t *p, i64 low, i64 upto, const double *w, const double *x,
                       four shift, four *moment, four *total, const int both) {
    for (i64 j = low, end; j < upto; j = end) {
        const i64 h = p->head[j];
        end = p->tail[h] < upto ? p->tail[h] : upto;
        const four e = from_head(x, NOT_BELOW, p->f[h], p->alpha);
        if (p->counts)
            add_bells(end - j, p->ratio + j, p->counts + j, w + j, e, shift, moment, total, 1,
                      both);
        else add_bells(end - j, p->ratio + j, NULL, w + j, e, shift, moment, total, 0, both);
    }
}

/* Set the slopes of n documents of a box from those at the Chebyshev points; `pulled` says whether
 * the documents have weights w themselves. */
static void slopes_at_nodes(const soft_t *s, i64 low, i64 upto, const double *cosines, i64 n,
                            const double *f, const double *w, const double *pulls, int pulled,
                            double *slopes) {
    const points_t *p = &s->points;
    const double top = f[0], half = 0.5 * (f[0] - f[n - 1]);
    const four shift = all(w[0]);
    double e[NODES], moments[NODES], totals[NODES], coefficients[NODES], of_total[NODES];
    double sums[PIECE];
    zero(moments, NODES);
    zero(totals, NODES);
    for (i64 j = low, end; j < upto; j = end) {
        const i64 h = p->head[j], m_points = (p->tail[h] < upto ? p->tail[h] : upto) - j;
        end = j + m_points;
        const double *ratio = p->ratio + j, *counts = p->counts ? p->counts + j : NULL,
                     *v = pulls + j;
        for (i64 m = 0; m < NODES; m++)
            e[m] = exponential(p->alpha * ((top - p->f[h]) - below_top(half, m)));
        for (i64 m = 0; m < NODES; m += 4) {
            four moment = four_at(moments + m), total = four_at(totals + m), at = four_at(e + m);
            if (counts && pulled)
                add_bells(m_points, ratio, counts, v, at, shift, &moment, &total, 1, 1);
            else if (pulled) add_bells(m_points, ratio, NULL, v, at, shift, &moment, &total, 0, 1);
            else add_bells(m_points, ratio, NULL, v, at, all(0.0), &moment, &total, 0, 0);
            put_four(moments + m, moment);
            put_four(totals + m, total);
        }
    }

    find_coefficients(cosines, moments, coefficients);
    interpolate(n, coefficients, f, top, half, slopes);
    if (pulled) find_coefficients(cosines, totals, of_total);
    for (i64 start = 0; start < n; start += PIECE) {
        const i64 size = start + PIECE < n ? PIECE : n - start;
        if (pulled) interpolate(size, of_total, f + start, top, half, sums);
        for (i64 i = 0; i < size; i++) {
            const double own = pulled ? (w[start + i] - w[0]) * sums[i] : 0.0;
            slopes[start + i] = p->alpha * (slopes[start + i] - own);
        }
    }
}

/* Set sum_i w_i dr_i/df_p = alpha sum_j sigma'(alpha (f_j - f_p)) (w_j - w_p) of the documents p of
 * boxes first..last-1. `pulls` are the weights w of the points. */
EXPORT void soft_ranks_vjp(i64 first, i64 last, i64 n_segments, double alpha, const double *cosines,
                           const double *f, const i64 *starts, const i64 *slots,
                           const i64 *segments, const i64 *cuts, const double *points,
                           const double *ratio, const i64 *head, const i64 *tail,
                           const double *counts, const double *w, const double *pulls,
                           double *slopes) {
    const soft_t s = {f, starts, slots, segments, cuts, {alpha, points, ratio, counts, head, tail}};
    window_t window = window_before(&s, n_segments, starts[first]);
    i64 used = 0; /* the end of the segment's points with weights */
    for (i64 b = first, next; b < last; b = next) {
        const i64 i = starts[b], end = starts[b + 1];
        next = b + 1;
        if (enter(&s, &window, i)) {
            used = cuts[window.segment + 1];
            while (used > window.low && pulls[used - 1] == 0.0) used--;
        }

        /* Many documents are read at the Chebyshev points. */
        if (end - i > NODES) {
            move_to(&s, &window, f[i], f[end - 1]);
            const int pulled = any(end - i, w + i);
            const i64 upto = pulled || window.high < used ? window.high : used;
            if (upto <= window.low) {
                zero(slopes + i, end - i);
                continue;
            }
            if (is_read_at_nodes(end - i, f + i, upto - window.low)) {
                slopes_at_nodes(&s, window.low, upto, cosines, end - i, f + i, w + i, pulls, pulled,
                                slopes + i);
                continue;
            }
        }

        /* Others are summed for four at a time. */
        next = end_of_run(&s, &window, b, last, INFINITE);
        for (i64 j = i; j < starts[next];) {
            const group_t g = group_from(f, alpha, j, starts[next]);
            move_to(&s, &window, g.x[0], g.x[3]);
            four shift, moment = {0}, total = {0};
            for (i64 l = 0; l < 4; l++) shift[l] = w[g.at[l < g.n ? l : g.n - 1]];
            const int tied = g.at[g.n] - j > g.n, pulled = any(g.at[g.n] - j, w + j);
            const i64 upto = pulled || window.high < used ? window.high : used;
            if (tied)
                add_slopes(&s.points, window.low, upto, pulls, g.x, shift, &moment, &total, 1);
            else add_slopes(&s.points, window.low, upto, pulls, g.x, shift, &moment, &total, 0);
            for (i64 l = 0; l < g.n; l++)
                for (; j < g.at[l + 1]; j++)
                    slopes[j] = alpha * (moment[l] - (w[j] - shift[l]) * total[l]);
        }
    }
}

/* ---- Documents by class ------------------------------------------------------------------ */

/* Set the ends of each query's classes, (Q C + 1,), and the new place of each document of `order`,
 * which is sorted by query: by query and class, else in this order. `classes` holds the class of each
 * grade; `counts`, (C,), is memory. */
EXPORT void by_class(i64 n_queries, i64 n_classes, const i64 *restrict order,
                     const i64 *restrict offsets, const i64 *restrict grades,
                     const i64 *restrict classes, i64 *restrict segments, i64 *restrict places,
                     i64 *restrict counts) {
    for (i64 q = 0; q < n_queries; q++) {
        for (i64 c = 0; c < n_classes; c++) counts[c] = 0;
        for (i64 i = offsets[q]; i < offsets[q + 1]; i++) counts[classes[grades[order[i]]]]++;

        i64 start = offsets[q];
        for (i64 c = 0; c < n_classes; c++) {
            const i64 size = counts[c];
            segments[q * n_classes + c] = counts[c] = start;
            start += size;
        }
        for (i64 i = offsets[q]; i < offsets[q + 1]; i++)
            places[i] = counts[classes[grades[order[i]]]]++;
    }
    segments[n_queries * n_classes] = offsets[n_queries];
}

/* Set sums[s + j] to the sum of the values from the start of segment s up to j, (n + S + 1,). */
EXPORT void sums_from_top(i64 n_segments, const i64 *restrict segments, in values, out sums) {
    for (i64 s = 0; s < n_segments; s++) {
        double total = 0.0;
        sums[s + segments[s]] = 0.0;
        for (i64 j = segments[s]; j < segments[s + 1]; j++) sums[s + j + 1] = total += values[j];
    }
}

/* Set sums[s + j] to the sum of the values from j up to the end of segment s, (n + S + 1,). */
EXPORT void sums_from_bottom(i64 n_segments, const i64 *restrict segments, in values, out sums) {
    for (i64 s = 0; s < n_segments; s++) {
        double total = 0.0;
        sums[s + segments[s + 1]] = 0.0;
        for (i64 j = segments[s + 1] - 1; j >= segments[s]; j--) sums[s + j] = total += values[j];
    }
}

/* Add to `edges`, (Q,), the largest rank of each query's k most relevant documents, among equals
 * those scored higher. */
EXPORT void widest_ranks(i64 n_queries, i64 n_classes, i64 k, in ranks, const i64 *restrict offsets,
                         const i64 *restrict segments, out edges) {
    for (i64 q = 0; q < n_queries; q++) {
        i64 left = k < offsets[q + 1] - offsets[q] ? k : offsets[q + 1] - offsets[q];
        double widest = 0.0;
        for (i64 s = (q + 1) * n_classes - 1; s >= q * n_classes; s--) {
            const i64 size = segments[s + 1] - segments[s], taken = left < size ? left : size;
            for (i64 i = segments[s]; i < segments[s] + taken; i++) widest = max(widest, ranks[i]);
            left -= taken;
        }
        edges[q] += widest;
    }
}

/* ---- Smoothed hinge ranks ---------------------------------------------------------------- */

/* Where another class turns from one order to the other, for four documents: pairs with documents j
 * from `low` up to `high` are in the right order if j >= turn (worse documents) or j < turn (better
 * ones), and near enough to count. */
typedef struct {
    i64 low, high, turn[4];
} turns_t;

/* The ends of a class that only grow while documents of a class are taken in falling order. */
typedef struct {
    i64 low, turn, high;
} ends_t;

/* Which documents of another class are in the right order with four documents of scores x, of which
 * the last may be repeated. */
INLINE turns_t turns_of(const double *f, double alpha, i64 stop, int worse, const double *x,
                        ends_t *ends) {
    turns_t t;
    i64 low = ends->low, turn = ends->turn, high = ends->high;
    for (int l = 0; l < 4; l++) {
        if (worse)
            while (turn < stop && f[turn] > x[l]) turn++;
        else
            while (turn < stop && f[turn] >= x[l]) turn++;
        t.turn[l] = turn;
    }
    if (worse) {
        high = high > turn ? high : turn;
        while (high < stop && alpha * (f[high] - x[3]) >= -FAR) high++;
        t.low = t.turn[0], t.high = high;
    } else {
        while (low < t.turn[0] && alpha * (f[low] - x[0]) > FAR) low++;
        t.low = low, t.high = turn;
    }
    *ends = (ends_t){low, turn, high};
    return t;
}

/* The documents of the own class that are near enough to count. */
INLINE turns_t near_ones(const double *f, double alpha, i64 stop, const double *x, ends_t *ends) {
    i64 low = ends->low, high = ends->high;
    while (low < stop && alpha * (f[low] - x[0]) > FAR) low++;
    high = high > low ? high : low;
    while (high < stop && alpha * (f[high] - x[3]) >= -FAR) high++;
    *ends = (ends_t){low, low, high};
    return (turns_t){low, high, {low, low, low, low}};
}

/* Numbers of documents j in the right order, others 0. */
INLINE four in_order(int worse, four turn, i64 j, four x) {
    return worse ? where_up_to(turn, all((double)j), x) : where_above(turn, all((double)j), x);
}

/* Sums over n documents from j on, of which not all are in order. */
INLINE four add_up_in_order(i64 j, i64 n, const double *ratio, four p, int worse, four turn) {
    four total = {0}, t[4], c[4];
    i64 at[4];
    for (i64 k = 0; k < n; k += 4) {
        i64 left = next_terms(k, n, ratio, p, at, t);
        for (i64 i = 0; i < 4; i++)
            c[i] = in_order(worse, turn, j + k + i, all(i < left ? 1.0 : 0.0));
        total += quotients(t, c);
    }
    return total;
}

/* The same of slopes. */
INLINE four add_bells_in_order(i64 j, i64 n, const double *ratio, const double *w, four p,
                               four shift, int worse, four turn) {
    four total = {0}, t[4];
    i64 at[4];
    for (i64 k = 0; k < n; k += 4) {
        i64 left = next_terms(k, n, ratio, p, at, t);
        bell(t);
        for (i64 i = 0; i < 4; i++) {
            four d = in_order(worse, turn, j + k + i, t[i] * (i < left ? 1.0 : 0.0));
            total += d * (w[at[i]] - shift);
        }
    }
    return total;
}

/* Sums over documents of a class in the right order with four of scores x: of 1 / (1 + t), or, if w
 * is given, of sigma'(...) (w - shift). */
static four sums_in_order(const points_t *p, const turns_t *turns, int worse, const double *x,
                          const double *w, four shift) {
    const four turn = {(double)turns->turn[0], (double)turns->turn[1], (double)turns->turn[2],
                       (double)turns->turn[3]};
    four total = {0}, unused = {0};
    for (i64 j = turns->low, end; j < turns->high; j = end) {
        const i64 h = p->head[j];
        end = p->tail[h] < turns->high ? p->tail[h] : turns->high;
        const four e = from_head(x, NOT_BELOW, p->f[h], p->alpha);

        /* All of the documents from `from` up to `to` are in order, of the others some. */
        i64 from = worse ? turns->turn[3] : j, to = worse ? end : turns->turn[0];
        from = from < j ? j : from > end ? end : from;
        to = to < from ? from : to > end ? end : to;
        const double *ratio = p->ratio;
        if (w) {
            total += add_bells_in_order(j, from - j, ratio + j, w + j, e, shift, worse, turn);
            add_bells(to - from, ratio + from, NULL, w + from, e, shift, &total, &unused, 0, 0);
            total += add_bells_in_order(to, end - to, ratio + to, w + to, e, shift, worse, turn);
        } else {
            total += add_up_in_order(j, from - j, ratio + j, e, worse, turn);
            total += add_up(to - from, ratio + from, NULL, e, 0);
            total += add_up_in_order(to, end - to, ratio + to, e, worse, turn);
        }
    }
    return total;
}

/* How many documents from i on, up to four of one class and none far from the others, are taken at
 * once; set their scores, of which the last is repeated. */
INLINE i64 take_four(const double *f, double alpha, i64 i, i64 stop, double *x) {
    i64 n = 0;
    for (i64 l = 0; l < 4; l++) {
        if (n == l && i + l < stop && alpha * (f[i] - f[i + l]) <= SPAN) n++;
        x[l] = f[i + n - 1];
    }
    return n;
}

/* Let the classes of a query begin again, for the documents of another class. */
INLINE void begin_again(const i64 *segments, i64 query, i64 n_classes, ends_t *ends) {
    for (i64 c = 0; c < n_classes; c++) {
        const i64 start = segments[query * n_classes + c];
        ends[c] = (ends_t){start, start, start};
    }
}

/* Number of 8-byte entries of the memory that hinge_ranks and hinge_ranks_vjp need. */
EXPORT i64 work_of_classes(i64 n_classes) { return 3 * n_classes; }

/* Set the ranks of documents first..last-1, sorted by query, class and score.
 *
 * `tops` and `bottoms`, (S,), are the largest and smallest scores of classes. `down` sums the scores
 * minus their class's largest from the top, `up` the scores minus the smallest from the bottom, so
 * that no sum is a difference of two larger ones. For ratio, head and tail see prepare. */
EXPORT void hinge_ranks(i64 first, i64 last, i64 n_segments, i64 n_classes, double alpha,
                        const double *f, const i64 *segments, const double *tops,
                        const double *bottoms, const double *down, const double *up,
                        const double *ratio, const i64 *head, const i64 *tail, double *ranks,
                        i64 *work) {
    const points_t points = {alpha, f, ratio, NULL, head, tail};
    ends_t *ends = (ends_t *)work;
    i64 s = -1, n = 0;
    for (i64 i = first; i < last; i += n) {
        if (s < 0 || segments[s + 1] <= i) {
            if (s < 0) s = segment_of(n_segments, segments, i);
            while (segments[s + 1] <= i) s++;
            begin_again(segments, s / n_classes, n_classes, ends);
        }
        const i64 own = s % n_classes, query = s - own, stop = segments[s + 1];
        double x[4];
        n = take_four(f, alpha, i, stop < last ? stop : last, x);

        /* The own class. */
        turns_t turns = near_ones(f, alpha, stop, x, ends + own);
        four rank = sums_in_order(&points, &turns, 1, x, NULL, all(0.0));
        rank = 1.0 + ((double)(turns.low - segments[s]) - 0.5 + rank);

        /* The others. */
        for (i64 c = 0; c < n_classes; c++) {
            const i64 other = query + c, from = segments[other], to = segments[other + 1];
            if (c == own || from == to) continue;
            const int worse = c < own;
            turns = turns_of(f, alpha, to, worse, x, ends + c);
            const four sum = sums_in_order(&points, &turns, worse, x, NULL, all(0.0));
            for (i64 l = 0; l < n; l++) {
                const i64 turn = turns.turn[l];
                const double wrong = (double)(worse ? turn - from : to - turn);
                double gap;
                if (worse) {
                    gap = down[other + turn] - wrong * (x[l] - tops[other]);
                    rank[l] += sum[l];
                } else {
                    gap = wrong * (x[l] - bottoms[other]) - up[other + turn];
                    rank[l] += (double)((to - from) + (turn - turns.low));
                    rank[l] -= sum[l];
                }
                if (wrong > 0.0) rank[l] += 0.5 * wrong + 0.25 * alpha * gap;
            }
        }
        for (i64 l = 0; l < n; l++) ranks[i + l] = rank[l];
    }
}

/* Set sum_i w_i dr_i/df_p of documents p, first..last-1; `down` and `up` sum w from the top and from
 * the bottom of each class. */
EXPORT void hinge_ranks_vjp(i64 first, i64 last, i64 n_segments, i64 n_classes, double alpha,
                            const double *f, const i64 *segments, const double *w,
                            const double *down, const double *up, const double *ratio,
                            const i64 *head, const i64 *tail, double *slopes, i64 *work) {
    const points_t points = {alpha, f, ratio, NULL, head, tail};
    ends_t *ends = (ends_t *)work;
    i64 s = -1, n = 0;
    for (i64 i = first; i < last; i += n) {
        if (s < 0 || segments[s + 1] <= i) {
            if (s < 0) s = segment_of(n_segments, segments, i);
            while (segments[s + 1] <= i) s++;
            begin_again(segments, s / n_classes, n_classes, ends);
        }
        const i64 own = s % n_classes, query = s - own, stop = segments[s + 1];
        double x[4];
        n = take_four(f, alpha, i, stop < last ? stop : last, x);
        four shift;
        for (i64 l = 0; l < 4; l++) shift[l] = w[i + (l < n ? l : n - 1)];

        /* The own class. */
        turns_t turns = near_ones(f, alpha, stop, x, ends + own);
        four total = sums_in_order(&points, &turns, 1, x, w, shift);

        /* The others: A'(x) is -alpha times the slope of sigma, -alpha / 4 in the wrong order. */
        for (i64 c = 0; c < n_classes; c++) {
            const i64 other = query + c, from = segments[other], to = segments[other + 1];
            if (c == own || from == to) continue;
            const int worse = c < own;
            turns = turns_of(f, alpha, to, worse, x, ends + c);
            const four sum = sums_in_order(&points, &turns, worse, x, w, -shift);
            for (i64 l = 0; l < n; l++) {
                const i64 turn = turns.turn[l];
                if (worse) {
                    total[l] -= sum[l];
                    total[l] -= 0.25 * (down[other + turn] + (double)(turn - from) * shift[l]);
                } else {
                    total[l] += sum[l];
                    total[l] += 0.25 * (up[other + turn] + (double)(to - turn) * shift[l]);
                }
            }
        }
        for (i64 l = 0; l < n; l++) slopes[i + l] = alpha * total[l];
    }
}

/* Shares of grades at the first positions of rankings; see dcglearn/evaluation/arrays.py. */
#include "dcglearn.h"

/* Replace the least value of a min-heap. */
static void replace_least(i64 n, out heap, double value) {
    i64 parent = 0;
    for (i64 child = 1; child < n; child = 2 * parent + 1) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[parent] = heap[child];
        parent = child;
    }
    heap[parent] = value;
}

/* Number of 8-byte entries of the memory that grade_shares needs. */
EXPORT i64 work_of_shares(i64 depth, i64 width) { return depth + 5 * width; }

/* Write the share of each grade at each of the first positions, (Q, K, L), and the count of each
 * grade, (Q, L), of the queries from `start` to `stop`; both are zero so far. Grades, (Q, N), have -1
 * for no document. Documents with equal scores have equal shares of their positions. */
EXPORT void grade_shares(i64 start, i64 stop, i64 width, i64 depth, i64 n_grades,
                         const double *scores, const int8_t *grades, double *shares, double *counts,
                         double *work) {
    double *heap = work;
    i64 *high = (i64 *)(work + depth);
    for (i64 q = start; q < stop; q++) {
        const double *score = scores + q * width;
        const int8_t *grade = grades + q * width;

        /* Find the least score among the first positions. */
        for (i64 k = 0; k < depth; k++) heap[k] = -INFINITE;
        for (i64 i = 0; i < width; i++) {
            if (grade[i] < 0) continue;
            counts[q * n_grades + grade[i]] += 1.0;
            if (score[i] > heap[0]) replace_least(depth, heap, score[i]);
        }

        /* Sort the documents that have it or more. */
        i64 n = 0;
        for (i64 i = 0; i < width; i++)
            if (grade[i] >= 0 && score[i] >= heap[0]) high[n++] = i;
        sort_places(n, score, high, work + depth + width);

        /* Share the positions of equal scores. */
        for (i64 first = 0, last; first < n && first < depth; first = last) {
            last = first + 1;
            while (last < n && score[high[last]] == score[high[first]]) last++;
            for (i64 k = first; k < last && k < depth; k++) {
                double *own = shares + (q * depth + k) * n_grades;
                for (i64 i = first; i < last; i++)
                    own[grade[high[i]]] += 1.0 / (double)(last - first);
            }
        }
    }
}

"""Slow NumPy twins of the objectives, one query at a time, written as the formulas."""

from itertools import pairwise

import numpy as np
from scipy.special import expit
from scipy.stats import norm


def soft_ranks(f, alpha):
    with np.errstate(over="ignore"):
        return 0.5 + expit(alpha * (f[None, :] - f[:, None])).sum(axis=1)


def soft_ranks_vjp(f, alpha, w):
    """sum_i w_i dr_i/df_p."""
    with np.errstate(over="ignore"):
        z = alpha * (f[None, :] - f[:, None])
    s = alpha * expit(z) * expit(-z)
    return (s * (w[None, :] - w[:, None])).sum(axis=1)


def truncation(r, k, beta, shift):
    """The truncation and its derivative."""
    if k is None:
        return np.ones(len(r)), np.zeros(len(r))
    z = beta * (k + shift - r)
    return expit(z), -beta * expit(z) * expit(-z)


def ideal(loss, y, k):
    ranks = np.arange(1.0, len(y) + 1)
    return np.sort(loss.dcg.gains[y])[::-1] @ (
        loss._discount(ranks) * truncation(ranks, k, loss.beta, loss.shift)[0]
    )


def last_rank(loss):
    return loss.dcg.depth if loss.depth == "dcg" else loss.depth


def approx_ndcg(loss, f, y):
    r = soft_ranks(f, loss.alpha)
    value, slope = dcg_at(loss, r, y, last_rank(loss))
    return value, soft_ranks_vjp(f, loss.alpha, slope)


def dcg_at(loss, r, y, edge):
    d, change = loss._discount.with_slope(r)
    t, turn = truncation(r, edge, loss.beta, loss.shift)
    best = ideal(loss, y, last_rank(loss)) if loss.normalise else 1.0
    g = loss.dcg.gains[y] / best if best > 0 else np.zeros(len(y))
    return g @ (d * t), g * (change * t + d * turn)


def approx_ap(loss, f, y):
    relevant = y >= loss.min_grade
    if not relevant.any():
        return 0.0, np.zeros(len(f))
    r = soft_ranks(f, loss.alpha)
    ry, n = r[relevant], relevant.sum()
    among = soft_ranks(-ry, loss.beta)
    slope = np.zeros(len(f))
    slope[relevant] = -among / ry**2 / n - soft_ranks_vjp(-ry, loss.beta, 1 / (n * ry))
    return (among / ry).mean(), soft_ranks_vjp(f, loss.alpha, slope)


def a_function(x, alpha):
    """A of Wu et al. and its derivative."""
    s = expit(-alpha * np.abs(x))
    return np.where(x >= 0, s, 0.5 - alpha / 4 * x), np.where(
        x >= 0, -alpha * s * (1 - s), -alpha / 4
    )


def shf(loss, f, y):
    g = loss.dcg.gains[y]
    worse, better = g[None, :] < g[:, None], g[None, :] > g[:, None]
    equal = (g[None, :] == g[:, None]) & ~np.eye(len(f), dtype=bool)
    x = f[:, None] - f[None, :]
    to_worse, fall = a_function(x, loss.alpha)
    to_better, rise = a_function(-x, loss.alpha)
    s = expit(-loss.alpha * x)
    r = 1 + np.where(worse, to_worse, np.where(better, 1 + to_better, np.where(equal, s, 0))).sum(
        axis=1
    )
    edge = last_rank(loss)
    if loss.annealed and edge is not None:
        best = np.lexsort((np.arange(len(f)), -f, -g))[:edge]
        edge = r[best].max()
    value, slope = dcg_at(loss, r, y, edge)
    by_x = np.where(
        worse, fall, np.where(better, -rise, np.where(equal, -loss.alpha * s * (1 - s), 0))
    )
    return value, slope * by_x.sum(axis=1) - slope @ by_x, r


def positions(f, gain, metric, s):
    """Return ``metric(H) -> value, slope`` at H_j = sum_i h_ij G_i with h of Chapelle and Wu, and
    its gradient.
    """
    order = np.argsort(-f, kind="stable")
    u = f[:, None] - f[order][None, :]
    h = np.exp(-(u**2) / s)
    h /= h.sum(axis=0)
    mean = gain @ h
    value, slope = metric(mean)
    grad = (slope * h * u * (gain[:, None] - mean)).sum(axis=1)
    grad[order] -= slope * (h * u * (gain[:, None] - mean)).sum(axis=0)
    return value, -2 / s * grad


def hard_ndcg_weights(loss, y, n):
    c = loss._discounts(n)
    best = (
        loss.dcg.ideal(y)
        if loss.depth == "dcg"
        else np.sort(loss.dcg.gains[y])[::-1][: len(c)] @ c[: len(y)]
    )
    scale = 1.0 if not loss.normalise else 1 / best if best > 0 else 0.0
    return np.r_[c, np.zeros(max(n - len(c), 0))][:n] * scale


def smooth_ndcg(loss, f, y):
    worth = hard_ndcg_weights(loss, y, len(f))
    return positions(f, loss.dcg.gains[y], lambda mean: (worth @ mean, worth), loss.sigma)


def smooth_ap(loss, f, y):
    rel = (y >= loss.min_grade).astype(float)
    if not rel.any():
        return 0.0, np.zeros(len(f))
    if loss.form == "direct":
        r, here = soft_ranks(f, 1 / loss.sigma), rel > 0
        among = soft_ranks(f[here], 1 / loss.sigma)
        slope = np.zeros(len(f))
        slope[here] = -among / r[here] ** 2 / rel.sum()
        grad = soft_ranks_vjp(f, 1 / loss.sigma, slope)
        grad[here] += soft_ranks_vjp(f[here], 1 / loss.sigma, 1 / (r[here] * rel.sum()))
        return (among / r[here]).mean(), grad

    def average_precision(mean):
        precision = np.cumsum(mean) / np.arange(1, len(f) + 1)
        later = np.cumsum((mean / np.arange(1, len(f) + 1))[::-1])[::-1]
        return precision @ mean / rel.sum(), (precision + later) / rel.sum()

    return positions(f, rel, average_precision, loss.sigma)


def soft_rank_ndcg(loss, f, y):
    """Value by the recursion, gradient from distributions with one document left out, recomputed
    each time.
    """
    n, worth = len(f), np.r_[hard_ndcg_weights(loss, y, len(f)), 0.0]
    value, grad = 0.0, np.zeros(n)
    for j in range(n):
        others = np.delete(np.arange(n), j)
        beaten = norm.cdf((f[others] - f[j]) / (np.sqrt(2) * loss.sigma))
        density = norm.pdf((f[others] - f[j]) / (np.sqrt(2) * loss.sigma)) / (
            np.sqrt(2) * loss.sigma
        )
        gain = loss.dcg.gains[y[j]]
        value += gain * distribution(beaten) @ worth[:n]
        for m, i in enumerate(others):
            q = distribution(np.delete(beaten, m))
            change = gain * density[m] * (q @ (worth[1:n] - worth[: n - 1]))
            grad[i] += change
            grad[j] -= change
    return value, grad


def distribution(beaten):
    p = np.ones(1)
    for b in beaten:
        p = np.r_[p * (1 - b), 0] + np.r_[0, p * b]
    return p


def weighted_pairs(loss, f, y, phi):
    order = np.argsort(-f, kind="stable")
    d = np.empty(len(f))
    d[order] = hard_ndcg_weights(loss, y, len(f))
    g = loss.dcg.gains[y]
    value, grad = 0.0, np.zeros(len(f))
    for i in range(len(f)):
        for j in range(len(f)):
            if g[i] > g[j]:
                w = abs((g[i] - g[j]) * (d[i] - d[j]))
                p, change = phi(loss.alpha * (f[i] - f[j]))
                value -= w * p
                grad[i] -= w * change * loss.alpha
                grad[j] += w * change * loss.alpha
    return value, grad


def logistic(v):
    return np.logaddexp(0, -v), -expit(-v)


def modified_huber(v):
    return (-4 * v, -4.0) if v < -1 else ((v - 1) ** 2, 2 * (v - 1)) if v <= 1 else (0.0, 0.0)


def hinge(loss, f, y, squared):
    value, grad, n = 0.0, np.zeros(len(f)), 0
    for i in range(len(f)):
        for j in range(len(f)):
            if y[i] > y[j]:
                n += 1
                short = max(0.0, loss.margin - (f[i] - f[j]))
                change = short if squared else float(f[j] > f[i] - loss.margin)
                value -= short**2 / 2 if squared else short
                grad[i] += change
                grad[j] -= change
    n = max(n, 1) if loss.normalise else 1
    return value / n, grad / n


def over_queries(twin, loss, f, y, offsets, weight):
    """Return the weighted sum over queries of a twin for one query, and its gradient."""
    value, grad = 0.0, np.zeros(len(f))
    for (start, stop), w in zip(pairwise(offsets), weight, strict=True):
        if stop > start:
            part = twin(loss, f[start:stop], y[start:stop])
            value += w * part[0]
            grad[start:stop] = w * part[1]
    return value, grad

"""Fitting as functions: a log and options in; gains, discounts, judges or a utility out.

To read it in order: `options.py` says what can be asked for. The paper's QP is `pair_sums.py` (its
pairs, and sums over them), `margin_qp.py` (the solver and its certificate, and the same by cvxpy),
`fit_qp.py` (a log's fit) and `factoring.py` (gains times discounts of a utility).

Gains and discounts are learned directly by `usable_pairs.py` (which pairs say something),
`pairs.py` (the probability of a verdict, and sums over verdicts), `prior.py` and `model.py`
(parameters, and what is expected of them), `objective.py` (both together), `search.py` (its lowest
point), `raters.py` (raters' own errors) and `fit.py` (a log's fit). `evidence.py` and
`weighing.py` weigh it against textbook DCGs: the default learner.
"""
